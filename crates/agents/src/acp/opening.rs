//! The beginning of a session: the agent is started and introduced to the
//! host, and a conversation with it begins or is taken up again.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, AgentCapabilities, AuthCapabilities, ClientCapabilities,
    ClientSessionCapabilities, CompactionCapabilities, ElicitationCapabilities,
    ElicitationFormCapabilities, ElicitationUrlCapabilities, Error, ErrorCode,
    FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse,
    McpServer as GivenServer, NoticeCapabilities, SessionConfigOptionsCapabilities,
    SubagentCapabilities,
};
use innkeeper_protocol::agent::{AgentFailure, NotTakenUp};
use serde::Serialize;
use serde_json::{Value, json};

use super::output;
use super::rpc::{Incoming, Peer, sentence};
use super::services::Services;
use super::session::Wanted;
use super::sign_in::ways::{self, Kind, Way};
use crate::child::Access;
use crate::process::ChildProcess;

/// A session while it is being opened.
pub(super) struct Opening<'a> {
    access: &'a Access,
    services: &'a mut Services,
    process: &'a mut ChildProcess,
    peer: &'a mut Peer,
    /// The ways of signing in that the agent names.
    pub(super) ways: Vec<Way>,
    /// What the agent said meanwhile that holds from now on.
    pub(super) said: Vec<Value>,
    /// What the agent tells of the conversation, if anybody wants to know.
    pub(super) history: Option<Vec<Value>>,
}

/// A conversation that has begun, or goes on.
pub(super) struct Begun {
    pub(super) id: String,
    pub(super) answer: Value,
    pub(super) remembers: bool,
    pub(super) forgotten: Option<NotTakenUp>,
}

impl Begun {
    /// Nobody is signed in.
    pub(super) fn not_yet() -> Self {
        Self {
            id: String::new(),
            answer: Value::Null,
            remembers: false,
            forgotten: None,
        }
    }

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
    pub(super) fn with(
        access: &'a Access,
        services: &'a mut Services,
        process: &'a mut ChildProcess,
        peer: &'a mut Peer,
    ) -> Self {
        Self {
            access,
            services,
            process,
            peer,
            ways: Vec::new(),
            said: Vec::new(),
            history: None,
        }
    }

    /// Gets to know the agent, and signs in if a way of that was chosen.
    pub(super) async fn introduce(
        &mut self,
        auth_method: Option<&str>,
    ) -> Result<InitializeResponse, AgentFailure> {
        let answer = self
            .call(AGENT_METHOD_NAMES.initialize, &introduction())
            .await?;
        self.ways = ways::of(&answer["authMethods"], self.access);
        let about = serde_json::from_value(answer);
        let about = about.map_err(|error| self.strange(error.to_string()))?;
        // What takes a terminal or a value is not for `authenticate`, unless the
        // agent looks for the value then.
        let is_for_people = |way: &Way| match way.kind {
            Kind::Agent => false,
            Kind::Terminal { .. } => true,
            Kind::Variables { when_asked, .. } => !when_asked,
        };
        let auth_method = auth_method.filter(|method| {
            let mut ways = self.ways.iter();
            !ways.any(|way| way.shown.id == *method && is_for_people(way))
        });
        if let Some(method) = auth_method {
            let params = json!({"methodId": method});
            self.call(AGENT_METHOD_NAMES.authenticate, &params).await?;
        }
        Ok(about)
    }

    /// The conversation: taken up again if possible, else a new one.
    pub(super) async fn converse(
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
                Err(CallError::Refused(error)) if error.code != ErrorCode::AuthRequired => {
                    forgotten = Some(NotTakenUp::Said(sentence(&error)));
                }
                Err(error) => return Err(self.open_error(error)),
            }
        }
        let params = beginning(wanted, &about.agent_capabilities);
        let opened = self.call(AGENT_METHOD_NAMES.session_new, &params).await?;
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
                Err(CallError::Refused(error)) if error.code != ErrorCode::AuthRequired => {
                    why = NotTakenUp::Said(sentence(&error));
                }
                Err(error) => return Err(self.open_error(error)),
            }
        }
        Ok(Err(why))
    }

    pub(super) async fn call(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Value, AgentFailure> {
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
                    let last_words = self.process.last_words();
                    return Err(CallError::Open(AgentFailure::NoAnswer {
                        command,
                        seconds,
                        last_words,
                    }));
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
            CallError::Refused(error) if error.code == ErrorCode::AuthRequired => {
                sign_in_required(self.access, &self.ways, sentence(&error))
            }
            CallError::Refused(error) => AgentFailure::Refused {
                agent: self.access.name.clone(),
                said: Some(sentence(&error)),
            },
        }
    }

    pub(super) fn strange(&self, what: String) -> AgentFailure {
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
    let mut beyond = output::announcement();
    // Some agents name the command of a sign-in only to those who say this.
    beyond.insert("terminal-auth".to_owned(), Value::Bool(true));
    let can = ClientCapabilities::new()
        .fs(files)
        .terminal(true)
        .auth(AuthCapabilities::new().terminal(true))
        .session(session)
        .elicitation(questions)
        .subagents(SubagentCapabilities::new())
        .meta(beyond);
    let us =
        Implementation::new("innkeeper", env!("CARGO_PKG_VERSION")).title("Innkeeper".to_owned());
    InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(can)
        .client_info(us)
}

/// What a session is begun with, in any of the ways in which that is done.
pub(super) fn beginning(wanted: &Wanted, can: &AgentCapabilities) -> Value {
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

/// The agent says that nobody is signed in.
pub(super) fn sign_in_required(access: &Access, ways: &[Way], said: String) -> AgentFailure {
    AgentFailure::SignInRequired {
        agent: access.name.clone(),
        ways: ways.iter().map(Way::as_advice).collect(),
        said,
    }
}
