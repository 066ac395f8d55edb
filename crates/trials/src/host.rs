//! The real host, as a process, with one agent.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Nothing that a host does takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Host {
    child: Child,
    pub(crate) url: String,
}

/// What a host is started with, each time.
pub(crate) struct Setup {
    pub(crate) directory: PathBuf,
    pub(crate) provider: &'static str,
    pub(crate) config: String,
    /// Where the agents are.
    pub(crate) programs: PathBuf,
}

impl Host {
    pub(crate) async fn start(setup: &Setup) -> Result<Self> {
        let directory = &setup.directory;
        fs::create_dir_all(directory)?;
        let (config, ready) = (directory.join("innkeeper.toml"), directory.join("ready"));
        fs::write(&config, &setup.config)?;
        let _ = fs::remove_file(&ready);
        let log = File::options()
            .create(true)
            .append(true)
            .open(directory.join("host.log"))?;
        let mut command = Command::new(binary()?);
        command
            .args(["serve", "--port", "0", "--no-web", "--log", "debug"])
            .args(["--agents", setup.provider])
            .arg("--config")
            .arg(&config)
            .arg("--data-dir")
            .arg(directory.join("data"))
            .arg("--ready-file")
            .arg(&ready)
            .env("PATH", path_with(&setup.programs)?)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command.spawn().context("the host cannot be started")?;
        let mut host = Self {
            child,
            url: String::new(),
        };
        host.url = host.address(&ready).await?;
        Ok(host)
    }

    async fn address(&mut self, ready: &Path) -> Result<String> {
        let began = Instant::now();
        loop {
            if let Ok(text) = fs::read_to_string(ready) {
                let ready: Value = serde_json::from_str(&text)?;
                return Ok(ready["url"].as_str().context("an address")?.to_owned());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the host ended: {status}");
            }
            if began.elapsed() > PATIENCE {
                bail!("the host did not become ready");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// An orderly end, as a service manager would ask for it.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.context("the host's process")?, Signal::TERM)?;
        let began = Instant::now();
        while self.child.try_wait()?.is_none() {
            if began.elapsed() > PATIENCE {
                bail!("the host did not end when it was told to");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn path_with(first: &Path) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path);
    Ok(std::env::join_paths(
        std::iter::once(first.to_owned()).chain(places),
    )?)
}

/// The binary that was built next to this one.
pub(crate) fn binary() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("innkeeper");
    if !path.exists() {
        bail!("{} is not built; use `cargo xtask agents`", path.display());
    }
    Ok(path)
}
