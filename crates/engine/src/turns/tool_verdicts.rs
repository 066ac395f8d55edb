//! What clients say about tool calls: approvals, denials, and the results of
//! tools that they run themselves. Whoever comes first decides; everybody
//! after that is told that it has been decided.

use innkeeper_protocol::agent::{Decision, ToolVerdict};
use innkeeper_protocol::newest::actions::{
    ChatToolCallCompleteAction, ChatToolCallConfirmedAction, ChatToolCallContentChangedAction,
    ChatToolCallResultConfirmedAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    ConfirmationOption, ConfirmationOptionKind, MessageKind, ToolCallCancellationReason,
    ToolCallConfirmationReason, ToolCallResult, ToolCallState, ToolInput,
};
use innkeeper_protocol::outgoing::RejectionCode;
use innkeeper_protocol::{CallId, ChannelUri};

use super::TurnsMut;
use super::dispatch::After;
use super::shapes::{check_attachments, check_content};
use super::tools::{owner_of, tool_call};
use crate::core::channels::{Chat, plain_message};
use crate::core::{Refusal, Verdict};

/// The call that an action is about, if it is one of the active turn.
fn call_of<'a>(chat: &'a Chat, turn: &str, call: &str) -> Result<&'a ToolCallState, Refusal> {
    match chat.active_turn_id() {
        None => return Err(Refusal::new(RejectionCode::NoTurn, "no turn is running")),
        Some(active) if active != turn => {
            let reason = format!("turn `{turn}` is not running");
            return Err(Refusal::new(RejectionCode::NoTurn, reason));
        }
        Some(_) => {}
    }
    let known = tool_call(&chat.head, call);
    known.ok_or_else(|| format!("the turn has no tool call `{call}`").into())
}

/// Why a call is not in the state that an action needs.
fn not_waiting(call: &ToolCallState, what: &str) -> Refusal {
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
    let reason = format!("the tool call {state}; {what}");
    Refusal::new(RejectionCode::AlreadyDone, reason)
}

impl TurnsMut<'_> {
    /// A confirmation was applied: the agent goes on, or the owner runs it.
    pub(super) fn tool_confirmed(&mut self, uri: &ChannelUri, action: ChatToolCallConfirmedAction) {
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
        let call = CallId::from(action.tool_call_id);
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

    pub(super) fn judge_tool_complete(
        &mut self,
        (chat, client): (&ChannelUri, &str),
        mut action: ChatToolCallCompleteAction,
    ) -> Verdict<After> {
        let named = (action.turn_id.as_str(), action.tool_call_id.as_str());
        let run_by = self.check_run_by(chat, client, named, !action.result.success);
        let content = action.result.content.as_deref().unwrap_or_default();
        match run_by.and_then(|()| Ok(check_content(content)?)) {
            Ok(()) => {
                action.result = self.small_enough_result(chat, action.result);
                let call = action.tool_call_id.clone();
                let action = StateAction::ChatToolCallComplete(action);
                Verdict::Apply(action, After::ToolResultSettled { call })
            }
            Err(reason) => Verdict::reject(StateAction::ChatToolCallComplete(action), reason),
        }
    }

    pub(super) fn judge_tool_content(
        &mut self,
        (chat, client): (&ChannelUri, &str),
        mut action: ChatToolCallContentChangedAction,
    ) -> Verdict<After> {
        let named = (action.turn_id.as_str(), action.tool_call_id.as_str());
        let run_by = self.check_run_by(chat, client, named, false);
        match run_by.and_then(|()| Ok(check_content(&action.content)?)) {
            Ok(()) => {
                action.content = self.small_enough_content(chat, action.content);
                let action = StateAction::ChatToolCallContentChanged(action);
                Verdict::Apply(action, After::Nothing)
            }
            Err(reason) => Verdict::reject(StateAction::ChatToolCallContentChanged(action), reason),
        }
    }

    fn check_run_by(
        &self,
        chat: &ChannelUri,
        client: &str,
        named: (&str, &str),
        failed: bool,
    ) -> Result<(), Refusal> {
        match self.core.channels.chat(chat) {
            Some(chat) => run_by(chat, client, named, failed),
            None => Err(format!("unknown chat `{chat}`").into()),
        }
    }

    /// The owner of a tool ran it, or its result was judged: the agent learns
    /// of it once it is certain.
    pub(super) fn tool_result_settled(&mut self, uri: &ChannelUri, call: &str) {
        self.servers.unblock(uri, call);
        let decision = match self.tool_call(uri, call) {
            Some(ToolCallState::Completed(done)) => match done.contributor {
                Some(_) => Decision::ClientTool {
                    call: call.into(),
                    result: ToolCallResult {
                        success: done.success,
                        past_tense_message: done.past_tense_message.clone(),
                        content: done.content.clone(),
                        structured_content: done.structured_content.clone(),
                        error: done.error.clone(),
                    },
                },
                None => Decision::ToolResult {
                    call: call.into(),
                    approved: true,
                },
            },
            Some(ToolCallState::Cancelled(_)) => Decision::ToolResult {
                call: call.into(),
                approved: false,
            },
            _ => return,
        };
        self.decided(uri, decision);
    }
}

pub(super) fn judge_tool_confirmed(
    chat: &Chat,
    mut action: ChatToolCallConfirmedAction,
) -> Verdict<After> {
    match check_confirmed(chat, &mut action) {
        Ok(()) => {
            let after = After::ToolConfirmed(Box::new(action.clone()));
            Verdict::Apply(StateAction::ChatToolCallConfirmed(action), after)
        }
        Err(reason) => Verdict::reject(StateAction::ChatToolCallConfirmed(action), reason),
    }
}

/// Says in so many words what reducers do not agree on.
fn check_confirmed(chat: &Chat, action: &mut ChatToolCallConfirmedAction) -> Result<(), Refusal> {
    let call = match call_of(chat, &action.turn_id, &action.tool_call_id)? {
        ToolCallState::PendingConfirmation(call) => call,
        other => return Err(not_waiting(other, "there is nothing to confirm")),
    };
    let option = match &action.selected_option_id {
        None => None,
        Some(id) => match option_of(call.options.as_deref(), id) {
            Some(option) => Some(option),
            None => return Err(format!("the tool call offers no option `{id}`").into()),
        },
    };
    let contradicts = match option.map(|option| &option.kind) {
        Some(ConfirmationOptionKind::Approve) => !action.approved,
        Some(ConfirmationOptionKind::Deny) => action.approved,
        _ => false,
    };
    if contradicts {
        return Err("`approved` and the selected option contradict each other".into());
    }
    if let Some(suggestion) = &action.user_suggestion {
        check_attachments(suggestion)?;
    }
    if action.approved {
        if action.edited_tool_input.is_some() && call.editable != Some(true) {
            return Err("the input of this tool call cannot be edited".into());
        }
        if matches!(call.tool_input, Some(ToolInput::ContentRef(_))) {
            action.edited_tool_input = None;
        }
        action.confirmed = match action.confirmed.take() {
            None | Some(ToolCallConfirmationReason::Unknown(_)) => {
                Some(ToolCallConfirmationReason::UserAction)
            }
            said => said,
        };
        (action.reason, action.reason_message, action.user_suggestion) = (None, None, None);
    } else {
        match action.reason {
            None => return Err("a denial needs a reason: `denied` or `skipped`".into()),
            Some(ToolCallCancellationReason::ResultDenied) => {
                return Err("the tool call has no result to deny yet".into());
            }
            Some(_) => {}
        }
        (action.confirmed, action.edited_tool_input) = (None, None);
    }
    Ok(())
}

pub(super) fn judge_tool_result_confirmed(
    chat: &Chat,
    action: ChatToolCallResultConfirmedAction,
) -> Verdict<After> {
    let call = action.tool_call_id.clone();
    let state = call_of(chat, &action.turn_id, &call);
    let checked = match state {
        Ok(ToolCallState::PendingResultConfirmation(_)) => Ok(()),
        Ok(other) => Err(not_waiting(other, "the tool call has no result to confirm")),
        Err(reason) => Err(reason),
    };
    let action = StateAction::ChatToolCallResultConfirmed(action);
    match checked {
        Ok(()) => Verdict::Apply(action, After::ToolResultSettled { call }),
        Err(reason) => Verdict::reject(action, reason),
    }
}

/// Whether a client runs a call and may speak for it.
fn run_by(
    chat: &Chat,
    client_id: &str,
    (turn, call): (&str, &str),
    failed: bool,
) -> Result<(), Refusal> {
    match call_of(chat, turn, call)? {
        ToolCallState::Running(running) => match owner_of(running.contributor.as_ref()) {
            Some(owner) if owner == client_id => Ok(()),
            Some(_) => {
                let reason = "another client runs this tool call";
                Err(Refusal::new(RejectionCode::Held, reason))
            }
            None => Err("the agent runs this tool call, not a client".into()),
        },
        // Whoever does not want to sign in may say that nothing comes of it.
        ToolCallState::AuthRequired(_) if failed => Ok(()),
        other => Err(not_waiting(other, "only a running one has a result")),
    }
}

fn option_of<'a>(
    options: Option<&'a [ConfirmationOption]>,
    id: &str,
) -> Option<&'a ConfirmationOption> {
    options?.iter().find(|option| option.id == id)
}
