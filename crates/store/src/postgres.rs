//! The store in PostgreSQL: for hosts that are to outlive their machine.
//!
//! Several hosts may be started on one database; the one that holds the lease
//! writes, the others wait as [`Candidate`]s. Everything is in one schema, so
//! that a database can be home to many hosts.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use innkeeper_process::system::since_boot;
use innkeeper_protocol::record::store::{
    Archive, Journal, Notify, Store, StoreFault, Tended, Tenure,
};
use innkeeper_protocol::record::{Boot, StoreBatch};
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::lease::Watch;
use crate::sequence::Sequence;
use crate::sqlite::aside;
use crate::sqlite::bookmark::Bookmark;
use crate::sqlite::directory::{self, Claim};
use crate::{StoreError, StoreOptions, Writer};
use attempt::Attempts;
use boot::Life;
use connection::{Driver, Manners};
use lease::{FENCED, LOOK_AND_STAMP, LOOK_AND_WAIT, Seen, Terms};

mod address;
mod attempt;
mod boot;
mod connection;
mod error;
mod indexing;
mod lease;
mod plan;
mod reader;
mod schema;
mod search;
mod tls;
mod upkeep;

pub use address::{PostgresAddress, has_password, is_postgres, without_password};
pub use error::PostgresError;
pub use reader::PostgresReader;

pub(crate) use connection::{Connection, Said, Value};
pub(crate) use reader::get;

/// How long somebody who reads may wait for the database.
const READING: Duration = Duration::from_secs(30);

/// How long each statement may take of somebody who moves everything: there are
/// values of hundreds of megabytes.
const MOVING: Manners = Manners {
    call: Duration::from_secs(300),
    reads_only: false,
};

/// How a store in PostgreSQL is kept.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    pub store: StoreOptions,
    /// How long the lease lasts: when the host's machine is gone, another one
    /// takes over after this.
    pub lease: Duration,
    /// The host's own directory, for what cannot be stored.
    pub dir: PathBuf,
    /// Where clients reach this host, for the others to tell them.
    pub advertise: String,
}

/// Who has the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Where clients reach it; empty if it has not said.
    pub address: String,
    /// How long its lease lasts if it is not renewed.
    pub left: Duration,
}

impl From<Seen> for Holder {
    fn from(seen: Seen) -> Self {
        Self {
            address: seen.address,
            left: seen.left,
        }
    }
}

/// A host that would write if nobody else did.
#[derive(Debug)]
pub struct Candidate {
    driver: Arc<Driver>,
    address: PostgresAddress,
    options: PostgresOptions,
    connection: Option<Connection>,
    owner: String,
    terms: Option<(Terms, u64)>,
    watch: Watch,
    claim: Claim,
}

impl Candidate {
    /// Takes the host's own directory; the database is not asked yet.
    pub fn new(address: &PostgresAddress, options: PostgresOptions) -> Result<Self, PostgresError> {
        let claim = directory::claim(&options.dir)?;
        Ok(Self {
            driver: Driver::start()?,
            address: address.clone(),
            watch: Watch::new(options.lease),
            options,
            connection: None,
            owner: random_name()?,
            terms: None,
            claim,
        })
    }

    /// Where clients will reach this host.
    pub fn advertise(&mut self, address: String) {
        self.options.advertise = address;
    }

    /// Takes the lease, if nobody has it; else says who does. Once it was
    /// taken, [`store`](Self::store) is to be called soon.
    pub fn take(&mut self) -> Result<Option<Holder>, PostgresError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let manners = manners(self.options.lease);
                let connection = Connection::open(&self.driver, &self.address, manners)?;
                connection.is_a_session()?;
                schema::prepare(&connection, &self.address.schema)?;
                connection
            }
        };
        let (owner, length) = (&self.owner, self.options.lease);
        let address = &self.options.advertise;
        let mut holder = None;
        let take = Terms::take(owner, length, address);
        self.terms = taken(&mut connection, owner, length, take)?;
        if self.terms.is_none() {
            let rows = connection.query(LOOK_AND_STAMP, Vec::new())?;
            let Some(row) = rows.first() else {
                return Err(PostgresError::Lost("the lease was removed".to_owned()));
            };
            let (seen, stamp): (Seen, &str) = (Seen::of(row)?, get(row, 5)?);
            // Somebody has to take it who can use what is stored.
            if seen.left.is_zero() {
                schema::usable(&mut connection)?;
            }
            if self.watch.has_run_out(stamp, seen.left, since_boot()) {
                tracing::warn!(
                    "the lease on the database was not renewed for as long as it lasts, and the \
                     database says that it is valid; its clock was set back"
                );
                let take = Terms::take_unmoved(owner, length, address, stamp);
                self.terms = taken(&mut connection, owner, length, take)?;
            }
            if self.terms.is_none() {
                holder = Some(Holder::from(seen));
            }
        }
        self.connection = Some(connection);
        Ok(holder)
    }

    /// The store, of whoever has taken the lease.
    pub fn store(self) -> Result<PostgresStore, PostgresError> {
        let (Some((terms, commits)), Some(mut connection)) = (self.terms, self.connection) else {
            return Err(PostgresError::Lost("the lease was not taken".to_owned()));
        };
        schema::migrate(&mut connection, &terms)?;
        let reading = Manners {
            call: READING,
            reads_only: true,
        };
        Ok(PostgresStore {
            reader: PostgresReader::over(&self.driver, &self.address, reading),
            driver: self.driver,
            address: self.address,
            options: self.options,
            connection: Some(connection),
            terms: Arc::new(terms),
            attempts: Attempts::new(commits),
            sequence: Sequence::default(),
            disposed: BTreeSet::new(),
            loss: None,
            ran: Duration::ZERO,
            ran_today: Duration::ZERO,
            noted: None,
            has_begun: false,
            log_bytes: None,
            is_busy: false,
            may_be_behind: true,
            _claim: self.claim,
        })
    }
}

/// The open store: whoever has it held the lease a moment ago.
#[derive(Debug)]
pub struct PostgresStore {
    driver: Arc<Driver>,
    address: PostgresAddress,
    options: PostgresOptions,
    /// Nothing after it has failed in a way that may have broken it.
    connection: Option<Connection>,
    terms: Arc<Terms>,
    attempts: Attempts,
    sequence: Sequence,
    /// The sessions that are disposed.
    disposed: BTreeSet<ChannelUri>,
    /// Why it can no longer be used.
    loss: Option<String>,
    ran: Duration,
    /// How long of that on this day of the host.
    ran_today: Duration,
    /// What is noted outside of the database.
    noted: Option<Bookmark>,
    has_begun: bool,
    /// How many bytes the log has at most; nothing if nobody has looked.
    log_bytes: Option<u64>,
    /// Something was written since it was last tended.
    is_busy: bool,
    /// The index may be behind.
    may_be_behind: bool,
    reader: PostgresReader,
    _claim: Claim,
}

impl PostgresStore {
    /// Opens the store if nobody else has it open.
    pub fn open(
        address: &PostgresAddress,
        options: PostgresOptions,
    ) -> Result<Self, PostgresError> {
        let mut candidate = Candidate::new(address, options)?;
        match candidate.take()? {
            None => candidate.store(),
            Some(holder) => Err(PostgresError::Held(format!(
                "another host{} writes to the database {address}; stop it first, or wait {} \
                 seconds if it is gone",
                match holder.address.as_str() {
                    "" => String::new(),
                    at => format!(" at {at}"),
                },
                holder.left.as_secs() + 1,
            ))),
        }
    }

    fn begin_life(&mut self) -> Result<Boot, PostgresError> {
        let life = Life {
            now: self.options.store.now,
            keep_days: self.options.store.keep_disposed_days,
            life: self.terms.life,
            noted: Bookmark::read(&self.options.dir),
        };
        let (boot, sequence, disposed) = self.write(|db| boot::begin(db, life))?;
        self.sequence = sequence;
        self.disposed = disposed;
        self.has_begun = true;
        Ok(boot)
    }

    fn commit(&mut self, batches: &[StoreBatch]) -> Result<(), PostgresError> {
        self.still_ours()?;
        if batches.iter().all(|batch| batch.ops.is_empty()) {
            return Ok(());
        }
        self.settle()?;
        let done = self.attempts.done_of(batches);
        let rest = &batches[done..];
        if !rest.is_empty() {
            self.commit_now(rest)?;
        }
        self.attempts.passed(done);
        Ok(())
    }

    fn commit_now(&mut self, batches: &[StoreBatch]) -> Result<(), PostgresError> {
        let plan = plan::plan(batches, self.sequence, &self.disposed)?;
        let mut said = vec![self.terms.fence_commit(self.attempts.commits())];
        said.extend(plan.said);
        let mut connection = self.connected()?;
        let sent = since_boot();
        let done = connection.transaction("BEGIN", said);
        let outcome = attempt::Outcome {
            sequence: plan.sequence,
            log_bytes: plan.log_bytes,
            disposed: plan.disposed,
        };
        match done {
            Ok(_) => {
                self.connection = Some(connection);
                self.terms.renewed(sent);
                self.attempts.committed();
                self.know(outcome);
                Ok(())
            }
            Err(error) => {
                if attempt::may_have_happened(&error) {
                    self.attempts.may_have_committed(batches, outcome);
                }
                Err(self.failed(connection, error))
            }
        }
    }

    /// Finds out about a commit of which nobody heard.
    fn settle(&mut self) -> Result<(), PostgresError> {
        if !self.attempts.is_open() {
            return Ok(());
        }
        let mut connection = self.connected()?;
        let rows = connection.query(LOOK_AND_WAIT, Vec::new())?;
        self.connection = Some(connection);
        let seen = rows.first().map(Seen::of).transpose()?;
        match seen.filter(|seen| self.terms.is_ours(seen)) {
            Some(seen) => {
                if let Some(outcome) = self.attempts.settle(seen.commits) {
                    self.know(outcome);
                }
                Ok(())
            }
            None => Err(self.overtaken()),
        }
    }

    fn know(&mut self, outcome: attempt::Outcome) {
        self.sequence = outcome.sequence;
        self.log_bytes = self.log_bytes.map(|before| before + outcome.log_bytes);
        for (session, is_disposed) in outcome.disposed {
            match is_disposed {
                true => self.disposed.insert(session),
                false => self.disposed.remove(&session),
            };
        }
        self.is_busy = true;
        self.may_be_behind = true;
    }

    /// One transaction that reads as well as it writes, under the lease.
    fn write<T>(
        &mut self,
        change: impl FnOnce(&mut Connection) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        self.still_ours()?;
        let mut connection = self.connected()?;
        let fence = self.terms.fence();
        let sent = since_boot();
        let within = |db: &mut Connection| -> Result<T, PostgresError> {
            db.batch("BEGIN")?;
            db.query(fence.sql, fence.values)?;
            let done = change(db)?;
            db.batch("COMMIT")?;
            Ok(done)
        };
        match within(&mut connection) {
            Ok(done) => {
                self.connection = Some(connection);
                self.terms.renewed(sent);
                Ok(done)
            }
            // It is closed with what it had begun.
            Err(error) if error.code() == Some(FENCED) => Err(self.overtaken()),
            Err(error) => Err(error),
        }
    }

    /// One transaction of somebody who moves everything at once. It may take
    /// longer than the lease: whoever wants that waits for the row.
    pub(crate) fn within<T, E: From<PostgresError>>(
        &mut self,
        change: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = Connection::open(&self.driver, &self.address, MOVING)?;
        let fence = self.terms.fence();
        let within = |db: &mut Connection| -> Result<T, E> {
            db.batch("BEGIN ISOLATION LEVEL REPEATABLE READ")?;
            db.query(fence.sql, fence.values)?;
            let done = change(db)?;
            db.batch("COMMIT")?;
            Ok(done)
        };
        let done = within(&mut connection);
        if done.is_err() {
            connection.batch("ROLLBACK")?;
        }
        let release = self.terms.release();
        connection.query(release.sql, release.values)?;
        done
    }

    /// Renews the lease.
    fn renew(&mut self) -> Result<(), PostgresError> {
        self.still_ours()?;
        let mut connection = self.connected()?;
        let fence = self.terms.fence();
        let sent = since_boot();
        match connection.query(fence.sql, fence.values) {
            Ok(_) => {
                self.connection = Some(connection);
                self.terms.renewed(sent);
                Ok(())
            }
            Err(error) => Err(self.failed(connection, error)),
        }
    }

    /// What a failure says about the connection and about the lease.
    fn failed(&mut self, connection: Connection, error: PostgresError) -> PostgresError {
        match error.code() {
            Some(FENCED) => self.overtaken(),
            // It was refused, and all is well otherwise.
            Some(_) if !attempt::may_have_happened(&error) => {
                self.connection = Some(connection);
                error
            }
            _ => error,
        }
    }

    fn connected(&mut self) -> Result<Connection, PostgresError> {
        match self.connection.take() {
            Some(connection) if !connection.is_closed() => Ok(connection),
            _ => Connection::open(&self.driver, &self.address, manners(self.options.lease)),
        }
    }

    /// A lease that ran out without a word from the database may be another's
    /// at any moment: the host has stopped by now, and does not go on.
    fn still_ours(&mut self) -> Result<(), PostgresError> {
        if self.loss.is_none() && self.terms.left().is_zero() {
            self.note();
            self.loss = Some(format!(
                "the lease on the database {} ran out, as it could not be renewed for {} seconds",
                self.address,
                self.terms.since_renewal().as_secs(),
            ));
        }
        match &self.loss {
            Some(loss) => Err(PostgresError::Lost(loss.clone())),
            None => Ok(()),
        }
    }

    fn overtaken(&mut self) -> PostgresError {
        let loss = format!(
            "another host has taken over the database {}; this one stores nothing more",
            self.address
        );
        // It may be no other host but another database, which lacks something.
        self.note();
        self.terms.end();
        self.loss = Some(loss.clone());
        PostgresError::Lost(loss)
    }

    fn now(&self) -> Timestamp {
        self.options.store.now.after(self.ran)
    }
}

impl Store for PostgresStore {
    fn begin(&mut self) -> Result<Boot, StoreFault> {
        Ok(self.begin_life()?)
    }

    fn archive(&self) -> Result<Arc<dyn Archive>, StoreFault> {
        Ok(Arc::new(self.reader.clone()))
    }

    fn apply(&mut self, batches: &[StoreBatch]) -> Result<(), StoreFault> {
        Ok(self.commit(batches)?)
    }

    fn tend(&mut self, ran: Duration) -> Result<Tended, StoreFault> {
        self.ran += ran;
        self.ran_today += ran;
        Ok(self.keep()?)
    }

    fn set_aside(&mut self, batch: &StoreBatch, reason: &str) -> Result<String, StoreFault> {
        let dir = &self.options.dir;
        let written = aside::write(dir, batch, reason).map_err(|source| StoreError::Directory {
            dir: dir.join(aside::DIRECTORY),
            source,
        });
        Ok(written?.display().to_string())
    }

    fn restore(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        let restored = self.write(|db| boot::restore(db, session))?;
        self.may_be_behind = true;
        self.disposed.remove(session);
        Ok(restored)
    }

    fn delete(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        let deleted = self.write(|db| boot::delete(db, session))?;
        self.may_be_behind = true;
        self.disposed.remove(session);
        Ok(deleted)
    }

    fn tenure(&self) -> Option<Arc<dyn Tenure>> {
        Some(Arc::clone(&self.terms) as Arc<dyn Tenure>)
    }

    fn start(self: Box<Self>, notify: Notify) -> Result<Box<dyn Journal>, StoreFault> {
        let group_commit = self.options.store.group_commit;
        Ok(Box::new(Writer::spawn(self, group_commit, notify)?))
    }

    /// Whoever waits need not wait any longer.
    fn close(mut self: Box<Self>) -> Result<(), StoreFault> {
        self.still_ours()?;
        self.note();
        self.index_before_end();
        self.reader.close();
        let release = self.terms.release();
        let mut connection = self.connected()?;
        connection.query(release.sql, release.values)?;
        self.terms.end();
        Ok(())
    }
}

/// Looks into a database, whether or not a host runs on it.
pub fn open_postgres_read_only(address: &PostgresAddress) -> Result<PostgresReader, PostgresError> {
    let driver = Driver::start()?;
    let writing = Manners {
        call: READING,
        reads_only: false,
    };
    // Before anything is set that a pooler would leave to others.
    Connection::open(&driver, address, writing)?.is_a_session()?;
    let reading = Manners {
        reads_only: true,
        ..writing
    };
    let reader = PostgresReader::over(&driver, address, reading);
    reader.read(|db| schema::check(db, &address.schema))?;
    Ok(reader)
}

/// The terms of a lease, if a statement takes it, and how many commits there
/// have been.
fn taken(
    connection: &mut Connection,
    owner: &str,
    length: Duration,
    take: Said,
) -> Result<Option<(Terms, u64)>, PostgresError> {
    let sent = since_boot();
    let rows = connection.query(take.sql, take.values)?;
    let seen = rows.first().map(Seen::of).transpose()?;
    Ok(seen.map(|seen| (Terms::taken(&seen, owner, length, sent), seen.commits)))
}

/// A call that takes longer than this has failed: what is left of the lease
/// must do for another.
fn manners(lease: Duration) -> Manners {
    Manners {
        call: (lease * 2 / 5).max(Duration::from_secs(1)),
        reads_only: false,
    }
}

/// A name that no other tenure has.
fn random_name() -> Result<String, PostgresError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| PostgresError::NoThread(std::io::Error::other(error.to_string())))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
