//! What real agents do that the protocol's text does not prepare for.

use innkeeper_protocol::agent::{ClientTool, ToolOwner};

use super::*;

fn hurried() -> Patience {
    Patience {
        cancelling: Duration::from_millis(50),
        ending: Duration::from_millis(50),
        ..Patience::default()
    }
}

#[tokio::test]
async fn the_permission_request_may_be_the_first_mention_of_a_call() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([permission(
        json!({"toolCallId": "c", "title": "Run ls", "kind": "execute"})
    ),])));
    assert_eq!(line(&conversation.next().await), "tool c: execute");
    assert_eq!(line(&conversation.next().await), "asks: Run ls");
    conversation.decide(&turn, deny("c"));
    // After the rejection nothing more is said about the call.
    let heard = conversation.rest().await;
    assert_eq!(heard[1..], ["because: end_turn", "completed"]);
}

#[tokio::test]
async fn a_call_may_never_be_said_to_run() {
    let steps = json!([
        call(json!({"toolCallId": "c", "title": "Read"})),
        call_update(json!({"toolCallId": "c", "status": "completed"})),
    ]);
    check(steps, &["tool c: tool", "ready: Read", "finished: Read"]).await;
}

#[tokio::test]
async fn a_call_may_be_said_to_run_before_it_is_asked_about() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "Run", "status": "in_progress"})),
        permission(json!({"toolCallId": "c"})),
        call_update(json!({"toolCallId": "c", "status": "completed"})),
    ])));
    for expected in ["tool c: tool", "ready: Run", "asks: Run"] {
        assert_eq!(line(&conversation.next().await), expected);
    }
    conversation.decide(&turn, approve("c", None));
    assert_eq!(
        until_line(&mut conversation, "finished").await,
        "finished: Run"
    );
}

#[tokio::test]
async fn a_call_may_be_updated_before_it_was_begun() {
    let steps = json!([call_update(
        json!({"toolCallId": "c", "status": "in_progress"})
    )]);
    check(steps, &["tool c: tool", "ready: tool", "finished: tool"]).await;
}

#[tokio::test]
async fn calls_that_stay_open_are_closed_at_the_end_of_the_turn() {
    let steps = json!([call(
        json!({"toolCallId": "c", "title": "Run", "status": "in_progress"})
    ),]);
    check(steps, &["tool c: tool", "ready: Run", "finished: Run"]).await;
}

#[tokio::test]
async fn a_call_may_have_a_name_that_is_too_long_for_anybody_else() {
    let long = "c".repeat(300);
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        permission(json!({"toolCallId": long, "title": "Run"})),
        call_update(json!({"toolCallId": long, "status": "completed"})),
    ])));
    let started = line(&conversation.next().await);
    let short = started
        .strip_prefix("tool ")
        .and_then(|it| it.strip_suffix(": tool"));
    let short = short.unwrap().to_owned();
    assert!(short.len() <= 256, "{short}");
    assert_eq!(line(&conversation.next().await), "asks: Run");
    conversation.decide(&turn, approve(&short, None));
    let finished = until_line(&mut conversation, "finished").await;
    assert_eq!(finished, "finished: Run");
}

#[tokio::test]
async fn a_name_that_is_used_again_is_another_call() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "One", "status": "completed"})),
        permission(json!({"toolCallId": "c", "title": "Two"})),
    ])));
    until_line(&mut conversation, "finished: One").await;
    assert_eq!(line(&conversation.next().await), "tool c~1: tool");
    assert_eq!(line(&conversation.next().await), "asks: Two");
    conversation.decide(&turn, deny("c~1"));
    conversation.rest().await;
}

#[tokio::test]
async fn output_of_the_agents_own_terminals_is_shown() {
    let terminal = json!([{"type": "terminal", "terminalId": "nobody's"}]);
    let output = |key: &str, text: &str| json!({key: {"terminal_id": "nobody's", "data": text}});
    let mut conversation = with(json!({})).await;
    conversation.prompt(&scenario(json!([
        call(
            json!({"toolCallId": "c", "title": "Run", "status": "in_progress",
                    "content": terminal})
        ),
        call_update(json!({"toolCallId": "c", "_meta": output("terminal_output_delta", "one ")})),
        call_update(json!({"toolCallId": "c", "_meta": output("terminal_output_delta", "two")})),
        // Some say it all once more.
        call_update(json!({"toolCallId": "c", "_meta": output("terminal_output", "one two!")})),
        call_update(json!({"toolCallId": "c", "status": "completed",
                           "_meta": {"terminal_exit": {"exit_code": 2}}})),
    ])));
    let result = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolFinished { result, .. }) => Some(result.clone()),
        _ => None,
    })
    .await;
    assert_eq!(shown(&result.content.unwrap()), "one two!");
    assert_eq!(json!(result.structured_content), json!({"exitCode": 2}));
}

#[tokio::test]
async fn a_whole_line_for_the_shell_is_run_by_the_shell() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        {"request": {"method": "terminal/create", "params": {"command": "exit 3 | exit 5"}}},
    ])));
    let run = run_command(&mut conversation, &turn, exited(5, "")).await;
    assert_eq!(run.program.line(), "/bin/sh -c 'exit 3 | exit 5'");
    assert_eq!(run.title.as_deref(), Some("exit 3 | exit 5"));
}

#[tokio::test]
async fn a_cancel_may_be_answered_as_if_nothing_had_happened() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([said("on"), {"awaitCancel": true}])));
    until_line(&mut conversation, "text: on").await;
    conversation.cancel(&turn);
    assert_eq!(conversation.rest().await, ["cancelled"]);
    // The conversation goes on.
    let heard = conversation.say("again").await;
    assert_eq!(heard, ["text: again", "because: end_turn", "completed"]);
}

#[tokio::test]
async fn a_cancel_ends_the_command_that_the_agent_waits_for() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        {"request": {"method": "terminal/create", "say": true, "params": {
            "command": "sleep", "args": ["600"]}}},
        {"request": {"method": "terminal/wait_for_exit", "say": true,
                     "params": {"terminalId": "terminal-1"}}},
    ])));
    until_line(&mut conversation, "text: ").await;
    conversation.cancel(&turn);
    let heard = conversation.rest().await;
    assert_eq!(heard, [r#"text: {"signal":"SIGKILL"}"#, "cancelled"]);
}

#[tokio::test]
async fn no_command_is_begun_after_a_cancel() {
    let create = json!({"request": {"method": "terminal/create", "say": true,
                                    "params": {"command": "sleep 600"}}});
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(
        json!([said("on"), {"awaitCancel": true}, create]),
    ));
    until_line(&mut conversation, "text: on").await;
    conversation.cancel(&turn);
    assert_eq!(
        conversation.rest().await,
        [r#"text: {"error":-32800}"#, "cancelled"]
    );
    let create = json!({"request": {"method": "terminal/create", "say": true,
                                    "params": {"command": "true"}}});
    let heard = conversation.play(json!([create])).await;
    assert_eq!(
        heard[..2],
        [
            "run: true as terminal-1",
            r#"text: {"terminalId":"terminal-1"}"#
        ]
    );
}

#[tokio::test]
async fn a_terminal_is_shown_after_the_agent_has_let_it_go() {
    let terminal = |method: &str| json!({"request": {"method": method, "params": {"terminalId": "terminal-1"}}});
    let show = json!([{"type": "terminal", "terminalId": "terminal-1"}]);
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        {"request": {"method": "terminal/create", "params": {"command": "echo hi"}}},
        terminal("terminal/wait_for_exit"),
        terminal("terminal/release"),
        call(json!({"toolCallId": "c", "title": "T", "status": "completed", "content": show})),
    ])));
    run_command(&mut conversation, &turn, exited(0, "hi\r\n")).await;
    let content = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolFinished { result, .. }) => result.content.clone(),
        _ => None,
    })
    .await;
    assert_eq!(
        shown(&content),
        "echo hi in ahp-terminal:/terminal-1: Some(0)"
    );
}

#[tokio::test]
async fn an_agent_that_talks_on_after_a_cancel_is_restarted() {
    let mut conversation = opened(patient(&json!({}), hurried()), asked_to_open()).await;
    let chatter: Vec<Value> = std::iter::repeat_n(said("bla"), 3).collect();
    let mut steps = vec![json!({"awaitCancel": true})];
    steps.extend(chatter);
    steps.push(json!({"hang": true}));
    let turn = conversation.prompt(&scenario(json!(steps)));
    conversation.cancel(&turn);
    let heard = conversation.rest().await;
    assert_eq!(heard.last().unwrap(), "cancelled");
    assert!(heard.contains(&"opened".to_owned()), "{heard:?}");
}

#[tokio::test]
async fn a_cancel_answers_what_the_agent_had_asked() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        permission(json!({"toolCallId": "c", "title": "Run"})),
        {"awaitCancel": true},
    ])));
    until_line(&mut conversation, "asks").await;
    conversation.cancel(&turn);
    let heard = conversation.rest().await;
    assert_eq!(
        heard,
        [r#"text: {"outcome":{"outcome":"cancelled"}}"#, "cancelled"]
    );
}

#[tokio::test]
async fn an_agent_that_does_not_stop_is_restarted_with_all_that_it_started() {
    let initialize = json!({"agentCapabilities": {"loadSession": true}});
    let agent = patient(&json!({"initialize": initialize}), hurried());
    let mut conversation = opened(agent, asked_to_open()).await;
    let turn = conversation.prompt(&scenario(json!([{"spawn": "sleep 600"}, {"hang": true}])));
    let child = until_line(&mut conversation, "text: ").await;
    let child = child.strip_prefix("text: ").unwrap().to_owned();
    conversation.cancel(&turn);
    assert_eq!(conversation.rest().await, ["opened", "cancelled"]);
    while is_running(&child) {
        tokio::task::yield_now().await;
    }
    let heard = conversation.play(json!([{"echo": "requests"}])).await;
    assert!(heard[0].contains("session/load"), "{heard:?}");
}

fn is_running(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_silent_turn_is_told_and_not_ended() {
    let patience = Patience {
        silence: Duration::from_millis(1),
        ..Patience::default()
    };
    let mut conversation = opened(patient(&json!({}), patience), asked_to_open()).await;
    let turn = conversation.prompt(&scenario(json!([{"awaitCancel": true}, said("here")])));
    let told = until_line(&mut conversation, "activity").await;
    assert_eq!(told, "activity: No word from test for 0 s");
    conversation.cancel(&turn);
    let heard = conversation.rest().await;
    assert_eq!(heard, ["activity over", "text: here", "cancelled"]);
}

#[tokio::test]
async fn vendors_requests_are_refused_and_their_notifications_ignored() {
    let steps = json!([
        {"request": {"method": "_vendor/ask", "say": true, "params": {}}},
        {"notify": {"method": "_vendor/tell", "params": {}}},
        {"raw": "Warning: this is not JSON"},
        {"raw": "[1, 2"},
        {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "smell"}}},
        said("still here"),
    ]);
    check(steps, &[r#"text: {"error":-32601}"#, "text: still here"]).await;
}

#[tokio::test]
async fn a_request_for_permission_that_makes_no_sense_is_refused() {
    for params in [json!([]), json!("all"), json!(7), json!({"options": 7})] {
        let request =
            json!({"method": "session/request_permission", "say": true, "params": params});
        let steps = json!([{"request": request}, said("still here")]);
        check(steps, &[r#"text: {"error":-32602}"#, "text: still here"]).await;
    }
}

#[tokio::test]
async fn updates_that_nobody_knows_are_kept_as_they_are() {
    let heard = turn(json!([
        updated("weather_update", json!({"sky": "grey"})),
        said("so"),
        updated("tool_call", json!({"title": "without an id"})),
    ]))
    .await;
    assert_eq!(heard[0], "text: so");
    assert_eq!(
        heard[1],
        "unknown: tool_call, weather_update [{\"sky\":\"grey\",\"sessionUpdate\":\"weather_update\"},\
         {\"title\":\"without an id\",\"sessionUpdate\":\"tool_call\"}]"
    );
}

#[tokio::test]
async fn the_end_of_an_agent_is_noticed_though_its_child_holds_its_output() {
    let mut conversation = with(json!({})).await;
    let heard = conversation
        .play(json!([said("so"), {"spawnHolding": "sleep 600"}, {"exit": 3}]))
        .await;
    assert_eq!(heard, ["text: so", "exited: it ended with status 3"]);
}

#[tokio::test]
async fn options_of_unknown_kinds_are_kept() {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([
        {"request": {"method": "session/request_permission", "say": true, "params": {
            "toolCall": {"toolCallId": "c", "title": "Run"},
            "options": [{"optionId": "maybe", "name": "Maybe", "kind": "perhaps"}]}}},
    ])));
    until_line(&mut conversation, "asks").await;
    conversation.decide(&turn, deny("c"));
    let answer = until_line(&mut conversation, "text: ").await;
    assert_eq!(answer, r#"text: {"outcome":{"outcome":"cancelled"}}"#);
}

#[tokio::test]
async fn an_agent_that_ignores_the_end_of_its_input_ends_when_it_is_told() {
    let agent = patient(&json!({"stays": true}), hurried());
    let mut conversation = opened(agent, asked_to_open()).await;
    let heard = conversation
        .play(json!([{"spawn": "trap '' TERM; sleep 600 & wait"}]))
        .await;
    let child = heard[0].strip_prefix("text: ").unwrap().to_owned();
    assert!(is_running(&child));
    conversation.agents.shutdown().await;
    while is_running(&child) {
        tokio::task::yield_now().await;
    }
}

async fn open_failure(agent: AcpAgent) -> String {
    let mut conversation = Conversation::with(agent, 8);
    conversation.command(AgentCommand::Open(Box::new(asked_to_open())));
    conversation.rest().await.remove(0)
}

#[tokio::test]
async fn an_agent_that_does_not_open_says_why() {
    let nowhere = AcpOptions::new("test", Program::new("/nowhere/agent"));
    let failure = open_failure(AcpAgent::new(nowhere)).await;
    assert!(
        failure.starts_with("open failed: `/nowhere/agent` cannot be started: No such file"),
        "{failure}"
    );
    let failure = open_failure(AcpAgent::new(options(&json!({"exitOn": "session/new"})))).await;
    let told = "ended before it was ready: it ended with status 3; it last said: told to end";
    assert!(failure.ends_with(told), "{failure}");
    let patience = Patience {
        opening: Duration::from_millis(50),
        ..Patience::default()
    };
    let failure = open_failure(patient(&json!({"silentOn": "initialize"}), patience)).await;
    assert!(failure.contains("did not answer within"), "{failure}");
    let errors = json!({"session/new": {"code": -32603, "message": "no disk"}});
    let failure = open_failure(AcpAgent::new(options(&json!({"errors": errors})))).await;
    assert_eq!(failure, "open failed: test refused: no disk");
}

#[tokio::test]
async fn an_agent_that_wants_somebody_to_sign_in_says_how() {
    let methods = json!([{"id": "web", "name": "Browser", "description": "run `agent login`"}]);
    let behaviour = json!({
        "initialize": {"authMethods": methods},
        "errors": {"session/new": {"code": -32000, "message": "Authentication required"}},
    });
    let known = AcpAgent::new(options(&behaviour)).get_to_know().await;
    let expected = "test needs you to sign in first. Send a message in a session with it, and you \
                    are asked how. Or: Browser (`auth_method = \"web\"` in its table)";
    assert_eq!(known, Err(expected.to_owned()));
}

#[tokio::test]
async fn closing_while_it_opens_leaves_nothing_behind() {
    let agent = AcpAgent::new(options(&json!({"silentOn": "initialize"})));
    let mut conversation = Conversation::with(agent, 8);
    conversation.command(AgentCommand::Open(Box::new(asked_to_open())));
    conversation.close();
    conversation.agents.shutdown().await;
    assert!(conversation.reports.try_recv().is_err());
}

#[tokio::test]
async fn of_two_options_for_models_the_one_called_model_chooses_it() {
    let option = |id: &str, values: [&str; 2]| {
        let choices = values.map(|value| json!({"value": value, "name": value}));
        json!({"id": id, "name": id, "type": "select", "category": "model",
            "currentValue": values[0], "options": choices})
    };
    let options_offered = json!([
        option("provider", ["here", "there"]),
        option("model", ["small", "large"]),
    ]);
    let agent = AcpAgent::new(options(&json!({"new": {"configOptions": options_offered}})));
    agent.get_to_know().await.unwrap();
    let profile = agent.profile();
    let models: Vec<&str> = profile
        .info
        .models
        .iter()
        .map(|it| it.id.as_str())
        .collect();
    assert_eq!(models, ["small", "large"]);
    let settings = profile.config.unwrap().properties;
    assert_eq!(json!(settings["provider"].r#enum), json!(["here", "there"]));
    assert!(!settings.contains_key("model"));
}

#[tokio::test]
async fn what_a_turn_has_used_may_be_said_after_its_end() {
    let patience = Patience {
        usage: Duration::from_secs(3600),
        ..Patience::default()
    };
    let mut conversation = opened(patient(&json!({}), patience), asked_to_open()).await;
    let usage = json!({"sessionUpdate": "usage_update", "used": 7, "size": 100});
    let heard = conversation.play(json!([{"afterwards": usage}])).await;
    let used = r#"usage: {"_meta":{"contextUsed":7,"contextWindow":100}}"#;
    assert_eq!(heard, [used, "because: end_turn", "completed"]);
    // It need not be waited for when it comes in time.
    let heard = conversation.play(json!([{"update": usage}])).await;
    assert_eq!(heard, [used, "because: end_turn", "completed"]);
}

#[tokio::test]
async fn an_agent_that_never_says_what_a_turn_has_used_is_waited_for_once() {
    let patience = Patience {
        usage: Duration::from_millis(1),
        ..Patience::default()
    };
    let mut conversation = opened(patient(&json!({}), patience), asked_to_open()).await;
    for _ in 0..2 {
        let heard = conversation.play(json!([])).await;
        assert_eq!(heard, ["because: end_turn", "completed"]);
    }
}

#[tokio::test]
async fn an_agent_that_ends_right_after_its_answer_has_ended_the_turn() {
    let patience = Patience {
        usage: Duration::from_secs(3600),
        ..Patience::default()
    };
    let mut conversation = opened(patient(&json!({}), patience), asked_to_open()).await;
    let heard = conversation.play(json!([{"exitAfterwards": 0}])).await;
    assert_eq!(heard, ["because: end_turn", "completed"]);
}

/// A conversation with an agent that refuses to start MCP servers, to which a
/// client offers a tool.
async fn with_tools_over_http(can: Value) -> Conversation {
    let behaviour = json!({"initialize": {"agentCapabilities": {"mcpCapabilities": can}}});
    let agent = AcpAgent::new(AcpOptions {
        http_tools: Some(Arc::default()),
        ..options(&behaviour)
    });
    let mut open = asked_to_open();
    let definition = json!({"name": "look", "inputSchema": {"type": "object"}});
    open.client_tools = Arc::from([ClientTool {
        owner: ToolOwner::Client("a".into()),
        definition: serde_json::from_value(definition).unwrap(),
    }]);
    opened(agent, open).await
}

fn servers_given(heard: &[String]) -> Value {
    let said = heard.iter().find_map(|line| line.strip_prefix("text: "));
    let requests: Value = serde_json::from_str(said.unwrap()).unwrap();
    requests[1]["params"]["mcpServers"].clone()
}

#[tokio::test]
async fn an_agent_that_starts_no_mcp_servers_reaches_tools_over_http() {
    let mut conversation = with_tools_over_http(json!({"http": true})).await;
    let heard = conversation.play(json!([{"echo": "requests"}])).await;
    let given = servers_given(&heard);
    assert_eq!(given[0]["type"], "http");
    assert_eq!(given[0]["name"], "innkeeper");
    let url = given[0]["url"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert_eq!(given[0]["headers"][0]["name"], "Authorization");
    let secret = given[0]["headers"][0]["value"].as_str().unwrap();
    assert_eq!(secret.strip_prefix("Bearer ").unwrap().len(), 64);
}

#[tokio::test]
async fn an_agent_that_cannot_have_tools_is_named_once() {
    let mut conversation = with_tools_over_http(json!({})).await;
    let heard = conversation.play(json!([{"echo": "requests"}])).await;
    assert_eq!(servers_given(&heard), json!([]));
    let is_notice = |line: &&String| line.starts_with("notice: test cannot use the tools");
    assert_eq!(heard.iter().filter(is_notice).count(), 1, "{heard:?}");
    let heard = conversation.play(json!([])).await;
    assert_eq!(heard.iter().filter(is_notice).count(), 0, "{heard:?}");
}

/// What comes of a call that is told in these steps.
async fn finished(steps: Value) -> Value {
    let mut conversation = with(json!({})).await;
    conversation.prompt(&scenario(steps));
    let result = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolFinished { result, .. }) => Some(result.clone()),
        _ => None,
    })
    .await;
    json!(*result)
}

#[tokio::test]
async fn the_output_of_a_command_that_failed_is_its_output() {
    let data = "Exit code 3\nsome output\nls: cannot access '/nope'";
    let claude = finished(json!([
        call(
            json!({"toolCallId": "c", "title": "ls /nope; exit 3", "kind": "execute",
                    "rawInput": {"command": "ls /nope; exit 3"},
                    "content": [{"type": "terminal", "terminalId": "c"}]})
        ),
        call_update(json!({"toolCallId": "c",
                           "_meta": {"terminal_output": {"terminal_id": "c", "data": data}}})),
        call_update(json!({"toolCallId": "c", "status": "failed",
                           "_meta": {"terminal_exit": {"terminal_id": "c", "exit_code": 3}}})),
    ]))
    .await;
    assert_eq!(
        claude["content"][0]["text"],
        "some output\nls: cannot access '/nope'"
    );
    assert_eq!(claude["error"], json!({"message": "Exit code 3"}));
    assert_eq!(claude["structuredContent"], json!({"exitCode": 3}));
    let copilot = finished(json!([
        call(json!({"toolCallId": "c", "title": "run", "kind": "execute",
                    "rawInput": {"command": "exit 3"}})),
        call_update(json!({"toolCallId": "c", "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "out"}}],
            "rawOutput": {"content": "out", "contents": [{"type": "shell_exit", "exitCode": 3}]}})),
    ]))
    .await;
    assert_eq!(copilot["structuredContent"]["exitCode"], 3);
}

#[tokio::test]
async fn a_file_that_was_read_is_shown_as_it_is() {
    let read = |fields: Value| {
        let mut end = json!({"toolCallId": "r", "status": "completed"});
        end.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!([
            call(json!({"toolCallId": "r", "title": "Read", "kind": "read"})),
            call_update(end)
        ])
    };
    let text = "```\n1\tline one\n2\tline two\n```";
    let claude = finished(read(json!({
        "rawOutput": "1\tline one\n2\tline two\n3\t",
        "content": [{"type": "content", "content": {"type": "text", "text": text}}],
    })))
    .await;
    assert_eq!(claude["content"][0]["text"], "line one\nline two\n");
    let copilot = finished(read(json!({
        "rawOutput": {"content": "line one\n", "detailedContent": "diff --git a/b b/b"},
    })))
    .await;
    assert_eq!(copilot["content"][0]["text"], "line one\n");
}

#[tokio::test]
async fn an_error_that_was_said_is_not_said_twice() {
    let why = "API Error: Repeated 529 Overloaded errors. Try again in a moment.";
    let error = json!({"code": -32603, "message": format!("Internal error: {why}")});
    let heard = turn(json!([said(why), {"error": error}])).await;
    let failed = "failed (resumable): agentError: The agent ended the turn in an error. It says \
                  above why.";
    assert_eq!(heard, [format!("text: {why}"), failed.to_owned()]);
    let heard = turn(json!([said("Let me see."), {"error": error}])).await;
    assert!(heard[1].ends_with(why), "{heard:?}");
}

#[tokio::test]
async fn usage_that_is_counted_over_all_turns_is_told_by_turn() {
    let mut conversation = with(json!({})).await;
    let mut told = Vec::new();
    for (input, output) in [(9_000, 200), (18_500, 250)] {
        let total = input + output;
        let usage = json!({"inputTokens": input, "outputTokens": output, "totalTokens": total});
        let heard =
            conversation.play(json!([{"stop": {"stopReason": "end_turn", "usage": usage}}]));
        let usage = heard.await[0].strip_prefix("usage: ").unwrap().to_owned();
        let usage: Value = serde_json::from_str(&usage).unwrap();
        told.push((usage["inputTokens"].clone(), usage["outputTokens"].clone()));
    }
    assert_eq!(
        told,
        [(json!(9_000), json!(200)), (json!(9_500), json!(50))]
    );
}

#[tokio::test]
async fn what_an_agent_asks_after_a_cancel_is_answered_as_cancelled_and_shown_to_nobody() {
    let mut conversation = with(json!({})).await;
    let form = json!({
        "mode": "form", "message": "Which?",
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
    });
    let turn = conversation.prompt(&scenario(json!([
        said("working"),
        {"awaitCancel": true},
        permission(json!({"toolCallId": "c", "title": "Run"})),
        {"request": {"method": "elicitation/create", "say": true, "params": form}},
    ])));
    until_line(&mut conversation, "text: working").await;
    conversation.cancel(&turn);
    let heard = conversation.rest().await;
    let answers = [
        r#"text: {"outcome":{"outcome":"cancelled"}}"#,
        r#"text: {"action":"cancel"}"#,
    ];
    assert_eq!(heard, [answers[0], answers[1], "cancelled"]);
}
