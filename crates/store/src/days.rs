//! Days in which a host ran. By them disposed sessions are kept, as the
//! machine's clock may be wrong: one start of a host whose clock is years ahead
//! must not remove anything for good.

use std::time::Duration;

use innkeeper_protocol::Timestamp;

pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HostDays {
    pub(crate) day: u64,
    /// When this day began, by the machine's clock.
    pub(crate) since: Option<Timestamp>,
}

impl HostDays {
    /// A host starts. That is another day if the clock says so; but however far
    /// the clock has come, only one.
    pub(crate) fn start(&mut self, now: Timestamp) {
        if self.since.is_some_and(|since| since.after(DAY) <= now) {
            self.day += 1;
            self.since = Some(now);
        }
        // Another clock said that it is later.
        self.since = Some(self.since.map_or(now, |since| since.min(now)));
    }

    /// A host has run for a day.
    pub(crate) fn pass(&mut self, now: Timestamp) {
        self.day += 1;
        self.since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_at_most_one_day_and_a_clock_that_was_ahead_stops_nothing() {
        let hour = |hours: i64| Timestamp::from_millis(hours * 3_600_000);
        let mut days = HostDays::default();
        for (now, day) in [
            (100, 0),
            (101, 0),
            (123, 0),
            (124, 1),
            (147, 1),
            (9_000, 2),
            (148, 2),
            (171, 2),
            (172, 3),
        ] {
            days.start(hour(now));
            assert_eq!(days.day, day, "at {now}");
        }
    }
}
