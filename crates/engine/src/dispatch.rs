//! Judging what clients dispatch. An action is applied as it came (but for
//! what the host decides itself), or goes back to its sender with a reason.
//!
//! *Invariant*: whatever is dispatched is echoed or rejected, also where it
//! changes nothing: a client goes on showing what it said, and says it again
//! when it comes back, until it is told what became of it. (The first two
//! versions of the protocol want silence about channels that do not exist.)

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::command::Dispatch;
use innkeeper_protocol::gates::up::Piece;
use innkeeper_protocol::house::actions::{
    ActionOrigin, ChatTurnCancelledAction, ChatTurnResumeAction, ChatTurnStartedAction,
    SessionActiveClientSetAction, SessionConfigChangedAction, StateAction,
};
use innkeeper_protocol::house::state::{
    ChatInteractivity, ChildCustomization, Customization, Message, MessageKind, ResponsePart,
    SessionLifecycle, TurnState,
};
use innkeeper_protocol::outgoing::{HostMessage, Rejection};
use innkeeper_protocol::record::StoreOp;
use innkeeper_protocol::settings::Synonym;
use serde_json::Value;

use crate::chats::Chat;
use crate::customizations::children_of;
use crate::labels::Locale;
use crate::requests::store_failure_message;
use crate::reviews::judge_for_changeset;
use crate::sessions::Session;
use crate::switches::{child_is_on, is_on, judge_switch};
use crate::{ConnectionId, Effect, Engine, config};

/// How much of a name is repeated to who said it.
const NAMED: usize = 200;

/// What becomes of an action.
#[expect(
    clippy::large_enum_variant,
    reason = "it is made and taken apart at once"
)]
pub(crate) enum Verdict {
    Apply(StateAction),
    Reject(String),
}

use Verdict::{Apply, Reject};

pub(crate) fn reject(reason: impl Into<String>) -> Verdict {
    Reject(reason.into())
}

impl Engine {
    pub(crate) fn dispatch(&mut self, connection: ConnectionId, dispatch: Dispatch) {
        let Some(client_id) = self.client_of(connection).map(str::to_owned) else {
            return;
        };
        let Dispatch {
            channel,
            client_seq,
            action,
            piece,
        } = dispatch;
        let origin = ActionOrigin {
            client_id: client_id.clone(),
            client_seq,
        };
        let (channel, action) = match &piece {
            None => (channel, action),
            Some(piece) if self.refuse_active_client(connection, &channel, piece, &origin) => {
                return;
            }
            Some(piece) => match self.completed(channel.clone(), &client_id, piece) {
                Some(whole) => whole,
                // It is not what it should be, and refused as such; or there is
                // no such channel.
                None => (channel, action),
            },
        };
        if self.terminals.contains_key(&channel) {
            return self.dispatch_to_terminal(connection, channel, action, origin);
        }
        let channel = match self.takes_for_session(connection, &channel) {
            true => channel,
            false => self.channel_meant(channel, &action),
        };
        let action = self.with_selection(connection, &channel, action);
        let action = self.whole_switch(connection, &channel, action);
        let refusal = self.why_not_active(connection, &channel, &client_id, &action);
        let verdict = if let Some(reason) = refusal {
            Reject(reason)
        } else if let Some(chat) = self.chats.get(&channel) {
            self.judge_for_chat(chat, &client_id, &action)
        } else if let Some(session) = self.sessions.get(&channel) {
            self.judge_for_session(session, &client_id, &action)
        } else if channel == ChannelUri::root() {
            self.judge_for_root(&action)
        } else if let Some(changeset) = self.changesets.get(&channel) {
            judge_for_changeset(changeset, &action)
        } else if self
            .version_of(connection)
            .is_silent_about_unknown_channels()
        {
            return;
        } else {
            let name: String = channel.as_str().chars().take(NAMED).collect();
            reject(format!("there is no `{name}`"))
        };
        self.use_session(&channel);
        let selects = piece.filter(|it| matches!(it, Piece::Model(_) | Piece::Agent(_)));
        match verdict {
            Apply(accepted) => {
                if let Some(piece) = selects
                    && self.defer_selection(&channel, piece, &origin)
                {
                    return;
                }
                let locale = self.locale_of(connection);
                self.apply_dispatched(&channel, accepted, origin, locale);
            }
            Reject(reason) => self.reject(connection, channel, action, origin, reason),
        }
    }

    /// Some clients send a session's actions over the channel of its chat.
    fn channel_meant(&self, channel: ChannelUri, action: &StateAction) -> ChannelUri {
        let of_session = matches!(
            action,
            StateAction::SessionTitleChanged(_)
                | StateAction::SessionIsReadChanged(_)
                | StateAction::SessionIsArchivedChanged(_)
        );
        match self.chats.get(&channel) {
            Some(chat) if of_session => chat.session.clone(),
            _ => channel,
        }
    }

    fn apply_dispatched(
        &mut self,
        channel: &ChannelUri,
        action: StateAction,
        origin: ActionOrigin,
        locale: Locale,
    ) {
        if let StateAction::ChatTruncated(cut) = &action {
            let kept = self.chats.get(channel).zip(cut.turn_id.as_deref());
            let kept = kept.and_then(|(chat, turn)| chat.position_of(turn));
            self.widen_views(channel, kept.map_or(0, |index| index + 1));
        }
        if let StateAction::ChatTurnResume(_) = &action {
            self.widen_older_views(channel);
        }
        // What the agent has to be told depends on what was running before.
        let was_running = self.chats.get_mut(channel).and_then(|chat| match action {
            StateAction::ChatTurnCancelled(_) | StateAction::ChatTruncated(_) => chat.turn.take(),
            _ => None,
        });
        let action = self.as_kept_in_state(channel, action);
        self.emit(channel, action.clone(), Some(origin));
        match action {
            StateAction::ChatTurnStarted(started) => {
                self.turn_started(channel, &started, locale);
            }
            StateAction::ChatTurnResume(resume) => {
                self.turn_resumed(channel, &resume.turn_id, locale);
            }
            StateAction::ChatTurnCancelled(_) => {
                if let Some(turn) = was_running {
                    self.turn_cancelled(channel, &turn);
                }
                self.next_pending_turn(channel, true);
            }
            StateAction::ChatTruncated(_) => {
                if let Some(turn) = was_running {
                    self.turn_cancelled(channel, &turn);
                }
                self.truncate_backend(channel);
            }
            StateAction::SessionTitleChanged(_) => {
                if let Some(session) = self.sessions.get_mut(channel) {
                    session.notes.title_is_open = false;
                }
            }
            StateAction::ChatToolCallConfirmed(confirmed) => {
                self.tool_confirmed(channel, confirmed);
            }
            StateAction::ChatToolCallComplete(complete) => {
                self.tool_result_settled(channel, &complete.tool_call_id);
            }
            StateAction::ChatToolCallResultConfirmed(confirmed) => {
                self.tool_result_settled(channel, &confirmed.tool_call_id);
            }
            StateAction::ChatInputCompleted(completed) => self.input_completed(channel, completed),
            StateAction::ChatPendingMessageSet(_) | StateAction::ChatPendingMessageRemoved(_) => {
                self.steer(channel);
                self.next_pending_turn(channel, false);
            }
            StateAction::ChatQueuedMessagesReordered(_) => self.next_pending_turn(channel, false),
            StateAction::SessionActiveClientSet(_) => self.offer_client_tools(channel),
            StateAction::SessionActiveClientRemoved(removed) => {
                self.active_client_left(channel, &removed.client_id);
            }
            StateAction::SessionConfigChanged(_) => self.configure_backends(channel),
            StateAction::SessionCustomizationToggled(toggled) => {
                self.customization_switched(channel, &toggled);
            }
            StateAction::ChangesetFilesReviewChanged(change) => {
                self.files_reviewed(channel, &change);
            }
            StateAction::RootConfigChanged(change) => {
                self.default_agent_is_chosen |= change.config.contains_key(config::DEFAULT_AGENT);
                let values = self.chosen_root_config();
                self.step
                    .store
                    .ops
                    .extend(values.map(|values| StoreOp::PutRootConfig { values }));
            }
            _ => {}
        }
    }

    pub(crate) fn reject(
        &mut self,
        to: ConnectionId,
        channel: ChannelUri,
        action: StateAction,
        origin: ActionOrigin,
        reason: String,
    ) {
        let rejection = Rejection {
            channel,
            action,
            server_seq: self.server_seq(),
            origin,
            reason,
        };
        let message = HostMessage::Rejection(Box::new(rejection));
        self.step.effects.push(Effect::Send { to, message });
    }

    /// While the store cannot write, nothing is accepted. The rejection
    /// overtakes what waits for the store, so it must not claim a number that
    /// the client has yet to see.
    pub(crate) fn reject_for_store(&mut self, to: ConnectionId, dispatch: Dispatch) {
        let (Some(client_id), Some(reason)) = (self.client_of(to), &self.store_failure) else {
            return;
        };
        let rejection = Rejection {
            channel: dispatch.channel,
            action: dispatch.action,
            server_seq: 0,
            origin: ActionOrigin {
                client_id: client_id.to_owned(),
                client_seq: dispatch.client_seq,
            },
            reason: store_failure_message(reason),
        };
        let message = HostMessage::Rejection(Box::new(rejection));
        self.step.effects.push(Effect::Send { to, message });
    }

    fn judge_for_root(&self, action: &StateAction) -> Verdict {
        let StateAction::RootConfigChanged(change) = action else {
            return not_accepted(action, "the root channel");
        };
        let Some(current) = &self.root.config else {
            return reject("this host has no settings");
        };
        // Clients tell every host all of their own settings: those that this
        // one does not have are none of its business.
        let known = &current.schema.properties;
        let mut change = change.clone();
        let said_something = !change.config.is_empty();
        change.config.retain(|key, _| known.contains_key(key));
        if said_something && change.config.is_empty() {
            // Nothing of it is for this host, so nothing takes its place.
            change.replace = None;
        }
        let checks = change.config.iter().map(|(key, value)| {
            config::check_root_value(&current.schema, &self.agents, key, value)
        });
        match checks.collect::<Result<Vec<()>, String>>() {
            Ok(_) => Apply(StateAction::RootConfigChanged(change)),
            Err(reason) => Reject(reason),
        }
    }

    fn judge_for_session(
        &self,
        session: &Session,
        client_id: &str,
        action: &StateAction,
    ) -> Verdict {
        match action {
            StateAction::SessionTitleChanged(change) if change.title.trim().is_empty() => {
                reject("a session's title must not be empty")
            }
            StateAction::SessionTitleChanged(_)
            | StateAction::SessionIsReadChanged(_)
            | StateAction::SessionIsArchivedChanged(_) => Apply(action.clone()),
            StateAction::SessionConfigChanged(change) => {
                let agent = self.agent_of(session);
                let synonyms = agent.map(|agent| &agent.synonyms[..]);
                judge_config(session, synonyms.unwrap_or_default(), change)
            }
            StateAction::SessionCustomizationToggled(toggled) => judge_switch(session, toggled),
            StateAction::SessionMcpServerStartRequested(_)
            | StateAction::SessionMcpServerStopRequested(_) => reject(
                "MCP servers are run by the agent; switch one on or off, and it holds when the \
                 agent starts the next time",
            ),
            StateAction::SessionActiveClientSet(set) => judge_active_client(client_id, set),
            StateAction::SessionActiveClientRemoved(removed) => {
                if removed.client_id != client_id {
                    reject("a client can only remove itself from the active clients")
                } else {
                    Apply(action.clone())
                }
            }
            StateAction::SessionDefaultChatChanged(change) => {
                let known =
                    |uri: &String| session.state.chats.iter().any(|chat| chat.resource == *uri);
                match &change.default_chat {
                    Some(uri) if known(uri) => Apply(action.clone()),
                    Some(uri) => reject(format!("the session has no chat `{uri}`")),
                    None => reject("a session always has a default chat"),
                }
            }
            _ => not_accepted(action, "a session"),
        }
    }

    fn judge_for_chat(&self, chat: &Chat, client_id: &str, action: &StateAction) -> Verdict {
        match action {
            StateAction::ChatTurnStarted(started) => self.judge_turn_start(chat, started),
            StateAction::ChatTurnCancelled(cancelled) => self.judge_cancel(chat, cancelled),
            StateAction::ChatTurnResume(resume) => self.judge_resume(chat, resume),
            StateAction::ChatTruncated(cut) => match cut.turn_id.as_deref() {
                Some(turn) if chat.position_of(turn).is_none() => {
                    reject(format!("the chat has no turn `{turn}`"))
                }
                _ => Apply(action.clone()),
            },
            StateAction::ChatToolCallConfirmed(action) => self.judge_tool_confirmed(chat, action),
            StateAction::ChatToolCallResultConfirmed(action) => {
                self.judge_tool_result_confirmed(chat, action)
            }
            StateAction::ChatToolCallComplete(action) => {
                self.judge_tool_complete(chat, client_id, action)
            }
            StateAction::ChatToolCallContentChanged(action) => {
                self.judge_tool_content(chat, client_id, action)
            }
            StateAction::ChatInputAnswerChanged(action) => self.judge_answer_change(chat, action),
            StateAction::ChatInputCompleted(action) => self.judge_input_completed(chat, action),
            StateAction::ChatPendingMessageSet(action) => self.judge_pending_set(chat, action),
            StateAction::ChatPendingMessageRemoved(action) => {
                self.judge_pending_removed(chat, action)
            }
            StateAction::ChatQueuedMessagesReordered(action) => self.judge_reorder(chat, action),
            StateAction::ChatDraftChanged(change) => match &change.draft {
                Some(draft) => match self.check_message(&chat.session, draft) {
                    Ok(()) => Apply(action.clone()),
                    Err(reason) => Reject(reason),
                },
                None => Apply(action.clone()),
            },
            StateAction::ChatIsReadChanged(_) | StateAction::ChatIsArchivedChanged(_) => {
                Apply(action.clone())
            }
            _ => not_accepted(action, "a chat"),
        }
    }

    fn judge_turn_start(&self, chat: &Chat, started: &ChatTurnStartedAction) -> Verdict {
        if started.turn_id.is_empty() {
            return reject("a turn needs an id");
        }
        if chat.knows_turn(&started.turn_id) {
            // Perhaps sent again after a lost connection. Applying it twice
            // would wipe the turn; the rejection tells the sender that there
            // is nothing left for it to wait for.
            return reject(format!("turn `{}` exists already", started.turn_id));
        }
        if let Some(reason) = self.why_no_turn(chat) {
            return Reject(reason);
        }
        if let Err(reason) = self.check_message(&chat.session, &started.message) {
            return Reject(reason);
        }
        let mut started = started.clone();
        // A clock that runs ahead must not put the turn's end beyond time.
        let started_at = Timestamp::parse(&started.started_at).filter(|at| *at <= self.now);
        started.started_at = started_at.unwrap_or(self.now).to_string();
        started.queued_message_id = None;
        Apply(StateAction::ChatTurnStarted(started))
    }

    /// Why a chat cannot begin or resume a turn now, if it cannot.
    pub(crate) fn why_no_turn(&self, chat: &Chat) -> Option<String> {
        if self.shutting_down {
            return Some("the host is shutting down".to_owned());
        }
        let session = self.sessions.get(&chat.session)?;
        match &session.state.lifecycle {
            // What comes before a session is there waits for it.
            SessionLifecycle::Ready | SessionLifecycle::Creating => {}
            SessionLifecycle::Failed | SessionLifecycle::Unknown(_) => {
                let error = session.state.creation_error.as_ref();
                let why = error.map_or("unknown reason", |error| &error.message);
                return Some(format!("the session could not be created: {why}"));
            }
        }
        if let Err(reason) = self.check_takes_messages(chat) {
            return Some(reason);
        }
        let active = chat.active_turn_id();
        active.map(|turn| format!("turn `{turn}` is running; wait for it, queue, or cancel it"))
    }

    pub(crate) fn check_takes_messages(&self, chat: &Chat) -> Result<(), String> {
        match chat.head.interactivity {
            None | Some(ChatInteractivity::Full) => Ok(()),
            Some(ChatInteractivity::ReadOnly | ChatInteractivity::Hidden) => {
                Err("this chat takes no messages".to_owned())
            }
        }
    }

    /// What a client says that is too large for the state is kept beside it.
    fn as_kept_in_state(&mut self, channel: &ChannelUri, action: StateAction) -> StateAction {
        match action {
            StateAction::ChatToolCallComplete(mut action) => {
                action.result = self.small_enough_result(channel, action.result);
                StateAction::ChatToolCallComplete(action)
            }
            StateAction::ChatToolCallContentChanged(mut action) => {
                action.content = self.small_enough_content(channel, action.content);
                StateAction::ChatToolCallContentChanged(action)
            }
            StateAction::ChatTurnStarted(mut action) => {
                action.message = self.as_kept(channel, action.message);
                StateAction::ChatTurnStarted(action)
            }
            StateAction::ChatPendingMessageSet(mut action) => {
                action.message = self.as_kept(channel, action.message);
                StateAction::ChatPendingMessageSet(action)
            }
            other => other,
        }
    }

    pub(crate) fn check_message(
        &self,
        session: &ChannelUri,
        message: &Message,
    ) -> Result<(), String> {
        if message.origin.kind != MessageKind::User {
            return Err("a client may only send messages of the user".to_owned());
        }
        self.check_references(message)?;
        let Some(session) = self.sessions.get(session) else {
            return Ok(());
        };
        let Some(agent) = self.agent_of(session) else {
            return Ok(());
        };
        let name = &agent.info.display_name;
        if let Some(model) = &message.model {
            let models = &agent.info.models;
            let known = models.is_empty() || models.iter().any(|known| known.id == model.id);
            if !known {
                return Err(format!("{name} has no model `{}`", model.id));
            }
        }
        if let Some(custom) = &message.agent {
            let of_session = session.state.customizations.iter().flatten();
            let mut known = of_session.flat_map(custom_agents);
            if !known.any(|uri| uri == custom.uri) {
                return Err(format!("{name} has no custom agent `{}`", custom.uri));
            }
        }
        Ok(())
    }

    fn judge_cancel(&self, chat: &Chat, cancelled: &ChatTurnCancelledAction) -> Verdict {
        match &chat.turn {
            None => reject("no turn is running"),
            Some(turn) if *turn.id != *cancelled.turn_id => {
                reject(format!("turn `{}` is not running", cancelled.turn_id))
            }
            Some(turn) => Apply(StateAction::ChatTurnCancelled(ChatTurnCancelledAction {
                duration: turn.duration(self.now),
                ..cancelled.clone()
            })),
        }
    }

    fn judge_resume(&self, chat: &Chat, resume: &ChatTurnResumeAction) -> Verdict {
        if let Some(reason) = self.why_no_turn(chat) {
            return Reject(reason);
        }
        let last = chat.turns.last().filter(|turn| *turn.id == *resume.turn_id);
        let Some(turn) = last.and_then(|turn| turn.decode().ok()) else {
            return reject("only the latest turn can be resumed");
        };
        let resumable = matches!(
            turn.response_parts.last(),
            Some(ResponsePart::Error(error)) if error.resumable == Some(true)
        );
        if turn.state == TurnState::Error && resumable {
            Apply(StateAction::ChatTurnResume(resume.clone()))
        } else {
            reject("the turn did not end in an error that can be resumed")
        }
    }
}

/// The custom agents that a customization offers to users, by URI.
fn custom_agents(customization: &Customization) -> impl Iterator<Item = &str> {
    let on = is_on(customization);
    let children = children_of(customization).iter().filter(move |_| on);
    children
        .filter(|child| child_is_on(child))
        .filter_map(|child| match child {
            ChildCustomization::Agent(agent) if agent.disable_user_invocation != Some(true) => {
                Some(agent.uri.as_str())
            }
            _ => None,
        })
}

fn judge_config(
    session: &Session,
    synonyms: &[Synonym],
    change: &SessionConfigChangedAction,
) -> Verdict {
    let Some(config) = &session.state.config else {
        return reject("this session has no settings");
    };
    let mut change = change.clone();
    for (key, value) in &mut change.config {
        let Some(property) = config.schema.properties.get(key) else {
            return reject(format!("the session has no setting `{key}`"));
        };
        match config::fitting_value(key, property, synonyms, value) {
            Ok(meant) => *value = meant,
            Err(reason) => return Reject(reason),
        }
        let unchanged = config.values.get(key) == Some(value);
        if property.session_mutable != Some(true) && !unchanged {
            return reject(format!(
                "`{key}` cannot be changed after the session was created"
            ));
        }
    }
    if change.replace == Some(true) {
        let fixed = config.values.keys().find(|key| {
            let property = config.schema.properties.get(*key);
            let mutable = property.is_some_and(|property| property.session_mutable == Some(true));
            !mutable && !change.config.contains_key(*key)
        });
        if let Some(key) = fixed {
            return reject(format!(
                "`{key}` cannot be changed after the session was created"
            ));
        }
    }
    Apply(StateAction::SessionConfigChanged(change))
}

fn judge_active_client(client_id: &str, set: &SessionActiveClientSetAction) -> Verdict {
    if set.active_client.client_id != client_id {
        return reject("a client can only add itself to the active clients");
    }
    Apply(StateAction::SessionActiveClientSet(set.clone()))
}

pub(crate) fn not_accepted(action: &StateAction, place: &str) -> Verdict {
    let value = serde_json::to_value(action).unwrap_or_default();
    let name = value
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("(no type)");
    match action {
        StateAction::Unknown(_) => reject(format!(
            "`{name}` is not an action that this host knows, or lacks a field"
        )),
        _ => reject(format!("`{name}` is not accepted from clients on {place}")),
    }
}
