//! What the host says. A message is built once, in the newest version, and
//! encoded once for each version that somebody speaks.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::agent::{InstallableAgents, InstalledAgent};
use crate::newest::actions::{ActionOrigin, StateAction};
use crate::newest::commands::{
    AutomationCapabilities, CompletionsResult, CreateResourceWatchResult, Implementation,
    InvokeChangesetOperationResult, ListAutomationTriggerDefinitionsResult, MoveChatResult,
    ResolveSessionConfigResult, ResourceListResult, ResourceReadResult, ResourceResolveResult,
    RunAutomationResult, SessionConfigCompletionsResult,
};
use crate::newest::common::JsonObject;
use crate::newest::notifications::{
    AuthRequiredParams, OtlpExportLogsParams, OtlpExportMetricsParams, OtlpExportTracesParams,
    ProgressParams, SessionAddedParams, SessionRemovedParams, SessionSummaryChangedParams,
};
use crate::newest::state::{SessionSummary, TelemetryCapabilities};
use crate::record::pressed::Pressed;
use crate::record::search::{SearchPage, UsagePage};
use crate::record::{Excerpts, Sequenced, SummaryFacts};
use crate::resource_call::ResourceCall;
use crate::rpc::{RequestId, RpcError};
use crate::snapshot::{Snapshot, StoredTurn};
use crate::version::Version;
use crate::{ChannelUri, Seq};

mod finished;
mod older;
mod rejection;

pub use finished::Finished;
pub use rejection::{Rejection, RejectionCode};

#[derive(Debug, Clone)]
pub enum HostMessage {
    Reply {
        id: RequestId,
        reply: Reply,
    },
    Failure {
        id: Option<RequestId>,
        error: RpcError,
    },
    Action(Arc<Sequenced>),
    /// To the sender of an action only: it was not applied, and why.
    Rejection(Box<Rejection>),
    Notification(Box<Notification>),
    /// The host asks a client for something that the client has.
    Question {
        id: RequestId,
        ask: ResourceCall,
    },
}

/// Ephemeral news: not sequenced, not stored, not replayed.
#[derive(Debug, Clone)]
pub enum Notification {
    /// With what older versions say of the session.
    SessionAdded(SessionAddedParams, SummaryFacts),
    SessionRemoved(SessionRemovedParams),
    /// With what has changed of what older versions say of the session.
    SessionSummaryChanged(SessionSummaryChangedParams, SummaryFacts),
    AuthRequired(AuthRequiredParams),
    Progress(ProgressParams),
    OtlpLogs(OtlpExportLogsParams),
    OtlpTraces(OtlpExportTracesParams),
    OtlpMetrics(OtlpExportMetricsParams),
    Mcp(McpNotificationParams),
}

/// What an MCP server said, for those who listen to its channel.
#[derive(Debug, Clone, Serialize)]
pub struct McpNotificationParams {
    pub channel: String,
    pub method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<JsonObject>,
}

/// The result of a request.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// `null`: done, and there is nothing to say about it.
    Done,
    /// `null`: the client is told no more. That is so even if what was done
    /// together with it can never be stored.
    Unsubscribed,
    /// `{}`: done, for the commands whose result is an object.
    Empty {},
    Initialize(Box<InitializeReply>),
    Subscribe(SubscribeReply),
    Reconnect(ReconnectReply),
    ListSessions(ListSessionsReply),
    MoveChat(MoveChatResult),
    ResolveSessionConfig(Box<ResolveSessionConfigResult>),
    CompleteSessionConfig(SessionConfigCompletionsResult),
    Completions(CompletionsResult),
    /// About files of the host's machine. No version has another form of it.
    Resource(Finished),
    /// What a client said about something that it has.
    ResourceRead(ResourceReadResult),
    ResourceList(ResourceListResult),
    ResourceResolve(Box<ResourceResolveResult>),
    CreateResourceWatch(CreateResourceWatchResult),
    InvokeChangesetOperation(InvokeChangesetOperationResult),
    AutomationTriggers(ListAutomationTriggerDefinitionsResult),
    RunAutomation(RunAutomationResult),
    /// What was found in the store. These have one form in all versions.
    Search(SearchPage),
    Usage(UsagePage),
    /// What the host can install, and what it has. Likewise.
    InstallableAgents(InstallableAgents),
    InstalledAgent(InstalledAgent),
    /// What an MCP server answered.
    Mcp(Value),
    /// History as versions up to 0.4 ask for it.
    Turns(TurnsReply),
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnsReply {
    pub turns: Vec<StoredTurn>,
    pub has_more: bool,
    /// See [`Snapshot::inputs`].
    #[serde(skip)]
    pub inputs: Arc<Excerpts>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeReply {
    /// The exact version string that the client offered.
    pub protocol_version: String,
    pub server_seq: Seq,
    pub server_info: Implementation,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<JsonObject>,
    pub snapshots: Vec<Snapshot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_trigger_characters: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_command_prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<TelemetryCapabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automations: Option<AutomationCapabilities>,
}

impl InitializeReply {
    /// All but what may be large.
    fn without_snapshots(&self) -> Self {
        Self {
            protocol_version: self.protocol_version.clone(),
            server_seq: self.server_seq,
            server_info: self.server_info.clone(),
            meta: self.meta.clone(),
            snapshots: Vec::new(),
            default_directory: self.default_directory.clone(),
            completion_trigger_characters: self.completion_trigger_characters.clone(),
            terminal_command_prefix: self.terminal_command_prefix.clone(),
            telemetry: self.telemetry.clone(),
            automations: self.automations.clone(),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct SubscribeReply {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReconnectReply {
    Replay {
        actions: Vec<Envelope>,
        missing: Vec<String>,
        /// What the client has seen: perhaps the first steps of an action.
        #[serde(skip)]
        seen: Seq,
    },
    Snapshot {
        snapshots: Vec<Snapshot>,
    },
}

/// A sequenced action as clients read it.
#[derive(Debug, Clone)]
pub struct Envelope(pub Arc<Sequenced>);

impl Serialize for Envelope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EnvelopeWire::from(&*self.0).serialize(serializer)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EnvelopeWire<'a> {
    channel: &'a ChannelUri,
    action: &'a StateAction,
    server_seq: Seq,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a ActionOrigin>,
}

impl<'a> From<&'a Sequenced> for EnvelopeWire<'a> {
    fn from(sequenced: &'a Sequenced) -> Self {
        Self {
            channel: &sequenced.channel,
            action: &sequenced.action,
            server_seq: sequenced.seq,
            origin: sequenced.origin.as_ref(),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsReply {
    pub items: Vec<SummaryItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A row of the catalogue, as it is stored if nobody had to look into it, with
/// what older versions say in it.
#[derive(Debug, Clone)]
pub enum SummaryItem {
    Stored(Pressed, Option<Pressed>),
    Live(Box<SessionSummary>, Box<SummaryFacts>),
}

impl Serialize for SummaryItem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Stored(row, _) => row.serialize(serializer),
            Self::Live(row, _) => row.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct ReplyFrame<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a Reply,
}

#[derive(Serialize)]
struct FailureFrame<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RequestId>,
    error: &'a RpcError,
}

#[derive(Serialize)]
struct QuestionFrame<'a, P> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct NotificationFrame<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: P,
}

/// Writes a message in the newest version, as one frame of text.
pub fn encode(message: &HostMessage) -> String {
    let mut text = Vec::new();
    encode_into(&mut text, message);
    // JSON is UTF-8, so nothing is lost here.
    String::from_utf8(text).unwrap_or_default()
}

/// Writes a message in the given version: as one frame of text, as none if the
/// version cannot tell it, or as several if it tells it in steps.
///
/// The last frame of an action carries its number, and those before it the
/// numbers before that, which nothing else has: a client that loses the
/// connection between two of them asks for what follows the number of a step,
/// and is told the other steps.
pub fn encode_each(message: &HostMessage, version: Version, mut each: impl FnMut(String)) {
    match version {
        Version::NEWEST => each(encode(message)),
        older => match older::encode(message, older) {
            Ok(frames) => frames.into_iter().for_each(each),
            Err(error) => each(unencodable(message, &error)),
        },
    }
}

/// Writes a message in the newest version behind what `text` holds already.
pub fn encode_into(text: &mut Vec<u8>, message: &HostMessage) {
    let begins = text.len();
    if let Err(error) = encode_newest(text, message) {
        text.truncate(begins);
        text.extend_from_slice(unencodable(message, &error).as_bytes());
    }
}

fn encode_newest(text: &mut Vec<u8>, message: &HostMessage) -> serde_json::Result<()> {
    match message {
        HostMessage::Reply { id, reply } => {
            let frame = ReplyFrame {
                jsonrpc: "2.0",
                id,
                result: reply,
            };
            serde_json::to_writer(text, &frame)
        }
        HostMessage::Failure { id, error } => {
            let frame = FailureFrame {
                jsonrpc: "2.0",
                id: id.as_ref(),
                error,
            };
            serde_json::to_writer(text, &frame)
        }
        HostMessage::Action(sequenced) => {
            notification(text, "action", EnvelopeWire::from(&**sequenced))
        }
        HostMessage::Rejection(rejection) => notification(text, "action", &**rejection),
        HostMessage::Notification(news) => match &**news {
            Notification::SessionAdded(params, _) => {
                notification(text, "root/sessionAdded", params)
            }
            Notification::SessionRemoved(params) => {
                notification(text, "root/sessionRemoved", params)
            }
            Notification::SessionSummaryChanged(params, _) => {
                notification(text, "root/sessionSummaryChanged", params)
            }
            Notification::AuthRequired(params) => notification(text, "auth/required", params),
            Notification::Progress(params) => notification(text, "root/progress", params),
            Notification::OtlpLogs(params) => notification(text, "otlp/exportLogs", params),
            Notification::OtlpTraces(params) => notification(text, "otlp/exportTraces", params),
            Notification::OtlpMetrics(params) => notification(text, "otlp/exportMetrics", params),
            Notification::Mcp(params) => notification(text, "mcpNotification", params),
        },
        HostMessage::Question { id, ask } => {
            let frame = QuestionFrame {
                jsonrpc: "2.0",
                id,
                method: ask.method(),
                params: ask,
            };
            serde_json::to_writer(text, &frame)
        }
    }
}

fn notification(
    text: &mut Vec<u8>,
    method: &str,
    params: impl Serialize,
) -> serde_json::Result<()> {
    let frame = NotificationFrame {
        jsonrpc: "2.0",
        method,
        params,
    };
    serde_json::to_writer(text, &frame)
}

/// No type here is without a JSON form; should one become so, the client that
/// waits is told instead of being left waiting.
fn unencodable(message: &HostMessage, error: &serde_json::Error) -> String {
    let id = match message {
        HostMessage::Reply { id, .. } => serde_json::to_string(id).unwrap_or_default(),
        _ => "null".to_owned(),
    };
    let reason = Value::from(format!("the answer has no JSON form: {error}"));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":{reason}}}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::newest::actions::{ActionEnvelope, ChatDeltaAction};
    use crate::record::GateFacts;
    use serde_json::{Value, json};

    fn encoded(message: &HostMessage) -> Value {
        serde_json::from_str(&encode(message)).unwrap()
    }

    #[test]
    fn an_action_is_the_envelope_that_the_protocol_defines() {
        let sequenced = Sequenced {
            seq: 7.into(),
            channel: "ahp-chat:/1".into(),
            action: StateAction::ChatDelta(ChatDeltaAction {
                turn_id: "t".into(),
                part_id: "p".into(),
                content: "hi".into(),
                meta: None,
            }),
            origin: None,
            facts: GateFacts::default(),
        };
        let frame = encoded(&HostMessage::Action(Arc::new(sequenced.clone())));
        assert_eq!(frame["method"], "action");
        let envelope: ActionEnvelope = serde_json::from_value(frame["params"].clone()).unwrap();
        assert_eq!(envelope.action, sequenced.action);
        assert_eq!((envelope.server_seq, envelope.origin), (7, None));
    }

    #[test]
    fn replies_without_content_are_null_or_an_object_as_the_command_wants() {
        let id = RequestId::Number(1);
        let done = HostMessage::Reply {
            id: id.clone(),
            reply: Reply::Done,
        };
        assert_eq!(
            encoded(&done),
            json!({"jsonrpc": "2.0", "id": 1, "result": null})
        );
        let empty = HostMessage::Reply {
            id,
            reply: Reply::Empty {},
        };
        assert_eq!(
            encoded(&empty),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}})
        );
    }

    #[test]
    fn a_failure_without_a_request_has_a_null_id() {
        let failure = HostMessage::Failure {
            id: None,
            error: RpcError::parse("no"),
        };
        assert_eq!(encoded(&failure)["id"], Value::Null);
        assert_eq!(encoded(&failure)["error"]["code"], -32700);
    }
}
