//! The commands of turns that terminals were opened for.

use bytes::Bytes;
use innkeeper_protocol::agent::CommandOutcome;
use innkeeper_protocol::newest::actions::{StateAction, TerminalClaimedAction};
use innkeeper_protocol::newest::state::{
    TerminalClaim, TerminalContentPart, TerminalSessionClaim, TerminalState,
};
use innkeeper_protocol::record::{ContentRecord, StoreOp};
use innkeeper_protocol::workspace::terminal::TerminalCommand;
use innkeeper_protocol::{CallId, ChannelUri, Timestamp, TurnId};

use super::{Terminals, tell};
use crate::core::Core;

/// A command that belongs to a turn.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) chat: ChannelUri,
    pub(crate) turn: TurnId,
    /// What the agent calls it.
    pub(crate) name: String,
    /// The tool call that shows it.
    pub(crate) call: Option<CallId>,
    pub(crate) command: String,
    pub(crate) began: Timestamp,
    /// How much of its output is reported.
    pub(crate) output_bytes: usize,
    /// The turn is the host's own: no agent is asked.
    pub(crate) by_host: bool,
}

/// A command whose turn does not wait for it any longer.
#[derive(Debug)]
pub(crate) struct RunOver {
    pub(crate) run: Run,
    pub(crate) outcome: CommandOutcome,
    /// The terminal that it ended in, if that is still there.
    pub(crate) ended_in: Option<ChannelUri>,
}

impl RunOver {
    pub(crate) fn failed(run: Run, reason: &str) -> Self {
        let outcome = CommandOutcome {
            error: Some(reason.to_owned()),
            ..CommandOutcome::default()
        };
        Self {
            run,
            outcome,
            ended_in: None,
        }
    }
}

impl Terminals {
    pub(super) fn take_run(&mut self, uri: &ChannelUri) -> Option<Run> {
        self.known.get_mut(uri)?.run.take()
    }

    /// The process in a terminal has ended, and with it the command of a turn.
    pub(super) fn run_exited(
        &mut self,
        core: &mut Core,
        uri: &ChannelUri,
        exit_code: Option<i64>,
    ) -> Option<RunOver> {
        let run = self.take_run(uri)?;
        let state = core.channels.terminal(uri).map(|it| &it.state)?;
        let outcome = CommandOutcome {
            exit_code,
            ..said(state, run.output_bytes)
        };
        claim_for_session_alone(core, uri);
        Some(RunOver {
            run,
            outcome,
            ended_in: Some(uri.clone()),
        })
    }

    /// Somebody took the terminal of a command over: the turn does not wait
    /// for it any longer.
    pub(super) fn run_claimed(
        &mut self,
        core: &mut Core,
        uri: &ChannelUri,
        claim: &TerminalClaim,
    ) -> Option<RunOver> {
        let still_waits = |run: &Run| {
            matches!(claim, TerminalClaim::Session(claim)
                if claim.tool_call_id.as_deref() == run.call.as_deref()
                    && claim.turn_id.as_deref() == Some(&*run.turn))
        };
        let known = self.known.get_mut(uri)?;
        let run = known.run.take_if(|run| !still_waits(run))?;
        let state = core.channels.terminal(uri).map(|it| &it.state)?;
        let outcome = CommandOutcome {
            detached: true,
            ..said(state, run.output_bytes)
        };
        self.goes_on(core, uri, &run);
        Some(RunOver {
            run,
            outcome,
            ended_in: None,
        })
    }

    /// What a command that still runs for a turn has said so far.
    pub(crate) fn output_of_run(
        &self,
        core: &Core,
        chat: &ChannelUri,
        turn: &str,
        name: &str,
    ) -> Option<CommandOutcome> {
        let (uri, run) = self.run_of(chat, turn, name)?;
        let state = core.channels.terminal(uri).map(|it| &it.state)?;
        Some(said(state, run.output_bytes))
    }

    pub(crate) fn stop_run(&self, core: &mut Core, chat: &ChannelUri, turn: &str, name: &str) {
        let run = self.run_of(chat, turn, name);
        if let Some(known) = run.and_then(|(uri, _)| self.known.get(uri)) {
            tell(core, TerminalCommand::Close { terminal: known.id });
        }
    }

    fn run_of(&self, chat: &ChannelUri, turn: &str, name: &str) -> Option<(&ChannelUri, &Run)> {
        let runs = self.known.iter();
        let mut runs = runs.filter_map(|(uri, known)| Some((uri, known.run.as_ref()?)));
        runs.find(|(_, run)| run.chat == *chat && *run.turn == *turn && run.name == name)
    }

    /// A turn has ended: what runs for it ends too.
    pub(crate) fn end_runs_of(&self, core: &mut Core, chat: &ChannelUri, turn: &str) {
        let of_turn = |run: &Run| run.chat == *chat && *run.turn == *turn;
        let known = self.known.values();
        let running = known.filter(|known| known.run.as_ref().is_some_and(of_turn));
        let mut running: Vec<_> = running.map(|known| known.id).collect();
        running.sort();
        for terminal in running {
            tell(core, TerminalCommand::Close { terminal });
        }
    }

    /// Takes a terminal off the list and keeps what it showed with its session,
    /// if that is still there.
    pub(crate) fn retire(
        &mut self,
        core: &mut Core,
        uri: &ChannelUri,
        session: Option<ChannelUri>,
    ) {
        let known = self.known.get_mut(uri).zip(core.channels.terminal(uri));
        if let Some(((known, terminal), session)) = known.zip(session) {
            known.listed = false;
            if let Ok(json) = serde_json::to_vec(&terminal.state) {
                core.store(StoreOp::PutContent(ContentRecord {
                    uri: uri.to_string(),
                    session,
                    content_type: "application/json".to_owned(),
                    data: Bytes::from(json),
                    excerpt: None,
                }));
            }
            self.leave(core, uri);
        }
        self.list(core);
    }
}

/// The claim of a terminal whose command has ended: its session's alone.
fn claim_for_session_alone(core: &mut Core, uri: &ChannelUri) {
    let claim = core.channels.terminal(uri).map(|it| &it.state.claim);
    if let Some(TerminalClaim::Session(claim)) = claim
        && claim.turn_id.is_some()
    {
        let claim = TerminalClaim::Session(TerminalSessionClaim {
            turn_id: None,
            tool_call_id: None,
            ..claim.clone()
        });
        let action = TerminalClaimedAction { claim };
        core.emit(uri, StateAction::TerminalClaimed(action), None);
    }
}

/// The end of what a terminal showed.
fn said(state: &TerminalState, bytes: usize) -> CommandOutcome {
    let texts = state.content.iter().map(|part| match part {
        TerminalContentPart::Unclassified(part) => part.value.as_str(),
        TerminalContentPart::Command(part) => part.output.as_str(),
        TerminalContentPart::Unknown(_) => "",
    });
    let all: String = texts.collect();
    let end = end_of(&all, bytes);
    CommandOutcome {
        truncated: end.len() < all.len(),
        output: end.to_owned(),
        ..CommandOutcome::default()
    }
}

/// At most so many bytes of the end of a text, in whole characters.
pub(crate) fn end_of(text: &str, bytes: usize) -> &str {
    let mut cut = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    &text[cut..]
}
