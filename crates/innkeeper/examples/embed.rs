//! A host in your own program: starts one, connects the protocol's own client
//! to it, and runs a turn. `cargo run -p innkeeper --example embed`
//!
//! The agent is the one that plays scenarios. For a real one, see
//! `innkeeper::agents::AcpAgent`; to keep sessions, give the host a
//! `SqliteStore` instead of the store in memory.

use std::sync::Arc;

use innkeeper::ahp::{Client, ClientConfig, SubscriptionEvent};
use innkeeper::protocol::ChannelUri;
use innkeeper::protocol::newest::actions::StateAction;
use innkeeper::protocol::version::Version;
use innkeeper::{Host, HostOptions, InProcess, MemoryStore, ScriptAgent};
use serde_json::{Value, json};

const SESSION: &str = "ahp-session:/embedded";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agents = vec![Arc::new(ScriptAgent::default()) as _];
    let host = Host::start(HostOptions::default(), agents, MemoryStore::default()).await?;

    let transport = InProcess::new(host.connect());
    let client = Client::connect(transport, ClientConfig::default()).await?;
    let hello = client.initialize("embed".to_owned(), Version::supported(), Vec::new());
    println!("AHP {}", hello.await?.protocol_version);

    let session = json!({"channel": SESSION, "provider": "script"});
    client.request::<_, Value>("createSession", session).await?;
    let chat = ChannelUri::default_chat_of(SESSION).to_string();
    let (_, mut events) = client.subscribe(chat.clone()).await?;

    let turn = json!({
        "type": "chat/turnStarted", "turnId": "1",
        "message": {"text": "hello", "origin": {"kind": "user"}},
    });
    client.dispatch(chat, serde_json::from_value(turn)?).await?;
    while let Some(event) = events.recv().await {
        let SubscriptionEvent::Action(envelope) = event else {
            continue;
        };
        match envelope.action {
            StateAction::ChatDelta(delta) => print!("{}", delta.content),
            StateAction::ChatTurnComplete(_) => break,
            StateAction::ChatError(failed) => return Err(failed.part.error.message.into()),
            _ => {}
        }
    }
    println!();

    host.shutdown().await?;
    Ok(())
}
