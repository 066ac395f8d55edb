//! The one sequence: the only place where state changes.
//!
//! *Invariant*: an action is applied, numbered, logged and published in one
//! go, or not at all, and no number is given out twice over all lives of the
//! host. Numbers are reserved in blocks ahead of time; a step that enters a
//! new block waits until the reservation is durable.

use std::sync::Arc;

use ahp::reducers::{
    ReduceOutcome, apply_action_to_automation, apply_action_to_automation_run,
    apply_action_to_canvas, apply_action_to_changeset, apply_action_to_resource_watch,
    apply_action_to_root, apply_action_to_session, apply_action_to_terminal,
};
use innkeeper_protocol::action_traits::traits_of;
use innkeeper_protocol::command::Said;
use innkeeper_protocol::gates::down;
use innkeeper_protocol::gates::following::follow;
use innkeeper_protocol::newest::actions::{ActionOrigin, StateAction};
use innkeeper_protocol::outgoing::HostMessage;
use innkeeper_protocol::record::{ExtraFacts, GateFacts, Sequenced, StoreOp};
use innkeeper_protocol::{ChannelUri, Seq};

use super::channels::Channel;
use super::{Core, TurnEnd, TurnOutcome, facts};
use crate::effect::{ConnectionId, Effect, Step};

#[derive(Debug)]
pub(crate) struct Sequence {
    next: Seq,
    /// How many numbers are reserved at a time.
    block: u64,
    /// Up to where numbers may be given out, once the reservation is durable.
    reserved: Seq,
    /// The first number whose reservation no committed step has carried yet.
    unsettled: Seq,
    /// So many numbers were given out that the log should be cut.
    trim_is_due: bool,
}

impl Sequence {
    /// Begins a life. Its first number is never an action: it is what clients
    /// that connect now are told they have seen, and no earlier life can have
    /// told that to anybody.
    pub(crate) fn new(first: Seq, block: u64) -> Self {
        let first = first.max(Seq::new(1));
        Self {
            next: first.next(),
            block: block.max(8),
            reserved: first,
            unsettled: first.next(),
            trim_is_due: false,
        }
    }

    pub(crate) fn last(&self) -> Seq {
        self.next.back(1)
    }

    /// Gives an action its place. Versions that tell it in several steps give
    /// each a number.
    fn place(&mut self, step: &mut Step, action: &mut Sequenced) {
        for _ in 1..down::most_steps(&action.channel, &action.action, &action.facts) {
            self.next_number(step);
        }
        action.seq = self.next_number(step);
    }

    fn next_number(&mut self, step: &mut Step) -> Seq {
        let number = self.next;
        self.next = number.next();
        if number >= self.unsettled {
            // The first use of a block: its reservation went to the store in
            // an earlier step, and must be there before the number is seen.
            step.durable_first = true;
            self.unsettled = self.reserved.next();
        }
        if number + self.block / 2 > self.reserved {
            self.reserve(step, self.last() + self.block);
        }
        self.trim_is_due |= number.get().is_multiple_of(self.block / 8);
        number
    }

    /// Promises the store that no number up to this one is given out twice.
    fn reserve(&mut self, step: &mut Step, until: Seq) {
        self.reserved = until;
        step.store.ops.push(StoreOp::ReserveSeq { until });
    }
}

/// Whoever dispatched an action.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(crate) origin: ActionOrigin,
    /// Where they are now, if they are here.
    pub(crate) connection: Option<ConnectionId>,
    /// What they said, if that was in the words of an older version.
    pub(crate) said: Option<Arc<Said>>,
}

impl Core {
    /// Applies an action that the host or a client made, and tells everybody.
    /// What the reducer has no use for leaves no trace.
    #[inline]
    pub(crate) fn emit(
        &mut self,
        channel: &ChannelUri,
        action: StateAction,
        sender: Option<Sender>,
    ) {
        self.emit_about(None, channel, action, sender);
    }

    /// Likewise, for an action that is about a session besides its channel.
    pub(crate) fn emit_about(
        &mut self,
        session: Option<ChannelUri>,
        channel: &ChannelUri,
        action: StateAction,
        sender: Option<Sender>,
    ) {
        // Actions are large: it is built where it stays, and moved once.
        let mut sequenced = unplaced(channel, action);
        let Sequenced { action, facts, .. } = &mut sequenced;
        let Some(entry) = self.channels.entry(channel) else {
            tracing::error!(%channel, "an action on a channel that does not exist");
            return;
        };
        let known = &mut entry.channel;
        if let Channel::Chat(chat) = known
            && !follow(action, chat.head.active_turn.as_ref())
        {
            return;
        }
        let before = facts::before(known, action, sender.as_ref());
        let (outcome, changed) = reduce(known, action);
        self.touched.extend(changed);
        if let Channel::Chat(chat) = known
            && chat.turn_bytes() > self.config.limits.turn_bytes
        {
            self.overgrown.insert(channel.clone());
        }
        *facts = facts::facts_of(known);
        facts.session = facts.session.take().or(session);
        if outcome != ReduceOutcome::Applied && !traits_of(action).is_news {
            if outcome != ReduceOutcome::NoOp {
                tracing::error!(%channel, ?outcome, "an action could not be reduced");
            }
            if let Some(sender) = sender {
                facts.extra = facts::extra_facts_after(known, action, before);
                self.confirm(sequenced, sender);
            }
            return;
        }
        let kept = !known.is_ephemeral();
        facts.extra = facts::extra_facts_after(known, action, before);
        let inputs = self.inputs.of_action(known, action);
        if !inputs.is_empty() {
            facts.extra.get_or_insert_default().inputs = inputs;
        }
        // Nobody is told what may still be lost, except text as it streams.
        if kept && (sender.is_some() || traits_of(action).bounds_turn) {
            self.step.durable_first = true;
        }
        // Whoever said it waits for an answer, also where they do not listen.
        let listens = |to: &ConnectionId| self.subscriptions.contains(*to, channel);
        let aside = sender.as_ref().and_then(|sender| sender.connection);
        let aside = aside.filter(|to| !listens(to));
        sequenced.origin = sender.map(|sender| sender.origin);
        self.sequence.place(&mut self.step, &mut sequenced);
        let sequenced = Arc::new(sequenced);
        self.replay.push(&sequenced, &mut entry.open_stream);
        if changes_directories(&sequenced.action) {
            self.channels.directories_changed();
        }
        self.trace_action(channel, &sequenced.action);
        self.turn_ends.extend(turn_end(channel, &sequenced.action));
        if kept {
            self.store(StoreOp::Append(sequenced.clone()));
        }
        let message = HostMessage::Action(sequenced);
        if let Some(to) = aside {
            let message = message.clone();
            self.effect(Effect::Send { to, message });
        }
        if let Some(to) = self.subscriptions.of_channel(channel) {
            self.effect(Effect::Publish { to, message });
        }
        self.trim_log_if_due();
    }

    /// Nothing has changed, and whoever wanted it to is waiting to hear so. For
    /// everybody else nothing has happened.
    fn confirm(&mut self, mut action: Sequenced, sender: Sender) {
        action.origin = Some(sender.origin);
        if let Some(to) = sender.connection {
            self.send_action(to, action);
        }
    }

    /// Tells the sender of an action that it was taken. Nobody else is told, and
    /// it is written down nowhere.
    pub(super) fn confirm_unapplied(
        &mut self,
        channel: &ChannelUri,
        action: StateAction,
        sender: Sender,
    ) {
        let mut action = unplaced(channel, action);
        if let Some(entry) = self.channels.entry(channel) {
            let known = &mut entry.channel;
            let before = facts::before(known, &action.action, Some(&sender));
            action.facts = facts::facts_of(known);
            action.facts.extra = facts::extra_facts_after(known, &action.action, before);
        }
        action.origin = Some(sender.origin);
        if let Some(to) = sender.connection {
            self.send_action(to, action);
        }
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
        extra: Option<Box<ExtraFacts>>,
    ) {
        let mut action = unplaced(channel, action);
        if let Some(known) = self.channels.get(channel) {
            action.facts = facts::facts_of(known);
            action.facts.extra = extra;
            let inputs = self.inputs.of_action(known, &action.action);
            if !inputs.is_empty() {
                action.facts.extra.get_or_insert_default().inputs = inputs;
            }
        }
        self.send_action(to, action);
    }

    fn send_action(&mut self, to: ConnectionId, mut action: Sequenced) {
        self.sequence.place(&mut self.step, &mut action);
        let message = HostMessage::Action(Arc::new(action));
        self.effect(Effect::Send { to, message });
        self.trim_log_if_due();
    }

    pub(super) fn reserve_numbers(&mut self) {
        let until = self.sequence.last() + self.sequence.block;
        self.sequence.reserve(&mut self.step, until);
    }

    /// After this, the next life begins directly behind this one.
    pub(crate) fn release_reserved_numbers(&mut self) {
        let until = self.sequence.last();
        self.sequence.reserve(&mut self.step, until);
    }

    /// Something was told and is not stored: whoever was here comes back to the
    /// state as it is. Returns the first number that nobody has seen yet.
    pub(crate) fn forget_replay(&mut self) -> Seq {
        // Nobody has seen this number who was here before.
        let lost = self.sequence.next_number(&mut self.step);
        self.replay.forget(lost);
        lost.next()
    }

    fn trim_log_if_due(&mut self) {
        if std::mem::take(&mut self.sequence.trim_is_due) {
            self.trim_log();
        }
    }

    /// Lets the store forget what is too old to be replayed. A running turn
    /// that began before that is stored anew, so that it needs no older log.
    fn trim_log(&mut self) {
        let replayed = self.config.limits.replay_actions;
        self.trim_log_below(self.sequence.next.back(replayed));
    }

    /// Likewise, up to a number; some of it may be needed in memory still.
    pub(crate) fn trim_log_below(&mut self, below: Seq) {
        let below = below.min(self.sequence.next);
        // A session that is on its way into memory may need the log for a turn
        // that was running: the next time will do.
        if below <= self.replay.log_start() || self.loading > 0 {
            return;
        }
        for chat in self.channels.chats_mut() {
            if chat.head.active_turn.is_some() && chat.stored_at < below {
                chat.dirty = true;
                self.touched.insert(chat.session.clone());
            }
        }
        self.replay.trimmed(below);
        self.store(StoreOp::TrimLog { below });
    }
}

/// How a turn ended, if it ends with this action.
fn turn_end(chat: &ChannelUri, action: &StateAction) -> Option<TurnEnd> {
    let (turn, outcome) = match action {
        StateAction::ChatTurnComplete(end) => (&end.turn_id, TurnOutcome::Complete),
        StateAction::ChatTurnCancelled(end) => (&end.turn_id, TurnOutcome::Cancelled),
        StateAction::ChatError(end) => {
            let error = Box::new(end.part.error.clone());
            (&end.turn_id, TurnOutcome::Failed(error))
        }
        _ => return None,
    };
    Some(TurnEnd {
        chat: chat.clone(),
        turn: turn.clone(),
        outcome,
    })
}

/// Whether an action is about where a session or a chat works.
pub(crate) fn changes_directories(action: &StateAction) -> bool {
    matches!(
        action,
        StateAction::SessionWorkingDirectorySet(_)
            | StateAction::SessionWorkingDirectoryRemoved(_)
            | StateAction::SessionWorkingDirectoryReplaced(_)
            | StateAction::ChatWorkingDirectorySet(_)
            | StateAction::ChatWorkingDirectoryRemoved(_)
    )
}

/// An action that has no place in the sequence yet.
fn unplaced(channel: &ChannelUri, action: StateAction) -> Sequenced {
    Sequenced {
        seq: Seq::ZERO,
        channel: channel.clone(),
        action,
        origin: None,
        facts: GateFacts::default(),
    }
}

/// Applies an action, and says which session has to be settled after it.
fn reduce(channel: &mut Channel, action: &StateAction) -> (ReduceOutcome, Option<ChannelUri>) {
    match channel {
        Channel::Chat(chat) => {
            let status = chat.head.status;
            let outcome = chat.reduce(action);
            let matters =
                chat.dirty || chat.head.status != status || traits_of(action).may_need_somebody;
            (outcome, matters.then(|| chat.session.clone()))
        }
        Channel::Session(session) => {
            session.dirty = true;
            let outcome = apply_action_to_session(&mut session.state, action);
            (outcome, Some(session.uri.clone()))
        }
        Channel::Root(state) => (apply_action_to_root(state, action), None),
        Channel::Terminal(terminal) => {
            (apply_action_to_terminal(&mut terminal.state, action), None)
        }
        Channel::Changeset(changeset) => (
            apply_action_to_changeset(&mut changeset.state, action),
            None,
        ),
        Channel::Annotations(annotations) => {
            let outcome = annotations.reduce(action);
            (outcome, Some(annotations.session.clone()))
        }
        Channel::Automations(state) => (apply_action_to_automation(state, action), None),
        Channel::AutomationRun(state) => (apply_action_to_automation_run(state, action), None),
        Channel::Canvas(canvas) => (apply_action_to_canvas(&mut canvas.state, action), None),
        Channel::Watch(watch) => (
            apply_action_to_resource_watch(&mut watch.state, action),
            None,
        ),
    }
}
