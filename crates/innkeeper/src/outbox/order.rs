//! Steps in order, each not before what it waits for is durable.

use std::collections::VecDeque;
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
    carrying: bool,
}

impl<T> Order<T> {
    pub(super) fn new() -> Self {
        let state = State {
            steps: VecDeque::new(),
            committed: CommitNo::default(),
            carrying: false,
        };
        Self {
            state: Mutex::new(state),
            rest: Condvar::new(),
        }
    }

    /// Adds a step that may go when the store has come as far as `after`.
    pub(super) fn submit(&self, after: CommitNo, step: T, carry_out: impl Fn(T)) {
        let mut state = self.lock();
        while state.carrying && state.steps.len() >= MOST_LEFT {
            let woken = self.rest.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.steps.push_back((after, step));
        self.pump(state, carry_out);
    }

    /// The store has come this far.
    pub(super) fn committed(&self, number: CommitNo, carry_out: impl Fn(T)) {
        let mut state = self.lock();
        state.committed = state.committed.max(number);
        self.pump(state, carry_out);
    }

    pub(super) fn committed_so_far(&self) -> CommitNo {
        self.lock().committed
    }

    fn pump<'a>(&'a self, mut state: MutexGuard<'a, State<T>>, carry_out: impl Fn(T)) {
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
        state.carrying = false;
        drop(state);
        self.rest.notify_one();
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
            self.0.lock().carrying = false;
            self.0.rest.notify_one();
        }
    }
}

impl<T> State<T> {
    fn next(&mut self) -> Option<T> {
        let (after, _) = self.steps.front()?;
        if *after > self.committed {
            return None;
        }
        self.steps.pop_front().map(|(_, step)| step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_waits_for_its_commit_and_for_those_before_it() {
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let carry_out = |step: u64| done.lock().unwrap().push(step);
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

    /// What a step leads to may be told to the store, which may come back here.
    #[test]
    fn carrying_out_a_step_may_come_back() {
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let note = |step: u64| done.lock().unwrap().push(step);
        order.submit(CommitNo(1), 2, note);
        order.submit(CommitNo(0), 3, note);
        order.committed(CommitNo(1), |step| {
            note(step);
            order.committed(CommitNo(2), note);
        });
        assert_eq!(*done.lock().unwrap(), [2, 3]);
    }

    #[test]
    fn a_step_that_panics_does_not_hold_up_the_others() {
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let (order, done) = (&order, &done);
        let panicked = std::thread::scope(|threads| {
            let panics = || order.submit(CommitNo(0), 1, |_: u64| panic!("meant to"));
            threads.spawn(panics).join()
        });
        assert!(panicked.is_err());
        order.submit(CommitNo(0), 2, |step| done.lock().unwrap().push(step));
        assert_eq!(*done.lock().unwrap(), [2]);
    }

    #[test]
    fn two_threads_keep_one_order_and_nothing_is_left_behind() {
        const STEPS: u64 = 20_000;
        let (order, done) = (Order::new(), Mutex::new(Vec::new()));
        let carry_out = |step: u64| {
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
