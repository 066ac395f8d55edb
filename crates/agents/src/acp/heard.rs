//! What the agent says to the host: answers, notifications and requests, as
//! they come in.

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, Error, RequestPermissionRequest};
use innkeeper_protocol::agent::{AgentCommandInfo, AgentEvent, TurnEvent};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::ErrorInfo;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::backend::Backend;
use super::permission;
use super::permission::PermissionRequest;
use super::rpc::{Incoming, RequestNo, sentence};
use super::turn::{Turn, about_stop};

impl Backend {
    pub(super) async fn incoming(&mut self, incoming: Incoming) {
        self.heard = Instant::now();
        if std::mem::take(&mut self.told_of_silence) {
            self.turn_events(vec![TurnEvent::Activity(None)]).await;
        }
        match incoming {
            Incoming::Response { to, result } => self.answered(to, result).await,
            Incoming::Notification { method, params } => self.notified(&method, &params).await,
            Incoming::Request { id, method, params } => self.asked(&id, &method, &params).await,
        }
    }

    async fn answered(&mut self, to: RequestNo, result: Result<Value, Error>) {
        if self.turn.as_ref().is_some_and(|turn| turn.request == to) {
            return self.prompt_answered(result).await;
        }
        if let Some(change) = self.changing.remove(&to) {
            match result {
                Ok(answer) => {
                    self.session.settings.changed(&change, &answer);
                }
                Err(error) => {
                    let name = &self.access.name;
                    let text = format!("{name} did not accept a setting: {}", sentence(&error));
                    self.notices.push(text);
                }
            }
            return self.settings_changed().await;
        }
        if let Some(message) = self.steering.remove(&to)
            && result.is_ok_and(|answer| answer["outcome"] != "promptRequired")
        {
            self.turn_events(vec![TurnEvent::Steered { message }]).await;
        }
    }

    /// The turn is over.
    async fn prompt_answered(&mut self, result: Result<Value, Error>) {
        self.dismiss_requests();
        // What it has not taken up by now becomes a turn of its own.
        self.steering.clear();
        let Some(mut turn) = self.turn.take() else {
            return;
        };
        self.services.turn_ends(self.session.peer.answers());
        let mut events = Vec::new();
        match result {
            _ if turn.is_cancelled() => events.push(TurnEvent::Cancelled),
            Ok(answer) => {
                let reason = answer["stopReason"].as_str().unwrap_or("end_turn");
                let terminals = |id: &str| self.services.terminal(id);
                if reason == "cancelled" {
                    events.push(TurnEvent::Cancelled);
                } else {
                    events.extend(turn.closing(&answer, &terminals));
                    let sentence = about_stop(reason).map(StringOrMarkdown::from);
                    events.extend(sentence.map(TurnEvent::Notice));
                    events.push(TurnEvent::StopReason(reason.to_owned()));
                    events.push(TurnEvent::Completed);
                }
            }
            Err(error) => {
                let error = ErrorInfo {
                    error_type: "agentError".to_owned(),
                    message: sentence(&error),
                    stack: None,
                    meta: None,
                };
                events.push(TurnEvent::Failed {
                    error,
                    resumable: true,
                });
            }
        }
        let Turn {
            id,
            asked,
            answered,
            ..
        } = turn;
        for event in events {
            self.events.turn(&id, event).await;
        }
        self.transcript.add(&id, asked, answered);
    }

    async fn notified(&mut self, method: &str, params: &Value) {
        match method {
            "session/update" if self.is_ours(params) => self.update(&params["update"]).await,
            "elicitation/complete" => {
                let id = params["elicitationId"].as_str().unwrap_or_default();
                if let Some((request, asked)) = self.questions.done_elsewhere(id) {
                    let answer = json!({"action": "accept"});
                    self.session.peer.answers().give(&asked, Ok(answer));
                    self.turn_events(vec![TurnEvent::AskWithdrawn { request }])
                        .await;
                }
            }
            "$/cancel_request" => {
                let asked = params.get("requestId").or(params.get("id"));
                if let Some(asked) = asked.cloned() {
                    self.withdrawn(&asked).await;
                }
            }
            // Notifications of the agent's own are no concern of ours.
            other => tracing::debug!(method = other, "an agent said something unknown"),
        }
    }

    /// The agent does not need an answer any more.
    async fn withdrawn(&mut self, asked: &Value) {
        let question = self.questions.withdraw(asked);
        let permission = self
            .turn
            .as_mut()
            .is_some_and(|turn| turn.calls.withdraw(asked));
        if question.is_some() || permission {
            let error = Err::<Value, _>(Error::request_cancelled());
            self.session.peer.answers().give(asked, error);
        }
        if let Some(request) = question {
            self.turn_events(vec![TurnEvent::AskWithdrawn { request }])
                .await;
        }
    }

    async fn asked(&mut self, id: &Value, method: &str, params: &Value) {
        let answers = self.session.peer.answers();
        if let Some(events) = self.services.serve(answers, id, method, params) {
            return self.turn_events(events).await;
        }
        let names = CLIENT_METHOD_NAMES;
        let events = match method {
            _ if method == names.session_request_permission => self.ask_permission(id, params),
            _ if method == names.elicitation_create => self.ask_question(id, params),
            _ => {
                let error = Error::method_not_found();
                self.session.peer.answers().give(id, Err::<Value, _>(error));
                return;
            }
        };
        self.turn_events(events).await;
    }

    fn ask_permission(&mut self, id: &Value, params: &Value) -> Vec<TurnEvent> {
        let request = PermissionRequest {
            request: id.clone(),
            options: permission::options(&params["options"]),
        };
        // Options may be of kinds that nobody knows; they are read by
        // themselves.
        let mut known = params.clone();
        known["options"] = json!([]);
        let call = serde_json::from_value::<RequestPermissionRequest>(known);
        let answers = self.session.peer.answers();
        match (call, self.turn.as_mut().filter(|turn| !turn.is_cancelled())) {
            (Ok(asked), Some(turn)) => turn.calls.ask(asked.tool_call, request),
            (Ok(_), None) => {
                answers.give(id, Ok(permission::answer(None)));
                Vec::new()
            }
            (Err(error), _) => {
                let error = Error::new(-32602, error.to_string());
                answers.give(id, Err::<Value, _>(error));
                Vec::new()
            }
        }
    }

    fn ask_question(&mut self, id: &Value, params: &Value) -> Vec<TurnEvent> {
        let answers = self.session.peer.answers();
        let asked = match serde_json::from_value(params.clone()) {
            Ok(asked) => asked,
            Err(error) => {
                let error = Error::new(-32602, error.to_string());
                answers.give(id, Err::<Value, _>(error));
                return Vec::new();
            }
        };
        let somebody_listens = self.turn.as_ref().is_some_and(|turn| !turn.is_cancelled());
        let request = match somebody_listens {
            true => self.questions.ask(id.clone(), asked),
            false => None,
        };
        match request {
            Some(request) => vec![TurnEvent::Ask(Box::new(request))],
            None => {
                answers.give(id, Ok(json!({"action": "cancel"})));
                Vec::new()
            }
        }
    }

    fn is_ours(&self, params: &Value) -> bool {
        params["sessionId"]
            .as_str()
            .is_none_or(|session| session == self.session.id)
    }

    pub(super) async fn update(&mut self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        match kind {
            "available_commands_update" => {
                let commands = commands_of(&update["availableCommands"]);
                self.events.emit(AgentEvent::Commands(commands)).await;
            }
            "session_info_update" => {
                if let Some(title) = update["title"].as_str() {
                    self.events.emit(AgentEvent::Title(title.to_owned())).await;
                }
            }
            "current_mode_update" => {
                let mode = update["currentModeId"].as_str().unwrap_or_default();
                self.session.settings.mode_changed(mode);
                self.settings_changed().await;
            }
            "config_option_update" => {
                self.session
                    .settings
                    .options_changed(&update["configOptions"]);
                self.learn();
                self.settings_changed().await;
            }
            _ => {
                let services = &self.services;
                let terminals = |id: &str| services.terminal(id);
                let events = match &mut self.turn {
                    Some(turn) => turn.update(kind, update, &terminals),
                    None => Vec::new(),
                };
                self.turn_events(events).await;
            }
        }
    }

    /// The agent's settings may be others now. What they are is told when no
    /// change is under way any more: until then the agent is of two minds.
    pub(super) async fn settings_changed(&mut self) {
        if !self.changing.is_empty() {
            return;
        }
        let values = self.session.settings.values();
        self.config.extend(values.clone());
        self.events.emit(AgentEvent::Configured(values)).await;
    }
}

fn commands_of(list: &Value) -> Vec<AgentCommandInfo> {
    let read = |command: &Value| {
        let name = command["name"].as_str()?.trim_start_matches('/');
        Some(AgentCommandInfo {
            name: name.to_owned(),
            description: command["description"].as_str().map(str::to_owned),
        })
    };
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(read)
        .collect()
}
