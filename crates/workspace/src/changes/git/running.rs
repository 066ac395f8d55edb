//! Running `git`: the one place where it is started.
//!
//! *Invariant*: git is told everything that it may do. Of its variables it
//! gets those that say where the user's own configuration is, and none that
//! lead elsewhere; hooks, daemons, editors, pagers, prompts and transports are
//! switched off. Each run has a process group of its own, which is ended with
//! it, after its time, and with the host.

use std::ffi::OsStr;
use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use innkeeper_process::Group;

use super::{GitError, GitResult, Repository};

/// How long git may take for anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// How long for a checkpoint that a turn waits for: a little longer than the
/// turn does. One that came later would show what the turn did as what was
/// there before.
pub(crate) const LIMIT_BEFORE_TURN: Duration = Duration::from_secs(8);

/// How long for a commit: the user's hooks may run tests.
pub(crate) const LIMIT_OF_COMMIT: Duration = Duration::from_secs(600);

/// How long for speaking to a remote.
pub(crate) const LIMIT_OF_PUSH: Duration = Duration::from_secs(300);

/// How much is kept of what is said while git speaks to a remote, which may say
/// anything; in bytes.
const MOST_OF_REMOTE: u64 = 256 * 1024;

/// The variables of git's that are passed on: where the user's configuration
/// and git itself are, and how it trusts servers.
const OF_THE_USER: [&str; 8] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_LFS_SKIP_SMUDGE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_TEMPLATE_DIR",
];

/// What git is told besides its task. An empty program is none.
const TOLD: [(&str, &str); 9] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ASKPASS", ""),
    ("GIT_EDITOR", ":"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// What it is configured with, whatever a file says.
const CONFIGURED: [(&str, &str); 10] = [
    ("advice.addEmbeddedRepo", "false"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("worktree.useRelativePaths", "false"),
];

/// Variables that would lead `git` elsewhere also when it does what the user
/// asked for.
const LEADING_ASTRAY: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
];

/// A git that is about to be run.
pub(crate) struct Git {
    command: Command,
    limit: Duration,
    /// Looked at before.
    repository: Option<Repository>,
    stop: Option<Stop>,
}

/// Ends what was started, from another thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<Mutex<Stopping>>);

#[derive(Debug, Default)]
struct Stopping {
    is_said: bool,
    listener: Option<Sender<(Stream, Vec<u8>)>>,
}

impl Stop {
    pub(crate) fn say(&self) {
        let mut stopping = self.lock();
        stopping.is_said = true;
        if let Some(listener) = stopping.listener.take() {
            // One that has ended meanwhile hears nothing.
            let _ = listener.send((Stream::Stopped, Vec::new()));
        }
    }

    fn listen(&self, listener: &Sender<(Stream, Vec<u8>)>) {
        let mut stopping = self.lock();
        match stopping.is_said {
            true => drop(listener.send((Stream::Stopped, Vec::new()))),
            false => stopping.listener = Some(listener.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stopping> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Git {
    /// One that may do nothing but its task.
    pub(crate) fn new() -> Self {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GIT_") && !OF_THE_USER.contains(&text.as_ref()) {
                command.env_remove(&name);
            }
        }
        command.envs(TOLD).env_remove("SSH_ASKPASS");
        command.env("GIT_CONFIG_COUNT", CONFIGURED.len().to_string());
        for (at, (key, value)) in CONFIGURED.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        Self::with(command)
    }

    /// One that does what the user would: with their environment, the
    /// repository's configuration, and hooks. Only for what they confirmed.
    pub(crate) fn as_the_user() -> Self {
        let mut command = Command::new("git");
        for name in LEADING_ASTRAY {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        command.args(["-c", "core.fsmonitor=false", "-c", "gc.auto=0"]);
        command.args(["-c", "maintenance.auto=false"]);
        Self::with(command)
    }

    fn with(command: Command) -> Self {
        Self {
            command,
            limit: LIMIT,
            repository: None,
            stop: None,
        }
    }

    /// Another program, which may start git itself: it is in no repository.
    pub(crate) fn other(program: &str) -> Self {
        let mut command = Command::new(program);
        for name in LEADING_ASTRAY {
            command.env_remove(name);
        }
        command.env("GIT_TERMINAL_PROMPT", "0");
        Self::with(command)
    }

    /// It ends when somebody says so.
    pub(crate) fn until(&mut self, stop: &Stop) -> &mut Self {
        self.stop = Some(stop.clone());
        self
    }

    /// In a repository, which is looked at before git is started.
    pub(super) fn within(mut self, repository: &Repository) -> Self {
        self.repository = Some(repository.clone());
        self
    }

    pub(crate) fn limit(&mut self, limit: Duration) -> &mut Self {
        self.limit = limit;
        self
    }

    pub(crate) fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args(&mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Self {
        self.command.current_dir(directory);
        self
    }

    /// What it is asked to do, for messages.
    fn task(&self) -> String {
        let mut args = self.command.get_args();
        let mut task = args.next();
        while task == Some(OsStr::new("-c")) {
            task = args.nth(1);
        }
        task.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Starts it, in a group of its own.
    pub(crate) fn start(&mut self, stdin: Stdio, stderr: Stdio) -> GitResult<(Child, Group)> {
        if let Some(repository) = &self.repository {
            repository.prepare()?;
        }
        self.command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(stderr);
        let child = self.command.process_group(0).spawn();
        let child = child.map_err(GitError::NotRun)?;
        let group = Group::of(Some(child.id()));
        Ok((child, group))
    }
}

/// Runs a command to its end. What it says on standard error is the reason if
/// it fails.
pub(crate) fn run(git: Git, input: Option<&[u8]>) -> GitResult<Vec<u8>> {
    run_aloud(git, input).map(|(said, _)| said)
}

/// The same, with what it says on standard error.
pub(crate) fn run_aloud(mut git: Git, input: Option<&[u8]>) -> GitResult<(Vec<u8>, Vec<u8>)> {
    let stdin = match input {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    };
    let deadline = Instant::now() + git.limit;
    let (mut child, group) = git.start(stdin, Stdio::piped())?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // Beside reading: both sides may have more than a pipe holds. One that
        // does not want all of it says why on standard error.
        let input = input.to_vec();
        alongside(move || drop(stdin.write_all(&input)))?;
    }
    // None of these is waited for after the time: what git started may have
    // left its group with a pipe in its hand.
    let (heard, outputs) = channel();
    let most = git.stop.as_ref().map_or(u64::MAX, |_| MOST_OF_REMOTE);
    collect(child.stdout.take(), &heard, Stream::Output, most)?;
    collect(child.stderr.take(), &heard, Stream::Errors, most)?;
    if let Some(stop) = &git.stop {
        stop.listen(&heard);
    }
    let (mut said, mut errors) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let left = deadline.saturating_duration_since(Instant::now());
        match outputs.recv_timeout(left) {
            Ok((Stream::Output, bytes)) => said = bytes,
            Ok((Stream::Errors, bytes)) => errors = bytes,
            Ok((Stream::Stopped, _)) => {
                drop(group);
                let _ = child.wait();
                return Err(GitError::Stopped);
            }
            Err(_) => {
                drop(group);
                let _ = child.wait();
                return Err(GitError::TookTooLong {
                    task: git.task(),
                    limit: git.limit,
                });
            }
        }
    }
    let status = child.wait()?;
    drop(group);
    if status.success() {
        if let Some(repository) = &git.repository {
            repository.check()?;
        }
        return Ok((said, errors));
    }
    if errors.trim_ascii().is_empty() {
        errors = said;
    }
    Err(GitError::Failed(
        String::from_utf8_lossy(&errors).into_owned(),
    ))
}

#[derive(Debug)]
enum Stream {
    Output,
    Errors,
    Stopped,
}

fn collect(
    pipe: Option<impl Read + Send + 'static>,
    heard: &Sender<(Stream, Vec<u8>)>,
    stream: Stream,
    most: u64,
) -> GitResult<()> {
    let heard = heard.clone();
    alongside(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before it broke is all there is.
            let _ = (&mut pipe).take(most).read_to_end(&mut bytes);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        let _ = heard.send((stream, bytes));
    })
}

/// Does something on a thread of its own.
pub(crate) fn alongside(task: impl FnOnce() + Send + 'static) -> GitResult<()> {
    let thread = std::thread::Builder::new().name("git".to_owned());
    thread.spawn(task).map_err(GitError::NotRun)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_takes_too_long_is_ended_and_says_so() {
        let mut git = Git::new();
        // Nobody ever writes to its input.
        git.args(["hash-object", "--stdin"]).limit(Duration::ZERO);
        let (_keep, input) = io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
        let (mut child, group) = git.start(Stdio::from(input), Stdio::null()).unwrap();
        assert!(child.try_wait().unwrap().is_none());
        drop(group);
        assert!(!child.wait().unwrap().success());

        let mut git = Git::new();
        git.env("GIT_DIR", "/dev/null").current_dir("/");
        git.args(["-c", "alias.wait=!sleep 600", "wait"]);
        git.limit(Duration::ZERO);
        let said = run(git, None).unwrap_err().to_string();
        assert!(
            said.starts_with("`git wait` took longer than 0 seconds"),
            "{said}"
        );
    }

    #[test]
    fn variables_that_lead_elsewhere_are_not_passed_on() {
        let git = Git::new();
        let told: Vec<_> = git
            .command
            .get_envs()
            .filter(|(_, value)| value.is_some())
            .collect();
        for name in LEADING_ASTRAY {
            let told = told.iter().any(|(told, _)| *told == OsStr::new(name));
            assert!(!told, "{name}");
        }
    }
}
