//! What clients dispatch to a terminal: whether it is accepted, and what
//! follows from it.

use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::check_title;
use innkeeper_protocol::newest::actions::{StateAction, TerminalClaimedAction};
use innkeeper_protocol::newest::state::TerminalClaim;
use innkeeper_protocol::outgoing::RejectionCode;
use innkeeper_protocol::workspace::terminal::{Size, TerminalCommand};

use super::opening::check_claim;
use super::{RunOver, Terminals, has_exited, tell};
use crate::catalogue::Catalogue;
use crate::clients::Clients;
use crate::core::{Core, Refusal, Sender, Verdict};

/// How much of what is typed may wait for a program that does not read.
const MOST_UNREAD_INPUT: usize = 1024 * 1024;

/// What follows from an action that was accepted.
#[derive(Debug)]
enum After {
    Nothing,
    Typed(Bytes),
    Resized(Size),
    Renamed,
    Claimed(TerminalClaim),
}

impl Terminals {
    /// Takes what a client dispatched. Returns the command of a turn that is
    /// over with it.
    pub(crate) fn dispatched(
        &mut self,
        core: &mut Core,
        around: (&Clients, &Catalogue),
        uri: &ChannelUri,
        action: StateAction,
        sender: Sender,
    ) -> Option<RunOver> {
        let client = sender.origin.client_id.clone();
        let verdict = self.judge(core, around, (uri, &client), action);
        let after = core.carry_out(uri, sender, verdict)?;
        self.follow_up(core, uri, after)
    }

    fn judge(
        &self,
        core: &Core,
        (clients, catalogue): (&Clients, &Catalogue),
        (uri, client): (&ChannelUri, &str),
        action: StateAction,
    ) -> Verdict<After> {
        let known = self.known.get(uri).zip(core.channels.terminal(uri));
        let Some((known, terminal)) = known else {
            return Verdict::NotAccepted(action);
        };
        if self.is_finished_command(core, uri) {
            let why = "this command has ended; what it said is part of the conversation now";
            return Verdict::reject(action, Refusal::new(RejectionCode::AlreadyDone, why));
        }
        let exited = has_exited(&terminal.state);
        // Another client that holds it and is here.
        let held = match &terminal.state.claim {
            TerminalClaim::Client(claim) if claim.client_id != client => {
                Some(&claim.client_id).filter(|holder| clients.is_here(holder))
            }
            TerminalClaim::Client(_) | TerminalClaim::Session(_) => None,
        };
        match &action {
            StateAction::TerminalInput(_) | StateAction::TerminalResized(_) if exited => {
                let why = "nothing runs in this terminal any more";
                Verdict::reject(action, Refusal::new(RejectionCode::AlreadyDone, why))
            }
            StateAction::TerminalInput(input) => {
                let waiting = known.unread_input;
                if waiting > 0 && waiting + input.data.len() > MOST_UNREAD_INPUT {
                    let why = format!(
                        "what runs in this terminal does not read: {waiting} bytes that were \
                         typed wait for it already; try again when it reads on"
                    );
                    return Verdict::reject(action, Refusal::new(RejectionCode::LimitReached, why));
                }
                let typed = Bytes::from(input.data.clone());
                // Nobody else is told what people type: it may be a password.
                Verdict::Confirm(action, After::Typed(typed))
            }
            StateAction::TerminalCleared(_) => Verdict::Apply(action, After::Nothing),
            StateAction::TerminalResized(wanted) => {
                let dimension = |number: i64| u16::try_from(number).ok().filter(|it| *it > 0);
                let size = dimension(wanted.cols).zip(dimension(wanted.rows));
                match (size, held) {
                    (None, _) => {
                        Verdict::reject(action, "`cols` and `rows` must be from 1 to 65535")
                    }
                    (Some(_), Some(holder)) => {
                        let why = format!("`{holder}` holds this terminal, and with it its size");
                        Verdict::reject(action, Refusal::new(RejectionCode::Held, why))
                    }
                    (Some((columns, rows)), None) => {
                        Verdict::Apply(action, After::Resized(Size { columns, rows }))
                    }
                }
            }
            StateAction::TerminalClaimed(TerminalClaimedAction { claim }) => {
                let checked = match held {
                    Some(holder) => {
                        let why =
                            format!("`{holder}` holds this terminal; only they can give it away");
                        Err(Refusal::new(RejectionCode::Held, why))
                    }
                    None => {
                        check_claim(clients, catalogue, Some(client), claim).map_err(Refusal::from)
                    }
                };
                let claim = claim.clone();
                match checked {
                    Ok(()) => Verdict::Apply(action, After::Claimed(claim)),
                    Err(reason) => Verdict::reject(action, reason),
                }
            }
            StateAction::TerminalTitleChanged(change) => {
                match check_title("terminal", &change.title) {
                    Ok(()) => Verdict::Apply(action, After::Renamed),
                    Err(reason) => Verdict::reject(action, reason),
                }
            }
            _ => Verdict::NotAccepted(action),
        }
    }

    fn follow_up(&mut self, core: &mut Core, uri: &ChannelUri, after: After) -> Option<RunOver> {
        let known = self.known.get_mut(uri)?;
        let terminal = known.id;
        match after {
            After::Nothing => {}
            After::Typed(data) => {
                known.unread_input += data.len();
                tell(core, TerminalCommand::Input { terminal, data });
            }
            After::Resized(size) => tell(core, TerminalCommand::Resize { terminal, size }),
            After::Renamed => {
                known.named = true;
                self.list(core);
            }
            After::Claimed(claim) => {
                let over = self.run_claimed(core, uri, &claim);
                self.list(core);
                return over;
            }
        }
        None
    }
}
