//! The MCP servers that an agent is given to start or reach by itself, and the
//! calls of tools that others run for it.

use std::collections::{BTreeMap, HashMap};

use agent_client_protocol_schema::v1::{
    EnvVariable, HttpHeader, McpServer as Given, McpServerHttp, McpServerSse, McpServerStdio,
};
use innkeeper_protocol::CallId;
use innkeeper_protocol::agent::{Approval, ToolReady, ToolStart, TurnEvent};
use innkeeper_protocol::mcp::{McpServer, McpTransport};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::ToolCallResult;
use serde_json::json;
use tokio::sync::oneshot;

use crate::client_tools::ClientCall;

/// Calls of tools that wait for those who run them, by the host's names.
#[derive(Debug, Default)]
pub(super) struct ClientCalls {
    waiting: HashMap<CallId, oneshot::Sender<ToolCallResult>>,
    made: usize,
}

impl ClientCalls {
    /// A call begins: it belongs to the client or the server whose tool it is.
    pub(super) fn begin(&mut self, call: ClientCall) -> Vec<TurnEvent> {
        self.made += 1;
        let id = CallId::from(format!("client-tool-{}", self.made));
        let definition = call.tool.definition;
        let title = definition.title.unwrap_or_else(|| definition.name.clone());
        self.waiting.insert(id.clone(), call.answer);
        let start = ToolStart {
            call: id.clone(),
            name: definition.name,
            display_name: title.clone(),
            intention: None,
            contributor: Some(call.tool.owner.contributor()),
            meta: None,
        };
        let ready = ToolReady {
            call: id,
            input: Some(json!(call.input).to_string()),
            message: StringOrMarkdown::Plain(title),
            // Whether it may be used at all is the agent's to ask.
            approval: Approval::NotNeeded,
            meta: None,
        };
        vec![
            TurnEvent::ToolStarted(Box::new(start)),
            TurnEvent::ToolReady(Box::new(ready)),
        ]
    }

    pub(super) fn done(&mut self, call: &str, result: ToolCallResult) {
        if let Some(answer) = self.waiting.remove(call) {
            // An agent that is gone needs no answer.
            let _ = answer.send(result);
        }
    }

    /// The turn is over: nobody runs these any more.
    pub(super) fn abandon(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }
}

pub(super) fn given(server: &McpServer) -> Given {
    let name = server.name.clone();
    let headers = |headers: &BTreeMap<String, String>| -> Vec<HttpHeader> {
        let headers = headers.iter();
        headers
            .map(|(name, value)| HttpHeader::new(name, value))
            .collect()
    };
    match &server.transport {
        McpTransport::Stdio {
            command,
            args,
            env,
            directory,
        } => {
            let env = env
                .iter()
                .map(|(name, value)| EnvVariable::new(name, value));
            let (command, args) = started_in(directory.as_deref(), command, args);
            Given::Stdio(
                McpServerStdio::new(name, command)
                    .args(args)
                    .env(env.collect()),
            )
        }
        McpTransport::Http {
            url, headers: with, ..
        } => Given::Http(McpServerHttp::new(name, url).headers(headers(with))),
        McpTransport::Sse { url, headers: with } => {
            Given::Sse(McpServerSse::new(name, url).headers(headers(with)))
        }
    }
}

/// Agents start servers where they are themselves, and ACP has no word for
/// another place: a shell goes there first.
fn started_in<'a>(
    directory: Option<&str>,
    command: &'a str,
    args: &[String],
) -> (&'a str, Vec<String>) {
    let Some(directory) = directory else {
        return (command, args.to_vec());
    };
    let script = ["-c", r#"cd "$0" && exec "$@""#, directory, command];
    let script = script.iter().map(|&word| word.to_owned());
    ("/bin/sh", script.chain(args.iter().cloned()).collect())
}
