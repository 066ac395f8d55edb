//! Tool calls through their whole life.

use innkeeper_protocol::newest::actions::StateAction;
use serde_json::{Value, json};

use crate::stage::{Stage, confirmed, last_call, text, until, with};

fn tool(more: Value) -> Value {
    let tool = json!({"name": "run", "title": "Run it", "input": "ls"});
    json!({"tool": with(tool, more)})
}

#[tokio::test]
async fn input_streams_before_a_call_is_ready() {
    let mut stage = Stage::open().await;
    stage
        .play(
            "t",
            json!([tool(json!({"input": "abcdef", "inputChunks": 3}))]),
        )
        .await;
    let turn = stage.end("t").await;
    let deltas: Vec<String> = stage
        .watch
        .envelopes
        .iter()
        .filter_map(|envelope| match &envelope.action {
            StateAction::ChatToolCallDelta(delta) => delta.content.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, ["ab", "cd", "ef"]);
    let call = last_call(&turn);
    assert_eq!(call["status"], "completed");
    assert_eq!(call["toolInput"], "abcdef");
    assert_eq!(call["confirmed"], "not-needed");
    assert_eq!(
        (&call["toolName"], &call["displayName"]),
        (&json!("run"), &json!("Run it"))
    );
    stage.close().await;
}

#[tokio::test]
async fn an_approved_call_runs_and_is_completed() {
    let mut stage = Stage::open().await;
    let result = json!({"success": true, "text": "done"});
    let step = tool(json!({"confirm": {"title": "May I?"}, "result": result}));
    stage.play("t", json!([step, {"say": "after"}])).await;
    let call = stage.call("pending-confirmation").await;
    assert_eq!(call["confirmationTitle"], "May I?");
    stage.act(confirmed("t", &call, true)).await;
    let turn = stage.end("t").await;
    let call = last_call(&turn);
    assert_eq!(call["confirmed"], "user-action");
    assert_eq!(call["content"], json!([{"type": "text", "text": "done"}]));
    assert_eq!(text(&turn), "after");
    stage.close().await;
}

#[tokio::test]
async fn a_denied_call_is_cancelled_the_turn_goes_on_and_the_words_are_said_to_the_agent() {
    let mut stage = Stage::open().await;
    stage
        .play(
            "t",
            json!([tool(json!({"confirm": "ask"})), {"say": "after"}]),
        )
        .await;
    let call = stage.call("pending-confirmation").await;
    let suggestion = json!({"text": "try ls -l", "origin": {"kind": "user"}});
    let denial = json!({"reasonMessage": "not now", "userSuggestion": suggestion});
    stage.act(with(confirmed("t", &call, false), denial)).await;
    let turn = stage.end("t").await;
    let call = last_call(&turn);
    assert_eq!(call["status"], "cancelled");
    assert_eq!(
        (&call["reason"], &call["reasonMessage"]),
        (&json!("denied"), &json!("not now"))
    );
    assert_eq!(call["userSuggestion"], suggestion);
    assert_eq!(text(&turn), "after");
    assert_eq!(turn["state"], "complete");
    // This agent did not take them up while it worked.
    let words = "not now\n\ntry ls -l";
    let said = |chat: &Value| {
        let turns = chat["turns"].as_array().unwrap();
        turns.last().unwrap()["message"]["text"] == words
    };
    stage.until("the words as a turn", said).await;
    stage.close().await;
}

#[tokio::test]
async fn edited_input_is_taken_if_the_call_is_editable() {
    let mut stage = Stage::open().await;
    let step = tool(json!({"confirm": "ask", "editable": true}));
    stage
        .play("t", json!([step, tool(json!({"confirm": "ask"}))]))
        .await;
    let call = stage.call("pending-confirmation").await;
    assert_eq!(call["editable"], true);
    let edit = json!({"editedToolInput": "ls -l"});
    stage
        .act(with(confirmed("t", &call, true), edit.clone()))
        .await;
    let first = call["toolCallId"].clone();
    let chat = stage
        .until("the second call", |chat| {
            let call = last_call(&chat["activeTurn"]);
            call["status"] == "pending-confirmation" && call["toolCallId"] != first
        })
        .await;
    let call = last_call(&chat["activeTurn"]).clone();
    let reason = stage.refused(with(confirmed("t", &call, true), edit)).await;
    assert!(reason.contains("cannot be edited"), "{reason}");
    stage.act(confirmed("t", &call, true)).await;
    let turn = stage.end("t").await;
    let inputs: Vec<&Value> = turn["responseParts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| &part["toolCall"]["toolInput"])
        .collect();
    assert_eq!(inputs, ["ls -l", "ls"]);
    stage.close().await;
}

#[tokio::test]
async fn the_selected_option_is_resolved_and_carried_to_the_end() {
    let mut stage = Stage::open().await;
    let options = json!([
        {"id": "once", "label": "Once", "kind": "approve", "group": 1},
        {"id": "never", "label": "Never", "kind": "deny", "group": 2},
    ]);
    let step = tool(json!({"confirm": {"options": options}, "confirmResult": true}));
    stage.play("t", json!([step])).await;
    let call = stage.call("pending-confirmation").await;
    assert_eq!(call["options"], options);
    let choose = |id: &str| json!({"selectedOptionId": id});
    let unknown = stage
        .refused(with(confirmed("t", &call, true), choose("maybe")))
        .await;
    assert!(unknown.contains("no option `maybe`"), "{unknown}");
    let wrong = stage
        .refused(with(confirmed("t", &call, true), choose("never")))
        .await;
    assert!(wrong.contains("contradict"), "{wrong}");
    stage
        .act(with(confirmed("t", &call, true), choose("once")))
        .await;
    let call = stage.call("pending-result-confirmation").await;
    assert_eq!(call["selectedOption"], options[0]);
    stage
        .act(json!({
            "type": "chat/toolCallResultConfirmed", "turnId": "t",
            "toolCallId": call["toolCallId"], "approved": true,
        }))
        .await;
    let turn = stage.end("t").await;
    assert_eq!(last_call(&turn)["selectedOption"], options[0]);
    stage.close().await;
}

#[tokio::test]
async fn previewed_edits_are_shown_before_the_decision() {
    let mut stage = Stage::open().await;
    let content = |name: &str| json!({"uri": format!("file:///w/{name}")});
    let edit = json!({
        "before": {"uri": "file:///w/a", "content": content("a.before")},
        "after": {"uri": "file:///w/a", "content": content("a.after")},
    });
    let edits = json!({"items": [edit]});
    stage
        .play(
            "t",
            json!([tool(json!({"confirm": "ask", "edits": edits}))]),
        )
        .await;
    let call = stage.call("pending-confirmation").await;
    assert_eq!(call["edits"], edits);
    stage.guest.cancel(&stage.chat, "t").await;
    stage.end("t").await;
    stage.close().await;
}

#[tokio::test]
async fn a_result_that_is_denied_cancels_the_call() {
    let mut stage = Stage::open().await;
    stage
        .play(
            "t",
            json!([tool(json!({"confirmResult": true})), {"say": "after"}]),
        )
        .await;
    let call = stage.call("pending-result-confirmation").await;
    stage
        .act(json!({
            "type": "chat/toolCallResultConfirmed", "turnId": "t",
            "toolCallId": call["toolCallId"], "approved": false,
        }))
        .await;
    let turn = stage.end("t").await;
    let call = last_call(&turn);
    assert_eq!(
        (&call["status"], &call["reason"]),
        (&json!("cancelled"), &json!("result-denied"))
    );
    assert_eq!(text(&turn), "after");
    stage.close().await;
}

#[tokio::test]
async fn a_running_call_may_need_approval_once_more() {
    let mut stage = Stage::open().await;
    stage
        .play(
            "t",
            json!([tool(json!({"reconfirm": "Also the network?"}))]),
        )
        .await;
    let call = stage.call("pending-confirmation").await;
    assert_eq!(call["invocationMessage"]["markdown"], "Also the network?");
    stage.act(confirmed("t", &call, true)).await;
    let turn = stage.end("t").await;
    assert_eq!(last_call(&turn)["status"], "completed");
    stage.close().await;
}

#[tokio::test]
async fn a_running_call_shows_what_it_has_so_far() {
    let mut stage = Stage::open().await;
    stage
        .play("t", json!([tool(json!({"content": ["one", "two"]}))]))
        .await;
    stage.end("t").await;
    let shown: Vec<usize> = stage
        .watch
        .envelopes
        .iter()
        .filter_map(|envelope| match &envelope.action {
            StateAction::ChatToolCallContentChanged(changed) => Some(changed.content.len()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, [1, 2]);
    stage.close().await;
}

#[tokio::test]
async fn structured_results_and_errors_are_kept() {
    let mut stage = Stage::open().await;
    let good = json!({"success": true, "structured": {"files": 3}});
    let bad = json!({"success": false, "error": {"message": "no such file", "code": 2}});
    let steps = json!([tool(json!({"result": good})), tool(json!({"result": bad}))]);
    stage.play("t", steps).await;
    let turn = stage.end("t").await;
    let calls = turn["responseParts"].as_array().unwrap();
    assert_eq!(
        calls[0]["toolCall"]["structuredContent"],
        json!({"files": 3})
    );
    assert_eq!(calls[1]["toolCall"]["success"], false);
    assert_eq!(calls[1]["toolCall"]["error"], bad["error"]);
    stage.close().await;
}

#[tokio::test]
async fn a_turn_that_ends_cancels_what_is_open_as_skipped() {
    let mut stage = Stage::open().await;
    stage
        .play("t", json!([tool(json!({"confirm": "ask"}))]))
        .await;
    stage.call("pending-confirmation").await;
    stage.guest.cancel(&stage.chat, "t").await;
    let turn = stage.end("t").await;
    let call = last_call(&turn);
    assert_eq!(
        (&call["status"], &call["reason"]),
        (&json!("cancelled"), &json!("skipped"))
    );
    stage.close().await;
}

#[tokio::test]
async fn decisions_in_the_wrong_state_turn_or_without_a_reason_are_rejected_with_a_sentence() {
    let mut stage = Stage::open().await;
    stage
        .play(
            "t",
            json!([tool(json!({"confirm": "ask"})), {"sleep": 600_000}]),
        )
        .await;
    let call = stage.call("pending-confirmation").await;
    let unknown = json!({"toolCallId": "nothing"});
    let cases = [
        (
            confirmed("other", &call, true),
            "turn `other` is not running",
        ),
        (
            with(confirmed("t", &call, true), unknown),
            "no tool call `nothing`",
        ),
        (
            with(confirmed("t", &call, false), json!({"reason": null})),
            "a denial needs a reason",
        ),
        (
            json!({
                "type": "chat/toolCallResultConfirmed", "turnId": "t",
                "toolCallId": call["toolCallId"], "approved": true,
            }),
            "the tool call has no result to confirm",
        ),
        (
            json!({
                "type": "chat/toolCallComplete", "turnId": "t", "toolCallId": call["toolCallId"],
                "result": {"success": true, "pastTenseMessage": "did it"},
            }),
            "only a running one has a result",
        ),
    ];
    for (action, expected) in cases {
        let reason = stage.refused(action.clone()).await;
        assert!(reason.contains(expected), "{action}: {reason}");
    }
    stage.act(confirmed("t", &call, true)).await;
    stage.call("completed").await;
    let reason = stage.refused(confirmed("t", &call, true)).await;
    assert!(reason.contains("has been completed already"), "{reason}");
    stage.guest.cancel(&stage.chat, "t").await;
    stage.end("t").await;
    stage.close().await;
}

#[tokio::test]
async fn with_auto_approval_nothing_is_asked_and_that_is_recorded() {
    let mut stage = Stage::open().await;
    let action = json!({"type": "session/configChanged", "config": {"autoApprove": "autoApprove"}});
    crate::stage::act(&stage.guest, &stage.session, action).await;
    stage
        .play("t", json!([tool(json!({"confirm": "ask"}))]))
        .await;
    let turn = stage.end("t").await;
    assert_eq!(last_call(&turn)["confirmed"], "setting");
    stage.close().await;
}

#[tokio::test]
async fn the_tools_of_the_agent_are_in_the_session_with_schemas_and_annotations() {
    let stage = Stage::open().await;
    let mut session = stage.watch_session().await;
    let state = until(&mut session, "the tools", |s| s["serverTools"].is_array()).await;
    let tools = state["serverTools"].as_array().unwrap();
    let read = tools
        .iter()
        .find(|tool| tool["name"] == "read_file")
        .unwrap();
    assert_eq!(read["inputSchema"]["type"], "object");
    assert_eq!(read["annotations"]["readOnlyHint"], true);
    stage.close().await;
}

#[tokio::test]
async fn a_result_that_is_too_large_for_the_state_is_fetched_by_reference() {
    let mut stage = Stage::open().await;
    let large = "x".repeat(100_000);
    let result = json!({"success": true, "text": large});
    stage
        .play("t", json!([tool(json!({"result": result}))]))
        .await;
    let turn = stage.end("t").await;
    let content = &last_call(&turn)["content"][0];
    assert_eq!(
        (&content["type"], &content["sizeHint"]),
        (&json!("resource"), &json!(100_000))
    );
    let params = json!({"channel": "ahp-root://", "uri": content["uri"]});
    let read = stage.guest.request("resourceRead", params).await.unwrap();
    assert_eq!(read["data"], json!(large));
    stage.close().await;
}
