//! `cargo xtask dist --check`: the package in a bare Debian that `debootstrap`
//! makes. It is installed, runs as the service does, is upgraded over data of
//! release 0.1.0, installs an agent, does a turn in a terminal and one in a
//! browser, is removed and purged; at the end every file is as it was before.
//!
//! Needs root, for `chroot`; npm for the agent, and Chromium for the browser. The bare system is kept in `target/dist-check`
//! and copied for every check.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::agent;
use crate::{tools, web};

/// The oldest release that Debian's mirrors have.
pub(super) const OLDEST_SUITE: &str = "bullseye";

const MIRROR: &str = "http://deb.debian.org/debian";

/// A database that release 0.1.0 has written.
const EARLIER_DATABASE: &str = "crates/innkeeper/tests/host/fixtures/release-0.1.0.db";

const GUEST: &str = "guest";
const DATA: &str = "home/guest/.local/share/innkeeper";
const DEFAULTS: &str = "etc/default/innkeeper";
const UNIT: &str = "usr/lib/systemd/user/innkeeper.service";

/// How long the host may take for a page.
const PATIENCE: Duration = Duration::from_secs(20);

/// What dpkg writes down about what it did, and its own backups.
const LOGS: [&str; 3] = ["var/log/", "var/lib/dpkg/", "var/cache/"];

pub(super) fn check(suite: &str, earlier: &Path, package: &Path) -> Result<()> {
    let bare = bare_system(suite)?;
    let root = bare.with_file_name(format!("{suite}-checked"));
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let mut copy = tools::program_at_root("cp");
    tools::run(
        copy.args(["--archive", "--reflink=auto"])
            .args([&bare, &root]),
    )?;
    let system = System { root };
    let checked = system.check(earlier, package);
    // Whatever failed, no host of ours may stay.
    let _ = system.guest("innkeeper stop");
    checked?;
    fs::remove_dir_all(&system.root)?;
    println!("{suite}: installed, run, upgraded, removed and purged; nothing is left");
    Ok(())
}

fn bare_system(suite: &str) -> Result<PathBuf> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
    ensure!(
        suite.chars().all(is_name),
        "`{suite}` is not the name of a suite"
    );
    let is_root = tools::output(tools::program_at_root("id").arg("-u")).as_deref() == Some("0");
    ensure!(is_root, "the check needs root, for debootstrap and chroot");
    let directory = tools::target_directory().join("dist-check").join(suite);
    let made = directory.join("home").join(GUEST);
    if made.exists() {
        return Ok(directory);
    }
    if !directory.join("usr/bin/dpkg").exists() {
        fs::create_dir_all(&directory)?;
        let mut make = tools::program_at_root("debootstrap");
        make.args(["--variant=minbase", suite])
            .arg(&directory)
            .arg(MIRROR);
        tools::run(&mut make).context(
            "a bare system needs debootstrap; `apt-get install debootstrap` installs it",
        )?;
    }
    let mut user = tools::program_at_root("chroot");
    user.arg(&directory)
        .args(["useradd", "--create-home", GUEST]);
    tools::run(&mut user)?;
    Ok(directory)
}

struct System {
    root: PathBuf,
}

impl System {
    fn check(&self, earlier: &Path, package: &Path) -> Result<()> {
        let before = self.files()?;
        self.dpkg_install(earlier)?;
        self.runs()?;
        self.set_a_default()?;
        self.brings_data_of_the_first_release()?;
        self.dpkg_install(package)?;
        self.runs_as_the_service_does()?;
        let without_agent = agent::bring_node(&self.root)?;
        self.keeps_data_and_defaults()?;
        self.serves_the_web_client()?;
        self.does_a_turn_in_a_browser()?;
        match without_agent {
            Some(reason) => println!("no agent was installed: {reason}"),
            None => {
                self.installs_an_agent()?;
                self.uninstalls_the_agent()?;
            }
        }
        self.guest("innkeeper stop")?;

        self.dpkg(&["--remove", "innkeeper"])?;
        ensure!(
            !self.root.join("usr/bin/innkeeper").exists(),
            "removed, the program is still there"
        );
        ensure!(
            self.root.join(DEFAULTS).exists(),
            "removed, the settings are gone"
        );
        self.dpkg(&["--purge", "innkeeper"])?;
        ensure!(
            self.root.join(DATA).join("innkeeper.db").exists(),
            "purged, a user's data is gone"
        );
        // As docs/install.md says, for whoever wants no trace.
        self.guest("rm -r ~/.local/share/innkeeper")?;
        self.guest("rmdir -p --ignore-fail-on-non-empty ~/.local/share; rm -rf ~/.cache")?;
        let after = self.files()?;
        let left: Vec<_> = after.difference(&before).collect();
        let lost: Vec<_> = before.difference(&after).collect();
        ensure!(
            left.is_empty() && lost.is_empty(),
            "left: {left:?}; lost: {lost:?}"
        );
        println!("{} files as before", after.len());
        Ok(())
    }

    fn runs(&self) -> Result<()> {
        let version = self.guest("innkeeper --version")?;
        ensure!(
            version.starts_with("innkeeper "),
            "--version says {version:?}"
        );
        println!("{version}");
        let answer = self.guest("innkeeper run --agent script hello")?;
        ensure!(
            answer.to_lowercase().contains("hello"),
            "the script agent says {answer:?}"
        );
        println!("a turn: {}", answer.lines().next().unwrap_or_default());
        self.guest("innkeeper stop; innkeeper doctor --help >/dev/null")?;
        for file in [
            "usr/share/man/man1/innkeeper.1.gz",
            "usr/share/doc/innkeeper/copyright",
        ] {
            ensure!(self.root.join(file).exists(), "there is no /{file}");
        }
        self.dpkg(&["--verify", "innkeeper"])?;
        Ok(())
    }

    fn set_a_default(&self) -> Result<()> {
        let file = self.root.join(DEFAULTS);
        let text = fs::read_to_string(&file).context("there is no file with defaults")?;
        fs::write(file, text + "INNKEEPER_LOG=debug\n")?;
        Ok(())
    }

    fn brings_data_of_the_first_release(&self) -> Result<()> {
        let data = self.root.join(DATA);
        fs::remove_dir_all(&data)?;
        fs::create_dir_all(&data)?;
        fs::copy(
            tools::root().join(EARLIER_DATABASE),
            data.join("innkeeper.db"),
        )?;
        let mut owner = tools::program_at_root("chroot");
        owner.arg(&self.root).args(["chown", "-R", GUEST]);
        tools::run(owner.arg(format!("/{DATA}")))
    }

    fn keeps_data_and_defaults(&self) -> Result<()> {
        let text = fs::read_to_string(self.root.join(DEFAULTS))?;
        ensure!(
            text.ends_with("INNKEEPER_LOG=debug\n"),
            "the upgrade changed {DEFAULTS}"
        );
        // A host that starts converts the database.
        let up = "innkeeper up --port 0";
        self.guest(&format!("{}{up}", agent::ENVIRONMENT))?;
        let sessions = self.guest("innkeeper sessions list --json")?;
        let sessions: Value = serde_json::from_str(&sessions)?;
        let count = sessions.as_array().map_or(0, Vec::len);
        ensure!(count > 0, "no session of release 0.1.0 is there");
        println!("{count} sessions of release 0.1.0 are there");
        Ok(())
    }

    /// By the host that was started after the upgrade, and a turn through it.
    fn serves_the_web_client(&self) -> Result<()> {
        let ready = fs::read_to_string(self.root.join(DATA).join("host.json"))?;
        let ready: Value = serde_json::from_str(&ready)?;
        let web = ready["web"]
            .as_str()
            .context("the host does not say where its page is")?;
        let page = page(web)?;
        ensure!(
            page.contains("<title>Innkeeper</title>"),
            "the page at {web} is another: {page}"
        );
        println!("{web} serves the web client");
        let answer = self.guest("innkeeper run --agent script hello")?;
        ensure!(
            answer.to_lowercase().contains("hello"),
            "the host says {answer:?}"
        );
        Ok(())
    }

    /// The command of the packaged unit; no service manager runs in a chroot.
    fn runs_as_the_service_does(&self) -> Result<()> {
        let unit = fs::read_to_string(self.root.join(UNIT)).context("there is no unit")?;
        let command = unit
            .lines()
            .find_map(|line| line.strip_prefix("ExecStart="));
        let command = command.context("the unit starts nothing")?;
        let start = format!("INNKEEPER_PORT=0 {command} > /tmp/service 2>&1 &");
        let ready = "for i in $(seq 100); do innkeeper status && break; sleep 0.2; done";
        let status = self.guest(&format!("{start} {ready}; innkeeper stop; rm /tmp/service"))?;
        ensure!(
            status.contains("running as a service"),
            "started as the unit does, the host says {status:?}"
        );
        println!("the unit's command runs: {command}");
        Ok(())
    }

    fn installs_an_agent(&self) -> Result<()> {
        let (name, environment) = (agent::AGENT, agent::ENVIRONMENT);
        println!(
            "{}",
            self.guest(&format!("{environment}innkeeper agents install {name}"))?
        );
        let found = self.guest(&format!("{environment}innkeeper agents --json"))?;
        let found: Value = serde_json::from_str(&found)?;
        let agents = found.as_array().map_or(&[][..], Vec::as_slice);
        let agent = agents.iter().find(|agent| agent["provider"] == name);
        let agent = agent.with_context(|| format!("{name} is not among {found}"))?;
        println!("{agent}");
        Ok(())
    }

    fn uninstalls_the_agent(&self) -> Result<()> {
        let (name, environment) = (agent::AGENT, agent::ENVIRONMENT);
        self.guest(&format!("{environment}innkeeper agents uninstall {name}"))?;
        self.guest(agent::OWN_FILES)?;
        agent::remove_node(&self.root)
    }

    fn does_a_turn_in_a_browser(&self) -> Result<()> {
        if let Some(reason) = web::without_browser() {
            println!("no turn in a browser: {reason}");
            return Ok(());
        }
        let address = self.guest("innkeeper open --print")?;
        println!("{}", web::turn(&address)?);
        Ok(())
    }

    /// Runs a command as a user, and gives what it prints.
    fn guest(&self, command: &str) -> Result<String> {
        let mut chroot = self.inside();
        chroot.args(["su", "-", GUEST, "-c", command]);
        tools::output_or_reason(&mut chroot)
            .with_context(|| format!("in the bare system: {command}"))
    }

    fn dpkg(&self, arguments: &[&str]) -> Result<()> {
        tools::run(self.inside().arg("dpkg").args(arguments))
    }

    fn dpkg_install(&self, package: &Path) -> Result<()> {
        fs::copy(package, self.root.join("package.deb"))?;
        // Nobody is there who could be asked about changed settings.
        self.dpkg(&["--force-confdef", "--install", "/package.deb"])?;
        fs::remove_file(self.root.join("package.deb"))?;
        Ok(())
    }

    fn inside(&self) -> Command {
        // With a /proc of its own that is gone when the last process is.
        let enter = "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" \"$@\"";
        let mut chroot = tools::program_at_root("unshare");
        chroot.args(["--mount", "sh", "-c", enter]);
        chroot.env_clear();
        chroot.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        chroot.env("LC_ALL", "C.UTF-8");
        chroot.env("DEBIAN_FRONTEND", "noninteractive");
        chroot.arg(&self.root);
        chroot
    }

    /// Every file, directory and link, without what dpkg notes for itself.
    fn files(&self) -> Result<BTreeSet<String>> {
        let mut find = tools::program_at_root("find");
        find.current_dir(&self.root)
            .args([".", "-xdev", "-printf", "%P %y %m\n"]);
        let all = tools::output_or_reason(&mut find)?;
        let is_log = |path: &&str| LOGS.iter().any(|log| path.starts_with(log));
        Ok(all
            .lines()
            .filter(|path| !is_log(path))
            .map(str::to_owned)
            .collect())
    }
}

/// What a web server on this machine answers.
fn page(address: &str) -> Result<String> {
    let place = address
        .strip_prefix("http://")
        .context("the page is not on plain HTTP")?;
    let place = place.split('/').next().unwrap_or(place);
    let mut stream = TcpStream::connect(place)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!("GET / HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!(
            "{address} answers {}",
            answer.lines().next().unwrap_or_default()
        );
    }
    Ok(answer)
}
