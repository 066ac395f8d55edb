//! Logs, on standard error.

use std::io::{self, IsTerminal as _};

use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use innkeeper::LogFeed;

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// How much to log: off, error, warn, info, debug or trace
    #[arg(long = "log", value_name = "LEVEL", default_value = "info")]
    level: LevelFilter,
    /// How log lines look
    #[arg(long = "log-format", value_name = "FORMAT", default_value = "text")]
    format: LogFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Starts logging. Of libraries, only what is worth a warning is logged. What
/// telemetry may tell of it is in the feed.
pub(crate) fn start(args: &LogArgs) -> LogFeed {
    let feed = LogFeed::default();
    let wanted = Targets::new()
        .with_default(args.level.min(LevelFilter::WARN))
        .with_target("innkeeper", args.level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        // A terminal that is gone is not a reason to stop: saying that nothing
        // can be said there would.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    let registry = tracing_subscriber::registry().with(feed.layer());
    // Nothing else in this process starts logging, so this cannot fail.
    let _ = match args.format {
        LogFormat::Text => registry.with(lines.with_filter(wanted)).try_init(),
        LogFormat::Json => registry.with(lines.json().with_filter(wanted)).try_init(),
    };
    feed
}
