//! The agent pi, in its own RPC mode (`pi --mode rpc`): commands and events as
//! lines of JSON.
//!
//! - `speech`: how pi is talked to, in the frame of `child`;
//! - `heard`: what pi says, as it comes in;
//! - `session`: a process and the conversation in it;
//! - `turn`, `dialogs`, `patch`: what pi says, as events.

mod dialogs;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod heard;
mod patch;
mod session;
mod speech;
mod turn;

use std::path::PathBuf;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, OpenBackend};
use innkeeper_protocol::workspace::customization::Reach;
use tokio::sync::watch;

use crate::child::{self, Access};
use crate::process::{Patience, Program};
use crate::{Agent, CommandStream, EventSink, discovery};
use speech::PiSpeech;

/// What makes an agent of an installed pi.
#[derive(Debug, Clone)]
pub struct PiOptions {
    /// The name by which clients choose it.
    pub provider: String,
    pub display_name: String,
    pub program: Program,
    pub patience: Patience,
    /// The customizations that it reads by itself, as in [`Reach`]. It gets no
    /// others.
    pub reads: Vec<String>,
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
            reads: Vec::new(),
            directory: None,
        }
    }
}

/// The agent pi.
#[derive(Debug)]
pub struct PiAgent {
    access: Access,
    reach: Reach,
}

impl PiAgent {
    pub fn new(options: PiOptions) -> Self {
        Self {
            access: Access::new(
                options.provider,
                options.display_name,
                options.program,
                options.patience,
                options.directory.as_deref(),
            ),
            reach: Reach {
                reads: options.reads,
                home: discovery::home(),
                ..Reach::default()
            },
        }
    }
}

impl Agent for PiAgent {
    fn profile(&self) -> AgentProfile {
        AgentProfile {
            reach: self.reach.clone(),
            ..self.access.knowledge.profile()
        }
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
        child::get_to_know(self.access.clone(), PiSpeech::just_to_meet()).boxed()
    }

    fn run(
        &self,
        open: OpenBackend,
        commands: CommandStream,
        events: EventSink,
    ) -> BoxFuture<'static, ()> {
        let speech = PiSpeech::for_conversation(&open);
        child::run(self.access.clone(), speech, open, commands, events).boxed()
    }
}
