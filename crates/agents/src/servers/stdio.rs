//! A server that is a program: lines of JSON on its standard input and output.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::agent::AgentFailure;
use innkeeper_protocol::mcp::hosted::McpFailure;
use serde_json::Value;

use super::link::{Heard, LONGEST, understood};
use crate::Environment;
use crate::process::{ChildProcess, JsonLines, Line, LineWriter, Program, StderrLog};

#[derive(Debug)]
pub(super) struct StdioLink {
    process: ChildProcess,
    lines: JsonLines,
    writer: LineWriter,
}

impl StdioLink {
    /// Starts the program, with the environment that agents get and what the
    /// declaration says.
    pub(super) async fn start(
        (command, args): (&str, &[String]),
        env: &BTreeMap<String, String>,
        directory: Option<&Path>,
        environment: &Arc<Environment>,
        stderr: &Arc<StderrLog>,
    ) -> Result<Self, McpFailure> {
        let program = Program {
            args: args.to_vec(),
            env: env.clone(),
            environment: Arc::clone(environment),
            ..Program::new(command)
        };
        let started = ChildProcess::start_with(&program, directory, stderr, LONGEST).await;
        // Arguments hold keys often enough, so the command alone is named.
        let (process, lines) = started.map_err(|failure| McpFailure::NotStarted {
            command: command.to_owned(),
            why: match failure {
                AgentFailure::NotStarted { why, .. } => why,
                other => other.to_string(),
            },
        })?;
        let writer = lines.writer();
        Ok(Self {
            process,
            lines,
            writer,
        })
    }

    pub(super) fn write(&self, message: &Value) {
        self.writer.write(message);
    }

    pub(super) fn is_behind(&self) -> bool {
        self.writer.is_behind()
    }

    pub(super) async fn next(&mut self) -> Heard {
        loop {
            match self.lines.next().await {
                Some(Line::Json(message)) => {
                    if let Some(heard) = understood(message) {
                        return heard;
                    }
                }
                Some(Line::Noise(text)) => {
                    tracing::debug!(text, "an MCP server said what is not JSON");
                }
                Some(Line::TooLong) => {
                    let most = LONGEST / (1024 * 1024);
                    let why = format!("it sent a message of more than {most} MiB");
                    return Heard::End(McpFailure::Strange(why));
                }
                None => {
                    let end = self.process.epitaph().await;
                    return Heard::End(McpFailure::Ended(end.to_string()));
                }
            }
        }
    }

    pub(super) async fn end(self, grace: Duration) {
        // Most servers end with their input.
        let Self { process, lines, .. } = self;
        drop(lines);
        process.end(grace).await;
    }
}
