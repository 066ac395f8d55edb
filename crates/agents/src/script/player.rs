//! How steps are played: each becomes events of its turn.
//!
//! Playing is a future that may be dropped at any point of waiting; that is
//! how a turn is cancelled. The event that ends the turn is not said here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use innkeeper_protocol::agent::{AgentEvent, TurnEvent};
use innkeeper_protocol::house::common::StringOrMarkdown;
use innkeeper_protocol::house::state::Message;
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use super::backend::Memory;
use super::pieces::pieces;
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
    /// A `fail` step; `rest` is what comes after it.
    Failed {
        failure: Failure,
        rest: Vec<Step>,
    },
    /// A step that cannot be played yet.
    Unavailable(&'static str),
    Crashed,
}

pub(super) struct Player<'a> {
    pub(super) events: &'a EventSink,
    pub(super) turn: &'a Arc<str>,
    pub(super) message: &'a Message,
    pub(super) memory: &'a Memory,
    /// Whether the turn has a part already, which the next one must not join.
    pub(super) part_open: bool,
}

impl Player<'_> {
    pub(super) async fn play(mut self, steps: Vec<Step>) -> Outcome {
        let mut steps = steps.into_iter();
        while let Some(step) = steps.next() {
            match step {
                Step::Say(speech) => self.speak(&speech, TurnEvent::Text).await,
                Step::Reason(speech) => self.speak(&speech, TurnEvent::Reasoning).await,
                Step::Flood(flood) => self.flood(flood).await,
                Step::Content(content) => self.content(content).await,
                Step::Usage(usage) => self.emit(TurnEvent::Usage(usage)).await,
                Step::Title(title) => self.events.emit(AgentEvent::Title(title)).await,
                Step::Activity(activity) => self.emit(TurnEvent::Activity(activity)).await,
                Step::Notify(text) => {
                    let notice = TurnEvent::Notice(StringOrMarkdown::Plain(text));
                    self.emit(notice).await;
                }
                Step::Sleep(time) => tokio::time::sleep(time).await,
                Step::Echo(echo) => self.echo(echo).await,
                Step::Fail(failure) => {
                    let rest = steps.collect();
                    return Outcome::Failed { failure, rest };
                }
                Step::Crash => return Outcome::Crashed,
                Step::Unavailable(name) => return Outcome::Unavailable(name),
            }
        }
        Outcome::Completed
    }

    async fn emit(&self, event: TurnEvent) {
        self.events.turn(self.turn, event).await;
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
            Echo::History => self.memory.lock().history.summary(),
        };
        let speech = Speech::in_one_piece(value.to_string());
        self.speak(&speech, TurnEvent::Text).await;
    }
}

fn filler(bytes: usize) -> Vec<u8> {
    let mut filler = FILLER.repeat(bytes.div_ceil(FILLER.len()));
    filler.truncate(bytes);
    filler
}
