//! Agents that speak the Agent Client Protocol: any program that does, run as
//! a child process, one for each conversation.
//!
//! - `session`: a process and a conversation with it, opened or taken up again;
//! - `backend`, `heard`: commands of the engine in, events of the agent out;
//! - `turn`, `calls`, `permission`, `questions`, `content`, `output`: what an
//!   agent says, as events;
//! - `settings`: modes, options and models;
//! - `past`: conversations that an agent had without the host;
//! - `services`, `files`, `terminals`: what the host does for an agent;
//! - `mcp`: the MCP servers that an agent is given;
//! - `rpc`: JSON-RPC over lines.
//!
//! *Invariant*: nothing here depends on which agent it is. Where agents differ
//! from the protocol, what decides is what they do, not what they are called.
//!
//! The types of messages are those of the protocol's own crate. Its connection
//! is not used: it rejects what it does not know, and hands out answers apart
//! from notifications, so that a turn could end before its last words.

mod backend;
mod calls;
mod content;
mod files;
mod heard;
mod mcp;
mod output;
mod past;
mod permission;
mod presented;
mod questions;
mod rpc;
mod services;
mod session;
mod settings;
mod terminals;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, ConfigQuery, OpenBackend};
use innkeeper_protocol::mcp::McpServer;
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use tokio::sync::watch;

use crate::knowledge::Knowledge;
use crate::process::{self, Patience, Program, StderrLog};
use crate::{Agent, CommandStream, EventSink};
use session::{Access, Session, Wanted};

/// What makes an agent of a program.
#[derive(Debug, Clone)]
pub struct AcpOptions {
    /// The name by which clients choose it.
    pub provider: String,
    pub display_name: String,
    pub program: Program,
    /// One of the ways of signing in that the agent offers.
    pub auth_method: Option<String>,
    pub patience: Patience,
    /// MCP servers for all its sessions.
    pub mcp_servers: Vec<McpServer>,
    /// A program that connects its standard input and output with the Unix
    /// socket that its last argument names: the way from an agent to the tools
    /// of clients. Without one, agents are not given those.
    pub tool_bridge: Option<Program>,
    /// Where what was learned about it and what it says on standard error are
    /// kept.
    pub directory: Option<PathBuf>,
}

impl AcpOptions {
    pub fn new(provider: impl Into<String>, program: Program) -> Self {
        let provider = provider.into();
        Self {
            display_name: provider.clone(),
            provider,
            program,
            auth_method: None,
            patience: Patience::default(),
            mcp_servers: Vec::new(),
            tool_bridge: None,
            directory: None,
        }
    }
}

/// An agent that speaks the Agent Client Protocol.
#[derive(Debug)]
pub struct AcpAgent {
    access: Access,
    knowledge: Arc<Knowledge>,
}

impl AcpAgent {
    pub fn new(options: AcpOptions) -> Self {
        let (provider, name) = (options.provider, options.display_name);
        let directory = options.directory.as_deref();
        let stderr = StderrLog::of(&provider, directory);
        let line = options.program.line();
        let knowledge = Knowledge::new(provider, name.clone(), line, directory);
        Self {
            access: Access {
                name,
                program: options.program,
                auth_method: options.auth_method,
                patience: options.patience,
                mcp_servers: options.mcp_servers,
                tool_bridge: options.tool_bridge,
                stderr: Arc::new(stderr),
            },
            knowledge: Arc::new(knowledge),
        }
    }
}

impl Agent for AcpAgent {
    fn profile(&self) -> AgentProfile {
        self.knowledge.profile()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.knowledge.changes())
    }

    fn get_to_know(&self) -> BoxFuture<'static, Result<(), String>> {
        let access = self.access.clone();
        let knowledge = Arc::clone(&self.knowledge);
        async move {
            let wanted = Wanted {
                directories: vec![std::env::temp_dir()],
                mcp_servers: Vec::new(),
                resume: None,
                fork_of: None,
                continues: None,
                interactive: None,
            };
            let mut services = services::Services::new(&[]);
            let _alone = knowledge.alone_at_first(access.patience.opening).await;
            match Session::open(&access, &wanted, &mut services).await {
                Ok(session) => {
                    learn(&knowledge, &session);
                    session.process.end(access.patience.ending).await;
                    Ok(())
                }
                Err(error) => {
                    knowledge.failed(error.to_string());
                    Err(error.to_string())
                }
            }
        }
        .boxed()
    }

    fn trouble(&self) -> Option<String> {
        self.knowledge.trouble()
    }

    fn is_known(&self) -> bool {
        self.knowledge.is_complete()
    }

    fn complete_config(
        &self,
        query: ConfigQuery,
    ) -> BoxFuture<'static, Vec<SessionConfigValueItem>> {
        let access = self.access.clone();
        async move {
            if query.property != past::CONTINUE {
                return Vec::new();
            }
            let directory = process::paths(query.directory.as_slice())
                .into_iter()
                .next();
            let listed = Session::list(&access, directory, &query.query).await;
            listed.unwrap_or_else(|error| {
                tracing::warn!(agent = access.name, %error, "its conversations are not listed");
                Vec::new()
            })
        }
        .boxed()
    }

    fn run(
        &self,
        open: OpenBackend,
        commands: CommandStream,
        events: EventSink,
    ) -> BoxFuture<'static, ()> {
        let access = self.access.clone();
        let knowledge = Arc::clone(&self.knowledge);
        backend::run(access, knowledge, open, commands, events).boxed()
    }
}

/// What an open session says about its agent.
fn learn(knowledge: &Knowledge, session: &Session) {
    let version = session.about.agent_info.as_ref().map(|info| {
        let name = info.title.as_ref().unwrap_or(&info.name);
        format!("{name} {}", info.version)
    });
    let models = session.settings.models(knowledge.provider());
    let mut schema = session.settings.schema();
    if past::is_open_book(session.can()) {
        schema
            .properties
            .insert(past::CONTINUE.to_owned(), past::setting());
    }
    let interactive = session.settings.interactive().map(str::to_owned);
    knowledge.learn(version, models, schema, interactive);
}
