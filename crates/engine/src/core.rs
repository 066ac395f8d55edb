//! What every module stands on: the time and the configuration, the step that
//! is being made, the channels with their states, who listens to them, and the
//! one sequence in which they change.

pub(crate) mod changeset_uri;
pub(crate) mod channels;
pub(crate) mod content;
mod deadlines;
mod facts;
pub(crate) mod history;
pub(crate) mod inputs;
mod names;
mod progress;
mod replay;
mod sequence;
mod subscriptions;
mod telemetry;
mod verdict;

use std::collections::BTreeSet;
use std::time::Duration;

use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::newest::state::{ErrorInfo, RootState};
use innkeeper_protocol::outgoing::{HostMessage, Notification, Reply};
use innkeeper_protocol::record::{Boot, StoreOp};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::{ChannelUri, Seq, Timestamp};

use crate::config::EngineConfig;
use crate::effect::{ConnectionId, Effect, Step, Ticket};

use channels::Channels;
use deadlines::Deadlines;
use inputs::ShownInputs;
use progress::Progress;
use sequence::Sequence;
use subscriptions::Subscriptions;
use telemetry::Traces;

pub(crate) use deadlines::Deadline;
pub(crate) use names::{AUTOMATION_SCHEME, RUN_SCHEME, TERMINAL_SCHEME, WATCH_SCHEME, is_of_host};
pub(crate) use progress::check_progress_token;
pub(crate) use replay::{CatchUp, ReplayWindow, pick};
pub(crate) use sequence::{Sender, changes_directories};
pub(crate) use subscriptions::Latencies;
pub(crate) use telemetry::capabilities as telemetry_capabilities;
pub(crate) use verdict::{Refusal, Verdict};

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) config: EngineConfig,
    /// The time of the input that is being handled.
    pub(crate) now: Timestamp,
    /// By how much the clock was set forward in this life, in milliseconds.
    set_forward: i64,
    /// What the input that is being handled leads to.
    pub(crate) step: Step,
    pub(crate) channels: Channels,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) deadlines: Deadlines,
    pub(crate) replay: ReplayWindow,
    pub(crate) inputs: ShownInputs,
    progress: Progress,
    sequence: Sequence,
    /// What is going on and will be told when it is over.
    traces: Traces,
    /// Sessions that this input touched and that must be settled.
    touched: BTreeSet<ChannelUri>,
    /// Chats whose turn has become larger than one may be.
    overgrown: BTreeSet<ChannelUri>,
    /// The turns that ended and that nobody above has heard of yet.
    turn_ends: Vec<TurnEnd>,
    /// How many sessions are on their way into memory.
    pub(crate) loading: usize,
    last_ticket: u64,
    last_content: u64,
    /// Why the store cannot write, while it cannot.
    pub(crate) store_failure: Option<String>,
    pub(crate) shutting_down: bool,
}

impl Core {
    /// Begins where the store says that the last life ended.
    pub(crate) fn new(now: Timestamp, config: EngineConfig, boot: &Boot, root: RootState) -> Self {
        let mut core = Self {
            sequence: Sequence::new(boot.next_seq, config.number_block),
            replay: ReplayWindow::new(boot, config.limits.replay_bytes),
            subscriptions: Subscriptions::new(config.limits.subscriptions),
            channels: Channels::new(root),
            deadlines: Deadlines::default(),
            inputs: ShownInputs::default(),
            progress: Progress::default(),
            config,
            now,
            set_forward: 0,
            step: Step::default(),
            traces: Traces::default(),
            touched: BTreeSet::new(),
            overgrown: BTreeSet::new(),
            turn_ends: Vec::new(),
            loading: 0,
            last_ticket: 0,
            last_content: 0,
            store_failure: None,
            shutting_down: false,
        };
        core.reserve_numbers();
        core
    }

    /// The time that durations are measured by: nobody sets it forward.
    pub(crate) fn measured(&self) -> Timestamp {
        self.as_measured(self.now)
    }

    /// A time of the clock, as durations are measured.
    pub(crate) fn as_measured(&self, time: Timestamp) -> Timestamp {
        Timestamp::from_millis(time.as_millis().saturating_sub(self.set_forward))
    }

    pub(crate) fn clock_set_forward(&mut self, by: Duration) {
        self.deadlines.clock_set_forward(by);
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.set_forward = self.set_forward.saturating_add(by);
    }

    /// The last number that was given out.
    pub(crate) fn server_seq(&self) -> Seq {
        self.sequence.last()
    }

    /// A name for something that the host makes: no other has it, in this life
    /// or another.
    pub(crate) fn new_name(&self) -> String {
        format!("{}-{}", self.config.nonce, self.server_seq())
    }

    pub(crate) fn next_ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    /// A session has changed: what is derived from it is brought up to date
    /// before the step ends.
    pub(crate) fn touch(&mut self, session: &ChannelUri) {
        self.touched.insert(session.clone());
    }

    /// Whether nothing is left to be brought up to date.
    pub(crate) fn is_settled(&self) -> bool {
        self.touched.is_empty()
            && self.overgrown.is_empty()
            && self.turn_ends.is_empty()
            && !self.subscriptions.has_left()
    }

    pub(crate) fn next_touched(&mut self) -> Option<ChannelUri> {
        self.touched.pop_first()
    }

    /// A chat whose turn has become larger than one may be.
    pub(crate) fn next_overgrown(&mut self) -> Option<ChannelUri> {
        self.overgrown.pop_first()
    }

    /// Whether the turn of this chat has, for one who does something about it.
    pub(crate) fn take_overgrown(&mut self, chat: &ChannelUri) -> bool {
        self.overgrown.remove(chat)
    }

    /// The turns that ended since somebody asked.
    pub(crate) fn take_turn_ends(&mut self) -> Vec<TurnEnd> {
        std::mem::take(&mut self.turn_ends)
    }

    // What goes out

    pub(crate) fn store(&mut self, op: StoreOp) {
        self.step.store.ops.push(op);
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.step.effects.push(effect);
    }

    pub(crate) fn tell_agent(&mut self, command: AgentCommand) {
        self.effect(Effect::Agent(command));
    }

    /// Answers a request; a notification has nobody who waits.
    pub(crate) fn answer(
        &mut self,
        connection: ConnectionId,
        id: Option<RequestId>,
        outcome: Result<Reply, RpcError>,
    ) {
        match (id, outcome) {
            (Some(id), Ok(reply)) => self.reply(connection, id, reply),
            (Some(id), Err(error)) => self.fail(connection, Some(id), error),
            (None, _) => {}
        }
    }

    pub(crate) fn reply(&mut self, to: ConnectionId, id: RequestId, reply: Reply) {
        let message = HostMessage::Reply { id, reply };
        self.effect(Effect::Send { to, message });
    }

    pub(crate) fn fail(&mut self, to: ConnectionId, id: Option<RequestId>, mut error: RpcError) {
        error.message = verdict::readable(error.message);
        let message = HostMessage::Failure { id, error };
        self.effect(Effect::Send { to, message });
    }

    /// Tells everybody who follows the catalogue.
    pub(crate) fn notify_root(&mut self, notification: Notification) {
        if let Some(to) = self.subscriptions.of_catalogue() {
            let message = HostMessage::Notification(Box::new(notification));
            self.effect(Effect::Publish { to, message });
        }
    }
}

/// A turn that has ended, and how.
#[derive(Debug)]
pub(crate) struct TurnEnd {
    pub(crate) chat: ChannelUri,
    pub(crate) turn: String,
    pub(crate) outcome: TurnOutcome,
}

#[derive(Debug)]
pub(crate) enum TurnOutcome {
    Complete,
    Cancelled,
    Failed(Box<ErrorInfo>),
}

/// The bits of a status that say what goes on; the others are flags.
pub(crate) const ACTIVITY_BITS: u32 = (1 << 5) - 1;

pub(crate) fn error_info(error_type: &str, message: impl Into<String>) -> ErrorInfo {
    ErrorInfo {
        error_type: error_type.to_owned(),
        message: message.into(),
        stack: None,
        meta: None,
    }
}
