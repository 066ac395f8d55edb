//! Connections that may look and change nothing: what of a client's messages
//! is passed on, and what is refused with a reason.
//!
//! *Invariant*: what is not known to change nothing is refused.

use std::sync::{Mutex, PoisonError};

use innkeeper_protocol::Seq;
use innkeeper_protocol::command::{
    AutomationCommand, ClientMessage, Command, Dispatch, WorkspaceCommand,
};
use innkeeper_protocol::newest::actions::ActionOrigin;
use innkeeper_protocol::newest::errors::ahp_error_codes::PERMISSION_DENIED;
use innkeeper_protocol::outgoing::{HostMessage, Rejection, RejectionCode};
use innkeeper_protocol::resource_call::ResourceCall;
use innkeeper_protocol::rpc::RpcError;

const REASON: &str = "this token is read-only; use one that may change things";

/// Who is on such a connection, by its own word.
#[derive(Debug, Default)]
pub(crate) struct ReadOnly(Mutex<String>);

/// What becomes of a message.
#[derive(Debug)]
pub(crate) enum Judged {
    PassOn(ClientMessage),
    /// Nobody but its sender hears of it.
    Refuse(Box<HostMessage>),
}

impl ReadOnly {
    pub(crate) fn judge(&self, message: ClientMessage) -> Judged {
        let ClientMessage::Call { id, command } = message else {
            return Judged::PassOn(message);
        };
        match command {
            Ok(Command::Dispatch(dispatch)) => Judged::Refuse(Box::new(self.rejection(*dispatch))),
            Ok(command) if !changes_nothing(&command) => {
                let command = Err(RpcError::new(PERMISSION_DENIED, REASON));
                Judged::PassOn(ClientMessage::Call { id, command })
            }
            command => {
                match &command {
                    Ok(Command::Initialize(params)) => self.is_called(&params.client_id),
                    Ok(Command::Reconnect(params)) => self.is_called(&params.client_id),
                    Ok(_) | Err(_) => {}
                }
                Judged::PassOn(ClientMessage::Call { id, command })
            }
        }
    }

    fn is_called(&self, client: &str) {
        let mut name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone_into(&mut name);
    }

    /// It overtakes what is on its way, so it must not claim a number.
    fn rejection(&self, dispatch: Dispatch) -> HostMessage {
        let name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        HostMessage::Rejection(Box::new(Rejection {
            channel: dispatch.channel,
            action: dispatch.action,
            server_seq: Seq::ZERO,
            origin: ActionOrigin {
                client_id: name.clone(),
                client_seq: dispatch.client_seq,
            },
            reason: REASON.to_owned(),
            code: RejectionCode::NotAccepted,
            said: dispatch.said,
        }))
    }
}

fn changes_nothing(command: &Command) -> bool {
    match command {
        Command::Initialize(_)
        | Command::Reconnect(_)
        | Command::Ping
        | Command::Subscribe(_)
        | Command::Unsubscribe { .. }
        | Command::ListSessions(_)
        | Command::FetchTurns(_)
        | Command::ReadTurns(_)
        | Command::ResolveSessionConfig(_)
        | Command::CompleteSessionConfig(_)
        | Command::Complete(_) => true,
        Command::Workspace(command) => match &**command {
            WorkspaceCommand::Resource(call) => match call {
                ResourceCall::Read(_) | ResourceCall::List(_) | ResourceCall::Resolve(_) => true,
                ResourceCall::Write(_)
                | ResourceCall::Mkdir(_)
                | ResourceCall::Copy(_)
                | ResourceCall::Move(_)
                | ResourceCall::Delete(_)
                | ResourceCall::Request(_) => false,
            },
            WorkspaceCommand::Watch(_) => true,
            WorkspaceCommand::CreateTerminal(_) | WorkspaceCommand::DisposeTerminal(_) => false,
        },
        Command::Automation(command) => match &**command {
            AutomationCommand::ListTriggers(_) | AutomationCommand::FetchRuns(_) => true,
            AutomationCommand::Run(_) => false,
        },
        Command::Dispatch(_)
        | Command::CreateSession(_)
        | Command::DisposeSession(_)
        | Command::CreateChat(_)
        | Command::DisposeChat(_)
        | Command::MoveChat(_)
        | Command::Authenticate(_)
        | Command::InvokeChangesetOperation(_)
        | Command::Mcp(_) => false,
    }
}
