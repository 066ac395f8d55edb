//! The programs that play the agent in tests: examples of this package, which
//! are built with its tests.

use std::path::{Path, PathBuf};

/// Where the program of that name is: beside the directory of the test.
pub(crate) fn test_program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap();
    let program = built.join("examples").join(name);
    assert!(
        program.is_file(),
        "{} is missing; `cargo build -p innkeeper-agents --examples` builds it, as do \
         `cargo test` and `cargo nextest run` unless they are told to build single tests only",
        program.display()
    );
    program
}

/// Kills the process that wrote its number to a file.
pub(crate) fn kill(pid_file: &Path) {
    let process = std::fs::read_to_string(pid_file).unwrap();
    let status = std::process::Command::new("kill")
        .args(["-KILL", &process])
        .status();
    assert!(status.unwrap().success());
}

/// How often a program was asked for something, by its journal.
pub(crate) fn times(journal: &Path, wanted: &str) -> usize {
    let lines = std::fs::read_to_string(journal).unwrap();
    lines.lines().filter(|line| *line == wanted).count()
}
