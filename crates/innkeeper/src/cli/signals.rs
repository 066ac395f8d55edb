//! The signals that a program hears.

use std::io;

use innkeeper_process::system::ignores_hangup;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Stop,
    Reload,
}

/// What tells a program to stop.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal is gone; nothing, if whoever started us had that ignored.
    hangup: Option<Signal>,
    /// What that means.
    on_hangup: Told,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: match ignores_hangup() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            },
            on_hangup: Told::Stop,
        })
    }

    /// The same for a program without a terminal: a hangup means to reload.
    pub(crate) fn of_a_service() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: Some(signal(SignalKind::hangup())?),
            on_hangup: Told::Reload,
        })
    }

    /// Signals that mean nothing here, and that would end the program without
    /// cleaning up.
    pub(crate) fn ignore_others() -> io::Result<()> {
        for kind in [SignalKind::user_defined1(), SignalKind::user_defined2()] {
            // Once it was listened for, it does nothing by itself any more.
            drop(signal(kind)?);
        }
        Ok(())
    }

    pub(crate) async fn next(&mut self) -> Told {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Told::Stop,
            _ = self.terminate.recv() => Told::Stop,
            _ = hangup => self.on_hangup,
        }
    }

    /// Waits until the program is told to stop.
    pub(crate) async fn stop(&mut self) {
        while self.next().await != Told::Stop {}
    }

    /// Whoever asks again has waited long enough.
    pub(crate) fn exit_on_the_next(mut self) {
        tokio::spawn(async move {
            // A terminal that goes may say so several times.
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
            std::process::exit(1);
        });
    }
}
