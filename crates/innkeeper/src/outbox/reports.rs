//! The way back: what came of an effect, for the engine.

use std::sync::Arc;

use innkeeper_engine::Input;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::delivery::{AnswerRoom, Share};
use crate::engine_loop::Event;

/// Runs what takes time, away from whoever asks for it, and hands the engine
/// what came of it.
#[derive(Clone)]
pub(crate) struct Reports {
    events: mpsc::UnboundedSender<Event>,
    runtime: Handle,
}

impl Reports {
    /// To be called within a tokio runtime: the work runs there.
    pub(crate) fn new(events: mpsc::UnboundedSender<Event>) -> Self {
        Self {
            events,
            runtime: Handle::current(),
        }
    }

    /// Runs what may block.
    pub(super) fn blocking(&self, work: impl FnOnce() -> Input + Send + 'static) {
        let events = self.events.clone();
        self.runtime.spawn_blocking(move || {
            // Nobody is there to hear it when the host is ending.
            let _ = events.send(Event::Input(work()));
        });
    }

    /// Runs what may block and ends in an answer, when its client has room for
    /// up to so many bytes of it. Until then it holds on to `held` bytes. A
    /// client that is gone gets no share.
    pub(super) fn answering(
        &self,
        room: Option<Arc<AnswerRoom>>,
        bytes: usize,
        held: usize,
        work: impl FnOnce(Option<Share>) -> Option<Input> + Send + 'static,
    ) {
        let (events, runtime) = (self.events.clone(), self.runtime.clone());
        let run = move |share| {
            runtime.spawn_blocking(move || {
                if let Some(input) = work(share) {
                    let _ = events.send(Event::Input(input));
                }
            });
        };
        let Some(room) = room else {
            return run(None);
        };
        match room.try_enter(bytes) {
            Some(share) => run(Some(share)),
            None => drop(self.runtime.spawn(async move {
                run(room.enter(bytes, held).await);
            })),
        }
    }

    pub(super) fn later(&self, work: impl Future<Output = Input> + Send + 'static) {
        let events = self.events.clone();
        self.runtime.spawn(async move {
            let _ = events.send(Event::Input(work.await));
        });
    }

    /// Something has happened meanwhile.
    pub(super) fn tell(&self, input: Input) {
        let _ = self.events.send(Event::Input(input));
    }

    /// Runs what nobody waits for.
    pub(super) fn unheard(&self, work: impl FnOnce() + Send + 'static) {
        self.runtime.spawn_blocking(work);
    }

    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }
}
