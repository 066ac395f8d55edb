//! What a client of 0.1.0 makes of an action.

use std::mem;

use super::actions::{
    Action, AnswerChanged, InputCompleted, PendingRemoved, PendingSet, ToolCallComplete,
    ToolCallConfirmed, ToolCallReady, TurnStarted,
};
use super::state::{
    ActiveTurn, Cancelled, CancelledCall, CommandOutput, ConfirmationOption, Confirmed, Error,
    FinishedCall, InputRequest, Lifecycle, LooseOutput, Meta, Part, Pending, PendingCall,
    PendingKind, RootState, RunningCall, SessionState, StreamingCall, TerminalPart, TerminalState,
    Text, ToolCall, ToolCallPart, Turn, TurnState, status,
};

pub(super) fn root(state: &mut RootState, action: Action) {
    match action {
        Action::AgentsChanged(it) => state.agents = it.agents,
        Action::ActiveSessionsChanged(it) => state.active_sessions = Some(it.active_sessions),
        Action::TerminalsChanged(it) => state.terminals = Some(it.terminals),
        Action::RootConfigChanged(it) => {
            if let Some(config) = &mut state.config {
                set_values(&mut config.values, it.config, it.replace);
            }
        }
        _ => {}
    }
}

fn set_values(values: &mut Meta, changed: Meta, replace: Option<bool>) {
    if replace == Some(true) {
        values.clear();
    }
    values.extend(changed);
}

pub(super) fn session(state: &mut SessionState, action: Action) {
    match action {
        Action::Ready(_) => {
            state.lifecycle = Lifecycle::Ready;
            // Whatever goes on, and whoever has read it.
            state.summary.status = status::IDLE;
        }
        Action::CreationFailed(it) => {
            state.lifecycle = Lifecycle::CreationFailed;
            state.creation_error = Some(it.error);
        }
        Action::TitleChanged(it) => state.summary.title = it.title,
        Action::ModelChanged(it) => state.summary.model = Some(it.model),
        Action::IsReadChanged(it) => set_flag(state, status::IS_READ, it.is_read),
        Action::IsArchivedChanged(it) => set_flag(state, status::IS_ARCHIVED, it.is_archived),
        Action::ActivityChanged(it) => state.summary.activity = it.activity,
        Action::DiffsChanged(it) => state.summary.diffs = Some(it.diffs),
        Action::MetaChanged(it) => state.meta = it.meta,
        Action::ConfigChanged(it) => {
            if let Some(config) = &mut state.config {
                set_values(&mut config.values, it.config, it.replace);
            }
        }
        Action::ServerToolsChanged(it) => state.server_tools = Some(it.tools),
        Action::ActiveClientChanged(it) => state.active_client = it.active_client,
        Action::ClientToolsChanged(it) => {
            if let Some(client) = &mut state.active_client {
                client.tools = it.tools;
            }
        }
        Action::CustomizationsChanged(it) => state.customizations = Some(it.customizations),
        Action::CustomizationToggled(it) => {
            let mut all = state.customizations.iter_mut().flatten();
            if let Some(one) = all.find(|one| one.customization.uri == it.uri) {
                one.enabled = it.enabled;
            }
        }
        Action::Truncated(it) => truncate(state, it.turn_id.as_deref()),
        Action::PendingSet(it) => set_pending(state, it),
        Action::PendingRemoved(it) => remove_pending(state, &it),
        Action::QueueReordered(it) => reorder(state, &it.order),
        Action::InputRequested(it) => ask(state, it.request),
        Action::AnswerChanged(it) => answer(state, it),
        Action::InputCompleted(it) => answered(state, &it),
        other => turn(state, other),
    }
}

/// What happens in turns.
fn turn(state: &mut SessionState, action: Action) {
    match action {
        Action::TurnStarted(it) => start_turn(state, it),
        Action::TurnComplete(it) => end_turn(state, &it.turn_id, TurnState::Complete, None),
        Action::TurnCancelled(it) => end_turn(state, &it.turn_id, TurnState::Cancelled, None),
        Action::TurnFailed(it) => {
            end_turn(state, &it.turn_id, TurnState::Error, Some(it.error));
        }
        Action::UsageTold(it) => {
            if let Some(turn) = running(state, &it.turn_id) {
                turn.usage = Some(it.usage);
            }
        }
        Action::ResponsePart(it) => {
            if let Some(turn) = running(state, &it.turn_id) {
                turn.response_parts.push(it.part);
            }
        }
        Action::Delta(it) => {
            if let Some(Part::Markdown(part)) = part(state, &it.turn_id, &it.part_id) {
                part.content.push_str(&it.content);
            }
        }
        Action::Reasoning(it) => {
            if let Some(Part::Reasoning(part)) = part(state, &it.turn_id, &it.part_id) {
                part.content.push_str(&it.content);
            }
        }
        other => tool_call(state, other),
    }
}

/// The life of a tool call.
fn tool_call(state: &mut SessionState, action: Action) {
    match action {
        Action::ToolCallStart(it) => {
            let call = ToolCall::Streaming(StreamingCall {
                tool_call_id: it.tool_call_id,
                tool_name: it.tool_name,
                display_name: it.display_name,
                tool_client_id: it.tool_client_id,
                partial_input: None,
                invocation_message: None,
                meta: it.meta,
            });
            if let Some(turn) = running(state, &it.turn_id) {
                let part = ToolCallPart { tool_call: call };
                turn.response_parts.push(Part::ToolCall(Box::new(part)));
            }
        }
        Action::ToolCallDelta(it) => {
            let call = call(state, &it.turn_id, &it.tool_call_id);
            if let Some(ToolCall::Streaming(call)) = call {
                let input = call.partial_input.get_or_insert_default();
                input.push_str(&it.content);
                if it.invocation_message.is_some() {
                    call.invocation_message = it.invocation_message;
                }
            }
        }
        Action::ToolCallContentChanged(it) => {
            let call = call(state, &it.turn_id, &it.tool_call_id);
            if let Some(ToolCall::Running(call)) = call {
                call.content = Some(it.content);
            }
        }
        Action::ToolCallReady(it) => {
            if let Some(call) = call(state, &it.turn_id.clone(), &it.tool_call_id.clone()) {
                make_ready(call, it);
            }
            refresh_status(state);
        }
        Action::ToolCallConfirmed(it) => {
            if let Some(call) = call(state, &it.turn_id.clone(), &it.tool_call_id.clone()) {
                confirm(call, it);
            }
            refresh_status(state);
        }
        Action::ToolCallComplete(it) => {
            if let Some(call) = call(state, &it.turn_id.clone(), &it.tool_call_id.clone()) {
                complete(call, it);
            }
            refresh_status(state);
        }
        Action::ToolCallResultConfirmed(it) => {
            if let Some(call) = call(state, &it.turn_id, &it.tool_call_id)
                && let ToolCall::PendingResult(finished) = call
            {
                let finished = finished.clone();
                *call = match it.approved {
                    true => ToolCall::Completed(finished),
                    false => ToolCall::Cancelled(result_denied(finished)),
                };
            }
            refresh_status(state);
        }
        _ => {}
    }
}

fn set_flag(state: &mut SessionState, flag: u32, on: bool) {
    match on {
        true => state.summary.status |= flag,
        false => state.summary.status &= !flag,
    }
}

/// What the session does, by what is in it. The flags stay.
fn refresh_status(state: &mut SessionState) {
    let parts = state.active_turn.iter().flat_map(|it| &it.response_parts);
    let awaits_decision = parts.filter_map(|part| match part {
        Part::ToolCall(part) => Some(&part.tool_call),
        _ => None,
    });
    let awaits_decision = awaits_decision
        .into_iter()
        .any(|call| matches!(call, ToolCall::Pending(_) | ToolCall::PendingResult(_)));
    let is_asked = state
        .input_requests
        .as_ref()
        .is_some_and(|it| !it.is_empty());
    let activity = if is_asked || awaits_decision {
        status::INPUT_NEEDED
    } else if state.active_turn.is_some() {
        status::IN_PROGRESS
    } else {
        status::IDLE
    };
    set_activity(state, activity);
}

fn set_activity(state: &mut SessionState, activity: u32) {
    state.summary.status = state.summary.status & status::FLAGS | activity;
}

fn running<'a>(state: &'a mut SessionState, turn: &str) -> Option<&'a mut ActiveTurn> {
    state.active_turn.as_mut().filter(|it| it.id == turn)
}

/// The first part that goes by this name.
fn part<'a>(state: &'a mut SessionState, turn: &str, id: &str) -> Option<&'a mut Part> {
    let parts = &mut running(state, turn)?.response_parts;
    parts.iter_mut().find(|part| match part {
        Part::Markdown(part) | Part::Reasoning(part) => part.id == id,
        Part::ToolCall(part) => id_of(&part.tool_call) == id,
        Part::Content(_) | Part::Notification(_) => false,
    })
}

fn call<'a>(state: &'a mut SessionState, turn: &str, id: &str) -> Option<&'a mut ToolCall> {
    let parts = &mut running(state, turn)?.response_parts;
    parts.iter_mut().find_map(|part| match part {
        Part::ToolCall(part) if id_of(&part.tool_call) == id => Some(&mut part.tool_call),
        _ => None,
    })
}

fn id_of(call: &ToolCall) -> &str {
    match call {
        ToolCall::Streaming(it) => &it.tool_call_id,
        ToolCall::Pending(it) => &it.tool_call_id,
        ToolCall::Running(it) => &it.tool_call_id,
        ToolCall::PendingResult(it) | ToolCall::Completed(it) => &it.tool_call_id,
        ToolCall::Cancelled(it) => &it.tool_call_id,
    }
}

fn start_turn(state: &mut SessionState, it: TurnStarted) {
    state.active_turn = Some(ActiveTurn {
        id: it.turn_id,
        user_message: it.user_message,
        response_parts: Vec::new(),
        usage: None,
    });
    refresh_status(state);
    set_flag(state, status::IS_READ, false);
    if let Some(id) = it.queued_message_id {
        state.steering_message = state.steering_message.take().filter(|it| it.id != id);
        keep_queued(state, |message| message.id != id);
    }
}

/// An empty queue is left out.
fn keep_queued(state: &mut SessionState, keep: impl Fn(&Pending) -> bool) {
    if let Some(queue) = &mut state.queued_messages {
        queue.retain(keep);
    }
    state.queued_messages = state.queued_messages.take().filter(|it| !it.is_empty());
}

fn end_turn(state: &mut SessionState, id: &str, end: TurnState, error: Option<Error>) {
    if running(state, id).is_none() {
        return;
    }
    let failed = error.is_some();
    if let Some(mut turn) = state.active_turn.take() {
        for part in &mut turn.response_parts {
            if let Part::ToolCall(part) = part {
                skip(&mut part.tool_call);
            }
        }
        state.turns.push(Turn {
            id: turn.id,
            user_message: turn.user_message,
            response_parts: turn.response_parts,
            usage: turn.usage,
            state: end,
            error,
        });
    }
    state.input_requests = None;
    match failed {
        true => set_activity(state, status::ERROR),
        false => refresh_status(state),
    }
}

/// A call that is not over when its turn ends.
fn skip(call: &mut ToolCall) {
    let known = Known::of(call);
    let (message, input) = match call {
        ToolCall::Completed(_) | ToolCall::Cancelled(_) => return,
        ToolCall::Streaming(it) => {
            let none = || Text::Plain(String::new());
            (it.invocation_message.take().unwrap_or_else(none), None)
        }
        ToolCall::Pending(it) => (it.invocation_message.clone(), it.tool_input.take()),
        ToolCall::Running(it) => (it.invocation_message.clone(), it.tool_input.take()),
        ToolCall::PendingResult(it) => (it.invocation_message.clone(), it.tool_input.take()),
    };
    *call = ToolCall::Cancelled(known.cancelled(message, input, Cancelled::Skipped));
}

/// What a call keeps through its whole life.
struct Known {
    tool_call_id: String,
    tool_name: String,
    display_name: String,
    tool_client_id: Option<String>,
    meta: Option<Meta>,
}

macro_rules! known {
    ($call:expr) => {
        Known {
            tool_call_id: $call.tool_call_id.clone(),
            tool_name: $call.tool_name.clone(),
            display_name: $call.display_name.clone(),
            tool_client_id: $call.tool_client_id.clone(),
            meta: $call.meta.clone(),
        }
    };
}

impl Known {
    fn of(call: &ToolCall) -> Self {
        match call {
            ToolCall::Streaming(it) => known!(it),
            ToolCall::Pending(it) => known!(it),
            ToolCall::Running(it) => known!(it),
            ToolCall::PendingResult(it) | ToolCall::Completed(it) => known!(it),
            ToolCall::Cancelled(it) => known!(it),
        }
    }

    fn cancelled(self, message: Text, input: Option<String>, reason: Cancelled) -> CancelledCall {
        CancelledCall {
            tool_call_id: self.tool_call_id,
            tool_name: self.tool_name,
            display_name: self.display_name,
            tool_client_id: self.tool_client_id,
            meta: self.meta,
            invocation_message: message,
            tool_input: input,
            reason,
            reason_message: None,
            user_suggestion: None,
            selected_option: None,
        }
    }

    fn running(
        self,
        (message, input): (Text, Option<String>),
        confirmed: Confirmed,
        selected_option: Option<ConfirmationOption>,
    ) -> RunningCall {
        RunningCall {
            tool_call_id: self.tool_call_id,
            tool_name: self.tool_name,
            display_name: self.display_name,
            tool_client_id: self.tool_client_id,
            meta: self.meta,
            invocation_message: message,
            tool_input: input,
            confirmed,
            selected_option,
            content: None,
        }
    }
}

/// Also a call that runs can come to need a decision.
fn make_ready(call: &mut ToolCall, it: ToolCallReady) {
    if !matches!(call, ToolCall::Streaming(_) | ToolCall::Running(_)) {
        return;
    }
    let known = Known::of(call);
    *call = match it.confirmed {
        Some(confirmed) => {
            let said = (it.invocation_message, it.tool_input);
            ToolCall::Running(known.running(said, confirmed, None))
        }
        None => ToolCall::Pending(PendingCall {
            tool_call_id: known.tool_call_id,
            tool_name: known.tool_name,
            display_name: known.display_name,
            tool_client_id: known.tool_client_id,
            meta: known.meta,
            invocation_message: it.invocation_message,
            tool_input: it.tool_input,
            confirmation_title: it.confirmation_title,
            edits: it.edits,
            editable: it.editable,
            options: it.options,
        }),
    };
}

fn confirm(call: &mut ToolCall, it: ToolCallConfirmed) {
    let known = Known::of(call);
    let ToolCall::Pending(pending) = call else {
        return;
    };
    let message = pending.invocation_message.clone();
    let chosen = it.selected_option_id.and_then(|id| {
        let mut options = pending.options.iter().flatten();
        options.find(|option| option.id == id).cloned()
    });
    let input = pending.tool_input.take();
    *call = match it.approved {
        true => {
            let input = it.edited_tool_input.or(input);
            let confirmed = it.confirmed.unwrap_or(Confirmed::NotNeeded);
            ToolCall::Running(known.running((message, input), confirmed, chosen))
        }
        false => {
            let reason = it.reason.unwrap_or(Cancelled::Denied);
            ToolCall::Cancelled(CancelledCall {
                reason_message: it.reason_message,
                user_suggestion: it.user_suggestion,
                selected_option: chosen,
                ..known.cancelled(message, input, reason)
            })
        }
    };
}

fn complete(call: &mut ToolCall, it: ToolCallComplete) {
    let known = Known::of(call);
    let (message, input, confirmed, chosen) = match call {
        ToolCall::Running(call) => (
            call.invocation_message.clone(),
            call.tool_input.take(),
            call.confirmed,
            call.selected_option.take(),
        ),
        ToolCall::Pending(call) => (
            call.invocation_message.clone(),
            call.tool_input.take(),
            Confirmed::NotNeeded,
            None,
        ),
        _ => return,
    };
    let finished = FinishedCall {
        tool_call_id: known.tool_call_id,
        tool_name: known.tool_name,
        display_name: known.display_name,
        tool_client_id: known.tool_client_id,
        meta: known.meta,
        invocation_message: message,
        tool_input: input,
        confirmed,
        selected_option: chosen,
        success: it.result.success,
        past_tense_message: it.result.past_tense_message,
        content: it.result.content,
        structured_content: it.result.structured_content,
        error: it.result.error,
    };
    *call = match it.requires_result_confirmation {
        Some(true) => ToolCall::PendingResult(finished),
        _ => ToolCall::Completed(finished),
    };
}

fn result_denied(it: FinishedCall) -> CancelledCall {
    let known = known!(it);
    CancelledCall {
        selected_option: it.selected_option,
        ..known.cancelled(
            it.invocation_message,
            it.tool_input,
            Cancelled::ResultDenied,
        )
    }
}

/// Everything behind a turn goes, or everything there is.
fn truncate(state: &mut SessionState, last: Option<&str>) {
    let kept = match last {
        None => 0,
        Some(id) => match state.turns.iter().position(|turn| turn.id == id) {
            Some(place) => place + 1,
            None => return,
        },
    };
    state.turns.truncate(kept);
    state.active_turn = None;
    state.input_requests = None;
    refresh_status(state);
}

fn set_pending(state: &mut SessionState, it: PendingSet) {
    let message = Pending {
        id: it.id,
        user_message: it.user_message,
    };
    match it.kind {
        PendingKind::Steering => state.steering_message = Some(message),
        PendingKind::Queued => {
            let queue = state.queued_messages.get_or_insert_default();
            match queue.iter_mut().find(|queued| queued.id == message.id) {
                Some(queued) => *queued = message,
                None => queue.push(message),
            }
        }
    }
}

fn remove_pending(state: &mut SessionState, it: &PendingRemoved) {
    match it.kind {
        PendingKind::Steering => {
            let message = state.steering_message.take();
            state.steering_message = message.filter(|message| message.id != it.id);
        }
        PendingKind::Queued => keep_queued(state, |message| message.id != it.id),
    }
}

/// Those that are named come first, in that order.
fn reorder(state: &mut SessionState, order: &[String]) {
    let Some(queue) = &mut state.queued_messages else {
        return;
    };
    let mut rest = mem::take(queue);
    for id in order {
        if let Some(place) = rest.iter().position(|message| message.id == *id) {
            queue.push(rest.remove(place));
        }
    }
    queue.append(&mut rest);
}

fn ask(state: &mut SessionState, mut request: InputRequest) {
    let open = state.input_requests.get_or_insert_default();
    match open.iter_mut().find(|it| it.id == request.id) {
        Some(asked) => {
            request.answers = request.answers.or_else(|| asked.answers.take());
            *asked = request;
        }
        None => open.push(request),
    }
    refresh_status(state);
    set_flag(state, status::IS_READ, false);
}

fn answer(state: &mut SessionState, it: AnswerChanged) {
    let mut open = state.input_requests.iter_mut().flatten();
    let Some(request) = open.find(|request| request.id == it.request_id) else {
        return;
    };
    let mut answers = request.answers.take().unwrap_or_default();
    match it.answer {
        Some(answer) => answers.insert(it.question_id, answer),
        None => answers.remove(&it.question_id),
    };
    request.answers = Some(answers).filter(|it| !it.is_empty());
}

fn answered(state: &mut SessionState, it: &InputCompleted) {
    let Some(open) = &mut state.input_requests else {
        return;
    };
    let before = open.len();
    open.retain(|request| request.id != it.request_id);
    if open.len() < before {
        state.input_requests = state.input_requests.take().filter(|it| !it.is_empty());
        refresh_status(state);
    }
}

pub(super) fn terminal(state: &mut TerminalState, action: Action) {
    match action {
        Action::TerminalData(it) => match state.content.last_mut() {
            Some(TerminalPart::Command(command)) if !command.is_complete => {
                command.output.push_str(&it.data);
            }
            Some(TerminalPart::Loose(output)) => output.value.push_str(&it.data),
            _ => {
                let output = LooseOutput { value: it.data };
                state.content.push(TerminalPart::Loose(output));
            }
        },
        Action::TerminalResized(it) => {
            state.cols = Some(it.cols);
            state.rows = Some(it.rows);
        }
        Action::TerminalClaimed(it) => state.claim = it.claim,
        Action::TerminalTitleChanged(it) => state.title = it.title,
        Action::TerminalCwdChanged(it) => state.cwd = Some(it.cwd),
        Action::TerminalExited(it) => state.exit_code = it.exit_code,
        Action::TerminalCleared(_) => state.content.clear(),
        Action::CommandDetectionAvailable(_) => state.supports_command_detection = Some(true),
        Action::CommandExecuted(it) => {
            state.supports_command_detection = Some(true);
            state.content.push(TerminalPart::Command(CommandOutput {
                command_id: it.command_id,
                command_line: it.command_line,
                output: String::new(),
                timestamp: it.timestamp,
                is_complete: false,
                exit_code: None,
                duration_ms: None,
            }));
        }
        Action::CommandFinished(it) => {
            for part in &mut state.content {
                if let TerminalPart::Command(command) = part
                    && command.command_id == it.command_id
                {
                    command.is_complete = true;
                    command.exit_code.clone_from(&it.exit_code);
                    command.duration_ms.clone_from(&it.duration_ms);
                }
            }
        }
        _ => {}
    }
}
