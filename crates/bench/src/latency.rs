//! How long from a dispatched action to its echo, which is durable by then,
//! next to a bare echo; and how long from the last word of an agent to the end
//! of its turn, which is durable as well.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::process::Server;
use crate::wire::{WireClient, find};

const ECHOES: usize = 5_000;
const TURNS: usize = 1_000;

pub(crate) async fn run() -> Result<()> {
    println!("\nFrom dispatch to echo, {ECHOES} one after the other\n");
    println!("| server | p50 µs | p99 µs |");
    println!("| --- | ---: | ---: |");
    let bare = measure_bare().await?;
    let host = measure_host("").await?;
    let full = measure_host("[store]\nsync = \"full\"\n").await?;
    for (name, times) in [
        ("bare echo", &bare),
        ("host", &host),
        ("host, sync = full", &full),
    ] {
        println!(
            "| {name} | {:.0} | {:.0} |",
            micros(times, 50),
            micros(times, 99)
        );
    }
    println!(
        "\nRatio: p50 {:.1}, p99 {:.1}",
        micros(&host, 50) / micros(&bare, 50),
        micros(&host, 99) / micros(&bare, 99)
    );
    let (whole, end) = measure_turns().await?;
    println!("\nTurns of one word, {TURNS} one after the other\n");
    println!("| from | to | p50 µs | p99 µs | p50, compared with a bare echo |");
    println!("| --- | --- | ---: | ---: | ---: |");
    for (from, to, times) in [
        ("the dispatched message", "the end of the turn", &whole),
        ("the agent's last word", "the end of the turn", &end),
    ] {
        let (p50, p99) = (micros(times, 50), micros(times, 99));
        let ratio = p50 / micros(&bare, 50);
        println!("| {from} | {to} | {p50:.0} | {p99:.0} | {ratio:.1} |");
    }
    Ok(())
}

/// For each turn, from its message and from its last word to its end.
async fn measure_turns() -> Result<(Vec<Duration>, Vec<Duration>)> {
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
    whole.sort();
    end.sort();
    Ok((whole, end))
}

async fn measure_bare() -> Result<Vec<Duration>> {
    let server = Server::bare().await?;
    let mut client = WireClient::connect(&server.url).await?;
    let mut times = Vec::with_capacity(ECHOES);
    for _ in 0..ECHOES {
        let began = Instant::now();
        client.send(crate::bare::FRAME).await?;
        client.next().await?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(times)
}

async fn measure_host(config: &str) -> Result<Vec<Duration>> {
    let data = tempfile::tempdir()?;
    let server = Server::host(data.path(), config).await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("latency", &[]).await?;
    let chat = client.new_session("ahp-session:/bench").await?;
    client
        .request("subscribe", json!({"channel": chat}))
        .await?;
    let mut times = Vec::with_capacity(ECHOES);
    for seq in 0..ECHOES {
        let draft = json!({"text": format!("draft {seq}"), "origin": {"kind": "user"}});
        let action = json!({"type": "chat/draftChanged", "draft": draft});
        let began = Instant::now();
        client.dispatch(&chat, seq as i64, action).await?;
        while find(client.next().await?, b"chat/draftChanged").is_none() {}
        times.push(began.elapsed());
    }
    times.sort();
    Ok(times)
}

fn micros(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len() - 1);
    sorted[index].as_secs_f64() * 1e6
}
