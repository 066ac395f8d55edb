//! The conversation with the agent behind each chat: opening and closing it,
//! giving it turns, and hearing that it is gone.

use std::sync::Arc;

use innkeeper_protocol::agent::{
    AgentCommand, AgentEnd, AgentEvent, AgentReport, BackendId, ClientTool, Credential, Decision,
    OpenBackend, Prompt, ToolOwner,
};
use innkeeper_protocol::bounds::MAX_ID_BYTES;
use innkeeper_protocol::newest::actions::{SessionConfigChangedAction, StateAction};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::ErrorInfo;
use innkeeper_protocol::telemetry::SpanOutcome;
use innkeeper_protocol::{ChannelUri, ClientId, Timestamp};

use super::attachments::with_data;
use super::delegation::Delegates;
use super::host_tools;
use super::pending::Steering;
use super::running::{Backend, BackendPhase};
use super::{Ending, TurnsMut};
use crate::agents::setting_of;
use crate::annotations;
use crate::changes::awaits_worktree;
use crate::core::error_info;
use crate::labels::{Label, agent};

impl TurnsMut<'_> {
    pub(crate) fn agent_reported(&mut self, report: AgentReport) {
        let AgentReport { backend, event } = report;
        // The last words of a backend that was closed concern nobody.
        let Some(uri) = self.own.by_backend.get(&backend).cloned() else {
            return;
        };
        match event {
            AgentEvent::Turn { turn, event } => {
                // Most turns are the chat's own.
                let delegate = match self.own.delegates.is_empty() {
                    true => None,
                    false => self.own.delegates.get(&(backend, turn.clone())).cloned(),
                };
                self.turn_event(&delegate.unwrap_or(uri), &turn, event);
            }
            AgentEvent::Opened { resume } => self.backend_opened(&uri, resume),
            AgentEvent::Past(turns) => self.recount(&uri, turns),
            AgentEvent::OpenFailed(failure) => {
                let error = agent::failure(failure, self.locale_of_turn(&uri));
                self.backend_lost(&uri, error);
            }
            AgentEvent::Exited { end, idle } => self.backend_exited(&uri, end, idle),
            AgentEvent::Title(title) => self.title_from_agent(&uri, title),
            AgentEvent::Tools(mut tools) => {
                tools.retain(|tool| tool.name.len() <= MAX_ID_BYTES);
                self.agent_has_tools(&uri, tools);
            }
            AgentEvent::Commands(mut commands) => {
                commands.retain(|command| command.name.len() <= MAX_ID_BYTES);
                if let Some(conversation) = self.own.conversations.get_mut(&uri) {
                    conversation.commands = commands;
                }
            }
            AgentEvent::Model(model) => self.model_of_agent(&uri, model),
            AgentEvent::Memory { bytes } => self.backend_holds(&uri, bytes),
            AgentEvent::Configured(values) => self.configured_by_agent(&uri, values),
            AgentEvent::AuthRequired { resource, reason } => {
                self.agents.token_refused(self.core, &resource, reason);
            }
        }
    }

    /// Opens the conversation of a chat. An agent is told at once what its
    /// session is customized with: it waits for that a moment.
    pub(crate) fn open_backend(&mut self, uri: &ChannelUri) {
        self.make_room_for_backend();
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        // It is opened when there is a place for it to work in.
        if awaits_worktree(self.core, &chat.session) {
            return;
        }
        let session = chat.session.clone();
        if self.customizations.are_awaited(self.core, &session) {
            self.own.held.insert(uri.clone());
            return;
        }
        self.want_servers(&session);
        if self.servers.are_awaited(&session) {
            self.own.held.insert(uri.clone());
            return;
        }
        let tools = self.tools_offered_in(&session);
        self.list_tools(&session);
        let channels = &self.core.channels;
        let known = channels.chat(uri).zip(channels.session(&session));
        let Some((chat, session)) = known else {
            return;
        };
        self.own.last_backend += 1;
        let id = BackendId(self.own.last_backend);
        let open = OpenBackend {
            backend: id,
            provider: session.state.provider.clone(),
            session: chat.session.clone(),
            chat: uri.clone(),
            directories: channels
                .directories_of_chat(chat)
                .into_iter()
                .cloned()
                .collect(),
            config: self.agents.settings_of(&session.state),
            resume: chat.notes.resume.clone(),
            fork_of: chat.notes.fork_of.clone(),
            transcript: chat.transcript(),
            client_tools: tools,
            credentials: self.agents.credentials_for(&session.state.provider),
            customizations: self.customizations.enabled_in(self.core, session),
        };
        let backend = Backend {
            id,
            phase: BackendPhase::Opening,
            used: self.core.now,
            bytes: 0,
            is_outdated: false,
        };
        let conversation = self.own.conversations.entry(uri.clone());
        conversation.or_default().backend = Some(backend);
        self.own.by_backend.insert(id, uri.clone());
        self.core.trace_agent(id, uri);
        self.core.tell_agent(AgentCommand::Open(Box::new(open)));
    }

    /// Lets the longest unused backends go if there are as many as there may
    /// be. They come back with the next turn of their chats. Those that work
    /// stay, however many they are.
    fn make_room_for_backend(&mut self) {
        let surplus =
            (self.own.by_backend.len() + 1).saturating_sub(self.core.config.limits.backends);
        if surplus == 0 {
            return;
        }
        for uri in self.unused_backends().into_iter().take(surplus) {
            self.close_backend(&uri);
        }
    }

    /// Lets the longest unused backends go while all together hold more memory
    /// than they may. The one that was used last stays: its chat is the one that
    /// somebody is most likely to come back to.
    fn backend_holds(&mut self, uri: &ChannelUri, bytes: u64) {
        if let Some(backend) = self.own.backend_mut(uri) {
            backend.bytes = bytes;
        }
        let of = |uri: &ChannelUri| self.own.backend(uri).map_or(0, |backend| backend.bytes);
        let mut held: u64 = self.own.by_backend.values().map(of).sum();
        let mut unused = self.unused_backends();
        unused.pop();
        for uri in unused {
            if held <= self.core.config.limits.backend_bytes {
                return;
            }
            held -= self.own.backend(&uri).map_or(0, |backend| backend.bytes);
            self.close_backend(&uri);
        }
    }

    /// The chats whose backends have nothing to do, the longest unused first.
    fn unused_backends(&self) -> Vec<ChannelUri> {
        let uris = self.own.by_backend.values();
        let mut unused: Vec<_> = uris
            .filter_map(|uri| Some((self.unused_since(uri)?, uri.clone())))
            .collect();
        unused.sort();
        unused.into_iter().map(|(_, uri)| uri).collect()
    }

    /// Since when a chat's backend has had nothing to do, if it has nothing.
    fn unused_since(&self, uri: &ChannelUri) -> Option<Timestamp> {
        let chat = self.core.channels.chat(uri)?;
        let backend = self.own.backend(uri)?;
        let delegates = self.own.delegates.keys().any(|(of, _)| *of == backend.id);
        let is_idle = backend.phase == BackendPhase::Idle;
        let is_free = is_idle && !self.own.runs_in(uri) && !delegates;
        // What still runs in a terminal of its session may be its business.
        let runs = self.terminals.has_running(self.core, &chat.session);
        (is_free && !runs).then_some(backend.used)
    }

    pub(super) fn close_backend(&mut self, uri: &ChannelUri) {
        self.own.held.remove(uri);
        let backend = self.own.take_backend(uri);
        if let Some(backend) = backend {
            self.own.by_backend.remove(&backend.id);
            self.core.trace_agent_end(backend.id, SpanOutcome::Ok);
            self.end_delegates(backend.id, Delegates::All, &Ending::Cancelled);
            self.core.tell_agent(AgentCommand::Close {
                backend: backend.id,
            });
        }
    }

    /// A chat works in other directories now, or for another session. Its agent
    /// hears of that when the conversation is opened: again, as soon as nothing
    /// goes on in it.
    pub(crate) fn open_anew(&mut self, uri: &ChannelUri) {
        let runs = self.own.runs_in(uri);
        let Some(backend) = self.own.backend_mut(uri) else {
            return;
        };
        match backend.phase == BackendPhase::Idle && !runs {
            true => self.close_backend(uri),
            false => backend.is_outdated = true,
        }
    }

    fn reopen_backend(&mut self, uri: &ChannelUri) {
        self.close_backend(uri);
        self.open_backend(uri);
    }

    pub(crate) fn configure_backends(&mut self, session: &ChannelUri) {
        let Some(state) = self
            .core
            .channels
            .session(session)
            .map(|session| &session.state)
        else {
            return;
        };
        let values = self.agents.settings_of(state);
        for backend in self.open_backends(session) {
            let values = values.clone();
            self.core
                .tell_agent(AgentCommand::Configure { backend, values });
        }
    }

    /// The agents of a session learn which tools its clients and servers offer
    /// now.
    pub(crate) fn offer_client_tools(&mut self, session: &ChannelUri) {
        let tools = self.tools_offered_in(session);
        self.list_tools(session);
        for backend in self.open_backends(session) {
            let tools = tools.clone();
            self.core
                .tell_agent(AgentCommand::OfferTools { backend, tools });
        }
    }

    /// The MCP servers that are on in a session begin, if they have not.
    fn want_servers(&mut self, uri: &ChannelUri) {
        let Some(session) = self.core.channels.session(uri) else {
            return;
        };
        let mut wanted = self.customizations.servers_to_run(self.core, session);
        wanted.retain(|it| !session.notes.stopped_servers.contains(&it.id));
        self.servers.want(self.core, uri, wanted);
    }

    /// What clients, the host and its MCP servers offer to the agents of a
    /// session.
    fn tools_offered_in(&self, uri: &ChannelUri) -> Arc<[ClientTool]> {
        let Some(session) = self.core.channels.session(uri) else {
            return Arc::default();
        };
        let clients = session.state.active_clients.iter();
        let of_clients = clients.flat_map(|client| {
            client.tools.iter().map(|definition| ClientTool {
                owner: ToolOwner::Client(ClientId::from(&client.client_id)),
                definition: definition.clone(),
            })
        });
        let of_host = host_tools::tools_of(session);
        let of_servers = self.servers.tools_of(uri);
        of_clients.chain(of_host).chain(of_servers).collect()
    }

    pub(super) fn open_backends(&self, session: &ChannelUri) -> Vec<BackendId> {
        let Some(session) = self.core.channels.session(session) else {
            return Vec::new();
        };
        let chats = session.chat_uris().into_iter();
        chats
            .filter_map(|chat| Some(self.own.backend(&chat)?.id))
            .collect()
    }

    /// The agents that need a token are given it.
    pub(crate) fn give_credential(&mut self, credential: &Credential) {
        let sessions = self.core.channels.sessions();
        let needs = |provider: &str| self.agents.needs_token(provider, &credential.resource);
        let backends: Vec<BackendId> = sessions
            .filter(|session| needs(&session.state.provider))
            .flat_map(|session| self.open_backends(&session.uri))
            .collect();
        for backend in backends {
            let credential = credential.clone();
            self.core.tell_agent(AgentCommand::Authenticate {
                backend,
                credential,
            });
        }
    }

    /// Opens the backends that waited for their sessions' customizations, if
    /// they need not any more.
    pub(crate) fn open_held_backends(&mut self) {
        for chat in std::mem::take(&mut self.own.held) {
            self.open_backend(&chat);
        }
    }

    /// A chat is disposed of: its agent need not remember it, and who works for
    /// its turn works for nobody.
    pub(crate) fn forget_conversation(&mut self, chat: &ChannelUri) {
        let turn = self.own.turn(chat);
        if let Some((backend, turn)) = turn.and_then(|it| Some((it.delegated_by?, it.id.clone()))) {
            self.own.delegates.remove(&(backend, turn));
            self.end_delegates(backend, Delegates::OfChat(chat), &Ending::Cancelled);
            self.no_longer_in_background(chat);
        }
        if let Some(backend) = self.own.backend(chat).map(|backend| backend.id) {
            self.core.tell_agent(AgentCommand::Forget { backend });
        }
    }

    /// The agent forgets what the chat has forgotten. What it gave for finding
    /// the conversation again would bring all of it back.
    pub(super) fn truncate_backend(&mut self, uri: &ChannelUri) {
        let Some(chat) = self.core.channels.chat_mut(uri) else {
            return;
        };
        chat.dirty |= chat.notes.resume.take().is_some();
        chat.dirty |= chat.notes.fork_of.take().is_some();
        if let Some(backend) = self.own.backend(uri).map(|backend| backend.id) {
            let transcript = chat.transcript();
            self.core.tell_agent(AgentCommand::Truncate {
                backend,
                transcript,
            });
        }
    }

    fn backend_opened(&mut self, uri: &ChannelUri, resume: Option<serde_json::Value>) {
        let Some(chat) = self.core.channels.chat_mut(uri) else {
            return;
        };
        if chat.notes.resume != resume {
            chat.notes.resume = resume;
            // From here on it has a conversation of its own.
            chat.notes.fork_of = None;
            chat.dirty = true;
        }
        let session = chat.session.clone();
        self.core.touch(&session);
        match self.own.backend_mut(uri) {
            Some(backend) if backend.phase == BackendPhase::Opening => {
                if backend.is_outdated {
                    return self.reopen_backend(uri);
                }
                backend.phase = BackendPhase::Idle;
            }
            // Said again: it may be busy by now.
            _ => return,
        }
        self.agents.tell_settings(self.core, &session);
        self.session_ready(&session);
        self.prompt(uri);
    }

    /// An agent is gone, unasked. If it went before it had heard of the turn
    /// that was on its way to it, the turn is given to its successor: once, in
    /// case that goes as well.
    fn backend_exited(&mut self, uri: &ChannelUri, end: AgentEnd, idle: bool) {
        let turn = self.own.turn_mut(uri);
        let unheard = turn.filter(|turn| idle && turn.prompted && !turn.given_again);
        if let Some(turn) = unheard.filter(|turn| !turn.by_host && turn.delegated_by.is_none()) {
            turn.prompted = false;
            turn.given_again = true;
            // Nor has it heard what was to be added.
            turn.steering = Steering::default();
            self.drop_backend(uri, &Ending::Cancelled);
            self.prompt(uri);
            return;
        }
        let locale = self.locale_of_turn(uri);
        let message = Label::AgentExited(&agent::end(end, locale)).text(locale);
        self.backend_lost(uri, error_info("agentExited", message));
    }

    /// The backend is not there any more, and no turn that it delegated.
    fn drop_backend(&mut self, uri: &ChannelUri, delegates: &Ending) {
        if let Some(backend) = self.own.take_backend(uri) {
            self.own.by_backend.remove(&backend.id);
            self.core.trace_agent_end(backend.id, SpanOutcome::Error);
            self.end_delegates(backend.id, Delegates::All, delegates);
        }
    }

    fn backend_lost(&mut self, uri: &ChannelUri, error: ErrorInfo) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        let session = chat.session.clone();
        let gone = Ending::Error {
            error: error.clone(),
            resumable: false,
        };
        self.drop_backend(uri, &gone);
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

    /// Gives the agent the turn that waits for it, if it is free; opens the
    /// conversation if there is none.
    pub(super) fn prompt(&mut self, uri: &ChannelUri) {
        if self.own.turn(uri).is_none_or(|turn| turn.prompted) {
            return;
        }
        let backend = self.own.backend(uri);
        let is_outdated = backend.is_some_and(|backend| backend.is_outdated)
            && !self.own.has_background_work(uri);
        match backend.map(|backend| &backend.phase) {
            None => self.open_backend(uri),
            Some(BackendPhase::Opening | BackendPhase::Busy(_)) => {}
            Some(BackendPhase::Idle) if is_outdated => self.reopen_backend(uri),
            Some(BackendPhase::Idle) => {
                if self.fetch_attached_content(uri) {
                    self.give_turn(uri);
                }
            }
        }
    }

    /// Gives an agent that is free the turn that waits for it.
    fn give_turn(&mut self, uri: &ChannelUri) {
        let chats = self.chats_referred_to_in(uri);
        let chat = self.core.channels.chat(uri);
        let active = chat.and_then(|chat| chat.head.active_turn.as_ref());
        let conversation = self.own.conversations.get_mut(uri);
        let Some((active, conversation)) = active.zip(conversation) else {
            return;
        };
        let known = conversation
            .turn
            .as_mut()
            .zip(conversation.backend.as_mut());
        let Some((turn, backend)) = known else {
            return;
        };
        backend.phase = BackendPhase::Busy(turn.id.clone());
        backend.used = self.core.now;
        turn.prompted = true;
        let message = annotations::told(self.core, active.message.clone());
        let (message, left_out) = with_data(message, &turn.attached);
        let prompt = Prompt {
            backend: backend.id,
            turn: turn.id.clone(),
            message,
            resumed: turn.resumed.then(|| active.response_parts.clone()),
            chats,
        };
        turn.attached.clear();
        self.core.tell_agent(AgentCommand::Prompt(Box::new(prompt)));
        self.say_left_out(uri, left_out);
        self.steer(uri);
    }

    /// Tells the agent what was decided about something that its turn waits
    /// for. An agent that has not been given the turn yet (because the host
    /// began anew meanwhile) is given it now, with the decision in it.
    pub(super) fn decided(&mut self, uri: &ChannelUri, decision: Decision) {
        let Some(decision) = self.decision_unless_awaited(uri, decision) else {
            return;
        };
        let Some(turn) = self.own.turn(uri) else {
            return;
        };
        let (prompted, turn) = (turn.prompted, turn.id.clone());
        match self.backend_at_work(uri).filter(|_| prompted) {
            Some(backend) => self.core.tell_agent(AgentCommand::Decide {
                backend,
                turn,
                decision: Box::new(decision),
            }),
            None => self.prompt(uri),
        }
    }

    /// The backend that works on a chat's turn: its own, or the one that
    /// delegated the turn.
    pub(super) fn backend_at_work(&self, uri: &ChannelUri) -> Option<BackendId> {
        let conversation = self.own.conversations.get(uri)?;
        let delegated = conversation
            .turn
            .as_ref()
            .and_then(|turn| turn.delegated_by);
        delegated.or(conversation.backend.as_ref().map(|backend| backend.id))
    }

    /// The agent changed settings of its session: those that the session has
    /// are shown as they are now. The agent knows, so it is not told.
    fn configured_by_agent(&mut self, uri: &ChannelUri, values: JsonObject) {
        let Some(session) = self.core.channels.session_of(uri) else {
            return;
        };
        let known = self.core.channels.session(&session);
        let Some((state, config)) =
            known.and_then(|session| Some((&session.state, session.state.config.as_ref()?)))
        else {
            return;
        };
        let news = values.into_iter().filter(|(key, value)| {
            setting_of(state, key).is_some() && config.values.get(key) != Some(value)
        });
        let config: JsonObject = news.collect();
        if !config.is_empty() {
            let action = SessionConfigChangedAction {
                config,
                replace: None,
            };
            self.core
                .emit(&session, StateAction::SessionConfigChanged(action), None);
        }
    }
}
