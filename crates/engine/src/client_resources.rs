//! Resources that clients have: `virtual://<client id>/…`. The host asks the
//! client, and passes on what it says to whoever wanted it: another client, or
//! the host itself, which reads a plugin. A client that does not answer in
//! time, or leaves, is answered for.

use std::time::Duration;

use innkeeper_protocol::house::commands::{ResourceReadParams, ResourceReadResult};
use innkeeper_protocol::outgoing::{ClientQuestion, HostMessage, Reply};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::Value;

use crate::client_plugins::Visit;
use crate::{ConnectionId, Effect, Engine};

/// The scheme of what clients have.
pub(crate) const CLIENT_SCHEME: &str = "virtual:";

/// How long a client may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many questions one client may be asked at once.
const MOST_QUESTIONS: usize = 256;

/// A question to a client that is not answered yet.
#[derive(Debug)]
pub(crate) struct Question {
    asked: ConnectionId,
    by: Asker,
    uri: String,
    pub(crate) due: Timestamp,
}

/// Who wants to know.
#[derive(Debug)]
pub(crate) enum Asker {
    Client { by: ConnectionId, id: RequestId },
    Plugin(Visit),
}

impl Engine {
    /// Reads what a client has, on behalf of another one.
    pub(crate) fn read_from_client(
        &mut self,
        by: ConnectionId,
        id: RequestId,
        mut params: ResourceReadParams,
    ) {
        let uri = params.uri.clone();
        let Some(asked) = self.client_that_has(&uri) else {
            return self.fail(by, Some(id), RpcError::not_found(&uri));
        };
        if self.questions_to(asked) >= MOST_QUESTIONS {
            let error = format!("the client that has `{uri}` is being asked too much at once");
            return self.fail(by, Some(id), RpcError::internal(error));
        }
        params.channel = ChannelUri::root().to_string();
        params.meta = None;
        let ask = ClientQuestion::Read(Box::new(params));
        self.ask_client(asked, Asker::Client { by, id }, uri, ask);
    }

    pub(crate) fn ask_client(
        &mut self,
        asked: ConnectionId,
        by: Asker,
        uri: String,
        ask: ClientQuestion,
    ) {
        self.last_question += 1;
        let number = self.last_question;
        let question = Question {
            asked,
            by,
            uri,
            due: self.now.after(PATIENCE),
        };
        self.questions.insert(number, question);
        let message = HostMessage::Question {
            id: RequestId::Number(number),
            ask,
        };
        self.step.effects.push(Effect::Send { to: asked, message });
    }

    pub(crate) fn client_that_has(&self, uri: &str) -> Option<ConnectionId> {
        let rest = uri.strip_prefix(CLIENT_SCHEME)?.strip_prefix("//")?;
        let client = rest.split('/').next()?;
        self.clients.get(client)?.connection
    }

    fn questions_to(&self, asked: ConnectionId) -> usize {
        let open = self.questions.values();
        open.filter(|question| question.asked == asked).count()
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
        match by {
            Asker::Client { by, id } => {
                let reply = outcome.and_then(|value| content(&uri, value));
                self.answer(by, Some(id), reply.map(Reply::ResourceRead));
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
                let error = RpcError::internal(error);
                match by {
                    Asker::Client { by, id } => self.fail(by, Some(id), error),
                    Asker::Plugin(visit) => self.plugin_answered(visit, Err(error)),
                }
            }
        }
    }
}

pub(crate) fn content(uri: &str, value: Value) -> Result<ResourceReadResult, RpcError> {
    serde_json::from_value(value).map_err(|error| {
        RpcError::internal(format!(
            "what the client said about `{uri}` is no content: {error}"
        ))
    })
}
