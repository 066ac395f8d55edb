//! Turns: a message goes to the agent, and what the agent reports becomes
//! actions, until the turn ends. Every turn ends: well, cancelled, or in an
//! error that says why.

mod answers;
mod attachments;
mod backends;
mod beginning;
mod commands;
mod delegation;
mod dispatch;
mod edits;
mod host_tools;
mod imported;
mod input_needed;
mod messages;
mod models;
mod pending;
mod questions;
mod response_parts;
mod running;
mod secrets;
mod server_tools;
mod shapes;
mod state_before;
mod stopping;
mod tool_list;
mod tool_verdicts;
mod tools;
mod waiting;

use std::collections::BTreeSet;

use foldhash::HashMap;
use innkeeper_protocol::agent::{AgentCommand, AgentCommandInfo, BackendId, Decision, TurnEvent};
use innkeeper_protocol::bounds::{MAX_TITLE_BYTES, cut};
use innkeeper_protocol::newest::actions::{
    ChatActivityChangedAction, ChatErrorAction, ChatTurnCancelledAction, ChatTurnCompleteAction,
    ChatUsageAction, SessionCreationFailedAction, SessionIsReadChangedAction, SessionReadyAction,
    SessionTitleChangedAction, StateAction,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ErrorInfo, ErrorResponsePart, ResponsePart, SessionStatus, SystemNotificationResponsePart,
};
use innkeeper_protocol::{ChannelUri, TurnId};

use crate::agents::Agents;
use crate::annotations::Anchoring;
use crate::catalogue::Catalogue;
use crate::changes::Changes;
use crate::clients::Clients;
use crate::compat::Compat;
use crate::config::QueueAfterCancel;
use crate::core::channels::Chat;
use crate::core::{Core, Deadline, error_info};
use crate::customizations::Customizations;
use crate::effect::Ticket;
use crate::labels::{Label, Locale, agent};
use crate::servers::Servers;
use crate::terminals::Terminals;

pub(crate) use attachments::channels_referred_to;
pub use commands::COMMAND_PREFIX;
pub(crate) use host_tools::HOST;
pub(crate) use input_needed::requests_of;
pub(crate) use messages::{check_message, check_takes_messages};
pub(crate) use shapes::check_attachments;

use attachments::AwaitedContent;
use delegation::Delegates;
use input_needed::waits_for_a_person;
use pending::Next;
use running::{Backend, BackendPhase, Conversation, PartKind, RunningTurn};
use stopping::has_long_name;

/// The conversations with agents, and the turns that run in them.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// By chat.
    conversations: HashMap<ChannelUri, Conversation>,
    by_backend: HashMap<BackendId, ChannelUri>,
    /// The chats of the turns that backends have delegated.
    delegates: HashMap<(BackendId, TurnId), ChannelUri>,
    /// Chats whose agent starts when their session's customizations are known.
    held: BTreeSet<ChannelUri>,
    /// Content that agents are to be given with a message.
    awaited: HashMap<Ticket, AwaitedContent>,
    /// What is to be said in the next turn of a chat.
    unsaid: HashMap<ChannelUri, String>,
    last_backend: u64,
}

/// The turns, with what they need of the modules below.
pub(crate) struct TurnsMut<'a> {
    pub(crate) own: &'a mut Turns,
    pub(crate) core: &'a mut Core,
    pub(crate) catalogue: &'a mut Catalogue,
    pub(crate) clients: &'a mut Clients,
    pub(crate) agents: &'a mut Agents,
    pub(crate) compat: &'a mut Compat,
    pub(crate) terminals: &'a mut Terminals,
    pub(crate) servers: &'a mut Servers,
    pub(crate) customizations: &'a mut Customizations,
    pub(crate) changes: &'a mut Changes,
    pub(crate) anchoring: &'a mut Anchoring,
}

/// How a turn ends.
#[derive(Debug, Clone)]
enum Ending {
    Complete,
    Cancelled,
    Error { error: ErrorInfo, resumable: bool },
}

impl Turns {
    fn turn(&self, chat: &ChannelUri) -> Option<&RunningTurn> {
        self.conversations.get(chat)?.turn.as_ref()
    }

    fn turn_mut(&mut self, chat: &ChannelUri) -> Option<&mut RunningTurn> {
        self.conversations.get_mut(chat)?.turn.as_mut()
    }

    fn take_turn(&mut self, chat: &ChannelUri) -> Option<RunningTurn> {
        self.conversations.get_mut(chat)?.turn.take()
    }

    fn set_turn(&mut self, chat: &ChannelUri, turn: RunningTurn) {
        let conversation = self.conversations.entry(chat.clone());
        conversation.or_default().turn = Some(turn);
    }

    fn backend(&self, chat: &ChannelUri) -> Option<&Backend> {
        self.conversations.get(chat)?.backend.as_ref()
    }

    fn backend_mut(&mut self, chat: &ChannelUri) -> Option<&mut Backend> {
        self.conversations.get_mut(chat)?.backend.as_mut()
    }

    fn take_backend(&mut self, chat: &ChannelUri) -> Option<Backend> {
        self.conversations.get_mut(chat)?.backend.take()
    }

    /// The commands that a message to a chat's agent may begin with.
    pub(crate) fn commands_of(&self, chat: &ChannelUri) -> &[AgentCommandInfo] {
        let conversation = self.conversations.get(chat);
        conversation.map_or(&[], |conversation| &conversation.commands)
    }

    /// Whether the agent of a chat has work in the background, which would end
    /// with it.
    pub(crate) fn has_background_work(&self, chat: &ChannelUri) -> bool {
        let backend = self.backend(chat).map(|backend| backend.id);
        let goes_on = |child| self.turn(child).is_some_and(|turn| turn.in_background);
        let mut delegates = self.delegates.iter();
        delegates.any(|((by, _), child)| Some(*by) == backend && goes_on(child))
    }

    /// Whether a turn runs in a chat.
    pub(crate) fn runs_in(&self, chat: &ChannelUri) -> bool {
        self.turn(chat).is_some()
    }
}

impl TurnsMut<'_> {
    /// A client cancelled the turn: its state is final; the agent must stop.
    fn turn_cancelled(&mut self, uri: &ChannelUri, turn: &RunningTurn) {
        self.clear_activity(uri);
        if !turn.recounted {
            self.changes.keep_state_after(self.core, uri, &turn.id);
        }
        self.files_changed(uri);
        self.compat.turn_ended(self.core, self.clients, uri);
        self.terminals.end_runs_of(self.core, uri, &turn.id);
        self.servers.end_calls_of(self.core, uri);
        if turn.in_background {
            self.no_longer_in_background(uri);
        }
        let own = self.own.backend(uri).map(|backend| backend.id);
        let backend = turn.delegated_by.or(own);
        if let Some(backend) = backend.filter(|_| turn.prompted && !turn.by_host) {
            let turn = turn.id.clone();
            self.own.delegates.remove(&(backend, turn.clone()));
            self.end_delegates(backend, Delegates::OfTurn(uri), &Ending::Cancelled);
            self.core.tell_agent(AgentCommand::Cancel { backend, turn });
        }
    }

    fn turn_event(&mut self, uri: &ChannelUri, turn: &TurnId, event: TurnEvent) {
        let is_running = |turns: &Turns| {
            let running = turns.turn(uri);
            running.is_some_and(|running| running.is_at_work(turn))
        };
        let ending = match event {
            // Most of what is said: it looks for the turn itself.
            TurnEvent::Text(text) => return self.stream(uri, turn, PartKind::Markdown, text),
            TurnEvent::Reasoning(text) => {
                return self.stream(uri, turn, PartKind::Reasoning, text);
            }
            TurnEvent::Completed => Ending::Complete,
            TurnEvent::Cancelled => Ending::Cancelled,
            TurnEvent::Failed { failure, resumable } => Ending::Error {
                error: agent::failure(failure, self.locale_of_turn(uri)),
                resumable,
            },
            mut ongoing => {
                if !is_running(self.own) {
                    return;
                }
                if has_long_name(&mut ongoing) {
                    self.end_for_name(uri);
                } else if let Some(ongoing) = self.unless_awaited(uri, ongoing) {
                    self.turn_goes_on(uri, ongoing);
                }
                return;
            }
        };
        // A turn that a client ended has been followed already, if by anything.
        let is_over = !is_running(self.own);
        let next = match (&ending, self.core.config.queue_after_cancel) {
            (Ending::Complete, _) | (Ending::Cancelled, QueueAfterCancel::Continue) => {
                Some(Next::AfterTurn)
            }
            // The agent gave up by itself: it has yet to hear what was added.
            (Ending::Cancelled, QueueAfterCancel::Wait) => Some(Next::LeftOver),
            // What was queued was meant to follow on something that worked.
            (Ending::Error { .. }, _) => None,
        };
        let now = self.core.now;
        if let Some(backend) = self.own.backend_mut(uri)
            && backend.phase == BackendPhase::Busy(turn.clone())
        {
            backend.phase = BackendPhase::Idle;
            backend.used = now;
        }
        if !is_over {
            self.end_turn(uri, ending);
        }
        self.prompt(uri);
        if let Some(next) = next.filter(|_| !is_over) {
            self.next_pending_turn(uri, next);
        }
    }

    fn turn_goes_on(&mut self, uri: &ChannelUri, event: TurnEvent) {
        match event {
            TurnEvent::Break => self.close_part(uri),
            TurnEvent::Content { data, content_type } => {
                if let Some(part) = self.core.keep_content(uri, data, content_type) {
                    self.add_part(uri, ResponsePart::ContentRef(part));
                }
            }
            TurnEvent::Notice(notice) => {
                let said = agent::notice(notice, self.locale_of_turn(uri));
                self.add_notice(uri, said);
            }
            TurnEvent::Unknown { kinds, said } => {
                let meta = ("unknownUpdates".to_owned(), said.into());
                let about = agent::unknown(&kinds, self.locale_of_turn(uri));
                let part = SystemNotificationResponsePart {
                    content: StringOrMarkdown::Plain(about),
                    meta: Some([meta].into_iter().collect()),
                };
                self.add_part(uri, ResponsePart::SystemNotification(part));
            }
            TurnEvent::Usage(usage) => {
                if let Some(turn_id) = self.running_turn_id(uri) {
                    let meta = None;
                    let turn = self.own.turn(uri);
                    let usage = match turn {
                        Some(turn) => turn.with_wait(usage),
                        None => usage,
                    };
                    let usage = ChatUsageAction {
                        turn_id,
                        usage,
                        meta,
                    };
                    self.core.emit(uri, StateAction::ChatUsage(usage), None);
                }
            }
            TurnEvent::Activity(activity) => {
                let locale = self.locale_of_turn(uri);
                let activity = activity.map(|activity| agent::activity(activity, locale));
                self.set_activity(uri, activity);
            }
            TurnEvent::ToolStarted(start) => self.tool_started(uri, *start),
            TurnEvent::ToolInput { call, content } => self.tool_input(uri, call, content),
            TurnEvent::ToolReady(ready) => self.tool_ready(uri, *ready),
            TurnEvent::ToolContent { call, content } => self.tool_content(uri, call, content),
            TurnEvent::RunCommand(run) => self.run_command(uri, *run),
            TurnEvent::WriteFile { write } => self.decided(uri, Decision::MayWrite { write }),
            TurnEvent::ReadCommand { run } => self.read_command(uri, run),
            TurnEvent::StopCommand { run } => self.stop_command(uri, &run),
            TurnEvent::FileEdited(edited) => self.file_edited(uri, *edited),
            TurnEvent::ToolFinished {
                call,
                result,
                confirm,
            } => self.tool_finished(uri, call, *result, confirm),
            TurnEvent::ToolInterrupted { call } => self.tool_interrupted(uri, call),
            TurnEvent::Ask(request) => self.ask(uri, *request),
            TurnEvent::AskToSignIn(question) => {
                let request = agent::sign_in(*question, self.locale_of_turn(uri));
                self.ask(uri, request);
            }
            TurnEvent::AskWithdrawn { request } => self.withdraw_question(uri, request),
            TurnEvent::Steered { message } => self.steered(uri, &message),
            TurnEvent::Delegated(delegation) => self.delegate(uri, *delegation),
            TurnEvent::InBackground => self.goes_to_background(uri),
            TurnEvent::StopReason(reason) => {
                if let Some(turn) = self.own.turn_mut(uri) {
                    turn.stop_reason = Some(reason);
                }
            }
            TurnEvent::Text(_)
            | TurnEvent::Reasoning(_)
            | TurnEvent::Completed
            | TurnEvent::Cancelled
            | TurnEvent::Failed { .. } => {}
        }
    }

    fn end_turn(&mut self, uri: &ChannelUri, ending: Ending) {
        self.tell_wait(uri);
        let Some(turn) = self.own.take_turn(uri) else {
            return;
        };
        self.withdraw_all_questions(uri);
        if let Some(backend) = turn.delegated_by.or(self.backend_at_work(uri)) {
            self.own.delegates.remove(&(backend, turn.id.clone()));
            self.end_delegates(backend, Delegates::OfTurn(uri), &Ending::Cancelled);
        }
        self.terminals.end_runs_of(self.core, uri, &turn.id);
        self.servers.end_calls_of(self.core, uri);
        let (turn_id, duration) = (turn.id.to_string(), turn.duration(self.core.measured()));
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
        self.core.emit(uri, action, None);
        if turn.in_background {
            self.no_longer_in_background(uri);
        }
        self.clear_activity(uri);
        self.changes.keep_state_after(self.core, uri, &turn.id);
        self.files_changed(uri);
        self.compat.turn_ended(self.core, self.clients, uri);
    }

    /// The turn of a chat may have changed files: annotations follow their lines.
    fn files_changed(&mut self, chat: &ChannelUri) {
        if let Some(session) = self.core.channels.session_of(chat) {
            self.anchoring.files_changed(self.core, &session);
        }
    }

    /// The host ended while a turn was running, is about to, or has lost a part
    /// of the turn: the turn is over, unless a person can still do something about it.
    pub(crate) fn interrupt(&mut self, uri: &ChannelUri, why: Label<'_>) {
        let chat = self.core.channels.chat(uri);
        if chat.is_some_and(|chat| waits_for_a_person(&chat.head)) {
            return;
        }
        let Some(turn) = self.own.turn(uri) else {
            return;
        };
        let error = error_info("hostInterrupted", why.text(turn.locale));
        let resumable = true;
        self.end_turn(uri, Ending::Error { error, resumable });
        self.clear_activity(uri);
    }

    /// The host is about to end.
    pub(crate) fn shutdown(&mut self) {
        for chat in self.core.channels.chat_uris() {
            // What has not begun can begin in the next life.
            if !self.waits_for_its_session(&chat) {
                self.interrupt(&chat, Label::HostInterrupted);
            }
            self.close_backend(&chat);
        }
        self.compat.host_ends(self.core, self.clients);
    }

    /// Whether a chat has a turn that begins when its session is there.
    fn waits_for_its_session(&self, chat: &ChannelUri) -> bool {
        let known = self.core.channels.chat(chat);
        self.own.runs_in(chat)
            && known.is_some_and(|chat| self.core.channels.is_being_created(&chat.session))
    }

    /// The agent is there for a session that waited for it: what was said to
    /// it meanwhile is done.
    fn session_ready(&mut self, uri: &ChannelUri) {
        if !self.core.channels.is_being_created(uri) {
            return;
        }
        let ready = StateAction::SessionReady(SessionReadyAction {});
        self.core.emit(uri, ready, None);
        // What waits begins here. A session that is stored as being created
        // would begin it once more in the next life.
        self.core.step.durable_first = true;
        self.core.end_progress(uri);
        for chat in self.core.channels.chats_of(uri) {
            self.begin_work(&chat);
        }
    }

    /// No agent, or no place for it to work in. Returns whether the session was
    /// waiting for it.
    pub(crate) fn session_failed(&mut self, uri: &ChannelUri, error: &ErrorInfo) -> bool {
        if !self.core.channels.is_being_created(uri) {
            return false;
        }
        let action = SessionCreationFailedAction {
            error: error.clone(),
        };
        self.core
            .emit(uri, StateAction::SessionCreationFailed(action), None);
        self.core.end_progress(uri);
        for chat in self.core.channels.chats_of(uri) {
            let Some(locale) = self.own.turn(&chat).map(|turn| turn.locale) else {
                continue;
            };
            let error = ErrorInfo {
                message: Label::NotCreated(&error.message).text(locale),
                ..error.clone()
            };
            let resumable = false;
            self.end_turn(&chat, Ending::Error { error, resumable });
        }
        true
    }

    /// A chat leaves memory.
    pub(crate) fn forget_chat(&mut self, uri: &ChannelUri) {
        self.close_backend(uri);
        self.own.conversations.remove(uri);
        self.own.unsaid.remove(uri);
        let deadline = Deadline::StateBeforeTurn(uri.clone());
        self.core.deadlines.clear(&deadline);
        self.compat.forget_chat(uri);
    }

    /// The language that a turn is told of in: that of whoever began it, or
    /// that of the session.
    fn locale_of_turn(&self, uri: &ChannelUri) -> Locale {
        let of_session = || {
            let session = self.core.channels.session_of(uri);
            session.map(|session| self.core.channels.locale_of(&session))
        };
        let turn = self.own.turn(uri).map(|turn| turn.locale);
        turn.or_else(of_session).unwrap_or_default()
    }

    // What a turn changes around it

    fn mark_unread(&mut self, session: &ChannelUri) {
        let read = SessionStatus::IsRead.bits();
        if self
            .core
            .channels
            .session(session)
            .is_some_and(|session| session.state.status & read != 0)
        {
            let action = SessionIsReadChangedAction { is_read: false };
            self.core
                .emit(session, StateAction::SessionIsReadChanged(action), None);
        }
    }

    fn set_title(&mut self, session: &ChannelUri, title: String) {
        let open = self
            .core
            .channels
            .session(session)
            .is_some_and(|session| session.notes.title_is_open && session.state.title != title);
        if open {
            let action = SessionTitleChangedAction { title };
            self.core
                .emit(session, StateAction::SessionTitleChanged(action), None);
        }
    }

    fn title_from_agent(&mut self, uri: &ChannelUri, title: String) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        let title = cut(title.trim(), MAX_TITLE_BYTES).to_owned();
        match self.names_session(chat) {
            _ if title.is_empty() => {}
            // Some agents call a conversation what was said last: what it was
            // called before says more.
            _ if has_older_name(chat) && is_last_asked(chat, &title) => {}
            true => self.set_title(&chat.session.clone(), title),
            false => self.name_chat(uri, title),
        }
    }

    fn set_activity(&mut self, uri: &ChannelUri, activity: Option<String>) {
        let Some(chat) = self
            .core
            .channels
            .chat(uri)
            .filter(|chat| chat.head.activity != activity)
        else {
            return;
        };
        let session = chat.session.clone();
        self.core.touch(&session);
        let action = ChatActivityChangedAction { activity };
        self.core
            .emit(uri, StateAction::ChatActivityChanged(action), None);
    }

    fn clear_activity(&mut self, uri: &ChannelUri) {
        self.set_activity(uri, None);
    }
}

/// Whether a chat was called something before the last that was asked in it.
fn has_older_name(chat: &Chat) -> bool {
    let before = match chat.head.active_turn {
        Some(_) => 0,
        None => 1,
    };
    chat.turns.len() > before
}

/// Whether a title only says again what was asked last, whole or cut.
fn is_last_asked(chat: &Chat, title: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(asked) = chat.last_asked().map(|asked| plain(&asked)) else {
        return false;
    };
    let title = plain(title);
    let cut = title.strip_suffix('…').or(title.strip_suffix("..."));
    title == asked || cut.is_some_and(|cut| asked.starts_with(cut.trim_end()))
}
