//! The world around the engine: a store that commits when it likes, an outbox
//! that waits for it, connections that deliver late or never, and restarts.

mod carrying_out;
mod lives;
mod refusals;
mod storing;
mod wires;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use innkeeper_engine::{Effect, Engine, EngineConfig, Input, Limits, Step};
use innkeeper_protocol::agent::AgentReport;
use innkeeper_protocol::newest::state::{ResponsePart, ToolCallState};
use innkeeper_protocol::record::store::{Archive, Store};
use innkeeper_protocol::record::{Sequenced, StoreBatch, StoreOp};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::{ClientId, Seq, Timestamp};
use tempfile::TempDir;

use crate::agent::Backends;
use crate::client::Client;
use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::onlooker::Onlooker;
use crate::rng::Rng;

use lives::begin;
use refusals::Refusals;
use storing::{Read, open_store};

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
