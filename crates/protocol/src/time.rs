//! Points in time. The engine has no clock: every input carries one of these.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Milliseconds from `earlier` to `self`, never negative: clocks step back.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        let elapsed = self.0.saturating_sub(earlier.0);
        if elapsed < 0 { 0 } else { elapsed }
    }

    pub fn after(self, delay: Duration) -> Self {
        let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// Reads an ISO 8601 timestamp as the protocol writes them.
    pub fn parse(iso: &str) -> Option<Self> {
        let timestamp: jiff::Timestamp = iso.parse().ok()?;
        Some(Self(timestamp.as_millisecond()))
    }
}

/// ISO 8601 with milliseconds, e.g. `2026-03-10T18:42:03.123Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timestamp = jiff::Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        });
        write!(f, "{timestamp:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_written_with_milliseconds_and_read_back() {
        let at = Timestamp::from_millis(1_773_168_123_045);
        assert_eq!(at.to_string(), "2026-03-10T18:42:03.045Z");
        assert_eq!(Timestamp::parse(&at.to_string()), Some(at));
        assert_eq!(Timestamp::parse("yesterday"), None);
    }

    #[test]
    fn a_clock_that_steps_back_gives_no_negative_duration() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(late.millis_since(early), 4);
        assert_eq!(early.millis_since(late), 0);
    }
}
