//! Hosts in the background: how one is started, and how whoever needs a host
//! gets to one.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ahp::Client;
use anyhow::{Context as _, Result, anyhow, bail};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::announcement::{HostFile, held_for, holder};
use super::client::{ConnectionLost, connect_to};
use super::control::RunningHost;
use super::place::PlaceArgs;

/// How long a host may take until it can be asked. One that upgrades a large
/// database needs longer than others.
const STARTING: Duration = Duration::from_secs(120);

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How much is read of what a host says that does not start.
const LAST_WORDS: u64 = 16 * 1024;

/// A client of the host that runs on the data directory; if none does, of one
/// that is started for it and ends by itself. Any number of commands may want
/// that at the same time.
pub(crate) async fn client_of_host(place: &PlaceArgs) -> Result<(Client, RunningHost)> {
    let end = Instant::now() + STARTING;
    loop {
        let host = running_or(place, || start_temporary(place)).await?;
        match connect_to(&host).await {
            // It ended in this moment, as it had nothing to do.
            Err(error) if error.is::<ConnectionLost>() && Instant::now() < end => {}
            connected => return Ok((connected?, host)),
        }
    }
}

/// The same, where all agents are found that there are.
pub(crate) async fn client_of_host_with_agents(place: &PlaceArgs) -> Result<Client> {
    let (client, host) = client_of_host(place).await?;
    let _: bool = host.get("/control/agents").await?;
    Ok(client)
}

/// The host that runs, or one that is started now.
pub(crate) async fn running_or(
    place: &PlaceArgs,
    start: impl Fn() -> Result<Child>,
) -> Result<RunningHost> {
    let data_dir = place.data_dir()?;
    let end = Instant::now() + STARTING;
    let mut started: Option<Child> = None;
    loop {
        if let Some(host) = RunningHost::find_in(&data_dir)
            && answers(&host).await
        {
            return Ok(host);
        }
        match &mut started {
            None => match (holder(&data_dir), HostFile::find_in(&data_dir)) {
                (None, _) => started = Some(start()?),
                (Some(pid), Some(host)) if host.stdio => bail!(
                    "process {pid} uses the data directory {} and serves only the client that \
                     started it (`--stdio`); end it, or choose another --data-dir",
                    data_dir.display()
                ),
                (Some(pid), _) if held_for(&data_dir).is_some_and(|held| held > STARTING) => {
                    return Err(deaf(pid, &data_dir));
                }
                // It starts, or does something with the database that takes time.
                (Some(_), _) => {}
            },
            Some(child) => {
                if let Some(status) = child.try_wait()? {
                    // Another one may have been faster.
                    if holder(&data_dir).is_none() {
                        return Err(not_started(child, status).await);
                    }
                    started = None;
                }
            }
        }
        if Instant::now() > end {
            if let (None, Some(pid)) = (&started, holder(&data_dir)) {
                return Err(deaf(pid, &data_dir));
            }
            bail!(
                "the host has not started within {} seconds; see {}",
                STARTING.as_secs(),
                super::log_file::path_in(&data_dir).display()
            );
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn deaf(pid: u32, data_dir: &Path) -> anyhow::Error {
    anyhow!(
        "process {pid} uses the data directory {}, but accepts no commands; end it, and try again",
        data_dir.display()
    )
}

async fn answers(host: &RunningHost) -> bool {
    host.connect().await.is_ok()
}

/// Starts a host for commands.
fn start_temporary(place: &PlaceArgs) -> Result<Child> {
    let mut given = vec![OsString::from("--temporary"), "--data-dir".into()];
    given.push(place.data_dir()?.into());
    if let Some(config) = place.given_config() {
        given.extend(["--config".into(), std::path::absolute(config)?.into()]);
    }
    if let Some(store) = place.given_store() {
        given.extend(["--store".into(), store.into()]);
    }
    start(&given, Path::new("/"))
}

/// Starts a host with these flags of `serve`, apart from the terminal.
pub(crate) fn start(given: &[OsString], directory: &Path) -> Result<Child> {
    let program = std::env::current_exe().context("this program cannot be found again")?;
    let mut command = Command::new(program);
    command
        .arg("serve")
        .args(given)
        .arg("--detached")
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().context("a host cannot be started")
}

/// Why a host did not start, in its own words.
async fn not_started(child: &mut Child, status: ExitStatus) -> anyhow::Error {
    let mut said = String::new();
    if let Some(err) = child.stderr.take() {
        let _ = err.take(LAST_WORDS).read_to_string(&mut said).await;
    }
    let last = said.lines().last().unwrap_or_default();
    match last.strip_prefix("innkeeper: ") {
        Some(reason) => anyhow!(reason.to_owned()),
        None => anyhow!("the host did not start ({status}); see `innkeeper doctor`"),
    }
}
