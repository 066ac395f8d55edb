//! Hosts that take over from each other on one database: in every life one
//! works and another stands by, and when the one that works is killed or
//! stopped, the other one begins. All promises of a world hold over all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::host::{Host, PATIENCE, Setup};

/// How long the lease is that the hosts have.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// The hosts of a world, but for the one that works.
#[derive(Debug)]
pub(crate) struct Relay {
    next: u64,
    standby: Option<Host>,
    /// One that was stopped while it worked, and is still there.
    paused: Option<Host>,
    /// When the one before was ended.
    ended: Option<Instant>,
    /// From that to the moment in which the next one works.
    gap: Option<Duration>,
    /// From the moment in which a machine goes on to the end of its agents.
    woken: Option<Duration>,
    watch: AgentWatch,
}

impl Relay {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            next: 0,
            standby: None,
            paused: None,
            ended: None,
            gap: None,
            woken: None,
            watch: AgentWatch::over(setup.place.clone(), setup.repository()),
        }
    }

    /// One that stands for nothing, while the real one is busy.
    pub(crate) fn idle() -> Self {
        Self {
            next: 0,
            standby: None,
            paused: None,
            ended: None,
            gap: None,
            woken: None,
            watch: AgentWatch {
                seen: Arc::default(),
                excused: Arc::default(),
                is_over: Arc::default(),
                thread: None,
            },
        }
    }

    /// The host that works next, and behind it another one that stands by.
    pub(crate) async fn next(&mut self, setup: &Setup) -> Result<Host> {
        let host = match self.standby.take() {
            Some(host) => host,
            None => self.started(setup).await?,
        };
        let began = Instant::now();
        while ready(&host.url).await != Some(200) {
            if began.elapsed() > PATIENCE {
                bail!("no host took over");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.gap = self.ended.take().map(|ended| ended.elapsed());
        // One that was stopped finds out that it was overtaken.
        if let Some(mut paused) = self.paused.take() {
            match paused.is_frozen() {
                true => self.woken = self.wake(&mut paused, setup).await?,
                false => paused.go_on()?,
            }
            self.paused = Some(paused);
        }
        let standby = self.started(setup).await?;
        match ready(&standby.url).await {
            Some(503) => {}
            Some(200) => bail!("two hosts work at the same time"),
            other => bail!("a host that stands by says {other:?} when it is asked how it is"),
        }
        self.standby = Some(standby);
        Ok(host)
    }

    /// Lets a machine go on; says how long its agents did so, if there were any.
    async fn wake(&self, host: &mut Host, setup: &Setup) -> Result<Option<Duration>> {
        let name = host.name.clone().unwrap_or_default();
        let repository = setup.repository();
        let has_agents = |only| agents_in(&setup.place, &repository, only).contains(&name);
        let had_agents = has_agents(Only::Any);
        self.watch.excuse(Some(name.clone()));
        let began = Instant::now();
        host.thaw()?;
        while has_agents(Only::Any) {
            if began.elapsed() > PATIENCE {
                bail!("a machine that goes on after a pause does not end its agents");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let took = began.elapsed();
        host.thaw_warden();
        self.watch.excuse(None);
        Ok(had_agents.then_some(took))
    }

    async fn started(&mut self, setup: &Setup) -> Result<Host> {
        self.next += 1;
        Host::start(&setup.of_host(self.next)).await
    }

    /// How long the last takeover took.
    pub(crate) fn gap(&mut self) -> Option<Duration> {
        self.gap.take()
    }

    /// How long the agents of a machine that was paused went on.
    pub(crate) fn woken(&mut self) -> Option<Duration> {
        self.woken.take()
    }

    /// Where somebody finds the host that works, without knowing which it is.
    pub(crate) fn another_door(&self) -> Option<&str> {
        self.standby.as_ref().map(|host| host.url.as_str())
    }

    /// The one that worked was killed.
    pub(crate) fn was_killed(&mut self) {
        self.ended = Some(Instant::now());
        self.paused = None;
    }

    /// The one that worked is stopped, and goes on when another one works.
    pub(crate) fn was_paused(&mut self, host: Host) {
        self.ended = Some(Instant::now());
        self.paused = Some(host);
    }

    /// Ends those who only waited, and says when agents of two hosts were seen
    /// together.
    pub(crate) async fn finish(&mut self) -> Result<Vec<String>> {
        self.paused = None;
        if let Some(mut standby) = self.standby.take() {
            standby.tell_to_end()?;
            standby.has_ended().await?;
        }
        Ok(self.watch.seen())
    }
}

/// The status of `/readyz`.
async fn ready(url: &str) -> Option<u16> {
    let authority = url.split("://").nth(1)?.split('/').next()?;
    let asked = async {
        let mut stream = TcpStream::connect(authority).await.ok()?;
        let request =
            format!("GET /readyz HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        answer.split(' ').nth(1)?.parse().ok()
    };
    tokio::time::timeout(Duration::from_secs(5), asked)
        .await
        .ok()?
}

/// Looks all the time whether agents of two hosts work in one directory.
#[derive(Debug)]
struct AgentWatch {
    seen: Arc<Mutex<Vec<String>>>,
    /// A host whose machine goes on at this moment.
    excused: Arc<Mutex<Option<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl AgentWatch {
    fn over(place: PathBuf, directory: PathBuf) -> Self {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let is_over: Arc<AtomicBool> = Arc::default();
        let excused: Arc<Mutex<Option<String>>> = Arc::default();
        let (notes, over) = (Arc::clone(&seen), Arc::clone(&is_over));
        let waking = Arc::clone(&excused);
        let thread = thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let before = of(&waking);
                let mut hosts = agents_in(&place, &directory, Only::Working);
                // Whether it was excused when they were looked at.
                for name in before.iter().chain(&of(&waking)) {
                    hosts.remove(name);
                }
                if hosts.len() > 1 {
                    let said = format!("agents of {hosts:?} at the same time");
                    notes
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(said);
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
        Self {
            seen,
            excused,
            is_over,
            thread: Some(thread),
        }
    }

    fn excuse(&self, host: Option<String>) {
        *self.excused.lock().unwrap_or_else(PoisonError::into_inner) = host;
    }

    fn seen(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.clone()
    }
}

impl Drop for AgentWatch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn of(excused: &Mutex<Option<String>>) -> Option<String> {
    let excused = excused.lock().unwrap_or_else(PoisonError::into_inner);
    excused.clone()
}

/// Which agents count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Only {
    Any,
    /// Those that are not stopped.
    Working,
}

/// The hosts that have agents in a directory: each has a place of its own for
/// temporary files, which its agents inherit.
fn agents_in(place: &Path, directory: &Path, only: Only) -> BTreeSet<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let hosts = entries.filter_map(|entry| {
        let process = entry.path();
        if fs::read_link(process.join("cwd")).ok()? != directory {
            return None;
        }
        let words = fs::read(process.join("cmdline")).ok()?;
        if !String::from_utf8_lossy(&words).contains("test-agent") {
            return None;
        }
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        let is_stopped = stat.rsplit_once(") ")?.1.starts_with('T');
        if only == Only::Working && is_stopped {
            return None;
        }
        host_of(&fs::read(process.join("environ")).ok()?, place)
    });
    hosts.collect()
}

fn host_of(environment: &[u8], place: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(environment);
    let prefix = format!("TMPDIR={}/", place.display());
    let own = text.split('\0').find_map(|it| it.strip_prefix(&prefix))?;
    own.split('/').next().map(str::to_owned)
}

impl Setup {
    /// The same for one host of several: each has a directory of its own.
    fn of_host(&self, number: u64) -> Self {
        Self {
            host: Some(format!("host-{number}")),
            ..self.clone()
        }
    }
}

/// A cluster for the hosts of a run.
pub(crate) fn database() -> Result<innkeeper_store_conformance::cluster::Cluster> {
    use innkeeper_store_conformance::cluster;
    cluster::is_there()
        .then(cluster::Cluster::start)
        .context("PostgreSQL is not installed")
}
