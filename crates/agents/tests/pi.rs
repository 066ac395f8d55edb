//! The backend for pi, behind the real supervisor, with a stand-in for pi on
//! the other side.

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

#[path = "../src/testing.rs"]
#[expect(dead_code, reason = "shared with the tests beside the code")]
mod testing;

use innkeeper_agents::{Agent, PiAgent, PiOptions, Program, ScriptAgent, Supervisor};
use innkeeper_protocol::agent::{AgentCommand, Decision, OpenBackend};
use innkeeper_protocol::newest::state::ChatInputResponseKind;
use serde_json::{Value, json};
use testing::{BACKEND, Conversation, line, open, stored_turn};

fn pi(mut behaviour: Value) -> PiAgent {
    let state = json!({"thinkingLevel": "off", "sessionFile": "/tmp/none.jsonl"});
    for (command, answer) in [
        ("get_state", state),
        (
            "get_available_models",
            json!({"models": [
            {"provider": "p", "id": "one", "name": "One"}, {"provider": "p", "id": "two"}]}),
        ),
        (
            "get_available_thinking_levels",
            json!({"levels": ["off", "high"]}),
        ),
        (
            "get_commands",
            json!({"commands": [{"name": "fix", "description": "Fixes"}]}),
        ),
    ] {
        behaviour[command] = answer;
    }
    let mut program = Program::new(env!("CARGO_BIN_EXE_innkeeper-test-pi"));
    program
        .env
        .insert("TEST_PI".to_owned(), behaviour.to_string());
    PiAgent::new(PiOptions::new("pi", program))
}

async fn opened(agent: PiAgent, open: OpenBackend) -> Conversation {
    let mut conversation = Conversation::with(agent, 1024);
    conversation.command(AgentCommand::Open(Box::new(open)));
    for expected in ["opened", "commands: 1"] {
        assert_eq!(line(&conversation.next().await), expected);
    }
    conversation
}

async fn turn(steps: Value) -> Vec<String> {
    let mut conversation = opened(pi(json!({})), open("pi")).await;
    conversation.say(&steps.to_string()).await
}

fn update(event: Value) -> Value {
    json!({"type": "message_update", "assistantMessageEvent": event})
}

fn start() -> Value {
    json!({"type": "agent_start"})
}

fn settled() -> Value {
    json!({"type": "agent_settled"})
}

#[tokio::test]
async fn models_and_thinking_levels_are_learned() {
    let agent = pi(json!({}));
    agent.get_to_know().await.unwrap();
    let profile = agent.profile();
    let models: Vec<&str> = profile
        .info
        .models
        .iter()
        .map(|model| model.id.as_str())
        .collect();
    assert_eq!(models, ["p/one", "p/two"]);
    assert!(profile.config.unwrap().properties.contains_key("thinking"));
}

#[tokio::test]
async fn text_and_thoughts_are_streamed() {
    let heard = turn(json!([
        start(),
        update(json!({"type": "thinking_start", "contentIndex": 0})),
        update(json!({"type": "thinking_delta", "contentIndex": 0, "delta": "hm"})),
        update(json!({"type": "text_start", "contentIndex": 1})),
        update(json!({"type": "text_delta", "contentIndex": 1, "delta": "yes"})),
        settled(),
    ]))
    .await;
    assert_eq!(
        heard,
        ["break", "reasoning: hm", "break", "text: yes", "completed"]
    );
}

#[tokio::test]
async fn a_tool_call_lives_from_its_start_to_its_end() {
    let result = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let heard = turn(json!([
        start(),
        update(json!({"type": "toolcall_start", "contentIndex": 0, "id": "c", "toolName": "bash"})),
        update(json!({"type": "toolcall_delta", "contentIndex": 0, "delta": "{\"com"})),
        {"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash",
         "args": {"command": "ls"}},
        {"type": "tool_execution_update", "toolCallId": "c", "partialResult": result("a")},
        {"type": "tool_execution_end", "toolCallId": "c", "toolName": "bash",
         "result": result("a b"), "isError": false},
        settled(),
    ]))
    .await;
    assert_eq!(
        heard,
        [
            "tool c: bash",
            "input: {\"com",
            "ready: bash: ls",
            "1 blocks",
            "finished: bash",
            "completed",
        ]
    );
}

#[tokio::test]
async fn an_error_of_the_model_fails_the_turn_unless_it_is_mended() {
    let failed = json!({"type": "message_end", "message": {
        "role": "assistant", "stopReason": "error", "errorMessage": "overloaded"}});
    let heard = turn(json!([start(), failed, settled()])).await;
    assert_eq!(heard, ["failed (resumable): agentError: overloaded"]);
    let retry = json!({"type": "auto_retry_start", "errorMessage": "overloaded"});
    let good = json!({"type": "message_end", "message": {
        "role": "assistant", "usage": {"input": 1, "output": 2}}});
    let heard = turn(json!([start(), failed, retry, start(), good, settled()])).await;
    assert_eq!(heard[0], "activity: Some(\"Trying again: overloaded\")");
    assert!(heard[1].starts_with("usage: "), "{heard:?}");
    assert_eq!(heard[2], "completed");
}

#[tokio::test]
async fn a_refused_prompt_fails_the_turn() {
    let agent = pi(json!({"errors": {"prompt": "no model"}}));
    let mut conversation = opened(agent, open("pi")).await;
    assert_eq!(
        conversation.say("x").await,
        ["failed (resumable): agentError: no model"]
    );
}

#[tokio::test]
async fn a_command_that_starts_no_work_ends_at_once() {
    let mut conversation = opened(pi(json!({})), open("pi")).await;
    conversation.prompt("/quiet\n\n[]");
    assert_eq!(conversation.rest().await, ["completed"]);
}

#[tokio::test]
async fn a_cancelled_turn_is_aborted_with_what_waits() {
    let mut conversation = opened(pi(json!({})), open("pi")).await;
    let turn = conversation.prompt(&json!([start(), "clear_queue", "abort"]).to_string());
    conversation.cancel(&turn);
    let heard = conversation.rest().await;
    assert_eq!(heard.last().unwrap(), "cancelled");
}

#[tokio::test]
async fn a_steering_message_reaches_the_turn() {
    let mut conversation = opened(pi(json!({})), open("pi")).await;
    let turn = conversation.prompt(&json!([start(), "steer", settled()]).to_string());
    let message = json!({"id": "m", "message": {"text": "salt", "origin": {"kind": "user"}}});
    conversation.command(AgentCommand::Steer {
        backend: BACKEND,
        turn,
        message: Some(Box::new(serde_json::from_value(message).unwrap())),
    });
    let heard = conversation.rest().await;
    assert_eq!(
        heard,
        [
            "steered: m",
            r#"text: steer {"message":"salt"}"#,
            "completed"
        ]
    );
}

#[tokio::test]
async fn a_dialog_is_a_question() {
    let dialog = json!({"type": "extension_ui_request", "id": "d", "method": "select",
                        "title": "Sure?", "options": ["Yes", "No"]});
    let mut conversation = opened(pi(json!({})), open("pi")).await;
    let steps = json!([start(), dialog, "extension_ui_response", settled()]);
    let turn = conversation.prompt(&steps.to_string());
    assert_eq!(line(&conversation.next().await), "ask: d");
    let answers = json!({"answer": {
        "state": "submitted", "value": {"kind": "selected", "value": "No"}}});
    conversation.decide(
        &turn,
        Decision::Answer {
            request: "d".to_owned(),
            response: ChatInputResponseKind::Accept,
            answers: serde_json::from_value(answers).unwrap(),
        },
    );
    let heard = conversation.rest().await;
    assert_eq!(
        heard,
        [r#"text: extension_ui_response {"value":"No"}"#, "completed"]
    );
}

#[tokio::test]
async fn model_and_thinking_are_set_before_the_prompt() {
    let mut conversation = opened(pi(json!({})), open("pi")).await;
    let values = json!({"thinking": "high"}).as_object().unwrap().clone();
    conversation.command(AgentCommand::Configure {
        backend: BACKEND,
        values,
    });
    let message = json!({"text": "hi", "model": {"id": "p/two"}, "origin": {"kind": "user"}});
    conversation.prompt_with(message);
    assert_eq!(conversation.rest().await, ["text: hi", "completed"]);
}

#[tokio::test]
async fn a_conversation_whose_file_is_gone_is_told_again() {
    let mut again = open("pi");
    again.resume = Some(json!({"pi": "/nowhere/session.jsonl"}));
    again.transcript = vec![stored_turn("t", "the first question")];
    let mut conversation = opened(pi(json!({})), again).await;
    let heard = conversation.say("go on").await;
    assert!(
        heard[0].starts_with("notice: pi did not take up"),
        "{heard:?}"
    );
    assert!(
        heard[1].contains("the first question") && heard[1].ends_with("go on"),
        "{heard:?}"
    );
}

#[tokio::test]
async fn a_conversation_whose_file_is_there_is_taken_up() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut again = open("pi");
    again.resume = Some(json!({"pi": file.path()}));
    again.transcript = vec![stored_turn("t", "the first question")];
    let mut conversation = opened(pi(json!({})), again).await;
    assert_eq!(
        conversation.say("go on").await,
        ["text: go on", "completed"]
    );
}
