//! What becomes of a step that can never be stored. Nobody is told what it
//! would have told; whoever waits for it is told that it was not done.

use std::sync::Arc;

use innkeeper_engine::{ConnectionId, Effect, Subscriber};
use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::outgoing::{HostMessage, Rejection, RejectionCode, Reply};
use innkeeper_protocol::record::Sequenced;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::{ChannelUri, Seq};

use super::Subjects;

impl Subjects {
    /// Carries out what is left of the effects of such a step.
    pub(super) fn refuse(&self, effects: Vec<Effect>, reason: &str) {
        let why = format!(
            "this cannot be stored ({reason}); it was undone, and what was sent is set aside \
             in the host's data directory"
        );
        for effect in effects {
            match effect {
                Effect::Send { to, message } => self.refuse_message(to, message, &why),
                Effect::Publish { to, message } => self.refuse_news(&to, message, &why),
                // Nothing is begun that nobody will know of; what ends, ends.
                Effect::Agent(command) if !ends(&command) => {}
                other => self.do_one(other),
            }
        }
    }

    fn refuse_news(&self, to: &Arc<[Subscriber]>, message: HostMessage, why: &str) {
        let HostMessage::Action(action) = &message else {
            return;
        };
        match &action.origin {
            Some(origin) => {
                let connections = to.iter().map(|subscriber| subscriber.connection);
                if let Some(sender) = self.clients.find(connections, &origin.client_id) {
                    self.reject(sender, action, why);
                }
            }
            // What is so of the host is so whatever is stored of a session.
            None if action.channel == ChannelUri::root() => {
                let (to, message) = (Arc::clone(to), message);
                self.carry_out(vec![Effect::Publish { to, message }]);
            }
            None => {}
        }
    }

    fn refuse_message(&self, to: ConnectionId, message: HostMessage, why: &str) {
        match message {
            HostMessage::Reply {
                reply: Reply::Unsubscribed,
                ..
            } => self.clients.send(to, message),
            HostMessage::Reply { id, .. } => {
                let (id, error) = (Some(id), RpcError::internal(why));
                self.clients.send(to, HostMessage::Failure { id, error });
            }
            HostMessage::Action(action) => self.reject(to, &action, why),
            other => self.clients.send(to, other),
        }
    }

    fn reject(&self, to: ConnectionId, action: &Sequenced, why: &str) {
        let Some(origin) = action.origin.clone() else {
            return;
        };
        let rejection = Rejection {
            channel: action.channel.clone(),
            action: action.action.clone(),
            // It must not claim a number that the client has yet to see.
            server_seq: Seq::ZERO,
            origin,
            reason: why.to_owned(),
            code: RejectionCode::LimitReached,
            said: None,
        };
        let message = HostMessage::Rejection(Box::new(rejection));
        self.clients.send(to, message);
    }
}

/// Whether a command only stops something.
fn ends(command: &AgentCommand) -> bool {
    matches!(
        command,
        AgentCommand::Cancel { .. } | AgentCommand::Close { .. }
    )
}
