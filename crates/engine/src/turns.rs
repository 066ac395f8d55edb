//! Turns: a message goes to the agent, and what the agent reports becomes
//! actions, until the turn ends. Every turn ends: well, cancelled, or in an
//! error that says why.

use std::sync::Arc;

use innkeeper_protocol::agent::{AgentCommand, TurnEvent};
use innkeeper_protocol::house::actions::{
    ChatActivityChangedAction, ChatErrorAction, ChatTurnCancelledAction, ChatTurnCompleteAction,
    ChatTurnStartedAction, ChatUsageAction, SessionIsReadChangedAction, SessionTitleChangedAction,
    StateAction,
};
use innkeeper_protocol::house::state::{
    ErrorInfo, ErrorResponsePart, ResponsePart, SessionStatus, SystemNotificationResponsePart,
};
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::chats::{BackendPhase, Chat, PartKind, RunningTurn};
use crate::labels::{Label, Locale};
use crate::{Engine, history};

/// How a turn ends.
#[derive(Debug, Clone)]
pub(crate) enum Ending {
    Complete,
    Cancelled,
    Error { error: ErrorInfo, resumable: bool },
}

impl RunningTurn {
    pub(crate) fn duration(&self, now: Timestamp) -> i64 {
        self.earlier_millis
            .saturating_add(now.millis_since(self.began))
    }
}

impl Engine {
    /// A turn was put into the state: everything else that makes it run.
    pub(crate) fn turn_started(
        &mut self,
        uri: &ChannelUri,
        started: &ChatTurnStartedAction,
        locale: Locale,
    ) {
        let began = self.now;
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        chat.turn = Some(RunningTurn::new(&started.turn_id, began, locale));
        let is_first_of_session = chat.is_default && chat.turns.is_empty();
        let session = chat.session.clone();
        self.mark_unread(&session);
        if is_first_of_session && let Some(title) = history::title_from(&started.message.text) {
            self.set_title(&session, title);
        }
        self.begin_work(uri);
    }

    /// A turn waits until its session is there, and then until the state
    /// before it is kept, where one is.
    pub(crate) fn begin_work(&mut self, uri: &ChannelUri) {
        let Some(chat) = self.chats.get(uri) else {
            return;
        };
        let waiting = chat.turn.as_ref().filter(|turn| !turn.prompted);
        let Some(turn) = waiting.filter(|_| !self.is_being_created(&chat.session)) else {
            return;
        };
        let turn = turn.id.clone();
        let until = self.keep_state_before(uri, &turn);
        if let Some(turn) = self.chats.get_mut(uri).and_then(|chat| chat.turn.as_mut()) {
            turn.held_until = until;
        }
        self.set_going(uri);
    }

    /// Has the running turn done by whoever does it, when its time has come.
    pub(crate) fn set_going(&mut self, uri: &ChannelUri) {
        let held = self.chats.get(uri).and_then(Chat::held_until).is_some();
        if held || !self.run_own_command(uri) {
            self.pump(uri);
        }
    }

    pub(crate) fn turn_resumed(&mut self, uri: &ChannelUri, turn_id: &str, locale: Locale) {
        let now = self.now;
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        // What the turn took so far is not in the state of an active turn.
        let earlier_millis = chat
            .head
            .active_turn
            .as_ref()
            .and_then(|turn| Timestamp::parse(&turn.started_at))
            .zip(Timestamp::parse(&chat.head.modified_at))
            .map_or(0, |(started, modified)| modified.millis_since(started));
        chat.turn = Some(RunningTurn {
            earlier_millis,
            resumed: true,
            ..RunningTurn::new(turn_id, now, locale)
        });
        let session = chat.session.clone();
        self.mark_unread(&session);
        self.begin_work(uri);
    }

    /// A client cancelled the turn: its state is final; the agent must stop.
    pub(crate) fn turn_cancelled(&mut self, uri: &ChannelUri, turn: &RunningTurn) {
        self.clear_activity(uri);
        if !turn.recounted {
            self.keep_state_after(uri, &turn.id);
        }
        self.apply_deferred_selections(uri);
        self.end_commands_of(uri, &turn.id);
        let own = self.chats.get(uri).and_then(|chat| chat.backend.as_ref());
        let backend = turn.delegated_by.or(own.map(|backend| backend.id));
        if let Some(backend) = backend.filter(|_| turn.prompted && !turn.by_host) {
            let turn = turn.id.clone();
            self.delegates.remove(&(backend, turn.clone()));
            self.end_delegates(backend, Some(uri), &Ending::Cancelled);
            self.tell_agent(AgentCommand::Cancel { backend, turn });
        }
    }

    pub(crate) fn turn_event(&mut self, uri: &ChannelUri, turn: &Arc<str>, event: TurnEvent) {
        let ending = match event {
            TurnEvent::Completed => Ending::Complete,
            TurnEvent::Cancelled => Ending::Cancelled,
            TurnEvent::Failed { error, resumable } => Ending::Error { error, resumable },
            ongoing => {
                let running = self.chats.get(uri).and_then(|chat| chat.turn.as_ref());
                if running.is_some_and(|running| running.id == *turn && running.prompted) {
                    self.turn_goes_on(uri, ongoing);
                }
                return;
            }
        };
        // What was queued was meant to follow on something that worked.
        let goes_on = !matches!(ending, Ending::Error { .. });
        let now = self.now;
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        if let Some(backend) = &mut chat.backend
            && backend.phase == BackendPhase::Busy(turn.clone())
        {
            backend.phase = BackendPhase::Idle;
            backend.used = now;
        }
        if chat
            .turn
            .as_ref()
            .is_some_and(|running| running.id == *turn && running.prompted)
        {
            self.end_turn(uri, ending);
        }
        self.pump(uri);
        if goes_on {
            self.next_pending_turn(uri, true);
        }
    }

    fn turn_goes_on(&mut self, uri: &ChannelUri, event: TurnEvent) {
        match event {
            TurnEvent::Text(text) => self.stream(uri, PartKind::Markdown, text),
            TurnEvent::Reasoning(text) => self.stream(uri, PartKind::Reasoning, text),
            TurnEvent::Break => self.close_part(uri),
            TurnEvent::Content { data, content_type } => {
                if let Some(part) = self.keep_content(uri, data, content_type) {
                    self.add_part(uri, ResponsePart::ContentRef(part));
                }
            }
            TurnEvent::Notice(content) => {
                let part = SystemNotificationResponsePart {
                    content,
                    meta: None,
                };
                self.add_part(uri, ResponsePart::SystemNotification(part));
            }
            TurnEvent::Unknown { about, said } => {
                let meta = ("unknownUpdates".to_owned(), said.into());
                let part = SystemNotificationResponsePart {
                    content: about,
                    meta: Some([meta].into_iter().collect()),
                };
                self.add_part(uri, ResponsePart::SystemNotification(part));
            }
            TurnEvent::Usage(usage) => {
                if let Some(turn_id) = self.running_turn_id(uri) {
                    let meta = None;
                    let usage = ChatUsageAction {
                        turn_id,
                        usage,
                        meta,
                    };
                    self.emit(uri, StateAction::ChatUsage(usage), None);
                }
            }
            TurnEvent::Activity(activity) => self.set_activity(uri, activity),
            TurnEvent::ToolStarted(start) => self.tool_started(uri, *start),
            TurnEvent::ToolInput { call, content } => self.tool_input(uri, call, content),
            TurnEvent::ToolReady(ready) => self.tool_ready(uri, *ready),
            TurnEvent::ToolContent { call, content } => self.tool_content(uri, call, content),
            TurnEvent::RunCommand(run) => self.run_command(uri, *run),
            TurnEvent::ReadCommand { run } => self.read_command(uri, run),
            TurnEvent::StopCommand { run } => self.stop_command(uri, &run),
            TurnEvent::FileEdited(edited) => self.file_edited(uri, *edited),
            TurnEvent::ToolFinished {
                call,
                result,
                confirm,
            } => self.tool_finished(uri, call, *result, confirm),
            TurnEvent::Ask(request) => self.ask(uri, *request),
            TurnEvent::AskWithdrawn { request } => self.withdraw_question(uri, request),
            TurnEvent::Steered { message } => self.steered(uri, &message),
            TurnEvent::Delegated(delegation) => self.delegate(uri, *delegation),
            TurnEvent::StopReason(reason) => {
                let chat = self.chats.get_mut(uri);
                if let Some(turn) = chat.and_then(|chat| chat.turn.as_mut()) {
                    turn.stop_reason = Some(reason);
                }
            }
            TurnEvent::Completed | TurnEvent::Cancelled | TurnEvent::Failed { .. } => {}
        }
    }

    pub(crate) fn end_turn(&mut self, uri: &ChannelUri, ending: Ending) {
        let Some(turn) = self.chats.get_mut(uri).and_then(|chat| chat.turn.take()) else {
            return;
        };
        if let Some(backend) = turn.delegated_by.or(self.backend_at_work(uri)) {
            self.delegates.remove(&(backend, turn.id.clone()));
            self.end_delegates(backend, Some(uri), &Ending::Cancelled);
        }
        self.end_commands_of(uri, &turn.id);
        let (turn_id, duration) = (turn.id.to_string(), turn.duration(self.now));
        let reason = turn
            .stop_reason
            .map(|reason| ("stopReason".to_owned(), reason.into()));
        let meta = reason.map(|reason| [reason].into_iter().collect());
        let action = match ending {
            Ending::Complete => StateAction::ChatTurnComplete(ChatTurnCompleteAction {
                turn_id,
                duration,
                meta,
            }),
            Ending::Cancelled => StateAction::ChatTurnCancelled(ChatTurnCancelledAction {
                turn_id,
                duration,
                meta,
            }),
            Ending::Error { error, resumable } => StateAction::ChatError(ChatErrorAction {
                turn_id,
                duration,
                part: ErrorResponsePart {
                    error,
                    resumable: Some(resumable),
                },
                meta,
            }),
        };
        self.emit(uri, action, None);
        self.clear_activity(uri);
        self.keep_state_after(uri, &turn.id);
        self.apply_deferred_selections(uri);
    }

    /// A stored turn that was running when the host ended.
    pub(crate) fn end_interrupted_turn(&mut self, uri: &ChannelUri) {
        let Some(turn) = self.chats.get(uri).and_then(|chat| chat.turn.as_ref()) else {
            return;
        };
        let error = error_info("hostInterrupted", Label::HostInterrupted.text(turn.locale));
        self.end_turn(
            uri,
            Ending::Error {
                error,
                resumable: true,
            },
        );
        self.clear_activity(uri);
    }

    pub(crate) fn shutdown(&mut self) {
        self.shutting_down = true;
        let chats: Vec<ChannelUri> = self.chats.keys().cloned().collect();
        for chat in &chats {
            // What a person is asked can be answered in the next life, too,
            // and what has not begun can begin then.
            if !self.waits_for_a_person(chat) && !self.waits_for_its_session(chat) {
                self.end_interrupted_turn(chat);
            }
            self.close_backend(chat);
        }
        self.close_all_terminals();
        self.publish_all_summaries();
        self.settle();
        self.release_reserved_numbers();
        self.step.durable_first = true;
    }

    // What a turn changes around it

    pub(crate) fn mark_unread(&mut self, session: &ChannelUri) {
        let read = SessionStatus::IsRead.bits();
        if self
            .sessions
            .get(session)
            .is_some_and(|session| session.state.status & read != 0)
        {
            let action = SessionIsReadChangedAction { is_read: false };
            self.emit(session, StateAction::SessionIsReadChanged(action), None);
        }
    }

    pub(crate) fn set_title(&mut self, session: &ChannelUri, title: String) {
        let open = self
            .sessions
            .get(session)
            .is_some_and(|session| session.notes.title_is_open && session.state.title != title);
        if open {
            let action = SessionTitleChangedAction { title };
            self.emit(session, StateAction::SessionTitleChanged(action), None);
        }
    }

    pub(crate) fn title_from_agent(&mut self, uri: &ChannelUri, title: String) {
        let chat = self.chats.get(uri).filter(|chat| chat.is_default);
        let session = chat.map(|chat| chat.session.clone());
        if let Some(session) = session.filter(|_| !title.trim().is_empty()) {
            self.set_title(&session, title);
        }
    }

    fn set_activity(&mut self, uri: &ChannelUri, activity: Option<String>) {
        let Some(chat) = self
            .chats
            .get(uri)
            .filter(|chat| chat.head.activity != activity)
        else {
            return;
        };
        self.touched.insert(chat.session.clone());
        let action = ChatActivityChangedAction { activity };
        self.emit(uri, StateAction::ChatActivityChanged(action), None);
    }

    fn clear_activity(&mut self, uri: &ChannelUri) {
        self.set_activity(uri, None);
    }
}

pub(crate) fn error_info(error_type: &str, message: impl Into<String>) -> ErrorInfo {
    ErrorInfo {
        error_type: error_type.to_owned(),
        message: message.into(),
        stack: None,
        meta: None,
    }
}
