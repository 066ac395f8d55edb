//! A session with an agent from its start: the process, who the agent is and
//! what it can do, and the conversation in it, new or taken up again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, AgentCapabilities, AuthMethod, ClientCapabilities,
    ClientSessionCapabilities, CompactionCapabilities, ElicitationCapabilities,
    ElicitationFormCapabilities, ElicitationUrlCapabilities, Error, ErrorCode,
    FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse,
    ListSessionsResponse, McpServer as GivenServer, NoticeCapabilities,
    SessionConfigOptionsCapabilities,
};
use innkeeper_protocol::agent::{AgentFailure, NotTakenUp};
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use serde::Serialize;
use serde_json::{Value, json};

use super::questions::Questions;
use super::rpc::{Incoming, Peer, RequestNo, sentence};
use super::services::Services;
use super::settings::{Change, Settings};
use super::{output, past};
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
    /// What the agent said while the session was being opened.
    pub(super) said: Vec<Value>,
    /// Settings that are being changed.
    pub(super) changing: HashMap<RequestNo, Change>,
    /// The steering message that the agent has not answered yet, by its id.
    pub(super) steering: Option<(RequestNo, String)>,
    pub(super) questions: Questions,
}

impl Session {
    pub(super) async fn open(
        access: &Access,
        auth_method: Option<&str>,
        wanted: &Wanted,
        services: &mut Services,
    ) -> Result<Opened<Self>, AgentFailure> {
        let directory = wanted.directory();
        let mut opening = Opening::start(access, &directory, services)?;
        let about = opening.introduce(auth_method).await?;
        let begun = opening.converse(wanted, &about).await?;
        let Opening {
            process,
            peer,
            said,
            history,
            ..
        } = opening;
        let past = history.filter(|_| wanted.continues.is_some());
        let interactive = wanted.interactive.as_deref();
        let session = Self {
            peer,
            id: begun.id,
            settings: Settings::of(&begun.answer, interactive, wanted.is_new()),
            about,
            said,
            changing: HashMap::new(),
            steering: None,
            questions: Questions::default(),
        };
        Ok(Opened {
            process,
            session,
            remembers: begun.remembers,
            forgotten: begun.forgotten,
            past: past.map(|told| past::recounted(&told)).unwrap_or_default(),
        })
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
    }

    /// The conversations that the agent has in a directory, or in all of them.
    pub(super) async fn list(
        access: &Access,
        auth_method: Option<&str>,
        directory: Option<PathBuf>,
        query: &str,
    ) -> Result<Vec<SessionConfigValueItem>, AgentFailure> {
        let mut services = Services::new(&[]);
        let home = directory.clone().unwrap_or_else(std::env::temp_dir);
        let mut opening = Opening::start(access, &home, &mut services)?;
        let about = opening.introduce(auth_method).await?;
        let mut items = Vec::new();
        if past::is_open_book(&about.agent_capabilities) {
            let mut cursor: Option<String> = None;
            for _ in 0..past::PAGES {
                let params = past::question(directory.as_ref(), cursor.as_deref());
                let page = opening
                    .call(AGENT_METHOD_NAMES.session_list, &params)
                    .await?;
                let page: ListSessionsResponse = serde_json::from_value(page)
                    .map_err(|error| opening.strange(error.to_string()))?;
                items.extend(past::offered(&page, query));
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
        }
        opening.process.end(access.patience.ending).await;
        Ok(past::newest(items))
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

/// A session while it is being opened.
struct Opening<'a> {
    access: &'a Access,
    services: &'a mut Services,
    process: ChildProcess,
    peer: Peer,
    said: Vec<Value>,
    /// What the agent tells of the conversation, if anybody wants to know.
    history: Option<Vec<Value>>,
}

/// A conversation that has begun, or goes on.
struct Begun {
    id: String,
    answer: Value,
    remembers: bool,
    forgotten: Option<NotTakenUp>,
}

impl Begun {
    fn remembering(id: String, answer: Value) -> Self {
        Self {
            id,
            answer,
            remembers: true,
            forgotten: None,
        }
    }
}

enum CallError {
    Open(AgentFailure),
    Refused(Error),
}

impl<'a> Opening<'a> {
    fn start(
        access: &'a Access,
        directory: &Path,
        services: &'a mut Services,
    ) -> Result<Self, AgentFailure> {
        let started = ChildProcess::start(&access.program, Some(directory), &access.stderr)?;
        let (process, lines) = started;
        Ok(Self {
            access,
            services,
            process,
            peer: Peer::new(lines),
            said: Vec::new(),
            history: None,
        })
    }

    /// Gets to know the agent, and signs in if a way of that was chosen.
    async fn introduce(
        &mut self,
        auth_method: Option<&str>,
    ) -> Result<InitializeResponse, AgentFailure> {
        let answer = self
            .call(AGENT_METHOD_NAMES.initialize, &introduction())
            .await?;
        let about = serde_json::from_value(answer);
        let about = about.map_err(|error| self.strange(error.to_string()))?;
        if let Some(method) = auth_method {
            let params = json!({"methodId": method});
            self.call(AGENT_METHOD_NAMES.authenticate, &params).await?;
        }
        Ok(about)
    }

    /// The conversation: taken up again if possible, else a new one.
    async fn converse(
        &mut self,
        wanted: &Wanted,
        about: &InitializeResponse,
    ) -> Result<Begun, AgentFailure> {
        if let Some(id) = &wanted.continues {
            let mut params = beginning(wanted, &about.agent_capabilities);
            params["sessionId"] = json!(id);
            self.history = Some(Vec::new());
            // Whoever wants that conversation does not want another one.
            let opened = self.call(AGENT_METHOD_NAMES.session_load, &params).await?;
            return Ok(Begun::remembering(id.clone(), opened));
        }
        let mut forgotten = None;
        if let Some(id) = &wanted.resume {
            match self.take_up(id, wanted, about).await? {
                Ok(opened) => return Ok(Begun::remembering(id.clone(), opened)),
                Err(why) => forgotten = Some(why),
            }
        }
        let can_fork = about.agent_capabilities.session_capabilities.fork.is_some();
        if let Some(original) = wanted.fork_of.as_ref().filter(|_| can_fork) {
            let mut params = beginning(wanted, &about.agent_capabilities);
            params["sessionId"] = json!(original);
            match self
                .try_call(AGENT_METHOD_NAMES.session_fork, &params)
                .await
            {
                Ok(opened) => {
                    if let Some(id) = opened["sessionId"].as_str() {
                        return Ok(Begun::remembering(id.to_owned(), opened));
                    }
                }
                Err(CallError::Refused(error)) => {
                    forgotten = Some(NotTakenUp::Said(sentence(&error)));
                }
                Err(error @ CallError::Open(_)) => return Err(self.open_error(error)),
            }
        }
        let params = beginning(wanted, &about.agent_capabilities);
        let opened = match self.try_call(AGENT_METHOD_NAMES.session_new, &params).await {
            Ok(opened) => opened,
            Err(CallError::Refused(error)) if error.code == ErrorCode::AuthRequired => {
                return Err(AgentFailure::SignInRequired {
                    agent: self.access.name.clone(),
                    ways: ways_to_sign_in(&about.auth_methods),
                    said: sentence(&error),
                });
            }
            Err(error) => return Err(self.open_error(error)),
        };
        match opened["sessionId"].as_str() {
            Some(id) => Ok(Begun {
                id: id.to_owned(),
                remembers: false,
                forgotten,
                answer: opened,
            }),
            None => Err(self.strange("the new session has no id".to_owned())),
        }
    }

    /// Tries what the agent can do to remember; says why it does not.
    async fn take_up(
        &mut self,
        id: &str,
        wanted: &Wanted,
        about: &InitializeResponse,
    ) -> Result<Result<Value, NotTakenUp>, AgentFailure> {
        let can = &about.agent_capabilities;
        let mut methods = Vec::new();
        if can.session_capabilities.resume.is_some() {
            methods.push(AGENT_METHOD_NAMES.session_resume);
        }
        if can.load_session {
            methods.push(AGENT_METHOD_NAMES.session_load);
        }
        let mut why = NotTakenUp::NotAble;
        let mut params = beginning(wanted, can);
        params["sessionId"] = json!(id);
        for method in methods {
            match self.try_call(method, &params).await {
                Ok(opened) => return Ok(Ok(opened)),
                Err(CallError::Refused(error)) => why = NotTakenUp::Said(sentence(&error)),
                Err(CallError::Open(error)) => return Err(error),
            }
        }
        Ok(Err(why))
    }

    async fn call(&mut self, method: &str, params: &impl Serialize) -> Result<Value, AgentFailure> {
        match self.try_call(method, params).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.open_error(error)),
        }
    }

    async fn try_call(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Value, CallError> {
        let request = self.peer.request(method, params);
        let patience = self.access.patience.opening;
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let incoming = match tokio::time::timeout_at(deadline, self.peer.next()).await {
                Ok(Some(incoming)) => incoming,
                Ok(None) => {
                    let end = self.process.epitaph().await;
                    let command = self.access.program.line();
                    return Err(CallError::Open(AgentFailure::EndedEarly { command, end }));
                }
                Err(_) => {
                    let command = self.access.program.line();
                    let seconds = patience.as_secs();
                    return Err(CallError::Open(AgentFailure::NoAnswer { command, seconds }));
                }
            };
            match incoming {
                Incoming::Response { to, result } if to == request => {
                    return result.map_err(CallError::Refused);
                }
                Incoming::Response { .. } => {}
                Incoming::Request { id, method, params } => {
                    let answers = self.peer.answers();
                    // No turn runs, so that nothing is left to do.
                    if self
                        .services
                        .serve(answers, &id, &method, &params)
                        .is_none()
                    {
                        answers.give(&id, Err::<Value, _>(Error::method_not_found()));
                    }
                }
                Incoming::Notification { method, mut params } => {
                    // The history of a conversation is known, as a rule; what
                    // matters are things that hold from now on.
                    let update = params["update"].take();
                    match &mut self.history {
                        _ if method != "session/update" => {}
                        Some(history) if is_history(&update) => history.push(update),
                        None if is_history(&update) => {}
                        _ => self.said.push(update),
                    }
                }
            }
        }
    }

    fn open_error(&self, error: CallError) -> AgentFailure {
        match error {
            CallError::Open(error) => error,
            CallError::Refused(error) => AgentFailure::Refused {
                agent: self.access.name.clone(),
                said: Some(sentence(&error)),
            },
        }
    }

    fn strange(&self, what: String) -> AgentFailure {
        AgentFailure::NotUnderstood {
            command: self.access.program.line(),
            what,
        }
    }
}

fn is_history(update: &Value) -> bool {
    let kind = update["sessionUpdate"].as_str().unwrap_or_default();
    kind.ends_with("_chunk") || kind.starts_with("tool_call") || kind == "plan"
}

/// Who the host is and what it really does for an agent.
fn introduction() -> InitializeRequest {
    let files = FileSystemCapabilities::new()
        .read_text_file(true)
        .write_text_file(true);
    let questions = ElicitationCapabilities::new()
        .form(ElicitationFormCapabilities::new())
        .url(ElicitationUrlCapabilities::new());
    let session = ClientSessionCapabilities::new()
        .compaction(CompactionCapabilities::new())
        .config_options(SessionConfigOptionsCapabilities::new().boolean(Some(Default::default())))
        .notices(NoticeCapabilities::new());
    let can = ClientCapabilities::new()
        .fs(files)
        .terminal(true)
        .session(session)
        .elicitation(questions)
        .meta(output::announcement());
    let us =
        Implementation::new("innkeeper", env!("CARGO_PKG_VERSION")).title("Innkeeper".to_owned());
    InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(can)
        .client_info(us)
}

/// What a session is begun with, in any of the ways in which that is done.
fn beginning(wanted: &Wanted, can: &AgentCapabilities) -> Value {
    let servers: Vec<&GivenServer> = wanted
        .mcp_servers
        .iter()
        .filter(|server| match server {
            GivenServer::Http(_) => can.mcp_capabilities.http,
            GivenServer::Sse(_) => can.mcp_capabilities.sse,
            _ => true,
        })
        .collect();
    let mut params = json!({"cwd": wanted.directory(), "mcpServers": servers});
    if can.session_capabilities.additional_directories.is_some() && wanted.directories.len() > 1 {
        params["additionalDirectories"] = json!(wanted.directories[1..]);
    }
    params
}

/// The ways of signing in, each with what the configuration calls it.
fn ways_to_sign_in(methods: &[AuthMethod]) -> Vec<String> {
    let ways = methods.iter().filter_map(|method| {
        let (id, name, description) = match method {
            AuthMethod::Agent(method) => (&method.id, &method.name, &method.description),
            AuthMethod::Terminal(method) => (&method.id, &method.name, &method.description),
            _ => return None,
        };
        let more = description.as_ref().filter(|more| !more.is_empty());
        let more = more.map(|more| format!(": {more}")).unwrap_or_default();
        Some(format!("{name}{more} (auth_method = \"{}\")", id.0))
    });
    ways.collect()
}
