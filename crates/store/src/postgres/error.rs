//! What can go wrong with a database elsewhere, in sentences that say what to
//! do. *Invariant*: none of them holds a password.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use innkeeper_protocol::record::store::StoreFault;
use tokio_postgres::error::SqlState;

use super::tls;
use crate::StoreError;

/// The code of [`SqlState::DISK_FULL`].
const DISK_FULL: &str = "53100";

#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    #[error(transparent)]
    Store(#[from] StoreError),

    #[error(
        "the address of the store is wrong: {0}; it has the form postgres://user@host/database"
    )]
    Address(String),

    #[error(
        "the database {place} cannot be reached: {reason}; check its address, and whether it runs"
    )]
    Away { place: String, reason: String },

    #[error(
        "the database {place} did not answer for {after:?}; check the network, and whether the \
         database is overloaded"
    )]
    Silent { place: String, after: Duration },

    #[error(
        "the certificate of the database {place} was refused ({reason}); check its name, or give \
         a file with the authority to trust as sslrootcert"
    )]
    Untrusted { place: String, reason: String },

    #[error(
        "the database {place} is behind a pooler that gives each transaction another session, and \
         the host needs one of its own; set the pooler to session pooling, or go around it"
    )]
    Pooled { place: String },

    #[error(
        "the database {place} wants a password, and there is none for it; put one into PGPASSWORD, \
         or a line host:port:database:user:password into ~/.pgpass, which only you may be able to \
         read (chmod 600)"
    )]
    NoPassword { place: String },

    #[error(
        "the user of the database lacks a right ({0}); make that user the owner of the database, or \
         of the schema that the address names"
    )]
    Denied(String),

    #[error("the disk of the database is full ({0}); free some space there")]
    Full(String),

    #[error("the database reported: {message} (code {code})")]
    Reported { code: String, message: String },

    #[error(
        "the database was written by a newer release (its version is {found}, this release knows \
         {known}); use that release"
    )]
    Newer { found: i64, known: i64 },

    #[error(
        "nothing of this program is in the schema {schema} of the database; start a host on it once"
    )]
    Missing { schema: String },

    #[error("{0}")]
    Lost(String),

    #[error("a value has {bytes} bytes, and the database takes at most {most}")]
    TooLarge { bytes: usize, most: usize },

    #[error("the thread that talks to the database cannot be started: {0}")]
    NoThread(io::Error),

    #[error("the store is closed; nothing can be read from it any more")]
    Closed,

    #[error("{0}")]
    Held(String),
}

impl PostgresError {
    /// What the driver says, without what it was asked.
    pub(super) fn of(place: &str, error: &tokio_postgres::Error) -> Self {
        if let Some(reported) = error.as_db_error() {
            let (code, message) = (reported.code().code().to_owned(), reported.message());
            return match *reported.code() {
                SqlState::DISK_FULL => Self::Full(message.to_owned()),
                SqlState::INSUFFICIENT_PRIVILEGE => Self::Denied(message.to_owned()),
                // It starts, or ends.
                SqlState::CANNOT_CONNECT_NOW => Self::Away {
                    place: place.to_owned(),
                    reason: message.to_owned(),
                },
                // What this session has prepared is not there, or something is
                // that it has not.
                SqlState::INVALID_SQL_STATEMENT_NAME | SqlState::DUPLICATE_PSTATEMENT => {
                    Self::Pooled {
                        place: place.to_owned(),
                    }
                }
                _ => Self::Reported {
                    code,
                    message: message.to_owned(),
                },
            };
        }
        let mut reason = error.to_string();
        if reason.starts_with("error serializing parameter") {
            // It is what is to be stored that cannot be said.
            let code = SqlState::DATA_EXCEPTION.code().to_owned();
            let message = reason;
            return Self::Reported { code, message };
        }
        let mut source = error.source();
        while let Some(cause) = source {
            if let Some(refused) = tls::refusal(cause) {
                return Self::Untrusted {
                    place: place.to_owned(),
                    reason: tls::explained(refused),
                };
            }
            reason = format!("{reason}: {cause}");
            source = cause.source();
        }
        let place = place.to_owned();
        match reason.ends_with("password missing") {
            true => Self::NoPassword { place },
            false => Self::Away { place, reason },
        }
    }

    /// One server failed like this, and then the next one otherwise: what can
    /// be mended is said rather than that one cannot be reached.
    pub(super) fn and_then(self, next: Self) -> Self {
        match (self, next) {
            (
                Self::Away { place, reason },
                Self::Away {
                    reason: another, ..
                },
            ) if reason != another => Self::Away {
                place,
                reason: format!("{reason}; {another}"),
            },
            (Self::Away { .. } | Self::Silent { .. }, next) => next,
            (first, _) => first,
        }
    }

    /// The five characters by which PostgreSQL names an error.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Reported { code, .. } => Some(code),
            Self::Full(_) => Some(DISK_FULL),
            Self::Store(_)
            | Self::Address(_)
            | Self::Away { .. }
            | Self::Silent { .. }
            | Self::Untrusted { .. }
            | Self::Pooled { .. }
            | Self::NoPassword { .. }
            | Self::Denied(_)
            | Self::Newer { .. }
            | Self::Missing { .. }
            | Self::Lost(_)
            | Self::TooLarge { .. }
            | Self::NoThread(_)
            | Self::Closed
            | Self::Held(_) => None,
        }
    }

    /// Whether the same batches would fail again, however often they are tried:
    /// data that it does not take, a number that is taken, what is too large.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Reported { code, .. } => ["22", "23", "54"]
                .iter()
                .any(|class| code.starts_with(class)),
            Self::TooLarge { .. } => true,
            Self::Store(StoreError::Unwritable { .. } | StoreError::NumberTaken(_)) => true,
            Self::Store(_)
            | Self::Address(_)
            | Self::Away { .. }
            | Self::Silent { .. }
            | Self::Untrusted { .. }
            | Self::Pooled { .. }
            | Self::NoPassword { .. }
            | Self::Denied(_)
            | Self::Full(_)
            | Self::Newer { .. }
            | Self::Missing { .. }
            | Self::Lost(_)
            | Self::NoThread(_)
            | Self::Closed
            | Self::Held(_) => false,
        }
    }
}

impl From<PostgresError> for StoreFault {
    fn from(error: PostgresError) -> Self {
        match error {
            PostgresError::Lost(_) => Self::lost(error),
            error if error.is_lasting() => Self::lasting(error),
            error => Self::new(error),
        }
    }
}
