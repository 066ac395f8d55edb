//! Agents that work for a call of the agent, where it tells what they do.

use super::*;

/// Says that something is said by whoever works for a call.
fn working_for(parent: &str, mut step: Value) -> Value {
    step["update"]["_meta"] = json!({"claudeCode": {"parentToolUseId": parent}});
    step
}

fn task(name: &str) -> Value {
    call(json!({
        "toolCallId": name, "title": "Look around", "kind": "think", "status": "in_progress",
        "rawInput": {"subagent_type": "explore", "description": "Look", "prompt": "Find it"},
    }))
}

fn search(name: &str) -> Value {
    call(json!({"toolCallId": name, "title": "grep", "kind": "search", "status": "completed"}))
}

fn ended(name: &str) -> Value {
    call_update(json!({"toolCallId": name, "status": "completed"}))
}

/// What is heard until the turn is over, each with the turn that it belongs to.
pub(crate) async fn heard(conversation: &mut Conversation, turn: &TurnId) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let event = conversation.next().await;
        let AgentEvent::Turn {
            turn: of,
            event: inner,
        } = &event
        else {
            continue;
        };
        let below = of.strip_prefix(&**turn).unwrap_or("?");
        if let TurnEvent::Delegated(it) = inner {
            let who = it.agent_name.as_deref().unwrap_or("somebody");
            let how = if it.in_background { ", apart" } else { "" };
            lines.push(format!(
                "{below}> {} for {}{how}: {}",
                who, it.call, it.message
            ));
        } else {
            lines.push(format!("{below}> {}", line(&event)));
        }
        if below.is_empty() && matches!(inner, TurnEvent::Completed | TurnEvent::Cancelled) {
            return lines;
        }
    }
}

async fn play(steps: Value) -> Vec<String> {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(steps));
    heard(&mut conversation, &turn).await
}

#[tokio::test]
async fn agents_say_in_different_ways_for_which_call_one_works() {
    let marks = [
        json!({"claudeCode": {"parentToolUseId": "a"}}),
        json!({"parentToolCallId": "a", "subagentType": "explore"}),
    ];
    for mark in marks {
        let mut step = said("I look.");
        step["update"]["_meta"] = mark.clone();
        let told = play(json!([task("a"), step, ended("a")])).await;
        let expected = [
            "> explore for a: Find it",
            "/a> text: I look.",
            "/a> completed",
        ];
        assert_eq!(told[2..5], expected, "{mark}");
    }
}

#[tokio::test]
async fn what_one_does_is_told_in_a_turn_of_its_own_that_ends_with_the_call() {
    let told = play(json!([
        task("a"),
        working_for("a", said("I look.")),
        working_for("a", search("s")),
        ended("a"),
        said("Found."),
    ]))
    .await;
    let expected = [
        "> tool a: think",
        "> ready: Look around",
        "> explore for a: Find it",
        "/a> text: I look.",
        "/a> tool s: search",
        "/a> ready: grep",
        "/a> finished: grep",
        "/a> completed",
        "> finished: Look around",
        "> text: Found.",
        "> because: end_turn",
        "> completed",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn one_that_lets_another_work_has_it_below() {
    let told = play(json!([
        task("a"),
        working_for("a", task("b")),
        working_for("b", search("s")),
        working_for("a", ended("b")),
        ended("a"),
    ]))
    .await;
    let below: Vec<&str> = told
        .iter()
        .filter_map(|line| line.strip_prefix("/a/b> "))
        .collect();
    assert_eq!(
        below,
        [
            "tool s: search",
            "ready: grep",
            "finished: grep",
            "completed"
        ]
    );
    let place = |wanted: &str| told.iter().position(|line| line == wanted).unwrap();
    assert!(place("/a/b> completed") < place("/a> finished: Look around"));
    assert!(place("/a> completed") < place("> finished: Look around"));
}

/// As Claude Code does it: the call has ended when the sub-agent has begun, and
/// the prompt is answered when that is done.
#[tokio::test]
async fn one_that_is_left_to_work_by_itself_is_in_the_background_until_the_turn_ends() {
    let launched = call_update(json!({"toolCallId": "a", "_meta": {"claudeCode": {
        "toolName": "Agent", "toolResponse": {"isAsync": true, "status": "async_launched"},
    }}}));
    let told = play(json!([
        task("a"),
        launched,
        ended("a"),
        said("It works on."),
        working_for("a", search("s")),
    ]))
    .await;
    let expected = [
        "> tool a: think",
        "> ready: Look around",
        "> finished: Look around",
        "> text: It works on.",
        "> explore for a, apart: Find it",
        "/a> tool s: search",
        "/a> ready: grep",
        "/a> finished: grep",
        "/a> completed",
        "> because: end_turn",
        "> completed",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn one_in_the_background_ends_with_a_turn_that_is_cancelled() {
    let mut conversation = with(json!({})).await;
    let steps = json!([
        task("a"), ended("a"), working_for("a", said("I look.")), {"awaitCancel": true},
        {"stop": {"stopReason": "cancelled"}},
    ]);
    let turn = conversation.prompt(&scenario(steps));
    until_line(&mut conversation, "text: I look.").await;
    conversation.cancel(&turn);
    let told = heard(&mut conversation, &turn).await;
    assert_eq!(told, ["/a> cancelled", "> cancelled"]);
}

#[tokio::test]
async fn one_that_goes_on_after_its_call_ended_begins_once_more() {
    let told = play(json!([
        task("a"),
        working_for("a", search("s")),
        ended("a"),
        working_for("a", search("t")),
        // News of a call that is over is not news.
        working_for("a", ended("s")),
    ]))
    .await;
    let place = |wanted: &str| told.iter().position(|line| line == wanted).unwrap();
    assert!(place("/a> completed") < place("> explore for a, apart: Find it"));
    assert!(place("/a~2> tool t: search") < place("/a~2> completed"));
    assert!(
        !told.iter().any(|line| line.starts_with("> tool s")),
        "{told:?}"
    );
}

/// Says that something is done by a sub-agent of GitHub Copilot.
fn by_agent(agent: &str, mut step: Value) -> Value {
    step["update"]["_meta"] = json!({"github.com/copilot": {"agentId": agent}});
    step
}

fn copilot_task(name: &str) -> Value {
    call(json!({
        "toolCallId": name, "title": "look around", "kind": "other", "status": "pending",
        "rawInput": {"agent_type": "explore", "name": "looker", "description": "look around",
                     "prompt": "Find it", "mode": "sync"},
    }))
}

#[tokio::test]
async fn one_that_names_itself_works_for_the_only_task_that_is_open() {
    let told = play(json!([
        copilot_task("a"),
        by_agent("cca2", search("s")),
        ended("a"),
        said("Found."),
    ]))
    .await;
    let expected = [
        "> tool a: tool",
        "> ready: look around",
        "> explore for a: Find it",
        "/a> tool s: search",
        "/a> ready: grep",
        "/a> finished: grep",
        "/a> completed",
        "> finished: look around",
        "> break",
        "> text: Found.",
        "> because: end_turn",
        "> completed",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn one_that_names_itself_works_for_the_task_that_came_to_its_name() {
    let begun = |name: &str, agent: &str| {
        let said = format!("Agent started in background with agent_id: {agent}. You'll …");
        call_update(json!({"toolCallId": name, "status": "completed",
                           "rawOutput": {"content": said}}))
    };
    let told = play(json!([
        copilot_task("a"),
        copilot_task("b"),
        begun("a", "7a23"),
        begun("b", "cca2"),
        by_agent("cca2", search("s")),
        by_agent("7a23", search("t")),
    ]))
    .await;
    assert!(told.contains(&"/b> tool s: search".to_owned()), "{told:?}");
    assert!(told.contains(&"/a> tool t: search".to_owned()), "{told:?}");
    assert!(told.contains(&"> explore for a, apart: Find it".to_owned()));
}

#[tokio::test]
async fn one_that_names_itself_is_shown_flat_if_nobody_knows_for_which_task_it_works() {
    let told = play(json!([
        copilot_task("a"),
        copilot_task("b"),
        by_agent("cca2", search("s")),
    ]))
    .await;
    assert!(told.contains(&"> tool s: search".to_owned()), "{told:?}");
}

#[tokio::test]
async fn what_is_said_for_a_call_that_nobody_knows_is_the_agents_own() {
    let told = play(json!([working_for("nobody", said("hm"))])).await;
    assert_eq!(told[0], "> text: hm");
}

#[tokio::test]
async fn what_one_asks_is_answered_where_it_was_asked() {
    let mut conversation = with(json!({})).await;
    let asks = permission(json!({"toolCallId": "s"}));
    let begun = call(json!({"toolCallId": "s", "title": "rm", "kind": "execute",
                            "rawInput": {"command": "rm x"}}));
    let steps = json!([task("a"), working_for("a", begun), asks]);
    let turn = conversation.prompt(&scenario(steps));
    let below = until(&mut conversation, |event| match event {
        AgentEvent::Turn {
            turn: of,
            event: TurnEvent::ToolReady(ready),
        } if *ready.call == *"s" => Some(of.clone()),
        _ => None,
    })
    .await;
    assert_eq!(*below, *format!("{turn}/a"));
    conversation.decide(&below, approve("s", None));
    let told = heard(&mut conversation, &turn).await;
    let answered = told.iter().any(|line| line.contains("yes"));
    assert!(answered, "{told:?}");
}

#[tokio::test]
async fn stopping_one_stops_the_turn_that_it_works_for() {
    let mut conversation = with(json!({})).await;
    let steps = json!([task("a"), working_for("a", said("I look.")), {"wait": "cancel"}]);
    let turn = conversation.prompt(&scenario(steps));
    until(&mut conversation, |event| match of_turn(event) {
        Some(TurnEvent::Text(_)) => Some(()),
        _ => None,
    })
    .await;
    conversation.cancel(&format!("{turn}/a").into());
    let told = heard(&mut conversation, &turn).await;
    assert_eq!(told.last().unwrap(), "> cancelled");
}

#[tokio::test]
async fn however_deep_and_long_named_they_are_their_turns_have_short_names() {
    let name = |at: usize| format!("{}{at}", "long".repeat(60));
    let mut steps = vec![task(&name(0))];
    for at in 1..12 {
        steps.push(working_for(&name(at - 1), task(&name(at))));
    }
    steps.push(working_for(&name(11), said("At the bottom.")));
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(json!(steps)));
    let (mut turns, mut begun) = (std::collections::HashSet::new(), 0);
    loop {
        let event = conversation.next().await;
        let AgentEvent::Turn { turn: of, event } = &event else {
            continue;
        };
        assert!(of.len() <= 256, "{of}");
        begun += usize::from(matches!(event, TurnEvent::Delegated(_)));
        turns.insert(of.clone());
        if *of == turn && matches!(event, TurnEvent::Completed) {
            break;
        }
    }
    // What is deeper is told by the last one.
    assert_eq!((begun, turns.len()), (8, 9));
}
