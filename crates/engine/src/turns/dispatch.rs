//! What clients dispatch to a chat: whether it is accepted, and what follows
//! from it. The judges of tool calls, questions and messages that wait stand
//! besides what else is said about those.

use innkeeper_protocol::newest::actions::{
    ChatToolCallConfirmedAction, ChatTruncatedAction, ChatTurnCancelledAction,
    ChatTurnResumeAction, ChatTurnStartedAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    ChatInputResponseKind, PendingMessageKind, ResponsePart, SessionLifecycle, TurnState,
};
use innkeeper_protocol::outgoing::RejectionCode;
use innkeeper_protocol::{ChannelUri, Timestamp};

use super::TurnsMut;
use super::messages::{check_message, check_takes_messages};
use super::pending::{Next, judge_pending_removed, judge_reorder};
use super::questions::{judge_answer_change, judge_input_completed};
use super::running::RunningTurn;
use super::secrets::Secrets;
use super::tool_verdicts::{judge_tool_confirmed, judge_tool_result_confirmed};
use crate::compat::SelectionMeant;
use crate::config::QueueAfterCancel;
use crate::core::channels::Chat;
use crate::core::{Refusal, Sender, Verdict};
use crate::labels::Locale;

/// What follows from an action that was accepted.
#[derive(Debug)]
pub(super) enum After {
    Nothing,
    TurnStarted {
        turn: String,
        text: String,
    },
    TurnResumed {
        turn: String,
    },
    TurnCancelled,
    /// History was cut, and this many turns stay.
    Truncated {
        keep: usize,
    },
    ToolConfirmed(Box<ChatToolCallConfirmedAction>),
    ToolResultSettled {
        call: String,
    },
    InputCompleted {
        request: String,
        response: ChatInputResponseKind,
        secrets: Secrets,
    },
    /// What was answered must not be published.
    SecretAnswered(Secrets),
    PendingSet {
        id: String,
        kind: PendingMessageKind,
    },
    PendingRemoved,
    /// Somebody wants the queue as it is: they say "go on".
    QueueConfirmed,
}

impl TurnsMut<'_> {
    /// Takes what a client dispatched to a chat.
    pub(crate) fn dispatched(
        &mut self,
        uri: &ChannelUri,
        action: StateAction,
        sender: Sender,
        selection: SelectionMeant,
        locale: Locale,
    ) {
        let mut verdict = self.judge(uri, &sender.origin.client_id, action);
        if let Verdict::Apply(..) = &verdict
            && selection == SelectionMeant::Changed
        {
            match self.compat.defer_selection(self.core, uri, &sender) {
                Ok(true) => return,
                Ok(false) => {}
                Err(refusal) => verdict = verdict.refused(refusal),
            }
        }
        let was_running = match &verdict {
            Verdict::Apply(_, after) => self.prepare(uri, after),
            Verdict::Confirm(..) | Verdict::Reject(..) | Verdict::NotAccepted(_) => None,
        };
        if let Some(after) = self.core.carry_out(uri, sender, verdict) {
            if let After::PendingSet { id, .. } = &after {
                let later = selection == SelectionMeant::WhenTurnBegins;
                self.note_when_to_select(uri, id, later);
            }
            self.follow_up(uri, after, was_running, locale);
        }
    }

    fn judge(&mut self, uri: &ChannelUri, client: &str, action: StateAction) -> Verdict<After> {
        let Some(chat) = self.core.channels.chat(uri) else {
            return Verdict::NotAccepted(action);
        };
        match action {
            StateAction::ChatTurnStarted(started) => self.judge_turn_start(uri, started),
            StateAction::ChatTurnCancelled(cancelled) => self.judge_cancel(uri, cancelled),
            StateAction::ChatTurnResume(resume) => self.judge_resume(chat, resume),
            StateAction::ChatTruncated(cut) => match self.is_taken_back(chat) {
                Some(refusal) => Verdict::reject(StateAction::ChatTruncated(cut), refusal),
                None => judge_cut(chat, cut),
            },
            StateAction::ChatToolCallConfirmed(action) => judge_tool_confirmed(chat, action),
            StateAction::ChatToolCallResultConfirmed(action) => {
                judge_tool_result_confirmed(chat, action)
            }
            StateAction::ChatToolCallComplete(action) => {
                self.judge_tool_complete((uri, client), action)
            }
            StateAction::ChatToolCallContentChanged(action) => {
                self.judge_tool_content((uri, client), action)
            }
            StateAction::ChatInputAnswerChanged(action) => judge_answer_change(chat, action),
            StateAction::ChatInputCompleted(action) => judge_input_completed(chat, action),
            StateAction::ChatPendingMessageSet(action) => self.judge_pending_set(uri, action),
            StateAction::ChatPendingMessageRemoved(action) => judge_pending_removed(chat, action),
            StateAction::ChatQueuedMessagesReordered(action) => judge_reorder(chat, action),
            StateAction::ChatDraftChanged(change) => {
                let draft = change.draft.as_ref();
                let checked = draft.map_or(Ok(()), |draft| {
                    check_message(self.core, self.agents, &chat.session, draft)
                });
                let action = StateAction::ChatDraftChanged(change);
                match checked {
                    Ok(()) => Verdict::Apply(action, After::Nothing),
                    Err(reason) => Verdict::reject(action, reason),
                }
            }
            StateAction::ChatIsReadChanged(_) | StateAction::ChatIsArchivedChanged(_) => {
                Verdict::Apply(action, After::Nothing)
            }
            _ => Verdict::NotAccepted(action),
        }
    }

    fn judge_turn_start(
        &mut self,
        uri: &ChannelUri,
        mut started: ChatTurnStartedAction,
    ) -> Verdict<After> {
        if let Err(reason) = self.check_turn_start(uri, &started) {
            return Verdict::reject(StateAction::ChatTurnStarted(started), reason);
        }
        // A clock that runs ahead must not put the turn's end beyond time.
        let now = self.core.now;
        let started_at = Timestamp::parse(&started.started_at).filter(|at| *at <= now);
        started.started_at = started_at.unwrap_or(now).to_string();
        started.queued_message_id = None;
        started.message = self.as_kept(uri, started.message);
        let after = After::TurnStarted {
            turn: started.turn_id.clone(),
            text: started.message.text.clone(),
        };
        Verdict::Apply(StateAction::ChatTurnStarted(started), after)
    }

    fn check_turn_start(
        &self,
        uri: &ChannelUri,
        started: &ChatTurnStartedAction,
    ) -> Result<(), Refusal> {
        let Some(chat) = self.core.channels.chat(uri) else {
            return Err(format!("unknown chat `{uri}`").into());
        };
        if started.turn_id.is_empty() {
            return Err("a turn needs an id".into());
        }
        if chat.knows_turn(&started.turn_id) {
            // Perhaps sent again after a lost connection. Applying it twice
            // would wipe the turn; the rejection tells the sender that there
            // is nothing left for it to wait for.
            let reason = format!("turn `{}` exists already", started.turn_id);
            return Err(Refusal::new(RejectionCode::TurnExists, reason));
        }
        if let Some(reason) = self.why_no_turn(chat) {
            return Err(reason);
        }
        check_message(self.core, self.agents, &chat.session, &started.message)?;
        Ok(())
    }

    /// Why a chat cannot begin or resume a turn now, if it cannot.
    pub(super) fn why_no_turn(&self, chat: &Chat) -> Option<Refusal> {
        if self.core.shutting_down {
            let reason = "the host is shutting down";
            return Some(Refusal::new(RejectionCode::Unavailable, reason));
        }
        let session = self.core.channels.session(&chat.session)?;
        match &session.state.lifecycle {
            // What comes before a session is there waits for it.
            SessionLifecycle::Ready | SessionLifecycle::Creating => {}
            SessionLifecycle::Failed | SessionLifecycle::Unknown(_) => {
                let error = session.state.creation_error.as_ref();
                let why = error.map_or("unknown reason", |error| &error.message);
                return Some(format!("the session could not be created: {why}").into());
            }
        }
        if let Some(refusal) = self.is_taken_back(chat) {
            return Some(refusal);
        }
        if let Err(reason) = check_takes_messages(&chat.head) {
            return Some(reason.into());
        }
        let active = chat.active_turn_id();
        active.map(|turn| {
            let reason = format!("turn `{turn}` is running; wait for it, queue, or cancel it");
            Refusal::new(RejectionCode::TurnRuns, reason)
        })
    }

    /// Why nothing can happen in a chat while its session is taken back.
    fn is_taken_back(&self, chat: &Chat) -> Option<Refusal> {
        let session = self.core.channels.session(&chat.session)?;
        session.notes.taking_back.as_ref().map(|_| {
            let reason = "something of this session is being taken back; try again in a moment";
            Refusal::new(RejectionCode::Unavailable, reason)
        })
    }

    /// Cuts the history of a chat in which nothing runs, so that this many turns
    /// stay.
    pub(crate) fn cut_to(&mut self, uri: &ChannelUri, keep: usize) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        let last = keep.checked_sub(1).and_then(|index| chat.turns.get(index));
        let turn_id = last.map(|turn| turn.id.to_string());
        self.clients.widen_views(self.core, uri, keep);
        let cut = StateAction::ChatTruncated(ChatTruncatedAction { turn_id });
        self.core.emit(uri, cut, None);
        self.truncate_backend(uri);
    }

    fn judge_cancel(
        &self,
        uri: &ChannelUri,
        mut cancelled: ChatTurnCancelledAction,
    ) -> Verdict<After> {
        let reason = match self.own.turn(uri) {
            None => "no turn is running".to_owned(),
            Some(turn) if *turn.id != *cancelled.turn_id => {
                format!("turn `{}` is not running", cancelled.turn_id)
            }
            Some(turn) => {
                cancelled.duration = turn.duration(self.core.measured());
                let action = StateAction::ChatTurnCancelled(cancelled);
                return Verdict::Apply(action, After::TurnCancelled);
            }
        };
        let refusal = Refusal::new(RejectionCode::NoTurn, reason);
        Verdict::reject(StateAction::ChatTurnCancelled(cancelled), refusal)
    }

    fn judge_resume(&self, chat: &Chat, resume: ChatTurnResumeAction) -> Verdict<After> {
        let turn = resume.turn_id.clone();
        let checked = match self.why_no_turn(chat) {
            Some(refusal) => Err(refusal),
            None => check_resumable(chat, &turn).map_err(Refusal::from),
        };
        let action = StateAction::ChatTurnResume(resume);
        match checked {
            Ok(()) => Verdict::Apply(action, After::TurnResumed { turn }),
            Err(reason) => Verdict::reject(action, reason),
        }
    }

    /// Before an action is applied: subscribers whose view begins too late are
    /// given what they would miss, and the turn that it ends is taken out. What
    /// the agent has to be told depends on that turn.
    fn prepare(&mut self, uri: &ChannelUri, after: &After) -> Option<RunningTurn> {
        match after {
            After::Truncated { keep } => {
                self.clients.widen_views(self.core, uri, *keep);
                self.own.take_turn(uri)
            }
            After::TurnCancelled => {
                self.withdraw_all_questions(uri);
                self.own.take_turn(uri)
            }
            After::TurnResumed { .. } => {
                self.clients.widen_older_views(self.core, uri);
                None
            }
            After::Nothing
            | After::TurnStarted { .. }
            | After::ToolConfirmed(_)
            | After::ToolResultSettled { .. }
            | After::InputCompleted { .. }
            | After::SecretAnswered(_)
            | After::PendingSet { .. }
            | After::PendingRemoved
            | After::QueueConfirmed => None,
        }
    }

    fn follow_up(
        &mut self,
        uri: &ChannelUri,
        after: After,
        was_running: Option<RunningTurn>,
        locale: Locale,
    ) {
        if let Some(turn) = was_running {
            self.turn_cancelled(uri, &turn);
        }
        match after {
            After::Nothing => {}
            After::TurnStarted { turn, text } => self.turn_started(uri, &turn, &text, locale),
            After::TurnResumed { turn } => self.turn_resumed(uri, &turn, locale),
            After::TurnCancelled => {
                if self.core.config.queue_after_cancel == QueueAfterCancel::Continue {
                    self.next_pending_turn(uri, Next::AfterTurn);
                }
            }
            After::Truncated { .. } => self.truncate_backend(uri),
            After::ToolConfirmed(confirmed) => self.tool_confirmed(uri, *confirmed),
            After::ToolResultSettled { call } => self.tool_result_settled(uri, &call),
            After::InputCompleted {
                request,
                response,
                secrets,
            } => {
                self.keep_secrets(uri, secrets);
                self.input_completed(uri, request, response);
            }
            After::SecretAnswered(secrets) => self.keep_secrets(uri, secrets),
            After::PendingSet { kind, .. } => match kind {
                PendingMessageKind::Steering => self.steer(uri),
                PendingMessageKind::Queued => self.next_pending_turn(uri, Next::Queued),
            },
            // Nothing starts: whoever clears a queue wants none of it.
            After::PendingRemoved => self.steer(uri),
            After::QueueConfirmed => self.next_pending_turn(uri, Next::Queued),
        }
    }
}

fn judge_cut(chat: &Chat, cut: ChatTruncatedAction) -> Verdict<After> {
    let keep = match cut.turn_id.as_deref() {
        None => Ok(0),
        Some(turn) => match chat.position_of(turn) {
            Some(index) => Ok(index + 1),
            None => Err(format!("the chat has no turn `{turn}`")),
        },
    };
    let action = StateAction::ChatTruncated(cut);
    match keep {
        Ok(keep) => Verdict::Apply(action, After::Truncated { keep }),
        Err(reason) => Verdict::reject(action, reason),
    }
}

/// Only the latest turn can be resumed, if it failed in a way that allows it.
fn check_resumable(chat: &Chat, turn: &str) -> Result<(), String> {
    let last = chat.turns.last().filter(|last| *last.id == *turn);
    let Some(turn) = last.and_then(|turn| turn.decode().ok()) else {
        return Err("only the latest turn can be resumed".to_owned());
    };
    let resumable = matches!(
        turn.response_parts.last(),
        Some(ResponsePart::Error(error)) if error.resumable == Some(true)
    );
    match turn.state == TurnState::Error && resumable {
        true => Ok(()),
        false => Err("the turn did not end in an error that can be resumed".to_owned()),
    }
}
