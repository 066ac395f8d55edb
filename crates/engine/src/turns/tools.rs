//! Tool calls through their whole life: `streaming`, `pending-confirmation`,
//! `running`, `pending-result-confirmation`, and an end. The agent reports what
//! it does, people decide what needs deciding, and the owner of a client tool
//! runs it.
//!
//! *Invariant*: an action is emitted only if the call is in a state in which
//! the protocol's reducer changes something. In particular a call that waits
//! for approval is never made ready a second time.

use bytes::Bytes;
use innkeeper_protocol::agent::{
    Approval, ApprovalOption, ApprovalRequest, Decision, ToolReady, ToolStart, ToolVerdict,
    lets_another_work, only_looks, runs_command,
};
use innkeeper_protocol::markdown;
use innkeeper_protocol::newest::actions::{
    ChatToolCallCompleteAction, ChatToolCallContentChangedAction, ChatToolCallDeltaAction,
    ChatToolCallReadyAction, ChatToolCallStartAction, StateAction,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ChatState, ConfirmationOption, ResourceResponsePart, ResponsePart, ToolCallConfirmationReason,
    ToolCallContributor, ToolCallResult, ToolCallRiskAssessment, ToolCallState, ToolInput,
    ToolResultContent, ToolResultResourceContent, ToolResultTextContent,
};
use innkeeper_protocol::settings::approves_all;
use innkeeper_protocol::{CallId, ChannelUri};
use serde_json::json;

use super::TurnsMut;
use super::edits::{edited_file, without_repeated};
use super::host_tools::HOST;
use crate::core::channels::id_of_call;
use crate::labels::{Label, Locale, agent};
use crate::risk;

/// The state of a tool call of the active turn.
pub(super) fn tool_call<'a>(head: &'a ChatState, call: &str) -> Option<&'a ToolCallState> {
    let parts = &head.active_turn.as_ref()?.response_parts;
    parts.iter().rev().find_map(|part| match part {
        ResponsePart::ToolCall(part) if id_of_call(&part.tool_call) == call => {
            Some(&part.tool_call)
        }
        _ => None,
    })
}

/// The client that has to run a call, if it is a client's tool.
pub(super) fn owner_of(contributor: Option<&ToolCallContributor>) -> Option<&str> {
    match contributor {
        Some(ToolCallContributor::Client(client)) => Some(&client.client_id),
        _ => None,
    }
}

/// The MCP server of the host that has to run a call, if it is one's tool.
pub(super) fn server_of(contributor: Option<&ToolCallContributor>) -> Option<&str> {
    match contributor {
        Some(ToolCallContributor::Mcp(server)) => Some(&server.customization_id),
        _ => None,
    }
}

impl TurnsMut<'_> {
    pub(super) fn tool_started(&mut self, uri: &ChannelUri, start: ToolStart) {
        self.close_part(uri);
        let Some(turn_id) = self.running_turn_id(uri) else {
            return;
        };
        if self.tool_call(uri, &start.call).is_some() {
            tracing::warn!(chat = %uri, call = %start.call, "a tool call began twice");
            return;
        }
        let mut meta = start.meta;
        let session = self.core.channels.session_of(uri);
        if let (Some(meta), Some(session)) = (&mut meta, &session)
            && lets_another_work(meta)
            && let Some(chat) = self.chat_of_delegate(session, &start.call)
        {
            meta.insert("subagentChatUri".to_owned(), chat.as_str().into());
        }
        if let (Some(server), Some(session)) = (server_of(start.contributor.as_ref()), session) {
            let about = self
                .servers
                .about_call(self.core, &session, server, &start.name);
            meta.get_or_insert_default().extend(about);
        }
        let action = ChatToolCallStartAction {
            turn_id,
            tool_call_id: start.call.to_string(),
            meta,
            tool_name: start.name,
            display_name: start.display_name,
            intention: start.intention,
            contributor: start.contributor,
        };
        self.core
            .emit(uri, StateAction::ChatToolCallStart(action), None);
    }

    pub(super) fn tool_input(&mut self, uri: &ChannelUri, call: CallId, content: String) {
        let streams = matches!(
            self.tool_call(uri, &call),
            Some(ToolCallState::Streaming(_))
        );
        let Some(turn_id) = self.running_turn_id(uri).filter(|_| streams) else {
            return;
        };
        let action = ChatToolCallDeltaAction {
            turn_id,
            tool_call_id: call.to_string(),
            meta: None,
            content: Some(content),
            invocation_message: None,
        };
        self.core
            .emit(uri, StateAction::ChatToolCallDelta(action), None);
    }

    pub(super) fn tool_ready(&mut self, uri: &ChannelUri, ready: ToolReady) {
        let (name, contributor) = match self.tool_call(uri, &ready.call) {
            Some(ToolCallState::Streaming(call)) => (&call.display_name, &call.contributor),
            Some(ToolCallState::Running(call)) => (&call.display_name, &call.contributor),
            _ => return,
        };
        let owner = owner_of(contributor.as_ref()).map(str::to_owned);
        let server = server_of(contributor.as_ref()).map(str::to_owned);
        let Some(turn) = self.own.turn(uri) else {
            return;
        };
        let is_command = ready.meta.as_ref().is_some_and(runs_command);
        let changes_nothing = ready.meta.as_ref().is_some_and(only_looks);
        let default_title = match is_command {
            true => Label::ApproveCommand,
            false => Label::ApproveTool(name),
        };
        let locale = turn.locale;
        let default_title = default_title.text(locale);
        let turn_id = turn.id.to_string();
        let mut action = ChatToolCallReadyAction {
            turn_id,
            tool_call_id: ready.call.to_string(),
            meta: ready.meta,
            contributor: None,
            intention: None,
            invocation_message: ready.message,
            tool_input: ready.input.map(ToolInput::Inline),
            confirmation_title: None,
            risk_assessment: None,
            edits: None,
            editable: None,
            confirmed: None,
            options: None,
        };
        let runs_here = server.is_some() || owner.as_deref() == Some(HOST);
        let input = action.tool_input.clone().filter(|_| runs_here);
        let input = input.and_then(|input| match input {
            ToolInput::Inline(text) => Some(text),
            ToolInput::ContentRef(_) => None,
        });
        let mut approved_by_setting = false;
        match ready.approval {
            Approval::NotNeeded => action.confirmed = Some(ToolCallConfirmationReason::NotNeeded),
            Approval::Needed(_) if self.approves_everything(uri) => {
                action.confirmed = Some(ToolCallConfirmationReason::Setting);
                approved_by_setting = true;
            }
            Approval::Needed(request) => {
                // Some clients show a plain message in place of the input.
                action.invocation_message = match action.invocation_message {
                    StringOrMarkdown::Plain(text) => StringOrMarkdown::Markdown {
                        markdown: markdown::escaped(&text),
                    },
                    markdown => markdown,
                };
                if self.core.config.workspace.assess_risk {
                    action.risk_assessment = self.risk_of(uri, &action, &request, locale);
                }
                let title = request.title;
                action.confirmation_title =
                    Some(title.unwrap_or(StringOrMarkdown::Plain(default_title)));
                action.edits = request.edits.map(|edits| self.keep_edits(uri, edits));
                action.editable = request.editable.then_some(true);
                action.options = (!request.options.is_empty())
                    .then(|| modest_first(put_into_words(request.options, locale)));
            }
        }
        // What may still be edited stays where it can be.
        if action.editable.is_none() {
            action.tool_input = self.small_enough_input(uri, action.tool_input);
        }
        let runs = action.confirmed.is_some();
        self.core
            .emit(uri, StateAction::ChatToolCallReady(action), None);
        if approved_by_setting {
            let verdict = ToolVerdict::Approved {
                edited_input: None,
                option: None,
            };
            let call = ready.call.clone();
            self.decided(uri, Decision::Tool { call, verdict });
        }
        if let Some(server) = server.filter(|_| runs) {
            return self.run_server_tool(uri, &ready.call, &server, input.as_deref());
        }
        match owner.filter(|_| runs) {
            Some(owner) if owner == HOST => {
                self.run_host_tool(uri, &ready.call, input.as_deref());
            }
            Some(owner) => self.expect_client_to_run(uri, &ready.call, &owner),
            None if runs && !approved_by_setting && !changes_nothing => self.agent_runs_tool(uri),
            None => {}
        }
    }

    pub(super) fn tool_content(
        &mut self,
        uri: &ChannelUri,
        call: CallId,
        content: Vec<ToolResultContent>,
    ) {
        let runs = matches!(self.tool_call(uri, &call), Some(ToolCallState::Running(_)));
        let Some(turn_id) = self.running_turn_id(uri).filter(|_| runs) else {
            return;
        };
        let content = self.with_links(uri, &call, content);
        let action = ChatToolCallContentChangedAction {
            turn_id,
            tool_call_id: call.to_string(),
            meta: None,
            content: self.small_enough_content(uri, content),
        };
        self.core
            .emit(uri, StateAction::ChatToolCallContentChanged(action), None);
    }

    /// What a call shows takes the place of what it has shown so far, but for
    /// the links to those that work for it: an agent does not know of them.
    fn with_links(
        &self,
        uri: &ChannelUri,
        call: &str,
        content: Vec<ToolResultContent>,
    ) -> Vec<ToolResultContent> {
        let Some(ToolCallState::Running(running)) = self.tool_call(uri, call) else {
            return content;
        };
        let shown = running.content.iter().flatten();
        let links = shown.filter(|block| {
            matches!(block, ToolResultContent::Subagent(_)) && !content.contains(block)
        });
        let mut all: Vec<ToolResultContent> = links.cloned().collect();
        all.extend(content);
        all
    }

    pub(super) fn tool_finished(
        &mut self,
        uri: &ChannelUri,
        call: CallId,
        result: ToolCallResult,
        confirm: bool,
    ) {
        if let Some(ToolCallState::Streaming(streaming)) = self.tool_call(uri, &call) {
            // Some agents report nothing between the beginning and the end.
            let ready = ToolReady {
                call: call.clone(),
                input: streaming.partial_input.clone(),
                message: StringOrMarkdown::Plain(streaming.display_name.clone()),
                approval: Approval::NotNeeded,
                meta: None,
            };
            self.tool_ready(uri, ready);
        }
        let can_end = match self.tool_call(uri, &call) {
            Some(ToolCallState::Running(_) | ToolCallState::PendingConfirmation(_)) => true,
            // It never went on, so it cannot have succeeded.
            Some(ToolCallState::AuthRequired(_)) => !result.success,
            _ => false,
        };
        let Some(turn_id) = self.running_turn_id(uri).filter(|_| can_end) else {
            return;
        };
        let result = self.with_what_stays(uri, &call, result);
        let action = ChatToolCallCompleteAction {
            turn_id,
            tool_call_id: call.to_string(),
            meta: None,
            result: self.small_enough_result(uri, result),
            requires_result_confirmation: confirm.then_some(true),
        };
        self.core
            .emit(uri, StateAction::ChatToolCallComplete(action), None);
    }

    /// A result takes the place of what a call has shown so far; where another
    /// agent worked for it, what ran in a terminal and what became of files
    /// stays to be seen.
    fn with_what_stays(
        &self,
        uri: &ChannelUri,
        call: &str,
        mut result: ToolCallResult,
    ) -> ToolCallResult {
        if let Some(ToolCallState::Running(running)) = self.tool_call(uri, call) {
            let shown = running.content.iter().flatten();
            let said = result.content.iter().flatten();
            let said: Vec<&ToolResultContent> = said.collect();
            let links = shown.filter(|block| match block {
                ToolResultContent::Subagent(_) | ToolResultContent::Terminal(_) => {
                    !said.contains(block)
                }
                // What the result says about a file is the last word on it.
                ToolResultContent::FileEdit(edit) => {
                    let file = edited_file(edit);
                    !said.iter().any(|block| {
                        matches!(block, ToolResultContent::FileEdit(it) if edited_file(it) == file)
                    })
                }
                _ => false,
            });
            let mut links: Vec<ToolResultContent> = links.cloned().collect();
            if !links.is_empty() {
                links.extend(result.content.take().into_iter().flatten());
                result.content = Some(links);
            }
        }
        result
    }

    /// A client's tool is running: that client must be there.
    fn expect_client_to_run(&mut self, uri: &ChannelUri, call: &str, owner: &str) {
        let session = self.core.channels.chat(uri).map(|chat| &chat.session);
        let session = session.and_then(|session| self.core.channels.session(session));
        let active = session.is_some_and(|session| {
            let clients = &session.state.active_clients;
            clients.iter().any(|client| client.client_id == owner)
        });
        if !active {
            self.fail_client_call(uri, call);
        }
    }

    /// The calls that a client has to run in a session fail: it has left.
    pub(crate) fn fail_client_calls(&mut self, session: &ChannelUri, client_id: &str) {
        for uri in self.core.channels.chats_of(session) {
            let turn = self
                .core
                .channels
                .chat(&uri)
                .and_then(|c| c.head.active_turn.as_ref());
            let parts = turn.map(|turn| turn.response_parts.iter());
            let calls: Vec<String> = parts
                .into_iter()
                .flatten()
                .filter_map(|part| match part {
                    ResponsePart::ToolCall(part) => match &part.tool_call {
                        ToolCallState::Running(call)
                            if owner_of(call.contributor.as_ref()) == Some(client_id) =>
                        {
                            Some(call.tool_call_id.clone())
                        }
                        _ => None,
                    },
                    _ => None,
                })
                .collect();
            for call in calls {
                self.fail_client_call(&uri, &call);
            }
        }
    }

    /// The turn of a tool call was interrupted, and with it the tool.
    pub(super) fn tool_interrupted(&mut self, uri: &ChannelUri, call: CallId) {
        let Some(turn) = self.own.turn(uri) else {
            return;
        };
        let message = agent::interrupted(turn.locale).to_owned();
        let result = ToolCallResult {
            success: false,
            past_tense_message: StringOrMarkdown::Plain(message.clone()),
            content: None,
            structured_content: None,
            error: Some(json!({"message": message, "code": "interrupted"})),
        };
        self.tool_finished(uri, call, result, false);
    }

    fn fail_client_call(&mut self, uri: &ChannelUri, call: &str) {
        let Some(ToolCallState::Running(running)) = self.tool_call(uri, call) else {
            return;
        };
        let name = running.display_name.clone();
        let Some(turn) = self.own.turn(uri) else {
            return;
        };
        let message = Label::ClientGone(&name).text(turn.locale);
        let result = ToolCallResult {
            success: false,
            past_tense_message: StringOrMarkdown::Plain(message.clone()),
            content: None,
            structured_content: None,
            error: Some(json!({"message": message, "code": "clientDisconnected"})),
        };
        let call = CallId::from(call);
        self.tool_finished(uri, call.clone(), result.clone(), false);
        self.decided(uri, Decision::ClientTool { call, result });
    }

    /// What is risky about a call that is to be approved.
    fn risk_of(
        &self,
        uri: &ChannelUri,
        action: &ChatToolCallReadyAction,
        request: &ApprovalRequest,
        locale: Locale,
    ) -> Option<ToolCallRiskAssessment> {
        let channels = &self.core.channels;
        let directories = channels.directories_of_chat(channels.chat(uri)?);
        let directories: Vec<String> = directories.into_iter().cloned().collect();
        let edits = request.edits.as_ref();
        let call = risk::Call {
            meta: action.meta.as_ref(),
            input: match &action.tool_input {
                Some(ToolInput::Inline(text)) => Some(text),
                _ => None,
            },
            edits: edits.map_or(&[], |edits| &edits.items),
            directories: &directories,
        };
        risk::assess(&call, locale)
    }

    fn approves_everything(&self, uri: &ChannelUri) -> bool {
        let session = self.core.channels.chat(uri).map(|chat| &chat.session);
        let session = session.and_then(|session| self.core.channels.session(session));
        let config = session.and_then(|session| session.state.config.as_ref());
        config.is_some_and(|config| approves_all(&config.values))
    }

    pub(super) fn tool_call(&self, uri: &ChannelUri, call: &str) -> Option<&ToolCallState> {
        tool_call(&self.core.channels.chat(uri)?.head, call)
    }

    // What is too large for the state is kept outside it

    fn small_enough_input(
        &mut self,
        uri: &ChannelUri,
        input: Option<ToolInput>,
    ) -> Option<ToolInput> {
        match input {
            Some(ToolInput::Inline(text)) if text.len() > self.core.config.limits.inline_bytes => {
                let locale = self.own.turn(uri).map(|turn| turn.locale);
                let locale = locale.unwrap_or_default();
                let left_out = |bytes, uri: &str| Label::InputLeftOut { bytes, uri }.text(locale);
                let kept = self.core.keep_input(uri, text, left_out)?;
                Some(ToolInput::ContentRef(kept))
            }
            other => other,
        }
    }

    pub(super) fn small_enough_result(
        &mut self,
        uri: &ChannelUri,
        mut result: ToolCallResult,
    ) -> ToolCallResult {
        let content = result.content.take();
        result.content = content.map(|content| self.small_enough_content(uri, content));
        result
    }

    pub(super) fn small_enough_content(
        &mut self,
        uri: &ChannelUri,
        content: Vec<ToolResultContent>,
    ) -> Vec<ToolResultContent> {
        let limit = self.core.config.limits.inline_bytes;
        let small_enough = |turns: &mut Self, block| match block {
            ToolResultContent::Text(ToolResultTextContent { text }) if text.len() > limit => {
                let kept = turns
                    .core
                    .keep_content(uri, Bytes::from(text), "text/plain".to_owned());
                kept.map(by_reference)
            }
            ToolResultContent::EmbeddedResource(embedded) if embedded.data.len() > limit => {
                let decoded = base64::Engine::decode(
                    &base64::engine::general_purpose::STANDARD,
                    &embedded.data,
                );
                match decoded {
                    Ok(data) => {
                        let data = Bytes::from(data);
                        let kept = turns.core.keep_content(uri, data, embedded.content_type);
                        kept.map(by_reference)
                    }
                    Err(_) => Some(ToolResultContent::EmbeddedResource(embedded)),
                }
            }
            ToolResultContent::FileEdit(mut edit) => {
                turns.keep_edit(uri, &mut edit.before, &mut edit.after, &mut edit.diff);
                Some(ToolResultContent::FileEdit(edit))
            }
            other => Some(other),
        };
        without_repeated(content)
            .into_iter()
            .filter_map(|block| small_enough(self, block))
            .collect()
    }
}

fn put_into_words(options: Vec<ApprovalOption>, locale: Locale) -> Vec<ConfirmationOption> {
    let option = |option: ApprovalOption| ConfirmationOption {
        id: option.id,
        label: agent::approval(option.label, locale),
        kind: option.kind,
        group: option.group,
    };
    options.into_iter().map(option).collect()
}

/// Clients offer the first option most readily, and press it for a key: what
/// holds for this time comes before what holds for longer.
fn modest_first(mut options: Vec<ConfirmationOption>) -> Vec<ConfirmationOption> {
    options.sort_by_key(|option| option.group.unwrap_or_default());
    options
}

fn by_reference(kept: ResourceResponsePart) -> ToolResultContent {
    ToolResultContent::Resource(ToolResultResourceContent {
        uri: kept.uri,
        size_hint: kept.size_hint,
        content_type: kept.content_type,
        nonce: None,
    })
}
