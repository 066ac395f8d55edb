//! Creating a session, or a copy of one.

use innkeeper_protocol::command::{CreateSession, SessionFork};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::errors::ahp_error_codes;
use innkeeper_protocol::newest::notifications::SessionAddedParams;
use innkeeper_protocol::newest::state::{
    ChatOrigin, ProjectInfo, SessionActiveClient, SessionLifecycle, SessionOrigin, SessionState,
    SessionStatus,
};
use innkeeper_protocol::record::{Inheritance, SessionNotes, StoreOp, SummaryFacts};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::Value;

use super::attempts::attempt_of;
use super::dispatch::check_tools;
use super::further_chats::turns_up_to;
use super::unwritten::look_at_later;
use super::{SessionsMut, summary, sweep_if_crowded};
use crate::agents::{check_model, resolve_settings, schema_of_sessions};
use crate::compat;
use crate::core::changeset_uri::percent_decoded;
use crate::core::channels::{Annotations, Chat, Session, WORKSPACELESS};
use crate::core::{check_progress_token, is_of_host};
use crate::effect::ConnectionId;
use crate::labels::{Label, Locale};

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

/// Who wants a new session.
#[derive(Debug)]
pub(crate) enum Creator {
    Client(ConnectionId),
    /// A run of an automation, which says what it is called.
    Run {
        origin: SessionOrigin,
        title: String,
    },
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

impl SessionsMut<'_> {
    pub(crate) fn create(
        &mut self,
        connection: ConnectionId,
        new: CreateSession,
    ) -> Result<(), RpcError> {
        self.create_for(Creator::Client(connection), new)
    }

    pub(crate) fn create_for(
        &mut self,
        creator: Creator,
        new: CreateSession,
    ) -> Result<(), RpcError> {
        let CreateSession {
            params,
            fork,
            model,
            agent: custom_agent,
        } = new;
        let locale = match creator {
            Creator::Client(connection) => self.turns.clients.locale_of(connection),
            Creator::Run { .. } => Locale::default(),
        };
        let uri = ChannelUri::from(params.channel);
        self.check_new_session_uri(&uri)?;
        check_progress_token(params.progress_token.as_deref())?;
        let original = fork.map(|fork| self.original(fork)).transpose()?;
        let original = original.as_ref();
        let provider = params
            .provider
            .or_else(|| original.map(|original| original.provider.clone()));
        let (core, agents) = (&*self.turns.core, &*self.turns.agents);
        let agent = agents.wanted(core, provider.as_deref())?;
        let chosen = params
            .config
            .or_else(|| original.map(|original| original.config.clone()));
        let config = resolve_settings(
            schema_of_sessions(core, agent, locale).as_ref(),
            &agent.synonyms,
            &chosen.unwrap_or_default(),
        )
        .map_err(RpcError::invalid_params)?;
        check_model(agent, model.as_ref()).map_err(RpcError::invalid_params)?;
        let (provider, agent_name) = (agent.info.provider.clone(), agent.info.display_name.clone());
        let customizations = agent.info.customizations.clone();
        agents.check_authenticated(&provider)?;
        let several_directories = agent
            .info
            .capabilities
            .as_ref()
            .is_some_and(|can| can.multiple_working_directories.is_some());
        let directories = params
            .working_directories
            .or_else(|| original.map(|original| original.directories.clone()))
            .unwrap_or_default();
        let directories = self.check_directories_of_session(directories, several_directories)?;
        let attempt = attempt_of(params.meta.as_ref(), directories.first())
            .map_err(RpcError::invalid_params)?;
        let active_clients = match creator {
            Creator::Client(connection) => {
                self.initial_active_client(connection, params.active_client)?
            }
            Creator::Run { .. } => Vec::new(),
        };
        let starting = Label::Starting(&agent_name).text(locale);
        let asked_by = match creator {
            Creator::Client(connection) => params.progress_token.map(|it| (connection, it)),
            Creator::Run { .. } => None,
        };

        let (origin, given_title) = match creator {
            Creator::Client(_) => (None, None),
            Creator::Run { origin, title } => (Some(origin), Some(title)),
        };
        let title_is_open = original.is_none() && given_title.is_none();
        let title = match (given_title, original) {
            (Some(title), _) => title,
            (None, Some(original)) => Label::ForkOf(&original.title).text(locale),
            (None, None) => Label::NewSession.text(locale),
        };
        let mut chat = first_chat(&uri, &title, original, &provider, self.turns.core.now);
        chat.select(model, custom_agent);
        let nowhere = directories.is_empty().then(|| workspaceless(true));
        let meta: JsonObject = attempt.into_iter().chain(nowhere).flatten().collect();
        let state = SessionState {
            provider,
            title,
            status: (SessionStatus::Idle | SessionStatus::IsRead).bits(),
            activity: None,
            origin,
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
            default_chat: Some(chat.uri.to_string()),
            config,
            customizations,
            changesets: None,
            input_needed: None,
            meta: Some(meta).filter(|meta| !meta.is_empty()),
        };
        let session = Session {
            published: summary::first(&uri, &state, self.turns.core.now),
            uri: uri.clone(),
            state,
            notes: SessionNotes {
                title_is_open,
                language: Some(locale.tag().to_owned()),
                inherits: original
                    .filter(|_| self.turns.core.config.workspace.changes)
                    .map(Original::inheritance)
                    .into_iter()
                    .collect(),
                ..SessionNotes::default()
            },
            facts: SummaryFacts {
                selection: chat.notes.selection.clone(),
                ..SummaryFacts::default()
            },
            changes: None,
            diffs: Vec::new(),
            annotations: None,
            last_used: self.turns.core.now,
            dirty: true,
        };
        if let Some(original) = original {
            let from = original.session.clone();
            self.core().inputs.share(&from, &uri);
            self.core().store(StoreOp::ShareContent { from, with: uri });
        }
        if let Some(asked_by) = asked_by {
            let session = session.uri.clone();
            self.core().begin_progress(&session, asked_by, starting);
        }
        self.add(session, chat);
        Ok(())
    }

    /// Adds a session with its default chat, tells everybody, and gets it going.
    fn add(&mut self, session: Session, chat: Chat) {
        let (uri, summary) = (session.uri.clone(), session.published.clone());
        let facts = session.facts.clone();
        let core = self.core();
        core.channels.insert_chat(chat);
        core.channels.insert_session(session);
        core.channels
            .insert_annotations(Annotations::new(&uri, Vec::new()));
        sweep_if_crowded(core);
        core.step.durable_first = true;
        core.touch(&uri);
        let seq = core.server_seq();
        self.turns.catalogue.set_live(&uri, (&summary, &facts), seq);
        let added = SessionAddedParams {
            channel: ChannelUri::root().to_string(),
            summary,
        };
        compat::announce_session(self.turns.core, self.turns.clients, added, facts);
        self.count(&uri);
        let core = self.core();
        look_at_later(core, uri.clone(), core.now);
        self.begin(&uri);
    }

    /// What a session that copies another one begins with.
    fn original(&self, fork: SessionFork) -> Result<Original, RpcError> {
        let core = &*self.turns.core;
        let Some(session) = core.channels.session(&fork.session) else {
            return Err(RpcError::session_not_found(fork.session.as_str()));
        };
        let chat = ChannelUri::default_chat_of(fork.session.as_str());
        let state = &session.state;
        let config = state.config.as_ref();
        let source = core.channels.chat(&chat);
        let notes = source.map(|chat| &chat.notes);
        Ok(Original {
            session: fork.session,
            provider: state.provider.clone(),
            title: state.title.clone(),
            config: config
                .map(|config| config.values.clone())
                .unwrap_or_default(),
            directories: state.working_directories.clone().unwrap_or_default(),
            turns: turns_up_to(core, &chat, &fork.turn_id)?,
            context: notes.map(|notes| notes.context.clone()).unwrap_or_default(),
            fork_of: source.and_then(|chat| chat.resume_up_to(&fork.turn_id)),
        })
    }

    pub(super) fn check_new_session_uri(&self, uri: &ChannelUri) -> Result<(), RpcError> {
        let scheme = uri.as_str().split_once(':').map(|(scheme, _)| scheme);
        let is_uri = scheme.is_some_and(|scheme| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        });
        // That of a default chat is kept for the session whose chat it is.
        let reserved = is_of_host(uri) || uri.session_of_default_chat().is_some();
        if !is_uri || reserved {
            return Err(RpcError::invalid_params(format!(
                "`{uri}` cannot name a session; use a URI such as `ahp-session:/<uuid>`"
            )));
        }
        let (core, catalogue) = (&*self.turns.core, &*self.turns.catalogue);
        if catalogue.contains(uri) || catalogue.session_of_chat(core, uri).is_some() {
            return Err(RpcError::new(
                ahp_error_codes::SESSION_ALREADY_EXISTS,
                format!("there is a session `{uri}` already"),
            ));
        }
        let limit = core.config.limits.sessions;
        if catalogue.len() >= limit {
            return Err(RpcError::internal(format!(
                "this host keeps at most {limit} sessions; dispose of some, or raise \
                 limits.sessions"
            )));
        }
        Ok(())
    }

    fn initial_active_client(
        &self,
        connection: ConnectionId,
        client: Option<SessionActiveClient>,
    ) -> Result<Vec<SessionActiveClient>, RpcError> {
        let Some(client) = client else {
            return Ok(Vec::new());
        };
        if !self.turns.clients.is_client(connection, &client.client_id) {
            return Err(RpcError::invalid_params(
                "`activeClient.clientId` must be the client id given in `initialize`",
            ));
        }
        check_tools(&client).map_err(RpcError::invalid_params)?;
        Ok(vec![self.turns.clients.named(connection, client)])
    }
}

/// The chat that a session begins with: empty, or with the turns of the
/// original's.
fn first_chat(
    session: &ChannelUri,
    title: &str,
    original: Option<&Original>,
    provider: &str,
    now: Timestamp,
) -> Chat {
    let uri = ChannelUri::default_chat_of(session.as_str());
    let mut chat = Chat::new(
        uri,
        session.clone(),
        title.to_owned(),
        ChatOrigin::User,
        now,
    );
    chat.dirty = true;
    if let Some(original) = original {
        chat.adopt_turns(&original.turns);
        chat.notes.context.clone_from(&original.context);
        let same_agent = provider == original.provider;
        chat.notes.fork_of = original.fork_of.clone().filter(|_| same_agent);
    }
    chat
}

pub(super) fn project_of(directory: &str) -> Option<ProjectInfo> {
    let path = directory
        .split_once("://")
        .map_or(directory, |(_, path)| path);
    let name = path.trim_end_matches('/').rsplit('/').next()?;
    (!name.is_empty()).then(|| ProjectInfo {
        uri: directory.to_owned(),
        display_name: percent_decoded(name),
    })
}

/// `_meta` of a session says that it works in no directory, or no longer.
pub(super) fn workspaceless(it_is: bool) -> JsonObject {
    JsonObject::from_iter([(WORKSPACELESS.to_owned(), it_is.into())])
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
