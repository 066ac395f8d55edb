//! What becomes of an action that a client dispatched. Each family of actions
//! has one file that judges them and says what follows; the action goes
//! through it by value.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::outgoing::{HostMessage, Rejection, RejectionCode};
use serde_json::Value;

use super::{Core, Sender};
use crate::effect::Effect;

/// `A` is what follows when the action was applied.
#[derive(Debug)]
pub(crate) enum Verdict<A> {
    Apply(StateAction, A),
    /// It changes no state: its sender alone is told that it was taken.
    Confirm(StateAction, A),
    Reject(StateAction, Refusal),
}

impl<A> Verdict<A> {
    pub(crate) fn reject(action: StateAction, reason: impl Into<Refusal>) -> Self {
        Self::Reject(action, reason.into())
    }
}

/// Why an action is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: RejectionCode,
    /// In a sentence, with what to do where there is something.
    pub(crate) reason: String,
}

impl Refusal {
    pub(crate) fn new(code: RejectionCode, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { code, reason }
    }
}

/// Most of what is refused is wrong in itself.
impl<S: Into<String>> From<S> for Refusal {
    fn from(reason: S) -> Self {
        Self::new(RejectionCode::Invalid, reason)
    }
}

/// The refusal of an action that no client may say in this place.
pub(crate) fn not_accepted<A>(action: StateAction, place: &str) -> Verdict<A> {
    let value = serde_json::to_value(&action).unwrap_or_default();
    let name = value.get("type").and_then(Value::as_str);
    let name = name.unwrap_or("(no type)");
    let reason = match action {
        StateAction::Unknown(_) => {
            format!("`{name}` is not an action that this host knows, or lacks a field")
        }
        _ => format!("`{name}` is not accepted from clients on {place}"),
    };
    Verdict::reject(action, Refusal::new(RejectionCode::NotAccepted, reason))
}

impl Core {
    /// Does what was decided about an action. Returns what follows from it.
    pub(crate) fn carry_out<A>(
        &mut self,
        channel: &ChannelUri,
        sender: Sender,
        verdict: Verdict<A>,
    ) -> Option<A> {
        match verdict {
            Verdict::Apply(action, after) => {
                self.emit(channel, action, Some(sender));
                Some(after)
            }
            Verdict::Confirm(action, after) => {
                self.confirm_input(channel, action, sender);
                Some(after)
            }
            Verdict::Reject(action, reason) => {
                self.reject(channel.clone(), action, sender, reason);
                None
            }
        }
    }

    pub(crate) fn reject(
        &mut self,
        channel: ChannelUri,
        action: StateAction,
        sender: Sender,
        refusal: impl Into<Refusal>,
    ) {
        let Refusal { code, reason } = refusal.into();
        let Some(to) = sender.connection else {
            return;
        };
        let rejection = Rejection {
            channel,
            action,
            server_seq: self.server_seq(),
            origin: sender.origin,
            reason,
            code,
        };
        let message = HostMessage::Rejection(Box::new(rejection));
        self.effect(Effect::Send { to, message });
    }
}
