//! Over a real socket, with the protocol's own client: what a client does in
//! its life, and that it always holds the state that a newcomer is given.

use crate::common::{Guest, Inn, InnOptions, ROOT, Watch, default_chat, in_time, script};
use ahp::ClientError;
use innkeeper_engine::Limits;
use innkeeper_protocol::newest::actions::{ChatTurnResumeAction, StateAction};
use innkeeper_protocol::newest::commands::{ReconnectResult, ResourceReadResult};
use innkeeper_protocol::newest::state::{
    ChatState, ResponsePart, RootState, SessionState, SessionStatus, TurnState,
};
use serde_json::json;

#[tokio::test]
async fn the_handshake_introduces_host_and_agents() {
    let inn = Inn::open().await;
    let guest = Guest::arrive(&inn.url, "a").await;
    guest.client.ping().await.unwrap();
    let welcome = guest.initialize(&[ROOT, "ahp-session:/nowhere"]).await;
    assert_eq!(welcome.protocol_version, "1.0.0");
    assert_eq!(welcome.server_info.unwrap().name, "innkeeper");
    assert_eq!(welcome.default_directory.as_deref(), Some("file:///tmp"));
    assert_eq!(welcome.terminal_command_prefix.as_deref(), Some("!"));
    let triggers = welcome.completion_trigger_characters.unwrap();
    assert_eq!(triggers, ["@", "#", "/"]);
    let resources: Vec<&str> = welcome
        .snapshots
        .iter()
        .map(|s| s.resource.as_str())
        .collect();
    assert_eq!(resources, [ROOT], "only what exists has a snapshot");
    let root: RootState = guest.snapshot(ROOT).await;
    assert_eq!(root.agents[0].provider, "script");
    let build = &root.meta.unwrap()["hostBuild"];
    assert_eq!(build["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(welcome.meta.unwrap()["hostBuild"], *build);
    inn.close().await;
}

#[tokio::test]
async fn requests_before_the_handshake_are_refused() {
    let inn = Inn::open().await;
    let guest = Guest::arrive(&inn.url, "a").await;
    let refused = guest
        .request("listSessions", json!({"channel": ROOT}))
        .await;
    assert_eq!(refused.unwrap_err().0, -32600);
    guest.initialize(&[]).await;
    guest
        .request("listSessions", json!({"channel": ROOT}))
        .await
        .unwrap();
    inn.close().await;
}

#[tokio::test]
async fn a_version_that_nobody_speaks_is_refused_and_the_connection_closes() {
    let inn = Inn::open().await;
    let guest = Guest::arrive(&inn.url, "a").await;
    let refused = guest
        .client
        .initialize("a".into(), vec!["7.0.0".into()], vec![])
        .await;
    let Err(ClientError::Rpc(error)) = refused else {
        panic!("refused: {refused:?}");
    };
    assert_eq!(error.code, -32005);
    let supported = error.data.unwrap();
    assert!(
        supported["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("1.0.0"))
    );
    let after = in_time("the close", guest.client.ping()).await;
    assert!(after.is_err(), "the connection is closed");
    inn.close().await;
}

#[tokio::test]
async fn several_turns_fold_to_exactly_what_a_newcomer_is_given() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut root = guest.watch_root().await;
    let session = guest.new_session().await;
    let mut session_watch = guest.watch_session(&session).await;
    let mut chat = guest.watch_chat(&default_chat(&session)).await;

    let steps = [
        script(json!([{"reason": "let me think"}, {"say": "one two three"}])),
        script(json!([
            {"activity": "counting"}, {"say": "a b"}, {"notify": "careful"}, {"say": "c d"},
            {"usage": {"inputTokens": 3, "outputTokens": 4, "model": "script-small"}},
            {"title": "A better title"}, {"ref": {"bytes": 10}}
        ])),
        script(json!([{"fail": {"errorType": "boom", "message": "on purpose"}}])),
        "hello there".to_owned(),
    ];
    for (index, text) in steps.iter().enumerate() {
        let turn = format!("t{index}");
        guest.say(&default_chat(&session), &turn, text).await;
        let expected = if index == 2 {
            TurnState::Error
        } else {
            TurnState::Complete
        };
        assert_eq!(chat.turn_end(&turn).await, expected);
    }
    assert_eq!(chat.text_of("t0"), "one two three");
    assert_eq!(chat.text_of("t1"), "a bc d");
    assert!(chat.text_of("t3").contains("hello there"));
    let usage = chat.state.turns[1].usage.clone().unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(3), Some(4))
    );

    session_watch
        .until("the title", |state| state.title == "A better title")
        .await;
    let newcomer = inn.guest("b").await;
    let fresh_chat: ChatState = newcomer.snapshot(&default_chat(&session)).await;
    chat.until("the last action", |state| *state == fresh_chat)
        .await;
    let fresh_session: SessionState = newcomer.snapshot(&session).await;
    session_watch
        .until("the same session", |state| *state == fresh_session)
        .await;
    let fresh_root: RootState = newcomer.snapshot(ROOT).await;
    root.until("the same root", |state| *state == fresh_root)
        .await;
    assert_eq!(fresh_session.chats[0].title, "A better title");
    inn.close().await;
}

#[tokio::test]
async fn two_clients_on_one_chat_see_the_same() {
    let inn = Inn::open().await;
    let (a, b) = (inn.guest("a").await, inn.guest("b").await);
    let session = a.new_session().await;
    let chat = default_chat(&session);
    let (mut at_a, mut at_b) = (a.watch_chat(&chat).await, b.watch_chat(&chat).await);
    a.say(&chat, "t1", "hello from a").await;
    at_a.turn_end("t1").await;
    at_b.turn_end("t1").await;
    b.say(&chat, "t2", "hello from b").await;
    at_a.turn_end("t2").await;
    at_b.turn_end("t2").await;
    let fresh: ChatState = a.snapshot(&chat).await;
    at_a.until("a is up to date", |state| *state == fresh).await;
    at_b.until("b is up to date", |state| *state == fresh).await;
    let origins = at_b.envelopes.iter().filter_map(|e| e.origin.as_ref());
    let names: Vec<&str> = origins.map(|origin| origin.client_id.as_str()).collect();
    assert_eq!(names, ["a", "b"], "whose action it was is told to all");
    inn.close().await;
}

#[tokio::test]
async fn a_turn_can_be_cancelled_and_the_next_one_runs() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut watch = guest.watch_chat(&chat).await;
    guest
        .say(
            &chat,
            "t1",
            &script(json!([{"say": "working"}, {"sleep": 600000}])),
        )
        .await;
    watch
        .until("text", |state| {
            state
                .active_turn
                .as_ref()
                .is_some_and(|turn| crate::common::markdown(&turn.response_parts) == "working")
        })
        .await;
    guest.cancel(&chat, "t1").await;
    assert_eq!(watch.turn_end("t1").await, TurnState::Cancelled);
    guest.say(&chat, "t2", "hello").await;
    assert_eq!(watch.turn_end("t2").await, TurnState::Complete);
    assert_eq!(watch.text_of("t1"), "working");
    inn.close().await;
}

#[tokio::test]
async fn an_agent_that_dies_ends_the_turn_in_an_error_that_can_be_resumed() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut watch = guest.watch_chat(&chat).await;
    guest
        .say(
            &chat,
            "t1",
            &script(json!([{"say": "before"}, {"crash": true}])),
        )
        .await;
    assert_eq!(watch.turn_end("t1").await, TurnState::Error);
    let Some(ResponsePart::Error(error)) = watch.state.turns[0].response_parts.last() else {
        panic!("an error part: {:?}", watch.state.turns[0]);
    };
    assert_eq!(error.resumable, Some(true));
    assert_ne!(watch.state.status & SessionStatus::Error.bits(), 0);

    let resume = ChatTurnResumeAction {
        turn_id: "t1".into(),
    };
    guest
        .dispatch(&chat, StateAction::ChatTurnResume(resume))
        .await;
    watch
        .until("running again", |state| state.active_turn.is_some())
        .await;
    assert_eq!(watch.turn_end("t1").await, TurnState::Complete);
    assert!(watch.text_of("t1").starts_with("before"));
    inn.close().await;
}

#[tokio::test]
async fn rejections_go_to_their_sender_only_and_say_why() {
    let inn = Inn::open().await;
    let (a, b) = (inn.guest("a").await, inn.guest("b").await);
    let session = a.new_session().await;
    let chat = default_chat(&session);
    let (mut at_a, mut at_b) = (a.watch_chat(&chat).await, b.watch_chat(&chat).await);
    a.say(&chat, "t1", &script(json!([{"sleep": 600000}])))
        .await;
    at_a.until("a turn", |state| state.active_turn.is_some())
        .await;
    for (text, turn, reason) in [
        ("x", "t2", "running"),
        ("x", "t1", "exists"),
        ("x", "", "id"),
    ] {
        let seq = a
            .dispatch(&chat, crate::common::turn_started(turn, text))
            .await;
        let told = at_a.rejection(seq).await;
        assert!(told.contains(reason), "{told}");
    }
    a.cancel(&chat, "t1").await;
    at_b.turn_end("t1").await;
    assert!(
        at_b.envelopes
            .iter()
            .all(|envelope| envelope.rejection_reason.is_none())
    );
    // An unknown channel is met with silence: the ping is answered first.
    a.dispatch("ahp-chat:/nowhere", crate::common::turn_started("t", "x"))
        .await;
    a.client.ping().await.unwrap();
    inn.close().await;
}

/// Streams `deltas` pieces while nobody of that name is connected, and returns
/// the client's state from before.
async fn miss_some_actions(inn: &Inn, deltas: u64) -> (Watch<ChatState>, String) {
    let away = inn.guest("away").await;
    let session = away.new_session().await;
    let chat = default_chat(&session);
    let watch = away.watch_chat(&chat).await;
    away.client.shutdown().await;
    let other = inn.guest("other").await;
    let mut seen = other.watch_chat(&chat).await;
    let flood = json!([{"flood": {"deltas": deltas, "bytes": 8}}]);
    other.say(&chat, "t1", &script(flood)).await;
    seen.turn_end("t1").await;
    (watch, chat)
}

#[tokio::test]
async fn a_client_that_missed_5000_actions_is_given_them_again() {
    let inn = Inn::open().await;
    let (mut watch, chat) = miss_some_actions(&inn, 5_000).await;
    let back = Guest::arrive(&inn.url, "away").await;
    let channels = vec![chat.clone(), "ahp-session:/gone".to_owned()];
    let result = back
        .client
        .reconnect("away".into(), watch.seq as i64, channels)
        .await
        .unwrap();
    let ReconnectResult::Replay(replay) = result else {
        panic!("a replay");
    };
    assert_eq!(replay.missing, ["ahp-session:/gone"]);
    for envelope in &replay.actions {
        watch.fold(envelope);
    }
    let fresh: ChatState = back.snapshot(&chat).await;
    assert_eq!(watch.state, fresh);
    assert_eq!(watch.text_of("t1").len(), 40_000);
    inn.close().await;
}

#[tokio::test]
async fn a_client_that_missed_more_than_is_kept_starts_afresh() {
    let limits = Limits {
        replay_actions: 1_000,
        replay_bytes: 10_000,
        ..Limits::default()
    };
    let inn = Inn::open_with(InnOptions {
        limits,
        ..InnOptions::default()
    })
    .await;
    // Old entries are dropped a block at a time, so a good deal more than the
    // limit has to be missed.
    let (watch, chat) = miss_some_actions(&inn, 20_000).await;
    let back = Guest::arrive(&inn.url, "away").await;
    let channels = vec![chat.clone()];
    let result = back
        .client
        .reconnect("away".into(), watch.seq as i64, channels)
        .await
        .unwrap();
    let ReconnectResult::Snapshot(fresh) = result else {
        panic!("snapshots");
    };
    assert_eq!(fresh.snapshots.len(), 1);
    assert_eq!(fresh.snapshots[0].resource, chat);
    inn.close().await;
}

#[tokio::test]
async fn a_client_the_host_has_never_seen_can_reconnect_too() {
    let inn = Inn::open().await;
    let guest = Guest::arrive(&inn.url, "stranger").await;
    let result = guest
        .client
        .reconnect("stranger".into(), 0, vec![ROOT.into()])
        .await
        .unwrap();
    let ReconnectResult::Snapshot(fresh) = result else {
        panic!("snapshots");
    };
    assert_eq!(fresh.snapshots[0].resource, ROOT);
    guest.new_session().await;
    inn.close().await;
}

#[tokio::test]
async fn a_second_connection_of_a_client_replaces_the_first() {
    let inn = Inn::open().await;
    let first = inn.guest("same").await;
    let second = inn.guest("same").await;
    second.client.ping().await.unwrap();
    let ended = in_time("the end of the first", async {
        while first.client.ping().await.is_ok() {}
    });
    ended.await;
    second.new_session().await;
    inn.close().await;
}

#[tokio::test]
async fn a_disposed_session_is_gone_for_everybody() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut root = guest.watch_root().await;
    let session = guest.new_session().await;
    root.until("one session", |root| root.active_sessions == Some(1))
        .await;
    let channel = json!({"channel": session});
    guest
        .request("disposeSession", channel.clone())
        .await
        .unwrap();
    root.until("no session", |root| root.active_sessions == Some(0))
        .await;
    assert_eq!(
        guest
            .request("subscribe", channel.clone())
            .await
            .unwrap_err()
            .0,
        -32001
    );
    assert_eq!(
        guest
            .request("disposeSession", channel)
            .await
            .unwrap_err()
            .0,
        -32001
    );
    let list = guest
        .request("listSessions", json!({"channel": ROOT}))
        .await
        .unwrap();
    assert_eq!(list["items"], json!([]));
    inn.close().await;
}

#[tokio::test]
async fn sessions_that_cannot_be_created_say_why() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    for (params, code) in [
        (json!({"channel": session}), -32003),
        (
            json!({"channel": "ahp-session:/new", "provider": "nobody"}),
            -32002,
        ),
        (json!({"channel": "no uri"}), -32602),
        (json!({"channel": ROOT}), -32602),
        (
            json!({"channel": "ahp-session:/new",
                "activeClient": {"clientId": "somebody else", "tools": []}}),
            -32602,
        ),
        (json!({}), -32602),
    ] {
        let refused = guest.request("createSession", params.clone()).await;
        assert_eq!(refused.unwrap_err().0, code, "{params}");
    }
    let any_scheme = json!({"channel": "copilot:/1", "provider": "script"});
    guest.request("createSession", any_scheme).await.unwrap();
    inn.close().await;
}

#[tokio::test]
async fn large_content_is_fetched_by_reference() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut watch = guest.watch_chat(&chat).await;
    let steps = json!([{"ref": {"bytes": 100_000, "contentType": "text/plain"}}]);
    guest.say(&chat, "t1", &script(steps)).await;
    watch.turn_end("t1").await;
    let ResponsePart::ContentRef(part) = &watch.state.turns[0].response_parts[0] else {
        panic!("a reference");
    };
    assert_eq!(part.size_hint, Some(100_000));
    let read = |uri: &str| guest.request("resourceRead", json!({"channel": ROOT, "uri": uri}));
    let content: ResourceReadResult =
        serde_json::from_value(read(&part.uri).await.unwrap()).unwrap();
    assert_eq!(content.data.len(), 100_000);
    assert_eq!(content.content_type.as_deref(), Some("text/plain"));
    assert_eq!(read("innkeeper-content:/none").await.unwrap_err().0, -32008);
    assert_eq!(read("file:///etc/passwd").await.unwrap_err().0, -32009);
    inn.close().await;
}

#[tokio::test]
async fn attachments_beyond_the_size_of_a_message_are_written_first() {
    let inn = Inn::open_with(InnOptions {
        message_bytes: Some(16 * 1024 * 1024),
        ..InnOptions::default()
    })
    .await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut watch = guest.watch_chat(&chat).await;
    // The largest that the host takes at once, twice.
    let data = "a".repeat(8 * 1024 * 1024);
    let mut attachments = Vec::new();
    for name in ["one.txt", "two.txt"] {
        let uri = format!("innkeeper-content:/uploads/{name}");
        let params = json!({"channel": session, "uri": uri, "data": data, "encoding": "utf-8",
                            "contentType": "text/plain"});
        guest.request("resourceWrite", params).await.unwrap();
        attachments.push(json!({"type": "resource", "label": name, "uri": uri}));
    }
    let message = json!({"text": "Look", "origin": {"kind": "user"}, "attachments": attachments});
    let started = json!({"type": "chat/turnStarted", "turnId": "t1", "startedAt": "",
                         "message": message});
    let started = serde_json::from_value(started).unwrap();
    guest.dispatch(&chat, started).await;
    watch.turn_end("t1").await;
    let turn = serde_json::to_value(&watch.state.turns[0]).unwrap();
    assert_eq!(turn["state"], "complete", "{turn}");
    assert_eq!(turn["message"]["attachments"], json!(attachments));
    inn.close().await;
}

#[tokio::test]
async fn everything_is_there_after_a_clean_restart() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut watch = guest.watch_chat(&chat).await;
    guest.say(&chat, "t1", "hello").await;
    watch.turn_end("t1").await;
    guest
        .say(
            &chat,
            "t2",
            &script(json!([{"say": "half"}, {"sleep": 600000}])),
        )
        .await;
    watch
        .until("half said", |state| {
            state
                .active_turn
                .as_ref()
                .is_some_and(|turn| crate::common::markdown(&turn.response_parts) == "half")
        })
        .await;
    let inn = inn
        .reopen_after(InnOptions::default(), |directory| {
            let files = std::fs::read_dir(directory).unwrap();
            let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, ["innkeeper.db", "innkeeper.last", "innkeeper.lock"]);
        })
        .await;

    let back = Guest::arrive(&inn.url, "a").await;
    let channels = vec![chat.clone()];
    let result = back
        .client
        .reconnect("a".into(), watch.seq as i64, channels)
        .await
        .unwrap();
    let ReconnectResult::Replay(replay) = result else {
        panic!("a replay, after a clean end");
    };
    for envelope in &replay.actions {
        watch.fold(envelope);
    }
    assert_eq!(watch.turn_end("t2").await, TurnState::Error);
    assert_eq!(watch.text_of("t2"), "half");
    let fresh: ChatState = back.snapshot(&chat).await;
    assert_eq!(watch.state, fresh);

    let steps = script(json!([{"echo": "history"}]));
    let mut watch = back.watch_chat(&chat).await;
    back.say(&chat, "t3", &steps).await;
    assert_eq!(watch.turn_end("t3").await, TurnState::Complete);
    let history: serde_json::Value = serde_json::from_str(&watch.text_of("t3")).unwrap();
    assert_eq!(history["turns"], 2, "the agent knows what was said before");
    inn.close().await;
}

#[tokio::test]
async fn history_comes_in_pages_as_wide_as_the_client_asks() {
    let limits = Limits {
        page_turns: 3,
        ..Limits::default()
    };
    let inn = Inn::open_with(InnOptions {
        limits,
        ..InnOptions::default()
    })
    .await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut all = guest.watch_chat(&chat).await;
    for turn in 0..9 {
        guest.say(&chat, &format!("t{turn}"), "hi").await;
        all.turn_end(&format!("t{turn}")).await;
    }
    let reader = inn.guest("b").await;
    let mut some: Watch<ChatState> = reader.watch(&chat, Some(2)).await;
    assert_eq!(some.state.turns.len(), 2);
    let mut pages = 0;
    while let Some(cursor) = some.state.turns_next_cursor.clone() {
        let params = json!({"channel": chat, "cursor": cursor});
        assert_eq!(
            reader.request("fetchTurns", params).await.unwrap(),
            json!({})
        );
        some.next().await;
        pages += 1;
    }
    assert_eq!(pages, 3);
    let fresh: ChatState = guest.snapshot(&chat).await;
    assert_eq!(some.state, fresh);
    let nonsense = json!({"channel": chat, "cursor": "nonsense"});
    assert_eq!(
        reader.request("fetchTurns", nonsense).await.unwrap_err().0,
        -32602
    );
    inn.close().await;
}
