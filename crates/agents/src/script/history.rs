//! What a backend remembers of its conversation: the turns that ended.
//!
//! *Invariant*: a turn is in here once, and only while it is not running.

use std::borrow::Cow;

use innkeeper_protocol::TurnId;
use innkeeper_protocol::snapshot::StoredTurn;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct History(Vec<KnownTurn>);

#[derive(Debug)]
enum KnownTurn {
    /// From before this backend: read when somebody asks.
    Stored(StoredTurn),
    Played {
        id: TurnId,
        text: String,
    },
}

impl History {
    pub(super) fn new(transcript: Vec<StoredTurn>) -> Self {
        Self(transcript.into_iter().map(KnownTurn::Stored).collect())
    }

    pub(super) fn add(&mut self, id: TurnId, text: String) {
        self.0.push(KnownTurn::Played { id, text });
    }

    /// Takes a turn out, because it runs again.
    pub(super) fn take_up(&mut self, turn: &str) {
        self.0.retain(|known| known.id() != turn);
    }

    /// What `echo history` says.
    pub(super) fn summary(&self) -> Value {
        let last = self.0.last().and_then(KnownTurn::text);
        json!({"turns": self.0.len(), "last": last})
    }
}

impl KnownTurn {
    fn id(&self) -> &str {
        match self {
            Self::Stored(turn) => &turn.id,
            Self::Played { id, .. } => id,
        }
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Stored(turn) => stored_text(turn),
            Self::Played { text, .. } => Some(Cow::Borrowed(text)),
        }
    }
}

fn stored_text(turn: &StoredTurn) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Outline<'a> {
        #[serde(borrow)]
        message: MessageOutline<'a>,
    }
    #[derive(Deserialize)]
    struct MessageOutline<'a> {
        #[serde(borrow)]
        text: Cow<'a, str>,
    }
    match serde_json::from_str::<Outline<'_>>(turn.json.get()) {
        Ok(outline) => Some(outline.message.text),
        Err(error) => {
            tracing::warn!(turn = &*turn.id, %error, "a stored turn could not be read");
            None
        }
    }
}
