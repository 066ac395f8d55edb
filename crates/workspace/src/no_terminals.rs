//! Without the feature `terminals`, none can be opened, and whoever asks for
//! one is told so.

use std::fmt;

use innkeeper_protocol::workspace::terminal::{
    TerminalCommand, TerminalEvent, TerminalId, TerminalReport,
};

use crate::terminal_options::{TerminalOptions, TerminalSink};

/// No terminals.
#[derive(Clone)]
pub struct TerminalService {
    sink: TerminalSink,
}

impl fmt::Debug for TerminalService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalService").finish_non_exhaustive()
    }
}

impl TerminalService {
    pub fn new(_: TerminalOptions, sink: TerminalSink) -> Self {
        Self { sink }
    }

    /// Carries out a command. Returns at once.
    pub fn command(&self, command: TerminalCommand) {
        match command {
            TerminalCommand::Open { terminal, .. } => {
                let sink = self.sink.clone();
                let reason = "this host was built without terminals; \
                              build it with the feature `terminals`"
                    .to_owned();
                let event = TerminalEvent::OpenFailed { reason };
                // The sink may wait for whoever called this.
                let report = move || {
                    sink(TerminalReport { terminal, event });
                };
                let thread = std::thread::Builder::new().name("no-terminal".to_owned());
                if let Err(error) = thread.spawn(report) {
                    tracing::error!(%error, "failed to start a thread");
                }
            }
            TerminalCommand::Input { .. }
            | TerminalCommand::Resize { .. }
            | TerminalCommand::Close { .. } => {}
        }
    }

    pub fn taken(&self, _: TerminalId, _: usize) {}

    pub fn shutdown(&self) {}
}
