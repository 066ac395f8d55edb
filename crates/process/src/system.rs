//! What the host asks of the system that only Linux answers, in one place. On
//! other systems each question has a plain answer, with which the host does
//! less, and nothing wrong.
//!
//! The shell script of the [`warden`](crate::warden) looks into `/proc` too,
//! and finds nothing where there is none.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as here;
#[cfg(target_os = "linux")]
use linux as here;

use std::os::unix::net::SocketAddr;
use std::time::Duration;

use rustix::process::Pid;

/// Whether those who watch files are told of changes in the order in which
/// they happened.
pub const TELLS_OF_FILES_IN_ORDER: bool = here::TELLS_OF_FILES_IN_ORDER;

/// How much memory the processes of a group hold, in bytes, where the system
/// tells. Shared memory counts in parts, so that several groups do not each
/// count all of it. Looks through all processes of the system.
pub fn memory_of_group(leader: Pid) -> Option<u64> {
    here::memory_of_group(leader)
}

/// The processes of a session that still run, as far as the system tells: jobs
/// of a shell are in groups of their own, which a signal to the leader's group
/// does not reach.
pub fn members_of_session(leader: Pid) -> Vec<Pid> {
    here::members_of_session(leader)
}

/// Whether this process was started with SIGHUP ignored, as `nohup` does. Where
/// the system does not tell, it was not.
pub fn ignores_hangup() -> bool {
    here::ignores_hangup()
}

/// Since the machine was started: with the time in which it slept, where the
/// system counts that.
pub fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(here::SINCE_BOOT);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// The address of a socket that has a name and no file, where there are such.
pub fn nameless_socket(name: &[u8]) -> std::io::Result<SocketAddr> {
    here::nameless_socket(name)
}
