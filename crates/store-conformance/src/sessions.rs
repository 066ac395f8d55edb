//! Sessions, chats, turns and contents: written, loaded, disposed, replaced.

use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::record::{ClientRecord, LoadedSession, StoreOp};
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::json;

use crate::records::*;
use crate::{Opening, Stage, Subject};

const S: &str = "ahp-session:/1";

fn turns(loaded: &LoadedSession, chat: usize) -> Vec<&str> {
    loaded.chats[chat]
        .turns
        .iter()
        .map(|turn| &*turn.id)
        .collect()
}

pub fn a_turn_of_any_size_comes_back_as_it_went<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([put_session(S, "S", 1), put_chat("c:/1", S, 0, None)]);
    let sizes = [0, 1, 262_000, 262_144, 300_000, 1_000_000];
    for (index, size) in sizes.into_iter().enumerate() {
        let text = format!("é{}", "x".repeat(size));
        let turn = turn_saying("c:/1", index as u64, "t", &text);
        // Written twice: the second replaces the first.
        stage.apply([turn.clone(), turn]);
    }
    let loaded = stage.load(S).unwrap();
    let kept: Vec<usize> = loaded.chats[0]
        .turns
        .iter()
        .map(|turn| turn.decode().unwrap().message.text.len() - "é".len())
        .collect();
    assert_eq!(kept, sizes);
}

pub fn a_session_comes_back_as_it_went<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([
        put_session(S, "S", 10),
        put_chat("c:/2", S, 0, None),
        put_chat("c:/1", S, 0, None),
        turn("c:/2", 0, "t0"),
        turn("c:/2", 1, "t1"),
        delta(1, "c:/2", "p", "a"),
        put_chat("c:/2", S, 2, Some("t2")),
        delta(3, "c:/2", "p", "b"),
    ]);
    let loaded = stage.load(S).unwrap();
    assert_eq!(loaded.session, session(S, "S", 10));
    assert_eq!(loaded.chats[0].record, chat("c:/2", S, 2, Some("t2")));
    assert_eq!(loaded.chats[1].record, chat("c:/1", S, 0, None));
    assert_eq!(turns(&loaded, 0), ["t0", "t1"]);
    assert_eq!(loaded.chats[0].turns[1].decode().unwrap().id, "t1");
    // An entry may hold 1 too: to leave out what the head has is the reader's
    // part.
    let log = &loaded.chats[0].log;
    assert_eq!(told(log, "c:/2", 2), ["p: b"]);
    assert!(loaded.chats[1].log.is_empty());
    assert!(stage.load("ahp-session:/unknown").is_none());
}

pub fn turns_can_be_cut_off_and_grow_again<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([put_session(S, "S", 1), put_chat("c:/1", S, 0, None)]);
    let keep = |keep| StoreOp::TruncateTurns {
        chat: "c:/1".into(),
        keep,
    };
    stage.apply(
        (0..4)
            .map(|i| turn("c:/1", i, &format!("t{i}")))
            .collect::<Vec<_>>(),
    );
    stage.apply([keep(9), keep(2), turn("c:/1", 2, "u")]);
    assert_eq!(turns(&stage.load(S).unwrap(), 0), ["t0", "t1", "u"]);

    let chat = "c:/1".into();
    stage.apply([StoreOp::DeleteChat { chat }, put_chat("c:/1", S, 0, None)]);
    assert!(turns(&stage.load(S).unwrap(), 0).is_empty());
}

pub fn the_next_life_is_told_what_it_needs<S: Subject>(subject: impl Fn() -> S) {
    let default_chat = ChannelUri::default_chat_of("s:/b");
    let mut stage = Stage::new(subject());
    stage.apply([
        put_session("s:/a", "A", 10),
        put_session("s:/b", "B", 30),
        put_session("s:/c", "C", 20),
        put_session("s:/gone", "D", 40),
        put_chat("c:/a", "s:/a", 0, None),
        put_chat(default_chat.as_str(), "s:/b", 0, Some("t")),
        put_chat("c:/b", "s:/b", 0, Some("t")),
        put_chat("c:/c", "s:/c", 0, Some("t")),
        put_chat("c:/c", "s:/c", 0, None),
        put_chat("c:/gone", "s:/gone", 0, Some("t")),
        dispose("s:/gone", 50),
        StoreOp::PutRootConfig {
            values: json!({"k": [1]}),
        },
        StoreOp::PutRootConfig {
            values: json!({"k": [2]}),
        },
    ]);
    let client = |version: &str, at| ClientRecord {
        client_id: "c".into(),
        version: version.into(),
        seen_at: Timestamp::from_millis(at),
    };
    stage.apply([client("0.1", 1), client("1.0", 2)].map(StoreOp::PutClient));

    let boot = stage.restart().boot;
    assert_eq!(
        uris(boot.catalogue.iter().map(|row| &row.session)),
        ["s:/b", "s:/c", "s:/a"]
    );
    assert_eq!(boot.catalogue[0].modified_at, Timestamp::from_millis(30));
    let summary: serde_json::Value =
        serde_json::from_str(&boot.catalogue[0].summary.text().unwrap()).unwrap();
    assert_eq!(summary["title"], "B");
    let facts = boot.catalogue[0].facts.as_ref().unwrap();
    assert_eq!(facts.text().unwrap(), r#"{"model":{"id":"B"}}"#);
    assert_eq!(
        boot.chats,
        [("c:/a", "s:/a"), ("c:/b", "s:/b"), ("c:/c", "s:/c")].map(|(c, s)| (c.into(), s.into()))
    );
    assert_eq!(uris(&boot.interrupted), ["s:/b"]);
    assert_eq!(boot.clients, [client("1.0", 2)]);
    assert_eq!(boot.root_config, Some(json!({"k": [2]})));
}

fn with_a_disposed_session<S: Subject>(subject: S) -> Stage<S> {
    let mut stage = Stage::new(subject);
    stage.apply([
        put_session(S, "S", 1),
        put_chat("c:/1", S, 0, None),
        turn("c:/1", 0, "t0"),
        content("x:/1", S, "data"),
        title(1, S, "T"),
        title(2, "ahp-root://", "T"),
        delta(3, "c:/1", "p", "a"),
        dispose(S, 50),
    ]);
    stage
}

pub fn a_disposed_session_is_hidden_and_its_log_is_gone<S: Subject>(subject: impl Fn() -> S) {
    let stage = with_a_disposed_session(subject());
    let reader = &stage.archive;
    assert!(stage.load(S).is_none());
    assert!(reader.catalogue().unwrap().is_empty());
    assert_eq!(reader.content("x:/1").unwrap(), None);
    let log = log_of(&**reader, 0, 9);
    assert_eq!(
        uris(log.iter().map(|entry| &entry.channel)),
        ["ahp-root://"]
    );
    let disposed = reader.disposed().unwrap();
    assert_eq!(disposed[0].row.session.as_str(), S);
    assert_eq!(disposed[0].disposed_at, Timestamp::from_millis(50));
}

pub fn a_disposed_session_can_be_brought_back<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = with_a_disposed_session(subject());
    assert!(stage.store.restore(&S.into()).unwrap());
    assert!(!stage.store.restore(&S.into()).unwrap());
    assert_eq!(turns(&stage.load(S).unwrap(), 0), ["t0"]);
    let content = stage.archive.content("x:/1").unwrap().unwrap();
    assert_eq!(content.data, "data");
}

pub fn a_new_session_under_the_name_of_a_disposed_one_inherits_nothing<S: Subject>(
    subject: impl Fn() -> S,
) {
    let mut stage = with_a_disposed_session(subject());
    stage.apply([put_session(S, "New", 60)]);
    let loaded = stage.load(S).unwrap();
    assert_eq!(loaded.session, session(S, "New", 60));
    assert!(loaded.chats.is_empty());
    assert_eq!(stage.archive.content("x:/1").unwrap(), None);
    assert!(!stage.store.restore(&S.into()).unwrap());
    stage.apply([put_chat("c:/1", S, 3, None)]);
    assert!(turns(&stage.load(S).unwrap(), 0).is_empty());
}

pub fn a_chat_under_the_name_of_a_disposed_one_inherits_nothing<S: Subject>(
    subject: impl Fn() -> S,
) {
    let mut stage = with_a_disposed_session(subject());
    stage.apply([
        put_session("s:/2", "S", 1),
        put_chat("c:/1", "s:/2", 3, None),
    ]);
    assert!(turns(&stage.load("s:/2").unwrap(), 0).is_empty());
}

pub fn a_chat_that_moves_takes_its_turns_along<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([
        put_session(S, "S", 1),
        put_session("s:/2", "S", 1),
        put_chat("c:/1", S, 0, None),
        turn("c:/1", 0, "t0"),
        put_chat("c:/1", "s:/2", 0, None),
    ]);
    assert!(stage.load(S).unwrap().chats.is_empty());
    assert_eq!(turns(&stage.load("s:/2").unwrap(), 0), ["t0"]);
}

pub fn a_deleted_session_is_gone_for_good<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = with_a_disposed_session(subject());
    assert!(stage.store.delete(&S.into()).unwrap());
    assert!(!stage.store.delete(&S.into()).unwrap());
    assert!(!stage.store.restore(&S.into()).unwrap());
    stage.apply([put_session(S, "S", 1), put_chat("c:/1", S, 0, None)]);
    assert!(turns(&stage.load(S).unwrap(), 0).is_empty());
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A store that keeps disposed sessions for two days, opened on that day.
fn on_day(day: u32) -> Opening {
    Opening {
        keep_disposed_days: 2,
        now: Timestamp::default().after(DAY * day),
        ..Opening::default()
    }
}

fn with_one_disposed<S: Subject>(subject: S, opening: &Opening) -> Stage<S> {
    let mut stage = Stage::opened(subject, opening);
    stage.apply([
        put_session(S, "S", 1),
        content("x:/1", S, "data"),
        put_session("s:/kept", "S", 1),
        dispose(S, 50),
    ]);
    stage
}

fn count_disposed<S: Subject>(stage: &Stage<S>) -> usize {
    assert_eq!(stage.archive.catalogue().unwrap().len(), 1);
    stage.archive.disposed().unwrap().len()
}

pub fn a_disposed_session_goes_when_the_host_has_run_for_so_many_days<S: Subject>(
    subject: impl Fn() -> S,
) {
    let mut stage = with_one_disposed(subject(), &on_day(1));
    for (ran, left) in [
        (DAY, 1),
        (DAY, 1),
        (DAY - Duration::from_secs(1), 1),
        (Duration::from_secs(1), 0),
    ] {
        stage.store.tend(ran).unwrap();
        assert_eq!(count_disposed(&stage), left);
    }
}

pub fn a_clock_that_is_years_ahead_removes_nothing<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = with_one_disposed(subject(), &on_day(1));
    for day in [1_000, 1_000, 1] {
        stage = stage.restart_with(&on_day(day));
        assert_eq!(count_disposed(&stage), 1);
    }
    assert!(stage.store.restore(&S.into()).unwrap());
}

pub fn days_in_which_the_host_is_started_count_once_each<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = with_one_disposed(subject(), &on_day(1));
    for (day, left) in [(1, 1), (2, 1), (2, 1), (2, 1), (9, 1), (9, 1), (10, 0)] {
        stage = stage.restart_with(&on_day(day));
        assert_eq!(count_disposed(&stage), left, "on day {day}");
    }
}

pub fn without_a_time_to_be_kept_a_disposed_session_goes_with_the_next_start<S: Subject>(
    subject: impl Fn() -> S,
) {
    let opening = Opening {
        keep_disposed_days: 0,
        ..Opening::default()
    };
    let stage = with_one_disposed(subject(), &opening);
    assert_eq!(count_disposed(&stage.restart_with(&opening)), 0);
}

pub fn contents_that_are_shared_with_a_copy_live_as_long_as_one_of_both<S: Subject>(
    subject: impl Fn() -> S,
) {
    const COPY: &str = "ahp-session:/2";
    let mut stage = Stage::new(subject());
    let (from, with) = (S.into(), COPY.into());
    stage.apply([
        put_session(S, "S", 1),
        content("content:/1", S, "data"),
        put_session(COPY, "Copy", 1),
        StoreOp::ShareContent { from, with },
    ]);
    let there = |stage: &Stage<S>| stage.archive.content("content:/1").unwrap().is_some();
    stage.apply([dispose(S, 5)]);
    assert!(there(&stage), "the copy has it");
    stage.store.delete(&S.into()).unwrap();
    assert!(there(&stage), "also when the original is gone for good");
    stage.apply([dispose(COPY, 5)]);
    assert!(!there(&stage));
    stage.store.delete(&COPY.into()).unwrap();
    assert!(!there(&stage));
}

pub fn excerpts_of_contents_come_with_the_session_and_with_its_copy<S: Subject>(
    subject: impl Fn() -> S,
) {
    const COPY: &str = "ahp-session:/2";
    let mut stage = Stage::new(subject());
    let (from, with) = (S.into(), COPY.into());
    stage.apply([
        put_session(S, "S", 1),
        content("content:/1", S, "data"),
        content_with_excerpt("content:/2", S, "much data", "much …"),
        put_session(COPY, "Copy", 1),
        StoreOp::ShareContent { from, with },
        content_with_excerpt("content:/3", S, "more data", "more …"),
    ]);
    let excerpts = |stage: &Stage<S>, session: &str| {
        let loaded = stage.load(session).unwrap().excerpts;
        let text = |(uri, text): (String, Arc<str>)| format!("{uri} {text}");
        loaded.into_iter().map(text).collect::<Vec<_>>()
    };
    let own = ["content:/2 much …", "content:/3 more …"];
    assert_eq!(excerpts(&stage, S), own);
    assert_eq!(excerpts(&stage, COPY), own[..1]);
    stage.apply([dispose(S, 5)]);
    stage.store.delete(&S.into()).unwrap();
    assert_eq!(excerpts(&stage, COPY), own[..1], "it outlives the original");
}

pub fn annotations_come_with_their_session_in_order_and_go_with_it<S: Subject>(
    subject: impl Fn() -> S,
) {
    let put = |id: &str, text: &str| {
        let annotation = json!({
            "id": id, "origin": {"session": S}, "resource": "file:///a", "resolved": false,
            "entries": [{"id": "e", "text": text}],
        });
        StoreOp::PutAnnotation {
            session: S.into(),
            annotation: Box::new(of(annotation)),
        }
    };
    let remove = |id: &str| StoreOp::RemoveAnnotation {
        session: S.into(),
        id: id.to_owned(),
    };
    let ids = |stage: &Stage<S>| {
        let annotations = stage.load(S).unwrap().annotations.into_iter();
        let ids = annotations.map(|it| match it.entries[0].text.clone() {
            StringOrMarkdown::Plain(text) => format!("{} {text}", it.id),
            StringOrMarkdown::Markdown { .. } => it.id,
        });
        ids.collect::<Vec<_>>()
    };
    let mut stage = Stage::new(subject());
    stage.apply([
        put_session(S, "S", 1),
        put("b", "1"),
        put("a", "1"),
        put("c", "1"),
    ]);
    stage.apply([put("b", "2"), remove("a"), remove("none"), put("a", "3")]);
    assert_eq!(ids(&stage), ["b 2", "c 1", "a 3"]);
    stage.apply([dispose(S, 5)]);
    stage.apply([put_session(S, "New", 6)]);
    assert_eq!(ids(&stage), [""; 0]);
}

/// What the host tells apart to remove it: a session that was made and never
/// used.
pub fn a_session_that_nothing_happened_in_is_told_apart<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([
        put_session("s:/new", "S", 1),
        put_chat("c:/new", "s:/new", 0, None),
        put_session("s:/changed", "S", 2),
        put_session("s:/used", "S", 1),
        put_chat("c:/used", "s:/used", 0, None),
        turn("c:/used", 0, "t0"),
        put_session("s:/gone", "S", 1),
        dispose("s:/gone", 3),
    ]);
    assert_eq!(uris(&stage.restart().boot.without_turns), ["s:/new"]);
}

pub fn a_client_that_is_forgotten_does_not_come_back<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    let client = |id: &str| {
        StoreOp::PutClient(ClientRecord {
            client_id: id.into(),
            version: "1.0".to_owned(),
            seen_at: Timestamp::from_millis(1),
        })
    };
    let forget = |id: &str| StoreOp::ForgetClient {
        client_id: id.into(),
    };
    let switches = json!({"on": ["a"]});
    let values = switches.clone();
    stage.apply([client("a"), client("b"), client("c"), forget("b")]);
    stage.apply([forget("nobody"), StoreOp::PutSwitches { values }]);
    let boot = stage.restart().boot;
    let ids: Vec<_> = boot
        .clients
        .iter()
        .map(|it| it.client_id.as_str())
        .collect();
    assert_eq!(ids, ["a", "c"]);
    assert_eq!(boot.switches, Some(switches));
    assert_eq!(boot.root_config, None);
}
