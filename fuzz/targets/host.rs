//! A host without a shell, for targets that need an engine: its store commits
//! at once, and everything that it asks of the machine is answered at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_engine::{
    ConnectionId, Effect, Engine, EngineConfig, Input, Limits, QueueAfterCancel, Step,
};
use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, AgentProfile, AgentReport, BackendId, TurnEvent,
};
use innkeeper_protocol::command::ClientMessage;
use innkeeper_protocol::newest::commands::Implementation;
use innkeeper_protocol::outgoing::{HostMessage, encode_each};
use innkeeper_protocol::record::store::{Archive, Store};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::customization::Reach;
use innkeeper_protocol::workspace::resource::{ResourceError, TakenContent};
use innkeeper_protocol::{ChannelUri, ClientId, Timestamp, TurnId};
use serde_json::{Value, json};

pub const SESSION: &str = "ahp-session:/1";

pub struct Host {
    engine: Engine,
    store: Box<dyn Store>,
    archive: Arc<dyn Archive>,
    now: i64,
    versions: BTreeMap<u64, Version>,
    client_versions: BTreeMap<ClientId, Version>,
    /// What each connection heard.
    pub heard: BTreeMap<u64, Vec<Value>>,
    /// Connections that the host has closed.
    pub closed: Vec<u64>,
    backend: Option<BackendId>,
    turn: Option<TurnId>,
}

impl Host {
    pub fn new(mut store: Box<dyn Store>) -> Self {
        let boot = store.begin().expect("a store that begins");
        let (engine, step) = Engine::new(Timestamp::from_millis(0), config(), agents(), boot);
        let mut host = Self {
            engine,
            archive: store.archive().expect("an archive"),
            store,
            now: 0,
            versions: BTreeMap::new(),
            client_versions: BTreeMap::new(),
            heard: BTreeMap::new(),
            closed: Vec::new(),
            backend: None,
            turn: None,
        };
        host.carry_out(step);
        host
    }

    /// The next life, on the same store.
    pub fn restart(&mut self) {
        let boot = self.store.begin().expect("a store that begins again");
        self.versions.clear();
        self.heard.clear();
        self.closed.clear();
        (self.backend, self.turn) = (None, None);
        let now = Timestamp::from_millis(self.now);
        let (engine, step) = Engine::new(now, config(), agents(), boot);
        self.engine = engine;
        self.carry_out(step);
    }

    pub fn feed(&mut self, input: Input) {
        let step = self.engine.handle(Timestamp::from_millis(self.now), input);
        self.carry_out(step);
    }

    pub fn wait(&mut self, millis: i64) {
        self.now = self.now.saturating_add(millis);
        self.feed(Input::Tick);
    }

    fn carry_out(&mut self, step: Step) {
        self.store
            .apply(&[step.store])
            .expect("a store that takes everything");
        for effect in step.effects {
            let answer = match effect {
                Effect::Send { to, message } => {
                    self.deliver(to, &message);
                    None
                }
                Effect::Publish { to, message } => {
                    for subscriber in to.iter() {
                        self.deliver(subscriber.connection, &message);
                    }
                    None
                }
                Effect::Speak {
                    to,
                    client,
                    version,
                    ..
                } => {
                    self.client_versions.insert(client, version);
                    self.versions.insert(to.0, version);
                    None
                }
                Effect::ForgetClient { client } => {
                    self.client_versions.remove(&client);
                    None
                }
                Effect::Close { connection, .. } => {
                    self.closed.push(connection.0);
                    Some(Input::Disconnected { connection })
                }
                Effect::Agent(command) => {
                    self.backend = Some(command.backend());
                    if let AgentCommand::Prompt(prompt) = &command {
                        self.turn = Some(prompt.turn.clone());
                    }
                    None
                }
                Effect::LoadSession { session } => {
                    let loaded = self.archive.load_session(&session);
                    let loaded = loaded
                        .map(|it| it.map(Box::new))
                        .map_err(|it| it.to_string());
                    Some(Input::SessionLoaded { session, loaded })
                }
                Effect::LoadLog {
                    ticket,
                    after,
                    up_to,
                } => {
                    let entries = self.archive.log_between(after, up_to);
                    let entries = entries.map_err(|it| it.to_string());
                    Some(Input::LogLoaded { ticket, entries })
                }
                Effect::LookUp { ticket, lookup } => {
                    let outcome = lookup.in_archive(&*self.archive);
                    let outcome = outcome.map_err(|it| it.to_string());
                    Some(Input::LookedUp { ticket, outcome })
                }
                Effect::LoadContent { ticket, uri } => {
                    let content = self.archive.content(&uri).map_err(|it| it.to_string());
                    Some(Input::ContentLoaded { ticket, content })
                }
                Effect::CheckDirectories { ticket, .. } => Some(Input::DirectoriesChecked {
                    ticket,
                    wrong: None,
                }),
                Effect::ReadText { ticket, .. } => Some(Input::TextRead { ticket, text: None }),
                Effect::FindFiles { ticket, .. } => Some(Input::FilesFound {
                    ticket,
                    files: Vec::new(),
                }),
                Effect::CompleteConfig { ticket, .. } | Effect::ListBranches { ticket, .. } => {
                    Some(Input::ConfigCompleted {
                        ticket,
                        items: Vec::new(),
                    })
                }
                Effect::Resource { ticket, .. }
                | Effect::ReadContent { ticket, .. }
                | Effect::ReadKept { ticket, .. } => {
                    let outcome = Err(ResourceError::NotFound { uri: String::new() });
                    Some(Input::ResourceDone { ticket, outcome })
                }
                Effect::TakeContent {
                    ticket,
                    uri,
                    data,
                    most_bytes,
                    ..
                } => {
                    let known = self.archive.content(&uri).ok().flatten();
                    let outcome = TakenContent::new(&uri, known.as_ref(), data, most_bytes, ());
                    Some(Input::ContentTaken { ticket, outcome })
                }
                Effect::Terminal(_)
                | Effect::TerminalTaken { .. }
                | Effect::Watch(_)
                | Effect::Customization(_)
                | Effect::Mcp(_)
                | Effect::Changes(_)
                | Effect::RemoveLeftovers(_)
                | Effect::ListInstallable { .. }
                | Effect::InstallAgent { .. }
                | Effect::StopInstalling { .. }
                | Effect::Span(_) => None,
            };
            if let Some(answer) = answer {
                self.feed(answer);
            }
        }
    }

    fn deliver(&mut self, to: ConnectionId, message: &HostMessage) {
        let heard = self.heard.entry(to.0).or_default();
        let version = self.versions.get(&to.0).copied();
        encode_each(message, version.unwrap_or(Version::NEWEST), |text| {
            heard.push(serde_json::from_str(&text).expect("JSON for clients"));
        });
    }

    pub fn connect(&mut self, connection: u64) {
        self.versions.remove(&connection);
        self.heard.remove(&connection);
        self.closed.retain(|it| *it != connection);
        let connection = ConnectionId(connection);
        self.feed(Input::Connected { connection });
    }

    pub fn leave(&mut self, connection: u64) {
        self.versions.remove(&connection);
        let connection = ConnectionId(connection);
        self.feed(Input::Disconnected { connection });
    }

    pub fn version_of(&self, connection: u64) -> Option<Version> {
        self.versions.get(&connection).copied()
    }

    pub fn say(&mut self, connection: u64, text: &str) {
        let (version, message) = match self.versions.get(&connection) {
            Some(version) => (*version, ClientMessage::decode_in(*version, text)),
            None => {
                let known = |client: &str| self.client_versions.get(client).copied();
                ClientMessage::decode_first(text, known)
            }
        };
        let connection = ConnectionId(connection);
        self.feed(Input::Message {
            connection,
            version,
            message,
        });
    }

    pub fn ask(&mut self, connection: u64, id: &str, method: &str, params: Value) -> Option<Value> {
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(connection, &text.to_string());
        let heard = self.heard.get(&connection)?;
        heard.iter().rfind(|frame| frame["id"] == id).cloned()
    }

    /// A client arrives in a version.
    pub fn enter(&mut self, version: Version, connection: u64, client: &str) {
        self.connect(connection);
        let mut params = json!({"clientId": client, "initialSubscriptions": []});
        match version {
            Version::Draft1 => params["protocolVersion"] = 1.into(),
            named => params["protocolVersions"] = json!([named.to_string()]),
        }
        self.ask(connection, "enter", "initialize", params);
    }

    pub fn report(&mut self, event: AgentEvent) {
        if let Some(backend) = self.backend {
            self.feed(Input::Agent(AgentReport { backend, event }));
        }
    }

    pub fn in_turn(&mut self, event: TurnEvent) {
        if let Some(turn) = self.turn.clone() {
            self.report(AgentEvent::Turn { turn, event });
        }
    }

    /// A channel of the newest version, as a newcomer gets it.
    pub fn snapshot(&mut self, connection: u64, channel: &str) -> Option<Value> {
        let params = json!({"channel": channel});
        let mut answer = self.ask(connection, "snapshot", "subscribe", params)?;
        Some(answer["result"]["snapshot"].take())
    }
}

pub fn chat() -> String {
    ChannelUri::default_chat_of(SESSION).to_string()
}

fn config() -> EngineConfig {
    EngineConfig {
        server_info: Implementation {
            name: "fuzz".to_owned(),
            version: None,
            title: None,
        },
        build: Default::default(),
        default_directory: None,
        nonce: "n".to_owned(),
        limits: Limits::default(),
        number_block: EngineConfig::NUMBER_BLOCK,
        queue_after_cancel: QueueAfterCancel::default(),
        workspace: Default::default(),
    }
}

fn agents() -> Vec<AgentProfile> {
    let info = json!({"provider": "alpha", "displayName": "A", "description": "", "models": []});
    vec![AgentProfile {
        info: serde_json::from_value(info).expect("an agent"),
        config: None,
        synonyms: Vec::new(),
        works: true,
        resumes: true,
        reach: Reach::default(),
    }]
}
