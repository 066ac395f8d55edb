//! The channels that are in memory, of every kind, in one table.
//!
//! To add a kind of channel: add a variant to [`Channel`] and follow the
//! compiler.

mod chat;
mod session;

use std::borrow::Borrow;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use foldhash::{HashMap, HashMapExt as _};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::state::{
    ChangesetState, ResourceWatchState, RootState, TerminalState,
};
use innkeeper_protocol::snapshot::SnapshotState;

pub(crate) use chat::{Chat, plain_message};
pub(crate) use session::{Session, compact};

/// What a client can subscribe to and has a state.
#[derive(Debug)]
pub(crate) enum Channel {
    Root(Box<RootState>),
    Session(Box<Session>),
    Chat(Box<Chat>),
    Terminal(Box<Ephemeral<TerminalState>>),
    Changeset(Box<Ephemeral<ChangesetState>>),
    Watch(Box<Ephemeral<ResourceWatchState>>),
}

/// A channel that ends with this life of the host: what happens on it can be
/// replayed from memory, and is not stored.
#[derive(Debug)]
pub(crate) struct Ephemeral<S> {
    pub(crate) state: S,
    /// The number that the host had reached when it was created.
    pub(crate) born: u64,
}

impl Channel {
    /// The state as a client sees it; of a chat, with its last `window` turns
    /// or all.
    pub(crate) fn snapshot(&self, window: Option<usize>) -> SnapshotState {
        match self {
            Self::Root(state) => SnapshotState::Root(state.clone()),
            Self::Session(session) => SnapshotState::Session(Box::new(session.state.clone())),
            Self::Chat(chat) => SnapshotState::Chat(Box::new(chat.snapshot(window))),
            Self::Terminal(terminal) => SnapshotState::Terminal(Box::new(terminal.state.clone())),
            Self::Changeset(changeset) => {
                SnapshotState::Changeset(Box::new(changeset.state.clone()))
            }
            Self::Watch(watch) => SnapshotState::ResourceWatch(Box::new(watch.state.clone())),
        }
    }

    /// Whether the channel ends with this life of the host.
    pub(crate) fn is_ephemeral(&self) -> bool {
        match self {
            Self::Root(_) | Self::Session(_) | Self::Chat(_) => false,
            Self::Terminal(_) | Self::Changeset(_) | Self::Watch(_) => true,
        }
    }
}

/// The table. A name is taken by one channel at a time.
#[derive(Debug)]
pub(crate) struct Channels {
    table: HashMap<ChannelUri, Channel>,
    root: ChannelUri,
    /// How many of them are sessions.
    sessions: usize,
}

/// Finds the channel of a kind under a name, or nothing if there is none or
/// it is of another kind.
macro_rules! of_kind {
    ($get:ident, $kind:ident, $type:ty) => {
        pub(crate) fn $get<Q>(&self, uri: &Q) -> Option<&$type>
        where
            ChannelUri: Borrow<Q>,
            Q: Hash + Eq + ?Sized,
        {
            match self.table.get(uri) {
                Some(Channel::$kind(it)) => Some(it),
                _ => None,
            }
        }
    };
}

/// Likewise, to be changed.
macro_rules! of_kind_mut {
    ($get_mut:ident, $kind:ident, $type:ty) => {
        pub(crate) fn $get_mut(&mut self, uri: &ChannelUri) -> Option<&mut $type> {
            match self.table.get_mut(uri) {
                Some(Channel::$kind(it)) => Some(it),
                _ => None,
            }
        }
    };
}

impl Channels {
    pub(crate) fn new(root: RootState) -> Self {
        let mut table = HashMap::new();
        let uri = ChannelUri::root();
        table.insert(uri.clone(), Channel::Root(Box::new(root)));
        Self {
            table,
            root: uri,
            sessions: 0,
        }
    }

    pub(crate) fn get(&self, uri: &ChannelUri) -> Option<&Channel> {
        self.table.get(uri)
    }

    pub(super) fn get_mut(&mut self, uri: &ChannelUri) -> Option<&mut Channel> {
        self.table.get_mut(uri)
    }

    pub(crate) fn contains(&self, uri: &ChannelUri) -> bool {
        self.table.contains_key(uri)
    }

    of_kind!(session, Session, Session);
    of_kind_mut!(session_mut, Session, Session);
    of_kind!(chat, Chat, Chat);
    of_kind_mut!(chat_mut, Chat, Chat);
    of_kind!(terminal, Terminal, Ephemeral<TerminalState>);
    of_kind_mut!(terminal_mut, Terminal, Ephemeral<TerminalState>);
    of_kind!(changeset, Changeset, Ephemeral<ChangesetState>);
    of_kind!(watch, Watch, Ephemeral<ResourceWatchState>);

    pub(crate) fn root(&self) -> Option<&RootState> {
        match self.table.get(&self.root) {
            Some(Channel::Root(state)) => Some(state),
            _ => None,
        }
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.table.values().filter_map(|channel| match channel {
            Channel::Session(session) => Some(&**session),
            _ => None,
        })
    }

    pub(crate) fn chats(&self) -> impl Iterator<Item = &Chat> {
        self.table.values().filter_map(|channel| match channel {
            Channel::Chat(chat) => Some(&**chat),
            _ => None,
        })
    }

    pub(super) fn chats_mut(&mut self) -> impl Iterator<Item = &mut Chat> {
        self.table.values_mut().filter_map(|channel| match channel {
            Channel::Chat(chat) => Some(&mut **chat),
            _ => None,
        })
    }

    /// The chats of a session in memory, in the order of its catalogue.
    pub(crate) fn chats_of(&self, session: &ChannelUri) -> Vec<ChannelUri> {
        let session = self.session(session);
        session.map(Session::chat_uris).unwrap_or_default()
    }

    /// Whether a session waits for its agent or for a place to work in.
    pub(crate) fn is_being_created(&self, session: &ChannelUri) -> bool {
        self.session(session).is_some_and(Session::is_being_created)
    }

    pub(crate) fn count_sessions(&self) -> usize {
        self.sessions
    }

    pub(crate) fn session_uris(&self) -> Vec<ChannelUri> {
        self.sessions().map(|session| session.uri.clone()).collect()
    }

    pub(crate) fn chat_uris(&self) -> Vec<ChannelUri> {
        self.chats().map(|chat| chat.uri.clone()).collect()
    }

    /// Adds a channel. One that has the name already stays: whoever makes a
    /// channel has to look before.
    pub(crate) fn insert(&mut self, uri: ChannelUri, channel: Channel) {
        match self.table.entry(uri) {
            Entry::Occupied(taken) => {
                tracing::error!(channel = %taken.key(), "the name of a new channel is taken");
            }
            Entry::Vacant(place) => {
                self.sessions += usize::from(matches!(channel, Channel::Session(_)));
                place.insert(channel);
            }
        }
    }

    pub(crate) fn insert_session(&mut self, session: Session) {
        self.insert(session.uri.clone(), Channel::Session(Box::new(session)));
    }

    pub(crate) fn insert_chat(&mut self, chat: Chat) {
        self.insert(chat.uri.clone(), Channel::Chat(Box::new(chat)));
    }

    pub(crate) fn remove(&mut self, uri: &ChannelUri) -> Option<Channel> {
        if *uri == self.root {
            return None;
        }
        let removed = self.table.remove(uri)?;
        self.sessions -= usize::from(matches!(removed, Channel::Session(_)));
        Some(removed)
    }

    pub(crate) fn remove_session(&mut self, uri: &ChannelUri) -> Option<Session> {
        self.session(uri)?;
        match self.remove(uri)? {
            Channel::Session(session) => Some(*session),
            _ => None,
        }
    }

    pub(crate) fn remove_chat(&mut self, uri: &ChannelUri) -> Option<Chat> {
        self.chat(uri)?;
        match self.remove(uri)? {
            Channel::Chat(chat) => Some(*chat),
            _ => None,
        }
    }
}
