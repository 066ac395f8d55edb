//! Resources that clients have: `virtual://<client id>/…`. The host asks the
//! client, and passes on what it says to whoever wanted it: another client, or
//! the host itself, which reads a plugin. A client that does not answer in
//! time, or leaves, is answered for.
//!
//! Who may do what there is for that client to say: the host passes on reading
//! and writing alike, and keeps no grants for it.

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::house::commands::ResourceReadResult;
use innkeeper_protocol::outgoing::{HostMessage, Reply};
use innkeeper_protocol::resource_call::{Expected, ResourceCall};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client_plugins::Visit;
use crate::{ConnectionId, Effect, Engine};

/// The scheme of what clients have.
pub(crate) const CLIENT_SCHEME: &str = "virtual:";

/// How many questions one client may be asked at once.
const MOST_QUESTIONS: usize = 256;

/// A question to a client that is not answered yet.
#[derive(Debug)]
pub(crate) struct Question {
    asked: ConnectionId,
    by: Asker,
    uri: String,
    /// What was sent with it.
    bytes: usize,
    pub(crate) due: Timestamp,
}

/// Who wants to know.
#[derive(Debug)]
pub(crate) enum Asker {
    Client {
        by: ConnectionId,
        id: RequestId,
        expected: Expected,
    },
    Plugin(Visit),
}

/// Whether one of the things that a request is about is a client's.
pub(crate) fn is_of_client(call: &ResourceCall) -> bool {
    let (uri, other) = call.uris();
    let mut uris = [Some(uri), other].into_iter().flatten();
    uris.any(|uri| uri.starts_with(CLIENT_SCHEME))
}

/// The id of the client that has something.
fn owner(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix(CLIENT_SCHEME)?.strip_prefix("//")?;
    rest.split('/').next()
}

impl Engine {
    /// Asks a client about what it has, on behalf of another one.
    pub(crate) fn pass_on(&mut self, by: ConnectionId, id: RequestId, call: ResourceCall) {
        let (uri, other) = call.uris();
        if let Some(other) = other.filter(|other| owner(uri) != owner(other)) {
            let error = format!(
                "`{uri}` and `{other}` are not in the same place, and `{}` does not lead from one \
                 place to another; read the one and write the other",
                call.method()
            );
            return self.fail(by, Some(id), RpcError::invalid_params(error));
        }
        let Some(asked) = self.client_that_has(uri) else {
            let error = RpcError::not_found(uri);
            return self.fail(by, Some(id), error);
        };
        if self.is_asked_too_much(asked) {
            let error = format!("the client that has `{uri}` is being asked too much at once");
            return self.fail(by, Some(id), RpcError::internal(error));
        }
        let expected = call.expected();
        let asker = Asker::Client { by, id, expected };
        self.ask_client(asked, asker, call.of_host());
    }

    pub(crate) fn ask_client(&mut self, asked: ConnectionId, by: Asker, ask: ResourceCall) {
        let uri = ask.uris().0.to_owned();
        let version = self.version_of(asked);
        if !ask.can_be_asked_in(version) {
            let error = format!(
                "the client that has `{uri}` speaks version {version} of the protocol, in which \
                 it cannot be asked this (`{}`)",
                ask.method()
            );
            return self.answered(by, &uri, Err(RpcError::internal(error)));
        }
        self.last_question += 1;
        let number = self.last_question;
        let question = Question {
            asked,
            by,
            uri,
            bytes: ask.content_bytes(),
            due: self.now.after(self.config.limits.client_answer),
        };
        self.questions.insert(number, question);
        let message = HostMessage::Question {
            id: RequestId::Number(number),
            ask,
        };
        self.step.effects.push(Effect::Send { to: asked, message });
    }

    pub(crate) fn client_that_has(&self, uri: &str) -> Option<ConnectionId> {
        self.clients.get(owner(uri)?)?.connection
    }

    /// A client that does not answer must not fill the host's memory.
    fn is_asked_too_much(&self, asked: ConnectionId) -> bool {
        let open = self.questions.values();
        let open = open.filter(|question| question.asked == asked);
        let (count, bytes) = open.fold((0, 0), |(count, bytes), question| {
            (count + 1, bytes + question.bytes)
        });
        count >= MOST_QUESTIONS || bytes >= self.config.limits.resource_bytes
    }

    pub(crate) fn client_answered(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        outcome: Result<Value, RpcError>,
    ) {
        let RequestId::Number(number) = id else {
            return;
        };
        let known = self.questions.get(number);
        if known.is_none_or(|question| question.asked != connection) {
            return;
        }
        let Some(Question { by, uri, .. }) = self.questions.remove(number) else {
            return;
        };
        self.answered(by, &uri, outcome);
    }

    fn answered(&mut self, by: Asker, uri: &str, outcome: Result<Value, RpcError>) {
        match by {
            Asker::Client { by, id, expected } => {
                let reply = outcome.and_then(|value| reply(expected, uri, value));
                self.answer(by, Some(id), reply);
            }
            Asker::Plugin(visit) => self.plugin_answered(visit, outcome),
        }
    }

    /// Answers for clients that have left or take too long.
    pub(crate) fn answer_for_silent_clients(&mut self) {
        if self.questions.is_empty() {
            return;
        }
        let (now, connections) = (self.now, &self.connections);
        let over =
            |question: &Question| question.due <= now || !connections.contains_key(&question.asked);
        let over = self.questions.iter().filter(|(_, question)| over(question));
        let over: Vec<i64> = over.map(|(number, _)| *number).collect();
        for number in over {
            if let Some(Question { by, uri, .. }) = self.questions.remove(&number) {
                let error = format!("the client that has `{uri}` does not answer");
                self.answered(by, &uri, Err(RpcError::internal(error)));
            }
        }
    }
}

/// What a client said, as the answer to whoever wanted to know.
fn reply(expected: Expected, uri: &str, value: Value) -> Result<Reply, RpcError> {
    Ok(match expected {
        Expected::Content => Reply::ResourceRead(content(uri, value)?),
        Expected::Entries => Reply::ResourceList(read(uri, "list", value)?),
        Expected::Resolved => Reply::ResourceResolve(Box::new(read(uri, "description", value)?)),
        Expected::Nothing => Reply::Empty {},
    })
}

pub(crate) fn content(uri: &str, value: Value) -> Result<ResourceReadResult, RpcError> {
    read(uri, "content", value)
}

fn read<T: DeserializeOwned>(uri: &str, what: &str, value: Value) -> Result<T, RpcError> {
    serde_json::from_value(value).map_err(|error| {
        let error = format!("what the client said about `{uri}` is no {what}: {error}");
        RpcError::internal(error)
    })
}
