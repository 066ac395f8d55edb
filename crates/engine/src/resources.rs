//! Files of the machine that the host runs on: who may reach what. What is
//! done within those bounds is done outside of the engine.
//!
//! A client reaches the working directories of sessions, the roots of the
//! configuration, and what it was granted when it asked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::command::WorkspaceCommand;
use innkeeper_protocol::house::commands::{
    ContentEncoding, ResourceListResult, ResourceRequestParams, ResourceWriteMode,
    ResourceWriteParams,
};
use innkeeper_protocol::house::errors::{PermissionDeniedErrorData, ahp_error_codes};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::ContentRecord;
use innkeeper_protocol::resource_call::ResourceCall;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::resource::{
    ResourceDone, ResourceError, ResourceTask, Root, Scope, TransferTask, WriteTask,
};

use crate::client_resources::is_of_client;
use crate::requests::{Need, encoded};
use crate::{ConnectionId, Effect, Engine, Ticket};

/// What clients are granted that ask for more than is open to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrantPolicy {
    /// Nothing.
    None,
    /// Reading, wherever the user of the host may read.
    #[default]
    Read,
    /// Writing as well.
    Write,
}

/// Grants that one client may hold. Beyond, the oldest is forgotten: the
/// client is told that it lacks it, and can ask again.
const MOST_GRANTS: usize = 1_000;

impl Engine {
    pub(crate) fn workspace(
        &mut self,
        connection: ConnectionId,
        id: Option<RequestId>,
        command: WorkspaceCommand,
    ) {
        // All of these are requests; nobody waits for the answer of another.
        let Some(id) = id else {
            return;
        };
        match command {
            WorkspaceCommand::Resource(call) if is_of_client(&call) => {
                self.pass_on(connection, id, call);
            }
            WorkspaceCommand::Resource(call) => self.resource(connection, id, call),
            WorkspaceCommand::Watch(params) => self.create_watch(connection, id, params),
            WorkspaceCommand::CreateTerminal(params) => {
                self.create_terminal(connection, id, params);
            }
            WorkspaceCommand::DisposeTerminal(params) => {
                let disposed = self.dispose_terminal(&params.channel.into());
                self.answer(connection, Some(id), disposed.map(|()| Reply::Done));
            }
        }
    }

    /// Something about files of this machine, or about what the host keeps.
    fn resource(&mut self, connection: ConnectionId, id: RequestId, call: ResourceCall) {
        let channel = ChannelUri::from(call.channel());
        let task = match call {
            ResourceCall::Read(params) => return self.resource_read(connection, id, *params),
            ResourceCall::Request(params) => {
                let granted = self.grant(connection, &params).map(|()| Reply::Empty {});
                return self.answer(connection, Some(id), granted);
            }
            ResourceCall::Write(params) => write_task(*params),
            ResourceCall::List(params) => Ok(ResourceTask::List { uri: params.uri }),
            ResourceCall::Copy(params) => Ok(ResourceTask::Copy(TransferTask {
                source: params.source,
                destination: params.destination,
                fail_if_exists: params.fail_if_exists.unwrap_or(false),
            })),
            ResourceCall::Move(params) => Ok(ResourceTask::Move(TransferTask {
                source: params.source,
                destination: params.destination,
                fail_if_exists: params.fail_if_exists.unwrap_or(false),
            })),
            ResourceCall::Delete(params) => Ok(ResourceTask::Delete {
                uri: params.uri,
                recursive: params.recursive.unwrap_or(false),
            }),
            ResourceCall::Resolve(params) => Ok(ResourceTask::Resolve {
                uri: params.uri,
                follow_symlinks: params.follow_symlinks.unwrap_or(true),
            }),
            ResourceCall::Mkdir(params) => Ok(ResourceTask::Mkdir { uri: params.uri }),
        };
        match task {
            Ok(task) => self.perform(connection, id, channel, task, None),
            Err(error) => self.fail(connection, Some(id), error),
        }
    }

    /// Has something done with files, and answers with what comes of it.
    pub(crate) fn perform(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        channel: ChannelUri,
        task: ResourceTask,
        encoding: Option<ContentEncoding>,
    ) {
        let scope = self.scope_of(connection);
        let need = Need::Resource { channel, encoding };
        let ticket = self.wait(connection, id, need);
        self.step.effects.push(Effect::Resource {
            ticket,
            scope,
            task: Box::new(task),
        });
    }

    pub(crate) fn resource_done(
        &mut self,
        ticket: Ticket,
        outcome: Result<ResourceDone, ResourceError>,
    ) {
        let Some(request) = self.waiting.remove(&ticket) else {
            return;
        };
        let Need::Resource { channel, encoding } = &request.need else {
            return;
        };
        let outcome = outcome.map_err(|error| rpc_error(error, channel));
        let reply = outcome.map(|done| match done {
            ResourceDone::Done => Reply::Empty {},
            ResourceDone::Content { data, content_type } => {
                let content = ContentRecord {
                    uri: String::new(),
                    session: channel.clone(),
                    content_type: content_type.unwrap_or_default(),
                    data,
                };
                Reply::ResourceRead(encoded(&content, *encoding))
            }
            ResourceDone::Entries(entries) => Reply::ResourceList(ResourceListResult { entries }),
            ResourceDone::Resolved(resolved) => Reply::ResourceResolve(Box::new(resolved)),
        });
        self.answer(request.connection, Some(request.id), reply);
    }

    /// What a client may reach.
    pub(crate) fn scope_of(&self, connection: ConnectionId) -> Scope {
        let mut roots = self.config.workspace.roots.clone();
        let mut add = |uri: &String| {
            if !roots.iter().any(|root| root.uri == *uri && root.writable) {
                roots.push(Root {
                    uri: uri.clone(),
                    writable: true,
                });
            }
        };
        for session in self.sessions.values() {
            let directories = session.state.working_directories.iter().flatten();
            directories.for_each(&mut add);
        }
        for chat in self.chats.values() {
            let directories = chat.head.working_directories.iter().flatten();
            directories.for_each(&mut add);
        }
        if let Some(client) = self.client_of(connection) {
            roots.extend(self.grants.get(client).into_iter().flatten().cloned());
        }
        Scope {
            roots,
            most_bytes: self.config.limits.resource_bytes,
        }
    }

    fn grant(
        &mut self,
        connection: ConnectionId,
        asked: &ResourceRequestParams,
    ) -> Result<(), RpcError> {
        let writable = asked.write.unwrap_or(false);
        let allowed = match self.config.workspace.grants {
            GrantPolicy::None => false,
            GrantPolicy::Read => !writable,
            GrantPolicy::Write => true,
        };
        let uri = asked.uri.clone();
        if self.is_open_to(connection, &uri, writable) {
            return Ok(());
        }
        if !uri.starts_with("file:///") {
            return Err(RpcError::not_found(&uri));
        }
        if !allowed {
            let what = if writable { "writing" } else { "reading" };
            return Err(RpcError::new(
                ahp_error_codes::PERMISSION_DENIED,
                format!(
                    "{what} `{uri}` is not granted; open a session there, add it to \
                     workspace.roots, or raise workspace.grants"
                ),
            ));
        }
        if let Some(client) = self.client_of(connection).map(str::to_owned) {
            let grants = self.grants.entry(client).or_default();
            grants.retain(|grant| grant.uri != uri || grant.writable != writable);
            if grants.len() >= MOST_GRANTS {
                grants.remove(0);
            }
            grants.push(Root { uri, writable });
        }
        Ok(())
    }

    /// Whether a client need not ask for something. By its text alone: whether
    /// a link leads elsewhere is seen when it is followed.
    pub(crate) fn is_open_to(&self, connection: ConnectionId, uri: &str, write: bool) -> bool {
        let roots = self.scope_of(connection).roots;
        roots.iter().any(|root| {
            let below = uri.strip_prefix(root.uri.trim_end_matches('/'));
            let below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            below && (root.writable || !write) && !uri.contains("..")
        })
    }
}

fn write_task(params: ResourceWriteParams) -> Result<ResourceTask, RpcError> {
    let data = match params.encoding {
        ContentEncoding::Utf8 => Bytes::from(params.data),
        ContentEncoding::Base64 => match STANDARD.decode(&params.data) {
            Ok(data) => Bytes::from(data),
            Err(error) => {
                return Err(RpcError::invalid_params(format!(
                    "`data` is not base64: {error}"
                )));
            }
        },
    };
    let position = u64::try_from(params.position.unwrap_or(0))
        .map_err(|_| RpcError::invalid_params("`position` must not be negative"))?;
    Ok(ResourceTask::Write(WriteTask {
        uri: params.uri,
        data,
        create_only: params.create_only.unwrap_or(false),
        mode: params.mode.unwrap_or(ResourceWriteMode::Truncate),
        position,
        if_match: params.if_match,
    }))
}

/// The error that the protocol has for it.
pub(crate) fn rpc_error(error: ResourceError, channel: &ChannelUri) -> RpcError {
    let message = error.to_string();
    match error {
        ResourceError::NotFound { .. } => RpcError::new(ahp_error_codes::NOT_FOUND, message),
        ResourceError::OutOfScope { uri, write } => {
            let request = ResourceRequestParams {
                channel: channel.to_string(),
                meta: None,
                uri,
                read: Some(true),
                write: write.then_some(true),
            };
            let data = PermissionDeniedErrorData {
                request: Some(request),
            };
            RpcError::new(ahp_error_codes::PERMISSION_DENIED, message).with_data(data)
        }
        ResourceError::Refused { .. } => RpcError::new(ahp_error_codes::PERMISSION_DENIED, message)
            .with_data(PermissionDeniedErrorData { request: None }),
        ResourceError::AlreadyExists { .. } => {
            RpcError::new(ahp_error_codes::ALREADY_EXISTS, message)
        }
        ResourceError::Conflict { .. } => RpcError::new(ahp_error_codes::CONFLICT, message),
        ResourceError::Invalid(_) => RpcError::invalid_params(message),
        ResourceError::Failed { .. } => RpcError::internal(message),
    }
}
