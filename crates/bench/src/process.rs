//! The processes that are measured: the real binary, and the floors.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

/// A server that runs as long as this lives.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    /// From the start of the process until it said that it is ready.
    pub(crate) start: Duration,
    _scratch: TempDir,
}

/// CPU time and memory of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    pub(crate) resident_kib: u64,
}

impl Server {
    /// The host with the script agent, with its data in `data` and extra
    /// configuration.
    pub(crate) async fn host(data: &Path, config: &str) -> Result<Self> {
        Self::host_with(data, config, "script").await
    }

    /// The host with another agent.
    pub(crate) async fn host_with(data: &Path, config: &str, agent: &str) -> Result<Self> {
        let scratch = tempfile::tempdir()?;
        let config_file = scratch.path().join("innkeeper.toml");
        std::fs::write(&config_file, config)?;
        let mut command = Command::new(host_binary()?);
        command
            .args(["serve", "--port", "0", "--agents", agent, "--log", "error"])
            .arg("--config")
            .arg(&config_file)
            .arg("--data-dir")
            .arg(data);
        Self::start(command, "--ready-file", scratch).await
    }

    /// The bare broadcaster, frame by frame through the library.
    pub(crate) async fn bare() -> Result<Self> {
        Self::floor("bare-server").await
    }

    /// The bare broadcaster that writes finished batches, as the host does.
    pub(crate) async fn raw() -> Result<Self> {
        Self::floor("raw-server").await
    }

    /// A part of this program, as a process of its own.
    pub(crate) async fn floor(name: &str) -> Result<Self> {
        let scratch = tempfile::tempdir()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(name);
        Self::start(command, "", scratch).await
    }

    async fn start(mut command: Command, flag: &str, scratch: TempDir) -> Result<Self> {
        let ready_file = scratch.path().join("ready");
        if !flag.is_empty() {
            command.arg(flag);
        }
        command
            .arg(&ready_file)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let began = Instant::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("starting {command:?}"))?;
        let text = loop {
            if let Ok(text) = std::fs::read_to_string(&ready_file) {
                break text;
            }
            if let Some(status) = child.try_wait()? {
                bail!("{command:?} ended: {status}");
            }
            if began.elapsed() > Duration::from_secs(30) {
                bail!("{command:?} did not become ready");
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        };
        let start = began.elapsed();
        let ready: Value = serde_json::from_str(&text)?;
        let url = ready["url"].as_str().context("an address")?.to_owned();
        Ok(Self {
            child,
            url,
            start,
            _scratch: scratch,
        })
    }

    /// Ends it as a user does, and waits until it has gone.
    pub(crate) fn end(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        self.child.wait()?;
        Ok(())
    }

    /// The CPU time of the threads that it has, to the nanosecond.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let mut nanos = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            // One that has ended meanwhile is not in the way.
            let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else {
                continue;
            };
            let spent = text.split_whitespace().next();
            nanos += spent.context("CPU time")?.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
    }

    pub(crate) fn usage(&self) -> Result<Usage> {
        let id = self.child.id();
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
        // The name of the process is in parentheses and may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |index: usize| {
            fields
                .get(index)
                .and_then(|field| field.parse::<u64>().ok())
        };
        let ticks = ticks(11).zip(ticks(12)).map(|(user, system)| user + system);
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        Ok(Usage {
            // Linux counts in hundredths of a second.
            cpu: Duration::from_millis(10 * ticks.context("CPU time")?),
            resident_kib: resident.context("resident memory")?,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary that was built next to this one.
pub(crate) fn host_binary() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("innkeeper");
    if !path.exists() {
        bail!("{} is not built; use `cargo xtask bench`", path.display());
    }
    Ok(path)
}
