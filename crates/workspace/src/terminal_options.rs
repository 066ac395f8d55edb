//! What terminals are made with, in a build that has them and in one that has
//! none.

use std::path::PathBuf;
use std::sync::Arc;

use innkeeper_protocol::workspace::terminal::TerminalReport;

/// How terminals are opened.
#[derive(Debug, Clone, Default)]
pub struct TerminalOptions {
    /// The shell; that of the user, if none is named.
    pub shell: Option<PathBuf>,
    /// Arguments for a shell that somebody talks to.
    pub shell_arguments: Vec<String>,
    /// Where the scripts that shells are started with are kept. Without it,
    /// shells do not say where their commands begin and end.
    pub scripts: Option<PathBuf>,
    /// For everything that runs in a terminal, besides the host's own.
    pub environment: Vec<(String, String)>,
}

/// Where reports go. It may block: that is how a terminal is slowed down.
/// Returns whether anybody is still there to hear.
pub type TerminalSink = Arc<dyn Fn(TerminalReport) -> bool + Send + Sync>;
