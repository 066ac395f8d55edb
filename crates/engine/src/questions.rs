//! Questions to the user: an agent asks, clients fill in the answers together,
//! and one of them accepts, declines or dismisses.

use std::collections::HashMap;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::Decision;
use innkeeper_protocol::house::actions::{
    ChatInputAnswerChangedAction, ChatInputCompletedAction, ChatInputRequestedAction, StateAction,
};
use innkeeper_protocol::house::state::{
    ChatInputAnswer, ChatInputQuestion, ChatInputRequest, ChatInputResponseKind, ChatState,
    ResponsePart,
};

use crate::Engine;
use crate::answers::{as_meant, check_answer, is_required, outspoken};
use crate::chats::Chat;
use crate::dispatch::Verdict::{self, Apply, Reject};
use crate::dispatch::reject;

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
fn no_such_request(head: &ChatState, id: &str) -> String {
    let parts = head.active_turn.as_ref().map(|turn| &turn.response_parts);
    let answered = parts
        .into_iter()
        .flatten()
        .any(|part| matches!(part, ResponsePart::InputRequest(part) if part.request.id == id));
    match answered {
        true => format!("the request `{id}` has been answered already"),
        false => format!("there is no open request `{id}`"),
    }
}

impl Engine {
    pub(crate) fn ask(&mut self, uri: &ChannelUri, mut request: ChatInputRequest) {
        let questions = request.questions.take();
        request.questions = questions.map(|it| it.into_iter().map(outspoken).collect());
        self.close_part(uri);
        let Some(session) = self.chats.get(uri).map(|chat| chat.session.clone()) else {
            return;
        };
        let action = ChatInputRequestedAction { request };
        self.emit(uri, StateAction::ChatInputRequested(action), None);
        self.mark_unread(&session);
    }

    pub(crate) fn withdraw_question(&mut self, uri: &ChannelUri, request_id: String) {
        let open = self.chats.get(uri);
        if open.is_some_and(|chat| open_request(&chat.head, &request_id).is_some()) {
            let action = ChatInputCompletedAction {
                request_id,
                response: ChatInputResponseKind::Cancel,
                answers: None,
            };
            self.emit(uri, StateAction::ChatInputCompleted(action), None);
        }
    }

    pub(crate) fn judge_answer_change(
        &self,
        chat: &Chat,
        action: &ChatInputAnswerChangedAction,
    ) -> Verdict {
        let Some(request) = open_request(&chat.head, &action.request_id) else {
            return Reject(no_such_request(&chat.head, &action.request_id));
        };
        let Some(question) = question_of(request, &action.question_id) else {
            return reject(format!(
                "the request has no question `{}`",
                action.question_id
            ));
        };
        let mut action = action.clone();
        action.answer = action.answer.map(|answer| as_meant(question, answer));
        match &action.answer {
            None | Some(ChatInputAnswer::Skipped(_)) => {}
            // What is being typed may still be too short or too large.
            Some(ChatInputAnswer::Draft(draft)) => {
                if let Err(reason) = check_answer(question, &draft.value, false) {
                    return Reject(reason);
                }
            }
            Some(ChatInputAnswer::Submitted(answer)) => {
                if let Err(reason) = check_answer(question, &answer.value, true) {
                    return Reject(reason);
                }
            }
        }
        Apply(StateAction::ChatInputAnswerChanged(action))
    }

    pub(crate) fn judge_input_completed(
        &self,
        chat: &Chat,
        action: &ChatInputCompletedAction,
    ) -> Verdict {
        let Some(request) = open_request(&chat.head, &action.request_id) else {
            return Reject(no_such_request(&chat.head, &action.request_id));
        };
        let mut action = action.clone();
        for (id, answer) in action.answers.iter_mut().flatten() {
            let Some(question) = question_of(request, id) else {
                return reject(format!("the request has no question `{id}`"));
            };
            *answer = as_meant(question, answer.clone());
        }
        if action.response == ChatInputResponseKind::Accept
            && let Err(reason) = check_all(request, action.answers.as_ref())
        {
            return Reject(reason);
        }
        Apply(StateAction::ChatInputCompleted(action))
    }

    /// A request was completed: the agent is told, with the final answers.
    pub(crate) fn input_completed(&mut self, uri: &ChannelUri, action: ChatInputCompletedAction) {
        let parts = self
            .chats
            .get(uri)
            .and_then(|chat| chat.head.active_turn.as_ref())
            .map(|turn| turn.response_parts.iter().rev());
        let answers = parts.into_iter().flatten().find_map(|part| match part {
            ResponsePart::InputRequest(part) if part.request.id == action.request_id => {
                part.request.answers.clone()
            }
            _ => None,
        });
        let decision = Decision::Answer {
            request: action.request_id,
            response: action.response,
            answers: answers.unwrap_or_default(),
        };
        self.decided(uri, decision);
    }
}

fn question_of<'a>(request: &'a ChatInputRequest, id: &str) -> Option<&'a ChatInputQuestion> {
    let mut questions = request.questions.iter().flatten();
    questions.find(|question| id_of(question) == Some(id))
}

fn id_of(question: &ChatInputQuestion) -> Option<&str> {
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
