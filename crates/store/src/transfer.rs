//! Moving what a store holds into another one: from a data directory into
//! PostgreSQL, or back. Every row is copied in one transaction, and then read
//! from both sides and compared.
//!
//! *Invariant*: the target was empty before, and holds everything afterwards or
//! nothing; the source is not changed.

use std::path::PathBuf;
use std::time::Duration;

use innkeeper_protocol::record::pressed::Stored;
use rusqlite::types::{Value as SqliteValue, ValueRef};
use rusqlite::{Connection as Sqlite, Rows, params_from_iter};
use tokio_postgres::Row;

use crate::postgres::{Connection as Postgres, Said, Value, get};
use crate::sqlite::json::unpressed;
use crate::{
    PostgresAddress, PostgresError, PostgresOptions, PostgresStore, SqliteStore, StoreError,
    StoreOptions,
};

/// How long the lease is by which no host works meanwhile. The transaction holds
/// it for as long as it takes; when this program is killed, one does not have to
/// wait long before it can be tried again.
const LEASE: Duration = Duration::from_secs(15);

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
        "row {row} of the table {table} cannot be moved: its {column} is not valid UTF-8, or has \
         the character U+0000 in it, which PostgreSQL does not store; nothing was moved"
    )]
    Unreadable {
        table: &'static str,
        row: usize,
        column: &'static str,
    },
    #[error(
        "one of the rows {first} to {last} of the table {table} cannot be moved: {reason}; nothing \
         was moved"
    )]
    Refused {
        table: &'static str,
        first: usize,
        last: usize,
        reason: PostgresError,
    },
    #[error(
        "row {row} of the table {table} is not the same on both sides; nothing was changed in \
         the source, so go on with that and report this"
    )]
    Differs { table: &'static str, row: usize },
    #[error("no temporary directory can be made: {0}")]
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
    /// JSON that SQLite may have pressed.
    Json,
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

use Kind::{AnyText, Bool, Bytes, Int, Json, Real, Text};

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
            ("summary", Json),
            ("facts", Json),
        ],
        "uri",
    ),
    large(
        "session_state",
        &[("uri", Text), ("state", Json), ("notes", Text)],
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
            ("head", Json),
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
            ("action", Json),
            ("origin", Text),
            ("facts", Json),
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
        if !table.is_single && !postgres.query(kept(table.any()), Vec::new())?.is_empty() {
            return Err(TransferError::NotEmpty(table.name));
        }
        let mut statement = sqlite.prepare(&table.read())?;
        let mut source = SqlitePages::of(table, statement.query([])?);
        loop {
            let first = source.passed + 1;
            let rows = source.next()?;
            if rows.is_empty() {
                break;
            }
            let said = rows.into_iter().map(|row| Said {
                sql: table.write_postgres(),
                values: row.into_iter().zip(table.columns).map(value).collect(),
            });
            let written = postgres.query_all(said.collect());
            written.map_err(|reason| match reason.is_lasting() {
                true => TransferError::Refused {
                    table: table.name,
                    first,
                    last: source.passed,
                    reason,
                },
                false => reason.into(),
            })?;
        }
    }
    Ok(())
}

fn into_sqlite(postgres: &mut Postgres, sqlite: &Sqlite) -> Result<(), TransferError> {
    for table in TABLES {
        if !table.is_single && sqlite.prepare(&table.any())?.exists([])? {
            return Err(TransferError::NotEmpty(table.name));
        }
        let sql = table.write_sqlite();
        let mut statement = sqlite.prepare(&sql)?;
        let source = PostgresPages::of(table, postgres)?;
        loop {
            let rows = source.next(postgres)?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                let cells = row.into_iter().zip(table.columns);
                statement.execute(params_from_iter(cells.map(sqlite_value)))?;
            }
        }
        source.close(postgres)?;
    }
    Ok(())
}

/// Reads both sides again, row by row.
fn compare(sqlite: &Sqlite, postgres: &mut Postgres) -> Result<Transferred, TransferError> {
    let mut counted = Vec::new();
    for table in TABLES {
        let mut statement = sqlite.prepare(&table.read())?;
        let mut here = SqlitePages::of(table, statement.query([])?);
        let there = PostgresPages::of(table, postgres)?;
        loop {
            let before = here.passed;
            let (here, there) = (here.next()?, there.next(postgres)?);
            let different =
                (0..here.len().max(there.len())).find(|row| here.get(*row) != there.get(*row));
            if let Some(row) = different {
                return Err(TransferError::Differs {
                    table: table.name,
                    row: before + row + 1,
                });
            }
            if here.is_empty() {
                break;
            }
        }
        there.close(postgres)?;
        counted.push((table.name, here.passed));
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

    /// Finds a row, if there is one.
    fn any(&self) -> String {
        format!("SELECT 1 FROM {} LIMIT 1", self.name)
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

/// The rows of a table in a data directory, some at a time.
struct SqlitePages<'a> {
    table: &'static Table,
    rows: Rows<'a>,
    /// How many have been read.
    passed: usize,
}

impl<'a> SqlitePages<'a> {
    fn of(table: &'static Table, rows: Rows<'a>) -> Self {
        let passed = 0;
        Self {
            table,
            rows,
            passed,
        }
    }

    /// Nothing when there are no more.
    fn next(&mut self) -> Result<Vec<Vec<Cell>>, TransferError> {
        let mut found = Vec::new();
        while found.len() < self.table.page() {
            let Some(row) = self.rows.next()? else {
                break;
            };
            self.passed += 1;
            let mut cells = Vec::with_capacity(self.table.columns.len());
            for (at, (column, kind)) in self.table.columns.iter().enumerate() {
                let unreadable = || TransferError::Unreadable {
                    table: self.table.name,
                    row: self.passed,
                    column,
                };
                let text = |bytes| std::str::from_utf8(bytes).map_err(|_| unreadable());
                cells.push(match (row.get_ref(at)?, kind) {
                    (ValueRef::Null, _) => Cell::Nothing,
                    (ValueRef::Integer(number), _) => Cell::Int(number),
                    (ValueRef::Real(number), _) => Cell::Real(number),
                    (ValueRef::Blob(bytes), Json) => {
                        Cell::Text(unpressed(self.table.name, Stored::Bytes(bytes))?)
                    }
                    (ValueRef::Text(bytes) | ValueRef::Blob(bytes), Bytes) => {
                        Cell::Bytes(bytes.to_vec())
                    }
                    (ValueRef::Text(bytes) | ValueRef::Blob(bytes), AnyText) => {
                        Cell::Bytes(text(bytes)?.as_bytes().to_vec())
                    }
                    (
                        ValueRef::Text(bytes) | ValueRef::Blob(bytes),
                        Int | Bool | Text | Json | Real,
                    ) => match shown(column, text(bytes)?) {
                        text if text.contains('\0') => return Err(unreadable()),
                        text => Cell::Text(text),
                    },
                });
            }
            found.push(cells);
        }
        Ok(found)
    }
}

/// What is for people only loses a character that PostgreSQL does not have.
fn shown(column: &str, text: &str) -> String {
    match column {
        "provider" | "title" | "active_turn" | "model" | "currency" | "content_type" => {
            text.replace('\0', "\u{fffd}")
        }
        _ => text.to_owned(),
    }
}

/// The rows of a table in PostgreSQL, some at a time, within a transaction.
struct PostgresPages(&'static Table);

impl PostgresPages {
    fn of(table: &'static Table, postgres: &mut Postgres) -> Result<Self, TransferError> {
        let (name, read) = (table.name, table.read());
        let declare = format!("DECLARE page_of_{name} NO SCROLL CURSOR FOR {read}");
        postgres.query(kept(declare), Vec::new())?;
        Ok(Self(table))
    }

    /// Nothing when there are no more.
    fn next(&self, postgres: &mut Postgres) -> Result<Vec<Vec<Cell>>, TransferError> {
        let (name, page) = (self.0.name, self.0.page());
        let fetch = kept(format!("FETCH {page} FROM page_of_{name}"));
        let rows = postgres.query(fetch, Vec::new())?;
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut cells = Vec::with_capacity(self.0.columns.len());
            for (at, (_, kind)) in self.0.columns.iter().enumerate() {
                cells.push(cell(row, at, *kind)?);
            }
            found.push(cells);
        }
        Ok(found)
    }

    fn close(self, postgres: &mut Postgres) -> Result<(), TransferError> {
        let close = kept(format!("CLOSE page_of_{}", self.0.name));
        postgres.query(close, Vec::new())?;
        Ok(())
    }
}

fn cell(row: &Row, at: usize, kind: Kind) -> Result<Cell, PostgresError> {
    let found = match kind {
        Int => get::<Option<i64>>(row, at)?.map(Cell::Int),
        Bool => get::<Option<bool>>(row, at)?.map(|truth| Cell::Int(i64::from(truth))),
        Text | Json => get::<Option<String>>(row, at)?.map(Cell::Text),
        Real => get::<Option<f64>>(row, at)?.map(Cell::Real),
        Bytes | AnyText => get::<Option<Vec<u8>>>(row, at)?.map(Cell::Bytes),
    };
    Ok(found.unwrap_or(Cell::Nothing))
}

fn value((cell, (_, kind)): (Cell, &(&str, Kind))) -> Value {
    match (cell, kind) {
        (Cell::Int(number), Bool) => Value::Bool(number != 0),
        (Cell::Int(number), Int | Text | Json | Bytes | AnyText | Real) => Value::Int(number),
        (Cell::Real(number), _) => Value::OptionalReal(Some(number)),
        (Cell::Text(text), _) => Value::Text(text),
        (Cell::Bytes(bytes), _) => Value::OptionalBytes(Some(bytes)),
        (Cell::Nothing, Int | Bool) => Value::OptionalInt(None),
        (Cell::Nothing, Text | Json) => Value::OptionalText(None),
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
        (Cell::Bytes(bytes), Int | Bool | Text | Json | Bytes | Real) => SqliteValue::Blob(bytes),
    }
}
