//! Without the feature `telemetry`, what the host tells about its work goes to
//! the clients that listen and to `/metrics`, and nowhere else.

use std::convert::Infallible;
use std::sync::Arc;

use innkeeper_protocol::telemetry::LogRecord;
use serde_json::{Map, Value};
use tokio::sync::Notify;

/// Where telemetry is sent to. There are no values of this type: build with
/// the feature `telemetry`.
#[derive(Debug, Clone)]
pub enum ExportOptions {}

/// What is wrong with an endpoint. There are no values of this type.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {}

/// Records of the log. There are no values of this type: build with the
/// feature `telemetry`.
#[derive(Debug, Clone)]
pub enum LogFeed {}

impl LogFeed {
    pub(super) fn announce_to(&self, _: &Arc<Notify>) {
        match *self {}
    }

    pub(super) fn take(&self) -> (Vec<LogRecord>, u64) {
        match *self {}
    }
}

#[derive(Debug)]
pub(super) struct Exporter(Infallible);

impl Exporter {
    pub(super) fn new(options: ExportOptions) -> Self {
        match options {}
    }

    pub(super) async fn export(&self, _: &str, _: &Map<String, Value>) -> bool {
        match self.0 {}
    }
}
