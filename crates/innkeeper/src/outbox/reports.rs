//! The way back: what came of an effect, for the engine.

use innkeeper_engine::Input;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

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

    pub(super) fn later(&self, work: impl Future<Output = Input> + Send + 'static) {
        let events = self.events.clone();
        self.runtime.spawn(async move {
            let _ = events.send(Event::Input(work.await));
        });
    }

    /// Runs what nobody waits for.
    pub(super) fn unheard(&self, work: impl FnOnce() + Send + 'static) {
        self.runtime.spawn_blocking(work);
    }

    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }
}
