//! Groups of processes: what the host starts is the leader of a group of its
//! own, so that it is ended together with everything that it started; what it
//! starts in a terminal leads a session of its own.
//!
//! *Invariant*: when a [`Group`] is gone, by whatever way, its processes have
//! been told to go; and if the host itself is killed, the [`warden`] ends them
//! in its place, and the processes of each [`WatchedSession`].

mod memory;
mod warden;

use rustix::process::kill_process_group;
use warden::Watched;

pub use rustix::process::{Pid, Signal};

/// The process group of a child, which the host ends together.
#[derive(Debug)]
pub struct Group(Option<Pid>);

impl Group {
    /// Of a child that was started as the leader of a group of its own.
    pub fn of(leader: Option<u32>) -> Self {
        let id = leader.and_then(|id| i32::try_from(id).ok());
        let group = id.and_then(Pid::from_raw);
        if let Some(group) = group {
            warden::watch(Watched::Group(group));
        }
        Self(group)
    }

    /// How much memory the processes of a group hold, in bytes, where the system tells.
    /// Looks through all processes of the system.
    pub fn memory(leader: Pid) -> Option<u64> {
        memory::of_group(leader)
    }

    /// The process that leads it.
    pub fn leader(&self) -> Option<Pid> {
        self.0
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // A group that is gone already is what was wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(group) = self.0 {
            warden::forget(Watched::Group(group));
        }
    }
}

/// A session of processes that ends with the host, for as long as this lives.
#[derive(Debug)]
pub struct WatchedSession(Pid);

impl WatchedSession {
    pub fn led_by(leader: Pid) -> Self {
        warden::watch(Watched::Session(leader));
        Self(leader)
    }
}

impl Drop for WatchedSession {
    fn drop(&mut self) {
        warden::forget(Watched::Session(self.0));
    }
}
