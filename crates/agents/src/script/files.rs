//! The steps that touch the machine: a file that is really written, and a
//! command that really runs.

use std::io;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use innkeeper_protocol::CallId;
use innkeeper_protocol::agent::{
    Approval, CommandOutcome, CommandRun, Decision, EditedFile, TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{FileEditCollection, ToolCallResult};
use innkeeper_protocol::workspace::terminal::TerminalProgram;
use serde::Deserialize;
use serde_json::json;

use super::player::Player;
use super::tool::Confirm;
use crate::{edits, whole_file};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Edit {
    /// Relative to the working directory, and not out of it.
    path: String,
    content: String,
    #[serde(default)]
    confirm: Confirm,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TerminalStep {
    command: String,
    title: Option<String>,
}

impl Player<'_> {
    pub(super) async fn edit(&mut self, edit: &Edit) {
        let call = self.start_call("edit", "Edit", None).await;
        let input = json!({"path": edit.path, "content": edit.content}).to_string();
        let message = format!("Edit {}", edit.path);
        let approval = edit.confirm.approval(self.preview(edit).await, false);
        let asks = matches!(approval, Approval::Needed(_));
        self.ready(&call, Some(input), message, approval).await;
        if !asks || self.allowed(&call).await {
            self.make_edit(edit, &call).await;
        }
    }

    /// What the edit would change, for whoever is asked about it.
    async fn preview(&self, edit: &Edit) -> Option<FileEditCollection> {
        let Target { path, before, .. } = self.target(edit).await.ok()?;
        // What is not text is not shown.
        let before = before.map(String::from_utf8).transpose().ok()?;
        let edit = edits::edit(&path, before.as_deref(), &edit.content);
        Some(FileEditCollection { items: vec![edit] })
    }

    async fn target(&self, edit: &Edit) -> Result<Target, String> {
        let directory = self.memory.lock().directories.first().cloned();
        let directory = directory.ok_or(
            "this session has no working directory; create one with a directory to have files \
             edited",
        )?;
        Target::of(&directory, edit).await
    }

    pub(super) async fn make_edit(&mut self, edit: &Edit, call: &CallId) {
        let wanted = TurnEvent::WriteFile {
            write: call.to_string(),
        };
        self.emit(wanted).await;
        let may_write = |decision: &Decision| match decision {
            Decision::MayWrite { write } if write == call => Some(()),
            _ => None,
        };
        self.inbox.decision(&self.turn, may_write).await;
        let done = match self.target(edit).await {
            Ok(target) => write(&target.path, edit).await.map(|()| target),
            Err(problem) => Err(problem),
        };
        let problem = match done {
            Ok(target) => {
                let edited = EditedFile {
                    call: call.clone(),
                    uri: target.uri,
                    before: target.before.map(Bytes::from),
                    after: Some(Bytes::from(edit.content.clone())),
                };
                self.emit(TurnEvent::FileEdited(Box::new(edited))).await;
                None
            }
            Err(problem) => Some(problem),
        };
        let past = match &problem {
            None => format!("Edited {}", edit.path),
            Some(_) => format!("Editing {} failed", edit.path),
        };
        self.finish(call, result(past, problem), false).await;
    }

    pub(super) async fn terminal(&mut self, step: &TerminalStep) {
        let call = self.start_call("terminal", "Terminal", None).await;
        let input = json!({ "command": step.command }).to_string();
        let message = format!("Run {}", step.command);
        self.ready(&call, Some(input), message, Approval::NotNeeded)
            .await;
        self.run_in_terminal(step, &call).await;
    }

    pub(super) async fn run_in_terminal(&mut self, step: &TerminalStep, call: &CallId) {
        let run = CommandRun {
            run: call.to_string(),
            call: Some(call.clone()),
            program: TerminalProgram::Command(step.command.clone()),
            title: step.title.clone(),
            directory: None,
            environment: None,
            output_bytes: None,
        };
        self.emit(TurnEvent::RunCommand(Box::new(run))).await;
        let ended = |decision: &Decision| match decision {
            Decision::Command { run, outcome } if run == call => Some(outcome.clone()),
            _ => None,
        };
        let outcome = self.inbox.decision(&self.turn, ended).await;
        let past = format!("Ran {}", step.command);
        let problem = match outcome {
            CommandOutcome {
                error: Some(error), ..
            } => Some(error),
            CommandOutcome { detached: true, .. }
            | CommandOutcome {
                exit_code: Some(0), ..
            } => None,
            CommandOutcome {
                exit_code: Some(code),
                ..
            } => Some(format!("the command ended with code {code}")),
            CommandOutcome { .. } => Some("the command was killed".to_owned()),
        };
        self.finish(call, result(past, problem), false).await;
    }
}

fn result(past: String, problem: Option<String>) -> ToolCallResult {
    ToolCallResult {
        success: problem.is_none(),
        past_tense_message: StringOrMarkdown::Plain(past),
        content: None,
        structured_content: None,
        error: problem.map(|problem| json!({ "message": problem })),
    }
}

/// The file that an edit is about.
struct Target {
    path: PathBuf,
    uri: String,
    /// What it holds, if it is there.
    before: Option<Vec<u8>>,
}

impl Target {
    async fn of(directory: &str, edit: &Edit) -> Result<Self, String> {
        let path = Path::new(&edit.path);
        let stays_within = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !stays_within || edit.path.is_empty() {
            return Err(format!(
                "`{}` is not a path below the working directory",
                edit.path
            ));
        }
        let base = local_path(directory)
            .ok_or_else(|| format!("`{directory}` is not a directory of this machine"))?;
        let target = base.join(path);
        let before = match tokio::fs::read(&target).await {
            Ok(before) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("`{}` cannot be read: {error}", target.display())),
        };
        let escaped: Vec<String> = path
            .iter()
            .map(|part| escape(&part.to_string_lossy()))
            .collect();
        Ok(Self {
            path: target,
            uri: format!("{}/{}", directory.trim_end_matches('/'), escaped.join("/")),
            before,
        })
    }
}

async fn write(path: &Path, edit: &Edit) -> Result<(), String> {
    let (at, content) = (path.to_owned(), edit.content.clone());
    let writing = tokio::task::spawn_blocking(move || whole_file::write(&at, content.as_bytes()));
    let written = writing.await.unwrap_or_else(|error| Err(error.into()));
    written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
}

/// The path of a `file:` URI.
fn local_path(uri: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bytes = Vec::new();
    let mut rest = uri.strip_prefix("file://")?.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%').then(|| tail.get(..2)).flatten();
        let decoded = escaped
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(decoded.unwrap_or(first));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}

fn escape(segment: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let bytes = segment.bytes();
    bytes
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
