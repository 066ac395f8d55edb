//! The beginning of a run: the host introduces itself, and learns what the
//! server has.

use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::mcp::hosted::{McpFailure, McpOffer};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::rpc::RpcError;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::icons;
use super::{Heard, Listed, Listing, Over, Run, object};

/// The newest revision that has a handshake, and the older ones that are
/// understood as well. What the host uses is the same in all of them.
const REVISION: &str = "2025-11-25";
const REVISIONS: &[&str] = &[REVISION, "2025-06-18", "2025-03-26", "2024-11-05"];

impl Run {
    /// Introduces the host, and learns what the server has.
    pub(super) async fn begin(&mut self) -> Result<McpOffer, Over> {
        let hello = json!({
            "protocolVersion": REVISION,
            "capabilities": {"roots": {}},
            "clientInfo": {
                "name": "innkeeper", "title": "Innkeeper", "version": env!("CARGO_PKG_VERSION"),
            },
        });
        let mut answer = self.ask("initialize", object(hello)).await?;
        let revision = answer["protocolVersion"].as_str().unwrap_or_default();
        if !REVISIONS.contains(&revision) {
            let known = REVISIONS.join(", ");
            let revision = cut(revision, 40);
            let why = format!("it wants the revision `{revision}`; this host knows {known}");
            return Err(Over::Failed(McpFailure::Strange(why)));
        }
        self.link.agreed(revision);
        let capabilities = object(answer["capabilities"].take()).unwrap_or_default();
        self.link.notify("notifications/initialized", None);
        let mut tools = Vec::new();
        if capabilities.contains_key("tools") {
            let mut listing = Listing::default();
            let mut params = None;
            loop {
                let page = self.ask("tools/list", params).await?;
                match listing.add(page) {
                    Listed::More(next) => params = Some(next),
                    Listed::All(all) => {
                        tools = all;
                        break;
                    }
                }
            }
        }
        Ok(McpOffer {
            tools,
            capabilities,
            icons: icons::read(answer["serverInfo"]["icons"].take()),
        })
    }

    /// Asks for something and waits for it, while the server begins.
    async fn ask(&mut self, method: &str, params: Option<JsonObject>) -> Result<Value, Over> {
        self.last += 1;
        let no = self.last;
        self.link.request(no, method, params.as_ref());
        let deadline = Instant::now() + self.patience.starting;
        loop {
            let heard = tokio::time::timeout_at(deadline, self.link.next()).await;
            let Ok(heard) = heard else {
                let seconds = self.patience.starting.as_secs();
                return Err(Over::Failed(McpFailure::NoAnswer { seconds }));
            };
            match heard {
                Heard::Answer { to, outcome } if to == no => {
                    let refused = |error: RpcError| McpFailure::Refused(error.message);
                    return outcome.map_err(|error| Over::Failed(refused(error)));
                }
                Heard::Challenge { wants, .. } => return Err(Over::AuthRequired(wants)),
                Heard::Lost { to, why } if to == no => {
                    return Err(Over::Failed(McpFailure::Unreachable(why)));
                }
                Heard::End(failure) => return Err(Over::Failed(failure)),
                Heard::Request { id, method } => self.answer(&id, &method),
                Heard::Answer { .. } | Heard::Lost { .. } | Heard::Notification { .. } => {}
            }
        }
    }
}
