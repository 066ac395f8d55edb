//! What a run counts, what it holds against the host, and the one table that
//! shows both.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// What the host is held to. Each is a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    Sessions,
    Turns,
    Ends,
    Titles,
    Drafts,
    Archived,
    Queued,
    RunOnce,
    Sequence,
    Replays,
    Readable,
    Alive,
    Room,
    Memory,
    Threads,
    OpenFiles,
    Processes,
    TemporaryFiles,
    Repository,
    Takeover,
    Alone,
    Waking,
}

impl Promise {
    const ALL: [Self; 22] = [
        Self::Sessions,
        Self::Turns,
        Self::Ends,
        Self::Titles,
        Self::Drafts,
        Self::Archived,
        Self::Queued,
        Self::RunOnce,
        Self::Sequence,
        Self::Replays,
        Self::Readable,
        Self::Alive,
        Self::Room,
        Self::Memory,
        Self::Threads,
        Self::OpenFiles,
        Self::Processes,
        Self::TemporaryFiles,
        Self::Repository,
        Self::Takeover,
        Self::Alone,
        Self::Waking,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::Sessions => "a created session stays, a disposed one is gone",
            Self::Turns => "a turn that was told to have begun is there",
            Self::Ends => "an end that was told stays, and the turn with it",
            Self::Titles => "an echoed title stays",
            Self::Drafts => "an echoed draft stays",
            Self::Archived => "an echoed archived flag stays",
            Self::Queued => "an echoed queued message waits or has run",
            Self::RunOnce => "no queued message runs twice",
            Self::Sequence => "serverSeq never goes back",
            Self::Replays => "what is replayed folds to the snapshot",
            Self::Readable => "every version can read what it is told",
            Self::Alive => "the host lives until it is ended, and starts again",
            Self::Room => "a disk that was full: work goes on once there is room",
            Self::Memory => "memory after the load, MiB",
            Self::Threads => "threads after the load",
            Self::OpenFiles => "open files after the load",
            Self::Processes => "processes go with their host",
            Self::TemporaryFiles => "nothing is left in the temporary directory",
            Self::Repository => "of the repository, only refs/innkeeper/ changes",
            Self::Takeover => "another host takes over, after so many ms",
            Self::Alone => "agents of two hosts never work in one directory",
            Self::Waking => "a machine that was paused ends its old agents, after so many ms",
        }
    }
}

/// A promise that was not kept.
#[derive(Debug, Clone)]
pub struct Violation {
    pub promise: Promise,
    /// The seed that repeats it, in its first world.
    pub seed: u64,
    pub life: u64,
    pub what: String,
}

/// What a run has found.
#[derive(Debug, Default)]
pub struct Report {
    /// How often each promise was checked.
    checked: BTreeMap<Promise, u64>,
    /// The most that was measured, with its bound, where something is.
    measured: BTreeMap<Promise, (u64, u64)>,
    counts: BTreeMap<String, u64>,
    pub violations: Vec<Violation>,
    /// What this run could not do, and why.
    pub skipped: Vec<String>,
    seed: u64,
    life: u64,
}

impl Report {
    /// What follows happens here.
    pub(crate) fn at(&mut self, seed: u64, life: u64) {
        (self.seed, self.life) = (seed, life);
    }

    pub(crate) fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// How often something happened.
    pub fn counted(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    pub fn times_checked(&self, promise: Promise) -> u64 {
        self.checked.get(&promise).copied().unwrap_or(0)
    }

    /// Holds the host to a promise; `what` says what is wrong, if it is.
    pub(crate) fn hold(&mut self, promise: Promise, kept: bool, what: impl FnOnce() -> String) {
        *self.checked.entry(promise).or_default() += 1;
        if !kept {
            self.violations.push(Violation {
                promise,
                seed: self.seed,
                life: self.life,
                what: what(),
            });
        }
    }

    /// Holds something measured to its bound.
    pub(crate) fn measure(&mut self, promise: Promise, value: u64, bound: u64) {
        self.hold(promise, value <= bound, || {
            format!("{value} were measured, and {bound} is the most")
        });
        let most = self.measured.entry(promise).or_insert((value, bound));
        if most.0 < value {
            *most = (value, bound);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | how often | verdict |\n| --- | --- | --- |")?;
        for (what, count) in &self.counts {
            writeln!(f, "| {what} | {count} | |")?;
        }
        for promise in Promise::ALL {
            let broken = self.violations.iter().filter(|it| it.promise == promise);
            let verdict = match (broken.count(), self.times_checked(promise)) {
                (0, 0) => "not checked".to_owned(),
                (0, _) => "ok".to_owned(),
                (broken, _) => format!("BROKEN {broken} times"),
            };
            let mut often = self.times_checked(promise).to_string();
            if let Some((value, bound)) = self.measured.get(&promise) {
                let _ = write!(often, " (at most {value}, bound {bound})");
            }
            writeln!(f, "| {} | {often} | {verdict} |", promise.text())?;
        }
        for skipped in &self.skipped {
            writeln!(f, "\nSkipped: {skipped}")?;
        }
        for Violation {
            promise,
            seed,
            life,
            what,
        } in &self.violations
        {
            writeln!(f, "\nBroken: {}\n  {what}", promise.text())?;
            writeln!(f, "  in life {life}; repeat with --seed {seed}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_promise_is_shown_with_what_repeats_it() {
        let mut report = Report::default();
        report.at(17, 4);
        report.hold(Promise::Turns, true, String::new);
        report.hold(Promise::Turns, false, || "turn 9 is lost".to_owned());
        let shown = report.to_string();
        for part in ["BROKEN 1 times", "turn 9 is lost", "in life 4", "--seed 17"] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }

    #[test]
    fn what_was_never_checked_is_not_called_ok() {
        assert!(!Report::default().to_string().contains("| ok |"));
    }
}
