//! Settings that came to be known while a session was open. What an agent has
//! settings for is learned when it runs for the first time, and a session with
//! it may be there by then.
//!
//! The protocol has no action that changes the schema of a session's settings,
//! so those that came later stand in `_meta` of the session, under
//! `innkeeper.settings`, in the form of that schema. Their values are where all
//! values are. Only settings that can be changed in an open session are told.

use std::borrow::Cow;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    SessionConfigChangedAction, SessionMetaChangedAction, StateAction,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    SessionConfigPropertySchema, SessionConfigSchema, SessionState,
};
use serde_json::{Value, json};

use super::{Agents, schema_of_sessions};
use crate::core::Core;

/// Where they stand in `_meta`.
const OURS: &str = "innkeeper";
const SETTINGS: &str = "settings";
const MODEL: &str = "model";

impl Agents {
    /// More may be known of agents: open sessions are told.
    pub(crate) fn tell_all_settings(&self, core: &mut Core) {
        let sessions = core.channels.sessions();
        let sessions: Vec<ChannelUri> = sessions.map(|session| session.uri.clone()).collect();
        for session in sessions {
            self.tell_settings(core, &session);
        }
    }

    /// The same for one session.
    pub(crate) fn tell_settings(&self, core: &mut Core, uri: &ChannelUri) {
        let Some(session) = core.channels.session(uri) else {
            return;
        };
        let (state, locale) = (&session.state, session.locale());
        let agent = self.of_session(state);
        let known = agent.and_then(|agent| schema_of_sessions(core, agent, locale));
        let Some((config, known)) = state.config.as_ref().zip(known) else {
            return;
        };
        let later: Vec<(String, SessionConfigPropertySchema)> = known
            .properties
            .into_iter()
            .filter(|(key, setting)| {
                let is_new = !config.schema.properties.contains_key(key);
                is_new && setting.session_mutable == Some(true)
            })
            .collect();
        let values: JsonObject = later
            .iter()
            .filter(|(key, _)| !config.values.contains_key(key))
            .filter_map(|(key, setting)| Some((key.clone(), setting.default.clone()?)))
            .collect();
        let meta = with_settings(state.meta.as_ref(), later);
        if state.meta.as_ref().cloned().unwrap_or_default() != meta {
            let action = SessionMetaChangedAction { meta: Some(meta) };
            core.emit(uri, StateAction::SessionMetaChanged(action), None);
        }
        if !values.is_empty() {
            let action = SessionConfigChangedAction {
                config: values,
                replace: None,
            };
            core.emit(uri, StateAction::SessionConfigChanged(action), None);
        }
    }
}

/// The model of an agent stands in `_meta` of the session, under
/// `innkeeper.model`: the protocol knows only what a message was sent with.
pub(crate) fn tell_model(core: &mut Core, uri: &ChannelUri, model: Option<String>) {
    let Some(session) = core.channels.session(uri) else {
        return;
    };
    let before = session.state.meta.clone().unwrap_or_default();
    let meta = with_ours(Some(&before), |ours| {
        ours.remove(MODEL);
        if let Some(model) = model {
            ours.insert(MODEL.to_owned(), json!(model));
        }
    });
    if before != meta {
        let action = SessionMetaChangedAction { meta: Some(meta) };
        core.emit(uri, StateAction::SessionMetaChanged(action), None);
    }
}

/// The setting of a session, whenever it came to be known.
pub(crate) fn setting_of<'a>(
    state: &'a SessionState,
    key: &str,
) -> Option<Cow<'a, SessionConfigPropertySchema>> {
    let schema = &state.config.as_ref()?.schema;
    if let Some(setting) = schema.properties.get(key) {
        return Some(Cow::Borrowed(setting));
    }
    let later = state.meta.as_ref()?.get(OURS)?.get(SETTINGS)?;
    let setting = later.get("properties")?.get(key)?;
    serde_json::from_value(setting.clone()).ok().map(Cow::Owned)
}

fn with_settings(
    meta: Option<&JsonObject>,
    later: Vec<(String, SessionConfigPropertySchema)>,
) -> JsonObject {
    with_ours(meta, |ours| {
        ours.remove(SETTINGS);
        if !later.is_empty() {
            let schema = SessionConfigSchema {
                r#type: "object".to_owned(),
                properties: later.into_iter().collect(),
                required: None,
            };
            ours.insert(SETTINGS.to_owned(), json!(schema));
        }
    })
}

/// The action replaces all of `_meta`: what else it says is said again.
fn with_ours(meta: Option<&JsonObject>, change: impl FnOnce(&mut JsonObject)) -> JsonObject {
    let mut meta = meta.cloned().unwrap_or_default();
    let mut ours = match meta.remove(OURS) {
        Some(Value::Object(ours)) => ours,
        _ => JsonObject::new(),
    };
    change(&mut ours);
    if !ours.is_empty() {
        meta.insert(OURS.to_owned(), ours.into());
    }
    meta
}
