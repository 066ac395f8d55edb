//! What a client that reads nothing costs: the rate of one that does, with it
//! and without it, and the memory of the host.

use std::time::Instant;

use anyhow::Result;

use crate::fanout::Load;
use crate::process::Server;
use crate::wire::WireClient;

const DELTAS: usize = 200_000;
const ROUNDS: usize = 5;

pub(crate) async fn run() -> Result<()> {
    let (mut alone, mut beside) = (0.0_f64, 0.0_f64);
    let mut growth = u64::MAX;
    for _ in 0..ROUNDS {
        alone = alone.max(measure(0).await?.0);
        let (rate, grown) = measure(1).await?;
        beside = beside.max(rate);
        growth = growth.min(grown);
    }
    println!("\nA client that reads nothing while {DELTAS} deltas are sent (best of {ROUNDS})\n");
    println!("| | deltas a second to the client that reads |");
    println!("| --- | ---: |");
    println!("| alone | {alone:.0} |");
    println!("| next to one that does not | {beside:.0} |");
    println!(
        "\nRatio: {:.2}. The host's memory grew by {growth} KiB.",
        beside / alone
    );
    Ok(())
}

/// Deltas a second, and by how much the memory grew.
async fn measure(slow: usize) -> Result<(f64, u64)> {
    let data = tempfile::tempdir()?;
    let server = Server::host(data.path(), "").await?;
    let load = Load::prepare(&server.url, 0).await?;
    let mut stalled = Vec::new();
    for index in 0..slow {
        let mut client = WireClient::connect(&server.url).await?;
        client
            .initialize(&format!("slow-{index}"), &[load.chat()])
            .await?;
        stalled.push(client);
    }
    let before = server.usage()?.resident_kib;
    let began = Instant::now();
    load.run(DELTAS).await?;
    let rate = DELTAS as f64 / began.elapsed().as_secs_f64();
    let growth = server.usage()?.resident_kib.saturating_sub(before);
    Ok((rate, growth))
}
