//! Prompts on a terminal: what is wrong is asked again, and what a question
//! takes is said with it.

use std::fmt;
use std::io::{self, IsTerminal as _};

use ahp::ahp_types::state::{
    ChatInputAnswerValue, ChatInputOption, ChatInputQuestion, ChatInputSelectedAnswerValue,
    ChatInputSelectedManyAnswerValue, ConfirmationOption, ConfirmationOptionKind,
};
use inquire::validator::Validation;
use inquire::{InquireError, MultiSelect, Password, Select, Text};

use super::answers::{asked, default_of, expected, parse};
use crate::cli::text;

/// What became of a prompt.
#[derive(Debug, PartialEq)]
pub(crate) enum Prompted<T> {
    Answered(T),
    /// Somebody did not want to answer, or nobody is there.
    NotAnswered,
    /// Ctrl-C.
    Interrupted,
}

/// Whether somebody can be asked.
pub(crate) fn is_anybody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn prompted<T>(result: Result<T, InquireError>) -> Prompted<T> {
    match result {
        Ok(answer) => Prompted::Answered(answer),
        Err(InquireError::OperationInterrupted) => Prompted::Interrupted,
        Err(_) => Prompted::NotAnswered,
    }
}

/// An option in a list.
struct Shown<'a, T> {
    label: String,
    value: &'a T,
}

impl<T> fmt::Display for Shown<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// What to do with a tool call: one of the agent's own options, or yes and no.
pub(crate) fn choose(options: &[ConfirmationOption]) -> Prompted<(bool, Option<String>)> {
    let own = |id: &str, label: &str, kind| ConfirmationOption {
        id: id.to_owned(),
        label: label.to_owned(),
        kind,
        group: None,
    };
    let plain = [
        own("", "Deny", ConfirmationOptionKind::Deny),
        own("", "Approve", ConfirmationOptionKind::Approve),
    ];
    let known: Vec<&ConfirmationOption> = options
        .iter()
        .filter(|it| !matches!(it.kind, ConfirmationOptionKind::Unknown(_)))
        .collect();
    let offered: Vec<&ConfirmationOption> = match known.is_empty() {
        true => plain.iter().collect(),
        false => known,
    };
    // A key that was pressed too early approves nothing.
    let deny = offered
        .iter()
        .position(|it| it.kind == ConfirmationOptionKind::Deny);
    let shown = offered
        .into_iter()
        .map(|value| Shown {
            label: text::one_line(&value.label),
            value,
        })
        .collect();
    let select = Select::new("Decision:", shown).with_starting_cursor(deny.unwrap_or(0));
    match prompted(select.prompt()) {
        Prompted::Answered(Shown { value, .. }) => {
            let approved = value.kind == ConfirmationOptionKind::Approve;
            let id = Some(value.id.clone()).filter(|id| !id.is_empty());
            Prompted::Answered((approved, id))
        }
        Prompted::NotAnswered => Prompted::NotAnswered,
        Prompted::Interrupted => Prompted::Interrupted,
    }
}

/// Waits for Enter.
pub(crate) fn wait_for_enter() -> Prompted<String> {
    prompted(Text::new("Press Enter to continue").prompt())
}

/// Asks a question until the answer fits.
pub(crate) fn ask(question: &ChatInputQuestion) -> Prompted<Option<ChatInputAnswerValue>> {
    let Some(asked) = asked(question) else {
        return Prompted::Answered(None);
    };
    let message = match asked.title {
        Some(title) if title != asked.message => format!("{title}: {}", asked.message),
        _ => asked.message.to_owned(),
    };
    let message = text::one_line(&message);
    let need = if asked.required {
        "required"
    } else {
        "optional"
    };
    let help = match expected(question) {
        Some(expected) => format!("{expected}; {need}"),
        None => need.to_owned(),
    };
    match question {
        ChatInputQuestion::SingleSelect(q) if q.allow_freeform_input != Some(true) => {
            let first = q.options.iter().position(|it| it.recommended == Some(true));
            let select = Select::new(&message, labels(&q.options))
                .with_help_message(&help)
                .with_starting_cursor(first.unwrap_or(0));
            let chosen = match asked.required {
                true => prompted(select.prompt().map(Some)),
                false => prompted(select.prompt_skippable()),
            };
            mapped(chosen, |chosen| {
                ChatInputAnswerValue::Selected(ChatInputSelectedAnswerValue {
                    value: chosen.value.id.clone(),
                    freeform_values: None,
                })
            })
        }
        ChatInputQuestion::MultiSelect(q) if q.allow_freeform_input != Some(true) => {
            let (min, max) = (q.min.unwrap_or(0), q.max.unwrap_or(i64::MAX));
            let fits = move |count: usize| (min..=max).contains(&i64::try_from(count).unwrap_or(0));
            let wrong = format!("choose {}", expected(question).unwrap_or_default());
            let chosen = MultiSelect::new(&message, labels(&q.options))
                .with_help_message(&help)
                .with_validator(
                    move |chosen: &[inquire::list_option::ListOption<&Shown<'_, _>>]| {
                        Ok(match fits(chosen.len()) {
                            true => Validation::Valid,
                            false => Validation::Invalid(wrong.clone().into()),
                        })
                    },
                )
                .prompt();
            mapped(prompted(chosen.map(Some)), |chosen| {
                ChatInputAnswerValue::SelectedMany(ChatInputSelectedManyAnswerValue {
                    value: chosen.into_iter().map(|it| it.value.id.clone()).collect(),
                    freeform_values: None,
                })
            })
        }
        _ => {
            let judged = question.clone();
            let fits = move |typed: &str| {
                Ok(match parse(&judged, typed) {
                    Ok(_) => Validation::Valid,
                    Err(why) => Validation::Invalid(why.into()),
                })
            };
            let options = listed(question);
            let message = format!("{message}{options}");
            let default = default_of(question);
            let typed = match asked.secret {
                true => Password::new(&message)
                    .with_help_message(&help)
                    .with_validator(fits)
                    .without_confirmation()
                    .prompt(),
                false => {
                    let prompt = Text::new(&message)
                        .with_help_message(&help)
                        .with_validator(fits);
                    match &default {
                        Some(default) => prompt.with_default(default).prompt(),
                        None => prompt.prompt(),
                    }
                }
            };
            match prompted(typed) {
                Prompted::Answered(typed) => {
                    Prompted::Answered(parse(question, &typed).ok().flatten())
                }
                Prompted::NotAnswered => Prompted::NotAnswered,
                Prompted::Interrupted => Prompted::Interrupted,
            }
        }
    }
}

fn mapped<T>(
    chosen: Prompted<Option<T>>,
    answer: impl FnOnce(T) -> ChatInputAnswerValue,
) -> Prompted<Option<ChatInputAnswerValue>> {
    match chosen {
        Prompted::Answered(chosen) => Prompted::Answered(chosen.map(answer)),
        Prompted::NotAnswered => Prompted::NotAnswered,
        Prompted::Interrupted => Prompted::Interrupted,
    }
}

fn label(option: &ChatInputOption) -> String {
    match &option.description {
        Some(description) => text::one_line(&format!("{} ({description})", option.label)),
        None => text::one_line(&option.label),
    }
}

fn labels(options: &[ChatInputOption]) -> Vec<Shown<'_, ChatInputOption>> {
    let shown = |value| Shown {
        label: label(value),
        value,
    };
    options.iter().map(shown).collect()
}

/// The options of a question that also takes something else.
fn listed(question: &ChatInputQuestion) -> String {
    let options = match question {
        ChatInputQuestion::SingleSelect(q) => &q.options,
        ChatInputQuestion::MultiSelect(q) => &q.options,
        _ => return String::new(),
    };
    let labels: Vec<String> = options.iter().map(label).collect();
    format!(" [{}]", labels.join(" | "))
}
