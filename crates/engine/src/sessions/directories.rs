//! Whether a new session can work in the directories that it was given. Only
//! the machine knows, so the session exists meanwhile, as one that is being
//! created, and whoever asked for it is answered when that is known.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};

use super::SessionsMut;
use crate::core::error_info;
use crate::effect::{ConnectionId, Effect, Ticket};

/// A session whose directories are looked at.
#[derive(Debug)]
pub(super) struct Unchecked {
    session: ChannelUri,
    /// Who waits for an answer to `createSession`.
    asker: Option<(ConnectionId, RequestId)>,
}

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
            let ticket = self.core().next_ticket();
            let unchecked = Unchecked {
                session: uri.clone(),
                asker: None,
            };
            self.own.unchecked.insert(ticket, unchecked);
            self.core().effect(Effect::CheckDirectories {
                ticket,
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
        let mut all = self.own.unchecked.values_mut();
        let Some(new) = all.find(|it| it.session == *uri) else {
            return false;
        };
        new.asker = id.clone().map(|id| (connection, id));
        true
    }

    /// A session was disposed of. It had been created: whoever waits to hear so
    /// does, and what is found out about its directories matters no more.
    pub(super) fn checks_no_more(&mut self, uri: &ChannelUri) {
        self.changes_no_more(uri, "the session was disposed of");
        let all = self.own.unchecked.iter();
        let its = all.filter(|(_, it)| it.session == *uri);
        let its: Vec<Ticket> = its.map(|(ticket, _)| *ticket).collect();
        for ticket in its {
            let unchecked = self.own.unchecked.remove(&ticket);
            if let Some((connection, id)) = unchecked.and_then(|it| it.asker) {
                self.core().reply(connection, id, Reply::Done);
            }
        }
    }

    /// A session does not come about: whoever waits for it hears why.
    pub(super) fn check_fails(&mut self, uri: &ChannelUri, error: &RpcError) {
        self.changes_no_more(uri, &error.message);
        let its = self.own.unchecked.extract_if(|_, it| it.session == *uri);
        let askers: Vec<_> = its.filter_map(|(_, it)| it.asker).collect();
        for (connection, id) in askers {
            self.core().fail(connection, Some(id), error.clone());
        }
    }

    /// The directories of a session have been looked at. A session that cannot
    /// work there is refused; where nobody waits for an answer any more, it
    /// fails as one that has no place to work in.
    pub(crate) fn directories_checked(&mut self, ticket: Ticket, wrong: Option<String>) {
        if self.new_directory_checked(ticket, wrong.as_deref()) {
            return;
        }
        let Some(unchecked) = self.own.unchecked.remove(&ticket) else {
            return;
        };
        let uri = &unchecked.session;
        let asker = unchecked
            .asker
            .filter(|(connection, _)| self.turns.clients.is_connected(*connection));
        let Some(wrong) = wrong else {
            if let Some((connection, id)) = asker {
                self.core().reply(connection, id, Reply::Done);
            }
            return self.find_place(uri);
        };
        match asker {
            Some((connection, id)) => {
                let error = match self.dispose(uri) {
                    Ok(()) => RpcError::invalid_params(wrong),
                    Err(error) => error,
                };
                self.core().fail(connection, Some(id), error);
            }
            None => self.failed(uri, &error_info("workingDirectory", wrong)),
        }
    }
}
