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
use crate::server_calls::token;

pub(crate) const ID: &str = "innkeeper:configuration#db";
pub(crate) const RESOURCE: &str = "https://db.example/mcp";

fn server(name: &str, hosting: Hosting) -> ConfiguredServer {
    ConfiguredServer {
        server: McpServer {
            name: name.to_owned(),
            transport: McpTransport::Http {
                url: RESOURCE.to_owned(),
                headers: [("key".to_owned(), "hush".to_owned())].into(),
                oauth_client: None,
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

pub(crate) fn create(host: &mut Host, session: &str, directory: &str) {
    let params = json!({"channel": session, "workingDirectories": [directory]});
    host.ok(1, "createSession", params);
    host.ok(1, "subscribe", json!({"channel": session}));
}

/// A host with one session, whose agent waits for its server.
pub(crate) fn starting(hosting: Hosting) -> Host {
    let mut host = with_servers(vec![server("db", hosting)]);
    create(&mut host, SESSION, "file:///w");
    host.ok(1, "subscribe", json!({"channel": chat()}));
    host
}

/// Likewise with the server ready and the agent open.
pub(crate) fn ready() -> Host {
    let mut host = starting(Hosting::Session);
    report(&mut host, offered(&["look"]));
    host.opened();
    host.heard.clear();
    host
}

pub(crate) fn offered(tools: &[&str]) -> McpEvent {
    let tools = tools.iter().map(|name| json!({"name": name}));
    let tools = tools
        .map(|it| serde_json::from_value(it).unwrap())
        .collect();
    let capabilities = json!({"tools": {}, "resources": {}});
    McpEvent::Ready(Box::new(McpOffer {
        tools,
        capabilities: capabilities.as_object().unwrap().clone(),
        icons: Vec::new(),
    }))
}

/// The run that began last.
pub(crate) fn last_run(host: &Host) -> ServerRun {
    let mut starts = host.mcp.iter().rev().filter_map(|command| match command {
        McpCommand::Start(start) => Some(start.run),
        _ => None,
    });
    starts.next().unwrap()
}

pub(crate) fn report(host: &mut Host, event: McpEvent) {
    let run = last_run(host);
    host.feed(Input::Mcp(McpReport { run, event }));
}

pub(crate) fn state(host: &mut Host) -> Value {
    let session = host.state(SESSION);
    let all = session["customizations"].as_array().unwrap();
    all.iter().find(|it| it["id"] == ID).unwrap().clone()
}

pub(crate) fn ask(host: &mut Host, what: &str) {
    let kind = format!("session/mcpServer{what}Requested");
    host.dispatch(1, SESSION, json!({"type": kind, "id": ID}));
}

pub(crate) fn requirement(reason: &str) -> Box<McpAuthRequirement> {
    let wants = json!({"reason": reason, "resource": {"resource": RESOURCE},
        "requiredScopes": ["rows"]});
    Box::new(serde_json::from_value(wants).unwrap())
}

/// The agent calls the server's tool in a turn; returns what the server is asked.
pub(crate) fn call(host: &mut Host) -> McpCallId {
    call_in(host, "t")
}

pub(crate) fn call_in(host: &mut Host, turn: &str) -> McpCallId {
    host.start_turn(1, turn);
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
    host.in_turn(turn, TurnEvent::ToolStarted(Box::new(start)));
    let ready = ToolReady {
        call: "c".into(),
        input: Some(json!({"row": 7}).to_string()),
        message: StringOrMarkdown::Plain("Look".to_owned()),
        approval: Approval::NotNeeded,
        meta: None,
    };
    host.in_turn(turn, TurnEvent::ToolReady(Box::new(ready)));
    asked(host)
}

/// What a server was asked last.
pub(crate) fn asked(host: &Host) -> McpCallId {
    let mut calls = host.mcp.iter().rev().filter_map(|command| match command {
        McpCommand::Call { call, .. } => Some(*call),
        _ => None,
    });
    calls.next().unwrap()
}

pub(crate) fn answer(host: &mut Host, call: McpCallId, outcome: Result<Value, McpCallError>) {
    report(host, McpEvent::Answered { call, outcome });
}

pub(crate) fn tool_call(host: &mut Host) -> Value {
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
pub(crate) fn told(host: &Host) -> Option<(bool, Value)> {
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

pub(crate) fn opened_backends(host: &Host) -> usize {
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
        host.rejection(1).contains("not waiting to be started"),
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
