//! Logs: on standard error, and in the data directory.

use std::io::{self, IsTerminal as _};

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::{FilterExt as _, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use super::Failure;
use super::log_file::LogFile;
use innkeeper::LogFeed;

#[derive(Debug, Clone, Args)]
pub(crate) struct LogArgs {
    /// How much to log: off, error, warn, info, debug or trace [default: info]
    #[arg(
        long = "log",
        value_name = "LEVEL",
        env = "INNKEEPER_LOG",
        hide_env_values = true,
        help_heading = "Log"
    )]
    level: Option<LevelFilter>,
    /// Format of log lines [default: text]
    #[arg(
        long = "log-format",
        value_name = "FORMAT",
        env = "INNKEEPER_LOG_FORMAT",
        hide_env_values = true,
        help_heading = "Log"
    )]
    format: Option<LogFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// What was started.
pub(crate) struct Logs {
    /// What telemetry may tell of it.
    pub(crate) feed: LogFeed,
    /// Where it is also written, once that is open.
    pub(crate) file: LogFile,
}

/// What the configuration says about logs, where no flag does.
#[derive(Debug, Clone)]
pub(crate) struct LogDefaults {
    pub(crate) level: LevelFilter,
    pub(crate) format: LogFormat,
}

/// Starts logging. Of libraries, only what is worth a warning is logged, unless
/// `RUST_LOG` says otherwise.
pub(crate) fn start(
    args: &LogArgs,
    defaults: &LogDefaults,
    to_stderr: bool,
) -> Result<Logs, Failure> {
    let wanted = wanted(args.level, defaults.level, std::env::var("RUST_LOG").ok())?;
    let format = args.format.unwrap_or(defaults.format);
    let logs = Logs {
        feed: LogFeed::default(),
        file: LogFile::default(),
    };
    let on_terminal = to_stderr.then(|| {
        let colours = io::stderr().is_terminal() && wants_colours();
        lines(io::stderr, format, colours).with_filter(wanted.clone().and(discreet()))
    });
    let in_file = lines(logs.file.clone(), format, false).with_filter(wanted.and(discreet()));
    let registry = tracing_subscriber::registry().with(
        vec![Some(in_file), on_terminal]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>(),
    );
    // Nothing else in this process starts logging, so this cannot fail.
    let _ = registry.with(logs.feed.layer()).try_init();
    Ok(logs)
}

type Lines = Box<dyn Layer<Registry> + Send + Sync>;

fn lines<W>(writer: W, format: LogFormat, colours: bool) -> Lines
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        // A terminal that is gone is not a reason to stop: saying that nothing
        // can be said there would.
        .log_internal_errors(false)
        .with_ansi(colours);
    match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    }
}

/// By <https://no-color.org>: whatever it says, as long as it says something.
pub(crate) fn wants_colours() -> bool {
    allows_colours(std::env::var_os("NO_COLOR"))
}

fn allows_colours(no_color: Option<std::ffi::OsString>) -> bool {
    no_color.is_none_or(|value| value.is_empty())
}

/// The flag decides, then `RUST_LOG`, then the configuration.
fn wanted(
    flag: Option<LevelFilter>,
    configured: LevelFilter,
    rust_log: Option<String>,
) -> Result<Targets, Failure> {
    let rust_log = rust_log.filter(|said| !said.trim().is_empty() && flag.is_none());
    if let Some(said) = rust_log {
        return said.parse().map_err(|error| {
            Failure::Usage(format!(
                "RUST_LOG cannot be read: {error}; write for example info or innkeeper=debug"
            ))
        });
    }
    let level = flag.unwrap_or(configured);
    Ok(Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("innkeeper", level))
}

/// Libraries that would log what passes through them: whole messages, with the
/// tokens in them, and the values of statements. No setting makes them do so.
fn discreet() -> Targets {
    Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_target("tungstenite", LevelFilter::DEBUG)
        .with_target("tokio_tungstenite", LevelFilter::DEBUG)
        .with_target("tokio_postgres", LevelFilter::INFO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn the_flag_wins_over_the_variable_and_that_over_the_configuration() {
        let debug = LevelFilter::DEBUG;
        for (flag, rust_log, enabled) in [
            (None, None, Level::INFO),
            (None, Some("innkeeper=trace"), Level::TRACE),
            (None, Some(" "), Level::INFO),
            (Some(debug), Some("innkeeper=error"), Level::DEBUG),
        ] {
            let rust_log = rust_log.map(str::to_owned);
            let targets = wanted(flag, LevelFilter::INFO, rust_log).unwrap();
            assert!(targets.would_enable("innkeeper", &enabled));
            let more = [Level::INFO, Level::DEBUG, Level::TRACE];
            let more = more.iter().filter(|level| **level > enabled);
            for level in more {
                assert!(!targets.would_enable("innkeeper", level), "{level}");
            }
        }
        assert!(wanted(None, LevelFilter::INFO, Some("a=b=c".to_owned())).is_err());
    }

    #[test]
    fn colours_are_left_out_where_somebody_says_so() {
        assert!(allows_colours(None) && allows_colours(Some("".into())));
        assert!(!allows_colours(Some("1".into())) && !allows_colours(Some("0".into())));
    }
}
