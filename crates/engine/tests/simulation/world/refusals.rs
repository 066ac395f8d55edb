//! A store that can never take some of what it is given, and what the shell
//! around the engine does about it.

use std::collections::BTreeSet;

use innkeeper_engine::{ConnectionId, Effect, Input};
use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::outgoing::{HostMessage, Rejection, RejectionCode, Reply};
use innkeeper_protocol::record::{Sequenced, StoreBatch};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::{ChannelUri, Seq};

use super::World;

#[derive(Default)]
pub(crate) struct Refusals {
    /// Of so many in a hundred.
    pub(crate) chance: usize,
    unsound: BTreeSet<ChannelUri>,
    numbers: BTreeSet<u64>,
    untold: Vec<Vec<ChannelUri>>,
}

impl Refusals {
    /// Whether this will never be durable, for the step that waits for it.
    pub(super) fn takes(&mut self, number: u64) -> bool {
        self.numbers.remove(&number)
    }

    /// Whether a session was refused and is not yet to be read anew.
    pub(super) fn is_open(&self) -> bool {
        !self.unsound.is_empty()
    }

    /// The host has died.
    pub(super) fn forget(&mut self) {
        let chance = self.chance;
        *self = Self {
            chance,
            ..Self::default()
        };
    }
}

impl World {
    /// Whether the store refuses the batch that is next, or the batch builds on
    /// one that was refused.
    pub(super) fn is_refused(&mut self, batch: &StoreBatch) -> bool {
        let rereads: BTreeSet<ChannelUri> = batch.rereads().cloned().collect();
        let sessions = batch.sessions();
        let mut unsound = sessions.intersection(&self.refusals.unsound);
        let is_tainted = unsound.any(|session| !rereads.contains(session));
        let chance = self.refusals.chance;
        let is_bad = !sessions.is_empty() && chance > 0 && self.rng.chance(chance);
        for session in &rereads {
            self.refusals.unsound.remove(session);
        }
        if !is_tainted && !is_bad {
            return false;
        }
        self.note("not stored");
        self.say(|| format!("  not stored: {sessions:?}"));
        self.store.apply(&[batch.reservations()]).unwrap();
        self.refusals.numbers.insert(self.committed);
        self.refusals.unsound.extend(sessions.iter().cloned());
        self.refusals.untold.push(sessions.into_iter().collect());
        true
    }

    pub(super) fn tell_of_refusals(&mut self) {
        for sessions in std::mem::take(&mut self.refusals.untold) {
            self.feed(Input::NotStored { sessions });
        }
    }

    /// Nobody is told what the step would have told.
    pub(super) fn refuse(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { to, message } => match message {
                    HostMessage::Reply {
                        reply: Reply::Unsubscribed,
                        ..
                    } => self.send(to, message),
                    HostMessage::Reply { id, .. } => {
                        let (id, error) = (Some(id), RpcError::internal("it cannot be stored"));
                        self.send(to, HostMessage::Failure { id, error });
                    }
                    HostMessage::Action(action) => self.reject(to, &action),
                    other => self.send(to, other),
                },
                Effect::Publish { to, message } => {
                    let HostMessage::Action(action) = message else {
                        continue;
                    };
                    let origin = action.origin.as_ref().map(|origin| &origin.client_id);
                    if origin.is_none() && action.channel == ChannelUri::root() {
                        let message = HostMessage::Action(action);
                        self.carry_out(vec![Effect::Publish { to, message }]);
                        continue;
                    }
                    let sender = to
                        .iter()
                        .find(|it| origin == self.name_behind(it.connection).as_ref());
                    if let Some(sender) = sender.filter(|_| origin.is_some()) {
                        self.reject(sender.connection, &action);
                    }
                }
                Effect::Agent(
                    AgentCommand::Open(_)
                    | AgentCommand::Prompt(_)
                    | AgentCommand::Configure { .. }
                    | AgentCommand::Truncate { .. }
                    | AgentCommand::Steer { .. }
                    | AgentCommand::Decide { .. }
                    | AgentCommand::OfferTools { .. }
                    | AgentCommand::Authenticate { .. }
                    | AgentCommand::Forget { .. },
                ) => {}
                other => self.carry_out(vec![other]),
            }
        }
    }

    fn name_behind(&self, connection: ConnectionId) -> Option<String> {
        let wire = self.wires.get(&connection.0)?;
        match wire.client.checked_sub(self.clients.len()) {
            Some(onlooker) => Some(self.onlookers[onlooker].id.clone()),
            None => Some(self.clients[wire.client].id.clone()),
        }
    }

    fn reject(&mut self, to: ConnectionId, action: &Sequenced) {
        let Some(origin) = action.origin.clone() else {
            return;
        };
        let rejection = Rejection {
            channel: action.channel.clone(),
            action: action.action.clone(),
            server_seq: Seq::ZERO,
            origin,
            reason: "it cannot be stored".to_owned(),
            code: RejectionCode::LimitReached,
            said: None,
        };
        self.send(to, HostMessage::Rejection(Box::new(rejection)));
    }
}
