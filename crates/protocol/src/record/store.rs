//! The door to the store: what the host asks of whatever keeps its sessions.
//!
//! - A [`Store`] is open and not yet in use: the host asks it what there is,
//!   takes a handle for reading, and starts it.
//! - Its [`Journal`] takes batches from then on. Handing one over never waits;
//!   what became durable is reported by number.
//! - Its [`Archive`] reads what is committed, from any thread.
//!
//! Whoever implements these runs the suite in `innkeeper-store-conformance`
//! over it, which says in tests what the comments here say in words.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::record::search::{SearchPage, SearchQuery, UsagePage, UsageQuery};
use crate::record::{Boot, CatalogueRow, ContentRecord, LoadedSession, LogEntry, StoreBatch};
use crate::{ChannelUri, Seq, Timestamp};

/// The place of a batch in the order of submission, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CommitNo(pub u64);

/// What a journal reports, in the order in which it happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEvent {
    /// Every batch up to this one is durable, and readers see it.
    Committed(CommitNo),
    /// Nothing can be stored at present; what was submitted waits. Reported
    /// once, until `Recovered`.
    Failing { reason: String },
    /// Storing works again; `Committed` follows.
    Recovered,
    /// Nothing more will be stored in this life: what the store is kept in is
    /// gone, or belongs to another host by now. Reported again when there is
    /// more to say about it; nothing else follows.
    Lost { reason: String },
    /// The log should be trimmed; see [`Tended::trim_log_below`].
    LogTooLarge { below: Seq },
    /// A batch can never be stored, and was set aside. `Committed` goes on
    /// behind it.
    SetAside(SetAside),
}

/// A batch that the store will never take: it is too large, say. Nothing of it
/// is stored but its promises about numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    pub number: CommitNo,
    /// The sessions that it is about. What follows about them builds on it, and
    /// is set aside as well, up to a batch that rereads them
    /// ([`StoreOp::Reread`](crate::record::StoreOp::Reread)).
    pub sessions: Vec<ChannelUri>,
    pub reason: String,
}

/// Whom a journal reports to. It is called from the journal's own thread and
/// must not block.
pub type Notify = Box<dyn Fn(JournalEvent) + Send>;

/// Why a store could not do something, in a sentence that says what to do.
pub struct StoreFault {
    error: Box<dyn Error + Send + Sync>,
    reach: Reach,
}

/// What a fault stands in the way of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Of this attempt only.
    Now,
    /// Of the same thing, whenever it is tried.
    TheSame,
    /// Of everything, until the store is opened again.
    Everything,
}

impl StoreFault {
    /// Why it could not be done now. It may be possible later.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            error: error.into(),
            reach: Reach::Now,
        }
    }

    /// Why it can never be done, however often it is tried.
    pub fn lasting(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            reach: Reach::TheSame,
            ..Self::new(error)
        }
    }

    /// Why this store can do nothing more until somebody opens it again.
    pub fn lost(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            reach: Reach::Everything,
            ..Self::new(error)
        }
    }

    pub fn is_lasting(&self) -> bool {
        self.reach == Reach::TheSame
    }

    pub fn is_lost(&self) -> bool {
        self.reach == Reach::Everything
    }
}

impl fmt::Debug for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for StoreFault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// What a store asks for when it has looked after what it keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tended {
    /// The log takes more room than it may, unless everything below this number
    /// goes. Only a [`StoreOp::TrimLog`](crate::record::StoreOp::TrimLog)
    /// removes it: whoever gives clients the log must know where it begins.
    pub trim_log_below: Option<Seq>,
    /// There is more to look after, which needs not wait for a second: some of
    /// what is stored cannot be searched yet.
    pub is_behind: bool,
    /// Why nothing could be stored now, if anybody tried.
    pub failing: Option<String>,
}

/// For how long what a store keeps is this host's alone, where another host may
/// take it over.
pub trait Tenure: Send + Sync {
    /// How long the host may still go on. When nothing is left it must tell
    /// nobody anything, and end what it runs: soon another one begins.
    fn left(&self) -> Duration;

    /// Where clients reach this host, for other hosts to tell them.
    fn announce(&self, address: &str);
}

/// A store that was opened: whoever has it is the only one that writes.
///
/// *Invariants*: a batch is stored wholly or not at all, over any crash; what
/// is stored at any time is a beginning of what was submitted; a number of the
/// sequence that was ever reserved or stored is never the next of a later life.
pub trait Store: Send + 'static {
    /// Begins a new life of the host: ends the one before, removes what was
    /// disposed too long ago, and says what there is.
    fn begin(&mut self) -> Result<Boot, StoreFault>;

    /// A handle for reading. It works as long as the store is open.
    fn archive(&self) -> Result<Arc<dyn Archive>, StoreFault>;

    /// Stores all batches, or none of them, before it returns. After an error
    /// nothing has changed, and the same batches may be tried again; if the
    /// fault is lasting, only without the batch that is at fault.
    ///
    /// A new session under the URI of a disposed one replaces it together with
    /// its chats, so its `PutSession` goes before its `PutChat`s. An operation
    /// that makes no sense (a turn of a chat that is gone, say) changes nothing
    /// and is not an error, as an error would hold up all that waits behind it.
    fn apply(&mut self, batches: &[StoreBatch]) -> Result<(), StoreFault>;

    /// Looks after what is kept: once the host has run for another day, what
    /// was disposed too long ago goes. A journal calls this about once a second,
    /// busy or not; `ran` is the time since the call before, or since the start.
    ///
    /// A store that finds out here that it is lost says so, and from then on
    /// does nothing more. What else goes wrong is tried again the next time.
    fn tend(&mut self, ran: Duration) -> Result<Tended, StoreFault>;

    /// Puts a batch that can never be stored where people find it, and says
    /// where that is. What is kept so is bounded: old ones make room.
    fn set_aside(&mut self, batch: &StoreBatch, reason: &str) -> Result<String, StoreFault>;

    /// Brings a disposed session back; `false` if there is none of that name.
    fn restore(&mut self, session: &ChannelUri) -> Result<bool, StoreFault>;

    /// Deletes a session for good, disposed or not; `false` if there is none.
    fn delete(&mut self, session: &ChannelUri) -> Result<bool, StoreFault>;

    /// How long the store is this host's; nothing if no other can take it.
    fn tenure(&self) -> Option<Arc<dyn Tenure>> {
        None
    }

    /// Whether storing a few batches takes no longer than to wake a thread.
    fn is_quick(&self) -> bool {
        false
    }

    /// Takes batches from other threads from now on.
    fn start(self: Box<Self>, notify: Notify) -> Result<Box<dyn Journal>, StoreFault>;

    /// Ends it tidily. A store that is dropped instead has lost nothing.
    fn close(self: Box<Self>) -> Result<(), StoreFault>;
}

/// Where batches become durable, in the order of submission. None is ever
/// dropped: while the store fails, all of them wait and are tried again. One
/// that can never be stored is set aside, so that the others are not held up.
///
/// Dropping a journal lets it finish on its own.
pub trait Journal: Send + Sync + 'static {
    /// Queues a batch. Anything urgent is committed now, with all before it,
    /// rather than with the next group: where that is quick, perhaps before this
    /// returns, and whoever is notified is then notified on this thread.
    fn submit(&self, batch: StoreBatch, urgent: bool) -> CommitNo;

    /// Gives the journal a moment on this thread, to commit a few batches that
    /// have waited for company: that can take less than to wake another thread.
    /// Returns how long what still waits may wait, if anything does.
    ///
    /// From the first call on, the journal relies on it: whoever submits calls
    /// this behind what it has submitted. When the time that it was told is over,
    /// it submits something urgent, be it an empty batch.
    fn attend(&self) -> Option<Duration> {
        None
    }

    /// Commits what is queued, and closes the store. Reading ends with it. If
    /// the store keeps failing this gives up after a while and says why: what
    /// is queued is lost then.
    fn close(self: Box<Self>) -> Result<(), StoreFault>;
}

/// What is committed, for reading. What one call returns is the state between
/// two commits. Calls may block, and do not wait for each other.
pub trait Archive: Send + Sync {
    /// A session with its chats in the order of their creation, or `None` if
    /// there is none or it is disposed.
    fn load_session(&self, session: &ChannelUri) -> Result<Option<LoadedSession>, StoreFault>;

    /// The entries that reach beyond `after` and begin no later than `up_to`,
    /// whole, ordered by their last number.
    fn log_between(&self, after: Seq, up_to: Seq) -> Result<Vec<LogEntry>, StoreFault>;

    /// Large content; `None` if it is unknown or all that have it are disposed.
    fn content(&self, uri: &str) -> Result<Option<ContentRecord>, StoreFault>;

    /// The sessions that are not disposed, the newest change first.
    fn catalogue(&self) -> Result<Vec<CatalogueRow>, StoreFault>;

    /// The sessions that can be brought back, the latest disposed first.
    fn disposed(&self) -> Result<Vec<DisposedRow>, StoreFault>;

    /// Looks for words in the sessions that are not disposed. What was stored
    /// is found when the store was tended often enough after it
    /// ([`Tended::is_behind`]); what is gone is not found from the commit on.
    fn search(&self, query: &SearchQuery) -> Result<SearchPage, StoreFault>;

    /// What turns have cost. It counts a turn once, however often it was
    /// copied, and also when it was cut off or its session is gone.
    fn usage(&self, query: &UsageQuery) -> Result<UsagePage, StoreFault>;
}

/// A session that was disposed and can still be brought back.
#[derive(Debug, Clone)]
pub struct DisposedRow {
    pub row: CatalogueRow,
    pub disposed_at: Timestamp,
    /// In how many days since then a host ran.
    pub host_days: u64,
}

impl DisposedRow {
    /// Whether its time is over, if sessions are kept for so many days. The day
    /// on which it was disposed does not count; none at all is a special case,
    /// which keeps it until somebody looks.
    pub fn is_over(&self, keep_days: u64) -> bool {
        keep_days == 0 || self.host_days > keep_days
    }
}
