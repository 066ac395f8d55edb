//! The law of the gates: for every version, folding the lowered actions with
//! that version's own reducers gives the lowered state.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use innkeeper_judges::{Mirror, mirror};
use innkeeper_protocol::gates::down;
use innkeeper_protocol::version::Version;
use serde_json::Value;

use crate::action_types::ACTION_TYPES;
use crate::house::{
    ANNOTATIONS, AUTOMATIONS, CANVAS, CHANGESET, House, ROOT, RUN, SESSION, SIDE, TERMINAL, WATCH,
    default_chat,
};

/// Runs for each version; `GATES_RUNS` asks for more, `GATES_SEED` for one.
const RUNS: u64 = 1000;
const STEPS: usize = 24;

/// How often a version was told an action type.
type Coverage = BTreeMap<(Version, String), u64>;

fn number(version: Version) -> String {
    let text = version.to_string();
    text.rsplit_once('.')
        .map_or(text.clone(), |(head, _)| head.to_owned())
}

/// The channels that a client of a version can subscribe to.
pub(crate) fn channels(version: Version) -> Vec<String> {
    let mut all = vec![ROOT, SESSION, SIDE, TERMINAL];
    if version >= Version::V0_4 {
        all.extend([CHANGESET, ANNOTATIONS, WATCH]);
    }
    if version >= Version::V0_9 {
        all.extend([AUTOMATIONS, RUN]);
    }
    if version >= Version::V1_0 {
        all.push(CANVAS);
    }
    let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
    if version >= Version::V0_4 {
        all.push(default_chat());
    }
    all
}

struct Follower {
    version: Version,
    mirror: Box<dyn Mirror>,
    told: usize,
}

impl Follower {
    fn new(version: Version, house: &House) -> Self {
        let mut follower = Self {
            version,
            mirror: mirror(&number(version)).unwrap(),
            told: house.events.len(),
        };
        follower.subscribe(house).unwrap();
        follower
    }

    fn subscribe(&mut self, house: &House) -> Result<(), String> {
        for channel in channels(self.version) {
            let state = down::picture(self.version, house.picture(&channel)).state;
            self.mirror
                .load(&channel, state.into())
                .map_err(|error| format!("snapshot of {channel}: {error}"))?;
        }
        Ok(())
    }

    fn follow(&mut self, house: &House, coverage: &mut Coverage) -> Result<(), String> {
        for event in &house.events[self.told..] {
            let (channel, action) = (&event.channel, event.action.clone());
            for act in down::action(self.version, channel, action, &event.facts) {
                let kind = act.action["type"].as_str().unwrap_or_default().to_owned();
                *coverage.entry((self.version, kind)).or_default() += 1;
                self.mirror
                    .apply(&act.channel, act.action.into())
                    .map_err(|error| format!("{} became: {error}", event.action))?;
            }
        }
        self.told = house.events.len();
        Ok(())
    }

    fn compare(&self, house: &House) -> Result<(), String> {
        for channel in channels(self.version) {
            let state = down::picture(self.version, house.picture(&channel)).state;
            let expected = self.comparable(self.mirror.read(state.into())?);
            let got = self.comparable(self.mirror.state(&channel).unwrap_or_default());
            if expected != got {
                return Err(difference(&channel, &expected, &got));
            }
        }
        Ok(())
    }

    /// Reducers up to 0.8 take `modifiedAt` from their own clock, and those of
    /// 0.5 the place of an answered question.
    fn comparable(&self, mut state: Value) -> Value {
        if self.version <= Version::V0_8 {
            if let Some(object) = state.as_object_mut() {
                object.remove("modifiedAt");
            }
            if let Some(summary) = state.get_mut("summary").and_then(Value::as_object_mut) {
                summary.remove("modifiedAt");
            }
        }
        if self.version == Version::V0_5 {
            let last = |turn: &mut Value| {
                if let Some(parts) = turn.get_mut("responseParts").and_then(Value::as_array_mut) {
                    parts.sort_by_key(|part| match part["kind"] == "inputRequest" {
                        true => part["request"]["id"].to_string(),
                        false => String::new(),
                    });
                }
            };
            state.get_mut("activeTurn").map(last);
            let turns = state.get_mut("turns").and_then(Value::as_array_mut);
            turns.into_iter().flatten().for_each(last);
        }
        state
    }
}

/// Where two states differ first.
fn difference(path: &str, expected: &Value, got: &Value) -> String {
    match (expected, got) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()) {
                let (a, b) = (&expected[key], &got[key]);
                if a != b {
                    return difference(&format!("{path}.{key}"), a, b);
                }
            }
            String::new()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0);
            difference(&format!("{path}[{at}]"), &a[at], &b[at])
        }
        _ => format!("{path}: the house has {expected}, the client has {got}"),
    }
}

/// Runs a seed, and says which versions got lost on the way.
fn run(seed: u64, coverage: &mut Coverage) -> BTreeMap<Version, String> {
    let mut lost = BTreeMap::new();
    let mut house = House::new(seed);
    let half = house.dice.below(STEPS);
    let mut followers: Vec<Follower> = Version::ALL
        .map(|version| Follower::new(version, &house))
        .into();
    for step in 0..STEPS {
        house.step();
        let last = step + 1 == STEPS;
        if step != half && !last {
            continue;
        }
        house.sign_in();
        followers.retain_mut(|follower| {
            let told = follower.told;
            let mut outcome = follower.follow(&house, coverage);
            outcome = outcome.and_then(|()| follower.compare(&house));
            if !last {
                // It goes on from what a newcomer is given.
                outcome = outcome.and_then(|()| follower.subscribe(&house));
            }
            if let Err(error) = &outcome {
                let events = house.events[told..].iter();
                let actions: Vec<String> = events
                    .map(|event| format!("{} {}", event.channel, event.action))
                    .collect();
                let story = format!("{error}\n{}", actions.join("\n"));
                lost.insert(follower.version, story);
            }
            outcome.is_ok()
        });
    }
    lost
}

#[test]
fn the_square_commutes_in_every_version() {
    let mut coverage = Coverage::new();
    let one = std::env::var("GATES_SEED")
        .ok()
        .and_then(|it| it.parse().ok());
    let runs = std::env::var("GATES_RUNS")
        .ok()
        .and_then(|it| it.parse().ok());
    let seeds = match one {
        Some(seed) => seed..seed + 1,
        None => 0..runs.unwrap_or(RUNS),
    };
    let next = AtomicU64::new(seeds.start);
    let failures = AtomicU64::new(0);
    let work = || {
        let mut coverage = Coverage::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || failures.load(Ordering::Relaxed) > 60 {
                return coverage;
            }
            for (version, error) in run(seed, &mut coverage) {
                let first = error.lines().next().unwrap_or_default();
                let told = if one.is_some() { &error } else { first };
                println!("GATES_SEED={seed} {version}: {told}");
                failures.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            for (cell, count) in worker.join().unwrap() {
                *coverage.entry(cell).or_default() += count;
            }
        }
    });
    let failures = failures.into_inner();
    assert_eq!(
        failures, 0,
        "some squares do not commute; their seeds are above"
    );
    if one.is_none() && runs.is_none_or(|runs: u64| runs >= RUNS) {
        assert_covered(&coverage);
    }
}

/// Types that no run of the host can lead to, and why.
const NEVER: &[(&str, &str)] = &[
    (
        "session/diffsChanged",
        "the house keeps changes in changesets, which draft 1 does not have",
    ),
    (
        "chat/turnsLoaded",
        "sent to one subscriber that asked, see `history_in_pieces`",
    ),
];

fn assert_covered(coverage: &Coverage) {
    println!(
        "{:44}{}",
        "action type",
        Version::ALL.map(|it| format!("{:>8}", number(it))).concat()
    );
    let mut empty = Vec::new();
    for &(kind, since, until) in ACTION_TYPES {
        let cells = Version::ALL.map(|version| {
            if version < since || version > until {
                return format!("{:>8}", "-");
            }
            let count = coverage
                .get(&(version, kind.to_owned()))
                .copied()
                .unwrap_or(0);
            if count == 0 && !NEVER.iter().any(|(never, _)| *never == kind) {
                empty.push(format!("{kind} in {version}"));
            }
            format!("{count:>8}")
        });
        println!("{kind:44}{}", cells.concat());
    }
    for (kind, reason) in NEVER {
        println!("{kind}: {reason}");
    }
    assert!(empty.is_empty(), "never exercised: {empty:?}");
}
