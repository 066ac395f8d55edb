//! The JSON schemas of 0.1.0 and of 0.2.0, where they are at hand, and whether
//! what a client of those versions is sent fits them.
//!
//! They are read by a small reader of our own: they refer to definitions that
//! they do not have, and list `{}` among exclusive choices, both of which a
//! strict validator has to refuse.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

/// Fields whose type has no name: the schemas take their text apart wrongly,
/// e.g. a list of edits became a string.
const MISDESCRIBED: &[&str] = &["edits", "before", "after", "diff", "changes", "inputSchema"];

/// Required fields that may be `undefined`: that is a value to TypeScript, and
/// absent in JSON.
const UNDEFINED: &[&str] = &[
    "usage",
    "activity",
    "agent",
    "changesets",
    "_meta",
    "origin",
];

#[derive(Debug)]
pub struct Schemas {
    version: &'static str,
    states: Schema,
    actions: Schema,
    news: Schema,
    commands: Schema,
}

impl Schemas {
    /// The schemas of `"0.1"` or `"0.2"`, if they are there.
    pub fn of(version: &str) -> Option<&'static Self> {
        static SCHEMAS: [OnceLock<Option<Schemas>>; 2] = [OnceLock::new(), OnceLock::new()];
        let (place, version) = match version {
            "0.1" => (0, "0.1.0"),
            "0.2" => (1, "0.2.0"),
            _ => return None,
        };
        let read = || {
            let schema = |name: &str| Schema::read(version, name);
            Some(Self {
                version,
                states: schema("state")?,
                actions: schema("actions")?,
                news: schema("notifications")?,
                commands: schema("commands")?,
            })
        };
        SCHEMAS[place].get_or_init(read).as_ref()
    }

    pub fn check_state(&self, name: &str, state: &Value) -> Result<(), String> {
        self.states.check(name, state)
    }

    /// `session/turnStarted` is defined as `SessionTurnStartedAction`.
    pub fn check_action(&self, action: &Value) -> Result<(), String> {
        let kind = action["type"].as_str().unwrap_or_default();
        let name: String = kind.split('/').map(capitalized).collect();
        self.actions.check(&format!("{name}Action"), action)
    }

    /// `root/sessionAdded` has `SessionAddedParams`. In 0.1 the method is
    /// `notification`, and `notify/sessionAdded` a `SessionAddedNotification`.
    pub fn check_news(&self, method: &str, params: &Value) -> Result<(), String> {
        if self.version == "0.1.0" {
            let news = &params["notification"];
            let kind = news["type"].as_str().unwrap_or_default();
            let Some(name) = kind.strip_prefix("notify/").map(capitalized) else {
                return Err(format!("0.1.0 has no news of the type `{kind}`"));
            };
            return self.news.check(&format!("{name}Notification"), news);
        }
        let name = match method.split_once('/') {
            Some(("root", name)) => capitalized(name),
            _ => method.split('/').map(capitalized).collect(),
        };
        self.news.check(&format!("{name}Params"), params)
    }

    fn check_envelope(&self, envelope: &Value) -> Result<(), String> {
        self.check_action(&envelope["action"])?;
        let mut rest = envelope.clone();
        rest["action"] = Value::Null;
        self.commands.check_but("ActionEnvelope", &rest, "action")
    }

    fn check_answer(&self, method: &str, result: &Value) -> Result<(), String> {
        let name = match (method, result["type"].as_str()) {
            ("reconnect", Some("replay")) => {
                let actions = result["actions"].as_array().into_iter().flatten();
                for envelope in actions {
                    self.check_envelope(envelope)?;
                }
                let name = "ReconnectReplayResult";
                return self.commands.check_but(name, result, "actions");
            }
            ("reconnect", _) => "ReconnectSnapshotResult".to_owned(),
            _ => capitalized(method) + "Result",
        };
        match self.commands.definition(&name) {
            Some(_) => self.commands.check(&name, result),
            // Requests that have no result are answered with `null`.
            None => Ok(()),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Looks at all that passes between the host and one client of a version whose
/// schemas are at hand.
#[derive(Debug)]
pub struct Conformity {
    schemas: &'static Schemas,
    /// What was asked, by id.
    asked: BTreeMap<String, String>,
}

impl Conformity {
    pub fn of(version: &str) -> Option<Self> {
        Some(Self {
            schemas: Schemas::of(version)?,
            asked: BTreeMap::new(),
        })
    }

    /// The client said this.
    pub fn said(&mut self, text: &str) {
        let frame: Value = serde_json::from_str(text).unwrap_or_default();
        if let (Some(id), Some(method)) = (frame.get("id"), frame["method"].as_str()) {
            self.asked.insert(id.to_string(), method.to_owned());
        }
    }

    /// The client was sent this. An error says what does not fit the schemas.
    pub fn heard(&mut self, text: &str) -> Result<(), String> {
        let schemas = self.schemas;
        let frame: Value = serde_json::from_str(text).map_err(|it| it.to_string())?;
        let outcome = match frame["method"].as_str() {
            Some("action") => {
                let envelope = &frame["params"];
                // What is refused goes back as it came, whatever it was.
                match envelope.get("rejectionReason") {
                    Some(_) => Ok(()),
                    None => schemas.check_envelope(envelope),
                }
            }
            // The host's own requests are those of clients.
            Some(method) if frame.get("id").is_some() => {
                let name = format!("{}Params", capitalized(method));
                schemas.commands.check(&name, &frame["params"])
            }
            Some(method) => schemas.check_news(method, &frame["params"]),
            None => {
                let asked = self.asked.remove(&frame["id"].to_string());
                match (asked, frame.get("result")) {
                    (Some(method), Some(result)) => schemas.check_answer(&method, result),
                    _ => Ok(()),
                }
            }
        };
        outcome.map_err(|reason| format!("{reason}\nin {frame}"))
    }
}

#[derive(Debug)]
struct Schema(Value);

impl Schema {
    fn read(version: &str, name: &str) -> Option<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let directory = workspace.join("../shared/spec").join(version);
        let path = directory.join(format!("{name}.schema.json"));
        let text = std::fs::read_to_string(path).ok()?;
        serde_json::from_str(&text).ok().map(Self)
    }

    fn definition(&self, name: &str) -> Option<&Value> {
        self.0["$defs"].get(name)
    }

    fn check(&self, name: &str, value: &Value) -> Result<(), String> {
        let definition = self.definition(name);
        let definition = definition.ok_or_else(|| format!("no {name} is described: {value}"))?;
        self.fits(definition, value, name)
    }

    /// Checks an object but for one field.
    fn check_but(&self, name: &str, value: &Value, field: &str) -> Result<(), String> {
        let definition = self.definition(name);
        let mut definition = definition
            .ok_or_else(|| format!("no {name} is described"))?
            .clone();
        definition["properties"][field] = Value::Bool(true);
        self.fits(&definition, value, name)
    }

    fn fits(&self, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default();
            return match self.definition(name) {
                Some(definition) => self.fits(definition, value, path),
                None => Ok(()),
            };
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            // What may be `null` has a choice without a description.
            if value.is_null() && choices.contains(&Value::Object(serde_json::Map::new())) {
                return Ok(());
            }
            let real = choices.iter().filter(|choice| {
                let dangling = choice["$ref"].as_str().is_some_and(|it| it.ends_with('/'));
                !dangling && choice.as_object().is_some_and(|it| !it.is_empty())
            });
            let outcomes: Vec<_> = real.map(|choice| self.fits(choice, value, path)).collect();
            return match outcomes.iter().any(Result::is_ok) || outcomes.is_empty() {
                true => Ok(()),
                false => Err(format!("{path} is none of: {outcomes:?}")),
            };
        }
        if let Some(allowed) = schema["enum"].as_array()
            && !allowed.contains(value)
        {
            return Err(format!("{path} is none of {allowed:?}"));
        }
        let is = |kind: &str| match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "number" | "integer" => value.is_number(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            _ => true,
        };
        let fits = match &schema["type"] {
            Value::String(kind) => is(kind),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is),
            _ => true,
        };
        if !fits {
            return Err(format!("{path} should be {}", schema["type"]));
        }
        for key in schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if value.get(key).is_none() && !UNDEFINED.contains(&key) {
                return Err(format!("{path} lacks {key}"));
            }
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            if MISDESCRIBED.contains(&key.as_str()) {
                continue;
            }
            let path = format!("{path}.{key}");
            match (
                schema["properties"].get(key),
                &schema["additionalProperties"],
            ) {
                (Some(schema), _) => self.fits(schema, inner, &path)?,
                (None, Value::Bool(false)) => return Err(format!("{path} is not expected")),
                (None, additional @ Value::Object(_)) => self.fits(additional, inner, &path)?,
                // What a version does not know it is not sent.
                (None, _) if schema["properties"].is_object() => {
                    return Err(format!("{path} is unknown"));
                }
                _ => {}
            }
        }
        for (at, inner) in value.as_array().into_iter().flatten().enumerate() {
            self.fits(&schema["items"], inner, &format!("{path}[{at}]"))?;
        }
        Ok(())
    }
}
