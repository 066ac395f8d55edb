//! The time that the engine is told: that of the machine's clock, but it never
//! goes back, and what passes is what really passed.
//!
//! The machine's clock may be set while the host runs, by people or by the
//! network. If it is set forward, the engine is told by how much, so that no
//! duration grows by it. (A machine that slept looks the same.) If it is set
//! back, time goes on at almost its usual pace until the clock has caught up.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use innkeeper_protocol::Timestamp;

/// A clock that is further ahead was set.
const SET_FORWARD: i64 = 2_000;

/// One part in so many of the time that passes is taken off or put on until
/// both clocks say the same.
const SLOWLY: i64 = 20;

#[derive(Debug)]
pub(crate) struct Clock {
    began: Instant,
    steady: Steady,
}

impl Clock {
    /// A clock that says what the machine's says at this moment.
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            steady: Steady::new(now()),
        }
    }

    /// The time; and by how much it was set forward since somebody last asked.
    pub(crate) fn read(&mut self) -> (Timestamp, Option<Duration>) {
        self.steady.read(now(), self.began.elapsed())
    }

    /// The time, if nobody has set the clock since somebody last read it.
    pub(crate) fn about_now(&self) -> Timestamp {
        let since = self.began.elapsed().saturating_sub(self.steady.passed);
        self.steady.now.after(since)
    }
}

/// The same, without a look at any clock.
#[derive(Debug)]
struct Steady {
    now: Timestamp,
    /// How much time had passed at the last reading.
    passed: Duration,
    /// How many milliseconds of that have not been shortened or stretched.
    to_bend: i64,
}

impl Steady {
    fn new(now: Timestamp) -> Self {
        Self {
            now,
            passed: Duration::ZERO,
            to_bend: 0,
        }
    }

    /// `clock` is what the machine's clock says; `passed` is how long this one
    /// has been running.
    fn read(&mut self, clock: Timestamp, passed: Duration) -> (Timestamp, Option<Duration>) {
        let step = passed.saturating_sub(self.passed);
        // What is left of a millisecond counts the next time.
        let step = i64::try_from(step.as_millis()).unwrap_or(i64::MAX);
        self.passed += Duration::from_millis(step.unsigned_abs());
        let expected = self.now.as_millis().saturating_add(step);
        let ahead = clock.as_millis().saturating_sub(expected);
        if ahead > SET_FORWARD {
            self.now = clock;
            return (clock, Some(Duration::from_millis(ahead.unsigned_abs())));
        }
        self.to_bend = self.to_bend.saturating_add(step);
        let most = self.to_bend / SLOWLY;
        let by = ahead.clamp(-most, most).max(-step);
        self.to_bend = match by == ahead {
            true => 0,
            false => self.to_bend - by.abs() * SLOWLY,
        };
        self.now = Timestamp::from_millis(expected.saturating_add(by));
        (self.now, None)
    }
}

/// The time, as the machine's clock has it.
pub fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_000_000_000;
    const HOUR: i64 = 3_600_000;

    /// Reads every 10 ms, with a clock that is off by so much; returns how much
    /// time went by, and what was said to be skipped.
    fn after(seconds: u64, off: i64) -> (i64, Duration) {
        let mut steady = Steady::new(Timestamp::from_millis(START));
        let (mut last, mut skipped) = (START, Duration::ZERO);
        for step in 1..=seconds * 100 {
            let passed = Duration::from_millis(step * 10);
            let clock = START + off + i64::try_from(passed.as_millis()).unwrap();
            let (now, skip) = steady.read(Timestamp::from_millis(clock), passed);
            assert!(now.as_millis() >= last, "time never goes back");
            last = now.as_millis();
            skipped += skip.unwrap_or_default();
        }
        (last - START, skipped)
    }

    #[test]
    fn time_that_passes_is_what_really_passed_whatever_happens_to_the_clock() {
        for (off, least, most, skipped) in [
            (0, 60_000, 60_000, 0),
            (-HOUR, 57_000, 60_000, 0),
            (-500, 59_500, 59_500, 0),
            (500, 60_500, 60_500, 0),
            (HOUR, 60_000, 60_000, HOUR),
            (8_760 * HOUR, 60_000, 60_000, 8_760 * HOUR),
        ] {
            let (went_by, set_forward) = after(60, off);
            let set_forward = i64::try_from(set_forward.as_millis()).unwrap();
            assert_eq!(set_forward, skipped, "off by {off}");
            let measured = went_by - set_forward;
            assert!(
                (least..=most).contains(&measured),
                "{measured}, off by {off}"
            );
        }
    }
}
