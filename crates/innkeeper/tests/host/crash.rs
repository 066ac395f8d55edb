//! The real program is killed again and again, at any moment, and loses
//! nothing that it echoed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::common::binary::Binary;
use crate::common::git::git;
use crate::common::{Folded as _, Guest, Watch, default_chat, in_time, message, script};
use ahp::SubscriptionEvent;
use futures_util::FutureExt as _;
use innkeeper_protocol::newest::actions::{
    ActionEnvelope, ChatDraftChangedAction, SessionTitleChangedAction, StateAction,
};
use innkeeper_protocol::newest::commands::ReconnectResult;
use innkeeper_protocol::newest::state::{
    ChangesetState, ChatState, ResponsePart, SessionState, Snapshot, TurnState,
};
use serde_json::{Value, json};

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
        // A client that comes back is served, from its own number on; and what
        // the host does then, such as ending a turn that was running, is told.
        let mut told = guest.client.attach_subscription(&chat_uri).await;
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
        let params = json!({"channel": chat_uri});
        let subscribed = guest.request("subscribe", params).await.unwrap();
        let fresh: Snapshot = serde_json::from_value(subscribed["snapshot"].clone()).unwrap();
        // It came before the answer.
        while let Some(Some(SubscriptionEvent::Action(envelope))) = told.recv().now_or_never() {
            if envelope.server_seq <= u64::try_from(fresh.from_seq).unwrap() {
                state.apply(&envelope.action);
            }
        }
        let fresh = ChatState::from_snapshot(fresh.state);
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
                && state.lifecycle == innkeeper_protocol::newest::state::SessionLifecycle::Ready
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

const FILES: usize = 40;

fn name(file: usize) -> String {
    format!("file {file:02}")
}

/// A repository as people have them: with a stash, something staged, another
/// branch, and files that are in nothing yet.
fn repository(at: &Path) {
    git(at, &["init", "--quiet", "--initial-branch=main"]);
    for (name, value) in [
        ("user.name", "Somebody"),
        ("user.email", "somebody@example.org"),
        ("commit.gpgSign", "false"),
        ("core.excludesFile", "/dev/null"),
    ] {
        git(at, &["config", name, value]);
    }
    for file in 0..FILES {
        std::fs::write(at.join(name(file)), "committed\n").unwrap();
    }
    std::fs::write(at.join("staged"), "committed\n").unwrap();
    git(at, &["add", "--all"]);
    git(at, &["commit", "--quiet", "--message", "First"]);
    git(at, &["branch", "other"]);
    std::fs::write(at.join(name(0)), "stashed\n").unwrap();
    git(at, &["stash", "push", "--quiet"]);
}

/// What no operation ever touches.
fn untouched(at: &Path) -> [String; 4] {
    [
        git(at, &["symbolic-ref", "HEAD"]),
        git(at, &["rev-parse", "other"]),
        git(at, &["stash", "list"]),
        git(at, &["config", "--list", "--local"]),
    ]
}

/// Files that differ from the last commit, as git has them.
fn uncommitted(at: &Path) -> BTreeSet<String> {
    let said = git(at, &["--no-optional-locks", "status", "--porcelain", "-z"]);
    let lines = said.split('\0').filter_map(|line| line.get(3..));
    lines.map(str::to_owned).collect()
}

fn shown(changeset: &ChangesetState) -> BTreeSet<String> {
    let ids = changeset
        .files
        .iter()
        .filter_map(|file| file.id.rsplit('/').next());
    ids.map(|name| name.replace("%20", " ")).collect()
}

async fn uncommitted_of(guest: &Guest) -> (String, Watch<ChangesetState>) {
    let mut session = guest.watch_session(SESSION).await;
    let offered = |state: &SessionState| state.changesets.is_some();
    session.until("a catalogue", offered).await;
    let catalogue = session.state.changesets.unwrap();
    let channel = catalogue[0].uri_template.clone();
    let watch = guest.watch(&channel, None).await;
    (channel, watch)
}

/// Killed while it keeps states, discards, commits and takes back: what is the
/// user's is as it was, or as the operation says, and the next host tells it
/// as it is.
#[tokio::test]
async fn files_and_git_are_whole_however_often_the_host_is_killed() {
    let (data, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = directory.path();
    repository(at);
    let first = git(at, &["rev-parse", "HEAD"]);
    let expected = untouched(at);
    let mut done = 0;
    for life in 0..16 {
        let host = Binary::start(data.path(), &[]);
        let guest = Guest::arrive(&host.url, NAME).await;
        guest.initialize(&[]).await;
        if life == 0 {
            let uri = format!("file://{}", at.display());
            let params = json!({
                "channel": SESSION, "provider": "script", "workingDirectories": [uri],
            });
            guest.request("createSession", params).await.unwrap();
        }
        let (channel, mut watch) = uncommitted_of(&guest).await;
        // What the last host had started may still go on; it is noticed.
        let right = async {
            while json!(watch.state)["status"] != "ready" || shown(&watch.state) != uncommitted(at)
            {
                // Git may have come to its end without another word.
                let _ = tokio::time::timeout(Duration::from_millis(200), watch.next()).await;
            }
        };
        in_time("the view is right", right).await;
        assert_eq!(untouched(at), expected, "life {life}");
        git(at, &["fsck", "--strict", "--no-dangling"]);
        for file in 0..FILES {
            let text = std::fs::read_to_string(at.join(name(file))).unwrap();
            let whole = text == "committed\n" || text.starts_with("life ") && text.ends_with('\n');
            assert!(whole, "life {life}: {text:?}");
        }
        let log = git(at, &["log", "--format=%H"]);
        assert_eq!(log.lines().last(), Some(first.as_str()), "life {life}");

        // Now the next one.
        let text = format!("life {life}\n");
        let operation = ["discard", "commit", "undo", "turn"][life % 4];
        if operation == "turn" {
            let edits = (0..FILES).map(
                |file| json!({"edit": {"path": name(file), "content": text, "confirm": "none"}}),
            );
            let steps = script(Value::Array(edits.collect()));
            let (chat_uri, turn) = (default_chat(SESSION), format!("turn-{life}"));
            let mut chat = guest.watch_chat(&chat_uri).await;
            guest.say(&chat_uri, &turn, &steps).await;
            for _ in 0..scramble(life as u64) % 80 {
                chat.next().await;
            }
        } else {
            if operation != "undo" {
                for file in 0..FILES {
                    std::fs::write(at.join(name(file)), &text).unwrap();
                }
                std::fs::write(at.join("staged"), &text).unwrap();
                git(at, &["add", "staged"]);
                let all = |state: &ChangesetState| state.files.len() > FILES;
                watch.until("all of them", all).await;
            }
            let params = json!({
                "channel": channel, "operationId": operation,
                "_meta": {"message": format!("Life {life}")},
            });
            let more = scramble(life as u64) % 4;
            let heard = async {
                // That it runs, and a little more.
                for _ in 0..=more {
                    watch.next().await;
                }
            };
            tokio::select! {
                outcome = guest.request("invokeChangesetOperation", params) => {
                    done += usize::from(outcome.is_ok());
                }
                () = heard => {}
            }
        }
        host.kill();
    }
    println!("{done} operations were done when the host was killed");
}
