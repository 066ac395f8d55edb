//! How long a host takes to be ready, and how much memory it takes, with few
//! sessions and with many.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use innkeeper_protocol::newest::state::{ChatState, SessionState, SessionSummary};
use innkeeper_protocol::record::store::Store as _;
use innkeeper_protocol::record::{
    ChatNotes, ChatRecord, SessionNotes, SessionRecord, StoreBatch, StoreOp, SummaryFacts,
};
use innkeeper_protocol::{ChannelUri, Timestamp};
use innkeeper_store::{SqliteStore, StoreOptions};
use serde_json::json;

use crate::process::{Server, host_binary};
use crate::wire::WireClient;

const STORED: usize = 10_000;
const RESIDENT: usize = 100;
const ROUNDS: usize = 7;

pub(crate) async fn run() -> Result<()> {
    let empty = tempfile::tempdir()?;
    let full = tempfile::tempdir()?;
    store_sessions(full.path(), STORED)?;

    println!("\nStart-up until ready (best of {ROUNDS})\n");
    println!("| what | ms |");
    println!("| --- | ---: |");
    println!(
        "| a process that prints its version | {:.1} |",
        millis(version()?)
    );
    println!("| empty | {:.1} |", millis(start(empty.path()).await?));
    println!(
        "| {STORED} stored sessions | {:.1} |",
        millis(start(full.path()).await?)
    );

    println!("\nResident memory\n");
    println!("| what | MiB |");
    println!("| --- | ---: |");
    println!("| idle, empty | {:.1} |", idle(empty.path()).await?);
    println!(
        "| idle, {STORED} stored sessions | {:.1} |",
        idle(full.path()).await?
    );
    println!(
        "| {RESIDENT} resident sessions | {:.1} |",
        resident(empty.path()).await?
    );
    Ok(())
}

fn version() -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        Command::new(host_binary()?).arg("--version").output()?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}

async fn start(data: &Path) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        best = best.min(Server::host(data, "").await?.start);
    }
    Ok(best)
}

async fn idle(data: &Path) -> Result<f64> {
    let server = Server::host(data, "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("memory", &["ahp-root://"]).await?;
    Ok(server.usage()?.resident_kib as f64 / 1024.0)
}

async fn resident(data: &Path) -> Result<f64> {
    let server = Server::host(data, "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("memory", &[]).await?;
    for index in 0..RESIDENT {
        client
            .new_session(&format!("ahp-session:/resident-{index}"))
            .await?;
    }
    Ok(server.usage()?.resident_kib as f64 / 1024.0)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Writes sessions as a host would have, without running one.
pub(crate) fn store_sessions(directory: &Path, count: usize) -> Result<()> {
    let mut store = SqliteStore::open(directory, StoreOptions::default())?;
    for first in (0..count).step_by(500) {
        let batches = (first..(first + 500).min(count)).map(stored_session);
        store.apply(&batches.collect::<Result<Vec<_>>>()?)?;
    }
    Ok(Box::new(store).close()?)
}

pub(crate) fn stored_session(index: usize) -> Result<StoreBatch> {
    let uri = ChannelUri::from(format!("ahp-session:/stored-{index:05}"));
    let chat = ChannelUri::default_chat_of(uri.as_str());
    let modified = Timestamp::from_millis(1_700_000_000_000 + index as i64 * 1_000).to_string();
    let title = format!("A session about something, number {index}");
    let summary_of_chat = json!({
        "resource": chat, "title": title, "status": 33, "modifiedAt": modified,
        "origin": {"kind": "user"}, "interactivity": "full",
    });
    let common = json!({
        "provider": "script", "title": title, "status": 33,
        "project": {"uri": "file:///srv/project", "displayName": "project"},
        "workingDirectories": ["file:///srv/project"], "defaultChat": chat,
    });
    let with = |more: serde_json::Value| {
        let mut value = common.clone();
        if let (Some(value), Some(more)) = (value.as_object_mut(), more.as_object()) {
            value.extend(more.clone());
        }
        value
    };
    let summary: SessionSummary = serde_json::from_value(with(json!({
        "resource": uri, "createdAt": modified, "modifiedAt": modified,
        "chats": [{"resource": chat, "title": title, "status": 33}],
    })))?;
    let state: SessionState = serde_json::from_value(with(json!({
        "lifecycle": "ready", "activeClients": [], "chats": [summary_of_chat],
    })))?;
    let mut head = summary_of_chat.clone();
    head["turns"] = json!([]);
    let head: ChatState = serde_json::from_value(head)?;
    Ok(StoreBatch {
        ops: vec![
            StoreOp::PutSession(Box::new(SessionRecord {
                uri: uri.clone(),
                summary,
                state,
                notes: SessionNotes::default(),
                facts: SummaryFacts::default(),
            })),
            StoreOp::PutChat(Box::new(ChatRecord {
                uri: chat,
                session: uri,
                head,
                seq: 0.into(),
                notes: ChatNotes::default(),
            })),
        ],
    })
}
