//! Taking a chat back to before one of its turns, with the files or without,
//! and returning from there.
//!
//! *Invariants*: before anything is cut, all of it is in another chat, a fork
//! that is archived. Files go first, as only they can fail; a note that is
//! stored before says what is under way, so that a host that ends meanwhile goes
//! on with it when the session is next in memory. Until then nothing begins in
//! the session.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::command::extensions::{TakeBack, UndoTakeBack};
use innkeeper_protocol::newest::actions::{
    ChatIsArchivedChangedAction, SessionDefaultChatChangedAction, StateAction,
};
use innkeeper_protocol::newest::commands::ForkChatSource;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{SessionLifecycle, SessionStatus};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::TakingBack;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::changes::{ChangesError, Operation, OperationId};
use serde_json::json;

use super::SessionsMut;
use super::further_chats::fork;
use crate::core::channels::Chat;
use crate::effect::ConnectionId;
use crate::labels::operations;
use crate::turns::check_takes_messages;

/// What is done to the files of a session.
#[derive(Debug)]
pub(super) struct UnderWay {
    operation: OperationId,
    /// Who waits for it, if that was not in another life.
    asker: Option<(ConnectionId, RequestId)>,
}

impl SessionsMut<'_> {
    pub(crate) fn take_back(&mut self, (by, id): (ConnectionId, RequestId), asked: TakeBack) {
        let with_files = asked.files;
        let begun = self.check_take_back(asked);
        self.begin_taking_back((by, id), begun, with_files);
    }

    pub(crate) fn undo_take_back(
        &mut self,
        (by, id): (ConnectionId, RequestId),
        asked: &UndoTakeBack,
    ) {
        let (begun, with_files) = match self.check_undo(&asked.channel) {
            Ok((taking, with_files)) => (Ok(taking), with_files),
            Err(error) => (Err(error), false),
        };
        self.begin_taking_back((by, id), begun, with_files);
    }

    fn begin_taking_back(
        &mut self,
        (by, id): (ConnectionId, RequestId),
        begun: Result<(ChannelUri, TakingBack), RpcError>,
        with_files: bool,
    ) {
        let outcome = match begun {
            Ok((session, taking)) if with_files => {
                return self.begin_with_files(&session, taking, (by, id));
            }
            Ok((session, taking)) => {
                self.carry_out(&session, &taking, false);
                Ok(Reply::Empty {})
            }
            Err(error) => Err(error),
        };
        self.core().answer(by, Some(id), outcome);
    }

    fn check_take_back(&self, asked: TakeBack) -> Result<(ChannelUri, TakingBack), RpcError> {
        let chat = self.chat_meant(&asked.channel)?;
        let session = chat.session.clone();
        if chat.position_of(&asked.turn_id).is_none() && chat.active_turn_id().is_none() {
            return Err(RpcError::invalid_params(format!(
                "`{}` has no finished turn `{}`",
                chat.uri, asked.turn_id
            )));
        }
        self.check_rests(&session, &chat.uri, asked.files)?;
        check_takes_messages(&chat.head).map_err(RpcError::invalid_params)?;
        let several = self.check_new_chat(&session, &asked.fork)?;
        if several.fork != Some(true) {
            return Err(RpcError::invalid_params(
                "this agent cannot copy a chat, so nothing could be kept; dispatch \
                 `chat/truncated` to cut it for good",
            ));
        }
        let taking = TakingBack {
            chat: chat.uri.clone(),
            turn: asked.turn_id,
            fork: asked.fork,
            is_undo: false,
        };
        Ok((session, taking))
    }

    /// What was taken back, and whether files were.
    fn check_undo(
        &self,
        channel: &ChannelUri,
    ) -> Result<((ChannelUri, TakingBack), bool), RpcError> {
        let kept = self.chat_meant(channel)?;
        let Some((chat, turn, files)) = taken_back(kept) else {
            return Err(RpcError::invalid_params(format!(
                "`{channel}` is not what a take-back has kept"
            )));
        };
        let is_archived =
            SessionStatus::from_bits(kept.head.status).contains(SessionStatus::IsArchived);
        if !is_archived {
            return Err(RpcError::invalid_request(format!(
                "`{channel}` is in use again; it was returned to already"
            )));
        }
        let session = kept.session.clone();
        self.check_rests(&session, &chat, files)?;
        let taking = TakingBack {
            chat,
            turn,
            fork: kept.uri.clone(),
            is_undo: true,
        };
        Ok(((session, taking), files))
    }

    /// The chat, or the default one of a session.
    fn chat_meant(&self, channel: &ChannelUri) -> Result<&Chat, RpcError> {
        let channels = &self.turns.core.channels;
        let default = ChannelUri::default_chat_of(channel.as_str());
        let chat = channels.chat(channel).or_else(|| channels.chat(&default));
        chat.ok_or_else(|| RpcError::session_not_found(channel.as_str()))
    }

    /// Nothing may run in the chat and, if files are concerned, in the session.
    fn check_rests(
        &self,
        session: &ChannelUri,
        chat: &ChannelUri,
        with_files: bool,
    ) -> Result<(), RpcError> {
        let channels = &self.turns.core.channels;
        let Some(known) = channels.session(session) else {
            return Err(RpcError::session_not_found(session.as_str()));
        };
        if known.state.lifecycle != SessionLifecycle::Ready {
            return Err(RpcError::invalid_request("the session is not ready"));
        }
        if known.notes.taking_back.is_some() {
            return Err(RpcError::invalid_request(
                "something of this session is being taken back; try again in a moment",
            ));
        }
        let concerned = known.chat_uris().into_iter();
        let mut concerned = concerned.filter(|it| with_files || it == chat);
        let running = concerned.find_map(|uri| {
            let turn = channels.chat(&uri)?.active_turn_id()?.to_owned();
            Some((uri, turn))
        });
        match running {
            None => Ok(()),
            Some((uri, turn)) => Err(RpcError::turn_in_progress(format!(
                "turn `{turn}` of `{uri}` is running; wait until it has ended, or cancel it"
            ))),
        }
    }

    /// Has the files returned; the conversation follows them.
    fn begin_with_files(
        &mut self,
        session: &ChannelUri,
        taking: TakingBack,
        (by, id): (ConnectionId, RequestId),
    ) {
        let (turns, what) = (&mut self.turns, operation(&taking));
        let Some(operation) = turns.changes.take_back(turns.core, session, what) else {
            let error = RpcError::invalid_request(
                "the host keeps no states of the files of this session; take it back without \
                 `files`",
            );
            return self.core().fail(by, Some(id), error);
        };
        let asker = Some((by, id));
        let under_way = UnderWay { operation, asker };
        self.own.taking_back.insert(session.clone(), under_way);
        self.note_taking_back(session, Some(taking));
    }

    /// A host that ended meanwhile goes on with what it had begun.
    pub(super) fn resume_take_back(&mut self, session: &ChannelUri) {
        let known = self.core().channels.session(session);
        let Some(taking) = known.and_then(|it| it.notes.taking_back.clone()) else {
            return;
        };
        // Somebody waits, if the session was only read anew.
        let known = self.own.taking_back.remove(session);
        let asker = known.and_then(|it| it.asker);
        let (turns, what) = (&mut self.turns, operation(&taking));
        let Some(operation) = turns.changes.take_back(turns.core, session, what) else {
            tracing::warn!(%session, "what was being taken back stays as it is");
            self.note_taking_back(session, None);
            return self.tell_asker(asker, Err(ChangesError::NotKept));
        };
        let under_way = UnderWay { operation, asker };
        self.own.taking_back.insert(session.clone(), under_way);
    }

    /// The files of a session are what they were to be, or stayed what they are.
    pub(crate) fn files_taken_back(
        &mut self,
        session: &ChannelUri,
        operation: OperationId,
        outcome: Result<(), ChangesError>,
    ) {
        let under_way = self.own.taking_back.get(session);
        if under_way.is_none_or(|it| it.operation != operation) {
            return;
        }
        let under_way = self.own.taking_back.remove(session);
        let known = self.core().channels.session(session);
        let Some(taking) = known.and_then(|it| it.notes.taking_back.clone()) else {
            return;
        };
        self.note_taking_back(session, None);
        if outcome.is_ok() {
            self.carry_out(session, &taking, true);
        }
        self.tell_asker(under_way.and_then(|it| it.asker), outcome);
    }

    fn tell_asker(
        &mut self,
        asker: Option<(ConnectionId, RequestId)>,
        outcome: Result<(), ChangesError>,
    ) {
        let Some((by, id)) = asker else {
            return;
        };
        let locale = self.turns.clients.locale_of(by);
        let explain = |trouble| RpcError::internal(operations::trouble(&trouble, locale));
        let outcome = outcome.map(|()| Reply::Empty {}).map_err(explain);
        self.core().answer(by, Some(id), outcome);
    }

    /// The session is gone, and whoever waits is told so.
    pub(super) fn takes_back_no_more(&mut self, session: &ChannelUri) {
        let under_way = self.own.taking_back.remove(session);
        if let Some((by, id)) = under_way.and_then(|it| it.asker) {
            let error = RpcError::session_not_found(session.as_str());
            self.core().fail(by, Some(id), error);
        }
    }

    fn note_taking_back(&mut self, session: &ChannelUri, taking: Option<TakingBack>) {
        let core = self.core();
        if let Some(known) = core.channels.session_mut(session) {
            known.notes.taking_back = taking;
            known.dirty = true;
            core.step.durable_first = true;
            core.touch(session);
        }
    }

    /// What is done to the conversation: all of it in one step.
    fn carry_out(&mut self, session: &ChannelUri, taking: &TakingBack, with_files: bool) {
        self.core().step.durable_first = true;
        match taking.is_undo {
            true => self.return_to_kept(session, taking),
            false => self.cut_off(session, taking, with_files),
        }
    }

    fn cut_off(&mut self, session: &ChannelUri, taking: &TakingBack, with_files: bool) {
        let core = &*self.turns.core;
        let chat = core.channels.chat(&taking.chat);
        let place = chat.and_then(|chat| chat.position_of(&taking.turn));
        let last = chat.and_then(|chat| chat.turns.last());
        // Nothing could have cut it meanwhile.
        let Some((keep, last)) = place.zip(last) else {
            return;
        };
        let source = ForkChatSource {
            chat: taking.chat.to_string(),
            turn_id: last.id.to_string(),
        };
        let locale = core.channels.locale_of(session);
        let Ok(mut beginning) = fork(core, session, source, locale) else {
            return;
        };
        beginning.kept_by_take_back = Some(kept_meta(taking, with_files));
        self.add_chat(session, &taking.fork, beginning);
        self.turns.cut_to(&taking.chat, keep);
    }

    /// The chat that was kept takes the place of the one that was cut.
    fn return_to_kept(&mut self, session: &ChannelUri, taking: &TakingBack) {
        self.set_archived(&taking.fork, false);
        // It may have gone, or gone over to another session.
        let cut = self.core().channels.chat(&taking.chat);
        if cut.is_none_or(|cut| cut.session != *session) {
            return;
        }
        let known = self.core().channels.session(session);
        let leading = known.and_then(|it| it.state.default_chat.as_deref());
        if leading == Some(taking.chat.as_str()) {
            let action = SessionDefaultChatChangedAction {
                default_chat: Some(taking.fork.to_string()),
            };
            let action = StateAction::SessionDefaultChatChanged(action);
            self.core().emit(session, action, None);
        }
        self.set_archived(&taking.chat, true);
    }

    fn set_archived(&mut self, chat: &ChannelUri, is_archived: bool) {
        let action = ChatIsArchivedChangedAction { is_archived };
        let action = StateAction::ChatIsArchivedChanged(action);
        self.core().emit(chat, action, None);
    }
}

fn operation(taking: &TakingBack) -> Operation {
    let kept_as = taking.fork.to_string();
    match taking.is_undo {
        true => Operation::UndoTakeBack { kept_as },
        false => Operation::TakeBack {
            turn: taking.turn.clone(),
            kept_as,
        },
    }
}

/// What a chat says that was kept: from which chat, up to where that was cut,
/// and whether files were taken back.
fn kept_meta(taking: &TakingBack, files: bool) -> JsonObject {
    let told = json!({"chat": taking.chat, "turnId": taking.turn, "files": files});
    let own = json!({"takenBack": told});
    JsonObject::from_iter([("innkeeper".to_owned(), own)])
}

/// From which chat a chat keeps turns that were taken back, from which turn on,
/// and whether files were.
pub(super) fn taken_back(chat: &Chat) -> Option<(ChannelUri, String, bool)> {
    let told = chat
        .head
        .meta
        .as_ref()?
        .get("innkeeper")?
        .get("takenBack")?;
    let text = |name: &str| told.get(name)?.as_str();
    let files = told.get("files")?.as_bool()?;
    Some((text("chat")?.into(), text("turnId")?.to_owned(), files))
}
