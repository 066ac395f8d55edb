//! How long a turn has waited for a person. A turn's duration is all the time
//! that it took; how much of it was spent on waiting is told with its usage, so
//! that clients can say how long the agent worked, whenever they look.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{ChatUsageAction, StateAction};
use innkeeper_protocol::newest::state::{SessionStatus, UsageInfo};
use serde_json::{Value, json};

use super::TurnsMut;
use super::running::RunningTurn;

/// Where Innkeeper's own keys are.
const OWN: &str = "innkeeper";
const WAITED: &str = "waitedMs";

/// A shorter wait is not worth an action.
const SHORTEST_MILLIS: i64 = 1_000;

impl TurnsMut<'_> {
    /// Notes which turns of a session have begun to wait for a person, and tells
    /// of those that no longer do.
    pub(crate) fn count_waiting(&mut self, session: &ChannelUri) {
        for chat in self.core.channels.chats_of(session) {
            let waits = self.core.channels.chat(&chat).is_some_and(|chat| {
                let needed = SessionStatus::InputNeeded.bits();
                chat.head.active_turn.is_some() && chat.head.status & needed == needed
            });
            let now = self.core.measured();
            let Some(turn) = self.own.turn_mut(&chat) else {
                continue;
            };
            match (waits, turn.waits_since) {
                (true, None) => turn.waits_since = Some(now),
                (false, Some(_)) => self.tell_wait(&chat),
                (true, Some(_)) | (false, None) => {}
            }
        }
    }

    /// The wait of a chat's turn is over, if there is one.
    pub(super) fn tell_wait(&mut self, chat: &ChannelUri) {
        let now = self.core.measured();
        let Some(turn) = self.own.turn_mut(chat) else {
            return;
        };
        let Some(since) = turn.waits_since.take() else {
            return;
        };
        let waited = now.millis_since(since);
        turn.waited_millis = turn.waited_millis.saturating_add(waited);
        if waited < SHORTEST_MILLIS {
            return;
        }
        let (turn_id, waited) = (turn.id.to_string(), turn.waited_millis);
        let active = self.core.channels.chat(chat);
        let active = active.and_then(|chat| chat.head.active_turn.as_ref());
        let mut usage = active
            .and_then(|turn| turn.usage.clone())
            .unwrap_or_default();
        put(&mut usage, waited);
        let action = ChatUsageAction {
            turn_id,
            usage,
            meta: None,
        };
        self.core.emit(chat, StateAction::ChatUsage(action), None);
    }
}

impl RunningTurn {
    /// What an agent reports replaces what was reported before: so the wait is
    /// put into it again.
    pub(super) fn with_wait(&self, mut usage: UsageInfo) -> UsageInfo {
        if self.waited_millis >= SHORTEST_MILLIS {
            put(&mut usage, self.waited_millis);
        }
        usage
    }
}

/// How long a turn had waited when its usage was told.
pub(super) fn waited_in(usage: Option<&UsageInfo>) -> i64 {
    let meta = usage.and_then(|usage| usage.meta.as_ref());
    let own = meta.and_then(|meta| meta.get(OWN)?.get(WAITED)?.as_i64());
    own.map_or(0, |waited| waited.max(0))
}

fn put(usage: &mut UsageInfo, waited: i64) {
    let meta = usage.meta.get_or_insert_default();
    let own = meta.entry(OWN.to_owned()).or_insert_with(|| json!({}));
    match own {
        Value::Object(own) => drop(own.insert(WAITED.to_owned(), waited.into())),
        other => *other = json!({ WAITED: waited }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_a_report_says_stays() {
        let mut usage = UsageInfo {
            input_tokens: Some(3),
            meta: serde_json::from_value(json!({"cost": 1, "innkeeper": {"else": 2}})).unwrap(),
            ..UsageInfo::default()
        };
        put(&mut usage, 1_500);
        let expected = json!({"cost": 1, "innkeeper": {"else": 2, "waitedMs": 1_500}});
        assert_eq!(serde_json::to_value(&usage.meta).unwrap(), expected);
        assert_eq!(
            (usage.input_tokens, waited_in(Some(&usage))),
            (Some(3), 1_500)
        );
    }

    #[test]
    fn a_report_of_somebody_else_says_nothing_of_waits() {
        for meta in [
            json!({"innkeeper": 7}),
            json!({"innkeeper": {"waitedMs": -5}}),
        ] {
            let meta = serde_json::from_value(meta).unwrap();
            let usage = UsageInfo {
                meta,
                ..UsageInfo::default()
            };
            assert_eq!(waited_in(Some(&usage)), 0);
        }
        assert_eq!(waited_in(None), 0);
    }
}
