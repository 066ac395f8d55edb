//! The engine: everything that Innkeeper decides, as one state machine.
//!
//! [`Engine::handle`] takes the time and one [`Input`] and returns a [`Step`]:
//! what must become durable, and what must then be done. There is no I/O in
//! here, no clock and no randomness, so any run can be repeated from its
//! inputs; the shell around it turns bytes into inputs and effects into bytes.
//!
//! # Where things are
//!
//! A frame enters as [`Input::Message`] and is answered in `requests` or, if it
//! is an action, judged in `dispatch`. Agents report to `backends`, which hands
//! what happens in a turn to `turns`. What touches the machine (`resources`,
//! `terminals`, `watches`, `desks`) is asked for and reported the same way. Whoever
//! changes state does so through `Engine::emit` (in `sequence`): the one place
//! that applies a reducer, gives out a number, writes the log and tells the
//! subscribers. After every input, `settle` brings what is derived (the chat
//! catalogue, session summaries, stored rows) up to date.
//!
//! # Calling order
//!
//! [`Engine::new`], then [`Engine::handle`] for each input, in any order that
//! the outside world produces; [`Engine::next_deadline`] says when an
//! [`Input::Tick`] is due. The effects of a step are carried out in order, and
//! those of a step with [`Step::durable_first`] only after its store batch and
//! all earlier ones are committed; but those that wait for nothing
//! ([`Effect::waits_for_nothing`]) before the next input.
//!
//! # Invariants
//!
//! - `serverSeq` only grows, over all lives of the host.
//! - A client that folds what it was sent holds the state that the host holds.
//! - What a client dispatched is durable before anybody is told.
//! - Every turn ends.

mod answers;
mod attachments;
mod auth;
mod backends;
mod catalogue;
mod changeset_operations;
mod changesets;
mod chats;
mod chats_as_sessions;
mod client_plugins;
mod client_resources;
mod clients;
mod commands;
mod completions;
mod config;
mod customizations;
mod delegation;
mod desks;
mod dispatch;
mod edits;
mod effect;
mod facts;
mod further_chats;
mod history;
mod input;
mod input_needed;
mod isolation;
mod labels;
mod older;
mod parts;
mod past;
mod pending;
mod questions;
mod reconnect;
mod replay;
mod requests;
mod residency;
mod resources;
mod reviews;
mod sequence;
mod sessions;
mod settle;
mod subscriptions;
mod summary;
mod switches;
mod telemetry;
mod terminal_verdicts;
mod terminals;
mod tool_verdicts;
mod tools;
mod turns;
mod unwritten;
mod watches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _};
use innkeeper_protocol::agent::{AgentProfile, BackendId};
use innkeeper_protocol::house::state::RootState;
use innkeeper_protocol::record::Boot;
use innkeeper_protocol::workspace::changes::{OperationId, ViewId};
use innkeeper_protocol::workspace::customization::LookoutId;
use innkeeper_protocol::workspace::resource::Root;
use innkeeper_protocol::workspace::terminal::TerminalId;
use innkeeper_protocol::workspace::watch::WatchId;
use innkeeper_protocol::{ChannelUri, Timestamp};

use attachments::AwaitedContent;
use auth::Token;
use catalogue::Catalogue;
use changeset_operations::RunningOperation;
use changesets::ChangesetChannel;
use chats::Chat;
use client_plugins::Fetching;
use client_resources::Question;
use clients::{Connection, KnownClient};
use customizations::{Lookout, Source};
use desks::Desk;
use reconnect::WaitingReconnect;
use replay::ReplayWindow;
use requests::WaitingRequest;
use residency::Loading;
use sequence::Sequence;
use sessions::Session;
use subscriptions::Subscriptions;
use switches::Switches;
use telemetry::Traces;
use terminals::Terminal;
use unwritten::Unwritten;
use watches::Watch;

pub use commands::COMMAND_PREFIX;
pub use config::{EngineConfig, Limits, WorkspaceConfig};
pub use customizations::CustomizationPolicy;
pub use effect::{CloseReason, ConnectionId, Effect, Step, Subscriber, Ticket};
pub use history::fold_log;
pub use input::Input;
pub use resources::GrantPolicy;

/// The state machine. See the crate's documentation.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    /// The time of the input that is being handled.
    now: Timestamp,
    /// What the input that is being handled leads to.
    step: Step,

    sequence: Sequence,
    replay: ReplayWindow,
    subscriptions: Subscriptions,

    connections: HashMap<ConnectionId, Connection>,
    clients: std::collections::HashMap<String, KnownClient>,

    agents: Vec<AgentProfile>,
    root: RootState,
    default_agent_is_chosen: bool,
    catalogue: Catalogue,
    /// The sessions that are in memory.
    sessions: HashMap<ChannelUri, Session>,
    /// The chats of those sessions.
    chats: HashMap<ChannelUri, Chat>,
    /// Which session a chat belongs to, in memory or not, for chats that are
    /// not their session's default chat.
    homes: HashMap<ChannelUri, ChannelUri>,
    loading: HashMap<ChannelUri, Loading>,
    unwritten: Unwritten,
    backends: HashMap<BackendId, ChannelUri>,
    /// The chats of the turns that backends have delegated.
    delegates: HashMap<(BackendId, Arc<str>), ChannelUri>,
    tokens: HashMap<String, Token>,
    terminals: HashMap<ChannelUri, Terminal>,
    /// Those in which something runs.
    terminal_ids: HashMap<TerminalId, ChannelUri>,
    watches: HashMap<ChannelUri, Watch>,
    watch_ids: HashMap<WatchId, ChannelUri>,
    /// The directories of the sessions in memory, where changes are told.
    desks: HashMap<ChannelUri, Desk>,
    changesets: HashMap<ChannelUri, ChangesetChannel>,
    view_ids: HashMap<ViewId, ChannelUri>,
    running_operations: HashMap<OperationId, RunningOperation>,
    /// What is followed for the customizations of sessions.
    lookouts: BTreeMap<Source, Lookout>,
    lookout_ids: HashMap<LookoutId, Source>,
    /// Plugins that are being fetched from clients.
    fetching: HashMap<LookoutId, Fetching>,
    switches: Switches,
    /// What is going on and will be told when it is over.
    traces: Traces,
    /// Chats whose agent starts when their session's customizations are known.
    held_backends: BTreeSet<ChannelUri>,
    /// What clients were granted beside what is open to all of them.
    grants: HashMap<String, Vec<Root>>,
    /// What clients were asked, by number.
    questions: BTreeMap<i64, Question>,

    /// Sessions that this input touched and that `settle` must look at.
    touched: BTreeSet<ChannelUri>,
    waiting: HashMap<Ticket, WaitingRequest>,
    /// Content that agents are to be given with a message.
    awaited_content: HashMap<Ticket, AwaitedContent>,
    waiting_reconnects: HashMap<Ticket, WaitingReconnect>,
    last_ticket: u64,
    last_backend: u64,
    last_content: u64,
    last_terminal: u64,
    last_watch: u64,
    last_view: u64,
    last_operation: u64,
    last_lookout: u64,
    last_question: i64,
    /// Why the store cannot write, while it cannot.
    store_failure: Option<String>,
    next_sweep: Timestamp,
    shutting_down: bool,
}

impl Engine {
    /// Begins where the store says that the last life ended. The first step
    /// ends the turns that were running then.
    pub fn new(
        now: Timestamp,
        config: EngineConfig,
        agents: Vec<AgentProfile>,
        boot: Boot,
    ) -> (Self, Step) {
        let sequence = Sequence::new(boot.next_seq, config.number_block);
        let has_past = boot.next_seq > 1;
        let replay = ReplayWindow::new(&boot, config.limits.replay_bytes);
        let catalogue = Catalogue::new(boot.catalogue);
        let clients = boot
            .clients
            .into_iter()
            .map(|record| (record.client_id.clone(), KnownClient::from(record)))
            .collect();
        let mut engine = Self {
            default_agent_is_chosen: config::names_default_agent(
                boot.root_config.as_ref(),
                &agents,
            ),
            root: config::root_state(&agents, &catalogue, boot.root_config),
            next_sweep: now.after(config.limits.idle_session),
            subscriptions: Subscriptions::new(config.limits.subscriptions),
            config,
            now,
            step: Step::default(),
            sequence,
            replay,
            connections: HashMap::new(),
            clients,
            agents,
            catalogue,
            sessions: HashMap::new(),
            chats: HashMap::new(),
            homes: boot.chats.into_iter().collect(),
            loading: HashMap::new(),
            unwritten: Unwritten::stored(boot.without_turns, now),
            backends: HashMap::new(),
            delegates: HashMap::new(),
            tokens: HashMap::new(),
            terminals: HashMap::new(),
            terminal_ids: HashMap::new(),
            watches: HashMap::new(),
            watch_ids: HashMap::new(),
            desks: HashMap::new(),
            changesets: HashMap::new(),
            view_ids: HashMap::new(),
            running_operations: HashMap::new(),
            lookouts: BTreeMap::new(),
            lookout_ids: HashMap::new(),
            fetching: HashMap::new(),
            switches: Switches::stored(boot.switches),
            held_backends: BTreeSet::new(),
            traces: Traces::default(),
            grants: HashMap::new(),
            questions: BTreeMap::new(),
            touched: BTreeSet::new(),
            waiting: HashMap::new(),
            awaited_content: HashMap::new(),
            waiting_reconnects: HashMap::new(),
            last_ticket: 0,
            last_backend: 0,
            last_content: 0,
            last_terminal: 0,
            last_watch: 0,
            last_view: 0,
            last_operation: 0,
            last_lookout: 0,
            last_question: 0,
            store_failure: None,
            shutting_down: false,
        };
        engine.reserve_numbers();
        // First of all: the log is not cut while these are on their way.
        for session in boot.interrupted {
            engine.start_loading(&session);
        }
        if has_past {
            engine.announce_root();
        }
        let step = std::mem::take(&mut engine.step);
        (engine, step)
    }

    /// Handles one input. Inputs are handled one after the other; the order of
    /// the calls is the order of the world.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Step {
        let mut step = Step::default();
        self.handle_into(&mut step, now, input);
        step
    }

    /// Likewise, into a step whose effects have been carried out: what is
    /// still in it is lost, and its memory is used again.
    pub fn handle_into(&mut self, step: &mut Step, now: Timestamp, input: Input) {
        step.clear();
        std::mem::swap(&mut self.step, step);
        // A clock that steps back must not undo deadlines or order.
        self.now = self.now.max(now);
        match input {
            Input::Connected { connection } => self.connected(connection),
            Input::Message {
                connection,
                version,
                message,
            } => self.message(connection, version, message),
            Input::Disconnected { connection } => self.disconnected(connection),
            Input::Agent(report) => self.agent_reported(report),
            Input::AgentsChanged(agents) => self.agents_changed(agents),
            Input::SessionLoaded { session, loaded } => self.session_loaded(&session, loaded),
            Input::LogLoaded { ticket, entries } => self.log_loaded(ticket, entries),
            Input::ContentLoaded { ticket, content } => self.content_loaded(ticket, content),
            Input::FilesFound { ticket, files } => self.files_found(ticket, files),
            Input::ResourceDone { ticket, outcome } => self.resource_done(ticket, outcome),
            Input::Terminal(report) => self.terminal_reported(report),
            Input::Watch(report) => self.watch_reported(report),
            Input::Changes(report) => self.changes_reported(report),
            Input::TreesFound(trees) => self.trees_found(&trees),
            Input::Customization(report) => self.customizations_reported(report),
            Input::Telemetry(batch) => self.telemetry_collected(batch),
            Input::ConfigCompleted { ticket, items } => self.config_completed(ticket, items),
            Input::StoreFailing { reason } => self.store_failure = Some(reason),
            Input::StoreRecovered => self.store_failure = None,
            Input::Tick => self.tick(),
            Input::Shutdown => self.shutdown(),
        }
        self.settle();
        std::mem::swap(&mut self.step, step);
    }

    /// When the next [`Input::Tick`] is due.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let summaries = self
            .sessions
            .values()
            .filter_map(|session| session.summary_due);
        let clients = self.clients.values().filter_map(|client| client.leaves_at);
        let tokens = self.tokens.values().filter_map(|token| token.expires_at);
        let watches = self.watches.values().filter_map(|watch| watch.goes_at);
        let questions = self.questions.values().map(|question| question.due);
        let next = summaries.chain(clients).chain(tokens).chain(watches);
        let held = self.chats.values().filter_map(Chat::held_until);
        let next = next.chain(questions).chain(self.held_until()).chain(held);
        let next = next.chain(self.unwritten_due());
        next.chain([self.next_sweep]).min()
    }

    /// The last number that was given out.
    pub fn server_seq(&self) -> u64 {
        self.sequence.last()
    }

    /// How many sessions are in memory.
    pub fn resident_sessions(&self) -> usize {
        self.sessions.len()
    }

    /// How many sessions there are.
    pub fn stored_sessions(&self) -> usize {
        self.catalogue.len()
    }

    fn tick(&mut self) {
        self.let_departed_clients_go();
        self.drop_expired_tokens();
        self.release_unheard_watches();
        self.release_late_turns();
        self.answer_for_silent_clients();
        self.open_held_backends();
        self.publish_due_summaries();
        self.let_unwritten_sessions_go();
        if self.now >= self.next_sweep {
            self.release_idle_sessions();
            self.next_sweep = self.now.after(self.config.limits.idle_session);
        }
    }

    fn next_ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }
}
