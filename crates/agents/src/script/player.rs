//! How steps are played: each becomes events of its turn.
//!
//! Playing is a future that may be dropped at any point of waiting; that is
//! how a turn is cancelled. The event that ends the turn is not said here.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{AgentActivity, AgentEvent, AgentNotice, TurnEvent};
use innkeeper_protocol::newest::state::{
    ChatInputAnswer, ChatInputResponseKind, Message, ResponsePart,
};
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use super::backend::Memory;
use super::inbox::Inbox;
use super::pieces::pieces;
use super::progress::Remaining;
use super::step::{Content, Echo, Failure, Flood, Speech, Step};
use crate::EventSink;

/// How many deltas of a flood may go out before others get their turn.
const DELTAS_BETWEEN_YIELDS: u64 = 64;

/// Text that is there to be counted, not read: what floods and references are
/// made of.
const FILLER: &[u8] = b"the quick brown fox jumps over the lazy dog 0123456789\n";

/// How the steps of a turn came to their end.
#[derive(Debug)]
pub(super) enum Outcome {
    Completed,
    Failed(Failure),
    Crashed,
}

pub(super) struct Player<'a> {
    pub(super) events: &'a EventSink,
    pub(super) turn: TurnId,
    pub(super) message: &'a Message,
    pub(super) memory: &'a Memory,
    pub(super) inbox: &'a Inbox,
    /// Whether the turn has a part already, which the next one must not join.
    pub(super) part_open: bool,
    /// How many parts the turn had before: calls are numbered after those.
    pub(super) calls: usize,
    pub(super) answers: Answers,
}

/// What was answered to the questions of a turn.
#[derive(Debug, Default)]
pub(super) struct Answers(HashMap<String, Value>);

impl Answers {
    /// The answers that a turn from before has been given.
    pub(super) fn of(parts: &[ResponsePart]) -> Self {
        let mut answers = Self::default();
        for part in parts {
            if let ResponsePart::InputRequest(part) = part
                && let Some(response) = part.response
            {
                let given = part.request.answers.clone().unwrap_or_default();
                answers.add(&part.request, response, &given);
            }
        }
        answers
    }

    pub(super) fn add(
        &mut self,
        request: &innkeeper_protocol::newest::state::ChatInputRequest,
        response: ChatInputResponseKind,
        given: &HashMap<String, ChatInputAnswer>,
    ) {
        let outcome = json!(response);
        // A request without questions is answered as a whole.
        self.0.insert(request.id.clone(), outcome.clone());
        let questions = json!(request.questions);
        let ids = questions.as_array().into_iter().flatten();
        for id in ids.filter_map(|question| question["id"].as_str()) {
            let answer = match response {
                ChatInputResponseKind::Accept => json!(given.get(id)),
                ChatInputResponseKind::Decline | ChatInputResponseKind::Cancel => outcome.clone(),
            };
            self.0.insert(id.to_owned(), answer);
        }
    }
}

impl<'a> Player<'a> {
    /// Boxed, because a sub-agent is a player within a player.
    pub(super) fn play(mut self, steps: Vec<Remaining>) -> BoxFuture<'a, Outcome> {
        async move {
            for step in steps {
                let ended = match step {
                    Remaining::Whole(step) => self.step(step).await,
                    Remaining::Tool(step, state) => {
                        self.take_up_call(step, *state).await;
                        None
                    }
                    Remaining::Question(part) => {
                        if part.response.is_none() {
                            self.await_answer(part.request).await;
                        }
                        None
                    }
                };
                if let Some(outcome) = ended {
                    return outcome;
                }
            }
            Outcome::Completed
        }
        .boxed()
    }

    /// Plays a step. Returns how the turn ends, if it ends with this step.
    async fn step(&mut self, step: Step) -> Option<Outcome> {
        match step {
            Step::Say(speech) => self.speak(&speech, TurnEvent::Text).await,
            Step::Reason(speech) => self.speak(&speech, TurnEvent::Reasoning).await,
            Step::Flood(flood) => self.flood(flood).await,
            Step::Content(content) => self.content(content).await,
            Step::Usage(usage) => self.emit(TurnEvent::Usage(usage)).await,
            Step::Title(title) => self.events.emit(AgentEvent::Title(title)).await,
            Step::Activity(activity) => {
                let activity = activity.map(AgentActivity::Own);
                self.emit(TurnEvent::Activity(activity)).await;
            }
            Step::Notify(text) => {
                self.emit(TurnEvent::Notice(AgentNotice::own(text))).await;
            }
            Step::Sleep(time) => tokio::time::sleep(time).await,
            Step::Echo(echo) => self.echo(echo).await,
            Step::Tool(tool) => self.tool(&tool).await,
            Step::ClientTool(call) => self.client_tool(&call).await,
            Step::Ask(request) => {
                self.emit(TurnEvent::Ask(request.clone())).await;
                self.await_answer(*request).await;
            }
            Step::SayAnswer(question) => {
                let answer = self.answers.0.get(&question).unwrap_or(&Value::Null);
                let text = match answer {
                    Value::String(outcome) => outcome.clone(),
                    answer => answer.to_string(),
                };
                self.say(text).await;
            }
            Step::Subagent(subagent) => return self.subagent(subagent).await,
            Step::AwaitSteering => {
                let steering = self.inbox.steering().await;
                let message = steering.id;
                self.emit(TurnEvent::Steered { message }).await;
                self.say(steering.message.text).await;
            }
            Step::Fail(failure) => return Some(Outcome::Failed(failure)),
            Step::Crash => return Some(Outcome::Crashed),
            Step::Edit(edit) => self.edit(&edit).await,
            Step::Terminal(step) => self.terminal(&step).await,
        }
        None
    }

    pub(super) async fn emit(&self, event: TurnEvent) {
        self.events.turn(&self.turn, event).await;
    }

    async fn say(&mut self, text: String) {
        let speech = Speech::in_one_piece(text);
        self.speak(&speech, TurnEvent::Text).await;
    }

    async fn begin_part(&mut self) {
        if self.part_open {
            self.emit(TurnEvent::Break).await;
        }
        self.part_open = true;
    }

    async fn speak(&mut self, speech: &Speech, event: fn(String) -> TurnEvent) {
        self.begin_part().await;
        for (index, piece) in pieces(&speech.text, speech.chunks).into_iter().enumerate() {
            if index > 0 && !speech.pause.is_zero() {
                tokio::time::sleep(speech.pause).await;
            }
            self.emit(event(piece.to_owned())).await;
        }
    }

    async fn flood(&mut self, flood: Flood) {
        self.begin_part().await;
        let delta = String::from_utf8_lossy(&filler(flood.bytes)).into_owned();
        let mut ticks = match flood.every_us {
            0 => None,
            every => Some(tokio::time::interval(Duration::from_micros(every.into()))),
        };
        if let Some(ticks) = &mut ticks {
            // The timer is coarser than the pace may be: what was missed is
            // made up for.
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        }
        for index in 0..flood.deltas {
            match &mut ticks {
                Some(ticks) => _ = ticks.tick().await,
                None if index % DELTAS_BETWEEN_YIELDS == 0 => tokio::task::yield_now().await,
                None => {}
            }
            self.emit(TurnEvent::Text(delta.clone())).await;
        }
    }

    async fn content(&mut self, content: Content) {
        self.begin_part().await;
        let event = TurnEvent::Content {
            data: Bytes::from(filler(content.bytes)),
            content_type: content.content_type,
        };
        self.emit(event).await;
    }

    async fn echo(&mut self, echo: Echo) {
        let message = self.message;
        let value = match echo {
            Echo::Model => json!(message.model),
            Echo::Agent => json!(message.agent),
            Echo::Attachments => json!(message.attachments),
            Echo::Config => Value::Object(self.memory.lock().config.clone()),
            Echo::Customizations => self.memory.lock().customizations.clone(),
            Echo::History => self.memory.lock().history.summary(),
        };
        self.say(value.to_string()).await;
    }
}

fn filler(bytes: usize) -> Vec<u8> {
    let mut filler = FILLER.repeat(bytes.div_ceil(FILLER.len()));
    filler.truncate(bytes);
    filler
}
