//! Commands in terminals as part of a turn: those that an agent's tool call
//! needs, and those that a person writes with `!` before them, which no agent
//! is asked about.

use bytes::Bytes;
use innkeeper_protocol::agent::{
    Approval, CommandOutcome, CommandRun, Decision, EditedFile, ToolReady, ToolStart,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ContentRef, FileEditSide, Message, MessageKind, TerminalClaim, TerminalCommandResult,
    TerminalSessionClaim, ToolCallResult, ToolCallState, ToolResultContent,
    ToolResultFileEditContent, ToolResultTerminalContent,
};
use innkeeper_protocol::workspace::terminal::{OpenTerminal, Size, TerminalProgram};
use innkeeper_protocol::{CallId, ChannelUri};
use serde_json::json;

use super::edits::line_counts;
use super::pending::Next;
use super::{Ending, TurnsMut};
use crate::labels::Label;
use crate::terminals::{NewTerminal, Run, RunOver, end_of};

/// What a message begins with that is a command for a terminal.
pub const COMMAND_PREFIX: &str = "!";

/// How much of a command's output stands in its result; the terminal has more.
const PREVIEW_BYTES: usize = 16 * 1024;

impl TurnsMut<'_> {
    /// Whether the message of a turn is a command that the host runs itself.
    pub(super) fn is_own_command(&self, uri: &ChannelUri) -> bool {
        let chat = self.core.channels.chat(uri);
        let active = chat.and_then(|chat| chat.head.active_turn.as_ref());
        active.is_some_and(|active| own_command(&active.message).is_some())
    }

    /// Runs the message of a turn as a command.
    pub(super) fn run_own_command(&mut self, uri: &ChannelUri) {
        let chat = self.core.channels.chat(uri);
        let active = chat.and_then(|chat| chat.head.active_turn.as_ref());
        let Some((turn, active)) = self.own.turn_mut(uri).zip(active) else {
            return;
        };
        let Some(command) = own_command(&active.message) else {
            return;
        };
        turn.prompted = true;
        turn.by_host = true;
        let locale = turn.locale;
        let call = CallId::from(format!("command-{}", active.response_parts.len() + 1));
        let start = ToolStart {
            call: call.clone(),
            name: "terminal".to_owned(),
            display_name: Label::Terminal.text(locale),
            intention: None,
            contributor: None,
            meta: None,
        };
        let ready = ToolReady {
            call: call.clone(),
            input: Some(json!({ "command": command }).to_string()),
            message: StringOrMarkdown::Plain(Label::RunCommand(&command).text(locale)),
            approval: Approval::NotNeeded,
            meta: None,
        };
        let run = CommandRun {
            run: call.to_string(),
            call: Some(call),
            program: TerminalProgram::Command(command),
            title: None,
            directory: None,
            environment: None,
            output_bytes: None,
        };
        self.tool_started(uri, start);
        self.tool_ready(uri, ready);
        self.start_run(uri, run, true);
    }

    /// An agent needs a command to be run.
    pub(super) fn run_command(&mut self, uri: &ChannelUri, run: CommandRun) {
        self.start_run(uri, run, false);
    }

    fn start_run(&mut self, uri: &ChannelUri, wanted: CommandRun, by_host: bool) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        let Some(running) = self.own.turn(uri) else {
            return;
        };
        let (turn, locale) = (running.id.clone(), running.locale);
        let session = chat.session.clone();
        let run = Run {
            chat: uri.clone(),
            turn: turn.clone(),
            name: wanted.run.clone(),
            call: wanted.call.clone(),
            command: wanted.program.line(),
            began: self.core.measured(),
            output_bytes: wanted.output_bytes.unwrap_or_default().max(PREVIEW_BYTES),
            by_host,
        };
        if let Err(reason) = self.terminals.check_room(self.core) {
            return self.run_over(RunOver::failed(run, &reason));
        }
        let claim = TerminalClaim::Session(TerminalSessionClaim {
            session: session.to_string(),
            chat: uri.to_string(),
            turn_id: Some(turn.to_string()),
            tool_call_id: wanted.call.as_ref().map(CallId::to_string),
        });
        let channels = &self.core.channels;
        let known = channels.chat(uri);
        let first = known.and_then(|chat| channels.directories_of_chat(chat).first().copied());
        let directory = wanted.directory.or_else(|| first.cloned());
        let open = OpenTerminal {
            program: wanted.program,
            directory,
            environment: wanted.environment,
            size: Size::default(),
        };
        let title = wanted.title.unwrap_or_else(|| run.command.clone());
        let new = NewTerminal {
            claim,
            name: Some(title.clone()),
            open,
            run: Some(run),
        };
        let terminal = self.terminals.open_for_run(self.core, new, locale);
        let shown = ToolResultTerminalContent {
            resource: terminal.to_string(),
            title,
            is_pty: Some(true),
            result: None,
        };
        if let Some(call) = &wanted.call {
            self.show(uri, call, ToolResultContent::Terminal(shown));
        }
        if !by_host {
            let (run, terminal) = (wanted.run, terminal.to_string());
            self.decided(uri, Decision::CommandStarted { run, terminal });
        }
    }

    /// The agent asks what a command has said so far. Of one that has ended it
    /// was told already.
    pub(super) fn read_command(&mut self, uri: &ChannelUri, name: String) {
        let turn = self.own.turn(uri);
        let said = turn.and_then(|turn| {
            let terminals = &self.terminals;
            terminals.output_of_run(self.core, uri, &turn.id, &name)
        });
        if let Some(CommandOutcome {
            output, truncated, ..
        }) = said
        {
            let output = Decision::CommandOutput {
                run: name,
                output,
                truncated,
            };
            self.decided(uri, output);
        }
    }

    pub(super) fn stop_command(&mut self, uri: &ChannelUri, name: &str) {
        if let Some(turn) = self.own.turn(uri) {
            self.terminals.stop_run(self.core, uri, &turn.id, name);
        }
    }

    /// Adds something to what a running tool call shows.
    fn show(&mut self, uri: &ChannelUri, call: &str, block: ToolResultContent) {
        if let Some(ToolCallState::Running(running)) = self.tool_call(uri, call) {
            let mut content = running.content.clone().unwrap_or_default();
            content.push(block);
            self.tool_content(uri, call.into(), content);
        }
    }

    pub(super) fn file_edited(&mut self, uri: &ChannelUri, edited: EditedFile) {
        let EditedFile {
            call,
            uri: file,
            before,
            after,
        } = edited;
        let diff = line_counts(before.as_deref(), after.as_deref());
        let mut side = |content: Option<Bytes>| {
            let kept = self
                .core
                .keep_content(uri, content?, "text/plain".to_owned())?;
            Some(FileEditSide {
                uri: file.clone(),
                content: ContentRef {
                    uri: kept.uri,
                    size_hint: kept.size_hint,
                    content_type: kept.content_type,
                    nonce: None,
                },
            })
        };
        let (before, after) = (side(before), side(after));
        let block = ToolResultContent::FileEdit(ToolResultFileEditContent {
            before,
            after,
            diff,
        });
        self.show(uri, &call, block);
    }

    /// A command is over: whoever waits for it is told.
    pub(crate) fn run_over(&mut self, over: RunOver) {
        let RunOver {
            run,
            outcome,
            ended_in,
        } = over;
        let Some(terminal) = ended_in else {
            return self.report_run(&run, outcome);
        };
        let chat = self.core.channels.chat(&run.chat);
        let session = chat.map(|chat| chat.session.clone());
        self.note_result(&terminal, &run, &outcome);
        self.report_run(&run, outcome);
        self.terminals.retire(self.core, &terminal, session);
    }

    /// The tool call shows how its command ended.
    fn note_result(&mut self, terminal: &ChannelUri, run: &Run, outcome: &CommandOutcome) {
        let Some(call) = &run.call else {
            return;
        };
        let Some(ToolCallState::Running(running)) = self.tool_call(&run.chat, call) else {
            return;
        };
        let mut content = running.content.clone().unwrap_or_default();
        for block in &mut content {
            if let ToolResultContent::Terminal(shown) = block
                && shown.resource == terminal.as_str()
            {
                shown.result = Some(TerminalCommandResult {
                    exit_code: outcome.exit_code,
                    preview: Some(end_of(&outcome.output, PREVIEW_BYTES).to_owned()),
                    truncated: (outcome.truncated || outcome.output.len() > PREVIEW_BYTES)
                        .then_some(true),
                });
            }
        }
        self.tool_content(&run.chat, call.clone(), content);
    }

    /// Tells whoever waits for a command.
    fn report_run(&mut self, run: &Run, outcome: CommandOutcome) {
        let waits = self.own.turn(&run.chat);
        let Some(locale) = waits
            .filter(|turn| turn.id == run.turn)
            .map(|turn| turn.locale)
        else {
            return;
        };
        if !run.by_host {
            let name = run.name.clone();
            return self.decided(&run.chat, Decision::Command { run: name, outcome });
        }
        let message = Label::RanCommand(&run.command).text(locale);
        let result = ToolCallResult {
            success: outcome.detached || outcome.exit_code == Some(0),
            past_tense_message: StringOrMarkdown::Plain(message),
            content: None,
            structured_content: None,
            error: outcome.error.map(|error| json!({ "message": error })),
        };
        self.tool_finished(&run.chat, CallId::from(&run.name), result, false);
        self.end_turn(&run.chat, Ending::Complete);
        self.prompt(&run.chat);
        self.next_pending_turn(&run.chat, Next::AfterTurn);
    }
}

/// The command that a person's message is, if it is one.
fn own_command(message: &Message) -> Option<String> {
    let by_user = message.origin.kind == MessageKind::User;
    let command = message
        .text
        .trim_start()
        .strip_prefix(COMMAND_PREFIX)?
        .trim();
    (by_user && !command.is_empty()).then(|| command.to_owned())
}
