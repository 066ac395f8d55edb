//! Real shells in real ptys. Which shells are there depends on the machine;
//! what they read at the start does not.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use innkeeper_protocol::workspace::terminal::TerminalProgram;
use tempfile::TempDir;

use super::*;

/// Nothing here takes this long; what does is stuck.
const STUCK: Duration = Duration::from_secs(60);

const ID: TerminalId = TerminalId(7);

struct Console {
    terminals: TerminalService,
    events: Receiver<TerminalEvent>,
    /// Whether what is read counts as taken.
    takes: bool,
    text: String,
    home: TempDir,
}

impl Console {
    fn open(shell: &str, program: TerminalProgram) -> Self {
        let home = tempfile::tempdir().unwrap();
        let options = TerminalOptions {
            shell: Some(PathBuf::from(shell)),
            shell_arguments: Vec::new(),
            scripts: Some(home.path().join("scripts")),
            environment: vec![
                (
                    "HOME".to_owned(),
                    home.path().to_string_lossy().into_owned(),
                ),
                ("HISTFILE".to_owned(), String::new()),
                (
                    "XDG_CONFIG_HOME".to_owned(),
                    home.path().to_string_lossy().into_owned(),
                ),
                ("PS1".to_owned(), "ready> ".to_owned()),
            ],
        };
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let sink = Arc::new(move |report: TerminalReport| {
            sender.lock().unwrap().send(report.event).is_ok()
        });
        let terminals = TerminalService::new(options, sink);
        let directory = Some(uri_of_path(&home.path().canonicalize().unwrap()).unwrap());
        let open = OpenTerminal {
            program,
            directory,
            environment: None,
            size: Size {
                columns: 100,
                rows: 30,
            },
        };
        terminals.command(TerminalCommand::Open {
            terminal: ID,
            open: Box::new(open),
        });
        Self {
            terminals,
            events,
            takes: true,
            text: String::new(),
            home,
        }
    }

    fn run(line: &str) -> Self {
        Self::open("/bin/sh", TerminalProgram::Command(line.to_owned()))
    }

    fn next(&mut self) -> TerminalEvent {
        let event = self
            .events
            .recv_timeout(STUCK)
            .expect("the terminal is stuck");
        if let TerminalEvent::Data { text, raw } = &event {
            self.text.push_str(text);
            if self.takes {
                self.terminals.taken(ID, *raw);
            }
        }
        event
    }

    fn until<T>(&mut self, wanted: impl Fn(&TerminalEvent) -> Option<T>) -> T {
        loop {
            let event = self.next();
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }

    fn until_text(&mut self, wanted: &str) {
        while !self.text.contains(wanted) {
            let event = self.next();
            assert!(
                !matches!(event, TerminalEvent::Exited { .. }),
                "{}",
                self.text
            );
        }
    }

    fn exit(&mut self) -> Option<i64> {
        self.until(|event| match event {
            TerminalEvent::Exited { exit_code } => Some(*exit_code),
            _ => None,
        })
    }

    fn type_in(&self, text: &str) {
        self.terminals.command(TerminalCommand::Input {
            terminal: ID,
            data: Bytes::copy_from_slice(text.as_bytes()),
        });
    }

    fn close(&self) {
        self.terminals
            .command(TerminalCommand::Close { terminal: ID });
    }
}

#[test]
fn a_command_runs_to_its_end_and_all_it_said_comes_first() {
    let mut console = Console::run("printf 'grün €\\n'; pwd; exit 3");
    let title = console.until(|event| match event {
        TerminalEvent::Opened { title, .. } => Some(title.clone()),
        _ => None,
    });
    assert!(title.starts_with("printf"));
    assert_eq!(console.exit(), Some(3));
    let home = console.home.path().canonicalize().unwrap();
    assert!(console.text.starts_with("grün €\r\n"), "{:?}", console.text);
    assert!(console.text.contains(&*home.to_string_lossy()));
    assert_eq!(console.terminals.running(), 0);
}

#[test]
fn what_cannot_be_opened_says_why() {
    for (shell, directory) in [
        ("/no/such/shell", None),
        ("/bin/sh", Some("file:///no/such")),
    ] {
        let mut console = Console::run("exit 0");
        console.exit();
        let options = TerminalOptions {
            shell: Some(PathBuf::from(shell)),
            ..TerminalOptions::default()
        };
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let sink =
            Arc::new(move |report: TerminalReport| sender.lock().unwrap().send(report).is_ok());
        let open = OpenTerminal {
            program: TerminalProgram::Shell,
            directory: directory.map(str::to_owned),
            environment: None,
            size: Size::default(),
        };
        TerminalService::new(options, sink).command(TerminalCommand::Open {
            terminal: ID,
            open: Box::new(open),
        });
        let report = events.recv_timeout(STUCK).unwrap();
        assert!(
            matches!(report.event, TerminalEvent::OpenFailed { .. }),
            "{report:?}"
        );
    }
}

#[test]
fn a_size_is_the_size_that_programs_see() {
    let mut console = Console::run("stty size; read line; stty size");
    console.until_text("30 100");
    console.terminals.command(TerminalCommand::Resize {
        terminal: ID,
        size: Size {
            columns: 132,
            rows: 50,
        },
    });
    console.type_in("\r");
    console.until_text("50 132");
    assert_eq!(console.exit(), Some(0));
}

#[test]
fn a_flood_waits_until_it_is_taken_and_can_be_interrupted() {
    let mut console = Console::run("yes; echo interrupted; read line");
    console.takes = false;
    let mut read = 0;
    // It stops by itself: nothing comes after the window is full.
    while read < WINDOW {
        if let TerminalEvent::Data { raw, .. } = console.next() {
            read += raw;
        }
    }
    assert!(read < WINDOW + CHUNK, "{read}");
    console.type_in("\x03");
    console.takes = true;
    console.terminals.taken(ID, read);
    // `yes` dies of it, and so does the shell that waits for it.
    console.exit();
    let late = console.text.len();
    assert!(late < 8 * WINDOW, "{late} bytes came");
}

#[test]
fn a_terminal_takes_everything_in_it_along() {
    let line =
        "trap '' HUP; sh -c 'trap \"\" HUP; echo me $$ me; while :; do sleep 1; done' & wait";
    let mut console = Console::run(line);
    console.until_text(" me\r");
    let pid = console.text.split(' ').nth(1).unwrap().to_owned();
    console.close();
    assert_eq!(console.exit(), None);
    let gone = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        !stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    if cfg!(target_os = "linux") {
        assert!(gone(), "process {pid} is still there");
    }
}

#[test]
fn what_a_shell_leaves_behind_does_not_keep_its_terminal_open() {
    let mut console = Console::run("(trap '' HUP; sleep 1000) & echo done");
    assert_eq!(console.exit(), Some(0));
    assert!(console.text.contains("done"));
}

/// Opening takes a moment, and nobody waits for it.
#[test]
fn what_is_said_while_it_opens_is_not_lost() {
    let mut console = Console::open("/bin/bash", TerminalProgram::Shell);
    let size = Size {
        columns: 77,
        rows: 22,
    };
    let terminal = ID;
    let resize = TerminalCommand::Resize { terminal, size };
    console.terminals.command(resize);
    console.type_in("stty size; exit 3\n");
    assert_eq!(console.exit(), Some(3));
    assert!(console.text.contains("22 77"), "{}", console.text);
    let mut closed = Console::run("sleep 1000");
    closed.close();
    assert_eq!(closed.exit(), None);
}

#[test]
fn shutdown_ends_them_all() {
    let mut console = Console::run("sleep 1000");
    console.until(|event| matches!(event, TerminalEvent::Opened { .. }).then_some(()));
    console.terminals.shutdown();
    assert_eq!(console.exit(), None);
}

/// Talks to a shell that says where its commands begin and end.
fn check_integration(shell: &str) {
    let found = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
        .map(|place| PathBuf::from(place).join(shell));
    let Some(path) = found.iter().find(|path| path.exists()) else {
        eprintln!("skipped: there is no {shell} here");
        return;
    };
    let mut console = Console::open(&path.to_string_lossy(), TerminalProgram::Shell);
    console.until(|event| matches!(event, TerminalEvent::CommandDetection).then_some(()));
    let directory = |event: &TerminalEvent| match event {
        TerminalEvent::DirectoryChanged(uri) => Some(uri.clone()),
        _ => None,
    };
    console.until(directory);
    let executed = |event: &TerminalEvent| match event {
        TerminalEvent::CommandExecuted { line } => Some(line.clone()),
        _ => None,
    };
    let finished = |event: &TerminalEvent| match event {
        TerminalEvent::CommandFinished { exit_code, millis } => Some((*exit_code, *millis)),
        _ => None,
    };
    for (line, code) in [
        ("echo 'a; b' | cat", 0),
        ("false", 1),
        ("echo 'a; b' | cat", 0),
        ("cd /; true", 0),
    ] {
        console.type_in(&format!("{line}\r"));
        assert_eq!(console.until(executed), line, "{shell}");
        console.text.clear();
        let (exit_code, millis) = console.until(finished);
        assert_eq!(exit_code, Some(code), "{shell}: {line}");
        assert!(millis.is_some());
        if line.starts_with("echo") {
            assert!(console.text.contains("a; b"), "{shell}: {:?}", console.text);
        }
    }
    assert_eq!(console.until(directory), "file:///", "{shell}");
    assert!(
        !console.text.contains("633;"),
        "{shell}: {:?}",
        console.text
    );
    console.type_in("exit 5\r");
    assert_eq!(console.exit(), Some(5), "{shell}");
}

#[test]
fn bash_says_where_its_commands_begin_and_end() {
    check_integration("bash");
}

#[test]
fn zsh_says_where_its_commands_begin_and_end() {
    check_integration("zsh");
}

#[test]
fn fish_says_where_its_commands_begin_and_end() {
    check_integration("fish");
}
