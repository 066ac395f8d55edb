//! The world around the engine: a store that commits when it likes, an outbox
//! that waits for it, connections that deliver late or never, and restarts.

mod refusals;
mod wires;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use innkeeper_engine::{
    ConnectionId, CustomizationPolicy, Effect, Engine, EngineConfig, Input, Limits,
    QueueAfterCancel, Step, Ticket, WorkspaceConfig, fold_log,
};
use innkeeper_protocol::action_traits::traits_of;
use innkeeper_protocol::agent::AgentReport;
use innkeeper_protocol::newest::commands::{ContentEncoding, Implementation};
use innkeeper_protocol::newest::state::{
    ChatOrigin, ResponsePart, SessionLifecycle, ToolCallState,
};
use innkeeper_protocol::outgoing::{Finished, HostMessage};
use innkeeper_protocol::record::store::{Archive, Store};
use innkeeper_protocol::record::{Boot, Sequenced, StoreBatch, StoreOp};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::customization::CustomizationCommand;
use innkeeper_protocol::workspace::resource::{
    ResourceDone, ResourceError, TakenContent, WriteData,
};
use innkeeper_protocol::{ChannelUri, ClientId, Seq, Timestamp};
use innkeeper_store::{MemoryStore, SqliteStore, StoreOptions};
use tempfile::TempDir;

use crate::agent::{Backends, kind_of, profiles};
use crate::annotations;
use crate::changes;
use crate::client::Client;
use crate::customizations;
use crate::hear;
use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::onlooker::Onlooker;
use crate::rng::Rng;
use crate::servers;

use refusals::Refusals;

pub(crate) use wires::{Parcel, Wire};

/// How often each kind of thing happened.
pub(crate) type Counts = BTreeMap<String, u64>;

/// The clients that act; one more only watches, for the checks.
pub(crate) const ACTORS: usize = 4;
pub(crate) const AUDITOR: usize = ACTORS;

pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) now: i64,
    /// The latest time that the engine was told.
    latest: i64,
    engine: Engine,
    store: Box<dyn Store>,
    archive: Arc<dyn Archive>,
    /// Where the store is, if it is on disk.
    _directory: Option<TempDir>,
    unapplied: VecDeque<StoreBatch>,
    submitted: u64,
    committed: u64,
    outbox: VecDeque<(u64, Vec<Effect>)>,
    /// What the store will never take, in those schedules that have such a store.
    pub(crate) refusals: Refusals,
    pub(crate) failing: bool,
    reads: Vec<Read>,
    answers: Vec<Input>,
    pub(crate) wires: BTreeMap<u64, Wire>,
    pub(crate) clients: Vec<Client>,
    /// What the clients speak that the engine knows.
    pub(crate) client_versions: HashMap<ClientId, Version>,
    /// Clients of older versions, in those schedules that have them. Their
    /// connections are numbered behind those of the clients.
    pub(crate) onlookers: Vec<Onlooker>,
    /// Onlookers have agents do things by themselves.
    pub(crate) automates: bool,
    /// Which of them says what a client would say, now.
    pub(crate) speaker: Option<usize>,
    pub(crate) agents: Backends,
    pub(crate) machine: Machine,
    pub(crate) agent_count: usize,
    pub(crate) ledger: Ledger,
    /// Every number that anybody was told, and what it stood for.
    told: HashMap<Seq, Arc<Sequenced>>,
    /// Turns that ran when the host last died, with their chats and starts.
    pub(crate) interrupted: Vec<(String, String, String)>,
    pub(crate) as_text: bool,
    pub(crate) trace: bool,
    pub(crate) counts: Counts,
    pub(crate) names: usize,
    /// How many names for sessions are in use.
    pub(crate) session_names: usize,
    limits: Limits,
    number_block: u64,
    life: u64,
    connections: u64,
}

/// A question to the store that is still to be answered.
enum Read {
    Session(ChannelUri),
    Log {
        ticket: Ticket,
        after: Seq,
        up_to: Seq,
    },
    Content {
        ticket: Ticket,
        uri: String,
    },
    ContentForClient {
        ticket: Ticket,
        uri: String,
        encoding: Option<ContentEncoding>,
    },
    ContentToTake {
        ticket: Ticket,
        uri: String,
        data: WriteData,
        most_bytes: usize,
    },
}

/// Most worlds have their store in memory, which is faster; some have the one
/// that the product has.
fn open_store(seed: u64) -> (Box<dyn Store>, Option<TempDir>) {
    if !seed.is_multiple_of(16) {
        return (Box::new(MemoryStore::default()), None);
    }
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path(), StoreOptions::default()).unwrap();
    (Box::new(store), Some(directory))
}

impl World {
    pub(crate) fn new(seed: u64, trace: bool) -> Self {
        let mut rng = Rng::new(seed);
        let (mut store, directory) = open_store(seed);
        store.begin().unwrap();
        let number_block = [64, 512, EngineConfig::NUMBER_BLOCK][rng.below(3)];
        // Somewhere in the sequence: now and then just before the log is cut.
        let until = 8_192 * (1 + rng.below(3) as u64) - rng.below(300) as u64;
        let reserve = StoreOp::ReserveSeq {
            until: Seq::new(until),
        };
        store.apply(&[StoreBatch { ops: vec![reserve] }]).unwrap();
        let boot = store.begin().unwrap();
        let limits = Limits {
            sessions: 7,
            chats: 4,
            directories: 3,
            queued_messages: 4,
            inline_bytes: 20,
            // Now and then less than agents say.
            turn_bytes: [1_200, 1 << 20][rng.below(2)],
            subscriptions: 80,
            replay_actions: [30, 200, 100_000][rng.below(3)],
            replay_bytes: [1_500, 6_000, 1 << 20][rng.below(3)],
            idle_sessions: 1,
            idle_session: Duration::from_secs(5),
            empty_session: Duration::ZERO,
            summary_delay: Duration::from_millis(250),
            client_grace: Duration::from_secs(10),
            client_answer: Duration::from_secs(10),
            resource_bytes: 1 << 16,
            // Now and then fewer than there are chats that want one.
            backends: [2, 64][rng.below(2)],
            backend_bytes: 100,
            mcp_servers: 4,
            terminals: 4,
            scrollback_bytes: [150, 1 << 12][rng.below(2)],
            watches: 4,
            automations: 3,
            page_turns: 1 + rng.below(3),
            page_sessions: 2 + rng.below(20),
        };
        let now = 1_750_000_000_000;
        let (engine, step) = begin(now, 1, limits.clone(), number_block, 2, boot);
        let mut world = Self {
            as_text: rng.chance(15),
            session_names: [2, 3, 6][rng.below(3)],
            rng,
            now,
            latest: now,
            engine,
            archive: store.archive().unwrap(),
            store,
            _directory: directory,
            unapplied: VecDeque::new(),
            submitted: 0,
            committed: 0,
            outbox: VecDeque::new(),
            refusals: Refusals::default(),
            failing: false,
            reads: Vec::new(),
            answers: Vec::new(),
            wires: BTreeMap::new(),
            clients: (0..=ACTORS)
                .map(|n| Client::new(format!("client-{n}")))
                .collect(),
            client_versions: HashMap::new(),
            onlookers: Vec::new(),
            automates: false,
            speaker: None,
            agents: Backends::default(),
            machine: Machine::default(),
            agent_count: 2,
            ledger: Ledger::default(),
            told: HashMap::new(),
            interrupted: Vec::new(),
            trace,
            counts: Counts::new(),
            names: 0,
            limits,
            number_block,
            life: 1,
            connections: 0,
        };
        world.pass_on(step);
        world
    }

    pub(crate) fn note(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn say(&self, what: impl FnOnce() -> String) {
        if self.trace {
            println!("{}", what());
        }
    }

    pub(crate) fn name(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    // The engine

    pub(crate) fn feed(&mut self, input: Input) {
        self.say(|| {
            let text = format!("{input:?}");
            format!("  <- {}", text.chars().take(300).collect::<String>())
        });
        self.latest = self.latest.max(self.now);
        let step = self.engine.handle(Timestamp::from_millis(self.now), input);
        self.pass_on(step);
    }

    fn pass_on(&mut self, step: Step) {
        let Step {
            store,
            durable_first,
            bypasses_store,
            mut effects,
        } = step;
        let first = effects.extract_if(.., |effect| effect.waits_for_nothing());
        let first: Vec<Effect> = first.collect();
        self.carry_out(first);
        if !store.ops.is_empty() || durable_first {
            self.unapplied.push_back(store);
            self.submitted += 1;
        }
        if bypasses_store {
            self.note("overtook the store");
            return self.carry_out(effects);
        }
        let after = if durable_first { self.submitted } else { 0 };
        self.outbox.push_back((after, effects));
        self.pump();
    }

    fn pump(&mut self) {
        while self
            .outbox
            .front()
            .is_some_and(|(after, _)| *after <= self.committed)
        {
            match self.outbox.pop_front() {
                Some((after, effects)) if self.refusals.takes(after) => self.refuse(effects),
                Some((_, effects)) => self.carry_out(effects),
                None => {}
            }
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { to, message } => {
                    // Of what is told to one alone, nothing was to be stored.
                    self.check_number(&message);
                    self.send(to, message);
                }
                Effect::Publish { to, message } => {
                    self.check_durable(&message);
                    for subscriber in to.iter() {
                        self.send(subscriber.connection, message.clone());
                    }
                }
                Effect::Speak {
                    to,
                    client,
                    version,
                } => {
                    self.client_versions.insert(client, version);
                    if let Some(wire) = self.wires.get_mut(&to.0) {
                        wire.version = Some(version);
                    }
                }
                Effect::ForgetClient { client } => {
                    self.client_versions.remove(&client);
                }
                Effect::Close { connection, .. } => {
                    if let Some(wire) = self.wires.get_mut(&connection.0) {
                        wire.queue.push_back(Parcel::Close);
                    }
                }
                Effect::Agent(command) => {
                    self.say(|| {
                        format!("  agent: {:?} {:?}", command.backend(), kind_of(&command))
                    });
                    self.note(kind_of(&command));
                    if let Err(problem) = self.agents.command(&command) {
                        panic!("the agent was told what it should not be: {problem}");
                    }
                }
                Effect::LoadSession { session } => self.reads.push(Read::Session(session)),
                Effect::LoadLog {
                    ticket,
                    after,
                    up_to,
                } => self.reads.push(Read::Log {
                    ticket,
                    after,
                    up_to,
                }),
                Effect::LookUp { ticket, lookup } => {
                    let outcome = Ok(lookup.in_archive(&*self.archive).unwrap());
                    self.answers.push(Input::LookedUp { ticket, outcome });
                }
                Effect::LoadContent { ticket, uri } => {
                    self.reads.push(Read::Content { ticket, uri });
                }
                Effect::ReadContent {
                    ticket,
                    uri,
                    encoding,
                    ..
                } => self.reads.push(Read::ContentForClient {
                    ticket,
                    uri,
                    encoding,
                }),
                Effect::TakeContent {
                    ticket,
                    uri,
                    data,
                    most_bytes,
                    ..
                } => self.reads.push(Read::ContentToTake {
                    ticket,
                    uri,
                    data,
                    most_bytes,
                }),
                Effect::CheckDirectories { ticket, .. } => {
                    let wrong = None;
                    let checked = Input::DirectoriesChecked { ticket, wrong };
                    self.answers.push(checked);
                }
                Effect::ReadText { ticket, .. } => {
                    let text = self.rng.pick(&annotations::TEXTS).copied().flatten();
                    let text = text.map(str::to_owned);
                    self.answers.push(Input::TextRead { ticket, text });
                }
                Effect::FindFiles { ticket, .. } => {
                    let files = Vec::new();
                    self.answers.push(Input::FilesFound { ticket, files });
                }
                // There are no files here.
                Effect::Resource { ticket, .. } => {
                    let uri = "file:///".to_owned();
                    let write = false;
                    let outcome = Err(ResourceError::OutOfScope { uri, write });
                    self.answers.push(Input::ResourceDone { ticket, outcome });
                }
                Effect::ReadKept { ticket, .. } => {
                    let uri = "innkeeper-blob:/".to_owned();
                    let outcome = Err(ResourceError::NotFound { uri });
                    self.answers.push(Input::ResourceDone { ticket, outcome });
                }
                Effect::ListBranches { ticket, .. } => {
                    let items = Vec::new();
                    self.answers.push(Input::ConfigCompleted { ticket, items });
                }
                Effect::RemoveLeftovers(_) => {}
                Effect::Changes(command) => {
                    let reports = changes::reports(&mut self.rng, command);
                    self.answers.extend(reports);
                }
                Effect::Terminal(command) => self.machine.tell_terminal(command).unwrap(),
                Effect::TerminalTaken {
                    terminal, bytes, ..
                } => self.machine.take(terminal, bytes).unwrap(),
                Effect::Watch(command) => self.machine.tell_watch(command).unwrap(),
                Effect::Span(_) => {}
                Effect::Customization(command) => match command {
                    // Now, and now and then once more.
                    CustomizationCommand::Follow { source, .. } => {
                        for _ in 0..1 + self.rng.below(3) {
                            let report = customizations::report(&mut self.rng, source);
                            self.answers.push(report);
                        }
                    }
                    CustomizationCommand::Forget { .. } => {}
                },
                Effect::Mcp(command) => {
                    let reports = servers::reports(&mut self.rng, command);
                    self.answers.extend(reports);
                }
                Effect::CompleteConfig { ticket, .. } => {
                    let items = Vec::new();
                    self.answers.push(Input::ConfigCompleted { ticket, items });
                }
            }
        }
    }

    fn send(&mut self, to: ConnectionId, message: HostMessage) {
        let kind = hear::kind(&message);
        self.note(kind);
        if let Some(wire) = self.wires.get_mut(&to.0) {
            wire.welcomed |= matches!(kind, "welcome" | "replay" | "afresh");
            wire.queue.push_back(Parcel::Message(message));
        }
    }

    /// What a client did, and what begins or ends a turn, is durable before
    /// anybody is told. And a number stands for one action only.
    fn check_durable(&mut self, message: &HostMessage) {
        let HostMessage::Action(action) = message else {
            return;
        };
        // What happens to terminals and changesets is of one life.
        let channel = action.channel.as_str();
        let is_kept = !channel.starts_with("ahp-terminal:") && !changes::is_changeset(channel);
        let waits = action.origin.is_some() || traits_of(&action.action).bounds_turn;
        assert!(
            !waits || !is_kept || self.ledger.numbers.contains(&action.seq),
            "{} was told before it was durable",
            action.seq
        );
        self.check_number(message);
    }

    fn check_number(&mut self, message: &HostMessage) {
        let HostMessage::Action(action) = message else {
            return;
        };
        let before = self
            .told
            .entry(action.seq)
            .or_insert_with(|| action.clone());
        assert_eq!(before, action, "a number was used twice");
    }

    // The store

    /// Commits some of what waits, as one transaction.
    pub(crate) fn commit(&mut self, most: usize) -> bool {
        let count = self.unapplied.len().min(most);
        if count == 0 || self.failing {
            return false;
        }
        let batches: Vec<StoreBatch> = self.unapplied.drain(..count).collect();
        self.say(|| format!("  commit {count}"));
        for batch in &batches {
            self.committed += 1;
            if self.is_refused(batch) {
                continue;
            }
            self.store.apply(std::slice::from_ref(batch)).unwrap();
            self.ledger.commit(batch);
            if batch
                .ops
                .iter()
                .any(|op| matches!(op, StoreOp::TrimLog { .. }))
            {
                self.note("log trimmed");
            }
        }
        self.pump();
        self.tell_of_refusals();
        true
    }

    /// Reads one thing that was asked for. The answer is still on its way.
    pub(crate) fn read_one(&mut self) -> bool {
        if self.reads.is_empty() {
            return false;
        }
        let at = self.rng.below(self.reads.len());
        let answer = match self.reads.swap_remove(at) {
            Read::Session(session) => {
                let loaded = self.archive.load_session(&session).unwrap().map(Box::new);
                Input::SessionLoaded {
                    session,
                    loaded: Ok(loaded),
                }
            }
            Read::Log {
                ticket,
                after,
                up_to,
            } => Input::LogLoaded {
                ticket,
                entries: Ok(self.archive.log_between(after, up_to).unwrap()),
            },
            Read::Content { ticket, uri } => Input::ContentLoaded {
                ticket,
                content: Ok(self.archive.content(&uri).unwrap()),
            },
            Read::ContentForClient {
                ticket,
                uri,
                encoding,
            } => {
                let kept = ResourceDone::kept(&uri, self.archive.content(&uri).unwrap());
                let outcome = kept.map(|it| Finished::new(it.into_json(encoding).unwrap(), ()));
                Input::ResourceDone { ticket, outcome }
            }
            Read::ContentToTake {
                ticket,
                uri,
                data,
                most_bytes,
            } => {
                let known = self.archive.content(&uri).unwrap();
                let outcome = TakenContent::new(&uri, known.as_ref(), data, most_bytes, ());
                Input::ContentTaken { ticket, outcome }
            }
        };
        self.answers.push(answer);
        true
    }

    pub(crate) fn answer_one(&mut self) -> bool {
        if self.answers.is_empty() {
            return false;
        }
        let at = self.rng.below(self.answers.len());
        let answer = self.answers.swap_remove(at);
        self.note(match answer {
            Input::SessionLoaded { .. } => "session loaded",
            Input::LogLoaded { .. } => "log loaded",
            _ => "content loaded",
        });
        self.feed(answer);
        true
    }

    pub(crate) fn fail(&mut self) {
        self.failing = true;
        let reason = "the disk is full".to_owned();
        self.feed(Input::StoreFailing { reason });
    }

    pub(crate) fn recover(&mut self) {
        if std::mem::take(&mut self.failing) {
            self.commit(usize::MAX);
            self.feed(Input::StoreRecovered);
        }
    }

    // Agents

    pub(crate) fn report(&mut self, report: AgentReport) {
        self.feed(Input::Agent(report));
    }

    /// Agents do all that they were told to, and what runs in terminals ends.
    pub(crate) fn finish_work(&mut self) {
        self.drain();
        loop {
            if let Some(report) = self.agents.finish() {
                self.report(report);
            } else if let Some(report) = self.machine.finish(&mut self.rng) {
                self.feed(report);
            } else {
                break;
            }
            self.drain();
        }
    }

    /// Lets enough time pass for a summary that is held back.
    pub(crate) fn pass_time(&mut self) {
        self.now = self.latest + 251;
        self.feed(Input::Tick);
    }

    /// Everybody goes, and much time passes. Returns how many sessions stay in
    /// memory.
    pub(crate) fn leave_alone(&mut self) -> usize {
        let wires: Vec<u64> = self.wires.keys().copied().collect();
        for wire in wires {
            self.cut(wire);
        }
        for _ in 0..4 {
            self.now = self.latest + 20_000;
            self.feed(Input::Tick);
            self.drain();
            self.finish_work();
        }
        self.engine.resident_sessions()
    }

    // Restarts

    /// The host dies here, or ends as it should, and begins again.
    pub(crate) fn restart(&mut self, cleanly: bool) {
        if cleanly {
            // A session that is being read anew as the host ends is left to
            // the next life.
            let chance = std::mem::take(&mut self.refusals.chance);
            if chance > 0 {
                self.drain();
            }
            self.recover();
            self.feed(Input::Shutdown);
            self.commit(usize::MAX);
            let wires: Vec<u64> = self.wires.keys().copied().collect();
            for wire in wires.into_iter().filter(|wire| wire % 2 == 0) {
                while self.deliver(wire) {}
            }
            self.refusals.chance = chance;
        }
        if self.refusals.is_open() {
            // Until a session that was refused is to be read anew, only this
            // life knows which numbers stand for nothing.
            self.drain();
        }
        self.say(|| format!("--- restart, clean: {cleanly}"));
        self.failing = false;
        self.unapplied.clear();
        self.outbox.clear();
        self.refusals.forget();
        self.committed = self.submitted;
        self.reads.clear();
        self.answers.clear();
        self.wires.clear();
        for client in &mut self.clients {
            client.disconnected();
        }
        for onlooker in &mut self.onlookers {
            onlooker.disconnected();
        }
        self.agents = Backends::default();
        self.machine = Machine::default();
        self.life += 1;
        self.latest = self.latest.max(self.now);
        let boot = self.store.begin().unwrap();
        // Those of a session that did not even come into memory meanwhile
        // are still to be ended.
        let before = std::mem::take(&mut self.interrupted);
        self.interrupted = self.find_interrupted(&boot);
        self.client_versions = boot
            .clients
            .iter()
            .filter_map(|client| Some((client.client_id.clone(), client.speaks()?)))
            .collect();
        assert!(
            !cleanly || self.interrupted.iter().all(|turn| before.contains(turn)),
            "a clean end left turns running: {:?}",
            self.interrupted
        );
        let (engine, step) = begin(
            self.now,
            self.life,
            self.limits.clone(),
            self.number_block,
            self.agent_count,
            boot,
        );
        self.engine = engine;
        self.pass_on(step);
    }

    fn find_interrupted(&self, boot: &Boot) -> Vec<(String, String, String)> {
        let sessions = boot.interrupted.iter();
        let loaded = sessions.filter_map(|uri| self.archive.load_session(uri).unwrap());
        // A turn whose session is not there yet has not begun.
        let loaded = loaded.filter(|it| it.session.state.lifecycle != SessionLifecycle::Creating);
        let chats = loaded.flat_map(|session| session.chats);
        chats
            .filter_map(|mut chat| {
                fold_log(&mut chat);
                let own = !matches!(chat.record.head.origin, Some(ChatOrigin::Tool { .. }));
                let turn = chat.record.head.active_turn?;
                // Nobody runs the call any more that somebody signs in for.
                let signs_in = |part: &ResponsePart| {
                    let ResponsePart::ToolCall(part) = part else {
                        return false;
                    };
                    matches!(part.tool_call, ToolCallState::AuthRequired(_))
                };
                let mut parts = turn.response_parts.iter();
                if own && parts.any(|part| waits_for_a_person(part) && !signs_in(part)) {
                    return None;
                }
                Some((chat.record.uri.to_string(), turn.id, turn.started_at))
            })
            .collect()
    }

    /// Lets everything happen that is under way.
    pub(crate) fn drain(&mut self) {
        self.recover();
        loop {
            let mut busy = self.commit(usize::MAX);
            while self.read_one() {
                busy = true;
            }
            while self.answer_one() {
                busy = true;
            }
            while let Some(answer) = self.machine.answer(&mut self.rng) {
                self.feed(answer);
                busy = true;
            }
            let wires: Vec<u64> = self.wires.keys().copied().collect();
            for wire in wires {
                while self.deliver(wire) {
                    busy = true;
                }
            }
            if !busy {
                break;
            }
        }
        assert!(self.outbox.is_empty(), "something never left the outbox");
        assert!(self.machine.all_is_taken(), "a terminal stands still");
    }
}

/// Whether a part of a running turn is somebody's to deal with.
pub(crate) fn waits_for_a_person(part: &ResponsePart) -> bool {
    match part {
        ResponsePart::ToolCall(part) => match &part.tool_call {
            ToolCallState::PendingConfirmation(_)
            | ToolCallState::PendingResultConfirmation(_)
            | ToolCallState::AuthRequired(_) => true,
            // The published types do not read it from a snapshot.
            ToolCallState::Unknown(call) => call["status"] == "auth-required",
            _ => false,
        },
        ResponsePart::InputRequest(part) => part.response.is_none(),
        _ => false,
    }
}

fn begin(
    now: i64,
    life: u64,
    limits: Limits,
    number_block: u64,
    agents: usize,
    boot: Boot,
) -> (Engine, Step) {
    let config = EngineConfig {
        server_info: Implementation {
            name: "simulated".to_owned(),
            version: None,
            title: None,
        },
        build: Default::default(),
        default_directory: None,
        nonce: format!("life{life}"),
        limits,
        number_block,
        // In some lives the queue goes on.
        queue_after_cancel: match life.is_multiple_of(3) {
            true => QueueAfterCancel::Continue,
            false => QueueAfterCancel::Wait,
        },
        workspace: WorkspaceConfig {
            customizations: CustomizationPolicy {
                // In some lives: agents wait for it.
                host: life.is_multiple_of(2),
                ..CustomizationPolicy::default()
            },
            changes: true,
            assess_risk: true,
            mcp_servers: servers::configured().into(),
            ..WorkspaceConfig::default()
        },
    };
    Engine::new(Timestamp::from_millis(now), config, profiles(agents), boot)
}
