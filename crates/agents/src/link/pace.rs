//! How often a running call may replace what it shows.
//!
//! Some agents tell all that a call shows again with every word that is added to
//! it. Each time is stored and sent as a whole, so a long text in short pieces
//! would cost the square of its length. Content that is larger than a few
//! kilobytes is therefore told at a steady rate of bytes; in between, only the
//! newest is kept.
//!
//! *Invariant*: what a call shows last is always told, before the call's next
//! step and before the end of its turn; unless the call ends, which tells it
//! anyway.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use innkeeper_protocol::agent::TurnEvent;
use innkeeper_protocol::newest::state::ToolResultContent;
use innkeeper_protocol::{CallId, TurnId};
use tokio::time::Instant;

/// What is told at once, however often.
const SMALL_BYTES: usize = 4 * 1024;

/// How much of one call is told in a second, where it is more.
const BYTES_PER_SECOND: usize = 64 * 1024;

/// The longest that anything waits.
const LONGEST: Duration = Duration::from_secs(5);

type Content = Vec<ToolResultContent>;

#[derive(Debug, Default)]
pub(super) struct Pace {
    calls: HashMap<(TurnId, CallId), Shown>,
}

#[derive(Debug)]
struct Shown {
    /// When the next may be told.
    due: Instant,
    waiting: Option<Content>,
}

/// What is to be done about an event.
#[derive(Debug)]
pub(super) enum Step {
    /// These are told, in this order.
    Tell(Vec<TurnEvent>),
    /// Nothing yet. [`Pace::due`] is to be asked at this time, unless that was
    /// said before.
    Later(Option<Instant>),
}

impl Shown {
    fn tell(&mut self, now: Instant) -> Option<Content> {
        let content = self.waiting.take()?;
        self.due = now + pause_after(&content);
        Some(content)
    }
}

impl Pace {
    pub(super) fn take(&mut self, turn: &TurnId, event: TurnEvent) -> Step {
        let before = match &event {
            TurnEvent::ToolContent { .. } => return self.shows(turn, event),
            // It carries all that there is to show.
            TurnEvent::ToolFinished { call, .. } => {
                self.calls.remove(&(turn.clone(), call.clone()));
                None
            }
            TurnEvent::ToolReady(ready) => self.flush(turn, &ready.call),
            TurnEvent::ToolInterrupted { call } => self.flush(turn, call),
            TurnEvent::Completed | TurnEvent::Cancelled | TurnEvent::Failed { .. } => {
                let mut events = self.end(turn);
                events.push(event);
                return Step::Tell(events);
            }
            TurnEvent::Text(_)
            | TurnEvent::Reasoning(_)
            | TurnEvent::Break
            | TurnEvent::Content { .. }
            | TurnEvent::Usage(_)
            | TurnEvent::Activity(_)
            | TurnEvent::Notice(_)
            | TurnEvent::Unknown { .. }
            | TurnEvent::ToolStarted(_)
            | TurnEvent::ToolInput { .. }
            | TurnEvent::RunCommand(_)
            | TurnEvent::WriteFile { .. }
            | TurnEvent::ReadCommand { .. }
            | TurnEvent::StopCommand { .. }
            | TurnEvent::FileEdited(_)
            | TurnEvent::Ask(_)
            | TurnEvent::AskToSignIn(_)
            | TurnEvent::AskWithdrawn { .. }
            | TurnEvent::Steered { .. }
            | TurnEvent::Delegated(_)
            | TurnEvent::InBackground
            | TurnEvent::StopReason(_) => None,
        };
        Step::Tell(before.into_iter().chain([event]).collect())
    }

    /// What has waited long enough.
    pub(super) fn due(&mut self) -> Vec<(TurnId, TurnEvent)> {
        let now = Instant::now();
        let calls = self.calls.iter_mut();
        let due = calls.filter(|(_, shown)| shown.due <= now);
        let told = due.filter_map(|((turn, call), shown)| {
            let content = shown.tell(now)?;
            let call = call.clone();
            Some((turn.clone(), TurnEvent::ToolContent { call, content }))
        });
        told.collect()
    }

    /// All that waits: nothing more will be heard.
    pub(super) fn end_all(&mut self) -> Vec<(TurnId, TurnEvent)> {
        let calls = std::mem::take(&mut self.calls).into_iter();
        let waiting = calls.filter_map(|((turn, call), shown)| {
            let content = shown.waiting?;
            Some((turn, TurnEvent::ToolContent { call, content }))
        });
        waiting.collect()
    }

    fn shows(&mut self, turn: &TurnId, event: TurnEvent) -> Step {
        let TurnEvent::ToolContent { call, content } = event else {
            return Step::Tell(vec![event]);
        };
        let (now, key) = (Instant::now(), (turn.clone(), call.clone()));
        let pause = pause_after(&content);
        match self.calls.get_mut(&key) {
            Some(shown) if shown.due > now && !pause.is_zero() => {
                let waited = shown.waiting.replace(content).is_some();
                Step::Later((!waited).then_some(shown.due))
            }
            Some(shown) => {
                shown.due = now + pause;
                shown.waiting = None;
                Step::Tell(vec![TurnEvent::ToolContent { call, content }])
            }
            None => {
                let (due, waiting) = (now + pause, None);
                self.calls.insert(key, Shown { due, waiting });
                Step::Tell(vec![TurnEvent::ToolContent { call, content }])
            }
        }
    }

    fn flush(&mut self, turn: &TurnId, call: &CallId) -> Option<TurnEvent> {
        let shown = self.calls.get_mut(&(turn.clone(), call.clone()))?;
        let (call, content) = (call.clone(), shown.tell(Instant::now())?);
        Some(TurnEvent::ToolContent { call, content })
    }

    fn end(&mut self, turn: &TurnId) -> Vec<TurnEvent> {
        let ended = self.calls.extract_if(|(of, _), _| of == turn);
        let waiting = ended.filter_map(|((_, call), shown)| {
            let content = shown.waiting?;
            Some(TurnEvent::ToolContent { call, content })
        });
        waiting.collect()
    }
}

/// How long nothing is told of a call that has shown this.
fn pause_after(content: &Content) -> Duration {
    let mut size = Size(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut size, content);
    match size.0 {
        ..=SMALL_BYTES => Duration::ZERO,
        bytes => {
            let millis = bytes.saturating_mul(1000) / BYTES_PER_SECOND;
            LONGEST.min(Duration::from_millis(millis as u64))
        }
    }
}

struct Size(usize);

impl io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
