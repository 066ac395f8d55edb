//! The files of a release, as the archive holds them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Release, notices};
use crate::tools;

/// Where a completion script goes: shell, path below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/innkeeper"),
    ("zsh", "zsh/site-functions/_innkeeper"),
    ("fish", "fish/vendor_completions.d/innkeeper.fish"),
];

/// Pages that go with the program.
const PAGES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

pub(super) const NOTICES: &str = "THIRD-PARTY-LICENSES.txt";

/// The directory that everything is in, and what is where in it.
pub(super) struct Tree {
    pub(super) root: PathBuf,
}

impl Tree {
    pub(super) fn program(&self) -> PathBuf {
        self.root.join("bin/innkeeper")
    }

    pub(super) fn share(&self) -> PathBuf {
        self.root.join("share")
    }

    pub(super) fn unit(&self) -> PathBuf {
        self.root.join("lib/systemd/user/innkeeper.service")
    }

    pub(super) fn launchd(&self) -> PathBuf {
        self.share().join("innkeeper/dev.innkeeper.host.plist")
    }
}

pub(super) fn lay_out(release: &Release, program: &Path) -> Result<Tree> {
    let tree = Tree {
        root: release.directory.join(release.name()),
    };
    copy(program, &tree.program(), 0o755)?;
    for page in PAGES {
        copy(&tools::root().join(page), &tree.root.join(page), 0o644)?;
    }
    write(&tree.root.join(NOTICES), &notices::collect()?, 0o644)?;
    // A home of its own: nothing of whoever builds may show.
    let home = tools::target_directory().join("dist-home");
    let call = |words: &[&str]| {
        let mut command = Command::new(tree.program());
        command.env_clear().env("HOME", &home).args(words);
        tools::output_or_reason(&mut command)
    };
    for (shell, path) in COMPLETIONS {
        let script = call(&["completions", shell])?;
        write(&tree.share().join(path), &(script + "\n"), 0o644)?;
    }
    let manual = tree.share().join("man/man1");
    call(&["man", &manual.to_string_lossy()])?;
    let service = |manager| {
        let program = ["--program", "/usr/bin/innkeeper", "--manager", manager];
        call(&[&["service", "install", "--print"], &program[..]].concat())
    };
    write(&tree.unit(), &packaged(&service("systemd")?), 0o644)?;
    write(&tree.launchd(), &(service("launchd")? + "\n"), 0o644)?;
    Ok(tree)
}

/// The unit of a package reads what the machine's owner sets for everybody.
fn packaged(unit: &str) -> String {
    let file = format!("EnvironmentFile=-{}\nExecStart=", super::debian::DEFAULTS);
    unit.replacen("ExecStart=", &file, 1) + "\n"
}

pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("failed to read {}", from.display()))?;
    write_bytes(to, &bytes, mode)
}

pub(super) fn write(to: &Path, text: &str, mode: u32) -> Result<()> {
    write_bytes(to, text.as_bytes(), mode)
}

pub(super) fn write_bytes(to: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let unwritten = || format!("failed to write {}", to.display());
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory).with_context(unwritten)?;
    }
    fs::write(to, bytes).with_context(unwritten)?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode)).with_context(unwritten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_a_package_reads_the_defaults_of_the_machine() {
        let unit = packaged("[Service]\nExecStart=/usr/bin/innkeeper serve");
        assert_eq!(
            unit,
            "[Service]\nEnvironmentFile=-/etc/default/innkeeper\n\
             ExecStart=/usr/bin/innkeeper serve\n"
        );
    }
}
