//! A client of the host: of the one that runs on a data directory, or of one
//! in this process.

use ahp::transport::BoxedTransport;
use ahp::{Client, ClientConfig, ClientError};
use ahp_ws::WebSocketTransport;
use anyhow::{Context as _, Result, anyhow};
use innkeeper_protocol::version::Version;

use super::announcement::Announcement;
use innkeeper::{HostConnection, InProcess};

/// How many messages may wait to be read. What is streamed must not get lost,
/// and a reader that falls behind by this much would lose some.
const EVENTS_WAITING: usize = 4_096;

/// Connects to a host that announced itself.
pub(crate) async fn connect_to(host: &Announcement) -> Result<Client> {
    let transport = WebSocketTransport::connect(&host.url)
        .await
        .with_context(|| {
            let advice = match host.url.starts_with("wss:") {
                true => "make this machine trust its certificate, or stop it",
                false => "see its log, or stop it",
            };
            let pid = host.pid;
            format!("the host on this data directory (process {pid}) cannot be reached; {advice}")
        })?;
    connect(BoxedTransport::new(transport)).await
}

/// Connects to a host in this process.
pub(crate) async fn connect_within(connection: HostConnection) -> Result<Client> {
    connect(BoxedTransport::new(InProcess::new(connection))).await
}

async fn connect(transport: BoxedTransport) -> Result<Client> {
    let config = ClientConfig {
        subscription_buffer: EVENTS_WAITING,
        ..ClientConfig::default()
    };
    let client = Client::connect(transport, config)
        .await
        .map_err(explained)?;
    // Hosts remember their clients: one name for each process, not each call,
    // keeps that list short.
    let id = format!("innkeeper-{}", std::process::id());
    let handshake = client.initialize(id, Version::supported(), Vec::new());
    handshake.await.map_err(explained)?;
    Ok(client)
}

/// What the host said, without the names of the layers that it came through.
pub(crate) fn explained(error: ClientError) -> anyhow::Error {
    match error {
        ClientError::Rpc(error) => anyhow!(error.message),
        ClientError::Cancelled => anyhow!("the host did not answer in time; try again"),
        ClientError::Shutdown | ClientError::Transport(_) => {
            anyhow!("the connection to the host ended; see its log, and try again")
        }
        ClientError::Deserialization(_)
        | ClientError::UnknownSubscription(_)
        | ClientError::SequenceGap => anyhow!("the host answered something unexpected: {error}"),
    }
}
