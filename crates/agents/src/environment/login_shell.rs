//! What the user's login shell sets.
//!
//! The shell runs as it would in a new terminal, but without one: a program of
//! the host leaves the host's session ([`become_login_shell`]) and becomes the
//! shell, which reads the user's files and then becomes the program again, to
//! write down what it was given ([`report`]). Whatever the files print stands
//! before the mark, and is skipped.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use innkeeper_process::Group;
use tokio::io::AsyncReadExt as _;

use super::Variables;

/// What stands before and behind the variables.
const MARK: &[u8] = b"\0innkeeper environment\0";

/// The variable that says which program writes them down.
const REPORTER: &str = "INNKEEPER_REPORTER";

/// What a shell is told to run. All of them understand it alike.
const BECOME_REPORTER: &str = "exec \"$INNKEEPER_REPORTER\" environment";

/// How much a login shell may say altogether.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// How the user's login shell is asked.
#[derive(Debug, Clone)]
pub struct LoginShell {
    pub shell: PathBuf,
    /// A program that calls [`become_login_shell`] if it is given the argument
    /// `environment` and a shell, and [`report`] if it is given `environment`
    /// alone.
    pub reporter: PathBuf,
    /// How long the shell may take. Some wait for somebody at the keyboard.
    pub patience: Duration,
}

impl LoginShell {
    /// The variables, or why there are none.
    pub(super) async fn take(&self, own: &Variables) -> Result<Variables, String> {
        let asked = tokio::time::timeout(self.patience, self.ask(own)).await;
        let seconds = self.patience.as_secs();
        let said = match asked {
            Ok(said) => said.map_err(|error| format!("it cannot be asked: {error}"))?,
            Err(_) => return Err(format!("it was not ready within {seconds} s")),
        };
        understood(&said).ok_or_else(|| "it ended without telling what it sets".to_owned())
    }

    async fn ask(&self, own: &Variables) -> io::Result<Vec<u8>> {
        let home = std::env::home_dir().filter(|home| home.is_dir());
        let mut command = tokio::process::Command::new(&self.reporter);
        command
            .args([OsStr::new("environment"), self.shell.as_os_str()])
            .env_clear()
            .envs(own)
            .env(REPORTER, &self.reporter)
            .current_dir(home.as_deref().unwrap_or(Path::new("/")))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        // It is going to lead a group. Whatever else it started ends with it.
        let _group = Group::of(child.id());
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut output = output.take(MOST_BYTES);
        let mut said = Vec::new();
        let (mut marks, mut searched) = (0, 0);
        // What the shell left running may hold its output open.
        while marks < 2 && output.read_buf(&mut said).await? > 0 {
            while let Some(found) = position(&said[searched..]) {
                marks += 1;
                searched += found + MARK.len();
            }
            searched = searched.max((said.len() + 1).saturating_sub(MARK.len()));
        }
        Ok(said)
    }
}

/// Makes a login shell of this process, which then becomes the reporter.
pub fn become_login_shell(shell: &Path) -> io::Error {
    // A shell in the background of a terminal would wait for its turn there.
    if let Err(error) = rustix::process::setsid() {
        return error.into();
    }
    let (shell, flags) = called(shell);
    let mut command = std::process::Command::new(shell);
    command.args(flags).args(["-c", BECOME_REPORTER]).exec()
}

/// Writes down the variables of this process.
pub fn report(out: &mut impl Write) -> io::Result<()> {
    out.write_all(MARK)?;
    for (name, value) in std::env::vars_os() {
        out.write_all(name.as_bytes())?;
        out.write_all(b"=")?;
        out.write_all(value.as_bytes())?;
        out.write_all(b"\0")?;
    }
    out.write_all(MARK)?;
    out.flush()
}

/// How a shell is started as in a new terminal: many read the files in which
/// people set variables only if they are interactive.
fn called(shell: &Path) -> (&Path, &'static [&'static str]) {
    let name = shell.file_name().and_then(OsStr::to_str);
    match name.unwrap_or_default() {
        "ash" | "bash" | "dash" | "fish" | "ksh" | "mksh" | "sh" | "zsh" => (shell, &["-l", "-i"]),
        // These take `-l` only if it is alone.
        "csh" | "tcsh" => (shell, &["-i"]),
        // What others understand is not known.
        _ => (Path::new("/bin/sh"), &["-l"]),
    }
}

fn position(said: &[u8]) -> Option<usize> {
    said.windows(MARK.len()).position(|window| window == MARK)
}

fn understood(said: &[u8]) -> Option<Variables> {
    let told = &said[position(said)? + MARK.len()..];
    let told = &told[..position(told)?];
    let variable = |entry: &[u8]| {
        let equals = entry.iter().position(|&byte| byte == b'=')?;
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        (equals > 0).then(|| (text(&entry[..equals]), text(&entry[equals + 1..])))
    };
    Some(told.split(|&byte| byte == 0).filter_map(variable).collect())
}
