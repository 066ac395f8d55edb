//! MCP servers that the host runs: they start, fail, want a sign-in, answer or
//! lose what they were asked, as it comes.

use innkeeper_engine::Input;
use innkeeper_protocol::mcp::hosted::{
    McpCallError, McpCommand, McpEvent, McpFailure, McpOffer, McpReport, ServerRun,
};
use innkeeper_protocol::mcp::{ConfiguredServer, Hosting, McpServer, McpTransport};
use innkeeper_protocol::newest::state::McpAuthRequirement;
use serde_json::json;

use crate::rng::Rng;

/// What clients may ask for.
pub(crate) const IDS: [&str; 4] = ["x:config#one", "x:config#two", "x:b#server", "nothing"];

/// What they are wanted to sign in for.
pub(crate) const RESOURCE: &str = "https://server.example/mcp";

/// Each session's own, and one for all of them.
pub(crate) fn configured() -> Vec<ConfiguredServer> {
    let server = |name: &str, hosting| ConfiguredServer {
        server: McpServer {
            name: name.to_owned(),
            transport: McpTransport::Http {
                url: RESOURCE.to_owned(),
                headers: Default::default(),
                oauth_client: None,
            },
        },
        uri: "x:config".to_owned(),
        hosting,
    };
    vec![
        server("one", Hosting::Session),
        server("two", Hosting::Directory),
    ]
}

/// What comes of a command, sooner or later.
pub(crate) fn reports(rng: &mut Rng, command: McpCommand) -> Vec<Input> {
    let (run, events) = match command {
        McpCommand::Start(start) => (start.run, started(rng, start.run)),
        McpCommand::Call { run, call, .. } => {
            let outcome = match rng.below(10) {
                0 => Err(McpCallError::Lost("lost".to_owned())),
                1..=5 => Err(McpCallError::AuthRequired(wants())),
                _ => Ok(json!({"content": [{"type": "text", "text": "done"}]})),
            };
            (run, vec![McpEvent::Answered { call, outcome }])
        }
        McpCommand::Stop { .. }
        | McpCommand::Cancel { .. }
        | McpCommand::Notify { .. }
        | McpCommand::Authorize { .. } => return Vec::new(),
    };
    let report = |event| Input::Mcp(McpReport { run, event });
    events.into_iter().map(report).collect()
}

fn started(rng: &mut Rng, run: ServerRun) -> Vec<McpEvent> {
    let tools = vec![serde_json::from_value(json!({"name": "tool"})).unwrap()];
    let offer = McpOffer {
        tools: tools.clone(),
        capabilities: json!({"tools": {"listChanged": true}})
            .as_object()
            .unwrap()
            .clone(),
        icons: Vec::new(),
    };
    let with_page = json!({"name": "tool", "_meta": {"ui": {"resourceUri": "ui://page"}}});
    let with_page = McpOffer {
        tools: vec![serde_json::from_value(with_page).unwrap()],
        icons: vec![serde_json::from_value(json!({"src": "data:image/png;base64,AA=="})).unwrap()],
        ..offer.clone()
    };
    let offer = match run.0 % 2 {
        0 => offer,
        _ => with_page,
    };
    let failed = McpEvent::Failed(McpFailure::Ended("it ended".to_owned()));
    let ready = McpEvent::Ready(Box::new(offer));
    match rng.below(10) {
        0 => vec![failed],
        1 => vec![McpEvent::AuthRequired(wants())],
        2..4 => vec![ready, failed],
        4 => vec![ready, McpEvent::Tools(tools)],
        _ => vec![ready],
    }
}

fn wants() -> Box<McpAuthRequirement> {
    let wants = json!({"reason": "insufficientScope", "resource": {"resource": RESOURCE}});
    Box::new(serde_json::from_value(wants).unwrap())
}
