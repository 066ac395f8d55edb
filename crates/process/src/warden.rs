//! The warden: a small process next to the host that outlives it by a moment.
//! The host tells it which process groups there are, and which sessions of
//! terminals; when the host is gone without having ended them (it was killed,
//! or crashed), the warden does.
//!
//! A host that may be overtaken tells it a deadline, too, again and again: if
//! the host does not get to move that on (it was stopped, say), the warden ends
//! everything then, at once, and watches on.
//!
//! It is a shell that waits for the end of its input, which comes with the end
//! of the host whatever that was. A parent-death signal would reach one process
//! rather than its group, is sent when a *thread* ends, and exists on one
//! system only.

use std::fmt;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::Pid;

const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
groups= sessions= over= timer=
trap over=1 ALRM
without() {
    others=
    for other in $2; do
        [ "$other" = "$1" ] || others="$others $other"
    done
}
# The timer also ignores what is ignored above, so another signal ends it. It ends
# its sleep first, which would go on without it.
stop_timer() {
    [ -z "$timer" ] || { kill -s USR1 "$timer"; wait "$timer"; }
    timer=
}
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
while :; do
    while [ -z "$over" ] && read -r verb kind id; do
        case $verb-$kind in
        watch-group) groups="$groups $id" ;;
        forget-group) without "$id" "$groups"; groups=$others ;;
        watch-session) sessions="$sessions $id" ;;
        forget-session) without "$id" "$sessions"; sessions=$others ;;
        deadline-in)
            stop_timer
            [ "$id" != 0.000 ] || { over=1; continue; }
            {
                before=$!
                trap '[ "$!" = "$before" ] || { kill -s KILL "$!"; wait "$!"; }; exit' USR1
                sleep "$id" &
                wait "$!" && kill -s ALRM "$$"
            } &
            timer=$! ;;
        deadline-none) stop_timer ;;
        esac
    done
    [ -n "$over" ] || break
    stop_timer
    over=
    for group in $groups $sessions; do kill -s KILL -- "-$group"; done
    for pid in $(members); do kill -s KILL "$pid"; done
done
stop_timer
[ -n "$groups$sessions" ] || exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
for session in $sessions; do kill -s HUP -- "-$session"; done
for pid in $(members); do kill -s HUP "$pid"; kill -s CONT "$pid"; done
sleep 2
for group in $groups $sessions; do kill -s KILL -- "-$group"; done
for pid in $(members); do kill -s KILL "$pid"; done
"#;

/// What the warden ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    Group(Pid),
    /// By its leader.
    Session(Pid),
}

/// What is watched now.
static ALL: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

pub(super) fn watch(what: Watched) {
    known().push(what);
    tell("watch", what);
}

pub(super) fn forget(what: Watched) {
    known().retain(|other| *other != what);
    tell("forget", what);
}

pub(super) fn all() -> Vec<Watched> {
    known().clone()
}

fn known() -> MutexGuard<'static, Vec<Watched>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything is to end after this time, unless it is moved on; nothing: it is
/// not.
pub(super) fn set_deadline(left: Option<Duration>) {
    match left {
        Some(left) => say(format_args!("deadline in {:.3}", left.as_secs_f64())),
        None => say(format_args!("deadline none")),
    }
}

fn tell(verb: &str, what: Watched) {
    let (kind, id) = match what {
        Watched::Group(id) => ("group", id),
        Watched::Session(id) => ("session", id),
    };
    say(format_args!("{verb} {kind} {}", id.as_raw_nonzero()));
}

fn say(line: fmt::Arguments<'_>) {
    static WARDEN: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    // Without a warden everything works but this one precaution.
    if let Some(warden) = WARDEN.get_or_init(start) {
        let mut input = warden.lock().unwrap_or_else(PoisonError::into_inner);
        // In one piece: what the warden reads may be cut short by its deadline.
        let _ = input.write_all(format!("{line}\n").as_bytes());
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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::SCRIPT;

    /// What sleeps in a process group.
    fn sleeping(group: u32) -> Vec<String> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let words = processes.filter_map(|process| {
            let stat = fs::read_to_string(process.path().join("stat")).ok()?;
            let (_, rest) = stat.rsplit_once(") ")?;
            let of: u32 = rest.split(' ').nth(2)?.parse().ok()?;
            let words = fs::read_to_string(process.path().join("cmdline")).ok()?;
            let is_asleep = of == group && words.starts_with("sleep\0");
            is_asleep.then(|| words.trim_end_matches('\0').replace('\0', " "))
        });
        words.collect()
    }

    #[test]
    fn a_deadline_that_was_moved_on_is_waited_for_no_longer() {
        for shell in ["sh", "bash"] {
            let warden = Command::new(shell)
                .args(["-c", SCRIPT, "innkeeper-warden"])
                .stdin(Stdio::piped())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn();
            let Ok(mut warden) = warden else {
                eprintln!("SKIPPED: there is no {shell}");
                continue;
            };
            let mut input = warden.stdin.take().unwrap();
            for left in ["3600.000"; 20].iter().chain(&["7200.000"]) {
                writeln!(input, "deadline in {left}").unwrap();
            }
            let began = Instant::now();
            let mut asleep = Vec::new();
            while asleep != ["sleep 7200.000"] {
                assert!(began.elapsed() < Duration::from_secs(60), "{asleep:?}");
                asleep = sleeping(warden.id());
            }
            drop(input);
            warden.wait().unwrap();
            assert_eq!(sleeping(warden.id()), [""; 0]);
        }
    }
}
