//! The engine by simulation: hostile schedules from seeds, with a real store,
//! real reducers on the clients' side, and restarts at any moment.
//!
//! `INNKEEPER_SEED=7 cargo test -p innkeeper-engine --test simulation -- --nocapture`
//! runs one schedule and prints what happens in it; `INNKEEPER_SCHEDULES=50000`
//! runs that many, from `INNKEEPER_FIRST_SEED` on.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is tests")]

mod acts;
mod agent;
mod annotations;
mod automation_acts;
mod changes;
mod checks;
mod client;
mod customizations;
mod directories;
mod dispatches;
mod extensions;
mod hear;
mod ledger;
mod looking_on;
mod machine;
mod machine_acts;
mod onlooker;
mod rng;
mod servers;
mod square;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use innkeeper_engine::Input;

use world::{ACTORS, Counts, World};

const SCHEDULES: u64 = 2_000;

/// What must have happened at least once for a run to mean anything.
const EXPECTED: &[&str] = &[
    "connect",
    "initialize",
    "reconnect",
    "replace",
    "cut",
    "crash",
    "clean restart",
    "quiet",
    "store fails",
    "store recovers",
    "agents change",
    "overtook the store",
    "closed by the host",
    "session loaded",
    "log loaded",
    "content loaded",
    "log trimmed",
    "found an interrupted turn",
    "tick",
    "subscribe",
    "subscribe with a window",
    "unsubscribe",
    "createSession",
    "disposeSession",
    "createChat",
    "fork",
    "disposeChat",
    "invokeChangesetOperation",
    "changeset/filesReviewChanged",
    "annotations/set",
    "annotations/entrySet",
    "operation",
    "fetchTurns",
    "fetchTurns with a cursor",
    "listSessions",
    "resourceRead",
    "resourceWrite",
    "garbage",
    "ping",
    "chat/turnStarted",
    "chat/turnCancelled",
    "chat/turnResume",
    "chat/truncated",
    "chat/draftChanged",
    "chat/isReadChanged",
    "chat/isArchivedChanged",
    "chat/delta",
    "chat/juggled",
    "session/titleChanged",
    "session/isReadChanged",
    "session/isArchivedChanged",
    "session/configChanged",
    "session/activeClientSet",
    "session/activeClientRemoved",
    "session/defaultChatChanged",
    "session/ready",
    "root/configChanged",
    "opened",
    "openFailed",
    "exited",
    "title",
    "nonsense",
    "text",
    "reasoning",
    "break",
    "content",
    "usage",
    "activity",
    "notice",
    "completed",
    "cancelled",
    "failed",
    "told to open",
    "told to run",
    "told to resume",
    "told to cancel",
    "told to configure",
    "told to truncate",
    "told to close",
    "sideChat",
    "fork of a session",
    "completions",
    "sessionConfigCompletions",
    "resolveSessionConfig",
    "chat/toolCallConfirmed",
    "chat/toolCallResultConfirmed",
    "chat/toolCallComplete",
    "chat/toolCallContentChanged",
    "chat/inputAnswerChanged",
    "chat/inputCompleted",
    "chat/pendingMessageSet",
    "chat/pendingMessageRemoved",
    "chat/queuedMessagesReordered",
    "toolStarted",
    "toolInput",
    "toolReady",
    "toolContent",
    "toolFinished",
    "ask",
    "withdrawn",
    "steered",
    "delegated",
    "runCommand",
    "readCommand",
    "writeFile",
    "told to write",
    "stopCommand",
    "terminal opened",
    "terminal not opened",
    "terminal data",
    "terminal exited",
    "told where a command runs",
    "told what a command said",
    "told what a command did",
    "told to steer",
    "told to forget steering",
    "told about a call",
    "told about a result",
    "told what a client did",
    "told the answer",
    "told of tools",
    "resolved",
    "values",
    "completed for",
    "somebody ends what waits",
    "action",
    "rejection",
    "sessionAdded",
    "sessionRemoved",
    "summaryChanged",
    "done",
    "empty",
    "welcome",
    "subscribed",
    "replay",
    "replay, some missing",
    "afresh",
    "listed",
    "failure -32700",
    "failure -32601",
    "failure -32602",
    "failure -32600",
    "failure -32603",
    "failure -32001",
    "failure -32002",
    "failure -32003",
];

#[test]
fn a_store_that_refuses_some_of_it_breaks_no_promise() {
    let refusing = |seed, trace, step: &AtomicU64| {
        let mut world = World::new(seed, trace);
        world.refusals.chance = 4;
        play(world, step)
    };
    if let Some(seed) = number("INNKEEPER_SEED") {
        refusing(seed, true, &AtomicU64::new(0));
        return;
    }
    let count = number("INNKEEPER_SCHEDULES").unwrap_or(SCHEDULES / 4);
    let happened = schedules(count, |seed, step| refusing(seed, false, step));
    let refused = happened
        .iter()
        .filter_map(|counts| counts.get("not stored"));
    assert!(
        refused.sum::<u64>() > count / 2,
        "hardly anything was refused"
    );
}

#[test]
fn hostile_schedules_break_no_promise() {
    if let Some(seed) = number("INNKEEPER_SEED") {
        run(seed, true, &AtomicU64::new(0));
        return;
    }
    let count = number("INNKEEPER_SCHEDULES").unwrap_or(SCHEDULES);
    let mut counts = Counts::new();
    for happened in schedules(count, |seed, step| run(seed, false, step)) {
        for (kind, times) in happened {
            *counts.entry(kind).or_default() += times;
        }
    }
    println!("{counts:#?}");
    for kind in EXPECTED {
        assert!(counts.contains_key(*kind), "never happened: {kind}");
    }
}

/// Runs that many schedules on all cores. Fails with the seeds of those that
/// failed, if any did.
fn schedules<T: Send>(count: u64, run: impl Fn(u64, &AtomicU64) -> T + Sync) -> Vec<T> {
    let first = number("INNKEEPER_FIRST_SEED").unwrap_or(0);
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count || failures.lock().unwrap().len() >= 5 {
                        break;
                    }
                    let step = AtomicU64::new(0);
                    match catch_unwind(AssertUnwindSafe(|| run(seed, &step))) {
                        Ok(outcome) => outcomes.lock().unwrap().push(outcome),
                        Err(_) => {
                            let step = step.load(Ordering::Relaxed);
                            println!("^^^ seed {seed} failed at step {step}");
                            failures.lock().unwrap().push((seed, step));
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "(seed, step) of what failed: {failures:?}; INNKEEPER_SEED=<seed> shows it"
    );
    outcomes.into_inner().unwrap()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn run(seed: u64, trace: bool, at: &AtomicU64) -> Counts {
    play(World::new(seed, trace), at)
}

fn play(mut world: World, at: &AtomicU64) -> Counts {
    if world.rng.chance(85) {
        acts::begin(&mut world);
    }
    let steps = 120 + world.rng.below(100);
    for step in 0..steps {
        at.store(step as u64, Ordering::Relaxed);
        world.say(|| format!("{step}:"));
        one_step(&mut world);
    }
    at.store(steps as u64, Ordering::Relaxed);
    checks::finish(&mut world);
    world.restart(true);
    checks::quiet(&mut world);
    world.counts
}

pub(crate) fn one_step(world: &mut World) {
    world.now += world.rng.below(80) as i64;
    if world.failing && world.rng.chance(15) {
        world.note("store recovers");
        world.recover();
    }
    let kind = world.rng.weighted(&[
        (330, "client"),
        (250, "agent"),
        (40, "machine"),
        (160, "deliver"),
        (90, "commit"),
        (50, "read"),
        (60, "answer"),
        (4, "files change"),
        (20, "flow"),
        (20, "tick"),
        (4, "long time"),
        (3, "clock steps back"),
        (12, "cut"),
        (4, "replace"),
        (3, "crash"),
        (2, "clean restart"),
        (2, "store fails"),
        (2, "agents change"),
        (6, "quiet"),
    ]);
    match kind {
        "client" => {
            let client = world.rng.below(ACTORS);
            acts::act(world, client);
        }
        "agent" if !world.failing => {
            if let Some((kind, report)) = world.agents.speak(&mut world.rng) {
                world.note(kind);
                world.report(report);
            }
        }
        "machine" if !world.failing => {
            if let Some((kind, report)) = world.machine.speak(&mut world.rng) {
                world.note(kind);
                world.feed(report);
            }
        }
        "deliver" => {
            let wires: Vec<u64> = world.wires.keys().copied().collect();
            if let Some(&wire) = world.rng.pick(&wires) {
                let most = 1 + world.rng.below(12);
                for _ in 0..most {
                    world.deliver(wire);
                }
            }
        }
        "commit" => {
            let most = 1 + world.rng.below(8);
            world.commit(most);
        }
        "read" => {
            world.read_one();
        }
        "answer" => {
            world.answer_one();
        }
        "files change" if !world.failing => {
            let session = acts::any_session(world);
            let report = changes::late_news(&mut world.rng, &session);
            world.feed(report);
        }
        "tick" if !world.failing => {
            world.note("tick");
            world.feed(Input::Tick);
        }
        "long time" => world.now += 6_000 + world.rng.below(8_000) as i64,
        "clock steps back" => world.now -= 3_000,
        "cut" => {
            let wires: Vec<u64> = world.wires.keys().copied().collect();
            if let Some(&wire) = world.rng.pick(&wires) {
                world.note("cut");
                world.cut(wire);
            }
        }
        "replace" => {
            let client = world.rng.below(ACTORS);
            acts::come_in(world, client);
        }
        "crash" => {
            world.note("crash");
            if world.rng.chance(30) {
                world.agent_count = 1 + world.rng.below(3);
            }
            world.restart(false);
            if world.rng.chance(50) {
                checks::quiet(world);
            }
        }
        "clean restart" => {
            world.note("clean restart");
            world.restart(true);
        }
        "store fails" if !world.failing => {
            world.note("store fails");
            world.fail();
        }
        "flow" => world.drain(),
        "agents change" => {
            world.note("agents change");
            world.agent_count = 1 + world.rng.below(3);
            let agents = agent::profiles(world.agent_count);
            world.feed(Input::AgentsChanged(agents));
        }
        "quiet" => checks::quiet(world),
        _ => {}
    }
}
