//! Which kinds of objects the protocol has, and where they occur.
//!
//! The graph is that of all versions at once: a field that only some of them
//! have leads nowhere in the others.

use super::down::FACTS;
use super::tree::Value;
use super::{Object, object};

/// The kinds of objects that some gate changes, or that contain such objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    RootState,
    SessionState,
    ChatState,
    TerminalState,
    ChangesetState,
    WatchState,
    AnnotationsState,
    CanvasState,
    AutomationState,
    AutomationRunState,
    /// The row of a session in the catalogue.
    Summary,
    /// A part of such a row: what changed.
    SummaryChanges,
    /// What the host adds to such a row for the versions that say more in it.
    SummaryFacts,
    ChatSummary,
    ChatChanges,
    Turn,
    ActiveTurn,
    Message,
    Pending,
    Attachment,
    Part,
    ToolCall,
    ToolResult,
    ToolContent,
    /// The input of a tool call, where it is kept elsewhere.
    ToolInput,
    /// The edits that a call would make.
    FileEdits,
    FileEdit,
    FileEditSide,
    ContentRef,
    InputRequest,
    /// An entry of the session's list of what waits for the user.
    InputNeeded,
    Customization,
    ChildCustomization,
    ClientCustomization,
    McpState,
    McpAuth,
    ActiveClient,
    Agent,
    Capabilities,
    Model,
    Selection,
    Config,
    ConfigSchema,
    ConfigProperty,
    ProtectedResource,
    Error,
    Usage,
    TerminalInfo,
    TerminalClaim,
    Changeset,
    ChangesetFile,
    ChangesetOperation,
    Annotation,
    AutomationEntry,
    AutomationDefinition,
    AutomationTemplate,
    CompletionItem,
    /// An action, told apart by its `type`.
    Action,
    /// The facts that travel with an action.
    ExtraFacts,
    /// The parameters of a request, or its result.
    Call,
}

/// Actions whose fields are something else than in all others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    InputNeededSet,
    ChatUpdated,
}

impl Special {
    fn of(action: &Object) -> Option<Self> {
        match object::text(action, "type") {
            Some("session/inputNeededSet") => Some(Self::InputNeededSet),
            Some("session/chatUpdated") => Some(Self::ChatUpdated),
            _ => None,
        }
    }
}

/// What kind of object stands in a field, directly or in a list.
fn edge(node: Node, special: Option<Special>, key: &str) -> Option<Node> {
    use Node as N;
    Some(match (node, key) {
        (N::RootState | N::Action, "agents") => N::Agent,
        (N::RootState | N::Action, "terminals") => N::TerminalInfo,
        (N::RootState | N::SessionState, "config") => N::Config,
        (N::Config | N::Call, "schema") | (N::Model, "configSchema") => N::ConfigSchema,
        (N::Agent, "models") => N::Model,
        (N::Agent, "protectedResources") => N::ProtectedResource,
        (N::Agent, "capabilities") => N::Capabilities,
        (N::Agent | N::SessionState | N::ExtraFacts, "customizations") => N::Customization,
        (N::ConfigProperty, "items" | "additionalProperties") => N::ConfigProperty,

        (N::SessionState, "summary") => N::Summary,
        (N::Summary | N::SummaryChanges, FACTS) => N::SummaryFacts,
        (N::SessionState, "creationError") => N::Error,
        (N::SessionState, "activeClients") => N::ActiveClient,
        (N::SessionState | N::Action | N::Call, "activeClient") => N::ActiveClient,
        (N::ExtraFacts, "clientBefore" | "clientAfter") => N::ActiveClient,
        (N::SessionState | N::ExtraFacts, "chats") => N::ChatSummary,
        (N::SessionState | N::ChatState | N::Summary | N::SummaryChanges, "changesets")
        | (N::Action | N::SummaryFacts, "changesets") => N::Changeset,
        (N::SessionState, "inputNeeded") => N::InputNeeded,
        (N::ActiveClient, "customizations") => N::ClientCustomization,
        (N::InputNeeded, "request") => N::InputRequest,
        (N::InputNeeded, "toolCall") => N::ToolCall,

        (N::ChatState | N::SessionState | N::Action | N::Call, "turns") => N::Turn,
        (N::ChatState | N::SessionState, "activeTurn") | (N::ExtraFacts, "resumed") => {
            N::ActiveTurn
        }
        (N::ChatState | N::SessionState, "steeringMessage" | "queuedMessages") => N::Pending,
        (N::ChatState | N::Action, "draft") => N::Message,
        (N::ChatState | N::SessionState, "inputRequests") => N::InputRequest,
        (N::Turn | N::ActiveTurn | N::Pending, "message" | "userMessage") => N::Message,
        (N::Action, "message" | "userMessage" | "userSuggestion") => N::Message,
        (N::ToolCall, "userSuggestion") | (N::Call, "initialMessage") => N::Message,
        (N::AutomationDefinition, "message") => N::Message,
        (N::Turn | N::ActiveTurn, "responseParts") | (N::Action, "part") => N::Part,
        (N::Turn | N::ActiveTurn | N::Action, "usage") => N::Usage,
        (N::Message, "attachments") | (N::CompletionItem, "attachment") => N::Attachment,
        (N::Message | N::Summary | N::SummaryChanges, "model") => N::Selection,
        (N::Action | N::ExtraFacts | N::Call | N::AutomationTemplate, "model")
        | (N::SummaryFacts, "model") => N::Selection,
        (N::Part, "toolCall") => N::ToolCall,
        (N::Part, "request") => N::InputRequest,
        (N::Turn | N::Part | N::McpState | N::Action | N::ExtraFacts, "error") => N::Error,
        (N::ChangesetState | N::ChangesetOperation, "error") => N::Error,
        (N::ToolCall | N::ToolResult | N::Action, "content") => N::ToolContent,
        (N::ToolCall | N::Action, "toolInput") => N::ToolInput,
        (N::ToolCall | N::Action, "edits") => N::FileEdits,
        (N::FileEdits, "items") | (N::ChangesetFile, "edit") => N::FileEdit,
        (N::SummaryFacts | N::ExtraFacts, "diffs") => N::FileEdit,
        (N::FileEdit | N::ToolContent, "before" | "after") => N::FileEditSide,
        (N::FileEditSide, "content") => N::ContentRef,
        (N::ToolCall | N::Action, "auth") => N::McpAuth,
        (N::Action, "result") => N::ToolResult,

        (N::Customization, "children") => N::ChildCustomization,
        (N::Customization | N::ChildCustomization | N::Action, "state") => N::McpState,
        (N::McpState | N::McpAuth, "resource") => N::ProtectedResource,

        (N::TerminalState | N::TerminalInfo | N::Action | N::Call, "claim") => N::TerminalClaim,
        (N::ChangesetState | N::Action, "files") => N::ChangesetFile,
        (N::ChangesetState | N::Action, "operations") => N::ChangesetOperation,
        (N::AnnotationsState, "annotations") => N::Annotation,
        (N::AutomationState, "entries") | (N::Action, "automation") => N::AutomationEntry,
        (N::AutomationEntry | N::Action, "definition") => N::AutomationDefinition,
        (N::AutomationDefinition, "session") => N::AutomationTemplate,

        (N::Action, "customizations" | "customization") => N::Customization,
        (N::Action, "file") => N::ChangesetFile,
        (N::Action, "annotation") => N::Annotation,
        (N::Action, "summary") => N::ChatSummary,
        (N::Action, "request") => match special {
            Some(Special::InputNeededSet) => N::InputNeeded,
            _ => N::InputRequest,
        },
        (N::Action, "changes") => match special {
            Some(Special::ChatUpdated) => N::ChatChanges,
            _ => N::AutomationDefinition,
        },
        _ => return None,
    })
}

/// Visits every known object within `parent`, the innermost first. Objects
/// that the visitor refuses are taken out of their list or field.
pub(crate) fn walk(
    node: Node,
    parent: &mut Object,
    visit: &mut dyn FnMut(Node, &mut Object) -> bool,
) {
    if node == Node::Action && is_plain_text(parent) {
        return;
    }
    // `properties` of a schema is a map by name.
    if matches!(node, Node::ConfigSchema | Node::ConfigProperty)
        && let Some(properties) = object::child_mut(parent, "properties")
    {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            walk(Node::ConfigProperty, property, visit);
            visit(Node::ConfigProperty, property);
        }
    }
    let special = match node {
        Node::Action => Special::of(parent),
        _ => None,
    };
    parent.retain_mut(|key, value| {
        if !value.is_object() && value.as_array().is_none() {
            return true;
        }
        let Some(child) = edge(node, special, key) else {
            return true;
        };
        let mut enter = |object: &mut Object| {
            walk(child, object, visit);
            visit(child, object)
        };
        match value {
            Value::Object(object) => enter(object),
            Value::Array(list) => {
                list.retain_mut(|item| item.as_object_mut().is_none_or(&mut enter));
                true
            }
            _ => true,
        }
    });
}

/// Streamed text is most of the traffic, and has nothing in it to change.
fn is_plain_text(action: &Object) -> bool {
    matches!(
        object::text(action, "type"),
        Some("chat/delta" | "chat/reasoning" | "session/delta" | "session/reasoning")
    )
}
