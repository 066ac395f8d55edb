//! What others notice of a client that means harm: for each attack the time of
//! another client's `ping`, next to that of a bare echo server, which nobody
//! attacks, on the same machine at the same time.

mod attacks;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::process::Server;
use crate::wire::WireClient;
use attacks::{ALL, Attack};

/// How long each attack is watched, and how many pings it takes at least.
const WATCHED: Duration = Duration::from_secs(4);
const LEAST: usize = 50;

/// Between two pings: somebody who types, not somebody who measures.
const PAUSE: Duration = Duration::from_millis(2);

/// A ping that takes longer is not waited for.
const STUCK: Duration = Duration::from_secs(60);

/// A host, and what an attack may use.
pub(crate) struct Stage {
    pub(crate) host: Server,
    /// A directory that clients may do with as they please.
    pub(crate) yard: TempDir,
    _data: TempDir,
}

impl Stage {
    async fn set() -> Result<Self> {
        let (data, yard) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let config = format!(
            "[workspace]\nroots = [{:?}]\nshell = \"/bin/sh\"\n[limits]\nwatches = 1000\n",
            yard.path()
        );
        let host = Server::host(data.path(), &config).await?;
        Ok(Self {
            host,
            yard,
            _data: data,
        })
    }

    /// A client that was let in.
    pub(crate) async fn client(&self, name: &str, channels: &[&str]) -> Result<WireClient> {
        let mut client = WireClient::connect(&self.host.url).await?;
        client.initialize(name, channels).await?;
        Ok(client)
    }

    pub(crate) fn uri(&self, path: &Path) -> String {
        format!("file://{}", self.yard.path().join(path).display())
    }
}

pub(crate) async fn run(only: Option<&str>) -> Result<()> {
    println!("\nAnother client's ping under attack, next to a bare echo at the same time\n");
    println!(
        "| attack | pings | host p50 µs | p99 µs | echo p50 µs | p99 µs | ratio p50 | p99 | \
         memory MiB |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (name, attack) in ALL {
        if only.is_none_or(|only| name.contains(only)) {
            measure(name, *attack).await?;
        }
    }
    Ok(())
}

async fn measure(name: &str, attack: Attack) -> Result<()> {
    let stage = Stage::set().await?;
    let echo = Server::bare().await?;
    let mut bare = WireClient::connect(&echo.url).await?;
    let mut other = stage.client("other", &["ahp-root://"]).await?;
    let (ready, begun) = oneshot::channel();
    let mut striking = std::pin::pin!(attack.strike(&stage, ready));
    let mut over = false;
    let pinging = async {
        begun.await.context("the attack did not begin")?;
        let (mut host, mut floor) = (Vec::new(), Vec::new());
        let until = Instant::now() + WATCHED;
        while Instant::now() < until || host.len() < LEAST {
            host.push(timed(ping(&mut other)).await?);
            floor.push(timed(echo_once(&mut bare)).await?);
            tokio::time::sleep(PAUSE).await;
        }
        anyhow::Ok((host, floor))
    };
    let mut pinging = std::pin::pin!(pinging);
    let (host, floor) = loop {
        tokio::select! {
            measured = &mut pinging => break measured?,
            struck = &mut striking, if !over => {
                struck?;
                over = true;
            }
        }
    };
    report(name, host, floor, stage.host.usage()?.resident_kib);
    Ok(())
}

fn report(name: &str, mut host: Vec<Duration>, mut floor: Vec<Duration>, memory_kib: u64) {
    host.sort();
    floor.sort();
    let [host50, host99] = [50, 99].map(|percent| micros(&host, percent));
    let [floor50, floor99] = [50, 99].map(|percent| micros(&floor, percent));
    println!(
        "| {name} | {} | {host50:.0} | {host99:.0} | {floor50:.0} | {floor99:.0} | {:.1} | {:.1} \
         | {} |",
        host.len(),
        host50 / floor50,
        host99 / floor99,
        memory_kib / 1024
    );
}

async fn timed(work: impl Future<Output = Result<()>>) -> Result<Duration> {
    let began = Instant::now();
    match tokio::time::timeout(STUCK, work).await {
        Ok(done) => done.map(|()| began.elapsed()),
        Err(_) => Ok(STUCK),
    }
}

async fn ping(client: &mut WireClient) -> Result<()> {
    client.request("ping", json!({})).await.map(drop)
}

async fn echo_once(client: &mut WireClient) -> Result<()> {
    client.send(crate::bare::FRAME).await?;
    client.next().await.map(drop)
}

fn micros(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len() - 1);
    sorted[index].as_secs_f64() * 1e6
}
