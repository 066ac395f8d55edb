//! MCP servers that the host runs: when they begin and end, what sessions show
//! of them, and what becomes of the calls of agents and clients.

use std::time::Duration;

use innkeeper_engine::{EngineConfig, Input, Limits};
use innkeeper_protocol::agent::{
    AgentCommand, Approval, Decision, ToolOwner, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::mcp::hosted::{
    McpCallError, McpCallId, McpCommand, McpEvent, McpFailure, McpOffer, McpReport, ServerRun,
};
use innkeeper_protocol::mcp::{ConfiguredServer, Hosting, McpServer, McpTransport};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::McpAuthRequirement;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat, config};

const ID: &str = "innkeeper:configuration#db";
const RESOURCE: &str = "https://db.example/mcp";

fn server(name: &str, hosting: Hosting) -> ConfiguredServer {
    ConfiguredServer {
        server: McpServer {
            name: name.to_owned(),
            transport: McpTransport::Http {
                url: RESOURCE.to_owned(),
                headers: [("key".to_owned(), "hush".to_owned())].into(),
            },
        },
        uri: "innkeeper:configuration".to_owned(),
        hosting,
    }
}

fn configured(servers: Vec<ConfiguredServer>, limits: Limits) -> EngineConfig {
    let mut config = config(limits);
    config.workspace.mcp_servers = servers.into();
    config
}

fn with_servers(servers: Vec<ConfiguredServer>) -> Host {
    let mut host = Host::configured(configured(servers, Limits::default()));
    host.enter(1, "a", &[ROOT]);
    host
}

fn create(host: &mut Host, session: &str, directory: &str) {
    let params = json!({"channel": session, "workingDirectories": [directory]});
    host.ok(1, "createSession", params);
    host.ok(1, "subscribe", json!({"channel": session}));
}

/// A host with one session, whose agent waits for its server.
fn starting(hosting: Hosting) -> Host {
    let mut host = with_servers(vec![server("db", hosting)]);
    create(&mut host, SESSION, "file:///w");
    host.ok(1, "subscribe", json!({"channel": chat()}));
    host
}

/// Likewise with the server ready and the agent open.
fn ready() -> Host {
    let mut host = starting(Hosting::Session);
    report(&mut host, offered(&["look"]));
    host.opened();
    host.heard.clear();
    host
}

fn offered(tools: &[&str]) -> McpEvent {
    let tools = tools.iter().map(|name| json!({"name": name}));
    let tools = tools
        .map(|it| serde_json::from_value(it).unwrap())
        .collect();
    let capabilities = json!({"tools": {}, "resources": {}});
    McpEvent::Ready(Box::new(McpOffer {
        tools,
        capabilities: capabilities.as_object().unwrap().clone(),
    }))
}

/// The run that began last.
fn last_run(host: &Host) -> ServerRun {
    let mut starts = host.mcp.iter().rev().filter_map(|command| match command {
        McpCommand::Start(start) => Some(start.run),
        _ => None,
    });
    starts.next().unwrap()
}

fn report(host: &mut Host, event: McpEvent) {
    let run = last_run(host);
    host.feed(Input::Mcp(McpReport { run, event }));
}

fn state(host: &mut Host) -> Value {
    let session = host.state(SESSION);
    let all = session["customizations"].as_array().unwrap();
    all.iter().find(|it| it["id"] == ID).unwrap().clone()
}

fn ask(host: &mut Host, what: &str) {
    let kind = format!("session/mcpServer{what}Requested");
    host.dispatch(1, SESSION, json!({"type": kind, "id": ID}));
}

fn requirement(reason: &str) -> Box<McpAuthRequirement> {
    let wants = json!({"reason": reason, "resource": {"resource": RESOURCE},
        "requiredScopes": ["rows"]});
    Box::new(serde_json::from_value(wants).unwrap())
}

/// The agent calls the server's tool in a turn; returns what the server is asked.
fn call(host: &mut Host) -> McpCallId {
    host.start_turn(1, "t");
    let owner = ToolOwner::Server {
        id: ID.to_owned(),
        name: "db".to_owned(),
    };
    let start = ToolStart {
        call: "c".into(),
        name: "look".to_owned(),
        display_name: "Look".to_owned(),
        intention: None,
        contributor: Some(owner.contributor()),
        meta: None,
    };
    host.in_turn("t", TurnEvent::ToolStarted(Box::new(start)));
    let ready = ToolReady {
        call: "c".into(),
        input: Some(json!({"row": 7}).to_string()),
        message: StringOrMarkdown::Plain("Look".to_owned()),
        approval: Approval::NotNeeded,
        meta: None,
    };
    host.in_turn("t", TurnEvent::ToolReady(Box::new(ready)));
    asked(host)
}

/// What a server was asked last.
fn asked(host: &Host) -> McpCallId {
    let mut calls = host.mcp.iter().rev().filter_map(|command| match command {
        McpCommand::Call { call, .. } => Some(*call),
        _ => None,
    });
    calls.next().unwrap()
}

fn answer(host: &mut Host, call: McpCallId, outcome: Result<Value, McpCallError>) {
    report(host, McpEvent::Answered { call, outcome });
}

fn tool_call(host: &mut Host) -> Value {
    let mut state = host.state(&chat());
    let turn = match state["activeTurn"].is_object() {
        true => state["activeTurn"].take(),
        false => state["turns"].as_array().unwrap().last().unwrap().clone(),
    };
    let parts = turn["responseParts"].as_array().unwrap();
    let part = parts.iter().find(|part| part["kind"] == "toolCall");
    part.unwrap()["toolCall"].clone()
}

/// What the agent was told of its call.
fn told(host: &Host) -> Option<(bool, Value)> {
    let mut decided = host
        .commands
        .iter()
        .rev()
        .filter_map(|command| match command {
            AgentCommand::Decide { decision, .. } => match &**decision {
                Decision::ClientTool { result, .. } => {
                    Some((result.success, json!(result.content.clone())))
                }
                _ => None,
            },
            _ => None,
        });
    decided.next()
}

fn opened_backends(host: &Host) -> usize {
    let opens = |it: &&AgentCommand| matches!(it, AgentCommand::Open(_));
    host.commands.iter().filter(opens).count()
}

#[test]
fn an_agent_waits_for_the_servers_of_its_session_and_is_given_their_tools() {
    let mut host = starting(Hosting::Session);
    assert_eq!(opened_backends(&host), 0, "it waits");
    assert_eq!(
        state(&mut host)["state"],
        json!({"kind": "starting", "blocking": true})
    );
    report(&mut host, offered(&["look", "write"]));
    let Some(AgentCommand::Open(open)) = host.commands.last() else {
        panic!("{:?}", host.commands);
    };
    let names: Vec<&str> = open
        .client_tools
        .iter()
        .map(|it| it.definition.name.as_str())
        .collect();
    assert_eq!(names, ["look", "write"]);
    assert_eq!(open.customizations.hosted_servers[ID], "db");
    assert!(
        open.customizations.mcp_servers.is_empty(),
        "the host runs it"
    );
    host.opened();
    let shown = state(&mut host);
    assert_eq!(shown["state"]["kind"], "ready");
    assert_eq!(shown["channel"], "mcp://n/1");
    let heard = format!("{:?}", host.heard);
    assert!(
        !heard.contains("hush"),
        "how it is reached is nobody's business"
    );
}

#[test]
fn nobody_waits_for_ever_and_whoever_does_not_want_to_need_not() {
    let mut host = starting(Hosting::Session);
    host.wait(Duration::from_secs(19));
    assert_eq!(opened_backends(&host), 0);
    host.wait(Duration::from_secs(2));
    assert_eq!(opened_backends(&host), 1);
    assert_eq!(state(&mut host)["state"], json!({"kind": "starting"}));

    let mut host = starting(Hosting::Session);
    ask(&mut host, "Background");
    assert_eq!(opened_backends(&host), 1);
    ask(&mut host, "Background");
    assert!(
        host.rejection(1).contains("nobody waits"),
        "{}",
        host.rejection(1)
    );
}

#[test]
fn a_server_that_fails_says_so_and_keeps_nobody() {
    let mut host = starting(Hosting::Session);
    report(
        &mut host,
        McpEvent::Failed(McpFailure::NoAnswer { seconds: 60 }),
    );
    assert_eq!(opened_backends(&host), 1);
    let shown = state(&mut host);
    assert_eq!(shown["state"]["kind"], "error");
    assert_eq!(shown["state"]["error"]["errorType"], "noAnswer");
    assert!(shown.get("channel").is_none());
    ask(&mut host, "Start");
    assert_eq!(state(&mut host)["state"]["kind"], "starting");
    report(&mut host, offered(&["look"]));
    assert_eq!(state(&mut host)["state"]["kind"], "ready");
}

#[test]
fn a_server_is_stopped_and_started_on_request() {
    let mut host = ready();
    let run = last_run(&host);
    ask(&mut host, "Stop");
    assert_eq!(host.mcp.last(), Some(&McpCommand::Stop { run }));
    assert_eq!(state(&mut host)["state"], json!({"kind": "stopped"}));
    let Some(AgentCommand::OfferTools { tools, .. }) = host.commands.last() else {
        panic!("{:?}", host.commands.last());
    };
    assert!(tools.is_empty());
    ask(&mut host, "Start");
    assert_ne!(last_run(&host), run);
    report(&mut host, offered(&["look"]));
    let first = state(&mut host)["channel"].clone();
    ask(&mut host, "Start");
    report(&mut host, offered(&["look"]));
    assert_ne!(state(&mut host)["channel"], first, "it was started again");
}

#[test]
fn what_is_off_does_not_begin_and_what_is_switched_off_ends() {
    let mut host = ready();
    let run = last_run(&host);
    let off = json!({"type": "session/customizationToggled", "id": ID,
        "enablement": [{"kind": "session", "enabled": false}]});
    host.dispatch(1, SESSION, off);
    assert_eq!(host.mcp.last(), Some(&McpCommand::Stop { run }));
    assert_eq!(state(&mut host)["state"], json!({"kind": "stopped"}));
    ask(&mut host, "Start");
    assert!(
        host.rejection(1).contains("switch it on"),
        "{}",
        host.rejection(1)
    );
    host.dispatch(
        1,
        SESSION,
        json!({"type": "session/mcpServerStartRequested", "id": "no"}),
    );
    assert!(
        host.rejection(1).contains("no MCP server"),
        "{}",
        host.rejection(1)
    );
}

#[test]
fn a_server_of_the_agents_own_is_given_to_it_and_not_run() {
    let mut host = starting(Hosting::Agent);
    assert!(host.mcp.is_empty());
    let Some(AgentCommand::Open(open)) = host.commands.last() else {
        panic!("{:?}", host.commands);
    };
    assert_eq!(open.customizations.mcp_servers[0].name, "db");
    ask(&mut host, "Start");
    assert!(
        host.rejection(1).contains("the agent runs"),
        "{}",
        host.rejection(1)
    );
}

#[test]
fn sessions_of_one_directory_share_a_server_if_they_may() {
    for (hosting, directory, runs) in [
        (Hosting::Directory, "file:///w", 1),
        (Hosting::Directory, "file:///x", 2),
        (Hosting::Session, "file:///w", 2),
    ] {
        let mut host = starting(hosting);
        report(&mut host, offered(&["look"]));
        create(&mut host, "ahp-session:/2", directory);
        let starts = |it: &&McpCommand| matches!(it, McpCommand::Start(_));
        assert_eq!(
            host.mcp.iter().filter(starts).count(),
            runs,
            "{hosting:?} {directory}"
        );
        host.ok(1, "disposeSession", json!({"channel": SESSION}));
        let stops = |it: &&McpCommand| matches!(it, McpCommand::Stop { .. });
        let ended = host.mcp.iter().filter(stops).count();
        assert_eq!(ended, runs - 1, "it ends with the last of them");
    }
}

#[test]
fn a_call_of_an_agent_goes_to_the_server_and_its_result_comes_back() {
    let mut host = ready();
    let call = call(&mut host);
    let Some(McpCommand::Call { method, params, .. }) = host.mcp.last() else {
        panic!("{:?}", host.mcp);
    };
    assert_eq!(method, "tools/call");
    assert_eq!(
        json!(params),
        json!({"name": "look", "arguments": {"row": 7}})
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
    assert_eq!(told(&host).unwrap().0, true);
}

#[test]
fn a_call_ends_whatever_becomes_of_the_server_and_of_the_turn() {
    // What the server says, and whether the agent hears that it failed.
    type Happens = fn(&mut Host, McpCallId);
    let cases: [(&str, Happens); 4] = [
        ("an error", |host, call| {
            let error = innkeeper_protocol::rpc::RpcError::invalid_params("no such row");
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

fn token() -> Value {
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
        let mut heard = host.heard[&1].iter();
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

#[test]
fn a_server_that_somebody_stopped_stays_so_over_a_restart_and_none_is_shown_to_run() {
    for is_stopped in [false, true] {
        let mut host = ready();
        if is_stopped {
            ask(&mut host, "Stop");
        }
        host.mcp.clear();
        let servers = vec![server("db", Hosting::Session)];
        host.restart_as(configured(servers, Limits::default()));
        host.enter(1, "a", &[ROOT]);
        assert_eq!(state(&mut host)["state"], json!({"kind": "stopped"}));
        assert!(host.mcp.is_empty(), "nobody needs it yet");
        host.start_turn(1, "u");
        assert_eq!(host.mcp.is_empty(), is_stopped, "{:?}", host.mcp);
    }
}

#[test]
fn too_many_servers_are_said_to_be() {
    let limits = Limits {
        mcp_servers: 1,
        ..Limits::default()
    };
    let servers = vec![
        server("db", Hosting::Session),
        server("xy", Hosting::Session),
    ];
    let mut host = Host::configured(configured(servers, limits));
    host.enter(1, "a", &[ROOT]);
    create(&mut host, SESSION, "file:///w");
    let state = host.state(SESSION);
    assert!(state.to_string().contains("limits.mcp_servers"), "{state}");
}

#[test]
fn clients_of_every_version_hold_what_they_are_told_of_servers() {
    for version in Version::ALL {
        let mut host = starting(Hosting::Session);
        host.enter_as(version, 2, "old", &[]);
        host.ask(
            2,
            "subscribe",
            json!({"channel": SESSION, "resource": SESSION}),
        );
        host.ask(
            2,
            "subscribe",
            json!({"channel": chat(), "resource": chat()}),
        );
        report(&mut host, offered(&["look"]));
        host.opened();
        let call = call(&mut host);
        let wants = requirement("insufficientScope");
        answer(&mut host, call, Err(McpCallError::AuthRequired(wants)));
        host.ok(1, "authenticate", token());
        let again = asked(&host);
        answer(&mut host, again, Ok(json!({"content": []})));
        host.in_turn("t", TurnEvent::Completed);
        assert!(host.closed.is_empty(), "{version}");
        let heard = host.heard.get(&2).into_iter().flatten();
        let text: Vec<String> = heard.map(Value::to_string).collect();
        assert!(!text.iter().any(|it| it.contains("secret")), "{version}");
    }
}
