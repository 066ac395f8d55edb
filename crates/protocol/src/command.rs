//! What a client may say, decoded once at the edge. Everything behind it
//! handles typed messages of the newest version.

mod automations;
pub mod extensions;
mod workspace;

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ChannelUri;
use crate::bounds::{MAX_URI_BYTES, TooLong, check_action, check_params};
use crate::gates::up::{self, PartialAction};
use crate::newest::actions::StateAction;
use crate::newest::commands::{
    AuthenticateParams, CompletionsParams, CreateChatParams, CreateSessionParams,
    DisposeChatParams, DisposeSessionParams, FetchTurnsParams, InitializeParams,
    InvokeChangesetOperationParams, ListSessionsParams, MoveChatParams, ReconnectParams,
    ResolveSessionConfigParams, SessionConfigCompletionsParams, SubscribeParams,
};
use crate::newest::common::JsonObject;
use crate::newest::state::{AgentSelection, ModelSelection};
use crate::rpc::{BadFrame, ClientFrame, RequestId, RpcError};
use crate::version::{self, Version};

pub use automations::AutomationCommand;
pub use extensions::ExtensionCommand;
pub use workspace::WorkspaceCommand;

/// One message from a client.
#[derive(Debug)]
pub enum ClientMessage {
    /// A request (with an id) or a notification (without one). What could not
    /// be decoded is here too: it is answered, and the connection lives on.
    Call {
        id: Option<RequestId>,
        command: Result<Command, RpcError>,
    },
    /// The answer to something that the host asked.
    Answer {
        id: RequestId,
        outcome: Result<Value, RpcError>,
    },
}

#[derive(Debug)]
pub enum Command {
    Initialize(Box<InitializeParams>),
    Reconnect(ReconnectParams),
    Ping,
    Subscribe(SubscribeParams),
    Unsubscribe {
        channel: ChannelUri,
    },
    Dispatch(Box<Dispatch>),
    ListSessions(ListSessionsParams),
    CreateSession(Box<CreateSession>),
    DisposeSession(DisposeSessionParams),
    CreateChat(Box<CreateChatParams>),
    DisposeChat(DisposeChatParams),
    MoveChat(MoveChatParams),
    FetchTurns(FetchTurnsParams),
    /// The same as versions up to 0.4 ask for it: the answer has the turns.
    ReadTurns(ReadTurns),
    ResolveSessionConfig(ResolveSessionConfigParams),
    CompleteSessionConfig(SessionConfigCompletionsParams),
    Complete(CompletionsParams),
    Workspace(Box<WorkspaceCommand>),
    Authenticate(AuthenticateParams),
    InvokeChangesetOperation(InvokeChangesetOperationParams),
    Automation(Box<AutomationCommand>),
    /// Something that this host does besides the protocol.
    Extension(ExtensionCommand),
    /// Something for an MCP server, on its channel.
    Mcp(Box<McpRequest>),
}

/// What a client asks of an MCP server, or tells it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct McpRequest {
    pub channel: String,
    pub method: String,
    #[serde(default)]
    pub params: Option<JsonObject>,
}

/// A new session, and what it is a copy of, if it is one. Versions before 0.4
/// fork whole sessions; this host goes on doing so in every version.
#[derive(Debug, Deserialize)]
pub struct CreateSession {
    #[serde(flatten)]
    pub params: CreateSessionParams,
    #[serde(default)]
    pub fork: Option<SessionFork>,
    /// What versions up to 0.4 select with the session.
    #[serde(default)]
    pub model: Option<ModelSelection>,
    #[serde(default)]
    pub agent: Option<AgentSelection>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionFork {
    pub session: ChannelUri,
    /// The last turn that the copy has.
    pub turn_id: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ReadTurns {
    pub channel: ChannelUri,
    /// The turn that those asked for precede; the end of history if left out.
    #[serde(default)]
    pub before: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
}

/// An action that a client dispatches. One that this host does not know, or
/// that lacks something, is [`StateAction::Unknown`]: it can still be echoed
/// with the reason why it was refused.
#[derive(Debug)]
pub struct Dispatch {
    pub channel: ChannelUri,
    pub client_seq: i64,
    pub action: StateAction,
    /// What a client of an older version said.
    pub said: Option<Arc<Said>>,
    /// A name in it that is longer than names may be.
    pub too_long: Option<TooLong>,
}

/// An action in the words of the client that dispatched it: what is refused
/// goes back as it came, and is called what the client calls it.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub version: Version,
    pub channel: ChannelUri,
    pub action: Value,
    /// What counts in place of the raised action: a part of something that the
    /// newest version changes as a whole, and that the engine has to complete.
    pub partial: Option<PartialAction>,
}

impl Said {
    /// The type of the action.
    pub fn kind(&self) -> &str {
        self.action["type"].as_str().unwrap_or_default()
    }
}

impl ClientMessage {
    /// Decodes one frame of a connection that speaks no version yet, and says
    /// in which version: the one that a client introduces itself in, else the
    /// newest. `known` is asked for the version of a client that comes back.
    ///
    /// Whether the connection is to speak that version, the engine decides when
    /// it lets the client in.
    pub fn decode_first(
        text: &str,
        known: impl FnOnce(&str) -> Option<Version>,
    ) -> (Version, Self) {
        let frame = ClientFrame::parse(text);
        let introduced = match &frame {
            Ok(ClientFrame::Request { method, params, .. }) => {
                introduced_in(method, *params, known)
            }
            Ok(ClientFrame::Notification { .. } | ClientFrame::Response { .. }) | Err(_) => None,
        };
        let version = introduced.unwrap_or(Version::NEWEST);
        (version, Self::read(version, frame))
    }

    /// Decodes one frame of a client of the given version. Nothing that a
    /// client can send makes this fail.
    pub fn decode_in(version: Version, text: &str) -> Self {
        Self::read(version, ClientFrame::parse(text))
    }

    /// Decodes one frame of the newest version.
    pub fn decode(text: &str) -> Self {
        Self::decode_in(Version::NEWEST, text)
    }

    fn read(version: Version, frame: Result<ClientFrame<'_>, Box<BadFrame>>) -> Self {
        match frame {
            Ok(ClientFrame::Request { id, method, params }) => Self::Call {
                id: Some(id),
                command: Command::decode_in(version, &method, params),
            },
            Ok(ClientFrame::Notification { method, params }) => Self::Call {
                id: None,
                command: Command::decode_in(version, &method, params),
            },
            Ok(ClientFrame::Response { id, outcome }) => Self::Answer { id, outcome },
            Err(bad) => {
                let BadFrame { id, error } = *bad;
                let command = Err(error);
                Self::Call { id, command }
            }
        }
    }

    /// Whether a client says with it who it is.
    pub fn introduces(&self) -> bool {
        match self {
            Self::Call { command, .. } => command.as_ref().is_ok_and(Command::introduces),
            Self::Answer { .. } => false,
        }
    }
}

impl Command {
    pub fn decode(method: &str, params: Option<&RawValue>) -> Result<Self, RpcError> {
        Ok(match method {
            "dispatchAction" => Self::Dispatch(Box::new(decode_dispatch(params)?)),
            "initialize" => Self::Initialize(decode(method, params)?),
            "reconnect" => Self::Reconnect(decode(method, params)?),
            "ping" => Self::Ping,
            "subscribe" => Self::Subscribe(decode(method, params)?),
            "unsubscribe" => {
                let Unsubscribe { channel } = decode(method, params)?;
                Self::Unsubscribe { channel }
            }
            "listSessions" => Self::ListSessions(decode(method, params)?),
            "createSession" => Self::CreateSession(decode(method, params)?),
            "disposeSession" => Self::DisposeSession(decode(method, params)?),
            "createChat" => Self::CreateChat(decode(method, params)?),
            "disposeChat" => Self::DisposeChat(decode(method, params)?),
            "moveChat" => Self::MoveChat(decode(method, params)?),
            "fetchTurns" => Self::FetchTurns(decode(method, params)?),
            "resolveSessionConfig" => Self::ResolveSessionConfig(decode(method, params)?),
            "sessionConfigCompletions" => Self::CompleteSessionConfig(decode(method, params)?),
            "completions" => Self::Complete(decode(method, params)?),
            "authenticate" => Self::Authenticate(decode(method, params)?),
            "invokeChangesetOperation" => Self::InvokeChangesetOperation(decode(method, params)?),
            "mcpMethodCall" | "mcpNotification" => Self::Mcp(decode(method, params)?),
            _ => {
                if let Some(command) = WorkspaceCommand::decode(method, params) {
                    Self::Workspace(Box::new(command?))
                } else if let Some(command) = AutomationCommand::decode(method, params) {
                    Self::Automation(Box::new(command?))
                } else if let Some(command) = ExtensionCommand::decode(method, params) {
                    Self::Extension(command?)
                } else if let Some(request) = mcp_request(method, params) {
                    Self::Mcp(Box::new(request))
                } else {
                    return Err(RpcError::method_not_found(method));
                }
            }
        })
    }
}

/// A method of MCP itself, on the channel of a server: clients in the field send
/// those as they are, with the channel among the parameters.
fn mcp_request(method: &str, params: Option<&RawValue>) -> Option<McpRequest> {
    let mut params: JsonObject = serde_json::from_str(params?.get()).ok()?;
    let channel = params.remove("channel")?;
    let channel = channel.as_str().filter(|it| it.starts_with("mcp:"))?;
    Some(McpRequest {
        channel: channel.to_owned(),
        method: method.to_owned(),
        params: Some(params),
    })
}

impl Command {
    /// Whether a client says with it who it is.
    pub fn introduces(&self) -> bool {
        matches!(self, Self::Initialize(_) | Self::Reconnect(_))
    }

    /// Raises a call of an older version to the newest.
    fn decode_in(
        version: Version,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Self, RpcError> {
        let explain = |error| RpcError::invalid_params(format!("`{method}`: {error}"));
        if version == Version::NEWEST && method == "dispatchAction" {
            return Self::decode(method, params);
        }
        let said = params;
        let mut params: Value =
            serde_json::from_str(params.map_or("{}", RawValue::get)).map_err(explain)?;
        if method != "dispatchAction" {
            check_params(method, &params)
                .map_err(|why| RpcError::invalid_params(format!("`{method}`: {why}")))?;
        }
        if version == Version::NEWEST {
            return Self::decode(method, said);
        }
        if let Value::Object(params) = &mut params {
            up::params(version, method, params);
        }
        if method == "dispatchAction" {
            return raise_dispatch(version, params).map(|it| Self::Dispatch(Box::new(it)));
        }
        if method == "fetchTurns" && !version.tells_earlier_turns() {
            return serde_json::from_value(params)
                .map(Self::ReadTurns)
                .map_err(explain);
        }
        let raised = serde_json::value::to_raw_value(&params).map_err(explain)?;
        Self::decode(method, Some(&raised))
    }
}

fn raise_dispatch(version: Version, params: Value) -> Result<Dispatch, RpcError> {
    let DispatchWire {
        channel,
        client_seq,
        action,
    } = serde_json::from_value(params)
        .map_err(|error| RpcError::invalid_params(format!("`dispatchAction`: {error}")))?;
    let too_long = too_long(&channel, &action);
    let (act, partial) = up::action(version, channel.as_str(), action.clone());
    let raised = ChannelUri::from(act.channel);
    let channel = match version.names_channels_in_envelopes() {
        true => channel,
        // The action says itself what it is about.
        false => raised.session_of_default_chat().unwrap_or(raised.clone()),
    };
    Ok(Dispatch {
        channel: raised,
        client_seq,
        action: read_action(act.action.into()),
        said: Some(Arc::new(Said {
            version,
            channel,
            action,
            partial,
        })),
        too_long,
    })
}

/// The version in which a client introduces itself with this call, if it does
/// and that can be told: what it offers, or what it spoke before.
fn introduced_in(
    method: &str,
    params: Option<&RawValue>,
    known: impl FnOnce(&str) -> Option<Version>,
) -> Option<Version> {
    if !matches!(method, "initialize" | "reconnect") {
        return None;
    }
    let params: Value = serde_json::from_str(params?.get()).ok()?;
    if method == "reconnect" {
        return known(params["clientId"].as_str()?);
    }
    match (&params["protocolVersions"], &params["protocolVersion"]) {
        // Who counts drafts speaks one, even if it is none that we speak.
        (Value::Null, Value::Number(_)) => Some(Version::Draft1),
        (offered, _) => {
            let offered: Vec<String> = Deserialize::deserialize(offered).ok()?;
            version::negotiate(&offered)
        }
    }
}

#[derive(Deserialize)]
struct Unsubscribe {
    channel: ChannelUri,
}

/// The methods that are about the connection or the host as a whole: clients
/// in the field leave `channel` out of them, and it can only be the root.
const CONNECTION_METHODS: &[&str] = &[
    "initialize",
    "reconnect",
    "listSessions",
    "resolveSessionConfig",
    "sessionConfigCompletions",
    "resourceRead",
    "resourceWrite",
    "resourceList",
    "resourceCopy",
    "resourceMove",
    "resourceDelete",
    "resourceResolve",
    "resourceMkdir",
    "resourceRequest",
    "createResourceWatch",
    "authenticate",
    "listAutomationTriggerDefinitions",
    "runAutomation",
    "fetchAutomationRuns",
];

pub(crate) fn decode<T: DeserializeOwned>(
    method: &str,
    params: Option<&RawValue>,
) -> Result<T, RpcError> {
    let explain = |error| RpcError::invalid_params(format!("`{method}`: {error}"));
    let text = params.map_or("{}", RawValue::get);
    if !CONNECTION_METHODS.contains(&method) {
        return serde_json::from_str(text).map_err(explain);
    }
    let mut value: Value = serde_json::from_str(text).map_err(explain)?;
    if let Some(object) = value.as_object_mut() {
        object
            .entry("channel")
            .or_insert_with(|| crate::newest::ROOT_RESOURCE_URI.into());
    }
    serde_json::from_value(value).map_err(explain)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DispatchWire {
    channel: ChannelUri,
    client_seq: i64,
    action: Value,
}

fn decode_dispatch(params: Option<&RawValue>) -> Result<Dispatch, RpcError> {
    let DispatchWire {
        channel,
        client_seq,
        action,
    } = decode("dispatchAction", params)?;
    Ok(Dispatch {
        too_long: too_long(&channel, &action),
        channel,
        client_seq,
        action: read_action(action),
        said: None,
    })
}

fn too_long(channel: &ChannelUri, action: &Value) -> Option<TooLong> {
    if channel.as_str().len() > MAX_URI_BYTES {
        let (field, bytes) = ("channel".to_owned(), channel.as_str().len());
        return Some(TooLong::Uri { field, bytes });
    }
    check_action(action).err()
}

fn read_action(action: Value) -> StateAction {
    match serde_json::from_value(with_what_the_host_decides(&action)) {
        // What cannot be read is echoed as it came.
        Ok(StateAction::Unknown(_)) | Err(_) => StateAction::Unknown(action),
        Ok(known) => known,
    }
}

/// Fields that the types require and that the host sets itself, whatever the
/// client says: a client that leaves them out is understood all the same.
fn with_what_the_host_decides(action: &Value) -> Value {
    let mut action = action.clone();
    let (field, value) = match action.get("type").and_then(Value::as_str) {
        Some("chat/turnStarted") => ("startedAt", Value::from("")),
        Some("chat/turnCancelled") => ("duration", Value::from(0)),
        _ => return action,
    };
    if let Some(object) = action.as_object_mut()
        && object.get(field).is_none_or(Value::is_null)
    {
        object.insert(field.to_owned(), value);
    }
    action
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Result<Command, RpcError> {
        match ClientMessage::decode(text) {
            ClientMessage::Call { command, .. } => command,
            ClientMessage::Answer { .. } => panic!("a call: {text}"),
        }
    }

    #[test]
    fn an_unknown_method_and_wrong_params_have_their_own_codes() {
        let unknown = call(r#"{"id":1,"method":"dance"}"#).unwrap_err();
        assert_eq!(unknown.code, -32601);
        for params in ["{}", r#"{"channel":7}"#, "[]", "null", "7"] {
            let text = format!(r#"{{"id":1,"method":"subscribe","params":{params}}}"#);
            assert_eq!(call(&text).unwrap_err().code, -32602, "{text}");
        }
    }

    fn first(method: &str, params: &str) -> (Version, ClientMessage) {
        let text = format!(r#"{{"id":1,"method":"{method}","params":{params}}}"#);
        ClientMessage::decode_first(&text, |client| (client == "old").then_some(Version::V0_2))
    }

    #[test]
    fn who_counts_drafts_speaks_a_draft() {
        let version_of = |params: &str| first("initialize", params).0;
        let draft = Version::Draft1;
        assert_eq!(version_of(r#"{"clientId":"c","protocolVersion":1}"#), draft);
        assert_eq!(version_of(r#"{"clientId":"c","protocolVersion":7}"#), draft);
        let named = r#"{"clientId":"c","protocolVersions":["0.1.0"]}"#;
        assert_eq!(version_of(named), Version::V0_1);
        let both = r#"{"clientId":"c","protocolVersion":1,"protocolVersions":["0.2.0"]}"#;
        assert_eq!(version_of(both), Version::V0_2);
        let unspoken = r#"{"clientId":"c","protocolVersions":["7.0.0"]}"#;
        assert_eq!(version_of(unspoken), Version::NEWEST);
    }

    #[test]
    fn who_comes_back_speaks_what_it_spoke() {
        for (client, version) in [("old", Version::V0_2), ("stranger", Version::NEWEST)] {
            let params =
                format!(r#"{{"clientId":"{client}","lastSeenServerSeq":4,"subscriptions":[]}}"#);
            let (spoken, message) = first("reconnect", &params);
            assert_eq!(spoken, version);
            assert!(message.introduces());
        }
    }

    #[test]
    fn who_does_not_say_who_it_is_is_read_in_the_newest_version() {
        for method in ["ping", "subscribe", "listSessions"] {
            let params = r#"{"clientId":"old","channel":"c","protocolVersions":["0.2.0"]}"#;
            let (version, message) = first(method, params);
            assert_eq!(version, Version::NEWEST);
            assert!(!message.introduces(), "{method}");
        }
        // Neither does who says it wrongly, or to nobody in particular.
        let (version, message) = first("initialize", "[]");
        assert_eq!((version, message.introduces()), (Version::NEWEST, false));
        let note = r#"{"method":"reconnect","params":{"clientId":"old"}}"#;
        let (version, _) = ClientMessage::decode_first(note, |_| Some(Version::V0_2));
        assert_eq!(version, Version::NEWEST);
    }

    #[test]
    fn connection_methods_need_no_channel() {
        let text = r#"{"id":1,"method":"reconnect",
            "params":{"clientId":"c","lastSeenServerSeq":4,"subscriptions":[]}}"#;
        assert!(matches!(call(text), Ok(Command::Reconnect(_))));
        assert!(matches!(
            call(r#"{"id":1,"method":"listSessions"}"#),
            Ok(Command::ListSessions(_))
        ));
    }

    #[test]
    fn an_action_of_unknown_type_or_shape_is_kept_for_the_echo() {
        for action in [
            r#"{"type":"chat/juggled"}"#,
            r#"{"type":"chat/delta"}"#,
            "{}",
        ] {
            let text = format!(
                r#"{{"method":"dispatchAction",
                     "params":{{"channel":"c","clientSeq":1,"action":{action}}}}}"#
            );
            let Ok(Command::Dispatch(dispatch)) = call(&text) else {
                panic!("a dispatch: {text}");
            };
            assert!(matches!(dispatch.action, StateAction::Unknown(_)), "{text}");
        }
    }

    #[test]
    fn a_turn_may_start_without_a_timestamp() {
        let text = r#"{"method":"dispatchAction","params":{"channel":"c","clientSeq":1,
            "action":{"type":"chat/turnStarted","turnId":"t",
                      "message":{"text":"hi","origin":{"kind":"user"}}}}}"#;
        let Ok(Command::Dispatch(dispatch)) = call(text) else {
            panic!("a dispatch");
        };
        assert!(matches!(dispatch.action, StateAction::ChatTurnStarted(_)));
    }
}
