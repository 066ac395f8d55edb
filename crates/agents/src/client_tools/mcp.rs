//! The Model Context Protocol, as far as a server speaks it that offers tools
//! and nothing else: what an agent says is taken apart, and what it is to hear
//! is made. There is no I/O here, and nothing is run.
//!
//! The protocol has two eras. Up to 2025-11-25 a connection begins with
//! `initialize`, and what is agreed upon there holds for all of it. Since
//! 2026-07-28 every request names the revision that it is in, every result
//! says what it is, and news goes to those who listen. An agent may speak in
//! either way at any time.

use std::sync::Arc;

use innkeeper_protocol::agent::ClientTool;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::rpc::{ClientFrame, RequestId, RpcError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{SERVER_NAME, content};

/// Requests to be told of news, for one connection.
const MOST_LISTENING: usize = 16;

const INSTRUCTIONS: &str = "Tools of the program that the user sits at.";

/// The protocol's names for what goes with a message.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;

/// A revision of the protocol, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// The newest first, as clients are told.
    const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    const NEWEST_WITH_HANDSHAKE: Self = Self::V2025_11_25;

    fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    fn has_handshake(self) -> bool {
        self <= Self::NEWEST_WITH_HANDSHAKE
    }
}

/// What a message asks of whoever runs the connection.
#[derive(Debug)]
pub(super) enum Heard {
    Nothing,
    /// This is to be written.
    Say(Value),
    /// A tool is to be run.
    Call(Box<Call>),
    /// Nobody waits for the answer to this request any more.
    Cancelled(RequestId),
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) asked: Asked,
    pub(super) tool: ClientTool,
    pub(super) input: JsonObject,
}

/// A request that is to be answered, and the revision that it was made in.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) id: RequestId,
    revision: Revision,
    server: Arc<str>,
}

impl Asked {
    /// The answer, with what its revision wants of every result.
    pub(super) fn answer(&self, mut result: Value) -> Value {
        if !self.revision.has_handshake() {
            result["resultType"] = json!("complete");
            result["_meta"] = json!({SERVER_INFO: server_info(&self.server)});
        }
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }

    /// Likewise for a result that could be kept. These may be other ones the
    /// next time, and are nobody else's.
    fn answer_fresh(&self, mut result: Value) -> Value {
        if !self.revision.has_handshake() {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        self.answer(result)
    }
}

/// An error as it is told. Of a message that could not be read, the id is not
/// known.
pub(super) fn refusal(id: Option<&RequestId>, error: &RpcError) -> Value {
    match id {
        Some(id) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        None => json!({"jsonrpc": "2.0", "error": error}),
    }
}

/// The agent's end of a connection.
#[derive(Debug)]
pub(super) struct Peer {
    /// What the agent calls the server.
    server: Arc<str>,
    /// What `initialize` has agreed upon.
    agreed: Option<Revision>,
    /// The requests to be told when the tools change.
    listening: Vec<RequestId>,
}

impl Peer {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self {
            server,
            agreed: None,
            listening: Vec::new(),
        }
    }

    /// The end of a connection that has just one request, in the revision of
    /// this name; nobody, if there is no such revision.
    pub(super) fn of_request(server: Arc<str>, revision: &str) -> Option<Self> {
        let revision = Revision::named(revision)?;
        Some(Self {
            agreed: Some(revision).filter(|revision| revision.has_handshake()),
            ..Self::new(server)
        })
    }

    pub(super) fn hear(&mut self, line: &str, tools: &[ClientTool]) -> Heard {
        match ClientFrame::parse(line) {
            Ok(ClientFrame::Request { id, method, params }) => {
                let heard = object(params).and_then(|params| {
                    let id = id.clone();
                    self.request(id, &method, params, tools)
                });
                heard.unwrap_or_else(|error| Heard::Say(refusal(Some(&id), &error)))
            }
            Ok(ClientFrame::Notification { method, params }) => self.notification(&method, params),
            // Nothing is asked of agents.
            Ok(ClientFrame::Response { .. }) => Heard::Nothing,
            Err(bad) => Heard::Say(refusal(bad.id.as_ref(), &bad.error)),
        }
    }

    /// What is to be said when other tools are there.
    pub(super) fn news(&self) -> Vec<Value> {
        let method = "notifications/tools/list_changed";
        let agreed = self.agreed.iter();
        let to_all = agreed.map(|_| json!({"jsonrpc": "2.0", "method": method}));
        let listening = self.listening.iter().map(|id| {
            let params = json!({"_meta": {SUBSCRIPTION_ID: id}});
            json!({"jsonrpc": "2.0", "method": method, "params": params})
        });
        to_all.chain(listening).collect()
    }

    fn request(
        &mut self,
        id: RequestId,
        method: &str,
        params: JsonObject,
        tools: &[ClientTool],
    ) -> Result<Heard, RpcError> {
        let revision = self.revision_of(&params);
        let server = Arc::clone(&self.server);
        let asked = |revision| Asked {
            id: id.clone(),
            revision,
            server: Arc::clone(&server),
        };
        // What a connection begins with may be of either era.
        let has_handshake = revision.as_ref().ok().map(|known| known.has_handshake());
        match method {
            "initialize" => self.initialize(&id, &params),
            "tools/list" => list(&asked(revision?), &params, tools),
            "tools/call" => call(asked(revision?), params, tools),
            "ping" if has_handshake != Some(false) => {
                let asked = asked(Revision::NEWEST_WITH_HANDSHAKE);
                Ok(Heard::Say(asked.answer(json!({}))))
            }
            "server/discover" if has_handshake != Some(true) => Ok(discover(&asked(revision?))),
            "subscriptions/listen" if has_handshake != Some(true) => {
                self.listen(&asked(revision?), &params)
            }
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) -> Heard {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled {
            request_id: RequestId,
        }
        let params = params.map_or("null", RawValue::get);
        match (method, serde_json::from_str(params)) {
            ("notifications/cancelled", Ok(Cancelled { request_id })) => {
                self.listening.retain(|id| *id != request_id);
                Heard::Cancelled(request_id)
            }
            _ => Heard::Nothing,
        }
    }

    /// The revision that a request is in: what it says, or else what was agreed.
    fn revision_of(&self, params: &JsonObject) -> Result<Revision, RpcError> {
        let meta = params.get("_meta").unwrap_or(&Value::Null);
        let missing =
            |key: &str| RpcError::invalid_params(format!("`_meta` has no `{key}` that is one"));
        let Some(said) = meta.get(PROTOCOL_VERSION) else {
            return self.agreed.ok_or_else(|| missing(PROTOCOL_VERSION));
        };
        let said = said.as_str().ok_or_else(|| missing(PROTOCOL_VERSION))?;
        let revision = Revision::named(said).ok_or_else(|| unsupported(said))?;
        let capabilities = meta.get(CLIENT_CAPABILITIES);
        if !revision.has_handshake() && !capabilities.is_some_and(Value::is_object) {
            return Err(missing(CLIENT_CAPABILITIES));
        }
        Ok(revision)
    }

    /// An agent that wants a revision without a handshake, or one that nobody
    /// knows, is offered the newest that has one.
    fn initialize(&mut self, id: &RequestId, params: &JsonObject) -> Result<Heard, RpcError> {
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        let wanted = wanted
            .ok_or_else(|| RpcError::invalid_params("`protocolVersion` must name a revision"))?;
        let agreed = Revision::named(wanted).filter(|revision| revision.has_handshake());
        let revision = agreed.unwrap_or(Revision::NEWEST_WITH_HANDSHAKE);
        self.agreed = Some(revision);
        let asked = Asked {
            id: id.clone(),
            revision,
            server: Arc::clone(&self.server),
        };
        Ok(Heard::Say(asked.answer(json!({
            "protocolVersion": revision.name(),
            "capabilities": capabilities(),
            "serverInfo": server_info(&self.server),
            "instructions": instructions(&self.server),
        }))))
    }

    /// The request stays open, so it is acknowledged and not answered.
    fn listen(&mut self, asked: &Asked, params: &JsonObject) -> Result<Heard, RpcError> {
        let wanted = params.get("notifications").and_then(Value::as_object);
        let wanted =
            wanted.ok_or_else(|| RpcError::invalid_params("`notifications` must be an object"))?;
        if self.listening.contains(&asked.id) {
            return Err(RpcError::invalid_request("this `id` is in use"));
        }
        if self.listening.len() >= MOST_LISTENING {
            let message = format!("{MOST_LISTENING} requests listen already; cancel one first");
            return Err(RpcError::internal(message));
        }
        let tools = wanted.get("toolsListChanged") == Some(&Value::Bool(true));
        if tools {
            self.listening.push(asked.id.clone());
        }
        let heeded = match tools {
            true => json!({"toolsListChanged": true}),
            false => json!({}),
        };
        Ok(Heard::Say(json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": {SUBSCRIPTION_ID: asked.id}, "notifications": heeded},
        })))
    }
}

fn discover(asked: &Asked) -> Heard {
    let versions: Vec<&str> = Revision::ALL.into_iter().map(Revision::name).collect();
    Heard::Say(asked.answer_fresh(json!({
        "supportedVersions": versions,
        "capabilities": capabilities(),
        "instructions": instructions(&asked.server),
    })))
}

fn list(asked: &Asked, params: &JsonObject, tools: &[ClientTool]) -> Result<Heard, RpcError> {
    if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        let message = "`cursor` is not one of this server, which lists all tools at once";
        return Err(RpcError::invalid_params(message));
    }
    let tools = content::listed(tools);
    Ok(Heard::Say(asked.answer_fresh(json!({"tools": tools}))))
}

fn call(asked: Asked, params: JsonObject, tools: &[ClientTool]) -> Result<Heard, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        name: String,
        arguments: Option<JsonObject>,
    }
    let Params { name, arguments } = serde_json::from_value(params.into())
        .map_err(|error| RpcError::invalid_params(format!("not a call of a tool: {error}")))?;
    let tool = tools.iter().find(|tool| tool.definition.name == name);
    let tool = tool
        .ok_or_else(|| RpcError::invalid_params(format!("no client offers the tool `{name}`")))?;
    Ok(Heard::Call(Box::new(Call {
        asked,
        tool: tool.clone(),
        input: arguments.unwrap_or_default(),
    })))
}

fn object(params: Option<&RawValue>) -> Result<JsonObject, RpcError> {
    let Some(params) = params else {
        return Ok(JsonObject::new());
    };
    serde_json::from_str(params.get())
        .map_err(|_| RpcError::invalid_params("`params` must be an object"))
}

fn unsupported(requested: &str) -> RpcError {
    let supported: Vec<&str> = Revision::ALL.into_iter().map(Revision::name).collect();
    RpcError::new(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version")
        .with_data(json!({"supported": supported, "requested": requested}))
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}})
}

fn server_info(name: &str) -> Value {
    json!({"name": name, "version": env!("CARGO_PKG_VERSION")})
}

fn instructions(name: &str) -> String {
    match name {
        SERVER_NAME => INSTRUCTIONS.to_owned(),
        other => format!("Tools of the MCP server `{other}`, which the host runs."),
    }
}

#[cfg(test)]
mod tests;
