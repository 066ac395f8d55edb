//! Content that clients bring: what is too large to be attached to a message is
//! written first, under a name that the client chooses, and the message refers
//! to it. It belongs to a session and goes with it.
//!
//! *Invariant*: what was written under a name stays what it is. A message that
//! refers to it means the same to everybody and at any time.

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::commands::{ResourceWriteMode, ResourceWriteParams};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::{ContentRecord, StoreOp};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::resource::{ResourceError, TakenContent};

use super::{Asking, Resources, rpc_error, sent_data};
use crate::catalogue::Catalogue;
use crate::core::Core;
use crate::core::content::CONTENT_SCHEME;
use crate::effect::{ConnectionId, Effect, Ticket};

/// How the names begin that clients may choose. No content of the host's own is
/// called like that.
const UPLOADS: &str = "innkeeper-content:/uploads/";

/// What content is if nobody says so.
const UNKNOWN_TYPE: &str = "application/octet-stream";

pub(super) type Uploads = HashMap<Ticket, Upload>;

#[derive(Debug)]
pub(super) struct Upload {
    connection: ConnectionId,
    id: RequestId,
    session: ChannelUri,
    uri: String,
    content_type: String,
}

/// Whether this names content that the host keeps, or would keep.
pub(crate) fn is_kept(uri: &str) -> bool {
    uri.starts_with(CONTENT_SCHEME)
}

impl Resources {
    /// Takes in what a client brings for the session that it names as the
    /// channel.
    pub(crate) fn upload(
        &mut self,
        core: &mut Core,
        catalogue: &Catalogue,
        asking: Asking<'_>,
        params: ResourceWriteParams,
    ) {
        let session = match self.check_upload(core, catalogue, &params) {
            Ok(session) => session,
            Err(error) => return core.fail(asking.connection, Some(asking.id), error),
        };
        let ticket = core.next_ticket();
        let data = sent_data(params.encoding, params.data);
        let upload = Upload {
            connection: asking.connection,
            id: asking.id,
            session,
            uri: params.uri.clone(),
            content_type: params.content_type.unwrap_or(UNKNOWN_TYPE.to_owned()),
        };
        self.uploads.insert(ticket, upload);
        // It is looked up, so what came before must be there.
        core.step.durable_first = true;
        core.effect(Effect::TakeContent {
            ticket,
            by: asking.connection,
            uri: params.uri,
            data,
            most_bytes: core.config.limits.resource_bytes,
        });
    }

    /// The session that it is for, or why it cannot be taken.
    fn check_upload(
        &self,
        core: &Core,
        catalogue: &Catalogue,
        params: &ResourceWriteParams,
    ) -> Result<ChannelUri, RpcError> {
        let ResourceWriteParams { channel, uri, .. } = params;
        if uri.strip_prefix(UPLOADS).is_none_or(str::is_empty) {
            return Err(RpcError::invalid_params(format!(
                "`{uri}` cannot be written; choose a name below {UPLOADS}"
            )));
        }
        let is_whole = matches!(params.mode, None | Some(ResourceWriteMode::Truncate))
            && params.position.unwrap_or(0) == 0
            && params.if_match.is_none();
        if !is_whole {
            return Err(RpcError::invalid_params(
                "content for a session is written at once; leave out `mode`, `position` and \
                 `ifMatch`",
            ));
        }
        if self.uploads.values().any(|upload| upload.uri == *uri) {
            let uri = uri.clone();
            let exists = ResourceError::AlreadyExists { uri };
            return Err(rpc_error(exists, &channel.as_str().into()));
        }
        let channel = ChannelUri::from(channel.as_str());
        let session = catalogue.session_of(core, &channel);
        session.ok_or_else(|| {
            RpcError::invalid_params(format!(
                "`{channel}` is not a session; name the one that the content is for as `channel`"
            ))
        })
    }

    /// What a client brought can be kept, unless there is no session for it any
    /// more.
    pub(crate) fn taken(
        &mut self,
        core: &mut Core,
        catalogue: &Catalogue,
        ticket: Ticket,
        outcome: Result<TakenContent, ResourceError>,
    ) {
        let Some(upload) = self.uploads.remove(&ticket) else {
            return;
        };
        let Upload {
            connection,
            id,
            session,
            uri,
            content_type,
        } = upload;
        let outcome = outcome.and_then(|taken| match catalogue.contains(&session) {
            true => Ok(taken),
            false => Err(ResourceError::NotFound {
                uri: session.to_string(),
            }),
        });
        let outcome = outcome.map_err(|error| rpc_error(error, &session));
        let answer = outcome.map(|TakenContent { data, answer }| {
            core.store(StoreOp::PutContent(ContentRecord {
                uri,
                session,
                content_type,
                data,
                excerpt: None,
            }));
            core.step.durable_first = true;
            Reply::Resource(answer)
        });
        core.answer(connection, Some(id), answer);
    }
}
