//! What the host does for an agent: files and commands (`fs/*`, `terminal/*`).
//! Some agents ask for them without looking at what was announced; they are
//! served all the same.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, CreateTerminalResponse, Error};
use innkeeper_protocol::agent::{CommandOutcome, TurnEvent};
use innkeeper_protocol::newest::state::ToolResultContent;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::files::Files;
use super::rpc::Answers;
use super::terminals::Terminals;
use super::whole_edits::Texts;
use super::written::{Recent, Written};
use crate::environment::Surroundings;

/// How many files may wait to be written, and how large they may be together.
const MOST_WRITES: usize = 64;
const MOST_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// How many files are read and written at once, and how many more may wait for
/// that: what is read may be large, and the agent may be slow to take it.
const AT_ONCE: usize = 4;
const MOST_AT_WORK: usize = 1_000;

/// How long an agent is kept waiting for a look at the files that it edits.
const LOOKING: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Services {
    files: Files,
    terminals: Terminals,
    directory: Option<PathBuf>,
    /// A turn runs that was not cancelled. (What an agent still wants to begin
    /// after that, it wants because it has not heard of it yet.)
    in_turn: bool,
    /// Files that the agent wants to write: which request wants it, and what.
    writes: HashMap<String, (Value, Value)>,
    last_write: u64,
    /// What was written, until a call shows it.
    written: Recent,
    /// What is on its way to an answer, and ends with the backend.
    at_work: JoinSet<()>,
    /// A permit for each that is at it.
    permits: Arc<Semaphore>,
}

impl Services {
    pub(super) fn new(directories: &[PathBuf]) -> Self {
        Self {
            files: Files::new(directories),
            terminals: Terminals::default(),
            directory: directories.first().cloned(),
            in_turn: false,
            writes: HashMap::new(),
            last_write: 0,
            written: Recent::default(),
            at_work: JoinSet::new(),
            permits: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Commands are run in what the agent was started in.
    pub(super) fn are_in(&mut self, surroundings: &Surroundings) {
        self.terminals.surroundings = surroundings.clone();
    }

    /// Answers a request if it is one for services, now or later; says what
    /// the engine has to do for it, or nothing if it is not such a request.
    pub(super) fn serve(
        &mut self,
        answers: &Answers,
        id: &Value,
        method: &str,
        params: &Value,
    ) -> Option<Vec<TurnEvent>> {
        while self.at_work.try_join_next().is_some() {}
        let names = CLIENT_METHOD_NAMES;
        let run = || params["terminalId"].as_str().unwrap_or_default().to_owned();
        let mut events = Vec::new();
        match method {
            _ if method == names.fs_read_text_file => {
                self.with_files(answers, id, params, |files, request| files.read(&request));
            }
            _ if method == names.fs_write_text_file && !self.in_turn => {
                self.write(answers, id, params);
            }
            _ if method == names.fs_write_text_file => {
                if !self.has_room_for(params) {
                    let error = "too many files are waiting to be written; write them later";
                    answers.give(id, Err::<Value, _>(Error::new(-32603, error)));
                } else {
                    self.last_write += 1;
                    let write = self.last_write.to_string();
                    self.writes
                        .insert(write.clone(), (id.clone(), params.clone()));
                    events.push(TurnEvent::WriteFile { write });
                }
            }
            _ if method == names.terminal_create && !self.in_turn => {
                answers.give(id, Err::<Value, _>(Error::request_cancelled()));
            }
            _ if method == names.terminal_create => match read(params) {
                Ok(request) => {
                    let (terminal, run) = self.terminals.create(request, self.directory.as_ref());
                    answers.give(id, Ok(CreateTerminalResponse::new(terminal)));
                    events.push(TurnEvent::RunCommand(Box::new(run)));
                }
                Err(error) => answers.give(id, Err::<Value, _>(error)),
            },
            _ if method == names.terminal_output => {
                if self.terminals.read(answers, &run(), id) {
                    events.push(TurnEvent::ReadCommand { run: run() });
                }
            }
            _ if method == names.terminal_wait_for_exit => {
                self.terminals.wait(answers, &run(), id);
            }
            _ if method == names.terminal_kill || method == names.terminal_release => {
                let released = method == names.terminal_release;
                if self.terminals.stop(answers, &run(), id, released) {
                    events.push(TurnEvent::StopCommand { run: run() });
                }
            }
            _ => return None,
        }
        Some(events)
    }

    /// A turn begins.
    pub(super) fn turn_begins(&mut self) {
        self.in_turn = true;
    }

    /// The turn is over or was cancelled: the engine ends what runs in it.
    pub(super) fn turn_ends(&mut self, answers: &Answers) {
        self.in_turn = false;
        for (id, _) in std::mem::take(&mut self.writes).into_values() {
            answers.give(&id, Err::<Value, _>(Error::request_cancelled()));
        }
        self.terminals.all_ended(answers);
    }

    /// Whether one more file may wait to be written.
    fn has_room_for(&self, params: &Value) -> bool {
        let size = |params: &Value| params["content"].as_str().map_or(0, str::len);
        let waiting: usize = self.writes.values().map(|(_, params)| size(params)).sum();
        let fits = waiting == 0 || waiting + size(params) <= MOST_WAITING_BYTES;
        self.writes.len() < MOST_WRITES && fits
    }

    /// A file may be written.
    pub(super) fn may_write(&mut self, answers: &Answers, write: &str) {
        if let Some((id, params)) = self.writes.remove(write) {
            self.write(answers, &id, &params);
        }
    }

    fn write(&mut self, answers: &Answers, id: &Value, params: &Value) {
        let recent = self.in_turn.then(|| self.written.clone());
        self.with_files(answers, id, params, move |files, request| {
            let written = files.write(&request)?;
            if let Some((recent, written)) = recent.zip(written) {
                recent.add(written);
            }
            Ok(json!({}))
        });
    }

    /// What the agent has written since this was asked last.
    pub(super) fn take_written(&self) -> impl Iterator<Item = Written> + use<> {
        self.written.take().into_iter()
    }

    /// What these files hold, as far as that is to be shown, and known soon.
    pub(super) async fn texts(&self, paths: Vec<PathBuf>) -> Texts {
        if paths.is_empty() {
            return Texts::new();
        }
        let files = self.files.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let text_of = |path: PathBuf| Some((files.shown_text(&path)?, path));
            let texts = paths.into_iter().filter_map(text_of);
            texts.map(|(text, path)| (path, text)).collect()
        });
        match tokio::time::timeout(LOOKING, reading).await {
            Ok(Ok(texts)) => texts,
            _ => Texts::new(),
        }
    }

    pub(super) fn command_started(&mut self, run: &str, terminal: String) {
        self.terminals.started(run, terminal);
    }

    pub(super) fn command_said(&mut self, answers: &Answers, run: &str, output: &str, cut: bool) {
        self.terminals.said(answers, run, output, cut);
    }

    pub(super) fn command_ended(&mut self, answers: &Answers, run: &str, outcome: CommandOutcome) {
        self.terminals.ended(answers, run, outcome);
    }

    /// A terminal, as a tool call shows it.
    pub(super) fn terminal(&self, id: &str) -> Option<ToolResultContent> {
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
            Ok(_) if self.at_work.len() >= MOST_AT_WORK => {
                let error = "too many files are waiting to be read; read them later";
                answers.give(id, Err::<Value, _>(Error::new(-32603, error)));
            }
            Ok(request) => {
                let (answers, id) = (answers.clone(), id.clone());
                let (files, permits) = (self.files.clone(), Arc::clone(&self.permits));
                self.at_work.spawn(async move {
                    let _permit = permits.acquire_owned().await;
                    answers.has_room().await;
                    let answer = move || answers.give(&id, work(&files, request));
                    let _ = tokio::task::spawn_blocking(answer).await;
                });
            }
            Err(error) => answers.give(id, Err::<Value, _>(error)),
        }
    }
}

fn read<T: DeserializeOwned>(params: &Value) -> Result<T, Error> {
    T::deserialize(params).map_err(|error| Error::new(-32602, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::LineWriter;

    #[tokio::test]
    async fn files_beyond_those_that_may_wait_are_refused_and_all_others_are_read() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a.txt");
        std::fs::write(&file, "soup").unwrap();
        let mut services = Services::new(&[place.path().to_owned()]);
        let (writer, mut lines) = LineWriter::with_lines();
        let answers = Answers::by(writer);
        let method = CLIENT_METHOD_NAMES.fs_read_text_file;
        let params = json!({"sessionId": "s", "path": file});
        for id in 0..=MOST_AT_WORK {
            assert!(
                services
                    .serve(&answers, &json!(id), method, &params)
                    .is_some()
            );
        }
        let mut refused = Vec::new();
        for _ in 0..=MOST_AT_WORK {
            let line = lines.recv().await.unwrap();
            let answer: Value = serde_json::from_slice(&line).unwrap();
            match answer["result"]["content"].as_str() {
                Some(text) => assert_eq!(text, "soup"),
                None => refused.push(answer["id"].clone()),
            }
        }
        assert_eq!(refused, [json!(MOST_AT_WORK)]);
    }
}
