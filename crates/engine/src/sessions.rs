//! A session in memory, and its life: creation, readiness, disposal.

use innkeeper_protocol::agent::{AgentProfile, BackendId};
use innkeeper_protocol::command::{CreateSession, SessionFork};
use innkeeper_protocol::house::actions::{
    RootActiveSessionsChangedAction, SessionCreationFailedAction, SessionReadyAction, StateAction,
};
use innkeeper_protocol::house::common::JsonObject;
use innkeeper_protocol::house::errors::ahp_error_codes;
use innkeeper_protocol::house::notifications::{SessionAddedParams, SessionRemovedParams};
use innkeeper_protocol::house::state::{
    ChangesSummary, ChatOrigin, ErrorInfo, ProjectInfo, SessionActiveClient, SessionConfigSchema,
    SessionConfigState, SessionLifecycle, SessionState, SessionStatus, SessionSummary,
};
use innkeeper_protocol::outgoing::Notification;
use innkeeper_protocol::record::{Inheritance, SessionNotes, SessionRecord, StoreOp};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::settings::Synonym;
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::Value;

use crate::chats::Chat;
use crate::config::{self, DEFAULT_AGENT};
use crate::customizations::Source;
use crate::labels::Label;
use crate::turns::Ending;
use crate::{ConnectionId, Effect, Engine};

/// The session that another one is a copy of.
struct Original {
    session: ChannelUri,
    provider: String,
    title: String,
    config: JsonObject,
    directories: Vec<String>,
    turns: Vec<StoredTurn>,
    context: Vec<StoredTurn>,
    /// What the agent can copy its own conversation from.
    fork_of: Option<Value>,
}

impl Original {
    fn inheritance(&self) -> Inheritance {
        Inheritance {
            session: self.session.clone(),
            directories: self.directories.clone(),
            turns: self.turns.iter().map(|turn| turn.id.to_string()).collect(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) uri: ChannelUri,
    pub(crate) state: SessionState,
    pub(crate) notes: SessionNotes,
    /// Where its customizations come from.
    pub(crate) sources: Vec<Source>,
    /// The summary as clients of the root channel know it.
    pub(crate) published: SessionSummary,
    /// How much has changed in its directory since it began.
    pub(crate) changes: Option<ChangesSummary>,
    /// When a held back change of the summary is to be published.
    pub(crate) summary_due: Option<Timestamp>,
    pub(crate) last_used: Timestamp,
    /// The row in the store is older than the state.
    pub(crate) dirty: bool,
}

impl Session {
    /// The chats of the session, in the order of its catalogue.
    pub(crate) fn chat_uris(&self) -> Vec<ChannelUri> {
        self.state
            .chats
            .iter()
            .map(|chat| ChannelUri::from(chat.resource.as_str()))
            .collect()
    }

    pub(crate) fn record(&self) -> SessionRecord {
        SessionRecord {
            uri: self.uri.clone(),
            summary: self.published.clone(),
            state: self.state.clone(),
            notes: self.notes.clone(),
        }
    }
}

impl Engine {
    pub(crate) fn create_session(
        &mut self,
        connection: ConnectionId,
        new: CreateSession,
    ) -> Result<(), RpcError> {
        let CreateSession {
            params,
            fork,
            model,
            agent: custom_agent,
        } = new;
        let locale = self.locale_of(connection);
        let uri = ChannelUri::from(params.channel);
        self.check_new_session_uri(&uri)?;
        let original = fork.map(|fork| self.original(fork)).transpose()?;
        let original = original.as_ref();
        let provider = params
            .provider
            .or_else(|| original.map(|original| original.provider.clone()));
        let agent = self.agent_for(provider.as_deref())?;
        let chosen = params
            .config
            .or_else(|| original.map(|original| original.config.clone()));
        let config = resolve_config(
            self.session_schema(agent, locale).as_ref(),
            &agent.synonyms,
            &chosen.unwrap_or_default(),
        )
        .map_err(RpcError::invalid_params)?;
        let provider = agent.info.provider.clone();
        let customizations = agent.info.customizations.clone();
        self.check_authenticated(&provider)?;
        let several_directories = agent
            .info
            .capabilities
            .as_ref()
            .is_some_and(|can| can.multiple_working_directories.is_some());
        let mut directories = params
            .working_directories
            .or_else(|| original.map(|original| original.directories.clone()))
            .unwrap_or_default();
        if !several_directories {
            directories.truncate(1);
        }
        let active_clients = self.initial_active_client(connection, params.active_client)?;

        let title = match original {
            Some(original) => Label::ForkOf(&original.title).text(locale),
            None => Label::NewSession.text(locale),
        };
        let chat_uri = ChannelUri::default_chat_of(uri.as_str());
        let mut chat = Chat::new(
            chat_uri.clone(),
            uri.clone(),
            title.clone(),
            ChatOrigin::User,
            self.now,
        );
        chat.dirty = true;
        chat.select(model, custom_agent);
        if let Some(original) = original {
            chat.adopt_turns(&original.turns);
            chat.notes.context.clone_from(&original.context);
            let same_agent = provider == original.provider;
            chat.notes.fork_of = original.fork_of.clone().filter(|_| same_agent);
        }
        let state = SessionState {
            provider,
            title,
            status: (SessionStatus::Idle | SessionStatus::IsRead).bits(),
            activity: None,
            origin: None,
            project: directories
                .first()
                .and_then(|directory| project_of(directory)),
            working_directories: (!directories.is_empty()).then_some(directories),
            annotations: None,
            lifecycle: SessionLifecycle::Creating,
            creation_error: None,
            server_tools: None,
            active_clients,
            chats: vec![chat.summary()],
            default_chat: Some(chat_uri.to_string()),
            config,
            customizations,
            changesets: None,
            input_needed: None,
            meta: None,
        };
        let session = Session {
            published: self.first_summary(&uri, &state),
            uri: uri.clone(),
            state,
            notes: SessionNotes {
                title_is_open: original.is_none(),
                language: Some(locale.tag().to_owned()),
                inherits: original
                    .filter(|_| self.config.workspace.changes)
                    .map(Original::inheritance),
                ..SessionNotes::default()
            },
            sources: Vec::new(),
            changes: None,
            summary_due: None,
            last_used: self.now,
            dirty: true,
        };
        if let Some(original) = original {
            self.step.store.ops.push(StoreOp::ShareContent {
                from: original.session.clone(),
                with: uri.clone(),
            });
        }
        let summary = session.published.clone();
        self.chats.insert(chat_uri.clone(), chat);
        self.sessions.insert(uri.clone(), session);
        let seq = self.server_seq();
        self.catalogue.set_live(&uri, &summary, seq);
        self.step.durable_first = true;
        self.touched.insert(uri.clone());
        self.notify_root(Notification::SessionAdded(SessionAddedParams {
            channel: ChannelUri::root().to_string(),
            summary,
        }));
        self.count_sessions(&uri);
        self.unwritten.add(uri.clone(), self.now);
        self.begin_session(&uri);
        Ok(())
    }

    /// What a session that copies another one begins with.
    fn original(&self, fork: SessionFork) -> Result<Original, RpcError> {
        let Some(session) = self.sessions.get(&fork.session) else {
            return Err(RpcError::session_not_found(fork.session.as_str()));
        };
        let chat = ChannelUri::default_chat_of(fork.session.as_str());
        let state = &session.state;
        let config = state.config.as_ref();
        let source = self.chats.get(&chat);
        let notes = source.map(|chat| &chat.notes);
        Ok(Original {
            session: fork.session,
            provider: state.provider.clone(),
            title: state.title.clone(),
            config: config
                .map(|config| config.values.clone())
                .unwrap_or_default(),
            directories: state.working_directories.clone().unwrap_or_default(),
            turns: self.turns_up_to(&chat, &fork.turn_id)?,
            context: notes.map(|notes| notes.context.clone()).unwrap_or_default(),
            fork_of: source.and_then(|chat| chat.resume_up_to(&fork.turn_id)),
        })
    }

    fn check_new_session_uri(&self, uri: &ChannelUri) -> Result<(), RpcError> {
        let scheme = uri.as_str().split_once(':').map(|(scheme, _)| scheme);
        let is_uri = scheme.is_some_and(|scheme| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        });
        // That of a default chat is kept for the session whose chat it is.
        let reserved = *uri == ChannelUri::root() || uri.session_of_default_chat().is_some();
        if !is_uri || reserved {
            return Err(RpcError::invalid_params(format!(
                "`{uri}` cannot name a session; use a URI such as `ahp-session:/<uuid>`"
            )));
        }
        if self.catalogue.contains(uri) || self.session_of_chat(uri).is_some() {
            return Err(RpcError::new(
                ahp_error_codes::SESSION_ALREADY_EXISTS,
                format!("there is a session `{uri}` already"),
            ));
        }
        if self.catalogue.len() >= self.config.limits.sessions {
            return Err(RpcError::internal(format!(
                "this host keeps at most {} sessions; dispose of some, or raise limits.sessions",
                self.config.limits.sessions
            )));
        }
        Ok(())
    }

    pub(crate) fn agent_for(&self, provider: Option<&str>) -> Result<&AgentProfile, RpcError> {
        let configured = self
            .root
            .config
            .as_ref()
            .and_then(|config| config.values.get(DEFAULT_AGENT))
            .and_then(Value::as_str);
        let wanted = provider.or(configured);
        let found = match wanted {
            Some(wanted) => self
                .agents
                .iter()
                .find(|agent| agent.info.provider == wanted),
            None => self.agents.first(),
        };
        found.ok_or_else(|| {
            let known: Vec<&str> = self
                .agents
                .iter()
                .map(|agent| agent.info.provider.as_str())
                .collect();
            RpcError::new(
                ahp_error_codes::PROVIDER_NOT_FOUND,
                format!(
                    "there is no agent `{}` here; this host has: {}",
                    wanted.unwrap_or("(default)"),
                    known.join(", ")
                ),
            )
        })
    }

    pub(crate) fn agent_of(&self, session: &Session) -> Option<&AgentProfile> {
        let provider = &session.state.provider;
        let mut agents = self.agents.iter();
        agents.find(|agent| agent.info.provider == *provider)
    }

    fn initial_active_client(
        &self,
        connection: ConnectionId,
        client: Option<SessionActiveClient>,
    ) -> Result<Vec<SessionActiveClient>, RpcError> {
        let Some(client) = client else {
            return Ok(Vec::new());
        };
        if self.client_of(connection) != Some(client.client_id.as_str()) {
            return Err(RpcError::invalid_params(
                "`activeClient.clientId` must be the client id given in `initialize`",
            ));
        }
        Ok(vec![client])
    }

    pub(crate) fn is_being_created(&self, uri: &ChannelUri) -> bool {
        let session = self.sessions.get(uri);
        session.is_some_and(|it| it.state.lifecycle == SessionLifecycle::Creating)
    }

    /// Whether a chat has a turn that begins when its session is there.
    pub(crate) fn waits_for_its_session(&self, chat: &ChannelUri) -> bool {
        let chat = self.chats.get(chat).filter(|chat| chat.turn.is_some());
        chat.is_some_and(|chat| self.is_being_created(&chat.session))
    }

    /// The agent is there for a session that waited for it: what was said to
    /// it meanwhile is done.
    pub(crate) fn session_ready(&mut self, uri: &ChannelUri) {
        if !self.is_being_created(uri) {
            return;
        }
        self.emit(uri, StateAction::SessionReady(SessionReadyAction {}), None);
        for chat in self.chats_of(uri) {
            self.begin_work(&chat);
        }
    }

    /// The agent did not start. Returns whether the session was waiting for it.
    pub(crate) fn session_failed(&mut self, uri: &ChannelUri, error: &ErrorInfo) -> bool {
        if !self.is_being_created(uri) {
            return false;
        }
        let action = SessionCreationFailedAction {
            error: error.clone(),
        };
        self.emit(uri, StateAction::SessionCreationFailed(action), None);
        for chat in self.chats_of(uri) {
            let turn = self.chats.get(&chat).and_then(|chat| chat.turn.as_ref());
            let Some(locale) = turn.map(|turn| turn.locale) else {
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

    /// The chats of a session in memory.
    pub(crate) fn chats_of(&self, uri: &ChannelUri) -> Vec<ChannelUri> {
        let session = self.sessions.get(uri);
        session.map(Session::chat_uris).unwrap_or_default()
    }

    pub(crate) fn dispose_session(&mut self, uri: &ChannelUri) -> Result<(), RpcError> {
        if !self.catalogue.remove(uri) {
            return Err(RpcError::session_not_found(uri.as_str()));
        }
        self.clear_desk(uri);
        if let Some(session) = self.sessions.remove(uri) {
            self.leave_customizations(&session);
        }
        // Its chats may have subscribers although it is not in memory.
        let homes = self.homes.iter().filter(|(_, home)| *home == uri);
        let mut chats: Vec<ChannelUri> = homes.map(|(chat, _)| chat.clone()).collect();
        chats.push(ChannelUri::default_chat_of(uri.as_str()));
        for chat in chats {
            if self.homes.contains_key(&chat) {
                self.announce_end_of_chat(&chat);
            }
            self.forget_chat(&chat);
        }
        self.dispose_terminals_of(uri);
        self.subscriptions.remove_channel(uri);
        self.step.durable_first = true;
        self.step.store.ops.push(StoreOp::DisposeSession {
            session: uri.clone(),
            at: self.now,
        });
        self.notify_root(Notification::SessionRemoved(SessionRemovedParams {
            channel: ChannelUri::root().to_string(),
            session: uri.to_string(),
        }));
        self.count_sessions(uri);
        Ok(())
    }

    /// Takes a chat out of memory, with its backend and its subscribers.
    pub(crate) fn forget_chat(&mut self, uri: &ChannelUri) {
        self.close_backend(uri);
        self.chats.remove(uri);
        self.homes.remove(uri);
        self.subscriptions.remove_channel(uri);
        for connection in self.connections.values_mut() {
            connection.windows.remove(uri);
        }
    }

    /// Says how many sessions there are, now that one has come or gone.
    fn count_sessions(&mut self, changed: &ChannelUri) {
        let active_sessions = i64::try_from(self.catalogue.len()).unwrap_or(i64::MAX);
        let action = RootActiveSessionsChangedAction { active_sessions };
        let action = StateAction::RootActiveSessionsChanged(action);
        self.emit_about(Some(changed.clone()), &ChannelUri::root(), action, None);
    }

    pub(crate) fn new_backend_id(&mut self) -> BackendId {
        self.last_backend += 1;
        BackendId(self.last_backend)
    }

    pub(crate) fn notify_root(&mut self, notification: Notification) {
        if let Some(to) = self.subscriptions.of_channel(&ChannelUri::root()) {
            let message =
                innkeeper_protocol::outgoing::HostMessage::Notification(Box::new(notification));
            self.step.effects.push(Effect::Publish { to, message });
        }
    }
}

/// The values that a new session has, given what the client chose. Clients
/// send what they know of any host: what this agent has no setting for is left
/// out, and what does not fit is the default.
pub(crate) fn resolve_config(
    schema: Option<&SessionConfigSchema>,
    synonyms: &[Synonym],
    chosen: &JsonObject,
) -> Result<Option<SessionConfigState>, String> {
    let Some(schema) = schema else {
        return Ok(None);
    };
    let mut values = JsonObject::new();
    for (key, property) in &schema.properties {
        let chosen = chosen.get(key);
        let chosen = chosen.and_then(|it| config::fitting_value(key, property, synonyms, it).ok());
        if let Some(value) = chosen.or_else(|| property.default.clone()) {
            values.insert(key.clone(), value);
        }
    }
    if let Some(missing) = schema
        .required
        .iter()
        .flatten()
        .find(|key| !values.contains_key(*key))
    {
        return Err(format!("the session setting `{missing}` is required"));
    }
    Ok(Some(SessionConfigState {
        schema: schema.clone(),
        values,
    }))
}

fn project_of(directory: &str) -> Option<ProjectInfo> {
    let path = directory
        .split_once("://")
        .map_or(directory, |(_, path)| path);
    let name = path.trim_end_matches('/').rsplit('/').next()?;
    (!name.is_empty()).then(|| ProjectInfo {
        uri: directory.to_owned(),
        display_name: percent_decoded(name),
    })
}

/// Reads `%20` and its like in a segment of a URI.
pub(crate) fn percent_decoded(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%').then(|| tail.get(..2)).flatten();
        let decoded = escaped
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match decoded {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| segment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_named_after_its_directory() {
        let name = |uri| project_of(uri).map(|project| project.display_name);
        assert_eq!(name("file:///srv/my%20app/").as_deref(), Some("my app"));
        assert_eq!(name("file:///a/100%"), Some("100%".to_owned()));
        assert_eq!(name("file:///"), None);
    }
}
