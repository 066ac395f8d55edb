//! The real program, as a process that can be killed.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A host that runs until this is dropped, which kills it without warning.
pub struct Binary {
    child: Child,
    pub url: String,
}

impl Binary {
    /// Starts a host and waits until it says where it listens.
    pub fn start(data: &Path, more: &[&str]) -> Self {
        Self::start_with(data, more, |_| {})
    }

    /// Likewise, with something changed about how it is started.
    pub fn start_with(data: &Path, more: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let more = [&["--agents", "script"], more].concat();
        Self::start_with_all_agents(data, &more, change)
    }

    /// Likewise, with whatever agents it finds.
    pub fn start_with_all_agents(
        data: &Path,
        more: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_innkeeper"));
        command
            .args(["serve", "--port", "0", "--log", "warn"])
            .arg("--data-dir")
            .arg(data)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.strip_prefix("WebSocket:").map(str::to_owned));
        let url = url
            .expect("the host says where it listens")
            .trim()
            .to_owned();
        Self { child, url }
    }

    /// The lines of its log, if its standard error is piped.
    pub fn log(&mut self) -> impl Iterator<Item = String> + Send + use<> {
        let log = BufReader::new(self.child.stderr.take().unwrap());
        log.lines().map_while(Result::ok)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: no chance to finish anything.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Resident memory in KiB, where the system tells.
    pub fn resident_kib(&self) -> Option<u64> {
        self.memory_kib("VmRSS:")
    }

    /// The most that it ever was.
    pub fn peak_kib(&self) -> Option<u64> {
        self.memory_kib("VmHWM:")
    }

    fn memory_kib(&self, which: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(which))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
