//! JSON-RPC 2.0 framing. A frame is taken apart without parsing its `params`,
//! which are decoded once it is known what they are.

use std::borrow::Cow;
use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ChannelUri;
use crate::bounds::{MAX_ID_BYTES, TooLong};
use crate::newest::errors::{ahp_error_codes, json_rpc_error_codes};

/// What correlates a response with its request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    Number(i64),
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(id) => id.fmt(f),
            Self::Text(id) => id.fmt(f),
        }
    }
}

/// The error object of a JSON-RPC response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    pub code: i32,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub fn with_data(mut self, data: impl Serialize) -> Self {
        self.data = serde_json::to_value(data).ok();
        self
    }

    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(json_rpc_error_codes::PARSE_ERROR, message)
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(json_rpc_error_codes::INVALID_REQUEST, message)
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            json_rpc_error_codes::METHOD_NOT_FOUND,
            format!("this host has no method `{method}`"),
        )
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(json_rpc_error_codes::INVALID_PARAMS, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(json_rpc_error_codes::INTERNAL_ERROR, message)
    }

    /// A default chat is there if its session is, and clients of versions
    /// without chats know the session only: it is the one that is named.
    pub fn session_not_found(uri: &str) -> Self {
        let message = match ChannelUri::from(uri).session_of_default_chat() {
            Some(session) => format!("unknown session `{session}`"),
            None => format!("unknown session or channel `{uri}`"),
        };
        Self::new(ahp_error_codes::SESSION_NOT_FOUND, message)
    }

    pub fn turn_in_progress(message: impl Into<String>) -> Self {
        Self::new(ahp_error_codes::TURN_IN_PROGRESS, message)
    }

    pub fn not_found(uri: &str) -> Self {
        Self::new(
            ahp_error_codes::NOT_FOUND,
            format!("`{uri}` does not exist"),
        )
    }
}

/// One frame from a client, its payload not yet decoded.
#[derive(Debug)]
pub enum ClientFrame<'a> {
    Request {
        id: RequestId,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Response {
        id: RequestId,
        outcome: Result<Value, RpcError>,
    },
}

/// A frame that is no JSON-RPC message, with the error to answer it with.
#[derive(Debug)]
pub struct BadFrame {
    pub id: Option<RequestId>,
    pub error: RpcError,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<RpcError>,
}

impl<'a> ClientFrame<'a> {
    pub fn parse(text: &'a str) -> Result<Self, Box<BadFrame>> {
        let bad = |error| Box::new(BadFrame { id: None, error });
        let unread = |error: serde_json::Error| {
            bad(if error.is_data() {
                RpcError::invalid_request(format!("not a JSON-RPC message: {error}"))
            } else {
                RpcError::parse(format!("not JSON: {error}"))
            })
        };
        // The fields of a message in a list would be one, too.
        if text.trim_start().starts_with('[') {
            serde_json::from_str::<IgnoredAny>(text).map_err(unread)?;
            let error =
                RpcError::invalid_request("batches are not taken; send one message at a time");
            return Err(bad(error));
        }
        let frame: Frame<'a> = serde_json::from_str(text).map_err(unread)?;
        let id = match frame.id.map(|raw| serde_json::from_str(raw.get())) {
            None => None,
            Some(Ok(id)) => Some(id),
            Some(Err(_)) => {
                let error = RpcError::invalid_request("`id` must be an integer or a string");
                return Err(bad(error));
            }
        };
        if let Some(RequestId::Text(id)) = &id
            && id.len() > MAX_ID_BYTES
        {
            let (field, bytes) = ("id".to_owned(), id.len());
            let why = TooLong::Id { field, bytes };
            return Err(bad(RpcError::invalid_request(why.to_string())));
        }
        match (frame.method, id) {
            (Some(method), Some(id)) => Ok(Self::Request {
                id,
                method,
                params: frame.params,
            }),
            (Some(method), None) => Ok(Self::Notification {
                method,
                params: frame.params,
            }),
            (None, Some(id)) => Ok(Self::Response {
                id,
                outcome: match frame.error {
                    Some(error) => Err(error),
                    None => Ok(frame.result.unwrap_or(Value::Null)),
                },
            }),
            (None, None) => {
                let error = RpcError::invalid_request("a message needs a `method` or an `id`");
                Err(bad(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_bad(text: &str, code: i32) {
        let bad = ClientFrame::parse(text).expect_err(text);
        assert_eq!(bad.error.code, code, "{text}");
    }

    #[test]
    fn frames_that_are_no_message_are_named_as_such() {
        check_bad("{", -32700);
        check_bad("nonsense", -32700);
        check_bad("[", -32700);
        check_bad("[]", -32600);
        check_bad(r#"[1]"#, -32600);
        check_bad(r#"[1,"ping"]"#, -32600);
        check_bad(r#" [{"id":1,"method":"ping"}]"#, -32600);
        check_bad("3", -32600);
        check_bad("{}", -32600);
        check_bad(r#"{"id":{},"method":"ping"}"#, -32600);
        check_bad(r#"{"id":1.5,"method":"ping"}"#, -32600);
        check_bad(r#"{"id":1,"method":7}"#, -32600);
        let long = "x".repeat(MAX_ID_BYTES + 1);
        check_bad(&format!(r#"{{"id":"{long}","method":"ping"}}"#), -32600);
    }

    #[test]
    fn requests_keep_their_id_and_raw_params() {
        let text = r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":[1, 2]}}"#;
        let Ok(ClientFrame::Request { id, method, params }) = ClientFrame::parse(text) else {
            panic!("a request");
        };
        assert_eq!(id, RequestId::Text("a".into()));
        assert_eq!(method, "ping");
        assert_eq!(params.map(RawValue::get), Some(r#"{"x":[1, 2]}"#));
    }

    #[test]
    fn a_response_may_have_a_null_result() {
        let parsed = ClientFrame::parse(r#"{"jsonrpc":"2.0","id":3,"result":null}"#);
        let Ok(ClientFrame::Response { id, outcome }) = parsed else {
            panic!("a response");
        };
        assert_eq!((id, outcome), (RequestId::Number(3), Ok(Value::Null)));
    }
}
