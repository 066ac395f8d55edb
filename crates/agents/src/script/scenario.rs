//! What a message asks for: a scenario of its own, one that has a name, the
//! list of those, or a greeting that quotes it.

use serde_json::Value;

use super::builtin::{self, Builtin};
use super::step::{KNOWN, Speech, Step, StepError};

/// Why a message cannot be played.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScenarioError {
    #[error("`steps` must be an array of steps; {}", known_steps())]
    StepsNotAnArray,
    #[error("step {number}: {error}; {}", known_steps())]
    Step { number: usize, error: StepError },
}

impl ScenarioError {
    pub(super) fn error_type(&self) -> &'static str {
        match self {
            Self::StepsNotAnArray | Self::Step { .. } => "invalidScenario",
        }
    }
}

/// The steps that a message asks for, all of them understood.
pub(super) fn of_message(text: &str) -> Result<Vec<Step>, ScenarioError> {
    if let Some(steps) = own_steps(text) {
        return read(&steps);
    }
    let asked = text.trim();
    if asked.strip_prefix('/') == Some(builtin::LIST) {
        return Ok(vec![Step::Say(Speech::plain(builtin::list()))]);
    }
    match builtin::find(asked) {
        Some(builtin) => steps_of(builtin),
        None => quoting_hello(text),
    }
}

fn own_steps(text: &str) -> Option<Value> {
    match serde_json::from_str(text) {
        Ok(Value::Object(mut object)) => object.remove("steps"),
        _ => None,
    }
}

fn read(steps: &Value) -> Result<Vec<Step>, ScenarioError> {
    let steps = steps.as_array().ok_or(ScenarioError::StepsNotAnArray)?;
    let read_one = |(index, step)| {
        Step::read(step).map_err(|error| ScenarioError::Step {
            number: index + 1,
            error,
        })
    };
    steps.iter().enumerate().map(read_one).collect()
}

pub(super) fn steps_of(builtin: &Builtin) -> Result<Vec<Step>, ScenarioError> {
    let steps = own_steps(builtin.scenario).ok_or(ScenarioError::StepsNotAnArray)?;
    read(&steps)
}

fn quoting_hello(text: &str) -> Result<Vec<Step>, ScenarioError> {
    let mut steps = steps_of(&builtin::HELLO)?;
    // In one piece: a message may be long, and an echo is not a load test.
    let quote = Speech::in_one_piece(format!("You said:\n\n{}", blockquote(text)));
    steps.insert(0, Step::Say(quote));
    Ok(steps)
}

fn blockquote(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

fn known_steps() -> String {
    format!("the known steps are {}", KNOWN.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn complaint(step: Value) -> String {
        let text = json!({"steps": [{"say": "fine"}, step]}).to_string();
        of_message(&text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_together_with_the_known_steps() {
        let cases = [
            (json!({"sing": "la"}), "step 2: unknown key `sing`"),
            (
                json!({"sing": 1, "dance": 2}),
                "unknown keys `sing`, `dance`",
            ),
            (json!({"say": "a", "loud": true}), "unknown key `loud`"),
            (json!({"sleep": 1, "chunks": 2}), "unknown key `chunks`"),
            (
                json!({"sleep": 1, "say": "a"}),
                "keys `say`, `sleep` cannot stand in one step",
            ),
            (json!({}), "a step is an object with one key"),
            (json!("say"), "a step is an object with one key"),
            (json!({"say": 7}), "`say`: invalid type"),
            (
                json!({"say": "a", "chunks": 0}),
                "`say`: `chunks`: invalid value",
            ),
            (
                json!({"say": "a", "everyMs": "1"}),
                "`everyMs`: invalid type",
            ),
            (
                json!({"flood": {"deltas": 1}}),
                "`flood`: missing field `bytes`",
            ),
            (
                json!({"flood": {"deltas": 1, "bytes": 1, "x": 1}}),
                "unknown field `x`",
            ),
            (
                json!({"flood": {"deltas": 1, "bytes": 1u64 << 40}}),
                "the most is",
            ),
            (json!({"ref": {"bytes": 1u64 << 40}}), "the most is"),
            (json!({"sleep": -1}), "`sleep`: invalid value"),
            (
                json!({"echo": "weather"}),
                "`echo`: unknown variant `weather`",
            ),
            (
                json!({"usage": {"tokens": 1}}),
                "`usage`: unknown field `tokens`",
            ),
            (json!({"title": null}), "`title`: invalid type"),
            (
                json!({"fail": {"message": "m"}}),
                "missing field `errorType`",
            ),
            (json!({"crash": false}), "`crash`: expected `true`"),
        ];
        for (step, expected) in cases {
            let complaint = complaint(step);
            assert!(complaint.contains(expected), "{complaint}");
            assert!(
                complaint.ends_with(&format!("the known steps are {}", KNOWN.join(", "))),
                "{complaint}"
            );
        }
    }

    #[test]
    fn steps_that_are_no_array_are_refused() {
        let error = of_message(r#"{"steps": "say"}"#).unwrap_err();
        assert!(matches!(error, ScenarioError::StepsNotAnArray), "{error}");
    }

    #[test]
    fn every_step_of_the_contract_is_known_to_the_parser() {
        for name in KNOWN {
            let error = Step::read(&json!({ name: [[]] }));
            let unknown = matches!(error, Err(StepError::UnknownKeys(_)));
            assert!(!unknown, "{name}");
        }
    }

    #[test]
    fn an_object_without_steps_is_just_a_text() {
        let steps = of_message(r#"{"step": 1}"#).unwrap();
        assert!(matches!(&steps[0], Step::Say(quote) if quote.text.contains(r#"> {"step": 1}"#)));
    }

    #[test]
    fn every_line_of_a_message_is_quoted() {
        let steps = of_message("one\ntwo").unwrap();
        assert!(matches!(&steps[0], Step::Say(quote) if quote.text.ends_with("> one\n> two")));
    }
}
