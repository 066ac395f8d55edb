//! Telemetry: spans from the engine, records from the log and the host's own
//! numbers are collected here, given to the engine for the clients that
//! listen, and exported if the configuration says where to.
//!
//! *Invariant*: what is collected is bounded. What does not fit is dropped and
//! counted; nobody waits for telemetry.

#[cfg(feature = "telemetry")]
mod export;
#[cfg(feature = "telemetry")]
mod logs;
#[cfg(not(feature = "telemetry"))]
mod no_export;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::telemetry::{
    LogRecord, Metric, MetricKind, Span, SpanKind, SpanOutcome, TelemetryBatch, Teller,
};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior};

use crate::clock::now;

#[cfg(feature = "telemetry")]
use export::Exporter;
#[cfg(feature = "telemetry")]
pub(crate) use export::connector;
#[cfg(feature = "telemetry")]
pub use export::{EndpointError, ExportOptions};
#[cfg(feature = "telemetry")]
pub use logs::LogFeed;
#[cfg(not(feature = "telemetry"))]
use no_export::Exporter;
#[cfg(not(feature = "telemetry"))]
pub use no_export::{EndpointError, ExportOptions, LogFeed};

/// How long what has happened waits for more to be told together.
const TOGETHER: Duration = Duration::from_millis(200);

/// How long the last words of a host that ends may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How many spans or records wait at most.
const MOST_WAITING: usize = 4_096;

/// What a host tells about its work, and to whom.
#[derive(Debug, Clone)]
pub struct TelemetryOptions {
    /// Records of the log; none if nobody feeds them.
    pub logs: Option<LogFeed>,
    /// How often metrics are told, and how often things are exported.
    pub interval: Duration,
    pub export: Option<ExportOptions>,
}

impl Default for TelemetryOptions {
    fn default() -> Self {
        Self {
            logs: None,
            interval: Duration::from_secs(10),
            export: None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Telemetry {
    teller: Teller,
    began: Timestamp,
    interval: Duration,
    logs: Option<LogFeed>,
    exporter: Option<Exporter>,
    state: Mutex<State>,
    news: Arc<Notify>,
    dropped: AtomicU64,
    export_failures: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// For those who listen.
    spans: Vec<Span>,
    /// For the exporter.
    to_export: Vec<Span>,
    logs_to_export: Vec<LogRecord>,
    counts: BTreeMap<(SpanKind, String, SpanOutcome), Count>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    number: u64,
    millis: i64,
}

impl Telemetry {
    pub(crate) fn new(options: TelemetryOptions, teller: Teller) -> Arc<Self> {
        let news = Arc::new(Notify::new());
        if let Some(logs) = &options.logs {
            logs.announce_to(&news);
        }
        Arc::new(Self {
            teller,
            began: now(),
            interval: options.interval.max(TOGETHER),
            logs: options.logs,
            exporter: options.export.map(Exporter::new),
            state: Mutex::default(),
            news,
            dropped: AtomicU64::new(0),
            export_failures: AtomicU64::new(0),
        })
    }

    /// Takes a span from the engine. Never waits.
    pub(crate) fn span(&self, span: Span) {
        log(&span);
        let agent = span.attributes.iter();
        let agent = agent.filter(|(key, _)| *key == "gen_ai.agent.name");
        let agent = agent.map(|(_, value)| value.clone()).next();
        let key = (span.kind, agent.unwrap_or_default(), span.outcome);
        let mut state = self.lock();
        let count = state.counts.entry(key).or_default();
        count.number += 1;
        count.millis += span.ended.millis_since(span.began).max(0);
        if self.exporter.is_some() {
            push(&mut state.to_export, span.clone(), &self.dropped);
        }
        push(&mut state.spans, span, &self.dropped);
        drop(state);
        self.news.notify_one();
    }

    /// The numbers about turns, tools and agents.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let counts = self.lock().counts.clone();
        let of_kind = |kind: SpanKind, value: fn(&Count) -> f64| {
            let these = counts.iter().filter(|((of, ..), _)| *of == kind);
            let points = these.map(|((_, agent, outcome), count)| {
                let labels = vec![
                    ("agent", agent.clone()),
                    ("outcome", outcome.name().to_owned()),
                ];
                (labels, value(count))
            });
            points.collect::<Vec<_>>()
        };
        let number = |count: &Count| count.number as f64;
        let seconds = |count: &Count| count.millis as f64 / 1000.0;
        let counter = |name, help, points| Metric {
            name,
            help,
            kind: MetricKind::Counter,
            points,
        };
        let plain = |value: &AtomicU64| vec![(Vec::new(), value.load(Ordering::Relaxed) as f64)];
        vec![
            counter(
                "innkeeper_turns_total",
                "Turns that have ended.",
                of_kind(SpanKind::Turn, number),
            ),
            counter(
                "innkeeper_turn_seconds_total",
                "How long turns took, all together.",
                of_kind(SpanKind::Turn, seconds),
            ),
            counter(
                "innkeeper_tool_calls_total",
                "Tool calls that have ended.",
                of_kind(SpanKind::Tool, number),
            ),
            counter(
                "innkeeper_tool_call_seconds_total",
                "How long tool calls took, all together.",
                of_kind(SpanKind::Tool, seconds),
            ),
            counter(
                "innkeeper_agents_ended_total",
                "Conversations with agents that were closed or lost.",
                of_kind(SpanKind::Agent, number),
            ),
            counter(
                "innkeeper_telemetry_dropped_total",
                "Spans and records that were dropped because too many waited.",
                plain(&self.dropped),
            ),
            counter(
                "innkeeper_telemetry_export_failures_total",
                "Exports of telemetry that failed.",
                plain(&self.export_failures),
            ),
        ]
    }

    /// Tells what happens until `tell` finds nobody any more. `measure` gives
    /// the numbers of the whole host.
    pub(crate) async fn run(
        self: Arc<Self>,
        measure: impl Fn() -> Option<Vec<Metric>>,
        tell: impl Fn(TelemetryBatch) -> bool,
    ) {
        let first = Instant::now() + self.interval;
        let mut ticks = tokio::time::interval_at(first, self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let metrics = tokio::select! {
                () = self.news.notified() => {
                    tokio::time::sleep(TOGETHER).await;
                    None
                }
                _ = ticks.tick() => match measure() {
                    Some(metrics) => Some(self.teller.metrics(self.began, now(), &metrics)),
                    None => return,
                },
            };
            let batch = TelemetryBatch {
                logs: self.take_logs(),
                spans: std::mem::take(&mut self.lock().spans),
                metrics: metrics.clone(),
            };
            if batch != TelemetryBatch::default() && !tell(batch) {
                return;
            }
            if let Some(metrics) = metrics {
                self.export(Some(metrics)).await;
            }
        }
    }

    /// Exports what is left. Called when the host ends.
    pub(crate) async fn finish(&self) {
        if self.exporter.is_some() {
            self.take_logs();
            let _ = tokio::time::timeout(LAST_WORDS, self.export(None)).await;
        }
    }

    fn take_logs(&self) -> Vec<LogRecord> {
        let Some(feed) = &self.logs else {
            return Vec::new();
        };
        let (records, lost) = feed.take();
        self.dropped.fetch_add(lost, Ordering::Relaxed);
        if self.exporter.is_some() {
            let mut state = self.lock();
            for record in &records {
                push(&mut state.logs_to_export, record.clone(), &self.dropped);
            }
        }
        records
    }

    async fn export(&self, metrics: Option<serde_json::Map<String, serde_json::Value>>) {
        let Some(exporter) = &self.exporter else {
            return;
        };
        let (spans, logs) = {
            let mut state = self.lock();
            let spans = std::mem::take(&mut state.to_export);
            (spans, std::mem::take(&mut state.logs_to_export))
        };
        let mut requests = Vec::new();
        if !spans.is_empty() {
            requests.push(("traces", self.teller.traces(&spans)));
        }
        if !logs.is_empty() {
            requests.push(("logs", self.teller.logs(logs.iter())));
        }
        requests.extend(metrics.map(|metrics| ("metrics", metrics)));
        for (signal, request) in requests {
            if !exporter.export(signal, &request).await {
                self.export_failures.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One line for each turn and each conversation with an agent that is over.
fn log(span: &Span) {
    let named = |wanted: &str| {
        let mut attributes = span.attributes.iter();
        let found = attributes.find(|(key, _)| *key == wanted);
        found.map_or("", |(_, value)| value.as_str())
    };
    let (agent, session) = (named("gen_ai.agent.name"), named("innkeeper.session"));
    let (outcome, millis) = (span.outcome.name(), span.ended.millis_since(span.began));
    match span.kind {
        SpanKind::Turn => tracing::info!(session, agent, outcome, millis, "a turn has ended"),
        SpanKind::Agent => tracing::info!(session, agent, outcome, millis, "an agent has ended"),
        SpanKind::Tool => tracing::debug!(session, agent, outcome, millis, "a tool has ended"),
    }
}

fn push<T>(waiting: &mut Vec<T>, one: T, dropped: &AtomicU64) {
    match waiting.len() < MOST_WAITING {
        true => waiting.push(one),
        false => {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
