//! Connections that only look, so that one that reads much holds up nobody.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::{directory, schema};
use crate::StoreError;

/// How many read at the same time; who comes then waits for one of them.
const MOST: usize = 4;

#[derive(Debug)]
pub(super) struct Pool {
    dir: PathBuf,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    lent: usize,
    closed: bool,
}

impl Pool {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            state: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// Reads with a connection that is free, or a new one.
    pub(super) fn read<T>(
        &self,
        ask: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut loan = self.lend()?;
        let answer = match &mut loan.connection {
            Some(connection) => ask(connection),
            None => ask(loan.connection.insert(self.connect()?)),
        };
        // What failed may have a broken connection as its cause.
        if answer.is_err() {
            loan.connection = None;
        }
        answer
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let connection = directory::connect_read_only(&self.dir)?;
        schema::check(&connection)?;
        Ok(connection)
    }

    fn lend(&self) -> Result<Loan<'_>, StoreError> {
        let mut state = self.lock();
        while state.lent == MOST && !state.closed {
            let woken = self.returned.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return Err(StoreError::Closed);
        }
        state.lent += 1;
        Ok(Loan {
            pool: self,
            connection: state.idle.pop(),
        })
    }

    /// Waits for those who read, and lets nobody read any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.idle.clear();
        self.returned.notify_all();
        while state.lent > 0 {
            let woken = self.returned.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on loan: it goes back however the reading ends.
struct Loan<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Drop for Loan<'_> {
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
    use crate::{SqliteStore, StoreOptions};

    fn pool() -> (Pool, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        drop(SqliteStore::open(dir.path(), StoreOptions::default()).unwrap());
        (Pool::new(dir.path()), dir)
    }

    /// Somebody who reads until what is returned is dropped.
    fn reads<'s>(scope: &'s Scope<'s, '_>, pool: &'s Pool) -> mpsc::Sender<()> {
        let (begun, begins) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        scope.spawn(move || {
            let read = pool.read(|_| {
                begun.send(()).unwrap();
                let _ = ended.recv();
                Ok(())
            });
            read.unwrap();
        });
        begins.recv().unwrap();
        ends
    }

    #[test]
    fn one_that_reads_long_holds_up_nobody() {
        let (pool, _dir) = pool();
        thread::scope(|scope| {
            let _long = [reads(scope, &pool), reads(scope, &pool)];
            pool.read(|_| Ok(())).unwrap();
        });
    }

    #[test]
    fn when_all_connections_are_in_use_one_waits_for_another() {
        let (pool, _dir) = pool();
        thread::scope(|scope| {
            let mut long: Vec<_> = (0..MOST).map(|_| reads(scope, &pool)).collect();
            let next = scope.spawn(|| pool.read(|_| Ok(())));
            long.pop();
            next.join().unwrap().unwrap();
        });
        assert!(pool.lock().idle.len() <= MOST);
    }

    #[test]
    fn closing_waits_for_those_who_read_and_lets_nobody_in() {
        let (pool, _dir) = pool();
        thread::scope(|scope| {
            let long = reads(scope, &pool);
            let closed = scope.spawn(|| pool.close());
            while !pool.lock().closed {
                thread::yield_now();
            }
            let refused = pool.read(|_| Ok(())).unwrap_err();
            assert!(matches!(refused, StoreError::Closed), "{refused}");
            assert!(!closed.is_finished());
            drop(long);
            closed.join().unwrap();
        });
        assert!(pool.lock().idle.is_empty());
    }

    #[test]
    fn a_connection_that_failed_is_not_used_again() {
        let (pool, _dir) = pool();
        let failed = pool.read(|db| Ok(db.execute_batch("SELECT * FROM nothing")?));
        assert!(matches!(failed, Err(StoreError::Database(_))));
        assert!(pool.lock().idle.is_empty());
        pool.read(|_| Ok(())).unwrap();
        assert_eq!(pool.lock().idle.len(), 1);
    }
}
