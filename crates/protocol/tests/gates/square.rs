//! The law of the gates: for every version, folding the lowered actions with
//! that version's own reducers gives the lowered state.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use innkeeper_judges::{Coverage, Mirror, comparable, difference, name_of};
use innkeeper_protocol::gates::down;
use innkeeper_protocol::version::Version;
use serde_json::json;

use crate::model_host::{
    ANNOTATIONS, AUTOMATIONS, CANVAS, CHANGESET, ModelHost, ROOT, RUN, SESSION, SIDE, TERMINAL,
    WATCH, default_chat,
};
use crate::releases::{self, as_release, judge};

/// Runs for each version; `GATES_RUNS` asks for more, `GATES_SEED` for one.
const RUNS: u64 = 1000;
const STEPS: usize = 24;

/// The channels that a client of a version can subscribe to.
pub(crate) fn channels(version: Version) -> Vec<String> {
    let mut all = vec![ROOT, SESSION, SIDE, TERMINAL];
    if version >= Version::V0_2 {
        all.push(CHANGESET);
    }
    if version >= Version::V0_4 {
        all.extend([ANNOTATIONS, WATCH]);
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
    fn new(version: Version, host: &ModelHost) -> Self {
        let mut follower = Self {
            version,
            mirror: judge(version),
            told: host.events.len(),
        };
        follower.subscribe(host).unwrap();
        follower
    }

    fn subscribe(&mut self, host: &ModelHost) -> Result<(), String> {
        for channel in channels(self.version) {
            let state = down::snapshot(self.version, host.snapshot(&channel)).state;
            self.mirror
                .load(&channel, state.into())
                .map_err(|error| format!("snapshot of {channel}: {error}"))?;
        }
        Ok(())
    }

    /// From 0.5 on a chat can be subscribed to with its last turns only; the
    /// others come when they are asked for, the latest first.
    fn history_in_pieces(
        &mut self,
        host: &ModelHost,
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        if !self.version.tells_earlier_turns() {
            return Ok(());
        }
        for (channel, chat) in &host.chats {
            let mut older = chat.state.turns.clone();
            let Some(last) = older.pop() else {
                continue;
            };
            let mut snapshot = host.snapshot(channel);
            snapshot.state.insert("turns".into(), json!([last]).into());
            if !older.is_empty() {
                snapshot
                    .state
                    .insert("turnsNextCursor".into(), "next".into());
            }
            let state = down::snapshot(self.version, snapshot).state;
            self.mirror.load(channel, state.into())?;
            while let Some(turn) = older.pop() {
                let mut action = json!({"type": "chat/turnsLoaded", "turns": [turn]});
                if !older.is_empty() {
                    action["turnsNextCursor"] = "next".into();
                }
                let facts = host.facts_of(channel);
                for act in down::action(self.version, channel, action, &facts) {
                    coverage.note(&name_of(self.version), "chat/turnsLoaded");
                    self.mirror.apply(&act.channel, act.action.into())?;
                }
            }
        }
        Ok(())
    }

    fn follow(&mut self, host: &ModelHost, coverage: &mut Coverage) -> Result<(), String> {
        for event in &host.events[self.told..] {
            let (channel, action) = (&event.channel, event.action.clone());
            for act in down::action(self.version, channel, action, &event.facts) {
                let kind = act.action["type"].as_str().unwrap_or_default();
                coverage.note(&name_of(self.version), kind);
                self.mirror
                    .apply(&act.channel, act.action.into())
                    .map_err(|error| format!("{} became: {error}", event.action))?;
            }
        }
        self.told = host.events.len();
        Ok(())
    }

    fn compare(&self, host: &ModelHost) -> Result<(), String> {
        for channel in channels(self.version) {
            let state = down::snapshot(self.version, host.snapshot(&channel)).state;
            let name = name_of(self.version);
            let expected = comparable(&name, self.mirror.read(state.into())?);
            let got = self.mirror.state(&channel).unwrap_or_default();
            let got = as_release(self.version, comparable(&name, got));
            if expected != got {
                return Err(difference(&channel, &expected, &got));
            }
        }
        Ok(())
    }
}

/// Runs a seed, and says which versions got lost on the way.
fn run(seed: u64, coverage: &mut Coverage) -> BTreeMap<Version, String> {
    let mut lost = BTreeMap::new();
    let mut host = ModelHost::new(seed);
    let half = host.dice.below(STEPS);
    let mut followers: Vec<Follower> = releases::all()
        .map(|version| Follower::new(version, &host))
        .collect();
    for step in 0..STEPS {
        host.step();
        let last = step + 1 == STEPS;
        if step != half && !last {
            continue;
        }
        host.sign_in();
        followers.retain_mut(|follower| {
            let told = follower.told;
            let mut outcome = follower.follow(&host, coverage);
            outcome = outcome.and_then(|()| follower.compare(&host));
            if !last {
                // It goes on from what a newcomer is given.
                outcome = outcome
                    .and_then(|()| follower.subscribe(&host))
                    .and_then(|()| follower.history_in_pieces(&host, coverage))
                    .and_then(|()| follower.compare(&host));
            }
            if let Err(error) = &outcome {
                let events = host.events[told..].iter();
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
    let mut coverage = Coverage::default();
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
        let mut coverage = Coverage::default();
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
            coverage.add(worker.join().unwrap());
        }
    });
    let failures = failures.into_inner();
    assert_eq!(
        failures, 0,
        "some squares do not commute; their seeds are above"
    );
    if one.is_none() && runs.is_none_or(|runs: u64| runs >= RUNS) {
        println!("{}", coverage.table());
        let empty = coverage.empty_cells();
        assert!(empty.is_empty(), "never exercised: {empty:?}");
    }
}
