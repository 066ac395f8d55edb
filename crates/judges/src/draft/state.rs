//! The shapes of 0.1.0: what a client of that draft can hold. Nothing else may
//! be in them: a field that is not listed here is an error.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

pub(super) type Uri = String;
pub(super) type Meta = serde_json::Map<String, Value>;

/// Structs with the fields that must be there, and behind the question mark
/// those that may. `undefined` is absent in JSON, never `null`.
macro_rules! shapes {
    ($($name:ident { $($(#[$of:meta])* $field:ident: $kind:ty),* $(,)? }
       ? { $($(#[$of_some:meta])* $some:ident: $some_kind:ty),* $(,)? })*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$of])* pub(crate) $field: $kind,)*
            $(
                $(#[$of_some])*
                #[serde(
                    default,
                    deserialize_with = "crate::draft::state::not_null",
                    skip_serializing_if = "Option::is_none"
                )]
                pub(crate) $some: Option<$some_kind>,
            )*
        }
    )*};
}

/// Enums of words, written as they are on the wire.
macro_rules! words {
    ($($name:ident { $($word:literal => $variant:ident),* $(,)? })*) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) enum $name {
            $(#[serde(rename = $word)] $variant,)*
        }
    )*};
}

/// Unions that a field tells apart. An unknown word in it is an error.
macro_rules! unions {
    ($($name:ident by $tag:literal { $($word:literal => $variant:ident($inner:ty)),* $(,)? })*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = $tag)]
        pub(crate) enum $name {
            $(#[serde(rename = $word)] $variant($inner),)*
        }
    )*};
}

pub(super) use {shapes, unions};

pub(super) fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// A field that must be there and may be `null`.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    Plain(String),
    Markdown(Markdown),
}

/// The status of a session: one bit says what it does, the others are flags.
pub(super) mod status {
    pub(crate) const IDLE: u32 = 1;
    pub(crate) const ERROR: u32 = 1 << 1;
    pub(crate) const IN_PROGRESS: u32 = 1 << 3;
    pub(crate) const INPUT_NEEDED: u32 = IN_PROGRESS | 1 << 4;
    pub(crate) const IS_READ: u32 = 1 << 5;
    pub(crate) const IS_ARCHIVED: u32 = 1 << 6;
    pub(crate) const FLAGS: u32 = !((1 << 5) - 1);
}

words! {
    PolicyState { "enabled" => Enabled, "disabled" => Disabled, "unconfigured" => Unconfigured }
    PendingKind { "steering" => Steering, "queued" => Queued }
    Lifecycle { "creating" => Creating, "ready" => Ready, "creationFailed" => CreationFailed }
    TurnState { "complete" => Complete, "cancelled" => Cancelled, "error" => Error }
    Confirmed { "not-needed" => NotNeeded, "user-action" => UserAction, "setting" => Setting }
    Cancelled { "denied" => Denied, "skipped" => Skipped, "result-denied" => ResultDenied }
    OptionKind { "approve" => Approve, "deny" => Deny }
    Response { "accept" => Accept, "decline" => Decline, "cancel" => Cancel }
    LoadStatus { "loading" => Loading, "loaded" => Loaded, "degraded" => Degraded, "error" => Error }
    Theme { "light" => Light, "dark" => Dark }
    SchemaType {
        "string" => String, "number" => Number, "boolean" => Boolean, "array" => Array,
        "object" => Object,
    }
}

unions! {
    Attachment by "type" {
        "simple" => Simple(SimpleAttachment),
        "embeddedResource" => Embedded(EmbeddedAttachment),
        "resource" => Resource(ResourceAttachment),
    }
    Part by "kind" {
        "markdown" => Markdown(TextPart),
        "reasoning" => Reasoning(TextPart),
        "contentRef" => Content(ContentRef),
        "toolCall" => ToolCall(Box<ToolCallPart>),
        "systemNotification" => Notification(NotificationPart),
    }
    ToolCall by "status" {
        "streaming" => Streaming(StreamingCall),
        "pending-confirmation" => Pending(PendingCall),
        "running" => Running(RunningCall),
        "pending-result-confirmation" => PendingResult(FinishedCall),
        "completed" => Completed(FinishedCall),
        "cancelled" => Cancelled(CancelledCall),
    }
    ToolContent by "type" {
        "text" => Text(TextContent),
        "embeddedResource" => Embedded(EmbeddedContent),
        "resource" => Resource(ContentRef),
        "fileEdit" => Edit(FileEdit),
        "terminal" => Terminal(TerminalContent),
        "subagent" => Subagent(SubagentContent),
    }
    Question by "kind" {
        "text" => Text(TextQuestion),
        "number" => Number(NumberQuestion),
        "integer" => Integer(NumberQuestion),
        "boolean" => Boolean(BooleanQuestion),
        "single-select" => One(OneQuestion),
        "multi-select" => Many(ManyQuestion),
    }
    Answer by "state" {
        "draft" => Draft(Answered),
        "submitted" => Submitted(Answered),
        "skipped" => Skipped(Skipped),
    }
    AnswerValue by "kind" {
        "text" => Text(TextValue),
        "number" => Number(NumberValue),
        "boolean" => Boolean(BooleanValue),
        "selected" => Selected(SelectedValue),
        "selected-many" => SelectedMany(SelectedManyValue),
    }
    Claim by "kind" { "client" => Client(ClientClaim), "session" => Session(SessionClaim) }
    TerminalPart by "type" { "unclassified" => Loose(LooseOutput), "command" => Command(CommandOutput) }
}

shapes! {
    Markdown { markdown: String } ? {}

    RootState { agents: Vec<Agent> } ? {
        active_sessions: Number, terminals: Vec<TerminalInfo>, config: RootConfig,
    }
    RootConfig { schema: ConfigSchema, values: Meta } ? {}
    Agent { provider: String, display_name: String, description: String, models: Vec<Model> } ? {
        protected_resources: Vec<ProtectedResource>, customizations: Vec<CustomizationRef>,
    }
    Model { id: String, provider: String, name: String } ? {
        max_context_window: Number, supports_vision: bool, policy_state: PolicyState,
        config_schema: ConfigSchema,
        #[serde(rename = "_meta")] meta: Meta,
    }
    ModelSelection { id: String } ? { config: BTreeMap<String, String> }
    ConfigSchema {
        #[serde(rename = "type")] kind: SchemaType,
        properties: BTreeMap<String, ConfigProperty>,
    } ? { required: Vec<String> }
    ConfigProperty { #[serde(rename = "type")] kind: SchemaType, title: String } ? {
        description: String, default: Value,
        #[serde(rename = "enum")] choices: Vec<String>,
        enum_labels: Vec<String>, enum_descriptions: Vec<String>, read_only: bool,
        items: Box<ConfigProperty>, properties: BTreeMap<String, ConfigProperty>,
        required: Vec<String>,
        // Those of a session have these too.
        enum_dynamic: bool, session_mutable: bool,
    }
    Icon { src: Uri } ? { content_type: String, sizes: Vec<String>, theme: Theme }

    SessionState { summary: Summary, lifecycle: Lifecycle, turns: Vec<Turn> } ? {
        creation_error: Error, server_tools: Vec<Tool>, active_client: ActiveClient,
        active_turn: ActiveTurn, steering_message: Pending, queued_messages: Vec<Pending>,
        input_requests: Vec<InputRequest>, config: SessionConfig,
        customizations: Vec<Customization>,
        #[serde(rename = "_meta")] meta: Meta,
    }
    SessionConfig { schema: ConfigSchema, values: Meta } ? {}
    Summary {
        resource: Uri, provider: String, title: String, status: u32, created_at: Number,
        modified_at: Number,
    } ? {
        activity: String, project: Project, model: ModelSelection, working_directory: Uri,
        diffs: Vec<FileEdit>,
    }
    Project { uri: Uri, display_name: String } ? {}
    Error { error_type: String, message: String } ? { stack: String }
    ActiveClient { client_id: String, tools: Vec<Tool> } ? {
        display_name: String, customizations: Vec<CustomizationRef>,
    }
    Tool { name: String } ? {
        title: String, description: String, input_schema: Meta, output_schema: Meta,
        annotations: ToolAnnotations,
        #[serde(rename = "_meta")] meta: Meta,
    }
    ToolAnnotations {} ? {
        title: String, read_only_hint: bool, destructive_hint: bool, idempotent_hint: bool,
        open_world_hint: bool,
    }
    CustomizationRef { uri: Uri, display_name: String } ? {
        description: String, icons: Vec<Icon>, nonce: String,
    }
    Customization { customization: CustomizationRef, enabled: bool } ? {
        client_id: String, status: LoadStatus, status_message: String,
    }

    Turn { id: String, user_message: Message, response_parts: Vec<Part>, state: TurnState } ? {
        usage: Usage, error: Error,
    }
    ActiveTurn { id: String, user_message: Message, response_parts: Vec<Part> } ? { usage: Usage }
    Pending { id: String, user_message: Message } ? {}
    Message { text: String } ? { attachments: Vec<Attachment> }
    Usage {} ? {
        input_tokens: Number, output_tokens: Number, model: String, cache_read_tokens: Number,
        #[serde(rename = "_meta")] meta: Meta,
    }
    Position { line: Number, character: Number } ? {}
    Range { start: Position, end: Position } ? {}
    Selection { range: Range } ? {}
    SimpleAttachment { label: String } ? {
        range: Range, display_kind: String, model_representation: String,
        #[serde(rename = "_meta")] meta: Meta,
    }
    EmbeddedAttachment { label: String, data: String, content_type: String } ? {
        range: Range, display_kind: String, selection: Selection,
        #[serde(rename = "_meta")] meta: Meta,
    }
    ResourceAttachment { label: String, uri: Uri } ? {
        range: Range, display_kind: String, selection: Selection, size_hint: Number,
        content_type: String,
        #[serde(rename = "_meta")] meta: Meta,
    }

    TextPart { id: String, content: String } ? {}
    ContentRef { uri: Uri } ? { size_hint: Number, content_type: String }
    ToolCallPart { tool_call: ToolCall } ? {}
    NotificationPart { content: Text } ? {}
    ConfirmationOption { id: String, label: String, kind: OptionKind } ? { group: Number }
    StreamingCall { tool_call_id: String, tool_name: String, display_name: String } ? {
        tool_client_id: String, partial_input: String, invocation_message: Text,
        #[serde(rename = "_meta")] meta: Meta,
    }
    PendingCall {
        tool_call_id: String, tool_name: String, display_name: String, invocation_message: Text,
    } ? {
        tool_client_id: String, tool_input: String, confirmation_title: Text, edits: Edits,
        editable: bool, options: Vec<ConfirmationOption>,
        #[serde(rename = "_meta")] meta: Meta,
    }
    RunningCall {
        tool_call_id: String, tool_name: String, display_name: String, invocation_message: Text,
        confirmed: Confirmed,
    } ? {
        tool_client_id: String, tool_input: String, selected_option: ConfirmationOption,
        content: Vec<ToolContent>,
        #[serde(rename = "_meta")] meta: Meta,
    }
    FinishedCall {
        tool_call_id: String, tool_name: String, display_name: String, invocation_message: Text,
        confirmed: Confirmed, success: bool, past_tense_message: Text,
    } ? {
        tool_client_id: String, tool_input: String, selected_option: ConfirmationOption,
        content: Vec<ToolContent>, structured_content: Meta, error: ToolError,
        #[serde(rename = "_meta")] meta: Meta,
    }
    CancelledCall {
        tool_call_id: String, tool_name: String, display_name: String, invocation_message: Text,
        reason: Cancelled,
    } ? {
        tool_client_id: String, tool_input: String, reason_message: Text,
        user_suggestion: Message, selected_option: ConfirmationOption,
        #[serde(rename = "_meta")] meta: Meta,
    }
    ToolResult { success: bool, past_tense_message: Text } ? {
        content: Vec<ToolContent>, structured_content: Meta, error: ToolError,
    }
    ToolError { message: String } ? { code: String }
    TextContent { text: String } ? {}
    EmbeddedContent { data: String, content_type: String } ? {}
    TerminalContent { resource: Uri, title: String } ? {}
    SubagentContent { resource: Uri, title: String } ? { agent_name: String, description: String }
    Edits { items: Vec<FileEdit> } ? {}
    FileEdit {} ? { before: FileVersion, after: FileVersion, diff: DiffCounts }
    FileVersion { uri: Uri, content: ContentRef } ? {}
    DiffCounts {} ? { added: Number, removed: Number }

    InputRequest { id: String } ? {
        message: String, url: Uri, questions: Vec<Question>, answers: BTreeMap<String, Answer>,
    }
    TextQuestion { id: String, message: String } ? {
        title: String, required: bool, format: String, min: Number, max: Number,
        default_value: String,
    }
    NumberQuestion { id: String, message: String } ? {
        title: String, required: bool, min: Number, max: Number, default_value: Number,
    }
    BooleanQuestion { id: String, message: String } ? {
        title: String, required: bool, default_value: bool,
    }
    OneQuestion { id: String, message: String, options: Vec<Choice> } ? {
        title: String, required: bool, allow_freeform_input: bool,
    }
    ManyQuestion { id: String, message: String, options: Vec<Choice> } ? {
        title: String, required: bool, allow_freeform_input: bool, min: Number, max: Number,
    }
    Choice { id: String, label: String } ? { description: String, recommended: bool }
    Answered { value: AnswerValue } ? {}
    Skipped {} ? { freeform_values: Vec<String> }
    TextValue { value: String } ? {}
    NumberValue { value: Number } ? {}
    BooleanValue { value: bool } ? {}
    SelectedValue { value: String } ? { freeform_values: Vec<String> }
    SelectedManyValue { value: Vec<String> } ? { freeform_values: Vec<String> }

    TerminalInfo { resource: Uri, title: String, claim: Claim } ? { exit_code: Number }
    ClientClaim { client_id: String } ? {}
    SessionClaim { session: Uri } ? { turn_id: String, tool_call_id: String }
    TerminalState { title: String, content: Vec<TerminalPart>, claim: Claim } ? {
        cwd: Uri, cols: Number, rows: Number, exit_code: Number, supports_command_detection: bool,
    }
    LooseOutput { value: String } ? {}
    CommandOutput {
        command_id: String, command_line: String, output: String, timestamp: Number,
        is_complete: bool,
    } ? { exit_code: Number, duration_ms: Number }
}

/// A protected resource, whose fields have the names that OAuth gave them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Meta", into = "Meta")]
pub(crate) struct ProtectedResource(Meta);

impl From<ProtectedResource> for Meta {
    fn from(it: ProtectedResource) -> Self {
        it.0
    }
}

impl TryFrom<Meta> for ProtectedResource {
    type Error = String;

    fn try_from(fields: Meta) -> Result<Self, String> {
        const TEXTS: [&str; 6] = [
            "resource",
            "resource_name",
            "jwks_uri",
            "resource_documentation",
            "resource_policy_uri",
            "resource_tos_uri",
        ];
        const LISTS: [&str; 6] = [
            "authorization_servers",
            "scopes_supported",
            "bearer_methods_supported",
            "resource_signing_alg_values_supported",
            "resource_encryption_alg_values_supported",
            "resource_encryption_enc_values_supported",
        ];
        for (name, value) in &fields {
            let fits = match name.as_str() {
                text if TEXTS.contains(&text) => value.is_string(),
                list if LISTS.contains(&list) => value.is_array(),
                "required" => value.is_boolean(),
                _ => false,
            };
            if !fits {
                return Err(format!("a protected resource with `{name}`: {value}"));
            }
        }
        match fields.contains_key("resource") {
            true => Ok(Self(fields)),
            false => Err("a protected resource without `resource`".to_owned()),
        }
    }
}
