//! The settings of sessions: the agent's, and the host's own.

use innkeeper_protocol::agent::{AgentProfile, setting};
use innkeeper_protocol::newest::actions::SessionConfigChangedAction;
use innkeeper_protocol::newest::commands::{
    ResolveSessionConfigParams, ResolveSessionConfigResult,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    SessionConfigPropertySchema, SessionConfigSchema, SessionConfigState, SessionState,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::settings::{BRANCH, FOLDER, ISOLATION, Synonym, WORKTREE, former_names};
use serde_json::Value;

use super::{Agents, setting_of};
use crate::core::Core;
use crate::labels::{self, IsolationLabel, Locale};

/// The settings of sessions with an agent.
pub(crate) fn schema_of_sessions(
    core: &Core,
    agent: &AgentProfile,
    locale: Locale,
) -> Option<SessionConfigSchema> {
    let mut theirs = agent.config.clone();
    for (name, setting) in theirs.iter_mut().flat_map(|it| &mut it.properties) {
        labels::agent::setting(name, setting, locale);
    }
    if !core.config.workspace.changes {
        return theirs;
    }
    let mut schema = theirs.unwrap_or_else(no_settings);
    for (name, setting) in own_settings(locale) {
        let theirs = schema.properties.get(&name);
        // An agent that names it too means the same; what it is called is for
        // the host to say. If it means something else, it keeps that.
        let is_same = |it: &SessionConfigPropertySchema| {
            it.r#enum == setting.r#enum && it.enum_dynamic == setting.enum_dynamic
        };
        if theirs.is_none_or(is_same) {
            schema.properties.insert(name, setting);
        }
    }
    Some(schema)
}

fn no_settings() -> SessionConfigSchema {
    SessionConfigSchema {
        r#type: "object".to_owned(),
        properties: Default::default(),
        required: None,
    }
}

impl Agents {
    /// The settings that a session would have, for a client that asks before it
    /// creates one.
    pub(crate) fn resolve(
        &self,
        core: &Core,
        params: ResolveSessionConfigParams,
        locale: Locale,
    ) -> Result<Reply, RpcError> {
        let agent = self.wanted(core, params.provider.as_deref())?;
        let resolved = resolve_settings(
            schema_of_sessions(core, agent, locale).as_ref(),
            &agent.synonyms,
            &params.config.unwrap_or_default(),
        )
        .map_err(RpcError::invalid_params)?;
        let (schema, values) = match resolved {
            Some(config) => (config.schema, config.values),
            None => (no_settings(), JsonObject::new()),
        };
        let result = ResolveSessionConfigResult { schema, values };
        Ok(Reply::ResolveSessionConfig(Box::new(result)))
    }

    /// The settings of a session that its agent knows.
    pub(crate) fn settings_of(&self, state: &SessionState) -> JsonObject {
        let agent = self.of_session(state);
        let schema = agent.and_then(|agent| agent.config.as_ref());
        let known = |key: &str| {
            let is_own = key == ISOLATION || key == BRANCH;
            !is_own || schema.is_some_and(|schema| schema.properties.contains_key(key))
        };
        let values = state.config.iter().flat_map(|config| &config.values);
        let values = values.filter(|(key, _)| known(key));
        values
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

fn own_settings(locale: Locale) -> [(String, SessionConfigPropertySchema); 2] {
    use IsolationLabel as L;
    let property = |title: L, description: L| SessionConfigPropertySchema {
        description: Some(description.text(locale)),
        ..setting("string", &title.text(locale))
    };
    let choices = |values: [&str; 2]| values.map(Value::from).to_vec();
    let isolation = SessionConfigPropertySchema {
        default: Some(Value::from(FOLDER)),
        r#enum: Some(choices([FOLDER, WORKTREE])),
        enum_labels: Some(
            [L::InFolder, L::InWorktree]
                .map(|it| it.text(locale))
                .to_vec(),
        ),
        ..property(L::Isolation, L::IsolationMeans)
    };
    let branch = SessionConfigPropertySchema {
        enum_dynamic: Some(true),
        ..property(L::Branch, L::BranchMeans)
    };
    [
        (ISOLATION.to_owned(), isolation),
        (BRANCH.to_owned(), branch),
    ]
}

/// The values that a new session has, given what the client chose. Clients
/// send what they know of any host: what this agent has no setting for is left
/// out, and what does not fit is the default.
pub(crate) fn resolve_settings(
    schema: Option<&SessionConfigSchema>,
    synonyms: &[Synonym],
    chosen: &JsonObject,
) -> Result<Option<SessionConfigState>, String> {
    let Some(schema) = schema else {
        return Ok(None);
    };
    let mut values = JsonObject::new();
    for (key, property) in &schema.properties {
        let chosen = chosen.get(key);
        let chosen = chosen.and_then(|it| fitting_value(key, property, synonyms, it).ok());
        if let Some(value) = chosen.or_else(|| property.default.clone()) {
            values.insert(key.clone(), value);
        }
    }
    if let Some(missing) = schema
        .required
        .iter()
        .flatten()
        .find(|key| !values.contains_key(*key))
    {
        return Err(format!("the session setting `{missing}` is required"));
    }
    Ok(Some(SessionConfigState {
        schema: schema.clone(),
        values,
    }))
}

/// A change of a session's settings as it is meant, or why it cannot be made.
pub(crate) fn judge_settings(
    state: &SessionState,
    synonyms: &[Synonym],
    change: &mut SessionConfigChangedAction,
) -> Result<(), String> {
    let Some(config) = &state.config else {
        return Err("this session has no settings".to_owned());
    };
    let fixed = |key: &str| format!("`{key}` cannot be changed after the session was created");
    for (key, value) in &mut change.config {
        let Some(property) = setting_of(state, key) else {
            return Err(format!("the session has no setting `{key}`"));
        };
        *value = fitting_value(key, &property, synonyms, value)?;
        let unchanged = config.values.get(key) == Some(value);
        if property.session_mutable != Some(true) && !unchanged {
            return Err(fixed(key));
        }
    }
    if change.replace == Some(true) {
        let mut keys = config.values.keys();
        let lost = keys.find(|key| {
            let property = setting_of(state, key);
            let mutable = property.is_some_and(|property| property.session_mutable == Some(true));
            !mutable && !change.config.contains_key(*key)
        });
        if let Some(key) = lost {
            return Err(fixed(key));
        }
    }
    Ok(())
}

/// The value that a client means for a setting of a session, under the name
/// that the schema has for it; or why there is none.
fn fitting_value(
    key: &str,
    property: &SessionConfigPropertySchema,
    synonyms: &[Synonym],
    value: &Value,
) -> Result<Value, String> {
    // The values of a dynamic enumeration are not all known beforehand.
    let allowed = match property.enum_dynamic {
        Some(true) => None,
        _ => property.r#enum.as_deref(),
    };
    let fits = |value: &Value| check_value(key, &property.r#type, allowed, value);
    let Err(reason) = fits(value) else {
        return Ok(value.clone());
    };
    let former = former_names();
    let names = synonyms.iter().chain(&former);
    let mut meant = names.filter_map(|name| name.other_name(key, value));
    meant.find(|value| fits(value).is_ok()).ok_or(reason)
}

/// Whether a property of this type and these allowed values may have `value`.
pub(super) fn check_value(
    key: &str,
    kind: &str,
    allowed: Option<&[Value]>,
    value: &Value,
) -> Result<(), String> {
    let fits = match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !fits {
        return Err(format!("`{key}` must be of type {kind}"));
    }
    match allowed {
        Some(allowed) if !allowed.contains(value) => {
            let choices: Vec<String> = allowed.iter().map(Value::to_string).collect();
            Err(format!("`{key}` must be one of {}", choices.join(", ")))
        }
        _ => Ok(()),
    }
}
