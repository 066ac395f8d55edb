//! Sessions, chats, turns and contents: written, loaded, disposed, replaced.

use std::time::Duration;

use innkeeper_protocol::record::{ClientRecord, ContentRecord, LoadedSession, StoreOp};
use innkeeper_protocol::{ChannelUri, Timestamp};
use innkeeper_store::{Store, StoreOptions};
use serde_json::json;

use crate::common::*;

const S: &str = "ahp-session:/1";

fn load(store: &Store, session: &str) -> Option<LoadedSession> {
    store
        .reader()
        .unwrap()
        .load_session(&session.into())
        .unwrap()
}

fn turns(loaded: &LoadedSession, chat: usize) -> Vec<&str> {
    loaded.chats[chat]
        .turns
        .iter()
        .map(|turn| &*turn.id)
        .collect()
}

#[test]
fn a_turn_of_any_size_comes_back_as_it_went() {
    let mut store = in_memory();
    apply(
        &mut store,
        [put_session(S, "S", 1), put_chat("c:/1", S, 0, None)],
    );
    let sizes = [0, 1, 262_000, 262_144, 300_000, 1_000_000];
    for (index, size) in sizes.into_iter().enumerate() {
        let text = format!("é{}", "x".repeat(size));
        let turn = turn_saying("c:/1", index as u64, "t", &text);
        // Written twice: the second replaces the first.
        apply(&mut store, [turn.clone(), turn]);
    }
    let loaded = load(&store, S).unwrap();
    let kept: Vec<usize> = loaded.chats[0]
        .turns
        .iter()
        .map(|turn| turn.decode().unwrap().message.text.len() - "é".len())
        .collect();
    assert_eq!(kept, sizes);
}

#[test]
fn a_session_comes_back_as_it_went() {
    let mut store = in_memory();
    apply(
        &mut store,
        [
            put_session(S, "S", 10),
            put_chat("c:/2", S, 0, None),
            put_chat("c:/1", S, 0, None),
            turn("c:/2", 0, "t0"),
            turn("c:/2", 1, "t1"),
            delta(1, "c:/2", "p", "a"),
            put_chat("c:/2", S, 2, Some("t2")),
            delta(3, "c:/2", "p", "b"),
        ],
    );
    let loaded = load(&store, S).unwrap();
    assert_eq!(loaded.session, session(S, "S", 10));
    assert_eq!(loaded.chats[0].record, chat("c:/2", S, 2, Some("t2")));
    assert_eq!(loaded.chats[1].record, chat("c:/1", S, 0, None));
    assert_eq!(turns(&loaded, 0), ["t0", "t1"]);
    assert_eq!(loaded.chats[0].turns[1].decode().unwrap().id, "t1");
    // The row holds 1 too: to leave out what the head has is the reader's part.
    let log = &loaded.chats[0].log;
    assert_eq!((log[0].first, log[0].last, log.len()), (1, 3, 1));
    assert_eq!(told(log, "c:/2", 2), ["p: b"]);
    assert!(loaded.chats[1].log.is_empty());
    assert!(load(&store, "ahp-session:/unknown").is_none());
}

#[test]
fn turns_can_be_cut_off_and_grow_again() {
    let mut store = in_memory();
    apply(
        &mut store,
        [put_session(S, "S", 1), put_chat("c:/1", S, 0, None)],
    );
    let keep = |keep| StoreOp::TruncateTurns {
        chat: "c:/1".into(),
        keep,
    };
    apply(
        &mut store,
        (0..4)
            .map(|i| turn("c:/1", i, &format!("t{i}")))
            .collect::<Vec<_>>(),
    );
    apply(&mut store, [keep(9), keep(2), turn("c:/1", 2, "u")]);
    assert_eq!(turns(&load(&store, S).unwrap(), 0), ["t0", "t1", "u"]);

    let chat = "c:/1".into();
    apply(
        &mut store,
        [StoreOp::DeleteChat { chat }, put_chat("c:/1", S, 0, None)],
    );
    assert!(turns(&load(&store, S).unwrap(), 0).is_empty());
}

#[test]
fn the_next_life_is_told_what_it_needs() {
    let default_chat = ChannelUri::default_chat_of("s:/b");
    let mut store = in_memory();
    apply(
        &mut store,
        [
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
        ],
    );
    let client = |version: &str, at| ClientRecord {
        client_id: "c".into(),
        version: version.into(),
        seen_at: Timestamp::from_millis(at),
    };
    apply(
        &mut store,
        [client("0.1", 1), client("1.0", 2)].map(StoreOp::PutClient),
    );

    let (_, boot) = reopen(store);
    assert_eq!(
        uris(boot.catalogue.iter().map(|row| &row.session)),
        ["s:/b", "s:/c", "s:/a"]
    );
    assert_eq!(boot.catalogue[0].modified_at, Timestamp::from_millis(30));
    let summary: serde_json::Value = serde_json::from_str(boot.catalogue[0].summary.get()).unwrap();
    assert_eq!(summary["title"], "B");
    assert_eq!(
        boot.chats,
        [("c:/a", "s:/a"), ("c:/b", "s:/b"), ("c:/c", "s:/c")].map(|(c, s)| (c.into(), s.into()))
    );
    assert_eq!(uris(&boot.interrupted), ["s:/b"]);
    assert_eq!(boot.clients, [client("1.0", 2)]);
    assert_eq!(boot.root_config, Some(json!({"k": [2]})));
}

fn with_a_disposed_session() -> Store {
    let mut store = in_memory();
    apply(
        &mut store,
        [
            put_session(S, "S", 1),
            put_chat("c:/1", S, 0, None),
            turn("c:/1", 0, "t0"),
            content("x:/1", S, "data"),
            title(1, S, "T"),
            title(2, "ahp-root://", "T"),
            delta(3, "c:/1", "p", "a"),
            dispose(S, 50),
        ],
    );
    store
}

#[test]
fn a_disposed_session_is_hidden_and_its_log_is_gone() {
    let store = with_a_disposed_session();
    let reader = store.reader().unwrap();
    assert!(load(&store, S).is_none());
    assert!(reader.catalogue().unwrap().is_empty());
    assert_eq!(reader.content("x:/1").unwrap(), None);
    let log = reader.log_between(0, 9).unwrap();
    assert_eq!(
        uris(log.iter().map(|entry| &entry.channel)),
        ["ahp-root://"]
    );
    let disposed = reader.disposed().unwrap();
    assert_eq!(disposed[0].row.session.as_str(), S);
    assert_eq!(disposed[0].disposed_at, Timestamp::from_millis(50));
}

#[test]
fn a_disposed_session_can_be_brought_back() {
    let mut store = with_a_disposed_session();
    assert!(store.restore(&S.into()).unwrap());
    assert!(!store.restore(&S.into()).unwrap());
    assert_eq!(turns(&load(&store, S).unwrap(), 0), ["t0"]);
    let content = store.reader().unwrap().content("x:/1").unwrap().unwrap();
    assert_eq!(content.data, "data");
}

#[test]
fn a_new_session_under_the_name_of_a_disposed_one_inherits_nothing() {
    let mut store = with_a_disposed_session();
    apply(&mut store, [put_session(S, "New", 60)]);
    let loaded = load(&store, S).unwrap();
    assert_eq!(loaded.session, session(S, "New", 60));
    assert!(loaded.chats.is_empty());
    assert_eq!(store.reader().unwrap().content("x:/1").unwrap(), None);
    assert!(!store.restore(&S.into()).unwrap());
    apply(&mut store, [put_chat("c:/1", S, 3, None)]);
    assert!(turns(&load(&store, S).unwrap(), 0).is_empty());
}

#[test]
fn a_chat_under_the_name_of_a_disposed_one_inherits_nothing() {
    let mut store = with_a_disposed_session();
    apply(
        &mut store,
        [
            put_session("s:/2", "S", 1),
            put_chat("c:/1", "s:/2", 3, None),
        ],
    );
    assert!(turns(&load(&store, "s:/2").unwrap(), 0).is_empty());
}

#[test]
fn a_chat_that_moves_takes_its_turns_along() {
    let mut store = in_memory();
    apply(
        &mut store,
        [
            put_session(S, "S", 1),
            put_session("s:/2", "S", 1),
            put_chat("c:/1", S, 0, None),
            turn("c:/1", 0, "t0"),
            put_chat("c:/1", "s:/2", 0, None),
        ],
    );
    assert!(load(&store, S).unwrap().chats.is_empty());
    assert_eq!(turns(&load(&store, "s:/2").unwrap(), 0), ["t0"]);
}

#[test]
fn a_deleted_session_is_gone_for_good() {
    let mut store = with_a_disposed_session();
    assert!(store.delete(&S.into()).unwrap());
    assert!(!store.delete(&S.into()).unwrap());
    assert!(!store.restore(&S.into()).unwrap());
    apply(
        &mut store,
        [put_session(S, "S", 1), put_chat("c:/1", S, 0, None)],
    );
    assert!(turns(&load(&store, S).unwrap(), 0).is_empty());
}

#[test]
fn opening_removes_what_was_disposed_long_ago() {
    let dir = tempfile::tempdir().unwrap();
    let at = |now| StoreOptions {
        keep_disposed: Duration::from_millis(100),
        now: Timestamp::from_millis(now),
        ..StoreOptions::default()
    };
    let (mut store, _) = Store::open(dir.path(), at(0)).unwrap();
    apply(
        &mut store,
        [
            put_session(S, "S", 1),
            content("x:/1", S, "data"),
            put_session("s:/kept", "S", 1),
            dispose(S, 50),
        ],
    );
    for (now, left) in [(149, 1), (150, 0)] {
        drop(store);
        let boot;
        (store, boot) = Store::open(dir.path(), at(now)).unwrap();
        assert_eq!(boot.catalogue.len(), 1);
        assert_eq!(
            store.reader().unwrap().disposed().unwrap().len(),
            left,
            "at {now}"
        );
    }
}

#[test]
fn contents_that_are_shared_with_a_copy_live_as_long_as_one_of_both() {
    const COPY: &str = "ahp-session:/2";
    let mut store = in_memory();
    let content = StoreOp::PutContent(ContentRecord {
        uri: "content:/1".to_owned(),
        session: S.into(),
        content_type: "text/plain".to_owned(),
        data: "data".into(),
    });
    let (from, with) = (S.into(), COPY.into());
    let share = StoreOp::ShareContent { from, with };
    apply(
        &mut store,
        [
            put_session(S, "S", 1),
            content,
            put_session(COPY, "Copy", 1),
            share,
        ],
    );
    let there = |store: &Store| {
        let reader = store.reader().unwrap();
        reader.content("content:/1").unwrap().is_some()
    };
    let dispose = |store: &mut Store, session: &str| {
        let (session, at) = (session.into(), Timestamp::from_millis(5));
        apply(store, [StoreOp::DisposeSession { session, at }]);
    };
    dispose(&mut store, S);
    assert!(there(&store), "the copy has it");
    store.delete(&S.into()).unwrap();
    assert!(there(&store), "also when the original is gone for good");
    dispose(&mut store, COPY);
    assert!(!there(&store));
    store.delete(&COPY.into()).unwrap();
    assert!(!there(&store));
}
