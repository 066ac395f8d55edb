//! What pi says to the host: events, answers and dialogs, as they come in.

use std::collections::HashMap;

use innkeeper_protocol::agent::{AgentActivity, AgentEvent, AgentFailure, AgentNotice, TurnEvent};
use innkeeper_protocol::newest::state::ChatInputResponseKind;
use serde_json::{Value, json};

use super::dialogs;
use super::session::{Request, THINKING, error_of};
use super::speech::Talk;
use super::turn::Failure;

impl Talk {
    pub(super) async fn said(&mut self, message: &Value) {
        let kind = message["type"].as_str().unwrap_or_default();
        match kind {
            "response" => self.answered(message).await,
            "extension_ui_request" => self.dialog(message).await,
            "session_info_changed" => {
                if let Some(name) = message["name"].as_str() {
                    self.events.emit(AgentEvent::Title(name.to_owned())).await;
                }
            }
            "thinking_level_changed" => {
                self.session.level = message["level"].as_str().map(str::to_owned);
                let level = (THINKING.to_owned(), message["level"].clone());
                let values = [level].into_iter().collect();
                self.events.emit(AgentEvent::Configured(values)).await;
            }
            "agent_settled" => {
                if self.turn.as_ref().is_some_and(|turn| turn.own.begun) {
                    self.turn_over().await;
                }
            }
            "extension_error" => {
                let agent = self.access.name.clone();
                let why = message["error"].as_str().map(str::to_owned);
                let failed = AgentNotice::ExtensionFailed { agent, why };
                self.tell([TurnEvent::Notice(failed)]).await;
            }
            _ => {
                let events = self.turn.as_mut().map(|turn| turn.own.event(kind, message));
                self.tell(events.unwrap_or_default()).await;
            }
        }
    }

    async fn answered(&mut self, answer: &Value) {
        let id = answer["id"].as_str().unwrap_or_default();
        let Some(request) = self.session.requests.remove(id) else {
            return;
        };
        let success = answer["success"] == true;
        let has_not_begun = self.turn.as_ref().is_some_and(|turn| !turn.own.begun);
        match request {
            Request::Prompt if !success => {
                if let Some(turn) = &mut self.turn {
                    turn.own.failure = Some(Failure(error_of(answer)));
                }
                self.turn_over().await;
            }
            Request::Prompt => {
                let mut turn = self.turn.iter();
                if has_not_begun && turn.any(|turn| turn.asked.starts_with('/')) {
                    let state = json!({"type": "get_state"});
                    self.session.ask(state, Request::StateAfterCommand);
                }
            }
            Request::StateAfterCommand => {
                let idle = answer["data"]["isStreaming"] != true;
                if idle && has_not_begun {
                    self.turn_over().await;
                }
            }
            Request::Abort => {
                if self.turn.is_some() && !self.is_at_work() {
                    self.turn_over().await;
                }
            }
            Request::Steer(message) => self.steering_answered(&message, success).await,
            Request::Setting if !success => self.setting_refused(error_of(answer)),
            Request::Setting => {}
        }
    }

    async fn dialog(&mut self, request: &Value) {
        match request["method"].as_str().unwrap_or_default() {
            "notify" => {
                let text = request["message"].as_str().unwrap_or_default();
                self.tell([TurnEvent::Notice(AgentNotice::own(text))]).await;
            }
            "setStatus" => {
                let status = request["statusText"].as_str().map(str::to_owned);
                let status = status.map(AgentActivity::Own);
                self.tell([TurnEvent::Activity(status)]).await;
            }
            _ => {
                let Some(question) = dialogs::question(request) else {
                    return;
                };
                if self.is_at_work() {
                    self.session.dialogs.insert(question.id.clone());
                    self.tell([TurnEvent::Ask(Box::new(question))]).await;
                } else {
                    let cancel = ChatInputResponseKind::Cancel;
                    let answer = dialogs::answer(&question.id, &cancel, &HashMap::new());
                    self.session.writer.write(&answer);
                }
            }
        }
    }

    async fn turn_over(&mut self) {
        self.session.dialogs.clear();
        let failure = self.turn.as_mut().and_then(|turn| turn.own.failure.take());
        let last = match failure {
            None => TurnEvent::Completed,
            Some(Failure(said)) => TurnEvent::Failed {
                failure: AgentFailure::TurnFailed { said },
                resumable: true,
            },
        };
        self.end_turn(last).await;
    }
}
