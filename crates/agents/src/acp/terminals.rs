//! Commands that the agent runs through the host (`terminal/*`), each in a
//! process group of its own, with its output bounded.
//!
//! *Boundary*: there is no pty here; what runs sees pipes.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, Error, TerminalExitStatus, TerminalOutputResponse,
};
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::watch;

use super::output::keep_end;
use crate::process::{Group, inherited};

/// Output that is kept if the agent sets no limit of its own, and the most
/// that it may ask for.
const KEPT: usize = 1024 * 1024;

/// How many terminals are remembered after the agent has let them go.
const RELEASED: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Terminals {
    open: HashMap<String, Terminal>,
    /// What terminals said that the agent has let go: it is still shown.
    released: VecDeque<(String, String)>,
    created: usize,
}

#[derive(Debug)]
struct Terminal {
    group: Group,
    output: Arc<Mutex<Output>>,
    exit: watch::Receiver<Option<TerminalExitStatus>>,
}

#[derive(Debug)]
struct Output {
    /// Bytes of a character that has not come whole yet.
    partial: Vec<u8>,
    text: String,
    limit: usize,
    truncated: bool,
}

impl Terminals {
    pub(super) fn create(
        &mut self,
        request: CreateTerminalRequest,
        directory: Option<&PathBuf>,
    ) -> Result<String, Error> {
        let mut command = match request.args.is_empty()
            && request
                .command
                .contains(|c: char| c.is_whitespace() || "|&;<>$`".contains(c))
        {
            // A whole line for the shell in place of a command.
            true => {
                let mut shell = Command::new("/bin/sh");
                shell.arg("-c").arg(&request.command);
                shell
            }
            false => {
                let mut command = Command::new(&request.command);
                command.args(&request.args);
                command
            }
        };
        command
            .env_clear()
            .envs(inherited(&[]))
            .envs(
                request
                    .env
                    .iter()
                    .map(|variable| (&variable.name, &variable.value)),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = request.cwd.as_ref().or(directory) {
            command.current_dir(directory);
        }
        let mut child = command.spawn().map_err(|error| {
            Error::new(
                -32603,
                format!("`{}` cannot be started: {error}", request.command),
            )
        })?;
        let limit = request
            .output_byte_limit
            .and_then(|limit| usize::try_from(limit).ok());
        let output = Arc::new(Mutex::new(Output {
            partial: Vec::new(),
            text: String::new(),
            limit: limit.unwrap_or(KEPT).min(KEPT),
            truncated: false,
        }));
        let readers = [
            child
                .stdout
                .take()
                .map(|pipe| tokio::spawn(collect(pipe, Arc::clone(&output)))),
            child
                .stderr
                .take()
                .map(|pipe| tokio::spawn(collect(pipe, Arc::clone(&output)))),
        ];
        let group = Group::of(&child);
        let (ended, exit) = watch::channel(None);
        tokio::spawn(async move {
            let status = child.wait().await;
            // All output is there when the end is told, unless something that
            // was left behind holds the pipe open.
            let drained = futures_util::future::join_all(readers.into_iter().flatten());
            let _ = tokio::time::timeout(std::time::Duration::from_millis(500), drained).await;
            ended.send_replace(Some(exit_status(status.ok())));
        });
        self.created += 1;
        let id = format!("terminal-{}", self.created);
        let terminal = Terminal {
            group,
            output,
            exit,
        };
        self.open.insert(id.clone(), terminal);
        Ok(id)
    }

    pub(super) fn output(&self, id: &str) -> Result<TerminalOutputResponse, Error> {
        let terminal = self.find(id)?;
        let output = terminal
            .output
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let answer = TerminalOutputResponse::new(output.text.clone(), output.truncated);
        let exit = terminal.exit.borrow().clone();
        Ok(answer.exit_status(exit))
    }

    /// What a terminal has said, for showing it.
    pub(super) fn shown(&self, id: &str) -> Option<String> {
        let Some(terminal) = self.open.get(id) else {
            let mut released = self.released.iter();
            let (_, text) = released.find(|(released, _)| released == id)?;
            return Some(text.clone());
        };
        let output = terminal
            .output
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Some(output.text.clone())
    }

    /// Resolves when a command has ended.
    pub(super) fn exit(
        &self,
        id: &str,
    ) -> Result<impl Future<Output = TerminalExitStatus> + Send + use<>, Error> {
        let mut exit = self.find(id)?.exit.clone();
        Ok(async move {
            match exit.wait_for(Option::is_some).await {
                Ok(status) => status.clone().unwrap_or_default(),
                Err(_) => TerminalExitStatus::default(),
            }
        })
    }

    pub(super) fn kill(&self, id: &str) -> Result<(), Error> {
        self.find(id)?.group.signal(Signal::KILL);
        Ok(())
    }

    pub(super) fn release(&mut self, id: &str) -> Result<(), Error> {
        self.find(id)?;
        if let Some(text) = self.shown(id) {
            if self.released.len() == RELEASED {
                self.released.pop_front();
            }
            self.released.push_back((id.to_owned(), text));
        }
        self.open.remove(id);
        Ok(())
    }

    pub(super) fn kill_all(&self) {
        for terminal in self.open.values() {
            terminal.group.signal(Signal::KILL);
        }
    }

    fn find(&self, id: &str) -> Result<&Terminal, Error> {
        let unknown = || Error::new(-32002, format!("there is no terminal `{id}`"));
        self.open.get(id).ok_or_else(unknown)
    }
}

async fn collect(mut pipe: impl AsyncRead + Unpin, output: Arc<Mutex<Output>>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read) = pipe.read(&mut buffer).await {
        if read == 0 {
            return;
        }
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.add(&buffer[..read]);
    }
}

impl Output {
    fn add(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.partial) {
            Ok(_) => self.partial.len(),
            // Cut within a character: the rest is on its way.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.partial.len(),
        };
        let rest = self.partial.split_off(whole);
        self.text.push_str(&String::from_utf8_lossy(&self.partial));
        self.partial = rest;
        if self.text.len() > self.limit {
            self.truncated = true;
            keep_end(&mut self.text, self.limit);
        }
    }
}

fn exit_status(status: Option<std::process::ExitStatus>) -> TerminalExitStatus {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.and_then(|status| status.code());
    let signal = status.and_then(|status| status.signal());
    TerminalExitStatus::new()
        .exit_code(code.and_then(|code| u32::try_from(code).ok()))
        .signal(signal.map(|signal| format!("signal {signal}")))
}
