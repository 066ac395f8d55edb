//! The lives of a host: each begins with what the store has of the one before.

use innkeeper_engine::{
    CustomizationPolicy, Engine, EngineConfig, Input, Limits, QueueAfterCancel, Step,
    WorkspaceConfig, fold_log,
};
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::newest::commands::Implementation;
use innkeeper_protocol::newest::state::{
    ChatOrigin, ResponsePart, SessionLifecycle, ToolCallState,
};
use innkeeper_protocol::record::Boot;

use crate::agent::{Backends, profiles};
use crate::machine::Machine;
use crate::servers;

use super::{World, waits_for_a_person};

impl World {
    /// The host dies here, or ends as it should, and begins again.
    pub(crate) fn restart(&mut self, cleanly: bool) {
        if cleanly {
            // A session that is being read anew as the host ends is left to
            // the next life.
            let chance = std::mem::take(&mut self.refusals.chance);
            if chance > 0 {
                self.drain();
            }
            self.recover();
            self.feed(Input::Shutdown);
            self.commit(usize::MAX);
            let wires: Vec<u64> = self.wires.keys().copied().collect();
            for wire in wires.into_iter().filter(|wire| wire % 2 == 0) {
                while self.deliver(wire) {}
            }
            self.refusals.chance = chance;
        }
        if self.refusals.is_open() {
            // Until a session that was refused is to be read anew, only this
            // life knows which numbers stand for nothing.
            self.drain();
        }
        self.say(|| format!("--- restart, clean: {cleanly}"));
        self.failing = false;
        self.unapplied.clear();
        self.outbox.clear();
        self.refusals.forget();
        self.committed = self.submitted;
        self.reads.clear();
        self.answers.clear();
        self.wires.clear();
        for client in &mut self.clients {
            client.disconnected();
        }
        for onlooker in &mut self.onlookers {
            onlooker.disconnected();
        }
        self.agents = Backends::default();
        self.machine = Machine::default();
        self.life += 1;
        self.latest = self.latest.max(self.now);
        let boot = self.store.begin().unwrap();
        // Those of a session that did not even come into memory meanwhile
        // are still to be ended.
        let before = std::mem::take(&mut self.interrupted);
        self.interrupted = self.find_interrupted(&boot);
        self.client_versions = boot
            .clients
            .iter()
            .filter_map(|client| Some((client.client_id.clone(), client.speaks()?)))
            .collect();
        assert!(
            !cleanly || self.interrupted.iter().all(|turn| before.contains(turn)),
            "a clean end left turns running: {:?}",
            self.interrupted
        );
        let (engine, step) = begin(
            self.now,
            self.life,
            self.limits.clone(),
            self.number_block,
            self.agent_count,
            boot,
        );
        self.engine = engine;
        self.pass_on(step);
    }

    fn find_interrupted(&self, boot: &Boot) -> Vec<(String, String, String)> {
        let sessions = boot.interrupted.iter();
        let loaded = sessions.filter_map(|uri| self.archive.load_session(uri).unwrap());
        // A turn whose session is not there yet has not begun.
        let loaded = loaded.filter(|it| it.session.state.lifecycle != SessionLifecycle::Creating);
        let chats = loaded.flat_map(|session| session.chats);
        chats
            .filter_map(|mut chat| {
                fold_log(&mut chat);
                let own = !matches!(chat.record.head.origin, Some(ChatOrigin::Tool { .. }));
                let turn = chat.record.head.active_turn?;
                // Nobody runs the call any more that somebody signs in for.
                let signs_in = |part: &ResponsePart| {
                    let ResponsePart::ToolCall(part) = part else {
                        return false;
                    };
                    matches!(part.tool_call, ToolCallState::AuthRequired(_))
                };
                let mut parts = turn.response_parts.iter();
                if own && parts.any(|part| waits_for_a_person(part) && !signs_in(part)) {
                    return None;
                }
                Some((chat.record.uri.to_string(), turn.id, turn.started_at))
            })
            .collect()
    }
}

pub(super) fn begin(
    now: i64,
    life: u64,
    limits: Limits,
    number_block: u64,
    agents: usize,
    boot: Boot,
) -> (Engine, Step) {
    let config = EngineConfig {
        server_info: Implementation {
            name: "simulated".to_owned(),
            version: None,
            title: None,
        },
        build: Default::default(),
        default_directory: None,
        nonce: format!("life{life}"),
        limits,
        number_block,
        // In some lives the queue goes on.
        queue_after_cancel: match life.is_multiple_of(3) {
            true => QueueAfterCancel::Continue,
            false => QueueAfterCancel::Wait,
        },
        workspace: WorkspaceConfig {
            customizations: CustomizationPolicy {
                // In some lives: agents wait for it.
                host: life.is_multiple_of(2),
                ..CustomizationPolicy::default()
            },
            changes: true,
            assess_risk: true,
            mcp_servers: servers::configured().into(),
            ..WorkspaceConfig::default()
        },
    };
    Engine::new(Timestamp::from_millis(now), config, profiles(agents), boot)
}
