//! One conversation with an agent, from the host's side: commands in, what the
//! agent says out, until either is over.
//!
//! *Invariant*: the agent has at most one prompt at a time, and every prompt
//! ends with exactly one last event of its turn, or with the end of the
//! backend.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{AGENT_METHOD_NAMES, ContentBlock};
use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, ClientTool, Decision, OpenBackend, PastTurn, Prompt, TurnEvent,
};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{ErrorInfo, PendingMessage};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::mcp::{self, ClientCalls};
use super::questions::Questions;
use super::rpc::{Incoming, RequestNo};
use super::services::Services;
use super::session::{Access, OpenError, Session, Wanted};
use super::settings::Change;
use super::turn::Turn;
use super::{content, learn, past, permission};
use crate::client_tools::{ClientCall, ToolServer};
use crate::knowledge::Knowledge;
use crate::process;
use crate::transcript::{self, Transcript};
use crate::{CommandStream, EventSink};

/// The key of the agent's name for a session in what is kept for resuming.
const SESSION: &str = "acp";
/// Likewise of the mode that clients know as `interactive`.
const INTERACTIVE: &str = "interactive";

/// How much an agent may say while a conversation begins that is kept for it.
const MEANWHILE: usize = 256;

/// How long a change of a setting may take before a prompt goes on without it.
const SETTING: std::time::Duration = std::time::Duration::from_secs(10);

/// How long an agent has for closing a session before it is told to go.
const CLOSING: std::time::Duration = std::time::Duration::from_secs(1);

/// How long the last words of an agent may be on their way when it is gone.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(200);

pub(super) async fn run(
    access: Access,
    knowledge: Arc<Knowledge>,
    open: OpenBackend,
    mut commands: CommandStream,
    events: EventSink,
) {
    let directories = process::paths(&open.directories);
    let mut services = Services::new(&directories);
    let of_session = open.customizations.mcp_servers.iter();
    // Of two with the same name, the configuration's is meant.
    let of_session = of_session.filter(|server| {
        let mut configured = access.mcp_servers.iter();
        configured.all(|known| known.name != server.name)
    });
    let servers = access.mcp_servers.iter().chain(of_session);
    let mut wanted = Wanted {
        directories,
        mcp_servers: servers.map(mcp::given).collect(),
        resume: kept(open.resume.as_ref(), SESSION),
        fork_of: kept(open.fork_of.as_ref(), SESSION),
        continues: past::wanted(&open),
        interactive: kept(open.resume.as_ref().or(open.fork_of.as_ref()), INTERACTIVE)
            .or_else(|| knowledge.interactive()),
    };
    let tool_server = serve_tools(&access, &mut wanted, &open.client_tools);
    let mut early = Vec::new();
    let opening = async {
        let _alone = knowledge.alone_at_first(access.patience.opening).await;
        Session::open(&access, &wanted, &mut services).await
    };
    let opened = tokio::select! {
        opened = opening => opened,
        () = commands.until_closed(&mut early) => return,
    };
    let session = match opened {
        Ok(session) => session,
        Err(error) => {
            knowledge.failed(error.to_string());
            return events
                .emit(AgentEvent::OpenFailed(error_info(&error)))
                .await;
        }
    };
    // From now on it is found as every other one is.
    wanted.continues = None;
    let mut backend = Backend {
        transcript: Transcript::new(&open.transcript),
        config: open.config,
        access,
        knowledge,
        wanted,
        session,
        services,
        events,
        turn: None,
        questions: Questions::default(),
        tool_server,
        client_calls: ClientCalls::default(),
        changing: HashMap::new(),
        steering: HashMap::new(),
        notices: Vec::new(),
        begins_anew: false,
        forget: false,
        unaware_of_tools: false,
        heard: Instant::now(),
        told_of_silence: false,
    };
    backend.opened().await;
    backend.configure();
    for command in early {
        backend.command(command).await;
    }
    let end = backend.live(&mut commands).await;
    backend.end(end).await;
}

pub(super) struct Backend {
    pub(super) access: Access,
    pub(super) knowledge: Arc<Knowledge>,
    pub(super) wanted: Wanted,
    pub(super) session: Session,
    pub(super) services: Services,
    pub(super) events: EventSink,
    pub(super) transcript: Transcript,
    /// The values that the session should have.
    pub(super) config: JsonObject,
    pub(super) turn: Option<Turn>,
    pub(super) questions: Questions,
    /// Where the agent finds the tools of clients, once there are any.
    tool_server: Option<ToolServer>,
    client_calls: ClientCalls,
    /// Settings that are being changed.
    pub(super) changing: HashMap<RequestNo, Change>,
    /// Steering messages that the agent has not answered yet.
    pub(super) steering: HashMap<RequestNo, String>,
    /// What the user is told when the next turn begins.
    pub(super) notices: Vec<String>,
    /// The agent knows more than it should: the next turn is told to a new one.
    pub(super) begins_anew: bool,
    /// Nobody will want this conversation again.
    forget: bool,
    /// The agent runs and was not told of the tools of clients.
    unaware_of_tools: bool,
    /// When the agent last said something.
    pub(super) heard: Instant,
    pub(super) told_of_silence: bool,
}

/// Why a backend is over.
enum End {
    Closed,
    AgentGone,
}

impl Backend {
    async fn live(&mut self, commands: &mut CommandStream) -> End {
        loop {
            let alarm = self.alarm();
            let sleep = tokio::time::sleep_until(alarm.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                command = commands.next() => match command {
                    None | Some(AgentCommand::Close { .. }) => return End::Closed,
                    Some(command) => self.command(command).await,
                },
                incoming = self.session.peer.next() => match incoming {
                    None => return End::AgentGone,
                    Some(incoming) => self.incoming(incoming).await,
                },
                () = self.session.process.exited() => {
                    while let Ok(Some(last)) =
                        tokio::time::timeout(LAST_WORDS, self.session.peer.next()).await
                    {
                        self.incoming(last).await;
                    }
                    return End::AgentGone;
                }
                call = next_call(&mut self.tool_server) => self.call_client(call).await,
                () = sleep, if alarm.is_some() => self.alarmed().await,
            }
        }
    }

    async fn end(mut self, end: End) {
        match end {
            End::Closed => {
                let can = &self.session.can().session_capabilities;
                let method = match self.forget && can.delete.is_some() {
                    true => Some(AGENT_METHOD_NAMES.session_delete),
                    false => can.close.as_ref().map(|_| AGENT_METHOD_NAMES.session_close),
                };
                if let Some(method) = method {
                    let params = json!({"sessionId": self.session.id});
                    let request = self.session.peer.request(method, &params);
                    let _ = tokio::time::timeout(CLOSING, self.answer_to(request)).await;
                }
            }
            End::AgentGone => {
                let reason = self.session.process.epitaph().await;
                self.knowledge.ended(&reason);
                let events = self.events.clone();
                self.session.process.end(self.access.patience.ending).await;
                return events.emit(AgentEvent::Exited { reason }).await;
            }
        }
        self.session.process.end(self.access.patience.ending).await;
    }

    /// Waits for an answer and for nothing else.
    async fn answer_to(&mut self, request: RequestNo) {
        while let Some(incoming) = self.session.peer.next().await {
            if matches!(incoming, Incoming::Response { to, .. } if to == request) {
                return;
            }
        }
    }

    /// A session is open: the engine learns how to find it again.
    async fn opened(&mut self) {
        self.learn();
        if let Some(why) = self.session.forgotten.take()
            && !self.transcript.is_empty()
        {
            self.notices.push(format!(
                "{} did not take up its earlier conversation ({why}). It was given the \
                 transcript instead.",
                self.access.name
            ));
        }
        let past = std::mem::take(&mut self.session.past);
        if self.transcript.is_empty() && !past.is_empty() {
            self.recount(&past).await;
        }
        let mut resume = json!({SESSION: self.session.id});
        if let Some(mode) = self.session.settings.interactive() {
            self.wanted.interactive = Some(mode.to_owned());
            resume[INTERACTIVE] = json!(mode);
        }
        let resume = Some(resume);
        self.events.emit(AgentEvent::Opened { resume }).await;
        for update in std::mem::take(&mut self.session.said) {
            self.update(&update).await;
        }
    }

    /// The engine learns what was said before it had the conversation.
    async fn recount(&mut self, past: &[Value]) {
        let told = past::recounted(past).into_iter().enumerate();
        let turns = told.map(|(at, told)| {
            let id = Arc::from(format!("past-{at}"));
            self.transcript.add(&id, told.asked.clone(), told.answered);
            PastTurn {
                asked: told.asked,
                events: told.events,
            }
        });
        let turns = turns.collect();
        self.events.emit(AgentEvent::Past(turns)).await;
    }

    /// What is true of any new session is true of the agent; a session that
    /// has been used has its own values.
    pub(super) fn learn(&self) {
        let is_new = self.transcript.is_empty() && self.turn.is_none();
        if is_new || !self.knowledge.is_complete() {
            learn(&self.knowledge, &self.session);
        }
    }

    // Commands

    async fn command(&mut self, command: AgentCommand) {
        match command {
            AgentCommand::Prompt(prompt) => self.prompt(*prompt).await,
            AgentCommand::Cancel { turn, .. } => self.cancel(&turn),
            AgentCommand::Configure { values, .. } => {
                self.config = values;
                self.configure();
            }
            AgentCommand::Truncate { keep, .. } => {
                self.transcript.truncate(keep);
                self.begins_anew = true;
            }
            AgentCommand::Steer { turn, message, .. } => self.steer(&turn, message),
            AgentCommand::Decide { turn, decision, .. } => self.decide(&turn, *decision).await,
            // Tokens of the host's clients are for resources that an agent
            // names; agents behind this protocol name none.
            AgentCommand::Authenticate { .. } => {}
            AgentCommand::OfferTools { tools, .. } => self.offer_tools(tools),
            AgentCommand::Forget { .. } => self.forget = true,
            AgentCommand::Open(_) | AgentCommand::Close { .. } => {}
        }
    }

    /// The tools of clients have changed. If they are the first, the agent is
    /// told of the way to them when its next turn begins.
    fn offer_tools(&mut self, tools: Arc<[ClientTool]>) {
        match &self.tool_server {
            Some(server) => server.offer(tools),
            None => {
                self.tool_server = serve_tools(&self.access, &mut self.wanted, &tools);
                self.unaware_of_tools = self.tool_server.is_some();
            }
        }
    }

    /// The agent uses a tool of a client.
    async fn call_client(&mut self, call: ClientCall) {
        self.heard = Instant::now();
        if self.turn.as_ref().is_some_and(|turn| !turn.is_cancelled()) {
            let events = self.client_calls.begin(call);
            self.turn_events(events).await;
        }
    }

    /// Lets an agent that runs already know of the tools of clients. Nothing
    /// may be forgotten for that: it takes another conversation where nothing
    /// was said yet, else a new process that takes this one up.
    async fn make_aware_of_tools(&mut self) -> Result<(), OpenError> {
        self.unaware_of_tools = false;
        let is_new = self.transcript.is_empty();
        if is_new && self.begin_another().await {
            return Ok(());
        }
        if is_new || self.session.can_be_taken_up() {
            let resume = Some(self.session.id.clone()).filter(|_| !is_new);
            return self.replace(resume).await;
        }
        self.notices.push(format!(
            "{} cannot be given tools in the middle of a conversation. It gets them in a new \
             session.",
            self.access.name
        ));
        Ok(())
    }

    /// Begins another conversation with the agent that runs. Returns whether
    /// it did.
    async fn begin_another(&mut self) -> bool {
        self.wanted.resume = None;
        self.wanted.fork_of = None;
        let method = AGENT_METHOD_NAMES.session_new;
        let params = self.session.beginning(&self.wanted);
        let request = self.session.peer.request(method, &params);
        let deadline = Instant::now() + self.access.patience.opening;
        let mut meanwhile = Vec::new();
        let opened = loop {
            match tokio::time::timeout_at(deadline, self.session.peer.next()).await {
                Ok(Some(Incoming::Response { to, result })) if to == request => break result.ok(),
                // It may be about the conversation that is just beginning.
                Ok(Some(said @ Incoming::Notification { .. })) if meanwhile.len() < MEANWHILE => {
                    meanwhile.push(said);
                }
                Ok(Some(other)) => Box::pin(self.incoming(other)).await,
                Ok(None) | Err(_) => break None,
            }
        };
        let id = opened.as_ref().and_then(|it| it["sessionId"].as_str());
        let Some((opened, id)) = opened.as_ref().zip(id.map(str::to_owned)) else {
            return false;
        };
        self.session.has_begun(&self.wanted, id, opened);
        self.changing.clear();
        self.opened().await;
        for said in meanwhile {
            Box::pin(self.incoming(said)).await;
        }
        self.configure();
        true
    }

    async fn prompt(&mut self, prompt: Prompt) {
        if self.turn.is_some() {
            tracing::warn!(turn = &*prompt.turn, "prompted while a turn runs; ignored");
            return;
        }
        let Prompt {
            turn,
            message,
            resumed,
            chats,
            ..
        } = prompt;
        let message = transcript::with_chats(message, &chats);
        if self.begins_anew {
            self.begins_anew = false;
            if let Err(error) = self.replace(None).await {
                return self.fail(&turn, &error).await;
            }
        }
        if self.unaware_of_tools
            && let Err(error) = self.make_aware_of_tools().await
        {
            return self.fail(&turn, &error).await;
        }
        self.settle_settings(&turn, message.model.as_ref().map(|model| model.id.as_str()))
            .await;
        for notice in std::mem::take(&mut self.notices) {
            self.notice(&turn, notice).await;
        }
        let mut blocks = Vec::new();
        let context = self
            .transcript
            .as_context()
            .filter(|_| !self.session.remembers);
        blocks.extend(context.map(ContentBlock::from));
        let can = &self.session.can().prompt_capabilities;
        match &resumed {
            None => blocks.extend(content::prompt(&message, can)),
            Some(parts) => {
                if !self.session.remembers {
                    blocks.extend(content::prompt(&message, can));
                }
                blocks.push(ContentBlock::from(transcript::taken_up(parts)));
                for event in transcript::closing(parts) {
                    self.events.turn(&turn, event).await;
                }
            }
        }
        self.session.remembers = true;
        self.services.turn_begins();
        let params = json!({"sessionId": self.session.id, "prompt": blocks});
        let request = self
            .session
            .peer
            .request(AGENT_METHOD_NAMES.session_prompt, &params);
        let mut running = Turn::new(turn, request, message.text);
        running.answered = resumed
            .as_deref()
            .map(transcript::answer)
            .unwrap_or_default();
        self.turn = Some(running);
        self.heard = Instant::now();
        self.told_of_silence = false;
    }

    fn cancel(&mut self, turn: &str) {
        let Some(running) = self.turn.as_mut().filter(|running| *running.id == *turn) else {
            return;
        };
        running.cancelled_at = Some(Instant::now());
        self.dismiss_requests();
        // Some agents wait for the end of a command before they stop.
        self.services.turn_ends(self.session.peer.answers());
        let params = json!({"sessionId": self.session.id});
        self.session
            .peer
            .notify(AGENT_METHOD_NAMES.session_cancel, &params);
    }

    /// Nobody will answer what the agent has asked.
    pub(super) fn dismiss_requests(&mut self) {
        let answers = self.session.peer.answers();
        let asked = self.turn.as_mut().map(|turn| turn.calls.abandon());
        for asked in asked.into_iter().flatten() {
            answers.give(&asked.request, Ok(permission::answer(None)));
        }
        self.client_calls.abandon();
        for request in self.questions.abandon() {
            answers.give(&request, Ok(json!({"action": "cancel"})));
        }
    }

    fn configure(&mut self) {
        for change in self
            .session
            .settings
            .changes(&self.session.id, &self.config)
        {
            let request = self.session.peer.request(change.method, &change.params);
            self.changing.insert(request, change);
        }
    }

    /// Selects the model, and waits until all settings are made: a prompt is
    /// meant for an agent that has them.
    async fn settle_settings(&mut self, turn: &Arc<str>, model: Option<&str>) {
        if let Some(model) = model
            && let Some(change) = self.session.settings.model_change(&self.session.id, model)
        {
            let request = self.session.peer.request(change.method, &change.params);
            self.changing.insert(request, change);
        }
        let deadline = Instant::now() + SETTING;
        while !self.changing.is_empty() {
            match tokio::time::timeout_at(deadline, self.session.peer.next()).await {
                Ok(Some(incoming)) => Box::pin(self.incoming(incoming)).await,
                // Its end is seen where ends are seen.
                Ok(None) => return,
                Err(_) => {
                    self.changing.clear();
                    self.settings_changed().await;
                    let text = "The agent did not confirm its settings in time.".to_owned();
                    return self.notice(turn, text).await;
                }
            }
        }
    }

    /// Gives a message to the turn that runs, if the agent can take it. If not,
    /// the engine makes a turn of it later.
    fn steer(&mut self, turn: &str, message: Option<Box<PendingMessage>>) {
        let runs = self
            .turn
            .as_ref()
            .is_some_and(|running| *running.id == *turn);
        let Some(message) = message.filter(|_| runs && self.session.can_be_steered()) else {
            return;
        };
        // While it makes up its mind about one version, it is not given the
        // next: the engine says what is left when it has.
        if !self.steering.is_empty() {
            return;
        }
        let can = &self.session.can().prompt_capabilities;
        let params = json!({
            "sessionId": self.session.id,
            "prompt": content::prompt(&message.message, can),
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        });
        let request = self.session.peer.request("_session/steering", &params);
        self.steering.insert(request, message.id);
    }

    async fn decide(&mut self, turn: &str, decision: Decision) {
        let Some(running) = self.turn.as_mut().filter(|running| *running.id == *turn) else {
            return;
        };
        self.heard = Instant::now();
        let answers = self.session.peer.answers();
        match decision {
            Decision::Tool { call, verdict } => {
                let services = &self.services;
                let terminals = |id: &str| services.terminal(id);
                let (answered, events) = running.calls.decide(&call, &verdict, &terminals);
                for (asked, chosen) in answered {
                    let answer = permission::answer(chosen.as_ref());
                    answers.give(&asked.request, Ok(answer));
                }
                self.turn_events(events).await;
            }
            Decision::Answer {
                request,
                response,
                answers: given,
            } => {
                if let Some((id, answer)) = self.questions.answer(&request, &response, &given) {
                    answers.give(&id, Ok(answer));
                }
            }
            Decision::CommandStarted { run, terminal } => {
                self.services.command_started(&run, terminal);
                self.show_terminal(&run).await;
            }
            Decision::CommandOutput {
                run,
                output,
                truncated,
            } => self
                .services
                .command_said(answers, &run, &output, truncated),
            Decision::Command { run, outcome } => {
                self.services.command_ended(answers, &run, outcome);
                self.show_terminal(&run).await;
            }
            Decision::ClientTool { call, result } => self.client_calls.done(&call, result),
            // Results are never put up for approval.
            Decision::ToolResult { .. } => {}
        }
    }

    /// There is news of a terminal.
    async fn show_terminal(&mut self, id: &str) {
        let services = &self.services;
        let terminals = |id: &str| services.terminal(id);
        let events = match &mut self.turn {
            Some(turn) => turn.calls.terminal_changed(id, &terminals),
            None => Vec::new(),
        };
        self.turn_events(events).await;
    }

    // Time

    /// When something must be done if nothing happens until then.
    fn alarm(&self) -> Option<Instant> {
        let turn = self.turn.as_ref()?;
        let patience = &self.access.patience;
        // An agent that talks on after a cancel has not obeyed it.
        if let Some(cancelled) = turn.cancelled_at {
            return Some(cancelled + patience.cancelling);
        }
        let somebody_thinks =
            turn.calls.waits() || self.questions.waits() || self.client_calls.waits();
        (!somebody_thinks && !self.told_of_silence).then(|| self.heard + patience.silence)
    }

    async fn alarmed(&mut self) {
        if self.turn.as_ref().is_some_and(Turn::is_cancelled) {
            return self.restart().await;
        }
        // It is told, not ended: it may be thinking, or waiting for its model.
        self.told_of_silence = true;
        let seconds = self.access.patience.silence.as_secs();
        let text = format!("No word from {} for {seconds} s", self.access.name);
        self.turn_events(vec![TurnEvent::Activity(Some(text))])
            .await;
    }

    /// An agent that does not stop when it is told to is replaced by a fresh
    /// one, with all that it started.
    async fn restart(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        tracing::warn!(
            agent = self.access.name,
            "a cancelled turn did not end; restarting"
        );
        let resume = Some(self.session.id.clone());
        // Two at once might be in each other's way.
        self.session.process.kill();
        if let Err(error) = self.replace(resume).await {
            // The next prompt tries again and says what is wrong.
            tracing::warn!(%error, "the agent cannot be restarted");
            self.begins_anew = true;
        }
        let Turn {
            id,
            asked,
            answered,
            ..
        } = turn;
        self.transcript.add(&id, asked, answered);
        self.events.turn(&id, TurnEvent::Cancelled).await;
    }

    /// A new process for the same conversation, or for a new one.
    async fn replace(&mut self, resume: Option<String>) -> Result<(), OpenError> {
        self.wanted.resume = resume;
        self.wanted.fork_of = None;
        let session = Session::open(&self.access, &self.wanted, &mut self.services).await?;
        let old = std::mem::replace(&mut self.session, session);
        old.process.end(self.access.patience.ending).await;
        self.changing.clear();
        self.steering.clear();
        self.opened().await;
        self.configure();
        Ok(())
    }

    // Telling

    pub(super) async fn turn_events(&self, events: Vec<TurnEvent>) {
        if let Some(turn) = &self.turn {
            for event in events {
                self.events.turn(&turn.id, event).await;
            }
        }
    }

    async fn notice(&self, turn: &Arc<str>, text: String) {
        let notice = TurnEvent::Notice(StringOrMarkdown::Plain(text));
        self.events.turn(turn, notice).await;
    }

    async fn fail(&self, turn: &Arc<str>, error: &OpenError) {
        let failed = TurnEvent::Failed {
            error: error_info(error),
            resumable: true,
        };
        self.events.turn(turn, failed).await;
    }
}

/// Makes the tools of clients reachable if there are any, and adds the way to
/// them to what a session is opened with.
fn serve_tools(
    access: &Access,
    wanted: &mut Wanted,
    tools: &Arc<[ClientTool]>,
) -> Option<ToolServer> {
    let bridge = access.tool_bridge.as_ref().filter(|_| !tools.is_empty())?;
    let server = ToolServer::start(Arc::clone(tools))
        .inspect_err(|error| tracing::warn!(%error, "the tools of clients cannot be offered"))
        .ok()?;
    wanted.mcp_servers.push(mcp::own(&server, bridge));
    Some(server)
}

async fn next_call(server: &mut Option<ToolServer>) -> ClientCall {
    if let Some(server) = server
        && let Some(call) = server.next_call().await
    {
        return call;
    }
    std::future::pending().await
}

/// What was kept for resuming.
fn kept(resume: Option<&Value>, key: &str) -> Option<String> {
    resume?.get(key)?.as_str().map(str::to_owned)
}

pub(super) fn error_info(error: &OpenError) -> ErrorInfo {
    ErrorInfo {
        error_type: error.error_type().to_owned(),
        message: error.to_string(),
        stack: None,
        meta: None,
    }
}
