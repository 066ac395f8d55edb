//! The store of a world: it commits when it likes, or fails for a while.

use innkeeper_engine::{Input, Ticket};
use innkeeper_protocol::newest::commands::ContentEncoding;
use innkeeper_protocol::outgoing::Finished;
use innkeeper_protocol::record::store::Store;
use innkeeper_protocol::record::{StoreBatch, StoreOp};
use innkeeper_protocol::workspace::resource::{ResourceDone, TakenContent, WriteData};
use innkeeper_protocol::{ChannelUri, Seq};
use innkeeper_store::{MemoryStore, SqliteStore, StoreOptions};
use tempfile::TempDir;

use super::World;
use crate::ledger::Ledger;

/// A question to the store that is still to be answered.
pub(super) enum Read {
    Session(ChannelUri),
    Log {
        ticket: Ticket,
        after: Seq,
        up_to: Seq,
    },
    Content {
        ticket: Ticket,
        uri: String,
    },
    ContentForClient {
        ticket: Ticket,
        uri: String,
        encoding: Option<ContentEncoding>,
    },
    ContentToTake {
        ticket: Ticket,
        uri: String,
        data: WriteData,
        most_bytes: usize,
    },
}

/// Most worlds have their store in memory, which is faster; some have the one
/// that the product has.
pub(super) fn open_store(seed: u64) -> (Box<dyn Store>, Option<TempDir>) {
    if !seed.is_multiple_of(16) {
        return (Box::new(MemoryStore::default()), None);
    }
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path(), StoreOptions::default()).unwrap();
    (Box::new(store), Some(directory))
}

impl World {
    /// Commits some of what waits, as one transaction.
    pub(crate) fn commit(&mut self, most: usize) -> bool {
        let count = self.unapplied.len().min(most);
        if count == 0 || self.failing {
            return false;
        }
        let batches: Vec<StoreBatch> = self.unapplied.drain(..count).collect();
        self.say(|| format!("  commit {count}"));
        for batch in &batches {
            self.committed += 1;
            if self.is_refused(batch) {
                continue;
            }
            self.store.apply(std::slice::from_ref(batch)).unwrap();
            for kind in moves_in(batch, &self.ledger) {
                self.note(kind);
            }
            self.ledger.commit(batch);
            if batch
                .ops
                .iter()
                .any(|op| matches!(op, StoreOp::TrimLog { .. }))
            {
                self.note("log trimmed");
            }
        }
        self.pump();
        self.tell_of_refusals();
        true
    }

    /// Reads one thing that was asked for. The answer is still on its way.
    pub(crate) fn read_one(&mut self) -> bool {
        if self.reads.is_empty() {
            return false;
        }
        let at = self.rng.below(self.reads.len());
        let answer = match self.reads.swap_remove(at) {
            Read::Session(session) => {
                let loaded = self.archive.load_session(&session).unwrap().map(Box::new);
                Input::SessionLoaded {
                    session,
                    loaded: Ok(loaded),
                }
            }
            Read::Log {
                ticket,
                after,
                up_to,
            } => Input::LogLoaded {
                ticket,
                entries: Ok(self.archive.log_between(after, up_to).unwrap()),
            },
            Read::Content { ticket, uri } => Input::ContentLoaded {
                ticket,
                content: Ok(self.archive.content(&uri).unwrap()),
            },
            Read::ContentForClient {
                ticket,
                uri,
                encoding,
            } => {
                let kept = ResourceDone::kept(&uri, self.archive.content(&uri).unwrap());
                let outcome = kept.map(|it| Finished::new(it.into_json(encoding).unwrap(), ()));
                Input::ResourceDone { ticket, outcome }
            }
            Read::ContentToTake {
                ticket,
                uri,
                data,
                most_bytes,
            } => {
                let known = self.archive.content(&uri).unwrap();
                let outcome = TakenContent::new(&uri, known.as_ref(), data, most_bytes, ());
                Input::ContentTaken { ticket, outcome }
            }
        };
        self.answers.push(answer);
        true
    }

    pub(crate) fn answer_one(&mut self) -> bool {
        if self.answers.is_empty() {
            return false;
        }
        let at = self.rng.below(self.answers.len());
        let answer = self.answers.swap_remove(at);
        self.note(match answer {
            Input::SessionLoaded { .. } => "session loaded",
            Input::LogLoaded { .. } => "log loaded",
            _ => "content loaded",
        });
        self.feed(answer);
        true
    }

    pub(crate) fn fail(&mut self) {
        self.failing = true;
        let reason = "the disk is full".to_owned();
        self.feed(Input::StoreFailing { reason });
    }

    pub(crate) fn recover(&mut self) {
        if std::mem::take(&mut self.failing) {
            self.commit(usize::MAX);
            self.feed(Input::StoreRecovered);
        }
    }
}

/// The chats that go over to another session with a batch.
fn moves_in(batch: &StoreBatch, before: &Ledger) -> Vec<&'static str> {
    let moves = batch.ops.iter().filter_map(|op| {
        let StoreOp::PutChat(record) = op else {
            return None;
        };
        let known = before.chats.get(record.uri.as_str())?;
        let to = record.session.as_str();
        (known.session != to).then(|| match before.sessions.contains_key(to) {
            true => "moved to another session",
            false => "moved to a session of its own",
        })
    });
    moves.collect()
}
