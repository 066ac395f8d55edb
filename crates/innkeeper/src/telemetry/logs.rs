//! Records of the log for telemetry.
//!
//! *Invariant*: a record has the words of our own code and fields whose names
//! are on a list. Reasons, errors and whatever else may quote a file, an agent
//! or a client stays in the log on this machine.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use innkeeper_protocol::telemetry::{LogRecord, Severity};
use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::clock::now;

/// Fields that say what something is about, and nothing that anybody said.
const TOLD: [&str; 13] = [
    "address", "after_ms", "agent", "backend", "backends", "call", "channel", "chat", "kind",
    "method", "session", "status", "turn",
];

/// How many records wait at most.
const MOST_WAITING: usize = 4_096;

/// Where the log hands over its records. Clones are the same feed.
#[derive(Debug, Clone, Default)]
pub struct LogFeed {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<Waiting>,
    news: OnceLock<Arc<Notify>>,
}

#[derive(Debug, Default)]
struct Waiting {
    records: VecDeque<LogRecord>,
    lost: u64,
}

impl LogFeed {
    /// What fills the feed, for the program's subscriber of `tracing`.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let wanted = Targets::new().with_target("innkeeper", LevelFilter::DEBUG);
        Tap { feed: self.clone() }.with_filter(wanted)
    }

    pub(super) fn announce_to(&self, news: &Arc<Notify>) {
        let _ = self.inner.news.set(Arc::clone(news));
    }

    /// All that waits, and how much was lost since the last time.
    pub(super) fn take(&self) -> (Vec<LogRecord>, u64) {
        let mut waiting = self.lock();
        let lost = std::mem::take(&mut waiting.lost);
        (waiting.records.drain(..).collect(), lost)
    }

    fn push(&self, record: LogRecord) {
        let mut waiting = self.lock();
        if waiting.records.len() >= MOST_WAITING {
            waiting.records.pop_front();
            waiting.lost += 1;
        }
        waiting.records.push_back(record);
        drop(waiting);
        if let Some(news) = self.inner.news.get() {
            news.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        let waiting = &self.inner.waiting;
        waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Tap {
    feed: LogFeed,
}

impl<S: Subscriber> Layer<S> for Tap {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut words = Words::default();
        event.record(&mut words);
        self.feed.push(LogRecord {
            at: now(),
            severity: severity(*metadata.level()),
            target: metadata.target().to_owned(),
            message: words.message,
            attributes: words.attributes,
        });
    }
}

fn severity(level: Level) -> Severity {
    match level {
        Level::ERROR => Severity::Error,
        Level::WARN => Severity::Warn,
        Level::INFO => Severity::Info,
        Level::DEBUG => Severity::Debug,
        Level::TRACE => Severity::Trace,
    }
}

#[derive(Default)]
struct Words {
    message: String,
    attributes: Vec<(String, String)>,
}

impl Words {
    fn add(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.message = value,
            name if TOLD.contains(&name) => self.attributes.push((name.to_owned(), value)),
            _ => {}
        }
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[test]
    fn only_our_own_words_and_listed_fields_are_told() {
        let feed = LogFeed::default();
        let subscriber = tracing_subscriber::registry().with(feed.layer());
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(
                agent = "script",
                reason = "it said: hush",
                "an agent's process is gone"
            );
            tracing::warn!(target: "elsewhere", "of a library: hush");
            tracing::trace!("too small");
        });
        let (records, lost) = feed.take();
        assert_eq!((records.len(), lost), (1, 0));
        let record = &records[0];
        assert_eq!(record.message, "an agent's process is gone");
        assert_eq!(record.severity, Severity::Warn);
        assert_eq!(
            record.attributes,
            [("agent".to_owned(), "script".to_owned())]
        );
    }

    #[test]
    fn what_nobody_takes_does_not_grow() {
        let feed = LogFeed::default();
        let subscriber = tracing_subscriber::registry().with(feed.layer());
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..MOST_WAITING + 3 {
                tracing::info!("again");
            }
        });
        let (records, lost) = feed.take();
        assert_eq!((records.len(), lost), (MOST_WAITING, 3));
    }
}
