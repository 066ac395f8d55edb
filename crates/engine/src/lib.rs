//! The engine: everything that Innkeeper decides, as one state machine.
//!
//! [`Engine::handle`] takes the time and one [`Input`] and returns a [`Step`]:
//! what must become durable, and what must then be done. There is no I/O in
//! here, no clock and no randomness, so any run can be repeated from its
//! inputs; the shell around it turns bytes into inputs and effects into bytes.
//!
//! # Where things are
//!
//! [`Input`]s come in at `reports`, which hands each to the module that it is
//! for. A message of a client goes by `requests`, or by `handshake` if it
//! introduces the client; an action that it dispatches goes by `dispatch` to the
//! module that owns the channel, which judges it. Whoever changes state does so
//! through `Core::emit`: the one place that applies a reducer, gives out a
//! number, writes the log and tells the subscribers. After every input,
//! `sessions` brings what is derived (the chat catalogue, session summaries,
//! stored rows) up to date.
//!
//! # The modules
//!
//! From the ground up: each names only those that stand before it here, and what
//! must go up is returned as a value. What the list does not name is the wiring,
//! which may name everything. `cargo xtask tidy` holds the source against it.
//!
//! 1. `labels`: what the host itself writes for people
//! 2. `config`: what the engine is told about its surroundings, and its limits
//! 3. `effect`: what the engine wants done
//! 4. `input`: what can happen to the engine
//! 5. `core`: time, step, channels, sequence, subscriptions, replay, deadlines
//! 6. `catalogue`: all sessions there are, and which of them a chat belongs to
//! 7. `clients`: connections, the clients behind them, and their views of chats
//! 8. `client_calls`: what the host asks of clients, for itself or for others
//! 9. `lookups`: what clients look up in the store
//! 10. `installs`: agents that are installed for clients
//! 11. `resources`: files of the machine, and who may reach them
//! 12. `agents`: the agents there are, their tokens, settings of host and sessions
//! 13. `terminals`: terminals, and the commands of turns that run in them
//! 14. `watches`: changes of files that clients follow
//! 15. `servers`: the MCP servers that the host runs
//! 16. `customizations`: what sessions are customized with, on or off
//! 17. `compat`: what is done for clients of older protocol versions
//! 18. `changes`: changesets, checkpoints, working trees
//! 19. `annotations`: what is written about lines of files
//! 20. `risk`: what is risky about a call that is to be approved
//! 21. `turns`: conversations with agents, and what happens in their turns
//! 22. `sessions`: creation, residency and end of sessions, and what is derived
//! 23. `completions`: what may complete what somebody types
//! 24. `automations`: what agents do by themselves, when, and what became of it
//!
//! # Calling order
//!
//! [`Engine::new`], then [`Engine::handle`] for each input, in any order that
//! the outside world produces; [`Engine::next_deadline`] says when an
//! [`Input::Tick`] is due. The effects of a step are carried out in order, and
//! those of a step with [`Step::durable_first`] only after its store batch and
//! all earlier ones are committed; but those that wait for nothing
//! ([`Effect::waits_for_nothing`]) before the next input.
//!
//! # Invariants
//!
//! - `serverSeq` only grows, over all lives of the host.
//! - A client that folds what it was sent holds the state that the host holds.
//! - What a client dispatched is durable before anybody is told.
//! - Every turn ends.

mod agents;
mod annotations;
mod automations;
mod catalogue;
mod changes;
mod client_calls;
mod clients;
mod compat;
mod completions;
mod config;
mod core;
mod customizations;
mod dispatch;
mod effect;
mod handshake;
mod input;
mod installs;
mod labels;
mod lookups;
mod postponed;
mod reports;
mod requests;
mod resources;
mod risk;
mod servers;
mod sessions;
mod subscribing;
mod terminals;
mod turns;
mod watches;

use foldhash::HashMap;
use innkeeper_protocol::Seq;
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::agent::AgentProfile;
use innkeeper_protocol::record::Boot;

use crate::core::Core;
use agents::Agents;
use annotations::Anchoring;
use automations::{Automations, AutomationsMut};
use catalogue::Catalogue;
use changes::Changes;
use client_calls::ClientCalls;
use clients::Clients;
use compat::Compat;
use completions::Completions;
use customizations::{Customizations, CustomizationsMut};
use installs::Installs;
use lookups::Lookups;
use postponed::{Postponed, WaitingReconnect};
use resources::Resources;
use servers::Servers;
use sessions::{Sessions, SessionsMut};
use terminals::Terminals;
use turns::{Turns, TurnsMut};
use watches::Watches;

pub use crate::core::history::fold_log;
pub use config::{
    CustomizationPolicy, EngineConfig, GrantPolicy, HostBuild, Limits, QueueAfterCancel,
    WorkspaceConfig,
};
pub use effect::{CloseReason, ConnectionId, Effect, Leftovers, Step, Subscriber, Ticket};
pub use input::Input;
pub use turns::COMMAND_PREFIX;

/// The state machine. See the crate's documentation.
#[derive(Debug)]
pub struct Engine {
    core: Core,
    catalogue: Catalogue,
    clients: Clients,
    client_calls: ClientCalls,
    lookups: Lookups,
    installs: Installs,
    resources: Resources,
    agents: Agents,
    terminals: Terminals,
    watches: Watches,
    servers: Servers,
    customizations: Customizations,
    compat: Compat,
    changes: Changes,
    anchoring: Anchoring,
    turns: Turns,
    sessions: Sessions,
    completions: Completions,
    automations: Automations,
    /// What waits for sessions that are on their way into memory.
    postponed: HashMap<Ticket, Postponed>,
    /// Clients that wait for the stored log.
    reconnects: HashMap<Ticket, WaitingReconnect>,
}

impl Engine {
    /// Begins where the store says that the last life ended. The first step
    /// ends the turns that were running then.
    pub fn new(
        now: Timestamp,
        config: EngineConfig,
        agents: Vec<AgentProfile>,
        mut boot: Boot,
    ) -> (Self, Step) {
        let has_past = boot.next_seq > Seq::new(1);
        let stored_config = boot.root_config.take();
        let rows = std::mem::take(&mut boot.catalogue);
        let catalogue = Catalogue::new(rows, std::mem::take(&mut boot.chats));
        let agents_known = Agents::new(agents, stored_config.as_ref());
        let root = agents_known.root_state(catalogue.len(), stored_config, config.about_host());
        let automations = std::mem::take(&mut boot.automations);
        let runs = std::mem::take(&mut boot.automation_runs);
        let mut core = Core::new(now, config, &boot, root);
        let mut engine = Self {
            sessions: Sessions::new(&mut core, boot.without_turns),
            core,
            catalogue,
            clients: Clients::new(boot.clients),
            client_calls: ClientCalls::default(),
            lookups: Lookups::default(),
            installs: Installs::default(),
            resources: Resources::default(),
            agents: agents_known,
            terminals: Terminals::default(),
            watches: Watches::default(),
            servers: Servers::default(),
            customizations: Customizations::new(boot.switches),
            compat: Compat::default(),
            changes: Changes::default(),
            anchoring: Anchoring::default(),
            turns: Turns::default(),
            completions: Completions::default(),
            automations: Automations::default(),
            postponed: HashMap::default(),
            reconnects: HashMap::default(),
        };
        // First of all: the log is not cut while these are on their way.
        for session in &boot.interrupted {
            engine.sessions().start_loading(session);
        }
        if has_past {
            agents::announce_root(&mut engine.core);
        }
        engine
            .automations()
            .take_in(automations, runs, &boot.interrupted);
        let step = std::mem::take(&mut engine.core.step);
        (engine, step)
    }

    /// Handles one input. Inputs are handled one after the other; the order of
    /// the calls is the order of the world.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Step {
        let mut step = Step::default();
        self.handle_into(&mut step, now, input);
        step
    }

    /// Likewise, into a step whose effects have been carried out: what is
    /// still in it is lost, and its memory is used again.
    pub fn handle_into(&mut self, step: &mut Step, now: Timestamp, input: Input) {
        step.clear();
        std::mem::swap(&mut self.core.step, step);
        // A clock that steps back must not undo deadlines or order.
        self.core.now = self.core.now.max(now);
        self.take(input);
        self.settle();
        std::mem::swap(&mut self.core.step, step);
    }

    /// When the next [`Input::Tick`] is due.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.core.deadlines.next()
    }

    /// The last number that was given out.
    pub fn server_seq(&self) -> Seq {
        self.core.server_seq()
    }

    /// How many sessions are in memory.
    pub fn resident_sessions(&self) -> usize {
        self.core.channels.count_sessions()
    }

    /// How many sessions there are.
    pub fn stored_sessions(&self) -> usize {
        self.catalogue.len()
    }

    // The modules, each with what it needs of those below

    fn customizations(&mut self) -> CustomizationsMut<'_> {
        CustomizationsMut {
            own: &mut self.customizations,
            core: &mut self.core,
            clients: &self.clients,
            calls: &mut self.client_calls,
            resources: &self.resources,
            agents: &self.agents,
            servers: &mut self.servers,
        }
    }

    fn automations(&mut self) -> AutomationsMut<'_> {
        AutomationsMut {
            own: &mut self.automations,
            watches: &mut self.watches,
            sessions: SessionsMut {
                own: &mut self.sessions,
                turns: TurnsMut {
                    own: &mut self.turns,
                    core: &mut self.core,
                    catalogue: &mut self.catalogue,
                    clients: &mut self.clients,
                    agents: &mut self.agents,
                    compat: &mut self.compat,
                    terminals: &mut self.terminals,
                    servers: &mut self.servers,
                    customizations: &mut self.customizations,
                    changes: &mut self.changes,
                    anchoring: &mut self.anchoring,
                },
                calls: &mut self.client_calls,
                resources: &mut self.resources,
            },
        }
    }

    fn turns(&mut self) -> TurnsMut<'_> {
        self.sessions().turns
    }

    fn sessions(&mut self) -> SessionsMut<'_> {
        self.automations().sessions
    }
}
