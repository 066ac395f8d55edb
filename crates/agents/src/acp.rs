//! Agents that speak the Agent Client Protocol: any program that does, run as
//! a child process, one for each conversation.
//!
//! - `speech`: how such an agent is talked to, in the frame of `child`;
//! - `heard`: what it says, as it comes in;
//! - `session`, `opening`, `spare`: a process and a conversation with it, opened
//!   or taken up again;
//! - `sub_agents`, `child_sessions`: what those do who work for an agent, for one
//!   of its calls or in sessions of their own;
//! - `turn`, `counting`, `calls`, `call`, `permission`, `questions`, `content`, `output`, `results`:
//!   what an agent says, as events;
//! - `whole_edits`, `written`: the files that its calls change;
//! - `settings`: modes, options and models;
//! - `past`, `listing`: conversations that an agent had without the host;
//! - `services`, `files`, `terminals`: what the host does for an agent;
//! - `mcp`, `tool_servers`, `tools`: the MCP servers that an agent is given, and
//!   those through which it uses the tools of others;
//! - `instructions`: what an agent is told of the user's customizations;
//! - `rpc`: JSON-RPC over lines.
//!
//! *Invariant*: nothing here depends on which agent it is. Where agents differ
//! from the protocol, what decides is what they do, not what they are called.
//!
//! The types of messages are those of the protocol's own crate. Its connection
//! is not used: it rejects what it does not know, and hands out answers apart
//! from notifications, so that a turn could end before its last words.

mod call;
mod calls;
mod child_sessions;
mod content;
mod counting;
mod files;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod heard;
mod instructions;
mod listing;
mod mcp;
mod opening;
mod output;
mod past;
mod permission;
mod presented;
mod questions;
mod results;
mod rpc;
mod services;
mod session;
mod settings;
mod sign_in;
mod spare;
mod speech;
mod sub_agents;
mod terminals;
mod tool_servers;
mod tools;
mod turn;
mod whole_edits;
mod written;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, ConfigQuery, OpenBackend};
use innkeeper_protocol::mcp::McpServer;
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use innkeeper_protocol::settings::CONTINUE;
use innkeeper_protocol::workspace::customization::Reach;
use tokio::sync::watch;

use crate::child::{self, Access, TokenFor};
use crate::client_tools::HttpTools;
use crate::process::{self, Patience, Program};
use crate::registry::SignIn;
use crate::{Agent, CommandStream, EventSink, discovery};
use listing::Listing;
use speech::{AcpSpeech, Extras};

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
    /// For an agent that refuses to start MCP servers: the way to the tools
    /// instead of the bridge.
    pub http_tools: Option<Arc<HttpTools>>,
    /// The customizations that it reads by itself, as in [`Reach`]. It is told of
    /// the others with its first message.
    pub reads: Vec<String>,
    /// A token of clients that it can use.
    pub token_for: Option<TokenFor>,
    /// What is special about signing in to it.
    pub sign_in: SignIn,
    /// Where what was learned about it and what it says on standard error are
    /// kept.
    pub directory: Option<PathBuf>,
}

impl AcpOptions {
    pub fn new(provider: impl Into<String>, program: Program) -> Self {
        let provider = provider.into();
        Self {
            display_name: provider.clone(),
            program,
            auth_method: None,
            patience: Patience::default(),
            mcp_servers: Vec::new(),
            tool_bridge: None,
            http_tools: None,
            reads: Vec::new(),
            token_for: discovery::token_for(&provider),
            sign_in: SignIn::default(),
            directory: None,
            provider,
        }
    }
}

/// An agent that speaks the Agent Client Protocol.
#[derive(Debug)]
pub struct AcpAgent {
    access: Access,
    extras: Extras,
    listing: Arc<Listing>,
}

impl AcpAgent {
    pub fn new(options: AcpOptions) -> Self {
        let reach = Reach {
            reads: options.reads,
            home: discovery::home(),
            is_told: true,
            takes_servers: options.tool_bridge.is_some() || options.http_tools.is_some(),
        };
        Self {
            access: Access {
                token_for: options.token_for,
                sign_in: Arc::new(options.sign_in),
                ..Access::new(
                    options.provider,
                    options.display_name,
                    options.program,
                    options.patience,
                    options.directory.as_deref(),
                )
            },
            extras: Extras {
                auth_method: options.auth_method,
                mcp_servers: options.mcp_servers,
                tool_bridge: options.tool_bridge,
                http_tools: options.http_tools,
                reach,
                spare: Arc::default(),
            },
            listing: Arc::default(),
        }
    }
}

impl Agent for AcpAgent {
    fn profile(&self) -> AgentProfile {
        let mut profile = self.access.knowledge.profile();
        let token = self.access.token_for.as_ref();
        profile.info.protected_resources = token.map(|token| vec![token.as_resource()]);
        profile.reach = self.extras.reach.clone();
        profile
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.access.knowledge.changes())
    }

    fn is_known(&self) -> bool {
        self.access.knowledge.is_complete()
    }

    fn trouble(&self) -> Option<String> {
        self.access.knowledge.trouble()
    }

    fn get_to_know(&self) -> BoxFuture<'static, Result<(), String>> {
        let speech = AcpSpeech::just_to_meet(self.extras.clone());
        child::get_to_know(self.access.clone(), speech).boxed()
    }

    fn complete_config(
        &self,
        query: ConfigQuery,
    ) -> BoxFuture<'static, Vec<SessionConfigValueItem>> {
        let access = self.access.clone();
        let auth_method = self.extras.auth_method.clone();
        let listing = Arc::clone(&self.listing);
        async move {
            if query.property != CONTINUE {
                return Vec::new();
            }
            let directory = process::paths(query.directory.as_slice())
                .into_iter()
                .next();
            let auth_method = auth_method.as_deref();
            let listed = listing.offer(&access, auth_method, directory, &query.query);
            let listed = listed.await;
            listed.unwrap_or_else(|failure| {
                tracing::warn!(agent = access.name, %failure, "its conversations are not listed");
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
        let (access, extras) = (self.access.clone(), self.extras.clone());
        let speech = AcpSpeech::for_conversation(extras, &access.knowledge, &open);
        child::run(access, speech, open, commands, events).boxed()
    }
}
