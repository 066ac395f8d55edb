//! The warden: a small process beside the host that outlives it by a moment.
//! The host tells it which process groups there are; when the host is gone
//! without having ended them (it was killed, or crashed), the warden does.
//!
//! It is a shell that waits for the end of its input, which comes with the end
//! of the host whatever that was. A parent-death signal would reach one process
//! rather than its group, is sent when a *thread* ends, and exists on one
//! system only.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::Pid;

const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
groups=
while read -r verb group; do
    case $verb in
    watch) groups="$groups $group" ;;
    forget)
        others=
        for other in $groups; do
            [ "$other" = "$group" ] || others="$others $other"
        done
        groups=$others
        ;;
    esac
done
[ -n "$groups" ] || exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
sleep 2
for group in $groups; do kill -s KILL -- "-$group"; done
"#;

pub(super) fn watch(group: Pid) {
    tell("watch", group);
}

pub(super) fn forget(group: Pid) {
    tell("forget", group);
}

fn tell(verb: &str, group: Pid) {
    static WARDEN: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    // Without a warden everything works but this one precaution.
    if let Some(warden) = WARDEN.get_or_init(start) {
        let mut input = warden.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(input, "{verb} {}", group.as_raw_nonzero());
    }
}

fn start() -> Option<Mutex<ChildStdin>> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "innkeeper-warden"])
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .inspect_err(
            |error| tracing::warn!(%error, "no warden: if the host is killed, what it started stays"),
        )
        .ok()?;
    // It is not waited for: it ends after the host.
    child.stdin.take().map(Mutex::new)
}
