//! What the host does for an agent: commands in its terminals, and the tools of
//! clients.

use innkeeper_protocol::newest::state::{TerminalContentPart, TerminalState, TurnState};
use serde_json::{Value, json};

use super::{new_session, start};
use crate::common::{Guest, default_chat};

const SESSION: &str = "ahp-session:/services";

/// Runs a command in a terminal of the host and shows it in a tool call.
const RUNS_A_COMMAND: &str = r#"
    *'"method":"session/prompt"'*)
        prompt=$id
        ask create terminal/create '{"sessionId":"s","command":"sh","args":["-c","test -t 1 && echo in a terminal; exit 3"]}' ;;
    *'"id":"create"'*)
        update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"Look","status":"in_progress","content":[{"type":"terminal","terminalId":"terminal-1"}]}'
        ask wait terminal/wait_for_exit '{"sessionId":"s","terminalId":"terminal-1"}' ;;
    *'"id":"wait"'*)
        case $line in *'"exitCode":3'*) say three ;; esac
        ask output terminal/output '{"sessionId":"s","terminalId":"terminal-1"}' ;;
    *'"id":"output"'*)
        case $line in *'"output":"in a terminal\n"'*) say said ;; esac
        update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}'
        answer "$prompt" '{"stopReason":"end_turn"}' ;;
"#;

fn calls(turn: &Value) -> Vec<Value> {
    let parts = turn["responseParts"].as_array().unwrap().iter();
    let calls = parts.filter(|part| part["kind"] == "toolCall");
    calls.map(|part| part["toolCall"].clone()).collect()
}

#[tokio::test]
async fn a_command_of_an_agent_runs_in_a_terminal_that_clients_can_see() {
    let data = tempfile::tempdir().unwrap();
    let host = start(data.path(), RUNS_A_COMMAND);
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    new_session(&guest, SESSION).await;
    let chat = default_chat(SESSION);
    let mut watch = guest.watch_chat(&chat).await;
    guest.say(&chat, "t", "look").await;
    assert_eq!(watch.turn_end("t").await, TurnState::Complete);
    assert_eq!(watch.text_of("t"), "threesaid");
    let shown = calls(&json!(watch.state.turns[0]))[0]["content"][0].take();
    assert_eq!(shown["type"], "terminal");
    assert_eq!(shown["result"]["exitCode"], 3);
    let terminal = shown["resource"].as_str().unwrap();
    let state: TerminalState = guest.snapshot(terminal).await;
    let text: String = state
        .content
        .iter()
        .map(|part| match part {
            TerminalContentPart::Unclassified(part) => part.value.as_str(),
            TerminalContentPart::Command(part) => part.output.as_str(),
            TerminalContentPart::Unknown(_) => "",
        })
        .collect();
    assert!(text.contains("in a terminal"), "{text:?}");
}

/// Finds the host's MCP server, as it was told of it, and uses a tool there.
const USES_A_TOOL: &str = r#"
    *'"method":"session/prompt"'*)
        program=$(printf %s "$servers" | sed 's/.*"command":"\([^"]*\)".*/\1/')
        socket=$(printf %s "$servers" | sed 's/.*"bridge","\([^"]*\)".*/\1/')
        pipes=$(mktemp -d)
        mkfifo "$pipes/in" "$pipes/out"
        "$program" bridge "$socket" <"$pipes/in" >"$pipes/out" &
        exec 3>"$pipes/in" 4<"$pipes/out"
        rm -r "$pipes"
        printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}' >&3
        read -r hello <&4
        printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
        printf '%s\n' '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Ulm"}}}' >&3
        read -r result <&4
        exec 3>&- 4<&-
        case $result in *'"text":"fog"'*) say fog ;; esac
        answer "$id" '{"stopReason":"end_turn"}' ;;
"#;

#[tokio::test]
async fn an_agent_uses_a_tool_that_a_client_offers_and_runs() {
    let data = tempfile::tempdir().unwrap();
    let host = start(data.path(), USES_A_TOOL);
    let guest = Guest::arrive(&host.url, "owner").await;
    guest.initialize(&[]).await;
    new_session(&guest, SESSION).await;
    let tool = json!({"name": "weather", "inputSchema": {"type": "object"}});
    let client = json!({"clientId": "owner", "displayName": "Editor", "tools": [tool]});
    let offer = json!({"type": "session/activeClientSet", "activeClient": client});
    guest
        .dispatch(SESSION, serde_json::from_value(offer).unwrap())
        .await;
    let chat = default_chat(SESSION);
    let mut watch = guest.watch_chat(&chat).await;
    guest.say(&chat, "t", "how is the weather").await;
    let call = |state: &Value| {
        let calls = calls(&state["activeTurn"]);
        calls.into_iter().find(|call| call["status"] == "running")
    };
    watch
        .until("a call", |state| {
            state.active_turn.is_some() && call(&json!(state)).is_some()
        })
        .await;
    let call = call(&json!(watch.state)).unwrap();
    let owner = json!({"kind": "client", "clientId": "owner"});
    assert_eq!(call["contributor"], owner);
    assert_eq!(call["toolInput"], r#"{"city":"Ulm"}"#);
    let complete = json!({
        "type": "chat/toolCallComplete", "turnId": "t", "toolCallId": call["toolCallId"],
        "result": {"success": true, "pastTenseMessage": "Looked",
                   "content": [{"type": "text", "text": "fog"}]},
    });
    guest
        .dispatch(&chat, serde_json::from_value(complete).unwrap())
        .await;
    assert_eq!(watch.turn_end("t").await, TurnState::Complete);
    assert_eq!(watch.text_of("t"), "fog");
}
