//! A host without a shell: its store commits at once, its clients send one
//! message at a time, and its agent does as it is told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use innkeeper_engine::{
    ConnectionId, Effect, Engine, EngineConfig, Input, Leftovers, Limits, QueueAfterCancel, Step,
    Ticket,
};
use innkeeper_protocol::agent::{
    AgentCommand, AgentEnd, AgentEvent, AgentFailure, AgentProfile, AgentReport, BackendId,
    HowEnded, ProcessEnd, TurnEvent,
};
use innkeeper_protocol::command::ClientMessage;
use innkeeper_protocol::mcp::hosted::McpCommand;
use innkeeper_protocol::newest::commands::Implementation;
use innkeeper_protocol::newest::state::{AgentInfo, ErrorInfo};
use innkeeper_protocol::outgoing::{Finished, HostMessage, encode_each};
use innkeeper_protocol::record::search::Lookup;
use innkeeper_protocol::record::store::{Archive, Store as _};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::changes::ChangesCommand;
use innkeeper_protocol::workspace::customization::CustomizationCommand;
use innkeeper_protocol::workspace::resource::{ResourceDone, Scope, TakenContent};
use innkeeper_protocol::workspace::watch::WatchCommand;
use innkeeper_protocol::{ChannelUri, ClientId, Seq, Timestamp};
use innkeeper_store::MemoryStore;
use serde_json::{Value, json};

pub(crate) const SESSION: &str = "ahp-session:/1";

pub(crate) fn chat() -> String {
    ChannelUri::default_chat_of(SESSION).to_string()
}

/// A host whose store commits at once.
pub(crate) struct Host {
    pub(crate) engine: Engine,
    store: MemoryStore,
    archive: Arc<dyn Archive>,
    now: i64,
    pub(crate) heard: BTreeMap<u64, Vec<Value>>,
    /// How long the last published message may wait, for each connection.
    pub(crate) latencies: BTreeMap<u64, Option<Duration>>,
    pub(crate) closed: Vec<u64>,
    /// What each connection speaks over which a client was let in.
    versions: BTreeMap<u64, Version>,
    /// What the clients speak that the engine knows.
    pub(crate) client_versions: BTreeMap<ClientId, Version>,
    pub(crate) commands: Vec<AgentCommand>,
    pub(crate) changes: Vec<ChangesCommand>,
    pub(crate) watches: Vec<WatchCommand>,
    /// What was to be done about customizations.
    pub(crate) customizations: Vec<CustomizationCommand>,
    /// What MCP servers were to do.
    pub(crate) mcp: Vec<McpCommand>,
    /// What requests about files were allowed to reach.
    pub(crate) scopes: Vec<Scope>,
    /// Questions for directories that are left open, if they are to be.
    pub(crate) held_checks: Option<Vec<Ticket>>,
    /// Lookups that are left open, if they are to be.
    pub(crate) held_lookups: Option<Vec<(Ticket, Lookup)>>,
    /// The agents that are to be installed; without a name, they are to be listed.
    pub(crate) installs: Vec<(Ticket, String)>,
    pub(crate) stopped_installs: Vec<Ticket>,
    /// The files that the engine can look into, by URI.
    pub(crate) files: BTreeMap<String, String>,
    /// Working trees that are to go because nobody works in them.
    pub(crate) removed: Vec<Leftovers>,
    /// The store takes nothing any more that is about a session.
    pub(crate) refuses: bool,
    requests: i64,
    /// How often content was read for agents.
    pub(crate) contents_read: usize,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self::configured(config(limits))
    }

    /// A host that tells changes in the directories of sessions.
    pub(crate) fn with_changes() -> Self {
        let mut config = config(Limits::default());
        config.workspace.changes = true;
        config.workspace.worktrees = Some("file:///trees".to_owned());
        Self::configured(config)
    }

    /// A host whose queues behave like this when a turn is cancelled.
    pub(crate) fn with_queue(after_cancel: QueueAfterCancel) -> Self {
        let mut config = config(Limits::default());
        config.queue_after_cancel = after_cancel;
        Self::configured(config).opened_session()
    }

    pub(crate) fn configured(config: EngineConfig) -> Self {
        let mut store = MemoryStore::default();
        let boot = store.begin().unwrap();
        let (engine, step) = Engine::new(Timestamp::from_millis(0), config, agents(), boot);
        let mut host = Self {
            engine,
            archive: store.archive().unwrap(),
            store,
            now: 0,
            heard: BTreeMap::new(),
            latencies: BTreeMap::new(),
            closed: Vec::new(),
            versions: BTreeMap::new(),
            client_versions: BTreeMap::new(),
            commands: Vec::new(),
            changes: Vec::new(),
            watches: Vec::new(),
            customizations: Vec::new(),
            mcp: Vec::new(),
            scopes: Vec::new(),
            held_checks: None,
            held_lookups: None,
            installs: Vec::new(),
            stopped_installs: Vec::new(),
            files: BTreeMap::new(),
            removed: Vec::new(),
            refuses: false,
            requests: 0,
            contents_read: 0,
        };
        host.carry_out(step);
        host
    }

    /// With one session that is ready, client `a` on connection 1 watching
    /// everything of it.
    pub(crate) fn with_session(limits: Limits) -> Self {
        Self::with(limits).opened_session()
    }

    fn opened_session(mut self) -> Self {
        self.enter(1, "a", &[ROOT]);
        self.ok(1, "createSession", json!({"channel": SESSION}));
        self.opened();
        for channel in [SESSION, &chat()] {
            self.ok(1, "subscribe", json!({"channel": channel}));
        }
        self.heard.clear();
        self
    }

    /// Returns how many clients the store remembers.
    pub(crate) fn restart(&mut self, limits: Limits) -> usize {
        self.restart_as(config(limits))
    }

    pub(crate) fn restart_as(&mut self, config: EngineConfig) -> usize {
        let boot = self.store.begin().unwrap();
        let clients = boot.clients.len();
        self.versions.clear();
        self.client_versions = boot
            .clients
            .iter()
            .filter_map(|client| Some((client.client_id.clone(), client.speaks()?)))
            .collect();
        self.heard.clear();
        let now = Timestamp::from_millis(self.now);
        let (engine, step) = Engine::new(now, config, agents(), boot);
        self.engine = engine;
        self.carry_out(step);
        clients
    }

    /// Answers the lookups that are open; those that begin then stay open.
    pub(crate) fn release_lookups(&mut self) {
        let held = self.held_lookups.replace(Vec::new());
        for (ticket, lookup) in held.into_iter().flatten() {
            let outcome = Ok(lookup.in_archive(&*self.archive).unwrap());
            self.feed(Input::LookedUp { ticket, outcome });
        }
    }

    pub(crate) fn feed(&mut self, input: Input) {
        let now = Timestamp::from_millis(self.now);
        let step = self.engine.handle(now, input);
        self.carry_out(step);
    }

    fn carry_out(&mut self, step: Step) {
        let sessions = step.store.sessions();
        if self.refuses && !sessions.is_empty() {
            self.refuses = false;
            let sessions = sessions.into_iter().collect();
            return self.feed(Input::NotStored { sessions });
        }
        self.store.apply(&[step.store]).unwrap();
        for effect in step.effects {
            match effect {
                Effect::Send { to, message } => self.deliver(to, &message),
                Effect::Publish { to, message } => {
                    for subscriber in to.iter() {
                        let connection = subscriber.connection;
                        self.latencies.insert(connection.0, subscriber.max_latency);
                        self.deliver(connection, &message);
                    }
                }
                Effect::Speak {
                    to,
                    client,
                    version,
                    name: _,
                } => {
                    self.client_versions.insert(client, version);
                    self.versions.insert(to.0, version);
                }
                Effect::ForgetClient { client } => {
                    self.client_versions.remove(&client);
                }
                Effect::Close { connection, .. } => self.closed.push(connection.0),
                Effect::Agent(command) => self.commands.push(command),
                Effect::LoadSession { session } => {
                    let loaded = Ok(self.archive.load_session(&session).unwrap().map(Box::new));
                    self.feed(Input::SessionLoaded { session, loaded });
                }
                Effect::LoadLog {
                    ticket,
                    after,
                    up_to,
                } => {
                    let entries = Ok(self.archive.log_between(after, up_to).unwrap());
                    self.feed(Input::LogLoaded { ticket, entries });
                }
                Effect::LookUp { ticket, lookup } => {
                    if let Some(held) = &mut self.held_lookups {
                        held.push((ticket, lookup));
                        continue;
                    }
                    let outcome = Ok(lookup.in_archive(&*self.archive).unwrap());
                    self.feed(Input::LookedUp { ticket, outcome });
                }
                Effect::LoadContent { ticket, uri } => {
                    self.contents_read += 1;
                    let content = Ok(self.archive.content(&uri).unwrap());
                    self.feed(Input::ContentLoaded { ticket, content });
                }
                Effect::ReadContent {
                    ticket,
                    uri,
                    encoding,
                    ..
                } => {
                    let content = self.archive.content(&uri).unwrap();
                    let kept = ResourceDone::kept(&uri, content);
                    let outcome = kept.map(|it| Finished::new(it.into_json(encoding).unwrap(), ()));
                    self.feed(Input::ResourceDone { ticket, outcome });
                }
                Effect::TakeContent {
                    ticket,
                    uri,
                    data,
                    most_bytes,
                    ..
                } => {
                    let known = self.archive.content(&uri).unwrap();
                    let outcome = TakenContent::new(&uri, known.as_ref(), data, most_bytes, ());
                    self.feed(Input::ContentTaken { ticket, outcome });
                }
                Effect::CheckDirectories {
                    ticket,
                    directories,
                } => {
                    if let Some(held) = &mut self.held_checks {
                        held.push(ticket);
                        continue;
                    }
                    let is_missing = |it: &&String| it.contains("missing");
                    let missing = directories.iter().find(is_missing);
                    let wrong = missing.map(|uri| format!("`{uri}` does not exist"));
                    self.feed(Input::DirectoriesChecked { ticket, wrong });
                }
                Effect::ReadText { ticket, file, .. } => {
                    let text = self.files.get(&file).cloned();
                    self.feed(Input::TextRead { ticket, text });
                }
                Effect::FindFiles { ticket, .. } => {
                    let files = Vec::new();
                    self.feed(Input::FilesFound { ticket, files });
                }
                Effect::Resource { scope, .. } => self.scopes.push(scope),
                Effect::Terminal(_)
                | Effect::TerminalTaken { .. }
                | Effect::ListBranches { .. }
                | Effect::ReadKept { .. }
                | Effect::Span(_) => {}
                Effect::Customization(command) => self.customizations.push(command),
                Effect::ListInstallable { ticket } => self.installs.push((ticket, String::new())),
                Effect::InstallAgent { ticket, provider } => self.installs.push((ticket, provider)),
                Effect::StopInstalling { ticket } => self.stopped_installs.push(ticket),
                Effect::Changes(command) => self.changes.push(command),
                Effect::Watch(command) => self.watches.push(command),
                Effect::Mcp(command) => self.mcp.push(command),
                Effect::RemoveLeftovers(removed) => self.removed.push(removed),
                Effect::CompleteConfig { ticket, .. } => {
                    let items = Vec::new();
                    self.feed(Input::ConfigCompleted { ticket, items });
                }
            }
        }
    }

    fn deliver(&mut self, to: ConnectionId, message: &HostMessage) {
        let heard = self.heard.entry(to.0).or_default();
        let version = self.versions.get(&to.0).copied();
        encode_each(message, version.unwrap_or(Version::NEWEST), |text| {
            heard.push(serde_json::from_str(&text).unwrap());
        });
    }

    pub(crate) fn say(&mut self, connection: u64, text: &str) {
        let (version, message) = match self.versions.get(&connection) {
            Some(version) => (*version, ClientMessage::decode_in(*version, text)),
            None => {
                let known = |client: &str| self.client_versions.get(client).copied();
                ClientMessage::decode_first(text, known)
            }
        };
        self.feed(Input::Message {
            connection: ConnectionId(connection),
            version,
            message,
        });
    }

    /// Sends a request and returns the whole answer.
    pub(crate) fn ask(&mut self, connection: u64, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(connection, &text.to_string());
        let heard = self.heard.entry(connection).or_default();
        let at = heard.iter().position(|frame| frame["id"] == id);
        heard.remove(at.unwrap_or_else(|| panic!("{method} was not answered")))
    }

    pub(crate) fn ok(&mut self, connection: u64, method: &str, params: Value) -> Value {
        let mut answer = self.ask(connection, method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    pub(crate) fn refused(&mut self, connection: u64, method: &str, params: Value) -> i64 {
        let answer = self.ask(connection, method, params);
        let code = answer["error"]["code"].as_i64();
        code.unwrap_or_else(|| panic!("{method} was not refused: {answer}"))
    }

    pub(crate) fn enter(&mut self, connection: u64, client: &str, channels: &[&str]) -> Value {
        self.enter_as(Version::NEWEST, connection, client, channels)
    }

    pub(crate) fn enter_as(
        &mut self,
        version: Version,
        connection: u64,
        client: &str,
        channels: &[&str],
    ) -> Value {
        self.connect(connection);
        let mut params = json!({"clientId": client, "initialSubscriptions": channels});
        match version {
            Version::Draft1 => params["protocolVersion"] = 1.into(),
            named => params["protocolVersions"] = json!([named.to_string()]),
        }
        self.ok(connection, "initialize", params)
    }

    pub(crate) fn connect(&mut self, connection: u64) {
        self.versions.remove(&connection);
        self.feed(Input::Connected {
            connection: ConnectionId(connection),
        });
    }

    pub(crate) fn leave(&mut self, connection: u64) {
        self.feed(Input::Disconnected {
            connection: ConnectionId(connection),
        });
    }

    /// Returns the number that the client gives it.
    pub(crate) fn dispatch(&mut self, connection: u64, channel: &str, action: Value) -> i64 {
        self.requests += 1;
        let params = json!({"channel": channel, "clientSeq": self.requests, "action": action});
        let text = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.say(connection, &text.to_string());
        self.requests
    }

    /// Why the last dispatched action was rejected; empty if it was not.
    pub(crate) fn rejection(&self, connection: u64) -> String {
        let mut heard = self.heard.get(&connection).into_iter().flatten();
        let last = heard.rfind(|frame| frame["method"] == "action");
        let reason = last.and_then(|frame| frame["params"]["rejectionReason"].as_str());
        reason.unwrap_or_default().to_owned()
    }

    /// The actions that a connection has heard, with their channels.
    pub(crate) fn actions(&self, connection: u64) -> Vec<(String, Value)> {
        let heard = self.heard.get(&connection).into_iter().flatten();
        let actions = heard.filter(|frame| frame["method"] == "action");
        let told = actions.map(|frame| {
            let channel = frame["params"]["channel"].as_str().unwrap_or_default();
            (channel.to_owned(), frame["params"]["action"].clone())
        });
        told.collect()
    }

    /// What a connection has heard, shortly, and forgets it.
    pub(crate) fn news(&mut self, connection: u64) -> Vec<String> {
        let heard = self.heard.remove(&connection).unwrap_or_default();
        let name = |frame: &Value| match frame["params"]["action"]["type"].as_str() {
            Some(action) => action.to_owned(),
            None => frame["method"].as_str().unwrap_or("answer").to_owned(),
        };
        heard.iter().map(name).collect()
    }

    pub(crate) fn start_turn(&mut self, connection: u64, id: &str) {
        let message = json!({"text": format!("Do {id}"), "origin": {"kind": "user"}});
        let action = json!({"type": "chat/turnStarted", "turnId": id, "message": message});
        self.dispatch(connection, &chat(), action);
    }

    pub(crate) fn backend(&self) -> BackendId {
        self.commands.last().unwrap().backend()
    }

    pub(crate) fn report(&mut self, event: AgentEvent) {
        let backend = self.backend();
        self.feed(Input::Agent(AgentReport { backend, event }));
    }

    pub(crate) fn opened(&mut self) {
        self.report(AgentEvent::Opened { resume: None });
    }

    pub(crate) fn in_turn(&mut self, turn: &str, event: TurnEvent) {
        let turn = turn.into();
        self.report(AgentEvent::Turn { turn, event });
    }

    pub(crate) fn whole_turns(&mut self, count: usize) {
        for n in 1..=count {
            self.start_turn(1, &format!("t{n}"));
            self.in_turn(&format!("t{n}"), TurnEvent::Completed);
        }
    }

    pub(crate) fn state(&mut self, channel: &str) -> Value {
        self.enter(99, "observer", &[]);
        let mut reply = self.ok(99, "subscribe", json!({"channel": channel}));
        self.leave(99);
        reply["snapshot"]["state"].take()
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now += i64::try_from(time.as_millis()).unwrap();
        self.feed(Input::Tick);
    }

    /// Time passes while no host is at work.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += i64::try_from(time.as_millis()).unwrap();
    }

    /// The machine's clock was ahead, and is put right while no host is at work.
    pub(crate) fn put_clock_back(&mut self, by: Duration) {
        self.now -= i64::try_from(by.as_millis()).unwrap();
    }

    /// Somebody sets the clock, and no time passes.
    pub(crate) fn set_clock_forward(&mut self, by: Duration) {
        self.now += i64::try_from(by.as_millis()).unwrap();
        self.feed(Input::ClockSetForward { by });
    }

    /// The numbers of the actions that are in the stored log.
    pub(crate) fn stored_numbers(&self) -> Vec<Seq> {
        let log = self.archive.log_between(Seq::ZERO, Seq::MAX).unwrap();
        log.iter().map(|entry| entry.last).collect()
    }
}

pub(crate) const ROOT: &str = "ahp-root://";

pub(crate) fn config(limits: Limits) -> EngineConfig {
    EngineConfig {
        server_info: Implementation {
            name: "scenario".to_owned(),
            version: None,
            title: None,
        },
        build: Default::default(),
        default_directory: None,
        nonce: "n".to_owned(),
        limits,
        number_block: EngineConfig::NUMBER_BLOCK,
        queue_after_cancel: QueueAfterCancel::default(),
        workspace: Default::default(),
    }
}

pub(crate) fn agents() -> Vec<AgentProfile> {
    let info = json!({"provider": "alpha", "displayName": "A", "description": "", "models": []});
    let info: AgentInfo = serde_json::from_value(info).unwrap();
    vec![AgentProfile {
        info,
        config: None,
        synonyms: Vec::new(),
        works: true,
        resumes: true,
        reach: Default::default(),
    }]
}

/// The agent cannot be started.
pub(crate) fn broken_start(why: &str) -> AgentEvent {
    AgentEvent::OpenFailed(AgentFailure::Own(error_info(why).into()))
}

/// The agent's process was killed in the middle of its work.
pub(crate) fn killed() -> AgentEvent {
    exited(false)
}

/// The agent's process was killed, and had no turn as far as it knew.
pub(crate) fn killed_idle() -> AgentEvent {
    exited(true)
}

fn exited(idle: bool) -> AgentEvent {
    let end = AgentEnd::Process(ProcessEnd {
        how: HowEnded::Signal(9),
        last_words: None,
    });
    AgentEvent::Exited { end, idle }
}

fn error_info(message: &str) -> ErrorInfo {
    ErrorInfo {
        error_type: "x".to_owned(),
        message: message.to_owned(),
        stack: None,
        meta: None,
    }
}

pub(crate) fn broken(resumable: bool) -> TurnEvent {
    let failure = AgentFailure::Own(error_info("broken").into());
    TurnEvent::Failed { failure, resumable }
}
