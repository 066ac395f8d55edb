//! Whether an answer fits its question.

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::house::state::{
    ChatInputAnswerValue, ChatInputMultiSelectQuestion, ChatInputNumberQuestion, ChatInputOption,
    ChatInputQuestion, ChatInputSelectedAnswerValue, ChatInputSelectedManyAnswerValue,
    ChatInputSingleSelectQuestion, ChatInputTextQuestion,
};

/// Checks the kind of an answer and, once it is `complete`, its value.
pub(crate) fn check_answer(
    question: &ChatInputQuestion,
    value: &ChatInputAnswerValue,
    complete: bool,
) -> Result<(), String> {
    use ChatInputAnswerValue as Value;
    use ChatInputQuestion as Question;
    match (question, value) {
        (Question::Text(question), Value::Text(answer)) if complete => {
            check_text(question, &answer.value)
        }
        (Question::Number(question), Value::Number(answer)) if complete => {
            check_number(question, answer.value)
        }
        (Question::Integer(question), Value::Number(answer)) if complete => {
            if answer.value.fract() != 0.0 {
                return Err(format!("`{}` must be a whole number", question.id));
            }
            check_number(question, answer.value)
        }
        (Question::SingleSelect(question), Value::Selected(answer)) if complete => {
            check_choice(question, answer)
        }
        (Question::MultiSelect(question), Value::SelectedMany(answer)) if complete => {
            check_choices(question, answer)
        }
        (Question::Text(_), Value::Text(_))
        | (Question::Number(_) | Question::Integer(_), Value::Number(_))
        | (Question::Boolean(_), Value::Boolean(_))
        | (Question::SingleSelect(_), Value::Selected(_))
        | (Question::MultiSelect(_), Value::SelectedMany(_))
        | (Question::Unknown(_), _) => Ok(()),
        (Question::Text(question), _) => Err(wrong_kind(&question.id, "a text")),
        (Question::Number(question) | Question::Integer(question), _) => {
            Err(wrong_kind(&question.id, "a number"))
        }
        (Question::Boolean(question), _) => Err(wrong_kind(&question.id, "yes or no")),
        (Question::SingleSelect(question), _) => Err(wrong_kind(&question.id, "one choice")),
        (Question::MultiSelect(question), _) => {
            Err(wrong_kind(&question.id, "any number of choices"))
        }
    }
}

fn wrong_kind(id: &str, wanted: &str) -> String {
    format!("the answer to `{id}` must be {wanted}")
}

fn check_text(question: &ChatInputTextQuestion, text: &str) -> Result<(), String> {
    let id = &question.id;
    // An answer that may be left out may be empty.
    if text.is_empty() && question.required != Some(true) {
        return Ok(());
    }
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let least = question
        .min
        .unwrap_or(0)
        .max(i64::from(question.required == Some(true)));
    if length < least {
        return Err(format!("`{id}` needs at least {least} characters"));
    }
    if let Some(most) = question.max.filter(|most| length > *most) {
        return Err(format!("`{id}` may have at most {most} characters"));
    }
    let (fits, wanted) = match question.format.as_deref() {
        Some("email") => (is_email(text), "an e-mail address"),
        Some("uri") => (is_uri(text), "a URI"),
        Some("date") => (is_date(text), "a date such as 2025-03-10"),
        Some("date-time") => (
            Timestamp::parse(text).is_some(),
            "a date and time such as 2025-03-10T18:42:03Z",
        ),
        // It is a hint, and this one is not known here.
        _ => return Ok(()),
    };
    match fits {
        true => Ok(()),
        false => Err(format!("`{id}` must be {wanted}")),
    }
}

fn is_email(text: &str) -> bool {
    let well_formed = |(local, domain): (&str, &str)| !local.is_empty() && domain.contains('.');
    !text.contains(char::is_whitespace) && text.rsplit_once('@').is_some_and(well_formed)
}

fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        !rest.is_empty()
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && !text.contains(char::is_whitespace)
    })
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && Timestamp::parse(&format!("{text}T00:00:00Z")).is_some()
}

fn check_number(question: &ChatInputNumberQuestion, value: f64) -> Result<(), String> {
    let id = &question.id;
    if let Some(least) = question.min.filter(|least| value < *least) {
        return Err(format!("`{id}` must be at least {least}"));
    }
    if let Some(most) = question.max.filter(|most| value > *most) {
        return Err(format!("`{id}` must be at most {most}"));
    }
    Ok(())
}

fn check_choice(
    question: &ChatInputSingleSelectQuestion,
    answer: &ChatInputSelectedAnswerValue,
) -> Result<(), String> {
    let own = answer.freeform_values.iter().flatten().count();
    check_own_words(&question.id, question.allow_freeform_input, own)?;
    match (own, answer.value.as_str()) {
        (0, "") if question.required == Some(true) => {
            Err(format!("`{}` needs a choice", question.id))
        }
        (_, "") => Ok(()),
        (0, choice) => check_option(&question.id, &question.options, choice),
        // Clients repeat the words in the place of the choice.
        _ => Ok(()),
    }
}

fn check_choices(
    question: &ChatInputMultiSelectQuestion,
    answer: &ChatInputSelectedManyAnswerValue,
) -> Result<(), String> {
    let id = &question.id;
    let own = answer.freeform_values.iter().flatten().count();
    check_own_words(id, question.allow_freeform_input, own)?;
    for choice in &answer.value {
        check_option(id, &question.options, choice)?;
    }
    let count = i64::try_from(answer.value.len() + own).unwrap_or(i64::MAX);
    let least = question
        .min
        .unwrap_or(0)
        .max(i64::from(question.required == Some(true)));
    if count < least {
        return Err(format!("`{id}` needs at least {least} choices"));
    }
    if let Some(most) = question.max.filter(|most| count > *most) {
        return Err(format!("`{id}` allows at most {most} choices"));
    }
    Ok(())
}

fn check_own_words(id: &str, allowed: Option<bool>, count: usize) -> Result<(), String> {
    match count > 0 && allowed != Some(true) {
        true => Err(format!("`{id}` allows only the choices that it offers")),
        false => Ok(()),
    }
}

fn check_option(id: &str, options: &[ChatInputOption], choice: &str) -> Result<(), String> {
    match options.iter().any(|option| option.id == choice) {
        true => Ok(()),
        false => Err(format!("`{id}` has no choice `{choice}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn an_answer_must_fit_its_question() {
        let text = |extra: Value| with(json!({"kind": "text"}), extra);
        let number = |extra: Value| with(json!({"kind": "number"}), extra);
        let options = json!({"options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]});
        let one = |extra| {
            with(
                with(json!({"kind": "single-select"}), options.clone()),
                extra,
            )
        };
        let many = |extra| {
            with(
                with(json!({"kind": "multi-select"}), options.clone()),
                extra,
            )
        };
        let says = |value: &str| json!({"kind": "text", "value": value});
        let counts = |value: f64| json!({"kind": "number", "value": value});
        let picks = |value: &str| json!({"kind": "selected", "value": value});
        let picks_all = |value: &[&str]| json!({"kind": "selected-many", "value": value});
        let own = |answer: Value| with(answer, json!({"freeformValues": ["my own"]}));
        let none = || json!({});
        let cases = [
            (text(none()), says(""), true),
            (text(json!({"required": true})), says(""), false),
            (text(json!({"min": 3})), says("äöü"), true),
            (text(json!({"min": 3})), says("ab"), false),
            (text(json!({"max": 2})), says("abc"), false),
            (text(json!({"format": "email"})), says("a@b.example"), true),
            (text(json!({"format": "email"})), says("a b@c.d"), false),
            (
                text(json!({"format": "uri"})),
                says("https://x.example"),
                true,
            ),
            (text(json!({"format": "uri"})), says("x.example"), false),
            (text(json!({"format": "date"})), says("2025-02-28"), true),
            (text(json!({"format": "date"})), says("2025-02-30"), false),
            (
                text(json!({"format": "date-time"})),
                says("2025-02-28T10:00:00Z"),
                true,
            ),
            (
                text(json!({"format": "date-time"})),
                says("yesterday"),
                false,
            ),
            (text(json!({"format": "poem"})), says("anything"), true),
            (text(none()), counts(1.0), false),
            (number(none()), counts(1.5), true),
            (number(json!({"min": 1, "max": 2})), counts(2.5), false),
            (number(json!({"min": 1, "max": 2})), counts(0.5), false),
            (with(json!({"kind": "integer"}), none()), counts(1.5), false),
            (with(json!({"kind": "integer"}), none()), counts(2.0), true),
            (
                json!({"kind": "boolean"}),
                json!({"kind": "boolean", "value": false}),
                true,
            ),
            (json!({"kind": "boolean"}), says("yes"), false),
            (one(none()), picks("a"), true),
            (one(none()), picks("c"), false),
            (one(none()), own(picks("")), false),
            (
                one(json!({"allowFreeformInput": true})),
                own(picks("")),
                true,
            ),
            (one(json!({"required": true})), picks(""), false),
            (one(none()), picks_all(&["a"]), false),
            (many(none()), picks_all(&["a", "b"]), true),
            (many(none()), picks_all(&["a", "c"]), false),
            (many(json!({"min": 2})), picks_all(&["a"]), false),
            (many(json!({"max": 1})), picks_all(&["a", "b"]), false),
            (many(json!({"required": true})), picks_all(&[]), false),
            (
                many(json!({"allowFreeformInput": true, "min": 2})),
                own(picks_all(&["a"])),
                true,
            ),
        ];
        for (question, answer, fits) in cases {
            let question = with(question, json!({"id": "q", "message": "?"}));
            let parsed = serde_json::from_value(question.clone()).unwrap();
            let value = serde_json::from_value(answer.clone()).unwrap();
            let verdict = check_answer(&parsed, &value, true);
            assert_eq!(verdict.is_ok(), fits, "{question} {answer}: {verdict:?}");
        }
    }

    #[test]
    fn a_draft_must_only_be_of_the_right_kind() {
        let question = json!({"kind": "text", "id": "q", "message": "?", "min": 5});
        let question = serde_json::from_value(question).unwrap();
        let value = |value: Value| serde_json::from_value(value).unwrap();
        let short = value(json!({"kind": "text", "value": "ab"}));
        assert!(check_answer(&question, &short, false).is_ok());
        let wrong = value(json!({"kind": "number", "value": 1}));
        assert!(check_answer(&question, &wrong, false).is_err());
    }

    fn with(mut value: Value, more: Value) -> Value {
        if let (Some(object), Some(more)) = (value.as_object_mut(), more.as_object()) {
            object.extend(more.clone());
        }
        value
    }
}
