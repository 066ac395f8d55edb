//! Signing in to an agent by a program in a terminal of the host: the terminal
//! that `innkeeper run` was started in becomes that one, until the program ends.
//!
//! *Invariant*: the user's terminal is as it was before, however this ends.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ahp::Client;
use ahp::ahp_types::actions::{StateAction, TerminalInputAction, TerminalResizedAction};
use ahp::ahp_types::state::{TerminalContentPart, TerminalState, ToolResultContent};
use anyhow::Result;
use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use super::client::explained;

/// What the host calls such a call.
const TOOL: &str = "sign_in";

/// Ctrl-\ leaves: Ctrl-C is for the program.
const LEAVE: u8 = 0x1c;

/// How many pieces of what was typed wait for the host.
const TYPED_WAITING: usize = 64;

/// The terminals of the host in which somebody signs in.
#[derive(Default)]
pub(crate) struct SignInTerminal {
    /// The calls that they belong to.
    calls: HashSet<String>,
    attached: Option<Attached>,
}

/// What the person at the terminal did.
pub(crate) enum Typed {
    Keys(String),
    Leave,
}

struct Attached {
    call: String,
    channel: String,
    keys: mpsc::Receiver<Typed>,
    /// Puts the user's terminal back when it goes.
    _raw: RawMode,
}

impl SignInTerminal {
    /// Something happens in the chat. Says which terminal is to be attached.
    pub(crate) fn hears(&mut self, action: &StateAction) -> Option<(String, String)> {
        match action {
            StateAction::ChatToolCallStart(call) if call.tool_name == TOOL => {
                self.calls.insert(call.tool_call_id.clone());
            }
            StateAction::ChatToolCallContentChanged(changed)
                if self.calls.contains(&changed.tool_call_id) && self.attached.is_none() =>
            {
                let mut content = changed.content.iter();
                return content.find_map(|block| match block {
                    ToolResultContent::Terminal(terminal) if terminal.result.is_none() => {
                        Some((changed.tool_call_id.clone(), terminal.resource.clone()))
                    }
                    _ => None,
                });
            }
            StateAction::ChatToolCallComplete(call) => {
                self.calls.remove(&call.tool_call_id);
                if self
                    .attached
                    .as_ref()
                    .is_some_and(|it| it.call == call.tool_call_id)
                {
                    self.detach();
                }
            }
            StateAction::ChatTurnComplete(_)
            | StateAction::ChatTurnCancelled(_)
            | StateAction::ChatError(_) => self.detach(),
            _ => {}
        }
        None
    }

    /// The user's terminal becomes one of the host; nothing happens if there is
    /// no user.
    pub(crate) async fn attach(
        &mut self,
        client: &Client,
        (call, channel): (String, String),
        state: &TerminalState,
    ) -> Result<()> {
        let Some(raw) = RawMode::begin() else {
            return Ok(());
        };
        show("(Ctrl-\\ stops the sign-in)\r\n");
        for part in &state.content {
            match part {
                TerminalContentPart::Unclassified(part) => show(&part.value),
                TerminalContentPart::Command(part) => show(&part.output),
                TerminalContentPart::Unknown(_) => {}
            }
        }
        if let Some((cols, rows)) = size() {
            let resized = StateAction::TerminalResized(TerminalResizedAction { cols, rows });
            let sent = client.dispatch(channel.clone(), resized);
            sent.await.map_err(explained)?;
        }
        self.attached = Some(Attached {
            call,
            channel,
            keys: raw.keys(),
            _raw: raw,
        });
        Ok(())
    }

    fn detach(&mut self) {
        if self.attached.take().is_some() {
            show("\r\n");
        }
    }

    /// Something happens in another channel. Says whether it was a terminal that
    /// is attached.
    pub(crate) fn shows(&self, channel: &str, action: &StateAction) -> bool {
        let attached = self.attached.as_ref();
        let is_ours = attached.is_some_and(|attached| attached.channel == channel);
        if let (true, StateAction::TerminalData(data)) = (is_ours, action) {
            show(&data.data);
        }
        is_ours
    }

    /// What is typed next, and where; never, while nothing is attached.
    pub(crate) async fn typed(&mut self) -> (String, Typed) {
        let Some(attached) = &mut self.attached else {
            return std::future::pending().await;
        };
        match attached.keys.recv().await {
            Some(typed) => (attached.channel.clone(), typed),
            // Nobody types any more; the program may end by itself.
            None => std::future::pending().await,
        }
    }

    pub(crate) async fn pass_on(client: &Client, channel: String, data: String) -> Result<()> {
        let action = StateAction::TerminalInput(TerminalInputAction { data });
        let sent = client.dispatch(channel, action);
        sent.await.map_err(explained)?;
        Ok(())
    }
}

/// The program's own output, for a terminal to obey: it could write there itself
/// if the user had started it.
fn show(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

fn size() -> Option<(i64, i64)> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    let is_known = size.ws_col > 0 && size.ws_row > 0;
    is_known.then(|| (size.ws_col.into(), size.ws_row.into()))
}

/// A terminal that passes on every key, and shows nothing by itself.
struct RawMode {
    before: Termios,
    over: Arc<AtomicBool>,
}

impl RawMode {
    fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        // A read ends after a tenth of a second, so that nobody is left reading
        // what is typed afterwards.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 1;
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw).ok()?;
        let over = Arc::default();
        Some(Self { before, over })
    }

    fn keys(&self) -> mpsc::Receiver<Typed> {
        let (sender, keys) = mpsc::channel(TYPED_WAITING);
        let over = Arc::clone(&self.over);
        std::thread::spawn(move || {
            let (mut buffer, mut bytes) = ([0; 1024], Vec::new());
            while !over.load(Ordering::Acquire) {
                let Ok(count) = rustix::io::read(io::stdin(), &mut buffer) else {
                    return;
                };
                bytes.extend_from_slice(&buffer[..count]);
                let typed = match bytes.contains(&LEAVE) {
                    true => Typed::Leave,
                    false => Typed::Keys(taken(&mut bytes)),
                };
                let is_nothing = matches!(&typed, Typed::Keys(keys) if keys.is_empty());
                if !is_nothing && sender.blocking_send(typed).is_err() {
                    return;
                }
            }
        });
        keys
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
    }
}

/// Takes out all characters that are complete.
fn taken(bytes: &mut Vec<u8>) -> String {
    let complete = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => bytes.len(),
    };
    let rest = bytes.split_off(complete);
    let whole = std::mem::replace(bytes, rest);
    String::from_utf8_lossy(&whole).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_comes_in_two_pieces_is_one() {
        let mut bytes = "aé".as_bytes()[..2].to_vec();
        assert_eq!(taken(&mut bytes), "a");
        bytes.extend_from_slice(&"é".as_bytes()[1..]);
        assert_eq!(taken(&mut bytes), "é");
        assert!(bytes.is_empty());
    }

    #[test]
    fn what_is_no_character_is_not_waited_for() {
        let mut bytes = vec![b'a', 0xff, b'b'];
        assert_eq!(taken(&mut bytes), "a\u{fffd}b");
        assert!(bytes.is_empty());
    }
}
