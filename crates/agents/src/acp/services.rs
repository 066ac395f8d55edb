//! What the host does for an agent: files and commands (`fs/*`, `terminal/*`).
//! Some agents ask for them without looking at what was announced; they are
//! served all the same.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, CreateTerminalResponse, Error};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::files::Files;
use super::rpc::Answers;
use super::terminals::Terminals;

#[derive(Debug)]
pub(super) struct Services {
    files: Files,
    terminals: Terminals,
    directory: Option<PathBuf>,
    /// The turn was cancelled: what the agent still wants to begin, it wants
    /// because it has not heard of that yet.
    stopped: bool,
    /// What is on its way to an answer, and ends with the backend.
    at_work: JoinSet<()>,
}

impl Services {
    pub(super) fn new(directories: &[PathBuf]) -> Self {
        Self {
            files: Files::new(directories),
            terminals: Terminals::default(),
            directory: directories.first().cloned(),
            stopped: false,
            at_work: JoinSet::new(),
        }
    }

    /// Answers a request if it is one for services, now or later.
    pub(super) fn serve(
        &mut self,
        answers: &Answers,
        id: &Value,
        method: &str,
        params: &Value,
    ) -> bool {
        while self.at_work.try_join_next().is_some() {}
        let names = CLIENT_METHOD_NAMES;
        let terminal = || params["terminalId"].as_str().unwrap_or_default();
        let empty = |()| json!({});
        match method {
            _ if method == names.fs_read_text_file => {
                self.with_files(answers, id, params, |files, request| files.read(&request));
            }
            _ if method == names.fs_write_text_file => {
                self.with_files(answers, id, params, |files, request| {
                    files.write(&request).map(|()| json!({}))
                });
            }
            _ if method == names.terminal_create && self.stopped => {
                answers.give(id, Err::<Value, _>(Error::request_cancelled()));
            }
            _ if method == names.terminal_create => {
                let directory = self.directory.as_ref();
                let created = read(params)
                    .and_then(|request| self.terminals.create(request, directory))
                    .map(CreateTerminalResponse::new);
                answers.give(id, created);
            }
            _ if method == names.terminal_output => {
                answers.give(id, self.terminals.output(terminal()));
            }
            _ if method == names.terminal_wait_for_exit => match self.terminals.exit(terminal()) {
                Ok(exit) => {
                    let (answers, id) = (answers.clone(), id.clone());
                    self.at_work
                        .spawn(async move { answers.give(&id, Ok(exit.await)) });
                }
                Err(error) => answers.give(id, Err::<Value, _>(error)),
            },
            _ if method == names.terminal_kill => {
                answers.give(id, self.terminals.kill(terminal()).map(empty));
            }
            _ if method == names.terminal_release => {
                answers.give(id, self.terminals.release(terminal()).map(empty));
            }
            _ => return false,
        }
        true
    }

    /// Ends all commands that run, and begins no others until the next turn.
    pub(super) fn stop_commands(&mut self) {
        self.stopped = true;
        self.terminals.kill_all();
    }

    /// A turn begins.
    pub(super) fn allow_commands(&mut self) {
        self.stopped = false;
    }

    /// What a command has said so far.
    pub(super) fn terminal_output(&self, id: &str) -> Option<String> {
        self.terminals.shown(id)
    }

    /// Files are slow at times: nobody waits for them here.
    fn with_files<R: DeserializeOwned + Send + 'static, T: serde::Serialize>(
        &mut self,
        answers: &Answers,
        id: &Value,
        params: &Value,
        work: impl FnOnce(&Files, R) -> Result<T, Error> + Send + 'static,
    ) {
        match read::<R>(params) {
            Ok(request) => {
                let (answers, id) = (answers.clone(), id.clone());
                let files = self.files.clone();
                self.at_work
                    .spawn_blocking(move || answers.give(&id, work(&files, request)));
            }
            Err(error) => answers.give(id, Err::<Value, _>(error)),
        }
    }
}

fn read<T: DeserializeOwned>(params: &Value) -> Result<T, Error> {
    T::deserialize(params).map_err(|error| Error::new(-32602, error.to_string()))
}
