//! The law of the gates, for what the engine really does: clients of all ten
//! versions look on and take part, and each holds at any time what it would be
//! given if it came just then. (The protocol's own tests have the same law for
//! everything that the protocol can say.)

use std::sync::atomic::{AtomicU64, Ordering};

use innkeeper_judges::{ACTION_TYPES, Coverage};
use innkeeper_protocol::version::Version;

use crate::dispatches::{deal_with_what_waits, dispatch_to_chat};
use crate::onlooker::Onlooker;
use crate::world::{ACTORS, World};
use crate::{acts, automation_acts, checks, looking_on, machine_acts, number, one_step, schedules};

/// All ten versions are in each of them.
const SCHEDULES: u64 = 1_000;

/// Likewise, with automations.
const AUTOMATED: u64 = 100;

/// What this host does not do yet, or not without a machine: it is never told
/// here. Whatever is not in this list must be told.
const ABSENT: &[&str] = &[
    // Told in a test of their own, below.
    "automation/",
    "automationRun/",
    "canvas/",
    "chat/canvasesChanged",
    // See `directories::change_chat`.
    "chat/workingDirectory",
];

/// What happens so seldom here that it may not happen at all: the scenarios of
/// MCP servers have it.
const SELDOM: &[&str] = &["chat/toolCallAuth", "session/mcpServerBackgroundRequested"];

#[test]
fn clients_of_every_version_hold_what_the_engine_holds() {
    if let Some(seed) = number("INNKEEPER_SEED") {
        run(seed, true, &AtomicU64::new(0), false);
        return;
    }
    let count = number("INNKEEPER_SCHEDULES").unwrap_or(SCHEDULES);
    let mut told = Coverage::default();
    for of_one in schedules(count, |seed, step| run(seed, false, step, false)) {
        told.add(of_one);
    }
    println!("{}", told.table());
    if count < SCHEDULES {
        return;
    }
    let is_absent = |kind: &str| ABSENT.iter().any(|absent| kind.starts_with(absent));
    let mut empty = told.empty_cells();
    let is_seldom = |kind: &str| SELDOM.iter().any(|seldom| kind.starts_with(seldom));
    empty.retain(|(_, kind)| !is_absent(kind) && !is_seldom(kind));
    assert!(empty.is_empty(), "never told: {empty:?}");
    for (kind, _, _) in ACTION_TYPES.iter().filter(|(kind, _, _)| is_absent(kind)) {
        let times = Version::ALL.map(|version| told.count(&Onlooker::new(version).number, kind));
        assert_eq!(
            times,
            [0; Version::ALL.len()],
            "{kind} is told and listed as absent"
        );
    }
}

#[test]
fn clients_of_versions_with_automations_hold_what_the_engine_holds() {
    let mut told = Coverage::default();
    for of_one in schedules(AUTOMATED, |seed, step| run(seed, false, step, true)) {
        told.add(of_one);
    }
    let mut empty = told.empty_cells();
    empty.retain(|(_, kind)| kind.starts_with("automation"));
    assert!(empty.is_empty(), "never told: {empty:?}");
}

/// With what agents do by themselves, if that is wanted: it makes a run longer.
fn run(seed: u64, trace: bool, at: &AtomicU64, automates: bool) -> Coverage {
    let mut world = World::new(seed, trace);
    world.automates = automates;
    world.onlookers = Version::ALL.map(Onlooker::new).into();
    for index in 0..world.onlookers.len() {
        looking_on::act(&mut world, index);
    }
    acts::begin(&mut world);
    for index in 0..world.onlookers.len() {
        looking_on::follow(&mut world, index, acts::SESSIONS[0]);
    }
    machine_acts::begin(&mut world, acts::SESSIONS[0]);
    if automates {
        automation_acts::begin(&mut world);
    }
    if world.rng.chance(30) {
        // One that is still being created, and may fail to be.
        acts::create(&mut world, 0, acts::SESSIONS[2]);
        world.drain();
        for index in 0..world.onlookers.len() {
            looking_on::follow(&mut world, index, acts::SESSIONS[2]);
        }
    }
    let steps = 60 + world.rng.below(50);
    for step in 0..steps {
        at.store(step as u64, Ordering::Relaxed);
        world.say(|| format!("{step}:"));
        one_step(&mut world);
        let index = world.rng.below(world.onlookers.len());
        looking_on::act(&mut world, index);
        // Much is said here, so that most of what can happen does.
        for _ in 0..world.rng.below(4) {
            if !world.failing
                && let Some((_, report)) = world.agents.speak(&mut world.rng)
            {
                world.report(report);
            }
        }
        for _ in 0..world.rng.below(3) {
            if !world.failing
                && let Some((_, report)) = world.machine.speak(&mut world.rng)
            {
                world.feed(report);
            }
        }
        let client = world.rng.below(ACTORS);
        if world.clients[client].ready {
            match world.rng.below(10) {
                0..=4 => dispatch_to_chat(&mut world, client),
                5..=7 => deal_with_what_waits(&mut world, client),
                8 => world.drain(),
                _ => {}
            }
        }
    }
    checks::finish(&mut world);
    let mut told = Coverage::default();
    for onlooker in world.onlookers {
        told.add(onlooker.told);
    }
    told
}
