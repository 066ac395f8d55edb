//! Sub-agents that have sessions of their own, as Claude Code tells of them to a
//! client that announces `subagents`.

use super::sub_agents::heard;
use super::*;

/// Something that is said in the session of a sub-agent.
fn within(session: &str, step: Value) -> Value {
    json!({"notify": notice_of(session, &step)})
}

fn notice_of(session: &str, step: &Value) -> Value {
    json!({"method": "session/update",
           "params": {"sessionId": session, "update": step["update"]}})
}

/// Likewise, after the prompt was answered.
fn later(session: &str, step: Value) -> Value {
    json!({"afterwards": notice_of(session, &step)})
}

fn announced(session: &str) -> Value {
    updated(
        "subagent_update",
        json!({"sessionId": session, "title": "look around", "description": "explorer",
               "capabilities": {"cancel": {}}, "state": {"state": "running"}}),
    )
}

fn told_to(session: &str) -> Value {
    updated(
        "session_message",
        json!({"messageId": "toolu_1", "senderSessionId": "session-1",
               "recipientSessionId": session, "recipientMessageId": "toolu_1",
               "content": [{"type": "text", "text": "Find it"}]}),
    )
}

fn is_idle(session: &str, reason: &str) -> Value {
    updated(
        "subagent_update",
        json!({"sessionId": session, "state": {"state": "idle", "stopReason": reason}}),
    )
}

fn in_message(message: &str, text: &str) -> Value {
    let mut step = said(text);
    step["update"]["messageId"] = json!(message);
    step
}

fn search(name: &str) -> Value {
    call(json!({"toolCallId": name, "title": "grep", "kind": "search", "status": "completed"}))
}

async fn play(steps: Value) -> Vec<String> {
    let mut conversation = with(json!({})).await;
    let turn = conversation.prompt(&scenario(steps));
    heard(&mut conversation, &turn).await
}

/// An answer after which nothing more is to be counted.
fn counted() -> Value {
    let usage = json!({"inputTokens": 2, "outputTokens": 1, "totalTokens": 3});
    json!({"stop": {"stopReason": "end_turn", "usage": usage}})
}

/// What is heard of the turn of the sub-agent `c`, once the other is over.
async fn heard_of_child(conversation: &mut Conversation, last: &str) -> Vec<String> {
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != last) {
        let event = conversation.next().await;
        if of_turn(&event).is_some() {
            lines.push(line(&event));
        }
    }
    lines
}

#[tokio::test]
async fn one_has_a_turn_of_its_own_that_a_call_points_to() {
    let told = play(json!([
        in_message("m1", "I let it look."),
        announced("c"),
        told_to("c"),
        within("c", in_message("n1", "I look.")),
        within("c", search("s")),
        is_idle("c", "end_turn"),
        in_message("m2", "Found."),
    ]))
    .await;
    let expected = [
        "> text: I let it look.",
        "> tool c: subagent",
        "> ready: look around",
        "> somebody for c: Find it",
        "/c> text: I look.",
        "/c> tool s: search",
        "/c> ready: grep",
        "/c> finished: grep",
        "/c> completed",
        "> finished: look around",
        "> break",
        "> text: Found.",
        "> because: end_turn",
        "> completed",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn one_that_is_not_waited_for_is_in_the_background_and_goes_on_after_the_turn() {
    let mut conversation = with(json!({})).await;
    let steps = json!([
        in_message("m1", "I let it look."),
        announced("c"),
        told_to("c"),
        in_message("m2", "It works on."),
        later("c", in_message("n1", "I look.")),
        later("c", search("s")),
        later("session-1", is_idle("c", "end_turn")),
        counted(),
    ]);
    let turn = conversation.prompt(&scenario(steps));
    let mut told = heard(&mut conversation, &turn).await;
    told.retain(|line| !line.starts_with("> usage"));
    let expected = [
        "> tool c: subagent",
        "> ready: look around",
        "> somebody for c: Find it",
        "/c> in the background",
        "> break",
        "> text: It works on.",
        "> finished: look around",
        "> because: end_turn",
        "> completed",
    ];
    assert_eq!(told[1..], expected);
    let told = heard_of_child(&mut conversation, "completed").await;
    let expected = [
        "text: I look.",
        "tool s: search",
        "ready: grep",
        "finished: grep",
        "completed",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn what_one_asks_after_the_turn_is_answered_where_it_was_asked() {
    let mut conversation = with(json!({})).await;
    let begun = call(json!({"toolCallId": "s", "title": "rm", "kind": "execute",
                            "rawInput": {"command": "rm x"}}));
    let asks = json!({"afterwards": {"id": "child-1", "method": "session/request_permission",
        "params": {"sessionId": "c", "toolCall": {"toolCallId": "s"},
                   "options": [{"optionId": "yes", "name": "Once", "kind": "allow_once"}]}}});
    let steps = json!([
        announced("c"),
        told_to("c"),
        within("c", begun),
        asks,
        counted()
    ]);
    let turn = conversation.prompt(&scenario(steps));
    heard(&mut conversation, &turn).await;
    let below = until(&mut conversation, |event| match event {
        AgentEvent::Turn {
            turn: of,
            event: TurnEvent::ToolReady(ready),
        } if *ready.call == *"s" => Some(of.clone()),
        _ => None,
    })
    .await;
    assert_eq!(*below, *format!("{turn}/c"));
    conversation.decide(&below, approve("s", None));
    // The agent tells what it was answered.
    let told = conversation.play(json!([{"echo": "answers"}])).await;
    let answered = told.iter().any(|line| line.contains(r#""optionId":"yes""#));
    assert!(answered, "{told:?}");
}

#[tokio::test]
async fn stopping_one_stops_only_its_own_session() {
    let mut conversation = with(json!({})).await;
    let steps = json!([
        announced("c"),
        told_to("c"),
        within("c", said("I look.")),
        {"awaitCancel": "say"},
        within("c", said("Nobody hears that.")),
        is_idle("c", "cancelled"),
    ]);
    let turn = conversation.prompt(&scenario(steps));
    until_line(&mut conversation, "text: I look.").await;
    conversation.cancel(&format!("{turn}/c").into());
    let told = heard(&mut conversation, &turn).await;
    assert_eq!(told[0], r#"> text: {"sessionId":"c"}"#);
    assert_eq!(told.last().unwrap(), "> completed");
    assert!(!told.iter().any(|line| line.contains("Nobody")), "{told:?}");
}

#[tokio::test]
async fn one_that_cannot_be_stopped_alone_stops_the_turn_that_waits_for_it() {
    let mut conversation = with(json!({})).await;
    let mut announced = announced("c");
    announced["update"]["capabilities"] = json!(null);
    let steps = json!([
        announced,
        told_to("c"),
        within("c", said("I look.")),
        {"awaitCancel": true},
        {"stop": {"stopReason": "cancelled"}},
    ]);
    let turn = conversation.prompt(&scenario(steps));
    until_line(&mut conversation, "text: I look.").await;
    conversation.cancel(&format!("{turn}/c").into());
    let told = heard(&mut conversation, &turn).await;
    assert_eq!(told.last().unwrap(), "> cancelled");
}

#[tokio::test]
async fn one_that_fails_says_why() {
    let mut failed = is_idle("c", "error");
    failed["update"]["state"]["error"] = json!({"code": -32603, "message": "out of tokens"});
    let told = play(json!([announced("c"), told_to("c"), failed])).await;
    let failed = "/c> failed (final): agentError: out of tokens".to_owned();
    assert!(told.contains(&failed), "{told:?}");
}

#[tokio::test]
async fn one_below_another_has_its_turn_below() {
    let told = play(json!([
        announced("c"),
        told_to("c"),
        within("c", announced("d")),
        within("d", said("I look deeper.")),
        within("c", is_idle("d", "end_turn")),
        is_idle("c", "end_turn"),
    ]))
    .await;
    let deeper = "/c/d> text: I look deeper.".to_owned();
    assert!(told.contains(&deeper), "{told:?}");
}

#[tokio::test]
async fn one_that_works_again_has_another_turn() {
    let again = updated(
        "subagent_update",
        json!({"sessionId": "c", "state": {"state": "running"}}),
    );
    let told = play(json!([
        announced("c"),
        told_to("c"),
        is_idle("c", "end_turn"),
        within(
            "c",
            call_update(json!({"toolCallId": "s", "status": "completed"}))
        ),
        again,
        told_to("c"),
        within("c", said("Once more.")),
        is_idle("c", "end_turn"),
    ]))
    .await;
    assert!(
        told.contains(&"/c~2> text: Once more.".to_owned()),
        "{told:?}"
    );
    let begun = told.iter().filter(|line| line.contains("somebody for"));
    assert_eq!(begun.count(), 2);
}

#[tokio::test]
async fn one_in_the_background_ends_with_its_process() {
    let mut conversation =
        with(json!({"initialize": {"agentCapabilities": {"loadSession": true}}})).await;
    let steps = json!([announced("c"), told_to("c"), within("c", said("I look."))]);
    let turn = conversation.prompt(&scenario(steps));
    heard(&mut conversation, &turn).await;
    // The chat is cut: the next turn is told to a new process.
    conversation.command(AgentCommand::Truncate {
        backend: BACKEND,
        transcript: Vec::new(),
    });
    conversation.prompt(&scenario(json!([said("Anew.")])));
    let told = heard_of_child(&mut conversation, "text: Anew.").await;
    assert_eq!(told[0], "cancelled");
}

#[tokio::test]
async fn more_of_them_than_anybody_can_follow_are_not_shown() {
    let many: Vec<Value> = (0..300)
        .flat_map(|at| {
            let name = format!("c{at}");
            [announced(&name), told_to(&name)]
        })
        .collect();
    let told = play(json!(many)).await;
    let begun = told.iter().filter(|line| line.contains("somebody for"));
    assert_eq!(begun.count(), 256);
    let one_by_one: Vec<Value> = (0..300)
        .flat_map(|at| {
            let name = format!("c{at}");
            [announced(&name), told_to(&name), is_idle(&name, "end_turn")]
        })
        .collect();
    let told = play(json!(one_by_one)).await;
    let begun = told.iter().filter(|line| line.contains("somebody for"));
    assert_eq!(begun.count(), 300);
}
