//! Running installers: in a process group of its own, for a bounded time, with
//! their words passed on.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use innkeeper_process::Group;
use tokio::process::Command;

use super::{InstallError, Tell};
use crate::discovery::which;
use crate::environment::Variables;
use crate::process::each_line;

/// The longest that one command may take.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// How much of what a command says is kept: of its output as a whole, of a line,
/// and of its last lines for an error.
const OUTPUT_BYTES: usize = 1024 * 1024;
const LINE_BYTES: u64 = 4 * 1024;
const LINE_CHARS: usize = 300;
const LAST_LINES: usize = 5;

/// Where installers run.
pub(super) struct Commands<'a> {
    pub(super) path: OsString,
    pub(super) variables: Variables,
    /// What they work in.
    pub(super) directory: PathBuf,
    pub(super) tell: &'a Tell,
}

impl Commands<'_> {
    pub(super) fn find(&self, command: &str) -> Option<PathBuf> {
        which(&self.path, Path::new(command))
    }

    pub(super) fn tell(&self, line: &str) {
        (self.tell)(line);
    }

    /// Runs a command to its end and returns its output.
    pub(super) async fn run<S: AsRef<OsStr>>(
        &self,
        program: &Path,
        args: &[S],
    ) -> Result<String, InstallError> {
        self.run_hearing(program, args, |_| true).await
    }

    /// Whether a command ends well; whatever it says is of no interest.
    pub(super) async fn works<S: AsRef<OsStr>>(&self, program: &Path, args: &[S]) -> bool {
        self.run_hearing(program, args, |_| false).await.is_ok()
    }

    /// Likewise; `hear` takes what it says on standard error, and says whether
    /// that is for people.
    pub(super) async fn run_hearing<S: AsRef<OsStr>>(
        &self,
        program: &Path,
        args: &[S],
        mut hear: impl FnMut(&str) -> bool,
    ) -> Result<String, InstallError> {
        let command = named(program, args);
        let failed = |how: String, said: Vec<String>| InstallError::Failed {
            command: command.clone(),
            how,
            said,
        };
        let spawned = Command::new(program)
            .args(args)
            .env_clear()
            .envs(&self.variables)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let unable = |error: std::io::Error| failed(format!("did not start ({error})"), vec![]);
        let mut child = spawned.map_err(unable)?;
        let _group = Group::of(child.id());
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed("has no output".to_owned(), vec![]));
        };
        let (mut output, mut last) = (String::new(), VecDeque::new());
        let heard = async {
            let mut lines = Vec::new();
            let out = each_line(stdout, LINE_BYTES, |line| {
                if output.len() + line.len() < OUTPUT_BYTES {
                    output.push_str(line);
                    output.push('\n');
                }
            });
            let err = each_line(stderr, LINE_BYTES, |line| {
                if !hear(line) {
                    return;
                }
                self.tell(&shortened(line));
                lines.push(shortened(line));
                if lines.len() > LAST_LINES {
                    lines.remove(0);
                }
            });
            tokio::join!(out, err);
            last.extend(lines);
            child.wait().await
        };
        match tokio::time::timeout(PATIENCE, heard).await {
            Err(_) => Err(failed("took too long".to_owned(), last.into())),
            Ok(Err(error)) => Err(failed(format!("was lost ({error})"), last.into())),
            Ok(Ok(status)) if status.success() => Ok(output),
            Ok(Ok(status)) => {
                // Some installers complain on their output.
                if last.is_empty() {
                    let lines: Vec<&str> = output.lines().collect();
                    let from = lines.len().saturating_sub(LAST_LINES);
                    last.extend(lines[from..].iter().map(|line| shortened(line)));
                }
                Err(failed(format!("failed ({status})"), last.into()))
            }
        }
    }
}

/// What to call a command: by its program and the first word after it, or by the
/// Python module that it runs.
fn named<S: AsRef<OsStr>>(program: &Path, args: &[S]) -> String {
    let words = args.iter().map(|arg| arg.as_ref().to_string_lossy());
    let words: Vec<_> = words.take(3).collect();
    let name = program.file_name().unwrap_or(program.as_os_str());
    match &words[..] {
        [module, name, what] if module == "-m" => format!("`{name} {what}`"),
        [first, ..] => format!("`{} {first}`", name.display()),
        [] => format!("`{}`", name.display()),
    }
}

/// A line for people: of bounded length, and nothing that a terminal obeys.
fn shortened(line: &str) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    let clean = plain.chars().filter(|c| !c.is_control());
    clean.take(LINE_CHARS).collect()
}
