//! What clients say about tool calls: approvals, denials, and the results of
//! tools that they run themselves. Whoever comes first decides; everybody
//! after that is told that it has been decided.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{Decision, ToolVerdict};
use innkeeper_protocol::house::actions::{
    ChatToolCallCompleteAction, ChatToolCallConfirmedAction, ChatToolCallContentChangedAction,
    ChatToolCallResultConfirmedAction, StateAction,
};
use innkeeper_protocol::house::state::{
    ConfirmationOption, ConfirmationOptionKind, MessageKind, ToolCallCancellationReason,
    ToolCallConfirmationReason, ToolCallResult, ToolCallState, ToolInput,
};

use crate::Engine;
use crate::chats::{Chat, plain_message};
use crate::dispatch::Verdict::{self, Apply, Reject};
use crate::dispatch::reject;
use crate::tools::{owner_of, tool_call};

/// The call that an action is about, if it is one of the active turn.
fn call_of<'a>(chat: &'a Chat, turn: &str, call: &str) -> Result<&'a ToolCallState, String> {
    match chat.active_turn_id() {
        None => return Err("no turn is running".to_owned()),
        Some(active) if active != turn => return Err(format!("turn `{turn}` is not running")),
        Some(_) => {}
    }
    tool_call(&chat.head, call).ok_or_else(|| format!("the turn has no tool call `{call}`"))
}

/// Why a call is not in the state that an action needs.
fn not_waiting(call: &ToolCallState, what: &str) -> String {
    let state = match call {
        ToolCallState::Streaming(_) => "is still being written",
        ToolCallState::PendingConfirmation(_) => "waits for approval",
        ToolCallState::Running(_) => "is running already",
        ToolCallState::AuthRequired(_) => "waits for authentication",
        ToolCallState::PendingResultConfirmation(_) => "waits for approval of its result",
        ToolCallState::Completed(_) => "has been completed already",
        ToolCallState::Cancelled(_) => "has been cancelled already",
        ToolCallState::Unknown(_) => "is in an unknown state",
    };
    format!("the tool call {state}; {what}")
}

impl Engine {
    pub(crate) fn judge_tool_confirmed(
        &self,
        chat: &Chat,
        action: &ChatToolCallConfirmedAction,
    ) -> Verdict {
        let call = match call_of(chat, &action.turn_id, &action.tool_call_id) {
            Ok(ToolCallState::PendingConfirmation(call)) => call,
            Ok(other) => return Reject(not_waiting(other, "there is nothing to confirm")),
            Err(reason) => return Reject(reason),
        };
        let option = match &action.selected_option_id {
            None => None,
            Some(id) => match option_of(call.options.as_deref(), id) {
                Some(option) => Some(option),
                None => return reject(format!("the tool call offers no option `{id}`")),
            },
        };
        let kind = option.map(|option| &option.kind);
        let contradicts = match kind {
            Some(ConfirmationOptionKind::Approve) => !action.approved,
            Some(ConfirmationOptionKind::Deny) => action.approved,
            _ => false,
        };
        if contradicts {
            return reject("`approved` and the selected option contradict each other");
        }
        let mut action = action.clone();
        if action.approved {
            if action.edited_tool_input.is_some() && call.editable != Some(true) {
                return reject("the input of this tool call cannot be edited");
            }
            if matches!(call.tool_input, Some(ToolInput::ContentRef(_))) {
                action.edited_tool_input = None;
            }
            // Said in so many words: reducers do not agree on what silence means.
            action.confirmed = match action.confirmed {
                None | Some(ToolCallConfirmationReason::Unknown(_)) => {
                    Some(ToolCallConfirmationReason::UserAction)
                }
                said => said,
            };
            (action.reason, action.reason_message, action.user_suggestion) = (None, None, None);
        } else {
            match action.reason {
                None => return reject("a denial needs a reason: `denied` or `skipped`"),
                Some(ToolCallCancellationReason::ResultDenied) => {
                    return reject("there is no result yet that could be denied");
                }
                Some(_) => {}
            }
            (action.confirmed, action.edited_tool_input) = (None, None);
        }
        Apply(StateAction::ChatToolCallConfirmed(action))
    }

    /// A confirmation was applied: the agent goes on, or the owner runs it.
    pub(crate) fn tool_confirmed(&mut self, uri: &ChannelUri, action: ChatToolCallConfirmedAction) {
        let option = match self.tool_call(uri, &action.tool_call_id) {
            Some(ToolCallState::Running(call)) => call.selected_option.clone(),
            Some(ToolCallState::Cancelled(call)) => call.selected_option.clone(),
            _ => return,
        };
        let verdict = match action.reason {
            _ if action.approved => ToolVerdict::Approved {
                edited_input: action.edited_tool_input,
                option,
            },
            reason => ToolVerdict::Denied {
                reason: reason.unwrap_or(ToolCallCancellationReason::Denied),
                option,
            },
        };
        let call = action.tool_call_id;
        self.decided(uri, Decision::Tool { call, verdict });
        let reason = action.reason_message.map(|it| it.as_text().to_owned());
        let suggestion = action.user_suggestion.as_ref().map(|said| said.text.trim());
        // Some clients say the same in both places.
        let reason = reason.filter(|text| suggestion != Some(text.trim()));
        let reason = reason.map(|text| plain_message(MessageKind::User, text));
        for said in [reason, action.user_suggestion].into_iter().flatten() {
            if !said.text.trim().is_empty() {
                self.say_with_denial(uri, said);
            }
        }
    }

    pub(crate) fn judge_tool_result_confirmed(
        &self,
        chat: &Chat,
        action: &ChatToolCallResultConfirmedAction,
    ) -> Verdict {
        match call_of(chat, &action.turn_id, &action.tool_call_id) {
            Ok(ToolCallState::PendingResultConfirmation(_)) => {
                Apply(StateAction::ChatToolCallResultConfirmed(action.clone()))
            }
            Ok(other) => Reject(not_waiting(other, "there is no result to confirm")),
            Err(reason) => Reject(reason),
        }
    }

    pub(crate) fn judge_tool_complete(
        &self,
        chat: &Chat,
        client_id: &str,
        action: &ChatToolCallCompleteAction,
    ) -> Verdict {
        match run_by(chat, client_id, &action.turn_id, &action.tool_call_id) {
            Ok(()) => Apply(StateAction::ChatToolCallComplete(action.clone())),
            Err(reason) => Reject(reason),
        }
    }

    pub(crate) fn judge_tool_content(
        &self,
        chat: &Chat,
        client_id: &str,
        action: &ChatToolCallContentChangedAction,
    ) -> Verdict {
        match run_by(chat, client_id, &action.turn_id, &action.tool_call_id) {
            Ok(()) => Apply(StateAction::ChatToolCallContentChanged(action.clone())),
            Err(reason) => Reject(reason),
        }
    }

    /// The owner of a tool ran it, or its result was judged: the agent learns
    /// of it once it is certain.
    pub(crate) fn tool_result_settled(&mut self, uri: &ChannelUri, call: &str) {
        let decision = match self.tool_call(uri, call) {
            Some(ToolCallState::Completed(done)) => match owner_of(done.contributor.as_ref()) {
                Some(_) => Decision::ClientTool {
                    call: call.to_owned(),
                    result: ToolCallResult {
                        success: done.success,
                        past_tense_message: done.past_tense_message.clone(),
                        content: done.content.clone(),
                        structured_content: done.structured_content.clone(),
                        error: done.error.clone(),
                    },
                },
                None => Decision::ToolResult {
                    call: call.to_owned(),
                    approved: true,
                },
            },
            Some(ToolCallState::Cancelled(_)) => Decision::ToolResult {
                call: call.to_owned(),
                approved: false,
            },
            _ => return,
        };
        self.decided(uri, decision);
    }
}

/// Whether a client runs a call and may speak for it.
fn run_by(chat: &Chat, client_id: &str, turn: &str, call: &str) -> Result<(), String> {
    match call_of(chat, turn, call)? {
        ToolCallState::Running(running) => match owner_of(running.contributor.as_ref()) {
            Some(owner) if owner == client_id => Ok(()),
            Some(_) => Err("another client runs this tool call".to_owned()),
            None => Err("the agent runs this tool call, not a client".to_owned()),
        },
        other => Err(not_waiting(other, "only a running one has a result")),
    }
}

fn option_of<'a>(
    options: Option<&'a [ConfirmationOption]>,
    id: &str,
) -> Option<&'a ConfirmationOption> {
    options?.iter().find(|option| option.id == id)
}
