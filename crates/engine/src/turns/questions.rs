//! Questions to the user: an agent asks, clients fill in the answers together,
//! and one of them accepts, declines or dismisses.

use std::collections::HashMap;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::Decision;
use innkeeper_protocol::newest::actions::{
    ChatInputAnswerChangedAction, ChatInputCompletedAction, ChatInputRequestedAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    ChatInputAnswer, ChatInputQuestion, ChatInputRequest, ChatInputResponseKind, ChatState,
    ResponsePart,
};
use innkeeper_protocol::outgoing::RejectionCode;

use super::TurnsMut;
use super::answers::{as_meant, check_answer, is_required, outspoken};
use super::dispatch::After;
use super::secrets::{self, Secrets};
use crate::core::channels::Chat;
use crate::core::{Refusal, Verdict};

/// An unanswered request of the active turn.
fn open_request<'a>(head: &'a ChatState, id: &str) -> Option<&'a ChatInputRequest> {
    let parts = &head.active_turn.as_ref()?.response_parts;
    parts.iter().find_map(|part| match part {
        ResponsePart::InputRequest(part) if part.response.is_none() && part.request.id == id => {
            Some(&part.request)
        }
        _ => None,
    })
}

/// Why there is no such open request.
fn no_such_request(head: &ChatState, id: &str) -> Refusal {
    let parts = head.active_turn.as_ref().map(|turn| &turn.response_parts);
    let answered = parts
        .into_iter()
        .flatten()
        .any(|part| matches!(part, ResponsePart::InputRequest(part) if part.request.id == id));
    match answered {
        true => {
            let reason = format!("the request `{id}` has been answered already");
            Refusal::new(RejectionCode::AlreadyDone, reason)
        }
        false => format!("no request `{id}` is open").into(),
    }
}

impl TurnsMut<'_> {
    pub(super) fn ask(&mut self, uri: &ChannelUri, mut request: ChatInputRequest) {
        let questions = request.questions.take();
        request.questions = questions.map(|it| it.into_iter().map(outspoken).collect());
        self.close_part(uri);
        let Some(session) = self.core.channels.session_of(uri) else {
            return;
        };
        let action = ChatInputRequestedAction { request };
        self.core
            .emit(uri, StateAction::ChatInputRequested(action), None);
        self.mark_unread(&session);
    }

    pub(super) fn withdraw_question(&mut self, uri: &ChannelUri, request_id: String) {
        let open = self.core.channels.chat(uri);
        if open.is_some_and(|chat| open_request(&chat.head, &request_id).is_some()) {
            let action = ChatInputCompletedAction {
                request_id,
                response: ChatInputResponseKind::Cancel,
                answers: None,
            };
            self.core
                .emit(uri, StateAction::ChatInputCompleted(action), None);
        }
    }

    /// The turn is about to end: nobody needs an answer any more.
    pub(super) fn withdraw_all_questions(&mut self, uri: &ChannelUri) {
        let chat = self.core.channels.chat(uri);
        let turn = chat.and_then(|chat| chat.head.active_turn.as_ref());
        let parts = turn.into_iter().flat_map(|turn| &turn.response_parts);
        let open: Vec<String> = parts
            .filter_map(|part| match part {
                ResponsePart::InputRequest(part) if part.response.is_none() => {
                    Some(part.request.id.clone())
                }
                _ => None,
            })
            .collect();
        for request in open {
            self.withdraw_question(uri, request);
        }
    }

    /// A request was completed: the agent is told, with the final answers.
    pub(super) fn input_completed(
        &mut self,
        uri: &ChannelUri,
        request_id: String,
        response: ChatInputResponseKind,
    ) {
        let parts = self
            .core
            .channels
            .chat(uri)
            .and_then(|chat| chat.head.active_turn.as_ref())
            .map(|turn| turn.response_parts.iter().rev());
        let answers = parts.into_iter().flatten().find_map(|part| match part {
            ResponsePart::InputRequest(part) if part.request.id == request_id => {
                part.request.answers.clone()
            }
            _ => None,
        });
        let answers = self.reveal(uri, &request_id, answers.unwrap_or_default());
        let decision = Decision::Answer {
            request: request_id,
            response,
            answers,
        };
        self.decided(uri, decision);
    }
}

pub(super) fn judge_answer_change(
    chat: &Chat,
    mut action: ChatInputAnswerChangedAction,
) -> Verdict<After> {
    match check_answer_change(chat, &mut action) {
        Ok(secrets) => {
            let after = match secrets.is_empty() {
                true => After::Nothing,
                false => After::SecretAnswered(secrets),
            };
            Verdict::Apply(StateAction::ChatInputAnswerChanged(action), after)
        }
        Err(reason) => Verdict::reject(StateAction::ChatInputAnswerChanged(action), reason),
    }
}

/// Reads the answer as it is meant, and takes out what must not be published.
fn check_answer_change(
    chat: &Chat,
    action: &mut ChatInputAnswerChangedAction,
) -> Result<Secrets, Refusal> {
    let Some(request) = open_request(&chat.head, &action.request_id) else {
        return Err(no_such_request(&chat.head, &action.request_id));
    };
    let Some(question) = question_of(request, &action.question_id) else {
        let id = &action.question_id;
        return Err(format!("the request has no question `{id}`").into());
    };
    let answer = action.answer.clone();
    let mut answer = answer.map(|answer| as_meant(question, answer));
    match &answer {
        Some(answer) if secrets::was_checked(question, answer) => {}
        None | Some(ChatInputAnswer::Skipped(_)) => {}
        // What is being typed may still be too short or too large.
        Some(ChatInputAnswer::Draft(draft)) => check_answer(question, &draft.value, false)?,
        Some(ChatInputAnswer::Submitted(answer)) => check_answer(question, &answer.value, true)?,
    }
    let mut secrets = Secrets::default();
    if let Some(answer) = &mut answer {
        secrets.take(&action.request_id, &action.question_id, question, answer);
    }
    action.answer = answer;
    Ok(secrets)
}

pub(super) fn judge_input_completed(
    chat: &Chat,
    mut action: ChatInputCompletedAction,
) -> Verdict<After> {
    match answers_meant(chat, &action) {
        Ok((answers, secrets)) => {
            action.answers = answers;
            let after = After::InputCompleted {
                request: action.request_id.clone(),
                response: action.response,
                secrets,
            };
            Verdict::Apply(StateAction::ChatInputCompleted(action), after)
        }
        Err(reason) => Verdict::reject(StateAction::ChatInputCompleted(action), reason),
    }
}

/// The answers that come with the end of a request, if it can end so, and what
/// must not be published of them.
fn answers_meant(
    chat: &Chat,
    action: &ChatInputCompletedAction,
) -> Result<(Option<HashMap<String, ChatInputAnswer>>, Secrets), Refusal> {
    let Some(request) = open_request(&chat.head, &action.request_id) else {
        return Err(no_such_request(&chat.head, &action.request_id));
    };
    let mut answers = action.answers.clone();
    for (id, answer) in answers.iter_mut().flatten() {
        let Some(question) = question_of(request, id) else {
            return Err(format!("the request has no question `{id}`").into());
        };
        *answer = as_meant(question, answer.clone());
    }
    if action.response == ChatInputResponseKind::Accept {
        check_all(request, answers.as_ref())?;
    }
    let mut secrets = Secrets::default();
    for (id, answer) in answers.iter_mut().flatten() {
        if let Some(question) = question_of(request, id) {
            secrets.take(&request.id, id, question, answer);
        }
    }
    Ok((answers, secrets))
}

fn question_of<'a>(request: &'a ChatInputRequest, id: &str) -> Option<&'a ChatInputQuestion> {
    let mut questions = request.questions.iter().flatten();
    questions.find(|question| id_of(question) == Some(id))
}

pub(super) fn id_of(question: &ChatInputQuestion) -> Option<&str> {
    match question {
        ChatInputQuestion::Text(question) => Some(&question.id),
        ChatInputQuestion::Number(question) | ChatInputQuestion::Integer(question) => {
            Some(&question.id)
        }
        ChatInputQuestion::Boolean(question) => Some(&question.id),
        ChatInputQuestion::SingleSelect(question) => Some(&question.id),
        ChatInputQuestion::MultiSelect(question) => Some(&question.id),
        ChatInputQuestion::Unknown(value) => value.get("id")?.as_str(),
    }
}

/// Whether a request may be accepted with the answers that it has and those
/// that come with the acceptance.
fn check_all(
    request: &ChatInputRequest,
    given: Option<&HashMap<String, ChatInputAnswer>>,
) -> Result<(), String> {
    for question in request.questions.iter().flatten() {
        let Some(id) = id_of(question) else {
            continue;
        };
        let of = |answers: &'_ HashMap<String, ChatInputAnswer>| answers.get(id).cloned();
        let answer = given.and_then(of).or(request.answers.as_ref().and_then(of));
        match answer {
            Some(ChatInputAnswer::Draft(_)) if is_required(question) => {
                return Err(format!(
                    "the answer to `{id}` is only a draft; submit it to accept"
                ));
            }
            Some(answer) if secrets::was_checked(question, &answer) => {}
            Some(ChatInputAnswer::Draft(answer) | ChatInputAnswer::Submitted(answer)) => {
                check_answer(question, &answer.value, true)?;
            }
            Some(ChatInputAnswer::Skipped(_)) | None if is_required(question) => {
                return Err(format!("the question `{id}` must be answered to accept"));
            }
            Some(ChatInputAnswer::Skipped(_)) | None => {}
        }
    }
    Ok(())
}
