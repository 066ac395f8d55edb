//! Connections to the database, and the thread that drives them. Calls block
//! whoever makes them, for a bounded time.

use std::cell::Cell;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::future::{poll_fn, ready};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement};

use super::address::PostgresAddress;
use super::error::PostgresError;

/// A value of more bytes than this is not even tried: the database takes less
/// than a gigabyte in one message.
pub(super) const MOST_BYTES: usize = 900 * 1024 * 1024;

/// How long one of several servers has at least to let somebody in.
const SHORTEST_TRY: Duration = Duration::from_secs(1);

/// The thread on which all connections of a store run.
#[derive(Debug)]
pub(super) struct Driver {
    handle: Handle,
    _stop: oneshot::Sender<()>,
    _thread: JoinHandle<()>,
}

impl Driver {
    pub(super) fn start() -> Result<Arc<Self>, PostgresError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(PostgresError::NoThread)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new()
            .name("postgres".to_owned())
            .spawn(move || {
                // Until whoever started it is gone.
                let _ = runtime.block_on(stopped);
            })
            .map_err(PostgresError::NoThread)?;
        Ok(Arc::new(Self {
            handle,
            _stop: stop,
            _thread: thread,
        }))
    }

    /// Waits for something, for as long as that may take.
    fn wait<T>(
        &self,
        address: &PostgresAddress,
        most: Duration,
        what: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PostgresError> {
        // A command may come here on a thread of its own runtime.
        let answered = tokio::task::block_in_place(|| {
            self.handle
                .block_on(async { tokio::time::timeout(most, what).await })
        });
        match answered {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(PostgresError::of(&address.place, &error)),
            Err(_) => Err(PostgresError::Silent {
                place: address.place.clone(),
                after: most,
            }),
        }
    }
}

/// How a connection is set up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manners {
    /// How long a call may take.
    pub(super) call: Duration,
    pub(super) reads_only: bool,
}

/// One value of a statement.
#[derive(Debug)]
pub(crate) enum Value {
    Text(String),
    OptionalText(Option<String>),
    Json(Arc<serde_json::value::RawValue>),
    Int(i64),
    OptionalInt(Option<i64>),
    OptionalReal(Option<f64>),
    Bool(bool),
    Bytes(bytes::Bytes),
    OptionalBytes(Option<Vec<u8>>),
}

impl Value {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::OptionalText(text) => text.as_ref().map_or(0, String::len),
            Self::Json(json) => json.get().len(),
            Self::Int(_) | Self::OptionalInt(_) | Self::OptionalReal(_) => 8,
            Self::Bool(_) => 1,
            Self::Bytes(bytes) => bytes.len(),
            Self::OptionalBytes(bytes) => bytes.as_ref().map_or(0, Vec::len),
        }
    }

    fn with<T>(&self, take: impl FnOnce(&(dyn ToSql + Sync)) -> T) -> T {
        match self {
            Self::Text(text) => take(text),
            Self::OptionalText(text) => take(text),
            Self::Json(json) => take(&json.get()),
            Self::Int(number) => take(number),
            Self::OptionalInt(number) => take(number),
            Self::OptionalReal(number) => take(number),
            Self::Bool(truth) => take(truth),
            Self::Bytes(bytes) => take(&&**bytes),
            Self::OptionalBytes(bytes) => take(bytes),
        }
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &tokio_postgres::types::Type,
        out: &mut bytes::BytesMut,
    ) -> Result<tokio_postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.with(|value| value.to_sql_checked(kind, out))
    }

    fn accepts(_: &tokio_postgres::types::Type) -> bool {
        // Each of them is asked when it is written.
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

/// A statement with its values.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Value>,
}

/// What answers a statement that was said among others.
type Answer<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 'a>>;

/// An open connection.
pub(crate) struct Connection {
    driver: Arc<Driver>,
    address: PostgresAddress,
    client: Client,
    prepared: HashMap<&'static str, Statement>,
    manners: Manners,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) fn open(
        driver: &Arc<Driver>,
        address: &PostgresAddress,
        manners: Manners,
    ) -> Result<Self, PostgresError> {
        let millis = manners.call.as_millis();
        // A connection that stops amid a transaction must not keep its locks:
        // whoever takes over waits for them.
        let mut set_up = format!(
            "SET search_path TO {}; SET statement_timeout TO {millis}; \
             SET lock_timeout TO {millis}; \
             SET idle_in_transaction_session_timeout TO {millis}; \
             SET idle_session_timeout TO 0; \
             SELECT set_config(name, '0', false) FROM pg_settings \
                 WHERE name = 'transaction_timeout'; \
             SET client_min_messages TO error; SET bytea_output TO hex;",
            address.schema
        );
        if manners.reads_only {
            set_up.push_str("SET default_transaction_read_only TO on;");
        }
        let servers = address.servers();
        // One that does not answer must leave time for the others.
        let most = manners.call / u32::try_from(servers.len()).unwrap_or(u32::MAX).max(1);
        let most = most.max(SHORTEST_TRY);
        let mut failed: Option<PostgresError> = None;
        for server in servers {
            let connected = async {
                let (client, connection) = server.connect(address.tls.clone()).await?;
                driver.handle.spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection to the database ended");
                    }
                });
                client.batch_execute(&set_up).await?;
                Ok(client)
            };
            match driver.wait(address, most, connected) {
                Ok(client) => {
                    return Ok(Self {
                        driver: Arc::clone(driver),
                        address: address.clone(),
                        client,
                        prepared: HashMap::new(),
                        manners,
                    });
                }
                Err(error) => {
                    failed = Some(match failed {
                        Some(before) => before.and_then(error),
                        None => error,
                    });
                }
            }
        }
        Err(failed.unwrap_or_else(|| PostgresError::Address("it names no host".to_owned())))
    }

    /// Fails if a pooler gives each transaction another session, or several
    /// connections the same: what is set for a session, and prepared in it,
    /// would be gone or another's.
    pub(super) fn is_a_session(&self) -> Result<(), PostgresError> {
        let other = Self::open(&self.driver, &self.address, self.manners)?;
        let mine = self.process()?;
        other.batch("BEGIN")?;
        let is_shared = other.process()? == mine || self.process()? != mine;
        // Whatever comes of it: it is closed now.
        let _ = other.batch("ROLLBACK");
        match is_shared {
            true => Err(PostgresError::Pooled {
                place: self.address.place.clone(),
            }),
            false => Ok(()),
        }
    }

    /// Who answers: the server, and its process for this session.
    fn process(&self) -> Result<Option<[String; 2]>, PostgresError> {
        let asked = self
            .client
            .simple_query("SELECT pg_postmaster_start_time(), pg_backend_pid()");
        let answer = self.driver.wait(&self.address, self.manners.call, asked)?;
        Ok(answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some([row.get(0)?.to_owned(), row.get(1)?.to_owned()]),
            _ => None,
        }))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Statements that take no values, one after the other.
    pub(super) fn batch(&self, sql: &str) -> Result<(), PostgresError> {
        let done = self.client.batch_execute(sql);
        self.driver.wait(&self.address, self.manners.call, done)
    }

    pub(crate) fn query(
        &mut self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, PostgresError> {
        let mut answers = self.query_all(vec![Said { sql, values }])?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Statements that are sent together and answered in order: they cost one
    /// round trip. The first error ends it.
    pub(crate) fn query_all(&mut self, said: Vec<Said>) -> Result<Vec<Vec<Row>>, PostgresError> {
        self.pipeline(None, said, None)
    }

    /// The same within `BEGIN` and `COMMIT`, which go along. If a statement
    /// fails, the `COMMIT` behind it takes everything back.
    pub(super) fn transaction(
        &mut self,
        begin: &'static str,
        said: Vec<Said>,
    ) -> Result<Vec<Vec<Row>>, PostgresError> {
        self.pipeline(Some(begin), said, Some("COMMIT"))
    }

    fn pipeline(
        &mut self,
        before: Option<&'static str>,
        said: Vec<Said>,
        after: Option<&'static str>,
    ) -> Result<Vec<Vec<Row>>, PostgresError> {
        for one in &said {
            if let Some(bytes) = one
                .values
                .iter()
                .map(Value::bytes)
                .find(|it| *it > MOST_BYTES)
            {
                let most = MOST_BYTES;
                return Err(PostgresError::TooLarge { bytes, most });
            }
        }
        self.prepare(&said)?;
        let (client, prepared) = (&self.client, &self.prepared);
        let plain = |sql: &'static str| -> Answer<'_> {
            Box::pin(async move { client.batch_execute(sql).await.map(|()| Vec::new()) })
        };
        let mut asked: Vec<Answer<'_>> = Vec::with_capacity(said.len() + 2);
        asked.extend(before.map(plain));
        for one in &said {
            let Some(statement) = prepared.get(one.sql) else {
                continue;
            };
            asked.push(Box::pin(async move {
                let values: Vec<&(dyn ToSql + Sync)> = one
                    .values
                    .iter()
                    .map(|it| it as &(dyn ToSql + Sync))
                    .collect();
                client.query(statement, &values).await
            }));
        }
        asked.extend(after.map(plain));
        let (skip, count) = (usize::from(before.is_some()), said.len());
        let is_said = Cell::new(false);
        let answered = async {
            // Each is sent when it is polled first, so the order is this one.
            let mut waiting: Vec<Answer<'_>> = Vec::with_capacity(asked.len());
            let mut is_failed = false;
            for mut one in asked {
                match poll_fn(|context| Poll::Ready(one.as_mut().poll(context))).await {
                    Poll::Pending => waiting.push(one),
                    // It could not even be said, or the answer was very quick. The
                    // COMMIT must not be said behind what failed; what failed
                    // first may be an earlier one, whose answer waits.
                    Poll::Ready(answer) => {
                        is_failed = answer.is_err();
                        waiting.push(Box::pin(ready(answer)));
                    }
                }
                if is_failed {
                    break;
                }
            }
            is_said.set(!is_failed);
            let mut rows = Vec::with_capacity(waiting.len());
            for one in waiting {
                rows.push(one.await?);
            }
            Ok(rows)
        };
        let rows = self.driver.wait(&self.address, self.manners.call, answered);
        if rows.is_err() && !is_said.get() && before.is_some() {
            // If that fails as well, so does all that follows.
            let _ = self.batch("ROLLBACK");
        }
        Ok(rows?.into_iter().skip(skip).take(count).collect())
    }

    fn prepare(&mut self, said: &[Said]) -> Result<(), PostgresError> {
        for one in said {
            if self.prepared.contains_key(one.sql) {
                continue;
            }
            let statement = self.client.prepare(one.sql);
            let statement = self
                .driver
                .wait(&self.address, self.manners.call, statement)?;
            self.prepared.insert(one.sql, statement);
        }
        Ok(())
    }
}
