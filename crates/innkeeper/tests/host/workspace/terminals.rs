//! Terminals over the wire: their life, who holds them, and what a flood does.

use innkeeper_protocol::newest::state::{
    TerminalContentPart, TerminalLifecycleState, TerminalState,
};
use serde_json::{Value, json};

use super::stage;
use crate::common::{Guest, ROOT, Watch};
use crate::stage::{act, until};

const TERMINAL: &str = "ahp-terminal:/t";

async fn create(guest: &Guest, more: Value) -> Result<Value, (i32, String)> {
    let mut params = json!({
        "channel": TERMINAL, "claim": {"kind": "client", "clientId": guest.name},
    });
    if let (Some(params), Some(more)) = (params.as_object_mut(), more.as_object()) {
        params.extend(more.clone());
    }
    guest.request("createTerminal", params).await
}

async fn type_in(guest: &Guest, data: &str) -> i64 {
    act(
        guest,
        TERMINAL,
        json!({"type": "terminal/input", "data": data}),
    )
    .await
}

fn shown(state: &TerminalState) -> String {
    let parts = state.content.iter().map(|part| match part {
        TerminalContentPart::Unclassified(part) => part.value.as_str(),
        TerminalContentPart::Command(part) => part.output.as_str(),
        TerminalContentPart::Unknown(_) => "",
    });
    parts.collect()
}

fn has_exited(state: &TerminalState) -> bool {
    matches!(state.lifecycle, TerminalLifecycleState::Exited(_))
}

fn finished(state: &TerminalState, line: &str) -> Option<Option<i64>> {
    let parts = state.content.iter();
    parts.rev().find_map(|part| match part {
        TerminalContentPart::Command(part) if part.is_complete && part.command_line == line => {
            Some(part.exit_code)
        }
        _ => None,
    })
}

async fn open(guest: &Guest) -> Watch<TerminalState> {
    create(guest, json!({})).await.unwrap();
    let mut watch: Watch<TerminalState> = guest.watch(TERMINAL, None).await;
    watch
        .until("a shell that tells of its commands", |state| {
            state.supports_command_detection == Some(true)
        })
        .await;
    watch
}

#[tokio::test]
async fn a_terminal_runs_a_shell_until_it_exits_and_is_disposed_of() {
    let (stage, directory) = stage().await;
    let guest = &stage.guest;
    let mut root = guest.watch_root().await;
    let mut watch = open(guest).await;
    type_in(guest, "echo $((6 * 7)); cd /; false\r").await;
    let line = "echo $((6 * 7)); cd /; false";
    watch
        .until("the end of the command", |state| {
            finished(state, line).is_some()
        })
        .await;
    assert_eq!(finished(&watch.state, line), Some(Some(1)));
    assert!(shown(&watch.state).contains("42"));
    watch
        .until("the directory", |state| {
            state.cwd.as_deref() == Some("file:///")
        })
        .await;
    let input = watch
        .envelopes
        .iter()
        .find(|e| json!(e.action)["type"] == "terminal/input");
    assert!(
        input.is_some_and(|e| e.origin.is_some()),
        "input is confirmed to its sender"
    );

    act(
        guest,
        TERMINAL,
        json!({"type": "terminal/resized", "cols": 99, "rows": 33}),
    )
    .await;
    type_in(guest, "stty size\r").await;
    watch
        .until("the size", |state| shown(state).contains("33 99"))
        .await;
    act(
        guest,
        TERMINAL,
        json!({"type": "terminal/titleChanged", "title": "Mine"}),
    )
    .await;
    until(&mut root, "the new title in the list", |root| {
        root["terminals"][0]["title"] == "Mine"
    })
    .await;
    act(guest, TERMINAL, json!({"type": "terminal/cleared"})).await;
    watch
        .until("nothing", |state| state.content.is_empty())
        .await;

    type_in(guest, "exit 7\r").await;
    watch.until("the exit", has_exited).await;
    assert_eq!(
        json!(watch.state)["lifecycle"],
        json!({"status": "exited", "exitCode": 7})
    );
    let late = type_in(guest, "x").await;
    assert!(watch.rejection(late).await.contains("nothing runs"));
    guest
        .request("disposeTerminal", json!({"channel": TERMINAL}))
        .await
        .unwrap();
    until(&mut root, "an empty list", |root| {
        root["terminals"] == json!([])
    })
    .await;
    drop(directory);
    stage.close().await;
}

#[tokio::test]
async fn what_cannot_be_opened_is_an_error_and_leaves_nothing() {
    let (stage, _directory) = stage().await;
    let guest = &stage.guest;
    let missing = create(guest, json!({"cwd": "file:///no/such/directory"})).await;
    assert!(missing.unwrap_err().1.contains("not a directory"));
    let (code, _) = create(guest, json!({"cols": 0})).await.unwrap_err();
    assert_eq!(code, -32602);
    let stranger = json!({"claim": {"kind": "client", "clientId": "stranger"}});
    assert_eq!(create(guest, stranger).await.unwrap_err().0, -32602);
    let root: innkeeper_protocol::newest::state::RootState = guest.snapshot(ROOT).await;
    assert_eq!(root.terminals.unwrap_or_default(), []);
    create(guest, json!({})).await.unwrap();
    assert_eq!(create(guest, json!({})).await.unwrap_err().0, -32010);
    stage.close().await;
}

#[tokio::test]
async fn whoever_holds_a_terminal_gives_it_away() {
    let (stage, _directory) = stage().await;
    let (a, b) = (&stage.guest, stage.inn.guest("b").await);
    let _watch = open(a).await;
    let mut other: Watch<TerminalState> = b.watch(TERMINAL, None).await;
    let claim = |client: &str| json!({"type": "terminal/claimed", "claim": {"kind": "client", "clientId": client}});
    let seq = act(&b, TERMINAL, claim("b")).await;
    assert!(other.rejection(seq).await.contains("holds this terminal"));
    let resize = json!({"type": "terminal/resized", "cols": 50, "rows": 50});
    let seq = act(&b, TERMINAL, resize).await;
    assert!(other.rejection(seq).await.contains("its size"));
    act(a, TERMINAL, claim("b")).await;
    until(&mut other, "the claim", |t| t["claim"]["clientId"] == "b").await;
    let fake = json!({"type": "terminal/exited"});
    let seq = act(&b, TERMINAL, fake).await;
    other.rejection(seq).await;
    stage.close().await;
}

#[tokio::test]
async fn a_size_and_a_claim_that_are_so_already_are_confirmed() {
    let (stage, _directory) = stage().await;
    let guest = &stage.guest;
    let mut watch = open(guest).await;
    let state = json!(watch.state);
    let same = [
        json!({"type": "terminal/resized", "cols": state["cols"], "rows": state["rows"]}),
        json!({"type": "terminal/claimed", "claim": state["claim"]}),
    ];
    let mut said = Vec::new();
    for action in same {
        said.push(act(guest, TERMINAL, action).await);
    }
    let last = json!({"type": "terminal/titleChanged", "title": "Last"});
    act(guest, TERMINAL, last).await;
    watch
        .until("the title", |state| state.title == "Last")
        .await;
    let echoes = watch.envelopes.iter();
    let echoes = echoes.filter_map(|envelope| Some(envelope.origin.as_ref()?.client_seq));
    let echoes: Vec<_> = echoes.collect();
    assert!(said.iter().all(|seq| echoes.contains(seq)), "{echoes:?}");
    stage.close().await;
}

#[tokio::test]
async fn a_session_takes_its_terminals_along() {
    let (stage, directory) = stage().await;
    let guest = &stage.guest;
    let mut root = guest.watch_root().await;
    let claim = json!({"claim": {
        "kind": "session", "session": stage.session, "chat": stage.chat,
    }});
    create(guest, claim).await.unwrap();
    let state: TerminalState = guest.snapshot(TERMINAL).await;
    let real = directory.path().canonicalize().unwrap();
    assert_eq!(state.cwd, Some(super::uri(&real)));
    let params = json!({"channel": stage.session});
    guest.request("disposeSession", params).await.unwrap();
    until(&mut root, "an empty list", |root| {
        root["terminals"] == json!([])
    })
    .await;
    stage.inn.close().await;
}

#[tokio::test]
async fn input_that_nobody_reads_is_refused_before_it_piles_up() {
    let (stage, _directory) = stage().await;
    let guest = &stage.guest;
    let mut watch = open(guest).await;
    type_in(guest, "stty raw -echo; echo begin; sleep 1000\r").await;
    watch
        .until("the program", |state| shown(state).contains("begin\n"))
        .await;
    let much = "x".repeat(512 * 1024);
    let mut last = 0;
    for _ in 0..4 {
        last = type_in(guest, &much).await;
    }
    let reason = watch.rejection(last).await;
    assert!(reason.contains("does not read"), "{reason}");
    stage.inn.close().await;
}

/// Much output, two who watch, one of them not reading: what is kept stays
/// small, the other gets all of it in order, and the interrupt key works.
#[tokio::test]
async fn a_flood_neither_drowns_anybody_nor_shuts_out_the_keyboard() {
    let (stage, _directory) = stage().await;
    let guest = &stage.guest;
    let mut watch = open(guest).await;
    // Subscribes, and takes in nothing.
    let stuck = stage.inn.host.connect();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "channel": ROOT, "clientId": "stuck", "protocolVersions": ["1.0.0"],
        "initialSubscriptions": [TERMINAL],
    }});
    stuck.receive(&hello.to_string()).await;
    let line = "seq 200000 | sed s/^/line-/; echo the-end";
    type_in(guest, &format!("{line}\r")).await;
    watch
        .until("the end of the flood", |state| {
            finished(state, line).is_some()
        })
        .await;
    let all = shown(&watch.state);
    for number in [1, 2, 99_999, 199_999, 200_000] {
        assert!(all.contains(&format!("line-{number}\r\n")), "line {number}");
    }
    assert!(all.contains("the-end"));
    let newcomer = stage.inn.guest("newcomer").await;
    let fresh: TerminalState = newcomer.snapshot(TERMINAL).await;
    let kept = shown(&fresh);
    assert!(
        kept.len() <= (1 << 20) + (1 << 18),
        "{} bytes are kept",
        kept.len()
    );
    assert!(all.ends_with(&kept) || kept.contains("the-end"));

    type_in(guest, "yes\r").await;
    watch
        .until("a second flood", |state| {
            shown(state).contains("y\r\ny\r\n")
        })
        .await;
    type_in(guest, "\u{3}").await;
    watch
        .until("the interrupt", |state| finished(state, "yes").is_some())
        .await;
    assert_eq!(finished(&watch.state, "yes"), Some(Some(130)));
    drop(stuck);
    stage.inn.close().await;
}
