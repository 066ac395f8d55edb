//! The thread that owns the engine: takes what happened, hands it to the
//! engine, hands what follows to the store and the outbox. It decides nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use innkeeper_engine::{Effect, Engine, Input, Step};
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::agent::AgentReport;
use innkeeper_protocol::record::store::{CommitNo, Journal};
use innkeeper_protocol::record::{StoreBatch, StoreOp};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::clock::Clock;
use crate::outbox::Outbox;
use crate::readiness::Readiness;

/// How many events are handled before what follows from them is passed on.
const MOST_AT_ONCE: usize = 256;

/// Likewise, of what terminals and watches report: each may be large, and
/// clients wait meanwhile.
const MOST_OF_MACHINE: usize = 16;

/// How many operations the store may be behind before agents have to wait for
/// it. Half of that, and it is told to hurry.
const MOST_UNWRITTEN: usize = 2_048;

#[derive(Debug)]
pub(crate) enum Event {
    Input(Input),
    /// From a client, with its share of the room for messages of clients,
    /// which is given back when the message was handled.
    Message(Input, OwnedSemaphorePermit),
    /// Ends the loop after everything is finished and recorded.
    Shutdown(oneshot::Sender<()>),
}

/// Numbers about the host that others may read at any time.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) server_seq: AtomicU64,
    pub(crate) stored_sessions: AtomicU64,
    pub(crate) resident_sessions: AtomicU64,
    pub(crate) inputs: AtomicU64,
    pub(crate) store_failing: AtomicU64,
    pub(crate) refused_connections: AtomicU64,
    pub(crate) readiness: Readiness,
}

pub(crate) struct EngineLoop {
    pub(crate) engine: Engine,
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
    pub(crate) reports: mpsc::Receiver<AgentReport>,
    /// What terminals and watches report.
    pub(crate) machine: mpsc::Receiver<Input>,
    pub(crate) journal: Box<dyn Journal>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) last_commit: CommitNo,
    pub(crate) unwritten: Unwritten,
    /// The step of the input that is being handled.
    pub(crate) step: Step,
    pub(crate) clock: Clock,
}

/// What is handled between two looks at what happened, at one time, and what
/// follows from it.
struct Round {
    now: Timestamp,
    steps: u64,
    ops: Vec<StoreOp>,
    effects: Vec<Effect>,
}

impl Round {
    fn new(now: Timestamp, inputs: usize) -> Self {
        Self {
            now,
            steps: 0,
            ops: Vec::with_capacity(inputs),
            effects: Vec::with_capacity(inputs),
        }
    }
}

/// What was handed to the store and is not yet known to be there.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    batches: VecDeque<(CommitNo, usize)>,
    operations: usize,
}

impl Unwritten {
    fn submitted(&mut self, number: CommitNo, operations: usize) {
        self.batches.push_back((number, operations));
        self.operations += operations;
    }

    fn committed(&mut self, number: CommitNo) {
        while let Some((first, operations)) = self.batches.front()
            && *first <= number
        {
            self.operations -= operations;
            self.batches.pop_front();
        }
    }
}

impl EngineLoop {
    /// Runs until it is told to shut down, and returns the store's journal.
    pub(crate) async fn run(mut self, first: Step) -> Box<dyn Journal> {
        let mut round = self.round(1);
        self.step = first;
        self.collect(&mut round);
        self.pass_on(round);
        let (mut events, mut reports) = (Vec::new(), Vec::new());
        loop {
            self.update_gauges();
            // What was said is on its way out by now.
            let store_is_due = self.journal.attend();
            let deadline = self.until_deadline();
            let rest = store_is_due.map_or(deadline, |due| due.min(deadline));
            // While the store is behind or failing, agents wait: what they say
            // is kept where it is, and nothing is lost.
            let failing = self.gauges.store_failing.load(Ordering::Relaxed) != 0;
            let commits = Arc::clone(&self.outbox);
            let committed = commits.next_commit();
            self.unwritten.committed(self.outbox.committed_so_far());
            let room = !failing && self.unwritten.operations < MOST_UNWRITTEN;
            tokio::select! {
                biased;
                _ = self.events.recv_many(&mut events, MOST_AT_ONCE) => {}
                _ = self.reports.recv_many(&mut reports, MOST_AT_ONCE), if room => {}
                Some(input) = self.machine.recv(), if room => events.push(Event::Input(input)),
                () = tokio::time::sleep(rest), if !failing => match rest == deadline {
                    true => events.push(Event::Input(Input::Tick)),
                    false => self.store(Vec::new(), true),
                },
                () = committed, if !room => {}
            }
            // Terminals have their share however much agents say.
            let share = if room { MOST_OF_MACHINE } else { 0 };
            let reported = std::iter::from_fn(|| self.machine.try_recv().ok());
            events.extend(reported.take(share).map(Event::Input));
            let mut round = self.round(events.len() + reports.len());
            let mut ended = None;
            for event in events.drain(..) {
                match event {
                    Event::Input(input) => self.handle(&mut round, input),
                    Event::Message(input, permit) => {
                        self.handle(&mut round, input);
                        drop(permit);
                    }
                    Event::Shutdown(done) => {
                        self.handle(&mut round, Input::Shutdown);
                        ended = Some(done);
                    }
                }
            }
            for report in reports.drain(..) {
                self.handle(&mut round, Input::Agent(report));
            }
            self.pass_on(round);
            if let Some(done) = ended {
                // Nobody attends to the store from here on.
                self.store(Vec::new(), true);
                let _ = done.send(());
                return self.journal;
            }
        }
    }

    /// Begins a round at the time that it is.
    fn round(&mut self, inputs: usize) -> Round {
        let (now, set_forward) = self.clock.read();
        let mut round = Round::new(now, inputs);
        if let Some(by) = set_forward {
            tracing::info!(?by, "the clock was set forward, or the machine slept");
            self.handle(&mut round, Input::ClockSetForward { by });
        }
        round
    }

    fn handle(&mut self, round: &mut Round, input: Input) {
        match &input {
            Input::StoreFailing { reason } => {
                tracing::error!(reason, "the store cannot write; no work is accepted");
                self.gauges.store_failing.store(1, Ordering::Relaxed);
                self.gauges.readiness.store_fails();
            }
            Input::StoreRecovered => {
                tracing::info!("the store can write again");
                self.gauges.store_failing.store(0, Ordering::Relaxed);
                self.gauges.readiness.store_recovered();
            }
            _ => {}
        }
        self.engine.handle_into(&mut self.step, round.now, input);
        self.collect(round);
    }

    /// Adds the step to those that are passed on together.
    fn collect(&mut self, round: &mut Round) {
        let step = &mut self.step;
        round.steps += 1;
        // Before the message's permit is given back: whoever waits for that
        // reads on by these.
        let first: Vec<Effect> = step
            .effects
            .extract_if(.., |effect| effect.waits_for_nothing())
            .collect();
        if !first.is_empty() {
            self.outbox.overtake(first);
        }
        if step.bypasses_store {
            round.ops.append(&mut step.store.ops);
            self.outbox.overtake(std::mem::take(&mut step.effects));
            return;
        }
        if !step.durable_first {
            round.ops.append(&mut step.store.ops);
            round.effects.append(&mut step.effects);
            return;
        }
        // It stands for itself, so that it can fail by itself.
        let (ops, effects) = (
            std::mem::take(&mut step.store.ops),
            std::mem::take(&mut step.effects),
        );
        self.pass_on_so_far(round);
        self.store(ops, true);
        self.outbox.submit(self.last_commit, effects);
    }

    fn pass_on(&mut self, mut round: Round) {
        self.gauges.inputs.fetch_add(round.steps, Ordering::Relaxed);
        self.pass_on_so_far(&mut round);
    }

    /// Steps that nobody waits for become one batch of the store: either all
    /// of it is there after a crash, or nothing.
    fn pass_on_so_far(&mut self, round: &mut Round) {
        if !round.ops.is_empty() {
            self.store(std::mem::take(&mut round.ops), false);
        }
        if !round.effects.is_empty() {
            let effects = std::mem::take(&mut round.effects);
            self.outbox.submit(CommitNo(0), effects);
        }
    }

    fn store(&mut self, ops: Vec<StoreOp>, urgent: bool) {
        let operations = ops.len();
        let hurry = self.unwritten.operations + operations > MOST_UNWRITTEN / 2;
        self.last_commit = self.journal.submit(StoreBatch { ops }, urgent || hurry);
        self.unwritten.submitted(self.last_commit, operations);
    }

    fn until_deadline(&self) -> Duration {
        match self.engine.next_deadline() {
            Some(deadline) => {
                let millis = deadline.millis_since(self.clock.about_now());
                Duration::from_millis(u64::try_from(millis).unwrap_or(0))
            }
            None => Duration::from_secs(3600),
        }
    }

    fn update_gauges(&self) {
        let set = |gauge: &AtomicU64, value: u64| gauge.store(value, Ordering::Relaxed);
        set(&self.gauges.server_seq, self.engine.server_seq().get());
        set(
            &self.gauges.stored_sessions,
            self.engine.stored_sessions() as u64,
        );
        set(
            &self.gauges.resident_sessions,
            self.engine.resident_sessions() as u64,
        );
    }
}
