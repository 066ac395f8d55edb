//! Tools of the MCP servers that the host runs, as agents call them: the call is
//! passed on to the server, and what the server answers is the result.

use innkeeper_protocol::agent::Decision;
use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::newest::actions::{
    ChatToolCallAuthRequiredAction, ChatToolCallAuthResolvedAction,
    ChatToolCallContentChangedAction, StateAction,
};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{
    McpAuthRequirement, ToolCallResult, ToolCallState, ToolResultContent,
    ToolResultEmbeddedResourceContent, ToolResultTextContent,
};
use innkeeper_protocol::{CallId, ChannelUri};
use serde_json::{Value, json};

use super::TurnsMut;
use super::tools::server_of;
use crate::servers::{Answered, Outcome, ToolCaller, pages_in};

/// How many pieces of a result are kept.
const MOST_PIECES: usize = 256;

/// How large the structured part of a result may be: it stays in the state,
/// where large text does not.
const MOST_STRUCTURED: usize = 256 * 1024;

/// How much of what a failed call says is its error.
const MOST_WORDS: usize = 2_000;

impl TurnsMut<'_> {
    /// An agent calls a tool of a server.
    pub(super) fn run_server_tool(
        &mut self,
        uri: &ChannelUri,
        call: &str,
        server: &str,
        input: Option<&str>,
    ) {
        let Some(ToolCallState::Running(running)) = self.tool_call(uri, call) else {
            return;
        };
        let name = running.tool_name.clone();
        let session = self.core.channels.session_of(uri);
        let turn = self.own.turn(uri).map(|turn| turn.id.clone());
        let Some((session, turn)) = session.zip(turn) else {
            return;
        };
        let call = CallId::from(call);
        let caller = ToolCaller {
            chat: uri.clone(),
            turn,
            call: call.clone(),
        };
        let mut params = JsonObject::new();
        params.insert("name".to_owned(), json!(name));
        let arguments = input.and_then(|text| serde_json::from_str(text).ok());
        params.insert("arguments".to_owned(), arguments.unwrap_or(json!({})));
        let servers = &mut *self.servers;
        let called = servers.call_tool(self.core, (&session, server), caller, params);
        if let Err(why) = called {
            self.server_tool_failed(uri, call, why);
        }
    }

    /// A server answered, or somebody signed in to it.
    pub(crate) fn server_answered(&mut self, answered: Answered) {
        let Answered { caller, outcome } = answered;
        let ToolCaller { chat, turn, call } = caller;
        if self
            .own
            .turn(&chat)
            .is_none_or(|running| running.id != turn)
        {
            return;
        }
        match outcome {
            Outcome::Done(result) => {
                let Some(ToolCallState::Running(running)) = self.tool_call(&chat, &call) else {
                    return;
                };
                let title = running.display_name.clone();
                let server = server_of(running.contributor.as_ref()).map(str::to_owned);
                let session = self.core.channels.session_of(&chat);
                if let Some((session, server)) = session.zip(server) {
                    for page in pages_in(&result) {
                        let from = (&session, server.as_str());
                        self.servers.expose(self.core, &chat, from, page);
                    }
                }
                self.server_tool_done(&chat, call, result_of(result, &title));
            }
            Outcome::Failed(why) => self.server_tool_failed(&chat, call, why),
            Outcome::Progress(text) => self.show_progress(&chat, &call, text),
            Outcome::AuthRequired(auth) => self.wait_for_sign_in(&chat, &call, *auth),
            Outcome::GoesOn => {
                let waits = self.tool_call(&chat, &call);
                if matches!(waits, Some(ToolCallState::AuthRequired(_))) {
                    let action = ChatToolCallAuthResolvedAction {
                        turn_id: turn.to_string(),
                        tool_call_id: call.to_string(),
                        meta: None,
                    };
                    let action = StateAction::ChatToolCallAuthResolved(action);
                    self.core.emit(&chat, action, None);
                }
            }
        }
    }

    /// What a call shows while it runs is replaced by its result.
    fn show_progress(&mut self, uri: &ChannelUri, call: &str, text: String) {
        let runs = matches!(self.tool_call(uri, call), Some(ToolCallState::Running(_)));
        let Some(turn_id) = self.running_turn_id(uri).filter(|_| runs) else {
            return;
        };
        let action = ChatToolCallContentChangedAction {
            turn_id,
            tool_call_id: call.to_owned(),
            meta: None,
            content: vec![ToolResultContent::Text(ToolResultTextContent { text })],
        };
        let action = StateAction::ChatToolCallContentChanged(action);
        self.core.emit(uri, action, None);
    }

    fn wait_for_sign_in(&mut self, uri: &ChannelUri, call: &str, auth: McpAuthRequirement) {
        let runs = matches!(self.tool_call(uri, call), Some(ToolCallState::Running(_)));
        let Some(turn_id) = self.running_turn_id(uri).filter(|_| runs) else {
            return;
        };
        let action = ChatToolCallAuthRequiredAction {
            turn_id,
            tool_call_id: call.to_owned(),
            meta: None,
            auth,
        };
        let action = StateAction::ChatToolCallAuthRequired(action);
        self.core.emit(uri, action, None);
    }

    fn server_tool_failed(&mut self, uri: &ChannelUri, call: CallId, why: String) {
        let result = ToolCallResult {
            success: false,
            past_tense_message: StringOrMarkdown::Plain(why.clone()),
            content: None,
            structured_content: None,
            error: Some(json!({"message": why, "code": "mcpServer"})),
        };
        self.server_tool_done(uri, call, result);
    }

    fn server_tool_done(&mut self, uri: &ChannelUri, call: CallId, result: ToolCallResult) {
        self.tool_finished(uri, call.clone(), result.clone(), false);
        self.decided(uri, Decision::ClientTool { call, result });
    }
}

/// A result in the protocol's words.
fn result_of(mut result: Value, title: &str) -> ToolCallResult {
    let success = result["isError"] != true;
    let content: Vec<ToolResultContent> = match result["content"].take() {
        Value::Array(blocks) => blocks
            .into_iter()
            .take(MOST_PIECES)
            .filter_map(block)
            .collect(),
        _ => Vec::new(),
    };
    let said = content.iter().find_map(|block| match block {
        ToolResultContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let said = cut(
        said.unwrap_or("the MCP server says that it failed"),
        MOST_WORDS,
    );
    let structured = match result["structuredContent"].take() {
        Value::Object(it) if json!(it).to_string().len() <= MOST_STRUCTURED => Some(it),
        _ => None,
    };
    ToolCallResult {
        success,
        past_tense_message: StringOrMarkdown::Plain(title.to_owned()),
        error: (!success).then(|| json!({"message": said, "code": "tool"})),
        content: Some(content).filter(|content| !content.is_empty()),
        structured_content: structured,
    }
}

fn block(mut block: Value) -> Option<ToolResultContent> {
    let text = |value: Value| match value {
        Value::String(text) => Some(text),
        _ => None,
    };
    let as_text = |text| ToolResultContent::Text(ToolResultTextContent { text });
    let embedded = |data, kind: Option<String>| {
        ToolResultContent::EmbeddedResource(ToolResultEmbeddedResourceContent {
            data,
            content_type: kind.unwrap_or_else(|| "application/octet-stream".to_owned()),
        })
    };
    let kind = text(block["type"].take())?;
    match kind.as_str() {
        "text" => text(block["text"].take()).map(as_text),
        "image" | "audio" => {
            let data = text(block["data"].take())?;
            Some(embedded(data, text(block["mimeType"].take())))
        }
        "resource" => {
            let mut resource = block["resource"].take();
            match text(resource["text"].take()) {
                Some(said) => Some(as_text(said)),
                None => {
                    let data = text(resource["blob"].take())?;
                    Some(embedded(data, text(resource["mimeType"].take())))
                }
            }
        }
        "resource_link" => text(block["uri"].take()).map(as_text),
        _ => None,
    }
}
