//! Whether the host can do its work, for whoever watches over it.
//!
//! *Boundary*: anybody may ask, without a token. So what is said here names
//! neither paths nor sessions; the log says more.

use std::sync::atomic::{AtomicU8, Ordering};

/// What stands in the way of work, the gravest last. (While a host starts,
/// nobody can ask it yet.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum State {
    Ready,
    StoreFailing,
    StoreLost,
    Overtaken,
    Stopping,
}

const STATES: [State; 5] = [
    State::Ready,
    State::StoreFailing,
    State::StoreLost,
    State::Overtaken,
    State::Stopping,
];

#[derive(Debug)]
pub(crate) struct Readiness(AtomicU8);

impl Default for Readiness {
    fn default() -> Self {
        Self(AtomicU8::new(State::Ready as u8))
    }
}

impl Readiness {
    pub(crate) fn store_fails(&self) {
        self.worsen(State::StoreFailing);
    }

    pub(crate) fn store_recovered(&self) {
        let (from, to) = (State::StoreFailing as u8, State::Ready as u8);
        // If it is in another state by now, that one stands.
        let _ = (self.0).compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(crate) fn store_is_lost(&self) {
        self.worsen(State::StoreLost);
    }

    pub(crate) fn is_overtaken(&self) {
        self.worsen(State::Overtaken);
    }

    pub(crate) fn stops(&self) {
        self.worsen(State::Stopping);
    }

    /// Why the host cannot work, if it cannot.
    pub(crate) fn obstacle(&self) -> Option<&'static str> {
        let state = STATES.get(usize::from(self.0.load(Ordering::Acquire)));
        match state.copied().unwrap_or(State::Stopping) {
            State::Ready => None,
            State::StoreFailing => Some(
                "the host cannot write to its store and accepts no work until it can; \
                 its log says why",
            ),
            State::StoreLost => Some(
                "the files of the database were removed, replaced or taken over by another host \
                 while this host ran; it accepts no more work, and its log says what to do",
            ),
            State::Overtaken => Some(
                "the host has lost its lease on the store; another host works, or this one \
                 starts over when it can",
            ),
            State::Stopping => Some("the host is stopping"),
        }
    }

    fn worsen(&self, to: State) {
        self.0.fetch_max(to as u8, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::Readiness;

    #[test]
    fn what_is_graver_stands_and_only_what_passes_is_taken_back() {
        let host = Readiness::default();
        let says = |words: &str| host.obstacle().is_some_and(|said| said.contains(words));
        assert_eq!(host.obstacle(), None);
        host.store_fails();
        assert!(says("cannot write"));
        host.store_recovered();
        assert_eq!(host.obstacle(), None);
        host.store_is_lost();
        host.store_fails();
        host.store_recovered();
        assert!(says("removed"));
        host.stops();
        assert!(says("stopping"));
    }
}
