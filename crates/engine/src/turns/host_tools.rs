//! Tools of the host itself, which it offers to agents as it offers those of
//! clients: to answer what somebody wrote about a file, and to resolve it. They
//! are offered once there is something to answer.

use innkeeper_protocol::agent::{ClientTool, Decision, ToolOwner};
use innkeeper_protocol::newest::actions::{
    AnnotationsEntrySetAction, AnnotationsUpdatedAction, StateAction,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    AnnotationEntry, AnnotationsSummary, ToolCallResult, ToolCallState, ToolDefinition,
    ToolResultContent, ToolResultTextContent,
};
use innkeeper_protocol::{CallId, ChannelUri, ClientId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::TurnsMut;
use crate::annotations::check_answer;
use crate::core::channels::Session;

/// Whose tools they are, where those of clients name their client.
pub(crate) const HOST: &str = "innkeeper:host";

const RESOLVE: &str = "resolve_annotation";
const ANSWER: &str = "answer_annotation";

/// What an agent says with a call.
#[derive(Debug, Deserialize)]
struct Wanted {
    id: String,
    #[serde(default)]
    answer: Option<String>,
}

/// What the host offers to the agents of a session.
pub(super) fn tools_of(session: &Session) -> Vec<ClientTool> {
    let has_any = |it: &AnnotationsSummary| it.annotation_count > 0;
    if !session.annotations.as_ref().is_some_and(has_any) {
        return Vec::new();
    }
    let tool = |name: &str, title: &str, description: &str, required: Value| ClientTool {
        owner: ToolOwner::Client(ClientId::from(HOST)),
        definition: ToolDefinition {
            name: name.to_owned(),
            title: Some(title.to_owned()),
            description: Some(description.to_owned()),
            input_schema: Some(json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "The id of the comment"},
                    "answer": {"type": "string", "description": "What you say to it"},
                },
                "required": required,
            })),
            output_schema: None,
            annotations: None,
            meta: None,
        },
    };
    vec![
        tool(
            RESOLVE,
            "Resolve a comment",
            "Marks a comment on a file as resolved, with an answer if you give one.",
            json!(["id"]),
        ),
        tool(
            ANSWER,
            "Answer a comment",
            "Answers a comment on a file without resolving it.",
            json!(["id", "answer"]),
        ),
    ]
}

impl TurnsMut<'_> {
    /// An agent calls a tool of the host: it is done at once.
    pub(super) fn run_host_tool(&mut self, uri: &ChannelUri, call: &str, input: Option<&str>) {
        let running = self.tool_call(uri, call);
        let Some(name) = running.and_then(name_of).map(str::to_owned) else {
            return;
        };
        let outcome = self.host_tool(uri, &name, input.unwrap_or_default());
        let success = outcome.is_ok();
        let said = outcome.unwrap_or_else(|reason| reason);
        let result = ToolCallResult {
            success,
            past_tense_message: StringOrMarkdown::Plain(said.clone()),
            content: Some(vec![ToolResultContent::Text(ToolResultTextContent {
                text: said.clone(),
            })]),
            structured_content: None,
            error: (!success).then(|| json!({"message": said, "code": "invalid"})),
        };
        let call = CallId::from(call);
        self.tool_finished(uri, call.clone(), result.clone(), false);
        self.decided(uri, Decision::ClientTool { call, result });
    }

    /// What came of it, or why nothing did.
    fn host_tool(&mut self, chat: &ChannelUri, name: &str, input: &str) -> Result<String, String> {
        let wanted: Wanted = serde_json::from_str(input)
            .map_err(|error| format!("the input cannot be read: {error}; give an `id`"))?;
        let Wanted { id, answer } = wanted;
        let session = self.core.channels.session_of(chat);
        let channel = session.map(|it| ChannelUri::annotations_of(it.as_str()));
        let channel = channel.ok_or("the session does not exist")?;
        let known = self.core.channels.annotations(&channel);
        let Some((known, annotation)) = known.and_then(|it| Some((it, it.find(&id)?))) else {
            return Err(format!("unknown comment `{id}`; it may have been deleted"));
        };
        let is_resolved = annotation.resolved;
        let resolves = match name {
            RESOLVE => true,
            ANSWER if answer.is_some() => false,
            ANSWER => return Err("give an `answer`".to_owned()),
            other => return Err(format!("this host has no tool `{other}`")),
        };
        if let Some(markdown) = answer {
            let entry = AnnotationEntry {
                // Numbers only grow, so no other entry is called that.
                id: format!("agent-{}", self.core.server_seq()),
                text: StringOrMarkdown::Markdown { markdown },
                meta: json!({"innkeeper": {"author": "agent"}})
                    .as_object()
                    .cloned(),
            };
            check_answer(known, annotation, &entry)?;
            let action = AnnotationsEntrySetAction {
                annotation_id: id.clone(),
                entry,
            };
            let action = StateAction::AnnotationsEntrySet(action);
            self.core.emit(&channel, action, None);
        }
        if resolves && !is_resolved {
            let action = AnnotationsUpdatedAction {
                annotation_id: id.clone(),
                origin: None,
                resource: None,
                range: None,
                resolved: Some(true),
            };
            let action = StateAction::AnnotationsUpdated(action);
            self.core.emit(&channel, action, None);
        }
        Ok(match resolves {
            true => format!("The comment `{id}` is resolved."),
            false => format!("The comment `{id}` is answered."),
        })
    }
}

fn name_of(call: &ToolCallState) -> Option<&str> {
    match call {
        ToolCallState::Running(running) => Some(&running.tool_name),
        _ => None,
    }
}
