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
