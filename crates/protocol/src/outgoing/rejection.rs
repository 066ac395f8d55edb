//! An action that was refused, and why: in a sentence for people, and in a word
//! that programs can decide by.

use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::command::Said;
use crate::newest::actions::{ActionOrigin, StateAction};
use crate::{ChannelUri, Seq};

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejection {
    pub channel: ChannelUri,
    pub action: StateAction,
    /// The sequence as the host knows it; the rejection takes no number.
    pub server_seq: Seq,
    pub origin: ActionOrigin,
    #[serde(rename = "rejectionReason")]
    pub reason: String,
    /// A field of our own: `_meta.innkeeper.code`. Clients of older versions
    /// are not sent it.
    #[serde(rename = "_meta", serialize_with = "as_meta")]
    pub code: RejectionCode,
    /// In the words of a client of an older version, as which it goes back.
    #[serde(skip)]
    pub said: Option<Arc<Said>>,
}

/// Why an action was refused. `docs/sessions.md` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RejectionCode {
    /// It is not what it should be, or does not fit what is there.
    Invalid,
    /// Clients do not say this, or not on such a channel.
    NotAccepted,
    /// There is no such channel.
    NoSuchChannel,
    /// There is a turn of this id: it may have been sent before.
    TurnExists,
    /// Another turn is running.
    TurnRuns,
    /// The turn is not running, or not any more.
    NoTurn,
    /// What the action is about is over: somebody was faster.
    AlreadyDone,
    /// Another client has what can be had by one at a time.
    Held,
    /// There are as many as there may be.
    LimitReached,
    /// The host accepts no work: it cannot write, or is about to end.
    Unavailable,
}

impl RejectionCode {
    pub const ALL: [Self; 10] = [
        Self::Invalid,
        Self::NotAccepted,
        Self::NoSuchChannel,
        Self::TurnExists,
        Self::TurnRuns,
        Self::NoTurn,
        Self::AlreadyDone,
        Self::Held,
        Self::LimitReached,
        Self::Unavailable,
    ];
}

fn as_meta<S: Serializer>(code: &RejectionCode, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Innkeeper {
        code: RejectionCode,
    }
    let mut meta = to.serialize_map(Some(1))?;
    meta.serialize_entry("innkeeper", &Innkeeper { code: *code })?;
    meta.end()
}
