//! Puts the web client into the binary, if it was built: a table of all files
//! in `web`, each as its compressed neighbours, or as it is if it has none: what
//! the host needs uncompressed, it can make itself. Without it the table is
//! empty, a warning says so, and so does the page.
//!
//! The files are copied first: a web build that begins meanwhile must not pull
//! them from under the compiler.
//!
//! A release build is also told which commit it is made from, if that can be
//! known. Others are not: they would be built anew after every commit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The compressed forms of a file: field of the table, end of the name.
const FORMS: [(&str, &str); 2] = [("brotli", ".br"), ("gzip", GZIP)];

/// The form from which the plain one is made.
const GZIP: &str = ".gz";

const WITHOUT_CLIENT: &str = "the web client is not built, so this build of innkeeper will not \
                              have it; run `cargo xtask web --build` first (it needs Node)";

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let built = manifest.join("web");
    // In the repository the directory is always there, so that this script runs
    // again only when something in it has changed.
    println!("cargo::rerun-if-changed={}", built.display());
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let copies = out.join("web");
    if copies.exists() {
        fs::remove_dir_all(&copies)?;
    }
    let mut files = Vec::new();
    if env::var_os("CARGO_FEATURE_WEB").is_some() {
        if built.join("index.html").exists() {
            copy(&built, "", &copies, &mut files)?;
            files.sort();
        } else {
            println!("cargo::warning={WITHOUT_CLIENT}");
        }
    }
    fs::write(out.join("web_assets.rs"), table(&files))?;
    tell_commit(&manifest);
    Ok(())
}

/// Sets `INNKEEPER_COMMIT` and `INNKEEPER_COMMIT_DATE` for the compiler, unless
/// whoever builds has set them.
fn tell_commit(manifest: &Path) {
    const COMMIT: &str = "INNKEEPER_COMMIT";
    const DATE: &str = "INNKEEPER_COMMIT_DATE";
    println!("cargo::rerun-if-env-changed={COMMIT}");
    println!("cargo::rerun-if-env-changed={DATE}");
    let is_release = env::var_os("PROFILE").is_some_and(|profile| profile == "release");
    if !is_release || env::var_os(COMMIT).is_some() {
        return;
    }
    // A package from a registry is not a repository, and must not be taken for
    // part of the one that it may have been unpacked in.
    let packaged = manifest.join(".cargo_vcs_info.json");
    if packaged.exists() {
        if let Some(commit) = fs::read_to_string(packaged).ok().as_deref().and_then(sha1) {
            println!("cargo::rustc-env={COMMIT}={commit}");
        }
        return;
    }
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .current_dir(manifest)
            .args(args)
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        let said = String::from_utf8(output.stdout).ok()?;
        Some(said.trim().to_owned()).filter(|said| !said.is_empty())
    };
    let Some(made) = git(&["log", "-1", "--format=%H %cI"]) else {
        return;
    };
    // The log of HEAD is written with every commit and every checkout.
    for path in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", path]);
        let path = path.map(|path| manifest.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    if let Some((commit, date)) = made.split_once(' ') {
        println!("cargo::rustc-env={COMMIT}={commit}");
        println!("cargo::rustc-env={DATE}={date}");
    }
}

/// The commit in what cargo notes about a package.
fn sha1(noted: &str) -> Option<&str> {
    let (_, after) = noted.split_once("\"sha1\"")?;
    let commit = after.split('"').nth(1)?;
    commit
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then_some(commit)
}

/// Copies a directory, and notes the assets in it: path in the address, file.
fn copy(
    from: &Path,
    prefix: &str,
    to: &Path,
    files: &mut Vec<(String, PathBuf)>,
) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}/{name}");
        let copied = to.join(&name);
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &path, &copied, files)?;
            continue;
        }
        fs::copy(entry.path(), &copied)?;
        let is_compressed = FORMS.iter().any(|(_, end)| name.ends_with(end));
        if !name.starts_with('.') && !is_compressed {
            files.push((path, copied));
        }
    }
    Ok(())
}

fn table(files: &[(String, PathBuf)]) -> String {
    let mut table = String::from("static ASSETS: &[Asset] = &[\n");
    for (path, file) in files {
        let compressed = |end: &str| {
            let mut compressed = file.clone().into_os_string();
            compressed.push(end);
            Some(PathBuf::from(compressed)).filter(|compressed| compressed.exists())
        };
        let field = |name: &str, file: Option<&Path>| match file {
            Some(file) => format!("{name}: Some(include_bytes!({file:?}))"),
            None => format!("{name}: None"),
        };
        let is_alone = compressed(GZIP).is_none();
        let plain = field("plain", Some(file.as_path()).filter(|_| is_alone));
        let forms = FORMS.map(|(name, end)| field(name, compressed(end).as_deref()));
        let forms = forms.join(", ");
        let _ = writeln!(table, "    Asset {{ path: {path:?}, {plain}, {forms} }},");
    }
    table.push_str("];\n");
    table
}
