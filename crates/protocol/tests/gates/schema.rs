//! Everything that a client of 0.2.0 is sent fits the published JSON schemas,
//! where those are at hand.
//!
//! The schemas are read by a small reader of our own: they refer to
//! definitions that they do not have, and list `{}` among exclusive choices,
//! both of which a strict validator has to refuse.

use std::path::Path;

use innkeeper_protocol::gates::down;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::house::{CHANGESET, House, ROOT, SESSION, SIDE, TERMINAL, WATCH};

const VERSION: Version = Version::V0_2;

/// Fields whose type has no name: the schemas take their text apart wrongly,
/// e.g. a list of edits became a string.
const MISDESCRIBED: &[&str] = &["edits", "before", "after", "diff", "changes", "inputSchema"];

/// Required fields that may be `undefined`: that is a value to TypeScript, and
/// absent in JSON.
const UNDEFINED: &[&str] = &[
    "usage",
    "activity",
    "activeClient",
    "agent",
    "changesets",
    "_meta",
];

struct Schema(Value);

impl Schema {
    fn read(name: &str) -> Option<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = workspace.join("../shared/spec/0.2.0").join(name);
        let text = std::fs::read_to_string(path).ok()?;
        serde_json::from_str(&text).ok().map(Self)
    }

    fn definition(&self, name: &str) -> Option<&Value> {
        self.0["$defs"].get(name)
    }

    fn check(&self, name: &str, value: &Value) {
        let definition = self.definition(name);
        let definition = definition.unwrap_or_else(|| panic!("0.2.0 has no {name}: {value}"));
        if let Err(reason) = self.fits(definition, value, name) {
            panic!("{reason}\nin {value}");
        }
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
                // What 0.2.0 does not know it is not sent.
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

/// `session/turnStarted` is defined as `SessionTurnStartedAction`.
fn definition_of(kind: &str) -> String {
    let words = kind.split('/').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect::<String>() + "Action"
}

#[test]
fn what_a_client_of_0_2_is_sent_fits_its_schemas() {
    let (Some(states), Some(actions), Some(news)) = (
        Schema::read("state.schema.json"),
        Schema::read("actions.schema.json"),
        Schema::read("notifications.schema.json"),
    ) else {
        println!("skipped: there are no schemas of 0.2.0 in ../shared/spec/0.2.0");
        return;
    };
    for seed in 0..60 {
        let mut house = House::new(seed);
        for _ in 0..40 {
            house.step();
        }
        for event in &house.events {
            for act in down::action(VERSION, &event.channel, event.action.clone(), &event.facts) {
                let kind = act.action["type"].as_str().unwrap_or_default().to_owned();
                actions.check(&definition_of(&kind), &act.action.into());
            }
        }
        for (channel, name) in [
            (ROOT, "RootState"),
            (SESSION, "SessionState"),
            (SIDE, "SessionState"),
            (TERMINAL, "TerminalState"),
            (CHANGESET, "ChangesetState"),
            (WATCH, "ResourceWatchState"),
        ] {
            let state = down::picture(VERSION, house.picture(channel)).state;
            states.check(name, &state.into());
        }
        let summary = house.summary();
        let added = json!({"channel": ROOT, "summary": summary});
        let changed = json!({"channel": ROOT, "session": SESSION, "changes": summary});
        for (method, params, name) in [
            ("root/sessionAdded", added, "SessionAddedParams"),
            (
                "root/sessionSummaryChanged",
                changed,
                "SessionSummaryChangedParams",
            ),
        ] {
            let (_, params) = down::notification(VERSION, method, params).unwrap();
            news.check(name, &params.into());
        }
    }
}
