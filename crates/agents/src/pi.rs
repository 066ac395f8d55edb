//! The agent pi, in its own RPC mode (`pi --mode rpc`): commands and events as
//! lines of JSON.
//!
//! - `session`: a process and the conversation in it;
//! - `backend`: commands of the engine in, events of pi out;
//! - `turn`, `dialogs`, `patch`: what pi says, as events.

mod backend;
mod dialogs;
mod patch;
mod session;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, OpenBackend};
use tokio::sync::watch;

use crate::knowledge::Knowledge;
use crate::process::{Patience, Program, StderrLog};
use crate::{Agent, CommandStream, EventSink};
use session::Session;

/// What makes an agent of an installed pi.
#[derive(Debug, Clone)]
pub struct PiOptions {
    /// The name by which clients choose it.
    pub provider: String,
    pub display_name: String,
    pub program: Program,
    pub patience: Patience,
    /// Where what was learned about it and what it says on standard error are
    /// kept.
    pub directory: Option<PathBuf>,
}

impl PiOptions {
    pub fn new(provider: impl Into<String>, program: Program) -> Self {
        let provider = provider.into();
        Self {
            display_name: provider.clone(),
            provider,
            program,
            patience: Patience::default(),
            directory: None,
        }
    }
}

#[derive(Debug, Clone)]
struct Access {
    name: String,
    program: Program,
    patience: Patience,
    stderr: Arc<StderrLog>,
}

/// The agent pi.
#[derive(Debug)]
pub struct PiAgent {
    access: Access,
    knowledge: Arc<Knowledge>,
}

impl PiAgent {
    pub fn new(options: PiOptions) -> Self {
        let (provider, name) = (options.provider, options.display_name);
        let directory = options.directory.as_deref();
        let stderr = StderrLog::of(&provider, directory);
        let line = options.program.line();
        let knowledge = Knowledge::new(provider, name.clone(), line, directory);
        Self {
            access: Access {
                name,
                program: options.program,
                patience: options.patience,
                stderr: Arc::new(stderr),
            },
            knowledge: Arc::new(knowledge),
        }
    }
}

impl Agent for PiAgent {
    fn profile(&self) -> AgentProfile {
        self.knowledge.profile()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.knowledge.changes())
    }

    fn is_known(&self) -> bool {
        self.knowledge.is_complete()
    }

    fn trouble(&self) -> Option<String> {
        self.knowledge.trouble()
    }

    fn get_to_know(&self) -> BoxFuture<'static, Result<(), String>> {
        let access = self.access.clone();
        let knowledge = Arc::clone(&self.knowledge);
        async move {
            let _alone = knowledge.alone_at_first(access.patience.opening).await;
            match Session::open(&access, Some(&std::env::temp_dir()), None).await {
                Ok(session) => {
                    let models = session.model_infos(knowledge.provider());
                    knowledge.learn(None, models, session.schema(), None);
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
