//! What somebody types, as the answer that a question wants. Pure: prompts and
//! `innkeeper answer` read it in the same way.

use ahp::ahp_types::state::{
    ChatInputAnswer, ChatInputAnswerValue, ChatInputAnswered, ChatInputBooleanAnswerValue,
    ChatInputNumberAnswerValue, ChatInputOption, ChatInputQuestion, ChatInputSelectedAnswerValue,
    ChatInputSelectedManyAnswerValue, ChatInputTextAnswerValue,
};
use innkeeper_protocol::agent::SECRET_FORMAT;

/// A question, whatever it asks for.
pub(crate) struct Asked<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) message: &'a str,
    pub(crate) required: bool,
    /// What is typed is not to be shown.
    pub(crate) secret: bool,
}

/// Nothing for a question that this version does not know.
pub(crate) fn asked(question: &ChatInputQuestion) -> Option<Asked<'_>> {
    macro_rules! of {
        ($q:expr) => {
            Asked {
                id: &$q.id,
                title: $q.title.as_deref(),
                message: &$q.message,
                required: $q.required == Some(true),
                secret: false,
            }
        };
    }
    Some(match question {
        ChatInputQuestion::Text(q) => Asked {
            secret: q.format.as_deref() == Some(SECRET_FORMAT),
            ..of!(q)
        },
        ChatInputQuestion::Number(q) | ChatInputQuestion::Integer(q) => of!(q),
        ChatInputQuestion::Boolean(q) => of!(q),
        ChatInputQuestion::SingleSelect(q) => of!(q),
        ChatInputQuestion::MultiSelect(q) => of!(q),
        ChatInputQuestion::Unknown(_) => return None,
    })
}

/// What the question takes, in words; nothing if it takes anything.
pub(crate) fn expected(question: &ChatInputQuestion) -> Option<String> {
    let range = |what: &str, min: Option<String>, max: Option<String>| match (min, max) {
        (Some(min), Some(max)) => format!("{what} from {min} to {max}"),
        (Some(min), None) => format!("{what}, at least {min}"),
        (None, Some(max)) => format!("{what}, at most {max}"),
        (None, None) => what.to_owned(),
    };
    let shown = |number: Option<f64>| number.map(|number| number.to_string());
    let count = |number: Option<i64>| number.map(|number| number.to_string());
    match question {
        ChatInputQuestion::Text(q) => match (q.min, q.max, q.format.as_deref()) {
            (None, None, None | Some(SECRET_FORMAT)) => None,
            (None, None, Some(format)) => Some(format.to_owned()),
            (min, max, _) => Some(range("characters:", count(min), count(max))),
        },
        ChatInputQuestion::Number(q) => Some(range("a number", shown(q.min), shown(q.max))),
        ChatInputQuestion::Integer(q) => Some(range("a whole number", shown(q.min), shown(q.max))),
        ChatInputQuestion::Boolean(_) => Some("yes or no".to_owned()),
        ChatInputQuestion::SingleSelect(q) if q.allow_freeform_input == Some(true) => {
            Some("one of the options, or something else".to_owned())
        }
        ChatInputQuestion::SingleSelect(_) => Some("one of the options".to_owned()),
        ChatInputQuestion::MultiSelect(q) => Some(range("options", count(q.min), count(q.max))),
        ChatInputQuestion::Unknown(_) => None,
    }
}

/// What an empty answer means.
pub(crate) fn default_of(question: &ChatInputQuestion) -> Option<String> {
    match question {
        ChatInputQuestion::Text(q) => q.default_value.clone(),
        ChatInputQuestion::Number(q) | ChatInputQuestion::Integer(q) => {
            q.default_value.map(|value| value.to_string())
        }
        ChatInputQuestion::Boolean(q) => q
            .default_value
            .map(|value| if value { "yes" } else { "no" }.to_owned()),
        ChatInputQuestion::SingleSelect(q) => recommended(&q.options),
        ChatInputQuestion::MultiSelect(_) | ChatInputQuestion::Unknown(_) => None,
    }
}

fn recommended(options: &[ChatInputOption]) -> Option<String> {
    let recommended = options.iter().find(|it| it.recommended == Some(true));
    recommended.map(|option| option.label.clone())
}

/// What was typed as an answer: nothing, if a question is skipped; or why it
/// cannot be one.
pub(crate) fn parse(
    question: &ChatInputQuestion,
    typed: &str,
) -> Result<Option<ChatInputAnswerValue>, String> {
    let typed = typed.trim();
    if typed.is_empty() {
        let required = asked(question).is_some_and(|asked| asked.required);
        return match default_of(question) {
            Some(default) => parse_some(question, &default).map(Some),
            None if required => Err("an answer is required".to_owned()),
            None => Ok(None),
        };
    }
    parse_some(question, typed).map(Some)
}

pub(crate) fn submitted(value: ChatInputAnswerValue) -> ChatInputAnswer {
    ChatInputAnswer::Submitted(ChatInputAnswered { value })
}

fn parse_some(question: &ChatInputQuestion, typed: &str) -> Result<ChatInputAnswerValue, String> {
    let not = || format!("expected {}", expected(question).unwrap_or_default());
    Ok(match question {
        ChatInputQuestion::Text(q) => {
            let length = i64::try_from(typed.chars().count()).unwrap_or(i64::MAX);
            if q.min.is_some_and(|min| length < min) || q.max.is_some_and(|max| length > max) {
                return Err(not());
            }
            let value = typed.to_owned();
            ChatInputAnswerValue::Text(ChatInputTextAnswerValue { value })
        }
        ChatInputQuestion::Number(q) | ChatInputQuestion::Integer(q) => {
            let value: f64 = typed.parse().map_err(|_| not())?;
            let is_whole =
                !matches!(question, ChatInputQuestion::Integer(_)) || value.fract() == 0.0;
            let fits = q.min.is_none_or(|min| value >= min) && q.max.is_none_or(|max| value <= max);
            if !(value.is_finite() && is_whole && fits) {
                return Err(not());
            }
            ChatInputAnswerValue::Number(ChatInputNumberAnswerValue { value })
        }
        ChatInputQuestion::Boolean(_) => {
            let value = match typed.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => true,
                "n" | "no" | "false" => false,
                _ => return Err(not()),
            };
            ChatInputAnswerValue::Boolean(ChatInputBooleanAnswerValue { value })
        }
        ChatInputQuestion::SingleSelect(q) => {
            let (value, freeform_values) = match chosen(&q.options, typed) {
                Some(id) => (id, None),
                None if q.allow_freeform_input == Some(true) => {
                    (String::new(), Some(vec![typed.to_owned()]))
                }
                None => return Err(not()),
            };
            ChatInputAnswerValue::Selected(ChatInputSelectedAnswerValue {
                value,
                freeform_values,
            })
        }
        ChatInputQuestion::MultiSelect(q) => {
            let (mut value, mut others) = (Vec::new(), Vec::new());
            for word in typed.split(',').map(str::trim).filter(|it| !it.is_empty()) {
                match chosen(&q.options, word) {
                    Some(id) if value.contains(&id) => {}
                    Some(id) => value.push(id),
                    None if q.allow_freeform_input == Some(true) => others.push(word.to_owned()),
                    None => return Err(format!("`{word}` is not one of the options")),
                }
            }
            let count = i64::try_from(value.len() + others.len()).unwrap_or(i64::MAX);
            if q.min.is_some_and(|min| count < min) || q.max.is_some_and(|max| count > max) {
                return Err(not());
            }
            ChatInputAnswerValue::SelectedMany(ChatInputSelectedManyAnswerValue {
                value,
                freeform_values: (!others.is_empty()).then_some(others),
            })
        }
        ChatInputQuestion::Unknown(_) => {
            return Err("this version does not know such a question".to_owned());
        }
    })
}

/// An option by its id, its label or its number in the list.
fn chosen(options: &[ChatInputOption], typed: &str) -> Option<String> {
    let named = options
        .iter()
        .find(|it| it.id == typed || it.label.eq_ignore_ascii_case(typed));
    let numbered = || {
        let number = typed.parse::<usize>().ok()?.checked_sub(1)?;
        options.get(number)
    };
    named.or_else(numbered).map(|option| option.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parsed(mut question: Value, typed: &str) -> Value {
        question["id"] = json!("q");
        question["message"] = json!("?");
        let question = serde_json::from_value(question).unwrap();
        match parse(&question, typed) {
            Ok(value) => json!(value),
            Err(why) => json!(why),
        }
    }

    #[test]
    fn what_is_typed_is_read_as_its_question_wants_it() {
        let options = json!([{"id": "a", "label": "Apple"}, {"id": "b", "label": "Bean"}]);
        let single = json!({"kind": "single-select", "options": options});
        let mut free = single.clone();
        free["allowFreeformInput"] = json!(true);
        let many = json!({"kind": "multi-select", "options": options, "max": 1});
        for (question, typed, expected) in [
            (
                json!({"kind": "text"}),
                " hi ",
                json!({"kind": "text", "value": "hi"}),
            ),
            (json!({"kind": "text"}), "  ", Value::Null),
            (
                json!({"kind": "text", "required": true}),
                "",
                json!("an answer is required"),
            ),
            (
                json!({"kind": "text", "required": true, "defaultValue": "x"}),
                "",
                json!({"kind": "text", "value": "x"}),
            ),
            (
                json!({"kind": "text", "min": 3}),
                "no",
                json!("expected characters:, at least 3"),
            ),
            (
                json!({"kind": "number"}),
                "1.5",
                json!({"kind": "number", "value": 1.5}),
            ),
            (
                json!({"kind": "number"}),
                "many",
                json!("expected a number"),
            ),
            (json!({"kind": "number"}), "NaN", json!("expected a number")),
            (
                json!({"kind": "number", "min": 1.0, "max": 5.0}),
                "9",
                json!("expected a number from 1 to 5"),
            ),
            (
                json!({"kind": "integer"}),
                "1.5",
                json!("expected a whole number"),
            ),
            (
                json!({"kind": "boolean"}),
                "Y",
                json!({"kind": "boolean", "value": true}),
            ),
            (json!({"kind": "boolean"}), "x", json!("expected yes or no")),
            (
                single.clone(),
                "2",
                json!({"kind": "selected", "value": "b"}),
            ),
            (
                single.clone(),
                "apple",
                json!({"kind": "selected", "value": "a"}),
            ),
            (single.clone(), "3", json!("expected one of the options")),
            (
                free,
                "other",
                json!({"kind": "selected", "value": "", "freeformValues": ["other"]}),
            ),
            (
                many.clone(),
                "1, 1",
                json!({"kind": "selected-many", "value": ["a"]}),
            ),
            (many.clone(), "1, 2", json!("expected options, at most 1")),
            (many, "1, pear", json!("`pear` is not one of the options")),
        ] {
            assert_eq!(
                parsed(question.clone(), typed),
                expected,
                "{question} {typed:?}"
            );
        }
    }
}
