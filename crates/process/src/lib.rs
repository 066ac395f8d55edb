//! Groups of processes: what the host starts is the leader of a group of its
//! own, so that it is ended together with everything that it started; what it
//! starts in a terminal leads a session of its own.
//!
//! *Invariant*: when a [`Group`] is gone, by whatever way, its processes have
//! been told to go; and if the host itself is killed, the [`warden`] ends them
//! in its place, and the processes of each [`WatchedSession`].
//!
//! What only Linux can say of processes is in [`system`], and nowhere else.

pub mod system;
mod warden;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::kill_process_group;
use warden::Watched;

pub use rustix::process::{Pid, Signal};

/// When everything is to end that was started and still runs, whatever becomes
/// of this process: the [`warden`] sees to it. Each call moves the deadline;
/// nothing takes it away. Whoever sets one sets it again and again.
pub fn set_deadline(left: Option<Duration>) {
    warden::set_deadline(left);
}

/// Nothing that is started may go on: see [`end_all`].
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// What is started may run, from here on.
pub fn allow_all() {
    warden::set_deadline(None);
    IS_OVER.store(false, Ordering::Release);
}

/// Ends everything that was started and still runs, at once; and whatever is
/// started from here on, until [`allow_all`].
pub fn end_all() {
    IS_OVER.store(true, Ordering::Release);
    for watched in warden::all() {
        let (Watched::Group(leader) | Watched::Session(leader)) = watched;
        // What is gone already is what was wanted.
        let _ = kill_process_group(leader, Signal::KILL);
    }
    // Jobs of shells are in groups of their own, which the warden finds.
    warden::set_deadline(Some(Duration::ZERO));
}

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
            end_if_over(group);
        }
        Self(group)
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

fn end_if_over(leader: Pid) {
    if IS_OVER.load(Ordering::Acquire) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// A session of processes that ends with the host, for as long as this lives.
#[derive(Debug)]
pub struct WatchedSession(Pid);

impl WatchedSession {
    pub fn led_by(leader: Pid) -> Self {
        warden::watch(Watched::Session(leader));
        end_if_over(leader);
        Self(leader)
    }
}

impl Drop for WatchedSession {
    fn drop(&mut self) {
        warden::forget(Watched::Session(self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Child, Command};

    use super::*;

    fn started() -> (Child, Group) {
        let child = Command::new("/bin/sh")
            .args(["-c", "trap '' TERM; while :; do sleep 1000; done"])
            .process_group(0)
            .spawn()
            .unwrap();
        let group = Group::of(Some(child.id()));
        (child, group)
    }

    #[test]
    fn what_runs_ends_at_the_deadline() {
        let (mut child, group) = started();
        // Each moves it on; only the last one counts.
        for left in [3600, 3600] {
            set_deadline(Some(Duration::from_secs(left)));
        }
        assert!(child.try_wait().unwrap().is_none());
        set_deadline(Some(Duration::from_millis(50)));
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        drop(group);
    }

    #[test]
    fn when_all_is_over_nothing_new_goes_on_until_it_may() {
        let (mut before, group) = started();
        end_all();
        assert_eq!(before.wait().unwrap().signal(), Some(9));
        drop(group);
        let (mut after, group) = started();
        assert_eq!(after.wait().unwrap().signal(), Some(9));
        drop(group);
        allow_all();
        let (mut allowed, _group) = started();
        assert!(allowed.try_wait().unwrap().is_none());
    }
}
