//! Terminals: a channel each, with what runs in them, what they show and who
//! holds them. The processes themselves are outside.
//!
//! A terminal lives in the memory of one life of the host. That of a tool call
//! leaves the list when its command has ended, and what it showed is kept with
//! its session: whoever subscribes to it later is given that.
//!
//! *Invariant*: what the host keeps of a terminal's content is the end of what
//! its subscribers were given. (The protocol lets both sides cut it
//! independently of each other; everything else in a terminal's state is what
//! the reducer makes of the actions.)

mod background;
mod dispatch;
mod heard;
mod opening;
mod runs;
mod scrollback;

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    RootTerminalsChangedAction, StateAction, TerminalCommandDetectionAvailableAction,
    TerminalCommandExecutedAction, TerminalCommandFinishedAction, TerminalDataAction,
    TerminalExitedAction,
};
use innkeeper_protocol::newest::errors::ahp_error_codes;
use innkeeper_protocol::newest::state::{
    TerminalClaim, TerminalInfo, TerminalLifecycleState, TerminalState,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::terminal::{
    TerminalCommand, TerminalEvent, TerminalId, TerminalReport,
};

use crate::core::Core;
use crate::effect::{ConnectionId, Effect, Ticket};

use heard::Heard;
pub(crate) use opening::{AwaitedTerminal, NewTerminal, has_left_memory};
pub(crate) use runs::{Run, RunOver, end_of};

/// Every terminal whose channel is in memory.
#[derive(Debug, Default)]
pub(crate) struct Terminals {
    known: HashMap<ChannelUri, Terminal>,
    /// Those in which something runs.
    running: HashMap<TerminalId, ChannelUri>,
    /// Who waits to be shown what a finished command showed.
    awaited: HashMap<Ticket, AwaitedTerminal>,
    /// Titles and directories that are to be told.
    heard: Heard,
    last: u64,
}

/// What the host knows of a terminal besides its state.
#[derive(Debug)]
struct Terminal {
    id: TerminalId,
    /// Who waits for it to open.
    opening: Option<(ConnectionId, RequestId)>,
    /// Somebody chose the title: what runs in it does not change it.
    named: bool,
    /// How many commands were seen in it.
    commands: u64,
    /// The command that runs, if commands are seen.
    command: Option<String>,
    /// The command of a turn that it was opened for.
    run: Option<Run>,
    /// The chat whose command goes on in it without its turn.
    goes_on_for: Option<ChannelUri>,
    /// It stands in the list of terminals.
    listed: bool,
    /// How much of what was typed has not reached the program yet.
    unread_input: usize,
}

fn has_exited(state: &TerminalState) -> bool {
    matches!(state.lifecycle, TerminalLifecycleState::Exited(_))
}

impl Terminals {
    /// Takes what happened in a terminal. Returns the command of a turn that is
    /// over with it.
    pub(crate) fn reported(&mut self, core: &mut Core, report: TerminalReport) -> Option<RunOver> {
        let Some(uri) = self.running.get(&report.terminal).cloned() else {
            // It was disposed of: what it still says is taken, so that it ends.
            if let TerminalEvent::Data { raw, .. } = report.event {
                take_output(core, report.terminal, raw, None);
            }
            return None;
        };
        match report.event {
            TerminalEvent::Opened { title, directory } => {
                self.opened(core, &uri, title, directory);
            }
            TerminalEvent::OpenFailed { reason } => return self.not_opened(core, &uri, &reason),
            TerminalEvent::Data { text, raw } => {
                let action = TerminalDataAction { data: text };
                core.emit(&uri, StateAction::TerminalData(action), None);
                let limit = core.config.limits.scrollback_bytes;
                if let Some(terminal) = core.channels.terminal_mut(&uri) {
                    scrollback::bound(&mut terminal.state.content, limit);
                }
                take_output(core, report.terminal, raw, Some(&uri));
            }
            TerminalEvent::InputWritten { bytes } => {
                if let Some(terminal) = self.known.get_mut(&uri) {
                    terminal.unread_input = terminal.unread_input.saturating_sub(bytes);
                }
            }
            TerminalEvent::TitleChanged(title) => self.hear_title(core, &uri, &title),
            TerminalEvent::DirectoryChanged(cwd) => self.hear_directory(core, &uri, cwd),
            TerminalEvent::CommandDetection => {
                let action = TerminalCommandDetectionAvailableAction {};
                let action = StateAction::TerminalCommandDetectionAvailable(action);
                core.emit(&uri, action, None);
            }
            TerminalEvent::CommandExecuted { line } => self.command_executed(core, &uri, line),
            TerminalEvent::CommandFinished { exit_code, millis } => {
                self.command_finished(core, &uri, exit_code, millis);
            }
            TerminalEvent::Exited { exit_code } => return self.exited(core, &uri, exit_code),
        }
        None
    }

    fn opened(
        &mut self,
        core: &mut Core,
        uri: &ChannelUri,
        title: String,
        directory: Option<String>,
    ) {
        self.hear_title(core, uri, &title);
        if let Some(directory) = directory {
            self.hear_directory(core, uri, directory);
        }
        self.tell_heard(core);
        let Some(terminal) = self.known.get_mut(uri) else {
            return;
        };
        let command = terminal.run.as_ref().map(|run| run.command.clone());
        if let Some((connection, id)) = terminal.opening.take() {
            core.reply(connection, id, Reply::Done);
        }
        if let Some(command) = command {
            self.command_executed(core, uri, command);
        }
    }

    fn not_opened(&mut self, core: &mut Core, uri: &ChannelUri, reason: &str) -> Option<RunOver> {
        let opening = self.known.get_mut(uri)?.opening.take();
        let over = self.take_run(uri).map(|run| RunOver::failed(run, reason));
        self.drop_terminal(core, uri);
        self.list(core);
        if let Some((connection, id)) = opening {
            let error = RpcError::invalid_params(format!("no terminal can be opened: {reason}"));
            core.fail(connection, Some(id), error);
        }
        over
    }

    fn command_executed(&mut self, core: &mut Core, uri: &ChannelUri, command_line: String) {
        let Some(terminal) = self.known.get_mut(uri) else {
            return;
        };
        terminal.commands += 1;
        let command_id = format!("c{}", terminal.commands);
        terminal.command = Some(command_id.clone());
        let action = TerminalCommandExecutedAction {
            command_id,
            command_line,
            timestamp: core.now.as_millis(),
        };
        core.emit(uri, StateAction::TerminalCommandExecuted(action), None);
    }

    fn command_finished(
        &mut self,
        core: &mut Core,
        uri: &ChannelUri,
        exit_code: Option<i64>,
        duration_ms: Option<i64>,
    ) {
        let terminal = self.known.get_mut(uri);
        if let Some(command_id) = terminal.and_then(|terminal| terminal.command.take()) {
            let action = TerminalCommandFinishedAction {
                command_id,
                exit_code,
                duration_ms,
            };
            core.emit(uri, StateAction::TerminalCommandFinished(action), None);
        }
    }

    /// The process in a terminal has ended.
    fn exited(
        &mut self,
        core: &mut Core,
        uri: &ChannelUri,
        exit_code: Option<i64>,
    ) -> Option<RunOver> {
        self.tell_heard(core);
        let run = self.known.get(uri).and_then(|known| known.run.as_ref());
        let took = run.map(|run| core.measured().millis_since(run.began));
        let code_of_command = exit_code.filter(|_| run.is_some());
        self.command_finished(core, uri, code_of_command, took);
        let action = TerminalExitedAction { exit_code };
        core.emit(uri, StateAction::TerminalExited(action), None);
        if let Some(terminal) = self.known.get(uri) {
            self.running.remove(&terminal.id);
        }
        self.goes_on_no_more(core, uri);
        let over = self.run_exited(core, uri, exit_code);
        if over.is_none() {
            self.list(core);
        }
        over
    }

    /// The list of terminals on the root channel says which there are.
    pub(crate) fn list(&mut self, core: &mut Core) {
        let listed = self.known.iter().filter(|(_, known)| known.listed);
        let mut listed: Vec<_> = listed.collect();
        listed.sort_by_key(|(_, terminal)| terminal.id);
        let listed = listed.into_iter().filter_map(|(uri, _)| {
            let state = &core.channels.terminal(uri)?.state;
            Some(TerminalInfo {
                resource: uri.to_string(),
                title: state.title.clone(),
                claim: state.claim.clone(),
                lifecycle: state.lifecycle.clone(),
            })
        });
        let terminals: Vec<TerminalInfo> = listed.collect();
        let told = core
            .channels
            .root()
            .and_then(|root| root.terminals.as_ref());
        if told.map_or(&[][..], |told| told) != terminals {
            let action = RootTerminalsChangedAction { terminals };
            let action = StateAction::RootTerminalsChanged(action);
            core.emit(&ChannelUri::root(), action, None);
        }
    }

    /// Nobody listens to a terminal any more: one of which only what it showed
    /// is left leaves memory.
    pub(crate) fn leave(&mut self, core: &mut Core, uri: &ChannelUri) {
        if self.is_finished_command(core, uri) && !core.subscriptions.has_channel(uri) {
            self.known.remove(uri);
            core.channels.remove(uri);
        }
    }

    /// Whether a terminal is what is left of a command that has ended: part of
    /// a conversation.
    fn is_finished_command(&self, core: &Core, uri: &ChannelUri) -> bool {
        let listed = self.known.get(uri).is_none_or(|known| known.listed);
        let state = core.channels.terminal(uri).map(|it| &it.state);
        !listed && state.is_some_and(has_exited)
    }

    /// Ends a terminal that a client does not need any more. Returns the
    /// command of a turn that ran in it.
    pub(crate) fn dispose(
        &mut self,
        core: &mut Core,
        uri: &ChannelUri,
    ) -> Result<Option<RunOver>, RpcError> {
        if !self.known.contains_key(uri) {
            return Err(RpcError::not_found(uri.as_str()));
        }
        let run = self.take_run(uri);
        self.drop_terminal(core, uri);
        self.list(core);
        Ok(run.map(|run| RunOver::failed(run, "the terminal was closed")))
    }

    /// The terminals that a session holds go with it.
    pub(crate) fn dispose_of_session(&mut self, core: &mut Core, session: &ChannelUri) {
        let known = self.known.iter();
        let held = known.filter(|(uri, _)| is_held_by(core, uri, session));
        let mut held: Vec<(TerminalId, ChannelUri)> =
            held.map(|(uri, known)| (known.id, uri.clone())).collect();
        held.sort();
        for (_, uri) in &held {
            self.drop_terminal(core, uri);
        }
        self.list(core);
    }

    fn drop_terminal(&mut self, core: &mut Core, uri: &ChannelUri) {
        core.subscriptions.remove_channel(uri);
        let over = core.channels.terminal(uri).map(|it| has_exited(&it.state));
        core.channels.remove(uri);
        self.goes_on_no_more(core, uri);
        let Some(terminal) = self.known.remove(uri) else {
            return;
        };
        self.running.remove(&terminal.id);
        self.heard.forget(uri);
        if over == Some(false) {
            tell(
                core,
                TerminalCommand::Close {
                    terminal: terminal.id,
                },
            );
        }
        if let Some((connection, id)) = terminal.opening {
            let error = RpcError::new(
                ahp_error_codes::NOT_FOUND,
                format!("`{uri}` was disposed of before it was open"),
            );
            core.fail(connection, Some(id), error);
        }
    }

    /// Whether something runs in a terminal that a session holds.
    pub(crate) fn has_running(&self, core: &Core, session: &ChannelUri) -> bool {
        let mut running = self.running.values();
        running.any(|uri| is_held_by(core, uri, session))
    }

    /// The host is about to end.
    pub(crate) fn close_all(&mut self, core: &mut Core) {
        let mut running: Vec<TerminalId> = self.running.keys().copied().collect();
        running.sort();
        for terminal in running {
            tell(core, TerminalCommand::Close { terminal });
        }
    }
}

fn is_held_by(core: &Core, uri: &ChannelUri, session: &ChannelUri) -> bool {
    let claim = core.channels.terminal(uri).map(|it| &it.state.claim);
    matches!(claim, Some(TerminalClaim::Session(claim)) if claim.session == session.as_str())
}

fn tell(core: &mut Core, command: TerminalCommand) {
    core.effect(Effect::Terminal(command));
}

fn take_output(core: &mut Core, terminal: TerminalId, bytes: usize, channel: Option<&ChannelUri>) {
    if bytes > 0 {
        let by = channel.and_then(|channel| core.subscriptions.of_channel(channel));
        core.effect(Effect::TerminalTaken {
            terminal,
            bytes,
            by,
        });
    }
}
