//! `[telemetry]`: what the host tells of its own work, and to whom.

use std::collections::BTreeMap;
use std::time::Duration;

use innkeeper::{EndpointError, ExportOptions, LogFeed, TelemetryOptions};
use serde::{Deserialize, Deserializer, Serialize};

use super::within;

/// `[telemetry]`: what the host tells of its own work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TelemetryTable {
    #[serde(deserialize_with = "endpoint")]
    pub(crate) endpoint: String,
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(deserialize_with = "within::<_, 1, 3600>")]
    pub(crate) interval_seconds: u64,
}

impl Default for TelemetryTable {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            headers: BTreeMap::new(),
            interval_seconds: 10,
        }
    }
}

impl TelemetryTable {
    /// With what the variables of OpenTelemetry say, where the file says
    /// nothing.
    pub(crate) fn with_variables(&self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut table = self.clone();
        if set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            table.endpoint.clear();
            return table;
        }
        if table.endpoint.is_empty() {
            table.endpoint = set("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_default();
        }
        if table.headers.is_empty() {
            let headers = set("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
            let pairs = headers.split(',').filter_map(|pair| pair.split_once('='));
            let pairs =
                pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
            table.headers = pairs.collect();
        }
        if table.interval_seconds == Self::default().interval_seconds
            && let Some(millis) = set("OTEL_METRIC_EXPORT_INTERVAL")
            && let Ok(millis) = millis.trim().parse::<u64>()
        {
            table.interval_seconds = millis.div_ceil(1_000).clamp(1, 3_600);
        }
        table
    }

    pub(crate) fn options(&self, logs: Option<LogFeed>) -> Result<TelemetryOptions, EndpointError> {
        let export = match self.endpoint.is_empty() {
            true => None,
            false => Some(ExportOptions::new(&self.endpoint, &self.headers)?),
        };
        Ok(TelemetryOptions {
            logs,
            interval: Duration::from_secs(self.interval_seconds),
            export,
        })
    }
}

fn endpoint<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let endpoint = String::deserialize(deserializer)?;
    if !endpoint.is_empty() {
        ExportOptions::new(&endpoint, &BTreeMap::new()).map_err(serde::de::Error::custom)?;
    }
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_opentelemetry_count_where_the_file_says_nothing() {
        let variable = |name: &str| {
            Some(match name {
                "OTEL_EXPORTER_OTLP_ENDPOINT" => "http://127.0.0.1:4318".to_owned(),
                "OTEL_EXPORTER_OTLP_HEADERS" => "a=b, c = d=e,nonsense".to_owned(),
                "OTEL_METRIC_EXPORT_INTERVAL" => "2500".to_owned(),
                _ => return None,
            })
        };
        let table = TelemetryTable::default().with_variables(variable);
        assert_eq!(table.endpoint, "http://127.0.0.1:4318");
        let headers = [("a", "b"), ("c", "d=e")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(table.headers, headers.into());
        assert_eq!(table.interval_seconds, 3);
        let own = TelemetryTable {
            endpoint: "http://own".to_owned(),
            ..TelemetryTable::default()
        };
        assert_eq!(own.with_variables(variable).endpoint, "http://own");
        let disabled = |name: &str| (name == "OTEL_SDK_DISABLED").then(|| "true".to_owned());
        assert_eq!(own.with_variables(disabled).endpoint, "");
    }
}
