//! Clients of older protocol versions: what one channel is to them may be
//! several of the host's, and what they say in parts the host says at once.
//! How they say it is the gates' business; here is what only the host knows.
//!
//! What they want comes in by [`command_meant`] and [`Compat::dispatch_meant`].

mod chats_as_sessions;

use std::sync::Arc;

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::command::{Dispatch, ReadTurns, Said};
use innkeeper_protocol::gates::up::PartialAction;
use innkeeper_protocol::newest::actions::{
    ActionOrigin, ChatDraftChangedAction, SessionActiveClientRemovedAction,
    SessionActiveClientSetAction, SessionChangesetsChangedAction, StateAction,
};
use innkeeper_protocol::newest::state::{Message, SessionSummary};
use innkeeper_protocol::outgoing::{RejectionCode, Reply, TurnsReply};
use innkeeper_protocol::record::{ExtraFacts, Selection};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::snapshot::{ExtraState, Snapshot, SnapshotState};
use innkeeper_protocol::telemetry::is_telemetry_channel;
use innkeeper_protocol::version::Version;
use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::clients::Clients;
use crate::core::channels::Channel;
use crate::core::{Core, Refusal, Sender, changeset_uri};
use crate::customizations::{self, Customizations};
use crate::effect::ConnectionId;

pub(crate) use chats_as_sessions::{
    announce_chat, announce_end_of_chat, announce_session, command_meant, emit_about_chats,
    end_as_session, tell_summary_facts, with_chats_as_sessions,
};

use chats_as_sessions::{refused_client, takes_for_session};

#[derive(Debug, Default)]
pub(crate) struct Compat {
    /// Selections that wait until the turn of their chat has ended.
    deferred: HashMap<ChannelUri, Vec<DeferredSelection>>,
}

/// How many selections can wait for the end of one turn.
const MAX_DEFERRED: usize = 100;

/// A model or an agent that was selected while a turn ran: up to 0.4 that is
/// a change of the session, and waits for the end of the turn.
#[derive(Debug)]
struct DeferredSelection {
    /// Where it was said. A client that has come back since then hears of it
    /// with what it missed.
    connection: Option<ConnectionId>,
    origin: ActionOrigin,
    said: Arc<Said>,
}

/// What a client means by what it dispatched.
pub(crate) enum Meant {
    Action {
        channel: ChannelUri,
        action: StateAction,
        selection: SelectionMeant,
    },
    /// It may not.
    Refused {
        channel: ChannelUri,
        action: StateAction,
        refusal: Refusal,
    },
}

/// What a client means by an action about the model and the agent, which up to
/// 0.4 are selected for the session and not with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelectionMeant {
    /// What the message says, if it is about any.
    AsSaid,
    /// To select is all that it does.
    Changed,
    /// Its message is for what is selected when its turn begins.
    WhenTurnBegins,
}

impl Compat {
    /// What a client means by what it dispatched.
    pub(crate) fn dispatch_meant(
        &self,
        core: &Core,
        (clients, catalogue, customizations): (&Clients, &Catalogue, &Customizations),
        (connection, client): (ConnectionId, &str),
        dispatch: Dispatch,
    ) -> Meant {
        let Dispatch {
            channel,
            action,
            said,
            ..
        } = dispatch;
        let version = clients.version_of(connection);
        let partial = said.as_ref().and_then(|said| said.partial.as_ref());
        if let Some(partial) = partial {
            let refusal = match takes_for_session(catalogue, version, &channel) {
                true => refused_client(core, catalogue, &channel, partial),
                false => why_not_of_client(core, &channel, client, partial),
            };
            if let Some(refusal) = refusal {
                return Meant::Refused {
                    channel,
                    action,
                    refusal,
                };
            }
        }
        let whole = partial.and_then(|partial| completed(core, channel.clone(), client, partial));
        let selects = matches!(
            (&whole, partial),
            (
                Some(_),
                Some(PartialAction::Model(_) | PartialAction::Agent(_))
            )
        );
        // What cannot be completed is not what it should be, and refused as
        // such; or there is no such channel.
        let (channel, action) = whole.unwrap_or((channel, action));
        let channel = match takes_for_session(catalogue, version, &channel) {
            true => channel,
            false => channel_meant(core, channel, &action),
        };
        let (action, selection) = match selects {
            true => (action, SelectionMeant::Changed),
            false => with_selection(core, version, &channel, action),
        };
        let action = whole_switch(core, customizations, version, &channel, action);
        if let Some(reason) = why_not_active(core, version, &channel, client, &action) {
            return Meant::Refused {
                channel,
                action,
                refusal: Refusal::new(RejectionCode::Held, reason),
            };
        }
        Meant::Action {
            channel,
            action,
            selection,
        }
    }

    /// Keeps a selection for after the turn, if one is running. Returns whether
    /// it did; fails if too many wait already.
    pub(crate) fn defer_selection(
        &mut self,
        core: &Core,
        chat: &ChannelUri,
        sender: &Sender,
    ) -> Result<bool, Refusal> {
        let known = core.channels.chat(chat);
        let runs = known.is_some_and(|chat| chat.head.active_turn.is_some());
        let Some(said) = sender.said.as_ref().filter(|_| runs) else {
            return Ok(false);
        };
        let (origin, said) = (sender.origin.clone(), said.clone());
        let deferred = self.deferred.entry(chat.clone()).or_default();
        if deferred.len() >= MAX_DEFERRED {
            let reason = format!(
                "{MAX_DEFERRED} selections already wait for the end of this turn; select \
                 again when it has ended"
            );
            return Err(Refusal::new(RejectionCode::LimitReached, reason));
        }
        deferred.push(DeferredSelection {
            connection: sender.connection,
            origin,
            said,
        });
        Ok(true)
    }

    /// The turn has ended: what was selected meanwhile counts from now on.
    pub(crate) fn turn_ended(&mut self, core: &mut Core, clients: &Clients, uri: &ChannelUri) {
        if self.deferred.is_empty() {
            return;
        }
        for DeferredSelection {
            connection,
            origin,
            said,
        } in self.deferred.remove(uri).unwrap_or_default()
        {
            let partial = said.partial.as_ref();
            let whole = partial
                .and_then(|partial| completed(core, uri.clone(), &origin.client_id, partial));
            if let Some((chat, action)) = whole {
                let present = clients.connection_of(&origin.client_id);
                let sender = Sender {
                    connection: connection.filter(|it| present == Some(*it)),
                    origin,
                    said: Some(said),
                };
                core.emit(&chat, action, Some(sender));
            }
        }
    }

    /// The host is about to end, and a turn may go on in its next life: what
    /// was selected meanwhile counts for the turns behind it.
    pub(crate) fn host_ends(&mut self, core: &mut Core, clients: &Clients) {
        let mut chats: Vec<ChannelUri> = self.deferred.keys().cloned().collect();
        chats.sort();
        for chat in chats {
            self.turn_ended(core, clients, &chat);
        }
    }

    /// A chat has left memory.
    pub(crate) fn forget_chat(&mut self, chat: &ChannelUri) {
        self.deferred.remove(chat);
    }
}

/// Up to 0.4 a message does not say which model it is for: it is the one that
/// is selected when its turn begins.
fn with_selection(
    core: &Core,
    version: Version,
    channel: &ChannelUri,
    mut action: StateAction,
) -> (StateAction, SelectionMeant) {
    if version.selects_per_message() {
        return (action, SelectionMeant::AsSaid);
    }
    match &mut action {
        StateAction::ChatTurnStarted(started) => {
            if let Some(chat) = core.channels.chat(channel) {
                select(&mut started.message, &chat.notes.selection);
            }
            (action, SelectionMeant::AsSaid)
        }
        StateAction::ChatPendingMessageSet(set) => {
            select(&mut set.message, &Selection::default());
            (action, SelectionMeant::WhenTurnBegins)
        }
        _ => (action, SelectionMeant::AsSaid),
    }
}

/// Makes a message one for a model and an agent.
pub(crate) fn select(message: &mut Message, selection: &Selection) {
    message.model.clone_from(&selection.model);
    message.agent.clone_from(&selection.agent);
}

/// The other channel of the host that a channel is to this client: up to 0.3 a
/// session is also its default chat.
pub(crate) fn joined_to(
    core: &Core,
    clients: &Clients,
    catalogue: &Catalogue,
    (connection, channel): (ConnectionId, &ChannelUri),
) -> Option<ChannelUri> {
    let joins = !clients.version_of(connection).has_chats();
    let is_session = || {
        *channel != ChannelUri::root()
            && catalogue.session_of(core, channel).as_ref() == Some(channel)
    };
    (joins && is_session()).then(|| ChannelUri::default_chat_of(channel.as_str()))
}

/// The drafts have no watches, changesets and telemetry, and no way to be
/// subscribed to something that it is given no snapshot of.
pub(crate) fn has_no_word_for(
    core: &Core,
    clients: &Clients,
    connection: ConnectionId,
    channel: &ChannelUri,
) -> bool {
    let version = clients.version_of(connection);
    let is_of_automations = core.channels.automations(channel).is_some()
        || core.channels.automation_run(channel).is_some();
    let session = core.channels.session(channel);
    let has_none = !version.has_chats() && session.is_some_and(|it| !it.has_first_chat())
        || !version.has_annotations() && core.channels.annotations(channel).is_some()
        || !version.has_automations() && is_of_automations
        || !version.has_canvases() && core.channels.canvas(channel).is_some();
    has_none
        || !version.has_watches()
            && (core.channels.watch(channel).is_some()
                || is_telemetry_channel(channel.as_str())
                || changeset_uri::parse(channel).is_some())
}

/// Adds to a snapshot what older versions show with it.
pub(crate) fn with_what_is_beside(
    core: &Core,
    clients: &Clients,
    connection: ConnectionId,
    mut snapshot: Snapshot,
) -> Snapshot {
    if clients.version_of(connection).shows_each_state_alone() {
        return snapshot;
    }
    let channel = &snapshot.resource;
    let is_session = matches!(snapshot.state, SnapshotState::Session(_))
        && !clients.version_of(connection).has_changesets();
    let (session, chat, state) = if let Some(chat) = core.channels.chat(channel) {
        let session = core.channels.session(&chat.session);
        let state = session.map(|it| SnapshotState::Session(Box::new(it.state.clone())));
        (session, Some(chat), state)
    } else {
        let default = ChannelUri::default_chat_of(channel.as_str());
        let chat = core.channels.chat(&default);
        let state = chat.map(|chat| SnapshotState::Chat(Box::new(chat.snapshot(None))));
        (core.channels.session(channel), chat, state)
    };
    // What has changed is told in the catalogue: those versions have no action
    // that would tell it here.
    let summary = session.map(|session| SessionSummary {
        changes: None,
        ..session.published.clone()
    });
    snapshot.extra = Some(Box::new(ExtraState {
        summary,
        state,
        selection: chat
            .map(|chat| chat.notes.selection.clone())
            .unwrap_or_default(),
        changes: session.and_then(|session| session.changes.clone()),
        diffs: is_session
            .then(|| session.map(|session| session.diffs.clone()))
            .flatten(),
    }));
    snapshot
}

/// Some clients send a session's actions over the channel of its chat.
fn channel_meant(core: &Core, channel: ChannelUri, action: &StateAction) -> ChannelUri {
    let of_session = matches!(
        action,
        StateAction::SessionTitleChanged(_)
            | StateAction::SessionIsReadChanged(_)
            | StateAction::SessionIsArchivedChanged(_)
    );
    match core.channels.get(&channel) {
        Some(Channel::Chat(chat)) if of_session => chat.session.clone(),
        _ => channel,
    }
}

/// The whole action of which a client said a part, with its channel.
fn completed(
    core: &Core,
    channel: ChannelUri,
    client_id: &str,
    partial: &PartialAction,
) -> Option<(ChannelUri, StateAction)> {
    match partial {
        PartialAction::Model(_) | PartialAction::Agent(_) => {
            let chat = match core.channels.chat(&channel) {
                Some(_) => channel,
                None => ChannelUri::default_chat_of(channel.as_str()),
            };
            let state = core.channels.chat(&chat)?;
            let draft = state.head.draft.as_ref();
            let draft = draft.and_then(|it| serde_json::to_value(it).ok());
            let draft = partial.complete_draft(draft)?;
            let draft = serde_json::from_value(draft.into()).ok()?;
            let action = ChatDraftChangedAction { draft: Some(draft) };
            Some((chat, StateAction::ChatDraftChanged(action)))
        }
        PartialAction::ActiveClient(Value::Null) => {
            let client_id = client_id.to_owned();
            let removed = SessionActiveClientRemovedAction { client_id };
            let action = StateAction::SessionActiveClientRemoved(removed);
            core.channels.session(&channel).map(|_| (channel, action))
        }
        PartialAction::ActiveClient(_) | PartialAction::ClientTools(_) => {
            let clients = &core.channels.session(&channel)?.state.active_clients;
            let mine = clients.iter().find(|client| client.client_id == client_id);
            let mine = mine.and_then(|it| serde_json::to_value(it).ok());
            let client = partial.complete_client(mine)?;
            let active_client = serde_json::from_value(client.into()).ok()?;
            let set = SessionActiveClientSetAction { active_client };
            Some((channel, StateAction::SessionActiveClientSet(set)))
        }
    }
}

/// Up to 0.4 a client changes its tools, or leaves, without saying who it is:
/// that is for the client that is active to say.
fn why_not_of_client(
    core: &Core,
    channel: &ChannelUri,
    client_id: &str,
    partial: &PartialAction,
) -> Option<Refusal> {
    let what_to_do = match partial {
        PartialAction::ActiveClient(Value::Null) => "there is nothing for it to release",
        PartialAction::ClientTools(_) => {
            "dispatch `session/activeClientChanged` with these tools to become active"
        }
        PartialAction::ActiveClient(_) | PartialAction::Model(_) | PartialAction::Agent(_) => {
            return None;
        }
    };
    let clients = &core.channels.session(channel)?.state.active_clients;
    let is_active = clients.iter().any(|client| client.client_id == client_id);
    (!is_active)
        .then(|| format!("client `{client_id}` is not active in this session; {what_to_do}").into())
}

/// In 0.4 the model and the agent are the session's, and are told with its
/// default chat: whoever follows the session and comes to follow the chat is
/// told what they are now.
pub(crate) fn tell_selection(
    core: &mut Core,
    clients: &Clients,
    connection: ConnectionId,
    channel: &ChannelUri,
) {
    let chat = core.channels.chat(channel);
    let Some(chat) = chat.filter(|chat| chat.is_default) else {
        return;
    };
    let version = clients.version_of(connection);
    let is_concerned = version.has_chats()
        && !version.selects_per_message()
        && core.subscriptions.contains(connection, &chat.session);
    if is_concerned {
        let Selection { model, agent } = &chat.notes.selection;
        let extra = ExtraFacts {
            model: model.as_ref().and_then(|it| serde_json::to_value(it).ok()),
            agent: serde_json::to_value(agent).ok(),
            ..ExtraFacts::default()
        };
        let action = StateAction::ChatDraftChanged(ChatDraftChangedAction { draft: None });
        core.emit_to_about(connection, channel, action, Some(Box::new(extra)));
    }
}

/// In 0.2 a session's list of changesets says how much there is in them, which
/// changes while the list stays: it is told again to older versions alone.
pub(crate) fn tell_counts(core: &mut Core, clients: &Clients, session: &ChannelUri) {
    for connection in followers_of(core, session) {
        tell_counts_to(core, clients, connection, session);
    }
}

fn followers_of(core: &Core, session: &ChannelUri) -> Vec<ConnectionId> {
    let all = core.subscriptions.of_channel(session);
    let all = all.iter().flat_map(|all| all.iter());
    all.map(|subscriber| subscriber.connection).collect()
}

/// Likewise, to one who may have missed it: it is in no log.
pub(crate) fn tell_counts_to(
    core: &mut Core,
    clients: &Clients,
    connection: ConnectionId,
    session: &ChannelUri,
) {
    if clients.version_of(connection).shows_each_state_alone() {
        return;
    }
    let Some(known) = core.channels.session(session) else {
        return;
    };
    let (changesets, changes) = (known.state.changesets.clone(), known.changes.as_ref());
    if changesets.is_some()
        && let Some(changes) = changes.and_then(|it| serde_json::to_value(it).ok())
    {
        let extra = ExtraFacts {
            changes: Some(changes),
            ..ExtraFacts::default()
        };
        let action = SessionChangesetsChangedAction { changesets };
        let action = StateAction::SessionChangesetsChanged(action);
        core.emit_to_about(connection, session, action, Some(Box::new(extra)));
    }
}

/// In the drafts a session's row says which files have changed.
pub(crate) fn tell_diffs(core: &mut Core, clients: &Clients, session: &ChannelUri) {
    for connection in followers_of(core, session) {
        tell_diffs_to(core, clients, connection, session);
    }
}

/// Likewise, to one who may have missed it: it is in no log.
pub(crate) fn tell_diffs_to(
    core: &mut Core,
    clients: &Clients,
    connection: ConnectionId,
    session: &ChannelUri,
) {
    if clients.version_of(connection).has_changesets() {
        return;
    }
    let Some(known) = core.channels.session(session) else {
        return;
    };
    let diffs = known.diffs.iter().map(serde_json::to_value);
    let extra = ExtraFacts {
        diffs: diffs.collect::<Result<_, _>>().ok(),
        ..ExtraFacts::default()
    };
    let changesets = known.state.changesets.clone();
    let action = SessionChangesetsChangedAction { changesets };
    let action = StateAction::SessionChangesetsChanged(action);
    core.emit_to_about(connection, session, action, Some(Box::new(extra)));
}

/// Up to 0.4 one client at a time is active in a session.
fn why_not_active(
    core: &Core,
    version: Version,
    channel: &ChannelUri,
    client_id: &str,
    action: &StateAction,
) -> Option<String> {
    let StateAction::SessionActiveClientSet(_) = action else {
        return None;
    };
    if version.has_many_active_clients() {
        return None;
    }
    let clients = &core.channels.session(channel)?.state.active_clients;
    if clients.iter().any(|client| client.client_id == client_id) {
        return None;
    }
    let other = clients.first()?;
    Some(format!(
        "client `{}` is active in this session; it has to leave first",
        other.client_id
    ))
}

/// Up to 0.7 a switch was on or off: what was decided for more than the session
/// stays. In the drafts it was named by URI.
fn whole_switch(
    core: &Core,
    customizations: &Customizations,
    version: Version,
    channel: &ChannelUri,
    action: StateAction,
) -> StateAction {
    if version.switches_in_scopes() {
        return action;
    }
    let StateAction::SessionCustomizationToggled(mut toggled) = action else {
        return action;
    };
    if let Some(session) = core.channels.session(channel) {
        if !version.switches_by_id() {
            let all = session.state.customizations.iter().flatten();
            let id = customizations::id_of_uri(all, &toggled.id).map(str::to_owned);
            toggled.id = id.unwrap_or(toggled.id);
        }
        let others = customizations.decisions_beyond(session, &toggled.id);
        toggled.enablement.extend(others);
    }
    StateAction::SessionCustomizationToggled(toggled)
}

/// History as versions up to 0.4 ask for it.
pub(crate) fn read_turns(core: &Core, asked: &ReadTurns) -> Result<Reply, RpcError> {
    let Some(chat) = core.channels.chat(&asked.channel) else {
        return Err(RpcError::session_not_found(asked.channel.as_str()));
    };
    let end = match &asked.before {
        Some(turn) => chat
            .place_of(turn)
            .ok_or_else(|| RpcError::invalid_params(format!("unknown turn `{turn}`")))?,
        None => chat.turns.len(),
    };
    let most = core.config.limits.page_turns;
    let limit = asked.limit.and_then(|limit| usize::try_from(limit).ok());
    let start = end.saturating_sub(limit.unwrap_or(most).min(most));
    Ok(Reply::Turns(TurnsReply {
        turns: chat.turns[start..end].to_vec(),
        has_more: start > 0,
        inputs: core.inputs.of_session(&chat.session),
    }))
}
