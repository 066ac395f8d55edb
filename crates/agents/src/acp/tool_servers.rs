//! The MCP servers of a conversation's own, through which an agent uses the tools
//! of clients and of the MCP servers that the host runs: one for all clients,
//! and one for each of the host's servers, under its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    HttpHeader, McpServer as Given, McpServerHttp, McpServerStdio,
};
use futures_util::FutureExt as _;
use futures_util::future::select_all;
use innkeeper_protocol::agent::{ClientTool, ToolOwner};

use crate::client_tools::{ClientCall, HttpTools, SERVER_NAME, ToolServer, Way};
use crate::process::Program;

#[derive(Debug, Default)]
pub(super) struct ToolServers {
    /// The way to a server; without one, agents are not given any.
    bridge: Option<Program>,
    /// The way instead, for an agent that starts no servers.
    http: Option<Arc<HttpTools>>,
    open: BTreeMap<String, ToolServer>,
}

impl ToolServers {
    pub(super) fn new(bridge: Option<Program>, http: Option<Arc<HttpTools>>) -> Self {
        Self {
            bridge,
            http,
            open: BTreeMap::new(),
        }
    }

    /// These are all tools from now on, and these are servers of the host that
    /// may have tools later. Returns those that an agent was not told of.
    pub(super) fn offer<'a>(
        &mut self,
        tools: &[ClientTool],
        hosted: impl Iterator<Item = &'a str>,
    ) -> Vec<Given> {
        let mut by_server: BTreeMap<String, Vec<ClientTool>> = BTreeMap::new();
        for name in hosted {
            by_server.entry(alias(name)).or_default();
        }
        for tool in tools {
            let name = match &tool.owner {
                ToolOwner::Client(_) => SERVER_NAME.to_owned(),
                ToolOwner::Server { name, .. } => alias(name),
            };
            by_server.entry(name).or_default().push(tool.clone());
        }
        // What nobody offers any more is still listed, and has nothing.
        for (name, server) in &self.open {
            let tools = by_server.remove(name).unwrap_or_default();
            server.offer(tools.into());
        }
        let new = by_server.into_iter();
        new.filter_map(|(name, tools)| self.begin(name, tools.into()))
            .collect()
    }

    fn begin(&mut self, name: String, tools: Arc<[ClientTool]>) -> Option<Given> {
        let started = match (&self.http, &self.bridge) {
            (Some(http), _) => ToolServer::start_over(http, &name, tools),
            (None, Some(_)) => ToolServer::start(&name, tools),
            (None, None) => return None,
        };
        match started {
            Ok(server) => {
                let given = given(&name, server.way(), self.bridge.as_ref())?;
                self.open.insert(name, server);
                Some(given)
            }
            Err(error) => {
                tracing::warn!(%error, server = name, "the tools of a server cannot be offered");
                None
            }
        }
    }

    pub(super) fn are_over_http(&self) -> bool {
        self.http.is_some()
    }

    pub(super) fn have_tools(&self) -> bool {
        self.open.values().any(ToolServer::has_tools)
    }

    /// The next call of the agent. Waiting may be given up at any time.
    pub(super) async fn next_call(&mut self) -> ClientCall {
        if !self.open.is_empty() {
            let calls = self.open.values_mut().map(|it| it.next_call().boxed());
            if let (Some(call), _, _) = select_all(calls).await {
                return call;
            }
        }
        std::future::pending().await
    }
}

/// The host's own server keeps its name.
fn alias(name: &str) -> String {
    match name {
        SERVER_NAME => format!("{SERVER_NAME}-configured"),
        other => other.to_owned(),
    }
}

/// A server of the conversation, as the agent reaches it.
fn given(name: &str, way: Way, bridge: Option<&Program>) -> Option<Given> {
    Some(match way {
        Way::Socket(socket) => {
            let bridge = bridge?;
            let mut args = bridge.args.clone();
            args.push(socket.display().to_string());
            Given::Stdio(McpServerStdio::new(name, &bridge.command).args(args))
        }
        Way::Http { url, authorization } => {
            let headers = vec![HttpHeader::new("Authorization", authorization)];
            Given::Http(McpServerHttp::new(name, url).headers(headers))
        }
    })
}
