//! What becomes of an action that a client dispatched. Each family of actions
//! has one file that judges them and says what follows; the action goes
//! through it by value.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::outgoing::{HostMessage, Rejection, RejectionCode};
use serde_json::Value;

use super::channels::Channel;
use super::{Core, Sender};
use crate::effect::Effect;

/// `A` is what follows when the action was applied.
#[derive(Debug)]
pub(crate) enum Verdict<A> {
    Apply(StateAction, A),
    /// It changes no state: its sender alone is told that it was taken.
    Confirm(StateAction, A),
    Reject(StateAction, Refusal),
    /// No client may say it in this place.
    NotAccepted(StateAction),
}

impl<A> Verdict<A> {
    pub(crate) fn reject(action: StateAction, reason: impl Into<Refusal>) -> Self {
        Self::Reject(action, reason.into())
    }

    /// The same action, refused.
    pub(crate) fn refused(self, refusal: Refusal) -> Self {
        match self {
            Self::Apply(action, _) | Self::Confirm(action, _) => Self::Reject(action, refusal),
            Self::Reject(..) | Self::NotAccepted(_) => self,
        }
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

/// The refusal of an action that no client may say in this place, which is
/// called what its sender calls it.
fn why_not_accepted(channel: Option<&Channel>, action: &StateAction, sender: &Sender) -> Refusal {
    let said = sender.said.as_deref();
    let value = match said {
        Some(_) => Value::Null,
        None => serde_json::to_value(action).unwrap_or_default(),
    };
    let name = match said {
        Some(said) => said.kind(),
        None => value["type"].as_str().unwrap_or_default(),
    };
    let name = match name {
        "" => "(no type)".to_owned(),
        name => name.chars().take(LONGEST_NAME).collect(),
    };
    let has_chats = said.is_none_or(|said| said.version.has_chats());
    let place = match channel {
        Some(Channel::Root(_)) => "the root channel",
        Some(Channel::Chat(_)) if has_chats => "a chat",
        Some(Channel::Session(_) | Channel::Chat(_)) => "a session",
        Some(Channel::Terminal(_)) => "a terminal",
        Some(Channel::Changeset(_)) => "a changeset",
        Some(Channel::Watch(_)) => "a watch",
        Some(Channel::Canvas(_)) => "a canvas",
        Some(Channel::Annotations(_)) => "the annotations of a session",
        Some(Channel::Automations(_)) => "the catalogue of automations",
        Some(Channel::AutomationRun(_)) => "a run of an automation",
        None => "this channel",
    };
    let reason = match action {
        StateAction::Unknown(_) => {
            format!("`{name}` is not an action that this host knows, or lacks a field")
        }
        _ => format!("`{name}` is not accepted from clients on {place}"),
    };
    Refusal::new(RejectionCode::NotAccepted, reason)
}

/// A sentence that somebody can read: what it repeats may be of any size.
pub(super) fn readable(mut sentence: String) -> String {
    const MOST: usize = 4096;
    if sentence.len() > MOST {
        let end = (0..=MOST).rev().find(|at| sentence.is_char_boundary(*at));
        sentence.truncate(end.unwrap_or(0));
        sentence.push('…');
    }
    sentence
}

/// How much of a name is repeated to who said it.
const LONGEST_NAME: usize = 200;

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
                self.confirm_unapplied(channel, action, sender);
                Some(after)
            }
            Verdict::Reject(action, reason) => {
                self.reject(channel.clone(), action, sender, reason);
                None
            }
            Verdict::NotAccepted(action) => {
                let known = self.channels.get(channel);
                let reason = why_not_accepted(known, &action, &sender);
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
        let reason = readable(reason);
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
            said: sender.said,
        };
        let message = HostMessage::Rejection(Box::new(rejection));
        self.effect(Effect::Send { to, message });
    }
}
