//! The channels that are in memory, of every kind, in one table.
//!
//! To add a kind of channel: add a variant to [`Channel`] and follow the
//! compiler.

mod annotations;
mod chat;
mod queue_size;
mod session;
mod turn_size;

use std::borrow::Borrow;
use std::cell::OnceCell;
use std::collections::hash_map;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _, HashSet};
use innkeeper_protocol::newest::state::{
    AutomationRunState, AutomationState, CanvasState, ChangesetState, ResourceWatchState,
    RootState, TerminalState,
};
use innkeeper_protocol::snapshot::SnapshotState;
use innkeeper_protocol::workspace::resource::{GrantedRoot, Roots};
use innkeeper_protocol::{ChannelUri, Seq};

use super::replay::OpenStream;
use crate::labels::Locale;

pub(crate) use annotations::Annotations;
pub(crate) use chat::{Chat, plain_message};
pub(crate) use session::{ARTIFACTS, Session, WORKSPACELESS, compact, directories_in};
pub(crate) use turn_size::{id_of_call, length_of_json};

/// What a client can subscribe to and has a state.
#[derive(Debug)]
pub(crate) enum Channel {
    Root(Box<RootState>),
    Session(Box<Session>),
    Chat(Box<Chat>),
    Terminal(Box<Ephemeral<TerminalState>>),
    Changeset(Box<Ephemeral<ChangesetState>>),
    Watch(Box<Ephemeral<ResourceWatchState>>),
    Canvas(Box<Ephemeral<CanvasState>>),
    Annotations(Box<Annotations>),
    Automations(Box<AutomationState>),
    AutomationRun(Box<AutomationRunState>),
}

/// A channel that ends with this life of the host: what happens on it can be
/// replayed from memory, and is not stored.
#[derive(Debug)]
pub(crate) struct Ephemeral<S> {
    pub(crate) state: S,
    /// The number that the host had reached when it was created.
    pub(crate) born: Seq,
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
            Self::Canvas(canvas) => SnapshotState::Canvas(Box::new(canvas.state.clone())),
            Self::Annotations(annotations) => {
                SnapshotState::Annotations(Box::new(annotations.state.clone()))
            }
            Self::Automations(state) => SnapshotState::Automations(state.clone()),
            Self::AutomationRun(state) => SnapshotState::AutomationRun(state.clone()),
        }
    }

    /// Where a session or a chat works.
    fn directories(&self) -> &[String] {
        let directories = match self {
            Self::Session(session) => &session.state.working_directories,
            Self::Chat(chat) => &chat.head.working_directories,
            Self::Root(_)
            | Self::Terminal(_)
            | Self::Changeset(_)
            | Self::Watch(_)
            | Self::Canvas(_)
            | Self::Annotations(_)
            | Self::Automations(_)
            | Self::AutomationRun(_) => &None,
        };
        directories.as_deref().unwrap_or_default()
    }

    fn has_directories(&self) -> bool {
        !self.directories().is_empty()
    }

    /// Whether the channel ends with this life of the host.
    pub(crate) fn is_ephemeral(&self) -> bool {
        match self {
            Self::Root(_)
            | Self::Session(_)
            | Self::Chat(_)
            | Self::Annotations(_)
            | Self::Automations(_)
            | Self::AutomationRun(_) => false,
            Self::Terminal(_) | Self::Changeset(_) | Self::Watch(_) | Self::Canvas(_) => true,
        }
    }
}

/// A channel in the table.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) channel: Channel,
    /// What the next piece of its stream may be merged into.
    pub(super) open_stream: OpenStream,
}

/// The table. A name is taken by one channel at a time.
#[derive(Debug)]
pub(crate) struct Channels {
    table: HashMap<ChannelUri, Entry>,
    root: ChannelUri,
    /// How many of them are sessions.
    sessions: usize,
    /// The directories of sessions and chats, once somebody has asked, until
    /// one of them changes.
    directories: OnceCell<Roots>,
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
            match self.table.get(uri).map(|entry| &entry.channel) {
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
            match self.table.get_mut(uri).map(|entry| &mut entry.channel) {
                Some(Channel::$kind(it)) => Some(it),
                _ => None,
            }
        }
    };
}

impl Channels {
    pub(crate) fn new(root: RootState) -> Self {
        let uri = ChannelUri::root();
        let mut channels = Self {
            table: HashMap::new(),
            root: uri.clone(),
            sessions: 0,
            directories: OnceCell::new(),
        };
        channels.insert(uri, Channel::Root(Box::new(root)));
        channels
    }

    pub(crate) fn get(&self, uri: &ChannelUri) -> Option<&Channel> {
        self.table.get(uri).map(|entry| &entry.channel)
    }

    pub(super) fn entry(&mut self, uri: &ChannelUri) -> Option<&mut Entry> {
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
    of_kind!(annotations, Annotations, Annotations);
    of_kind_mut!(annotations_mut, Annotations, Annotations);
    of_kind!(watch, Watch, Ephemeral<ResourceWatchState>);
    of_kind!(canvas, Canvas, Ephemeral<CanvasState>);
    of_kind!(automations, Automations, AutomationState);
    of_kind!(automation_run, AutomationRun, AutomationRunState);

    pub(crate) fn root(&self) -> Option<&RootState> {
        match self.get(&self.root) {
            Some(Channel::Root(state)) => Some(state),
            _ => None,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Channel> {
        self.table.values().map(|entry| &entry.channel)
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.all().filter_map(|channel| match channel {
            Channel::Session(session) => Some(&**session),
            _ => None,
        })
    }

    pub(crate) fn chats(&self) -> impl Iterator<Item = &Chat> {
        self.all().filter_map(|channel| match channel {
            Channel::Chat(chat) => Some(&**chat),
            _ => None,
        })
    }

    pub(super) fn chats_mut(&mut self) -> impl Iterator<Item = &mut Chat> {
        let all = self.table.values_mut().map(|entry| &mut entry.channel);
        all.filter_map(|channel| match channel {
            Channel::Chat(chat) => Some(&mut **chat),
            _ => None,
        })
    }

    /// The session that a chat in memory belongs to.
    pub(crate) fn session_of(&self, chat: &ChannelUri) -> Option<ChannelUri> {
        Some(self.chat(chat)?.session.clone())
    }

    /// The chats of a session in memory, in the order of its catalogue.
    pub(crate) fn chats_of(&self, session: &ChannelUri) -> Vec<ChannelUri> {
        let session = self.session(session);
        session.map(Session::chat_uris).unwrap_or_default()
    }

    /// Where a chat works, in the order of its session's directories.
    pub(crate) fn directories_of_chat(&self, chat: &Chat) -> Vec<&String> {
        let session = self.session(&chat.session);
        let own = chat.head.working_directories.as_deref();
        session.map_or(Vec::new(), |session| directories_in(&session.state, own))
    }

    /// The language of a session.
    pub(crate) fn locale_of(&self, session: &ChannelUri) -> Locale {
        self.session(session)
            .map(Session::locale)
            .unwrap_or_default()
    }

    /// Whether a session waits for its agent or for a place to work in.
    pub(crate) fn is_being_created(&self, session: &ChannelUri) -> bool {
        self.session(session).is_some_and(Session::is_being_created)
    }

    /// The directories that sessions and chats in memory work in, each once.
    pub(crate) fn directories(&self) -> &Roots {
        self.directories.get_or_init(|| {
            let all = self.all().flat_map(Channel::directories);
            let all: HashSet<&String> = all.collect();
            let roots = all.into_iter().map(|uri| GrantedRoot {
                uri: uri.clone(),
                writable: true,
            });
            Arc::new(roots.collect())
        })
    }

    /// A session or a chat works elsewhere now.
    pub(super) fn directories_changed(&mut self) {
        self.directories.take();
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
            hash_map::Entry::Occupied(taken) => {
                tracing::error!(channel = %taken.key(), "the name of a new channel is taken");
            }
            hash_map::Entry::Vacant(place) => {
                self.sessions += usize::from(matches!(channel, Channel::Session(_)));
                if channel.has_directories() {
                    self.directories.take();
                }
                place.insert(Entry {
                    channel,
                    open_stream: OpenStream::default(),
                });
            }
        }
    }

    pub(crate) fn insert_session(&mut self, session: Session) {
        self.insert(session.uri.clone(), Channel::Session(Box::new(session)));
    }

    pub(crate) fn insert_annotations(&mut self, annotations: Annotations) {
        let uri = annotations.uri.clone();
        self.insert(uri, Channel::Annotations(Box::new(annotations)));
    }

    pub(crate) fn insert_chat(&mut self, chat: Chat) {
        self.insert(chat.uri.clone(), Channel::Chat(Box::new(chat)));
    }

    pub(crate) fn remove(&mut self, uri: &ChannelUri) -> Option<Channel> {
        if *uri == self.root {
            return None;
        }
        let removed = self.table.remove(uri)?.channel;
        self.sessions -= usize::from(matches!(removed, Channel::Session(_)));
        if removed.has_directories() {
            self.directories.take();
        }
        Some(removed)
    }

    /// Removes a session, with its annotations.
    pub(crate) fn remove_session(&mut self, uri: &ChannelUri) -> Option<Session> {
        self.session(uri)?;
        self.remove(&ChannelUri::annotations_of(uri.as_str()));
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
