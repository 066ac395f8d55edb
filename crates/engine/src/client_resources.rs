//! Resources that clients have: `virtual://<client id>/…`. The host asks the
//! client, and passes on what it says to whoever wanted it. A client that does
//! not answer in time, or leaves, is answered for.

use std::time::Duration;

use innkeeper_protocol::house::commands::{ResourceReadParams, ResourceReadResult};
use innkeeper_protocol::outgoing::{HostMessage, Reply};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::Value;

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
    /// Who wants to know.
    by: ConnectionId,
    id: RequestId,
    uri: String,
    pub(crate) due: Timestamp,
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
        let open = self.questions.values();
        if open.filter(|question| question.asked == asked).count() >= MOST_QUESTIONS {
            let error = format!("the client that has `{uri}` is being asked too much at once");
            return self.fail(by, Some(id), RpcError::internal(error));
        }
        self.last_question += 1;
        let number = self.last_question;
        params.channel = ChannelUri::root().to_string();
        params.meta = None;
        let question = Question {
            asked,
            by,
            id,
            uri,
            due: self.now.after(PATIENCE),
        };
        self.questions.insert(number, question);
        let message = HostMessage::Question {
            id: RequestId::Number(number),
            read: Box::new(params),
        };
        self.step.effects.push(Effect::Send { to: asked, message });
    }

    fn client_that_has(&self, uri: &str) -> Option<ConnectionId> {
        let rest = uri.strip_prefix(CLIENT_SCHEME)?.strip_prefix("//")?;
        let client = rest.split('/').next()?;
        self.clients.get(client)?.connection
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
        let Some(question) = self.questions.remove(number) else {
            return;
        };
        let reply = outcome.and_then(|value| {
            let result = serde_json::from_value::<ResourceReadResult>(value);
            result.map(Reply::ResourceRead).map_err(|error| {
                let uri = &question.uri;
                RpcError::internal(format!(
                    "what the client said about `{uri}` is no content: {error}"
                ))
            })
        });
        self.answer(question.by, Some(question.id), reply);
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
            if let Some(question) = self.questions.remove(&number) {
                let error = format!("the client that has `{}` does not answer", question.uri);
                self.fail(question.by, Some(question.id), RpcError::internal(error));
            }
        }
    }
}
