//! A stage for tests: a host, a guest, a session and its chat, with states and
//! actions as the JSON that goes over the wire.

use std::ops::Index;

use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{ChatState, SessionState};
use serde_json::{Value, json};

use crate::common::{Folded, Guest, Inn, InnOptions, Watch, default_chat, script};

pub(crate) struct Stage {
    pub(crate) inn: Inn,
    pub(crate) guest: Guest,
    pub(crate) session: String,
    pub(crate) chat: String,
    pub(crate) watch: Watch<ChatState>,
}

impl Stage {
    pub(crate) async fn open() -> Self {
        Self::open_with(InnOptions::default()).await
    }

    pub(crate) async fn open_with(options: InnOptions) -> Self {
        let inn = Inn::open_with(options).await;
        let guest = inn.guest("a").await;
        let session = guest.new_session().await;
        Self::on(inn, guest, session).await
    }

    pub(crate) async fn on(inn: Inn, guest: Guest, session: String) -> Self {
        let chat = default_chat(&session);
        let watch = guest.watch_chat(&chat).await;
        Self {
            inn,
            guest,
            session,
            chat,
            watch,
        }
    }

    /// Ends the host and begins again, with a new connection of the same guest.
    pub(crate) async fn reopen(self) -> Self {
        let Self { inn, session, .. } = self;
        let inn = inn.reopen(InnOptions::default()).await;
        let guest = inn.guest("a").await;
        Self::on(inn, guest, session).await
    }

    /// The guest's state is what a newcomer is given; then the host ends.
    pub(crate) async fn close(mut self) {
        let newcomer = self.inn.guest("newcomer").await;
        let fresh: ChatState = newcomer.snapshot(&self.chat).await;
        self.watch
            .until("the state of a newcomer", |state| *state == fresh)
            .await;
        self.inn.close().await;
    }

    pub(crate) async fn act(&self, action: Value) -> i64 {
        act(&self.guest, &self.chat, action).await
    }

    /// Starts a turn that plays these steps.
    pub(crate) async fn play(&self, turn: &str, steps: Value) {
        self.guest.say(&self.chat, turn, &script(steps)).await;
    }

    /// Dispatches what must be rejected, and gives the reason.
    pub(crate) async fn refused(&mut self, action: Value) -> String {
        let seq = self.act(action).await;
        self.watch.rejection(seq).await
    }

    pub(crate) async fn until(&mut self, what: &str, done: impl Fn(&Value) -> bool) -> Value {
        until(&mut self.watch, what, done).await
    }

    /// Waits until the tool call of the active turn is in a state.
    pub(crate) async fn call(&mut self, status: &str) -> Value {
        let state = self
            .until(status, |chat| {
                last_call(&chat["activeTurn"])["status"] == status
            })
            .await;
        last_call(&state["activeTurn"]).clone()
    }

    /// Waits until a turn has ended, and gives it.
    pub(crate) async fn end(&mut self, turn: &str) -> Value {
        self.watch.turn_end(turn).await;
        let turns = self.watch.state.turns.iter();
        let turn = turns.rev().find(|t| t.id == turn);
        json!(turn)
    }

    pub(crate) async fn watch_session(&self) -> Watch<SessionState> {
        self.guest.watch_session(&self.session).await
    }
}

pub(crate) async fn act(guest: &Guest, channel: &str, action: Value) -> i64 {
    let typed: StateAction = serde_json::from_value(action.clone()).unwrap();
    assert!(!matches!(typed, StateAction::Unknown(_)), "{action}");
    guest.dispatch(channel, typed).await
}

pub(crate) async fn until<S: Folded + serde::Serialize>(
    watch: &mut Watch<S>,
    what: &str,
    done: impl Fn(&Value) -> bool,
) -> Value {
    watch.until(what, |state| done(&json!(state))).await;
    json!(watch.state)
}

/// The last tool call of a turn.
pub(crate) fn last_call(turn: &Value) -> &Value {
    let parts = turn["responseParts"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let mut calls = parts.iter().rev().filter(|part| part["kind"] == "toolCall");
    calls
        .next()
        .map_or(&Value::Null, |part| part.index("toolCall"))
}

/// All text of a turn.
pub(crate) fn text(turn: &Value) -> String {
    let parts = turn["responseParts"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let texts = parts.iter().filter(|part| part["kind"] == "markdown");
    texts.filter_map(|part| part["content"].as_str()).collect()
}

pub(crate) fn confirmed(turn: &str, call: &Value, approved: bool) -> Value {
    let mut action = json!({
        "type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call["toolCallId"],
        "approved": approved,
    });
    match approved {
        true => action["confirmed"] = json!("user-action"),
        false => action["reason"] = json!("denied"),
    }
    action
}

pub(crate) fn with(mut value: Value, more: Value) -> Value {
    if let (Some(object), Some(more)) = (value.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
    value
}

/// A message of the user, as clients send it.
pub(crate) fn message(text: &str) -> Value {
    json!({"text": text, "origin": {"kind": "user"}})
}

pub(crate) fn queued(id: &str, text: &str) -> Value {
    pending("queued", id, text)
}

pub(crate) fn pending(kind: &str, id: &str, text: &str) -> Value {
    json!({"type": "chat/pendingMessageSet", "kind": kind, "id": id, "message": message(text)})
}
