//! A client of 0.1.0. Nobody published one, so this is a plain speaker of
//! JSON-RPC that reads what it is sent with the shapes of that version.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};
use tokio::sync::Mutex;

use super::actions::Action;
use super::state::{Uri, shapes};
use super::{State, read};
use crate::client::{Answer, Frames, OfficialClient};

shapes! {
    Welcome { protocol_version: String, server_seq: Number, snapshots: Vec<Snapshot> } ? {
        default_directory: Uri, completion_trigger_characters: Vec<String>,
    }
    Snapshot { resource: Uri, state: Value, from_seq: Number } ? {}
    Subscribed { snapshot: Snapshot } ? {}
    Envelope { action: Value, server_seq: Number } ? { origin: Origin, rejection_reason: String }
    Origin { client_id: String, client_seq: Number } ? {}
    Replay { actions: Vec<Envelope>, missing: Vec<Uri> } ? {}
    Afresh { snapshots: Vec<Snapshot> } ? {}
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Back {
    Replay(Replay),
    Snapshot(Afresh),
}

pub(crate) struct Client(Mutex<Line>);

struct Line {
    frames: Frames,
    last_id: u64,
    /// What came while something else was waited for.
    actions: VecDeque<Value>,
}

pub(crate) fn connect(frames: Frames) -> Box<dyn OfficialClient> {
    Box::new(Client(Mutex::new(Line {
        frames,
        last_id: 0,
        actions: VecDeque::new(),
    })))
}

impl Line {
    fn say(&mut self, method: &str, params: Value) -> Result<u64, String> {
        self.last_id += 1;
        let id = self.last_id;
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let sent = self.frames.outgoing.send(frame.to_string());
        sent.map(|()| id)
            .map_err(|_| "the connection is gone".to_owned())
    }

    /// The answer to this request, or without one the next that is none.
    async fn hear(&mut self) -> Result<Value, String> {
        let text = self.frames.incoming.recv().await;
        let text = text.ok_or("the connection is gone")?;
        let mut frame: Value = serde_json::from_str(&text).map_err(|it| it.to_string())?;
        if frame["method"] == "action" {
            let envelope: Envelope = read(frame["params"].take())?;
            if envelope.rejection_reason.is_none() {
                read::<Action>(envelope.action.clone())?;
            }
            let envelope = serde_json::to_value(envelope).map_err(|it| it.to_string())?;
            self.actions.push_back(envelope);
            return Ok(Value::Null);
        }
        Ok(frame)
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.say(method, params)?;
        loop {
            let mut frame = self.hear().await?;
            if frame["id"] == id && frame.get("method").is_none() {
                return match frame.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(frame["result"].take()),
                };
            }
        }
    }
}

/// Whether a result has its shape, and the states in it have theirs.
fn checked<T: for<'de> Deserialize<'de>>(
    result: Value,
    snapshots: impl Fn(&T) -> Vec<&Snapshot>,
) -> Result<Value, String> {
    let typed: T = read(result.clone())?;
    for snapshot in snapshots(&typed) {
        State::read(snapshot.state.clone())?;
    }
    Ok(result)
}

impl OfficialClient for Client {
    fn initialize(
        &self,
        id: &str,
        subscriptions: Vec<String>,
    ) -> Answer<'_, Result<Value, String>> {
        let params = json!({
            "protocolVersions": ["0.1.0"], "clientId": id, "initialSubscriptions": subscriptions,
        });
        Box::pin(async move {
            let welcome = self.0.lock().await.ask("initialize", params).await?;
            checked(welcome, |it: &Welcome| it.snapshots.iter().collect())
        })
    }

    fn reconnect(
        &mut self,
        id: &str,
        seen: i64,
        subscriptions: Vec<String>,
    ) -> Answer<'_, Result<Value, String>> {
        let params = json!({
            "clientId": id, "lastSeenServerSeq": seen, "subscriptions": subscriptions,
        });
        Box::pin(async move {
            let back = self.0.lock().await.ask("reconnect", params).await?;
            checked(back, |it: &Back| match it {
                Back::Replay(_) => Vec::new(),
                Back::Snapshot(it) => it.snapshots.iter().collect(),
            })
        })
    }

    fn subscribe(&mut self, channel: &str) -> Answer<'_, Result<Value, String>> {
        let params = json!({"resource": channel});
        Box::pin(async move {
            let answer = self.0.lock().await.ask("subscribe", params).await?;
            checked(answer, |it: &Subscribed| vec![&it.snapshot])
        })
    }

    fn request(&self, method: &str, params: Value) -> Answer<'_, Result<Value, String>> {
        let method = method.to_owned();
        Box::pin(async move { self.0.lock().await.ask(&method, params).await })
    }

    fn dispatch(&self, _channel: &str, action: Value) -> Answer<'_, Result<(), String>> {
        Box::pin(async move {
            read::<Action>(action.clone())?;
            let mut line = self.0.lock().await;
            let params = json!({"clientSeq": line.last_id + 1, "action": action});
            line.say("dispatchAction", params).map(|_| ())
        })
    }

    fn action(&mut self) -> Answer<'_, Option<Value>> {
        Box::pin(async move {
            let line = self.0.get_mut();
            loop {
                if let Some(envelope) = line.actions.pop_front() {
                    return Some(envelope);
                }
                line.hear().await.ok()?;
            }
        })
    }
}
