//! The real host as a process, with its data in one directory and everything
//! that it starts below that directory, so that nothing it leaves is missed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::relay::LEASE;

/// Nothing that a host does takes longer, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How often something is looked at that nobody reports.
const LOOK: Duration = Duration::from_millis(5);

/// What a host is started with, in every life of a world.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) binary: PathBuf,
    /// The world's directory; the host's data, log and temporary files are in it.
    pub(crate) place: PathBuf,
    /// A program that speaks the Agent Client Protocol, and dies when told to.
    pub(crate) agent: Option<PathBuf>,
    /// The database that several hosts share.
    pub(crate) database: Option<String>,
    /// Which of several hosts it is.
    pub(crate) host: Option<String>,
}

impl Setup {
    /// What is the host's own.
    fn own(&self) -> PathBuf {
        match &self.host {
            Some(host) => self.place.join(host),
            None => self.place.clone(),
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.own().join("data")
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.own().join("tmp")
    }

    fn ready(&self) -> PathBuf {
        self.own().join("ready")
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.place.join("repository")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.place.join("host.log")
    }

    pub(crate) fn prepare(&self) -> Result<()> {
        for directory in [self.data(), self.temporary(), self.repository()] {
            fs::create_dir_all(directory)?;
        }
        // All turns in one page, so that each can be looked for; sessions that
        // nobody needs leave memory soon, so that it can be seen to shrink.
        let mut config = "[limits]\npage_turns = 100000\nempty_session_seconds = 0\n\
                          idle_sessions = 0\nidle_session_seconds = 1\n"
            .to_owned();
        if let Some(agent) = &self.agent {
            config.push_str(&format!(
                "[agents.dying]\ncommand = '{}'\n",
                agent.display()
            ));
        }
        if let Some(url) = &self.database {
            let seconds = LEASE.as_secs();
            config.push_str(&format!(
                "[store]\nurl = '{url}'\nlease_seconds = {seconds}\n"
            ));
        }
        fs::write(self.token(), "one-token-for-all-of-them")?;
        Ok(fs::write(self.place.join("innkeeper.toml"), config)?)
    }

    fn token(&self) -> PathBuf {
        self.place.join("token")
    }

    fn spawn(&self) -> Result<Child> {
        let _ = fs::remove_file(self.ready());
        fs::create_dir_all(self.temporary())?;
        let log = File::options().create(true).append(true).open(self.log())?;
        let agents = match self.agent {
            Some(_) => "script,dying",
            None => "script",
        };
        let mut command = Command::new(&self.binary);
        command
            .args(["serve", "--port", "0", "--no-web", "--log", "warn"])
            .args(["--agents", agents])
            .arg("--config")
            .arg(self.place.join("innkeeper.toml"))
            .arg("--data-dir")
            .arg(self.data())
            .arg("--ready-file")
            .arg(self.ready())
            .arg("--connection-token-file")
            .arg(self.token())
            .current_dir(&self.place)
            .env("TMPDIR", self.temporary())
            .env("HOME", &self.place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        command.spawn().context("the host cannot be started")
    }

    /// Starts a host and kills it after so long, whether it was ready or not.
    pub(crate) async fn start_and_kill(&self, after: Duration) -> Result<()> {
        let mut child = self.spawn()?;
        tokio::time::sleep(after).await;
        child.kill()?;
        child.wait()?;
        Ok(())
    }
}

/// A host that runs until it is ended, or this is dropped.
#[derive(Debug)]
pub(crate) struct Host {
    child: Child,
    pub(crate) url: String,
    /// Which of several hosts it is.
    pub(crate) name: Option<String>,
    frozen: Option<Frozen>,
}

/// What does nothing while a machine is paused, but for the host itself.
#[derive(Debug, Default)]
struct Frozen {
    others: BTreeSet<u32>,
    wardens: BTreeSet<u32>,
}

impl Host {
    pub(crate) async fn start(setup: &Setup) -> Result<Self> {
        let mut host = Self {
            child: setup.spawn()?,
            url: String::new(),
            name: setup.host.clone(),
            frozen: None,
        };
        let (began, ready) = (Instant::now(), setup.ready());
        loop {
            if let Ok(text) = fs::read_to_string(&ready) {
                let ready: Value = serde_json::from_str(&text)?;
                host.url = ready["url"].as_str().context("an address")?.to_owned();
                return Ok(host);
            }
            if let Some(status) = host.child.try_wait()? {
                bail!("the host ended while it started: {status}");
            }
            if began.elapsed() > PATIENCE {
                bail!("the host did not become ready");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself, and how.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        Some(status.to_string())
    }

    /// SIGKILL: no chance to finish anything.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// SIGSTOP: it does nothing more, and does not know.
    pub(crate) fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// SIGCONT: it goes on, as if no time had passed.
    pub(crate) fn go_on(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Pauses the machine, as it were: neither the host nor anything that it
    /// has started does anything more.
    pub(crate) fn freeze(&mut self) -> Result<()> {
        self.pause()?;
        let frozen = self.frozen.get_or_insert_default();
        // What was not stopped yet may have started something else.
        loop {
            let new: Vec<u32> = below(self.child.id())
                .into_iter()
                .filter(|id| !frozen.others.contains(id) && !frozen.wardens.contains(id))
                .collect();
            if new.is_empty() {
                return Ok(());
            }
            for id in new {
                // One that has ended meanwhile need not be stopped.
                let _ = signal(id, Signal::STOP);
                let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                let is_of = |parent| frozen.wardens.contains(&parent);
                match String::from_utf8_lossy(&words).contains("innkeeper-warden")
                    || parent_of(id).is_some_and(is_of)
                {
                    true => frozen.wardens.insert(id),
                    false => frozen.others.insert(id),
                };
            }
        }
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// The machine goes on. Agents are the first that do, and the warden is not
    /// there: on a machine that slept, its clock has slept, too.
    pub(crate) fn thaw(&self) -> Result<()> {
        for id in self.frozen.iter().flat_map(|frozen| &frozen.others) {
            let _ = signal(*id, Signal::CONT);
        }
        self.go_on()
    }

    /// The warden goes on as well.
    pub(crate) fn thaw_warden(&mut self) {
        for id in self.frozen.take().iter().flat_map(|frozen| &frozen.wardens) {
            let _ = signal(*id, Signal::CONT);
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        self::signal(self.child.id(), signal)
    }

    /// SIGTERM: an orderly end, as a service manager would ask for it.
    pub(crate) fn tell_to_end(&self) -> Result<()> {
        self.signal(Signal::TERM)
    }

    /// Waits for the orderly end.
    pub(crate) async fn has_ended(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("the host ended badly: {status}"),
                None if began.elapsed() > PATIENCE => bail!("the host does not end"),
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // It ends what is left of the host.
        self.thaw_warden();
    }
}

fn signal(process: u32, signal: Signal) -> Result<()> {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    Ok(kill_process(id.context("a process")?, signal)?)
}

/// The processes that a process has started, those that they have started, and
/// so on; parents first.
fn below(process: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<(u32, u32)> = ids.filter_map(|id| Some((id, parent_of(id)?))).collect();
    let mut found = vec![process];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = all.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(id, _)| *id));
        at += 1;
    }
    found.remove(0);
    found
}

/// Behind the name of a process, which may hold anything, stand its state and
/// its parent.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Looks until something is so, and says whether it came to be.
pub(crate) async fn comes_true(mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
    true
}

/// What a process uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) resident_mib: u64,
    pub(crate) threads: u64,
    pub(crate) open_files: u64,
}

impl Usage {
    pub(crate) fn of(process: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let files = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
        Some(Self {
            resident_mib: field("VmRSS:")? / 1024,
            threads: field("Threads:")?,
            open_files: files.count() as u64,
        })
    }
}

/// Processes that work in a directory, or were started with its name.
pub(crate) fn processes_in(place: &Path) -> Vec<String> {
    let (needle, me) = (place.to_string_lossy().into_owned(), std::process::id());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let described = ids.filter(|id| *id != me).filter_map(|id| {
        let directory = fs::read_link(format!("/proc/{id}/cwd")).unwrap_or_default();
        let words = fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let state = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let is_dead = state
            .rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('Z'));
        let is_here = directory.starts_with(place) || words.contains(&needle);
        (is_here && !is_dead).then(|| format!("{id} {words}"))
    });
    described.collect()
}
