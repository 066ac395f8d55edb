//! Commands in terminals as part of a turn: those that an agent's tool call
//! needs, and those that a person writes with `!` before them, which no agent
//! is asked about.

use std::sync::Arc;

use bytes::Bytes;
use innkeeper_protocol::agent::{
    Approval, CommandOutcome, CommandRun, Decision, EditedFile, ToolReady, ToolStart,
};
use innkeeper_protocol::house::actions::{StateAction, TerminalClaimedAction};
use innkeeper_protocol::house::common::StringOrMarkdown;
use innkeeper_protocol::house::state::{
    ContentRef, FileEditSide, Message, MessageKind, TerminalClaim, TerminalCommandResult,
    TerminalContentPart, TerminalSessionClaim, TerminalState, ToolCallResult, ToolCallState,
    ToolResultContent, ToolResultFileEditContent, ToolResultTerminalContent,
};
use innkeeper_protocol::workspace::terminal::{OpenTerminal, Program, Size, TerminalCommand};
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::json;

use crate::Engine;
use crate::edits::line_counts;
use crate::labels::Label;
use crate::turns::Ending;

/// What a message begins with that is a command for a terminal.
pub const COMMAND_PREFIX: &str = "!";

/// How much of a command's output stands in its result; the terminal has more.
const PREVIEW_BYTES: usize = 16 * 1024;

/// A command that belongs to a turn.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) chat: ChannelUri,
    pub(crate) turn: Arc<str>,
    /// What the agent calls it.
    name: String,
    /// The tool call that shows it.
    call: Option<String>,
    pub(crate) command: String,
    pub(crate) began: Timestamp,
    /// How much of its output is reported.
    output_bytes: usize,
    /// The turn is the host's own: no agent is asked.
    by_host: bool,
}

impl Engine {
    /// Runs the message of a turn as a command, if it is one.
    pub(crate) fn run_own_command(&mut self, uri: &ChannelUri) -> bool {
        let Some(chat) = self.chats.get_mut(uri) else {
            return false;
        };
        let Some((turn, active)) = chat.turn.as_mut().zip(chat.head.active_turn.as_ref()) else {
            return false;
        };
        let Some(command) = own_command(&active.message) else {
            return false;
        };
        turn.prompted = true;
        turn.by_host = true;
        let locale = turn.locale;
        let call = format!("command-{}", active.response_parts.len() + 1);
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
            run: call.clone(),
            call: Some(call),
            program: Program::Command(command),
            title: None,
            directory: None,
            environment: None,
            output_bytes: None,
        };
        self.tool_started(uri, start);
        self.tool_ready(uri, ready);
        self.start_run(uri, run, true);
        true
    }

    /// An agent needs a command to be run.
    pub(crate) fn run_command(&mut self, uri: &ChannelUri, run: CommandRun) {
        self.start_run(uri, run, false);
    }

    fn start_run(&mut self, uri: &ChannelUri, wanted: CommandRun, by_host: bool) {
        let Some(chat) = self.chats.get(uri) else {
            return;
        };
        let Some(turn) = chat.turn.as_ref().map(|turn| turn.id.clone()) else {
            return;
        };
        let session = chat.session.clone();
        let run = Run {
            chat: uri.clone(),
            turn: turn.clone(),
            name: wanted.run.clone(),
            call: wanted.call.clone(),
            command: wanted.program.line(),
            began: self.now,
            output_bytes: wanted.output_bytes.unwrap_or_default().max(PREVIEW_BYTES),
            by_host,
        };
        if let Err(reason) = self.check_room_for_terminal() {
            return self.report_run(&run, failure(&reason));
        }
        let nonce = &self.config.nonce;
        let number = self.last_terminal + 1;
        let terminal = ChannelUri::from(format!("ahp-terminal:/{nonce}-{number}"));
        let claim = TerminalClaim::Session(TerminalSessionClaim {
            session: session.to_string(),
            chat: uri.to_string(),
            turn_id: Some(turn.to_string()),
            tool_call_id: wanted.call.clone(),
        });
        let directory = wanted.directory.or_else(|| self.first_directory(&session));
        let open = OpenTerminal {
            program: wanted.program,
            directory,
            environment: wanted.environment,
            size: Size::default(),
        };
        let title = wanted.title.unwrap_or_else(|| run.command.clone());
        let shown = ToolResultTerminalContent {
            resource: terminal.to_string(),
            title: title.clone(),
            is_pty: Some(true),
            result: None,
        };
        self.open_terminal(&terminal, claim, Some(title), open, Some(run));
        self.list_terminals();
        if let Some(call) = &wanted.call {
            self.show(uri, call, ToolResultContent::Terminal(shown));
        }
        if !by_host {
            let (run, terminal) = (wanted.run, terminal.to_string());
            self.decided(uri, Decision::CommandStarted { run, terminal });
        }
    }

    /// The terminal of a command that still runs for a chat's turn.
    fn terminal_of_run(&self, uri: &ChannelUri, name: &str) -> Option<&ChannelUri> {
        let turn = &self.chats.get(uri)?.turn.as_ref()?.id;
        let of_run = |run: &Run| run.chat == *uri && run.turn == *turn && run.name == name;
        let mut terminals = self.terminals.iter();
        let found = terminals.find(|(_, known)| known.run.as_ref().is_some_and(of_run));
        found.map(|(terminal, _)| terminal)
    }

    /// The agent asks what a command has said so far. Of one that has ended it
    /// was told already.
    pub(crate) fn read_command(&mut self, uri: &ChannelUri, name: String) {
        let terminal = self.terminal_of_run(uri, &name);
        let known = terminal.and_then(|terminal| self.terminals.get(terminal));
        let Some((known, run)) = known.and_then(|known| Some((known, known.run.as_ref()?))) else {
            return;
        };
        let CommandOutcome {
            output, truncated, ..
        } = said(&known.state, run.output_bytes);
        let output = Decision::CommandOutput {
            run: name,
            output,
            truncated,
        };
        self.decided(uri, output);
    }

    pub(crate) fn stop_command(&mut self, uri: &ChannelUri, name: &str) {
        let terminal = self.terminal_of_run(uri, name);
        if let Some(known) = terminal.and_then(|terminal| self.terminals.get(terminal)) {
            let terminal = known.id;
            self.tell_terminal(TerminalCommand::Close { terminal });
        }
    }

    /// Adds something to what a running tool call shows.
    fn show(&mut self, uri: &ChannelUri, call: &str, block: ToolResultContent) {
        if let Some(ToolCallState::Running(running)) = self.tool_call(uri, call) {
            let mut content = running.content.clone().unwrap_or_default();
            content.push(block);
            self.tool_content(uri, call.to_owned(), content);
        }
    }

    pub(crate) fn file_edited(&mut self, uri: &ChannelUri, edited: EditedFile) {
        let EditedFile {
            call,
            uri: file,
            before,
            after,
        } = edited;
        let diff = line_counts(before.as_deref(), after.as_deref());
        let mut side = |content: Option<Bytes>| {
            let kept = self.keep_content(uri, content?, "text/plain".to_owned())?;
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

    /// The process in a terminal has ended.
    pub(crate) fn run_exited(&mut self, terminal: &ChannelUri, exit_code: Option<i64>) {
        let Some(known) = self.terminals.get_mut(terminal) else {
            return;
        };
        let Some(run) = known.run.take() else {
            return;
        };
        let outcome = CommandOutcome {
            exit_code,
            ..said(&known.state, run.output_bytes)
        };
        let session = self.chats.get(&run.chat).map(|chat| chat.session.clone());
        self.background(terminal);
        self.note_result(terminal, &run, &outcome);
        self.report_run(&run, outcome);
        if let Some(session) = session {
            self.retire_terminal(terminal, &session);
        }
    }

    /// Somebody took the terminal of a command over: the turn does not wait
    /// for it any longer.
    pub(crate) fn run_claimed(&mut self, terminal: &ChannelUri, claim: &TerminalClaim) {
        let Some(known) = self.terminals.get_mut(terminal) else {
            return;
        };
        let still_waits = |run: &Run| {
            matches!(claim, TerminalClaim::Session(claim)
                if claim.tool_call_id == run.call
                    && claim.turn_id.as_deref() == Some(&*run.turn))
        };
        if known.run.as_ref().is_none_or(still_waits) {
            return;
        }
        if let Some(run) = known.run.take() {
            let outcome = CommandOutcome {
                detached: true,
                ..said(&known.state, run.output_bytes)
            };
            self.report_run(&run, outcome);
        }
    }

    pub(crate) fn run_failed(&mut self, terminal: &ChannelUri, reason: &str) {
        let known = self.terminals.get_mut(terminal);
        if let Some(run) = known.and_then(|known| known.run.take()) {
            self.report_run(&run, failure(reason));
        }
    }

    /// A turn has ended: what runs for it ends too.
    pub(crate) fn end_commands_of(&mut self, uri: &ChannelUri, turn: &str) {
        if self.terminals.is_empty() {
            return;
        }
        let of_turn = |run: &Run| run.chat == *uri && &*run.turn == turn;
        let running = self.terminals.iter();
        let mut running: Vec<_> = running
            .filter(|(_, known)| known.run.as_ref().is_some_and(of_turn))
            .map(|(_, known)| known.id)
            .collect();
        running.sort();
        for terminal in running {
            self.tell_terminal(TerminalCommand::Close { terminal });
        }
    }

    /// The claim of a terminal whose command has ended: its session's alone.
    fn background(&mut self, terminal: &ChannelUri) {
        let claim = self.terminals.get(terminal).map(|known| &known.state.claim);
        if let Some(TerminalClaim::Session(claim)) = claim
            && claim.turn_id.is_some()
        {
            let claim = TerminalClaim::Session(TerminalSessionClaim {
                turn_id: None,
                tool_call_id: None,
                ..claim.clone()
            });
            let action = TerminalClaimedAction { claim };
            self.emit(terminal, StateAction::TerminalClaimed(action), None);
        }
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
        let waits = self
            .chats
            .get(&run.chat)
            .and_then(|chat| chat.turn.as_ref());
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
        self.tool_finished(&run.chat, run.name.clone(), result, false);
        self.end_turn(&run.chat, Ending::Complete);
        self.pump(&run.chat);
        self.next_pending_turn(&run.chat, true);
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

fn failure(reason: &str) -> CommandOutcome {
    CommandOutcome {
        error: Some(reason.to_owned()),
        ..CommandOutcome::default()
    }
}

/// The end of what a terminal showed.
fn said(state: &TerminalState, bytes: usize) -> CommandOutcome {
    let texts = state.content.iter().map(|part| match part {
        TerminalContentPart::Unclassified(part) => part.value.as_str(),
        TerminalContentPart::Command(part) => part.output.as_str(),
        TerminalContentPart::Unknown(_) => "",
    });
    let all: String = texts.collect();
    let end = end_of(&all, bytes);
    CommandOutcome {
        truncated: end.len() < all.len(),
        output: end.to_owned(),
        ..CommandOutcome::default()
    }
}

fn end_of(text: &str, bytes: usize) -> &str {
    let mut cut = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    &text[cut..]
}
