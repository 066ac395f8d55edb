//! Making a terminal's channel, and having its process started; and showing
//! once more what a finished command showed.

use innkeeper_protocol::newest::commands::{CreateTerminalParams, SubscribeParams};
use innkeeper_protocol::newest::errors::ahp_error_codes;
use innkeeper_protocol::newest::state::{
    TerminalClaim, TerminalLifecycleState, TerminalRunningLifecycleState, TerminalState,
};
use innkeeper_protocol::record::ContentRecord;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::terminal::{
    OpenTerminal, Size, TerminalCommand, TerminalId, TerminalProgram,
};
use innkeeper_protocol::{ChannelUri, ClientId};

use super::{Run, Terminal, Terminals, tell};
use crate::catalogue::Catalogue;
use crate::clients::Clients;
use crate::core::channels::{Channel, Ephemeral};
use crate::core::{Core, TERMINAL_SCHEME};
use crate::effect::{ConnectionId, Effect, Ticket};
use crate::labels::{Label, Locale};

/// What a terminal begins with.
pub(crate) struct NewTerminal {
    pub(crate) claim: TerminalClaim,
    pub(crate) name: Option<String>,
    pub(crate) open: OpenTerminal,
    /// The command of a turn that it is opened for.
    pub(crate) run: Option<Run>,
}

/// A client that wants to see what a finished command showed.
#[derive(Debug)]
pub(crate) struct AwaitedTerminal {
    pub(crate) connection: ConnectionId,
    pub(crate) id: RequestId,
    pub(crate) params: Box<SubscribeParams>,
}

impl Terminals {
    /// Opens a terminal that a client wants; it is answered when it is open.
    pub(crate) fn create(
        &mut self,
        core: &mut Core,
        (clients, catalogue): (&Clients, &Catalogue),
        (connection, id): (ConnectionId, RequestId),
        params: CreateTerminalParams,
    ) {
        let uri = ChannelUri::from(params.channel.as_str());
        let client = clients.client_of(connection).map(ClientId::as_str);
        let checked = check_new(core, catalogue, &uri)
            .and_then(|()| {
                check_claim(clients, catalogue, client, &params.claim)
                    .map_err(RpcError::invalid_params)
            })
            .and_then(|()| self.check_room(core).map_err(RpcError::internal))
            .and_then(|()| size_of(&params));
        let size = match checked {
            Ok(size) => size,
            Err(error) => return core.fail(connection, Some(id), error),
        };
        let directory = params.cwd.or_else(|| directory_of(core, &params.claim));
        let new = NewTerminal {
            claim: params.claim,
            name: params.name,
            open: OpenTerminal {
                program: TerminalProgram::Shell,
                directory,
                environment: None,
                size,
            },
            run: None,
        };
        self.open(core, &uri, new, clients.locale_of(connection));
        if let Some(terminal) = self.known.get_mut(&uri) {
            terminal.opening = Some((connection, id));
        }
        self.list(core);
    }

    /// Whether there may be one more terminal.
    pub(crate) fn check_room(&self, core: &Core) -> Result<(), String> {
        let limit = core.config.limits.terminals;
        let listed = self.known.values().filter(|terminal| terminal.listed);
        if listed.count() < limit {
            return Ok(());
        }
        Err(format!(
            "this host keeps at most {limit} terminals; dispose of some, or raise limits.terminals"
        ))
    }

    /// Opens a terminal under a name of the host's own.
    pub(crate) fn open_for_run(
        &mut self,
        core: &mut Core,
        new: NewTerminal,
        locale: Locale,
    ) -> ChannelUri {
        let mut number = self.last + 1;
        let name = |number| {
            let nonce = &core.config.nonce;
            ChannelUri::from(format!("{TERMINAL_SCHEME}/{nonce}-{number}"))
        };
        while core.channels.contains(&name(number)) {
            number += 1;
        }
        let uri = name(number);
        self.open(core, &uri, new, locale);
        self.list(core);
        uri
    }

    /// Makes the channel, and has the process started.
    fn open(&mut self, core: &mut Core, uri: &ChannelUri, new: NewTerminal, locale: Locale) {
        let NewTerminal {
            claim,
            name,
            open,
            run,
        } = new;
        let state = TerminalState {
            title: name.clone().unwrap_or_else(|| Label::Terminal.text(locale)),
            cwd: open.directory.clone(),
            cols: Some(open.size.columns.into()),
            rows: Some(open.size.rows.into()),
            content: Vec::new(),
            lifecycle: TerminalLifecycleState::Running(TerminalRunningLifecycleState {}),
            claim,
            supports_command_detection: None,
            is_pty: Some(true),
        };
        let terminal = Terminal {
            named: name.is_some(),
            run,
            listed: true,
            ..self.new_terminal()
        };
        let id = terminal.id;
        self.running.insert(id, uri.clone());
        self.add(core, uri, state, terminal);
        let open = Box::new(open);
        tell(core, TerminalCommand::Open { terminal: id, open });
    }

    fn new_terminal(&mut self) -> Terminal {
        self.last += 1;
        Terminal {
            id: TerminalId(self.last),
            opening: None,
            named: true,
            commands: 0,
            command: None,
            run: None,
            goes_on_for: None,
            listed: false,
            unread_input: 0,
        }
    }

    fn add(&mut self, core: &mut Core, uri: &ChannelUri, state: TerminalState, known: Terminal) {
        let born = core.server_seq();
        let channel = Channel::Terminal(Box::new(Ephemeral { state, born }));
        core.channels.insert(uri.clone(), channel);
        self.known.insert(uri.clone(), known);
    }

    /// Asks for what a finished command showed, for a client that wants to see
    /// it.
    pub(crate) fn load(
        &mut self,
        core: &mut Core,
        connection: ConnectionId,
        id: RequestId,
        params: SubscribeParams,
    ) {
        let ticket = core.next_ticket();
        let uri = params.channel.clone();
        let params = Box::new(params);
        let awaited = AwaitedTerminal {
            connection,
            id,
            params,
        };
        self.awaited.insert(ticket, awaited);
        core.step.durable_first = true;
        core.effect(Effect::LoadContent { ticket, uri });
    }

    /// Takes in what was asked for, if it was for a terminal. Returns who can
    /// be shown it now.
    pub(crate) fn loaded(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        content: Option<&ContentRecord>,
    ) -> Option<AwaitedTerminal> {
        let awaited = self.awaited.remove(&ticket)?;
        let uri = ChannelUri::from(awaited.params.channel.as_str());
        let state = content.and_then(|it| serde_json::from_slice(&it.data).ok());
        if let Some(state) = state.filter(|_| !core.channels.contains(&uri)) {
            let terminal = self.new_terminal();
            self.add(core, &uri, state, terminal);
        }
        Some(awaited)
    }

    /// Nobody waits behind a connection that has ended.
    pub(crate) fn forget_connection(&mut self, connection: ConnectionId) {
        self.awaited
            .retain(|_, awaited| awaited.connection != connection);
    }
}

/// Whether a channel can only be a terminal that has left memory.
pub(crate) fn has_left_memory(core: &Core, channel: &ChannelUri) -> bool {
    channel.as_str().starts_with(TERMINAL_SCHEME) && !core.channels.contains(channel)
}

fn check_new(core: &Core, catalogue: &Catalogue, uri: &ChannelUri) -> Result<(), RpcError> {
    if !uri.as_str().starts_with(TERMINAL_SCHEME) {
        return Err(RpcError::invalid_params(format!(
            "`{uri}` cannot name a terminal; use a URI such as `ahp-terminal:/<uuid>`"
        )));
    }
    if catalogue.exists(core, uri) {
        return Err(RpcError::new(
            ahp_error_codes::ALREADY_EXISTS,
            format!("there is a terminal `{uri}` already"),
        ));
    }
    Ok(())
}

/// A claim is for oneself, or for a session that there is.
pub(super) fn check_claim(
    clients: &Clients,
    catalogue: &Catalogue,
    client: Option<&str>,
    claim: &TerminalClaim,
) -> Result<(), String> {
    match claim {
        TerminalClaim::Client(claim) if client == Some(&claim.client_id) => Ok(()),
        TerminalClaim::Client(claim) if clients.is_here(&claim.client_id) => Ok(()),
        TerminalClaim::Client(claim) => Err(format!(
            "unknown client `{}`; it cannot hold the terminal",
            claim.client_id
        )),
        TerminalClaim::Session(claim) => {
            let session = ChannelUri::from(claim.session.as_str());
            match catalogue.contains(&session) {
                true => Ok(()),
                false => Err(format!("unknown session `{session}`")),
            }
        }
    }
}

fn size_of(params: &CreateTerminalParams) -> Result<Size, RpcError> {
    let dimension = |number: Option<i64>, otherwise: u16| match number {
        None => Some(otherwise),
        Some(number) => u16::try_from(number).ok().filter(|number| *number > 0),
    };
    let usual = Size::default();
    let columns = dimension(params.cols, usual.columns);
    let rows = dimension(params.rows, usual.rows);
    match columns.zip(rows) {
        Some((columns, rows)) => Ok(Size { columns, rows }),
        None => Err(RpcError::invalid_params(
            "`cols` and `rows` must be from 1 to 65535",
        )),
    }
}

/// Where a terminal begins whose client does not say.
fn directory_of(core: &Core, claim: &TerminalClaim) -> Option<String> {
    match claim {
        TerminalClaim::Client(_) => core.config.default_directory.clone(),
        TerminalClaim::Session(claim) => {
            let session = core.channels.session(claim.session.as_str())?;
            let chat = core.channels.chat(claim.chat.as_str());
            let chat = chat.filter(|chat| chat.session == session.uri);
            let of_chat = chat.map(|chat| core.channels.directories_of_chat(chat));
            let first = of_chat.and_then(|all| Some(all.first()?.as_str()));
            first.or(session.first_directory()).map(str::to_owned)
        }
    }
}
