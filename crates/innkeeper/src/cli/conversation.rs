//! A session of a running host, as commands use it: how it is found, what is
//! heard of it, and whether the host took what was said.

use std::collections::VecDeque;
use std::path::Path;

use ahp::ahp_types::actions::{ActionEnvelope, StateAction};
use ahp::ahp_types::commands::{
    ListSessionsParams, ListSessionsResult, SubscribeParams, SubscribeResult,
};
use ahp::ahp_types::state::{
    ChatState, Message, MessageKind, MessageOrigin, ModelSelection, SessionState, SessionSummary,
    SnapshotState, TerminalState,
};
use ahp::{Client, SubscriptionEvent};
use anyhow::{Context as _, Result, anyhow, bail};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::ROOT_RESOURCE_URI;
use innkeeper_workspace::uri_of_path;
use tokio::sync::mpsc;

use super::client::{ConnectionLost, PATIENCE, explained, own_id};
use super::sessions::ids;

pub(crate) type Events = mpsc::UnboundedReceiver<ActionEnvelope>;

/// The host did not take what was said.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

/// A client that hears everything in its order.
pub(crate) struct Conversation {
    pub(crate) client: Client,
    events: Events,
    /// What came while something else was waited for.
    kept: VecDeque<ActionEnvelope>,
}

impl Conversation {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            events: events_of(&client),
            client,
            kept: VecDeque::new(),
        }
    }

    /// What happens next in any of the channels; nothing if the connection ends.
    pub(crate) async fn next(&mut self) -> Option<ActionEnvelope> {
        match self.kept.pop_front() {
            Some(kept) => Some(kept),
            None => self.events.recv().await,
        }
    }

    /// The session that a user means by a part of its id.
    pub(crate) async fn find(&self, id: &str) -> Result<SessionSummary> {
        let all = list(&self.client).await?;
        let uris: Vec<&str> = all.iter().map(|it| it.resource.as_str()).collect();
        let uri = ids::resolve(id, &uris)?.to_owned();
        let found = all.into_iter().find(|it| it.resource == uri);
        found.with_context(|| format!("the session {uri} is gone"))
    }

    /// The session in a directory that was changed last.
    pub(crate) async fn latest_in(&self, directory: &str) -> Result<SessionSummary> {
        let all = list(&self.client).await?;
        let here = all.into_iter().filter(|it| is_in(it, directory));
        let latest = here.max_by(|a, b| a.modified_at.cmp(&b.modified_at));
        latest.context(
            "this directory has no session to continue; leave out --continue, or name \
             one with --session",
        )
    }

    pub(crate) async fn session(&self, uri: &str) -> Result<SessionState> {
        match self.subscribe(uri).await? {
            Some(SnapshotState::Session(state)) => Ok(*state),
            _ => bail!("the session {uri} is gone"),
        }
    }

    pub(crate) async fn chat(&self, uri: &str) -> Result<ChatState> {
        match self.subscribe(uri).await? {
            Some(SnapshotState::Chat(state)) => Ok(*state),
            _ => bail!("the chat {uri} is gone"),
        }
    }

    pub(crate) async fn terminal(&self, uri: &str) -> Result<TerminalState> {
        match self.subscribe(uri).await? {
            Some(SnapshotState::Terminal(state)) => Ok(*state),
            _ => bail!("the terminal {uri} is gone"),
        }
    }

    async fn subscribe(&self, channel: &str) -> Result<Option<SnapshotState>> {
        let params = SubscribeParams {
            channel: channel.to_owned(),
            meta: None,
            delivery: None,
            view: None,
        };
        let subscribed = self
            .client
            .request::<_, SubscribeResult>("subscribe", params);
        let result = subscribed.await.map_err(explained)?;
        Ok(result.snapshot.map(|snapshot| snapshot.state))
    }

    /// Says something, and waits until the host has taken it. What was said
    /// before it in the same channel is past; the rest can still be heard.
    pub(crate) async fn say(&mut self, channel: &str, action: StateAction) -> Result<()> {
        let sent = self.client.dispatch(channel.to_owned(), action);
        let number = sent.await.map_err(explained)?.client_seq;
        let own = own_id();
        let answer = async {
            while let Some(envelope) = self.events.recv().await {
                let is_ours = envelope
                    .origin
                    .as_ref()
                    .is_some_and(|it| it.client_id == own && it.client_seq == number);
                if is_ours {
                    return match envelope.rejection_reason {
                        Some(reason) => Err(Refused(reason).into()),
                        None => Ok(()),
                    };
                }
                if envelope.channel != channel {
                    self.kept.push_back(envelope);
                }
            }
            Err(ConnectionLost.into())
        };
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        answer.map_err(|_| anyhow!("the host did not answer in time; try again"))?
    }
}

/// Whether a session works in a directory.
pub(crate) fn is_in(summary: &SessionSummary, directory: &str) -> bool {
    let directories = summary.working_directories.iter().flatten();
    let wanted = directory.trim_end_matches('/');
    directories
        .map(|it| it.trim_end_matches('/'))
        .any(|it| it == wanted)
}

/// The chat that a session is about.
pub(crate) fn chat_of(summary: &SessionSummary) -> String {
    let default = || ChannelUri::default_chat_of(&summary.resource).to_string();
    summary.default_chat.clone().unwrap_or_else(default)
}

/// What the user says.
pub(crate) fn message(text: String, model: Option<String>) -> Message {
    Message {
        text,
        origin: MessageOrigin {
            kind: MessageKind::User,
        },
        attachments: None,
        model: model.map(|id| ModelSelection { id, config: None }),
        agent: None,
        meta: None,
    }
}

/// A directory of this machine, as the host names it.
pub(crate) fn working_directory(given: Option<&Path>) -> Result<String> {
    let path = given.unwrap_or(Path::new("."));
    let found = path.canonicalize().ok().filter(|path| path.is_dir());
    let uri = found.as_deref().and_then(uri_of_path);
    uri.with_context(|| format!("the directory does not exist: {}", path.display()))
}

/// All sessions of a host.
pub(crate) async fn list(client: &Client) -> Result<Vec<SessionSummary>> {
    let (mut sessions, mut cursor) = (Vec::new(), None);
    loop {
        let params = ListSessionsParams {
            channel: ROOT_RESOURCE_URI.to_owned(),
            meta: None,
            limit: None,
            cursor: cursor.take(),
        };
        let page = client.request::<_, ListSessionsResult>("listSessions", params);
        let page = page.await.map_err(explained)?;
        sessions.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(sessions);
        }
    }
}

/// Actions in their order. They wait here rather than at the client, which
/// drops what a slow reader does not take: standard output may be slow.
fn events_of(client: &Client) -> Events {
    let mut stream = client.events();
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(event) = stream.recv().await {
            if let SubscriptionEvent::Action(action) = event.event
                && sender.send(action).is_err()
            {
                return;
            }
        }
    });
    receiver
}
