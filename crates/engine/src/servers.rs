//! The MCP servers that the host runs: which of them run for whom, how they
//! are, and what was asked of them (`calls`).
//!
//! A server runs for one session, or once for all sessions with the same first
//! directory. It begins when an agent of a session is about to start, or when
//! somebody asks for it, and ends with the last session that it runs for.
//!
//! *Invariant*: what a session shows of a server is what is known here, and a
//! server that is not known here is stopped.

mod apps;
mod calls;
mod canvases;
mod channel;
mod shown;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{ClientTool, ToolOwner};
use innkeeper_protocol::mcp::hosted::{
    McpCallId, McpCommand, McpEvent, McpFailure, McpOffer, McpReport, ServerRun, StartServer,
};
use innkeeper_protocol::mcp::{Hosting, McpServer};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    McpAuthRequirement, McpServerState, McpServerStoppedState,
};
use serde_json::json;

use crate::core::{Core, Deadline};
use crate::effect::Effect;

pub(crate) use calls::{Answered, Outcome, ToolCaller};
pub(crate) use shown::{Looks, server_in};

pub(crate) use canvases::pages_in;

use calls::{Blocked, Caller};
use canvases::Canvas;
use shown::show;
use tokens::Granted;

/// How long an agent's start waits for a server.
const PATIENCE: Duration = Duration::from_secs(20);

/// The MCP servers that the host runs.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    known: BTreeMap<Place, Server>,
    /// What each session uses, by the id of the customization.
    used: HashMap<ChannelUri, BTreeMap<String, Place>>,
    by_run: HashMap<ServerRun, Place>,
    calls: HashMap<McpCallId, Caller>,
    /// Tool calls that wait for somebody to sign in.
    blocked: Vec<Blocked>,
    canvases: Vec<Canvas>,
    /// By resource. They live in memory only.
    tokens: BTreeMap<String, Granted>,
    news: News,
    last_run: u64,
    last_call: u64,
}

/// For whom a server runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    scope: Scope,
    /// Of the customization.
    id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Session(ChannelUri),
    Directory(Option<String>),
}

#[derive(Debug)]
struct Server {
    server: McpServer,
    directory: Option<String>,
    sessions: BTreeSet<ChannelUri>,
    run: Option<ServerRun>,
    phase: Phase,
    offer: McpOffer,
    /// The resource that it wanted a sign-in for, and whether the run has a
    /// token for it.
    resource: Option<String>,
    has_token: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// Whether agents wait for it.
    Starting {
        blocking: bool,
    },
    Ready,
    AuthRequired(Box<McpAuthRequirement>),
    Failed(McpFailure),
}

/// A server that a session has and that is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) id: String,
    pub(crate) server: McpServer,
    pub(crate) hosting: Hosting,
    /// The session's first directory.
    pub(crate) directory: Option<String>,
}

/// What has happened that concerns turns.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Sessions whose agents have other tools now.
    pub(crate) tools_of: BTreeSet<ChannelUri>,
    /// Sessions whose servers look different now.
    pub(crate) looks_of: BTreeSet<ChannelUri>,
    pub(crate) answered: Vec<Answered>,
    /// Agents that waited for a server need not any more.
    pub(crate) may_begin: bool,
}

impl Wanted {
    fn place(&self, session: &ChannelUri) -> Place {
        Place {
            scope: match self.hosting {
                Hosting::Directory => Scope::Directory(self.directory.clone()),
                Hosting::Session | Hosting::Agent => Scope::Session(session.clone()),
            },
            id: self.id.clone(),
        }
    }
}

impl Servers {
    fn of_session(&self, session: &ChannelUri) -> impl Iterator<Item = (&str, &Server)> {
        let used = self.used.get(session).into_iter().flatten();
        used.filter_map(|(id, place)| Some((id.as_str(), self.known.get(place)?)))
    }

    fn of(&self, session: &ChannelUri, id: &str) -> Option<&Server> {
        self.known.get(self.used.get(session)?.get(id)?)
    }

    /// What has happened since this was last asked.
    pub(crate) fn take_news(&mut self) -> Option<News> {
        let News {
            tools_of,
            looks_of,
            answered,
            may_begin,
        } = &self.news;
        let is_silent = tools_of.is_empty() && looks_of.is_empty() && answered.is_empty();
        let has_any = !is_silent || *may_begin;
        has_any.then(|| std::mem::take(&mut self.news))
    }

    /// How a server is, as its session shows it.
    pub(crate) fn state_of(
        &self,
        core: &Core,
        session: &ChannelUri,
        id: &str,
    ) -> (McpServerState, Option<String>) {
        match self.of(session, id) {
            Some(server) => (server.state(), server.channel(core)),
            None => (McpServerState::Stopped(McpServerStoppedState {}), None),
        }
    }

    /// What a server that runs says about itself.
    pub(crate) fn looks_of(&self, session: &ChannelUri, id: &str) -> Looks {
        let server = self.of(session, id);
        server.map(|it| Looks::of(&it.offer)).unwrap_or_default()
    }

    /// Whether the agents of a session should wait until more is known.
    pub(crate) fn are_awaited(&self, session: &ChannelUri) -> bool {
        let waits = |it: &Server| it.phase == Phase::Starting { blocking: true };
        self.of_session(session).any(|(_, it)| waits(it))
    }

    /// What `_meta` of a call says about the server that runs it, in the words
    /// that editors in the field look for: its name, the tool's, and the app
    /// that shows the result, if there is one.
    pub(crate) fn about_call(
        &self,
        core: &Core,
        session: &ChannelUri,
        id: &str,
        tool: &str,
    ) -> JsonObject {
        let mut meta = JsonObject::new();
        let Some(server) = self.of(session, id) else {
            return meta;
        };
        meta.insert("mcpServerName".to_owned(), json!(server.server.name));
        meta.insert("mcpToolName".to_owned(), json!(tool));
        let mut tools = server.offer.tools.iter();
        let definition = tools.find(|definition| definition.name == tool);
        if let Some(app) = definition.and_then(apps::app_of) {
            let ui = json!({"resourceUri": app, "channel": server.channel(core)});
            meta.insert("ui".to_owned(), ui);
        }
        meta
    }

    /// The tools that servers of a session offer to its agents.
    pub(crate) fn tools_of(&self, session: &ChannelUri) -> Vec<ClientTool> {
        let mut tools = Vec::new();
        for (id, server) in self.of_session(session) {
            if server.phase != Phase::Ready {
                continue;
            }
            let owner = ToolOwner::Server {
                id: id.to_owned(),
                name: server.server.name.clone(),
            };
            tools.extend(server.offer.tools.iter().map(|definition| ClientTool {
                owner: owner.clone(),
                definition: definition.clone(),
            }));
        }
        tools
    }

    /// An agent of the session is about to start: what is on and was not used
    /// yet begins, and the agent waits for it.
    pub(crate) fn want(&mut self, core: &mut Core, session: &ChannelUri, wanted: Vec<Wanted>) {
        for wanted in wanted {
            let used = self.used.get(session);
            if used.is_none_or(|used| !used.contains_key(&wanted.id)) {
                self.use_server(core, session, wanted, true);
            }
        }
    }

    /// Somebody asks for a server to be started, or started again.
    pub(crate) fn start(&mut self, core: &mut Core, session: &ChannelUri, wanted: Wanted) {
        let place = wanted.place(session);
        self.end_run(core, &place);
        if let Some(server) = self.known.get_mut(&place) {
            server.server.clone_from(&wanted.server);
            server.sessions.insert(session.clone());
            let used = self.used.entry(session.clone()).or_default();
            used.insert(wanted.id, place.clone());
            self.begin_run(core, &place, false);
        } else {
            self.use_server(core, session, wanted, false);
        }
    }

    /// Somebody asks for a server not to run in a session.
    pub(crate) fn stop(&mut self, core: &mut Core, session: &ChannelUri, id: &str) {
        let used = self.used.get_mut(session);
        if let Some(place) = used.and_then(|used| used.remove(id)) {
            self.let_go(core, session, &place);
        }
    }

    /// Somebody does not want agents to wait for a server.
    pub(crate) fn background(&mut self, core: &mut Core, session: &ChannelUri, id: &str) {
        let place = self.used.get(session).and_then(|used| used.get(id));
        if let Some(place) = place.cloned() {
            self.stop_waiting(core, &place);
        }
    }

    /// A server took too long for agents to wait any longer.
    pub(crate) fn is_late(&mut self, core: &mut Core, run: ServerRun) {
        if let Some(place) = self.by_run.get(&run).cloned() {
            self.stop_waiting(core, &place);
        }
    }

    fn stop_waiting(&mut self, core: &mut Core, place: &Place) {
        if let Some(server) = self.known.get_mut(place)
            && server.phase == (Phase::Starting { blocking: true })
        {
            server.phase = Phase::Starting { blocking: false };
            if let Some(run) = server.run {
                core.deadlines.clear(&Deadline::ServerStarts(run));
            }
            self.news.may_begin = true;
            self.tell(core, place);
        }
    }

    /// These are all servers that are on in a session: what else runs for it is
    /// let go, and what is declared differently now.
    pub(crate) fn keep(&mut self, core: &mut Core, session: &ChannelUri, wanted: &[Wanted]) {
        let stays = |id: &str, place: &Place, known: &BTreeMap<Place, Server>| {
            let mut same = wanted.iter().filter(|it| it.id == id);
            same.any(|it| {
                it.place(session) == *place
                    && known
                        .get(place)
                        .is_some_and(|known| known.server == it.server)
            })
        };
        let used = self.used.get(session).into_iter().flatten();
        let gone: Vec<(String, Place)> = used
            .filter(|(id, place)| !stays(id, place, &self.known))
            .map(|(id, place)| (id.clone(), place.clone()))
            .collect();
        for (id, place) in gone {
            if let Some(used) = self.used.get_mut(session) {
                used.remove(&id);
            }
            self.let_go(core, session, &place);
        }
    }

    /// A session leaves memory.
    pub(crate) fn leave(&mut self, core: &mut Core, session: &ChannelUri) {
        for place in self.used.remove(session).unwrap_or_default().into_values() {
            self.let_go(core, session, &place);
        }
    }

    fn use_server(
        &mut self,
        core: &mut Core,
        session: &ChannelUri,
        wanted: Wanted,
        blocking: bool,
    ) {
        let place = wanted.place(session);
        let used = self.used.entry(session.clone()).or_default();
        used.insert(wanted.id, place.clone());
        let is_new = !self.known.contains_key(&place);
        let server = self.known.entry(place.clone()).or_insert_with(|| Server {
            server: wanted.server,
            directory: wanted.directory,
            sessions: BTreeSet::new(),
            run: None,
            phase: Phase::Starting { blocking },
            offer: McpOffer::default(),
            resource: None,
            has_token: false,
        });
        server.sessions.insert(session.clone());
        if Looks::of(&server.offer) != Looks::default() {
            self.news.looks_of.insert(session.clone());
        }
        match is_new {
            true => self.begin_run(core, &place, blocking),
            false => self.tell(core, &place),
        }
    }

    /// Starts a server that does not run.
    fn begin_run(&mut self, core: &mut Core, place: &Place, blocking: bool) {
        let most = core.config.limits.mcp_servers;
        let is_full = self.by_run.len() >= most;
        let Some(server) = self.known.get_mut(place) else {
            return;
        };
        if is_full {
            server.phase = Phase::Failed(McpFailure::TooMany(most));
            return self.tell(core, place);
        }
        self.last_run += 1;
        let run = ServerRun(self.last_run);
        let resource = server.resource.as_ref();
        let token = resource
            .and_then(|resource| self.tokens.get(resource))
            .map(|granted| granted.token.clone());
        server.run = Some(run);
        server.has_token = token.is_some();
        server.phase = Phase::Starting { blocking };
        let before = std::mem::take(&mut server.offer);
        if Looks::of(&before) != Looks::default() {
            self.news.looks_of.extend(server.sessions.iter().cloned());
        }
        let start = StartServer {
            run,
            server: server.server.clone(),
            directory: server.directory.clone(),
            token,
        };
        self.by_run.insert(run, place.clone());
        if blocking {
            let due = core.now.after(PATIENCE);
            core.deadlines.set(Deadline::ServerStarts(run), due);
        }
        core.effect(Effect::Mcp(McpCommand::Start(Box::new(start))));
        self.tell(core, place);
    }

    /// Ends what runs; whoever waits for an answer hears that.
    fn end_run(&mut self, core: &mut Core, place: &Place) {
        let Some(server) = self.known.get_mut(place) else {
            return;
        };
        self.news.tools_of.extend(server.sessions.iter().cloned());
        self.news.may_begin = true;
        if let Some(run) = server.run.take() {
            self.by_run.remove(&run);
            core.deadlines.clear(&Deadline::ServerStarts(run));
            core.effect(Effect::Mcp(McpCommand::Stop { run }));
            let channel = channel::uri_of(core, run);
            core.subscriptions.remove_channel(&channel);
            self.fail_calls_of(core, run);
        }
    }

    /// A session does not need a server any more.
    fn let_go(&mut self, core: &mut Core, session: &ChannelUri, place: &Place) {
        let Some(server) = self.known.get_mut(place) else {
            return;
        };
        server.sessions.remove(session);
        let is_unused = server.sessions.is_empty();
        self.news.tools_of.insert(session.clone());
        self.news.may_begin = true;
        if Looks::of(&server.offer) != Looks::default() {
            self.news.looks_of.insert(session.clone());
        }
        self.close_canvases_of(core, session, &place.id);
        if is_unused {
            self.end_run(core, place);
            self.known.remove(place);
            self.give_up_blocked(place);
        }
        let stopped = McpServerState::Stopped(McpServerStoppedState {});
        show(core, session, &place.id, stopped, None);
    }

    pub(crate) fn reported(&mut self, core: &mut Core, report: McpReport) {
        let McpReport { run, event } = report;
        // The last words of a run that was stopped concern nobody.
        let Some(place) = self.by_run.get(&run).cloned() else {
            return;
        };
        let Some(server) = self.known.get_mut(&place) else {
            return;
        };
        match event {
            McpEvent::Ready(offer) => {
                self.news.tools_of.extend(server.sessions.iter().cloned());
                self.news.may_begin = true;
                if Looks::of(&server.offer) != Looks::of(&offer) {
                    self.news.looks_of.extend(server.sessions.iter().cloned());
                }
                server.offer = *offer;
                server.phase = Phase::Ready;
                core.deadlines.clear(&Deadline::ServerStarts(run));
                self.tell(core, &place);
                self.call_again(core);
            }
            McpEvent::Tools(tools) => {
                self.news.tools_of.extend(server.sessions.iter().cloned());
                let before = Looks::of(&server.offer);
                server.offer.tools = tools;
                if Looks::of(&server.offer) != before {
                    self.news.looks_of.extend(server.sessions.iter().cloned());
                }
            }
            McpEvent::AuthRequired(wants) => {
                let had_token = server.has_token;
                let blocking = server.phase == Phase::Starting { blocking: true };
                let resource = wants.resource.resource.clone();
                server.resource = Some(resource.clone());
                self.end_run(core, &place);
                match self.tokens.contains_key(&resource) {
                    // Somebody signed in before this server was asked.
                    true if !had_token => self.begin_run(core, &place, blocking),
                    _ => {
                        self.tokens.remove(&resource);
                        self.set_phase(core, &place, Phase::AuthRequired(wants));
                    }
                }
            }
            McpEvent::Failed(failure) => {
                self.end_run(core, &place);
                self.set_phase(core, &place, Phase::Failed(failure));
            }
            McpEvent::Answered { call, outcome } => {
                self.answered(core, call, outcome);
            }
            McpEvent::Said { method, params } => match params {
                Some(params) if method == "notifications/progress" => {
                    self.goes_on(core, run, &params);
                }
                params => channel::publish(core, run, method, params),
            },
        }
    }

    fn set_phase(&mut self, core: &mut Core, place: &Place, phase: Phase) {
        if let Some(server) = self.known.get_mut(place) {
            server.phase = phase;
        }
        self.tell(core, place);
    }

    /// The sessions of a server show how it is.
    fn tell(&self, core: &mut Core, place: &Place) {
        let Some(server) = self.known.get(place) else {
            return;
        };
        for session in &server.sessions {
            let channel = server.channel(core);
            show(core, session, &place.id, server.state(), channel);
            if server.phase != Phase::Ready {
                self.hide_pages(core, session, &place.id);
            }
        }
    }
}
