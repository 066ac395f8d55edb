//! Taking a chat back to before one of its turns, and returning.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesEvent, ChangesTask, Operation, OperationDone, OperationId,
};
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat, config};

const FORK: &str = "ahp-chat:/kept";
const TAKE_BACK: &str = "innkeeper/takeBack";
const UNDO: &str = "innkeeper/undoTakeBack";

/// A session in a directory, with an agent that can copy chats and three turns.
fn with_turns() -> Host {
    let mut host = Host::with_changes();
    let mut profiles = agents();
    let several = json!({"multipleChats": {"fork": true}});
    profiles[0].info.capabilities = Some(serde_json::from_value(several).unwrap());
    host.feed(Input::AgentsChanged(profiles));
    host.enter(1, "a", &[ROOT]);
    let params = json!({"channel": SESSION, "workingDirectories": ["file:///w"]});
    host.ok(1, "createSession", params);
    host.opened();
    found(&mut host);
    for channel in [SESSION, &chat()] {
        host.ok(1, "subscribe", json!({"channel": channel}));
    }
    host.whole_turns(3);
    host.tasks();
    host.heard.clear();
    host
}

fn found(host: &mut Host) {
    host.changes_reported(ChangesEvent::Found {
        git: true,
        has_own_work: false,
        undo: false,
    });
}

fn take_back(turn: &str, files: bool) -> Value {
    json!({"channel": chat(), "turnId": turn, "fork": FORK, "files": files})
}

/// Sends a request that is answered later.
fn send(host: &mut Host, method: &str, params: &Value) {
    let call = json!({"jsonrpc": "2.0", "id": "later", "method": method, "params": params});
    host.say(1, &call.to_string());
}

fn answer(host: &Host) -> Option<Value> {
    let heard = host.heard.get(&1).into_iter().flatten();
    let mut answers = heard.filter(|frame| frame["id"] == "later");
    answers.next().cloned()
}

/// What the files were to become, and under which number.
fn asked(host: &mut Host) -> Option<(OperationId, Operation)> {
    host.tasks().into_iter().find_map(|task| match task {
        ChangesTask::Operate { operation, what } => Some((operation, what)),
        _ => None,
    })
}

fn operated(
    host: &mut Host,
    operation: OperationId,
    outcome: Result<Vec<OperationDone>, ChangesError>,
) {
    host.changes_reported(ChangesEvent::Operated {
        operation,
        outcome,
        undo: true,
    });
}

fn turns(host: &mut Host, channel: &str) -> Vec<String> {
    let state = host.state(channel);
    let turns = state["turns"].as_array().unwrap().iter();
    turns
        .map(|turn| turn["id"].as_str().unwrap().to_owned())
        .collect()
}

fn is_archived(host: &mut Host, channel: &str) -> bool {
    host.state(channel)["status"].as_u64().unwrap() & 64 != 0
}

#[test]
fn a_conversation_is_cut_in_one_step_and_all_of_it_is_kept() {
    let mut host = with_turns();
    assert_eq!(host.ok(1, TAKE_BACK, take_back("t2", false)), json!({}));
    assert_eq!(turns(&mut host, &chat()), ["t1"]);
    assert_eq!(turns(&mut host, FORK), ["t1", "t2", "t3"]);
    let kept = host.state(FORK);
    assert!(is_archived(&mut host, FORK));
    assert_eq!(
        kept["origin"],
        json!({"kind": "fork", "chat": chat(), "turnId": "t3"})
    );
    let told = json!({"chat": chat(), "turnId": "t2", "files": false});
    assert_eq!(kept["_meta"]["innkeeper"]["takenBack"], told);
    let cut = json!({"type": "chat/truncated", "turnId": "t1"});
    assert!(host.actions(1).contains(&(chat(), cut)));
    let news = host.news(1);
    assert!(news.contains(&"session/chatAdded".to_owned()), "{news:?}");
    let truncated = |it: &AgentCommand| matches!(it, AgentCommand::Truncate { .. });
    assert!(host.commands.iter().any(truncated), "the agent forgets it");
    assert_eq!(asked(&mut host), None, "files stay as they are");
}

#[test]
fn the_first_turn_can_be_taken_back_too() {
    let mut host = with_turns();
    host.ok(1, TAKE_BACK, take_back("t1", false));
    assert_eq!(turns(&mut host, &chat()), [""; 0]);
    assert_eq!(turns(&mut host, FORK).len(), 3);
}

#[test]
fn files_go_first_and_the_conversation_follows() {
    let mut host = with_turns();
    send(&mut host, TAKE_BACK, &take_back("t2", true));
    let (operation, what) = asked(&mut host).unwrap();
    let (turn, kept_as) = ("t2".to_owned(), FORK.to_owned());
    assert_eq!(what, Operation::TakeBack { turn, kept_as });
    assert_eq!(answer(&host), None);
    assert_eq!(turns(&mut host, &chat()).len(), 3);
    // Nothing begins meanwhile.
    host.start_turn(1, "t4");
    assert!(host.rejection(1).contains("being taken back"));
    host.dispatch(1, &chat(), json!({"type": "chat/truncated"}));
    assert!(host.rejection(1).contains("being taken back"));
    assert_eq!(host.refused(1, TAKE_BACK, take_back("t1", false)), -32600);
    let params = json!({"channel": SESSION, "chat": FORK});
    assert_eq!(host.refused(1, "createChat", params), -32003);
    operated(
        &mut host,
        operation,
        Ok(vec![OperationDone::FilesAsThen(2)]),
    );
    assert_eq!(answer(&host).unwrap()["result"], json!({}));
    assert_eq!(turns(&mut host, &chat()), ["t1"]);
    assert_eq!(turns(&mut host, FORK).len(), 3);
    host.start_turn(1, "t4");
    assert_eq!(host.rejection(1), "");
}

#[test]
fn files_that_cannot_be_returned_leave_everything_as_it_is() {
    let mut host = with_turns();
    send(&mut host, TAKE_BACK, &take_back("t2", true));
    let (operation, _) = asked(&mut host).unwrap();
    operated(&mut host, operation, Err(ChangesError::NotKept));
    let error = answer(&host).unwrap()["error"].clone();
    assert_eq!(error["code"], -32603);
    assert!(
        error["message"].as_str().unwrap().contains("not kept"),
        "{error}"
    );
    assert_eq!(turns(&mut host, &chat()).len(), 3);
    let chats = host.state(SESSION)["chats"].as_array().unwrap().len();
    assert_eq!(chats, 1);
    host.ok(1, TAKE_BACK, take_back("t2", false));
}

#[test]
fn a_host_that_ends_meanwhile_goes_on_with_it() {
    for is_undo in [false, true] {
        let mut host = with_turns();
        let mut profiles = agents();
        let several = json!({"multipleChats": {"fork": true}});
        profiles[0].info.capabilities = Some(serde_json::from_value(several).unwrap());
        send(&mut host, TAKE_BACK, &take_back("t2", true));
        let (operation, mut what) = asked(&mut host).unwrap();
        if is_undo {
            operated(&mut host, operation, Ok(Vec::new()));
            send(&mut host, UNDO, &json!({"channel": FORK}));
            what = asked(&mut host).unwrap().1;
        }
        let mut next = config(Limits::default());
        next.workspace.changes = true;
        host.restart_as(next);
        host.feed(Input::AgentsChanged(profiles));
        // It goes on when somebody needs the session.
        assert_eq!(asked(&mut host), None);
        host.enter(1, "a", &[SESSION]);
        let (operation, again) = asked(&mut host).unwrap();
        assert_eq!(again, what);
        found(&mut host);
        operated(&mut host, operation, Ok(Vec::new()));
        assert_eq!(turns(&mut host, &chat()), ["t1"]);
        assert_eq!(turns(&mut host, FORK).len(), 3);
        assert_eq!(is_archived(&mut host, FORK), !is_undo);
        // Once is enough.
        let mut last = config(Limits::default());
        last.workspace.changes = true;
        host.restart_as(last);
        host.enter(1, "a", &[SESSION]);
        assert_eq!(asked(&mut host), None);
    }
}

#[test]
fn undoing_returns_to_what_was_kept() {
    let mut host = with_turns();
    send(&mut host, TAKE_BACK, &take_back("t2", true));
    let (operation, _) = asked(&mut host).unwrap();
    operated(&mut host, operation, Ok(Vec::new()));
    host.start_turn(1, "t4");
    assert_eq!(host.refused(1, UNDO, json!({"channel": FORK})), -32004);
    host.in_turn("t4", innkeeper_protocol::agent::TurnEvent::Completed);
    host.heard.clear();
    host.tasks();
    send(&mut host, UNDO, &json!({"channel": FORK}));
    let (operation, what) = asked(&mut host).unwrap();
    let kept_as = FORK.to_owned();
    assert_eq!(what, Operation::UndoTakeBack { kept_as });
    operated(&mut host, operation, Ok(Vec::new()));
    assert_eq!(answer(&host).unwrap()["result"], json!({}));
    assert_eq!(host.state(SESSION)["defaultChat"], FORK);
    assert!(!is_archived(&mut host, FORK));
    assert!(is_archived(&mut host, &chat()));
    assert_eq!(turns(&mut host, FORK), ["t1", "t2", "t3"]);
    assert_eq!(turns(&mut host, &chat()), ["t1", "t4"], "nothing is lost");
    let refused = host.refused(1, UNDO, json!({"channel": FORK}));
    assert_eq!(refused, -32600, "once is enough");
}

#[test]
fn without_files_undoing_leaves_files_alone() {
    let mut host = with_turns();
    host.ok(1, TAKE_BACK, take_back("t2", false));
    host.ok(1, UNDO, json!({"channel": FORK}));
    assert_eq!(asked(&mut host), None);
    assert_eq!(host.state(SESSION)["defaultChat"], FORK);
}

#[test]
fn what_cannot_be_taken_back_is_refused_and_nothing_changes() {
    let mut host = with_turns();
    let with = |name: &str, value: Value| {
        let mut params = take_back("t2", false);
        params[name] = value;
        params
    };
    for (params, code) in [
        (with("turnId", json!("t9")), -32602),
        (with("channel", json!("ahp-chat:/none")), -32001),
        (with("fork", json!(chat())), -32003),
        (with("fork", json!("no uri")), -32003),
        (
            with("fork", json!(format!("ahp-chat:/{}", "x".repeat(300)))),
            -32602,
        ),
        (with("files", json!("yes")), -32602),
        (json!({"channel": chat()}), -32602),
    ] {
        assert_eq!(host.refused(1, TAKE_BACK, params.clone()), code, "{params}");
    }
    assert_eq!(host.refused(1, UNDO, json!({"channel": chat()})), -32602);
    host.start_turn(1, "t4");
    for turn in ["t2", "t4"] {
        assert_eq!(host.refused(1, TAKE_BACK, take_back(turn, false)), -32004);
    }
    assert_eq!(turns(&mut host, &chat()).len(), 3);
    assert_eq!(asked(&mut host), None);
}

#[test]
fn where_no_states_are_kept_only_the_conversation_goes_back() {
    let mut host = with_turns();
    let reason = "none".to_owned();
    host.changes_reported(ChangesEvent::Unavailable { reason });
    assert_eq!(host.refused(1, TAKE_BACK, take_back("t2", true)), -32600);
    host.ok(1, TAKE_BACK, take_back("t2", false));
}

#[test]
fn an_agent_with_one_chat_keeps_nothing_so_nothing_is_taken_back() {
    let mut host = Host::with_session(Limits::default());
    host.whole_turns(2);
    assert_eq!(host.refused(1, TAKE_BACK, take_back("t2", false)), -32602);
}

#[test]
fn clients_of_every_version_can_take_back_and_are_told() {
    for version in Version::ALL {
        let mut host = with_turns();
        host.enter_as(version, 2, "old", &[ROOT, SESSION]);
        let params = match version.has_chats() {
            true => take_back("t2", false),
            // There a session is its default chat.
            false => json!({"channel": SESSION, "turnId": "t2", "fork": FORK, "files": false}),
        };
        assert_eq!(host.ok(2, TAKE_BACK, params), json!({}), "{version}");
        assert_eq!(turns(&mut host, &chat()), ["t1"], "{version}");
    }
}

#[test]
fn what_was_kept_stays_in_its_session_until_it_was_returned_to() {
    let mut host = with_turns();
    let to_its_own = json!({"channel": FORK, "destination": {"kind": "newSession"}});
    host.ok(1, TAKE_BACK, take_back("t2", false));
    assert_eq!(host.refused(1, "moveChat", to_its_own.clone()), -32602);
    host.ok(1, UNDO, json!({"channel": FORK}));
    // Now the chat that was cut can go, as another one leads.
    let cut = json!({"channel": chat(), "destination": {"kind": "newSession"}});
    assert_eq!(host.refused(1, "moveChat", cut), -32602, "it began here");
    assert_eq!(host.refused(1, "moveChat", to_its_own), -32602, "it leads");
}

#[test]
fn no_chat_is_moved_while_files_are_taken_back() {
    let mut host = with_turns();
    let other = "ahp-chat:/other";
    host.ok(1, "createChat", json!({"channel": SESSION, "chat": other}));
    send(&mut host, TAKE_BACK, &take_back("t2", true));
    let params = json!({"channel": other, "destination": {"kind": "newSession"}});
    assert_eq!(host.refused(1, "moveChat", params.clone()), -32602);
    let (operation, _) = asked(&mut host).unwrap();
    operated(&mut host, operation, Ok(Vec::new()));
    host.ok(1, "moveChat", params);
}
