//! The conversation with the agent behind each chat: opening and closing it,
//! giving it turns, and hearing that it is gone.

use std::sync::Arc;

use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, AgentProfile, AgentReport, BackendId, ClientTool, Decision,
    OpenBackend, Prompt,
};
use innkeeper_protocol::house::actions::{
    RootAgentsChangedAction, SessionConfigChangedAction, SessionServerToolsChangedAction,
    StateAction,
};
use innkeeper_protocol::house::common::JsonObject;
use innkeeper_protocol::house::state::{ErrorInfo, ToolDefinition};
use innkeeper_protocol::telemetry::Outcome;
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::attachments::with_data;
use crate::chats::{Backend, BackendPhase};
use crate::labels::Label;
use crate::sessions::Session;
use crate::turns::{Ending, error_info};
use crate::{Effect, Engine};

impl Engine {
    pub(crate) fn agent_reported(&mut self, report: AgentReport) {
        let AgentReport { backend, event } = report;
        // The last words of a backend that was closed concern nobody.
        let Some(uri) = self.backends.get(&backend).cloned() else {
            return;
        };
        match event {
            AgentEvent::Turn { turn, event } => {
                // Most turns are the chat's own.
                let delegate = match self.delegates.is_empty() {
                    true => None,
                    false => self.delegates.get(&(backend, turn.clone())).cloned(),
                };
                self.turn_event(&delegate.unwrap_or(uri), &turn, event);
            }
            AgentEvent::Opened { resume } => self.backend_opened(&uri, resume),
            AgentEvent::Past(turns) => self.recount(&uri, turns),
            AgentEvent::OpenFailed(error) => self.backend_lost(&uri, error),
            AgentEvent::Exited { reason } => {
                let turn = self.chats.get(&uri).and_then(|chat| chat.turn.as_ref());
                let locale = turn.map(|turn| turn.locale).unwrap_or_default();
                let message = Label::AgentExited(&reason).text(locale);
                self.backend_lost(&uri, error_info("agentExited", message));
            }
            AgentEvent::Title(title) => self.title_from_agent(&uri, title),
            AgentEvent::Tools(tools) => self.server_tools(&uri, tools),
            AgentEvent::Commands(commands) => {
                if let Some(chat) = self.chats.get_mut(&uri) {
                    chat.commands = commands;
                }
            }
            AgentEvent::Configured(values) => self.configured_by_agent(&uri, values),
            AgentEvent::AuthRequired { resource, reason } => {
                self.token_refused(&resource, reason);
            }
        }
    }

    pub(crate) fn agents_changed(&mut self, agents: Vec<AgentProfile>) {
        self.agents = agents;
        let agents = self.agents.iter().map(|agent| agent.info.clone()).collect();
        let action = StateAction::RootAgentsChanged(RootAgentsChangedAction { agents });
        self.emit(&ChannelUri::root(), action, None);
        self.review_default_agent();
        let sessions: Vec<ChannelUri> = self.sessions.keys().cloned().collect();
        for session in sessions {
            self.reconcile_customizations(&session);
        }
    }

    /// Opens the conversation of a chat. An agent is told at once what its
    /// session is customized with: it waits for that a moment.
    pub(crate) fn open_backend(&mut self, uri: &ChannelUri) {
        if let Some(chat) = self.chats.get(uri) {
            let session = chat.session.clone();
            self.update_customizations(&session);
        }
        self.make_room_for_backend();
        let (id, now) = (self.new_backend_id(), self.now);
        let Some(chat) = self.chats.get(uri) else {
            return;
        };
        // It is opened when there is a place for it to work in.
        if self.awaits_worktree(&chat.session) {
            return;
        }
        let Some(session) = self.sessions.get(&chat.session) else {
            return;
        };
        if self.awaits_customizations(session) {
            self.held_backends.insert(uri.clone());
            return;
        }
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
            config: self.settings_of_agent(&session.state),
            resume: chat.notes.resume.clone(),
            fork_of: chat.notes.fork_of.clone(),
            transcript: [&chat.notes.context[..], &chat.turns].concat(),
            client_tools: client_tools(session),
            credentials: self.credentials_for(&session.state.provider),
            customizations: self.enabled_customizations(session),
        };
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        chat.backend = Some(Backend {
            id,
            phase: BackendPhase::Opening,
            used: now,
        });
        self.backends.insert(id, uri.clone());
        self.trace_agent(id, uri);
        self.tell_agent(AgentCommand::Open(Box::new(open)));
    }

    /// Lets the longest unused backends go if there are as many as there may
    /// be. They come back with the next turn of their chats. Those that work
    /// stay, however many they are.
    fn make_room_for_backend(&mut self) {
        let surplus = (self.backends.len() + 1).saturating_sub(self.config.limits.backends);
        if surplus == 0 {
            return;
        }
        let mut unused: Vec<(Timestamp, ChannelUri)> = Vec::new();
        for uri in self.backends.values() {
            if let Some(used) = self.unused_since(uri) {
                unused.push((used, uri.clone()));
            }
        }
        unused.sort();
        for (_, uri) in unused.into_iter().take(surplus) {
            self.close_backend(&uri);
        }
    }

    /// Since when a chat's backend has had nothing to do, if it has nothing.
    fn unused_since(&self, uri: &ChannelUri) -> Option<Timestamp> {
        let chat = self.chats.get(uri)?;
        let backend = chat.backend.as_ref()?;
        let delegates = self.delegates.keys().any(|(of, _)| *of == backend.id);
        let is_free = backend.phase == BackendPhase::Idle && chat.turn.is_none() && !delegates;
        // What still runs in a terminal of its session may be its business.
        (is_free && !self.has_running_terminal(&chat.session)).then_some(backend.used)
    }

    pub(crate) fn close_backend(&mut self, uri: &ChannelUri) {
        self.held_backends.remove(uri);
        let backend = self.chats.get_mut(uri).and_then(|chat| chat.backend.take());
        if let Some(backend) = backend {
            self.backends.remove(&backend.id);
            self.trace_agent_end(backend.id, Outcome::Ok);
            self.end_delegates(backend.id, None, &Ending::Cancelled);
            self.tell_agent(AgentCommand::Close {
                backend: backend.id,
            });
        }
    }

    pub(crate) fn configure_backends(&mut self, session: &ChannelUri) {
        let Some(state) = self.sessions.get(session).map(|session| &session.state) else {
            return;
        };
        let values = self.settings_of_agent(state);
        for backend in self.open_backends(session) {
            let values = values.clone();
            self.tell_agent(AgentCommand::Configure { backend, values });
        }
    }

    /// The agents of a session learn which tools its clients offer now.
    pub(crate) fn offer_client_tools(&mut self, session: &ChannelUri) {
        let Some(tools) = self.sessions.get(session).map(client_tools) else {
            return;
        };
        for backend in self.open_backends(session) {
            let tools = tools.clone();
            self.tell_agent(AgentCommand::OfferTools { backend, tools });
        }
    }

    pub(crate) fn open_backends(&self, session: &ChannelUri) -> Vec<BackendId> {
        let Some(session) = self.sessions.get(session) else {
            return Vec::new();
        };
        let chats = session.chat_uris().into_iter();
        chats
            .filter_map(|chat| Some(self.chats.get(&chat)?.backend.as_ref()?.id))
            .collect()
    }

    /// The agent forgets what the chat has forgotten. What it gave for finding
    /// the conversation again would bring all of it back.
    pub(crate) fn truncate_backend(&mut self, uri: &ChannelUri) {
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        chat.dirty |= chat.notes.resume.take().is_some();
        chat.dirty |= chat.notes.fork_of.take().is_some();
        if let Some(backend) = chat.backend.as_ref().map(|backend| backend.id) {
            let keep = chat.notes.context.len() + chat.turns.len();
            self.tell_agent(AgentCommand::Truncate { backend, keep });
        }
    }

    fn backend_opened(&mut self, uri: &ChannelUri, resume: Option<serde_json::Value>) {
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        if chat.notes.resume != resume {
            chat.notes.resume = resume;
            // From here on it has a conversation of its own.
            chat.notes.fork_of = None;
            chat.dirty = true;
        }
        let session = chat.session.clone();
        self.touched.insert(session.clone());
        match &mut chat.backend {
            Some(backend) if backend.phase == BackendPhase::Opening => {
                backend.phase = BackendPhase::Idle;
            }
            // Said again: it may be busy by now.
            _ => return,
        }
        self.session_ready(&session);
        self.pump(uri);
        self.next_pending_turn(uri, false);
    }

    fn backend_lost(&mut self, uri: &ChannelUri, error: ErrorInfo) {
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        let session = chat.session.clone();
        if let Some(backend) = chat.backend.take() {
            self.backends.remove(&backend.id);
            self.trace_agent_end(backend.id, Outcome::Error);
            let gone = Ending::Error {
                error: error.clone(),
                resumable: false,
            };
            self.end_delegates(backend.id, None, &gone);
        }
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
    pub(crate) fn pump(&mut self, uri: &ChannelUri) {
        let chat = self.chats.get(uri);
        let is_free = chat.is_some_and(|chat| {
            let waits = chat.turn.as_ref().is_some_and(|turn| !turn.prompted);
            let phase = chat.backend.as_ref().map(|backend| &backend.phase);
            waits && phase == Some(&BackendPhase::Idle)
        });
        if is_free && !self.has_attached_content(uri) {
            return;
        }
        let chats = match is_free {
            true => self.chats_referred_to_in(uri),
            false => Vec::new(),
        };
        let now = self.now;
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        let waiting = chat.turn.as_mut().filter(|turn| !turn.prompted);
        let Some((turn, active)) = waiting.zip(chat.head.active_turn.as_ref()) else {
            return;
        };
        let held = turn.held_until.is_some();
        match &mut chat.backend {
            None => self.open_backend(uri),
            Some(_) if held => {}
            Some(Backend {
                phase: BackendPhase::Opening | BackendPhase::Busy(_),
                ..
            }) => {}
            Some(backend) => {
                backend.phase = BackendPhase::Busy(turn.id.clone());
                backend.used = now;
                turn.prompted = true;
                let prompt = Prompt {
                    backend: backend.id,
                    turn: turn.id.clone(),
                    message: with_data(active.message.clone(), &turn.attached),
                    resumed: turn.resumed.then(|| active.response_parts.clone()),
                    chats,
                };
                turn.attached.clear();
                self.tell_agent(AgentCommand::Prompt(Box::new(prompt)));
                self.steer(uri);
            }
        }
    }

    /// Tells the agent what was decided about something that its turn waits
    /// for. An agent that has not been given the turn yet (because the host
    /// began anew meanwhile) is given it now, with the decision in it.
    pub(crate) fn decided(&mut self, uri: &ChannelUri, decision: Decision) {
        let Some(turn) = self.chats.get(uri).and_then(|chat| chat.turn.as_ref()) else {
            return;
        };
        let (prompted, turn) = (turn.prompted, turn.id.clone());
        match self.backend_at_work(uri).filter(|_| prompted) {
            Some(backend) => self.tell_agent(AgentCommand::Decide {
                backend,
                turn,
                decision: Box::new(decision),
            }),
            None => self.pump(uri),
        }
    }

    /// The backend that works on a chat's turn: its own, or the one that
    /// delegated the turn.
    pub(crate) fn backend_at_work(&self, uri: &ChannelUri) -> Option<BackendId> {
        let chat = self.chats.get(uri)?;
        let delegated = chat.turn.as_ref().and_then(|turn| turn.delegated_by);
        delegated.or(chat.backend.as_ref().map(|backend| backend.id))
    }

    /// The agent changed settings of its session: those that the session has
    /// are shown as they are now. The agent knows, so it is not told.
    fn configured_by_agent(&mut self, uri: &ChannelUri, values: JsonObject) {
        let Some(session) = self.chats.get(uri).map(|chat| chat.session.clone()) else {
            return;
        };
        let known = self.sessions.get(&session);
        let Some(config) = known.and_then(|session| session.state.config.as_ref()) else {
            return;
        };
        let news = values.into_iter().filter(|(key, value)| {
            config.schema.properties.contains_key(key) && config.values.get(key) != Some(value)
        });
        let config: JsonObject = news.collect();
        if !config.is_empty() {
            let action = SessionConfigChangedAction {
                config,
                replace: None,
            };
            self.emit(&session, StateAction::SessionConfigChanged(action), None);
        }
    }

    pub(crate) fn tell_agent(&mut self, command: AgentCommand) {
        self.step.effects.push(Effect::Agent(command));
    }

    fn server_tools(&mut self, uri: &ChannelUri, tools: Vec<ToolDefinition>) {
        let Some(session) = self.chats.get(uri).map(|chat| chat.session.clone()) else {
            return;
        };
        let known = self.sessions.get(&session);
        if known.is_some_and(|known| known.state.server_tools.as_ref() != Some(&tools)) {
            let action = SessionServerToolsChangedAction { tools };
            self.emit(
                &session,
                StateAction::SessionServerToolsChanged(action),
                None,
            );
        }
    }
}

/// The tools that a session's active clients offer.
fn client_tools(session: &Session) -> Arc<[ClientTool]> {
    let clients = session.state.active_clients.iter();
    let offered = clients.flat_map(|client| {
        client.tools.iter().map(|definition| ClientTool {
            client_id: client.client_id.clone(),
            definition: definition.clone(),
        })
    });
    offered.collect()
}
