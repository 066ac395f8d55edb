//! What clients look up in the store: searches, and what turns have cost.
//!
//! *Invariant*: so few run at once that whoever waits for a session to be read
//! does not wait for them, and no client keeps the others from looking.

use std::collections::VecDeque;

use foldhash::HashMap;
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::search::{LookedUp, Lookup};
use innkeeper_protocol::rpc::{RequestId, RpcError};

use crate::catalogue::Catalogue;
use crate::clients::Clients;
use crate::core::Core;
use crate::effect::{ConnectionId, Effect, Ticket};

/// How many run at once in the host.
const MOST_RUNNING: usize = 2;

/// How many one connection may have asked for.
const MOST_ASKED: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Lookups {
    /// Nobody waits any more for those without one.
    running: HashMap<Ticket, Option<Asker>>,
    waiting: VecDeque<(Asker, Lookup)>,
}

#[derive(Debug)]
struct Asker {
    connection: ConnectionId,
    id: RequestId,
}

impl Lookups {
    pub(crate) fn ask(
        &mut self,
        core: &mut Core,
        (connection, id): (ConnectionId, RequestId),
        lookup: Lookup,
    ) {
        let running = self.running.values().flatten();
        let asked = running.chain(self.waiting.iter().map(|(asker, _)| asker));
        if asked.filter(|it| it.connection == connection).count() >= MOST_ASKED {
            let error = RpcError::invalid_request(format!(
                "{MOST_ASKED} searches of this connection are not answered yet; wait for one of them"
            ));
            return core.fail(connection, Some(id), error);
        }
        self.waiting.push_back((Asker { connection, id }, lookup));
        self.run(core);
    }

    /// Begins as many as may run.
    fn run(&mut self, core: &mut Core) {
        while self.running.len() < MOST_RUNNING
            && let Some((asker, lookup)) = self.waiting.pop_front()
        {
            let ticket = core.next_ticket();
            self.running.insert(ticket, Some(asker));
            core.effect(Effect::LookUp { ticket, lookup });
        }
    }

    pub(crate) fn looked_up(
        &mut self,
        core: &mut Core,
        (clients, catalogue): (&Clients, &Catalogue),
        ticket: Ticket,
        outcome: Result<LookedUp, String>,
    ) {
        let Some(asker) = self.running.remove(&ticket) else {
            return;
        };
        if let Some(Asker { connection, id }) = asker {
            let reply = outcome.map(|found| reply(clients, catalogue, connection, found));
            let reply = reply.map_err(|reason| {
                tracing::error!(reason, "something could not be looked up");
                RpcError::internal(format!("the store cannot be read: {reason}"))
            });
            core.answer(connection, Some(id), reply);
        }
        self.run(core);
    }

    pub(crate) fn forget_connection(&mut self, connection: ConnectionId) {
        self.waiting.retain(|(it, _)| it.connection != connection);
        for asker in self.running.values_mut() {
            if asker.as_ref().is_some_and(|it| it.connection == connection) {
                *asker = None;
            }
        }
    }
}

fn reply(
    clients: &Clients,
    catalogue: &Catalogue,
    connection: ConnectionId,
    found: LookedUp,
) -> Reply {
    match found {
        LookedUp::Search(mut page) => {
            // Without chats, every other chat is a session.
            if !clients.version_of(connection).has_chats() {
                let items = page.items.iter_mut();
                for hit in items.filter(|hit| catalogue.is_further_chat(hit.chat.as_str())) {
                    hit.session = hit.chat.clone();
                    hit.session_title.clone_from(&hit.chat_title);
                }
            }
            Reply::Search(page)
        }
        LookedUp::Usage(page) => Reply::Usage(page),
    }
}
