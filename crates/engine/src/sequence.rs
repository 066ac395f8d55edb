//! The one sequence: the only place where state changes.
//!
//! *Invariant*: an action is applied, numbered, logged and published in one
//! go, or not at all, and no number is given out twice over all lives of the
//! host. Numbers are reserved in blocks ahead of time; a step that enters a
//! new block waits until the reservation is durable.

use std::sync::Arc;

use ahp::reducers::{
    ReduceOutcome, apply_action_to_changeset, apply_action_to_chat, apply_action_to_resource_watch,
    apply_action_to_root, apply_action_to_session, apply_action_to_terminal,
};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::action_traits::traits_of;
use innkeeper_protocol::gates::down;
use innkeeper_protocol::gates::following::follow;
use innkeeper_protocol::house::actions::{ActionOrigin, StateAction};
use innkeeper_protocol::outgoing::HostMessage;
use innkeeper_protocol::record::{Context, Facts, Sequenced, StoreOp};

use crate::{ConnectionId, Effect, Engine};

#[derive(Debug)]
pub(crate) struct Sequence {
    next: u64,
    /// How many numbers are reserved at a time.
    block: u64,
    /// Up to where numbers may be given out, once the reservation is durable.
    reserved: u64,
    /// The first number whose reservation no committed step has carried yet.
    unsettled: u64,
}

impl Sequence {
    /// Begins a life. Its first number is never an action: it is what clients
    /// that connect now are told they have seen, and no earlier life can have
    /// told that to anybody.
    pub(crate) fn new(first: u64, block: u64) -> Self {
        let first = first.max(1);
        Self {
            next: first + 1,
            block: block.max(8),
            reserved: first,
            unsettled: first + 1,
        }
    }

    pub(crate) fn last(&self) -> u64 {
        self.next - 1
    }
}

impl Engine {
    /// Applies an action that the host or a client made, and tells everybody.
    /// What the reducer has no use for leaves no trace.
    pub(crate) fn emit(
        &mut self,
        channel: &ChannelUri,
        action: StateAction,
        origin: Option<ActionOrigin>,
    ) -> ReduceOutcome {
        self.emit_about(None, channel, action, origin)
    }

    /// Likewise, for an action that is about a session beside its channel.
    pub(crate) fn emit_about(
        &mut self,
        session: Option<ChannelUri>,
        channel: &ChannelUri,
        mut action: StateAction,
        origin: Option<ActionOrigin>,
    ) -> ReduceOutcome {
        if let Some(chat) = self.chats.get(channel)
            && !follow(&mut action, chat.head.active_turn.as_ref())
        {
            return ReduceOutcome::NoOp;
        }
        let before = self.before(channel, &action);
        let (outcome, mut facts) = self.reduce(channel, &action);
        facts.session = facts.session.or(session);
        if outcome != ReduceOutcome::Applied && !traits_of(&action).is_news {
            if outcome != ReduceOutcome::NoOp {
                tracing::error!(%channel, ?outcome, "an action could not be reduced");
            }
            if let Some(origin) = origin {
                facts.context = self.context_after(channel, &action, before);
                self.confirm(channel, action, origin, facts);
            }
            return outcome;
        }
        let kept = !self.is_of_this_life(channel);
        if origin.is_some() && kept {
            self.step.durable_first = true;
        }
        self.trace_action(channel, &action);
        facts.context = self.context_after(channel, &action, before);
        self.make_room(channel, &action, &facts);
        let sequenced = Arc::new(Sequenced {
            seq: self.next_number(),
            channel: channel.clone(),
            action,
            origin,
            facts,
        });
        self.replay.push(&sequenced);
        if kept {
            self.step.store.ops.push(StoreOp::Append(sequenced.clone()));
        }
        if let Some(to) = self.subscriptions.of_channel(channel) {
            let message = HostMessage::Action(sequenced.clone());
            self.step.effects.push(Effect::Publish { to, message });
        }
        self.announce_chats_as_sessions(channel, &sequenced.action);
        outcome
    }

    /// Nothing has changed, and whoever wanted it to is waiting to hear so. For
    /// everybody else nothing has happened.
    fn confirm(
        &mut self,
        channel: &ChannelUri,
        action: StateAction,
        origin: ActionOrigin,
        facts: Facts,
    ) {
        let client = self.clients.get(&origin.client_id);
        let connection = client.and_then(|client| client.connection);
        let Some(to) = connection.filter(|to| self.subscriptions.contains(*to, channel)) else {
            return;
        };
        self.make_room(channel, &action, &facts);
        let sequenced = Arc::new(Sequenced {
            seq: self.next_number(),
            channel: channel.clone(),
            action,
            origin: Some(origin),
            facts,
        });
        let message = HostMessage::Action(sequenced);
        self.step.effects.push(Effect::Send { to, message });
    }

    /// Gives an action to one subscriber only: its view of the channel is not
    /// that of the others. It has a number, and no place in the log.
    pub(crate) fn emit_to(&mut self, to: ConnectionId, channel: &ChannelUri, action: StateAction) {
        self.emit_to_about(to, channel, action, None);
    }

    /// Likewise, with what gates must know.
    pub(crate) fn emit_to_about(
        &mut self,
        to: ConnectionId,
        channel: &ChannelUri,
        action: StateAction,
        context: Option<Box<Context>>,
    ) {
        let facts = Facts {
            context,
            ..self.facts_of(channel)
        };
        self.make_room(channel, &action, &facts);
        let sequenced = Arc::new(Sequenced {
            seq: self.next_number(),
            channel: channel.clone(),
            action,
            origin: None,
            facts,
        });
        let message = HostMessage::Action(sequenced);
        self.step.effects.push(Effect::Send { to, message });
    }

    /// Whether a channel ends with this life of the host: what happens on it
    /// can be replayed from memory, and is not stored.
    pub(crate) fn is_of_this_life(&self, channel: &ChannelUri) -> bool {
        self.terminals.contains_key(channel)
            || self.watches.contains_key(channel)
            || self.changesets.contains_key(channel)
    }

    fn reduce(&mut self, channel: &ChannelUri, action: &StateAction) -> (ReduceOutcome, Facts) {
        if let Some(chat) = self.chats.get_mut(channel) {
            let facts = Facts {
                session: Some(chat.session.clone()),
                is_default_chat: chat.is_default,
                context: None,
            };
            let status = chat.head.status;
            let outcome = chat.reduce(action, apply_action_to_chat);
            if chat.dirty || chat.head.status != status || traits_of(action).may_need_somebody {
                self.touched.insert(chat.session.clone());
            }
            return (outcome, facts);
        }
        if let Some(session) = self.sessions.get_mut(channel) {
            session.dirty = true;
            self.touched.insert(channel.clone());
            let outcome = apply_action_to_session(&mut session.state, action);
            return (outcome, Facts::default());
        }
        if let Some(terminal) = self.terminals.get_mut(channel) {
            let outcome = apply_action_to_terminal(&mut terminal.state, action);
            return (outcome, Facts::default());
        }
        if let Some(changeset) = self.changesets.get_mut(channel) {
            let outcome = apply_action_to_changeset(&mut changeset.state, action);
            return (outcome, Facts::default());
        }
        if let Some(watch) = self.watches.get_mut(channel) {
            let outcome = apply_action_to_resource_watch(&mut watch.state, action);
            return (outcome, Facts::default());
        }
        (
            apply_action_to_root(&mut self.root, action),
            Facts::default(),
        )
    }

    fn facts_of(&self, channel: &ChannelUri) -> Facts {
        match self.chats.get(channel) {
            Some(chat) => Facts {
                session: Some(chat.session.clone()),
                is_default_chat: chat.is_default,
                context: None,
            },
            None => Facts::default(),
        }
    }

    /// Versions that tell an action in several steps give each a number.
    fn make_room(&mut self, channel: &ChannelUri, action: &StateAction, facts: &Facts) {
        for _ in 1..down::most_steps(channel, action, facts) {
            self.next_number();
        }
    }

    pub(crate) fn next_number(&mut self) -> u64 {
        let number = self.sequence.next;
        self.sequence.next += 1;
        if number >= self.sequence.unsettled {
            // The first use of a block: its reservation went to the store in
            // an earlier step, and must be there before the number is seen.
            self.step.durable_first = true;
            self.sequence.unsettled = self.sequence.reserved + 1;
        }
        if number + self.sequence.block / 2 > self.sequence.reserved {
            self.reserve_numbers();
        }
        if number.is_multiple_of(self.sequence.block / 8) {
            self.trim_log();
        }
        number
    }

    pub(crate) fn reserve_numbers(&mut self) {
        self.sequence.reserved = self.sequence.last() + self.sequence.block;
        let until = self.sequence.reserved;
        self.step.store.ops.push(StoreOp::ReserveSeq { until });
    }

    /// After this, the next life begins directly behind this one.
    pub(crate) fn release_reserved_numbers(&mut self) {
        self.sequence.reserved = self.sequence.last();
        let until = self.sequence.reserved;
        self.step.store.ops.push(StoreOp::ReserveSeq { until });
    }

    /// Lets the store forget what is too old to be replayed. A running turn
    /// that began before that is stored anew, so that it needs no older log.
    fn trim_log(&mut self) {
        let below = self
            .sequence
            .next
            .saturating_sub(self.config.limits.replay_actions);
        // A session that is on its way into memory may need the log for a turn
        // that was running: the next time will do.
        if below <= self.replay.log_start() || !self.loading.is_empty() {
            return;
        }
        for chat in self.chats.values_mut() {
            if chat.head.active_turn.is_some() && chat.stored_at < below {
                chat.dirty = true;
                self.touched.insert(chat.session.clone());
            }
        }
        self.replay.trimmed(below);
        self.step.store.ops.push(StoreOp::TrimLog { below });
    }
}
