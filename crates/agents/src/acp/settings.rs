//! What can be set about a session with an agent: its modes, its options and
//! its models, as the host shows them, and the requests that a change needs.
//!
//! Modes and models exist in several generations: as options with a category,
//! as `modes`, and as `models`, which the protocol has dropped and agents still
//! send. An option wins over the older form of the same thing.
//!
//! Clients know the mode that an agent begins in as `interactive`, and send
//! that word to every host. So the mode in which the agent itself chose to
//! begin goes by that name outside; everywhere in here it has the agent's.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelect,
    SessionConfigSelectOptions, SessionModeState,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    SessionConfigPropertySchema, SessionConfigSchema, SessionModelInfo,
};
use innkeeper_protocol::settings::{AUTO_APPROVE, INTERACTIVE, MODE};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::session_config::{Choice, enumeration, property, schema};

/// What agents call the option that chooses the model.
const MODEL: &str = "model";

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Settings {
    options: Vec<SessionConfigOption>,
    modes: Option<SessionModeState>,
    models: Vec<ModelChoice>,
    current_model: Option<String>,
    /// The mode that clients know as `interactive`, by the agent's name.
    interactive: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct ModelChoice {
    id: String,
    name: String,
    description: Option<String>,
}

/// A request that changes a setting.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    pub(super) method: &'static str,
    pub(super) params: Value,
}

impl Settings {
    /// From what the agent said when the session was opened, and which mode is
    /// known as `interactive`. Where that was not settled before, it is the
    /// one that a new conversation begins in.
    pub(super) fn of(opened: &Value, interactive: Option<&str>, is_new: bool) -> Self {
        let models = &opened["models"];
        let listed = models["availableModels"].as_array().into_iter().flatten();
        let model = |model: &Value| {
            let id = model["modelId"].as_str()?.to_owned();
            let name = model["name"].as_str().unwrap_or(&id).to_owned();
            let description = model["description"].as_str().map(str::to_owned);
            Some(ModelChoice {
                id,
                name,
                description,
            })
        };
        let mut settings = Self {
            options: read_options(&opened["configOptions"]),
            modes: read(&opened["modes"]),
            models: listed.filter_map(model).collect(),
            current_model: models["currentModelId"].as_str().map(str::to_owned),
            interactive: None,
        };
        let (current, known) = settings.mode_and_modes();
        let interactive = interactive.map(str::to_owned);
        let interactive = interactive.or(current.filter(|_| is_new));
        // An agent that has the word means something by it.
        settings.interactive = interactive
            .filter(|name| known.contains(name) && !known.iter().any(|it| it == INTERACTIVE));
        settings
    }

    /// The mode that clients know as `interactive`, by the agent's name.
    pub(super) fn interactive(&self) -> Option<&str> {
        self.interactive.as_deref()
    }

    /// The mode that the agent is in, and those that it has.
    fn mode_and_modes(&self) -> (Option<String>, Vec<String>) {
        let option = self.options.iter().find(|option| &*option.id.0 == MODE);
        let select = option.and_then(|option| match &option.kind {
            SessionConfigKind::Select(select) => Some(select),
            _ => None,
        });
        if let Some(select) = select {
            let names = choices(select).into_iter().map(|choice| choice.value);
            return (Some(select.current_value.0.to_string()), names.collect());
        }
        match self.modes_without_option() {
            Some(modes) => {
                let names = modes
                    .available_modes
                    .iter()
                    .map(|mode| mode.id.0.to_string());
                (Some(modes.current_mode_id.0.to_string()), names.collect())
            }
            None => (None, Vec::new()),
        }
    }

    /// What a mode is called outside.
    fn outside(&self, mode: &str) -> String {
        match self.interactive() {
            Some(interactive) if interactive == mode => INTERACTIVE.to_owned(),
            _ => mode.to_owned(),
        }
    }

    /// What the agent calls a value that has a name of ours outside.
    fn inside(&self, setting: &str, value: &Value) -> Value {
        match self.interactive() {
            Some(interactive) if setting == MODE && value == INTERACTIVE => json!(interactive),
            _ => value.clone(),
        }
    }

    /// The value of an option as it is called outside.
    fn shown_value(&self, option: &SessionConfigOption) -> Value {
        match current(option) {
            Value::String(mode) if &*option.id.0 == MODE => json!(self.outside(&mode)),
            other => other,
        }
    }

    /// The agent says anew what its options are.
    pub(super) fn options_changed(&mut self, options: &Value) {
        self.options = read_options(options);
    }

    /// Modes may be there in both forms, and agents report only one of them.
    pub(super) fn mode_changed(&mut self, mode: &str) {
        if let Some(modes) = &mut self.modes {
            modes.current_mode_id = mode.to_owned().into();
        }
        for option in self.options.iter_mut().filter(|option| is_mode(option)) {
            if let SessionConfigKind::Select(select) = &mut option.kind
                && choices(select).iter().any(|choice| choice.value == mode)
            {
                select.current_value = mode.to_owned().into();
            }
        }
    }

    /// The values that the agent has now, for those settings that clients see.
    pub(super) fn values(&self) -> JsonObject {
        let mut values = JsonObject::new();
        for option in self.shown_options() {
            values.insert(option.id.0.to_string(), self.shown_value(option));
        }
        if let Some(modes) = self.modes_without_option() {
            let mode = self.outside(&modes.current_mode_id.0);
            values.insert(MODE.to_owned(), json!(mode));
        }
        values
    }

    /// The settings of a session, as clients see them.
    pub(super) fn schema(&self) -> SessionConfigSchema {
        let mut properties = HashMap::new();
        for option in self.shown_options() {
            properties.insert(option.id.0.to_string(), self.property_of(option));
        }
        if let Some(modes) = self.modes_without_option() {
            let list = modes.available_modes.iter();
            let choices = list.map(|mode| Choice {
                value: self.outside(&mode.id.0),
                label: mode.name.clone(),
                description: mode.description.clone(),
            });
            let property = SessionConfigPropertySchema {
                default: Some(json!(self.outside(&modes.current_mode_id.0))),
                ..enumeration("Mode", choices.collect())
            };
            properties.insert(MODE.to_owned(), property);
        }
        schema(properties)
    }

    /// The models that a message may ask for.
    pub(super) fn models(&self, provider: &str) -> Vec<SessionModelInfo> {
        let model = |id: String, name: String, description: Option<String>| SessionModelInfo {
            id,
            provider: provider.to_owned(),
            name,
            max_context_window: None,
            max_output_tokens: None,
            max_prompt_tokens: None,
            supports_vision: None,
            policy_state: None,
            config_schema: None,
            meta: description.map(|text| {
                [("description".to_owned(), text.into())]
                    .into_iter()
                    .collect()
            }),
        };
        let mut models: Vec<SessionModelInfo> = match self.model_option() {
            Some((_, select)) => {
                let choices = choices(select).into_iter();
                choices
                    .map(|choice| model(choice.value, choice.label, choice.description))
                    .collect()
            }
            None => {
                let models = self.models.iter().cloned();
                models
                    .map(|choice| model(choice.id, choice.name, choice.description))
                    .collect()
            }
        };
        let current = self.current_model();
        let current = models
            .iter_mut()
            .find(|it| Some(&it.id) == current.as_ref());
        if let Some(current) = current {
            let meta = current.meta.get_or_insert_default();
            meta.insert("innkeeper".to_owned(), json!({"default": true}));
        }
        models
    }

    /// The requests that bring the session to these values. What the agent has
    /// no setting for is none of its business.
    pub(super) fn changes(&self, session: &str, wanted: &JsonObject) -> Vec<Change> {
        let mut changes = Vec::new();
        for option in self.shown_options() {
            let wanted = wanted.get(&*option.id.0);
            let wanted = wanted.map(|value| self.inside(&option.id.0, value));
            match wanted {
                Some(value) if value != current(option) => {
                    changes.push(set_option(session, option, &value));
                }
                _ => {}
            }
        }
        if let Some(modes) = self.modes_without_option()
            && let Some(Value::String(mode)) = wanted.get(MODE).map(|it| self.inside(MODE, it))
            && *mode != *modes.current_mode_id.0
        {
            changes.push(Change {
                method: "session/set_mode",
                params: json!({"sessionId": session, "modeId": mode}),
            });
        }
        changes
    }

    /// The model that works on the next message, where the agent says so.
    pub(super) fn current_model(&self) -> Option<String> {
        match self.model_option() {
            Some((_, select)) => Some(select.current_value.0.to_string()),
            None => self.current_model.clone(),
        }
    }

    /// The request that selects a model, if it is another one than now.
    pub(super) fn model_change(&self, session: &str, model: &str) -> Option<Change> {
        if let Some((option, select)) = self.model_option() {
            let differs = *select.current_value.0 != *model;
            return differs.then(|| set_option(session, option, &json!(model)));
        }
        let known = self.models.iter().any(|known| known.id == model);
        let differs = self.current_model.as_deref() != Some(model);
        (known && differs).then(|| Change {
            method: "session/set_model",
            params: json!({"sessionId": session, "modelId": model}),
        })
    }

    /// A change was made: what the agent answered, and what was asked for.
    pub(super) fn changed(&mut self, change: &Change, answer: &Value) {
        if answer["configOptions"].is_array() {
            self.options_changed(&answer["configOptions"]);
        }
        if let Some(mode) = change.params["modeId"].as_str() {
            self.mode_changed(mode);
        }
        if let Some(model) = change.params["modelId"].as_str() {
            self.current_model = Some(model.to_owned());
        }
    }

    fn property_of(&self, option: &SessionConfigOption) -> SessionConfigPropertySchema {
        let base = match &option.kind {
            SessionConfigKind::Select(select) => {
                let mut choices = choices(select);
                for choice in choices.iter_mut().filter(|_| &*option.id.0 == MODE) {
                    choice.value = self.outside(&choice.value);
                }
                enumeration(&option.name, choices)
            }
            _ => property("boolean", &option.name),
        };
        SessionConfigPropertySchema {
            description: option.description.clone(),
            default: Some(self.shown_value(option)),
            ..base
        }
    }

    fn modes_without_option(&self) -> Option<&SessionModeState> {
        self.modes
            .as_ref()
            .filter(|_| !self.options.iter().any(is_mode))
    }

    /// The option that chooses the model. Some agents have several of that
    /// category, such as the provider of the model: then the name decides.
    fn model_option(&self) -> Option<(&SessionConfigOption, &SessionConfigSelect)> {
        let options = self.options.iter().filter(|option| is_model(option));
        let mut selects = options.filter_map(|option| match &option.kind {
            SessionConfigKind::Select(select) => Some((option, select)),
            _ => None,
        });
        let first = selects.next()?;
        let mut all = std::iter::once(first).chain(selects);
        Some(
            all.find(|(option, _)| &*option.id.0 == MODEL)
                .unwrap_or(first),
        )
    }

    /// The options that are settings of the session: models are chosen with a
    /// message, and the host's own settings come first.
    fn shown_options(&self) -> impl Iterator<Item = &SessionConfigOption> {
        let model = self.model_option().map(|(option, _)| &option.id);
        let options = self.options.iter();
        options.filter(move |option| Some(&option.id) != model && &*option.id.0 != AUTO_APPROVE)
    }
}

fn is_mode(option: &SessionConfigOption) -> bool {
    option.category == Some(SessionConfigOptionCategory::Mode) || &*option.id.0 == MODE
}

fn is_model(option: &SessionConfigOption) -> bool {
    option.category == Some(SessionConfigOptionCategory::Model)
}

fn set_option(session: &str, option: &SessionConfigOption, value: &Value) -> Change {
    let mut params = json!({"sessionId": session, "configId": option.id, "value": value});
    if value.is_boolean() {
        params["type"] = json!("boolean");
    }
    Change {
        method: "session/set_config_option",
        params,
    }
}

/// Options, one by one: one that cannot be read does not hide the others.
fn read_options(options: &Value) -> Vec<SessionConfigOption> {
    let options = options.as_array().into_iter().flatten();
    options.filter_map(read).collect()
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    if value.is_null() {
        return None;
    }
    T::deserialize(value)
        .inspect_err(|error| tracing::debug!(%error, "a setting of an agent cannot be read"))
        .ok()
}

fn current(option: &SessionConfigOption) -> Value {
    match &option.kind {
        SessionConfigKind::Select(select) => json!(select.current_value),
        SessionConfigKind::Boolean(boolean) => json!(boolean.current_value),
        _ => Value::Null,
    }
}

fn choices(select: &SessionConfigSelect) -> Vec<Choice> {
    let flat: Vec<_> = match &select.options {
        SessionConfigSelectOptions::Ungrouped(options) => options.iter().collect(),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).collect()
        }
        _ => Vec::new(),
    };
    let choice = flat.into_iter().map(|option| Choice {
        value: option.value.0.to_string(),
        label: option.name.clone(),
        description: option.description.clone(),
    });
    choice.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> Value {
        json!({
            "modes": {"currentModeId": "ask", "availableModes": [
                {"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]},
            "models": {"currentModelId": "old", "availableModels": [
                {"modelId": "old", "name": "Old"}, {"modelId": "new"}]},
            "configOptions": [
                {"id": "effort", "name": "Effort", "type": "select", "currentValue": "low",
                 "category": "thought_level",
                 "options": [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}]},
                {"id": "web", "name": "Web", "type": "boolean", "currentValue": false},
                {"id": "strange", "name": "?", "type": "slider"},
            ],
        })
    }

    #[test]
    fn old_and_new_forms_are_read_side_by_side() {
        let settings = Settings::of(&opened(), None, true);
        let mut names: Vec<String> = settings.schema().properties.into_keys().collect();
        names.sort();
        assert_eq!(names, ["autoApprove", "effort", "mode", "web"]);
        let models: Vec<String> = settings.models("p").into_iter().map(|m| m.name).collect();
        assert_eq!(models, ["Old", "new"]);
        assert_eq!(
            json!(settings.values()),
            json!({"effort": "low", "mode": "interactive", "web": false})
        );
    }

    #[test]
    fn the_mode_that_an_agent_begins_in_is_called_interactive_outside() {
        let settings = Settings::of(&opened(), None, true);
        assert_eq!(settings.interactive(), Some("ask"));
        let mode = &settings.schema().properties["mode"];
        assert_eq!(json!(mode.r#enum), json!(["interactive", "code"]));
        assert_eq!(json!(mode.enum_labels), json!(["Ask", "Code"]));
        let mut settings = settings;
        settings.mode_changed("code");
        assert_eq!(settings.values()["mode"], "code");
        let wanted = json!({"mode": "interactive"});
        let changes = settings.changes("s", wanted.as_object().unwrap());
        assert_eq!(changes[0].params["modeId"], "ask");
        // A conversation that is taken up in another mode changes no names.
        let taken_up = Settings::of(&opened(), Some("code"), false);
        assert_eq!(taken_up.values()["mode"], "ask");
        let unknown = Settings::of(&opened(), None, false);
        assert_eq!(unknown.interactive(), None);
        // Nor does an agent that has the word itself.
        let mut own = opened();
        own["modes"]["availableModes"][1]["id"] = json!("interactive");
        assert_eq!(Settings::of(&own, None, true).interactive(), None);
    }

    #[test]
    fn a_mode_that_changes_in_one_form_has_changed_in_the_other() {
        let mut opened = opened();
        let option = json!({"id": "mode", "name": "Mode", "type": "select", "category": "mode",
            "currentValue": "ask",
            "options": [{"value": "ask", "name": "Ask"}, {"value": "code", "name": "Code"}]});
        opened["configOptions"].as_array_mut().unwrap().push(option);
        let mut settings = Settings::of(&opened, None, true);
        settings.mode_changed("code");
        assert_eq!(settings.values()["mode"], "code");
    }

    #[test]
    fn only_differences_are_asked_for() {
        let settings = Settings::of(&opened(), None, true);
        let wanted = json!({"effort": "high", "mode": "ask", "web": true, "autoApprove": "all"});
        let changes = settings.changes("s", wanted.as_object().unwrap());
        let params: Vec<&Value> = changes.iter().map(|change| &change.params).collect();
        assert_eq!(
            params,
            [
                &json!({"sessionId": "s", "configId": "effort", "value": "high"}),
                &json!({"sessionId": "s", "configId": "web", "value": true, "type": "boolean"}),
            ]
        );
        assert_eq!(settings.model_change("s", "old"), None);
        assert_eq!(settings.model_change("s", "nobody's"), None);
        let change = settings.model_change("s", "new").unwrap();
        assert_eq!(change.method, "session/set_model");
    }

    #[test]
    fn an_option_for_models_wins_over_the_old_list() {
        let mut opened = opened();
        opened["configOptions"] = json!([{
            "id": "llm", "name": "Model", "type": "select", "category": "model",
            "currentValue": "m1",
            "options": [{"group": "g", "name": "G", "options": [
                {"value": "m1", "name": "One"}, {"value": "m2", "name": "Two"}]}],
        }]);
        let mut settings = Settings::of(&opened, None, true);
        let models: Vec<String> = settings.models("p").into_iter().map(|m| m.id).collect();
        assert_eq!(models, ["m1", "m2"]);
        let change = settings.model_change("s", "m2").unwrap();
        assert_eq!(change.method, "session/set_config_option");
        opened["configOptions"][0]["currentValue"] = json!("m2");
        settings.changed(&change, &opened);
        assert_eq!(settings.model_change("s", "m2"), None);
    }
}
