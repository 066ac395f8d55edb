//! The real program is killed again and again, at any moment, and loses
//! nothing that it echoed.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a helper of a test may fail as the test may"
)]

mod common;

use std::collections::BTreeSet;

use common::binary::Binary;
use common::{Folded as _, Guest, Watch, default_chat, message, script};
use innkeeper_protocol::house::actions::{
    ActionEnvelope, ChatDraftChangedAction, SessionTitleChangedAction, StateAction,
};
use innkeeper_protocol::house::commands::ReconnectResult;
use innkeeper_protocol::house::state::{ChatState, ResponsePart, SessionState, TurnState};
use serde_json::json;

const LIVES: u64 = 24;
const NAME: &str = "survivor";
const SESSION: &str = "ahp-session:/crash";

/// What the host has told this client that it has accepted.
#[derive(Default)]
struct Promises {
    turns: BTreeSet<String>,
    draft: Option<String>,
    title: Option<String>,
    /// The highest number that was ever seen.
    seq: u64,
}

impl Promises {
    fn hear(&mut self, envelope: &ActionEnvelope) {
        self.seq = self.seq.max(envelope.server_seq);
        if envelope.origin.is_none() || envelope.rejection_reason.is_some() {
            return;
        }
        match &envelope.action {
            StateAction::ChatTurnStarted(turn) => drop(self.turns.insert(turn.turn_id.clone())),
            StateAction::ChatDraftChanged(change) => {
                self.draft = change.draft.as_ref().map(|draft| draft.text.clone());
            }
            StateAction::SessionTitleChanged(change) => self.title = Some(change.title.clone()),
            _ => {}
        }
    }

    fn check(&self, life: u64, chat: &ChatState, session: &SessionState) {
        let kept: BTreeSet<String> = chat.turns.iter().map(|turn| turn.id.clone()).collect();
        assert!(self.turns.is_subset(&kept), "life {life}: a turn was lost");
        let draft = chat.draft.as_ref().map(|draft| draft.text.clone());
        // What was dispatched and not echoed may have got in or not.
        if let Some(promised) = &self.draft {
            let kept = draft.expect("a draft was promised");
            assert!(
                number(&kept) >= number(promised),
                "life {life}: an older draft"
            );
        }
        if let Some(promised) = &self.title {
            assert!(
                number(&session.title) >= number(promised),
                "life {life}: an older title"
            );
        }
        assert!(
            chat.active_turn.is_none(),
            "life {life}: a turn is left running"
        );
        for turn in chat
            .turns
            .iter()
            .filter(|turn| turn.state == TurnState::Error)
        {
            let resumable = matches!(
                turn.response_parts.last(),
                Some(ResponsePart::Error(error)) if error.resumable == Some(true)
            );
            assert!(
                resumable,
                "life {life}: an interrupted turn cannot be resumed"
            );
        }
    }
}

/// Drafts and titles are numbered in the order of dispatch.
fn number(text: &str) -> u64 {
    text.rsplit(' ')
        .next()
        .and_then(|last| last.parse().ok())
        .unwrap_or(0)
}

/// Pseudo-random, and the same every time.
fn scramble(seed: u64) -> u64 {
    let mut z = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(0x1234_5678_9abc_def1);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[tokio::test]
async fn nothing_that_was_echoed_is_lost_however_often_the_host_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let chat_uri = default_chat(SESSION);
    let mut promises = Promises::default();
    let (mut replays, mut snapshots, mut interrupted) = (0, 0, 0);
    let mut last: Option<(ChatState, u64)> = None;
    for life in 0..LIVES {
        let host = Binary::start(directory.path(), &[]);
        let guest = Guest::arrive(&host.url, NAME).await;
        let Some((mut state, seen)) = last.take() else {
            begin(&guest).await;
            last = Some(live(life, host, &guest, &mut promises).await);
            continue;
        };
        // A client that comes back is served, from its own number on.
        let channels = vec![chat_uri.clone()];
        match guest
            .client
            .reconnect(NAME.into(), seen as i64, channels)
            .await
            .unwrap()
        {
            ReconnectResult::Replay(replay) => {
                replays += 1;
                for envelope in &replay.actions {
                    promises.seq = promises.seq.max(envelope.server_seq);
                    state.apply(&envelope.action);
                }
            }
            ReconnectResult::Snapshot(fresh) => {
                snapshots += 1;
                assert_eq!(fresh.snapshots.len(), 1, "life {life}");
                state = ChatState::from_snapshot(fresh.snapshots[0].state.clone());
            }
        }
        let fresh: ChatState = guest.snapshot(&chat_uri).await;
        assert_eq!(
            state, fresh,
            "life {life}: what was replayed leads to what is there"
        );
        let session: SessionState = guest.snapshot(SESSION).await;
        promises.check(life, &fresh, &session);
        interrupted += fresh
            .turns
            .iter()
            .filter(|turn| turn.state == TurnState::Error)
            .count();
        last = Some(live(life, host, &guest, &mut promises).await);
    }
    println!(
        "{replays} replays, {snapshots} snapshots, {} turns",
        promises.turns.len()
    );
    assert!(interrupted > 0, "turns were interrupted");
    assert!(
        promises.turns.len() as u64 >= LIVES / 2,
        "turns were accepted"
    );
}

async fn begin(guest: &Guest) {
    guest.initialize(&[]).await;
    let params = json!({"channel": SESSION, "provider": "script"});
    guest.request("createSession", params).await.unwrap();
    let mut session = guest.watch_session(SESSION).await;
    session
        .until("ready", |state| {
            state.creation_error.is_none()
                && state.lifecycle == innkeeper_protocol::house::state::SessionLifecycle::Ready
        })
        .await;
}

/// Works until the host is killed in the middle of it, and returns what the
/// client held at that moment.
async fn live(life: u64, host: Binary, guest: &Guest, promises: &mut Promises) -> (ChatState, u64) {
    let chat_uri = default_chat(SESSION);
    let mut chat: Watch<ChatState> = guest.watch_chat(&chat_uri).await;
    let mut session = guest.watch_session(SESSION).await;
    assert!(chat.seq >= promises.seq, "life {life}: serverSeq went back");
    let flood = script(json!([{"flood": {"deltas": 100_000, "bytes": 16, "everyUs": 20}}]));
    guest.say(&chat_uri, &format!("turn-{life}"), &flood).await;
    let moment = scramble(life) % 600;
    for step in 0..moment {
        let number = life * 1_000 + step;
        if step % 3 == 0 {
            let draft = Some(message(&format!("draft {number}")));
            let action = StateAction::ChatDraftChanged(ChatDraftChangedAction { draft });
            guest.dispatch(&chat_uri, action).await;
        }
        if step % 50 == 0 {
            let action = SessionTitleChangedAction {
                title: format!("title {number}"),
            };
            guest
                .dispatch(SESSION, StateAction::SessionTitleChanged(action))
                .await;
            // Titles come over the session's channel, at their own pace.
            let envelope = session.next().await;
            promises.hear(&envelope);
        }
        let envelope = chat.next().await;
        promises.hear(&envelope);
    }
    host.kill();
    // What was on its way when the host died still arrives.
    while let Some(envelope) = chat.next_or_end().await {
        promises.hear(&envelope);
    }
    while let Some(envelope) = session.next_or_end().await {
        promises.hear(&envelope);
    }
    (chat.state, chat.seq)
}
