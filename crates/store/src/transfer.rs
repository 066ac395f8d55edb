//! Moving what a store holds into another one: from a data directory into
//! PostgreSQL, or back. Every row is copied in one transaction, and then read
//! from both sides and compared.
//!
//! *Invariant*: the target was empty before, and holds everything afterwards or
//! nothing; the source is not changed.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::types::{Value as SqliteValue, ValueRef};
use rusqlite::{Connection as Sqlite, params_from_iter};
use tokio_postgres::Row;

use crate::postgres::{Connection as Postgres, Said, Value, get};
use crate::{
    PostgresAddress, PostgresError, PostgresOptions, PostgresStore, SqliteStore, StoreError,
    StoreOptions,
};

/// How long the lease is while rows are copied.
const LEASE: Duration = Duration::from_secs(120);

/// How many rows are held in memory: few of those that may be large.
const ROWS: usize = 500;
const LARGE_ROWS: usize = 8;

/// Where a store is.
#[derive(Debug, Clone)]
pub enum StorePlace {
    Directory(PathBuf),
    Postgres(Box<PostgresAddress>),
}

#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(transparent)]
    Sqlite(#[from] StoreError),
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    #[error("both are the same kind of store; one is to be a directory, the other a database")]
    SameKind,
    #[error("there is something in the target already ({0}); choose an empty one")]
    NotEmpty(&'static str),
    #[error(
        "row {row} of the table {table} is not the same on both sides; nothing was changed in \
         the source, so go on with that and report this"
    )]
    Differs { table: &'static str, row: usize },
    #[error("a directory for the time being cannot be made: {0}")]
    Directory(std::io::Error),
}

impl From<rusqlite::Error> for TransferError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error.into())
    }
}

/// How many rows of each table were copied.
pub type Transferred = Vec<(&'static str, usize)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Bool,
    Text,
    Bytes,
    /// Bytes in PostgreSQL, whose texts cannot hold every character.
    AnyText,
    Real,
}

struct Table {
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
    order: &'static str,
    /// It has one row, in every store.
    is_single: bool,
    is_large: bool,
}

use Kind::{AnyText, Bool, Bytes, Int, Real, Text};

const TABLES: &[Table] = &[
    table(
        "session",
        &[
            ("uri", Text),
            ("provider", Text),
            ("title", Text),
            ("status", Int),
            ("created_at", Int),
            ("modified_at", Int),
            ("disposed_at", Int),
            ("disposed_day", Int),
            ("summary", Text),
            ("facts", Text),
        ],
        "uri",
    ),
    large(
        "session_state",
        &[("uri", Text), ("state", Text), ("notes", Text)],
        "uri",
    ),
    large(
        "chat",
        &[
            ("uri", Text),
            ("session", Text),
            ("is_default", Bool),
            ("title", Text),
            ("status", Int),
            ("modified_at", Int),
            ("active_turn", Text),
            ("seq", Int),
            ("head", Text),
            ("notes", Text),
        ],
        "id",
    ),
    large(
        "turn",
        &[("chat", Text), ("place", Int), ("id", Text), ("json", Text)],
        "chat, place",
    ),
    large(
        "content",
        &[
            ("uri", Text),
            ("session", Text),
            ("content_type", Text),
            ("data", Bytes),
            ("excerpt", AnyText),
        ],
        "uri",
    ),
    table(
        "content_share",
        &[("content", Text), ("session", Text)],
        "content, session",
    ),
    table(
        "log",
        &[
            ("last", Int),
            ("first", Int),
            ("channel", Text),
            ("action", Text),
            ("origin", Text),
            ("facts", Text),
            ("cuts", Text),
        ],
        "last",
    ),
    table(
        "client",
        &[("client_id", Text), ("version", Text), ("seen_at", Int)],
        "client_id",
    ),
    table("setting", &[("name", Text), ("value", Text)], "name"),
    table("epoch", &[("first", Int), ("last", Int)], "first"),
    table(
        "annotation",
        &[("session", Text), ("id", Text), ("json", Text)],
        "place",
    ),
    table(
        "automation",
        &[("uri", Text), ("json", Text), ("notes", Text)],
        "place",
    ),
    table(
        "automation_run",
        &[
            ("uri", Text),
            ("automation", Text),
            ("json", Text),
            ("notes", Text),
        ],
        "place",
    ),
    table(
        "usage",
        &[
            ("turn", Text),
            ("at", Int),
            ("session", Text),
            ("provider", Text),
            ("model", Text),
            ("input", Int),
            ("output", Int),
            ("cached", Int),
            ("cost", Real),
            ("currency", Text),
        ],
        "at, turn",
    ),
    single("host_days", &[("day", Int), ("since", Int)]),
    single(
        "sequence",
        &[
            ("reserved", Int),
            ("last", Int),
            ("life_first", Int),
            ("log_start", Int),
        ],
    ),
];

const fn table(
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
    order: &'static str,
) -> Table {
    Table {
        name,
        columns,
        order,
        is_single: false,
        is_large: false,
    }
}

const fn large(
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
    order: &'static str,
) -> Table {
    Table {
        is_large: true,
        ..table(name, columns, order)
    }
}

const fn single(name: &'static str, columns: &'static [(&'static str, Kind)]) -> Table {
    Table {
        is_single: true,
        ..table(name, columns, "1")
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Nothing,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// Copies everything from one store to another that is empty. No host may run
/// on either.
pub fn transfer(
    from: &StorePlace,
    to: &StorePlace,
    options: StoreOptions,
) -> Result<Transferred, TransferError> {
    let elsewhere = tempfile::tempdir().map_err(TransferError::Directory)?;
    let in_database = |store: StoreOptions| PostgresOptions {
        store,
        lease: LEASE,
        dir: elsewhere.path().to_owned(),
        advertise: String::new(),
    };
    match (from, to) {
        (StorePlace::Directory(dir), StorePlace::Postgres(address)) => {
            let source = SqliteStore::open(dir, options.clone())?;
            let mut target = PostgresStore::open(address, in_database(options))?;
            target.within(|postgres| {
                let sqlite = source.connection();
                into_postgres(&sqlite, postgres)?;
                compare(&sqlite, postgres)
            })
        }
        (StorePlace::Postgres(address), StorePlace::Directory(dir)) => {
            let mut source = PostgresStore::open(address, in_database(options.clone()))?;
            let target = SqliteStore::open(dir, options)?;
            source.within(|postgres| {
                let mut sqlite = target.connection();
                let tx = sqlite.transaction()?;
                into_sqlite(postgres, &tx)?;
                let moved = compare(&tx, postgres)?;
                tx.commit()?;
                Ok(moved)
            })
        }
        (StorePlace::Directory(_), StorePlace::Directory(_))
        | (StorePlace::Postgres(_), StorePlace::Postgres(_)) => Err(TransferError::SameKind),
    }
}

fn into_postgres(sqlite: &Sqlite, postgres: &mut Postgres) -> Result<(), TransferError> {
    for table in TABLES {
        if !table.is_single && !of_postgres(postgres, table, 0, 1)?.is_empty() {
            return Err(TransferError::NotEmpty(table.name));
        }
        let mut at = 0;
        loop {
            let rows = of_sqlite(sqlite, table, at, table.page())?;
            at += rows.len();
            let is_last = rows.len() < table.page();
            let said = rows.into_iter().map(|row| Said {
                sql: table.write_postgres(),
                values: row.into_iter().zip(table.columns).map(value).collect(),
            });
            postgres.query_all(said.collect())?;
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

fn into_sqlite(postgres: &mut Postgres, sqlite: &Sqlite) -> Result<(), TransferError> {
    for table in TABLES {
        if !table.is_single && !of_sqlite(sqlite, table, 0, 1)?.is_empty() {
            return Err(TransferError::NotEmpty(table.name));
        }
        let sql = table.write_sqlite();
        let mut statement = sqlite.prepare(&sql)?;
        let mut at = 0;
        loop {
            let rows = of_postgres(postgres, table, at, table.page())?;
            at += rows.len();
            let is_last = rows.len() < table.page();
            for row in rows {
                let cells = row.into_iter().zip(table.columns);
                statement.execute(params_from_iter(cells.map(sqlite_value)))?;
            }
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

/// Reads both sides again, row by row.
fn compare(sqlite: &Sqlite, postgres: &mut Postgres) -> Result<Transferred, TransferError> {
    let mut counted = Vec::new();
    for table in TABLES {
        let mut at = 0;
        loop {
            let here = of_sqlite(sqlite, table, at, table.page())?;
            let there = of_postgres(postgres, table, at, table.page())?;
            let different =
                (0..here.len().max(there.len())).find(|row| here.get(*row) != there.get(*row));
            if let Some(row) = different {
                return Err(TransferError::Differs {
                    table: table.name,
                    row: at + row,
                });
            }
            at += here.len();
            if here.len() < table.page() {
                break;
            }
        }
        counted.push((table.name, at));
    }
    Ok(counted)
}

impl Table {
    fn page(&self) -> usize {
        match self.is_large {
            true => LARGE_ROWS,
            false => ROWS,
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    fn write_sqlite(&self) -> String {
        let (name, columns) = (self.name, self.names());
        match self.is_single {
            true => {
                let set: Vec<String> = (1..)
                    .zip(self.columns)
                    .map(|(at, (column, _))| format!("{column} = ?{at}"))
                    .collect();
                format!("UPDATE {name} SET {}", set.join(", "))
            }
            false => {
                let places: Vec<String> = (1..=self.columns.len())
                    .map(|at| format!("?{at}"))
                    .collect();
                format!(
                    "INSERT INTO {name} ({columns}) VALUES ({})",
                    places.join(", ")
                )
            }
        }
    }

    /// The same for PostgreSQL, whose statements are kept by what they say.
    fn write_postgres(&self) -> &'static str {
        let sql = self.write_sqlite().replace('?', "$");
        kept(sql)
    }

    fn read(&self) -> String {
        let (name, columns, order) = (self.name, self.names(), self.order);
        format!("SELECT {columns} FROM {name} ORDER BY {order}")
    }
}

/// A statement for as long as the program runs: there are a few of them.
fn kept(sql: String) -> &'static str {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};
    static KEPT: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(&sql) {
        return known;
    }
    let leaked: &'static str = Box::leak(sql.clone().into_boxed_str());
    all.insert(sql, leaked);
    leaked
}

fn of_sqlite(
    sqlite: &Sqlite,
    table: &Table,
    from: usize,
    most: usize,
) -> Result<Vec<Vec<Cell>>, TransferError> {
    let sql = format!("{} LIMIT {most} OFFSET {from}", table.read());
    let mut statement = sqlite.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Vec::with_capacity(table.columns.len());
        for (at, (_, kind)) in table.columns.iter().enumerate() {
            cells.push(match (row.get_ref(at)?, kind) {
                (ValueRef::Null, _) => Cell::Nothing,
                (ValueRef::Integer(number), _) => Cell::Int(number),
                (ValueRef::Real(number), _) => Cell::Real(number),
                (ValueRef::Text(bytes) | ValueRef::Blob(bytes), Bytes | AnyText) => {
                    Cell::Bytes(bytes.to_vec())
                }
                (ValueRef::Text(bytes) | ValueRef::Blob(bytes), Int | Bool | Text | Real) => {
                    Cell::Text(shown(table, at, bytes))
                }
            });
        }
        found.push(cells);
    }
    Ok(found)
}

/// What is for people only loses a character that PostgreSQL does not have.
fn shown(table: &Table, column: usize, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    match table.columns.get(column) {
        Some(("provider" | "title" | "active_turn" | "model" | "currency", _)) => {
            text.replace('\0', "\u{fffd}")
        }
        _ => text,
    }
}

fn of_postgres(
    postgres: &mut Postgres,
    table: &Table,
    from: usize,
    most: usize,
) -> Result<Vec<Vec<Cell>>, TransferError> {
    let sql = kept(format!("{} LIMIT $1 OFFSET $2", table.read()));
    let number = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let rows = postgres.query(sql, vec![number(most), number(from)])?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut cells = Vec::with_capacity(table.columns.len());
        for (at, (_, kind)) in table.columns.iter().enumerate() {
            cells.push(cell(row, at, *kind)?);
        }
        found.push(cells);
    }
    Ok(found)
}

fn cell(row: &Row, at: usize, kind: Kind) -> Result<Cell, PostgresError> {
    let found = match kind {
        Int => get::<Option<i64>>(row, at)?.map(Cell::Int),
        Bool => get::<Option<bool>>(row, at)?.map(|truth| Cell::Int(i64::from(truth))),
        Text => get::<Option<String>>(row, at)?.map(Cell::Text),
        Real => get::<Option<f64>>(row, at)?.map(Cell::Real),
        Bytes | AnyText => get::<Option<Vec<u8>>>(row, at)?.map(Cell::Bytes),
    };
    Ok(found.unwrap_or(Cell::Nothing))
}

fn value((cell, (_, kind)): (Cell, &(&str, Kind))) -> Value {
    match (cell, kind) {
        (Cell::Int(number), Bool) => Value::Bool(number != 0),
        (Cell::Int(number), Int | Text | Bytes | AnyText | Real) => Value::Int(number),
        (Cell::Real(number), _) => Value::OptionalReal(Some(number)),
        (Cell::Text(text), _) => Value::Text(text),
        (Cell::Bytes(bytes), _) => Value::OptionalBytes(Some(bytes)),
        (Cell::Nothing, Int | Bool) => Value::OptionalInt(None),
        (Cell::Nothing, Text) => Value::OptionalText(None),
        (Cell::Nothing, Real) => Value::OptionalReal(None),
        (Cell::Nothing, Bytes | AnyText) => Value::OptionalBytes(None),
    }
}

fn sqlite_value((cell, (_, kind)): (Cell, &(&str, Kind))) -> SqliteValue {
    match (cell, kind) {
        (Cell::Nothing, _) => SqliteValue::Null,
        (Cell::Int(number), _) => SqliteValue::Integer(number),
        (Cell::Real(number), _) => SqliteValue::Real(number),
        (Cell::Text(text), _) => SqliteValue::Text(text),
        (Cell::Bytes(bytes), AnyText) => {
            SqliteValue::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
        (Cell::Bytes(bytes), Int | Bool | Text | Bytes | Real) => SqliteValue::Blob(bytes),
    }
}
