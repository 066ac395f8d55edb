//! Opening a long chat over the wire: for the first time in a life of the host
//! and again, and reading it page by page, in every version. What counts is the
//! host's CPU time, compared with that of the newest version.

use std::path::Path;

use anyhow::{Context as _, Result};
use innkeeper_protocol::record::store::Store as _;
use innkeeper_protocol::record::{StoreBatch, StoreOp};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::version::Version;
use innkeeper_store::{SqliteStore, StoreOptions};
use serde_json::{Value, json};

use crate::gates::turn;
use crate::process::Server;
use crate::start::stored_session;
use crate::wire::WireClient;

/// How many turns the chat has.
const TURNS: usize = 3_000;

const ROUNDS: usize = 5;

/// How often it is opened again in each round.
const AGAIN: u32 = 10;

pub(crate) async fn run() -> Result<()> {
    let data = tempfile::tempdir()?;
    let (session, chat) = store_chat(data.path())?;
    println!("\nOpening a chat of {TURNS} turns: CPU time of the host (median of {ROUNDS})\n");
    println!(
        "| version | first, ms | of 1.0.0 | again, ms | of 1.0.0 | all pages, ms | of 1.0.0 |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut newest: Option<[f64; 3]> = None;
    for version in Version::ALL.into_iter().rev() {
        let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            let round = round(data.path(), &version.to_string(), &session, &chat).await?;
            for (all, one) in rounds.iter_mut().zip(round) {
                all.push(one);
            }
        }
        let figures = rounds.map(median);
        let floor = *newest.get_or_insert(figures);
        let cells = figures.iter().zip(floor);
        let cells = cells.map(|(it, floor)| format!(" {it:.2} | {:.2} |", it / floor));
        println!("| {version} |{}", cells.collect::<String>());
    }
    Ok(())
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or_default()
}

/// The first time, again, and all pages, in milliseconds.
async fn round(data: &Path, version: &str, session: &str, chat: &str) -> Result<[f64; 3]> {
    let server = Server::host(data, "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize_as(version, "opener", &[]).await?;
    // Up to 0.3 a session and its chat are one channel.
    let channel = if version < "0.4" || version.starts_with("draft") {
        session
    } else {
        chat
    };
    let named = match version {
        "0.1.0" | "draft 1" => "resource",
        _ => "channel",
    };
    let open = json!({named: channel});
    let mut before = server.cpu()?;
    let mut lap = |times: u32| -> Result<f64> {
        let now = server.cpu()?;
        let spent = now.saturating_sub(before);
        before = now;
        Ok(spent.as_secs_f64() * 1e3 / f64::from(times))
    };
    let opened = client.request("subscribe", open.clone()).await?;
    let first = lap(1)?;
    for _ in 0..AGAIN {
        client.request("unsubscribe", open.clone()).await.ok();
        client.request("subscribe", open.clone()).await?;
    }
    let again = lap(AGAIN)?;
    let cursor = opened["snapshot"]["state"]["turnsNextCursor"].clone();
    let pages = match cursor {
        Value::Null => 0.0,
        cursor => {
            read_pages(&mut client, channel, cursor).await?;
            lap(1)?
        }
    };
    Ok([first, again, pages])
}

/// Reads all earlier turns, as versions with cursors do.
async fn read_pages(client: &mut WireClient, chat: &str, mut cursor: Value) -> Result<()> {
    while !cursor.is_null() {
        let fetch = json!({"channel": chat, "cursor": cursor});
        client.ask(1, "fetchTurns", &fetch).await?;
        // The turns come as an action, the answer behind or before it.
        cursor = loop {
            let frame: Value = serde_json::from_slice(client.next().await?)?;
            let action = &frame["params"]["action"];
            if action["type"] == "chat/turnsLoaded" {
                break action["turnsNextCursor"].clone();
            }
        };
    }
    Ok(())
}

/// A session whose chat has many turns; returns their names.
fn store_chat(data: &Path) -> Result<(String, String)> {
    let mut batch = stored_session(0)?;
    let named = batch.ops.iter().find_map(|op| match op {
        StoreOp::PutChat(chat) => Some((chat.session.clone(), chat.uri.clone())),
        _ => None,
    });
    let (session, chat) = named.context("a chat")?;
    for index in 0..TURNS {
        let turn = serde_json::from_value(turn(index))?;
        batch.ops.push(StoreOp::AppendTurn {
            chat: chat.clone(),
            index: index as u64,
            turn: StoredTurn::new(&turn)?,
        });
    }
    let mut store = SqliteStore::open(data, StoreOptions::default())?;
    store.apply(&[StoreBatch { ops: batch.ops }])?;
    Box::new(store).close()?;
    Ok((session.to_string(), chat.to_string()))
}
