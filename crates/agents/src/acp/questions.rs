//! Questions of the agent to the user (`elicitation/create`): a form becomes
//! questions in the host's shapes, and the answers go back as the form's
//! content.

use std::collections::{BTreeMap, HashMap};

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, ElicitationMode, ElicitationPropertySchema, ElicitationSchema,
    EnumOption, MultiSelectItems, StringPropertySchema,
};
use innkeeper_protocol::newest::state::{
    ChatInputAnswer, ChatInputAnswerValue, ChatInputBooleanQuestion, ChatInputMultiSelectQuestion,
    ChatInputNumberQuestion, ChatInputOption, ChatInputQuestion, ChatInputRequest,
    ChatInputResponseKind, ChatInputSingleSelectQuestion, ChatInputTextQuestion,
};
use serde_json::{Map, Value, json};

/// The questions that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Vec<OpenQuestion>,
    asked: usize,
}

#[derive(Debug)]
struct OpenQuestion {
    /// The host's name for it.
    id: String,
    /// The agent's name for its request.
    request: Value,
    /// The agent's name for what happens outside, at a URL.
    elicitation: Option<String>,
    /// Whole numbers must go back as such.
    integers: Vec<String>,
}

impl Questions {
    /// Asks, if this is something that can be asked.
    pub(super) fn ask(
        &mut self,
        request: Value,
        asked: CreateElicitationRequest,
    ) -> Option<ChatInputRequest> {
        self.asked += 1;
        let mut open = OpenQuestion {
            id: format!("question-{}", self.asked),
            request,
            elicitation: None,
            integers: Vec::new(),
        };
        let (mut url, mut questions) = (None, None);
        match asked.mode {
            ElicitationMode::Form(form) => {
                let integer = |(id, schema): (&String, &ElicitationPropertySchema)| {
                    matches!(schema, ElicitationPropertySchema::Integer(_)).then(|| id.clone())
                };
                let properties = &form.requested_schema.properties;
                open.integers = properties.iter().filter_map(integer).collect();
                questions = Some(questions_of(form.requested_schema));
            }
            ElicitationMode::Url(mode) => {
                open.elicitation = Some(mode.elicitation_id.0.to_string());
                url = Some(mode.url);
            }
            _ => return None,
        }
        let id = open.id.clone();
        self.open.push(open);
        Some(ChatInputRequest {
            id,
            message: Some(asked.message),
            url,
            questions,
            answers: None,
        })
    }

    /// The answer to the agent, with its name for the request.
    pub(super) fn answer(
        &mut self,
        id: &str,
        response: &ChatInputResponseKind,
        answers: &HashMap<String, ChatInputAnswer>,
    ) -> Option<(Value, Value)> {
        let index = self.open.iter().position(|open| open.id == id)?;
        let open = self.open.remove(index);
        let answer = match response {
            ChatInputResponseKind::Accept => {
                let values = answers.iter().filter_map(|(id, answer)| {
                    Some((id.clone(), value_of(answer, open.integers.contains(id))?))
                });
                json!({"action": "accept", "content": values.collect::<Map<_, _>>()})
            }
            ChatInputResponseKind::Decline => json!({"action": "decline"}),
            ChatInputResponseKind::Cancel => json!({"action": "cancel"}),
        };
        Some((open.request, answer))
    }

    /// What happens at a URL is done: the host's name for the question, and
    /// the agent's.
    pub(super) fn done_elsewhere(&mut self, elicitation: &str) -> Option<(String, Value)> {
        self.take(|open| open.elicitation.as_deref() == Some(elicitation))
    }

    /// The agent takes a question back.
    pub(super) fn withdraw(&mut self, request: &Value) -> Option<String> {
        let (id, _) = self.take(|open| open.request == *request)?;
        Some(id)
    }

    /// All that are still open, with the agent's names for them.
    pub(super) fn abandon(&mut self) -> Vec<Value> {
        self.open.drain(..).map(|open| open.request).collect()
    }

    pub(super) fn waits(&self) -> bool {
        !self.open.is_empty()
    }

    fn take(&mut self, wanted: impl Fn(&OpenQuestion) -> bool) -> Option<(String, Value)> {
        let index = self.open.iter().position(wanted)?;
        let open = self.open.remove(index);
        Some((open.id, open.request))
    }
}

fn questions_of(schema: ElicitationSchema) -> Vec<ChatInputQuestion> {
    let required = schema.required.unwrap_or_default();
    let properties: BTreeMap<_, _> = schema.properties;
    let mut questions = Vec::new();
    for (id, property) in properties {
        let required = Some(required.contains(&id));
        questions.extend(question(id, required, property));
    }
    questions
}

fn question(
    id: String,
    required: Option<bool>,
    property: ElicitationPropertySchema,
) -> Option<ChatInputQuestion> {
    let message = |description: Option<String>, title: &Option<String>| {
        description
            .or_else(|| title.clone())
            .unwrap_or_else(|| id.clone())
    };
    Some(match property {
        ElicitationPropertySchema::String(schema) => text_question(id, required, schema),
        ElicitationPropertySchema::Number(schema) => {
            ChatInputQuestion::Number(ChatInputNumberQuestion {
                message: message(schema.description, &schema.title),
                id,
                title: schema.title,
                required,
                min: schema.minimum,
                max: schema.maximum,
                default_value: schema.default,
            })
        }
        ElicitationPropertySchema::Integer(schema) => {
            #[expect(clippy::cast_precision_loss, reason = "limits of a form are small")]
            let number = |number: i64| number as f64;
            ChatInputQuestion::Integer(ChatInputNumberQuestion {
                message: message(schema.description, &schema.title),
                id,
                title: schema.title,
                required,
                min: schema.minimum.map(number),
                max: schema.maximum.map(number),
                default_value: schema.default.map(number),
            })
        }
        ElicitationPropertySchema::Boolean(schema) => {
            ChatInputQuestion::Boolean(ChatInputBooleanQuestion {
                message: message(schema.description, &schema.title),
                id,
                title: schema.title,
                required,
                default_value: schema.default,
            })
        }
        ElicitationPropertySchema::Array(schema) => {
            let options = match schema.items {
                MultiSelectItems::String(items) => items.values.into_iter().map(plain).collect(),
                MultiSelectItems::Titled(items) => items.options.into_iter().map(titled).collect(),
                _ => return None,
            };
            let number = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok());
            ChatInputQuestion::MultiSelect(ChatInputMultiSelectQuestion {
                message: message(schema.description, &schema.title),
                id,
                title: schema.title,
                required,
                options,
                allow_freeform_input: None,
                min: number(schema.min_items),
                max: number(schema.max_items),
            })
        }
        _ => return None,
    })
}

fn text_question(
    id: String,
    required: Option<bool>,
    schema: StringPropertySchema,
) -> ChatInputQuestion {
    let title = schema.title;
    let message = schema
        .description
        .or_else(|| title.clone())
        .unwrap_or_else(|| id.clone());
    let titled = schema
        .one_of
        .map(|options| options.into_iter().map(titled).collect());
    let plain = || Some(schema.enum_values?.into_iter().map(plain).collect());
    match titled.or_else(plain) {
        Some(options) => ChatInputQuestion::SingleSelect(ChatInputSingleSelectQuestion {
            id,
            title,
            message,
            required,
            options,
            allow_freeform_input: None,
        }),
        None => ChatInputQuestion::Text(ChatInputTextQuestion {
            id,
            title,
            message,
            required,
            format: schema.format.and_then(|format| {
                let format = serde_json::to_value(format).ok()?;
                format.as_str().map(str::to_owned)
            }),
            min: schema.min_length.map(i64::from),
            max: schema.max_length.map(i64::from),
            default_value: schema.default,
        }),
    }
}

fn plain(value: String) -> ChatInputOption {
    ChatInputOption {
        id: value.clone(),
        label: value,
        description: None,
        recommended: None,
    }
}

fn titled(option: EnumOption) -> ChatInputOption {
    ChatInputOption {
        id: option.value,
        label: option.title,
        description: option.description,
        recommended: None,
    }
}

/// An answer as the form's content has it; nothing for one that was left out.
fn value_of(answer: &ChatInputAnswer, whole: bool) -> Option<Value> {
    let answered = match answer {
        ChatInputAnswer::Draft(answered) | ChatInputAnswer::Submitted(answered) => answered,
        ChatInputAnswer::Skipped(_) => return None,
    };
    Some(match &answered.value {
        ChatInputAnswerValue::Text(text) => json!(text.value),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within the form's limits"
        )]
        ChatInputAnswerValue::Number(number) if whole => json!(number.value as i64),
        ChatInputAnswerValue::Number(number) => json!(number.value),
        ChatInputAnswerValue::Boolean(boolean) => json!(boolean.value),
        ChatInputAnswerValue::Selected(selected) => json!(selected.value),
        ChatInputAnswerValue::SelectedMany(selected) => json!(selected.value),
        ChatInputAnswerValue::Unknown(value) => value.get("value")?.clone(),
    })
}
