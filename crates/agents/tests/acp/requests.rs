//! What an agent asks for: permission, answers, files, commands.

use std::collections::HashMap;
use std::path::Path;

use innkeeper_protocol::agent::{Approval, ApprovalOption, ToolReady};
use innkeeper_protocol::mcp::{McpServer, McpTransport};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ChatInputQuestion, ChatInputRequest, ChatInputResponseKind,
};

use super::*;

async fn ready(conversation: &mut Conversation) -> ToolReady {
    until(conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolReady(ready)) => Some((**ready).clone()),
        _ => None,
    })
    .await
}

/// The options as clients know them.
fn offered(ready: &ToolReady) -> Vec<ConfirmationOption> {
    let option = |option: &ApprovalOption| ConfirmationOption {
        id: option.id.clone(),
        label: option.label.to_string(),
        kind: option.kind.clone(),
        group: option.group,
    };
    match &ready.approval {
        Approval::Needed(request) => request.options.iter().map(option).collect(),
        Approval::NotNeeded => Vec::new(),
    }
}

#[tokio::test]
async fn permission_is_asked_with_the_agents_options_and_edits() {
    let diff = json!([{"type": "diff", "path": "/w/a", "oldText": null, "newText": "n"}]);
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "Write a", "kind": "edit", "content": diff})),
        permission(json!({"toolCallId": "c", "rawInput": {"path": "a"}})),
        call_update(json!({"toolCallId": "c", "status": "completed"})),
    ])));
    let ready = ready(&mut conversation).await;
    assert_eq!(ready.input.as_deref(), Some(r#"{"path":"a"}"#));
    let Approval::Needed(request) = &ready.approval else {
        panic!("nothing was asked");
    };
    assert_eq!(
        request.edits.as_ref().map(|edits| edits.items.len()),
        Some(1)
    );
    let options = offered(&ready);
    let ids: Vec<(&str, Option<i64>)> = options
        .iter()
        .map(|option| (option.id.as_str(), option.group))
        .collect();
    assert_eq!(ids, [("yes!", Some(1)), ("yes", Some(0)), ("no", Some(0))]);
    conversation.decide(&turn, approve("c", Some(options[0].clone())));
    let answer = until_line(&mut conversation, "text: ").await;
    assert_eq!(
        answer,
        r#"text: {"outcome":{"outcome":"selected","optionId":"yes!"}}"#
    );
    assert_eq!(
        conversation.rest().await,
        ["finished: Write a", "because: end_turn", "completed"]
    );
}

fn words(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

#[tokio::test]
async fn what_an_agent_says_only_with_its_request_is_shown() {
    let mut conversation = with(json!({})).await;
    let content = words("Requesting approval to Running: rm -rf sample && git clean");
    conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "Bash", "kind": "execute"})),
        permission(json!({"toolCallId": "c", "title": "Bash", "content": content})),
    ])));
    let ready = ready(&mut conversation).await;
    assert_eq!(
        ready.message.as_text(),
        "Bash\n\nRequesting approval to Running: rm -rf sample && git clean"
    );
    // Nothing is known to be a command, so nothing is shown as one.
    assert_eq!(ready.meta.unwrap().get("toolKind"), None);
}

#[tokio::test]
async fn what_a_request_leaves_empty_is_as_it_was() {
    let mut conversation = with(json!({})).await;
    let plan = "# Plan\n\n1. Read";
    let turn = conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "Ready to code?", "kind": "switch_mode"})),
        call_update(json!({"toolCallId": "c", "content": words(plan), "rawInput": {"plan": plan}})),
        permission(
            json!({"toolCallId": "c", "title": "Approve Plan", "rawInput": {}, "content": []})
        ),
    ])));
    let ready = ready(&mut conversation).await;
    assert_eq!(ready.message.as_text(), format!("Approve Plan\n\n{plan}"));
    assert_eq!(ready.input, Some(json!({"plan": plan}).to_string()));
    let Approval::Needed(request) = &ready.approval else {
        panic!("nothing was asked");
    };
    let title = request.title.as_ref().map(StringOrMarkdown::as_text);
    assert_eq!(title, Some("Approve Plan"));
    // The plan stays to be read.
    conversation.decide(&turn, approve("c", None));
    let content = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolContent { content, .. }) => Some(shown(content)),
        _ => None,
    });
    assert_eq!(content.await, plan);
}

#[tokio::test]
async fn a_command_is_asked_about_as_a_command() {
    let mut conversation = with(json!({})).await;
    let input = json!({"command": "make clean\nmake", "description": "Build anew", "cwd": "/x"});
    conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "Terminal", "kind": "execute"})),
        permission(json!({"toolCallId": "c", "title": "`make clean\nmake`", "rawInput": input})),
    ])));
    let ready = ready(&mut conversation).await;
    assert_eq!(ready.input.as_deref(), Some("make clean\nmake"));
    assert_eq!(
        ready.message.as_text(),
        "`make clean make`\n\nBuild anew\n\n- cwd: `/x`"
    );
    let meta = ready.meta.unwrap();
    assert_eq!(meta["toolKind"], "terminal");
    assert_eq!(meta["language"], "shellscript");
    let Approval::Needed(request) = &ready.approval else {
        panic!("nothing was asked");
    };
    assert_eq!(request.title, None, "the host says what is asked");
}

#[tokio::test]
async fn an_approval_without_a_choice_allows_once() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([permission(
        json!({"toolCallId": "c", "title": "Run"})
    ),])));
    ready(&mut conversation).await;
    conversation.decide(&turn, approve("c", None));
    let answer = until_line(&mut conversation, "text: ").await;
    assert_eq!(
        answer,
        r#"text: {"outcome":{"outcome":"selected","optionId":"yes"}}"#
    );
}

#[tokio::test]
async fn a_denial_ends_the_call_whatever_the_agent_says_then() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "Run"})),
        permission(json!({"toolCallId": "c"})),
        call_update(json!({"toolCallId": "c", "status": "failed"})),
        said("fine"),
    ])));
    ready(&mut conversation).await;
    conversation.decide(&turn, deny("c"));
    let answer = until_line(&mut conversation, "text: ").await;
    assert_eq!(
        answer,
        r#"text: {"outcome":{"outcome":"selected","optionId":"no"}}"#
    );
    assert_eq!(
        conversation.rest().await,
        ["text: fine", "because: end_turn", "completed"]
    );
}

#[tokio::test]
async fn a_permission_that_is_taken_back_is_answered_as_cancelled() {
    let mut asked = permission(json!({"toolCallId": "c", "title": "Run"}));
    asked["request"]["wait"] = json!(false);
    let steps = json!([
        asked,
        {"notify": {"method": "$/cancel_request", "params": {"requestId": "agent-1"}}},
        call_update(json!({"toolCallId": "c", "status": "completed"})),
    ]);
    check(steps, &["tool c: tool", "asks: Run", "finished: Run"]).await;
}

async fn asked(conversation: &mut Conversation) -> ChatInputRequest {
    until(conversation, |event| match of_turn(event) {
        Some(TurnEvent::Ask(request)) => Some((**request).clone()),
        _ => None,
    })
    .await
}

fn form() -> Value {
    json!({"request": {"method": "elicitation/create", "say": true, "params": {
        "mode": "form", "message": "Who goes?",
        "requestedSchema": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "title": "Name", "minLength": 1},
            "age": {"type": "integer", "minimum": 0},
            "tea": {"type": "boolean"},
            "size": {"type": "string", "enum": ["s", "l"]},
            "many": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        }},
    }}})
}

#[tokio::test]
async fn a_form_is_asked_and_its_answers_go_back() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([form()])));
    let request = asked(&mut conversation).await;
    assert_eq!(request.message.as_deref(), Some("Who goes?"));
    let questions = request.questions.unwrap();
    use ChatInputQuestion::{Boolean, Integer, MultiSelect, SingleSelect, Text};
    let [
        Integer(_),
        MultiSelect(many),
        Text(name),
        SingleSelect(size),
        Boolean(_),
    ] = &questions[..]
    else {
        panic!("{questions:?}");
    };
    assert_eq!((name.required, name.min), (Some(true), Some(1)));
    assert_eq!(
        (size.options.len(), many.options[0].label.as_str()),
        (2, "A")
    );
    let answers = json!({
        "name": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}},
        "age": {"state": "submitted", "value": {"kind": "number", "value": 36.0}},
        "tea": {"state": "submitted", "value": {"kind": "boolean", "value": true}},
        "many": {"state": "submitted", "value": {"kind": "selected-many", "value": ["a"]}},
        "size": {"state": "skipped"},
    });
    conversation.decide(
        &turn,
        Decision::Answer {
            request: request.id,
            response: ChatInputResponseKind::Accept,
            answers: serde_json::from_value(answers).unwrap(),
        },
    );
    let answer = until_line(&mut conversation, "text: ").await;
    let answer: Value = serde_json::from_str(answer.strip_prefix("text: ").unwrap()).unwrap();
    let content = json!({"name": "Ada", "age": 36, "tea": true, "many": ["a"]});
    assert_eq!(answer, json!({"action": "accept", "content": content}));
}

#[tokio::test]
async fn a_form_may_be_declined() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([form()])));
    let request = asked(&mut conversation).await;
    conversation.decide(
        &turn,
        Decision::Answer {
            request: request.id,
            response: ChatInputResponseKind::Decline,
            answers: HashMap::new(),
        },
    );
    let answer = until_line(&mut conversation, "text: ").await;
    assert_eq!(answer, r#"text: {"action":"decline"}"#);
}

#[tokio::test]
async fn what_happens_at_a_url_ends_when_the_agent_says_so() {
    let mut conversation = with(json!({})).await;
    let url = json!({"request": {"method": "elicitation/create", "wait": false, "params": {
        "mode": "url", "message": "Sign in", "url": "https://sign.example", "elicitationId": "e"}}});
    let done = json!({"notify": {
        "method": "elicitation/complete", "params": {"elicitationId": "e"}}});
    conversation.prompt(&scenario(json!([url, done])));
    let request = asked(&mut conversation).await;
    assert_eq!(request.url.as_deref(), Some("https://sign.example"));
    assert_eq!(
        conversation.rest().await,
        ["withdrawn: question-1", "because: end_turn", "completed"]
    );
}

#[tokio::test]
async fn files_are_read_and_written_in_the_sessions_directories_only() {
    let (directory, mut conversation) = in_directory().await;
    let path = directory.path().join("sub/a");
    let turn = conversation.prompt(&scenario(json!([
        about_file("fs/write_text_file", &path, "hello"),
        about_file("fs/read_text_file", &path, ""),
        about_file("fs/read_text_file", Path::new("/etc/passwd"), ""),
        about_file("fs/read_text_file", &directory.path().join("none"), ""),
    ])));
    // The host says when: it may still be keeping what is there now.
    let wanted = until_line(&mut conversation, "write: ").await;
    assert!(!path.exists());
    let write = wanted.trim_start_matches("write: ").to_owned();
    conversation.decide(&turn, Decision::MayWrite { write });
    let heard = conversation.rest().await;
    assert_eq!(
        heard[..4],
        [
            "text: {}",
            r#"text: {"content":"hello"}"#,
            r#"text: {"error":-32602}"#,
            r#"text: {"error":-32002}"#,
        ]
    );
    assert_eq!(std::fs::read_to_string(path).unwrap(), "hello");
}

#[tokio::test]
async fn a_file_that_waits_to_be_written_is_not_written_in_a_turn_that_was_cancelled() {
    let (directory, mut conversation) = in_directory().await;
    let path = directory.path().join("a");
    let turn = conversation.prompt(&scenario(json!([about_file(
        "fs/write_text_file",
        &path,
        "hello"
    ),])));
    let wanted = until_line(&mut conversation, "write: ").await;
    conversation.cancel(&turn);
    conversation.rest().await;
    let write = wanted.trim_start_matches("write: ").to_owned();
    conversation.decide(&turn, Decision::MayWrite { write });
    conversation.play(json!([{"say": "next"}])).await;
    assert!(!path.exists());
}

fn about_terminal(method: &str) -> Value {
    json!({"request": {"method": method, "say": true, "params": {"terminalId": "terminal-1"}}})
}

#[tokio::test]
async fn commands_run_in_terminals_of_the_session_which_their_calls_show() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let mut open = asked_to_open();
    open.directories = vec![format!("file://{}", path.display())];
    let mut conversation = opened(AcpAgent::new(options(&json!({}))), open).await;
    let show = json!([{"type": "terminal", "terminalId": "terminal-1"}]);
    let create = json!({
        "command": "make", "args": ["all it"], "env": [{"name": "KEY", "value": "v"}],
    });
    let turn = conversation.prompt(&scenario(json!([
        {"request": {"method": "terminal/create", "say": true, "params": create}},
        call(json!({"toolCallId": "c", "title": "T", "status": "in_progress", "content": show})),
        about_terminal("terminal/wait_for_exit"),
        about_terminal("terminal/output"),
        call_update(json!({"toolCallId": "c", "status": "completed"})),
        about_terminal("terminal/release"),
        about_terminal("terminal/output"),
    ])));
    let outcome = exited(4, "\u{1b}[31mred\u{1b}[0m\r\nend\r\n");
    let run = run_command(&mut conversation, &turn, outcome).await;
    assert_eq!(run.program.line(), "make 'all it'");
    assert_eq!(run.directory, Some(format!("file://{}", path.display())));
    let environment = run.environment.unwrap();
    let set = |name: &str, value: &str| environment.contains(&(name.to_owned(), value.to_owned()));
    assert!(set("KEY", "v") && set("PAGER", "cat"), "{environment:?}");

    let exit = until_line(&mut conversation, "text: {\"exitCode\"").await;
    assert_eq!(exit, r#"text: {"exitCode":4}"#);
    let output = until_line(&mut conversation, "text: ").await;
    assert_eq!(
        output,
        r#"text: {"output":"red\nend\n","truncated":false,"exitStatus":{"exitCode":4}}"#
    );
    let content = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolFinished { result, .. }) => result.content.clone(),
        _ => None,
    })
    .await;
    let expected = "make 'all it' in ahp-terminal:/terminal-1: Some(4)";
    assert_eq!(shown(&content), expected);
    let rest = conversation.rest().await;
    assert_eq!(rest[..2], ["text: {}", r#"text: {"error":-32002}"#]);
}

#[tokio::test]
async fn the_output_of_a_running_command_is_read_from_its_terminal() {
    let mut conversation = with(json!({})).await;
    let create = json!({"command": "tail", "args": ["-f", "log"], "outputByteLimit": 4});
    let turn = conversation.prompt(&scenario(json!([
        {"request": {"method": "terminal/create", "params": create}},
        about_terminal("terminal/output"),
        about_terminal("terminal/kill"),
    ])));
    until_line(&mut conversation, "read: terminal-1").await;
    let output = Decision::CommandOutput {
        run: "terminal-1".to_owned(),
        output: "12345678".to_owned(),
        truncated: false,
    };
    conversation.decide(&turn, output);
    let heard = conversation.rest().await;
    assert_eq!(
        heard[..3],
        [
            r#"text: {"output":"5678","truncated":true}"#,
            "stop: terminal-1",
            "text: {}"
        ]
    );
}

#[tokio::test]
async fn a_command_that_somebody_took_over_goes_on_without_the_agent() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        {"request": {"method": "terminal/create", "params": {"command": "server"}}},
        about_terminal("terminal/wait_for_exit"),
        about_terminal("terminal/output"),
    ])));
    let outcome = CommandOutcome {
        detached: true,
        ..CommandOutcome::default()
    };
    run_command(&mut conversation, &turn, outcome).await;
    let heard = conversation.rest().await;
    assert_eq!(heard[0], "text: {}");
    assert!(heard[1].contains("took this terminal over"), "{heard:?}");
}

#[tokio::test]
async fn mcp_servers_are_passed_on_to_an_agent_that_can_reach_them() {
    let server = |name: &str, transport| McpServer {
        name: name.to_owned(),
        transport,
    };
    let (command, url) = ("files".to_owned(), "http://127.0.0.1/".to_owned());
    let stdio = McpTransport::Stdio {
        command,
        args: Vec::new(),
        env: [("KEY".to_owned(), "v".to_owned())].into(),
        directory: None,
    };
    let headers = Default::default();
    let agent = AcpAgent::new(AcpOptions {
        mcp_servers: vec![server("of all", stdio)],
        ..options(&json!({}))
    });
    let mut open = asked_to_open();
    let far = server(
        "of the session",
        McpTransport::Http {
            url,
            headers,
            oauth_client: None,
        },
    );
    open.customizations.mcp_servers = vec![far];
    let mut conversation = opened(agent, open).await;
    let heard = conversation.play(json!([{"echo": "requests"}])).await;
    let requests: Value = serde_json::from_str(heard[0].strip_prefix("text: ").unwrap()).unwrap();
    let servers = &requests[1]["params"]["mcpServers"];
    let env = json!([{"name": "KEY", "value": "v"}]);
    let expected = json!([{"name": "of all", "command": "files", "args": [], "env": env}]);
    assert_eq!(*servers, expected, "it said nothing of HTTP");
}
