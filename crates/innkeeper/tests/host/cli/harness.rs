//! A data directory and the calls on it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Long enough for a busy machine; only a test that fails waits for it.
const DEADLINE: Duration = Duration::from_secs(30);

/// An inn of its own: nothing of the machine's user is read or changed.
pub(crate) struct Inn {
    home: TempDir,
}

/// What a call ended with.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Requires an exit code, and returns what was printed.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Requires a failure with one line that says what to do.
    #[track_caller]
    pub(crate) fn failed(self, says: &str) {
        let ended = self.with(1);
        assert_eq!(ended.err.lines().count(), 1, "one line: {}", ended.err);
        assert!(ended.err.contains(says), "{says:?} in {:?}", ended.err);
    }
}

impl Inn {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self { home }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.path("data").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_innkeeper"));
        command
            .args(args)
            .env("HOME", self.home.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("share"))
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // What is set on this machine is not meant for the tests.
        for (name, _) in std::env::vars_os() {
            let own = name.to_string_lossy().starts_with("INNKEEPER_");
            if own || name == "RUST_LOG" || name == "NO_COLOR" || name == "BROWSER" {
                command.env_remove(name);
            }
        }
        command
    }

    /// Calls the program and waits for its end.
    pub(crate) fn bare_call(&self, args: &[&str]) -> Ended {
        let output = self.command(args).output().unwrap();
        Ended {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The same, on this inn's data directory.
    pub(crate) fn call(&self, args: &[&str]) -> Ended {
        let data = self.path("data");
        self.bare_call(&[args, &["--data-dir", data.to_str().unwrap()]].concat())
    }

    /// The program, started by a shell that did something before.
    pub(crate) fn command_after(&self, preparation: &str, args: &[&str]) -> Command {
        let program = self.command(args);
        let mut shell = Command::new("/bin/sh");
        let script = format!("{preparation}\nexec \"$@\"");
        shell.args(["-c", &script, "sh"]).arg(program.get_program());
        shell.args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(self.home.path()).stdin(Stdio::null());
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    }

    /// Starts a host on a free port and waits until it has printed where.
    pub(crate) fn serve(&self, flags: &[&str]) -> Serving {
        self.serve_after("", flags)
    }

    /// The same, by a shell that did something before.
    pub(crate) fn serve_after(&self, preparation: &str, flags: &[&str]) -> Serving {
        let data = self.path("data");
        let ready = self.path("ready.json");
        let own = ["--port", "0", "--data-dir"];
        let mut child = self
            .command_after(preparation, &["serve"])
            .args(own)
            .arg(data)
            .arg("--ready-file")
            .arg(&ready)
            .args(flags)
            .env("INNKEEPER_LOG", "warn")
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut lines = Vec::new();
        while !lines
            .last()
            .is_some_and(|line: &String| line.starts_with("WebSocket:"))
        {
            let mut line = String::new();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended: {lines:?}");
            lines.push(line.trim_end().to_owned());
        }
        let ready = serde_json::from_str(&fs::read_to_string(ready).unwrap()).unwrap();
        Serving {
            running: Running(child),
            out,
            lines,
            ready,
        }
    }
}

/// What was started in the background does not outlive its test either.
impl Drop for Inn {
    fn drop(&mut self) {
        if self.data("host.json").exists() {
            self.call(&["stop"]);
        }
    }
}

/// A process that does not outlive its test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        eventually("the program ends", || self.0.try_wait().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host that listens.
pub(crate) struct Serving {
    pub(crate) running: Running,
    pub(crate) out: BufReader<ChildStdout>,
    pub(crate) lines: Vec<String>,
    pub(crate) ready: Value,
}

impl Serving {
    /// `host:port`.
    pub(crate) fn authority(&self) -> String {
        let web = self.ready["web"].as_str().unwrap();
        let rest = web.split_once("://").unwrap().1;
        rest.split('/').next().unwrap().to_owned()
    }

    pub(crate) fn token(&self) -> String {
        let url = self.ready["url"].as_str().unwrap();
        url.split_once("?tkn=").unwrap().1.to_owned()
    }

    /// Asks over HTTP; returns the status and all else that came.
    pub(crate) fn get(&self, path: &str, headers: &str) -> (u16, String) {
        let mut stream = self.ask(path, headers);
        let mut answer = head(&mut stream);
        // What asks to be upgraded is not closed, even if it is refused.
        if !headers.contains("Upgrade") {
            stream.read_to_string(&mut answer).unwrap();
        }
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    /// Asks for a WebSocket; returns the connection at its first frame.
    pub(crate) fn upgraded(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = self.ask(path, headers);
        let answer = head(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
        stream
    }

    fn ask(&self, path: &str, headers: &str) -> TcpStream {
        let authority = self.authority();
        let mut stream = TcpStream::connect(&authority).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let close = match headers.contains("Connection:") {
            true => "",
            false => "Connection: close\r\n",
        };
        let host = match headers.starts_with("Host:") {
            true => String::new(),
            false => format!("Host: {authority}\r\n"),
        };
        write!(stream, "GET {path} HTTP/1.1\r\n{host}{close}{headers}\r\n").unwrap();
        stream
    }

    /// Tells the host to stop, and waits until it has.
    pub(crate) fn stop(self) {
        self.running.signal("TERM");
        self.stopped();
    }

    /// Waits until a host that was told to stop has.
    pub(crate) fn stopped(mut self) {
        assert_eq!(self.running.wait().code(), Some(0));
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "nothing else is printed");
    }
}

/// The head of an answer, and not a byte more.
fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap() == 0 {
            break;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Asks again and again until there is an answer.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "it never happened that {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
