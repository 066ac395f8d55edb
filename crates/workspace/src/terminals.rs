//! Terminals: a pty each, with a shell or one command in it.
//!
//! Three threads serve a terminal: one reads, one writes, one waits for the
//! end. The reader stops when more has been read than was taken, and so does,
//! in turn, the program that prints: however much it prints, little of it is
//! ever in memory.
//!
//! *Invariant*: what is reported of a terminal begins with `Opened` or
//! `OpenFailed` and ends with `Exited`; nothing that was printed is missing
//! before that. (Input that was still on its way may be reported later.)

#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod parser;
mod process;
mod shell;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Instant;

use bytes::Bytes;
use innkeeper_protocol::workspace::terminal::{
    OpenTerminal, Size, TerminalCommand, TerminalEvent, TerminalId, TerminalReport,
};
use portable_pty::{MasterPty, PtySize, native_pty_system};

use crate::resources::place::{path_of_uri, uri_of_path};
use crate::terminal_options::{TerminalOptions, TerminalSink};
use parser::{Heard, Parser};
use process::ProcessSession;
pub use shell::shell_of_user;

/// How much is read at once.
const CHUNK: usize = 32 * 1024;

/// How much may have been read and not been taken before reading stops.
const WINDOW: usize = 256 * 1024;

/// All terminals of a host.
#[derive(Clone)]
pub struct TerminalService {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for TerminalService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalService").finish_non_exhaustive()
    }
}

struct Shared {
    options: TerminalOptions,
    sink: TerminalSink,
    open: Mutex<HashMap<TerminalId, Place>>,
    /// A terminal is no longer on its way.
    arrived: Condvar,
    nonce: AtomicU64,
}

enum Place {
    /// On its way, with what was meanwhile said to it.
    Opening(Early),
    Running(Arc<Terminal>),
}

#[derive(Debug, Default)]
struct Early {
    input: Vec<Bytes>,
    size: Option<Size>,
    closed: bool,
}

struct Terminal {
    master: Mutex<Option<Box<dyn MasterPty + Send>>>,
    input: mpsc::Sender<Bytes>,
    session: Arc<ProcessSession>,
    flow: Arc<Flow>,
}

impl Place {
    fn running(&self) -> Option<Arc<Terminal>> {
        match self {
            Self::Opening(_) => None,
            Self::Running(terminal) => Some(Arc::clone(terminal)),
        }
    }
}

impl Terminal {
    fn type_in(&self, data: Bytes) {
        // Nobody takes it when the process has ended.
        let _ = self.input.send(data);
    }

    fn resize(&self, size: Size) {
        let master = self.master.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(master) = master.as_ref() {
            let _ = master.resize(pty_size(size));
        }
    }

    fn close(&self) {
        self.flow.close();
        let session = Arc::clone(&self.session);
        spawn("terminal-close", move || session.end());
    }
}

/// How far reading is ahead of taking.
#[derive(Debug, Default)]
struct Flow {
    state: Mutex<Ahead>,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Ahead {
    bytes: usize,
    /// Nobody takes anything any more: read on, so that the process can end.
    closed: bool,
}

impl Flow {
    fn lock(&self) -> MutexGuard<'_, Ahead> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, bytes: usize) {
        self.lock().bytes += bytes;
    }

    fn wait_for_room(&self) {
        let ahead = self.lock();
        let full = |ahead: &mut Ahead| ahead.bytes >= WINDOW && !ahead.closed;
        drop(self.taken.wait_while(ahead, full));
    }

    fn take(&self, bytes: usize) {
        let mut ahead = self.lock();
        ahead.bytes = ahead.bytes.saturating_sub(bytes);
        self.taken.notify_all();
    }

    fn close(&self) {
        self.lock().closed = true;
        self.taken.notify_all();
    }
}

impl TerminalService {
    pub fn new(options: TerminalOptions, sink: TerminalSink) -> Self {
        Self {
            shared: Arc::new(Shared {
                options,
                sink,
                open: Mutex::default(),
                arrived: Condvar::new(),
                nonce: AtomicU64::new(0),
            }),
        }
    }

    /// Carries out a command. Returns at once; opening may take a moment, so
    /// it is done on a thread of its own.
    pub fn command(&self, command: TerminalCommand) {
        match command {
            TerminalCommand::Open { terminal, open } => {
                let early = Place::Opening(Early::default());
                self.lock().insert(terminal, early);
                let this = self.clone();
                spawn("terminal-open", move || this.open(terminal, &open));
            }
            TerminalCommand::Input { terminal, data } => match self.lock().get_mut(&terminal) {
                Some(Place::Opening(early)) => early.input.push(data),
                Some(Place::Running(terminal)) => terminal.type_in(data),
                None => {}
            },
            TerminalCommand::Resize { terminal, size } => match self.lock().get_mut(&terminal) {
                Some(Place::Opening(early)) => early.size = Some(size),
                Some(Place::Running(terminal)) => terminal.resize(size),
                None => {}
            },
            TerminalCommand::Close { terminal } => match self.lock().get_mut(&terminal) {
                Some(Place::Opening(early)) => early.closed = true,
                Some(Place::Running(terminal)) => terminal.close(),
                None => {}
            },
        }
    }

    /// This much of what a terminal has read was taken.
    pub fn taken(&self, terminal: TerminalId, bytes: usize) {
        if let Some(terminal) = self.get(terminal) {
            terminal.flow.take(bytes);
        }
    }

    /// Ends all terminals, and returns when their processes have ended.
    pub fn shutdown(&self) {
        let mut open = self.lock();
        for place in open.values_mut() {
            if let Place::Opening(early) = place {
                early.closed = true;
            }
        }
        let on_their_way = |open: &mut HashMap<TerminalId, Place>| {
            let mut places = open.values();
            places.any(|place| matches!(place, Place::Opening(_)))
        };
        let open = self.shared.arrived.wait_while(open, on_their_way);
        let open = open.unwrap_or_else(PoisonError::into_inner);
        let terminals: Vec<Arc<Terminal>> = open.values().filter_map(Place::running).collect();
        drop(open);
        std::thread::scope(|threads| {
            for terminal in &terminals {
                terminal.flow.close();
                threads.spawn(|| terminal.session.end());
            }
        });
    }

    /// How many terminals have something running in them.
    pub fn running(&self) -> usize {
        self.lock().len()
    }

    fn open(&self, id: TerminalId, open: &OpenTerminal) {
        if let Err(reason) = self.try_open(id, open) {
            self.lock().remove(&id);
            self.shared.arrived.notify_all();
            (self.shared.sink)(TerminalReport {
                terminal: id,
                event: TerminalEvent::OpenFailed { reason },
            });
        }
    }

    fn try_open(&self, id: TerminalId, open: &OpenTerminal) -> Result<(), String> {
        let nonce = self.nonce(id);
        let (mut command, title) = self.shared.options.command(open, &nonce);
        let directory = match &open.directory {
            Some(uri) => Some(path_of_uri(uri).map_err(|error| error.to_string())?),
            None => std::env::var_os("HOME").map(PathBuf::from),
        };
        if let Some(directory) = &directory {
            if !directory.is_dir() {
                return Err(format!("`{}` is not a directory", directory.display()));
            }
            command.cwd(directory);
        }
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error| format!("{what}: {error:#}")
        };
        let pair = native_pty_system()
            .openpty(pty_size(open.size))
            .map_err(failed("no pseudoterminal can be opened"))?;
        let mut child = pair
            .slave
            .spawn_command(command)
            .map_err(failed("it cannot be started"))?;
        drop(pair.slave);
        let reader = pair
            .master
            .try_clone_reader()
            .map_err(failed("the terminal cannot be read"))?;
        let writer = pair
            .master
            .take_writer()
            .map_err(failed("the terminal cannot be written to"))?;
        let (input, inputs) = mpsc::channel();
        let session = Arc::new(ProcessSession::new(child.process_id()));
        let flow = Arc::new(Flow::default());
        let terminal = Arc::new(Terminal {
            master: Mutex::new(Some(pair.master)),
            input,
            session: Arc::clone(&session),
            flow: Arc::clone(&flow),
        });
        let opened = TerminalEvent::Opened {
            title,
            directory: directory.as_deref().and_then(uri_of_path),
        };
        (self.shared.sink)(TerminalReport {
            terminal: id,
            event: opened,
        });
        self.arrived(id, &terminal);
        let (ending, ended) = mpsc::channel();
        let sink = Arc::clone(&self.shared.sink);
        let written = move |bytes| {
            sink(TerminalReport {
                terminal: id,
                event: TerminalEvent::InputWritten { bytes },
            })
        };
        spawn("terminal-input", move || {
            write_all(writer, &inputs, written);
        });
        spawn("terminal-wait", move || {
            let status = child.wait().ok();
            let code = status.filter(|status| status.signal().is_none());
            session.leader_ended();
            let _ = ending.send(code.map(|status| i64::from(status.exit_code())));
        });
        let this = self.clone();
        spawn("terminal-output", move || {
            this.read_all(id, reader, &flow, nonce);
            let exit_code = ended.recv().ok().flatten();
            this.lock().remove(&id);
            (this.shared.sink)(TerminalReport {
                terminal: id,
                event: TerminalEvent::Exited { exit_code },
            });
        });
        Ok(())
    }

    /// From now on it is spoken to directly, after what was said before.
    fn arrived(&self, id: TerminalId, terminal: &Arc<Terminal>) {
        let mut open = self.lock();
        let running = Place::Running(Arc::clone(terminal));
        if let Some(Place::Opening(early)) = open.insert(id, running) {
            for data in early.input {
                terminal.type_in(data);
            }
            if let Some(size) = early.size {
                terminal.resize(size);
            }
            if early.closed {
                terminal.close();
            }
        }
        self.shared.arrived.notify_all();
    }

    fn read_all(&self, id: TerminalId, mut reader: impl Read, flow: &Flow, nonce: String) {
        let mut listener = Listener {
            parser: Parser::new(nonce),
            began: None,
        };
        let mut buffer = vec![0; CHUNK];
        loop {
            flow.wait_for_room();
            let (heard, raw) = match reader.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                // On Linux, the end of a terminal is an error.
                Ok(0) | Err(_) => (listener.parser.finish(), 0),
                Ok(read) => {
                    flow.read(read);
                    (listener.parser.read(&buffer[..read]), read)
                }
            };
            let mut events: Vec<TerminalEvent> = heard
                .into_iter()
                .filter_map(|heard| listener.event(heard))
                .collect();
            account(&mut events, raw, flow);
            for event in events {
                let report = TerminalReport {
                    terminal: id,
                    event,
                };
                if !(self.shared.sink)(report) {
                    flow.close();
                }
            }
            if raw == 0 {
                return;
            }
        }
    }

    fn get(&self, terminal: TerminalId) -> Option<Arc<Terminal>> {
        self.lock().get(&terminal).and_then(Place::running)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TerminalId, Place>> {
        self.shared
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Something that a program in the terminal cannot guess from what it
    /// prints: it is not there to resist whoever reads the shell's memory.
    fn nonce(&self, id: TerminalId) -> String {
        use std::hash::{BuildHasher as _, RandomState};
        let number = self.shared.nonce.fetch_add(1, Ordering::Relaxed);
        let random = RandomState::new().hash_one((id.0, number));
        format!("{random:016x}")
    }
}

/// The bytes that were read go with the last piece of text; if there is none,
/// nobody will say that they were taken.
fn account(events: &mut [TerminalEvent], read: usize, flow: &Flow) {
    let last = events.iter_mut().rev().find_map(|event| match event {
        TerminalEvent::Data { raw, .. } => Some(raw),
        _ => None,
    });
    match last {
        Some(raw) => *raw = read,
        None => flow.take(read),
    }
}

struct Listener {
    parser: Parser,
    /// When the command that runs began.
    began: Option<Instant>,
}

impl Listener {
    fn event(&mut self, heard: Heard) -> Option<TerminalEvent> {
        Some(match heard {
            Heard::Text(text) => TerminalEvent::Data { text, raw: 0 },
            Heard::Title(title) => TerminalEvent::TitleChanged(title),
            Heard::Directory(directory) => {
                let uri = match directory.starts_with('/') {
                    true => uri_of_path(directory.as_ref()),
                    // The machine's name may stand in it.
                    false => {
                        let path = directory.strip_prefix("file://")?;
                        let path = &path[path.find('/')?..];
                        uri_of_path(&path_of_uri(&format!("file://{path}")).ok()?)
                    }
                };
                TerminalEvent::DirectoryChanged(uri?)
            }
            Heard::CommandDetection => TerminalEvent::CommandDetection,
            Heard::CommandExecuted { line } => {
                self.began = Some(Instant::now());
                TerminalEvent::CommandExecuted { line }
            }
            Heard::CommandFinished { exit_code } => {
                let took = self.began.take().map(|began| began.elapsed().as_millis());
                TerminalEvent::CommandFinished {
                    exit_code,
                    millis: took.and_then(|millis| i64::try_from(millis).ok()),
                }
            }
        })
    }
}

fn write_all(
    mut writer: impl Write,
    inputs: &mpsc::Receiver<Bytes>,
    written: impl Fn(usize) -> bool,
) {
    for data in inputs {
        let sent = writer.write_all(&data).and_then(|()| writer.flush());
        if sent.is_err() || !written(data.len()) {
            return;
        }
    }
}

fn pty_size(size: Size) -> PtySize {
    PtySize {
        rows: size.rows.max(1),
        cols: size.columns.max(1),
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    if let Err(error) = spawned {
        tracing::error!(%error, name, "a thread cannot be started");
    }
}
