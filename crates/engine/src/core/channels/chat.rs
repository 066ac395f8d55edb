//! A chat in memory: its state and its finished turns.
//!
//! *Invariant*: between two inputs `head.turns` is empty. Finished turns are
//! kept as the JSON that snapshots and the store want; the one turn that a
//! reducer needs to look at is lent to it, so that a step costs the same
//! however long the history is.

use ahp::reducers::{ReduceOutcome, apply_action_to_chat};
use innkeeper_protocol::action_traits::traits_of;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{
    AgentSelection, ChatInteractivity, ChatOrigin, ChatState, ChatSummary, Message, MessageKind,
    MessageOrigin, ModelSelection, SessionStatus,
};
use innkeeper_protocol::record::{ChatNotes, ChatRecord, Selection, StoreOp};
use innkeeper_protocol::snapshot::{ChatSnapshot, StoredTurn};
use innkeeper_protocol::{ChannelUri, Seq, Timestamp};
use serde_json::Value;

use super::queue_size;
use super::turn_size::{Growth, size_of_turn};
use crate::core::history;

#[derive(Debug)]
pub(crate) struct Chat {
    pub(crate) uri: ChannelUri,
    pub(crate) session: ChannelUri,
    pub(crate) is_default: bool,
    pub(crate) head: ChatState,
    pub(crate) turns: Vec<StoredTurn>,
    pub(crate) notes: ChatNotes,
    /// The row in the store is older than `head` in a way the log does not tell.
    pub(crate) dirty: bool,
    /// The number at which the row in the store was written.
    pub(crate) stored_at: Seq,
    /// How large the active turn is.
    turn_bytes: usize,
    queue_bytes: usize,
    /// Changes to the stored turns that go with the row.
    turn_ops: Vec<StoreOp>,
}

/// A message that is nothing but its text.
pub(crate) fn plain_message(kind: MessageKind, text: String) -> Message {
    Message {
        text,
        origin: MessageOrigin { kind },
        attachments: None,
        model: None,
        agent: None,
        meta: None,
    }
}

impl Chat {
    pub(crate) fn new(
        uri: ChannelUri,
        session: ChannelUri,
        title: String,
        origin: ChatOrigin,
        now: Timestamp,
    ) -> Self {
        let is_default = uri == ChannelUri::default_chat_of(session.as_str());
        let head = ChatState {
            resource: uri.to_string(),
            title,
            status: (SessionStatus::Idle | SessionStatus::IsRead).bits(),
            activity: None,
            modified_at: now.to_string(),
            changes: None,
            origin: Some(origin),
            movable: (!is_default).then_some(true),
            interactivity: Some(ChatInteractivity::Full),
            working_directories: None,
            changesets: None,
            background_work: None,
            canvases: None,
            turns: Vec::new(),
            turns_next_cursor: None,
            active_turn: None,
            steering_message: None,
            queued_messages: None,
            draft: None,
            meta: None,
        };
        Self::from_parts(uri, session, head, Vec::new(), ChatNotes::default())
    }

    pub(crate) fn from_parts(
        uri: ChannelUri,
        session: ChannelUri,
        head: ChatState,
        turns: Vec<StoredTurn>,
        notes: ChatNotes,
    ) -> Self {
        Self {
            is_default: uri == ChannelUri::default_chat_of(session.as_str()),
            uri,
            session,
            turn_bytes: size_of_turn(head.active_turn.as_ref()),
            queue_bytes: queue_size::size_of_all(&head),
            head,
            turns,
            notes,
            dirty: false,
            stored_at: Seq::ZERO,
            turn_ops: Vec::new(),
        }
    }

    /// Applies an action with the protocol's reducer.
    pub(crate) fn reduce(&mut self, action: &StateAction) -> ReduceOutcome {
        let lent = self.turn_that_matters_to(action);
        if let Some(turn) = lent.and_then(|index| self.turns[index].decode().ok()) {
            self.head.turns.push(turn);
        }
        let growth = Growth::by(action);
        let before = growth.size_in(self.head.active_turn.as_ref());
        let queued = queue_size::concerned(action);
        let queued_before = queued.map_or(0, |id| queue_size::size_of(&self.head, id));
        let outcome = apply_action_to_chat(&mut self.head, action);
        if outcome == ReduceOutcome::Applied {
            self.grow(growth, before);
            let queued_now = queued.map_or(0, |id| queue_size::size_of(&self.head, id));
            let others = self.queue_bytes.saturating_sub(queued_before);
            self.queue_bytes = others.saturating_add(queued_now);
            if !traits_of(action).is_within_turn {
                self.dirty = true;
            }
            if let StateAction::ChatPendingMessageRemoved(removed) = action {
                self.notes.without_selection.remove(&removed.id);
            }
            self.take_turns_back(action, lent);
        }
        self.head.turns.clear();
        outcome
    }

    /// Counts what an action made of the active turn.
    fn grow(&mut self, growth: Growth<'_>, before: usize) {
        let turn = self.head.active_turn.as_ref();
        self.turn_bytes = match growth {
            Growth::Turn => size_of_turn(turn),
            Growth::Adds(bytes) => self.turn_bytes.saturating_add(bytes),
            changed => {
                let others = self.turn_bytes.saturating_sub(before);
                others.saturating_add(changed.size_in(turn))
            }
        };
    }

    /// How large the active turn is, with what it has in the host's own store.
    pub(crate) fn turn_bytes(&self) -> usize {
        self.turn_bytes
    }

    /// How large the queued messages are, besides the one with this id.
    pub(crate) fn queue_bytes_without(&self, id: &str) -> usize {
        let this = queue_size::size_of(&self.head, id);
        self.queue_bytes.saturating_sub(this)
    }

    /// Which finished turn the reducer will look for.
    fn turn_that_matters_to(&self, action: &StateAction) -> Option<usize> {
        match action {
            StateAction::ChatTurnResume(_) => self.turns.len().checked_sub(1),
            StateAction::ChatTruncated(a) => self.position_of(a.turn_id.as_deref()?),
            _ => None,
        }
    }

    /// Brings the finished turns in line with what the reducer did.
    fn take_turns_back(&mut self, action: &StateAction, lent: Option<usize>) {
        let kept = match action {
            StateAction::ChatTurnComplete(_)
            | StateAction::ChatTurnCancelled(_)
            | StateAction::ChatError(_) => {
                let finished = self.head.turns.iter().map(StoredTurn::new);
                for turn in finished.filter_map(Result::ok) {
                    self.turn_ops.push(StoreOp::AppendTurn {
                        chat: self.uri.clone(),
                        index: self.turns.len() as u64,
                        turn: turn.clone(),
                    });
                    self.turns.push(turn);
                }
                return;
            }
            StateAction::ChatTurnResume(_) => self.turns.len().saturating_sub(1),
            StateAction::ChatTruncated(_) => lent.map_or(0, |index| index + 1),
            _ => return,
        };
        self.turns.truncate(kept);
        self.turn_ops.push(StoreOp::TruncateTurns {
            chat: self.uri.clone(),
            keep: kept as u64,
        });
    }

    /// Begins with a model or an agent selected: a draft that says so.
    pub(crate) fn select(&mut self, model: Option<ModelSelection>, agent: Option<AgentSelection>) {
        if model.is_none() && agent.is_none() {
            return;
        }
        self.notes.selection = Selection {
            model: model.clone(),
            agent: agent.clone(),
        };
        self.head.draft = Some(Message {
            model,
            agent,
            ..plain_message(MessageKind::User, String::new())
        });
    }

    /// How the agent finds a conversation that holds exactly what was said up
    /// to the end of a turn: its own, if that turn is the last.
    pub(crate) fn resume_up_to(&self, turn: &str) -> Option<Value> {
        let is_last = self.turns.last().is_some_and(|last| &*last.id == turn);
        let resume = self.notes.resume.clone();
        resume.filter(|_| is_last && self.head.active_turn.is_none())
    }

    /// All finished turns that its agent is to know of.
    pub(crate) fn transcript(&self) -> Vec<StoredTurn> {
        [&self.notes.context[..], &self.turns].concat()
    }

    pub(crate) fn position_of(&self, turn: &str) -> Option<usize> {
        self.turns.iter().rposition(|stored| &*stored.id == turn)
    }

    /// Where a turn stands, or will when it has ended.
    pub(crate) fn place_of(&self, turn: &str) -> Option<usize> {
        let active = self.active_turn_id() == Some(turn);
        self.position_of(turn)
            .or(active.then_some(self.turns.len()))
    }

    pub(crate) fn knows_turn(&self, turn: &str) -> bool {
        self.active_turn_id() == Some(turn) || self.position_of(turn).is_some()
    }

    /// What was asked in the turn that runs, or in the last that did.
    pub(crate) fn last_asked(&self) -> Option<String> {
        if let Some(turn) = &self.head.active_turn {
            return Some(turn.message.text.clone());
        }
        let last = self.turns.last()?.decode().ok()?;
        Some(last.message.text)
    }

    pub(crate) fn active_turn_id(&self) -> Option<&str> {
        self.head.active_turn.as_ref().map(|turn| turn.id.as_str())
    }

    /// The chat belongs to another session from now on.
    pub(crate) fn move_to(&mut self, session: &ChannelUri) {
        self.session = session.clone();
        self.is_default = self.uri == ChannelUri::default_chat_of(session.as_str());
        self.dirty = true;
    }

    /// Gives the chat turns that it did not have itself, as a fork does.
    pub(crate) fn adopt_turns(&mut self, turns: &[StoredTurn]) {
        for turn in turns {
            self.turn_ops.push(StoreOp::AppendTurn {
                chat: self.uri.clone(),
                index: self.turns.len() as u64,
                turn: turn.clone(),
            });
            self.turns.push(turn.clone());
        }
    }

    /// The state as a client sees it, with its last `window` turns or all.
    pub(crate) fn snapshot(&self, window: Option<usize>) -> ChatSnapshot {
        let skipped = window.map_or(0, |window| self.turns.len().saturating_sub(window));
        let mut head = self.head.clone();
        history::write_waiting_calls(&mut head);
        head.turns_next_cursor =
            (skipped > 0).then(|| history::cursor_before(&self.turns[skipped]));
        ChatSnapshot {
            head,
            turns: self.turns[skipped..].to_vec(),
        }
    }

    pub(crate) fn summary(&self) -> ChatSummary {
        ChatSummary {
            resource: self.head.resource.clone(),
            title: self.head.title.clone(),
            status: self.head.status,
            activity: self.head.activity.clone(),
            modified_at: self.head.modified_at.clone(),
            changes: self.head.changes.clone(),
            origin: self.head.origin.clone(),
            movable: self.head.movable,
            interactivity: self.head.interactivity,
            working_directories: self.head.working_directories.clone(),
        }
    }

    /// The row as it is to be stored now, with the changes that go with it.
    pub(crate) fn store(&mut self, seq: Seq, ops: &mut Vec<StoreOp>) {
        self.dirty = false;
        self.stored_at = seq;
        ops.push(StoreOp::PutChat(Box::new(ChatRecord {
            uri: self.uri.clone(),
            session: self.session.clone(),
            head: self.head.clone(),
            seq,
            notes: self.notes.clone(),
        })));
        ops.append(&mut self.turn_ops);
    }
}
