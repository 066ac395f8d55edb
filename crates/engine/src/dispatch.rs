//! What clients dispatch: each channel judges what comes to it. An action is
//! applied as it came (but for what the host decides itself), or goes back to
//! its sender with a reason.
//!
//! *Invariant*: whatever is dispatched is echoed or rejected, also where it
//! changes nothing: a client goes on showing what it said, and says it again
//! when it comes back, until it is told what became of it. (The first two
//! versions of the protocol want silence about channels that do not exist.)

use innkeeper_protocol::command::Dispatch;
use innkeeper_protocol::newest::actions::{ActionOrigin, StateAction};
use innkeeper_protocol::outgoing::{HostMessage, Rejection, RejectionCode};
use innkeeper_protocol::{ChannelUri, Seq};

use crate::compat::Meant;
use crate::core::channels::Channel;
use crate::core::{Refusal, Sender, Verdict, changes_directories};
use crate::requests::store_failure_message;
use crate::{ConnectionId, Effect, Engine};

/// How much of a name is repeated to who said it.
const NAMED: usize = 200;

impl Engine {
    pub(crate) fn dispatch(&mut self, connection: ConnectionId, dispatch: Dispatch) {
        let Some(client) = self.clients.client_of(connection).cloned() else {
            return;
        };
        let sender = Sender {
            origin: ActionOrigin {
                client_id: client.to_string(),
                client_seq: dispatch.client_seq,
            },
            connection: Some(connection),
            said: dispatch.said.clone(),
        };
        if let Some(why) = &dispatch.too_long {
            let refusal = Refusal::new(RejectionCode::LimitReached, why.to_string());
            let Dispatch {
                channel, action, ..
            } = dispatch;
            return self.core.reject(channel, action, sender, refusal);
        }
        let around = (&self.clients, &self.catalogue, &self.customizations);
        let meant =
            self.compat
                .dispatch_meant(&self.core, around, (connection, client.as_str()), dispatch);
        let (channel, action, selection) = match meant {
            Meant::Action {
                channel,
                action,
                selection,
            } => (channel, action, selection),
            Meant::Refused {
                channel,
                action,
                refusal,
            } => return self.core.reject(channel, action, sender, refusal),
        };
        match self.core.channels.get(&channel) {
            Some(Channel::Root(_)) => self.agents.dispatched(&mut self.core, action, sender),
            Some(Channel::Session(_) | Channel::Chat(_)) if changes_directories(&action) => {
                self.sessions()
                    .directories_dispatched(&channel, action, sender);
            }
            Some(Channel::Session(_)) => {
                self.sessions().dispatched(&channel, action, sender);
            }
            Some(Channel::Chat(_)) => {
                let locale = self.clients.locale_of(connection);
                self.turns()
                    .dispatched(&channel, action, sender, selection, locale);
            }
            Some(Channel::Terminal(_)) => {
                let around = (&self.clients, &self.catalogue);
                let terminals = &mut self.terminals;
                let core = &mut self.core;
                let over = terminals.dispatched(core, around, &channel, action, sender);
                if let Some(over) = over {
                    self.turns().run_over(over);
                }
            }
            Some(Channel::Changeset(_)) => {
                let core = &mut self.core;
                self.changes.dispatched(core, &channel, action, sender);
            }
            Some(Channel::Annotations(_)) => {
                let core = &mut self.core;
                self.anchoring.dispatched(core, &channel, action, sender);
            }
            Some(Channel::Automations(_)) => self.automations().dispatched(action, sender),
            Some(Channel::AutomationRun(_)) => {
                self.automations().run_dispatched(&channel, action, sender);
            }
            Some(Channel::Watch(_) | Channel::Canvas(_)) => {
                let refused: Verdict<()> = Verdict::NotAccepted(action);
                self.core.carry_out(&channel, sender, refused);
            }
            None => {
                self.dispatched_nowhere(channel, action, sender);
                return;
            }
        }
        self.sessions().is_used(&channel);
    }

    /// Takes what is meant for a channel that does not exist, or that exists
    /// and is nothing that this could be done to.
    fn dispatched_nowhere(&mut self, channel: ChannelUri, action: StateAction, sender: Sender) {
        let said = sender.said.clone();
        let known_as = said.as_ref().map_or(&channel, |said| &said.channel);
        if self.core.channels.contains(known_as) {
            let refused: Verdict<()> = Verdict::NotAccepted(action);
            self.core.carry_out(known_as, sender, refused);
            return;
        }
        if !said
            .as_ref()
            .is_some_and(|said| said.version.is_silent_about_unknown_channels())
        {
            let name: String = known_as.as_str().chars().take(NAMED).collect();
            let refusal = Refusal::new(
                RejectionCode::NoSuchChannel,
                format!("`{name}` does not exist"),
            );
            self.core.reject(channel, action, sender, refusal);
        }
    }

    /// While the store cannot write, nothing is accepted. The rejection
    /// overtakes what waits for the store, so it must not claim a number that
    /// the client has yet to see.
    pub(crate) fn reject_for_store(&mut self, to: ConnectionId, dispatch: Dispatch) {
        let client = self.clients.client_of(to);
        let (Some(client), Some(reason)) = (client, &self.core.store_failure) else {
            return;
        };
        let rejection = Rejection {
            channel: dispatch.channel,
            action: dispatch.action,
            server_seq: Seq::ZERO,
            origin: ActionOrigin {
                client_id: client.to_string(),
                client_seq: dispatch.client_seq,
            },
            reason: store_failure_message(reason),
            code: RejectionCode::Unavailable,
            said: dispatch.said,
        };
        let message = HostMessage::Rejection(Box::new(rejection));
        self.core.effect(Effect::Send { to, message });
    }
}
