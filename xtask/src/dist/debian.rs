//! The Debian package. It is written here: an `ar` archive of two tar archives,
//! so that it can be made on any Linux.
//!
//! It starts nothing: the host is a service of each user, who enables it. Its
//! scripts stop running services when it is removed, and never touch what is
//! in anybody's home.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::Release;
use super::tree::{self, NOTICES, Tree};
use crate::tools;

/// Variables for the services of all users; the only file to be edited.
pub(super) const DEFAULTS: &str = "/etc/default/innkeeper";

const DEFAULTS_TEXT: &str = "\
# Variables for the innkeeper service of every user of this machine, one
# NAME=value a line. docs: innkeeper(1). A user's own settings are in
# ~/.config/innkeeper/innkeeper.toml.
#INNKEEPER_LOG=info
";

const POSTINST: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = configure ] && [ -z \"$DPKG_ROOT\" ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke --user daemon-reload >/dev/null 2>&1 || true
fi
if [ \"$1\" = configure ] && [ -n \"$2\" ]; then
    echo 'innkeeper: running hosts keep the previous version until you run `innkeeper restart`'
fi
";

/// On an upgrade running hosts go on: they hold the program open.
const PRERM: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = remove ] && [ -z \"$DPKG_ROOT\" ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke --user stop innkeeper.service >/dev/null 2>&1 || true
fi
";

/// What `systemctl --global enable` made goes with the settings.
const POSTRM: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = purge ]; then
    rm -f /etc/systemd/user/default.target.wants/innkeeper.service
fi
if [ -z \"$DPKG_ROOT\" ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke --user daemon-reload >/dev/null 2>&1 || true
fi
";

pub(super) fn pack(release: &Release, tree: &Tree, version: &str) -> Result<PathBuf> {
    let work = release.directory.join("debian");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    let data = work.join("data");
    lay_out(tree, &data)?;
    let control = work.join("control");
    let scripts = [("postinst", POSTINST), ("prerm", PRERM), ("postrm", POSTRM)];
    for (name, script) in scripts {
        tree::write(&control.join(name), script, 0o755)?;
    }
    let size = size(&data)?.div_ceil(1024);
    tree::write(&control.join("control"), &about(version, size), 0o644)?;
    tree::write(&control.join("conffiles"), &format!("{DEFAULTS}\n"), 0o644)?;
    tree::write(&control.join("md5sums"), &sums(&data)?, 0o644)?;
    let mut parts = vec![("debian-binary", b"2.0\n".to_vec())];
    for (part, directory) in [("control.tar.gz", &control), ("data.tar.gz", &data)] {
        let packed = work.join(part);
        release.pack(directory, &["."], &packed)?;
        parts.push((part, fs::read(packed)?));
    }
    let package = release
        .directory
        .join(format!("innkeeper_{version}_amd64.deb"));
    fs::write(&package, archive(&parts, &release.time))?;
    fs::remove_dir_all(&work)?;
    Ok(package)
}

fn lay_out(tree: &Tree, data: &Path) -> Result<()> {
    let usr = data.join("usr");
    tree::copy(&tree.program(), &usr.join("bin/innkeeper"), 0o755)?;
    let unit = usr.join("lib/systemd/user/innkeeper.service");
    tree::copy(&tree.unit(), &unit, 0o644)?;
    tree::write(&data.join(&DEFAULTS[1..]), DEFAULTS_TEXT, 0o644)?;
    let share = usr.join("share");
    let completions = [
        ("bash-completion/completions/innkeeper", None),
        (
            "zsh/site-functions/_innkeeper",
            Some("zsh/vendor-completions/_innkeeper"),
        ),
        ("fish/vendor_completions.d/innkeeper.fish", None),
    ];
    for (from, to) in completions {
        let to = share.join(to.unwrap_or(from));
        tree::copy(&tree.share().join(from), &to, 0o644)?;
    }
    for page in super::files_in(&tree.share().join("man/man1"))? {
        let page = Path::new("man/man1").join(page);
        let packed = compressed(&tree.share().join(&page))?;
        let to = share.join(format!("{}.gz", page.display()));
        tree::write_bytes(&to, &packed, 0o644)?;
    }
    let doc = share.join("doc/innkeeper");
    tree::copy(&tree.root.join("README.md"), &doc.join("README.md"), 0o644)?;
    for (from, to) in [
        ("CHANGELOG.md", "CHANGELOG.md.gz"),
        (NOTICES, "third-party-licenses.txt.gz"),
    ] {
        let packed = compressed(&tree.root.join(from))?;
        tree::write_bytes(&doc.join(to), &packed, 0o644)?;
    }
    let mut copyright = String::from(
        "Innkeeper is licensed under MIT or Apache-2.0, at your option. The licences of what\n\
         it is built from are in third-party-licenses.txt.gz. The text of Apache-2.0 is in\n\
         /usr/share/common-licenses/Apache-2.0; that of MIT follows.\n\n",
    );
    copyright.push_str(&fs::read_to_string(tree.root.join("LICENSE-MIT"))?);
    tree::write(&doc.join("copyright"), &copyright, 0o644)
}

fn about(version: &str, kib: u64) -> String {
    format!(
        "Package: innkeeper\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The Innkeeper authors <innkeeper@localhost>\n\
         Installed-Size: {kib}\n\
         Depends: libc6 (>= 2.28)\n\
         Recommends: ca-certificates, git\n\
         Section: devel\n\
         Priority: optional\n\
         Description: daemon that runs coding agents and shares their sessions\n\
         \x20Innkeeper runs Claude Code, Codex, Gemini CLI, opencode, goose and other coding\n\
         \x20agents, and lets VS Code, a browser, a phone and scripts follow and steer the\n\
         \x20same sessions. The web client is built in.\n"
    )
}

fn compressed(file: &Path) -> Result<Vec<u8>> {
    let mut gzip = tools::program_at_root("gzip");
    let output = gzip.args(["-9n", "--stdout"]).arg(file).output();
    let output = output.context("failed to start gzip")?;
    anyhow::ensure!(output.status.success(), "gzip failed: {}", file.display());
    Ok(output.stdout)
}

/// The bytes of all files below a directory.
fn size(directory: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => size(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(sum)
}

/// What `dpkg --verify` compares files with; those to be edited are not in it.
fn sums(data: &Path) -> Result<String> {
    let mut find = tools::program_at_root("sh");
    find.current_dir(data)
        .args(["-c", "find usr -type f | LC_ALL=C sort | xargs md5sum"]);
    Ok(tools::output_or_reason(&mut find)? + "\n")
}

/// An `ar` archive, as `dpkg` reads it.
fn archive(parts: &[(&str, Vec<u8>)], time: &str) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in parts {
        let size = bytes.len();
        let header = format!(
            "{name:<16}{time:<12}{:<6}{:<6}{:<8}{size:<10}`\n",
            0, 0, 100_644
        );
        archive.extend(header.as_bytes());
        archive.extend(bytes);
        if size % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_headers_of_sixty_bytes_and_even_parts() {
        let archive = archive(
            &[("a", b"odd".to_vec()), ("b", b"even".to_vec())],
            "1700000000",
        );
        let text = String::from_utf8(archive).unwrap();
        let first = "a               1700000000  0     0     100644  3         `\nodd\n";
        let second = "b               1700000000  0     0     100644  4         `\neven";
        assert_eq!(text, format!("!<arch>\n{first}{second}"));
    }

    #[test]
    fn scripts_touch_only_what_the_package_owns() {
        for script in [POSTINST, PRERM, POSTRM] {
            assert!(script.starts_with("#!/bin/sh\nset -e\n"));
            assert!(!script.contains("/home") && !script.contains("rm -r"));
        }
    }
}
