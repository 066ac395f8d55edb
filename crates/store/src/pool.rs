//! Connections that only look, so that one that reads much holds up nobody.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many read at the same time; who comes then waits for one of them.
pub(crate) const MOST: usize = 4;

#[derive(Debug)]
pub(crate) struct Pool<C> {
    state: Mutex<State<C>>,
    returned: Condvar,
}

#[derive(Debug)]
struct State<C> {
    idle: Vec<C>,
    lent: usize,
    closed: bool,
}

impl<C> Default for Pool<C> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                idle: Vec::new(),
                lent: 0,
                closed: false,
            }),
            returned: Condvar::new(),
        }
    }
}

impl<C> Pool<C> {
    /// A connection that is free, or room for a new one; nothing once the pool
    /// is closed.
    pub(crate) fn lend(&self) -> Option<Loan<'_, C>> {
        let mut state = self.lock();
        while state.lent == MOST && !state.closed {
            let woken = self.returned.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return None;
        }
        state.lent += 1;
        Some(Loan {
            pool: self,
            connection: state.idle.pop(),
        })
    }

    /// Waits for those who read, and lets nobody read any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.idle.clear();
        self.returned.notify_all();
        while state.lent > 0 {
            let woken = self.returned.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on loan: what is in it goes back however the reading ends.
pub(crate) struct Loan<'a, C> {
    pool: &'a Pool<C>,
    pub(crate) connection: Option<C>,
}

impl<C> Drop for Loan<'_, C> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.lent -= 1;
        if !state.closed {
            state.idle.extend(self.connection.take());
        }
        // Closed while the lock is held: whoever closes the pool waits for the
        // connection to be gone.
        self.connection = None;
        drop(state);
        self.pool.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread::{self, Scope};

    use super::*;

    /// Somebody who reads until what is returned is dropped.
    fn reads<'s>(scope: &'s Scope<'s, '_>, pool: &'s Pool<u8>) -> mpsc::Sender<()> {
        let (begun, begins) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        scope.spawn(move || {
            let mut loan = pool.lend().unwrap();
            loan.connection.get_or_insert(0);
            begun.send(()).unwrap();
            let _ = ended.recv();
        });
        begins.recv().unwrap();
        ends
    }

    #[test]
    fn one_that_reads_long_holds_up_nobody() {
        let pool = Pool::default();
        thread::scope(|scope| {
            let _long = [reads(scope, &pool), reads(scope, &pool)];
            assert!(pool.lend().is_some());
        });
    }

    #[test]
    fn when_all_connections_are_in_use_one_waits_for_another() {
        let pool = Pool::default();
        thread::scope(|scope| {
            let mut long: Vec<_> = (0..MOST).map(|_| reads(scope, &pool)).collect();
            let next = scope.spawn(|| pool.lend().unwrap().connection.take());
            long.pop();
            assert_eq!(next.join().unwrap(), Some(0), "it is used again");
        });
        assert!(pool.lock().idle.len() < MOST);
    }

    #[test]
    fn closing_waits_for_those_who_read_and_lets_nobody_in() {
        let pool = Pool::default();
        thread::scope(|scope| {
            let long = reads(scope, &pool);
            let closed = scope.spawn(|| pool.close());
            while !pool.lock().closed {
                thread::yield_now();
            }
            assert!(pool.lend().is_none());
            assert!(!closed.is_finished());
            drop(long);
            closed.join().unwrap();
        });
        assert!(pool.lock().idle.is_empty());
    }
}
