//! What is due when, in one table: whoever waits for a time sets it here and is
//! called when it has come. Neither asking for the next one nor serving it
//! looks at anything that is not due.

use std::collections::BTreeSet;
use std::time::Duration;

use foldhash::HashMap;
use innkeeper_protocol::mcp::hosted::ServerRun;
use innkeeper_protocol::workspace::customization::SourceId;
use innkeeper_protocol::{ChannelUri, ClientId, Timestamp};

/// Something that happens at a time. To add one: add a variant, and follow the
/// compiler to where it is served.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Deadline {
    /// A client that was away for too long loses its roles.
    ClientDeparts(ClientId),
    /// A token for this resource is good no longer.
    TokenExpires(String),
    /// A watch that nobody listens to goes.
    WatchIsUnheard(ChannelUri),
    /// A chat's turn waits no longer for the state before it to be kept.
    StateBeforeTurn(ChannelUri),
    /// A client has not answered a call of this number.
    ClientIsSilent(i64),
    /// Agents wait no longer for what a place of customizations has.
    SourceIsUnread(SourceId),
    /// Agents wait no longer for an MCP server that is starting.
    ServerStarts(ServerRun),
    /// A session's summary was held back for long enough.
    SummaryIsHeld(ChannelUri),
    /// What programs in terminals say of themselves was held back for long
    /// enough.
    TerminalsAreHeard,
    /// Perhaps nobody wrote in a session, and nobody has it open.
    SessionIsUnwritten(ChannelUri),
    /// An automation has something to do by its schedules or its end.
    AutomationIsDue(ChannelUri),
    /// A run of an automation waits no longer: to begin, or for a person.
    RunIsLate(ChannelUri),
    /// The files that automations follow have come to rest.
    FilesRest,
    /// Files that could not be followed are looked for again.
    FilesAreFollowed,
    /// Sessions that nobody needs leave memory.
    Sweep,
}

impl Deadline {
    /// Whether it is a time that a clock shows, and not the end of a wait.
    fn is_by_the_clock(&self) -> bool {
        match self {
            // When an empty session was created is stored: its age counts.
            Self::TokenExpires(_) | Self::AutomationIsDue(_) | Self::SessionIsUnwritten(_) => true,
            Self::ClientDeparts(_)
            | Self::WatchIsUnheard(_)
            | Self::StateBeforeTurn(_)
            | Self::ClientIsSilent(_)
            | Self::SourceIsUnread(_)
            | Self::ServerStarts(_)
            | Self::SummaryIsHeld(_)
            | Self::TerminalsAreHeard
            | Self::RunIsLate(_)
            | Self::FilesRest
            | Self::FilesAreFollowed
            | Self::Sweep => false,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    by_time: BTreeSet<(Timestamp, Deadline)>,
    times: HashMap<Deadline, Timestamp>,
}

impl Deadlines {
    /// Sets a deadline, or moves it.
    pub(crate) fn set(&mut self, deadline: Deadline, at: Timestamp) {
        self.clear(&deadline);
        self.times.insert(deadline.clone(), at);
        self.by_time.insert((at, deadline));
    }

    /// Moves a deadline that is set for later.
    pub(crate) fn bring_forward(&mut self, deadline: Deadline, at: Timestamp) {
        if self.times.get(&deadline).is_some_and(|known| *known > at) {
            self.set(deadline, at);
        }
    }

    pub(crate) fn clear(&mut self, deadline: &Deadline) {
        if let Some(entry) = self.times.remove_entry(deadline) {
            self.by_time.remove(&(entry.1, entry.0));
        }
    }

    pub(crate) fn is_set(&self, deadline: &Deadline) -> bool {
        self.times.contains_key(deadline)
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes out the first that is due by now.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<Deadline> {
        self.next().filter(|at| *at <= now)?;
        let (_, deadline) = self.by_time.pop_first()?;
        self.times.remove(&deadline);
        Some(deadline)
    }

    /// The clock was set forward, or the machine slept: what waits has as much
    /// time left as before.
    pub(crate) fn clock_set_forward(&mut self, by: Duration) {
        for (at, deadline) in std::mem::take(&mut self.by_time) {
            let at = match deadline.is_by_the_clock() {
                true => at,
                false => at.after(by),
            };
            self.times.insert(deadline.clone(), at);
            self.by_time.insert((at, deadline));
        }
    }

    /// All that are set, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Deadline> {
        self.times.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn token(name: &str) -> Deadline {
        Deadline::TokenExpires(name.to_owned())
    }

    #[test]
    fn what_is_due_comes_in_the_order_of_time_and_only_once() {
        let mut table = Deadlines::default();
        for (name, millis) in [("b", 20), ("a", 30), ("c", 10)] {
            table.set(token(name), at(millis));
        }
        assert_eq!(table.next(), Some(at(10)));
        assert_eq!(table.take_due(at(9)), None);
        assert_eq!(table.take_due(at(25)), Some(token("c")));
        assert_eq!(table.take_due(at(25)), Some(token("b")));
        assert_eq!(table.take_due(at(25)), None);
        assert_eq!(table.next(), Some(at(30)));
    }

    #[test]
    fn what_waits_waits_no_less_when_the_clock_is_set_forward() {
        let mut table = Deadlines::default();
        table.set(token("a"), at(10_000));
        table.set(Deadline::Sweep, at(20_000));
        table.clock_set_forward(Duration::from_secs(60));
        assert_eq!(table.take_due(at(79_999)), Some(token("a")));
        assert_eq!(table.take_due(at(79_999)), None);
        assert_eq!(table.take_due(at(80_000)), Some(Deadline::Sweep));
        assert_eq!(table.all().count(), 0);
    }

    #[test]
    fn a_deadline_that_is_set_again_is_moved_and_one_that_is_cleared_is_gone() {
        let mut table = Deadlines::default();
        table.set(token("a"), at(10));
        table.set(token("a"), at(40));
        table.set(token("b"), at(20));
        table.clear(&token("b"));
        assert!(table.is_set(&token("a")) && !table.is_set(&token("b")));
        assert_eq!(table.next(), Some(at(40)));
        assert_eq!(table.take_due(at(50)), Some(token("a")));
        assert_eq!(table.next(), None);
    }
}
