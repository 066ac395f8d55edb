//! The state before a turn, which is kept while the turn begins. The agent is
//! given its prompt at once: it thinks first. What it has the host do to files
//! meanwhile waits until the state is kept, or a moment if that takes long.
//!
//! An agent can also touch files by itself, and nobody can make that wait.
//! Where it may have done so in time, what is kept is marked as late.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{Decision, ToolVerdict, TurnEvent};

use super::TurnsMut;
use super::running::RunningTurn;
use crate::core::Deadline;

/// How much an agent may want before nothing waits any longer.
const MOST_HELD: usize = 1_000;

/// What waits until the state before a turn is kept, in its order.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    held: Vec<(ChannelUri, Held)>,
    /// The agent runs tools without asking anybody.
    overtaken: bool,
}

#[derive(Debug)]
enum Held {
    /// The agent wants the host to do this,
    Event(TurnEvent),
    /// or waits to hear that it may.
    Decision(Decision),
}

impl TurnsMut<'_> {
    /// Has the state before a turn kept, where states are.
    pub(super) fn keep_state_before(&mut self, uri: &ChannelUri) {
        let Some(turn) = self.own.turn(uri).map(|turn| turn.id.clone()) else {
            return;
        };
        let until = self.changes.keep_state_before(self.core, uri, &turn);
        if let Some(turn) = self.own.turn_mut(uri) {
            turn.awaited = until.is_some().then(Awaited::default);
        }
        if let Some(until) = until {
            let deadline = Deadline::StateBeforeTurn(uri.clone());
            self.core.deadlines.set(deadline, until);
        }
    }

    /// Holds back what an agent wants to have done, if the state before the
    /// turn is still being kept. Returns it if it need not wait.
    pub(super) fn unless_awaited(
        &mut self,
        uri: &ChannelUri,
        event: TurnEvent,
    ) -> Option<TurnEvent> {
        let Some(awaited) = self.awaited_in(uri) else {
            return Some(event);
        };
        let waits = match &event {
            TurnEvent::RunCommand(_) | TurnEvent::WriteFile { .. } => true,
            // Those are about commands that may be waiting themselves.
            TurnEvent::ReadCommand { .. } | TurnEvent::StopCommand { .. } => {
                !awaited.held.is_empty()
            }
            _ => false,
        };
        if !waits {
            return Some(event);
        }
        awaited.held.push((uri.clone(), Held::Event(event)));
        if awaited.held.len() >= MOST_HELD {
            let chat = self.turn_behind(uri);
            self.state_is_late(&chat);
        }
        None
    }

    /// Likewise what was decided, if it lets the agent go on with a tool.
    pub(super) fn decision_unless_awaited(
        &mut self,
        uri: &ChannelUri,
        decision: Decision,
    ) -> Option<Decision> {
        let lets_run = matches!(
            &decision,
            Decision::Tool {
                verdict: ToolVerdict::Approved { .. },
                ..
            }
        );
        match self.awaited_in(uri).filter(|_| lets_run) {
            Some(awaited) => {
                awaited.held.push((uri.clone(), Held::Decision(decision)));
                None
            }
            None => Some(decision),
        }
    }

    /// The agent runs a tool without asking.
    pub(super) fn agent_runs_tool(&mut self, uri: &ChannelUri) {
        if let Some(awaited) = self.awaited_in(uri) {
            awaited.overtaken = true;
        }
    }

    /// What waits for the state before the turn of a chat, or before the turn
    /// that delegated it.
    fn awaited_in(&mut self, uri: &ChannelUri) -> Option<&mut Awaited> {
        let chat = self.turn_behind(uri);
        self.own.turn_mut(&chat)?.awaited.as_mut()
    }

    /// The chat whose turn a chat works for: its own, or the one that delegated.
    fn turn_behind(&self, uri: &ChannelUri) -> ChannelUri {
        let delegated_by = self.own.turn(uri).and_then(|turn| turn.delegated_by);
        let chat = delegated_by.and_then(|backend| self.own.by_backend.get(&backend));
        chat.unwrap_or(uri).clone()
    }

    /// The state before a turn is kept.
    pub(crate) fn state_kept(&mut self, session: &ChannelUri, turn: &str) {
        self.release(session, |running| *running.id == *turn);
    }

    /// There is no state to wait for in a session.
    pub(crate) fn nothing_kept(&mut self, session: &ChannelUri) {
        self.release(session, |_| true);
    }

    fn release(&mut self, session: &ChannelUri, which: impl Fn(&RunningTurn) -> bool) {
        for chat in self.core.channels.chats_of(session) {
            if self.own.turn(&chat).is_some_and(&which) {
                self.go_on(&chat, false);
            }
        }
    }

    /// It takes too long to keep the state before a turn: nothing waits for it
    /// any longer.
    pub(crate) fn state_is_late(&mut self, chat: &ChannelUri) {
        self.go_on(chat, true);
    }

    fn go_on(&mut self, chat: &ChannelUri, late: bool) {
        let turn = self.own.turn_mut(chat);
        let Some((id, awaited)) =
            turn.and_then(|turn| Some((turn.id.clone(), turn.awaited.take()?)))
        else {
            return;
        };
        let deadline = Deadline::StateBeforeTurn(chat.clone());
        self.core.deadlines.clear(&deadline);
        if late || awaited.overtaken {
            self.changes.state_before_is_late(self.core, chat, &id);
        }
        self.set_going(chat);
        for (chat, held) in awaited.held {
            let Some(turn) = self.own.turn(&chat).map(|turn| turn.id.clone()) else {
                continue;
            };
            match held {
                Held::Event(event) => self.turn_event(&chat, &turn, event),
                Held::Decision(decision) => self.decided(&chat, decision),
            }
        }
    }
}
