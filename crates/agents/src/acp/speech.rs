//! How an agent behind the Agent Client Protocol is talked to: what differs
//! from other agents that are child processes.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{AGENT_METHOD_NAMES, ContentBlock, PromptCapabilities};
use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{
    AgentFailure, AgentNotice, ClientTool, Decision, OpenBackend, TurnEvent,
};
use innkeeper_protocol::mcp::McpServer;
use innkeeper_protocol::newest::state::PendingMessage;
use innkeeper_protocol::workspace::customization::Reach;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::call::Around;
use super::instructions::{Instructions, Told};
use super::mcp::{self, ClientCalls};
use super::opening::sign_in_required;
use super::rpc::Incoming;
use super::services::Services;
use super::session::{Session, Wanted};
use super::sign_in::SignedOut;
use super::spare::{Introduced, Spare};
use super::sub_agents::Spoken;
use super::tool_servers::ToolServers;
use super::turn::Turn;
use super::whole_edits::Texts;
use super::{content, past, permission};
use crate::child::{Access, Conversation, Given, NotOpened, Opened, Readiness, Speech, Start};
use crate::client_tools::{ClientCall, HttpTools};
use crate::knowledge::{Abilities, Knowledge};
use crate::process::{self, Program};

/// The key of the agent's name for a session in what is kept for resuming.
const SESSION: &str = "acp";
/// Likewise of the mode that clients know as `interactive`.
const INTERACTIVE: &str = "interactive";

/// How long a change of a setting may take before a prompt goes on without it.
const SETTING: Duration = Duration::from_secs(10);

/// How long an agent has for closing a session before it is told to go.
const CLOSING: Duration = Duration::from_secs(1);

/// A conversation with an agent behind the Agent Client Protocol.
pub(super) type Talk = Conversation<AcpSpeech>;

/// What a configuration says about an agent, besides how it is reached.
#[derive(Debug, Clone, Default)]
pub(super) struct Extras {
    /// The way of signing in that was chosen.
    pub(super) auth_method: Option<String>,
    pub(super) mcp_servers: Vec<McpServer>,
    pub(super) tool_bridge: Option<Program>,
    pub(super) http_tools: Option<Arc<HttpTools>>,
    /// How customizations come to the agent.
    pub(super) reach: Reach,
    /// A process that runs already.
    pub(super) spare: Arc<Spare>,
}

pub(super) struct AcpSpeech {
    pub(super) extras: Extras,
    pub(super) wanted: Wanted,
    pub(super) services: Services,
    /// Where the agent finds the tools of others, once there are any.
    pub(super) tool_servers: ToolServers,
    pub(super) client_calls: ClientCalls,
    /// What the agent may be told of, and what it is told with the next message.
    instructions: Arc<Instructions>,
    told: Option<String>,
    /// The agent runs and was not told of some of them.
    pub(super) unaware_of_tools: bool,
    /// The user knows that the agent cannot have any.
    pub(super) told_of_no_tools: bool,
    /// How often the turn that runs was refused because nobody is signed in.
    pub(super) sign_ins: usize,
}

/// What an agent says to the host, over the protocol or over that of tools.
pub(super) enum Said {
    Message(Incoming),
    ToolCall(Box<ClientCall>),
    /// Nothing more, to a prompt whose answer was held back.
    TurnIsOver,
}

impl AcpSpeech {
    pub(super) fn for_conversation(
        extras: Extras,
        knowledge: &Knowledge,
        open: &OpenBackend,
    ) -> Self {
        let directories = process::paths(&open.directories);
        let of_session = open.customizations.mcp_servers.iter();
        // Of two with the same name, the configuration's is meant.
        let of_session = of_session.filter(|server| {
            let mut configured = extras.mcp_servers.iter();
            configured.all(|known| known.name != server.name)
        });
        let servers = extras.mcp_servers.iter().chain(of_session);
        let hosted = open.customizations.hosted_servers.values();
        let hosted = hosted.filter(|name| {
            let mut configured = extras.mcp_servers.iter();
            configured.all(|known| known.name != **name)
        });
        let hosted: Vec<&str> = hosted.map(String::as_str).collect();
        let interactive = kept(open.resume.as_ref().or(open.fork_of.as_ref()), INTERACTIVE);
        let wanted = Wanted {
            mcp_servers: servers.map(mcp::given).collect(),
            resume: kept(open.resume.as_ref(), SESSION),
            fork_of: kept(open.fork_of.as_ref(), SESSION),
            continues: past::wanted(open),
            interactive: interactive.or_else(|| knowledge.interactive()),
            directories,
        };
        let instructions = Instructions::new(&open.customizations.files, &extras.reach);
        let mut speech = Self::new(extras, wanted);
        speech.instructions = Arc::new(instructions);
        speech.serve_tools(&open.client_tools, &hosted);
        speech
    }

    pub(super) fn just_to_meet(extras: Extras) -> Self {
        let wanted = Wanted {
            directories: vec![std::env::temp_dir()],
            ..Wanted::default()
        };
        Self {
            services: Services::new(&[]),
            ..Self::new(extras, wanted)
        }
    }

    fn new(extras: Extras, wanted: Wanted) -> Self {
        Self {
            services: Services::new(&wanted.directories),
            tool_servers: ToolServers::new(extras.tool_bridge.clone(), extras.http_tools.clone()),
            extras,
            wanted,
            client_calls: ClientCalls::default(),
            instructions: Arc::default(),
            told: None,
            unaware_of_tools: false,
            told_of_no_tools: false,
            sign_ins: 0,
        }
    }

    /// A conversation is open.
    pub(super) fn has_opened(&mut self, session: &Session) {
        let mode = session.settings.interactive().map(str::to_owned);
        self.wanted.interactive = mode.or(self.wanted.interactive.take());
        self.unaware_of_tools = false;
    }

    /// A name for something in a turn that nothing else in it has, in this life
    /// of the host or an earlier one.
    pub(super) fn sign_in_name(&self) -> String {
        let mut bytes = [0; 8];
        // Without it, names are only unlikely to meet again.
        let _ = getrandom::fill(&mut bytes);
        format!("sign-in-{:016x}", u64::from_ne_bytes(bytes))
    }

    /// Makes the tools of others reachable, and adds the ways to them to what a
    /// session is opened with. Returns whether there are new ways.
    fn serve_tools(&mut self, tools: &[ClientTool], hosted: &[&str]) -> bool {
        let ways = self.tool_servers.offer(tools, hosted.iter().copied());
        let has_new = !ways.is_empty();
        self.wanted.mcp_servers.extend(ways);
        has_new
    }
}

impl Speech for AcpSpeech {
    type Session = Session;
    type Turn = Turn;
    type Said = Said;

    async fn open(
        &mut self,
        access: &Access,
        start: Start<'_, Session>,
    ) -> Result<Opened<Session>, AgentFailure> {
        let wanted = match start {
            Start::AsAsked => self.wanted.clone(),
            Start::TakeUp(before) => match &before.signed_out {
                Some(out) if !before.has_conversation() => Wanted {
                    // What there is for it may be more by now.
                    mcp_servers: self.wanted.mcp_servers.clone(),
                    ..out.wanted.clone()
                },
                _ => self.wanted.again(Some(before.id.clone())),
            },
            Start::Anew => self.wanted.again(None),
        };
        let mut opened = Session::open(access, &self.extras, &wanted, &mut self.services).await?;
        // What it remembers begins with what it was told.
        opened.session.is_told = opened.remembers;
        self.has_opened(&opened.session);
        Ok(opened)
    }

    fn hand_over(&mut self, access: &Access, opened: Opened<Session>) -> Option<Opened<Session>> {
        let session = opened.session;
        let introduced = Introduced {
            process: opened.process,
            peer: session.peer,
            about: session.about,
            ways: session.ways,
            keys: session.keys,
        };
        let grace = access.patience.ending;
        self.extras.spare.keep(introduced, grace);
        None
    }

    fn signed_out(access: &Access, session: &Session) -> Option<AgentFailure> {
        let said = session.said_of_sign_in()?;
        Some(sign_in_required(access, &session.ways, said))
    }

    async fn sign_in(talk: &mut Talk, turn: &TurnId) -> Result<(), NotOpened> {
        talk.sign_in_first(turn).await
    }

    fn learn(session: &Session, knowledge: &Knowledge) {
        let version = session.about.agent_info.as_ref().map(|info| {
            let name = info.title.as_ref().unwrap_or(&info.name);
            format!("{name} {}", info.version)
        });
        let models = session.settings.models(knowledge.provider());
        let mut schema = session.settings.schema();
        if past::is_open_book(session.can()) {
            let (name, setting) = past::setting();
            schema.properties.insert(name, setting);
        }
        let interactive = session.settings.interactive().map(str::to_owned);
        let of_sessions = &session.can().session_capabilities;
        let abilities = Abilities {
            several_directories: of_sessions.additional_directories.is_some(),
            resumes: session.can_be_taken_up(),
        };
        knowledge.learn(version, models, schema, interactive, abilities);
    }

    fn found_by(session: &Session) -> Option<Value> {
        // Where there is none yet, what was to be found is still to be found.
        let unopened = session.signed_out.as_ref();
        let wanted = unopened.filter(|_| !session.has_conversation());
        let (id, mode) = match wanted {
            Some(SignedOut { wanted, .. }) => {
                (wanted.resume.as_deref()?, wanted.interactive.as_deref())
            }
            None => (&*session.id, session.settings.interactive()),
        };
        let mut resume = json!({SESSION: id});
        if let Some(mode) = mode {
            resume[INTERACTIVE] = json!(mode);
        }
        Some(resume)
    }

    async fn opened(talk: &mut Talk) {
        talk.tell_model().await;
        for update in std::mem::take(&mut talk.session.said) {
            talk.update(&update).await;
        }
    }

    async fn next(&mut self, session: &mut Session) -> Option<Said> {
        let due = session.answer.as_ref().map(|held| held.due);
        let is_over = tokio::time::sleep_until(due.unwrap_or_else(Instant::now));
        tokio::select! {
            biased;
            message = session.peer.next() => match message {
                Some(message) => Some(Said::Message(message)),
                None => due.map(|_| Said::TurnIsOver),
            },
            () = is_over, if due.is_some() => Some(Said::TurnIsOver),
            call = self.tool_servers.next_call() => Some(Said::ToolCall(Box::new(call))),
        }
    }

    async fn said(talk: &mut Talk, said: Said) {
        match said {
            Said::Message(message) => talk.incoming(message).await,
            Said::ToolCall(call) => talk.call_client(*call).await,
            Said::TurnIsOver => {
                talk.session.counts_late.get_or_insert(false);
                talk.give_held_answer().await;
            }
        }
    }

    fn configure(talk: &mut Talk) {
        let session = &mut talk.session;
        for change in session.settings.changes(&session.id, &talk.config) {
            session.change(change);
        }
    }

    async fn readiness(talk: &mut Talk) -> Readiness {
        if talk.session.signed_out.is_some() {
            return Readiness::Ready;
        }
        if talk.session.keys != talk.access.keys.version() {
            return Readiness::InNewProcess;
        }
        if talk.cannot_have_tools() {
            return Readiness::Ready;
        }
        match talk.speech.unaware_of_tools {
            true => talk.make_aware_of_tools().await,
            false => Readiness::Ready,
        }
    }

    /// Selects the model, and waits until all settings are made.
    async fn settle_settings(talk: &mut Talk, model: Option<&str>) {
        talk.prepare_instructions().await;
        let session = &mut talk.session;
        let change = model.and_then(|model| session.settings.model_change(&session.id, model));
        if let Some(change) = change {
            session.change(change);
        }
        let deadline = Instant::now() + SETTING;
        while !talk.session.changing.is_empty() {
            match tokio::time::timeout_at(deadline, talk.session.peer.next()).await {
                Ok(Some(message)) => talk.hear(Said::Message(message)).await,
                // Its end is seen where ends are seen.
                Ok(None) => return,
                Err(_) => {
                    talk.session.changing.clear();
                    talk.settings_changed().await;
                    talk.notices.push(AgentNotice::SettingsNotConfirmed);
                }
            }
        }
    }

    fn prompt(talk: &mut Talk, given: Given<'_>) -> Turn {
        let session = &mut talk.session;
        let mut blocks: Vec<ContentBlock> = Vec::new();
        blocks.extend(talk.speech.told.take().map(ContentBlock::from));
        let agent = given.message.and_then(|message| message.agent.as_ref());
        let agent = agent.and_then(|agent| talk.speech.instructions.agent(&agent.uri));
        blocks.extend(agent.map(ContentBlock::from));
        blocks.extend(given.context.map(ContentBlock::from));
        if let Some(message) = given.message {
            blocks.extend(content::prompt(message, prompt_capabilities(session)));
        }
        blocks.extend(given.interrupted.map(ContentBlock::from));
        talk.speech.services.turn_begins();
        let params = json!({"sessionId": session.id, "prompt": blocks});
        let method = AGENT_METHOD_NAMES.session_prompt;
        let request = session.peer.request(method, &params);
        Turn::of(request, session.settings.current_model(), session.cost)
    }

    fn cancel(talk: &mut Talk) {
        talk.dismiss_requests();
        if let Some(turn) = &talk.turn {
            talk.session.children.turn_cancelled(&turn.id);
            talk.session.answer_dismissed();
        }
        let peer = &talk.session.peer;
        // Some agents wait for the end of a command before they stop.
        talk.speech.services.turn_ends(peer.answers());
        let params = json!({"sessionId": talk.session.id});
        peer.notify(AGENT_METHOD_NAMES.session_cancel, &params);
    }

    fn steer(talk: &mut Talk, message: &PendingMessage) -> bool {
        let session = &mut talk.session;
        if !session.can_be_steered() {
            return false;
        }
        let params = json!({
            "sessionId": session.id,
            "prompt": content::prompt(&message.message, prompt_capabilities(session)),
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        });
        let request = session.peer.request("_session/steering", &params);
        session.steering = Some((request, message.id.clone()));
        true
    }

    fn is_delegated(talk: &Talk, turn: &str) -> bool {
        let running = talk.turn.as_ref();
        let by_call = running.is_some_and(|running| running.own.is_delegated(turn));
        by_call || talk.session.children.work_on(turn)
    }

    fn stop_delegate(talk: &mut Talk, turn: &str) -> bool {
        let session = &mut talk.session;
        let Some(stopped) = session.children.stop(turn) else {
            return false;
        };
        session.answer_dismissed();
        if let Some(id) = stopped {
            let params = json!({"sessionId": id});
            session
                .peer
                .notify(AGENT_METHOD_NAMES.session_cancel, &params);
        }
        true
    }

    fn turn_is_over(
        session: &mut Session,
        id: &TurnId,
        turn: &mut Turn,
        well: bool,
    ) -> Vec<Spoken> {
        let around = Around {
            terminals: &|_| None,
            texts: &Texts::new(),
        };
        let mut spoken = turn.end_all_sub_agents(&TurnEvent::Cancelled, around);
        spoken.extend(session.children.turn_ends(id, well, around));
        session.answer_dismissed();
        spoken
    }

    fn process_is_gone(session: &mut Session) -> Vec<Spoken> {
        let around = Around {
            terminals: &|_| None,
            texts: &Texts::new(),
        };
        session.children.all_end(around)
    }

    async fn decide(talk: &mut Talk, of: &TurnId, decision: Decision) {
        let answers = talk.session.peer.answers();
        let services = &mut talk.speech.services;
        match decision {
            Decision::Tool { call, verdict } => {
                let around = Around {
                    terminals: &|id| services.terminal(id),
                    texts: &Texts::new(),
                };
                let children = &mut talk.session.children;
                let (answered, spoken) = match &mut talk.turn {
                    _ if children.work_on(of) => children.decide(of, &call, &verdict, around),
                    Some(turn) => turn.own.decide(&turn.id, of, &call, &verdict, around),
                    None => return,
                };
                for (asked, chosen) in answered {
                    let answer = permission::answer(chosen.as_ref());
                    answers.give(&asked.request, Ok(answer));
                }
                talk.tell_spoken(spoken).await;
            }
            Decision::Answer {
                request,
                response,
                answers: given,
            } => {
                let questions = &mut talk.session.questions;
                if let Some((id, answer)) = questions.answer(&request, &response, &given) {
                    answers.give(&id, Ok(answer));
                }
            }
            Decision::MayWrite { write } => services.may_write(answers, &write),
            Decision::CommandStarted { run, terminal } => {
                services.command_started(&run, terminal);
                talk.show_terminal(&run).await;
            }
            Decision::CommandOutput {
                run,
                output,
                truncated,
            } => services.command_said(answers, &run, &output, truncated),
            Decision::Command { run, outcome } => {
                services.command_ended(answers, &run, outcome);
                talk.show_terminal(&run).await;
            }
            Decision::ClientTool { call, result } => talk.speech.client_calls.done(&call, result),
            // Results are never put up for approval.
            Decision::ToolResult { .. } => {}
        }
    }

    fn waits_for_somebody(talk: &Talk) -> bool {
        let asks = talk.turn.as_ref().is_some_and(|turn| turn.own.waits());
        let asks = asks || talk.session.children.wait();
        asks || talk.session.questions.waits() || talk.speech.client_calls.waits()
    }

    /// Of the first of a client or a server, the agent is told when its next
    /// turn begins.
    fn offer_tools(talk: &mut Talk, tools: Arc<[ClientTool]>) {
        talk.speech.unaware_of_tools |= talk.speech.serve_tools(&tools, &[]);
    }

    async fn farewell(session: &mut Session, forget: bool) {
        if !session.has_conversation() {
            return;
        }
        let can = &session.can().session_capabilities;
        let method = match forget && can.delete.is_some() {
            true => Some(AGENT_METHOD_NAMES.session_delete),
            false => can.close.as_ref().map(|_| AGENT_METHOD_NAMES.session_close),
        };
        if let Some(method) = method {
            let params = json!({"sessionId": session.id});
            let request = session.peer.request(method, &params);
            let _ = tokio::time::timeout(CLOSING, session.answer_to(request)).await;
        }
    }
}

impl Talk {
    /// Makes what the agent is told of customizations, if it was not told yet.
    async fn prepare_instructions(&mut self) {
        if std::mem::replace(&mut self.session.is_told, true) {
            return;
        }
        let instructions = Arc::clone(&self.speech.instructions);
        let told = tokio::task::spawn_blocking(move || instructions.told()).await;
        let Ok(Some(told)) = told else {
            return;
        };
        let Told {
            text,
            files,
            left_out,
        } = told;
        let agent = self.access.name.clone();
        self.notices.push(AgentNotice::ToldCustomizations {
            agent,
            told: files,
            left_out,
        });
        self.speech.told = Some(text);
    }
}

fn prompt_capabilities(session: &Session) -> &PromptCapabilities {
    &session.can().prompt_capabilities
}

/// What was kept for resuming.
fn kept(resume: Option<&Value>, key: &str) -> Option<String> {
    resume?.get(key)?.as_str().map(str::to_owned)
}
