//! The way to a server and back, whatever it is made of.

use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::mcp::hosted::{BearerToken, McpFailure};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::McpAuthRequirement;
use innkeeper_protocol::rpc::RpcError;
use serde_json::{Value, json};

use super::http::HttpLink;
use super::stdio::StdioLink;

/// The longest message of a server.
pub(super) const LONGEST: u64 = 16 * 1024 * 1024;

/// How much of an error is kept.
const LONGEST_WORDS: usize = 2_000;

/// The number of a request of ours.
pub(super) type RequestNo = u64;

/// What comes from a server.
#[derive(Debug)]
pub(super) enum Heard {
    Answer {
        to: RequestNo,
        outcome: Result<Value, RpcError>,
    },
    Request {
        id: Value,
        method: String,
    },
    Notification {
        method: String,
        params: Option<JsonObject>,
    },
    /// The request was not taken: somebody has to sign in.
    Challenge {
        to: RequestNo,
        wants: Box<McpAuthRequirement>,
    },
    /// Of this request nothing will be heard.
    Lost {
        to: RequestNo,
        why: String,
    },
    /// The server is gone.
    End(McpFailure),
}

#[derive(Debug)]
pub(super) enum Link {
    Stdio(Box<StdioLink>),
    Http(Box<HttpLink>),
}

impl Link {
    pub(super) fn request(&mut self, no: RequestNo, method: &str, params: Option<&JsonObject>) {
        let mut message = json!({"jsonrpc": "2.0", "id": no, "method": method});
        if let Some(params) = params {
            message["params"] = json!(params);
        }
        match self {
            Self::Stdio(link) => link.write(&message),
            Self::Http(link) => link.post(message, Some(no)),
        }
    }

    pub(super) fn notify(&mut self, method: &str, params: Option<&JsonObject>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = json!(params);
        }
        self.send(message);
    }

    pub(super) fn answer(&mut self, id: &Value, outcome: Result<Value, RpcError>) {
        self.send(match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        });
    }

    fn send(&mut self, message: Value) {
        match self {
            Self::Stdio(link) => link.write(&message),
            Self::Http(link) => link.post(message, None),
        }
    }

    /// Whether the server accepts too little of what it is told. Until that
    /// changes, it is not heard.
    pub(super) fn is_behind(&mut self) -> bool {
        match self {
            Self::Stdio(link) => link.is_behind(),
            Self::Http(link) => link.is_behind(),
        }
    }

    /// What the server says next. Waiting may be given up at any time without
    /// losing anything.
    pub(super) async fn next(&mut self) -> Heard {
        match self {
            Self::Stdio(link) => link.next().await,
            Self::Http(link) => link.next().await,
        }
    }

    /// Nobody waits for the answer to this any more.
    pub(super) fn forget(&mut self, no: RequestNo) {
        if let Self::Http(link) = self {
            link.forget(no);
        }
    }

    pub(super) fn authorize(&mut self, token: BearerToken) {
        if let Self::Http(link) = self {
            link.authorize(token);
        }
    }

    /// The revision that was agreed upon, which HTTP repeats with each request.
    pub(super) fn agreed(&mut self, revision: &str) {
        if let Self::Http(link) = self {
            link.agreed(revision);
        }
    }

    pub(super) async fn end(self, grace: std::time::Duration) {
        match self {
            Self::Stdio(link) => link.end(grace).await,
            Self::Http(link) => drop(link),
        }
    }
}

/// A message of a server, if it is one.
pub(super) fn understood(message: Value) -> Option<Heard> {
    let Value::Object(mut message) = message else {
        return None;
    };
    let id = message.remove("id").filter(|id| !id.is_null());
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Some(Heard::Request { id, method }),
        (Some(Value::String(method)), None) => {
            let params = match message.remove("params") {
                Some(Value::Object(params)) => Some(params),
                _ => None,
            };
            Some(Heard::Notification { method, params })
        }
        (_, Some(id)) => {
            let to = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
            let outcome = match message.remove("error") {
                None | Some(Value::Null) => Ok(message.remove("result").unwrap_or(Value::Null)),
                Some(error) => Err(error_of(error)),
            };
            Some(Heard::Answer { to, outcome })
        }
        _ => None,
    }
}

/// What is said is shown to people and kept in states, so it is cut.
fn error_of(error: Value) -> RpcError {
    let read: Result<RpcError, _> = serde_json::from_value(error);
    let mut error =
        read.unwrap_or_else(|_| RpcError::internal("it answered with an error that is not one"));
    error.message = cut(&error.message, LONGEST_WORDS).to_owned();
    error
}
