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

mod scrollback;

use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::{
    RootTerminalsChangedAction, StateAction, TerminalCommandDetectionAvailableAction,
    TerminalCommandExecutedAction, TerminalCommandFinishedAction, TerminalCwdChangedAction,
    TerminalDataAction, TerminalExitedAction, TerminalTitleChangedAction,
};
use innkeeper_protocol::house::commands::{CreateTerminalParams, SubscribeParams};
use innkeeper_protocol::house::errors::ahp_error_codes;
use innkeeper_protocol::house::state::{
    TerminalClaim, TerminalInfo, TerminalLifecycleState, TerminalRunningLifecycleState,
    TerminalState,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::{ContentRecord, StoreOp};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::terminal::{
    OpenTerminal, Program, Size, TerminalCommand, TerminalEvent, TerminalId, TerminalReport,
};

use crate::commands::Run;
use crate::requests::Need;
use crate::{ConnectionId, Effect, Engine};

/// The scheme of terminals that the host names.
pub(crate) const TERMINAL_SCHEME: &str = "ahp-terminal:";

#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) id: TerminalId,
    pub(crate) state: TerminalState,
    /// The number that the host had reached when it was created.
    pub(crate) born: u64,
    /// Who waits for it to open.
    opening: Option<(ConnectionId, RequestId)>,
    /// Somebody chose the title: what runs in it does not change it.
    pub(crate) named: bool,
    /// How many commands were seen in it.
    commands: u64,
    /// The command that runs, if commands are seen.
    running: Option<String>,
    /// The command of a tool call that it was opened for.
    pub(crate) run: Option<Run>,
    /// It stands in the list of terminals.
    listed: bool,
    /// How much of what was typed has not reached the program yet.
    pub(crate) unread_input: usize,
}

impl Terminal {
    /// What is left of a command that has ended: part of a conversation.
    pub(crate) fn is_past(&self) -> bool {
        !self.listed && self.has_exited()
    }

    pub(crate) fn has_exited(&self) -> bool {
        matches!(self.state.lifecycle, TerminalLifecycleState::Exited(_))
    }
}

impl Engine {
    pub(crate) fn create_terminal(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        params: CreateTerminalParams,
    ) {
        let uri = ChannelUri::from(params.channel.as_str());
        if let Err(error) = self.check_new_terminal(connection, &uri, &params.claim) {
            return self.fail(connection, Some(id), error);
        }
        let dimension = |number: Option<i64>, otherwise: u16| match number {
            None => Some(otherwise),
            Some(number) => u16::try_from(number).ok().filter(|number| *number > 0),
        };
        let usual = Size::default();
        let columns = dimension(params.cols, usual.columns);
        let rows = dimension(params.rows, usual.rows);
        let Some((columns, rows)) = columns.zip(rows) else {
            let error = RpcError::invalid_params("`cols` and `rows` must be from 1 to 65535");
            return self.fail(connection, Some(id), error);
        };
        let directory = params
            .cwd
            .or_else(|| self.directory_of_claim(&params.claim));
        let open = OpenTerminal {
            program: Program::Shell,
            directory,
            environment: None,
            size: Size { columns, rows },
        };
        self.open_terminal(&uri, params.claim, params.name, open, None);
        if let Some(terminal) = self.terminals.get_mut(&uri) {
            terminal.opening = Some((connection, id));
        }
        self.list_terminals();
    }

    fn check_new_terminal(
        &self,
        connection: ConnectionId,
        uri: &ChannelUri,
        claim: &TerminalClaim,
    ) -> Result<(), RpcError> {
        if !uri.as_str().starts_with(TERMINAL_SCHEME) {
            return Err(RpcError::invalid_params(format!(
                "`{uri}` cannot name a terminal; use a URI such as `ahp-terminal:/<uuid>`"
            )));
        }
        if self.terminals.contains_key(uri) || self.exists(uri) {
            return Err(RpcError::new(
                ahp_error_codes::ALREADY_EXISTS,
                format!("there is a terminal `{uri}` already"),
            ));
        }
        self.check_claim(self.client_of(connection), claim)
            .map_err(RpcError::invalid_params)?;
        self.check_room_for_terminal().map_err(RpcError::internal)
    }

    pub(crate) fn check_room_for_terminal(&self) -> Result<(), String> {
        let limit = self.config.limits.terminals;
        let open = self.terminals.values();
        if open.filter(|terminal| terminal.listed).count() < limit {
            return Ok(());
        }
        Err(format!(
            "this host keeps at most {limit} terminals; dispose of some, or raise limits.terminals"
        ))
    }

    /// A claim is for oneself, or for a session that there is.
    pub(crate) fn check_claim(
        &self,
        client: Option<&str>,
        claim: &TerminalClaim,
    ) -> Result<(), String> {
        match claim {
            TerminalClaim::Client(claim) if client == Some(&claim.client_id) => Ok(()),
            TerminalClaim::Client(claim) if self.is_here(&claim.client_id) => Ok(()),
            TerminalClaim::Client(claim) => Err(format!(
                "there is no client `{}` that could hold the terminal",
                claim.client_id
            )),
            TerminalClaim::Session(claim) => {
                let session = ChannelUri::from(claim.session.as_str());
                match self.catalogue.contains(&session) {
                    true => Ok(()),
                    false => Err(format!("there is no session `{session}`")),
                }
            }
        }
    }

    pub(crate) fn is_here(&self, client: &str) -> bool {
        let client = self.clients.get(client);
        client.is_some_and(|client| client.connection.is_some() || client.leaves_at.is_some())
    }

    fn directory_of_claim(&self, claim: &TerminalClaim) -> Option<String> {
        let TerminalClaim::Session(claim) = claim else {
            return self.config.default_directory.clone();
        };
        self.first_directory(&claim.session.as_str().into())
    }

    pub(crate) fn first_directory(&self, session: &ChannelUri) -> Option<String> {
        let session = self.sessions.get(session)?;
        let directories = session.state.working_directories.as_ref()?;
        directories.first().cloned()
    }

    /// Makes the channel, and has the process started.
    pub(crate) fn open_terminal(
        &mut self,
        uri: &ChannelUri,
        claim: TerminalClaim,
        name: Option<String>,
        open: OpenTerminal,
        run: Option<Run>,
    ) {
        self.last_terminal += 1;
        let id = TerminalId(self.last_terminal);
        let state = TerminalState {
            title: name.clone().unwrap_or_else(|| "Terminal".to_owned()),
            cwd: open.directory.clone(),
            cols: Some(open.size.columns.into()),
            rows: Some(open.size.rows.into()),
            content: Vec::new(),
            lifecycle: TerminalLifecycleState::Running(TerminalRunningLifecycleState {}),
            claim,
            supports_command_detection: None,
            is_pty: Some(true),
        };
        self.terminals.insert(
            uri.clone(),
            Terminal {
                id,
                state,
                born: self.server_seq(),
                opening: None,
                named: name.is_some(),
                commands: 0,
                running: None,
                run,
                listed: true,
                unread_input: 0,
            },
        );
        self.terminal_ids.insert(id, uri.clone());
        let open = Box::new(open);
        self.tell_terminal(TerminalCommand::Open { terminal: id, open });
    }

    pub(crate) fn tell_terminal(&mut self, command: TerminalCommand) {
        self.step.effects.push(Effect::Terminal(command));
    }

    pub(crate) fn terminal_reported(&mut self, report: TerminalReport) {
        let Some(uri) = self.terminal_ids.get(&report.terminal).cloned() else {
            // It was disposed of: what it still says is taken, so that it ends.
            if let TerminalEvent::Data { raw, .. } = report.event {
                self.take_output(report.terminal, raw, None);
            }
            return;
        };
        match report.event {
            TerminalEvent::Opened { title, directory } => {
                self.terminal_opened(&uri, title, directory);
            }
            TerminalEvent::OpenFailed { reason } => self.terminal_not_opened(&uri, reason),
            TerminalEvent::Data { text, raw } => {
                let action = TerminalDataAction { data: text };
                self.emit(&uri, StateAction::TerminalData(action), None);
                let limit = self.config.limits.scrollback_bytes;
                if let Some(terminal) = self.terminals.get_mut(&uri) {
                    scrollback::bound(&mut terminal.state.content, limit);
                }
                self.take_output(report.terminal, raw, Some(&uri));
            }
            TerminalEvent::InputWritten { bytes } => {
                if let Some(terminal) = self.terminals.get_mut(&uri) {
                    terminal.unread_input = terminal.unread_input.saturating_sub(bytes);
                }
            }
            TerminalEvent::TitleChanged(title) => self.retitle(&uri, title),
            TerminalEvent::DirectoryChanged(cwd) => self.terminal_directory(&uri, cwd),
            TerminalEvent::CommandDetection => {
                let action = TerminalCommandDetectionAvailableAction {};
                let action = StateAction::TerminalCommandDetectionAvailable(action);
                self.emit(&uri, action, None);
            }
            TerminalEvent::CommandExecuted { line } => self.command_executed(&uri, line),
            TerminalEvent::CommandFinished { exit_code, millis } => {
                self.command_finished(&uri, exit_code, millis);
            }
            TerminalEvent::Exited { exit_code } => self.terminal_exited(&uri, exit_code),
        }
    }

    fn take_output(&mut self, terminal: TerminalId, bytes: usize, channel: Option<&ChannelUri>) {
        if bytes > 0 {
            let by = channel.and_then(|channel| self.subscriptions.of_channel(channel));
            let taken = Effect::TerminalTaken {
                terminal,
                bytes,
                by,
            };
            self.step.effects.push(taken);
        }
    }

    fn terminal_opened(&mut self, uri: &ChannelUri, title: String, directory: Option<String>) {
        self.retitle(uri, title);
        if let Some(directory) = directory {
            self.terminal_directory(uri, directory);
        }
        let Some(terminal) = self.terminals.get_mut(uri) else {
            return;
        };
        let command = terminal.run.as_ref().map(|run| run.command.clone());
        if let Some((connection, id)) = terminal.opening.take() {
            self.reply(connection, id, Reply::Done);
        }
        if let Some(command) = command {
            self.command_executed(uri, command);
        }
    }

    fn terminal_not_opened(&mut self, uri: &ChannelUri, reason: String) {
        let Some(terminal) = self.terminals.get_mut(uri) else {
            return;
        };
        let opening = terminal.opening.take();
        if terminal.run.is_some() {
            self.run_failed(uri, &reason);
        }
        self.dispose(uri);
        self.list_terminals();
        if let Some((connection, id)) = opening {
            let error = RpcError::invalid_params(format!("no terminal can be opened: {reason}"));
            self.fail(connection, Some(id), error);
        }
    }

    fn retitle(&mut self, uri: &ChannelUri, title: String) {
        let terminal = self.terminals.get(uri);
        let changes = terminal.is_some_and(|known| !known.named && known.state.title != title);
        if changes && !title.trim().is_empty() {
            let action = TerminalTitleChangedAction { title };
            self.emit(uri, StateAction::TerminalTitleChanged(action), None);
            self.list_terminals();
        }
    }

    fn terminal_directory(&mut self, uri: &ChannelUri, cwd: String) {
        let terminal = self.terminals.get(uri);
        if terminal.is_some_and(|known| known.state.cwd.as_ref() != Some(&cwd)) {
            let action = TerminalCwdChangedAction { cwd };
            self.emit(uri, StateAction::TerminalCwdChanged(action), None);
        }
    }

    fn command_executed(&mut self, uri: &ChannelUri, command_line: String) {
        let Some(terminal) = self.terminals.get_mut(uri) else {
            return;
        };
        terminal.commands += 1;
        let command_id = format!("c{}", terminal.commands);
        terminal.running = Some(command_id.clone());
        let action = TerminalCommandExecutedAction {
            command_id,
            command_line,
            timestamp: self.now.as_millis(),
        };
        self.emit(uri, StateAction::TerminalCommandExecuted(action), None);
    }

    fn command_finished(
        &mut self,
        uri: &ChannelUri,
        exit_code: Option<i64>,
        duration_ms: Option<i64>,
    ) {
        let terminal = self.terminals.get_mut(uri);
        if let Some(command_id) = terminal.and_then(|terminal| terminal.running.take()) {
            let action = TerminalCommandFinishedAction {
                command_id,
                exit_code,
                duration_ms,
            };
            self.emit(uri, StateAction::TerminalCommandFinished(action), None);
        }
    }

    fn terminal_exited(&mut self, uri: &ChannelUri, exit_code: Option<i64>) {
        let run = self.terminals.get(uri).and_then(|t| t.run.as_ref());
        let took = run.map(|run| self.now.millis_since(run.began));
        let code_of_command = exit_code.filter(|_| run.is_some());
        self.command_finished(uri, code_of_command, took);
        let action = TerminalExitedAction { exit_code };
        self.emit(uri, StateAction::TerminalExited(action), None);
        if let Some(terminal) = self.terminals.get(uri) {
            self.terminal_ids.remove(&terminal.id);
        }
        self.run_exited(uri, exit_code);
        self.list_terminals();
    }

    /// Takes a terminal off the list and keeps what it showed with its session.
    pub(crate) fn retire_terminal(&mut self, uri: &ChannelUri, session: &ChannelUri) {
        let Some(terminal) = self.terminals.get_mut(uri) else {
            return;
        };
        terminal.listed = false;
        if let Ok(json) = serde_json::to_vec(&terminal.state) {
            let content = ContentRecord {
                uri: uri.to_string(),
                session: session.clone(),
                content_type: "application/json".to_owned(),
                data: Bytes::from(json),
            };
            self.step.store.ops.push(StoreOp::PutContent(content));
        }
        self.leave_terminal(uri);
    }

    /// Nobody listens to a terminal any more: one that has only its past left
    /// leaves memory.
    pub(crate) fn leave_terminal(&mut self, uri: &ChannelUri) {
        let terminal = self.terminals.get(uri);
        let over = terminal.is_some_and(Terminal::is_past);
        if over && !self.subscriptions.has_channel(uri) {
            self.terminals.remove(uri);
        }
    }

    /// A client wants to see a terminal that is not in memory.
    pub(crate) fn load_terminal(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        params: SubscribeParams,
    ) {
        let uri = params.channel.clone();
        let ticket = self.wait(connection, id, Need::Terminal(Box::new(params)));
        self.step.durable_first = true;
        self.step.effects.push(Effect::LoadContent { ticket, uri });
    }

    pub(crate) fn terminal_loaded(&mut self, uri: &ChannelUri, content: &ContentRecord) {
        if self.terminals.contains_key(uri) {
            return;
        }
        let Ok(state) = serde_json::from_slice::<TerminalState>(&content.data) else {
            return;
        };
        self.last_terminal += 1;
        let terminal = Terminal {
            id: TerminalId(self.last_terminal),
            state,
            born: self.server_seq(),
            opening: None,
            named: true,
            commands: 0,
            running: None,
            run: None,
            listed: false,
            unread_input: 0,
        };
        self.terminals.insert(uri.clone(), terminal);
    }

    /// The list of terminals on the root channel says which there are.
    pub(crate) fn list_terminals(&mut self) {
        let listed = self.terminals.iter().filter(|(_, known)| known.listed);
        let mut listed: Vec<_> = listed.collect();
        listed.sort_by_key(|(_, terminal)| terminal.id);
        let listed = listed.into_iter().map(|(uri, terminal)| TerminalInfo {
            resource: uri.to_string(),
            title: terminal.state.title.clone(),
            claim: terminal.state.claim.clone(),
            lifecycle: terminal.state.lifecycle.clone(),
        });
        let terminals: Vec<TerminalInfo> = listed.collect();
        if self.root.terminals.as_deref().unwrap_or_default() != terminals {
            let action = RootTerminalsChangedAction { terminals };
            let action = StateAction::RootTerminalsChanged(action);
            self.emit(&ChannelUri::root(), action, None);
        }
    }

    fn dispose(&mut self, uri: &ChannelUri) {
        self.subscriptions.remove_channel(uri);
        self.forget_terminal(uri);
    }

    fn forget_terminal(&mut self, uri: &ChannelUri) {
        if let Some(terminal) = self.terminals.remove(uri) {
            self.terminal_ids.remove(&terminal.id);
            if !terminal.has_exited() {
                let id = terminal.id;
                self.tell_terminal(TerminalCommand::Close { terminal: id });
            }
            if let Some((connection, id)) = terminal.opening {
                let error = RpcError::new(
                    ahp_error_codes::NOT_FOUND,
                    format!("`{uri}` was disposed of before it was open"),
                );
                self.fail(connection, Some(id), error);
            }
        }
    }

    pub(crate) fn dispose_terminal(&mut self, uri: &ChannelUri) -> Result<(), RpcError> {
        let Some(terminal) = self.terminals.get(uri) else {
            return Err(RpcError::not_found(uri.as_str()));
        };
        if terminal.run.is_some() {
            self.run_failed(uri, "the terminal was closed");
        }
        self.dispose(uri);
        self.list_terminals();
        Ok(())
    }

    /// The terminals that a session holds go with it.
    pub(crate) fn dispose_terminals_of(&mut self, session: &ChannelUri) {
        let held = |claim: &TerminalClaim| match claim {
            TerminalClaim::Session(claim) => claim.session == session.as_str(),
            TerminalClaim::Client(_) => false,
        };
        let held = self.terminals.iter().filter(|(_, t)| held(&t.state.claim));
        let mut held: Vec<(TerminalId, ChannelUri)> =
            held.map(|(uri, t)| (t.id, uri.clone())).collect();
        held.sort();
        for (_, uri) in &held {
            self.dispose(uri);
        }
        self.list_terminals();
    }

    /// Whether something runs in a terminal that a session holds.
    pub(crate) fn has_running_terminal(&self, session: &ChannelUri) -> bool {
        let mut terminals = self.terminals.values().filter(|known| !known.has_exited());
        terminals.any(|known| {
            matches!(&known.state.claim, TerminalClaim::Session(claim)
                if claim.session == session.as_str())
        })
    }

    pub(crate) fn close_all_terminals(&mut self) {
        let running = self.terminals.values().filter(|t| !t.has_exited());
        let mut running: Vec<TerminalId> = running.map(|terminal| terminal.id).collect();
        running.sort();
        for terminal in running {
            self.tell_terminal(TerminalCommand::Close { terminal });
        }
    }
}
