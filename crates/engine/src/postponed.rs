//! What waits until certain sessions are in memory.

use std::collections::BTreeSet;

use innkeeper_protocol::command::Command;
use innkeeper_protocol::rpc::RequestId;
use innkeeper_protocol::{ChannelUri, Seq};

use crate::{ConnectionId, Engine, Ticket};

/// What waits until certain sessions are in memory, or known to be gone.
#[derive(Debug)]
pub(crate) enum Postponed {
    Command {
        connection: ConnectionId,
        id: Option<RequestId>,
        command: Box<Command>,
    },
    Welcome {
        connection: ConnectionId,
        id: RequestId,
        protocol_version: String,
        channels: Vec<ChannelUri>,
    },
    Afresh(WaitingReconnect),
}

/// A client that has come back and waits for the stored log, or for sessions.
#[derive(Debug)]
pub(crate) struct WaitingReconnect {
    pub(crate) connection: ConnectionId,
    pub(crate) id: RequestId,
    pub(crate) seen: Seq,
    /// Up to where the log was asked for.
    pub(crate) up_to: Seq,
    pub(crate) channels: Vec<ChannelUri>,
}

impl Postponed {
    /// Who waits.
    pub(crate) fn connection(&self) -> ConnectionId {
        match self {
            Self::Command { connection, .. } | Self::Welcome { connection, .. } => *connection,
            Self::Afresh(waiting) => waiting.connection,
        }
    }
}

impl Engine {
    /// Does something as soon as these sessions are in memory: now, if they are.
    pub(crate) fn when_loaded(&mut self, sessions: BTreeSet<ChannelUri>, then: Postponed) {
        match self.sessions().load(sessions) {
            Some(ticket) => {
                self.postponed.insert(ticket, then);
            }
            None => self.go_on(then),
        }
    }

    /// The sessions are there that something waited for.
    pub(crate) fn postponed_ready(&mut self, ticket: Ticket) {
        if self.sessions().go_on(ticket) {
            return;
        }
        if let Some(postponed) = self.postponed.remove(&ticket) {
            self.go_on(postponed);
        }
    }

    fn go_on(&mut self, postponed: Postponed) {
        let connection = postponed.connection();
        // Replaced by a newer one while the session was loaded.
        if !self.clients.is_connected(connection) {
            return;
        }
        match postponed {
            Postponed::Command { id, command, .. } => self.carry_out(connection, id, *command),
            Postponed::Welcome {
                id,
                protocol_version,
                channels,
                ..
            } => self.welcome(connection, id, protocol_version, &channels),
            Postponed::Afresh(waiting) => self.give_snapshots(waiting),
        }
    }
}
