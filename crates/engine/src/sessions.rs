//! Sessions: their creation and their end, which of them are in memory, and what
//! is derived from them and their chats.

mod attempts;
mod creation;
mod directories;
mod dispatch;
mod further_chats;
mod handing_over;
mod input_needed;
mod moving;
mod not_stored;
mod residency;
mod settle;
mod summary;
mod take_back;
mod unwritten;
mod working_directories;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use foldhash::HashMap;
use innkeeper_protocol::newest::actions::{
    RootActiveSessionsChangedAction, SessionActiveClientRemovedAction, StateAction,
};
use innkeeper_protocol::newest::notifications::SessionRemovedParams;
use innkeeper_protocol::newest::state::ErrorInfo;
use innkeeper_protocol::outgoing::Notification;
use innkeeper_protocol::record::StoreOp;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::{ChannelUri, ClientId};

use crate::changes::{Place, isolate};
use crate::client_calls::ClientCalls;
use crate::compat;
use crate::core::{Core, Deadline};
use crate::customizations::CustomizationsMut;
use crate::effect::{ConnectionId, Ticket};
use crate::resources::Resources;
use crate::turns::TurnsMut;

pub(crate) use creation::Creator;
pub(crate) use summary::everything;

use directories::Unchecked;
use residency::Loading;
use take_back::UnderWay;
use working_directories::Changing;

/// How long too many sessions stay in memory at most.
const CROWDED: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// Those on their way into memory, and who waits for them.
    loading: HashMap<ChannelUri, Loading>,
    /// Sessions that are loaded to see whether anybody wrote in them.
    looked_at: HashMap<Ticket, ChannelUri>,
    /// Those whose directories are looked at.
    unchecked: HashMap<Ticket, Unchecked>,
    /// Those whose directories are being changed.
    changing: HashMap<ChannelUri, Changing>,
    /// Those on their way because something about them could not be stored.
    reread: BTreeSet<ChannelUri>,
    /// Who followed what was disposed of, by session, the latest last.
    departed: VecDeque<(ChannelUri, BTreeSet<ConnectionId>)>,
    /// What is done to files because something is taken back.
    taking_back: HashMap<ChannelUri, UnderWay>,
}

/// The sessions, with what they need of the modules below.
pub(crate) struct SessionsMut<'a> {
    pub(crate) own: &'a mut Sessions,
    pub(crate) turns: TurnsMut<'a>,
    pub(crate) calls: &'a mut ClientCalls,
    pub(crate) resources: &'a mut Resources,
}

impl Sessions {
    /// Those that were stored without a turn when the host began may go.
    pub(crate) fn new(core: &mut Core, without_turns: Vec<ChannelUri>) -> Self {
        for session in without_turns {
            unwritten::look_at_later(core, session, core.now);
        }
        next_sweep(core);
        Self::default()
    }
}

/// Sessions that nobody needs leave memory from time to time.
fn next_sweep(core: &mut Core) {
    let at = core.now.after(core.config.limits.idle_session);
    core.deadlines.set(Deadline::Sweep, at);
}

/// Sooner, if more are in memory than may be there for nothing: a client that
/// makes or opens thousands must not fill it until the next sweep.
fn sweep_if_crowded(core: &mut Core) {
    if core.channels.count_sessions() > core.config.limits.idle_sessions {
        let soon = core.now.after(CROWDED);
        core.deadlines.bring_forward(Deadline::Sweep, soon);
    }
}

impl SessionsMut<'_> {
    fn core(&mut self) -> &mut Core {
        self.turns.core
    }

    pub(crate) fn customizations(&mut self) -> CustomizationsMut<'_> {
        CustomizationsMut {
            own: self.turns.customizations,
            core: self.turns.core,
            clients: self.turns.clients,
            calls: self.calls,
            resources: self.resources,
            agents: self.turns.agents,
            servers: self.turns.servers,
        }
    }

    /// Gets a new session going: where it works, then who works.
    pub(crate) fn begin(&mut self, uri: &ChannelUri) {
        if !self.check_directories(uri) {
            self.find_place(uri);
        }
    }

    fn find_place(&mut self, uri: &ChannelUri) {
        match isolate(self.turns.core, uri) {
            Place::Here => self.open_default_backend(uri),
            Place::Awaited => {}
            Place::Nowhere(error) => self.failed(uri, &error),
        }
    }

    /// A session has the place that it is to work in.
    pub(crate) fn isolated(&mut self, uri: &ChannelUri) {
        self.open_default_backend(uri);
    }

    pub(crate) fn failed(&mut self, uri: &ChannelUri, error: &ErrorInfo) {
        self.turns.session_failed(uri, error);
    }

    /// An agent is told at once what its session is customized with.
    fn open_default_backend(&mut self, uri: &ChannelUri) {
        self.customizations().update(uri);
        let chat = ChannelUri::default_chat_of(uri.as_str());
        self.turns.open_backend(&chat);
    }

    pub(crate) fn dispose(&mut self, uri: &ChannelUri) -> Result<(), RpcError> {
        if !self.turns.catalogue.remove(uri) {
            return Err(RpcError::session_not_found(uri.as_str()));
        }
        let further = self.turns.catalogue.further_chats_of(uri);
        let mut channels = further.clone();
        channels.push(uri.clone());
        channels.push(ChannelUri::annotations_of(uri.as_str()));
        channels.push(ChannelUri::default_chat_of(uri.as_str()));
        self.note_departed(uri, &channels);
        let turns = &mut self.turns;
        turns.changes.forget(turns.core, turns.catalogue, uri);
        turns.core.channels.remove_session(uri);
        self.takes_back_no_more(uri);
        let turns = &mut self.turns;
        turns.core.inputs.forget(uri);
        turns.core.end_progress(uri);
        self.checks_no_more(uri);
        let core = self.core();
        core.deadlines.clear(&Deadline::SummaryIsHeld(uri.clone()));
        core.deadlines
            .clear(&Deadline::SessionIsUnwritten(uri.clone()));
        self.customizations().leave(uri);
        // Its chats may have subscribers although it is not in memory.
        for chat in further {
            compat::announce_end_of_chat(self.turns.core, self.turns.clients, &chat);
            self.forget_chat(&chat);
            self.turns.catalogue.dispose_chat(&chat, uri);
        }
        self.forget_chat(&ChannelUri::default_chat_of(uri.as_str()));
        let turns = &mut self.turns;
        turns.terminals.dispose_of_session(turns.core, uri);
        let core = self.core();
        core.subscriptions.remove_channel(uri);
        core.subscriptions
            .remove_channel(&ChannelUri::annotations_of(uri.as_str()));
        core.step.durable_first = true;
        core.store(StoreOp::DisposeSession {
            session: uri.clone(),
            at: core.now,
        });
        core.notify_root(Notification::SessionRemoved(SessionRemovedParams {
            channel: ChannelUri::root().to_string(),
            session: uri.to_string(),
        }));
        self.count(uri);
        Ok(())
    }

    /// Takes a chat out of memory, with its backend and its subscribers.
    fn forget_chat(&mut self, uri: &ChannelUri) {
        self.turns.forget_chat(uri);
        self.turns.catalogue.remove_chat(uri);
        self.turns.clients.forget_views(uri);
        let core = self.core();
        core.channels.remove_chat(uri);
        core.subscriptions.remove_channel(uri);
        self.turns.servers.close_canvases_in(self.turns.core, uri);
    }

    /// Says how many sessions there are, now that one has come or gone.
    fn count(&mut self, changed: &ChannelUri) {
        let sessions = self.turns.catalogue.len();
        let active_sessions = i64::try_from(sessions).unwrap_or(i64::MAX);
        let action = RootActiveSessionsChangedAction { active_sessions };
        let action = StateAction::RootActiveSessionsChanged(action);
        let about = Some(changed.clone());
        self.core()
            .emit_about(about, &ChannelUri::root(), action, None);
    }

    /// Remembers that somebody takes an interest in a channel's session.
    pub(crate) fn is_used(&mut self, channel: &ChannelUri) {
        let turns = &mut self.turns;
        let session = turns.catalogue.session_of(turns.core, channel);
        let session = session.and_then(|uri| turns.core.channels.session_mut(&uri));
        if let Some(session) = session {
            session.last_used = turns.core.now;
        }
    }

    // The clients that are active in sessions

    /// A client is not active in any session any more.
    pub(crate) fn end_roles_of(&mut self, client_id: &ClientId) {
        for session in self.core().channels.session_uris() {
            self.remove_active_client(&session, client_id);
        }
    }

    pub(crate) fn remove_active_client(&mut self, session: &ChannelUri, client_id: &ClientId) {
        let known = self.core().channels.session(session);
        let is_active = known.is_some_and(|session| {
            let mut clients = session.state.active_clients.iter();
            clients.any(|client| client.client_id == *client_id)
        });
        if is_active {
            let action = SessionActiveClientRemovedAction {
                client_id: client_id.to_string(),
            };
            let action = StateAction::SessionActiveClientRemoved(action);
            self.core().emit(session, action, None);
            self.active_client_left(session, client_id);
        }
    }

    /// Its tools are gone, and what it had to run will not be run.
    fn active_client_left(&mut self, session: &ChannelUri, client_id: &ClientId) {
        self.turns.offer_client_tools(session);
        self.turns.fail_client_calls(session, client_id.as_str());
    }
}
