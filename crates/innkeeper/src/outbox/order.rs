//! Steps in order, each not before what it waits for is durable.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::record::store::CommitNo;

/// How many steps may be left to another thread. Then whoever submits waits for
/// it, as meanwhile it does nothing of its own.
const MOST_LEFT: usize = 64;

/// A queue that two threads work off: whichever finds steps that may go carries
/// them out, with no lock held, and takes what the other adds meanwhile.
#[derive(Debug)]
pub(super) struct Order<T> {
    state: Mutex<State<T>>,
    /// Nobody carries out steps any more.
    rest: Condvar,
}

#[derive(Debug)]
struct State<T> {
    steps: VecDeque<(CommitNo, T)>,
    committed: CommitNo,
    /// What will never be durable, and why.
    refused: BTreeMap<CommitNo, String>,
    carrying: bool,
    /// Somebody waits for `rest`. To tell nobody would cost a call of the system
    /// for each step.
    is_awaited: bool,
}

/// A step whose time has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due<T> {
    Step(T),
    /// What it waited for will never be durable.
    Refused(T, String),
}

impl<T> Order<T> {
    pub(super) fn new() -> Self {
        let state = State {
            steps: VecDeque::new(),
            committed: CommitNo::default(),
            refused: BTreeMap::new(),
            carrying: false,
            is_awaited: false,
        };
        Self {
            state: Mutex::new(state),
            rest: Condvar::new(),
        }
    }

    /// Adds a step that may go when the store has come as far as `after`.
    pub(super) fn submit(&self, after: CommitNo, step: T, carry_out: impl Fn(Due<T>)) {
        let mut state = self.lock();
        while state.carrying && state.steps.len() >= MOST_LEFT {
            state.is_awaited = true;
            let woken = self.rest.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.steps.push_back((after, step));
        self.pump(state, carry_out);
    }

    /// The store has come this far.
    pub(super) fn committed(&self, number: CommitNo, carry_out: impl Fn(Due<T>)) {
        let mut state = self.lock();
        state.committed = state.committed.max(number);
        self.pump(state, carry_out);
    }

    /// This will never be durable. It is said before the store has come so far.
    pub(super) fn refused(&self, number: CommitNo, reason: String) {
        self.lock().refused.insert(number, reason);
    }

    pub(super) fn committed_so_far(&self) -> CommitNo {
        self.lock().committed
    }

    fn pump<'a>(&'a self, mut state: MutexGuard<'a, State<T>>, carry_out: impl Fn(Due<T>)) {
        if state.carrying {
            return;
        }
        state.carrying = true;
        let _carrier = Carrier(self);
        while let Some(step) = state.next() {
            drop(state);
            carry_out(step);
            state = self.lock();
        }
        state.come_to_rest(&self.rest);
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever carries out steps. Should one of them panic, those behind it do not
/// wait for somebody who is gone.
struct Carrier<'a, T>(&'a Order<T>);

impl<T> Drop for Carrier<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().come_to_rest(&self.0.rest);
        }
    }
}

impl<T> State<T> {
    /// Nobody carries out steps from here on.
    fn come_to_rest(&mut self, told: &Condvar) {
        self.carrying = false;
        if std::mem::take(&mut self.is_awaited) {
            told.notify_all();
        }
    }

    fn next(&mut self) -> Option<Due<T>> {
        let (after, _) = self.steps.front()?;
        if *after > self.committed {
            return None;
        }
        let (after, step) = self.steps.pop_front()?;
        // Steps wait in order, so nobody waits for an earlier one any more.
        let mut up_to = self.refused.split_off(&after);
        std::mem::swap(&mut self.refused, &mut up_to);
        Some(match self.refused.remove(&after) {
            Some(reason) => Due::Refused(step, reason),
            None => Due::Step(step),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(due: Due<u64>) -> u64 {
        match due {
            Due::Step(step) => step,
            Due::Refused(step, reason) => panic!("{step} was refused: {reason}"),
        }
    }

    #[test]
    fn a_step_waits_for_its_commit_and_for_those_before_it() {
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let carry_out = |due: Due<u64>| done.lock().unwrap().push(step(due));
        order.submit(CommitNo(0), 1, carry_out);
        order.submit(CommitNo(2), 2, carry_out);
        order.submit(CommitNo(0), 3, carry_out);
        assert_eq!(*done.lock().unwrap(), [1]);
        order.committed(CommitNo(1), carry_out);
        assert_eq!(*done.lock().unwrap(), [1]);
        order.committed(CommitNo(2), carry_out);
        assert_eq!(*done.lock().unwrap(), [1, 2, 3]);
        assert_eq!(order.committed_so_far(), CommitNo(2));
    }

    #[test]
    fn a_step_is_refused_if_what_it_waits_for_will_never_be_durable() {
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let carry_out = |due: Due<u64>| done.lock().unwrap().push(due);
        // Before it was even submitted, and for one that nobody waits for.
        order.refused(CommitNo(1), "too large".to_owned());
        order.refused(CommitNo(2), "too odd".to_owned());
        order.submit(CommitNo(1), 1, carry_out);
        order.submit(CommitNo(0), 2, carry_out);
        order.submit(CommitNo(3), 3, carry_out);
        order.committed(CommitNo(3), carry_out);
        let refused = Due::Refused(1, "too large".to_owned());
        assert_eq!(*done.lock().unwrap(), [refused, Due::Step(2), Due::Step(3)]);
        assert!(order.lock().refused.is_empty());
    }

    /// What a step leads to may be told to the store, which may come back here.
    #[test]
    fn carrying_out_a_step_may_come_back() {
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let note = |due: Due<u64>| done.lock().unwrap().push(step(due));
        order.submit(CommitNo(1), 2, note);
        order.submit(CommitNo(0), 3, note);
        order.committed(CommitNo(1), |due| {
            note(due);
            order.committed(CommitNo(2), note);
        });
        assert_eq!(*done.lock().unwrap(), [2, 3]);
    }

    #[test]
    fn a_step_that_panics_does_not_hold_up_the_others() {
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let (order, done) = (&order, &done);
        let panicked = std::thread::scope(|threads| {
            let panics = || order.submit(CommitNo(0), 1, |_: Due<u64>| panic!("meant to"));
            threads.spawn(panics).join()
        });
        assert!(panicked.is_err());
        order.submit(CommitNo(0), 2, |due| done.lock().unwrap().push(step(due)));
        assert_eq!(*done.lock().unwrap(), [2]);
    }

    #[test]
    fn two_threads_keep_one_order_and_nothing_is_left_behind() {
        const STEPS: u64 = 20_000;
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let carry_out = |due: Due<u64>| {
            let step = step(due);
            let waits_for = CommitNo(if step.is_multiple_of(3) { step } else { 0 });
            assert!(order.committed_so_far() >= waits_for, "step {step}");
            done.lock().unwrap().push(step);
        };
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for step in 1..=STEPS {
                    let after = CommitNo(if step.is_multiple_of(3) { step } else { 0 });
                    order.submit(after, step, carry_out);
                }
            });
            threads.spawn(|| {
                for number in 1..=STEPS {
                    order.committed(CommitNo(number), carry_out);
                }
            });
        });
        assert_eq!(*done.lock().unwrap(), (1..=STEPS).collect::<Vec<_>>());
    }
}
