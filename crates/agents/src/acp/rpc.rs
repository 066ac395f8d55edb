//! JSON-RPC with an agent: requests in both directions over lines of JSON.
//!
//! *Invariant*: what the agent says is seen in the order in which it was said,
//! answers among notifications, so that a turn's last words are heard before
//! its end.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use serde::Serialize;
use serde_json::{Value, json};

use crate::process::{JsonLines, Line, LineWriter};
use crate::registry::SignIn;

/// The number of a request of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RequestNo(u64);

impl RequestNo {
    /// That of no request: they are counted from one.
    pub(super) const NONE: Self = Self(0);
}

#[derive(Debug)]
pub(super) enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Response {
        to: RequestNo,
        result: Result<Value, Error>,
    },
}

#[derive(Debug)]
pub(super) struct Peer {
    lines: JsonLines,
    answers: Answers,
    last_request: u64,
    sign_in: Arc<SignIn>,
}

impl Peer {
    pub(super) fn new(lines: JsonLines, sign_in: &Arc<SignIn>) -> Self {
        let answers = Answers(lines.writer());
        Self {
            lines,
            answers,
            last_request: 0,
            sign_in: Arc::clone(sign_in),
        }
    }

    pub(super) fn request(&mut self, method: &str, params: &impl Serialize) -> RequestNo {
        self.last_request += 1;
        let id = self.last_request;
        self.write(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        RequestNo(id)
    }

    pub(super) fn notify(&self, method: &str, params: &impl Serialize) {
        self.write(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Where requests of the agent are answered, from any task.
    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// What the agent says next; `None` when it is gone.
    pub(super) async fn next(&mut self) -> Option<Incoming> {
        loop {
            match self.lines.next().await? {
                Line::Json(message) => {
                    if let Some(mut incoming) = understood(message) {
                        if let Incoming::Response { result, .. } = &mut incoming {
                            refine(result, &self.sign_in);
                        }
                        return Some(incoming);
                    }
                }
                Line::Noise(text) => tracing::debug!(text, "an agent said what is not JSON"),
                Line::TooLong => tracing::warn!("an agent said more on one line than is read"),
            }
        }
    }

    fn write(&self, message: Value) {
        self.answers.0.write(&message);
    }
}

/// Answers to what the agent asks.
#[derive(Debug, Clone)]
pub(super) struct Answers(LineWriter);

impl Answers {
    #[cfg(test)]
    pub(super) fn by(writer: LineWriter) -> Self {
        Self(writer)
    }

    pub(super) fn give(&self, id: &Value, answer: Result<impl Serialize, Error>) {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        };
        self.0.write(&message);
    }

    /// Waits until the agent has read enough of what it was answered.
    pub(super) async fn has_room(&self) {
        self.0.has_room().await;
    }
}

pub(super) fn understood(message: Value) -> Option<Incoming> {
    let Value::Object(mut message) = message else {
        return None;
    };
    let params = message.remove("params").unwrap_or(Value::Null);
    let id = message.remove("id").filter(|id| !id.is_null());
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Some(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Some(Incoming::Notification { method, params }),
        (_, Some(id)) => {
            // Some agents give numbers back as text.
            let number = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
            let result = match message.remove("error") {
                None | Some(Value::Null) => Ok(message.remove("result").unwrap_or(Value::Null)),
                Some(error) => Err(error_of(error)),
            };
            let to = RequestNo(number);
            Some(Incoming::Response { to, result })
        }
        (_, None) => None,
    }
}

/// Gives an error the protocol's code for a missing sign-in, if that is what it
/// says.
fn refine(result: &mut Result<Value, Error>, sign_in: &SignIn) {
    if let Err(error) = result {
        let said = sentence(error);
        if sign_in
            .refusals
            .iter()
            .any(|refusal| said.contains(refusal))
        {
            error.code = ErrorCode::AuthRequired;
        }
    }
}

/// An error as the agent gave it, in whatever shape.
fn error_of(error: Value) -> Error {
    let message = match &error {
        Value::String(text) => text.clone(),
        _ => error["message"]
            .as_str()
            .map_or_else(|| error.to_string(), str::to_owned),
    };
    let typed = serde_json::from_value(error);
    typed.unwrap_or_else(|_| Error::new(-32603, message))
}

/// What to tell people of an error: its sentence, and the detail if it is a
/// sentence too.
pub(super) fn sentence(error: &Error) -> String {
    let detail = error.data.as_ref().and_then(|data| {
        let texts = [
            Some(data),
            data.get("details"),
            data.get("message"),
            data.get("error"),
        ];
        texts.into_iter().flatten().find_map(Value::as_str)
    });
    match detail {
        Some(detail) if !error.message.contains(detail) => format!("{}: {detail}", error.message),
        _ => error.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_by_what_they_have() {
        let request = understood(json!({"id": "a", "method": "m", "params": {"x": 1}}));
        assert!(matches!(request, Some(Incoming::Request { id, .. }) if id == "a"));
        let notification = understood(json!({"method": "m", "id": null}));
        assert!(matches!(notification, Some(Incoming::Notification { .. })));
        let answer = understood(json!({"id": "7", "result": null}));
        assert!(matches!(
            answer,
            Some(Incoming::Response {
                to: RequestNo(7),
                result: Ok(_)
            })
        ));
        for nothing in [json!([]), json!({}), json!({"id": {}}), json!(7)] {
            assert!(understood(nothing).is_none());
        }
    }

    #[test]
    fn errors_of_any_shape_become_sentences() {
        let cases = [
            (json!("no"), "no"),
            (
                json!({"code": -32603, "message": "Internal error", "data": {"details": "why"}}),
                "Internal error: why",
            ),
            (json!({"code": "x", "message": "odd"}), "odd"),
            (
                json!({"code": 1, "message": "it broke", "data": "it broke"}),
                "it broke",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(sentence(&error_of(error)), expected);
        }
    }
}
