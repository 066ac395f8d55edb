//! The backend for pi, behind the real supervisor, with a stand-in for pi on
//! the other side.

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

mod programs;
#[path = "../src/testing.rs"]
#[expect(dead_code, reason = "shared with the tests beside the code")]
mod testing;

use innkeeper_agents::{Agent, PiAgent, PiOptions, Program, ScriptAgent, Supervisor};
use innkeeper_protocol::agent::{AgentCommand, Decision, OpenBackend};
use innkeeper_protocol::newest::state::ChatInputResponseKind;
use programs::{kill, test_program, times};
use serde_json::{Value, json};
use testing::{BACKEND, Conversation, line, open, stored_turn};

fn pi(mut behaviour: Value) -> PiAgent {
    let state = json!({"thinkingLevel": "off", "sessionFile": "/tmp/none.jsonl"});
    for (command, answer) in [
        ("get_state", state),
        (
            "get_available_models",
            json!({"models": [
            {"provider": "p", "id": "one", "name": "One",
             "cost": {"input": 3, "output": 15.5, "cacheRead": 0, "cacheWrite": 0}},
            {"provider": "p", "id": "two", "cost": {"input": 0, "output": 0}}]}),
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
        if behaviour[command].is_null() {
            behaviour[command] = answer;
        }
    }
    let mut program = Program::new(test_program("test-pi"));
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
    let [one, two] = &profile.info.models[..] else {
        panic!("{:?}", profile.info.models);
    };
    let prices = json!({"input": 3.0, "output": 15.5, "cacheRead": 0.0, "cacheWrite": 0.0,
                        "currency": "USD", "per": 1_000_000});
    assert_eq!(one.meta.as_ref().unwrap()["pricing"], prices);
    assert_eq!(two.meta, None);
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
    assert_eq!(heard[0], "activity: Trying again: overloaded");
    assert!(heard[1].starts_with("usage: "), "{heard:?}");
    assert_eq!(heard[2], "completed");
}

#[tokio::test]
async fn numbers_of_tokens_beyond_all_bounds_do_not_harm_the_turn() {
    let spent = json!({"type": "message_end", "message": {
        "role": "assistant", "usage": {"input": i64::MAX, "output": i64::MAX, "cacheRead": 1}}});
    let heard = turn(json!([start(), spent, spent, settled()])).await;
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(heard[1].starts_with("usage: "), "{heard:?}");
    assert_eq!(heard[2], "completed");
}

#[tokio::test]
async fn a_turn_says_what_it_cost_and_how_full_the_context_is() {
    let request = |total: i64| {
        json!({"type": "message_end", "message": {"role": "assistant", "model": "one", "usage": {
            "input": 10, "output": 2, "totalTokens": total, "cost": {"total": 0.25}}}})
    };
    let heard = turn(json!([start(), request(100), request(150), settled()])).await;
    let last: Value = serde_json::from_str(heard[1].strip_prefix("usage: ").unwrap()).unwrap();
    let totals = json!([{"model": "one", "inputTokens": 20, "cachedTokens": 0,
                         "outputTokens": 4}]);
    let meta = json!({"cost": {"amount": 0.5, "currency": "USD"}, "contextUsed": 150,
                      "turnTokenTotals": totals});
    assert_eq!(last["_meta"], meta);
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
        heard[0].starts_with("notice: pi did not resume"),
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

/// An agent that keeps its conversation in a file, with files by which the test
/// and its processes know of each other.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::write(place.path("session"), "").unwrap();
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    async fn conversation(&self) -> Conversation {
        let agent = pi(json!({
            "doom": self.path("doom"), "journal": self.path("journal"),
            "pidFile": self.path("pid"),
            "get_state": {"thinkingLevel": "off", "sessionFile": self.path("session")},
        }));
        opened(agent, open("pi")).await
    }

    fn doom(&self, command: &str) {
        std::fs::write(self.path("doom"), command).unwrap();
    }

    fn times(&self, command: &str) -> usize {
        times(&self.path("journal"), command)
    }
}

/// The chat is cut after its first turn.
fn cut(conversation: &Conversation) {
    conversation.command(AgentCommand::Truncate {
        backend: BACKEND,
        transcript: vec![stored_turn("turn-1", "keep this")],
    });
}

#[tokio::test]
async fn after_a_cut_nobody_asks_the_pi_that_knows_more_though_no_other_starts() {
    for command in ["", "get_state", "get_commands"] {
        let place = Place::new();
        let mut conversation = place.conversation().await;
        conversation.say("keep this").await;
        conversation.say("forget this").await;
        cut(&conversation);
        place.doom(command);
        for question in ["the second", "the third"] {
            let heard = conversation.say(question).await;
            assert_eq!(heard.len(), 1, "{heard:?}");
            let failed = "failed (resumable): agentExited: ";
            assert!(heard[0].starts_with(failed), "{heard:?}");
        }
        std::fs::remove_file(place.path("doom")).unwrap();
        let heard = conversation.say("the fourth").await;
        assert_eq!(heard[..2], ["opened", "commands: 1"]);
        assert!(heard[2].contains("keep this"), "{heard:?}");
        assert!(!heard[2].contains("forget this"), "{heard:?}");
    }
}

#[tokio::test]
async fn a_turn_that_begins_while_pi_dies_is_given_to_its_successor() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    conversation.say("one").await;
    kill(&place.path("pid"));
    let heard = conversation.say("two").await;
    assert_eq!(heard, ["opened", "commands: 1", "text: two", "completed"]);
    assert_eq!(place.times("switch_session"), 1);
}

#[tokio::test]
async fn a_pi_that_dies_of_a_prompt_is_started_anew_once() {
    let place = Place::new();
    place.doom("prompt");
    let mut conversation = place.conversation().await;
    let heard = conversation.say("x").await;
    let ended = "exited: it ended with status 3; it last said: told to end";
    assert_eq!(heard[..2], ["opened", "commands: 1"]);
    assert!(heard[2].starts_with(ended), "{heard:?}");
    assert_eq!(place.times("get_available_models"), 2);
}

#[tokio::test]
async fn a_pi_that_has_begun_to_answer_is_not_asked_again() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    let heard = conversation
        .say(&json!([start(), {"exit": 5}]).to_string())
        .await;
    assert_eq!(heard, ["exited: it ended with status 5"]);
    assert_eq!(place.times("get_available_models"), 1);
}

#[tokio::test]
async fn what_was_cut_while_it_ran_is_forgotten() {
    let mut conversation = opened(pi(json!({})), open("pi")).await;
    conversation.say("keep this").await;
    let steps = json!([start(), "clear_queue", "abort"]).to_string();
    let turn = conversation.prompt(&format!("forget this\n{steps}"));
    conversation.cancel(&turn);
    cut(&conversation);
    assert_eq!(conversation.rest().await.last().unwrap(), "cancelled");
    let heard = conversation.say("now").await;
    assert!(heard[2].contains("keep this"), "{heard:?}");
    assert!(!heard[2].contains("forget this"), "{heard:?}");
}
