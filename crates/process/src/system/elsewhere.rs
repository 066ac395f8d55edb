//! The plain answers. Untested: nobody has run the host on such a system yet.

use std::io;
use std::os::unix::net::SocketAddr;

use rustix::process::Pid;
use rustix::time::ClockId;

pub(super) const TELLS_OF_FILES_IN_ORDER: bool = false;

pub(super) const SINCE_BOOT: ClockId = ClockId::Monotonic;

pub(super) fn memory_of_group(_: Pid) -> Option<u64> {
    None
}

pub(super) fn members_of_session(_: Pid) -> Vec<Pid> {
    Vec::new()
}

pub(super) fn ignores_hangup() -> bool {
    false
}

pub(super) fn nameless_socket(_: &[u8]) -> io::Result<SocketAddr> {
    let reason = "this system has no sockets without a file";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
}
