//! The warden: a small process next to the host that outlives it by a moment.
//! The host tells it which process groups there are, and which sessions of
//! terminals; when the host is gone without having ended them (it was killed,
//! or crashed), the warden does.
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
groups= sessions=
without() {
    others=
    for other in $2; do
        [ "$other" = "$1" ] || others="$others $other"
    done
}
while read -r verb kind id; do
    case $verb-$kind in
    watch-group) groups="$groups $id" ;;
    forget-group) without "$id" "$groups"; groups=$others ;;
    watch-session) sessions="$sessions $id" ;;
    forget-session) without "$id" "$sessions"; sessions=$others ;;
    esac
done
[ -n "$groups$sessions" ] || exit 0
# Jobs of a shell are in groups of their own. Behind the name of a process, which
# may hold anything, stand its state, its parent, its group and its session.
members() {
    for stat in /proc/[0-9]*/stat; do
        { read -r line < "$stat"; } 2>/dev/null || continue
        pid=${stat#/proc/}
        set -- ${line##*) }
        for session in $sessions; do
            [ "$4" != "$session" ] || echo "${pid%/stat}"
        done
    done
}
for group in $groups; do kill -s TERM -- "-$group"; done
for session in $sessions; do kill -s HUP -- "-$session"; done
for pid in $(members); do kill -s HUP "$pid"; kill -s CONT "$pid"; done
sleep 2
for group in $groups $sessions; do kill -s KILL -- "-$group"; done
for pid in $(members); do kill -s KILL "$pid"; done
"#;

/// What the warden ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Watched {
    Group(Pid),
    /// By its leader.
    Session(Pid),
}

pub(super) fn watch(what: Watched) {
    tell("watch", what);
}

pub(super) fn forget(what: Watched) {
    tell("forget", what);
}

fn tell(verb: &str, what: Watched) {
    let (kind, id) = match what {
        Watched::Group(id) => ("group", id),
        Watched::Session(id) => ("session", id),
    };
    static WARDEN: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    // Without a warden everything works but this one precaution.
    if let Some(warden) = WARDEN.get_or_init(start) {
        let mut input = warden.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(input, "{verb} {kind} {}", id.as_raw_nonzero());
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
