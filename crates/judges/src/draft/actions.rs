//! The actions of 0.1.0. Each says itself which session or terminal it is
//! about; those of the root say nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::state::{
    ActiveClient, Agent, Answer, Cancelled, Claim, ConfirmationOption, Confirmed, Customization,
    Edits, Error, FileEdit, InputRequest, Message, Meta, ModelSelection, Part, PendingKind,
    Response, TerminalInfo, Text, Tool, ToolContent, ToolResult, Uri, Usage, present, shapes,
    unions,
};

unions! {
    Action by "type" {
        "root/agentsChanged" => AgentsChanged(AgentsChanged),
        "root/activeSessionsChanged" => ActiveSessionsChanged(ActiveSessionsChanged),
        "root/terminalsChanged" => TerminalsChanged(TerminalsChanged),
        "root/configChanged" => RootConfigChanged(RootConfigChanged),

        "session/ready" => Ready(OfSession),
        "session/creationFailed" => CreationFailed(CreationFailed),
        "session/turnStarted" => TurnStarted(TurnStarted),
        "session/delta" => Delta(TextAdded),
        "session/reasoning" => Reasoning(TextAdded),
        "session/responsePart" => ResponsePart(ResponsePart),
        "session/toolCallStart" => ToolCallStart(ToolCallStart),
        "session/toolCallDelta" => ToolCallDelta(ToolCallDelta),
        "session/toolCallReady" => ToolCallReady(ToolCallReady),
        "session/toolCallConfirmed" => ToolCallConfirmed(ToolCallConfirmed),
        "session/toolCallComplete" => ToolCallComplete(ToolCallComplete),
        "session/toolCallResultConfirmed" => ToolCallResultConfirmed(ToolCallResultConfirmed),
        "session/toolCallContentChanged" => ToolCallContentChanged(ToolCallContentChanged),
        "session/turnComplete" => TurnComplete(OfTurn),
        "session/turnCancelled" => TurnCancelled(OfTurn),
        "session/error" => TurnFailed(TurnFailed),
        "session/usage" => UsageTold(UsageTold),
        "session/titleChanged" => TitleChanged(TitleChanged),
        "session/modelChanged" => ModelChanged(ModelChanged),
        "session/isReadChanged" => IsReadChanged(IsReadChanged),
        "session/isArchivedChanged" => IsArchivedChanged(IsArchivedChanged),
        "session/activityChanged" => ActivityChanged(ActivityChanged),
        "session/diffsChanged" => DiffsChanged(DiffsChanged),
        "session/configChanged" => ConfigChanged(ConfigChanged),
        "session/metaChanged" => MetaChanged(MetaChanged),
        "session/serverToolsChanged" => ServerToolsChanged(ToolsChanged),
        "session/activeClientChanged" => ActiveClientChanged(ActiveClientChanged),
        "session/activeClientToolsChanged" => ClientToolsChanged(ToolsChanged),
        "session/customizationsChanged" => CustomizationsChanged(CustomizationsChanged),
        "session/customizationToggled" => CustomizationToggled(CustomizationToggled),
        "session/truncated" => Truncated(Truncated),
        "session/pendingMessageSet" => PendingSet(PendingSet),
        "session/pendingMessageRemoved" => PendingRemoved(PendingRemoved),
        "session/queuedMessagesReordered" => QueueReordered(QueueReordered),
        "session/inputRequested" => InputRequested(InputRequested),
        "session/inputAnswerChanged" => AnswerChanged(AnswerChanged),
        "session/inputCompleted" => InputCompleted(InputCompleted),

        "terminal/data" => TerminalData(TerminalData),
        "terminal/input" => TerminalInput(TerminalData),
        "terminal/resized" => TerminalResized(TerminalResized),
        "terminal/claimed" => TerminalClaimed(TerminalClaimed),
        "terminal/titleChanged" => TerminalTitleChanged(TerminalTitleChanged),
        "terminal/cwdChanged" => TerminalCwdChanged(TerminalCwdChanged),
        "terminal/exited" => TerminalExited(TerminalExited),
        "terminal/cleared" => TerminalCleared(OfTerminal),
        "terminal/commandDetectionAvailable" => CommandDetectionAvailable(OfTerminal),
        "terminal/commandExecuted" => CommandExecuted(CommandExecuted),
        "terminal/commandFinished" => CommandFinished(CommandFinished),
    }
}

shapes! {
    AgentsChanged { agents: Vec<Agent> } ? {}
    ActiveSessionsChanged { active_sessions: Number } ? {}
    TerminalsChanged { terminals: Vec<TerminalInfo> } ? {}
    RootConfigChanged { config: Meta } ? { replace: bool }

    OfSession { session: Uri } ? {}
    CreationFailed { session: Uri, error: Error } ? {}
    TurnStarted { session: Uri, turn_id: String, user_message: Message } ? {
        queued_message_id: String,
    }
    TextAdded { session: Uri, turn_id: String, part_id: String, content: String } ? {}
    ResponsePart { session: Uri, turn_id: String, part: Part } ? {}
    OfTurn { session: Uri, turn_id: String } ? {}
    TurnFailed { session: Uri, turn_id: String, error: Error } ? {}
    UsageTold { session: Uri, turn_id: String, usage: Usage } ? {}

    ToolCallStart {
        session: Uri, turn_id: String, tool_call_id: String, tool_name: String,
        display_name: String,
    } ? { tool_client_id: String, #[serde(rename = "_meta")] meta: Meta }
    ToolCallDelta { session: Uri, turn_id: String, tool_call_id: String, content: String } ? {
        invocation_message: Text, #[serde(rename = "_meta")] meta: Meta,
    }
    ToolCallReady {
        session: Uri, turn_id: String, tool_call_id: String, invocation_message: Text,
    } ? {
        tool_input: String, confirmation_title: Text, edits: Edits, editable: bool,
        confirmed: Confirmed, options: Vec<ConfirmationOption>,
        #[serde(rename = "_meta")] meta: Meta,
    }
    // Approved with `confirmed`, or denied with `reason`.
    ToolCallConfirmed { session: Uri, turn_id: String, tool_call_id: String, approved: bool } ? {
        confirmed: Confirmed, edited_tool_input: String, selected_option_id: String,
        reason: Cancelled, user_suggestion: Message, reason_message: Text,
        #[serde(rename = "_meta")] meta: Meta,
    }
    ToolCallComplete { session: Uri, turn_id: String, tool_call_id: String, result: ToolResult } ? {
        requires_result_confirmation: bool, #[serde(rename = "_meta")] meta: Meta,
    }
    ToolCallResultConfirmed { session: Uri, turn_id: String, tool_call_id: String, approved: bool } ? {
        #[serde(rename = "_meta")] meta: Meta,
    }
    ToolCallContentChanged {
        session: Uri, turn_id: String, tool_call_id: String, content: Vec<ToolContent>,
    } ? { #[serde(rename = "_meta")] meta: Meta }

    TitleChanged { session: Uri, title: String } ? {}
    ModelChanged { session: Uri, model: ModelSelection } ? {}
    IsReadChanged { session: Uri, is_read: bool } ? {}
    IsArchivedChanged { session: Uri, is_archived: bool } ? {}
    ActivityChanged { session: Uri } ? { activity: String }
    DiffsChanged { session: Uri, diffs: Vec<FileEdit> } ? {}
    ConfigChanged { session: Uri, config: Meta } ? { replace: bool }
    MetaChanged { session: Uri } ? { #[serde(rename = "_meta")] meta: Meta }
    ToolsChanged { session: Uri, tools: Vec<Tool> } ? {}
    ActiveClientChanged {
        session: Uri,
        #[serde(deserialize_with = "present")] active_client: Option<ActiveClient>,
    } ? {}
    CustomizationsChanged { session: Uri, customizations: Vec<Customization> } ? {}
    CustomizationToggled { session: Uri, uri: Uri, enabled: bool } ? {}
    Truncated { session: Uri } ? { turn_id: String }
    PendingSet { session: Uri, kind: PendingKind, id: String, user_message: Message } ? {}
    PendingRemoved { session: Uri, kind: PendingKind, id: String } ? {}
    QueueReordered { session: Uri, order: Vec<String> } ? {}
    InputRequested { session: Uri, request: InputRequest } ? {}
    AnswerChanged { session: Uri, request_id: String, question_id: String } ? { answer: Answer }
    InputCompleted { session: Uri, request_id: String, response: Response } ? {
        answers: BTreeMap<String, Answer>,
    }

    OfTerminal { terminal: Uri } ? {}
    TerminalData { terminal: Uri, data: String } ? {}
    TerminalResized { terminal: Uri, cols: Number, rows: Number } ? {}
    TerminalClaimed { terminal: Uri, claim: Claim } ? {}
    TerminalTitleChanged { terminal: Uri, title: String } ? {}
    TerminalCwdChanged { terminal: Uri, cwd: Uri } ? {}
    TerminalExited { terminal: Uri } ? { exit_code: Number }
    CommandExecuted {
        terminal: Uri, command_id: String, command_line: String, timestamp: Number,
    } ? {}
    CommandFinished { terminal: Uri, command_id: String } ? {
        exit_code: Number, duration_ms: Number,
    }
}
