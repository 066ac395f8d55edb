//! Terminals: what the engine wants of them, and what they report.

use bytes::Bytes;

/// One process in a terminal. The engine gives these out, each only once, so
/// that the last words of a terminal that was closed cannot be taken for
/// those of another one by the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TerminalId(pub u64);

#[derive(Debug, Clone, PartialEq)]
pub enum TerminalCommand {
    Open {
        terminal: TerminalId,
        open: Box<OpenTerminal>,
    },
    Input {
        terminal: TerminalId,
        data: Bytes,
    },
    Resize {
        terminal: TerminalId,
        size: Size,
    },
    /// End what runs in it. It still reports that it has exited.
    Close {
        terminal: TerminalId,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTerminal {
    pub program: TerminalProgram,
    /// A `file:` URI; the user's home directory if there is none.
    pub directory: Option<String>,
    /// All variables that it gets, if not those of the host.
    pub environment: Option<Vec<(String, String)>>,
    pub size: Size,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            columns: 80,
            rows: 24,
        }
    }
}

/// What runs in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalProgram {
    /// The user's shell, to talk to.
    Shell,
    /// One command line, by the user's shell.
    Command(String),
    /// A program with its arguments, by no shell.
    Direct { program: String, args: Vec<String> },
}

impl TerminalProgram {
    /// What runs, as a person would type it.
    pub fn line(&self) -> String {
        match self {
            Self::Shell => String::new(),
            Self::Command(line) => line.clone(),
            Self::Direct { program, args } => {
                let words = std::iter::once(program).chain(args);
                words.map(|word| typed(word)).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

fn typed(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TerminalReport {
    pub terminal: TerminalId,
    pub event: TerminalEvent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TerminalEvent {
    Opened {
        /// What to call it if nobody named it.
        title: String,
        /// Where it begins, as a `file:` URI.
        directory: Option<String>,
    },
    /// Nothing runs, and nothing follows.
    OpenFailed {
        reason: String,
    },
    /// Output. `raw` bytes were read for it; the terminal reads on when they
    /// are taken.
    Data {
        text: String,
        raw: usize,
    },
    /// So many bytes of what was typed have reached the program.
    InputWritten {
        bytes: usize,
    },
    TitleChanged(String),
    /// A `file:` URI.
    DirectoryChanged(String),
    /// The shell says where its commands begin and end.
    CommandDetection,
    CommandExecuted {
        line: String,
    },
    CommandFinished {
        exit_code: Option<i64>,
        millis: Option<i64>,
    },
    /// The last thing that is said, but for input that was still on its way.
    Exited {
        exit_code: Option<i64>,
    },
}
