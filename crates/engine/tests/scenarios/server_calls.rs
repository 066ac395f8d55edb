//! What becomes of the calls of agents and clients to MCP servers, and of those
//! that want a sign-in.

use std::time::Duration;

use innkeeper_engine::Limits;
use innkeeper_protocol::mcp::Hosting;
use innkeeper_protocol::mcp::hosted::{McpCallError, McpCallId, McpCommand, McpEvent, McpFailure};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat};
use crate::servers::{
    ID, RESOURCE, answer, ask, asked, call, create, last_run, offered, opened_backends, ready,
    report, requirement, starting, state, told, tool_call,
};
use crate::words::place;

#[test]
fn a_call_of_an_agent_goes_to_the_server_and_its_result_comes_back() {
    let mut host = ready();
    let call = call(&mut host);
    let Some(McpCommand::Call { method, params, .. }) = host.mcp.last() else {
        panic!("{:?}", host.mcp);
    };
    assert_eq!(method, "tools/call");
    let token = json!({"progressToken": call.0});
    assert_eq!(
        json!(params),
        json!({"name": "look", "arguments": {"row": 7}, "_meta": token})
    );
    let running = tool_call(&mut host);
    assert_eq!(running["status"], "running");
    assert_eq!(
        running["contributor"],
        json!({"kind": "mcp", "customizationId": ID})
    );
    let result = json!({"content": [
        {"type": "text", "text": "seven"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "x:y", "text": "inside"}},
        {"type": "resource_link", "uri": "file:///there", "name": "there"},
        {"type": "news", "of": "tomorrow"},
    ], "structuredContent": {"n": 7}});
    answer(&mut host, call, Ok(result));
    let done = tool_call(&mut host);
    assert_eq!(done["status"], "completed");
    assert_eq!(done["success"], true);
    assert_eq!(done["structuredContent"], json!({"n": 7}));
    let kinds: Vec<&Value> = done["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["type"])
        .collect();
    assert_eq!(kinds, ["text", "embeddedResource", "text", "text"]);
    assert!(told(&host).unwrap().0);
}

#[test]
fn a_call_ends_whatever_becomes_of_the_server_and_of_the_turn() {
    // What the server says, and whether the agent hears that it failed.
    type Happens = fn(&mut Host, McpCallId);
    let cases: [(&str, Happens); 4] = [
        ("an error", |host, call| {
            let error = RpcError::invalid_params("no such row");
            answer(host, call, Err(McpCallError::Said(error)));
        }),
        ("a result that is one", |host, call| {
            let result = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
            answer(host, call, Ok(result));
        }),
        ("its end", |host, call| {
            answer(host, call, Err(McpCallError::Lost("it ended".to_owned())));
            report(
                host,
                McpEvent::Failed(McpFailure::Ended("it ended".to_owned())),
            );
        }),
        ("somebody stops it", |host, _| ask(host, "Stop")),
    ];
    for (name, happens) in cases {
        let mut host = ready();
        let call = call(&mut host);
        happens(&mut host, call);
        let done = tool_call(&mut host);
        assert_eq!(done["status"], "completed", "{name}");
        assert_eq!(done["success"], false, "{name}");
        assert_eq!(told(&host).map(|told| told.0), Some(false), "{name}");
    }
    let mut host = ready();
    let call = call(&mut host);
    host.dispatch(
        1,
        &chat(),
        json!({"type": "chat/turnCancelled", "turnId": "t"}),
    );
    let run = last_run(&host);
    assert!(host.mcp.contains(&McpCommand::Cancel { run, call }));
    answer(&mut host, call, Ok(json!({"content": []})));
    assert_eq!(told(&host), None, "nobody waits any more");
}

#[test]
fn a_running_call_shows_how_far_its_server_says_it_is() {
    let mut host = ready();
    let call = call(&mut host);
    let says = |host: &mut Host, progress: Value| {
        let params = progress.as_object().cloned();
        let method = "notifications/progress".to_owned();
        report(host, McpEvent::Said { method, params });
    };
    let shown = |host: &mut Host| tool_call(host)["content"][0]["text"].clone();
    says(
        &mut host,
        json!({"progressToken": call.0, "progress": 1, "total": 3}),
    );
    assert_eq!(shown(&mut host), "1 of 3");
    // A server that says it all the time is heard once a second.
    let next = json!({
        "progressToken": call.0, "progress": 2.5, "total": 3, "message": "Reading rows",
    });
    says(&mut host, next.clone());
    assert_eq!(shown(&mut host), "1 of 3");
    host.wait(Duration::from_secs(1));
    for other in [
        json!({}),
        json!({"progressToken": 99, "progress": 9}),
        json!({"progressToken": call.0}),
    ] {
        says(&mut host, other);
    }
    assert_eq!(shown(&mut host), "1 of 3");
    says(&mut host, next);
    assert_eq!(shown(&mut host), "Reading rows (2.5 of 3)");
    host.wait(Duration::from_secs(1));
    let long = json!({"progressToken": call.0, "message": "x".repeat(60_000)});
    says(&mut host, long);
    assert_eq!(shown(&mut host).as_str().unwrap().len(), 1_000);
    answer(
        &mut host,
        call,
        Ok(json!({"content": [{"type": "text", "text": "all"}]})),
    );
    assert_eq!(shown(&mut host), "all");
    says(&mut host, json!({"progressToken": call.0, "progress": 3}));
    assert_eq!(shown(&mut host), "all");
}

#[test]
fn a_server_that_wants_a_sign_in_begins_again_with_a_token() {
    let mut host = starting(Hosting::Session);
    assert_ne!(
        host.refused(1, "authenticate", token()),
        0,
        "nobody wants it yet"
    );
    report(&mut host, McpEvent::AuthRequired(requirement("required")));
    assert_eq!(
        opened_backends(&host),
        1,
        "the agent does not wait for people"
    );
    let shown = state(&mut host);
    assert_eq!(shown["state"]["kind"], "authRequired");
    assert_eq!(shown["state"]["resource"]["resource"], RESOURCE);
    assert_eq!(shown["state"]["requiredScopes"], json!(["rows"]));
    host.ok(1, "authenticate", token());
    let Some(McpCommand::Start(start)) = host.mcp.last() else {
        panic!("{:?}", host.mcp);
    };
    assert_eq!(start.token.as_ref().unwrap().0, "secret");
    report(&mut host, offered(&["look"]));
    assert_eq!(state(&mut host)["state"]["kind"], "ready");
    // The next session need not be asked.
    create(&mut host, "ahp-session:/2", "file:///w");
    report(&mut host, McpEvent::AuthRequired(requirement("required")));
    let Some(McpCommand::Start(start)) = host.mcp.last() else {
        panic!("{:?}", host.mcp);
    };
    assert!(start.token.is_some());
    // A token that was refused is not tried for ever.
    report(&mut host, McpEvent::AuthRequired(requirement("expired")));
    assert!(matches!(host.mcp.last(), Some(McpCommand::Stop { .. })));
}

/// A token, with what it is known to be good for.
fn granting(scopes: &[&str]) -> Value {
    let mut params = token();
    params["scopes"] = json!(scopes);
    params
}

#[test]
fn a_token_that_grants_too_little_leaves_a_server_waiting() {
    let mut host = starting(Hosting::Session);
    report(&mut host, McpEvent::AuthRequired(requirement("required")));
    let begun = host.mcp.len();
    let answer = host.ask(1, "authenticate", granting(&["other"]));
    assert_eq!(answer["error"]["code"], -32007);
    assert_eq!(
        answer["error"]["data"]["resources"][0]["resource"],
        RESOURCE
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("rows"), "{message}");
    assert_eq!(host.mcp.len(), begun, "it would be refused again");
    assert_eq!(state(&mut host)["state"]["kind"], "authRequired");
    host.ok(1, "authenticate", granting(&["other", "rows"]));
    assert!(matches!(host.mcp.last(), Some(McpCommand::Start(start)) if start.token.is_some()));
}

#[test]
fn a_call_that_wants_more_waits_until_a_token_grants_it() {
    let mut host = ready();
    let call = call(&mut host);
    let wants = requirement("insufficientScope");
    answer(&mut host, call, Err(McpCallError::AuthRequired(wants)));
    assert_eq!(host.refused(1, "authenticate", granting(&[])), -32007);
    assert_eq!(tool_call(&mut host)["status"], "auth-required");
    host.ok(1, "authenticate", granting(&["rows"]));
    assert_eq!(tool_call(&mut host)["status"], "running");
}

#[test]
fn a_call_that_waits_for_a_sign_in_is_shown_as_running_up_to_0_5() {
    let mut host = ready();
    let call = call(&mut host);
    let wants = requirement("insufficientScope");
    answer(&mut host, call, Err(McpCallError::AuthRequired(wants)));
    for (connection, version) in (2..).zip(Version::ALL) {
        let client = version.to_string();
        let shown = host.enter_as(version, connection, &client, &[SESSION, &place(version)]);
        let shown = shown["snapshots"].to_string();
        assert!(shown.contains("\"look\""), "{version}: {shown}");
        let waits = shown.contains("auth-required");
        assert_eq!(waits, version > Version::V0_5, "{version}: {shown}");
    }
}

pub(crate) fn token() -> Value {
    json!({"channel": ROOT, "resource": RESOURCE, "token": "secret"})
}

#[test]
fn a_call_that_wants_more_waits_for_a_sign_in_and_goes_on() {
    let mut host = ready();
    let call = call(&mut host);
    let wants = requirement("insufficientScope");
    answer(&mut host, call, Err(McpCallError::AuthRequired(wants)));
    let waiting = tool_call(&mut host);
    assert_eq!(waiting["status"], "auth-required");
    assert_eq!(waiting["auth"]["reason"], "insufficientScope");
    let needed = host.state(SESSION)["inputNeeded"].take();
    assert_eq!(needed[0]["kind"], "toolAuthentication", "{needed}");
    assert_eq!(
        state(&mut host)["state"]["kind"],
        "ready",
        "the server serves others"
    );
    host.ok(1, "authenticate", token());
    assert_eq!(tool_call(&mut host)["status"], "running");
    assert!(
        host.state(SESSION)["inputNeeded"]
            .as_array()
            .is_none_or(Vec::is_empty)
    );
    let again = asked(&host);
    assert_ne!(again, call);
    let result = json!({"content": [{"type": "text", "text": "seven"}]});
    answer(&mut host, again, Ok(result));
    assert_eq!(tool_call(&mut host)["success"], true);
    assert!(!format!("{:?}", host.heard).contains("secret"));
}

#[test]
fn a_call_that_waited_for_a_sign_in_when_the_host_ended_is_over() {
    let mut host = ready();
    let call = call(&mut host);
    let wants = requirement("insufficientScope");
    answer(&mut host, call, Err(McpCallError::AuthRequired(wants)));
    assert_eq!(tool_call(&mut host)["status"], "auth-required");
    host.restart(Limits::default());
    let turn = host.state(&chat())["turns"][0].clone();
    let parts = turn["responseParts"].as_array().unwrap();
    let calls = parts.iter().filter(|part| part["kind"] == "toolCall");
    let statuses: Vec<_> = calls.map(|part| &part["toolCall"]["status"]).collect();
    assert_eq!(statuses, ["cancelled"], "{turn}");
}

#[test]
fn whoever_does_not_want_to_sign_in_ends_the_call() {
    let mut host = ready();
    let call = call(&mut host);
    let wants = requirement("insufficientScope");
    answer(&mut host, call, Err(McpCallError::AuthRequired(wants)));
    let complete = |success: bool| {
        json!({"type": "chat/toolCallComplete", "turnId": "t", "toolCallId": "c",
            "result": {"success": success, "pastTenseMessage": "no"}})
    };
    host.dispatch(1, &chat(), complete(true));
    assert_ne!(host.rejection(1), "", "it cannot have succeeded");
    host.dispatch(1, &chat(), complete(false));
    assert_eq!(tool_call(&mut host)["status"], "completed");
    assert_eq!(told(&host).map(|told| told.0), Some(false));
    let before = asked(&host);
    host.ok(1, "authenticate", token());
    assert_eq!(asked(&host), before, "it is not called again");
}

#[test]
fn clients_ask_a_server_what_it_offers_on_its_channel() {
    let mut host = ready();
    let channel = state(&mut host)["channel"].clone();
    let say = |host: &mut Host, id: i64, method: &str, params: Value| {
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        host.say(1, &frame.to_string());
    };
    let heard = |host: &Host, id: i64| {
        let mut heard = host.heard.get(&1).into_iter().flatten();
        heard.find(|frame| frame["id"] == id).cloned()
    };
    // In an envelope, and as it is.
    let params = json!({"channel": channel, "method": "resources/read", "params": {"uri": "x:y"}});
    say(&mut host, 900, "mcpMethodCall", params);
    say(
        &mut host,
        901,
        "tools/call",
        json!({"channel": channel, "name": "look"}),
    );
    let calls: Vec<(String, Value)> = host
        .mcp
        .iter()
        .filter_map(|command| match command {
            McpCommand::Call { method, params, .. } => Some((method.clone(), json!(params))),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("resources/read".to_owned(), json!({"uri": "x:y"})),
            ("tools/call".to_owned(), json!({"name": "look"})),
        ]
    );
    assert_eq!(heard(&host, 901), None, "it waits for the server");
    answer(&mut host, McpCallId(1), Ok(json!({"contents": []})));
    assert_eq!(
        heard(&host, 900).unwrap()["result"],
        json!({"contents": []})
    );
    // What the server does not offer, what is not for clients, and no server.
    for method in ["prompts/list", "initialize", "sampling/createMessage"] {
        let params = json!({"channel": channel, "method": method});
        assert_eq!(host.refused(1, "mcpMethodCall", params), -32601, "{method}");
    }
    let params = json!({"channel": "mcp://n/77", "method": "tools/list"});
    assert_ne!(host.refused(1, "mcpMethodCall", params), -32601);
    ask(&mut host, "Stop");
    assert!(
        heard(&host, 901).unwrap()["error"]["message"].is_string(),
        "it hears the end"
    );
}

#[test]
fn those_who_listen_to_a_server_hear_what_it_says() {
    let mut host = ready();
    let channel = state(&mut host)["channel"].clone();
    host.ok(1, "subscribe", json!({"channel": channel}));
    host.heard.clear();
    for method in [
        "notifications/resources/list_changed",
        "notifications/progress",
    ] {
        let (method, params) = (method.to_owned(), None);
        report(&mut host, McpEvent::Said { method, params });
    }
    let heard = &host.heard[&1];
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["method"], "mcpNotification");
    let params = json!({"channel": channel, "method": "notifications/resources/list_changed"});
    assert_eq!(heard[0]["params"], params);
}
