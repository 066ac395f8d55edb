//! Dialogs of pi's extensions, as questions to the user.

use std::collections::HashMap;

use innkeeper_protocol::newest::state::{
    ChatInputAnswer, ChatInputAnswerValue, ChatInputBooleanQuestion, ChatInputOption,
    ChatInputQuestion, ChatInputRequest, ChatInputResponseKind, ChatInputSingleSelectQuestion,
    ChatInputTextQuestion,
};
use serde_json::{Value, json};

/// Every dialog has one question.
const QUESTION: &str = "answer";

/// A dialog as a question, if it is one that waits for an answer.
pub(super) fn question(request: &Value) -> Option<ChatInputRequest> {
    let title = request["title"].as_str().unwrap_or_default().to_owned();
    let (id, required) = (QUESTION.to_owned(), Some(true));
    let question = match request["method"].as_str()? {
        "select" => {
            let options = request["options"].as_array().into_iter().flatten();
            let option = |text: &Value| {
                let text = text.as_str()?.to_owned();
                Some(ChatInputOption {
                    id: text.clone(),
                    label: text,
                    description: None,
                    recommended: None,
                })
            };
            ChatInputQuestion::SingleSelect(ChatInputSingleSelectQuestion {
                id,
                title: None,
                message: title.clone(),
                required,
                options: options.filter_map(option).collect(),
                allow_freeform_input: None,
            })
        }
        "confirm" => ChatInputQuestion::Boolean(ChatInputBooleanQuestion {
            id,
            title: None,
            message: request["message"].as_str().unwrap_or(&title).to_owned(),
            required,
            default_value: None,
        }),
        "input" | "editor" => ChatInputQuestion::Text(ChatInputTextQuestion {
            id,
            title: None,
            message: request["placeholder"].as_str().unwrap_or(&title).to_owned(),
            required,
            format: None,
            min: None,
            max: None,
            default_value: request["prefill"].as_str().map(str::to_owned),
        }),
        _ => return None,
    };
    Some(ChatInputRequest {
        id: request["id"].as_str()?.to_owned(),
        message: Some(title),
        url: None,
        questions: Some(vec![question]),
        answers: None,
    })
}

/// The answer to a dialog.
pub(super) fn answer(
    id: &str,
    response: &ChatInputResponseKind,
    answers: &HashMap<String, ChatInputAnswer>,
) -> Value {
    let mut answer = json!({"type": "extension_ui_response", "id": id});
    let given = match answers.get(QUESTION) {
        Some(ChatInputAnswer::Draft(given) | ChatInputAnswer::Submitted(given)) => {
            Some(&given.value)
        }
        Some(ChatInputAnswer::Skipped(_)) | None => None,
    };
    match given.filter(|_| *response == ChatInputResponseKind::Accept) {
        Some(ChatInputAnswerValue::Text(text)) => answer["value"] = json!(text.value),
        Some(ChatInputAnswerValue::Selected(selected)) => answer["value"] = json!(selected.value),
        Some(ChatInputAnswerValue::Boolean(yes)) => answer["confirmed"] = json!(yes.value),
        _ => answer["cancelled"] = json!(true),
    }
    answer
}
