//! The answers of Linux: most of them are files in `/proc`.

use std::fs::{self, DirEntry};
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::SocketAddr;
use std::path::Path;

use rustix::process::Pid;
use rustix::time::ClockId;

pub(super) const TELLS_OF_FILES_IN_ORDER: bool = true;

pub(super) const SINCE_BOOT: ClockId = ClockId::Boottime;

pub(super) fn memory_of_group(group: Pid) -> Option<u64> {
    let mut sum = None;
    for (directory, process) in processes() {
        if process.group == group.as_raw_nonzero().get()
            && let Some(bytes) = memory_of_process(&directory.path())
        {
            sum = Some(sum.unwrap_or(0) + bytes);
        }
    }
    sum
}

pub(super) fn members_of_session(leader: Pid) -> Vec<Pid> {
    let of_session = |(directory, process): (DirEntry, Process)| {
        let pid: i32 = directory.file_name().to_str()?.parse().ok()?;
        let is_member = process.session == leader.as_raw_nonzero().get() && process.runs;
        is_member.then(|| Pid::from_raw(pid))?
    };
    processes().filter_map(of_session).collect()
}

pub(super) fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status");
    status.is_ok_and(|status| hangup_is_ignored(&status))
}

pub(super) fn nameless_socket(name: &[u8]) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}

/// What the system says of a process.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    runs: bool,
    group: i32,
    session: i32,
}

fn processes() -> impl Iterator<Item = (DirEntry, Process)> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|directory| {
        let stat = fs::read_to_string(directory.path().join("stat")).ok()?;
        Some((directory, process_in(&stat)?))
    })
}

/// The name, in parentheses, may hold anything; behind it stand the state, the
/// parent, the group and the session.
fn process_in(stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    Some(Process {
        runs: !matches!(state, "Z" | "X"),
        group: fields.nth(1)?.parse().ok()?,
        session: fields.next()?.parse().ok()?,
    })
}

fn memory_of_process(directory: &Path) -> Option<u64> {
    let told = fs::read_to_string(directory.join("smaps_rollup")).ok()?;
    share_in(&told)
}

fn share_in(rollup: &str) -> Option<u64> {
    let mut lines = rollup.lines();
    let kib = lines.find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = kib.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Signals are bits, counted from one: SIGHUP is the lowest.
fn hangup_is_ignored(status: &str) -> bool {
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    #[test]
    fn names_of_processes_do_not_confuse() {
        let stat = "7 (a) S 1 (b) c) S 1 4711 4712 0 -1";
        let expected = Process {
            runs: true,
            group: 4711,
            session: 4712,
        };
        assert_eq!(process_in(stat), Some(expected));
        assert_eq!(process_in(""), None);
    }

    #[test]
    fn the_share_of_a_process_is_told_in_kib() {
        let rollup = "00400000-7fff ---p 0 00:00 0 [rollup]\nRss:  900 kB\nPss:   640 kB\n";
        assert_eq!(share_in(rollup), Some(640 * 1024));
        assert_eq!(share_in("Rss: 1 kB\n"), None);
    }

    /// A process that leads a session and a group of its own. This one may be in
    /// a container whose outside leads them; then they have no name in here.
    struct Leader(Child);

    impl Leader {
        fn start() -> Self {
            let mut process = Command::new("setsid")
                .args(["sh", "-c", "echo leads; exec cat"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = [0; 6];
            let output = process.stdout.as_mut().unwrap();
            output.read_exact(&mut said).unwrap();
            assert_eq!(&said, b"leads\n");
            Self(process)
        }

        fn pid(&self) -> Pid {
            Pid::from_child(&self.0)
        }
    }

    impl Drop for Leader {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_group_has_the_memory_of_its_leader() {
        let leader = Leader::start();
        assert!(memory_of_group(leader.pid()) > Some(0));
    }

    #[test]
    fn a_leader_is_a_member_of_its_session() {
        let leader = Leader::start();
        assert_eq!(members_of_session(leader.pid()), [leader.pid()]);
    }

    #[test]
    fn ignored_signals_are_bits() {
        for (status, ignored) in [
            ("Name:\tx\nSigIgn:\t0000000000001001\n", true),
            (
                "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n",
                false,
            ),
            ("SigIgn:\tnothing\n", false),
            ("", false),
        ] {
            assert_eq!(hangup_is_ignored(status), ignored, "{status:?}");
        }
    }
}
