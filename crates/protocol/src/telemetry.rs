//! What the host tells about its own work: spans, metrics and log records, and
//! their form in OTLP/JSON.
//!
//! *Invariant*: nothing in here comes from a message, a file, a prompt, an
//! answer or a token. Names are those of kinds, agents and tools; identifiers
//! are those that the protocol has anyway.

use serde_json::{Map, Value, json};

use crate::Timestamp;

/// The scheme of the channels that telemetry is sent on.
pub const TELEMETRY_SCHEME: &str = "ahp-otlp:";
pub const LOGS_TEMPLATE: &str = "ahp-otlp:/logs/{level}";
pub const TRACES_CHANNEL: &str = "ahp-otlp:/traces";
pub const METRICS_CHANNEL: &str = "ahp-otlp:/metrics";

/// How bad something is that was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Fatal,
}

impl Severity {
    pub const ALL: [Self; 6] = [
        Self::Trace,
        Self::Debug,
        Self::Info,
        Self::Warn,
        Self::Error,
        Self::Fatal,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }

    /// The first number of its band.
    fn number(self) -> u8 {
        match self {
            Self::Trace => 1,
            Self::Debug => 5,
            Self::Info => 9,
            Self::Warn => 13,
            Self::Error => 17,
            Self::Fatal => 21,
        }
    }

    /// The least severity that a logs channel delivers.
    pub fn of_channel(channel: &str) -> Option<Self> {
        let level = channel.strip_prefix("ahp-otlp:/logs/")?;
        let mut all = Self::ALL.into_iter();
        all.find(|severity| severity.name().eq_ignore_ascii_case(level))
    }
}

/// Whether a channel carries telemetry.
pub fn is_telemetry_channel(channel: &str) -> bool {
    channel == TRACES_CHANNEL
        || channel == METRICS_CHANNEL
        || Severity::of_channel(channel).is_some()
}

/// A word about something, by a name from our own code.
pub type Attributes = Vec<(&'static str, String)>;

/// Something that took a while and is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub kind: SpanKind,
    pub trace: TraceId,
    pub span: SpanId,
    pub parent: Option<SpanId>,
    pub began: Timestamp,
    pub ended: Timestamp,
    pub outcome: SpanOutcome,
    pub attributes: Attributes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SpanKind {
    Turn,
    Tool,
    /// The conversation with an agent, from its opening to its end.
    Agent,
}

impl SpanKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Tool => "tool",
            Self::Agent => "agent",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SpanOutcome {
    Ok,
    Cancelled,
    Error,
}

impl SpanOutcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub u128);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanId(pub u64);

#[derive(Debug, Clone, PartialEq)]
pub struct LogRecord {
    pub at: Timestamp,
    pub severity: Severity,
    /// Where in the program.
    pub target: String,
    pub message: String,
    pub attributes: Vec<(String, String)>,
}

/// A number about the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// As Prometheus writes it.
    pub name: &'static str,
    pub help: &'static str,
    pub kind: MetricKind,
    pub points: Vec<(Attributes, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Gauge,
    /// It only grows.
    Counter,
}

/// What is told at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TelemetryBatch {
    pub logs: Vec<LogRecord>,
    pub spans: Vec<Span>,
    /// A request for metrics as it is sent, if it is time for one.
    pub metrics: Option<Map<String, Value>>,
}

/// Who tells all this.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Teller {
    pub name: String,
    pub version: String,
    /// One life of the host.
    pub instance: String,
}

impl Teller {
    fn resource(&self) -> Value {
        json!({"attributes": [
            text("service.name", &self.name),
            text("service.version", &self.version),
            text("service.instance.id", &self.instance),
        ]})
    }

    fn scope(&self) -> Value {
        json!({"name": self.name, "version": self.version})
    }

    /// An `ExportLogsServiceRequest`.
    pub fn logs<'a>(&self, records: impl Iterator<Item = &'a LogRecord>) -> Map<String, Value> {
        let records: Vec<Value> = records.map(log_record).collect();
        object(json!({"resourceLogs": [{
            "resource": self.resource(),
            "scopeLogs": [{"scope": self.scope(), "logRecords": records}],
        }]}))
    }

    /// An `ExportTraceServiceRequest`.
    pub fn traces(&self, spans: &[Span]) -> Map<String, Value> {
        let spans: Vec<Value> = spans.iter().map(span).collect();
        object(json!({"resourceSpans": [{
            "resource": self.resource(),
            "scopeSpans": [{"scope": self.scope(), "spans": spans}],
        }]}))
    }

    /// An `ExportMetricsServiceRequest`, of what has been counted since `start`.
    pub fn metrics(
        &self,
        start: Timestamp,
        now: Timestamp,
        metrics: &[Metric],
    ) -> Map<String, Value> {
        let metrics: Vec<Value> = metrics
            .iter()
            .map(|metric| as_otlp(metric, start, now))
            .collect();
        object(json!({"resourceMetrics": [{
            "resource": self.resource(),
            "scopeMetrics": [{"scope": self.scope(), "metrics": metrics}],
        }]}))
    }
}

/// Metrics as Prometheus reads them.
pub fn prometheus(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for Metric {
        name,
        help,
        kind,
        points,
    } in metrics
    {
        let kind = match kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
        };
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in points {
            let labels: Vec<String> = labels
                .iter()
                .map(|(key, value)| format!("{key}=\"{}\"", escaped(value)))
                .collect();
            let labels = match labels.is_empty() {
                true => String::new(),
                false => format!("{{{}}}", labels.join(",")),
            };
            text += &format!("{name}{labels} {value}\n");
        }
    }
    text
}

fn escaped(label: &str) -> String {
    let label = label.replace('\\', "\\\\").replace('"', "\\\"");
    label.replace('\n', "\\n")
}

fn as_otlp(metric: &Metric, start: Timestamp, now: Timestamp) -> Value {
    let points: Vec<Value> = metric
        .points
        .iter()
        .map(|(attributes, value)| {
            json!({
                "attributes": words(attributes.iter().map(|(key, value)| (*key, value))),
                "startTimeUnixNano": nanos(start),
                "timeUnixNano": nanos(now),
                "asDouble": value,
            })
        })
        .collect();
    let mut it = json!({"name": metric.name, "description": metric.help});
    match metric.kind {
        MetricKind::Gauge => it["gauge"] = json!({"dataPoints": points}),
        MetricKind::Counter => {
            // 2 is cumulative.
            it["sum"] = json!({
                "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": points,
            });
        }
    }
    it
}

fn log_record(record: &LogRecord) -> Value {
    let mut attributes = words(record.attributes.iter().map(|(k, v)| (k.as_str(), v)));
    attributes.push(text("code.namespace", &record.target));
    json!({
        "timeUnixNano": nanos(record.at),
        "observedTimeUnixNano": nanos(record.at),
        "severityNumber": record.severity.number(),
        "severityText": record.severity.name().to_uppercase(),
        "body": {"stringValue": record.message},
        "attributes": attributes,
    })
}

fn span(span: &Span) -> Value {
    let mut attributes = words(span.attributes.iter().map(|(key, value)| (*key, value)));
    attributes.push(text("innkeeper.outcome", span.outcome.name()));
    let mut it = json!({
        "traceId": format!("{:032x}", span.trace.0),
        "spanId": format!("{:016x}", span.span.0),
        "name": span.kind.name(),
        // 1 is internal.
        "kind": 1,
        "startTimeUnixNano": nanos(span.began),
        "endTimeUnixNano": nanos(span.ended.max(span.began)),
        "attributes": attributes,
        "status": match span.outcome {
            SpanOutcome::Ok => json!({"code": 1}),
            SpanOutcome::Cancelled => json!({}),
            SpanOutcome::Error => json!({"code": 2}),
        },
    });
    if let Some(parent) = span.parent {
        it["parentSpanId"] = format!("{:016x}", parent.0).into();
    }
    it
}

fn words<'a>(attributes: impl Iterator<Item = (&'a str, &'a String)>) -> Vec<Value> {
    attributes.map(|(key, value)| text(key, value)).collect()
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// 64-bit numbers are texts in OTLP/JSON.
fn nanos(at: Timestamp) -> String {
    let millis = at.millis_since(Timestamp::from_millis(0)).max(0);
    format!("{}", i128::from(millis) * 1_000_000)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn teller() -> Teller {
        Teller {
            name: "innkeeper".to_owned(),
            version: "1".to_owned(),
            instance: "i".to_owned(),
        }
    }

    #[test]
    fn a_span_has_the_form_that_otlp_wants() {
        let one = Span {
            kind: SpanKind::Tool,
            trace: TraceId(0xab),
            span: SpanId(2),
            parent: Some(SpanId(1)),
            began: Timestamp::from_millis(1_500),
            ended: Timestamp::from_millis(2_000),
            outcome: SpanOutcome::Error,
            attributes: vec![("gen_ai.tool.name", "read".to_owned())],
        };
        let request = teller().traces(&[one]);
        let span = &request["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(
            span,
            &json!({
                "traceId": "000000000000000000000000000000ab", "spanId": "0000000000000002",
                "parentSpanId": "0000000000000001", "name": "tool", "kind": 1,
                "startTimeUnixNano": "1500000000", "endTimeUnixNano": "2000000000",
                "attributes": [
                    {"key": "gen_ai.tool.name", "value": {"stringValue": "read"}},
                    {"key": "innkeeper.outcome", "value": {"stringValue": "error"}},
                ],
                "status": {"code": 2},
            })
        );
        let resource = &request["resourceSpans"][0]["resource"]["attributes"][0];
        assert_eq!(
            resource,
            &json!({"key": "service.name", "value": {"stringValue": "innkeeper"}})
        );
    }

    #[test]
    fn metrics_are_the_same_in_both_forms() {
        let metrics = [
            Metric {
                name: "inn_rooms",
                help: "Rooms.",
                kind: MetricKind::Gauge,
                points: vec![(Vec::new(), 3.0)],
            },
            Metric {
                name: "inn_guests_total",
                help: "Guests.",
                kind: MetricKind::Counter,
                points: vec![(vec![("from", "a\"b".to_owned())], 1.5)],
            },
        ];
        assert_eq!(
            prometheus(&metrics),
            "# HELP inn_rooms Rooms.\n# TYPE inn_rooms gauge\ninn_rooms 3\n\
             # HELP inn_guests_total Guests.\n# TYPE inn_guests_total counter\n\
             inn_guests_total{from=\"a\\\"b\"} 1.5\n"
        );
        let at = Timestamp::from_millis(1);
        let request = teller().metrics(at, at, &metrics);
        let told = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        assert_eq!(told[0]["gauge"]["dataPoints"][0]["asDouble"], 3.0);
        let sum = &told[1]["sum"];
        assert_eq!(
            (&sum["isMonotonic"], &sum["dataPoints"][0]["asDouble"]),
            (&json!(true), &json!(1.5))
        );
    }

    #[test]
    fn a_logs_channel_names_the_least_severity() {
        for (channel, expected) in [
            ("ahp-otlp:/logs/warn", Some(Severity::Warn)),
            ("ahp-otlp:/logs/WARN", Some(Severity::Warn)),
            ("ahp-otlp:/logs/loud", None),
            ("ahp-otlp:/logs/{level}", None),
            ("ahp-otlp:/traces", None),
        ] {
            assert_eq!(Severity::of_channel(channel), expected, "{channel}");
        }
        assert!(Severity::Trace < Severity::Fatal);
    }
}
