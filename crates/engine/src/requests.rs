//! Messages from clients: who may ask what when, and who answers.

use std::collections::BTreeSet;

use innkeeper_protocol::command::{
    AutomationCommand, ClientMessage, Command, ExtensionCommand, WorkspaceCommand,
};
use innkeeper_protocol::newest::commands::{
    AuthenticateParams, ChatMoveDestination, ListSessionsParams,
};
use innkeeper_protocol::newest::errors::json_rpc_error_codes::{INVALID_REQUEST, PARSE_ERROR};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::search::Lookup;
use innkeeper_protocol::resource_call::ResourceCall;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::changes::parse_blob_uri;
use innkeeper_protocol::{ChannelUri, ClientId};

use crate::client_calls::is_of_client;
use crate::postponed::Postponed;
use crate::resources::{Asking, is_kept};
use crate::turns::channels_referred_to;
use crate::{ConnectionId, Engine, automations, compat, terminals};

impl Engine {
    pub(crate) fn message(
        &mut self,
        connection: ConnectionId,
        version: Version,
        message: ClientMessage,
    ) {
        if !self.clients.is_connected(connection) {
            // Replaced by a newer connection of the same client: what still
            // comes over the old one is from before that.
            return;
        }
        match message {
            ClientMessage::Call { id, command } => self.call(connection, version, id, command),
            ClientMessage::Answer { id, outcome } => {
                let calls = &mut self.client_calls;
                let answer = calls.answered(&mut self.core, connection, &id, outcome);
                if let Some(answer) = answer {
                    self.customizations().call_answered(answer);
                }
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
        let refuses = self.core.store_failure.is_some() && !leaves;
        // While the store cannot write, all that follows is a refusal or a
        // pong, and those must not wait for it.
        self.core.step.bypasses_store = refuses;
        let command = match command {
            Ok(Command::Ping) => return self.core.answer(connection, id, Ok(Reply::Done)),
            Ok(command) => command,
            Err(error) => {
                tracing::debug!(%error, "a message that this host cannot read");
                // What is not a message at all is answered without an id; a
                // notification is not answered, whatever is wrong with it.
                let is_message = !matches!(error.code, PARSE_ERROR | INVALID_REQUEST);
                return match is_message {
                    true => self.core.answer(connection, id, Err(error)),
                    false => self.core.fail(connection, id, error),
                };
            }
        };
        let is_let_in = self.clients.client_of(connection).is_some();
        if !is_let_in && !command.introduces() {
            let error = RpcError::invalid_request("send `initialize` or `reconnect` first");
            return self.core.answer(connection, id, Err(error));
        }
        if is_let_in && version != self.clients.version_of(connection) {
            // Of what was read in another version than it is answered in,
            // nobody knows whether it was understood.
            let error = RpcError::invalid_request(
                "this arrived together with `initialize` or `reconnect`, not after it; send it again",
            );
            return self.core.answer(connection, id, Err(error));
        }
        if let Some(reason) = self.core.store_failure.as_ref().filter(|_| refuses) {
            let error = RpcError::internal(store_failure_message(reason));
            return match command {
                Command::Dispatch(dispatch) => self.reject_for_store(connection, *dispatch),
                _ => self.core.answer(connection, id, Err(error)),
            };
        }
        match (command, id) {
            (Command::Initialize(params), Some(id)) => {
                self.initialize(connection, version, id, *params);
            }
            (Command::Reconnect(params), Some(id)) => {
                self.reconnect(connection, version, id, params);
            }
            (command, id) => self.call_of_client(connection, id, command),
        }
    }

    /// Carries a command out when the sessions that it needs are in memory.
    fn call_of_client(
        &mut self,
        connection: ConnectionId,
        id: Option<RequestId>,
        command: Command,
    ) {
        let command = compat::command_meant(&self.clients, &self.catalogue, connection, command);
        let needed = self.sessions_needed_for(&command);
        let postponed = Postponed::Command {
            connection,
            id,
            command: Box::new(command),
        };
        self.when_loaded(needed, postponed);
    }

    /// The sessions that must be in memory before a command is carried out.
    fn sessions_needed_for(&mut self, command: &Command) -> BTreeSet<ChannelUri> {
        let channel = match command {
            Command::Subscribe(params) => &params.channel,
            Command::Dispatch(dispatch) => {
                let mut channels = channels_referred_to(&dispatch.action);
                channels.push(dispatch.channel.clone());
                return self.sessions().to_load(&channels);
            }
            // These need no session in memory, but one that is on its way may
            // be awaited by what was asked before.
            Command::Unsubscribe { channel } => return self.sessions().on_their_way(channel),
            Command::ListSessions(_) => return self.sessions().reread_now(),
            // What was kept for it goes too, and only its state says where.
            Command::DisposeSession(params) => &params.channel,
            Command::InvokeChangesetOperation(params) => &params.channel,
            Command::CreateChat(params) => &params.channel,
            Command::DisposeChat(params) => &params.channel,
            Command::MoveChat(params) => {
                let chat = ChannelUri::from(params.channel.as_str());
                let to = match &params.destination {
                    ChatMoveDestination::Session(to) => Some(ChannelUri::from(to.session.as_str())),
                    ChatMoveDestination::NewSession(_) | ChatMoveDestination::Unknown(_) => None,
                };
                let sessions = [&chat].into_iter().chain(&to);
                return self.sessions().to_load(sessions);
            }
            Command::Extension(ExtensionCommand::TakeBack(asked)) => {
                return self.sessions().to_load([&asked.channel]);
            }
            Command::Extension(ExtensionCommand::UndoTakeBack(asked)) => {
                return self.sessions().to_load([&asked.channel]);
            }
            Command::FetchTurns(params) => &params.channel,
            Command::ReadTurns(asked) => return self.sessions().to_load([&asked.channel]),
            Command::Complete(params) => &params.channel,
            Command::Workspace(command) => {
                let channel = ChannelUri::from(command.channel());
                let kept = match &**command {
                    WorkspaceCommand::Resource(ResourceCall::Read(params)) => {
                        parse_blob_uri(&params.uri).map(|(session, _)| session)
                    }
                    _ => None,
                };
                let channels = [&channel].into_iter().chain(&kept);
                return self.sessions().to_load(channels);
            }
            Command::CreateSession(new) => {
                let fork = new.fork.iter().map(|fork| &fork.session);
                let channel = ChannelUri::from(new.params.channel.as_str());
                let mut needed = self.sessions().to_load(fork);
                // Whether there is one of that name is perhaps being found out.
                let reread = self.sessions().reread_now();
                needed.extend(reread.into_iter().filter(|session| *session == channel));
                return needed;
            }
            Command::Initialize(_)
            | Command::Reconnect(_)
            | Command::Ping
            | Command::ResolveSessionConfig(_)
            | Command::CompleteSessionConfig(_)
            | Command::Automation(_)
            | Command::Extension(
                ExtensionCommand::Search(_)
                | ExtensionCommand::Usage(_)
                | ExtensionCommand::InstallableAgents
                | ExtensionCommand::InstallAgent(_)
                | ExtensionCommand::CancelInstallAgent(_),
            )
            | Command::Authenticate(_)
            | Command::Mcp(_) => return BTreeSet::new(),
        };
        let channel = ChannelUri::from(channel.as_str());
        self.sessions().to_load([&channel])
    }

    pub(crate) fn carry_out(
        &mut self,
        connection: ConnectionId,
        id: Option<RequestId>,
        command: Command,
    ) {
        let outcome = match command {
            Command::Unsubscribe { channel } => {
                self.unsubscribe(connection, &channel);
                Ok(Reply::Unsubscribed)
            }
            Command::Dispatch(dispatch) => {
                self.dispatch(connection, *dispatch);
                Ok(Reply::Done)
            }
            Command::Authenticate(params) => self.authenticate(params),
            Command::ListSessions(params) => self.list_sessions(connection, &params),
            Command::CreateSession(params) => {
                let uri = ChannelUri::from(params.params.channel.as_str());
                let created = self.sessions().create(connection, *params);
                if created.is_ok() && self.sessions().answers_later(&uri, connection, &id) {
                    return;
                }
                created.map(|()| Reply::Done)
            }
            Command::DisposeSession(params) => {
                let session = ChannelUri::from(params.channel);
                let disposed = self.sessions().dispose(&session);
                self.automations().session_disposed(&session);
                disposed.map(|()| Reply::Done)
            }
            Command::CreateChat(params) => {
                let created = self.sessions().create_chat(connection, *params);
                created.map(|()| Reply::Done)
            }
            Command::DisposeChat(params) => {
                let disposed = self
                    .sessions()
                    .dispose_chat(connection, &params.channel.into());
                disposed.map(|()| Reply::Done)
            }
            Command::MoveChat(params) => self.sessions().move_chat(params).map(Reply::MoveChat),
            Command::ReadTurns(asked) => compat::read_turns(&self.core, &asked),
            Command::FetchTurns(params) => {
                let (chat, cursor) = (params.channel.into(), params.cursor.as_deref());
                let clients = &mut self.clients;
                let fetched = clients.fetch_turns(&mut self.core, connection, &chat, cursor);
                fetched.map(|()| Reply::Empty {})
            }
            Command::ResolveSessionConfig(params) => {
                let locale = self.clients.locale_of(connection);
                self.agents.resolve(&self.core, params, locale)
            }
            Command::Subscribe(params) => {
                let channel = ChannelUri::from(params.channel.as_str());
                let gone = terminals::has_left_memory(&self.core, &channel);
                return match id {
                    Some(id) if gone => {
                        let terminals = &mut self.terminals;
                        terminals.load(&mut self.core, connection, id, params);
                    }
                    id => self.subscribe(connection, id, params),
                };
            }
            Command::Automation(command) => match *command {
                AutomationCommand::ListTriggers(params) => automations::list_triggers(&params),
                AutomationCommand::Run(params) => self.automations().run(params),
                AutomationCommand::FetchRuns(params) => self.automations().fetch_runs(&params),
            },
            // What follows is answered later, and so only where somebody waits.
            Command::Workspace(command) => {
                if let Some(id) = id {
                    self.workspace(connection, id, *command);
                }
                return;
            }
            Command::Complete(params) => {
                if let Some(id) = id {
                    let (core, turns) = (&mut self.core, &self.turns);
                    let completions = &mut self.completions;
                    completions.complete(core, turns, (connection, id), &params);
                }
                return;
            }
            Command::CompleteSessionConfig(params) => {
                if let Some(id) = id {
                    let locale = self.clients.locale_of(connection);
                    let (core, agents) = (&mut self.core, &self.agents);
                    let completions = &mut self.completions;
                    completions.complete_settings(core, agents, (connection, id), params, locale);
                }
                return;
            }
            Command::InvokeChangesetOperation(params) => {
                if let Some(id) = id {
                    let changes = &mut self.changes;
                    changes.operate(&mut self.core, (connection, id), &params);
                }
                return;
            }
            Command::Extension(command) => {
                if let Some(id) = id {
                    self.extension(connection, id, command);
                }
                return;
            }
            Command::Mcp(request) => {
                let servers = &mut self.servers;
                servers.pass_on(&mut self.core, (connection, id), *request);
                return;
            }
            // These were served at once, or are not requests and introduce nobody.
            Command::Ping | Command::Initialize(_) | Command::Reconnect(_) => return,
        };
        self.core.answer(connection, id, outcome);
    }

    fn authenticate(&mut self, params: AuthenticateParams) -> Result<Reply, RpcError> {
        let for_servers = self.servers.want_token(&params.resource);
        if for_servers {
            self.servers.authenticate(&mut self.core, &params)?;
        }
        match self.agents.authenticate(&mut self.core, params) {
            Ok(Some(credential)) => {
                self.turns().give_credential(&credential);
                self.automations().agents_changed();
            }
            Ok(None) => {}
            // It was for a server.
            Err(_) if for_servers => {}
            Err(error) => return Err(error),
        }
        Ok(Reply::Empty {})
    }

    fn extension(&mut self, connection: ConnectionId, id: RequestId, command: ExtensionCommand) {
        let lookup = match command {
            ExtensionCommand::Search(query) => Lookup::Search(query),
            ExtensionCommand::Usage(query) => Lookup::Usage(query),
            ExtensionCommand::TakeBack(asked) => {
                return self.sessions().take_back((connection, id), asked);
            }
            ExtensionCommand::UndoTakeBack(asked) => {
                return self.sessions().undo_take_back((connection, id), &asked);
            }
            ExtensionCommand::InstallableAgents
            | ExtensionCommand::InstallAgent(_)
            | ExtensionCommand::CancelInstallAgent(_) => {
                return self
                    .installs
                    .asked(&mut self.core, (connection, id), command);
            }
        };
        self.lookups.ask(&mut self.core, (connection, id), lookup);
    }

    fn workspace(&mut self, connection: ConnectionId, id: RequestId, command: WorkspaceCommand) {
        let client = self.clients.client_of(connection).map(ClientId::as_str);
        let core = &mut self.core;
        match command {
            WorkspaceCommand::Resource(call) if is_of_client(&call) => {
                let calls = &mut self.client_calls;
                calls.pass_on(core, &self.clients, (connection, id), call);
            }
            WorkspaceCommand::Resource(call) => {
                let asking = Asking {
                    connection,
                    client,
                    id,
                };
                // What was in a session's directories at some time.
                if let ResourceCall::Read(params) = &call
                    && let Some((session, blob)) = parse_blob_uri(&params.uri)
                {
                    let directories = self.changes.directories_of(&session);
                    let Some(directories) = directories else {
                        let error = RpcError::not_found(&params.uri);
                        return core.fail(connection, Some(asking.id), error);
                    };
                    let kept = (session, directories, blob.to_owned());
                    return self.resources.read_kept(core, asking, params, kept);
                }
                match call {
                    ResourceCall::Write(params) if is_kept(&params.uri) => {
                        let resources = &mut self.resources;
                        resources.upload(core, &self.catalogue, asking, *params);
                    }
                    call => self.resources.call(core, asking, call),
                }
            }
            WorkspaceCommand::Watch(params) => {
                let scope = self.resources.scope_of(core, client);
                self.watches.create(core, scope, (connection, id), params);
            }
            WorkspaceCommand::CreateTerminal(params) => {
                let around = (&self.clients, &self.catalogue);
                self.terminals
                    .create(core, around, (connection, id), params);
            }
            WorkspaceCommand::DisposeTerminal(params) => {
                let disposed = self.terminals.dispose(core, &params.channel.into());
                let disposed = disposed.map(|over| {
                    if let Some(over) = over {
                        self.turns().run_over(over);
                    }
                    Reply::Done
                });
                self.core.answer(connection, Some(id), disposed);
            }
        }
    }

    fn list_sessions(
        &self,
        connection: ConnectionId,
        params: &ListSessionsParams,
    ) -> Result<Reply, RpcError> {
        let cap = match self.clients.version_of(connection).lists_in_pages() {
            true => self.core.config.limits.page_sessions,
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
        let (clients, catalogue) = (&self.clients, &self.catalogue);
        let mut page = catalogue.page(limit, params.cursor.as_deref())?;
        page.items = compat::with_chats_as_sessions(clients, catalogue, connection, page.items);
        Ok(Reply::ListSessions(page))
    }
}

pub(crate) fn store_failure_message(reason: &str) -> String {
    format!("the host accepts no work, as it cannot write to its store: {reason}")
}
