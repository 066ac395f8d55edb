//! The facts that travel with some actions, because an older protocol version
//! says the same in another way and no gate may look into the state.

use std::sync::Arc;

use innkeeper_protocol::command::Said;
use innkeeper_protocol::gates::up::PartialAction;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{ChangesetState, Message};
use innkeeper_protocol::record::{ExtraFacts, GateFacts, Selection};
use serde::Serialize;
use serde_json::Value;

use super::channels::{Channel, Chat, Session};
use super::{ACTIVITY_BITS, Sender};

/// What has to be remembered while an action is applied.
#[derive(Debug, Default)]
pub(super) struct FactsBefore {
    first_client: Option<Value>,
    directories: Option<Vec<String>>,
    /// What the client that dispatched it said, in an older version.
    said: Option<Arc<Said>>,
}

/// What gates must know of a channel.
pub(super) fn facts_of(channel: &Channel) -> GateFacts {
    match channel {
        Channel::Chat(chat) => GateFacts {
            session: Some(chat.session.clone()),
            is_default_chat: chat.is_default,
            extra: None,
        },
        Channel::Annotations(annotations) => GateFacts {
            session: Some(annotations.session.clone()),
            ..GateFacts::default()
        },
        Channel::Root(_)
        | Channel::Session(_)
        | Channel::Terminal(_)
        | Channel::Changeset(_)
        | Channel::Watch(_)
        | Channel::Canvas(_)
        | Channel::Automations(_)
        | Channel::AutomationRun(_) => GateFacts::default(),
    }
}

pub(super) fn before(
    channel: &Channel,
    action: &StateAction,
    sender: Option<&Sender>,
) -> FactsBefore {
    let mut before = FactsBefore {
        said: sender.and_then(|sender| sender.said.clone()),
        ..FactsBefore::default()
    };
    let Channel::Session(session) = channel else {
        return before;
    };
    match action {
        StateAction::SessionActiveClientSet(_) | StateAction::SessionActiveClientRemoved(_) => {
            before.first_client = session.state.active_clients.first().and_then(value);
        }
        StateAction::SessionWorkingDirectoryReplaced(_) => {
            before
                .directories
                .clone_from(&session.state.working_directories);
        }
        _ => {}
    }
    before
}

/// What gates must know of an action that was applied.
pub(super) fn extra_facts_after(
    channel: &mut Channel,
    action: &StateAction,
    before: FactsBefore,
) -> Option<Box<ExtraFacts>> {
    let extra = match channel {
        Channel::Chat(chat) => of_chat(chat, action, &before)?,
        Channel::Session(session) => of_session(session, action, before)?,
        Channel::Changeset(changeset) => of_changeset(&changeset.state, action)?,
        Channel::Root(_)
        | Channel::Terminal(_)
        | Channel::Watch(_)
        | Channel::Canvas(_)
        | Channel::Annotations(_)
        | Channel::Automations(_)
        | Channel::AutomationRun(_) => return None,
    };
    (extra != ExtraFacts::default()).then(|| Box::new(extra))
}

fn of_chat(chat: &mut Chat, action: &StateAction, before: &FactsBefore) -> Option<ExtraFacts> {
    match action {
        StateAction::ChatDraftChanged(change) => {
            let mut extra = note_selection(chat, change.draft.as_ref())?;
            // Whoever selects what is selected already waits to hear so.
            let Selection { model, agent } = &chat.notes.selection;
            match before.said.as_ref().and_then(|said| said.partial.as_ref()) {
                Some(PartialAction::Model(_)) => extra.model = model.as_ref().and_then(value),
                Some(PartialAction::Agent(_)) => extra.agent = value(agent),
                _ => {}
            }
            Some(extra)
        }
        StateAction::ChatTurnStarted(started) => note_selection(chat, Some(&started.message)),
        StateAction::ChatTurnResume(_) => Some(ExtraFacts {
            resumed: chat.head.active_turn.as_ref().and_then(value),
            turn_before: chat.turns.last().map(|turn| turn.id.to_string()),
            ..ExtraFacts::default()
        }),
        _ => None,
    }
}

fn of_session(session: &Session, action: &StateAction, before: FactsBefore) -> Option<ExtraFacts> {
    let changes = session.changes.as_ref();
    let session = &session.state;
    Some(match action {
        StateAction::SessionChangesetsChanged(_) => ExtraFacts {
            changes: changes.and_then(value),
            ..ExtraFacts::default()
        },
        StateAction::SessionActiveClientSet(_) | StateAction::SessionActiveClientRemoved(_) => {
            ExtraFacts {
                client_before: before.first_client,
                client_after: session.active_clients.first().and_then(value),
                said: before
                    .said
                    .filter(|said| said.partial.is_some())
                    .map(|said| said.kind().to_owned()),
                ..ExtraFacts::default()
            }
        }
        StateAction::SessionCustomizationToggled(_)
        | StateAction::SessionCustomizationUpdated(_)
        | StateAction::SessionCustomizationRemoved(_) => {
            let all = session.customizations.iter().flatten();
            ExtraFacts {
                customizations: Some(all.filter_map(value).collect()),
                ..ExtraFacts::default()
            }
        }
        StateAction::SessionReady(_) => {
            let default = session.chats.iter();
            let default =
                default.filter(|chat| session.default_chat.as_ref() == Some(&chat.resource));
            let activity = default.map(|chat| chat.status & ACTIVITY_BITS).next();
            let flags = session.status & !ACTIVITY_BITS;
            ExtraFacts {
                status: Some(flags | activity.unwrap_or_default()),
                ..ExtraFacts::default()
            }
        }
        StateAction::SessionChatsReordered(_) => ExtraFacts {
            chats: Some(session.chats.iter().filter_map(value).collect()),
            default_chat: session.default_chat.clone(),
            ..ExtraFacts::default()
        },
        StateAction::SessionWorkingDirectoryReplaced(_) => ExtraFacts {
            directories_before: before.directories,
            directories_after: session.working_directories.clone(),
            ..ExtraFacts::default()
        },
        _ => return None,
    })
}

fn of_changeset(changeset: &ChangesetState, action: &StateAction) -> Option<ExtraFacts> {
    let StateAction::ChangesetContentChanged(_) = action else {
        return None;
    };
    Some(ExtraFacts {
        error: changeset.error.as_ref().and_then(value),
        ..ExtraFacts::default()
    })
}

fn value(it: &impl Serialize) -> Option<Value> {
    serde_json::to_value(it).ok()
}

/// A selection stays when the draft that made it goes.
fn note_selection(chat: &mut Chat, message: Option<&Message>) -> Option<ExtraFacts> {
    let message = message?;
    let mut extra = ExtraFacts::default();
    let Selection { model, agent } = &mut chat.notes.selection;
    if message.model.is_some() && message.model != *model {
        model.clone_from(&message.model);
        extra.model = model.as_ref().and_then(value);
        chat.dirty = true;
    }
    if message.agent != *agent {
        agent.clone_from(&message.agent);
        extra.agent = Some(agent.as_ref().and_then(value).unwrap_or_default());
        chat.dirty = true;
    }
    Some(extra)
}
