//! Versions up to 0.3 have sessions and no chats. A session and its default
//! chat are one thing to their clients (see `older`); every other chat is a
//! session of its own: listed, announced, subscribed to and disposed of as
//! one, under the chat's URI.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::command::{Command, Dispatch};
use innkeeper_protocol::gates::up::Piece;
use innkeeper_protocol::house::actions::{
    ActionOrigin, ChatIsArchivedChangedAction, ChatIsReadChangedAction, StateAction,
};
use innkeeper_protocol::house::commands::DisposeChatParams;
use innkeeper_protocol::house::notifications::{
    PartialSessionSummary, SessionAddedParams, SessionRemovedParams, SessionSummaryChangedParams,
};
use innkeeper_protocol::house::state::{SessionChatSummary, SessionStatus, SessionSummary};
use innkeeper_protocol::outgoing::{HostMessage, Notification, SummaryItem};

use crate::summary::compact;
use crate::{ConnectionId, Effect, Engine, Subscriber};

impl Engine {
    fn knows_no_chats(&self, connection: ConnectionId) -> bool {
        !self.version_of(connection).has_chats()
    }

    /// What a command means whose sender takes chats for sessions.
    pub(crate) fn as_meant(&self, connection: ConnectionId, command: Command) -> Command {
        if !self.knows_no_chats(connection) {
            return command;
        }
        match command {
            Command::Dispatch(dispatch) => {
                Command::Dispatch(Box::new(self.dispatch_as_meant(*dispatch)))
            }
            Command::ReadTurns(mut asked) => {
                asked.channel = self.chat_as_meant(asked.channel);
                Command::ReadTurns(asked)
            }
            Command::Complete(mut asked) => {
                asked.channel = self.chat_as_meant(asked.channel.into()).to_string();
                Command::Complete(asked)
            }
            Command::DisposeSession(params) if self.homes.contains_key(params.channel.as_str()) => {
                Command::DisposeChat(DisposeChatParams {
                    channel: params.channel,
                    meta: params.meta,
                })
            }
            other => other,
        }
    }

    /// The gates take what is done in a session for something done in its
    /// default chat: they cannot know that it is a chat already.
    fn chat_as_meant(&self, channel: ChannelUri) -> ChannelUri {
        let named = channel.session_of_default_chat();
        let chat = named.filter(|named| self.homes.contains_key(named));
        chat.unwrap_or(channel)
    }

    fn dispatch_as_meant(&self, mut dispatch: Dispatch) -> Dispatch {
        dispatch.channel = self.chat_as_meant(dispatch.channel);
        if !self.homes.contains_key(&dispatch.channel) {
            return dispatch;
        }
        dispatch.action = match dispatch.action {
            StateAction::SessionIsReadChanged(change) => {
                let is_read = change.is_read;
                StateAction::ChatIsReadChanged(ChatIsReadChangedAction { is_read })
            }
            StateAction::SessionIsArchivedChanged(change) => {
                let is_archived = change.is_archived;
                StateAction::ChatIsArchivedChanged(ChatIsArchivedChangedAction { is_archived })
            }
            other => other,
        };
        dispatch
    }

    /// Whether an action is about a chat that its sender takes for a session,
    /// so that it cannot be meant for the session that the chat belongs to.
    pub(crate) fn takes_for_session(&self, connection: ConnectionId, channel: &ChannelUri) -> bool {
        self.knows_no_chats(connection) && self.homes.contains_key(channel)
    }

    /// Such a session has no active client: its tools are those of the session
    /// that the chat belongs to. Returns whether that had to be said.
    pub(crate) fn refuse_active_client(
        &mut self,
        connection: ConnectionId,
        channel: &ChannelUri,
        piece: &Piece,
        origin: &ActionOrigin,
    ) -> bool {
        let is_client = matches!(piece, Piece::ActiveClient(_) | Piece::ClientTools(_));
        if !is_client || !self.takes_for_session(connection, channel) {
            return false;
        }
        let session = self.session_of_chat(channel).unwrap_or(channel.clone());
        if let Some((_, action)) = self.completed(session.clone(), &origin.client_id, piece) {
            let reason = format!("clients are active in the session `{session}`, not in this one");
            self.reject(connection, channel.clone(), action, origin.clone(), reason);
        }
        true
    }

    /// The rows of a listing for a client that knows no chats.
    pub(crate) fn with_chats_as_sessions(
        &self,
        connection: ConnectionId,
        items: Vec<SummaryItem>,
    ) -> Vec<SummaryItem> {
        if !self.knows_no_chats(connection) {
            return items;
        }
        let mut rows = Vec::with_capacity(items.len());
        for item in items {
            let row = match &item {
                SummaryItem::Stored(json) => serde_json::from_str(json.get()).ok(),
                SummaryItem::Live(row) => Some((**row).clone()),
            };
            rows.push(item);
            let Some(row) = row else {
                continue;
            };
            let chats = row.chats.iter().flatten();
            let further = chats.filter(|chat| self.homes.contains_key(chat.resource.as_str()));
            rows.extend(further.map(|chat| SummaryItem::Live(Box::new(as_session(&row, chat)))));
        }
        rows
    }

    /// What an action on a session's list of chats is to them.
    pub(crate) fn announce_chats_as_sessions(
        &mut self,
        session: &ChannelUri,
        action: &StateAction,
    ) {
        let channel = || ChannelUri::root().to_string();
        let news = match action {
            StateAction::SessionChatAdded(added) => {
                let Some(session) = self.sessions.get(session) else {
                    return;
                };
                Notification::SessionAdded(SessionAddedParams {
                    channel: channel(),
                    summary: as_session(&session.published, &compact(&added.summary)),
                })
            }
            StateAction::SessionChatRemoved(removed) => {
                Notification::SessionRemoved(SessionRemovedParams {
                    channel: channel(),
                    session: removed.chat.clone(),
                })
            }
            StateAction::SessionChatUpdated(update) => {
                let is_further = self.homes.contains_key(update.chat.as_str());
                let changes = &update.changes;
                if !is_further || (changes.title.is_none() && changes.status.is_none()) {
                    return;
                }
                Notification::SessionSummaryChanged(SessionSummaryChangedParams {
                    channel: channel(),
                    session: update.chat.clone(),
                    changes: PartialSessionSummary {
                        title: changes.title.clone(),
                        status: changes.status,
                        modified_at: changes.modified_at.clone(),
                        ..PartialSessionSummary::default()
                    },
                })
            }
            _ => return,
        };
        self.notify_those_without_chats(news);
    }

    /// A chat goes with its session.
    pub(crate) fn announce_end_of_chat(&mut self, chat: &ChannelUri) {
        self.notify_those_without_chats(Notification::SessionRemoved(SessionRemovedParams {
            channel: ChannelUri::root().to_string(),
            session: chat.to_string(),
        }));
    }

    fn notify_those_without_chats(&mut self, news: Notification) {
        let Some(all) = self.subscriptions.of_channel(&ChannelUri::root()) else {
            return;
        };
        let without = all.iter().filter(|it| self.knows_no_chats(it.connection));
        let to: Vec<Subscriber> = without.copied().collect();
        if !to.is_empty() {
            let message = HostMessage::Notification(Box::new(news));
            self.step.effects.push(Effect::Publish {
                to: to.into(),
                message,
            });
        }
    }
}

/// The row of a chat in the circumstances of its session.
fn as_session(session: &SessionSummary, chat: &SessionChatSummary) -> SessionSummary {
    SessionSummary {
        resource: chat.resource.clone(),
        title: chat.title.clone(),
        status: chat.status.unwrap_or(SessionStatus::Idle.bits()),
        activity: None,
        annotations: None,
        changes: None,
        chats: None,
        default_chat: None,
        ..session.clone()
    }
}
