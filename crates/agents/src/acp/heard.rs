//! What the agent says to the host: answers, notifications and requests, as
//! they come in.

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, Error, ErrorCode};
use innkeeper_protocol::agent::{AgentCommandInfo, AgentEvent, AgentFailure, TurnEvent};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::call::Around;
use super::child_sessions::Root;
use super::permission;
use super::rpc::{Incoming, RequestNo, sentence};
use super::session::HeldAnswer;
use super::sign_in::SignedOut;
use super::speech::Talk;
use super::sub_agents::Spoken;
use super::turn::{Turn, about_stop};
use super::whole_edits::Texts;
use crate::child;

impl Talk {
    pub(super) async fn incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Response { to, result } => self.answered(to, result).await,
            Incoming::Notification { method, params } => self.notified(&method, &params).await,
            Incoming::Request { id, method, params } => self.asked(&id, &method, &params).await,
        }
    }

    async fn answered(&mut self, to: RequestNo, result: Result<Value, Error>) {
        let mut turn = self.turn.iter();
        if turn.any(|turn| turn.own.request == to) {
            return match result {
                Ok(answer) if self.may_count_late(&answer) => {
                    let due = Instant::now() + self.access.patience.usage;
                    self.session.answer = Some(HeldAnswer { due, answer });
                }
                result => self.prompt_answered(result).await,
            };
        }
        if let Some(change) = self.session.changing.remove(&to) {
            match result {
                Ok(answer) => self.session.settings.changed(&change, &answer),
                Err(error) => self.setting_refused(Some(sentence(&error))),
            }
            return self.settings_changed().await;
        }
        if let Some((_, message)) = self.session.steering.take_if(|(asked, _)| *asked == to) {
            let taken_up = result.is_ok_and(|answer| answer["outcome"] != "promptRequired");
            self.steering_answered(&message, taken_up).await;
        }
    }

    /// Whether the agent may still say what the turn has used. Some do that only
    /// when they have answered; and what comes after the end of a turn has no
    /// place in it.
    fn may_count_late(&self, answer: &Value) -> bool {
        let turn = self.turn.as_ref().filter(|turn| !turn.is_cancelled());
        let is_uncounted = turn.is_some_and(|turn| !turn.own.is_counted_with(answer));
        is_uncounted && self.session.answer.is_none() && self.session.counts_late != Some(false)
    }

    /// The agent has said what a turn has used: the one that waits for that, or
    /// one that has waited in vain.
    async fn usage_came(&mut self) {
        let has_waited = self.turn.is_none() && self.session.counts_late.is_some();
        if has_waited || self.session.answer.is_some() {
            self.session.counts_late = Some(true);
        }
        self.give_held_answer().await;
    }

    /// The answer that was held back ends the turn now.
    pub(super) async fn give_held_answer(&mut self) {
        if let Some(HeldAnswer { answer, .. }) = self.session.answer.take() {
            self.prompt_answered(Ok(answer)).await;
        }
    }

    /// The turn is over.
    async fn prompt_answered(&mut self, result: Result<Value, Error>) {
        self.dismiss_requests();
        let services = &mut self.speech.services;
        services.turn_ends(self.session.peer.answers());
        let texts = self.look_at_files(None).await;
        let services = &self.speech.services;
        let Some(turn) = &mut self.turn else {
            return;
        };
        self.session.cost = turn.own.cost();
        let counting = &mut self.session.counting;
        if !matches!(&result, Err(error) if error.code == ErrorCode::AuthRequired) {
            self.speech.sign_ins = 0;
        }
        let last = match result {
            _ if turn.is_cancelled() => TurnEvent::Cancelled,
            Ok(answer) => {
                let reason = answer["stopReason"].as_str().unwrap_or("end_turn");
                if reason == "cancelled" {
                    TurnEvent::Cancelled
                } else {
                    let around = Around {
                        terminals: &|id| services.terminal(id),
                        texts: &texts,
                    };
                    let last = TurnEvent::Completed;
                    let mut spoken = turn.own.end_all_sub_agents(&last, around);
                    let children = &mut self.session.children;
                    spoken.extend(children.turn_ends(&turn.id, true, around));
                    let mut events = turn.own.closing_counted(&answer, counting, around);
                    events.extend(about_stop(reason).map(TurnEvent::Notice));
                    events.push(TurnEvent::StopReason(reason.to_owned()));
                    self.tell_spoken(spoken).await;
                    self.tell(events).await;
                    TurnEvent::Completed
                }
            }
            Err(error) if error.code == ErrorCode::AuthRequired => {
                // The conversation sees that, and the turn goes on.
                let id = Some(self.session.id.clone());
                self.session.signed_out = Some(SignedOut {
                    wanted: self.speech.wanted.again(id),
                    said: sentence(&error),
                    refused_prompt: true,
                });
                return;
            }
            Err(error) => {
                let said = sentence(&error);
                let failure = match turn.own.ends_with(&said) {
                    true => AgentFailure::TurnFailedAsSaid,
                    false => AgentFailure::TurnFailed { said: Some(said) },
                };
                TurnEvent::Failed {
                    failure,
                    resumable: true,
                }
            }
        };
        self.end_turn(last).await;
    }

    /// Nobody will answer what the agent has asked.
    pub(super) fn dismiss_requests(&mut self) {
        let answers = self.session.peer.answers();
        let asked = self.turn.as_mut().map(|turn| turn.own.abandon());
        for asked in asked.into_iter().flatten() {
            answers.give(&asked.request, Ok(permission::answer(None)));
        }
        self.speech.client_calls.abandon();
        for request in self.session.questions.abandon() {
            answers.give(&request, Ok(json!({"action": "cancel"})));
        }
    }

    /// There is news of a terminal.
    pub(super) async fn show_terminal(&mut self, id: &str) {
        let services = &self.speech.services;
        let around = Around {
            terminals: &|id| services.terminal(id),
            texts: &Texts::new(),
        };
        let mut spoken = match &mut self.turn {
            Some(turn) => turn.own.terminal_changed(&turn.id, id, around),
            None => Vec::new(),
        };
        spoken.extend(self.session.children.terminal_changed(id, around));
        self.tell_spoken(spoken).await;
    }

    /// What happens in the turn, or in those of agents that work for it.
    pub(super) async fn tell_spoken(&mut self, spoken: Vec<Spoken>) {
        for (turn, event) in spoken {
            match self.runs(&turn) {
                true => self.tell([event]).await,
                false => self.events.turn(&turn, event).await,
            }
        }
        self.session.answer_dismissed();
    }

    async fn notified(&mut self, method: &str, params: &Value) {
        match method {
            "session/update" if self.is_ours(params) => self.update(&params["update"]).await,
            "session/update" => self.child_update(params).await,
            "elicitation/complete" => {
                let id = params["elicitationId"].as_str().unwrap_or_default();
                if let Some((request, asked)) = self.session.questions.done_elsewhere(id) {
                    let answer = json!({"action": "accept"});
                    self.session.peer.answers().give(&asked, Ok(answer));
                    self.tell([TurnEvent::AskWithdrawn { request }]).await;
                }
            }
            "$/cancel_request" => {
                let asked = params.get("requestId").or(params.get("id"));
                if let Some(asked) = asked.cloned() {
                    self.withdrawn(&asked).await;
                }
            }
            // Notifications of the agent's own do not concern us.
            other => tracing::debug!(method = other, "an agent said something unknown"),
        }
    }

    /// The agent does not need an answer any more.
    async fn withdrawn(&mut self, asked: &Value) {
        let question = self.session.questions.withdraw(asked);
        let turn = self.turn.as_mut();
        let permission = turn.is_some_and(|turn| turn.own.withdraw(asked))
            || self.session.children.withdraw(asked);
        if question.is_some() || permission {
            let error = Err::<Value, _>(Error::request_cancelled());
            self.session.peer.answers().give(asked, error);
        }
        if let Some(request) = question {
            self.tell([TurnEvent::AskWithdrawn { request }]).await;
        }
    }

    async fn asked(&mut self, id: &Value, method: &str, params: &Value) {
        let answers = self.session.peer.answers();
        if let Some(events) = self.speech.services.serve(answers, id, method, params) {
            return self.tell(events).await;
        }
        let names = CLIENT_METHOD_NAMES;
        let events = match method {
            _ if method == names.session_request_permission => {
                let spoken = self.ask_permission(id, params).await;
                return self.tell_spoken(spoken).await;
            }
            _ if method == names.elicitation_create => self.ask_question(id, params),
            _ => {
                let error = Error::method_not_found();
                self.session.peer.answers().give(id, Err::<Value, _>(error));
                return;
            }
        };
        self.tell(events).await;
    }

    /// What the files hold that the agent tells of now, or that calls which run
    /// have told of. Calls take over what the agent has written by then.
    async fn look_at_files(&mut self, update: Option<&Value>) -> Texts {
        let Some(turn) = &mut self.turn else {
            return Texts::new();
        };
        for written in self.speech.services.take_written() {
            turn.own.calls.wrote(written);
        }
        let wanted = turn.own.wanted_texts(update);
        self.speech.services.texts(wanted).await
    }

    /// A sub-agent with a session of its own says something.
    async fn child_update(&mut self, params: &Value) {
        let (session, update) = (params["sessionId"].as_str(), &params["update"]);
        let children = &self.session.children;
        let Some(session) = session.filter(|session| children.knows(session)) else {
            return;
        };
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        match kind {
            // What is true of its session is not true of the conversation.
            "available_commands_update"
            | "session_info_update"
            | "current_mode_update"
            | "config_option_update" => return,
            _ => {}
        }
        let wanted = children.wanted_texts(session, update);
        let texts = self.speech.services.texts(wanted).await;
        let services = &self.speech.services;
        let around = Around {
            terminals: &|id| services.terminal(id),
            texts: &texts,
        };
        let root = root(&self.session.id, self.turn.as_ref());
        let children = &mut self.session.children;
        let spoken = children.hear(session, kind, update, root, around);
        self.tell_spoken(spoken).await;
    }

    /// A sub-agent with a session of its own asks whether a call may run.
    async fn ask_for_child(&mut self, id: &Value, params: &Value, session: &str) -> Vec<Spoken> {
        let wanted = self
            .session
            .children
            .wanted_texts(session, &params["toolCall"]);
        let texts = self.speech.services.texts(wanted).await;
        let answers = self.session.peer.answers();
        let (call, request) = match permission::asked(id, params) {
            Ok(asked) => asked,
            Err(error) => {
                let error = Error::new(-32602, error.to_string());
                answers.give(id, Err::<Value, _>(error));
                return Vec::new();
            }
        };
        let root = root(&self.session.id, self.turn.as_ref());
        let children = &mut self.session.children;
        match children.ask(session, call, request, &texts, root) {
            Ok(spoken) => spoken,
            Err(unseen) => {
                answers.give(&unseen.request, Ok(permission::answer(None)));
                Vec::new()
            }
        }
    }

    async fn ask_permission(&mut self, id: &Value, params: &Value) -> Vec<Spoken> {
        let session = params["sessionId"].as_str();
        let children = &self.session.children;
        if let Some(session) = session.filter(|session| children.knows(session)) {
            return self.ask_for_child(id, params, session).await;
        }
        let texts = self.look_at_files(Some(&params["toolCall"])).await;
        let asked = permission::asked(id, params);
        let answers = self.session.peer.answers();
        match (
            asked,
            self.turn.as_mut().filter(|turn| !turn.is_cancelled()),
        ) {
            (Ok((call, request)), Some(turn)) => turn.own.ask(&turn.id, call, request, &texts),
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
        let request = match self.is_at_work() {
            true => self.session.questions.ask(id.clone(), asked),
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
                let texts = match kind {
                    "tool_call" | "tool_call_update" => self.look_at_files(Some(update)).await,
                    _ => Texts::new(),
                };
                let services = &self.speech.services;
                let around = Around {
                    terminals: &|id| services.terminal(id),
                    texts: &texts,
                };
                let root = root(&self.session.id, self.turn.as_ref());
                let children = &mut self.session.children;
                let spoken = match kind {
                    "subagent_update" => children.told_of(root.session, update, root, around),
                    "session_message" => children.message(update, root),
                    // Its beginning and end are said in whole messages as well.
                    "session_message_chunk" => Vec::new(),
                    _ => {
                        let mut spoken = Vec::new();
                        if kind == "agent_message_chunk" {
                            let message = update["messageId"].as_str();
                            spoken = children.speaks(&self.session.id, message);
                        }
                        if let Some(turn) = &mut self.turn {
                            spoken.extend(turn.own.hear(&turn.id, kind, update, around));
                        }
                        spoken
                    }
                };
                self.tell_spoken(spoken).await;
                if kind == "usage_update" {
                    self.usage_came().await;
                }
            }
        }
    }

    /// The agent's settings may be others now. What they are is told when no
    /// change is under way any more: until then the agent is of two minds.
    pub(super) async fn settings_changed(&mut self) {
        if !self.session.changing.is_empty() {
            return;
        }
        let values = self.session.settings.values();
        self.config.extend(values.clone());
        self.events.emit(AgentEvent::Configured(values)).await;
        self.tell_model().await;
    }

    /// The engine learns which model works on what comes next.
    pub(super) async fn tell_model(&mut self) {
        let model = self.session.settings.current_model();
        if model.is_some() && model != self.session.told_model {
            self.session.told_model.clone_from(&model);
            self.events.emit(AgentEvent::Model(model)).await;
        }
    }
}

/// The conversation itself, for those who work for it.
fn root<'a>(session: &'a str, turn: Option<&'a child::Turn<Turn>>) -> Root<'a> {
    Root {
        session,
        turn: turn.map(|turn| &turn.id),
        message: turn.and_then(|turn| turn.own.message_id()),
    }
}

fn commands_of(list: &Value) -> Vec<AgentCommandInfo> {
    let read = |command: &Value| {
        let name = command["name"].as_str()?.trim_start_matches('/');
        Some(AgentCommandInfo {
            name: name.to_owned(),
            description: command["description"].as_str().map(str::to_owned),
            hint: command["input"]["hint"].as_str().map(str::to_owned),
        })
    };
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(read)
        .collect()
}
