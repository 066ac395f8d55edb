//! Resources that clients have: `virtual://<client id>/…`. The host asks the
//! client, and passes on what it says to whoever wanted it: another client, or
//! the host itself, which reads a plugin. A client that does not answer in
//! time, or leaves, is answered for.
//!
//! Who may do what there is for that client to say: the host passes on reading
//! and writing alike, and keeps no grants for it.

use std::collections::BTreeMap;

use innkeeper_protocol::newest::commands::ResourceReadResult;
use innkeeper_protocol::outgoing::{HostMessage, Reply};
use innkeeper_protocol::resource_call::{Expected, ResourceCall};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clients::Clients;
use crate::core::{Core, Deadline};
use crate::effect::{ConnectionId, Effect};

/// The scheme of what clients have.
pub(crate) const CLIENT_SCHEME: &str = "virtual:";

/// How many calls to one client may be open at once.
const MOST_CALLS: usize = 256;

/// The calls to clients that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct ClientCalls {
    open: BTreeMap<i64, ClientCall>,
    last: i64,
}

/// The number of a call that the host made for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HostCall(i64);

/// The answer to one.
pub(crate) type HostAnswer = (HostCall, Result<Value, RpcError>);

#[derive(Debug)]
struct ClientCall {
    asked: ConnectionId,
    by: Caller,
    uri: String,
    /// What was sent with it.
    bytes: usize,
}

/// Who wants to know.
#[derive(Debug)]
enum Caller {
    Client {
        by: ConnectionId,
        id: RequestId,
        expected: Expected,
    },
    Host,
}

/// Whether one of the things that a request is about is a client's.
pub(crate) fn is_of_client(call: &ResourceCall) -> bool {
    let (uri, other) = call.uris();
    let mut uris = [Some(uri), other].into_iter().flatten();
    uris.any(|uri| uri.starts_with(CLIENT_SCHEME))
}

/// The id of the client that has something.
fn owner(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix(CLIENT_SCHEME)?.strip_prefix("//")?;
    rest.split('/').next()
}

/// The connection of the client that has something.
pub(crate) fn client_that_has(clients: &Clients, uri: &str) -> Option<ConnectionId> {
    clients.connection_of(owner(uri)?)
}

impl ClientCalls {
    /// Asks a client about what it has, on behalf of another one.
    pub(crate) fn pass_on(
        &mut self,
        core: &mut Core,
        clients: &Clients,
        (by, id): (ConnectionId, RequestId),
        call: ResourceCall,
    ) {
        let asked = match self.check(core, clients, &call) {
            Ok(asked) => asked,
            Err(error) => return core.fail(by, Some(id), error),
        };
        let expected = call.expected();
        let caller = Caller::Client { by, id, expected };
        self.call(core, asked, caller, call.of_host());
    }

    /// The client that is to be asked, if it can be.
    fn check(
        &self,
        core: &Core,
        clients: &Clients,
        call: &ResourceCall,
    ) -> Result<ConnectionId, RpcError> {
        let (uri, other) = call.uris();
        if let Some(other) = other.filter(|other| owner(uri) != owner(other)) {
            return Err(RpcError::invalid_params(format!(
                "`{uri}` and `{other}` are not in the same place, and `{}` does not lead from one \
                 place to another; read the one and write the other",
                call.method()
            )));
        }
        let asked = client_that_has(clients, uri).ok_or_else(|| RpcError::not_found(uri))?;
        if self.is_asked_too_much(core, asked) {
            let error = format!("the client that has `{uri}` is being asked too much at once");
            return Err(RpcError::internal(error));
        }
        check_version(clients, asked, call)?;
        Ok(asked)
    }

    /// Asks a client on behalf of the host itself.
    pub(crate) fn ask(
        &mut self,
        core: &mut Core,
        clients: &Clients,
        asked: ConnectionId,
        ask: ResourceCall,
    ) -> Result<HostCall, RpcError> {
        check_version(clients, asked, &ask)?;
        Ok(HostCall(self.call(core, asked, Caller::Host, ask)))
    }

    fn call(&mut self, core: &mut Core, asked: ConnectionId, by: Caller, ask: ResourceCall) -> i64 {
        self.last += 1;
        let number = self.last;
        let call = ClientCall {
            asked,
            by,
            uri: ask.uris().0.to_owned(),
            bytes: ask.content_bytes(),
        };
        self.open.insert(number, call);
        let due = core.now.after(core.config.limits.client_answer);
        core.deadlines.set(Deadline::ClientIsSilent(number), due);
        let message = HostMessage::Question {
            id: RequestId::Number(number),
            ask,
        };
        core.effect(Effect::Send { to: asked, message });
        number
    }

    /// A client that does not answer must not fill the host's memory.
    fn is_asked_too_much(&self, core: &Core, asked: ConnectionId) -> bool {
        let open = self.open.values().filter(|call| call.asked == asked);
        let (count, bytes) = open.fold((0, 0), |(count, bytes), call| {
            (count + 1, bytes + call.bytes)
        });
        count >= MOST_CALLS || bytes >= core.config.limits.resource_bytes
    }

    /// A client has answered. Returns the answer if the host had asked.
    pub(crate) fn answered(
        &mut self,
        core: &mut Core,
        connection: ConnectionId,
        id: &RequestId,
        outcome: Result<Value, RpcError>,
    ) -> Option<HostAnswer> {
        let RequestId::Number(number) = id else {
            return None;
        };
        let known = self.open.get(number);
        known.filter(|call| call.asked == connection)?;
        self.close(core, *number, outcome)
    }

    fn close(
        &mut self,
        core: &mut Core,
        number: i64,
        outcome: Result<Value, RpcError>,
    ) -> Option<HostAnswer> {
        let ClientCall { by, uri, .. } = self.open.remove(&number)?;
        core.deadlines.clear(&Deadline::ClientIsSilent(number));
        match by {
            Caller::Client { by, id, expected } => {
                let reply = outcome.and_then(|value| reply(expected, &uri, value));
                core.answer(by, Some(id), reply);
                None
            }
            Caller::Host => Some((HostCall(number), outcome)),
        }
    }

    /// Answers for a client that takes too long. Returns the answer if the host
    /// had asked.
    pub(crate) fn give_up(&mut self, core: &mut Core, number: i64) -> Option<HostAnswer> {
        let uri = &self.open.get(&number)?.uri;
        let error = RpcError::internal(format!("the client that has `{uri}` does not answer"));
        self.close(core, number, Err(error))
    }

    /// Answers for a client that has left. Returns the answers to what the host
    /// had asked.
    pub(crate) fn connection_ended(
        &mut self,
        core: &mut Core,
        connection: ConnectionId,
    ) -> Vec<HostAnswer> {
        let open = self.open.iter();
        let left = open.filter(|(_, call)| call.asked == connection);
        let left: Vec<i64> = left.map(|(number, _)| *number).collect();
        left.into_iter()
            .filter_map(|number| self.give_up(core, number))
            .collect()
    }
}

fn check_version(
    clients: &Clients,
    asked: ConnectionId,
    ask: &ResourceCall,
) -> Result<(), RpcError> {
    let version = clients.version_of(asked);
    if ask.can_be_asked_in(version) {
        return Ok(());
    }
    Err(RpcError::internal(format!(
        "the client that has `{}` speaks version {version} of the protocol, in which it cannot \
         be asked this (`{}`)",
        ask.uris().0,
        ask.method()
    )))
}

/// What a client said, as the answer to whoever wanted to know.
fn reply(expected: Expected, uri: &str, value: Value) -> Result<Reply, RpcError> {
    Ok(match expected {
        Expected::Content => Reply::ResourceRead(content(uri, value)?),
        Expected::Entries => Reply::ResourceList(read(uri, "list", value)?),
        Expected::Resolved => Reply::ResourceResolve(Box::new(read(uri, "description", value)?)),
        Expected::Nothing => Reply::Empty {},
    })
}

pub(crate) fn content(uri: &str, value: Value) -> Result<ResourceReadResult, RpcError> {
    read(uri, "content", value)
}

fn read<T: DeserializeOwned>(uri: &str, what: &str, value: Value) -> Result<T, RpcError> {
    serde_json::from_value(value).map_err(|error| {
        let error = format!("what the client said about `{uri}` is not a valid {what}: {error}");
        RpcError::internal(error)
    })
}
