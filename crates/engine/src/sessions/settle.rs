//! After every input: what is derived from state is brought up to date, and
//! what changed is handed to the store. An input that only streams text
//! touches no session, and costs nothing here.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    PartialChatSummary, SessionActivityChangedAction, SessionChatAddedAction,
    SessionChatUpdatedAction, SessionMetaChangedAction, StateAction,
};
use innkeeper_protocol::newest::state::ChatSummary;
use innkeeper_protocol::record::StoreOp;

use serde_json::Value;

use super::SessionsMut;
use super::creation::workspaceless;
use super::summary::leading_chat;
use crate::annotations;
use crate::core::channels::{Session, WORKSPACELESS};

impl SessionsMut<'_> {
    pub(crate) fn settle(&mut self) {
        let mut settled = Vec::new();
        // Bringing a session up to date touches it again; the second look
        // finds nothing more to do.
        while let Some(uri) = self.core().next_touched() {
            self.turns.changes.track(self.turns.core, &uri);
            self.turns.changes.settle(self.turns.core, &uri);
            if annotations::settle(self.turns.core, &uri) {
                self.turns.offer_client_tools(&uri);
            }
            self.customizations().update(&uri);
            self.update_workspaceless(&uri);
            self.update_movable(&uri);
            self.update_chat_catalogue(&uri);
            self.turns.count_waiting(&uri);
            self.update_input_needed(&uri);
            self.update_activity(&uri);
            self.review_summary(&uri);
            settled.push(uri);
        }
        settled.sort();
        settled.dedup();
        for uri in settled {
            self.store_what_changed(&uri);
        }
    }

    /// A session that was given a directory says so where it said that it has
    /// none.
    fn update_workspaceless(&mut self, uri: &ChannelUri) {
        let Some(session) = self.core().channels.session(uri) else {
            return;
        };
        let meta = session.state.meta.as_ref();
        let said = meta.and_then(|meta| meta.get(WORKSPACELESS));
        if said == Some(&Value::Bool(true)) && session.first_directory().is_some() {
            let mut meta = meta.cloned().unwrap_or_default();
            meta.extend(workspaceless(false));
            let action = SessionMetaChangedAction { meta: Some(meta) };
            self.core()
                .emit(uri, StateAction::SessionMetaChanged(action), None);
        }
    }

    /// The session's catalogue of chats says what the chats say.
    fn update_chat_catalogue(&mut self, uri: &ChannelUri) {
        let core = &*self.turns.core;
        let Some(session) = core.channels.session(uri) else {
            return;
        };
        let title = &session.state.title;
        let default = session.state.default_chat.as_ref();
        let mut updates = Vec::new();
        for listed in &session.state.chats {
            let Some(chat) = core.channels.chat(listed.resource.as_str()) else {
                continue;
            };
            let mut actual = chat.summary();
            // A chat's own state has no action that renames it: the catalogue
            // is where its title lives, and the default chat's is the session's.
            actual
                .title
                .clone_from(match default == Some(&listed.resource) {
                    true => title,
                    false => &listed.title,
                });
            let changes = difference(listed, &actual);
            if changes != PartialChatSummary::default() {
                let chat = listed.resource.clone();
                // The protocol's reducers leave this field of an update out.
                let again = changes.movable.map(|_| actual);
                updates.push((SessionChatUpdatedAction { chat, changes }, again));
            }
        }
        for (update, again) in updates {
            self.emit_about_chats(uri, StateAction::SessionChatUpdated(update));
            if let Some(summary) = again {
                let added = StateAction::SessionChatAdded(SessionChatAddedAction { summary });
                self.core().emit(uri, added, None);
            }
        }
    }

    fn update_activity(&mut self, uri: &ChannelUri) {
        let core = self.core();
        let Some(session) = core.channels.session(uri) else {
            return;
        };
        let activity = leading_chat(&session.state)
            .and_then(|chat| chat.activity.clone())
            .filter(|activity| !activity.is_empty());
        if session.state.activity != activity {
            let action = SessionActivityChangedAction { activity };
            core.emit(uri, StateAction::SessionActivityChanged(action), None);
        }
    }

    fn store_what_changed(&mut self, uri: &ChannelUri) {
        let core = self.core();
        let seq = core.server_seq();
        let Some(session) = core.channels.session_mut(uri) else {
            return;
        };
        let ops = &mut core.step.store.ops;
        if std::mem::take(&mut session.dirty) {
            ops.push(StoreOp::PutSession(Box::new(session.record())));
        }
        let chats = Session::chat_uris(session);
        let annotations = ChannelUri::annotations_of(uri.as_str());
        if let Some(annotations) = core.channels.annotations_mut(&annotations) {
            annotations.store(ops);
        }
        for chat in chats {
            if let Some(chat) = core.channels.chat_mut(&chat).filter(|chat| chat.dirty) {
                chat.store(seq, ops);
            }
        }
    }
}

/// The fields that changed; the empty text says that an activity is over.
fn difference(before: &ChatSummary, after: &ChatSummary) -> PartialChatSummary {
    let activity = after.activity.clone().unwrap_or_default();
    let activity_before = before.activity.clone().unwrap_or_default();
    PartialChatSummary {
        resource: None,
        title: (before.title != after.title).then(|| after.title.clone()),
        status: (before.status != after.status).then_some(after.status),
        activity: (activity != activity_before).then_some(activity),
        modified_at: (before.modified_at != after.modified_at).then(|| after.modified_at.clone()),
        changes: after
            .changes
            .clone()
            .filter(|_| before.changes != after.changes),
        origin: after
            .origin
            .clone()
            .filter(|_| before.origin != after.origin),
        movable: Some(after.movable == Some(true)).filter(|_| before.movable != after.movable),
        interactivity: None,
        working_directories: after
            .working_directories
            .clone()
            .filter(|_| before.working_directories != after.working_directories),
    }
}
