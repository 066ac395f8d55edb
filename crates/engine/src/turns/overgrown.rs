//! Turns that have become too large. A turn is one row of the store, and is
//! held in memory as a whole, so there is a limit to it.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::AgentCommand;

use super::{Ending, TurnsMut};
use crate::core::error_info;
use crate::labels::Label;

impl TurnsMut<'_> {
    /// Ends the turn of a chat, says why, and stops its agent. What the agent
    /// says until it has stopped is dropped, as after a cancel.
    pub(crate) fn end_overgrown(&mut self, uri: &ChannelUri) {
        let Some(turn) = self.own.turn(uri) else {
            return;
        };
        let (id, locale) = (turn.id.clone(), turn.locale);
        let works = turn.prompted && !turn.by_host && !turn.recounted;
        let backend = self.backend_at_work(uri).filter(|_| works);
        let most = self.core.config.limits.turn_bytes;
        tracing::warn!(chat = %uri, turn = %id, most, "a turn was too large");
        let error = error_info("turnTooLarge", Label::TurnTooLarge { most }.text(locale));
        // It would be as large when it is resumed.
        let resumable = false;
        self.end_turn(uri, Ending::Error { error, resumable });
        if let Some(backend) = backend {
            self.core
                .tell_agent(AgentCommand::Cancel { backend, turn: id });
        }
    }
}
