//! The numbered steps that lead from any released database to this one, and
//! the table that is older than all of them: the lease.
//!
//! *Invariant*: a step that was released is never edited. Only whoever holds
//! the lease takes steps, so a host of a newer release that stands by changes
//! nothing under one that runs.

use super::connection::{Connection, Said, Value};
use super::error::PostgresError;
use super::lease;
use super::reader::get;

const STEPS: &[&str] = &[
    include_str!("../../migrations/postgres/001.sql"),
    include_str!("../../migrations/postgres/002.sql"),
];

/// The version of a database that this release writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// Makes the schema with the lease in it, if there is none. Whoever may not
/// make schemas can have it made by somebody else.
pub(super) fn prepare(connection: &Connection, schema: &str) -> Result<(), PostgresError> {
    connection.batch(&format!(
        "BEGIN;
         SELECT pg_advisory_xact_lock(hashtext('innkeeper.{schema}'));
         DO $$ BEGIN
             IF NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '{schema}') THEN
                 CREATE SCHEMA {schema};
             END IF;
         END $$;
         CREATE TABLE IF NOT EXISTS {schema}.lease (
             only_row smallint PRIMARY KEY CHECK (only_row = 1),
             version  bigint NOT NULL,
             life     bigint NOT NULL,
             commits  bigint NOT NULL,
             owner    text,
             address  text NOT NULL,
             until    timestamptz NOT NULL
         );
         INSERT INTO {schema}.lease VALUES (1, 0, 0, 0, NULL, '', '-infinity')
             ON CONFLICT DO NOTHING;
         COMMIT"
    ))
}

/// Brings the database up to [`VERSION`], under the lease.
pub(super) fn migrate(
    connection: &mut Connection,
    terms: &lease::Terms,
) -> Result<(), PostgresError> {
    let found = usable(connection)?;
    for (number, step) in (1..).zip(STEPS) {
        if number <= found {
            continue;
        }
        if found > 0 {
            tracing::info!(version = number, "upgrading the database");
        }
        connection.batch("BEGIN")?;
        let fence = terms.fence();
        connection.query(fence.sql, fence.values)?;
        connection.batch(step)?;
        connection.query_all(vec![Said {
            sql: "UPDATE lease SET version = $1",
            values: vec![Value::Int(number)],
        }])?;
        connection.batch("COMMIT")?;
    }
    Ok(())
}

/// The version of a database that this release can use.
pub(super) fn usable(connection: &mut Connection) -> Result<i64, PostgresError> {
    let found = version(connection)?;
    match found > VERSION {
        true => Err(PostgresError::Newer {
            found,
            known: VERSION,
        }),
        false => Ok(found),
    }
}

/// Makes sure that the database can be read as it is.
pub(super) fn check(connection: &mut Connection, schema: &str) -> Result<(), PostgresError> {
    let found = match version(connection) {
        // Neither the schema nor the table is there.
        Err(error) if matches!(error.code(), Some("42P01" | "3F000")) => 0,
        found => found?,
    };
    match found.cmp(&VERSION) {
        std::cmp::Ordering::Less if found == 0 => Err(PostgresError::Missing {
            schema: schema.to_owned(),
        }),
        std::cmp::Ordering::Less => Err(PostgresError::Store(crate::StoreError::Older {
            found,
            known: VERSION,
        })),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(PostgresError::Newer {
            found,
            known: VERSION,
        }),
    }
}

fn version(connection: &mut Connection) -> Result<i64, PostgresError> {
    let rows = connection.query("SELECT version FROM lease", Vec::new())?;
    rows.first().map_or(Ok(0), |row| get(row, 0))
}
