//! What the host adds between an agent and a client: an agent says when it
//! sends each piece of its answer, and a client looks at the clock when the
//! piece arrives. The floor is the same agent at the end of a pipe, without a
//! host.

use std::io::{BufRead as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use crate::process::Server;
use crate::wire::{WireClient, find};

/// How many pieces an answer has, and how far apart they are: far enough that
/// none waits for another.
const PIECES: usize = 2_000;
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) async fn run() -> Result<()> {
    println!("\nFrom an agent's piece of text to whoever reads it, {PIECES} pieces\n");
    println!("| way | p50 µs | p99 µs |");
    println!("| --- | ---: | ---: |");
    let pipe = through_a_pipe().await?;
    let host = through_the_host().await?;
    for (name, times) in [("a pipe", &pipe), ("the host", &host)] {
        println!("| {name} | {} | {} |", at(times, 50), at(times, 99));
    }
    let added = |percent| at(&host, percent).saturating_sub(at(&pipe, percent));
    println!("\nAdded: p50 {} µs, p99 {} µs", added(50), added(99));
    Ok(())
}

/// An agent behind the Agent Client Protocol that answers every prompt with
/// pieces that say when they were sent.
pub(crate) fn agent() -> Result<()> {
    let mut out = std::io::stdout().lock();
    let mut write = |message: Value| -> Result<()> {
        writeln!(out, "{message}")?;
        Ok(out.flush()?)
    };
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1}),
            Some("session/new") => json!({"sessionId": "s"}),
            Some("session/prompt") => {
                for _ in 0..PIECES {
                    std::thread::sleep(PAUSE);
                    let content = json!({"type": "text", "text": format!("@{}@", now())});
                    let update =
                        json!({"sessionUpdate": "agent_message_chunk", "content": content});
                    let params = json!({"sessionId": "s", "update": update});
                    write(json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))?;
                }
                json!({"stopReason": "end_turn"})
            }
            _ => json!({}),
        };
        if !message["id"].is_null() {
            write(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))?;
        }
    }
    Ok(())
}

async fn through_a_pipe() -> Result<Vec<u64>> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("chunk-agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = child.stdin.take().context("a pipe")?;
    let mut lines = BufReader::new(child.stdout.take().context("a pipe")?).lines();
    let prompt = json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt"});
    input.write_all(format!("{prompt}\n").as_bytes()).await?;
    let mut times = Vec::with_capacity(PIECES);
    while times.len() < PIECES {
        let line = lines.next_line().await?.context("the agent ended")?;
        times.extend(age(line.as_bytes()));
    }
    times.sort_unstable();
    Ok(times)
}

async fn through_the_host() -> Result<Vec<u64>> {
    let data = tempfile::tempdir()?;
    let command = json!(std::env::current_exe()?.display().to_string());
    let config = format!("[agents.chunks]\ncommand = {command}\nargs = ['chunk-agent']\n");
    let server = Server::host_with(data.path(), &config, "chunks").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("agents", &[]).await?;
    let chat = client
        .new_session_with("ahp-session:/bench", "chunks")
        .await?;
    client
        .request("subscribe", json!({"channel": chat}))
        .await?;
    client.start_turn(&chat, "t", json!([])).await?;
    let mut times = Vec::with_capacity(PIECES);
    while times.len() < PIECES {
        times.extend(age(client.next().await?));
    }
    times.sort_unstable();
    Ok(times)
}

/// How long ago, in microseconds, a piece was sent that stands in a message.
fn age(message: &[u8]) -> Option<u64> {
    let now = now();
    let start = find(message, b"@")? + 1;
    let end = start + find(&message[start..], b"@")?;
    let sent: u64 = std::str::from_utf8(&message[start..end])
        .ok()?
        .parse()
        .ok()?;
    Some(now.saturating_sub(sent))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

fn at(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}
