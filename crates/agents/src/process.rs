//! A child process that an agent lives in: started in a process group of its
//! own, given the environment that is meant for it, and ended with everything
//! that it started.
//!
//! *Invariant*: when a [`ChildProcess`] is gone, by `end` or by being dropped
//! at any point, its process group has been told to go; and if the host itself
//! is killed, the warden ends the group in its place ([`innkeeper_process`]).

mod lines;
mod stderr;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use innkeeper_process::system::memory_of_group;
use innkeeper_process::{Group, Signal};
use innkeeper_protocol::agent::{AgentFailure, HowEnded, ProcessEnd};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::environment::{self, Environment, Surroundings};

pub(crate) use lines::{JsonLines, LONGEST, Line, LineWriter};
use stderr::LastWords;
pub(crate) use stderr::{StderrLog, each_line};

/// How long the host waits for an agent.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For an answer while a session is being opened.
    pub opening: Duration,
    /// Without a word in a running turn, before the user is told.
    pub silence: Duration,
    /// For the end of a turn that was cancelled, before the agent is restarted.
    pub cancelling: Duration,
    /// For its end when it was told to go, before it is made to.
    pub ending: Duration,
    /// For what a turn has used, where the agent has not said so by its end.
    pub usage: Duration,
    /// For the end of a sign-in that the agent goes through with a person.
    pub signing_in: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            opening: Duration::from_secs(60),
            silence: Duration::from_secs(60),
            cancelling: Duration::from_secs(10),
            ending: Duration::from_secs(3),
            usage: Duration::from_millis(100),
            signing_in: Duration::from_secs(600),
        }
    }
}

/// How to start a program that is an agent.
#[derive(Debug, Clone)]
pub struct Program {
    pub command: PathBuf,
    pub args: Vec<String>,
    /// Set for the program, whatever the host's own environment says.
    pub env: BTreeMap<String, String>,
    /// Where its other variables come from.
    pub environment: Arc<Environment>,
    /// Variables of the host's own environment that the program gets in addition.
    /// A name that ends in `*` stands for all that begin like it.
    pub pass_env: Vec<String>,
    /// Where it starts, if not in the session's directory.
    pub directory: Option<PathBuf>,
}

impl Program {
    pub fn new(command: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            environment: environment::usual(),
            pass_env: Vec::new(),
            directory: None,
        }
    }

    /// The command with its arguments, as a person would type it.
    pub fn line(&self) -> String {
        let mut line = self.command.display().to_string();
        for arg in &self.args {
            line.push(' ');
            line.push_str(arg);
        }
        line
    }
}

/// Directories as paths; what is not on this machine is left out.
pub(crate) fn paths(directories: &[String]) -> Vec<PathBuf> {
    let path = |directory: &String| match url::Url::parse(directory) {
        Ok(url) => url.to_file_path().ok(),
        Err(_) => Some(PathBuf::from(directory)).filter(|path| path.is_absolute()),
    };
    directories.iter().filter_map(path).collect()
}

/// A running program, and the group of processes that belongs to it.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    child: Child,
    group: Group,
    surroundings: Surroundings,
    last_words: Arc<LastWords>,
    /// What it said on its output that was not for the host.
    noise: Arc<LastWords>,
    collecting: Option<JoinHandle<()>>,
}

impl ChildProcess {
    /// Starts a program that is talked to in lines of JSON.
    pub(crate) async fn start(
        program: &Program,
        directory: Option<&Path>,
        stderr: &Arc<StderrLog>,
    ) -> Result<(Self, JsonLines), AgentFailure> {
        Self::start_with(program, directory, stderr, LONGEST).await
    }

    /// Likewise, with a limit of its own for the length of a line.
    pub(crate) async fn start_with(
        program: &Program,
        directory: Option<&Path>,
        stderr: &Arc<StderrLog>,
        longest_line: u64,
    ) -> Result<(Self, JsonLines), AgentFailure> {
        let failed = |error: std::io::Error| AgentFailure::NotStarted {
            command: program.line(),
            why: error.to_string(),
        };
        let directory = program.directory.as_deref().or(directory);
        let surroundings = program.environment.surroundings(directory).await;
        let mut command = Command::new(&program.command);
        command
            .args(&program.args)
            .env_clear()
            .envs(surroundings.with(&program.pass_env))
            .envs(&program.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        let mut child = command.spawn().map_err(failed)?;
        let group = Group::of(child.id());
        let pipes = child.stdin.take().zip(child.stdout.take());
        let Some((stdin, stdout)) = pipes else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        let pipe = child.stderr.take();
        let (last_words, noise) = (Arc::<LastWords>::default(), Arc::default());
        let collect =
            |pipe| tokio::spawn(Arc::clone(stderr).collect(pipe, Arc::clone(&last_words)));
        let collecting = pipe.map(collect);
        let process = Self {
            child,
            group,
            surroundings,
            last_words,
            noise: Arc::clone(&noise),
            collecting,
        };
        let lines = JsonLines::new(stdin, stdout, longest_line, noise);
        Ok((process, lines))
    }

    /// What the program was started in, less what was set for it alone.
    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Passes on what the program says for people from now on, as far as there is
    /// room.
    pub(crate) fn overhear(&self, listener: mpsc::Sender<String>) {
        self.last_words.listen(listener.clone());
        self.noise.listen(listener);
    }

    /// Waits for the end of the program. Its output may be held open by
    /// something that it started, so the end of that says less.
    pub(crate) async fn exited(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Whether the program has not ended yet.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// How much memory the program and what it started hold, where that can be
    /// told.
    pub(crate) fn memory(&self) -> impl Future<Output = Option<u64>> + Send + 'static {
        let leader = self.group.leader();
        async move {
            let leader = leader?;
            let measured = tokio::task::spawn_blocking(move || memory_of_group(leader));
            measured.await.ok().flatten()
        }
    }

    /// Ends the program and all that it started, at once.
    pub(crate) fn kill(&self) {
        self.group.signal(Signal::KILL);
    }

    /// Ends the program and all that it started: first it is asked to, after
    /// the grace period it is made to.
    pub(crate) async fn end(mut self, grace: Duration) {
        self.group.signal(Signal::TERM);
        // A program may leave children behind that ignore the signal.
        if tokio::time::timeout(grace, self.child.wait())
            .await
            .is_err()
        {
            self.group.signal(Signal::KILL);
            let _ = self.child.wait().await;
        }
    }

    /// What it said last for people to read. Some say on their output why they
    /// end.
    pub(crate) fn last_words(&self) -> Option<String> {
        let said = [self.last_words.quoted(), self.noise.quoted()];
        let said: Vec<String> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join(" / "))
    }

    /// How a program that closed its output came to its end.
    pub(crate) async fn epitaph(&mut self) -> ProcessEnd {
        // Something that it started may hold its output open, so none of this
        // is waited for without end.
        const MOMENT: Duration = Duration::from_secs(1);
        let waited = tokio::time::timeout(MOMENT, self.child.wait()).await;
        if let Some(collecting) = self.collecting.take() {
            let _ = tokio::time::timeout(MOMENT, collecting).await;
        }
        let how = waited.ok().and_then(Result::ok).and_then(ended);
        ProcessEnd {
            how: how.unwrap_or(HowEnded::OutputClosed),
            last_words: self.last_words(),
        }
    }
}

fn ended(status: ExitStatus) -> Option<HowEnded> {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = || status.signal().map(HowEnded::Signal);
    status.code().map(HowEnded::Status).or_else(signal)
}

#[cfg(test)]
mod tests;
