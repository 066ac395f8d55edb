//! Connections that may look and change nothing: what of a client's messages
//! is passed on, and what is refused with a reason.
//!
//! *Invariants*: what is not known to change nothing is refused. Such a client
//! is not known to the engine by its own word alone, as whoever introduces
//! itself as another takes that one's place, with its roles.

use std::sync::{Mutex, PoisonError};

use innkeeper_protocol::Seq;
use innkeeper_protocol::command::{
    AutomationCommand, ClientMessage, Command, Dispatch, ExtensionCommand, WorkspaceCommand,
};
use innkeeper_protocol::newest::actions::ActionOrigin;
use innkeeper_protocol::newest::errors::ahp_error_codes::PERMISSION_DENIED;
use innkeeper_protocol::outgoing::{HostMessage, Rejection, RejectionCode};
use innkeeper_protocol::resource_call::ResourceCall;
use innkeeper_protocol::rpc::RpcError;

const REASON: &str = "this token is read-only; use one that may change things";

/// What the ids of such clients begin with. With the slash, none of them has
/// resources that others could ask for.
const PREFIX: &str = "read-only/";

/// Who is on such a connection, by its own word.
#[derive(Debug, Default)]
pub(crate) struct ReadOnly(Mutex<String>);

/// What becomes of a message.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it was made"
)]
pub(crate) enum Judged {
    PassOn(ClientMessage),
    /// Nobody but its sender hears of it.
    Refuse(Box<HostMessage>),
    /// Nobody was to be answered.
    Drop,
}

impl ReadOnly {
    /// What the engine calls a client that calls itself so.
    pub(crate) fn known_as(client: &str) -> String {
        match client.is_empty() {
            true => String::new(),
            false => format!("{PREFIX}{client}"),
        }
    }

    pub(crate) fn judge(&self, message: ClientMessage) -> Judged {
        let (id, command) = match message {
            ClientMessage::Call { id, command } => (id, command),
            ClientMessage::Answer { id, .. } => {
                let outcome = Err(RpcError::new(PERMISSION_DENIED, REASON));
                return Judged::PassOn(ClientMessage::Answer { id, outcome });
            }
        };
        let command = match command {
            Ok(Command::Dispatch(dispatch)) => return self.rejected(*dispatch),
            Ok(Command::Initialize(mut params)) => {
                self.is_called(&mut params.client_id);
                Ok(Command::Initialize(params))
            }
            Ok(Command::Reconnect(mut params)) => {
                self.is_called(&mut params.client_id);
                Ok(Command::Reconnect(params))
            }
            Ok(command) if !changes_nothing(&command) => {
                Err(RpcError::new(PERMISSION_DENIED, REASON))
            }
            Ok(_) | Err(_) => command,
        };
        Judged::PassOn(ClientMessage::Call { id, command })
    }

    fn is_called(&self, client: &mut String) {
        let mut name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known_as = Self::known_as(client);
        *name = std::mem::replace(client, known_as);
    }

    /// It overtakes what is on its way, so it must not claim a number.
    fn rejected(&self, dispatch: Dispatch) -> Judged {
        let name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if name.is_empty() {
            return Judged::Drop;
        }
        Judged::Refuse(Box::new(HostMessage::Rejection(Box::new(Rejection {
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
        }))))
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
        Command::Extension(command) => match command {
            ExtensionCommand::Search(_)
            | ExtensionCommand::Usage(_)
            | ExtensionCommand::InstallableAgents => true,
            ExtensionCommand::TakeBack(_)
            | ExtensionCommand::UndoTakeBack(_)
            | ExtensionCommand::InstallAgent(_)
            | ExtensionCommand::CancelInstallAgent(_) => false,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What every method finds its fields in, but for those that mean something
    /// else by the same name.
    fn params(method: &str) -> serde_json::Value {
        let mut params = json!({
            "channel": "ahp-session:/s", "clientId": "laptop", "protocolVersions": ["1.0.0"],
            "lastSeenServerSeq": 0, "subscriptions": [], "clientSeq": 1, "uri": "file:///w/f",
            "source": "file:///w/f", "destination": "file:///w/g", "data": "", "encoding": "utf-8",
            "resource": "https://example.org", "token": "t", "operationId": "commit",
            "method": "tools/call", "claim": {"kind": "client", "clientId": "laptop"},
            "turnId": "t", "fork": "ahp-chat:/c", "files": true, "query": "inn", "property": "p",
            "kind": "text", "text": "", "offset": 0, "chat": "ahp-chat:/c", "automation": "ahp-automation:/a",
            "requestId": "r",
            "action": {"type": "session/titleChanged", "title": "Mine"},
        });
        match method {
            "createSession" => params["fork"] = json!(null),
            "innkeeper/installAgent" | "innkeeper/cancelInstallAgent" => {
                params["provider"] = json!("claude");
            }
            "moveChat" => params["destination"] = json!({"kind": "newSession"}),
            _ => {}
        }
        params
    }

    fn judged(method: &str) -> Judged {
        let read_only = ReadOnly::default();
        let hello = json!({"id": 0, "method": "initialize", "params": params("initialize")});
        let _ = read_only.judge(ClientMessage::decode(&hello.to_string()));
        let call = json!({"id": 1, "method": method, "params": params(method)});
        read_only.judge(ClientMessage::decode(&call.to_string()))
    }

    #[test]
    fn what_changes_something_is_refused() {
        for method in [
            "createSession",
            "disposeSession",
            "createChat",
            "disposeChat",
            "moveChat",
            "authenticate",
            "invokeChangesetOperation",
            "mcpMethodCall",
            "mcpNotification",
            "resourceWrite",
            "resourceMkdir",
            "resourceCopy",
            "resourceMove",
            "resourceDelete",
            "resourceRequest",
            "createTerminal",
            "disposeTerminal",
            "runAutomation",
            "innkeeper/takeBack",
            "innkeeper/undoTakeBack",
            "innkeeper/installAgent",
            "innkeeper/cancelInstallAgent",
        ] {
            match judged(method) {
                Judged::PassOn(ClientMessage::Call {
                    command: Err(error),
                    ..
                }) => assert_eq!(error.message, REASON, "{method}"),
                other => panic!("{method}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_changes_nothing_is_passed_on() {
        for method in [
            "ping",
            "innkeeper/installableAgents",
            "subscribe",
            "unsubscribe",
            "listSessions",
            "fetchTurns",
            "resolveSessionConfig",
            "sessionConfigCompletions",
            "completions",
            "resourceRead",
            "resourceList",
            "resourceResolve",
            "createResourceWatch",
            "listAutomationTriggerDefinitions",
            "fetchAutomationRuns",
            "innkeeper/searchSessions",
            "innkeeper/usage",
        ] {
            match judged(method) {
                Judged::PassOn(ClientMessage::Call { command: Ok(_), .. }) => {}
                other => panic!("{method}: {other:?}"),
            }
        }
    }

    #[test]
    fn no_action_gets_through_whatever_it_is() {
        assert!(matches!(judged("dispatchAction"), Judged::Refuse(_)));
        let early = json!({"method": "dispatchAction", "params": params("dispatchAction")});
        let early = ClientMessage::decode(&early.to_string());
        assert!(matches!(ReadOnly::default().judge(early), Judged::Drop));
    }

    #[test]
    fn nobody_takes_the_place_of_another_client() {
        for method in ["initialize", "reconnect"] {
            let known_as = match judged(method) {
                Judged::PassOn(ClientMessage::Call {
                    command: Ok(Command::Initialize(params)),
                    ..
                }) => params.client_id,
                Judged::PassOn(ClientMessage::Call {
                    command: Ok(Command::Reconnect(params)),
                    ..
                }) => params.client_id,
                other => panic!("{method}: {other:?}"),
            };
            assert_eq!(known_as, "read-only/laptop");
        }
    }

    #[test]
    fn what_the_host_asks_is_not_answered() {
        let answer = ClientMessage::decode(r#"{"id":1,"result":{"data":"","encoding":"utf-8"}}"#);
        match ReadOnly::default().judge(answer) {
            Judged::PassOn(ClientMessage::Answer { outcome, .. }) => {
                assert_eq!(outcome.unwrap_err().message, REASON);
            }
            other => panic!("{other:?}"),
        }
    }
}
