//! Messages from clients: who may ask what when, and the answers.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::ConfigQuery;
use innkeeper_protocol::command::{ClientMessage, Command, WorkspaceCommand};
use innkeeper_protocol::house::commands::{
    ContentEncoding, ListSessionsParams, ResolveSessionConfigParams, ResolveSessionConfigResult,
    ResourceReadParams, ResourceReadResult, SessionConfigCompletionsParams,
    SessionConfigCompletionsResult, SessionConfigValueItem, SubscribeParams,
};
use innkeeper_protocol::house::common::JsonObject;
use innkeeper_protocol::house::errors::json_rpc_error_codes::{INVALID_REQUEST, PARSE_ERROR};
use innkeeper_protocol::house::state::SessionConfigSchema;
use innkeeper_protocol::outgoing::{HostMessage, Reply, SubscribeReply};
use innkeeper_protocol::record::ContentRecord;
use innkeeper_protocol::resource_call::ResourceCall;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::snapshot::{Snapshot, SnapshotState};
use innkeeper_protocol::telemetry::is_telemetry_channel;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::FoundFile;
use innkeeper_protocol::workspace::changes::parse_blob_uri;
use innkeeper_protocol::workspace::resource::ResourceTask;

use crate::attachments::chats_referred_to;
use crate::completions::{self, TypedAt};
use crate::isolation::BRANCH;
use crate::terminals::TERMINAL_SCHEME;
use crate::{ConnectionId, Effect, Engine, Subscriber, Ticket, sessions};

/// The scheme of content that left the state and is kept by the host.
pub(crate) const CONTENT_SCHEME: &str = "innkeeper-content:";

/// A client that waits for something from outside the engine.
#[derive(Debug)]
pub(crate) struct WaitingRequest {
    pub(crate) connection: ConnectionId,
    pub(crate) id: RequestId,
    pub(crate) need: Need,
}

#[derive(Debug)]
pub(crate) enum Need {
    Content {
        uri: String,
        encoding: Option<ContentEncoding>,
    },
    Files(TypedAt),
    ConfigValues,
    Resource {
        channel: ChannelUri,
        encoding: Option<ContentEncoding>,
    },
    /// A terminal that is subscribed to and is not in memory.
    Terminal(Box<SubscribeParams>),
}

impl Engine {
    pub(crate) fn message(
        &mut self,
        connection: ConnectionId,
        version: Version,
        message: ClientMessage,
    ) {
        if !self.connections.contains_key(&connection) {
            // Replaced by a newer connection of the same client: what still
            // comes over the old one is from before that.
            return;
        }
        match message {
            ClientMessage::Call { id, command } => self.call(connection, version, id, command),
            ClientMessage::Answer { id, outcome } => {
                self.client_answered(connection, &id, outcome);
            }
        }
    }

    fn call(
        &mut self,
        connection: ConnectionId,
        version: Version,
        id: Option<RequestId>,
        command: Result<Command, RpcError>,
    ) {
        // Leaving needs no store, and nobody would learn of a refusal.
        let leaves = matches!(command, Ok(Command::Unsubscribe { .. }));
        let refuses = self.store_failure.is_some() && !leaves;
        // While the store cannot write, all that follows is a refusal or a
        // pong, and those must not wait for it.
        self.step.bypasses_store = refuses;
        let command = match command {
            Ok(Command::Ping) => return self.answer(connection, id, Ok(Reply::Done)),
            Ok(command) => command,
            Err(error) => {
                tracing::debug!(%error, "a message that this host cannot read");
                // What is no message at all is answered without an id; a
                // notification is not answered, whatever is wrong with it.
                let is_message = !matches!(error.code, PARSE_ERROR | INVALID_REQUEST);
                return match is_message {
                    true => self.fail_request(connection, id, error),
                    false => self.fail(connection, id, error),
                };
            }
        };
        let is_let_in = self.client_of(connection).is_some();
        if !is_let_in && !command.introduces() {
            let error = RpcError::invalid_request("send `initialize` or `reconnect` first");
            return self.fail_request(connection, id, error);
        }
        if is_let_in && version != self.version_of(connection) {
            // Of what was read in another version than it is answered in,
            // nobody knows whether it was understood.
            let error = RpcError::invalid_request(
                "this was sent beside `initialize` or `reconnect`, not after it; send it again",
            );
            return self.fail_request(connection, id, error);
        }
        if let Some(reason) = self.store_failure.as_ref().filter(|_| refuses) {
            let error = RpcError::internal(store_failure_message(reason));
            return match command {
                Command::Dispatch(dispatch) => self.reject_for_store(connection, *dispatch),
                _ => self.fail_request(connection, id, error),
            };
        }
        let command = self.as_meant(connection, command);
        let waits = self.sessions_needed_for(&command);
        self.when_loaded(waits, move |engine| {
            // It may have gone while the session was loaded.
            if engine.connections.contains_key(&connection) {
                engine.carry_out(connection, version, id, command);
            }
        });
    }

    /// The sessions that must be in memory before a command is carried out.
    fn sessions_needed_for(&self, command: &Command) -> std::collections::BTreeSet<ChannelUri> {
        let channel = match command {
            Command::Subscribe(params) => &params.channel,
            Command::Dispatch(dispatch) => {
                let mut channels = chats_referred_to(&dispatch.action);
                channels.push(dispatch.channel.clone());
                return self.sessions_to_load(&channels);
            }
            // These need no session in memory, but one that is on its way may
            // be awaited by what was asked before.
            Command::Unsubscribe { channel } => return self.sessions_on_their_way(channel),
            // What was kept for it goes too, and only its state says where.
            Command::DisposeSession(params) => &params.channel,
            Command::InvokeChangesetOperation(params) => &params.channel,
            Command::CreateChat(params) => &params.channel,
            Command::DisposeChat(params) => &params.channel,
            Command::FetchTurns(params) => &params.channel,
            Command::ReadTurns(asked) => return self.sessions_to_load([&asked.channel]),
            Command::Complete(params) => &params.channel,
            Command::Workspace(command) => {
                let channel = ChannelUri::from(command.channel());
                let kept = match &**command {
                    WorkspaceCommand::Resource(ResourceCall::Read(params)) => {
                        parse_blob_uri(&params.uri).map(|(session, _)| session)
                    }
                    _ => None,
                };
                return self.sessions_to_load([&channel].into_iter().chain(&kept));
            }
            Command::CreateSession(new) => {
                let fork = new.fork.iter().map(|fork| &fork.session);
                return self.sessions_to_load(fork);
            }
            Command::Initialize(_)
            | Command::Reconnect(_)
            | Command::Ping
            | Command::ListSessions(_)
            | Command::ResolveSessionConfig(_)
            | Command::CompleteSessionConfig(_)
            | Command::Authenticate(_) => return Default::default(),
        };
        self.sessions_to_load([&ChannelUri::from(channel.as_str())])
    }

    fn carry_out(
        &mut self,
        connection: ConnectionId,
        version: Version,
        id: Option<RequestId>,
        command: Command,
    ) {
        let outcome = match command {
            Command::Ping => Ok(Reply::Done),
            Command::Initialize(params) => {
                if let Some(id) = id {
                    self.initialize(connection, version, id, *params);
                }
                return;
            }
            Command::Reconnect(params) => {
                if let Some(id) = id {
                    self.reconnect(connection, version, id, params);
                }
                return;
            }
            Command::Workspace(command) => return self.workspace(connection, id, *command),
            Command::Complete(params) => {
                if let Some(id) = id {
                    self.complete(connection, id, params);
                }
                return;
            }
            Command::CompleteSessionConfig(params) => {
                if let Some(id) = id {
                    self.complete_session_config(connection, id, params);
                }
                return;
            }
            Command::InvokeChangesetOperation(params) => {
                if let Some(id) = id {
                    self.invoke_changeset_operation(connection, id, &params);
                }
                return;
            }
            Command::Authenticate(params) => self.authenticate(params).map(|()| Reply::Empty {}),
            Command::Subscribe(params) => match id {
                Some(id) if self.is_past_terminal(&params.channel) => {
                    return self.load_terminal(connection, id, params);
                }
                _ => {
                    let channel = ChannelUri::from(params.channel.as_str());
                    let outcome = self.subscribe(connection, params);
                    self.answer(connection, id, outcome);
                    return self.tell_selection(connection, &channel);
                }
            },
            Command::Unsubscribe { channel } => {
                self.unsubscribe(connection, &channel);
                Ok(Reply::Done)
            }
            Command::Dispatch(dispatch) => {
                self.dispatch(connection, *dispatch);
                Ok(Reply::Done)
            }
            Command::ListSessions(params) => self.list_sessions(connection, &params),
            Command::CreateSession(params) => self
                .create_session(connection, *params)
                .map(|()| Reply::Done),
            Command::DisposeSession(params) => self
                .dispose_session(&params.channel.into())
                .map(|()| Reply::Done),
            Command::CreateChat(params) => {
                self.create_chat(connection, *params).map(|()| Reply::Done)
            }
            Command::DisposeChat(params) => self
                .dispose_chat(&params.channel.into())
                .map(|()| Reply::Done),
            Command::ReadTurns(asked) => self.read_turns(&asked),
            Command::FetchTurns(params) => self
                .fetch_turns(connection, &params.channel.into(), params.cursor.as_deref())
                .map(|()| Reply::Empty {}),
            Command::ResolveSessionConfig(params) => {
                self.resolve_session_config(connection, params)
            }
        };
        self.answer(connection, id, outcome);
    }

    fn subscribe(
        &mut self,
        connection: ConnectionId,
        params: SubscribeParams,
    ) -> Result<Reply, RpcError> {
        let channel = ChannelUri::from(params.channel);
        if self.has_no_word_for(connection, &channel) {
            return Err(RpcError::session_not_found(channel.as_str()));
        }
        self.open_changeset(&channel);
        let window = params.view.and_then(|view| view.turns);
        // At least the last turn is needed: it may be resumed.
        let window = window.map(|turns| usize::try_from(turns).unwrap_or(0).max(1));
        let snapshot = match self.snapshot(&channel, window) {
            Some(snapshot) => Some(self.with_what_is_beside(connection, snapshot)),
            // These channels have no state.
            None if is_telemetry_channel(channel.as_str()) => None,
            None => return Err(RpcError::session_not_found(channel.as_str())),
        };
        let max_latency = params
            .delivery
            .and_then(|delivery| delivery.max_latency_ms)
            .map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
        let subscriber = Subscriber {
            connection,
            max_latency,
        };
        let turns = self.chats.get(&channel).map_or(0, |chat| chat.turns.len());
        let hidden = window.map_or(0, |window| turns.saturating_sub(window));
        if !self.listen(&channel, subscriber, hidden) {
            self.close_unheard_changeset(&channel);
            let limit = self.config.limits.subscriptions;
            return Err(RpcError::internal(format!(
                "a connection may subscribe to at most {limit} channels; unsubscribe from some, \
                 or raise limits.subscriptions"
            )));
        }
        Ok(Reply::Subscribe(SubscribeReply { snapshot }))
    }

    /// Whether a channel can only be a terminal that has left memory.
    fn is_past_terminal(&self, channel: &str) -> bool {
        channel.starts_with(TERMINAL_SCHEME) && !self.terminals.contains_key(channel)
    }

    fn unsubscribe(&mut self, connection: ConnectionId, channel: &ChannelUri) {
        self.subscriptions.remove(connection, channel);
        if let Some(joined) = self.joined_to(connection, channel) {
            self.subscriptions.remove(connection, &joined);
        }
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.windows.remove(channel);
        }
        self.use_session(channel);
        // Whoever leaves a session is no longer active in it.
        if self.sessions.contains_key(channel)
            && let Some(client) = self.client_of(connection).map(str::to_owned)
        {
            self.remove_active_client(channel, &client);
        }
    }

    /// The state of a channel now, if there is such a channel in memory.
    pub(crate) fn snapshot(&self, channel: &ChannelUri, window: Option<usize>) -> Option<Snapshot> {
        let state = if let Some(chat) = self.chats.get(channel) {
            SnapshotState::Chat(Box::new(chat.snapshot(window)))
        } else if let Some(session) = self.sessions.get(channel) {
            SnapshotState::Session(Box::new(session.state.clone()))
        } else if *channel == ChannelUri::root() {
            SnapshotState::Root(Box::new(self.root.clone()))
        } else if let Some(terminal) = self.terminals.get(channel) {
            SnapshotState::Terminal(Box::new(terminal.state.clone()))
        } else if let Some(watch) = self.watches.get(channel) {
            SnapshotState::ResourceWatch(Box::new(watch.state.clone()))
        } else if let Some(changeset) = self.changesets.get(channel) {
            SnapshotState::Changeset(Box::new(changeset.state.clone()))
        } else {
            return None;
        };
        Some(Snapshot {
            resource: channel.clone(),
            state,
            from_seq: self.server_seq(),
            beside: None,
        })
    }

    fn list_sessions(
        &self,
        connection: ConnectionId,
        params: &ListSessionsParams,
    ) -> Result<Reply, RpcError> {
        let cap = match self.version_of(connection).lists_in_pages() {
            true => self.config.limits.page_sessions,
            // Those cannot ask for a second page.
            false => usize::MAX,
        };
        let limit = match params.limit {
            None => cap,
            Some(limit) => match usize::try_from(limit) {
                Ok(limit) if limit > 0 => limit.min(cap),
                _ => {
                    return Err(RpcError::invalid_params(
                        "`limit` must be a positive number",
                    ));
                }
            },
        };
        let mut page = self.catalogue.page(limit, params.cursor.as_deref())?;
        page.items = self.with_chats_as_sessions(connection, page.items);
        Ok(Reply::ListSessions(page))
    }

    fn resolve_session_config(
        &self,
        connection: ConnectionId,
        params: ResolveSessionConfigParams,
    ) -> Result<Reply, RpcError> {
        let agent = self.agent_for(params.provider.as_deref())?;
        let resolved = sessions::resolve_config(
            self.session_schema(agent, self.locale_of(connection))
                .as_ref(),
            &agent.synonyms,
            &params.config.unwrap_or_default(),
        )
        .map_err(RpcError::invalid_params)?;
        let (schema, values) = match resolved {
            Some(config) => (config.schema, config.values),
            None => {
                let nothing = SessionConfigSchema {
                    r#type: "object".to_owned(),
                    properties: Default::default(),
                    required: None,
                };
                (nothing, JsonObject::new())
            }
        };
        let result = ResolveSessionConfigResult { schema, values };
        Ok(Reply::ResolveSessionConfig(Box::new(result)))
    }

    pub(crate) fn resource_read(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        params: ResourceReadParams,
    ) {
        if let Some((session, blob)) = parse_blob_uri(&params.uri) {
            return self.read_kept(connection, id, (session, blob.to_owned()), &params);
        }
        if !params.uri.starts_with(CONTENT_SCHEME) {
            let task = ResourceTask::Read { uri: params.uri };
            let channel = params.channel.into();
            return self.perform(connection, id, channel, task, params.encoding);
        }
        let need = Need::Content {
            uri: params.uri.clone(),
            encoding: params.encoding,
        };
        let ticket = self.wait(connection, id, need);
        let uri = params.uri;
        self.step.durable_first = true;
        self.step.effects.push(Effect::LoadContent { ticket, uri });
    }

    /// Reads what was in a session's directory at some time.
    fn read_kept(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        (session, blob): (ChannelUri, String),
        params: &ResourceReadParams,
    ) {
        let Some(desk) = self.desks.get(&session) else {
            let error = RpcError::not_found(&params.uri);
            return self.fail(connection, Some(id), error);
        };
        let directories = desk.directories.clone();
        let need = Need::Resource {
            channel: params.channel.as_str().into(),
            encoding: params.encoding,
        };
        let ticket = self.wait(connection, id, need);
        self.step.effects.push(Effect::ReadKept {
            ticket,
            session,
            directories,
            id: blob,
            most_bytes: self.config.limits.resource_bytes,
        });
    }

    /// Remembers a request whose answer needs something from outside.
    pub(crate) fn wait(&mut self, connection: ConnectionId, id: RequestId, need: Need) -> Ticket {
        let ticket = self.next_ticket();
        let request = WaitingRequest {
            connection,
            id,
            need,
        };
        self.waiting.insert(ticket, request);
        ticket
    }

    pub(crate) fn content_loaded(
        &mut self,
        ticket: Ticket,
        content: Result<Option<ContentRecord>, String>,
    ) {
        if self.attached_content_loaded(ticket, &content) {
            return;
        }
        let Some(request) = self.waiting.remove(&ticket) else {
            return;
        };
        let (uri, encoding) = match request.need {
            Need::Content { uri, encoding } => (uri, encoding),
            Need::Terminal(params) => {
                if let Ok(Some(content)) = &content {
                    self.terminal_loaded(&params.channel.as_str().into(), content);
                }
                let outcome = self.subscribe(request.connection, *params);
                return self.answer(request.connection, Some(request.id), outcome);
            }
            Need::Files(_) | Need::ConfigValues | Need::Resource { .. } => return,
        };
        let outcome = match content {
            Ok(Some(content)) => Ok(Reply::ResourceRead(encoded(&content, encoding))),
            Ok(None) => Err(RpcError::not_found(&uri)),
            Err(reason) => Err(RpcError::internal(format!(
                "the content cannot be read: {reason}"
            ))),
        };
        self.answer(request.connection, Some(request.id), outcome);
    }

    pub(crate) fn files_found(&mut self, ticket: Ticket, files: Vec<FoundFile>) {
        if let Some(request) = self.waiting.remove(&ticket)
            && let Need::Files(at) = &request.need
        {
            let reply = Reply::Completions(completions::file_items(at, files));
            self.reply(request.connection, request.id, reply);
        }
    }

    fn complete_session_config(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        params: SessionConfigCompletionsParams,
    ) {
        let agent = match self.agent_for(params.provider.as_deref()) {
            Ok(agent) => agent,
            Err(error) => return self.fail(connection, Some(id), error),
        };
        let schema = self.session_schema(agent, self.locale_of(connection));
        let known = schema.is_some_and(|it| it.properties.contains_key(&params.property));
        if !known {
            let error = RpcError::invalid_params(format!(
                "`{}` has no session setting `{}`",
                agent.info.provider, params.property
            ));
            return self.fail(connection, Some(id), error);
        }
        let is_here = |directory: &String| directory.starts_with("file:");
        if let Some(directory) = params.working_directory.as_ref().filter(|it| is_here(it))
            && params.property == BRANCH
        {
            let directory = directory.clone();
            let query = params.query.unwrap_or_default();
            let ticket = self.wait(connection, id, Need::ConfigValues);
            self.step.effects.push(Effect::ListBranches {
                ticket,
                directory,
                query,
            });
            return;
        }
        let query = ConfigQuery {
            provider: agent.info.provider.clone(),
            directory: params.working_directory,
            config: params.config.unwrap_or_default(),
            property: params.property,
            query: params.query.unwrap_or_default(),
        };
        let ticket = self.wait(connection, id, Need::ConfigValues);
        let query = Box::new(query);
        self.step
            .effects
            .push(Effect::CompleteConfig { ticket, query });
    }

    pub(crate) fn config_completed(&mut self, ticket: Ticket, items: Vec<SessionConfigValueItem>) {
        if let Some(request) = self.waiting.remove(&ticket) {
            let result = SessionConfigCompletionsResult { items };
            let reply = Reply::CompleteSessionConfig(result);
            self.reply(request.connection, request.id, reply);
        }
    }

    /// Answers a request; a notification has nobody who waits.
    pub(crate) fn answer(
        &mut self,
        connection: ConnectionId,
        id: Option<RequestId>,
        outcome: Result<Reply, RpcError>,
    ) {
        match (id, outcome) {
            (Some(id), Ok(reply)) => self.reply(connection, id, reply),
            (id, Err(error)) => self.fail_request(connection, id, error),
            (None, Ok(_)) => {}
        }
    }

    pub(crate) fn reply(&mut self, to: ConnectionId, id: RequestId, reply: Reply) {
        let message = HostMessage::Reply { id, reply };
        self.step.effects.push(Effect::Send { to, message });
    }

    fn fail_request(&mut self, to: ConnectionId, id: Option<RequestId>, error: RpcError) {
        if id.is_some() {
            self.fail(to, id, error);
        }
    }

    pub(crate) fn fail(&mut self, to: ConnectionId, id: Option<RequestId>, error: RpcError) {
        let message = HostMessage::Failure { id, error };
        self.step.effects.push(Effect::Send { to, message });
    }

    /// Remembers that somebody takes an interest in a channel's session.
    pub(crate) fn use_session(&mut self, channel: &ChannelUri) {
        let session = self.session_of(channel);
        if let Some(session) = session.and_then(|uri| self.sessions.get_mut(&uri)) {
            session.last_used = self.now;
        }
    }
}

pub(crate) fn store_failure_message(reason: &str) -> String {
    format!(
        "the host cannot write to its data directory ({reason}) and accepts no work until it can"
    )
}

/// Content in the encoding that was asked for, if it has a form in it.
pub(crate) fn encoded(
    content: &ContentRecord,
    wanted: Option<ContentEncoding>,
) -> ResourceReadResult {
    let text = match wanted {
        Some(ContentEncoding::Base64) => None,
        Some(ContentEncoding::Utf8) | None => std::str::from_utf8(&content.data).ok(),
    };
    let (data, encoding) = match text {
        Some(text) => (text.to_owned(), ContentEncoding::Utf8),
        None => (STANDARD.encode(&content.data), ContentEncoding::Base64),
    };
    ResourceReadResult {
        data,
        encoding,
        content_type: Some(content.content_type.clone()),
    }
}
