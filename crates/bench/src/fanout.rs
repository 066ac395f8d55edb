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
            better(&mut host, measure_host(count, deltas, false).await?);
            better(&mut shipped, measure_host(count, deltas, true).await?);
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

async fn measure_host(subscribers: usize, deltas: usize, merge: bool) -> Result<Rate> {
    let data = tempfile::tempdir()?;
    // Without merging nothing makes room in a full queue, so there must be
    // room for everything.
    let config = match merge {
        true => String::new(),
        false => "[delivery]\nmerge = false\nqueue_bytes = 4000000000\n".to_owned(),
    };
    let server = Server::host(data.path(), &config).await?;
    let load = Load::prepare(&server.url, subscribers).await?;
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

/// A session, one client that starts turns and many that listen.
pub(crate) struct Load {
    starter: WireClient,
    clients: Vec<WireClient>,
    chat: String,
}

impl Load {
    pub(crate) async fn prepare(url: &str, subscribers: usize) -> Result<Self> {
        let mut starter = WireClient::connect(url).await?;
        starter.initialize("starter", &[]).await?;
        let chat = starter.new_session("ahp-session:/bench").await?;
        let mut clients = Vec::new();
        for index in 0..subscribers {
            let mut client = WireClient::connect(url).await?;
            client
                .initialize(&format!("client-{index}"), &[&chat])
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
                // All frames of the chat begin alike, so after the first one it
                // is known where the type of the action stands.
                let mut place = None;
                loop {
                    let frame = client.next().await?;
                    let place = match place {
                        Some(place) => place,
                        None => match find(frame, b"chat/") {
                            Some(found) => *place.insert(found),
                            None => continue,
                        },
                    };
                    if frame
                        .get(place..)
                        .is_some_and(|rest| rest.starts_with(b"chat/turnComplete"))
                    {
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
