//! Moving the write-ahead log into the database, next to the writer: that waits
//! for the disk, and whoever waits for a commit would wait with it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;

use super::directory;
use crate::{StoreError, SyncMode};

/// From so many pages on, the log is moved: as many as SQLite takes by itself.
const PAGES: i32 = 1_000;

/// From so many on, the writer moves it with each commit. Only somebody who
/// reads for long, or a disk that is slower than the writer, lets it come to
/// that.
const MOST_PAGES: i32 = 16_000;

/// A thread with a connection of its own, as long as this lives. It is to end
/// before the writer's connection: what the last one leaves behind is tidied up,
/// and only the writer does that.
#[derive(Debug)]
pub(super) struct Checkpoints {
    thread: Option<JoinHandle<()>>,
    asks: Asks,
}

/// Nothing once it ends.
type Asks = Arc<Mutex<Option<SyncSender<()>>>>;

impl Checkpoints {
    /// Moves the log of this connection's database from now on.
    pub(super) fn of(
        writer: &mut Connection,
        dir: &Path,
        sync: SyncMode,
    ) -> Result<Self, StoreError> {
        let (connection, _) = directory::connect(dir, sync)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // One that waits is enough.
        let (asks, asked) = sync_channel(1);
        let asks = Asks::new(Mutex::new(Some(asks)));
        let of_hook = Arc::clone(&asks);
        writer.wal_hook(Some(move |log: &mut Wal, pages| {
            commit_ended(log, pages, &of_hook);
            Ok(())
        }))?;
        let thread = thread::Builder::new()
            .name("store-checkpoints".into())
            .spawn(move || run(&connection, &asked))
            .map_err(StoreError::NoThread)?;
        let thread = Some(thread);
        Ok(Self { thread, asks })
    }
}

/// Waits for the thread: it does what it was asked for, and no more.
impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(lock(&self.asks).take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the thread that moves the write-ahead log has panicked");
        }
    }
}

fn lock(asks: &Asks) -> std::sync::MutexGuard<'_, Option<SyncSender<()>>> {
    asks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What happens here must not fail: the commit has happened.
fn commit_ended(log: &mut Wal, pages: i32, asks: &Asks) {
    if pages >= PAGES
        && let Some(asks) = &*lock(asks)
    {
        // If one waits already, that will do.
        let _ = asks.try_send(());
    }
    if pages >= MOST_PAGES
        && let Err(error) = log.checkpoint()
    {
        tracing::debug!(%error, pages, "the write-ahead log cannot be moved at present");
    }
}

fn run(connection: &Connection, asked: &Receiver<()>) {
    while asked.recv().is_ok() {
        let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = moved {
            tracing::debug!(%error, "the write-ahead log cannot be moved at present");
        }
    }
}
