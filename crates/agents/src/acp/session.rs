//! A session with an agent: who the agent is and what it can do, and the
//! conversation in it, new or taken up again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    AgentCapabilities, InitializeResponse, McpServer as GivenServer,
};
use innkeeper_protocol::agent::{AgentFailure, NotTakenUp};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::child_sessions::ChildSessions;
use super::counting::Counting;
use super::opening::{Begun, Opening, beginning};
use super::past;
use super::permission;
use super::questions::Questions;
use super::rpc::{Incoming, Peer, RequestNo};
use super::services::Services;
use super::settings::{Change, Settings};
use super::sign_in::SignedOut;
use super::sign_in::ways::Way;
use super::spare::Introduced;
use super::speech::Extras;
use super::turn::Cost;
use crate::child::{Access, Opened};
use crate::process::ChildProcess;

/// What a session is opened with.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) directories: Vec<PathBuf>,
    pub(super) mcp_servers: Vec<GivenServer>,
    /// The agent's name for the session that is to be taken up again.
    pub(super) resume: Option<String>,
    /// Its name for the session that this one is to begin as a copy of.
    pub(super) fork_of: Option<String>,
    /// Its name for a session that it had without the host, to go on with.
    pub(super) continues: Option<String>,
    /// The mode that clients know as `interactive`, where that is settled.
    pub(super) interactive: Option<String>,
}

impl Wanted {
    /// Whether nothing was said in the conversation before.
    fn is_new(&self) -> bool {
        self.resume.is_none() && self.fork_of.is_none() && self.continues.is_none()
    }

    /// The same for a conversation that this host has had, or for a new one.
    pub(super) fn again(&self, resume: Option<String>) -> Self {
        Self {
            resume,
            fork_of: None,
            continues: None,
            ..self.clone()
        }
    }

    pub(super) fn directory(&self) -> PathBuf {
        let first = self.directories.first().cloned();
        first.unwrap_or_else(|| std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")))
    }
}

/// A running agent and the conversation with it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) peer: Peer,
    pub(super) id: String,
    pub(super) about: InitializeResponse,
    pub(super) settings: Settings,
    pub(super) cost: Cost,
    /// What the agent said while the session was being opened.
    pub(super) said: Vec<Value>,
    /// Settings that are being changed.
    pub(super) changing: HashMap<RequestNo, Change>,
    /// The steering message that the agent has not answered yet, by its id.
    pub(super) steering: Option<(RequestNo, String)>,
    pub(super) questions: Questions,
    /// Sub-agents that have sessions of their own.
    pub(super) children: ChildSessions,
    /// The agent was told of the user's customizations.
    pub(super) is_told: bool,
    /// The agent's answer to a prompt, held back for what the turn has used.
    pub(super) answer: Option<HeldAnswer>,
    /// Whether the agent says what a turn has used after it has ended; unknown
    /// until one ended without a word of it.
    pub(super) counts_late: Option<bool>,
    pub(super) counting: Counting,
    /// The model that the engine knows to be the agent's.
    pub(super) told_model: Option<String>,
    /// The ways of signing in that the agent names.
    pub(super) ways: Vec<Way>,
    /// The agent wants somebody to sign in before it goes on.
    pub(super) signed_out: Option<SignedOut>,
    /// The version of the keys that its process was started with.
    pub(super) keys: u64,
}

/// An answer that waits until `due`.
#[derive(Debug)]
pub(super) struct HeldAnswer {
    pub(super) due: Instant,
    pub(super) answer: Value,
}

impl Session {
    pub(super) async fn open(
        access: &Access,
        extras: &Extras,
        wanted: &Wanted,
        services: &mut Services,
    ) -> Result<Opened<Self>, AgentFailure> {
        let Introduced {
            mut process,
            mut peer,
            about,
            ways,
            keys,
        } = introduced(access, extras, &wanted.directory(), services).await?;
        let mut opening = Opening::with(access, services, &mut process, &mut peer);
        opening.ways = ways;
        let begun = opening.converse(wanted, &about).await;
        let Opening {
            ways,
            said,
            history,
            ..
        } = opening;
        let (begun, signed_out) = match begun {
            Ok(begun) => (begun, None),
            // What was said in a conversation to go on with has to be told at once.
            Err(AgentFailure::SignInRequired { said, .. }) if wanted.continues.is_none() => {
                let signed_out = SignedOut {
                    wanted: wanted.clone(),
                    said,
                    refused_prompt: false,
                };
                (Begun::not_yet(), Some(signed_out))
            }
            Err(failure) => return Err(failure),
        };
        let past = history.filter(|_| wanted.continues.is_some());
        let interactive = wanted.interactive.as_deref();
        let session = Self {
            peer,
            id: begun.id,
            settings: Settings::of(&begun.answer, interactive, wanted.is_new()),
            cost: Cost::of_conversation(wanted.is_new()),
            about,
            said,
            changing: HashMap::new(),
            steering: None,
            questions: Questions::default(),
            children: ChildSessions::default(),
            is_told: false,
            answer: None,
            counts_late: None,
            counting: Counting::default(),
            told_model: None,
            ways,
            signed_out,
            keys,
        };
        Ok(Opened {
            process,
            session,
            remembers: begun.remembers,
            forgotten: begun.forgotten,
            past: past.map(|told| past::recounted(&told)).unwrap_or_default(),
        })
    }

    /// There is a conversation. Without one, nobody is signed in.
    pub(super) fn has_conversation(&self) -> bool {
        !self.id.is_empty()
    }

    /// Why nobody can go on without signing in, in the agent's words.
    pub(super) fn said_of_sign_in(&self) -> Option<String> {
        Some(self.signed_out.as_ref()?.said.clone())
    }

    /// The conversation that was wanted began when somebody had signed in.
    pub(super) fn has_at_last(
        &mut self,
        wanted: &Wanted,
        begun: Begun,
        said: Vec<Value>,
    ) -> (bool, Option<NotTakenUp>) {
        let interactive = wanted.interactive.as_deref();
        self.id = begun.id;
        self.settings = Settings::of(&begun.answer, interactive, wanted.is_new());
        self.said = said;
        self.signed_out = None;
        self.is_told = begun.remembers;
        (begun.remembers, begun.forgotten)
    }

    /// Nobody answers what sub-agents have asked that are done.
    pub(super) fn answer_dismissed(&mut self) {
        for asked in self.children.take_dismissed() {
            let answers = self.peer.answers();
            answers.give(&asked.request, Ok(permission::answer(None)));
        }
    }

    /// Asks for a change of a setting.
    pub(super) fn change(&mut self, change: Change) {
        let request = self.peer.request(change.method, &change.params);
        self.changing.insert(request, change);
    }

    /// Waits for an answer and for nothing else.
    pub(super) async fn answer_to(&mut self, request: RequestNo) {
        while let Some(incoming) = self.peer.next().await {
            if matches!(incoming, Incoming::Response { to, .. } if to == request) {
                return;
            }
        }
    }

    /// What the agent is asked for another new conversation.
    pub(super) fn beginning(&self, wanted: &Wanted) -> Value {
        beginning(wanted, self.can())
    }

    /// The agent began another conversation, and this one is left.
    pub(super) fn has_begun(&mut self, wanted: &Wanted, id: String, opened: &Value) {
        self.id = id;
        self.settings = Settings::of(opened, wanted.interactive.as_deref(), true);
        self.changing.clear();
        self.is_told = false;
    }

    /// Whether the agent can take up a conversation that it had before.
    pub(super) fn can_be_taken_up(&self) -> bool {
        self.can().load_session || self.can().session_capabilities.resume.is_some()
    }

    pub(super) fn can(&self) -> &AgentCapabilities {
        &self.about.agent_capabilities
    }

    /// Whether a message can be given to the agent while a turn runs.
    pub(super) fn can_be_steered(&self) -> bool {
        let supported = |meta: &serde_json::Map<String, Value>| {
            meta.get("steering")
                .is_some_and(|steering| steering["supported"] == true)
        };
        self.about.meta.as_ref().is_some_and(supported)
            || self.can().meta.as_ref().is_some_and(supported)
    }
}

/// An agent that a conversation can begin with: the one that runs already, or one
/// that is started.
async fn introduced(
    access: &Access,
    extras: &Extras,
    directory: &Path,
    services: &mut Services,
) -> Result<Introduced, AgentFailure> {
    if let Some(spare) = extras.spare.take_for(access, directory).await {
        services.are_in(spare.process.surroundings());
        return Ok(spare);
    }
    start_introduced(access, extras.auth_method.as_deref(), directory, services).await
}

async fn start_introduced(
    access: &Access,
    auth_method: Option<&str>,
    directory: &Path,
    services: &mut Services,
) -> Result<Introduced, AgentFailure> {
    let (mut process, mut peer, keys) = start(access, directory, services).await?;
    let mut opening = Opening::with(access, services, &mut process, &mut peer);
    let about = opening.introduce(auth_method).await?;
    let ways = opening.ways;
    Ok(Introduced {
        process,
        peer,
        about,
        ways,
        keys,
    })
}

/// An agent that was started to be asked something, without a conversation.
pub(super) struct Lister {
    introduced: Introduced,
    services: Services,
}

/// Starts an agent in a directory, to ask it something.
pub(super) async fn lister(
    access: &Access,
    auth_method: Option<&str>,
    directory: Option<&Path>,
) -> Result<Lister, AgentFailure> {
    let mut services = Services::new(&[]);
    let home = directory.map_or_else(std::env::temp_dir, Path::to_owned);
    let introduced = start_introduced(access, auth_method, &home, &mut services).await?;
    Ok(Lister {
        introduced,
        services,
    })
}

impl Lister {
    pub(super) fn is_open_book(&self) -> bool {
        past::is_open_book(&self.introduced.about.agent_capabilities)
    }

    pub(super) async fn ask<T: DeserializeOwned>(
        &mut self,
        access: &Access,
        method: &str,
        params: &Value,
    ) -> Result<T, AgentFailure> {
        let Introduced { process, peer, .. } = &mut self.introduced;
        let mut opening = Opening::with(access, &mut self.services, process, peer);
        let answer = opening.call(method, params).await?;
        serde_json::from_value(answer).map_err(|error| opening.strange(error.to_string()))
    }

    pub(super) async fn end(self, access: &Access) {
        self.introduced.process.end(access.patience.ending).await;
    }
}

/// Starts the agent's program. With it comes the version of the keys that it was
/// given.
async fn start(
    access: &Access,
    directory: &Path,
    services: &mut Services,
) -> Result<(ChildProcess, Peer, u64), AgentFailure> {
    let (program, keys) = access.program_now();
    let started = ChildProcess::start(&program, Some(directory), &access.stderr);
    let (process, lines) = started.await?;
    services.are_in(process.surroundings());
    Ok((process, Peer::new(lines, &access.sign_in), keys))
}
