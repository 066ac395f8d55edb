//! Agents that want somebody to sign in, from two clients.

use std::io::{Read as _, Write as _};
use std::path::Path;

use innkeeper_protocol::newest::state::{ChatState, ResponsePart, TurnState};
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};

use super::{AGENT, new_session, start_script};
use crate::common::binary::Binary;
use crate::common::{Guest, Watch, default_chat};

const SESSION: &str = "ahp-session:/sign-in";
const KEY: &str = "sk-open-sesame-4711";

/// Wants a key in its environment, or that a file is there.
const LOCKED: &str = r#"
is_signed_in() { [ "$TEST_KEY" = sk-open-sesame-4711 ] || [ -e "$0.signed-in" ]; }
refuse() {
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Who are you?"}}\n' "$1"
}
"#;

/// A host whose agent refuses sessions until somebody is signed in.
fn start(data: &Path) -> Binary {
    let file = data.join("agent.sh.signed-in");
    let login = format!(
        "printf 'Password? '; read -r word; [ \"$word\" = friend ] && touch {}",
        file.display()
    );
    let methods = json!([
        {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "TEST_KEY"}]},
        {"id": "tui", "name": "Log in", "_meta": {"terminal-auth":
            {"command": "/bin/sh", "args": ["-c", login]}}},
    ]);
    let answer = format!(r#"{{"protocolVersion":1,"authMethods":{methods}}}"#);
    let quoted = answer.replace('\'', r"'\''");
    let prompt = r#"
    *'"method":"session/prompt"'*)
        say "welcome"
        answer "$id" '{"stopReason":"end_turn"}' ;;"#;
    let script = AGENT
        .replace(
            r#"'{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}'"#,
            &format!("'{quoted}'"),
        )
        .replace(
            "        servers=$line\n",
            "        is_signed_in || { refuse \"$id\"; continue; }\n",
        )
        .replace("CASES", prompt);
    start_script(data, &format!("{LOCKED}{script}"))
}

/// The question that the active turn waits for.
fn open_question(state: &ChatState) -> Option<Value> {
    let parts = &state.active_turn.as_ref()?.response_parts;
    let open = parts.iter().rev().find_map(|part| match part {
        ResponsePart::InputRequest(part) if part.response.is_none() => Some(&part.request),
        _ => None,
    });
    Some(serde_json::to_value(open?).unwrap())
}

async fn question(watch: &mut Watch<ChatState>) -> Value {
    let asks = |state: &ChatState| open_question(state).is_some();
    watch.until("a question", asks).await;
    open_question(&watch.state).unwrap()
}

async fn answer(guest: &Guest, watch: &mut Watch<ChatState>, answers: &[(&str, &str)]) -> Value {
    let asked = question(watch).await;
    let answers = answers.iter().map(|(id, value)| {
        let value = json!({"kind": "text", "value": value});
        (
            (*id).to_owned(),
            json!({"state": "submitted", "value": value}),
        )
    });
    let answers: serde_json::Map<_, _> = answers.collect();
    let done = json!({"type": "chat/inputCompleted", "requestId": asked["id"],
                      "response": "accept", "answers": answers});
    let chat = default_chat(SESSION);
    guest
        .dispatch(&chat, serde_json::from_value(done).unwrap())
        .await;
    let id = asked["id"].as_str().map(str::to_owned);
    let is_over = |state: &ChatState| {
        let open = open_question(state);
        open.is_none_or(|open| open["id"].as_str().map(str::to_owned) != id)
    };
    watch.until("the end of the question", is_over).await;
    asked
}

async fn give_key(guest: &Guest, watch: &mut Watch<ChatState>, keep: &str) {
    answer(guest, watch, &[("sign-in.way", "key")]).await;
    let asked = answer(guest, watch, &[("TEST_KEY", KEY), ("sign-in.keep", keep)]).await;
    assert_eq!(asked["questions"][0]["format"], "password");
}

/// All files below a directory that hold the key.
fn files_with_key(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_key(&path));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes
                .windows(KEY.len())
                .any(|window| window == KEY.as_bytes())
        {
            let name = path.file_name().unwrap();
            found.push(name.to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}

async fn guest(host: &Binary, name: &str) -> Guest {
    let guest = Guest::arrive(&host.url, name).await;
    guest.initialize(&[]).await;
    guest
}

#[tokio::test]
async fn a_key_is_in_no_file_and_on_no_wire_but_where_it_must_be() {
    // The agent itself knows its key.
    for (keep, files) in [
        ("memory", vec!["agent.sh"]),
        ("file", vec!["agent.sh", "test.env"]),
    ] {
        let data = tempfile::tempdir().unwrap();
        let host = start(data.path());
        let (a, b) = (guest(&host, "a").await, guest(&host, "b").await);
        new_session(&a, SESSION).await;
        let chat = default_chat(SESSION);
        let mut mine = a.watch_chat(&chat).await;
        let mut theirs = b.watch_chat(&chat).await;
        let mut session = b.watch_session(SESSION).await;
        a.say(&chat, "t", "hello").await;
        // What is being typed is a secret as well.
        answer(&a, &mut mine, &[("sign-in.way", "key")]).await;
        let asked = question(&mut mine).await;
        let typed = json!({"type": "chat/inputAnswerChanged", "requestId": asked["id"],
            "questionId": "TEST_KEY",
            "answer": {"state": "draft", "value": {"kind": "text", "value": KEY}}});
        a.dispatch(&chat, serde_json::from_value(typed).unwrap())
            .await;
        let submitted = [("TEST_KEY", KEY), ("sign-in.keep", keep)];
        answer(&a, &mut mine, &submitted).await;
        assert_eq!(mine.turn_end("t").await, TurnState::Complete);
        assert_eq!(mine.text_of("t"), "welcome");
        theirs.turn_end("t").await;
        session
            .until("nothing is needed", |state| state.input_needed.is_none())
            .await;
        for heard in [&mine.envelopes, &theirs.envelopes, &session.envelopes] {
            let heard = serde_json::to_string(heard).unwrap();
            assert!(!heard.contains(KEY), "{heard}");
        }
        let state: ChatState = b.snapshot(&chat).await;
        assert!(!serde_json::to_string(&state).unwrap().contains(KEY));
        drop(host);
        assert_eq!(files_with_key(data.path()), files, "{keep}");
    }
}

#[tokio::test]
async fn after_a_restart_a_key_in_memory_is_gone_and_one_in_the_file_is_there() {
    for (keep, is_there) in [("memory", false), ("file", true)] {
        let data = tempfile::tempdir().unwrap();
        let host = start(data.path());
        let a = guest(&host, "a").await;
        new_session(&a, SESSION).await;
        let chat = default_chat(SESSION);
        let mut watch = a.watch_chat(&chat).await;
        a.say(&chat, "t1", "hello").await;
        give_key(&a, &mut watch, keep).await;
        watch.turn_end("t1").await;
        host.kill();
        let host = start(data.path());
        let a = guest(&host, "a").await;
        let mut watch = a.watch_chat(&chat).await;
        a.say(&chat, "t2", "hello again").await;
        if !is_there {
            give_key(&a, &mut watch, keep).await;
        }
        assert_eq!(watch.turn_end("t2").await, TurnState::Complete);
        let asked = serde_json::to_string(&watch.envelopes).unwrap();
        assert_eq!(asked.contains("chat/inputRequested"), !is_there, "{keep}");
    }
}

#[tokio::test]
async fn a_login_in_a_terminal_can_be_typed_into_from_any_client() {
    let data = tempfile::tempdir().unwrap();
    let host = start(data.path());
    let (a, b) = (guest(&host, "a").await, guest(&host, "b").await);
    new_session(&a, SESSION).await;
    let chat = default_chat(SESSION);
    let mut watch = a.watch_chat(&chat).await;
    a.say(&chat, "t", "hello").await;
    answer(&a, &mut watch, &[("sign-in.way", "tui")]).await;
    let shown = |state: &ChatState| {
        let state = serde_json::to_value(&state.active_turn).unwrap();
        let parts = state["responseParts"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        parts.iter().find_map(|part| {
            let content = part["toolCall"]["content"].as_array()?;
            let terminal = content.iter().find(|block| block["type"] == "terminal")?;
            terminal["resource"].as_str().map(str::to_owned)
        })
    };
    watch
        .until("a terminal", |state| shown(state).is_some())
        .await;
    let terminal = shown(&watch.state).unwrap();
    let typed = json!({"type": "terminal/input", "data": "friend\r"});
    b.dispatch(&terminal, serde_json::from_value(typed).unwrap())
        .await;
    assert_eq!(watch.turn_end("t").await, TurnState::Complete);
    assert_eq!(watch.text_of("t"), "welcome");
}

/// A command in a terminal of its own.
struct Person {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    terminal: Box<dyn MasterPty + Send>,
    shown: String,
}

impl Person {
    fn runs(data: &Path) -> Self {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_innkeeper"));
        command.args(["run", "--agent", "test", "--data-dir"]);
        command.arg(data);
        command.args(["--config"]);
        command.arg(data.join("innkeeper.toml"));
        command.arg("hello");
        command.env("TERM", "xterm");
        command.cwd(data);
        Self {
            child: pair.slave.spawn_command(command).unwrap(),
            terminal: pair.master,
            shown: String::new(),
        }
    }

    /// Waits until the terminal has shown this since the last time.
    fn sees(&mut self, wanted: &str) {
        let (mut output, mut bytes) = (self.terminal.try_clone_reader().unwrap(), [0; 1024]);
        while !self.shown.contains(wanted) {
            let count = output.read(&mut bytes).unwrap_or(0);
            assert!(count > 0, "{wanted:?} in {:?}", self.shown);
            self.shown
                .push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        let (_, rest) = self.shown.split_once(wanted).unwrap();
        self.shown = rest.to_owned();
    }
}

#[test]
fn a_person_at_a_terminal_signs_in_where_they_are() {
    let data = tempfile::tempdir().unwrap();
    let _host = start(data.path());
    let mut person = Person::runs(data.path());
    let mut keys = person.terminal.take_writer().unwrap();
    person.sees("How do you want to sign in");
    person.sees("Log in");
    // The second of the two ways.
    keys.write_all(b"\x1b[B\r").unwrap();
    person.sees("Password? ");
    keys.write_all(b"friend\r").unwrap();
    person.sees("welcome");
    assert!(person.child.wait().unwrap().success());
}

#[test]
fn a_person_can_leave_a_login_that_does_not_end() {
    let data = tempfile::tempdir().unwrap();
    let _host = start(data.path());
    let mut person = Person::runs(data.path());
    let mut keys = person.terminal.take_writer().unwrap();
    person.sees("Log in");
    keys.write_all(b"\x1b[B\r").unwrap();
    person.sees("Password? ");
    keys.write_all(b"\x1c").unwrap();
    assert_eq!(person.child.wait().unwrap().exit_code(), 130);
}
