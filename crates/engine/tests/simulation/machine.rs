//! The machine's side: terminals and watches. They do what they are told when
//! they like, if they do it at all, and say things of their own.

use std::collections::BTreeMap;

use innkeeper_engine::Input;
use innkeeper_protocol::newest::state::{ResourceChange, ResourceChangeType};
use innkeeper_protocol::workspace::resource::ResourceError;
use innkeeper_protocol::workspace::terminal::{
    TerminalCommand, TerminalEvent, TerminalId, TerminalProgram, TerminalReport,
};
use innkeeper_protocol::workspace::watch::{WatchCommand, WatchEvent, WatchId, WatchReport};

use crate::rng::Rng;

#[derive(Debug, Default)]
pub(crate) struct Machine {
    windows: BTreeMap<TerminalId, Window>,
    /// Watches, and whether they have begun.
    watches: BTreeMap<WatchId, bool>,
    /// What was read in terminals and is not taken yet.
    untaken: BTreeMap<TerminalId, usize>,
    said: usize,
}

/// A terminal in which something runs, or is about to.
#[derive(Debug)]
struct Window {
    open: bool,
    closing: bool,
    /// A shell, which can say what is run in it.
    is_shell: bool,
    runs_command: bool,
    /// What was typed and has not reached the program.
    unwritten: usize,
}

impl Machine {
    /// Takes a command. An error is one that the engine should not have given.
    pub(crate) fn tell_terminal(&mut self, command: TerminalCommand) -> Result<(), String> {
        match command {
            TerminalCommand::Open { terminal, open } => {
                let window = Window {
                    open: false,
                    closing: false,
                    is_shell: open.program == TerminalProgram::Shell,
                    runs_command: false,
                    unwritten: 0,
                };
                if self.windows.insert(terminal, window).is_some() {
                    return Err(format!("{terminal:?} was opened twice"));
                }
            }
            // One that has ended may still be told things.
            TerminalCommand::Input { terminal, data } => {
                if let Some(window) = self.windows.get_mut(&terminal) {
                    window.unwritten += data.len();
                }
            }
            TerminalCommand::Close { terminal } => {
                if let Some(window) = self.windows.get_mut(&terminal) {
                    window.closing = true;
                }
            }
            TerminalCommand::Resize { .. } => {}
        }
        Ok(())
    }

    pub(crate) fn tell_watch(&mut self, command: WatchCommand) -> Result<(), String> {
        match command {
            WatchCommand::Open { watch, .. } => match self.watches.insert(watch, false) {
                Some(_) => Err(format!("{watch:?} was opened twice")),
                None => Ok(()),
            },
            WatchCommand::Close { watch } => match self.watches.remove(&watch) {
                Some(_) => Ok(()),
                None => Err(format!("{watch:?} was closed and is not there")),
            },
        }
    }

    pub(crate) fn take(&mut self, terminal: TerminalId, bytes: usize) -> Result<(), String> {
        let untaken = self.untaken.entry(terminal).or_default();
        let left = untaken.checked_sub(bytes);
        *untaken = left.ok_or_else(|| format!("{bytes} taken of {untaken} in {terminal:?}"))?;
        Ok(())
    }

    /// Whether all that was read was taken: else a terminal would stand still.
    pub(crate) fn all_is_taken(&self) -> bool {
        self.untaken.values().all(|bytes| *bytes == 0)
    }

    /// Something that happens now, and what kind of thing it is.
    pub(crate) fn speak(&mut self, rng: &mut Rng) -> Option<(&'static str, Input)> {
        self.said += 1;
        if !self.watches.is_empty() && rng.chance(30) {
            return self.watch_speaks(rng);
        }
        let ids: Vec<TerminalId> = self.windows.keys().copied().collect();
        let terminal = *rng.pick(&ids)?;
        let window = self.windows.get(&terminal)?;
        match (window.open, window.closing) {
            (false, _) => Some(self.open(rng, terminal)),
            (true, true) if rng.chance(50) => Some(self.exit(rng, terminal)),
            (true, _) => self.terminal_speaks(rng, terminal),
        }
    }

    /// What somebody waits for, if there is anything.
    pub(crate) fn answer(&mut self, rng: &mut Rng) -> Option<Input> {
        let opening = self.windows.iter().find(|(_, window)| !window.open);
        if let Some(terminal) = opening.map(|(id, _)| *id) {
            return Some(self.open(rng, terminal).1);
        }
        let beginning = self.watches.iter().find(|(_, has_begun)| !**has_begun);
        let watch = beginning.map(|(id, _)| *id)?;
        Some(self.begin(rng, watch).1)
    }

    /// What brings everything that is under way to its end.
    pub(crate) fn finish(&mut self, rng: &mut Rng) -> Option<Input> {
        if let Some(answer) = self.answer(rng) {
            return Some(answer);
        }
        let terminal = self.windows.keys().next().copied()?;
        Some(self.exit(rng, terminal).1)
    }

    fn open(&mut self, rng: &mut Rng, terminal: TerminalId) -> (&'static str, Input) {
        if rng.chance(15) {
            self.windows.remove(&terminal);
            let reason = "there is no such program".to_owned();
            let event = TerminalEvent::OpenFailed { reason };
            return ("terminal not opened", report(terminal, event));
        }
        if let Some(window) = self.windows.get_mut(&terminal) {
            window.open = true;
        }
        let event = TerminalEvent::Opened {
            title: "sh".to_owned(),
            directory: rng.chance(70).then(|| "file:///w".to_owned()),
        };
        ("terminal opened", report(terminal, event))
    }

    fn exit(&mut self, rng: &mut Rng, terminal: TerminalId) -> (&'static str, Input) {
        self.windows.remove(&terminal);
        let exit_code = rng.chance(80).then(|| rng.below(3) as i64);
        let event = TerminalEvent::Exited { exit_code };
        ("terminal exited", report(terminal, event))
    }

    fn terminal_speaks(
        &mut self,
        rng: &mut Rng,
        terminal: TerminalId,
    ) -> Option<(&'static str, Input)> {
        let said = self.said;
        let window = self.windows.get_mut(&terminal)?;
        let kind = rng.weighted(&[
            (30, "terminal data"),
            (6, "terminal title"),
            (6, "terminal directory"),
            (8, "terminal input written"),
            (4, "terminal detects commands"),
            (12, "terminal command"),
            (5, "terminal exited"),
        ]);
        let event = match kind {
            "terminal data" => {
                let text = match rng.chance(10) {
                    true => "ä\u{1b}[0m\r\n".repeat(rng.below(60)),
                    false => format!("line {said}\r\n"),
                };
                // What it read may be more than it shows, or less.
                let raw = text.len() + rng.below(4);
                *self.untaken.entry(terminal).or_default() += raw;
                TerminalEvent::Data { text, raw }
            }
            "terminal title" => TerminalEvent::TitleChanged(match rng.chance(10) {
                true => " ".to_owned(),
                false => format!("Doing {}", rng.below(4)),
            }),
            "terminal directory" => {
                TerminalEvent::DirectoryChanged(format!("file:///w/{}", rng.below(3)))
            }
            "terminal input written" => {
                let bytes = std::mem::take(&mut window.unwritten);
                TerminalEvent::InputWritten { bytes }
            }
            "terminal detects commands" if window.is_shell => TerminalEvent::CommandDetection,
            "terminal command" if window.is_shell => {
                window.runs_command = !window.runs_command;
                match window.runs_command {
                    true => TerminalEvent::CommandExecuted {
                        line: format!("make {said}"),
                    },
                    false => TerminalEvent::CommandFinished {
                        exit_code: rng.chance(80).then_some(0),
                        millis: rng.chance(80).then_some(said as i64),
                    },
                }
            }
            "terminal exited" => return Some(self.exit(rng, terminal)),
            _ => return None,
        };
        Some((kind, report(terminal, event)))
    }

    fn watch_speaks(&mut self, rng: &mut Rng) -> Option<(&'static str, Input)> {
        let ids: Vec<WatchId> = self.watches.keys().copied().collect();
        let watch = *rng.pick(&ids)?;
        if !*self.watches.get(&watch)? {
            return Some(self.begin(rng, watch));
        }
        let change = |r#type| ResourceChange {
            uri: format!("file:///w/{}", self.said),
            r#type,
        };
        let event = match rng.below(8) {
            0 => WatchEvent::Overflowed,
            1 => WatchEvent::Changed(Vec::new()),
            2 => WatchEvent::Changed(vec![
                change(ResourceChangeType::Deleted),
                change(ResourceChangeType::Added),
            ]),
            _ => WatchEvent::Changed(vec![change(ResourceChangeType::Updated)]),
        };
        let report = WatchReport { watch, event };
        Some(("watch changed", Input::Watch(report)))
    }

    fn begin(&mut self, rng: &mut Rng, watch: WatchId) -> (&'static str, Input) {
        let (kind, event) = match rng.chance(15) {
            true => {
                self.watches.remove(&watch);
                let uri = "file:///elsewhere".to_owned();
                let error = ResourceError::OutOfScope { uri, write: false };
                ("watch not begun", WatchEvent::OpenFailed(error))
            }
            false => {
                self.watches.insert(watch, true);
                ("watch begun", WatchEvent::Opened)
            }
        };
        (kind, Input::Watch(WatchReport { watch, event }))
    }
}

fn report(terminal: TerminalId, event: TerminalEvent) -> Input {
    Input::Terminal(TerminalReport { terminal, event })
}
