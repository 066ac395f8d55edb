//! The connections of a world: they deliver late, or break and lose what was on
//! its way.

use std::collections::VecDeque;

use innkeeper_engine::{ConnectionId, Input};
use innkeeper_protocol::command::ClientMessage;
use innkeeper_protocol::outgoing::{HostMessage, encode_each};
use innkeeper_protocol::version::Version;

use super::World;
use crate::hear::{self, Heard};

/// One connection, with what is on its way to the client.
pub(crate) struct Wire {
    pub(crate) client: usize,
    /// The host has let the client in over it.
    pub(crate) welcomed: bool,
    /// What is spoken over it since then.
    pub(crate) version: Option<Version>,
    pub(crate) queue: VecDeque<Parcel>,
}

pub(crate) enum Parcel {
    Message(HostMessage),
    Close,
}

/// How a call that waits for a sign-in looks to types that cannot read it. The
/// order of its fields is that of whatever the crates are built with.
const UNREADABLE: [&str; 2] = ["Unknown(Object {", r#""status": String("auth-required")"#];

impl World {
    pub(crate) fn connect(&mut self, client: usize) {
        self.connections += 1;
        let id = self.connections;
        let wire = Wire {
            client,
            welcomed: false,
            version: None,
            queue: VecDeque::new(),
        };
        self.wires.insert(id, wire);
        self.clients[client].disconnected();
        self.clients[client].wire = Some(id);
        self.feed(Input::Connected {
            connection: ConnectionId(id),
        });
    }

    pub(crate) fn connect_onlooker(&mut self, index: usize) {
        self.connections += 1;
        let id = self.connections;
        let wire = Wire {
            client: self.clients.len() + index,
            welcomed: false,
            version: None,
            queue: VecDeque::new(),
        };
        self.wires.insert(id, wire);
        self.onlookers[index].disconnected();
        self.onlookers[index].wire = Some(id);
        self.feed(Input::Connected {
            connection: ConnectionId(id),
        });
    }

    /// An onlooker says something, in its own version.
    pub(crate) fn onlooker_says(&mut self, index: usize, text: &str) {
        let it = &self.onlookers[index];
        let Some(wire) = it.wire else {
            return;
        };
        self.say(|| format!("{} says {text}", it.id));
        self.hear(wire, text);
    }

    /// The host reads what comes over a connection.
    fn hear(&mut self, wire: u64, text: &str) {
        let spoken = self.wires.get(&wire).and_then(|wire| wire.version);
        let (version, message) = match spoken {
            Some(version) => (version, ClientMessage::decode_in(version, text)),
            None => {
                let known = |client: &str| self.client_versions.get(client).copied();
                ClientMessage::decode_first(text, known)
            }
        };
        self.feed(Input::Message {
            connection: ConnectionId(wire),
            version,
            message,
        });
    }

    /// The connection breaks; what was on its way is lost.
    pub(crate) fn cut(&mut self, id: u64) {
        if let Some(wire) = self.wires.remove(&id) {
            match wire.client.checked_sub(self.clients.len()) {
                Some(onlooker) => {
                    let onlooker = &mut self.onlookers[onlooker];
                    if onlooker.wire == Some(id) {
                        onlooker.disconnected();
                    }
                }
                None => {
                    let client = &mut self.clients[wire.client];
                    if client.wire == Some(id) {
                        client.disconnected();
                    }
                }
            }
            self.feed(Input::Disconnected {
                connection: ConnectionId(id),
            });
        }
    }

    pub(crate) fn send_text(&mut self, client: usize, text: &str) {
        let Some(wire) = self.clients[client].wire else {
            return;
        };
        self.say(|| format!("{} says {text}", self.clients[client].id));
        self.hear(wire, text);
    }

    /// Delivers the next message of a connection, if there is one.
    pub(crate) fn deliver(&mut self, id: u64) -> bool {
        let Some(wire) = self.wires.get_mut(&id) else {
            return false;
        };
        let Some(parcel) = wire.queue.pop_front() else {
            return false;
        };
        let index = wire.client;
        let Parcel::Message(message) = parcel else {
            self.note("closed by the host");
            self.cut(id);
            return true;
        };
        if let Some(onlooker) = index.checked_sub(self.clients.len()) {
            self.deliver_to_onlooker(onlooker, id, &message);
            return true;
        }
        let client = &mut self.clients[index];
        if client.wire != Some(id) {
            return true;
        }
        let heard = if self.as_text {
            hear::through_text(&message, |id| client.asked.get(&id).cloned())
        } else {
            hear::directly(&message)
        };
        if self.trace {
            let text = format!("{heard:?}");
            let text: String = text.chars().take(240).collect();
            println!("    {} hears {text}", client.id);
        }
        let handshake_refused = matches!(&heard, Heard::Failure(Some(_), -32603)) && !client.ready;
        if let Err(problem) = client.hear(heard) {
            panic!("{} heard what it should not: {problem}", client.id);
        }
        if let Some(orphan) = self.clients[index].orphan() {
            let text = self.clients[index].leave_at_once(&orphan);
            self.send_text(index, &text);
        }
        if handshake_refused {
            // Neither this connection nor one that it should have replaced.
            let wires = self.wires.iter();
            let mine: Vec<u64> = wires
                .filter_map(|(id, wire)| (wire.client == index).then_some(*id))
                .collect();
            for wire in mine {
                self.cut(wire);
            }
        }
        true
    }

    /// Delivers a message as frames of the onlooker's version. Where there are
    /// several, the connection may break between them.
    fn deliver_to_onlooker(&mut self, index: usize, wire: u64, message: &HostMessage) {
        let onlooker = &mut self.onlookers[index];
        if onlooker.wire != Some(wire) {
            return;
        }
        let mut frames = Vec::new();
        let spoken = self.wires.get(&wire).and_then(|wire| wire.version);
        let version = spoken.unwrap_or(Version::NEWEST);
        encode_each(message, version, |frame| frames.push(frame));
        let breaks = frames.len() > 1 && self.rng.chance(25);
        if breaks {
            frames.truncate(1 + self.rng.below(frames.len() - 1));
        }
        let refused = matches!(message, HostMessage::Failure { .. }) && !onlooker.ready;
        let mut unreadable = false;
        for frame in frames {
            if self.trace {
                println!("    {} hears {frame}", onlooker.id);
            }
            if let Err(problem) = onlooker.hear(&frame) {
                // The published types cannot read this state: their tag takes
                // away the `status` that they want. Whoever is given it comes
                // back later.
                unreadable = UNREADABLE.iter().all(|part| problem.contains(part));
                assert!(
                    unreadable,
                    "{} heard what it should not: {problem}",
                    onlooker.id
                );
                break;
            }
        }
        if breaks {
            self.note("a connection broke within an action");
        }
        if breaks || refused || unreadable {
            self.cut(wire);
        }
    }
}
