//! Versions up to 0.3 have sessions and no chats. A session and its default
//! chat are one thing to their clients; every other chat is a session of its
//! own: listed, announced, subscribed to and disposed of as one, under the
//! chat's URI.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::command::{Command, Dispatch};
use innkeeper_protocol::gates::up::PartialAction;
use innkeeper_protocol::newest::actions::{
    ChatIsArchivedChangedAction, ChatIsReadChangedAction, StateAction,
};
use innkeeper_protocol::newest::commands::DisposeChatParams;
use innkeeper_protocol::newest::notifications::{
    PartialSessionSummary, SessionAddedParams, SessionRemovedParams, SessionSummaryChangedParams,
};
use innkeeper_protocol::newest::state::{
    ChatSummary, SessionChatSummary, SessionStatus, SessionSummary,
};
use innkeeper_protocol::outgoing::{HostMessage, Notification, SummaryItem};
use innkeeper_protocol::record::SummaryFacts;
use innkeeper_protocol::version::Version;

use crate::catalogue::{Catalogue, read_pressed};
use crate::clients::Clients;
use crate::core::channels::compact;
use crate::core::{Core, Refusal};
use crate::effect::{ConnectionId, Effect, Subscriber};

/// What a command means whose sender takes chats for sessions.
pub(crate) fn command_meant(
    clients: &Clients,
    catalogue: &Catalogue,
    connection: ConnectionId,
    command: Command,
) -> Command {
    if clients.version_of(connection).has_chats() {
        return command;
    }
    let chat_meant = |channel| chat_as_meant(catalogue, channel);
    match command {
        Command::Dispatch(dispatch) => {
            Command::Dispatch(Box::new(dispatch_as_meant(catalogue, *dispatch)))
        }
        Command::ReadTurns(mut asked) => {
            asked.channel = chat_meant(asked.channel);
            Command::ReadTurns(asked)
        }
        Command::Complete(mut asked) => {
            asked.channel = chat_meant(asked.channel.into()).to_string();
            Command::Complete(asked)
        }
        Command::DisposeSession(params) if catalogue.is_further_chat(&params.channel) => {
            Command::DisposeChat(DisposeChatParams {
                channel: params.channel,
                meta: params.meta,
            })
        }
        other => other,
    }
}

/// The gates take what is done in a session for something done in its default
/// chat: they cannot know that it is a chat already.
fn chat_as_meant(catalogue: &Catalogue, channel: ChannelUri) -> ChannelUri {
    let named = channel.session_of_default_chat();
    let chat = named.filter(|named| catalogue.is_further_chat(named.as_str()));
    chat.unwrap_or(channel)
}

fn dispatch_as_meant(catalogue: &Catalogue, mut dispatch: Dispatch) -> Dispatch {
    dispatch.channel = chat_as_meant(catalogue, dispatch.channel);
    if !catalogue.is_further_chat(dispatch.channel.as_str()) {
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

/// Whether an action is about a chat that its sender takes for a session, so
/// that it cannot be meant for the session that the chat belongs to.
pub(super) fn takes_for_session(
    catalogue: &Catalogue,
    version: Version,
    channel: &ChannelUri,
) -> bool {
    !version.has_chats() && catalogue.is_further_chat(channel.as_str())
}

/// Such a session has no active client: its tools are those of the session that
/// the chat belongs to.
pub(super) fn refused_client(
    core: &Core,
    catalogue: &Catalogue,
    channel: &ChannelUri,
    partial: &PartialAction,
) -> Option<Refusal> {
    match partial {
        PartialAction::ActiveClient(_) | PartialAction::ClientTools(_) => {}
        PartialAction::Model(_) | PartialAction::Agent(_) => return None,
    }
    let session = catalogue.session_of_chat(core, channel);
    let session = session.unwrap_or(channel.clone());
    Some(format!("clients are active in the session `{session}`, not in this one").into())
}

/// The rows of a listing for a client that knows no chats.
pub(crate) fn with_chats_as_sessions(
    clients: &Clients,
    catalogue: &Catalogue,
    connection: ConnectionId,
    items: Vec<SummaryItem>,
) -> Vec<SummaryItem> {
    if clients.version_of(connection).has_chats() {
        return items;
    }
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let (row, facts) = match &item {
            SummaryItem::Stored(json, facts) => (
                read_pressed(json),
                facts.as_ref().and_then(read_pressed).unwrap_or_default(),
            ),
            SummaryItem::Live(row, facts) => (Some((**row).clone()), (**facts).clone()),
        };
        let row: Option<SessionSummary> = row;
        if row.as_ref().is_none_or(has_first_chat) {
            rows.push(item);
        }
        let Some(row) = row else {
            continue;
        };
        let chats = row.chats.iter().flatten();
        let further = chats.filter(|chat| catalogue.is_further_chat(&chat.resource));
        rows.extend(further.map(|chat| {
            let facts: SummaryFacts = facts.of_chat(&chat.resource);
            SummaryItem::Live(Box::new(as_session(&row, chat)), Box::new(facts))
        }));
    }
    rows
}

/// Emits an action on a session's list of chats, and tells those who know no
/// chats what it is to them.
pub(crate) fn emit_about_chats(
    core: &mut Core,
    clients: &Clients,
    catalogue: &Catalogue,
    session: &ChannelUri,
    action: StateAction,
) {
    core.emit(session, action.clone(), None);
    if let Some(news) = as_news_of_sessions(core, catalogue, session, &action) {
        notify_those_without_chats(core, clients, news);
    }
}

/// Tells what has changed in a session's row in older versions alone: there it
/// says what is selected, and in 0.2 which changesets there are.
pub(crate) fn tell_summary_facts(
    core: &mut Core,
    clients: &Clients,
    session: &ChannelUri,
    changed: SummaryFacts,
) {
    let news = |session: &str, facts: SummaryFacts| {
        let params = SessionSummaryChangedParams {
            channel: ChannelUri::root().to_string(),
            session: session.to_owned(),
            changes: PartialSessionSummary::default(),
        };
        Notification::SessionSummaryChanged(params, facts)
    };
    for chat in changed.chats.keys() {
        notify_those_without_chats(core, clients, news(chat, changed.of_chat(chat)));
    }
    let selects_for_session = |version: Version| !version.selects_per_message();
    notify_some(
        core,
        clients,
        selects_for_session,
        news(session.as_str(), changed),
    );
}

fn as_news_of_sessions(
    core: &Core,
    catalogue: &Catalogue,
    session: &ChannelUri,
    action: &StateAction,
) -> Option<Notification> {
    let channel = ChannelUri::root().to_string();
    match action {
        StateAction::SessionChatAdded(added) => as_new_session(core, session, &added.summary),
        StateAction::SessionChatRemoved(removed) => {
            Some(Notification::SessionRemoved(SessionRemovedParams {
                channel,
                session: removed.chat.clone(),
            }))
        }
        StateAction::SessionChatUpdated(update) => {
            let changes = &update.changes;
            let is_seen = changes.title.is_some() || changes.status.is_some();
            let params = SessionSummaryChangedParams {
                channel,
                session: update.chat.clone(),
                changes: PartialSessionSummary {
                    title: changes.title.clone(),
                    status: changes.status,
                    modified_at: changes.modified_at.clone(),
                    ..PartialSessionSummary::default()
                },
            };
            let news = Notification::SessionSummaryChanged(params, SummaryFacts::default());
            Some(news).filter(|_| is_seen && catalogue.is_further_chat(&update.chat))
        }
        _ => None,
    }
}

/// A new chat as a new session.
fn as_new_session(core: &Core, session: &ChannelUri, chat: &ChatSummary) -> Option<Notification> {
    let session = core.channels.session(session)?;
    let known = core.channels.chat(chat.resource.as_str());
    let selection = known.map(|chat| chat.notes.selection.clone());
    let facts = SummaryFacts {
        selection: selection.unwrap_or_default(),
        ..SummaryFacts::default()
    };
    let params = SessionAddedParams {
        channel: ChannelUri::root().to_string(),
        summary: as_session(&session.published, &compact(chat)),
    };
    Some(Notification::SessionAdded(params, facts))
}

/// A session begins with this chat.
pub(crate) fn announce_chat(
    core: &mut Core,
    clients: &Clients,
    session: &ChannelUri,
    chat: &ChatSummary,
) {
    if let Some(news) = as_new_session(core, session, chat) {
        notify_those_without_chats(core, clients, news);
    }
}

/// Tells everybody of a new session. One that was made for a chat is nothing to
/// those who know no chats: they have the chat.
pub(crate) fn announce_session(
    core: &mut Core,
    clients: &Clients,
    added: SessionAddedParams,
    facts: SummaryFacts,
) {
    let has_first_chat = has_first_chat(&added.summary);
    let news = Notification::SessionAdded(added, facts);
    let which = |version: Version| has_first_chat || version.has_chats();
    notify_some(core, clients, which, news);
}

/// Whether a session has the chat that is one with it for those who know no
/// chats.
fn has_first_chat(session: &SessionSummary) -> bool {
    let first = ChannelUri::default_chat_of(&session.resource);
    let is_first = |chat: &SessionChatSummary| *chat.resource == *first.as_str();
    session
        .chats
        .as_ref()
        .is_none_or(|chats| chats.iter().any(is_first))
}

/// A chat goes over to another session. Those who take it for a session are
/// told that it ends, and that there is another one of that name.
pub(crate) fn end_as_session(core: &mut Core, clients: &Clients, chat: &ChannelUri) {
    let followers = core.subscriptions.of_channel(chat);
    let followers = followers.iter().flat_map(|all| all.iter());
    let flat = followers.filter(|it| !clients.version_of(it.connection).has_chats());
    let flat: Vec<ConnectionId> = flat.map(|it| it.connection).collect();
    for connection in flat {
        core.subscriptions.remove(connection, chat);
    }
}

/// A chat goes with its session.
pub(crate) fn announce_end_of_chat(core: &mut Core, clients: &Clients, chat: &ChannelUri) {
    let removed = SessionRemovedParams {
        channel: ChannelUri::root().to_string(),
        session: chat.to_string(),
    };
    notify_those_without_chats(core, clients, Notification::SessionRemoved(removed));
}

fn notify_those_without_chats(core: &mut Core, clients: &Clients, news: Notification) {
    notify_some(core, clients, |version| !version.has_chats(), news);
}

fn notify_some(
    core: &mut Core,
    clients: &Clients,
    which: impl Fn(Version) -> bool,
    news: Notification,
) {
    let Some(all) = core.subscriptions.of_catalogue() else {
        return;
    };
    let concerned = |it: &&Subscriber| which(clients.version_of(it.connection));
    let to: Vec<Subscriber> = all.iter().filter(concerned).copied().collect();
    if !to.is_empty() {
        let message = HostMessage::Notification(Box::new(news));
        let to = to.into();
        core.effect(Effect::Publish { to, message });
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
