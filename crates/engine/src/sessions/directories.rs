//! Whether a new session can work in the directories that it was given. Only
//! the machine knows, so the session exists meanwhile, as one that is being
//! created, and whoever asked for it is answered when that is known.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};

use super::SessionsMut;
use crate::core::error_info;
use crate::effect::{ConnectionId, Effect};

/// Who waits for an answer to `createSession`.
pub(super) type Asker = (ConnectionId, RequestId);

impl SessionsMut<'_> {
    /// Has the directories of a session looked at, if it has any on this
    /// machine. Returns whether that has to be waited for.
    pub(super) fn check_directories(&mut self, uri: &ChannelUri) -> bool {
        let session = self.core().channels.session(uri);
        let all = session.and_then(|session| session.state.working_directories.as_ref());
        let local = all
            .into_iter()
            .flatten()
            .filter(|it| it.starts_with("file:"));
        let directories: Vec<String> = local.cloned().collect();
        let waits = !directories.is_empty();
        if waits {
            self.own.unchecked.insert(uri.clone(), None);
            self.core().effect(Effect::CheckDirectories {
                session: uri.clone(),
                directories,
            });
        }
        waits
    }

    /// Whether whoever asked for a session is answered when its directories
    /// have been looked at.
    pub(crate) fn answers_later(
        &mut self,
        uri: &ChannelUri,
        connection: ConnectionId,
        id: &Option<RequestId>,
    ) -> bool {
        let Some(asker) = self.own.unchecked.get_mut(uri) else {
            return false;
        };
        *asker = id.clone().map(|id| (connection, id));
        true
    }

    /// The directories of a session have been looked at. A session that cannot
    /// work there is refused; where nobody waits for an answer any more, it
    /// fails as one that has no place to work in.
    pub(crate) fn directories_checked(&mut self, uri: &ChannelUri, wrong: Option<String>) {
        let Some(asker) = self.own.unchecked.remove(uri) else {
            return;
        };
        let asker = asker.filter(|(connection, _)| self.turns.clients.is_connected(*connection));
        let Some(wrong) = wrong else {
            if let Some((connection, id)) = asker {
                self.core().reply(connection, id, Reply::Done);
            }
            // Somebody may have disposed of it meanwhile.
            if self.core().channels.is_being_created(uri) {
                self.find_place(uri);
            }
            return;
        };
        match asker {
            Some((connection, id)) => {
                if self.dispose(uri).is_err() {
                    tracing::debug!(session = %uri, "was disposed of before it was refused");
                }
                let error = RpcError::invalid_params(wrong);
                self.core().fail(connection, Some(id), error);
            }
            None => self.failed(uri, &error_info("workingDirectory", wrong)),
        }
    }
}
