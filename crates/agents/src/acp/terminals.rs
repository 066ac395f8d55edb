//! Commands that the agent runs through the host (`terminal/*`). Each runs in
//! a terminal of the session, which clients can follow and take over; what
//! stands here is what the agent knows of them.
//!
//! *Invariant*: every question of the agent about a command is answered: when
//! the host says what it asked for, or when the command or its turn is over.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, Error, TerminalExitStatus, TerminalOutputResponse,
};
use innkeeper_protocol::agent::{CommandOutcome, CommandRun};
use innkeeper_protocol::newest::state::{
    TerminalCommandResult, ToolResultContent, ToolResultTerminalContent,
};
use innkeeper_protocol::workspace::terminal::TerminalProgram;
use serde_json::Value;
use url::Url;

use super::output::keep_end;
use super::rpc::Answers;
use crate::environment::Surroundings;

/// Output that is kept if the agent sets no limit of its own, and the most
/// that it may ask for.
const KEPT: usize = 1024 * 1024;

/// How much of a command's output a tool call shows; its terminal has more.
const SHOWN: usize = 16 * 1024;

/// How many terminals are remembered whose commands have ended.
const REMEMBERED: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Terminals {
    known: HashMap<String, Terminal>,
    /// Those whose commands have ended, the oldest first.
    ended: VecDeque<String>,
    created: usize,
    /// What commands are run in.
    pub(super) surroundings: Surroundings,
}

#[derive(Debug)]
struct Terminal {
    title: String,
    limit: usize,
    /// Where clients see it.
    resource: Option<String>,
    outcome: Option<CommandOutcome>,
    /// The agent has let it go: it is shown, but not talked about any more.
    released: bool,
    /// Requests of the agent that wait for the output so far, or for the end.
    reading: Vec<Value>,
    waiting: Vec<Value>,
}

impl Terminals {
    pub(super) fn create(
        &mut self,
        request: CreateTerminalRequest,
        directory: Option<&PathBuf>,
    ) -> (String, CommandRun) {
        let is_line = request.args.is_empty()
            && request
                .command
                .contains(|c: char| c.is_whitespace() || "|&;<>$`".contains(c));
        let (program, args) = match is_line {
            // A whole line for the shell in place of a command.
            true => {
                let args = vec!["-c".to_owned(), request.command.clone()];
                ("/bin/sh".to_owned(), args)
            }
            false => (request.command.clone(), request.args),
        };
        let program = TerminalProgram::Direct { program, args };
        let title = match is_line {
            true => request.command,
            false => program.line(),
        };
        let limit = request
            .output_byte_limit
            .and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(KEPT).min(KEPT);
        self.created += 1;
        let id = format!("terminal-{}", self.created);
        let run = CommandRun {
            run: id.clone(),
            call: None,
            program,
            title: Some(title.clone()),
            directory: request
                .cwd
                .as_ref()
                .or(directory)
                .and_then(|path| Some(Url::from_file_path(path).ok()?.to_string())),
            environment: Some(environment(
                &self.surroundings,
                request.env.into_iter().map(|set| (set.name, set.value)),
            )),
            output_bytes: Some(limit),
        };
        let terminal = Terminal {
            title,
            limit,
            resource: None,
            outcome: None,
            released: false,
            reading: Vec::new(),
            waiting: Vec::new(),
        };
        self.known.insert(id.clone(), terminal);
        (id, run)
    }

    /// The agent wants the output. Whether the host has to be asked for it.
    pub(super) fn read(&mut self, answers: &Answers, id: &str, request: &Value) -> bool {
        match self.held(id) {
            Err(error) => answers.give(request, Err::<Value, _>(error)),
            Ok(terminal) => match &terminal.outcome {
                Some(outcome) => answers.give(request, Ok(terminal.at_the_end(outcome))),
                None => {
                    terminal.reading.push(request.clone());
                    return true;
                }
            },
        }
        false
    }

    /// The agent wants to know when a command has ended.
    pub(super) fn wait(&mut self, answers: &Answers, id: &str, request: &Value) {
        match self.held(id) {
            Err(error) => answers.give(request, Err::<Value, _>(error)),
            Ok(terminal) => match &terminal.outcome {
                Some(outcome) => answers.give(request, Ok(exit_status(outcome))),
                None => terminal.waiting.push(request.clone()),
            },
        }
    }

    /// The agent has no more use for a command, and, if it is `released`, for
    /// its terminal. Whether it still runs.
    pub(super) fn stop(
        &mut self,
        answers: &Answers,
        id: &str,
        request: &Value,
        released: bool,
    ) -> bool {
        match self.held(id) {
            Err(error) => answers.give(request, Err::<Value, _>(error)),
            Ok(terminal) => {
                terminal.released = released;
                answers.give(request, Ok(serde_json::json!({})));
                return terminal.outcome.is_none();
            }
        }
        false
    }

    fn held(&mut self, id: &str) -> Result<&mut Terminal, Error> {
        let unknown = || Error::new(-32002, format!("unknown terminal `{id}`"));
        let held = self.known.get_mut(id).filter(|known| !known.released);
        held.ok_or_else(unknown)
    }

    pub(super) fn started(&mut self, id: &str, resource: String) {
        if let Some(terminal) = self.known.get_mut(id) {
            terminal.resource = Some(resource);
        }
    }

    pub(super) fn said(&mut self, answers: &Answers, id: &str, output: &str, truncated: bool) {
        let Some(terminal) = self.known.get_mut(id) else {
            return;
        };
        let (text, cut) = terminal.plain(output);
        for request in terminal.reading.drain(..) {
            let answer = TerminalOutputResponse::new(text.clone(), truncated || cut);
            answers.give(&request, Ok(answer));
        }
    }

    pub(super) fn ended(&mut self, answers: &Answers, id: &str, outcome: CommandOutcome) {
        let Some(terminal) = self.known.get_mut(id) else {
            return;
        };
        for request in std::mem::take(&mut terminal.reading) {
            answers.give(&request, Ok(terminal.at_the_end(&outcome)));
        }
        for request in terminal.waiting.drain(..) {
            answers.give(&request, Ok(exit_status(&outcome)));
        }
        terminal.outcome = Some(outcome);
        self.ended.push_back(id.to_owned());
        if self.ended.len() > REMEMBERED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// The turn is over, and with it all that ran in it.
    pub(super) fn all_ended(&mut self, answers: &Answers) {
        let running = self
            .known
            .iter()
            .filter(|(_, known)| known.outcome.is_none());
        let running: Vec<String> = running.map(|(id, _)| id.clone()).collect();
        for id in running {
            self.ended(answers, &id, CommandOutcome::default());
        }
    }

    /// A terminal of ours as part of what a tool call shows.
    pub(super) fn shown(&self, id: &str) -> Option<ToolResultContent> {
        let terminal = self.known.get(id)?;
        let result = terminal
            .outcome
            .as_ref()
            .filter(|outcome| !outcome.detached);
        let result = result.map(|outcome| {
            let mut preview = outcome.output.clone();
            keep_end(&mut preview, SHOWN);
            TerminalCommandResult {
                exit_code: outcome.exit_code,
                truncated: (outcome.truncated || preview.len() < outcome.output.len())
                    .then_some(true),
                preview: Some(preview),
            }
        });
        Some(ToolResultContent::Terminal(ToolResultTerminalContent {
            resource: terminal.resource.clone()?,
            title: terminal.title.clone(),
            is_pty: Some(true),
            result,
        }))
    }
}

impl Terminal {
    fn at_the_end(&self, outcome: &CommandOutcome) -> TerminalOutputResponse {
        let (mut text, cut) = self.plain(&outcome.output);
        if let Some(error) = &outcome.error {
            text.push_str(error);
        }
        if outcome.detached {
            text.push_str("\n(The user took this terminal over; the command continues there.)\n");
        }
        TerminalOutputResponse::new(text, outcome.truncated || cut)
            .exit_status(Some(exit_status(outcome)))
    }

    /// What a terminal shows, as plain text: an agent has no use for colours.
    fn plain(&self, output: &str) -> (String, bool) {
        let text = anstream::adapter::strip_str(output).to_string();
        let mut text = text.replace("\r\n", "\n");
        let before = text.len();
        keep_end(&mut text, self.limit);
        let cut = text.len() < before;
        (text, cut)
    }
}

/// What a command gets to know: what its agent was started in, and no pager,
/// which would wait for somebody to turn the page.
fn environment(
    surroundings: &Surroundings,
    wanted: impl Iterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let given = surroundings.for_commands();
    let no_pager = ["PAGER", "GIT_PAGER"].map(|name| (name.to_owned(), "cat".to_owned()));
    let all: BTreeMap<String, String> = given.chain(no_pager).chain(wanted).collect();
    all.into_iter().collect()
}

fn exit_status(outcome: &CommandOutcome) -> TerminalExitStatus {
    // What shells say of a command that cannot be run.
    const NOT_RUN: u32 = 127;
    let code = outcome.exit_code.and_then(|code| u32::try_from(code).ok());
    let code = code.or(outcome.error.as_ref().map(|_| NOT_RUN));
    let killed = code.is_none() && !outcome.detached;
    TerminalExitStatus::new()
        .exit_code(code)
        .signal(killed.then(|| "SIGKILL".to_owned()))
}
