//! How many deliveries a second: one stream of small deltas, many subscribers.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use tokio::task::JoinSet;

use crate::process::Server;
use crate::wire::{WireClient, find};

pub(crate) const SUBSCRIBERS: [usize; 4] = [1, 10, 100, 500];

/// Deliveries that one measurement aims at.
const DELIVERIES: usize = 10_000_000;

/// How often each is measured; the best counts, as others use the machine too.
const ROUNDS: usize = 3;

const DELTA_BYTES: usize = 20;

/// What the subscribers speak, in turn.
type Versions = &'static [&'static str];

const NEWEST: Versions = &["1.0.0"];
const OLD: Versions = &["0.2.0"];
const MIXED: Versions = &[
    "1.0.0", "0.9.0", "0.8.0", "0.7.0", "0.6.0", "0.5.0", "0.4.0", "0.3.0", "0.2.0", "0.1.0",
    "draft 1",
];

const SESSION: &str = "ahp-session:/bench";

/// Without merging nothing makes room in a full queue, so there must be room
/// for everything.
const UNMERGED: &str = "[delivery]\nmerge = false\nqueue_bytes = 4000000000\n";

#[derive(Debug, Clone, Copy)]
struct Rate {
    per_second: f64,
    cpu_micros: f64,
}

pub(crate) async fn run(subscribers: &[usize]) -> Result<()> {
    println!("\nDeliveries of {DELTA_BYTES}-byte deltas (best of {ROUNDS})\n");
    println!(
        "| subscribers | batches /s | frames /s | host /s | of batches | of frames | host µs |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for &count in subscribers {
        let deltas = (DELIVERIES / count).clamp(4_000, 200_000);
        let (mut raw, mut bare, mut host, mut shipped) = (None, None, None, None);
        for _ in 0..ROUNDS {
            better(
                &mut raw,
                measure_floor(Server::raw().await?, count, deltas).await?,
            );
            better(
                &mut bare,
                measure_floor(Server::bare().await?, count, deltas).await?,
            );
            better(
                &mut host,
                measure_host(NEWEST, count, deltas, UNMERGED).await?,
            );
            better(&mut shipped, measure_host(NEWEST, count, deltas, "").await?);
        }
        if let (Some(raw), Some(bare), Some(host), Some(shipped)) = (raw, bare, host, shipped) {
            println!(
                "| {count} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} |",
                raw.per_second,
                bare.per_second,
                host.per_second,
                host.per_second / raw.per_second,
                host.per_second / bare.per_second,
                host.cpu_micros,
            );
            println!("| as shipped | | | {:.0} | | | |", shipped.per_second);
        }
    }
    println!("\nFloors: ready-made bytes, written in finished batches as the host does, or frame");
    println!("by frame through the library. Host: merging off. µs: its CPU time a delivery.");
    Ok(())
}

/// What older versions cost: the same stream, and what its subscribers speak.
pub(crate) async fn run_versions(subscribers: &[usize]) -> Result<()> {
    println!("\nDeliveries to older versions (best of {ROUNDS}, merging off)\n");
    println!("| subscribers | 1.0.0 /s | 0.2.0 /s | of 1.0.0 | µs | all ten /s | of 1.0.0 | µs |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for &count in subscribers {
        let deltas = (DELIVERIES / count).clamp(4_000, 200_000);
        let mut best = [None; 3];
        for _ in 0..ROUNDS {
            for (best, versions) in best.iter_mut().zip([NEWEST, OLD, MIXED]) {
                better(best, measure_host(versions, count, deltas, UNMERGED).await?);
            }
        }
        if let [Some(newest), Some(old), Some(mixed)] = best {
            println!(
                "| {count} | {:.0} | {:.0} | {:.2} | {:.2} | {:.0} | {:.2} | {:.2} |",
                newest.per_second,
                old.per_second,
                old.per_second / newest.per_second,
                old.cpu_micros,
                mixed.per_second,
                mixed.per_second / newest.per_second,
                mixed.cpu_micros,
            );
        }
    }
    println!(
        "\nThe client that starts the stream speaks 1.0.0. µs: the host's CPU time a delivery."
    );
    Ok(())
}

fn better(best: &mut Option<Rate>, rate: Rate) {
    if best.is_none_or(|best| rate.per_second > best.per_second) {
        *best = Some(rate);
    }
}

async fn measure_floor(server: Server, subscribers: usize, frames: usize) -> Result<Rate> {
    let mut clients = Vec::new();
    for _ in 0..=subscribers {
        let mut client = WireClient::connect(&server.url).await?;
        // An echo: the server knows this client when it comes back.
        client.send("hello").await?;
        client.next().await?;
        clients.push(client);
    }
    let Some(mut starter) = clients.pop() else {
        return Ok(rate(0, Duration::ZERO, Duration::ZERO));
    };
    let (before, began) = (server.usage()?, Instant::now());
    starter.send(&format!("go {frames}")).await?;
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    for mut client in clients.into_iter().chain([starter]) {
        tasks.spawn(async move {
            for _ in 0..frames {
                client.next().await?;
            }
            Ok(())
        });
    }
    finish(tasks).await?;
    let cpu = server.usage()?.cpu - before.cpu;
    Ok(rate((subscribers + 1) * frames, began.elapsed(), cpu))
}

/// Deliveries a second of a host with this configuration, none of them merged.
pub(crate) async fn unmerged(config: &str, subscribers: usize) -> Result<f64> {
    let deltas = (DELIVERIES / subscribers).clamp(4_000, 200_000);
    let config = format!("{UNMERGED}{config}");
    let rate = measure_host(NEWEST, subscribers, deltas, &config).await?;
    Ok(rate.per_second)
}

async fn measure_host(
    versions: Versions,
    subscribers: usize,
    deltas: usize,
    config: &str,
) -> Result<Rate> {
    let data = tempfile::tempdir()?;
    let server = Server::host(data.path(), config).await?;
    let load = Load::prepare_as(versions, &server.url, subscribers).await?;
    let (before, began) = (server.usage()?, Instant::now());
    load.run(deltas).await?;
    let cpu = server.usage()?.cpu - before.cpu;
    Ok(rate((subscribers + 1) * deltas, began.elapsed(), cpu))
}

/// Floods a host that runs already.
pub(crate) async fn load(url: &str, subscribers: usize, deltas: usize) -> Result<()> {
    let load = Load::prepare(url, subscribers).await?;
    let began = Instant::now();
    load.run(deltas).await?;
    let deliveries = ((subscribers + 1) * deltas) as f64;
    println!(
        "{:.0} deliveries a second",
        deliveries / began.elapsed().as_secs_f64()
    );
    Ok(())
}

/// What stands before the type of an action.
const TYPE: &[u8] = br#""type":""#;

/// A session, one client that starts turns and many that listen.
pub(crate) struct Load {
    starter: WireClient,
    clients: Vec<WireClient>,
    chat: String,
}

impl Load {
    pub(crate) async fn prepare(url: &str, subscribers: usize) -> Result<Self> {
        Self::prepare_as(NEWEST, url, subscribers).await
    }

    async fn prepare_as(versions: Versions, url: &str, subscribers: usize) -> Result<Self> {
        let mut starter = WireClient::connect(url).await?;
        starter.initialize("starter", &[]).await?;
        let chat = starter.new_session(SESSION).await?;
        let mut clients = Vec::new();
        for (index, version) in versions.iter().cycle().take(subscribers).enumerate() {
            let mut client = WireClient::connect(url).await?;
            // Up to 0.3 a session and its chat are one channel.
            let channel = if *version < "0.4" { SESSION } else { &chat };
            client
                .initialize_as(version, &format!("client-{index}"), &[channel])
                .await?;
            clients.push(client);
        }
        starter
            .request("subscribe", json!({"channel": chat}))
            .await?;
        Ok(Self {
            starter,
            clients,
            chat,
        })
    }

    /// The chat in which the deltas will be.
    pub(crate) fn chat(&self) -> &str {
        &self.chat
    }

    pub(crate) async fn run(mut self, deltas: usize) -> Result<()> {
        let flood = json!([{"flood": {"deltas": deltas, "bytes": DELTA_BYTES}}]);
        self.starter.start_turn(&self.chat, "turn-1", flood).await?;
        let mut tasks: JoinSet<Result<()>> = JoinSet::new();
        for mut client in self.clients.into_iter().chain([self.starter]) {
            tasks.spawn(async move {
                // All frames of a channel begin alike, so after the first one
                // it is known where the type of the action stands.
                let mut place = None;
                loop {
                    let frame = client.next().await?;
                    let place = match place {
                        Some(place) => place,
                        None => match find(frame, TYPE) {
                            Some(found) => *place.insert(found + TYPE.len()),
                            None => continue,
                        },
                    };
                    let kind = frame.get(place..).unwrap_or_default();
                    let ends = kind.starts_with(b"chat/turnComplete")
                        || kind.starts_with(b"session/turnComplete");
                    if ends {
                        return Ok(());
                    }
                }
            });
        }
        finish(tasks).await
    }
}

async fn finish(mut tasks: JoinSet<Result<()>>) -> Result<()> {
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(())
}

fn rate(deliveries: usize, time: Duration, cpu: Duration) -> Rate {
    Rate {
        per_second: deliveries as f64 / time.as_secs_f64(),
        cpu_micros: cpu.as_secs_f64() * 1e6 / deliveries as f64,
    }
}
