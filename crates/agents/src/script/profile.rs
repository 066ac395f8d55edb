//! What clients see of the script agent before they talk to it.

use std::collections::HashMap;

use innkeeper_protocol::agent::{AgentProfile, ConfigQuery, string_property};
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use innkeeper_protocol::newest::state::{
    AgentCapabilities, AgentCustomization, AgentInfo, ChildCustomization, ConfigPropertySchema,
    ConfigSchema, Customization, MultipleChatsCapability, MultipleWorkingDirectoriesCapability,
    PluginCustomization, ProtectedResourceMetadata, SessionConfigPropertySchema,
    SessionConfigSchema, SessionModelInfo, ToolAnnotations, ToolDefinition,
};
use innkeeper_protocol::settings::{
    AUTO_APPROVE, BRANCH, FOLDER, ISOLATION, WORKTREE, auto_approve,
};
use innkeeper_protocol::workspace::customization::Reach;
use serde_json::{Value, json};

use super::PROVIDER;
use crate::session_config;

pub(super) fn profile(token_for: Option<&str>) -> AgentProfile {
    AgentProfile {
        info: AgentInfo {
            provider: PROVIDER.to_owned(),
            display_name: "Script".to_owned(),
            description: "Plays scenarios, offline and always the same. Say /scenarios to \
                          see which."
                .to_owned(),
            models: vec![
                model("script-small", "Script small", None),
                model("script-large", "Script large", Some(effort())),
            ],
            protected_resources: token_for.map(|resource| vec![protected(resource)]),
            customizations: Some(vec![custom_agents()]),
            capabilities: Some(AgentCapabilities {
                multiple_chats: Some(MultipleChatsCapability {
                    fork: Some(true),
                    side_chat: Some(true),
                }),
                // Its first directory is where it writes, and can be another.
                multiple_working_directories: Some(MultipleWorkingDirectoriesCapability {
                    immutable_primary: Some(true),
                    primary_replacement: Some(true),
                }),
            }),
        },
        config: Some(session_config()),
        synonyms: Vec::new(),
        works: true,
        resumes: true,
        reach: Reach {
            is_told: true,
            takes_servers: true,
            ..Reach::default()
        },
    }
}

fn protected(resource: &str) -> ProtectedResourceMetadata {
    ProtectedResourceMetadata {
        resource: resource.to_owned(),
        resource_name: Some("Pretended models".to_owned()),
        authorization_servers: None,
        jwks_uri: None,
        scopes_supported: None,
        bearer_methods_supported: None,
        resource_signing_alg_values_supported: None,
        resource_documentation: None,
        resource_policy_uri: None,
        resource_tos_uri: None,
        required: Some(true),
    }
}

/// The tools that the named scenarios use.
pub(super) fn tools() -> Vec<ToolDefinition> {
    let reads = ToolAnnotations {
        read_only_hint: Some(true),
        ..ToolAnnotations::default()
    };
    let destroys = ToolAnnotations {
        destructive_hint: Some(true),
        ..ToolAnnotations::default()
    };
    vec![
        tool("list_files", "List files", "path", reads.clone()),
        tool("read_file", "Read file", "path", reads),
        tool("run_command", "Run command", "command", destroys),
    ]
}

fn tool(name: &str, title: &str, input: &str, annotations: ToolAnnotations) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        title: Some(title.to_owned()),
        description: Some("Pretends to, as the scenario says.".to_owned()),
        input_schema: Some(json!({
            "type": "object",
            "properties": { input: { "type": "string" } },
            "required": [input],
        })),
        output_schema: None,
        annotations: Some(annotations),
        meta: None,
    }
}

/// The custom agents that a message may be addressed to.
fn custom_agents() -> Customization {
    let agent = |name: &str, description: &str| {
        ChildCustomization::Agent(AgentCustomization {
            id: format!("script-agent-{name}"),
            uri: format!("script:/agents/{name}"),
            name: name.to_owned(),
            icons: None,
            range: None,
            meta: None,
            enabled: None,
            description: Some(description.to_owned()),
            model: None,
            tools: None,
            disable_model_invocation: None,
            disable_user_invocation: None,
        })
    };
    Customization::Plugin(PluginCustomization {
        id: "script-agents".to_owned(),
        uri: "script:/agents".to_owned(),
        name: "Script agents".to_owned(),
        icons: None,
        range: None,
        meta: None,
        client_id: None,
        load: None,
        children: Some(vec![
            agent("reviewer", "Pretends to read carefully."),
            agent("planner", "Pretends to plan ahead."),
        ]),
        enablement: None,
        version: None,
    })
}

/// The values that the settings with a dynamic list may have.
pub(super) fn complete(query: &ConfigQuery) -> Vec<SessionConfigValueItem> {
    let branches: &[&str] = match query.property.as_str() {
        BRANCH => &[
            "main",
            "develop",
            "release",
            "feature/inn",
            "feature/keeper",
        ],
        _ => &[],
    };
    let wanted = query.query.to_lowercase();
    let matching = branches.iter().filter(|branch| branch.contains(&wanted));
    matching
        .map(|&branch| SessionConfigValueItem {
            value: branch.to_owned(),
            label: branch.to_owned(),
            description: None,
        })
        .collect()
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
        default: Some(Value::from("medium")),
        r#enum: Some(values(&["low", "medium", "high"])),
        enum_labels: Some(labels(&["Low", "Medium", "High"])),
        ..string_property("Effort", "How hard the model pretends to think.")
    };
    ConfigSchema {
        r#type: "object".to_owned(),
        properties: HashMap::from([("effort".to_owned(), effort)]),
        required: None,
    }
}

fn session_config() -> SessionConfigSchema {
    let isolation = SessionConfigPropertySchema {
        description: Some("Where the session works.".to_owned()),
        default: Some(Value::from(FOLDER)),
        r#enum: Some(values(&[FOLDER, WORKTREE])),
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
            (AUTO_APPROVE.to_owned(), auto_approve()),
            (ISOLATION.to_owned(), isolation),
            (BRANCH.to_owned(), branch),
        ]),
        required: None,
    }
}

/// A property that holds a string and is fixed when the session begins.
fn property(title: &str) -> SessionConfigPropertySchema {
    SessionConfigPropertySchema {
        session_mutable: None,
        ..session_config::property("string", title)
    }
}

fn values(names: &[&str]) -> Vec<Value> {
    names.iter().copied().map(Value::from).collect()
}

fn labels(names: &[&str]) -> Vec<String> {
    names.iter().copied().map(str::to_owned).collect()
}
