//! Turns: a message goes to the agent, and what the agent reports becomes
//! actions, until the turn ends. Every turn ends: well, cancelled, or in an
//! error that says why.

use std::sync::Arc;

use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, AgentProfile, AgentReport, OpenBackend, Prompt, TurnEvent,
};
use innkeeper_protocol::house::actions::{
    ChatActivityChangedAction, ChatDeltaAction, ChatErrorAction, ChatReasoningAction,
    ChatResponsePartAction, ChatTurnCancelledAction, ChatTurnCompleteAction, ChatTurnStartedAction,
    ChatUsageAction, RootAgentsChangedAction, SessionChatAddedAction, SessionChatRemovedAction,
    SessionDefaultChatChangedAction, SessionIsReadChangedAction, SessionTitleChangedAction,
    StateAction,
};
use innkeeper_protocol::house::errors::ahp_error_codes;
use innkeeper_protocol::house::state::{
    ChatOrigin, ErrorInfo, ErrorResponsePart, MarkdownResponsePart, Message, ReasoningResponsePart,
    ResourceResponsePart, ResponsePart, SessionLifecycle, SessionStatus,
    SystemNotificationResponsePart,
};
use innkeeper_protocol::record::{ContentRecord, StoreOp};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::chats::{Backend, BackendPhase, Chat, OpenPart, PartKind, RunningTurn};
use crate::requests::CONTENT_SCHEME;
use crate::{Effect, Engine, history};

/// How a turn ends.
enum Ending {
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
    pub(crate) fn agent_reported(&mut self, report: AgentReport) {
        let AgentReport { backend, event } = report;
        // The last words of a backend that was closed concern nobody.
        let Some(uri) = self.backends.get(&backend).cloned() else {
            return;
        };
        match event {
            AgentEvent::Turn { turn, event } => self.turn_event(&uri, &turn, event),
            AgentEvent::Opened { resume } => self.backend_opened(&uri, resume),
            AgentEvent::OpenFailed(error) => self.backend_lost(&uri, error),
            AgentEvent::Exited { reason } => {
                let message = format!("The agent ended unexpectedly: {reason}");
                self.backend_lost(&uri, error_info("agentExited", message));
            }
            AgentEvent::Title(title) => self.title_from_agent(&uri, title),
        }
    }

    pub(crate) fn agents_changed(&mut self, agents: Vec<AgentProfile>) {
        self.agents = agents;
        let agents = self.agents.iter().map(|agent| agent.info.clone()).collect();
        let action = StateAction::RootAgentsChanged(RootAgentsChangedAction { agents });
        self.emit(&ChannelUri::root(), action, None);
    }

    // The backend of a chat

    pub(crate) fn open_backend(&mut self, uri: &ChannelUri) {
        let id = self.new_backend_id();
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        let Some(session) = self.sessions.get(&chat.session) else {
            return;
        };
        let config = session.state.config.as_ref();
        let open = OpenBackend {
            backend: id,
            provider: session.state.provider.clone(),
            session: chat.session.clone(),
            chat: uri.clone(),
            directories: session
                .state
                .working_directories
                .clone()
                .unwrap_or_default(),
            config: config
                .map(|config| config.values.clone())
                .unwrap_or_default(),
            resume: chat.notes.resume.clone(),
            transcript: chat.turns.clone(),
        };
        chat.backend = Some(Backend {
            id,
            phase: BackendPhase::Opening,
        });
        self.backends.insert(id, uri.clone());
        self.tell_agent(AgentCommand::Open(Box::new(open)));
    }

    pub(crate) fn close_backend(&mut self, uri: &ChannelUri) {
        let backend = self.chats.get_mut(uri).and_then(|chat| chat.backend.take());
        if let Some(backend) = backend {
            self.backends.remove(&backend.id);
            self.tell_agent(AgentCommand::Close {
                backend: backend.id,
            });
        }
    }

    pub(crate) fn configure_backends(&mut self, session: &ChannelUri) {
        let Some(session) = self.sessions.get(session) else {
            return;
        };
        let config = session.state.config.as_ref();
        let values = config
            .map(|config| config.values.clone())
            .unwrap_or_default();
        let open = session.chat_uris().into_iter().filter_map(|chat| {
            self.chats
                .get(&chat)
                .and_then(|chat| chat.backend.as_ref())
                .map(|backend| backend.id)
        });
        for backend in open.collect::<Vec<_>>() {
            let values = values.clone();
            self.tell_agent(AgentCommand::Configure { backend, values });
        }
    }

    /// The agent forgets what the chat has forgotten.
    pub(crate) fn truncate_backend(&mut self, uri: &ChannelUri) {
        let Some(chat) = self.chats.get(uri) else {
            return;
        };
        if let Some(backend) = chat.backend.as_ref().map(|backend| backend.id) {
            let keep = chat.turns.len();
            self.tell_agent(AgentCommand::Truncate { backend, keep });
        }
    }

    fn backend_opened(&mut self, uri: &ChannelUri, resume: Option<serde_json::Value>) {
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        match &mut chat.backend {
            Some(backend) if backend.phase == BackendPhase::Opening => {
                backend.phase = BackendPhase::Idle;
            }
            // Said twice: it may be busy by now.
            _ => return,
        }
        if chat.notes.resume != resume {
            chat.notes.resume = resume;
            chat.dirty = true;
        }
        let session = chat.session.clone();
        self.touched.insert(session.clone());
        self.session_ready(&session);
        self.pump(uri);
    }

    fn backend_lost(&mut self, uri: &ChannelUri, error: ErrorInfo) {
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        if let Some(backend) = chat.backend.take() {
            self.backends.remove(&backend.id);
        }
        let session = chat.session.clone();
        if !self.session_failed(&session, &error) {
            self.end_turn(
                uri,
                Ending::Error {
                    error,
                    resumable: true,
                },
            );
        }
    }

    /// Gives the agent the turn that waits for it, if it is free.
    fn pump(&mut self, uri: &ChannelUri) {
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        let waiting = chat.turn.as_mut().filter(|turn| !turn.prompted);
        let Some((turn, active)) = waiting.zip(chat.head.active_turn.as_ref()) else {
            return;
        };
        match &mut chat.backend {
            None => self.open_backend(uri),
            Some(Backend {
                phase: BackendPhase::Opening | BackendPhase::Busy(_),
                ..
            }) => {}
            Some(backend) => {
                backend.phase = BackendPhase::Busy(turn.id.clone());
                turn.prompted = true;
                let prompt = Prompt {
                    backend: backend.id,
                    turn: turn.id.clone(),
                    message: active.message.clone(),
                    resumed: turn.resumed,
                };
                self.tell_agent(AgentCommand::Prompt(Box::new(prompt)));
            }
        }
    }

    fn tell_agent(&mut self, command: AgentCommand) {
        self.step.effects.push(Effect::Agent(command));
    }

    // The life of a turn

    /// A turn was put into the state: everything else that makes it run.
    pub(crate) fn turn_started(&mut self, uri: &ChannelUri, started: &ChatTurnStartedAction) {
        let began = self.now;
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        chat.turn = Some(RunningTurn {
            id: Arc::from(started.turn_id.as_str()),
            began,
            earlier_millis: 0,
            resumed: false,
            prompted: false,
            open_part: None,
        });
        let is_first_of_session = chat.is_default && chat.turns.is_empty();
        let session = chat.session.clone();
        self.mark_unread(&session);
        if is_first_of_session && let Some(title) = history::title_from(&started.message.text) {
            self.set_title(&session, title);
        }
        self.pump(uri);
    }

    pub(crate) fn turn_resumed(&mut self, uri: &ChannelUri, turn_id: &str) {
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
            id: Arc::from(turn_id),
            began: now,
            earlier_millis,
            resumed: true,
            prompted: false,
            open_part: None,
        });
        let session = chat.session.clone();
        self.mark_unread(&session);
        self.pump(uri);
    }

    /// A client cancelled the turn: its state is final; the agent must stop.
    pub(crate) fn turn_cancelled(&mut self, uri: &ChannelUri, turn: &RunningTurn) {
        self.clear_activity(uri);
        let backend = self.chats.get(uri).and_then(|chat| chat.backend.as_ref());
        if let Some(backend) = backend.filter(|_| turn.prompted) {
            let command = AgentCommand::Cancel {
                backend: backend.id,
                turn: turn.id.clone(),
            };
            self.tell_agent(command);
        }
    }

    fn turn_event(&mut self, uri: &ChannelUri, turn: &Arc<str>, event: TurnEvent) {
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
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        if let Some(backend) = &mut chat.backend
            && backend.phase == BackendPhase::Busy(turn.clone())
        {
            backend.phase = BackendPhase::Idle;
        }
        if chat
            .turn
            .as_ref()
            .is_some_and(|running| running.id == *turn && running.prompted)
        {
            self.end_turn(uri, ending);
        }
        self.pump(uri);
    }

    fn turn_goes_on(&mut self, uri: &ChannelUri, event: TurnEvent) {
        match event {
            TurnEvent::Text(text) => self.stream(uri, PartKind::Markdown, text),
            TurnEvent::Reasoning(text) => self.stream(uri, PartKind::Reasoning, text),
            TurnEvent::Break => self.close_part(uri),
            TurnEvent::Content { data, content_type } => {
                self.last_content += 1;
                let nonce = &self.config.nonce;
                let content_uri = format!("{CONTENT_SCHEME}/{nonce}/{}", self.last_content);
                let part = ResourceResponsePart {
                    uri: content_uri.clone(),
                    size_hint: i64::try_from(data.len()).ok(),
                    content_type: Some(content_type.clone()),
                    nonce: None,
                };
                let session = self.chats.get(uri).map(|chat| chat.session.clone());
                let content = session.map(|session| ContentRecord {
                    uri: content_uri,
                    session,
                    content_type,
                    data,
                });
                self.step.store.ops.extend(content.map(StoreOp::PutContent));
                self.add_part(uri, ResponsePart::ContentRef(part));
            }
            TurnEvent::Notice(content) => {
                let part = SystemNotificationResponsePart {
                    content,
                    meta: None,
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
            TurnEvent::Completed | TurnEvent::Cancelled | TurnEvent::Failed { .. } => {}
        }
    }

    /// Appends streamed text to the open part, beginning one if needed.
    fn stream(&mut self, uri: &ChannelUri, kind: PartKind, content: String) {
        if content.is_empty() {
            return;
        }
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        let Some(turn) = &mut chat.turn else {
            return;
        };
        let turn_id = String::from(&*turn.id);
        let part_id = match &turn.open_part {
            Some(part) if part.kind == kind => part.id.clone(),
            _ => {
                let parts = chat
                    .head
                    .active_turn
                    .as_ref()
                    .map_or(0, |t| t.response_parts.len());
                let id = format!("p{}", parts + 1);
                turn.open_part = Some(OpenPart {
                    kind,
                    id: id.clone(),
                });
                let (id_of_part, content) = (id.clone(), String::new());
                let part = match kind {
                    PartKind::Markdown => ResponsePart::Markdown(MarkdownResponsePart {
                        id: id_of_part,
                        content,
                    }),
                    PartKind::Reasoning => ResponsePart::Reasoning(ReasoningResponsePart {
                        id: id_of_part,
                        content,
                    }),
                };
                self.emit_part(uri, turn_id.clone(), part);
                id
            }
        };
        let meta = None;
        let action = match kind {
            PartKind::Markdown => StateAction::ChatDelta(ChatDeltaAction {
                turn_id,
                part_id,
                content,
                meta,
            }),
            PartKind::Reasoning => StateAction::ChatReasoning(ChatReasoningAction {
                turn_id,
                part_id,
                content,
                meta,
            }),
        };
        self.emit(uri, action, None);
    }

    fn add_part(&mut self, uri: &ChannelUri, part: ResponsePart) {
        self.close_part(uri);
        if let Some(turn_id) = self.running_turn_id(uri) {
            self.emit_part(uri, turn_id, part);
        }
    }

    fn emit_part(&mut self, uri: &ChannelUri, turn_id: String, part: ResponsePart) {
        let meta = None;
        let action = ChatResponsePartAction {
            turn_id,
            part,
            meta,
        };
        self.emit(uri, StateAction::ChatResponsePart(action), None);
    }

    fn close_part(&mut self, uri: &ChannelUri) {
        if let Some(turn) = self.chats.get_mut(uri).and_then(|chat| chat.turn.as_mut()) {
            turn.open_part = None;
        }
    }

    fn running_turn_id(&self, uri: &ChannelUri) -> Option<String> {
        let turn = self.chats.get(uri)?.turn.as_ref()?;
        Some(turn.id.to_string())
    }

    fn end_turn(&mut self, uri: &ChannelUri, ending: Ending) {
        let Some(turn) = self.chats.get_mut(uri).and_then(|chat| chat.turn.take()) else {
            return;
        };
        let (turn_id, duration, meta) = (turn.id.to_string(), turn.duration(self.now), None);
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
    }

    /// A stored turn that was running when the host ended.
    pub(crate) fn end_interrupted_turn(&mut self, uri: &ChannelUri) {
        let message = "The host ended while this turn was running. \
                       What it had said until then is here; resume the turn to go on.";
        let error = error_info("hostInterrupted", message);
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
            self.end_interrupted_turn(chat);
            self.close_backend(chat);
        }
        self.publish_all_summaries();
        self.settle();
        self.release_reserved_numbers();
        self.step.durable_first = true;
    }

    // What a turn changes around it

    fn mark_unread(&mut self, session: &ChannelUri) {
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

    fn set_title(&mut self, session: &ChannelUri, title: String) {
        let open = self
            .sessions
            .get(session)
            .is_some_and(|session| session.notes.title_is_open && session.state.title != title);
        if open {
            let action = SessionTitleChangedAction { title };
            self.emit(session, StateAction::SessionTitleChanged(action), None);
        }
    }

    fn title_from_agent(&mut self, uri: &ChannelUri, title: String) {
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

    // Chats beside the default one

    pub(crate) fn add_chat(
        &mut self,
        session: &ChannelUri,
        uri: &ChannelUri,
        fork: Option<(ChannelUri, String)>,
    ) -> Result<(), RpcError> {
        let Some(owner) = self.sessions.get(session) else {
            return Err(RpcError::session_not_found(session.as_str()));
        };
        if owner.state.lifecycle != SessionLifecycle::Ready {
            return Err(RpcError::invalid_params("the session is not ready"));
        }
        let limit = self.config.limits.chats;
        if owner.state.chats.len() >= limit {
            return Err(RpcError::internal(format!(
                "a session has at most {limit} chats; dispose of some, or raise limits.chats"
            )));
        }
        let taken = self.exists(uri) || uri.session_of_default_chat().is_some();
        if taken || !uri.as_str().contains(':') {
            return Err(RpcError::new(
                ahp_error_codes::SESSION_ALREADY_EXISTS,
                format!("`{uri}` cannot name a new chat: it is taken, or reserved"),
            ));
        }
        let provider = owner.state.provider.as_str();
        let agent = self
            .agents
            .iter()
            .find(|agent| agent.info.provider == provider);
        let capabilities = agent.and_then(|agent| agent.info.capabilities.as_ref());
        let several = capabilities.and_then(|can| can.multiple_chats.as_ref());
        let Some(several) = several else {
            return Err(RpcError::invalid_params(
                "this agent has one chat in a session",
            ));
        };
        let (origin, turns, title) = match &fork {
            None => (ChatOrigin::User, Vec::new(), "New chat".to_owned()),
            Some(_) if several.fork != Some(true) => {
                return Err(RpcError::invalid_params("this agent cannot fork a chat"));
            }
            Some((source, turn)) => {
                let chat = self
                    .chats
                    .get(source)
                    .filter(|chat| chat.session == *session);
                let Some(chat) = chat else {
                    return Err(RpcError::invalid_params(format!(
                        "the session has no chat `{source}` to fork"
                    )));
                };
                let Some(index) = chat.position_of(turn) else {
                    return Err(RpcError::invalid_params(format!(
                        "`{source}` has no finished turn `{turn}`"
                    )));
                };
                let origin = ChatOrigin::Fork {
                    chat: source.to_string(),
                    turn_id: turn.clone(),
                };
                (
                    origin,
                    chat.turns[..=index].to_vec(),
                    format!("Fork of {}", chat.head.title),
                )
            }
        };
        let mut chat = Chat::new(uri.clone(), session.clone(), title, origin, self.now);
        chat.adopt_turns(&turns);
        chat.dirty = true;
        let summary = chat.summary();
        self.chats.insert(uri.clone(), chat);
        self.homes.insert(uri.clone(), session.clone());
        self.step.durable_first = true;
        let action = SessionChatAddedAction { summary };
        self.emit(session, StateAction::SessionChatAdded(action), None);
        Ok(())
    }

    /// The message that a new chat was created with.
    pub(crate) fn start_first_turn(&mut self, uri: &ChannelUri, message: Message) {
        let started = ChatTurnStartedAction {
            turn_id: format!("{}-{}", self.config.nonce, self.server_seq()),
            started_at: self.now.to_string(),
            message,
            queued_message_id: None,
            meta: None,
        };
        self.emit(uri, StateAction::ChatTurnStarted(started.clone()), None);
        self.turn_started(uri, &started);
    }

    pub(crate) fn dispose_chat(&mut self, uri: &ChannelUri) -> Result<(), RpcError> {
        let Some(chat) = self.chats.get(uri) else {
            return Err(RpcError::session_not_found(uri.as_str()));
        };
        if chat.is_default {
            return Err(RpcError::invalid_params(
                "a session's default chat goes with the session; use `disposeSession`",
            ));
        }
        let session = chat.session.clone();
        let leads = self
            .sessions
            .get(&session)
            .is_some_and(|session| session.state.default_chat.as_deref() == Some(uri.as_str()));
        if leads {
            // A session always has a default chat: the one that stays.
            let stays = ChannelUri::default_chat_of(session.as_str());
            let action = SessionDefaultChatChangedAction {
                default_chat: Some(stays.to_string()),
            };
            self.emit(
                &session,
                StateAction::SessionDefaultChatChanged(action),
                None,
            );
        }
        self.forget_chat(uri);
        self.step.durable_first = true;
        self.step
            .store
            .ops
            .push(StoreOp::DeleteChat { chat: uri.clone() });
        let action = SessionChatRemovedAction {
            chat: uri.to_string(),
        };
        self.emit(&session, StateAction::SessionChatRemoved(action), None);
        Ok(())
    }
}

fn error_info(error_type: &str, message: impl Into<String>) -> ErrorInfo {
    ErrorInfo {
        error_type: error_type.to_owned(),
        message: message.into(),
        stack: None,
        meta: None,
    }
}
