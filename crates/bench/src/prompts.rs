//! How long from the start of a turn to the agent's first word, in repositories
//! of several sizes, next to a host that keeps no states of them. The first turn
//! of a session finds nothing kept; the others find the state after the one
//! before.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::changes::{git, median};
use crate::process::Server;
use crate::wire::{WireClient, find};

const SESSIONS: usize = 5;
const TURNS: usize = 10;

pub(crate) async fn run() -> Result<()> {
    println!(
        "\nFrom the start of a turn to the agent's first word ({SESSIONS} sessions of {TURNS} \
         turns, medians in ms)\n"
    );
    println!("| repository | first turn | with `changes = false` | later turns | likewise |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for files in [300, 30_000] {
        for tracked in [true, false] {
            let directory = tempfile::tempdir()?;
            make_repository(directory.path(), files, tracked)?;
            let with = measure(directory.path(), "").await?;
            let without = measure(directory.path(), "[workspace]\nchanges = false\n").await?;
            let kind = if tracked { "tracked" } else { "untracked" };
            let column = |with: Duration, without: Duration| {
                let ratio = with.as_secs_f64() / without.as_secs_f64();
                let millis = |time: Duration| time.as_secs_f64() * 1e3;
                format!("{:.2} ({ratio:.2}) | {:.2}", millis(with), millis(without))
            };
            println!(
                "| {files} {kind} files | {} | {} |",
                column(with.first, without.first),
                column(with.later, without.later)
            );
        }
    }
    Ok(())
}

struct Times {
    first: Duration,
    later: Duration,
}

fn make_repository(at: &Path, files: usize, tracked: bool) -> Result<()> {
    for file in 0..files {
        let directory = at.join(format!("part{}", file / 100));
        if file % 100 == 0 {
            std::fs::create_dir(&directory)?;
        }
        let line = format!("line of {file}\n");
        std::fs::write(directory.join(format!("{file}.txt")), line.repeat(20))?;
    }
    let all: &[&[&str]] = match tracked {
        true => &[&["init", "-q"], &["add", "-A"], &["commit", "-qm", "All"]],
        false => &[&["init", "-q"]],
    };
    for arguments in all {
        anyhow::ensure!(git(at).args(*arguments).status()?.success(), "git failed");
    }
    Ok(())
}

async fn measure(repository: &Path, config: &str) -> Result<Times> {
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for round in 0..SESSIONS {
        let data = tempfile::tempdir()?;
        let server = Server::host(data.path(), config).await?;
        let mut client = WireClient::connect(&server.url).await?;
        client.initialize("prompts", &[]).await?;
        let session = format!("ahp-session:/{round}");
        let chat = client.new_session_in(&session, repository).await?;
        client
            .request("subscribe", json!({"channel": chat}))
            .await?;
        for turn in 0..TURNS {
            let began = Instant::now();
            let steps = json!([{"say": "word"}]);
            client.start_turn(&chat, &format!("t{turn}"), steps).await?;
            while find(client.next().await?, b"chat/delta").is_none() {}
            match turn {
                0 => first.push(began.elapsed()),
                _ => later.push(began.elapsed()),
            }
            while find(client.next().await?, b"chat/turnComplete").is_none() {}
        }
    }
    Ok(Times {
        first: median(first),
        later: median(later),
    })
}
