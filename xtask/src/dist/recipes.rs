//! What other package managers need: a Homebrew formula and a container file;
//! and the linters of everything that is generated, where they are installed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::tree::{self, Tree};
use super::{Release, checksum};
use crate::tools;

fn formula(release: &Release) -> PathBuf {
    release.directory.join("innkeeper.rb")
}

fn container(release: &Release) -> PathBuf {
    release.directory.join("Containerfile")
}

pub(super) fn write(release: &Release) -> Result<()> {
    let archive = release.archive();
    let name = archive.file_name().context("the archive has no name")?;
    let name = name.to_string_lossy();
    let url = match &release.from {
        Some(base) => format!("{}/{name}", base.trim_end_matches('/')),
        None => format!("file://{}", archive.display()),
    };
    let text = formula_text(&release.version, &url, &checksum(&archive)?);
    tree::write(&formula(release), &text, 0o644)?;
    let text = container_text(&release.name());
    tree::write(&container(release), &text, 0o644)
}

fn formula_text(version: &str, url: &str, sum: &str) -> String {
    format!(
        r##"# A formula for Homebrew on Linux.
class Innkeeper < Formula
  desc "Daemon that runs coding agents and shares their sessions"
  homepage "https://microsoft.github.io/agent-host-protocol/"
  url "{url}"
  version "{version}"
  sha256 "{sum}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  def install
    bin.install "bin/innkeeper"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/innkeeper"
    zsh_completion.install "share/zsh/site-functions/_innkeeper"
    fish_completion.install "share/fish/vendor_completions.d/innkeeper.fish"
    doc.install "THIRD-PARTY-LICENSES.txt"
  end

  service do
    run [opt_bin/"innkeeper", "serve", "--service"]
    keep_alive successful_exit: false
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/innkeeper --version")
    assert_match "hello", shell_output("#{{bin}}/innkeeper run -a script hello")
  end
end
"##
    )
}

fn container_text(name: &str) -> String {
    format!(
        r#"# The host in a container. Build it where the archive is:
#   podman build -t innkeeper .
#   podman run -p 127.0.0.1:8137:8137 -v innkeeper:/innkeeper innkeeper
# Agents are not in it: install them below /innkeeper, its home, or in an image of
# your own that begins with this one.
FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --home-dir /innkeeper innkeeper
ADD {name}.tar.gz /opt
RUN ln -s /opt/{name}/bin/innkeeper /usr/local/bin/innkeeper
USER innkeeper
WORKDIR /innkeeper
VOLUME /innkeeper
EXPOSE 8137
HEALTHCHECK CMD ["innkeeper", "status"]
ENTRYPOINT ["innkeeper"]
CMD ["serve", "--host", "0.0.0.0"]
"#
    )
}

/// Runs the linters, and says which of them are not here.
pub(super) fn check(release: &Release, tree: &Tree) -> Result<()> {
    let mut ruby = tools::program_at_root("ruby");
    lint(ruby.arg("-c").arg(formula(release)))?;
    let mut python = tools::program_at_root("python3");
    let program = "import plistlib, sys; print(plistlib.load(open(sys.argv[1], 'rb'))['Label'])";
    lint(python.args(["-c", program]).arg(tree.launchd()))?;
    lint(
        tools::program_at_root("xmllint")
            .arg("--noout")
            .arg(tree.launchd()),
    )?;
    // Versions of Debian's packages are not pinned: the image is built anew.
    let mut hadolint = tools::program_at_root("hadolint");
    lint(
        hadolint
            .args(["--failure-threshold", "error"])
            .arg(container(release)),
    )?;
    lint_unit(release, tree)?;
    for manual in ["innkeeper.1", "innkeeper-run.1"] {
        let page = tree.share().join("man/man1").join(manual);
        let mut man = tools::program_at_root("man");
        man.env("MANWIDTH", "80")
            .args(["--warnings", "--local-file"]);
        lint_quietly(man.arg(page))?;
    }
    let scripts = [
        ("bash", "bash-completion/completions/innkeeper"),
        ("zsh", "zsh/site-functions/_innkeeper"),
        ("fish", "fish/vendor_completions.d/innkeeper.fish"),
    ];
    for (shell, script) in scripts {
        let mut shell = tools::program_at_root(shell);
        lint(shell.arg("-n").arg(tree.share().join(script)))?;
    }
    Ok(())
}

/// Of a copy that starts the program of the archive: `systemd-analyze` wants
/// it to be there. Without a directory for what runs, it looks at nothing.
fn lint_unit(release: &Release, tree: &Tree) -> Result<()> {
    let directory = release.directory.join("linted");
    let text = std::fs::read_to_string(tree.unit())?;
    let program = format!("ExecStart=\"{}\"", tree.program().display());
    let text = text.replacen("ExecStart=/usr/bin/innkeeper", &program, 1);
    let unit = directory.join("innkeeper.service");
    tree::write(&unit, &text, 0o644)?;
    let mut systemd = tools::program_at_root("systemd-analyze");
    systemd
        .env("XDG_RUNTIME_DIR", &directory)
        .args(["--user", "--recursive-errors=no", "--man=no", "verify"])
        .arg(unit);
    lint(&mut systemd)?;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

fn lint(command: &mut Command) -> Result<()> {
    match is_here(command) {
        true => tools::run(command),
        false => Ok(()),
    }
}

fn lint_quietly(command: &mut Command) -> Result<()> {
    match is_here(command) {
        true => tools::output_or_reason(command).map(drop),
        false => Ok(()),
    }
}

fn is_here(command: &Command) -> bool {
    let program = command.get_program();
    let found = tools::works(tools::program_at_root("which").arg(program));
    if !found {
        println!("{} is not installed; skipped", program.to_string_lossy());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_names_version_address_and_checksum() {
        let text = formula_text("1.2.3", "https://example.org/inn.tar.gz", "abc");
        for expected in [
            "version \"1.2.3\"",
            "url \"https://example.org/inn.tar.gz\"",
            "sha256 \"abc\"",
            "#{bin}/innkeeper --version",
        ] {
            assert!(text.contains(expected), "{expected}");
        }
    }

    #[test]
    fn a_container_holds_the_archive() {
        let text = container_text("innkeeper-1-x");
        assert!(text.contains("ADD innkeeper-1-x.tar.gz /opt\n"));
    }
}
