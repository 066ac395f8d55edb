//! What an agent says, row by row of the mapping.

use innkeeper_protocol::TurnId;
use innkeeper_protocol::newest::common::StringOrMarkdown;

use super::*;

#[tokio::test]
async fn text_is_streamed_and_a_new_message_begins_a_new_part() {
    let chunk = |id: &str, text: &str| {
        json!({"update": {"sessionUpdate": "agent_message_chunk", "messageId": id,
                          "content": {"type": "text", "text": text}}})
    };
    let steps = json!([chunk("a", "one "), chunk("a", "two"), chunk("b", "three")]);
    check(steps, &["text: one ", "text: two", "break", "text: three"]).await;
}

#[tokio::test]
async fn thoughts_are_reasoning() {
    let thought = json!({"update": {
        "sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"},
    }});
    check(
        json!([thought, said("yes")]),
        &["reasoning: hm", "text: yes"],
    )
    .await;
}

#[tokio::test]
async fn an_image_is_content_of_its_own() {
    let image = json!({"update": {"sessionUpdate": "agent_message_chunk", "content": {
        "type": "image", "mimeType": "image/png", "data": "AAAA"}}});
    check(json!([image]), &["content: 3 bytes of image/png"]).await;
}

#[tokio::test]
async fn the_reason_of_an_end_is_kept_and_explained() {
    let cases = [
        (
            "max_tokens",
            "notice: The agent stopped because its answer reached the token limit.",
        ),
        ("refusal", "notice: The agent refused to continue."),
    ];
    for (reason, notice) in cases {
        let heard = turn(json!([{"stop": {"stopReason": reason}}])).await;
        let because = format!("because: {reason}");
        assert_eq!(heard, [notice, &because, "completed"]);
    }
    let heard = turn(json!([{"stop": {"stopReason": "tea_time"}}])).await;
    assert_eq!(heard, ["because: tea_time", "completed"]);
    let heard = turn(json!([{"stop": {"stopReason": "cancelled"}}])).await;
    assert_eq!(heard, ["cancelled"]);
}

#[tokio::test]
async fn an_error_ends_the_turn_so_that_it_can_be_resumed() {
    let error =
        json!({"code": -32603, "message": "Internal error", "data": {"details": "no model"}});
    let heard = turn(json!([said("so "), {"error": error}])).await;
    assert_eq!(
        heard,
        [
            "text: so ",
            "failed (resumable): agentError: Internal error: no model"
        ]
    );
}

#[tokio::test]
async fn a_process_that_ends_is_told_with_its_last_words() {
    let heard = turn(json!([said("so"), {"stderr": "out of memory"}, {"exit": 9}])).await;
    assert_eq!(
        heard,
        [
            "text: so",
            "exited: it ended with status 9; it last said: out of memory"
        ]
    );
}

#[tokio::test]
async fn a_tool_call_lives_from_its_start_to_its_end() {
    let output = json!([{"type": "content", "content": {"type": "text", "text": "a b"}}]);
    let steps = json!([
        call(json!({"toolCallId": "c", "title": "List files", "kind": "search"})),
        call_update(json!({"toolCallId": "c", "rawInput": {"path": "."}})),
        call_update(json!({"toolCallId": "c", "status": "in_progress"})),
        call_update(json!({"toolCallId": "c", "content": output})),
        call_update(json!({"toolCallId": "c", "status": "completed"})),
    ]);
    check(
        steps,
        &[
            "tool c: search",
            "ready: List files",
            "1 blocks",
            "finished: List files",
        ],
    )
    .await;
}

#[tokio::test]
async fn input_that_grows_is_shown_as_it_does() {
    let steps = json!([
        call(json!({"toolCallId": "c", "title": "Run", "name": "bash", "rawInput": "ls"})),
        call_update(json!({"toolCallId": "c", "rawInput": "ls -l"})),
        call_update(json!({"toolCallId": "c", "status": "in_progress"})),
        call_update(json!({"toolCallId": "c", "status": "failed", "rawOutput": "no"})),
    ]);
    check(
        steps,
        &[
            "tool c: bash",
            "input: ls",
            "input:  -l",
            "ready: Run",
            "finished: Run",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_failed_call_says_why() {
    let mut conversation = with(json!({})).await;
    conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "Run", "status": "in_progress"})),
        call_update(json!({"toolCallId": "c", "status": "failed", "rawOutput": {"why": "full"}})),
    ])));
    let result = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolFinished { result, .. }) => Some(result.clone()),
        _ => None,
    })
    .await;
    assert!(!result.success);
    assert_eq!(json!(result.structured_content), json!({"why": "full"}));
    assert_eq!(result.error, Some(json!({"message": r#"{"why":"full"}"#})));
}

#[tokio::test]
async fn a_diff_is_an_edit_with_both_texts() {
    let diff = json!([{"type": "diff", "path": "/w/a.txt", "oldText": "old", "newText": "new"}]);
    let mut conversation = with(json!({})).await;
    conversation.prompt(&scenario(json!([
        call(json!({"toolCallId": "c", "title": "Edit", "kind": "edit", "content": diff})),
        call_update(json!({"toolCallId": "c", "status": "completed"})),
    ])));
    let content = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolFinished { result, .. }) => result.content.clone(),
        _ => None,
    })
    .await;
    let [ToolResultContent::FileEdit(edit)] = &content[..] else {
        panic!("{content:?}");
    };
    let (before, after) = (edit.before.as_ref().unwrap(), edit.after.as_ref().unwrap());
    assert_eq!(
        (before.uri.as_str(), after.uri.as_str()),
        ("file:///w/a.txt", "file:///w/a.txt")
    );
    assert!(
        before.content.uri.ends_with(";base64,b2xk"),
        "{}",
        before.content.uri
    );
    assert!(
        after.content.uri.ends_with(";base64,bmV3"),
        "{}",
        after.content.uri
    );
}

#[tokio::test]
async fn a_plan_is_one_part_that_is_updated_in_place() {
    let plan = |status: &str| {
        json!({"update": {"sessionUpdate": "plan", "entries": [
            {"content": "look", "priority": "high", "status": status},
            {"content": "leap", "priority": "low", "status": "pending"}]}})
    };
    check(
        json!([plan("in_progress"), said("."), plan("completed")]),
        &[
            "tool innkeeper-plan: plan",
            "ready: Plan",
            "1 blocks",
            "text: .",
            "1 blocks",
            "finished: Plan",
        ],
    )
    .await;
}

fn usage(line: &str) -> Value {
    serde_json::from_str(line.strip_prefix("usage: ").unwrap()).unwrap()
}

#[tokio::test]
async fn usage_that_is_told_of_each_request_is_added_up() {
    let request = json!({"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": ""},
        "_meta": {"usage": {"totalTokens": 9, "inputTokens": 4, "outputTokens": 5}}});
    let steps = json!([{"update": request}, {"update": request}]);
    let heard = turn(steps).await;
    let told = heard.iter().filter(|line| line.starts_with("usage"));
    let told: Vec<Value> = told.map(|line| usage(line)).collect();
    let tokens = |spent: &Value| {
        (
            spent["inputTokens"].as_u64(),
            spent["outputTokens"].as_u64(),
        )
    };
    let tokens: Vec<_> = told.iter().map(tokens).collect();
    assert_eq!(tokens, [(Some(4), Some(5)), (Some(8), Some(10))]);
}

#[tokio::test]
async fn usage_in_the_words_of_an_agent_is_understood() {
    let quota = json!({"token_count": {"input_tokens": 4, "output_tokens": 5}});
    let stop = json!({"stopReason": "end_turn", "_meta": {"quota": quota}});
    let heard = turn(json!([{"stop": stop}])).await;
    let spent = usage(&heard[0]);
    assert_eq!(
        (&spent["inputTokens"], &spent["outputTokens"]),
        (&json!(4), &json!(5))
    );
}

#[tokio::test]
async fn usage_comes_with_the_answer_and_in_between() {
    let steps = json!([
        {"update": {"sessionUpdate": "usage_update", "used": 5, "size": 100,
                    "cost": {"amount": 0.5, "currency": "EUR"}}},
        {"stop": {"stopReason": "end_turn", "usage": {
            "totalTokens": 9, "inputTokens": 4, "outputTokens": 5, "cachedReadTokens": 1}}},
    ]);
    let heard = turn(steps).await;
    let cost = json!({"amount": 0.5, "currency": "EUR"});
    let meta = json!({"contextUsed": 5, "contextWindow": 100,
                      "cost": cost, "sessionCost": cost});
    assert_eq!(usage(&heard[0])["_meta"], meta);
    let spent = usage(&heard[1]);
    assert_eq!(
        (&spent["inputTokens"], &spent["outputTokens"]),
        (&json!(4), &json!(5))
    );
    assert_eq!(spent["_meta"]["totalTokens"], 9);
    assert_eq!(spent["_meta"]["contextWindow"], 100);
}

#[tokio::test]
async fn what_a_turn_cost_is_what_it_added_to_the_cost_of_the_conversation() {
    let costs = |amount: f64| {
        json!([{"update": {"sessionUpdate": "usage_update", "used": 5, "size": 100,
                           "cost": {"amount": amount, "currency": "USD"}}}])
    };
    let mut conversation = with(json!({})).await;
    for (so_far, of_turn) in [(0.5, json!(0.5)), (0.75, json!(0.25)), (0.1, Value::Null)] {
        let heard = conversation.play(costs(so_far)).await;
        let meta = usage(&heard[0])["_meta"].clone();
        assert_eq!(meta["sessionCost"]["amount"], so_far);
        assert_eq!(meta["cost"]["amount"], of_turn, "after {so_far}");
    }
}

#[tokio::test]
async fn usage_names_the_model_and_sums_up_by_model() {
    let models = json!({"currentModelId": "small", "availableModels": [
        {"modelId": "small", "name": "Small", "description": "$1 for a million tokens"}]});
    let mut conversation = with(json!({"new": {"models": models}})).await;
    let stop = json!({"stopReason": "end_turn", "usage": {
        "totalTokens": 9, "inputTokens": 4, "outputTokens": 5, "cachedReadTokens": 1}});
    let heard = conversation.play(json!([{"stop": stop}])).await;
    assert_eq!(heard[0], r#"model: Some("small")"#);
    let spent = usage(&heard[1]);
    assert_eq!(spent["model"], "small");
    let totals = json!([{"model": "small", "inputTokens": 4, "cachedTokens": 1,
                         "outputTokens": 5}]);
    assert_eq!(spent["_meta"]["turnTokenTotals"], totals);
}

#[tokio::test]
async fn notices_and_compaction_are_notifications() {
    let steps = json!([
        {"update": {"sessionUpdate": "notice", "severity": "warning", "title": "Slow",
                    "description": "today"}},
        {"update": {"sessionUpdate": "compaction_update", "compactionId": "c",
                    "status": "in_progress"}},
        {"update": {"sessionUpdate": "compaction_update", "compactionId": "c",
                    "status": "completed"}},
    ]);
    check(
        steps,
        &[
            "notice: Slow: today",
            "activity: Summarising the conversation",
            "notice: The agent summarised the conversation to make room.",
        ],
    )
    .await;
}

#[tokio::test]
async fn commands_and_titles_are_passed_on() {
    let steps = json!([
        {"update": {"sessionUpdate": "available_commands_update", "availableCommands": [
            {"name": "/compact", "description": "Makes room"}, {"description": "no name"}]}},
        {"update": {"sessionUpdate": "session_info_update", "title": "A walk"}},
    ]);
    check(steps, &["commands: 1", "title: A walk"]).await;
}

#[tokio::test]
async fn modes_options_and_models_are_learned_and_set() {
    let agent = AcpAgent::new(options(&settings()));
    let changes = agent.changes().unwrap();
    assert!(!agent.is_known() && agent.profile().info.models.is_empty());
    agent.get_to_know().await.unwrap();
    assert!(changes.has_changed().unwrap() && agent.is_known());
    let profile = agent.profile();
    assert_eq!(profile.info.models.len(), 2);
    assert_eq!(
        profile.info.description.split(" (").next(),
        Some("test-agent 1")
    );
    let mut names: Vec<String> = profile.config.unwrap().properties.into_keys().collect();
    names.sort();
    assert_eq!(names, ["autoApprove", "mode", "web"]);

    let mut open = asked_to_open();
    open.config = json!({"mode": "plan", "web": true})
        .as_object()
        .unwrap()
        .clone();
    let mut conversation = opened(agent, open).await;
    let model = json!({"id": "large"});
    let text = scenario(json!([{"echo": "requests"}]));
    conversation.prompt_with(json!({"text": text, "model": model, "origin": {"kind": "user"}}));
    let heard = conversation.rest().await;
    let mut texts = heard.iter().filter_map(|line| line.strip_prefix("text: "));
    let requests: Value = serde_json::from_str(texts.next().unwrap()).unwrap();
    let asked = |method: &str| {
        let all = requests.as_array().unwrap().iter();
        let mut found = all.filter(|request| request["method"] == method);
        found.next().map(|request| request["params"].clone())
    };
    assert_eq!(asked("session/set_mode").unwrap()["modeId"], "plan");
    assert_eq!(asked("session/set_config_option").unwrap()["value"], true);
    assert_eq!(asked("session/set_model").unwrap()["modelId"], "large");
}

#[tokio::test]
async fn a_mode_that_the_agent_changes_is_shown() {
    let mut conversation = with(settings()).await;
    let mode = json!({"update": {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}});
    let heard = conversation.play(json!([mode])).await;
    let told = [
        r#"model: Some("small")"#,
        r#"configured: {"web":false,"mode":"plan"}"#,
    ];
    assert_eq!(heard[..2], told);
}

/// An agent that has its modes in both forms, and says that the mode has
/// changed before it answers the request to change it.
fn with_modes_twice() -> Value {
    let modes = |current: &str| {
        json!([{"id": "mode", "name": "Mode", "type": "select", "category": "mode",
        "currentValue": current, "options": [
            {"value": "default", "name": "Manual"},
            {"value": "acceptEdits", "name": "Accept edits"},
        ]}])
    };
    let mode_update =
        json!({"sessionUpdate": "current_mode_update", "currentModeId": "acceptEdits"});
    json!({
        "new": {
            "modes": {"currentModeId": "default", "availableModes": [
                {"id": "default", "name": "Manual"},
                {"id": "acceptEdits", "name": "Accept edits"}]},
            "configOptions": modes("default"),
        },
        "updates": {"session/set_config_option": [mode_update]},
        "answers": {"session/set_config_option": {"configOptions": modes("acceptEdits")}},
    })
}

#[tokio::test]
async fn the_mode_that_is_shown_is_the_mode_in_force() {
    let mut conversation = with(with_modes_twice()).await;
    let values = json!({"mode": "acceptEdits"});
    conversation.command(AgentCommand::Configure {
        backend: BACKEND,
        values: values.as_object().unwrap().clone(),
    });
    let heard = conversation.play(json!([said("done")])).await;
    let shown = heard.iter().filter(|line| line.starts_with("configured: "));
    let shown: Vec<&String> = shown.collect();
    assert_eq!(shown, [r#"configured: {"mode":"acceptEdits"}"#]);
}

#[tokio::test]
async fn a_setting_that_the_agent_refuses_is_shown_as_it_is() {
    let mut behaviour = with_modes_twice();
    behaviour["updates"] = json!({});
    behaviour["errors"] =
        json!({"session/set_config_option": {"code": -32000, "message": "not here"}});
    let mut conversation = with(behaviour).await;
    let values = json!({"mode": "acceptEdits"});
    conversation.command(AgentCommand::Configure {
        backend: BACKEND,
        values: values.as_object().unwrap().clone(),
    });
    let heard = conversation.play(json!([said("done")])).await;
    assert_eq!(heard[0], r#"configured: {"mode":"interactive"}"#);
}

#[tokio::test]
async fn one_version_of_a_steering_message_is_given_at_a_time() {
    let steer = |conversation: &Conversation, turn: &TurnId, id: &str, text: &str| {
        let message = json!({"id": id, "message": {"text": text, "origin": {"kind": "user"}}});
        conversation.command(AgentCommand::Steer {
            backend: BACKEND,
            turn: turn.clone(),
            message: Some(Box::new(serde_json::from_value(message).unwrap())),
        });
    };
    let initialize = json!({"_meta": {"steering": {"supported": true}}});
    let mut conversation = with(json!({"initialize": initialize})).await;
    let steps = json!([{"awaitSteering": true}, {"awaitSteering": true}]);
    let turn = conversation.prompt(&scenario(steps));
    steer(&conversation, &turn, "1", "left");
    steer(&conversation, &turn, "2", "left, then right");
    assert_eq!(until_line(&mut conversation, "steered").await, "steered: 1");
    steer(&conversation, &turn, "3", "then right");
    let mut heard = conversation.rest().await;
    heard.sort();
    assert!(heard.contains(&"steered: 3".to_owned()), "{heard:?}");
    assert!(!heard.contains(&"steered: 2".to_owned()), "{heard:?}");
}

fn settings() -> Value {
    json!({"new": {
        "modes": {"currentModeId": "code", "availableModes": [
            {"id": "code", "name": "Code"}, {"id": "plan", "name": "Plan"}]},
        "models": {"currentModelId": "small", "availableModels": [
            {"modelId": "small", "name": "Small"}, {"modelId": "large", "name": "Large"}]},
        "configOptions": [{"id": "web", "name": "Web", "type": "boolean", "currentValue": false}],
    }})
}

#[tokio::test]
async fn attachments_go_along_as_the_agent_can_take_them() {
    let attachments = json!([
        {"type": "embeddedResource", "label": "p.png", "contentType": "image/png", "data": "AAAA"},
        {"type": "embeddedResource", "label": "n.txt", "contentType": "text/plain", "data": "aGk="},
        {"type": "resource", "label": "f", "uri": "file:///w/f"},
        {"type": "simple", "label": "s", "modelRepresentation": "a symbol"},
    ]);
    let prompt = async |can: Value| {
        let initialize = json!({"agentCapabilities": {"promptCapabilities": can}});
        let mut conversation = with(json!({"initialize": initialize})).await;
        let message = json!({"text": "look", "origin": {"kind": "user"},
                             "attachments": attachments});
        // The last block must be the scenario.
        let mut message = message;
        let steps = scenario(json!([{"echo": "prompt"}]));
        let last = json!({"type": "simple", "label": "steps", "modelRepresentation": steps});
        message["attachments"].as_array_mut().unwrap().push(last);
        conversation.prompt_with(message);
        let heard = conversation.rest().await;
        let blocks = heard[0].strip_prefix("text: ").unwrap();
        let blocks: Value = serde_json::from_str(blocks).unwrap();
        let kinds = blocks
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["type"].as_str().unwrap().to_owned());
        kinds.collect::<Vec<_>>()
    };
    let all = prompt(json!({"image": true, "embeddedContext": true})).await;
    assert_eq!(
        all,
        ["text", "image", "resource", "resource_link", "text", "text"]
    );
    let few = prompt(json!({})).await;
    assert_eq!(
        few,
        ["text", "text", "text", "resource_link", "text", "text"]
    );
}

#[tokio::test]
async fn a_steering_message_reaches_an_agent_that_takes_it() {
    let message = |id: &str, text: &str| {
        let message = json!({"id": id, "message": {"text": text, "origin": {"kind": "user"}}});
        Some(Box::new(serde_json::from_value(message).unwrap()))
    };
    let initialize = json!({"_meta": {"steering": {"supported": true}}});
    let mut conversation = with(json!({"initialize": initialize})).await;
    let turn = conversation.prompt(&scenario(json!([{"awaitSteering": true}])));
    conversation.command(AgentCommand::Steer {
        backend: BACKEND,
        turn,
        message: message("m", "more salt"),
    });
    let mut heard = conversation.rest().await;
    heard.sort();
    assert_eq!(
        heard,
        [
            "because: end_turn",
            "completed",
            "steered: m",
            "text: more salt"
        ]
    );

    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!([said("deaf")])));
    conversation.command(AgentCommand::Steer {
        backend: BACKEND,
        turn,
        message: message("m", "more salt"),
    });
    let heard = conversation.rest().await;
    assert_eq!(heard, ["text: deaf", "because: end_turn", "completed"]);
}

#[tokio::test]
async fn several_sentences_of_a_tool_are_kept_in_order() {
    let text = |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
    let mut conversation = with(json!({})).await;
    conversation.prompt(&scenario(json!([call(
        json!({"toolCallId": "c", "title": "T", "status": "in_progress",
                    "content": [text("a"), {"type": "hologram"}, text("b")]})
    ),])));
    let content = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolContent { content, .. }) => Some(shown(content)),
        _ => None,
    })
    .await;
    assert_eq!(content, "a|b");
    let message = StringOrMarkdown::from("T");
    let finished = until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::ToolFinished { result, .. }) => Some(result.past_tense_message.clone()),
        _ => None,
    })
    .await;
    assert_eq!(finished, message);
}
