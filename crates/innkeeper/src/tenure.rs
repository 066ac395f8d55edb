//! How long a host may go on, where another one may take over its store: a
//! thread looks at the time that is left, passes it on to the warden, and ends
//! what runs when nothing is left. It depends on nobody else, so a database
//! that does not answer cannot keep it from its work.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use innkeeper_process::system::since_boot;
use innkeeper_protocol::record::store::Tenure;
use tokio::sync::watch;

/// How often it looks. A machine that was asleep ends its old agents within
/// this when it wakes up.
const LOOK: Duration = Duration::from_millis(250);

/// A deadline that differs by less is the same.
const MOVED: Duration = Duration::from_millis(20);

/// A host's hold on its store.
pub(crate) struct Tenancy {
    tenure: Option<Arc<dyn Tenure>>,
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Holds,
    /// It ran out, and everything was ended.
    Over,
    /// The host has ended by itself.
    Ended,
}

impl Tenancy {
    /// Watches over it; `stop` is called once, when it is over.
    pub(crate) fn watch(
        tenure: Option<Arc<dyn Tenure>>,
        stop: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let state = Arc::new(watch::Sender::new(State::Holds));
        if let Some(tenure) = tenure.clone() {
            innkeeper_process::allow_all();
            let state = Arc::downgrade(&state);
            thread::Builder::new()
                .name("tenure".to_owned())
                .spawn(move || {
                    let mut stop = Some(stop);
                    let mut told = Duration::ZERO;
                    loop {
                        let left = tenure.left();
                        let end = since_boot() + left;
                        let Some(state) = state.upgrade() else {
                            break;
                        };
                        if *state.borrow() != State::Holds {
                            break;
                        }
                        if left.is_zero() {
                            // First what would be in the next host's way.
                            innkeeper_process::end_all();
                            if let Some(stop) = stop.take() {
                                stop();
                            }
                            tracing::error!(
                                "this host's lease on the store is over: its agents were ended, \
                                 and nothing is published any more"
                            );
                            state.send_replace(State::Over);
                            return;
                        }
                        // Each time costs the warden two processes.
                        if end.abs_diff(told) > MOVED {
                            innkeeper_process::set_deadline(Some(left));
                            told = end;
                        }
                        drop(state);
                        thread::sleep(left.min(LOOK));
                    }
                    innkeeper_process::set_deadline(None);
                })?;
        }
        Ok(Self { tenure, state })
    }

    /// Waits until it is over. One that nobody can take over never is.
    pub(crate) async fn over(&self) {
        let mut state = self.state.subscribe();
        if state.wait_for(|state| *state == State::Over).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn announce(&self, address: &str) {
        if let Some(tenure) = &self.tenure {
            tenure.announce(address);
        }
    }

    /// The host has ended what it ran.
    pub(crate) fn end(&self) {
        self.state.send_if_modified(|state| {
            let holds = *state == State::Holds;
            if holds {
                *state = State::Ended;
            }
            holds
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::*;

    struct Given(Mutex<Duration>);

    impl Tenure for Given {
        fn left(&self) -> Duration {
            *self.0.lock().unwrap()
        }

        fn announce(&self, _: &str) {}
    }

    #[tokio::test]
    async fn when_nothing_is_left_the_host_is_stopped_first_and_then_told() {
        let tenure = Arc::new(Given(Mutex::new(Duration::from_secs(3600))));
        let (stopped, heard) = mpsc::channel();
        let tenancy = Tenancy::watch(Some(Arc::clone(&tenure) as Arc<dyn Tenure>), move || {
            stopped.send(()).unwrap();
        })
        .unwrap();
        assert!(heard.try_recv().is_err());
        *tenure.0.lock().unwrap() = Duration::ZERO;
        tenancy.over().await;
        assert!(heard.try_recv().is_ok());
    }
}
