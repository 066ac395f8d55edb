//! What clients see of the script agent before they talk to it.

use std::collections::HashMap;

use innkeeper_protocol::agent::AgentProfile;
use innkeeper_protocol::house::state::{
    AgentCapabilities, AgentInfo, ConfigPropertySchema, ConfigSchema, MultipleChatsCapability,
    SessionConfigPropertySchema, SessionConfigSchema, SessionModelInfo,
};
use serde_json::Value;

use super::PROVIDER;

pub(super) fn profile() -> AgentProfile {
    AgentProfile {
        info: AgentInfo {
            provider: PROVIDER.to_owned(),
            display_name: "Script".to_owned(),
            description: "Plays scenarios, offline and always the same. Say `/scenarios` to \
                          see which."
                .to_owned(),
            models: vec![
                model("script-small", "Script small", None),
                model("script-large", "Script large", Some(effort())),
            ],
            protected_resources: None,
            customizations: None,
            capabilities: Some(AgentCapabilities {
                multiple_chats: Some(MultipleChatsCapability {
                    fork: Some(true),
                    side_chat: None,
                }),
                ..AgentCapabilities::default()
            }),
        },
        config: Some(session_config()),
    }
}

fn model(id: &str, name: &str, config_schema: Option<ConfigSchema>) -> SessionModelInfo {
    SessionModelInfo {
        id: id.to_owned(),
        provider: PROVIDER.to_owned(),
        name: name.to_owned(),
        max_context_window: None,
        max_output_tokens: None,
        max_prompt_tokens: None,
        supports_vision: None,
        policy_state: None,
        config_schema,
        meta: None,
    }
}

fn effort() -> ConfigSchema {
    let effort = ConfigPropertySchema {
        r#type: "string".to_owned(),
        title: "Effort".to_owned(),
        description: Some("How hard the model pretends to think.".to_owned()),
        default: Some(Value::from("medium")),
        r#enum: Some(values(&["low", "medium", "high"])),
        enum_labels: Some(labels(&["Low", "Medium", "High"])),
        enum_descriptions: None,
        read_only: None,
        items: None,
        min_items: None,
        max_items: None,
        properties: None,
        required: None,
        additional_properties: None,
    };
    ConfigSchema {
        r#type: "object".to_owned(),
        properties: HashMap::from([("effort".to_owned(), effort)]),
        required: None,
    }
}

fn session_config() -> SessionConfigSchema {
    let auto_approve = SessionConfigPropertySchema {
        description: Some("Whether tool calls wait for an approval.".to_owned()),
        default: Some(Value::from("ask")),
        r#enum: Some(values(&["ask", "all"])),
        enum_labels: Some(labels(&["Ask each time", "Approve all"])),
        session_mutable: Some(true),
        ..property("Approvals")
    };
    let isolation = SessionConfigPropertySchema {
        description: Some("Where the session works.".to_owned()),
        default: Some(Value::from("folder")),
        r#enum: Some(values(&["folder", "worktree"])),
        enum_labels: Some(labels(&["In the folder", "In a git worktree"])),
        ..property("Isolation")
    };
    let branch = SessionConfigPropertySchema {
        description: Some("The branch to work from.".to_owned()),
        enum_dynamic: Some(true),
        ..property("Branch")
    };
    SessionConfigSchema {
        r#type: "object".to_owned(),
        properties: HashMap::from([
            ("autoApprove".to_owned(), auto_approve),
            ("isolation".to_owned(), isolation),
            ("branch".to_owned(), branch),
        ]),
        required: None,
    }
}

/// A property that holds a string and says nothing more.
fn property(title: &str) -> SessionConfigPropertySchema {
    SessionConfigPropertySchema {
        r#type: "string".to_owned(),
        title: title.to_owned(),
        description: None,
        default: None,
        r#enum: None,
        enum_labels: None,
        enum_descriptions: None,
        read_only: None,
        items: None,
        min_items: None,
        max_items: None,
        properties: None,
        required: None,
        additional_properties: None,
        enum_dynamic: None,
        session_mutable: None,
    }
}

fn values(names: &[&str]) -> Vec<Value> {
    names.iter().copied().map(Value::from).collect()
}

fn labels(names: &[&str]) -> Vec<String> {
    names.iter().copied().map(str::to_owned).collect()
}
