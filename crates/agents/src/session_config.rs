//! The settings of sessions with agents that are not our own, as clients see
//! them: the agent's, and the one that the host has for all of them.

use std::collections::HashMap;

use innkeeper_protocol::agent::setting;
use innkeeper_protocol::newest::state::{SessionConfigPropertySchema, SessionConfigSchema};
use innkeeper_protocol::settings::{AUTO_APPROVE, auto_approve};
use serde_json::json;

/// The settings of a session: these, and the host's own.
pub(crate) fn schema(
    mut properties: HashMap<String, SessionConfigPropertySchema>,
) -> SessionConfigSchema {
    properties.insert(AUTO_APPROVE.to_owned(), auto_approve());
    SessionConfigSchema {
        r#type: "object".to_owned(),
        properties,
        required: None,
    }
}

/// One of the values that a setting may have.
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) description: Option<String>,
}

pub(crate) fn enumeration(title: &str, choices: Vec<Choice>) -> SessionConfigPropertySchema {
    let described = choices.iter().any(|choice| choice.description.is_some());
    let description = |choice: &Choice| choice.description.clone().unwrap_or_default();
    SessionConfigPropertySchema {
        r#enum: Some(choices.iter().map(|choice| json!(choice.value)).collect()),
        enum_labels: Some(choices.iter().map(|choice| choice.label.clone()).collect()),
        enum_descriptions: described.then(|| choices.iter().map(description).collect()),
        ..property("string", title)
    }
}

/// A setting that can be changed while the session lives.
pub(crate) fn property(kind: &str, title: &str) -> SessionConfigPropertySchema {
    SessionConfigPropertySchema {
        session_mutable: Some(true),
        ..setting(kind, title)
    }
}
