//! Puts the web client into the binary, if it was built: a table of all files
//! in `web`, each with its compressed neighbours. Without it the table is
//! empty, a warning says so, and so does the page.
//!
//! The files are copied first: a web build that begins meanwhile must not pull
//! them from under the compiler.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The compressed forms of a file: field of the table, end of the name.
const FORMS: [(&str, &str); 2] = [("brotli", ".br"), ("gzip", ".gz")];

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
    fs::write(out.join("web_assets.rs"), table(&files))
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
        let forms = FORMS.map(|(field, end)| {
            let mut compressed = file.clone().into_os_string();
            compressed.push(end);
            let compressed = PathBuf::from(compressed);
            match compressed.exists() {
                true => format!("{field}: Some(include_bytes!({compressed:?}))"),
                false => format!("{field}: None"),
            }
        });
        let _ = writeln!(
            table,
            "    Asset {{ path: {path:?}, plain: include_bytes!({file:?}), {} }},",
            forms.join(", ")
        );
    }
    table.push_str("];\n");
    table
}
