//! What grows with the number of sessions, and what must not: CPU time for a
//! delta with many sessions streaming, for a start, and for a page of the
//! catalogue; and what a session that nobody looks at takes of the disk.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::process::Server;
use crate::start::store_sessions;
use crate::wire::{WireClient, find};

/// How many sessions stream at a time.
const STREAMING: [usize; 3] = [1, 50, 200];

/// How many deltas there are, in all sessions together.
const DELTAS: usize = 100_000;

/// How many sessions are stored.
const STORED: [usize; 3] = [10, 10_000, 30_000];

/// How many sessions are made to see what one takes of the disk.
const MADE: usize = 2_000;

const ROUNDS: usize = 5;

pub(crate) async fn run() -> Result<()> {
    streaming().await?;
    catalogue().await?;
    disk().await
}

async fn streaming() -> Result<()> {
    println!("\nCPU time of the host for a delta, by sessions that stream at a time\n");
    println!("| sessions | µs | compared with one |");
    println!("| ---: | ---: | ---: |");
    let mut one = None;
    for sessions in STREAMING {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(streamed(sessions).await?);
        }
        let each = median(rounds);
        let one = *one.get_or_insert(each);
        println!("| {sessions} | {each:.2} | {:.2} |", each / one);
    }
    Ok(())
}

/// Microseconds for each delta. One client follows all chats.
async fn streamed(sessions: usize) -> Result<f64> {
    let data = tempfile::tempdir()?;
    let server = Server::host(data.path(), "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("growth", &[]).await?;
    let mut chats = Vec::new();
    for number in 0..sessions {
        let session = format!("ahp-session:/{number}");
        let chat = client.new_session(&session).await?;
        client
            .request("subscribe", json!({"channel": chat}))
            .await?;
        chats.push(chat);
    }
    let before = server.cpu()?;
    let each = DELTAS / sessions;
    let flood = json!([{"flood": {"deltas": each, "bytes": 20}}]);
    for chat in &chats {
        client.start_turn(chat, "turn-1", flood.clone()).await?;
    }
    for _ in &chats {
        while find(client.next().await?, br#""type":"chat/turnComplete""#).is_none() {}
    }
    let spent = server.cpu()?.saturating_sub(before);
    Ok(spent.as_secs_f64() * 1e6 / (each * sessions) as f64)
}

async fn catalogue() -> Result<()> {
    println!("\nWith so many sessions stored (median of {ROUNDS})\n");
    println!("| sessions | start, ms | of it CPU | first page of 50, µs | last page | search |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    for sessions in STORED {
        let data = tempfile::tempdir()?;
        store_sessions(data.path(), sessions)?;
        // The first life puts what is stored into the index.
        drop(indexed(data.path(), sessions).await?);
        let (mut starts, mut cpus) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let server = Server::host(data.path(), "").await?;
            starts.push(server.start.as_secs_f64() * 1e3);
            cpus.push(server.cpu()?.as_secs_f64() * 1e3);
        }
        let server = Server::host(data.path(), "").await?;
        let mut client = WireClient::connect(&server.url).await?;
        client.initialize("growth", &[]).await?;
        let mut cursor = json!(null);
        let last = loop {
            let page = json!({"channel": "ahp-root://", "limit": 200, "cursor": cursor});
            let answer = client.request("listSessions", page).await?;
            let begins = std::mem::replace(&mut cursor, answer["nextCursor"].clone());
            if cursor.is_null() {
                break begins;
            }
        };
        let first = json!({"channel": "ahp-root://", "limit": 50});
        let mut end = first.clone();
        end["cursor"] = last;
        let search = json!({"channel": "ahp-root://", "query": "something", "limit": 20});
        println!(
            "| {sessions} | {:.1} | {:.1} | {:.0} | {:.0} | {:.0} |",
            median(starts),
            median(cpus),
            asked(&server, &mut client, "listSessions", &first).await?,
            asked(&server, &mut client, "listSessions", &end).await?,
            asked(&server, &mut client, "innkeeper/searchSessions", &search).await?,
        );
    }
    Ok(())
}

/// A host whose index for searching is up to date.
async fn indexed(data: &Path, sessions: usize) -> Result<Server> {
    let server = Server::host(data, "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("growth", &[]).await?;
    let last = format!("{}", sessions - 1);
    for _ in 0..600 {
        let search = json!({"channel": "ahp-root://", "query": last, "limit": 1});
        let found = client.request("innkeeper/searchSessions", search).await?;
        if found["items"].as_array().is_some_and(|it| !it.is_empty()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(server)
}

/// The host's CPU time for a request, in microseconds.
async fn asked(
    server: &Server,
    client: &mut WireClient,
    method: &str,
    params: &serde_json::Value,
) -> Result<f64> {
    const TIMES: u32 = 200;
    let before = server.cpu()?;
    for _ in 0..TIMES {
        client.request(method, params.clone()).await?;
    }
    let spent = server.cpu()?.saturating_sub(before);
    Ok(spent.as_secs_f64() * 1e6 / f64::from(TIMES))
}

async fn disk() -> Result<()> {
    println!("\nWhat empty sessions take of the disk\n");
    println!("| sessions | bytes for each |");
    println!("| ---: | ---: |");
    let data = tempfile::tempdir()?;
    let none = stored_bytes(data.path(), 0).await?;
    let many = stored_bytes(data.path(), MADE).await?;
    println!("| {MADE} | {} |", many.saturating_sub(none) / MADE as u64);
    Ok(())
}

/// The size of a database to which so many sessions were added, when its host
/// has ended.
async fn stored_bytes(data: &Path, sessions: usize) -> Result<u64> {
    let server = Server::host(data, "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("growth", &[]).await?;
    for number in 0..sessions {
        // As long as the names that clients make up.
        let session = format!("ahp-session:/{number:08}-4c1e-4a7b-9d5f-2f6a1c0b7e3d");
        client.new_session(&session).await?;
        client
            .request("unsubscribe", json!({"channel": session}))
            .await?;
    }
    server.end()?;
    let mut bytes = 0;
    for file in std::fs::read_dir(data)? {
        let file = file?;
        let name = file.file_name();
        let name = name.to_str().context("a name")?;
        if name.contains(".db") {
            bytes += file.metadata()?.len();
        }
    }
    Ok(bytes)
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or_default()
}
