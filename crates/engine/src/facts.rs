//! The facts that travel with some actions, because an older protocol version
//! says the same in another way and no gate may look into the state.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::StateAction;
use innkeeper_protocol::house::state::Message;
use innkeeper_protocol::record::{Context, Selection};
use serde::Serialize;
use serde_json::Value;

use crate::Engine;
use crate::chats::Chat;

/// What has to be remembered while an action is applied.
#[derive(Debug, Default)]
pub(crate) struct Before {
    first_client: Option<Value>,
    directories: Option<Vec<String>>,
}

impl Engine {
    pub(crate) fn before(&self, channel: &ChannelUri, action: &StateAction) -> Before {
        let Some(session) = self.sessions.get(channel) else {
            return Before::default();
        };
        let mut before = Before::default();
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
    pub(crate) fn context_after(
        &mut self,
        channel: &ChannelUri,
        action: &StateAction,
        before: Before,
    ) -> Option<Box<Context>> {
        let mut context = Context::default();
        if let Some(chat) = self.chats.get_mut(channel) {
            match action {
                StateAction::ChatDraftChanged(change) => {
                    note_selection(chat, change.draft.as_ref(), &mut context);
                }
                StateAction::ChatTurnStarted(started) => {
                    note_selection(chat, Some(&started.message), &mut context);
                }
                StateAction::ChatTurnResume(_) => {
                    context.resumed = chat.head.active_turn.as_ref().and_then(value);
                    context.turn_before = chat.turns.last().map(|turn| turn.id.to_string());
                }
                _ => return None,
            }
        } else if let Some(changeset) = self.changesets.get(channel) {
            match action {
                StateAction::ChangesetContentChanged(_) => {
                    context.error = changeset.state.error.as_ref().and_then(value);
                }
                _ => return None,
            }
        } else {
            let session = &self.sessions.get(channel)?.state;
            match action {
                StateAction::SessionActiveClientSet(_)
                | StateAction::SessionActiveClientRemoved(_) => {
                    context.client_before = before.first_client;
                    context.client_after = session.active_clients.first().and_then(value);
                }
                StateAction::SessionCustomizationToggled(_)
                | StateAction::SessionCustomizationUpdated(_)
                | StateAction::SessionCustomizationRemoved(_) => {
                    let all = session.customizations.iter().flatten();
                    context.customizations = Some(all.filter_map(value).collect());
                }
                StateAction::SessionChatsReordered(_) => {
                    context.chats = Some(session.chats.iter().filter_map(value).collect());
                    context.default_chat.clone_from(&session.default_chat);
                }
                StateAction::SessionWorkingDirectoryReplaced(_) => {
                    context.directories_before = before.directories;
                    context
                        .directories_after
                        .clone_from(&session.working_directories);
                }
                _ => return None,
            }
        }
        (context != Context::default()).then(|| Box::new(context))
    }
}

fn value(it: &impl Serialize) -> Option<Value> {
    serde_json::to_value(it).ok()
}

/// A selection stays when the draft that made it goes.
fn note_selection(chat: &mut Chat, message: Option<&Message>, context: &mut Context) {
    let Some(message) = message else {
        return;
    };
    let Selection { model, agent } = &mut chat.notes.selection;
    if message.model.is_some() && message.model != *model {
        model.clone_from(&message.model);
        context.model = model.as_ref().and_then(value);
        chat.dirty = true;
    }
    if message.agent != *agent {
        agent.clone_from(&message.agent);
        context.agent = Some(agent.as_ref().and_then(value).unwrap_or_default());
        chat.dirty = true;
    }
}
