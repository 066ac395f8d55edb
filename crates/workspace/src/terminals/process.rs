//! The processes of a terminal. Each terminal is a session of its own, and
//! dies as one: first it is asked (SIGHUP), then it is made to (SIGKILL). It
//! does not outlive the host, however that ends.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use innkeeper_process::WatchedSession;
use innkeeper_process::system::members_of_session;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long what runs in a terminal may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// The session that a terminal's first process leads.
#[derive(Debug)]
pub(super) struct ProcessSession {
    leader: Option<Pid>,
    leader_ended: Mutex<bool>,
    ended: Condvar,
    /// Until nothing of it is left.
    watched: Mutex<Option<WatchedSession>>,
}

impl ProcessSession {
    pub(super) fn new(leader: Option<u32>) -> Self {
        let leader = leader.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        Self {
            leader,
            leader_ended: Mutex::new(false),
            ended: Condvar::new(),
            watched: Mutex::new(leader.map(WatchedSession::led_by)),
        }
    }

    /// The leader has been waited for: its number may be given to another
    /// process now, unless others are left in its session.
    pub(super) fn leader_ended(&self) {
        *self
            .leader_ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.notify_all();
        // What it left behind goes with it.
        self.signal_members(Signal::HUP);
        self.signal_members(Signal::CONT);
        let left = self.members();
        if !left.is_empty() {
            std::thread::sleep(Duration::from_millis(50));
            self.signal_members(Signal::KILL);
        }
        // Its number may be given to another session.
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        *watched = None;
    }

    /// Ends everything; returns when the leader has ended or cannot be ended.
    pub(super) fn end(&self) {
        if self.has_ended() {
            return;
        }
        self.signal(Signal::HUP);
        // What is stopped hears nothing.
        self.signal(Signal::CONT);
        if !self.wait(PATIENCE) {
            self.signal(Signal::KILL);
            self.wait(PATIENCE);
        }
    }

    fn has_ended(&self) -> bool {
        *self
            .leader_ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, at_most: Duration) -> bool {
        let ended = self
            .leader_ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .ended
            .wait_timeout_while(ended, at_most, |ended| !*ended);
        !waited.is_ok_and(|(_, timeout)| timeout.timed_out())
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader.filter(|_| !self.has_ended()) {
            let _ = kill_process_group(leader, signal);
        }
        self.signal_members(signal);
    }

    fn signal_members(&self, signal: Signal) {
        for pid in self.members() {
            let _ = kill_process(pid, signal);
        }
    }

    fn members(&self) -> Vec<Pid> {
        self.leader.map(members_of_session).unwrap_or_default()
    }
}
