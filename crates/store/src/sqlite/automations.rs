//! Automations and their runs: a row for each.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::record::{AutomationRecord, AutomationRunRecord};
use rusqlite::Connection;

use super::json::{json, parsed};
use super::reader::text;
use crate::StoreError;

/// What they are called in errors.
const AUTOMATION: &str = "automation";
const RUN: &str = "automation run";

pub(crate) fn put(connection: &Connection, record: &AutomationRecord) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO automation (uri, json, notes) VALUES (?1, ?2, ?3)
             ON CONFLICT (uri) DO UPDATE SET json = excluded.json, notes = excluded.notes",
        )?
        .execute([
            &record.entry.resource,
            &json(AUTOMATION, &record.entry)?,
            &json(AUTOMATION, &record.notes)?,
        ])?;
    Ok(())
}

/// Its runs go with it.
pub(crate) fn remove(connection: &Connection, automation: &ChannelUri) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM automation_run WHERE automation = ?1",
        "DELETE FROM automation WHERE uri = ?1",
    ] {
        connection
            .prepare_cached(sql)?
            .execute([automation.as_str()])?;
    }
    Ok(())
}

pub(crate) fn put_run(
    connection: &Connection,
    record: &AutomationRunRecord,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO automation_run (uri, automation, json, notes) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (uri) DO UPDATE SET json = excluded.json, notes = excluded.notes",
        )?
        .execute([
            &record.state.resource,
            &record.state.automation,
            &json(RUN, &record.state)?,
            &json(RUN, &record.notes)?,
        ])?;
    Ok(())
}

pub(crate) fn remove_run(connection: &Connection, run: &ChannelUri) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM automation_run WHERE uri = ?1")?
        .execute([run.as_str()])?;
    Ok(())
}

pub(crate) fn all(connection: &Connection) -> Result<Vec<AutomationRecord>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT json, notes FROM automation ORDER BY place")?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(AutomationRecord {
            entry: parsed(AUTOMATION, text(row, 0)?)?,
            notes: parsed(AUTOMATION, text(row, 1)?)?,
        });
    }
    Ok(all)
}

pub(crate) fn all_runs(connection: &Connection) -> Result<Vec<AutomationRunRecord>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT json, notes FROM automation_run ORDER BY place")?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(AutomationRunRecord {
            state: parsed(RUN, text(row, 0)?)?,
            notes: parsed(RUN, text(row, 1)?)?,
        });
    }
    Ok(all)
}
