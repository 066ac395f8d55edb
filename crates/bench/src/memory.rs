//! What stays in memory: after a burst of large answers, and after many
//! sessions were made in one life of the host, compared with the next life.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use crate::process::Server;
use crate::wire::{WireClient, is_answer};

const SESSIONS: usize = 30_000;
const ANSWERS: i64 = 200;

/// How long the host has to give back what it does not need.
const REST: Duration = Duration::from_secs(15);

pub(crate) async fn run() -> Result<()> {
    println!("\nResident memory that stays\n");
    println!("| what | MiB |\n| --- | ---: |");
    let yard = tempfile::tempdir()?;
    let data = tempfile::tempdir()?;
    let config = format!("[workspace]\nroots = [{:?}]\n", yard.path());
    let server = Server::host(data.path(), &config).await?;
    let idle = mib(&server)?;
    println!("| idle | {idle:.1} |");
    let (most, rest) = large_answers(&server, yard.path()).await?;
    println!("| {ANSWERS} answers of 8 MiB: at most | {most:.1} |");
    println!("| {} s later | {rest:.1} |", REST.as_secs());
    drop(server);

    let data = tempfile::tempdir()?;
    let server = Server::host(data.path(), "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("maker", &[]).await?;
    for number in 0..SESSIONS {
        let session = format!("ahp-session:/{number}");
        let create = json!({"channel": session, "provider": "script"});
        client.request("createSession", create).await?;
    }
    println!("| {SESSIONS} sessions made | {:.1} |", mib(&server)?);
    tokio::time::sleep(REST).await;
    println!("| {} s later | {:.1} |", REST.as_secs(), mib(&server)?);
    drop(server);
    let server = Server::host(data.path(), "").await?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("maker", &[]).await?;
    println!("| in the next life | {:.1} |", mib(&server)?);
    Ok(())
}

/// The most that was seen while they were read, and what is left in the end.
async fn large_answers(server: &Server, yard: &Path) -> Result<(f64, f64)> {
    let file = yard.join("large");
    std::fs::write(&file, vec![0xff; 8 << 20])?;
    let mut client = WireClient::connect(&server.url).await?;
    client.initialize("reader", &[]).await?;
    let read = json!({"uri": format!("file://{}", file.display())});
    for id in 0..ANSWERS {
        client.ask(id, "resourceRead", &read).await?;
    }
    let mut most = 0.0_f64;
    for _ in 0..ANSWERS {
        while !is_answer(client.next().await?) {}
        most = most.max(mib(server)?);
    }
    drop(client);
    tokio::time::sleep(REST).await;
    Ok((most, mib(server)?))
}

fn mib(server: &Server) -> Result<f64> {
    Ok(server.usage()?.resident_kib as f64 / 1024.0)
}
