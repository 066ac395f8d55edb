//! Files of the machine that the host runs on: who may reach what. What is
//! done within those bounds is done outside of the engine.
//!
//! A client reaches the working directories of sessions, the roots of the
//! configuration, and what it was granted when it asked.

mod uploads;

use std::sync::Arc;

use bytes::Bytes;
use foldhash::HashMap;
use innkeeper_protocol::newest::commands::{
    ContentEncoding, ResourceReadParams, ResourceRequestParams, ResourceWriteMode,
    ResourceWriteParams,
};
use innkeeper_protocol::newest::errors::{PermissionDeniedErrorData, ahp_error_codes};
use innkeeper_protocol::outgoing::{Finished, Reply};
use innkeeper_protocol::resource_call::ResourceCall;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::resource::{
    GrantedRoot, ResourceError, ResourceTask, Roots, Scope, TransferTask, WriteData, WriteTask,
};
use innkeeper_protocol::{ChannelUri, ClientId};

use crate::config::GrantPolicy;
use crate::core::Core;
use crate::effect::{ConnectionId, Effect, Ticket};

use uploads::Uploads;
pub(crate) use uploads::is_kept;

/// Grants that one client may hold. Beyond, the oldest is forgotten: the
/// client is told that it lacks it, and can ask again.
const MOST_GRANTS: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Resources {
    /// What clients were granted besides what is open to all of them.
    grants: HashMap<ClientId, Roots>,
    waiting: HashMap<Ticket, WaitingRequest>,
    uploads: Uploads,
}

/// A client that waits for something from outside the engine.
#[derive(Debug)]
struct WaitingRequest {
    connection: ConnectionId,
    id: RequestId,
    /// What a client that may not do it would have to ask for.
    channel: ChannelUri,
}

/// Whoever asks: a connection, the client behind it, and its request.
pub(crate) struct Asking<'a> {
    pub(crate) connection: ConnectionId,
    pub(crate) client: Option<&'a str>,
    pub(crate) id: RequestId,
}

impl Resources {
    /// Something about files of this machine, or about what the host keeps.
    pub(crate) fn call(&mut self, core: &mut Core, asking: Asking<'_>, call: ResourceCall) {
        let channel = ChannelUri::from(call.channel());
        let task = match call {
            ResourceCall::Read(params) => return self.read(core, asking, *params),
            ResourceCall::Request(params) => {
                let granted = self.grant(core, asking.client, &params);
                let granted = granted.map(|()| Reply::Empty {});
                return core.answer(asking.connection, Some(asking.id), granted);
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
            Ok(task) => self.perform(core, asking, channel, task, None),
            Err(error) => core.fail(asking.connection, Some(asking.id), error),
        }
    }

    fn read(&mut self, core: &mut Core, asking: Asking<'_>, params: ResourceReadParams) {
        let ResourceReadParams {
            channel,
            uri,
            encoding,
            ..
        } = params;
        if !is_kept(&uri) {
            let task = ResourceTask::Read { uri };
            return self.perform(core, asking, channel.into(), task, encoding);
        }
        let by = asking.connection;
        let ticket = self.wait(core, asking, channel.into());
        core.step.durable_first = true;
        core.effect(Effect::ReadContent {
            ticket,
            by,
            uri,
            encoding,
            most_bytes: core.config.limits.resource_bytes,
        });
    }

    /// Reads what was in a session's directories at some time.
    pub(crate) fn read_kept(
        &mut self,
        core: &mut Core,
        asking: Asking<'_>,
        params: &ResourceReadParams,
        (session, directories, id): (ChannelUri, Vec<String>, String),
    ) {
        let by = asking.connection;
        let ticket = self.wait(core, asking, params.channel.as_str().into());
        core.effect(Effect::ReadKept {
            ticket,
            by,
            session,
            directories,
            id,
            encoding: params.encoding,
            most_bytes: core.config.limits.resource_bytes,
        });
    }

    /// Has something done with files, and answers with what comes of it.
    fn perform(
        &mut self,
        core: &mut Core,
        asking: Asking<'_>,
        channel: ChannelUri,
        task: ResourceTask,
        encoding: Option<ContentEncoding>,
    ) {
        let scope = self.scope_of(core, asking.client);
        let by = asking.connection;
        let ticket = self.wait(core, asking, channel);
        core.effect(Effect::Resource {
            ticket,
            by,
            scope,
            task: Box::new(task),
            encoding,
        });
    }

    /// Remembers a request whose answer needs something from outside.
    fn wait(&mut self, core: &mut Core, asking: Asking<'_>, channel: ChannelUri) -> Ticket {
        let ticket = core.next_ticket();
        let request = WaitingRequest {
            connection: asking.connection,
            id: asking.id,
            channel,
        };
        self.waiting.insert(ticket, request);
        ticket
    }

    pub(crate) fn done(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        outcome: Result<Finished, ResourceError>,
    ) {
        let Some(request) = self.waiting.remove(&ticket) else {
            return;
        };
        let outcome = outcome.map_err(|error| rpc_error(error, &request.channel));
        core.answer(
            request.connection,
            Some(request.id),
            outcome.map(Reply::Resource),
        );
    }

    /// Nobody waits behind a connection that has ended.
    pub(crate) fn forget_connection(&mut self, connection: ConnectionId) {
        self.waiting
            .retain(|_, request| request.connection != connection);
    }

    /// A client that was forgotten has no grants.
    pub(crate) fn forget_client(&mut self, client: &ClientId) {
        self.grants.remove(client);
    }

    /// What a client may reach. Nothing is copied: there may be thousands of
    /// directories, and every request has a scope.
    pub(crate) fn scope_of(&self, core: &Core, client: Option<&str>) -> Scope {
        let configured = &core.config.workspace.roots;
        let granted = client.and_then(|client| self.grants.get(client));
        let lists = [Some(configured), Some(core.channels.directories()), granted];
        Scope {
            lists: lists.into_iter().flatten().cloned().collect(),
            most_bytes: core.config.limits.resource_bytes,
        }
    }

    fn grant(
        &mut self,
        core: &Core,
        client: Option<&str>,
        asked: &ResourceRequestParams,
    ) -> Result<(), RpcError> {
        let writable = asked.write.unwrap_or(false);
        let allowed = match core.config.workspace.grants {
            GrantPolicy::None => false,
            GrantPolicy::Read => !writable,
            GrantPolicy::Write => true,
        };
        let uri = asked.uri.clone();
        if self.is_open_to(core, client, &uri, writable) {
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
        if let Some(client) = client {
            let grants = Arc::make_mut(self.grants.entry(client.into()).or_default());
            grants.retain(|grant| grant.uri != uri || grant.writable != writable);
            if grants.len() >= MOST_GRANTS {
                grants.remove(0);
            }
            grants.push(GrantedRoot { uri, writable });
        }
        Ok(())
    }

    /// Whether a client need not ask for something. By its text alone: whether
    /// a link leads elsewhere is seen when it is followed.
    pub(crate) fn is_open_to(
        &self,
        core: &Core,
        client: Option<&str>,
        uri: &str,
        write: bool,
    ) -> bool {
        self.scope_of(core, client).roots().any(|root| {
            let below = uri.strip_prefix(root.uri.trim_end_matches('/'));
            let below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            below && (root.writable || !write) && !uri.contains("..")
        })
    }
}

fn write_task(params: ResourceWriteParams) -> Result<ResourceTask, RpcError> {
    let position = u64::try_from(params.position.unwrap_or(0))
        .map_err(|_| RpcError::invalid_params("`position` must not be negative"))?;
    Ok(ResourceTask::Write(WriteTask {
        uri: params.uri,
        data: sent_data(params.encoding, params.data),
        create_only: params.create_only.unwrap_or(false),
        mode: params.mode.unwrap_or(ResourceWriteMode::Truncate),
        position,
        if_match: params.if_match,
    }))
}

fn sent_data(encoding: ContentEncoding, data: String) -> WriteData {
    match encoding {
        ContentEncoding::Utf8 => WriteData::Plain(Bytes::from(data)),
        ContentEncoding::Base64 => WriteData::Base64(data),
    }
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
        ResourceError::TooLarge { .. } | ResourceError::Invalid(_) => {
            RpcError::invalid_params(message)
        }
        ResourceError::Failed { .. } => RpcError::internal(message),
    }
}
