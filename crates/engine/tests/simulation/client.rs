//! A client: what it has asked, what it holds, and how it takes in what it
//! hears. It believes the host wherever the protocol lets it, and complains
//! where the host breaks a promise.

use std::collections::{BTreeMap, BTreeSet};

use ahp::reducers::{
    apply_action_to_annotations, apply_action_to_changeset, apply_action_to_chat,
    apply_action_to_root, apply_action_to_session,
};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{ActionEnvelope, StateAction};
use innkeeper_protocol::newest::notifications::PartialSessionSummary;
use innkeeper_protocol::newest::state::SessionSummary;
use serde_json::{Value, json};

use crate::annotations;
use crate::changes;
use crate::hear::{Answer, Heard, Shot, State};

pub(crate) const ROOT: &str = "ahp-root://";

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Initialize,
    Reconnect,
    Subscribe(String),
    /// A subscription that was ended before it was answered.
    Abandoned,
    Unsubscribe(String),
    /// The whole catalogue, or a page of it.
    List {
        whole: bool,
    },
    Create(String),
    Dispose(String),
    Read,
    Write,
    Resolve,
    Other,
}

#[derive(Debug)]
pub(crate) struct Mirror {
    pub(crate) state: State,
    pub(crate) seq: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Client {
    pub(crate) id: String,
    /// The connection, while there is one.
    pub(crate) wire: Option<u64>,
    /// The host has answered the handshake.
    pub(crate) ready: bool,
    pub(crate) last_seen: i64,
    pub(crate) mirrors: BTreeMap<String, Mirror>,
    pub(crate) asked: BTreeMap<i64, Asked>,
    /// Answers without an id that are still to come.
    pub(crate) complaints: usize,
    /// The host's sessions, kept up to date by notifications.
    pub(crate) catalogue: Option<BTreeMap<String, SessionSummary>>,
    pub(crate) next_page: Option<String>,
    /// All pages of a listing so far.
    pub(crate) pages: Vec<SessionSummary>,
    /// Channels left without waiting for the answer.
    pub(crate) left: BTreeSet<String>,
    /// Chats that are not in the session any more that they were in. They may
    /// be in another one, and go on there.
    strayed: BTreeSet<String>,
    /// The highest number heard over this connection.
    heard: i64,
    requests: i64,
    dispatches: i64,
}

impl Client {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// The connection is gone, and with it what was under way.
    pub(crate) fn disconnected(&mut self) {
        self.wire = None;
        self.ready = false;
        for asked in std::mem::take(&mut self.asked).into_values() {
            if let Asked::Unsubscribe(channel) = asked {
                self.mirrors.remove(&channel);
            }
        }
        self.left.clear();
        self.strayed.clear();
        self.complaints = 0;
        self.heard = 0;
        self.catalogue = None;
        self.next_page = None;
    }

    /// The text of a request.
    pub(crate) fn ask(&mut self, method: &str, params: &Value, asked: Asked) -> String {
        self.requests += 1;
        let id = self.requests;
        self.asked.insert(id, asked);
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    }

    pub(crate) fn leave_at_once(&mut self, channel: &str) -> String {
        self.mirrors.remove(channel);
        self.left.insert(channel.to_owned());
        for asked in self.asked.values_mut() {
            if matches!(asked, Asked::Subscribe(awaited) if awaited == channel) {
                *asked = Asked::Abandoned;
            }
        }
        json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": channel}})
            .to_string()
    }

    pub(crate) fn dispatch(&mut self, channel: &str, action: &Value) -> String {
        self.dispatches += 1;
        json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": {
            "channel": channel, "clientSeq": self.dispatches, "action": action,
        }})
        .to_string()
    }

    pub(crate) fn hear(&mut self, heard: Heard) -> Result<(), String> {
        match heard {
            Heard::Action(envelope) => self.hear_action(*envelope),
            Heard::Added(added) => {
                if let Some(catalogue) = &mut self.catalogue {
                    catalogue.insert(added.summary.resource.clone(), added.summary);
                }
                Ok(())
            }
            Heard::Removed(removed) => {
                self.forget_session(&removed.session);
                Ok(())
            }
            Heard::Changed(changed) => {
                let catalogue = self.catalogue.as_mut();
                if let Some(row) = catalogue.and_then(|all| all.get_mut(&changed.session)) {
                    update(row, changed.changes);
                }
                Ok(())
            }
            Heard::Failure(None, _) => match self.complaints.checked_sub(1) {
                Some(left) => {
                    self.complaints = left;
                    Ok(())
                }
                None => Err("an answer to nothing".to_owned()),
            },
            Heard::Failure(Some(id), code) => match self.asked.remove(&id) {
                None => Err(format!("a second answer to request {id}")),
                Some(Asked::Initialize | Asked::Reconnect) if code != -32603 => {
                    Err(format!("the handshake failed: {code}"))
                }
                Some(_) => Ok(()),
            },
            Heard::Reply(id, answer) => match self.asked.remove(&id) {
                None => Err(format!("a second answer to request {id}")),
                Some(asked) => self.hear_answer(asked, answer),
            },
        }
    }

    fn hear_action(&mut self, envelope: ActionEnvelope) -> Result<(), String> {
        let seq = envelope.server_seq as i64;
        if let Some(reason) = &envelope.rejection_reason {
            let mine = envelope.origin.is_some_and(|o| o.client_id == self.id);
            if !mine || reason.is_empty() {
                return Err("a rejection that is not for me, or says nothing".to_owned());
            }
            // One that overtakes what waits for the store has no number.
            if seq != 0 && seq < self.heard {
                return Err(format!("rejected at {seq} after {}", self.heard));
            }
            self.last_seen = self.last_seen.max(seq);
            return Ok(());
        }
        if seq <= self.heard {
            return Err(format!("{seq} came after {}", self.heard));
        }
        self.heard = seq;
        self.last_seen = self.last_seen.max(seq);
        // Whoever says something is answered, wherever it was said.
        let origin = envelope.origin.as_ref();
        let mine = origin.is_some_and(|origin| origin.client_id == self.id);
        let channel = &envelope.channel;
        let left = self.left.contains(channel) || self.strayed.contains(channel);
        if !mine && !self.mirrors.contains_key(channel) && !left {
            return Err(format!("{} was not subscribed to", envelope.channel));
        }
        self.fold(&envelope)
    }

    fn fold(&mut self, envelope: &ActionEnvelope) -> Result<(), String> {
        let seq = envelope.server_seq as i64;
        if let StateAction::SessionChatRemoved(removed) = &envelope.action
            && self.mirrors.remove(&removed.chat).is_some()
        {
            self.strayed.insert(removed.chat.clone());
        }
        let Some(mirror) = self.mirrors.get_mut(&envelope.channel) else {
            return Ok(());
        };
        if seq <= mirror.seq {
            return Err(format!("{seq} was in the snapshot of {}", mirror.seq));
        }
        mirror.seq = seq;
        match &mut mirror.state {
            State::Root(state) => apply_action_to_root(state, &envelope.action),
            State::Session(state) => apply_action_to_session(state, &envelope.action),
            State::Chat(state) => apply_action_to_chat(state, &envelope.action),
            State::Changeset(state) => apply_action_to_changeset(state, &envelope.action),
            State::Annotations(state) => apply_action_to_annotations(state, &envelope.action),
        };
        Ok(())
    }

    fn hear_answer(&mut self, asked: Asked, answer: Answer) -> Result<(), String> {
        match (asked, answer) {
            (Asked::Initialize, Answer::Welcome { server_seq, shots }) => {
                if server_seq < self.last_seen {
                    return Err(format!("told {server_seq} after {}", self.last_seen));
                }
                self.mirrors.clear();
                self.ready = true;
                self.last_seen = server_seq;
                self.take_all(shots)
            }
            (Asked::Reconnect, Answer::Replay { actions, missing }) => {
                self.ready = true;
                for channel in missing {
                    self.mirrors.remove(&channel);
                }
                let seen = self.last_seen;
                for envelope in actions {
                    let seq = envelope.server_seq as i64;
                    if seq <= self.heard || seq <= seen {
                        return Err(format!("a replay of {seq}, and {seen} was seen"));
                    }
                    self.heard = seq;
                    self.last_seen = seq;
                    self.fold(&envelope)?;
                }
                Ok(())
            }
            (Asked::Reconnect, Answer::Afresh(shots)) => {
                self.ready = true;
                self.mirrors.clear();
                self.take_all(shots)
            }
            (Asked::Subscribe(_), Answer::Subscribed(shot)) => self.take_all(shot),
            (Asked::Unsubscribe(channel), Answer::Done) => {
                self.mirrors.remove(&channel);
                Ok(())
            }
            (Asked::List { whole }, Answer::Listed { items, next }) => {
                if whole && next.is_none() {
                    let rows = items.iter().map(|row| (row.resource.clone(), row.clone()));
                    self.catalogue = Some(rows.collect());
                }
                self.pages.extend(items);
                self.next_page = next;
                Ok(())
            }
            (Asked::Resolve, Answer::Resolved(resolved)) => {
                let mut unknown = resolved.values.keys();
                match unknown.find(|key| !resolved.schema.properties.contains_key(*key)) {
                    Some(key) => Err(format!("a value for `{key}`, which there is not")),
                    None => Ok(()),
                }
            }
            (Asked::Abandoned, Answer::Subscribed(_) | Answer::Done)
            | (Asked::Read, Answer::Content)
            | (Asked::Write, Answer::Content | Answer::Done)
            | (Asked::Create(_) | Asked::Dispose(_) | Asked::Other, Answer::Done) => Ok(()),
            (asked, answer) => Err(format!("{asked:?} was answered with {answer:?}")),
        }
    }

    fn take_all(&mut self, shots: impl IntoIterator<Item = Shot>) -> Result<(), String> {
        for shot in shots {
            if shot.from_seq < self.heard {
                return Err(format!(
                    "a snapshot of {} after {}",
                    shot.from_seq, self.heard
                ));
            }
            self.heard = shot.from_seq;
            self.last_seen = self.last_seen.max(shot.from_seq);
            self.left.remove(&shot.channel);
            self.strayed.remove(&shot.channel);
            let mirror = Mirror {
                state: shot.state,
                seq: shot.from_seq,
            };
            self.mirrors.insert(shot.channel, mirror);
        }
        Ok(())
    }

    pub(crate) fn forget_session(&mut self, session: &str) {
        if let Some(catalogue) = &mut self.catalogue {
            catalogue.remove(session);
        }
        self.mirrors
            .remove(ChannelUri::default_chat_of(session).as_str());
        self.mirrors.remove(&annotations::channel_of(session));
        let changesets = changes::prefix(session);
        self.mirrors.retain(|uri, _| !uri.starts_with(&changesets));
        if let Some(Mirror {
            state: State::Session(state),
            ..
        }) = self.mirrors.remove(session)
        {
            for chat in &state.chats {
                self.mirrors.remove(&chat.resource);
            }
        }
    }

    /// A further chat that is followed without its session: nobody will say
    /// when it ends, so the client lets go of it.
    pub(crate) fn orphan(&self) -> Option<String> {
        let listed = |uri: &str| {
            self.mirrors.values().any(|mirror| match &mirror.state {
                State::Session(state) => state.chats.iter().any(|chat| chat.resource == uri),
                _ => false,
            })
        };
        let chats = self.mirrors.keys().filter(|uri| uri.contains("chat:/"));
        chats
            .filter(|uri| !uri.starts_with("ahp-chat://"))
            .find(|uri| !listed(uri))
            .cloned()
    }

    /// The turns of a chat that this client knows.
    pub(crate) fn turns(&self, chat: &str) -> Vec<String> {
        match self.mirrors.get(chat).map(|mirror| &mirror.state) {
            Some(State::Chat(state)) => state.turns.iter().map(|turn| turn.id.clone()).collect(),
            _ => Vec::new(),
        }
    }
}

fn update(row: &mut SessionSummary, changes: PartialSessionSummary) {
    fn set<T>(field: &mut T, change: Option<T>) {
        if let Some(value) = change {
            *field = value;
        }
    }
    set(&mut row.title, changes.title);
    set(&mut row.status, changes.status);
    set(&mut row.modified_at, changes.modified_at);
    set(&mut row.chats, changes.chats.map(Some));
    set(&mut row.changes, changes.changes.map(Some));
    set(&mut row.annotations, changes.annotations.map(Some));
    set(&mut row.project, changes.project.map(Some));
    set(&mut row.meta, changes.meta.map(Some));
    let directories = changes.working_directories.map(Some);
    set(&mut row.working_directories, directories);
    set(&mut row.default_chat, changes.default_chat.map(Some));
    let activity = changes
        .activity
        .map(|text| (!text.is_empty()).then_some(text));
    set(&mut row.activity, activity);
}
