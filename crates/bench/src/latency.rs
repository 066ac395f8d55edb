//! How long from a dispatched action to its echo, which is durable by then, next
//! to a program that does only that: it reads a frame, commits it to a database
//! of the same kind in the same way, and writes it back. And how long from the
//! last word of an agent to the end of its turn, which is durable as well.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rusqlite::Connection;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::paced::accept;
use crate::process::Server;
use crate::wire::{WireClient, find};

const ECHOES: usize = 3_000;
const TURNS: usize = 1_000;

/// How often each is measured, in turn; the median counts.
const ROUNDS: usize = 3;

/// What streams next to it, where something does.
const DELTAS_A_SECOND: u64 = 10_000;

/// p50 and p99 of one measurement, in microseconds.
type Spread = (f64, f64);

pub(crate) async fn run() -> Result<()> {
    println!(
        "\nFrom dispatch to durable echo, {ECHOES} one after the other (median of {ROUNDS})\n"
    );
    println!("| next to it | bare p50 / p99 µs | host p50 / p99 µs | of bare |");
    println!("| --- | ---: | ---: | ---: |");
    let mut idle = 1.0;
    for busy in [false, true] {
        let (mut bare, mut host) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(measure_bare(busy).await?);
            host.push(measure_host("", ECHOES, busy).await?);
        }
        let (bare, host) = (median(&bare), median(&host));
        let beside = match busy {
            true => "10,000 deltas a second",
            false => "nothing",
        };
        if !busy {
            idle = bare.0;
        }
        println!(
            "| {beside} | {:.0} / {:.0} | {:.0} / {:.0} | {:.1} / {:.1} |",
            bare.0,
            bare.1,
            host.0,
            host.1,
            host.0 / bare.0,
            host.1 / bare.1
        );
    }
    let full = measure_host("[store]\nsync = \"full\"\n", ECHOES, false).await?;
    println!(
        "\nWith `sync = \"full\"`: p50 {:.0} µs, p99 {:.0} µs",
        full.0, full.1
    );
    let (whole, end) = measure_turns().await?;
    println!("\nTurns of one word, {TURNS} one after the other\n");
    println!("| from | to | p50 µs | p99 µs | p50, of a bare echo |");
    println!("| --- | --- | ---: | ---: | ---: |");
    for (from, to, (p50, p99)) in [
        ("the dispatched message", "the end of the turn", whole),
        ("the agent's last word", "the end of the turn", end),
    ] {
        println!(
            "| {from} | {to} | {p50:.0} | {p99:.0} | {:.1} |",
            p50 / idle
        );
    }
    Ok(())
}

fn median(of: &[Spread]) -> Spread {
    let middle = |pick: fn(&Spread) -> f64| {
        let mut of: Vec<f64> = of.iter().map(pick).collect();
        of.sort_by(f64::total_cmp);
        of.get(of.len() / 2).copied().unwrap_or_default()
    };
    (middle(|spread| spread.0), middle(|spread| spread.1))
}

fn spread(mut times: Vec<Duration>) -> Spread {
    times.sort();
    (micros(&times, 50), micros(&times, 99))
}

/// For each turn, from its message and from its last word to its end.
async fn measure_turns() -> Result<(Spread, Spread)> {
    let data = tempfile::tempdir()?;
    let server = Server::host(data.path(), "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("turns", &[]).await?;
    let chat = client.new_session("ahp-session:/turns").await?;
    client
        .request("subscribe", json!({"channel": chat}))
        .await?;
    let (mut whole, mut end) = (Vec::new(), Vec::new());
    for seq in 0..TURNS {
        let text = json!({"steps": [{"say": "Done.", "chunks": 1}]}).to_string();
        let message = json!({"text": text, "origin": {"kind": "user"}});
        let action =
            json!({"type": "chat/turnStarted", "turnId": format!("t{seq}"), "message": message});
        let began = Instant::now();
        client.dispatch(&chat, seq as i64, action).await?;
        let mut last_word = began;
        loop {
            let frame = client.next().await?;
            let now = Instant::now();
            if find(frame, b"chat/delta").is_some() {
                last_word = now;
            }
            if find(frame, b"chat/turnComplete").is_some() {
                end.push(now - last_word);
                whole.push(now - began);
                break;
            }
        }
    }
    Ok((spread(whole), spread(end)))
}

async fn measure_bare(busy: bool) -> Result<Spread> {
    let data = tempfile::tempdir()?;
    let next_to_it = match busy {
        true => {
            let server = Server::host(data.path(), "").await?;
            let stream = Stream::start(&server).await?;
            Some((server, stream))
        }
        false => None,
    };
    let server = Server::floor("commit-server").await?;
    let mut client = WireClient::connect(&server.url).await?;
    let mut times = Vec::with_capacity(ECHOES);
    for _ in 0..ECHOES {
        let began = Instant::now();
        client.send(crate::bare::FRAME).await?;
        client.next().await?;
        times.push(began.elapsed());
    }
    if let Some((_, stream)) = next_to_it {
        stream.goes_on()?;
    }
    Ok(spread(times))
}

/// How long echoes of a host take with this configuration, so many of them, with
/// or without a stream next to them.
pub(crate) async fn measure_host(config: &str, echoes: usize, busy: bool) -> Result<Spread> {
    let data = tempfile::tempdir()?;
    let server = Server::host(data.path(), config).await?;
    let stream = match busy {
        true => Some(Stream::start(&server).await?),
        false => None,
    };
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("latency", &[]).await?;
    let chat = client.new_session("ahp-session:/bench").await?;
    client
        .request("subscribe", json!({"channel": chat}))
        .await?;
    let mut times = Vec::with_capacity(echoes);
    for seq in 0..echoes {
        let draft = json!({"text": format!("draft {seq}"), "origin": {"kind": "user"}});
        let action = json!({"type": "chat/draftChanged", "draft": draft});
        let began = Instant::now();
        client.dispatch(&chat, seq as i64, action).await?;
        while find(client.next().await?, b"chat/draftChanged").is_none() {}
        times.push(began.elapsed());
    }
    if let Some(stream) = stream {
        stream.goes_on()?;
    }
    Ok(spread(times))
}

/// A session that streams, with somebody who reads it.
struct Stream(JoinHandle<Result<()>>);

impl Stream {
    async fn start(server: &Server) -> Result<Self> {
        let mut client = WireClient::connect(&server.url).await?;
        client.initialize("stream", &[]).await?;
        let chat = client.new_session("ahp-session:/stream").await?;
        client
            .request("subscribe", json!({"channel": chat}))
            .await?;
        // Longer than what it stands next to.
        let flood = json!({
            "deltas": DELTAS_A_SECOND * 120,
            "bytes": 20,
            "everyUs": 1_000_000 / DELTAS_A_SECOND,
        });
        client
            .start_turn(&chat, "turn-1", json!([{"flood": flood}]))
            .await?;
        while find(client.next().await?, b"chat/delta").is_none() {}
        Ok(Self(tokio::spawn(async move {
            while find(client.next().await?, b"chat/turnComplete").is_none() {}
            Ok(())
        })))
    }

    /// It must not have ended before what it was to disturb.
    fn goes_on(self) -> Result<()> {
        anyhow::ensure!(!self.0.is_finished(), "the stream next to it has ended");
        self.0.abort();
        Ok(())
    }
}

/// Commits each frame that comes, and writes it back.
pub(crate) fn serve_commits(ready_file: &str) -> Result<()> {
    accept(ready_file, |stream| {
        std::thread::spawn(move || {
            if let Err(error) = commits(stream) {
                eprintln!("{error:#}");
            }
        });
    })
}

fn commits(mut stream: TcpStream) -> Result<()> {
    let data = tempfile::tempdir()?;
    let db = Connection::open(data.path().join("bare.db"))?;
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.execute_batch("CREATE TABLE log (number INTEGER PRIMARY KEY, action TEXT NOT NULL)")?;
    let mut insert = db.prepare("INSERT INTO log (action) VALUES (?1)")?;
    let mut header = [0; 8];
    // Two bytes, a length of two more, and a mask of zeros.
    while stream.read_exact(&mut header).is_ok() {
        let length = u16::from_be_bytes([header[2], header[3]]);
        let mut text = vec![0; usize::from(length)];
        stream.read_exact(&mut text)?;
        insert.execute([std::str::from_utf8(&text).context("a frame of text")?])?;
        let mut answer = vec![0x81, 126, header[2], header[3]];
        answer.extend(text);
        stream.write_all(&answer)?;
    }
    Ok(())
}

fn micros(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len() - 1);
    sorted[index].as_secs_f64() * 1e6
}
