//! Models that were selected before the agent had said which ones it has.

use std::collections::BTreeSet;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::{MAX_TITLE_BYTES, cut};
use innkeeper_protocol::newest::actions::{ChatDraftChangedAction, StateAction};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{Message, MessageKind, ModelSelection};

use super::TurnsMut;
use crate::agents::{check_model, tell_model};
use crate::core::channels::{Chat, plain_message};
use crate::labels::Label;

impl TurnsMut<'_> {
    /// The agents have changed: where a model is selected that its agent turns
    /// out not to have, the first that it has takes its place. Else every turn
    /// of a client that selects for a session would be refused.
    pub(crate) fn models_changed(&mut self) {
        let chats = self.core.channels.chats().map(|chat| chat.uri.clone());
        let chats: BTreeSet<ChannelUri> = chats.collect();
        for chat in chats {
            self.check_selected_model(&chat);
        }
    }

    /// The same for one chat.
    pub(crate) fn check_selected_model(&mut self, uri: &ChannelUri) {
        let chat = self.core.channels.chat(uri);
        let Some((notice, draft)) = chat.and_then(|chat| self.model_in_place_of(chat)) else {
            return;
        };
        let draft = ChatDraftChangedAction { draft: Some(draft) };
        self.core
            .emit(uri, StateAction::ChatDraftChanged(draft), None);
        self.own.unsaid.insert(uri.clone(), notice);
        if self.own.turn(uri).is_some() {
            self.say_what_is_unsaid(uri);
        }
    }

    /// The agent says which model works on what comes next. There is one place
    /// for that in a session, which is about its leading chat.
    pub(super) fn model_of_agent(&mut self, uri: &ChannelUri, model: Option<String>) {
        let model = model.map(|model| cut(&model, MAX_TITLE_BYTES).to_owned());
        let chat = self.core.channels.chat(uri).filter(|chat| chat.is_default);
        if let Some(session) = chat.map(|chat| chat.session.clone()) {
            tell_model(self.core, &session, model);
        }
    }

    /// What is said about a selected model that the agent does not have, and
    /// the draft that selects another.
    fn model_in_place_of(&self, chat: &Chat) -> Option<(String, Message)> {
        let session = self.core.channels.session(&chat.session)?;
        let agent = self.agents.of_session(&session.state)?;
        let selected = chat.notes.selection.model.as_ref();
        check_model(agent, selected).err()?;
        let instead = agent.info.models.first()?.id.clone();
        let notice = Label::ModelReplaced {
            agent: &agent.info.display_name,
            model: &selected?.id,
            instead: &instead,
        };
        let draft = chat.head.draft.clone();
        let draft = Message {
            model: Some(ModelSelection {
                id: instead.clone(),
                config: None,
            }),
            ..draft.unwrap_or_else(|| plain_message(MessageKind::User, String::new()))
        };
        Some((notice.text(session.locale()), draft))
    }

    /// Notices have their place in a turn: what came about before it is said
    /// at its beginning.
    pub(super) fn say_what_is_unsaid(&mut self, uri: &ChannelUri) {
        if let Some(notice) = self.own.unsaid.remove(uri) {
            self.add_notice(uri, StringOrMarkdown::Plain(notice));
        }
    }
}
