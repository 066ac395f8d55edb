//! What the store has committed, in a few words: the facts that must be found
//! again after any restart. Written from the batches, in the order in which
//! the store took them, and compared with what the host shows.

use std::collections::{BTreeMap, HashSet};

use ahp::reducers::apply_action_to_annotations;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{
    Annotation, AnnotationsState, ChatOrigin, Message, PendingMessageKind,
};
use innkeeper_protocol::record::{Sequenced, StoreBatch, StoreOp};
use innkeeper_protocol::{ChannelUri, Seq};

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) sessions: BTreeMap<String, SessionFacts>,
    pub(crate) chats: BTreeMap<String, ChatFacts>,
    /// The numbers of all actions that are durable.
    pub(crate) numbers: HashSet<Seq>,
    /// The content that agents produced and clients brought.
    pub(crate) contents: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
pub(crate) struct SessionFacts {
    pub(crate) title: Option<String>,
    pub(crate) archived: Option<bool>,
    pub(crate) read: Option<bool>,
    pub(crate) annotations: Vec<Annotation>,
}

#[derive(Debug, Default)]
pub(crate) struct ChatFacts {
    pub(crate) session: String,
    /// The ids of all turns that were started and not cut off, in order.
    pub(crate) turns: Vec<String>,
    pub(crate) draft: Option<Message>,
    /// The ids of the messages that wait, in order, and of the one that steers.
    pub(crate) queue: Vec<String>,
    pub(crate) steering: Option<String>,
}

impl Ledger {
    pub(crate) fn commit(&mut self, batch: &StoreBatch) {
        let mut created = HashSet::new();
        for op in &batch.ops {
            match op {
                StoreOp::Append(action) => self.append(action),
                StoreOp::PutSession(record) => {
                    if !self.sessions.contains_key(record.uri.as_str()) {
                        created.insert(record.uri.to_string());
                    }
                    self.sessions.entry(record.uri.to_string()).or_default();
                }
                StoreOp::DisposeSession { session, .. } => {
                    self.sessions.remove(session.as_str());
                    self.chats
                        .retain(|_, chat| chat.session != session.as_str());
                    self.contents.retain(|_, owner| owner != session.as_str());
                }
                StoreOp::PutChat(record) => {
                    let chat = self.chats.entry(record.uri.to_string()).or_default();
                    chat.session = record.session.to_string();
                }
                StoreOp::DeleteChat { chat } => {
                    self.chats.remove(chat.as_str());
                }
                StoreOp::PutContent(content) => {
                    let owner = content.session.to_string();
                    let before = self.contents.insert(content.uri.clone(), owner);
                    assert_eq!(before, None, "{} is written over", content.uri);
                }
                StoreOp::AppendTurn { chat, index, turn } => {
                    // Those of a copied session are told by no action.
                    let chat = self.chats.entry(chat.to_string()).or_default();
                    if created.contains(&chat.session) && chat.turns.len() as u64 == *index {
                        chat.turns.push(turn.id.to_string());
                    }
                }
                StoreOp::ShareContent { .. }
                | StoreOp::PutAnnotation { .. }
                | StoreOp::RemoveAnnotation { .. }
                | StoreOp::PutAutomation(_)
                | StoreOp::RemoveAutomation { .. }
                | StoreOp::PutAutomationRun(_)
                | StoreOp::RemoveAutomationRun { .. }
                | StoreOp::TruncateTurns { .. }
                | StoreOp::PutClient(_)
                | StoreOp::PutRootConfig { .. }
                | StoreOp::PutSwitches { .. }
                | StoreOp::ReserveSeq { .. }
                | StoreOp::ForgetClient { .. }
                | StoreOp::TrimLog { .. }
                | StoreOp::Reread { .. } => {}
            }
        }
    }

    fn append(&mut self, action: &Sequenced) {
        self.numbers.insert(action.seq);
        let channel = action.channel.to_string();
        match &action.action {
            StateAction::SessionTitleChanged(a) => {
                self.session(channel).title = Some(a.title.clone());
            }
            StateAction::SessionIsArchivedChanged(a) => {
                self.session(channel).archived = Some(a.is_archived);
            }
            StateAction::SessionIsReadChanged(a) => self.session(channel).read = Some(a.is_read),
            // One that is there is only told again.
            StateAction::SessionChatAdded(a) if self.chats.contains_key(&a.summary.resource) => {}
            StateAction::SessionChatAdded(a) => {
                let turns = match &a.summary.origin {
                    Some(ChatOrigin::Fork { chat, turn_id }) => self.turns_up_to(chat, turn_id),
                    _ => Vec::new(),
                };
                let chat = ChatFacts {
                    session: channel,
                    turns,
                    ..ChatFacts::default()
                };
                self.chats.insert(a.summary.resource.clone(), chat);
            }
            StateAction::ChatTurnStarted(a) => self.chat(action).turns.push(a.turn_id.clone()),
            StateAction::ChatTruncated(a) => {
                let turns = &mut self.chat(action).turns;
                let kept = match &a.turn_id {
                    Some(id) => turns
                        .iter()
                        .position(|turn| turn == id)
                        .map_or(0, |at| at + 1),
                    None => 0,
                };
                turns.truncate(kept);
            }
            StateAction::ChatDraftChanged(a) => self.chat(action).draft = a.draft.clone(),
            StateAction::ChatPendingMessageSet(a) => {
                let chat = self.chat(action);
                match a.kind {
                    PendingMessageKind::Steering => chat.steering = Some(a.id.clone()),
                    PendingMessageKind::Queued if chat.queue.contains(&a.id) => {}
                    PendingMessageKind::Queued => chat.queue.push(a.id.clone()),
                }
            }
            StateAction::ChatPendingMessageRemoved(a) => {
                let chat = self.chat(action);
                match a.kind {
                    PendingMessageKind::Steering => chat.steering = None,
                    PendingMessageKind::Queued => chat.queue.retain(|id| *id != a.id),
                }
            }
            StateAction::ChatQueuedMessagesReordered(a) => {
                self.chat(action).queue.clone_from(&a.order);
            }
            action @ (StateAction::AnnotationsSet(_)
            | StateAction::AnnotationsUpdated(_)
            | StateAction::AnnotationsRemoved(_)
            | StateAction::AnnotationsEntrySet(_)
            | StateAction::AnnotationsEntryRemoved(_)) => {
                let session = ChannelUri::from(channel.as_str()).session_of_annotations();
                let session = session.unwrap_or_else(|| panic!("{channel} is of no session"));
                let facts = self.session(session.to_string());
                let annotations = std::mem::take(&mut facts.annotations);
                let mut state = AnnotationsState { annotations };
                apply_action_to_annotations(&mut state, action);
                facts.annotations = state.annotations;
            }
            _ => {}
        }
    }

    fn session(&mut self, uri: String) -> &mut SessionFacts {
        self.sessions.entry(uri).or_default()
    }

    fn chat(&mut self, action: &Sequenced) -> &mut ChatFacts {
        let chat = self.chats.entry(action.channel.to_string()).or_default();
        if let Some(session) = &action.facts.session {
            chat.session = session.to_string();
        }
        chat
    }

    fn turns_up_to(&self, chat: &str, turn: &str) -> Vec<String> {
        let turns = self.chats.get(chat).map(|chat| &chat.turns);
        let at = turns.and_then(|turns| turns.iter().position(|id| id == turn));
        turns
            .zip(at)
            .map(|(turns, at)| turns[..=at].to_vec())
            .unwrap_or_default()
    }
}
