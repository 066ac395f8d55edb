//! Answers that nobody but the agent may see: those to questions for a password.
//!
//! *Invariant*: such an answer is in no action that the host emits, so neither
//! in a state nor in the log nor in the store. It is kept in memory until its
//! turn ends, and goes to the agent that asked; clients see a mask instead.

use std::collections::HashMap;
use std::fmt;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::SECRET_FORMAT;
use innkeeper_protocol::newest::state::{
    ChatInputAnswer, ChatInputAnswerValue, ChatInputAnswered, ChatInputQuestion,
    ChatInputTextAnswerValue,
};

use super::TurnsMut;

/// What stands in the place of a secret. It is never taken for an answer.
const MASK: &str = "••••••";

/// Answers by the request and the question that they are for.
#[derive(Default)]
pub(super) struct Secrets(HashMap<(String, String), ChatInputAnswer>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// Takes an answer out of what is published, if it is a secret.
    pub(super) fn take(
        &mut self,
        request: &str,
        id: &str,
        question: &ChatInputQuestion,
        answer: &mut ChatInputAnswer,
    ) {
        if !is_secret(question) || is_masked(answer) {
            return;
        }
        let mask = || ChatInputAnswered {
            value: ChatInputAnswerValue::Text(ChatInputTextAnswerValue {
                value: MASK.to_owned(),
            }),
        };
        let masked = match answer {
            ChatInputAnswer::Draft(_) => ChatInputAnswer::Draft(mask()),
            ChatInputAnswer::Submitted(_) => ChatInputAnswer::Submitted(mask()),
            ChatInputAnswer::Skipped(_) => return,
        };
        let secret = std::mem::replace(answer, masked);
        self.0.insert((request.to_owned(), id.to_owned()), secret);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The answers as they are meant. One that is not known any more, because
    /// the host was started again, was not given.
    fn reveal(
        &mut self,
        request: &str,
        answers: HashMap<String, ChatInputAnswer>,
    ) -> HashMap<String, ChatInputAnswer> {
        let revealed = answers.into_iter().filter_map(|(id, answer)| {
            if !is_masked(&answer) {
                return Some((id, answer));
            }
            let secret = self.0.remove(&(request.to_owned(), id.clone()))?;
            Some((id, secret))
        });
        revealed.collect()
    }
}

fn is_secret(question: &ChatInputQuestion) -> bool {
    matches!(question, ChatInputQuestion::Text(text) if text.format.as_deref() == Some(SECRET_FORMAT))
}

fn is_masked(answer: &ChatInputAnswer) -> bool {
    let (ChatInputAnswer::Draft(answered) | ChatInputAnswer::Submitted(answered)) = answer else {
        return false;
    };
    matches!(&answered.value, ChatInputAnswerValue::Text(text) if text.value == MASK)
}

/// Whether an answer is a mask for one that was looked at before.
pub(super) fn was_checked(question: &ChatInputQuestion, answer: &ChatInputAnswer) -> bool {
    is_secret(question) && is_masked(answer)
}

impl TurnsMut<'_> {
    pub(super) fn keep_secrets(&mut self, uri: &ChannelUri, secrets: Secrets) {
        if let Some(turn) = self.own.turn_mut(uri) {
            turn.secrets.0.extend(secrets.0);
        }
    }

    /// The answers that an agent is given.
    pub(super) fn reveal(
        &mut self,
        uri: &ChannelUri,
        request: &str,
        answers: HashMap<String, ChatInputAnswer>,
    ) -> HashMap<String, ChatInputAnswer> {
        match self.own.turn_mut(uri) {
            Some(turn) => turn.secrets.reveal(request, answers),
            None => Secrets::default().reveal(request, answers),
        }
    }
}
