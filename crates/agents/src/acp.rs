//! Agents that speak the Agent Client Protocol: any program that does, run as
//! a child process, one for each conversation.
//!
//! - `session`: a process and a conversation with it, opened or taken up again;
//! - `backend`: commands of the engine in, events of the agent out;
//! - `turn`, `calls`, `permission`, `questions`, `content`, `output`: what an
//!   agent says, as events;
//! - `settings`: modes, options and models;
//! - `services`, `files`, `terminals`: what the host does for an agent;
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
mod output;
mod permission;
mod questions;
mod rpc;
mod services;
mod session;
mod settings;
mod terminals;
mod turn;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, OpenBackend};
use innkeeper_protocol::house::state::{
    AgentCapabilities, AgentInfo, MultipleChatsCapability, SessionConfigSchema, SessionModelInfo,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::process::{Program, StderrLog};
use crate::{Agent, CommandStream, EventSink};
use session::{Access, OpenError, Session, Wanted};

pub use session::Patience;

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
        let file = |kind: &str| {
            let directory = options.directory.as_ref()?;
            Some(directory.join(format!("{}.{kind}", options.provider)))
        };
        let knowledge = Knowledge::new(&options, file("json"));
        Self {
            access: Access {
                name: options.display_name,
                program: options.program,
                auth_method: options.auth_method,
                patience: options.patience,
                stderr: Arc::new(StderrLog::new(file("log"))),
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
        Some(self.knowledge.changes.subscribe())
    }

    fn get_to_know(&self) -> BoxFuture<'static, Result<(), String>> {
        let access = self.access.clone();
        let knowledge = Arc::clone(&self.knowledge);
        async move {
            let wanted = Wanted {
                directories: vec![std::env::temp_dir()],
                mcp_servers: Vec::new(),
                resume: None,
            };
            let mut services = services::Services::new(&[]);
            match Session::open(&access, &wanted, &mut services).await {
                Ok(session) => {
                    knowledge.learn(&session);
                    session.process.end(access.patience.ending).await;
                    Ok(())
                }
                Err(error) => {
                    knowledge.failed(&error);
                    Err(error.to_string())
                }
            }
        }
        .boxed()
    }

    fn trouble(&self) -> Option<String> {
        self.knowledge.lock().trouble.clone()
    }

    fn is_known(&self) -> bool {
        self.knowledge.lock().version.is_some()
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

/// What is known of an agent. Most of it is learned from the agent itself, the
/// first time that it runs, and remembered for the next start of the host.
#[derive(Debug)]
pub(crate) struct Knowledge {
    provider: String,
    display_name: String,
    command: String,
    file: Option<PathBuf>,
    learned: Mutex<Learned>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Learned {
    /// What it calls itself; unknown until it ran.
    version: Option<String>,
    #[serde(default)]
    models: Vec<SessionModelInfo>,
    #[serde(default)]
    config: Option<SessionConfigSchema>,
    /// Why it did not start, the last time.
    #[serde(default)]
    trouble: Option<String>,
}

impl Knowledge {
    fn new(options: &AcpOptions, file: Option<PathBuf>) -> Self {
        let stored = file.as_ref().and_then(|file| std::fs::read(file).ok());
        let learned = stored.and_then(|stored| serde_json::from_slice(&stored).ok());
        Self {
            provider: options.provider.clone(),
            display_name: options.display_name.clone(),
            command: options.program.line(),
            file,
            learned: Mutex::new(learned.unwrap_or_default()),
            changes: watch::Sender::new(0),
        }
    }

    fn profile(&self) -> AgentProfile {
        let learned = self.lock().clone();
        let description = match (&learned.trouble, &learned.version) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(version)) => format!("{version} (`{}`)", self.command),
            (None, None) => format!("`{}`", self.command),
        };
        let config = learned
            .config
            .unwrap_or_else(|| settings::Settings::default().schema());
        AgentProfile {
            info: AgentInfo {
                provider: self.provider.clone(),
                display_name: self.display_name.clone(),
                description,
                models: learned.models,
                protected_resources: None,
                customizations: None,
                capabilities: Some(AgentCapabilities {
                    multiple_chats: Some(MultipleChatsCapability {
                        fork: Some(true),
                        side_chat: Some(true),
                    }),
                    ..AgentCapabilities::default()
                }),
            },
            config: Some(config),
        }
    }

    fn learn(&self, session: &Session) {
        let version = session.about.agent_info.as_ref().map(|info| {
            let name = info.title.as_ref().unwrap_or(&info.name);
            format!("{name} {}", info.version)
        });
        self.change(|learned| {
            *learned = Learned {
                version: Some(version.unwrap_or_else(|| self.display_name.clone())),
                models: session.settings.models(&self.provider),
                config: Some(session.settings.schema()),
                trouble: None,
            };
        });
    }

    fn failed(&self, error: &OpenError) {
        self.change(|learned| learned.trouble = Some(error.to_string()));
    }

    /// It ran and ended by itself; that is worth a line in the log.
    fn ended(&self, reason: &str) {
        tracing::warn!(agent = self.provider, reason, "an agent's process is gone");
    }

    fn change(&self, change: impl FnOnce(&mut Learned)) {
        let mut learned = self.lock();
        let before = learned.clone();
        change(&mut learned);
        if *learned == before {
            return;
        }
        if let Some(file) = &self.file {
            // Without it, the agent is asked again the next time.
            let directory = file.parent().map_or(Ok(()), std::fs::create_dir_all);
            let json = serde_json::to_vec_pretty(&*learned).unwrap_or_default();
            if let Err(error) = directory.and_then(|()| std::fs::write(file, json)) {
                tracing::debug!(%error, file = %file.display(), "not remembered");
            }
        }
        drop(learned);
        self.changes.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
