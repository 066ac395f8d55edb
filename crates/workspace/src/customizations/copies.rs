//! Copies of plugins, for sessions that begin when the client that has a plugin
//! may be gone: each is a directory of its own below one that the host keeps.
//!
//! *Invariants*: a copy appears whole or not at all. It holds regular files
//! only, and nothing from outside of the plugin: a link that leads out of it
//! makes the copy fail, whoever swaps it in and when.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, PermissionsExt as _};
use innkeeper_protocol::newest::state::{
    Customization, CustomizationLoadState, PluginCustomization,
};
use innkeeper_protocol::workspace::customization::{ClientPlugin, CopyFrom};

use super::{CustomizationOptions, read_plugin};
use crate::resources::open_to_read;
use crate::resources::place::{at_place, path_of_uri, uri_of_path};

/// The most that one copy has: files and directories, bytes, levels.
const MOST_ENTRIES: usize = 1_000;
const MOST_BYTES: u64 = 8 * 1024 * 1024;
const DEEPEST: usize = 8;

/// What no plugin needs to work.
const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

/// Makes a copy, and says what is in it.
pub(super) fn make(
    options: &CustomizationOptions,
    plugin: ClientPlugin,
    name: &str,
    from: &CopyFrom,
) -> Result<PluginCustomization, String> {
    let root = options.copies.as_deref();
    let root = root.ok_or("this host has no directory to keep copies of plugins in")?;
    let place = root.join(name);
    let unfinished = root.join(format!(".{name}"));
    let made = fill(root, &unfinished, &plugin.uri, from)
        .and_then(|()| fs::rename(&unfinished, &place).map_err(|error| error.to_string()));
    if let Err(why) = made {
        let _ = fs::remove_dir_all(&unfinished);
        return Err(why);
    }
    let uri = uri_of_path(&place).ok_or("the data directory has a name that is not text")?;
    let copy = ClientPlugin {
        uri,
        client_id: None,
        ..plugin
    };
    let found = read_plugin(&copy, &options.variables);
    match found.customization {
        Customization::Plugin(plugin) => match plugin.load {
            // Nothing of it can be used.
            Some(CustomizationLoadState::Error(error)) => {
                let _ = fs::remove_dir_all(&place);
                Err(error.message)
            }
            _ => Ok(plugin),
        },
        _ => Err("it is not a plugin".to_owned()),
    }
}

fn fill(root: &Path, to: &Path, uri: &str, from: &CopyFrom) -> Result<(), String> {
    make_directory(root)
        .and_then(|()| make_directory(to))
        .map_err(|error| format!("the copy cannot be written: {error}"))?;
    match from {
        CopyFrom::Directory(scope) => {
            let open = at_place(scope, uri, false, |place| {
                Ok(place.dir.open_dir(&place.path)?)
            });
            let dir = open.map_err(|error| error.to_string())?;
            let mut taken = Taken::default();
            copy_directory(&dir, Path::new(""), to, &mut taken)
        }
        CopyFrom::Files(files) => write_files(to, files),
    }
}

/// For the user alone, whatever the process's mask says.
fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)
}

/// How much of a plugin was copied so far.
#[derive(Debug, Default)]
struct Taken {
    entries: usize,
    bytes: u64,
}

impl Taken {
    fn add(&mut self, bytes: u64) -> Result<(), String> {
        self.entries += 1;
        self.bytes += bytes;
        if self.entries > MOST_ENTRIES {
            return Err(format!("it has more than {MOST_ENTRIES} files"));
        }
        if self.bytes > MOST_BYTES {
            return Err(format!("it has more than {MOST_BYTES} bytes"));
        }
        Ok(())
    }
}

/// Copies what is below a path of an open directory.
fn copy_directory(dir: &Dir, path: &Path, to: &Path, taken: &mut Taken) -> Result<(), String> {
    let failed = |path: &Path, why: &dyn std::fmt::Display| {
        format!("`{}` cannot be copied: {why}", path.display())
    };
    if path.components().count() > DEEPEST {
        let why = format!("it is more than {DEEPEST} directories deep");
        return Err(failed(path, &why));
    }
    let here = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    let entries = dir.read_dir(here).map_err(|error| failed(path, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(path, &error))?;
        let name = entry.file_name();
        if LEFT_OUT.iter().any(|it| name == *it) {
            continue;
        }
        let path = path.join(&name);
        // Links are followed as far as they stay in the plugin.
        let what = dir
            .metadata(&path)
            .map_err(|error| match error.raw_os_error() {
                Some(_) => failed(&path, &error),
                None => failed(&path, &"it is a link that leads out of the plugin"),
            })?;
        if what.is_dir() {
            taken.add(0)?;
            make_directory(&to.join(&path)).map_err(|error| failed(&path, &error))?;
            copy_directory(dir, &path, to, taken)?;
        } else if what.is_file() {
            let bytes = copy_file(dir, &path, to).map_err(|error| failed(&path, &error))?;
            taken.add(bytes)?;
        }
    }
    Ok(())
}

fn copy_file(dir: &Dir, path: &Path, to: &Path) -> io::Result<u64> {
    let file = open_to_read(dir, path)?;
    let what = file.metadata()?;
    if !what.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let is_program = what.permissions().mode() & 0o100 != 0;
    let mut copy = new_file(&to.join(path), if is_program { 0o700 } else { 0o600 })?;
    // One byte too many is counted, and fails.
    io::copy(&mut file.take(MOST_BYTES + 1), &mut copy)
}

fn write_files(to: &Path, files: &BTreeMap<String, String>) -> Result<(), String> {
    for (path, text) in files {
        let failed = |why: io::Error| format!("`{path}` cannot be copied: {why}");
        let relative = Path::new(path);
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !relative.components().all(is_plain) || path.contains('\0') {
            return Err(failed(io::Error::other("it is not a path in the plugin")));
        }
        let place = to.join(relative);
        place
            .parent()
            .map_or(Ok(()), make_directory)
            .map_err(failed)?;
        let mut file = new_file(&place, 0o600).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
    }
    Ok(())
}

fn new_file(path: &Path, mode: u32) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode).open(path)
}

/// Where a copy is, if it is one.
fn place_of(root: &Path, uri: &str) -> Option<PathBuf> {
    let path = path_of_uri(uri).ok()?;
    (path.parent() == Some(root)).then_some(path)
}

pub(super) fn remove(root: &Path, uri: &str) {
    if let Some(place) = place_of(root, uri)
        && let Err(error) = fs::remove_dir_all(&place)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, place = %place.display(), "a copy of a plugin cannot be removed");
    }
}

/// Removes what an earlier life has left. Copies are known by their names, as
/// the directory may have been elsewhere when they were made.
pub(super) fn keep_only(root: &Path, uris: &[String]) {
    let paths = uris.iter().filter_map(|uri| path_of_uri(uri).ok());
    let kept: Vec<OsString> = paths
        .filter_map(|path| path.file_name().map(ToOwned::to_owned))
        .collect();
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| !kept.contains(&entry.file_name())) {
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::warn!(%error, "a copy of a plugin cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::Arc;

    use innkeeper_protocol::workspace::resource::{GrantedRoot, Scope};

    use super::*;

    struct Machine {
        dir: tempfile::TempDir,
        options: CustomizationOptions,
    }

    impl Machine {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let options = CustomizationOptions {
                copies: Some(dir.path().canonicalize().unwrap().join("copies")),
                ..CustomizationOptions::default()
            };
            let machine = Self { dir, options };
            machine.write(
                "plugin/skills/ship/SKILL.md",
                "---\nname: ship\n---\nShip it.\n",
            );
            machine
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn plugin(&self) -> ClientPlugin {
            ClientPlugin {
                id: "p".to_owned(),
                uri: uri_of_path(&self.dir.path().join("plugin")).unwrap(),
                name: "plugin".to_owned(),
                client_id: Some("editor".to_owned()),
            }
        }

        fn may_read(&self, path: &str) -> CopyFrom {
            let root = GrantedRoot {
                uri: uri_of_path(&self.dir.path().join(path)).unwrap(),
                writable: false,
            };
            CopyFrom::Directory(Scope {
                lists: vec![Arc::new(vec![root])],
                most_bytes: 1024,
            })
        }

        fn copy(&self, from: &CopyFrom) -> Result<PluginCustomization, String> {
            make(&self.options, self.plugin(), "one", from)
        }

        fn copies(&self) -> Vec<String> {
            let root = self.options.copies.as_ref().unwrap();
            let entries = fs::read_dir(root).into_iter().flatten().flatten();
            let names = entries.map(|it| it.file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }
    }

    #[test]
    fn a_copy_has_what_the_plugin_had_and_needs_no_client() {
        let machine = Machine::new();
        machine.write("plugin/run.sh", "#!/bin/sh\n");
        let program = machine.dir.path().join("plugin/run.sh");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        machine.write("plugin/node_modules/x.md", "not needed");
        let copy = machine.copy(&machine.may_read("plugin")).unwrap();
        fs::remove_dir_all(machine.dir.path().join("plugin")).unwrap();
        assert_eq!((copy.id.as_str(), copy.client_id), ("p", None));
        assert_eq!(copy.children.unwrap().len(), 1);
        let place = path_of_uri(&copy.uri).unwrap();
        let text = fs::read_to_string(place.join("skills/ship/SKILL.md")).unwrap();
        assert!(text.ends_with("Ship it.\n"), "{text}");
        let mode = fs::metadata(place.join("run.sh")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o700);
        assert!(!place.join("node_modules").exists());
    }

    #[test]
    fn nothing_from_outside_of_a_plugin_gets_into_a_copy() {
        let machine = Machine::new();
        machine.write("secret.md", "a secret");
        let link = machine.dir.path().join("plugin/skills/own.md");
        symlink(machine.dir.path().join("secret.md"), &link).unwrap();
        let why = machine.copy(&machine.may_read("")).unwrap_err();
        assert_eq!(
            why,
            "`skills/own.md` cannot be copied: it is a link that leads out of the plugin"
        );
        assert!(machine.copies().is_empty());
    }

    #[test]
    fn a_client_has_only_that_copied_which_it_may_read() {
        let machine = Machine::new();
        machine.write("open/x", "");
        let why = machine.copy(&machine.may_read("open")).unwrap_err();
        assert!(why.contains("is not among what this host shows"), "{why}");
        fs::remove_dir_all(machine.dir.path().join("open")).unwrap();
        fs::create_dir(machine.dir.path().join("open")).unwrap();
        let link = machine.dir.path().join("open/plugin");
        symlink(machine.dir.path().join("plugin"), &link).unwrap();
        let plugin = ClientPlugin {
            uri: uri_of_path(&link).unwrap(),
            ..machine.plugin()
        };
        let copied = make(&machine.options, plugin, "two", &machine.may_read("open"));
        assert!(copied.is_err(), "{copied:?}");
        assert!(machine.copies().is_empty());
    }

    #[test]
    fn what_is_too_large_is_not_copied() {
        let machine = Machine::new();
        let large = usize::try_from(MOST_BYTES).unwrap() + 1;
        machine.write("plugin/large.md", &"x".repeat(large));
        let why = machine.copy(&machine.may_read("plugin")).unwrap_err();
        assert!(why.contains("bytes"), "{why}");
        assert!(machine.copies().is_empty());
    }

    #[test]
    fn files_of_a_client_stay_below_the_copy() {
        let machine = Machine::new();
        for path in ["../x.md", "/x.md", "a/../../x.md", "."] {
            let files = [(path.to_owned(), String::new())].into_iter().collect();
            let why = machine.copy(&CopyFrom::Files(files)).unwrap_err();
            assert!(why.contains("cannot be copied"), "{path}: {why}");
        }
        let skill = (
            "skills/a/SKILL.md".to_owned(),
            "---\nname: a\n---\n".to_owned(),
        );
        let copy = machine.copy(&CopyFrom::Files([skill].into_iter().collect()));
        assert_eq!(copy.unwrap().children.unwrap().len(), 1);
        assert_eq!(machine.copies(), ["one"]);
    }

    #[test]
    fn what_is_not_a_plugin_leaves_no_copy() {
        let machine = Machine::new();
        let copy = machine.copy(&CopyFrom::Files(BTreeMap::new()));
        assert!(copy.is_err(), "{copy:?}");
        assert!(machine.copies().is_empty());
    }

    #[test]
    fn copies_that_nobody_knows_are_removed_and_nothing_else_is() {
        let machine = Machine::new();
        let kept = machine.copy(&machine.may_read("plugin")).unwrap();
        machine.write("copies/.two/half", "x");
        machine.write("copies/three/old", "x");
        let root = machine.options.copies.clone().unwrap();
        keep_only(&root, std::slice::from_ref(&kept.uri));
        assert_eq!(machine.copies(), ["one"]);
        // Also when the directory was elsewhere.
        keep_only(&root, &["file:///elsewhere/plugins/one".to_owned()]);
        assert_eq!(machine.copies(), ["one"]);
        // An address that leads elsewhere names no copy.
        remove(&root, &machine.plugin().uri);
        assert!(machine.dir.path().join("plugin").exists());
        remove(&root, &kept.uri);
        assert!(machine.copies().is_empty());
    }
}
