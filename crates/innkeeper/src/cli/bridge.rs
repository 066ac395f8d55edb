//! `innkeeper bridge SOCKET`: standard input and output, connected with a
//! socket of the host. Agents start it as an MCP server; what is behind the
//! socket is the host's.

use std::path::PathBuf;

use anyhow::Context as _;
use tokio::net::UnixStream;

use super::Outcome;

pub(crate) async fn run(socket: PathBuf) -> Outcome {
    let mut host = UnixStream::connect(&socket).await.with_context(|| {
        let socket = socket.display();
        format!("no host listens on {socket}; this command is for agents that a host has started")
    })?;
    let mut agent = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
    // Either may leave first, and neither needs to be told twice.
    let _ = tokio::io::copy_bidirectional(&mut agent, &mut host).await;
    Ok(())
}
