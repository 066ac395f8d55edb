//! Whether an answer fits its question, and what is meant by one of another
//! kind. Some clients have one field for every question and answer with text.

mod formats;

use innkeeper_protocol::newest::state::{
    ChatInputAnswer, ChatInputAnswerValue, ChatInputAnswered, ChatInputBooleanAnswerValue,
    ChatInputMultiSelectQuestion, ChatInputNumberAnswerValue, ChatInputNumberQuestion,
    ChatInputOption, ChatInputQuestion, ChatInputSelectedAnswerValue,
    ChatInputSelectedManyAnswerValue, ChatInputSingleSelectQuestion, ChatInputSkipped,
    ChatInputTextAnswerValue, ChatInputTextQuestion,
};

/// An answer in the kind that its question asks for, as far as it can be read
/// so. An optional question whose answer is empty was skipped.
pub(super) fn as_meant(question: &ChatInputQuestion, answer: ChatInputAnswer) -> ChatInputAnswer {
    match answer {
        ChatInputAnswer::Draft(ChatInputAnswered { value }) => {
            let value = value_meant(question, value);
            ChatInputAnswer::Draft(ChatInputAnswered { value })
        }
        ChatInputAnswer::Submitted(ChatInputAnswered { value }) => {
            if is_empty(&value) && !is_required(question) {
                return ChatInputAnswer::Skipped(ChatInputSkipped::default());
            }
            let value = value_meant(question, value);
            ChatInputAnswer::Submitted(ChatInputAnswered { value })
        }
        skipped @ ChatInputAnswer::Skipped(_) => skipped,
    }
}

fn is_empty(value: &ChatInputAnswerValue) -> bool {
    let none = |own: &Option<Vec<String>>| own.iter().flatten().next().is_none();
    match value {
        ChatInputAnswerValue::Text(text) => text.value.trim().is_empty(),
        ChatInputAnswerValue::Selected(one) => one.value.is_empty() && none(&one.freeform_values),
        ChatInputAnswerValue::SelectedMany(many) => {
            many.value.is_empty() && none(&many.freeform_values)
        }
        ChatInputAnswerValue::Number(_)
        | ChatInputAnswerValue::Boolean(_)
        | ChatInputAnswerValue::Unknown(_) => false,
    }
}

fn value_meant(question: &ChatInputQuestion, value: ChatInputAnswerValue) -> ChatInputAnswerValue {
    use ChatInputAnswerValue as Value;
    use ChatInputQuestion as Question;
    let Value::Text(ChatInputTextAnswerValue { value: text }) = &value else {
        return value;
    };
    let meant = match question {
        Question::Number(_) | Question::Integer(_) => {
            let number = text.trim().parse().ok();
            let number = number.filter(|number: &f64| number.is_finite());
            number.map(|value| Value::Number(ChatInputNumberAnswerValue { value }))
        }
        Question::Boolean(_) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" => Some(true),
            "false" | "no" | "n" => Some(false),
            _ => None,
        }
        .map(|value| Value::Boolean(ChatInputBooleanAnswerValue { value })),
        Question::SingleSelect(question) => {
            let (value, freeform_values) = match option_meant(&question.options, text) {
                Some(id) => (id, None),
                None => (String::new(), Some(vec![text.clone()])),
            };
            let selected = ChatInputSelectedAnswerValue {
                value,
                freeform_values,
            };
            Some(Value::Selected(selected))
        }
        Question::MultiSelect(question) => {
            let (value, freeform_values) = match option_meant(&question.options, text) {
                Some(id) => (vec![id], None),
                None => (Vec::new(), Some(vec![text.clone()])),
            };
            let selected = ChatInputSelectedManyAnswerValue {
                value,
                freeform_values,
            };
            Some(Value::SelectedMany(selected))
        }
        Question::Text(_) | Question::Unknown(_) => None,
    };
    meant.unwrap_or(value)
}

/// The choice that somebody typed, by its name or as it is shown.
fn option_meant(options: &[ChatInputOption], text: &str) -> Option<String> {
    let text = text.trim();
    let by_id = options.iter().find(|option| option.id == text);
    let by_label = || {
        let mut options = options.iter();
        options.find(|option| option.label.trim().eq_ignore_ascii_case(text))
    };
    by_id.or_else(by_label).map(|option| option.id.clone())
}

/// A question that says in so many words whether it takes other answers than
/// it offers: clients do not agree on what silence means.
pub(super) fn outspoken(mut question: ChatInputQuestion) -> ChatInputQuestion {
    let allowed = match &mut question {
        ChatInputQuestion::SingleSelect(question) => &mut question.allow_freeform_input,
        ChatInputQuestion::MultiSelect(question) => &mut question.allow_freeform_input,
        _ => return question,
    };
    allowed.get_or_insert(false);
    question
}

pub(super) fn is_required(question: &ChatInputQuestion) -> bool {
    let required = match question {
        ChatInputQuestion::Text(question) => question.required,
        ChatInputQuestion::Number(question) | ChatInputQuestion::Integer(question) => {
            question.required
        }
        ChatInputQuestion::Boolean(question) => question.required,
        ChatInputQuestion::SingleSelect(question) => question.required,
        ChatInputQuestion::MultiSelect(question) => question.required,
        ChatInputQuestion::Unknown(_) => None,
    };
    required == Some(true)
}

/// Checks the kind of an answer and, once it is `complete`, its value.
pub(super) fn check_answer(
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
        Some("email") => (formats::is_email(text), "an e-mail address"),
        Some("uri") => (formats::is_uri(text), "a URI"),
        Some("date") => (formats::is_date(text), "a date such as 2025-03-10"),
        Some("date-time") => (
            formats::is_date_time(text),
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
    for (index, choice) in answer.value.iter().enumerate() {
        check_option(id, &question.options, choice)?;
        if answer.value[..index].contains(choice) {
            return Err(format!(
                "the answer to `{id}` names the choice `{choice}` twice; name each once"
            ));
        }
    }
    if question.required == Some(true) && answer.value.is_empty() && own == 0 {
        return Err(format!("`{id}` needs a choice"));
    }
    // Both limits are about what the question offers, not about own words.
    let count = i64::try_from(answer.value.len()).unwrap_or(i64::MAX);
    if let Some(least) = question.min.filter(|least| count < *least) {
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
                false,
            ),
            (
                many(json!({"allowFreeformInput": true, "min": 1, "max": 2})),
                own(picks_all(&["a", "b"])),
                true,
            ),
            (
                many(json!({"allowFreeformInput": true, "required": true})),
                own(picks_all(&[])),
                true,
            ),
            (many(none()), picks_all(&["a", "a"]), false),
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
    fn text_is_read_as_what_the_question_asks_for() {
        let options = json!([{"id": "a", "label": "The first"}, {"id": "b", "label": "B"}]);
        let ask = |kind: &str, required: bool| {
            json!({"id": "q", "message": "?", "kind": kind, "required": required, "min": 1,
                   "options": options})
        };
        let picked = |value: &str| json!({"kind": "selected", "value": value});
        let own = json!({"kind": "selected", "value": "", "freeformValues": ["neither"]});
        let cases = [
            (
                ask("number", true),
                " 2.5 ",
                json!({"kind": "number", "value": 2.5}),
            ),
            (
                ask("integer", true),
                "12",
                json!({"kind": "number", "value": 12.0}),
            ),
            (
                ask("boolean", true),
                "No",
                json!({"kind": "boolean", "value": false}),
            ),
            (ask("single-select", true), "b", picked("b")),
            (ask("single-select", true), "the first", picked("a")),
            (ask("single-select", true), "neither", own),
            (
                ask("multi-select", true),
                "B",
                json!({"kind": "selected-many", "value": ["b"]}),
            ),
            // What cannot be read stays, to be refused with a reason.
            (
                ask("number", true),
                "many",
                json!({"kind": "text", "value": "many"}),
            ),
            (
                ask("number", true),
                "inf",
                json!({"kind": "text", "value": "inf"}),
            ),
            (ask("text", true), "", json!({"kind": "text", "value": ""})),
        ];
        for (question, text, expected) in cases {
            let parsed = serde_json::from_value(question.clone()).unwrap();
            let answer = json!({"state": "submitted", "value": {"kind": "text", "value": text}});
            let answer = serde_json::from_value(answer).unwrap();
            let meant = serde_json::to_value(as_meant(&parsed, answer)).unwrap();
            assert_eq!(meant["value"], expected, "{question} {text}");
        }
    }

    #[test]
    fn an_optional_question_with_an_empty_answer_was_skipped() {
        let empty = [
            ("text", json!({"kind": "text", "value": " "})),
            ("number", json!({"kind": "text", "value": ""})),
            ("boolean", json!({"kind": "text", "value": ""})),
            ("single-select", json!({"kind": "text", "value": ""})),
            (
                "multi-select",
                json!({"kind": "selected-many", "value": []}),
            ),
        ];
        for (kind, value) in empty {
            let question = json!({"id": "q", "message": "?", "kind": kind, "options": []});
            let question = serde_json::from_value(question).unwrap();
            let answer = json!({"state": "submitted", "value": value});
            let answer = serde_json::from_value(answer).unwrap();
            let meant = as_meant(&question, answer);
            assert!(matches!(meant, ChatInputAnswer::Skipped(_)), "{kind}");
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
