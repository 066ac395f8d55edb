//! Judging what clients dispatch to a terminal, and what follows from it.

use std::sync::Arc;

use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::{ActionOrigin, StateAction, TerminalClaimedAction};
use innkeeper_protocol::house::state::TerminalClaim;
use innkeeper_protocol::outgoing::HostMessage;
use innkeeper_protocol::record::{Facts, Sequenced};
use innkeeper_protocol::workspace::terminal::{Size, TerminalCommand, TerminalId};

use crate::dispatch::Verdict::{self, Apply};
use crate::dispatch::{not_accepted, reject};
use crate::terminals::Terminal;
use crate::{ConnectionId, Effect, Engine};

/// How much of what is typed may wait for a program that does not read.
const MOST_UNREAD_INPUT: usize = 1024 * 1024;

impl Engine {
    pub(crate) fn dispatch_to_terminal(
        &mut self,
        connection: ConnectionId,
        channel: ChannelUri,
        action: StateAction,
        origin: ActionOrigin,
    ) {
        let Some(terminal) = self.terminals.get(&channel) else {
            return;
        };
        let id = terminal.id;
        let verdict = self.judge_for_terminal(terminal, &origin.client_id, &action);
        match verdict {
            Apply(StateAction::TerminalInput(input)) => {
                let data = Bytes::from(input.data.clone());
                if let Some(terminal) = self.terminals.get_mut(&channel) {
                    terminal.unread_input += data.len();
                }
                self.tell_terminal(TerminalCommand::Input { terminal: id, data });
                let action = StateAction::TerminalInput(input);
                self.confirm_to_sender(connection, &channel, action, origin);
            }
            Apply(action) => {
                self.emit(&channel, action.clone(), Some(origin));
                self.terminal_changed(&channel, id, &action);
            }
            Verdict::Reject(reason) => self.reject(connection, channel, action, origin, reason),
        }
    }

    fn terminal_changed(&mut self, uri: &ChannelUri, id: TerminalId, action: &StateAction) {
        match action {
            StateAction::TerminalResized(size) => {
                let dimension = |number: i64| u16::try_from(number).unwrap_or(u16::MAX);
                let size = Size {
                    columns: dimension(size.cols),
                    rows: dimension(size.rows),
                };
                self.tell_terminal(TerminalCommand::Resize { terminal: id, size });
            }
            StateAction::TerminalTitleChanged(_) => {
                if let Some(terminal) = self.terminals.get_mut(uri) {
                    terminal.named = true;
                }
                self.list_terminals();
            }
            StateAction::TerminalClaimed(claimed) => {
                self.run_claimed(uri, &claimed.claim);
                self.list_terminals();
            }
            _ => {}
        }
    }

    /// Tells the sender that its input was taken. Nobody else is told, and it
    /// is written down nowhere: what people type may be a password.
    fn confirm_to_sender(
        &mut self,
        to: ConnectionId,
        channel: &ChannelUri,
        action: StateAction,
        origin: ActionOrigin,
    ) {
        let sequenced = Arc::new(Sequenced {
            seq: self.next_number(),
            channel: channel.clone(),
            action,
            origin: Some(origin),
            facts: Facts::default(),
        });
        let message = HostMessage::Action(sequenced);
        self.step.effects.push(Effect::Send { to, message });
    }

    fn judge_for_terminal(
        &self,
        terminal: &Terminal,
        client: &str,
        action: &StateAction,
    ) -> Verdict {
        let exited = terminal.has_exited();
        if terminal.is_past() {
            return reject("this command has ended; what it said is part of the conversation now");
        }
        // Another client that holds it and is here.
        let held = match &terminal.state.claim {
            TerminalClaim::Client(claim) if claim.client_id != client => {
                Some(&claim.client_id).filter(|holder| self.is_here(holder))
            }
            TerminalClaim::Client(_) | TerminalClaim::Session(_) => None,
        };
        match action {
            StateAction::TerminalInput(_) | StateAction::TerminalResized(_) if exited => {
                reject("nothing runs in this terminal any more")
            }
            StateAction::TerminalInput(input)
                if terminal.unread_input > 0
                    && terminal.unread_input + input.data.len() > MOST_UNREAD_INPUT =>
            {
                reject(format!(
                    "what runs in this terminal does not read: {} bytes that were typed wait for \
                     it already; try again when it reads on",
                    terminal.unread_input
                ))
            }
            StateAction::TerminalInput(_) | StateAction::TerminalCleared(_) => {
                Apply(action.clone())
            }
            StateAction::TerminalResized(size) => {
                let possible = 1..=i64::from(u16::MAX);
                let fits = possible.contains(&size.cols) && possible.contains(&size.rows);
                match held {
                    _ if !fits => reject("`cols` and `rows` must be from 1 to 65535"),
                    Some(holder) => reject(format!(
                        "`{holder}` holds this terminal, and with it its size"
                    )),
                    None => Apply(action.clone()),
                }
            }
            StateAction::TerminalClaimed(TerminalClaimedAction { claim }) => match held {
                Some(holder) => reject(format!(
                    "`{holder}` holds this terminal; only they can give it away"
                )),
                None => match self.check_claim(Some(client), claim) {
                    Ok(()) => Apply(action.clone()),
                    Err(reason) => Verdict::Reject(reason),
                },
            },
            StateAction::TerminalTitleChanged(change) if change.title.trim().is_empty() => {
                reject("a terminal's title must not be empty")
            }
            StateAction::TerminalTitleChanged(_) => Apply(action.clone()),
            other => not_accepted(other, "a terminal"),
        }
    }
}
