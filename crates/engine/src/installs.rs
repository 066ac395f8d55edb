//! Agents that are installed for clients: who asked, what they are told
//! meanwhile, and what came of it. Once begun, an installation goes on without
//! the client that asked for it; any client may cancel it.
//!
//! *Invariant*: one installation of an agent runs at a time, and few in all.

use foldhash::HashMap;
use innkeeper_protocol::agent::{
    InstallFailure, InstallableAgent, InstallableAgents, InstalledAgent,
};
use innkeeper_protocol::bounds::MAX_ID_BYTES;
use innkeeper_protocol::command::ExtensionCommand;
use innkeeper_protocol::command::extensions::InstallAgent;
use innkeeper_protocol::newest::errors::ahp_error_codes;
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};

use crate::core::{Core, check_progress_token};
use crate::effect::{ConnectionId, Effect, Ticket};

/// How many run at once in the host.
const MOST_RUNNING: usize = 2;

/// How many lists one connection may wait for.
const MOST_ASKED: usize = 8;

type Asker = (ConnectionId, RequestId);

#[derive(Debug, Default)]
pub(crate) struct Installs {
    lists: HashMap<Ticket, Asker>,
    running: HashMap<Ticket, Running>,
}

#[derive(Debug)]
struct Running {
    provider: String,
    /// Nobody, if the client that asked is gone.
    asker: Option<Asker>,
    progress_token: Option<String>,
    /// How often it was told how far it is.
    told: i64,
}

impl Installs {
    pub(crate) fn asked(&mut self, core: &mut Core, asker: Asker, command: ExtensionCommand) {
        let (connection, id) = asker.clone();
        let begun = match command {
            _ if !core.config.workspace.installs_agents => {
                let why = "this host installs no agents; use `innkeeper agents install`";
                Err(RpcError::invalid_request(why))
            }
            ExtensionCommand::InstallableAgents => self.list(core, asker),
            ExtensionCommand::InstallAgent(asked) => self.install(core, asker, asked),
            ExtensionCommand::CancelInstallAgent(asked) => {
                let stopped = self.cancel(core, &asked.provider);
                return core.answer(connection, Some(id), stopped.map(|()| Reply::Empty {}));
            }
            // Others carry those out.
            ExtensionCommand::Search(_)
            | ExtensionCommand::Usage(_)
            | ExtensionCommand::TakeBack(_)
            | ExtensionCommand::UndoTakeBack(_) => return,
        };
        if let Err(error) = begun {
            core.fail(connection, Some(id), error);
        }
    }

    fn list(&mut self, core: &mut Core, asker: Asker) -> Result<(), RpcError> {
        let of_connection = self.lists.values().filter(|it| it.0 == asker.0);
        if of_connection.count() >= MOST_ASKED {
            return Err(RpcError::invalid_request(format!(
                "{MOST_ASKED} requests of this connection for agents are not answered yet; wait \
                 for one of them"
            )));
        }
        let ticket = core.next_ticket();
        self.lists.insert(ticket, asker);
        core.effect(Effect::ListInstallable { ticket });
        Ok(())
    }

    fn install(
        &mut self,
        core: &mut Core,
        asker: Asker,
        asked: InstallAgent,
    ) -> Result<(), RpcError> {
        let InstallAgent {
            provider,
            progress_token,
        } = asked;
        check_progress_token(progress_token.as_deref())?;
        if provider.len() > MAX_ID_BYTES {
            let why = format!("the name of an agent has at most {MAX_ID_BYTES} bytes");
            return Err(RpcError::invalid_params(why));
        }
        if self.running_for(&provider).is_some() {
            return Err(RpcError::invalid_request(format!(
                "`{provider}` is being installed already; wait until that is over, or cancel it"
            )));
        }
        if self.running.len() >= MOST_RUNNING {
            return Err(RpcError::invalid_request(format!(
                "{MOST_RUNNING} agents are being installed already; wait until one of them is \
                 installed"
            )));
        }
        let ticket = core.next_ticket();
        let running = Running {
            provider: provider.clone(),
            asker: Some(asker),
            progress_token,
            told: 0,
        };
        self.running.insert(ticket, running);
        core.effect(Effect::InstallAgent { ticket, provider });
        Ok(())
    }

    fn running_for(&self, provider: &str) -> Option<Ticket> {
        let mut running = self.running.iter();
        let found = running.find(|(_, running)| running.provider == provider);
        found.map(|(ticket, _)| *ticket)
    }

    /// Whoever asked for it hears that it has failed.
    fn cancel(&self, core: &mut Core, provider: &str) -> Result<(), RpcError> {
        let ticket = self.running_for(provider).ok_or_else(|| {
            RpcError::invalid_request(format!("`{provider}` is not being installed"))
        })?;
        core.effect(Effect::StopInstalling { ticket });
        Ok(())
    }

    pub(crate) fn listed(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        mut items: Vec<InstallableAgent>,
    ) {
        let Some((connection, id)) = self.lists.remove(&ticket) else {
            return;
        };
        for agent in &mut items {
            agent.installing = self.running_for(&agent.provider).is_some();
        }
        let reply = Reply::InstallableAgents(InstallableAgents { items });
        core.answer(connection, Some(id), Ok(reply));
    }

    pub(crate) fn goes_on(&mut self, core: &mut Core, ticket: Ticket, line: String) {
        let Some(running) = self.running.get_mut(&ticket) else {
            return;
        };
        let (Some((connection, _)), Some(token)) = (&running.asker, &running.progress_token) else {
            return;
        };
        running.told += 1;
        core.tell_progress(*connection, token, (running.told, None), Some(line));
    }

    pub(crate) fn is_over(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        outcome: Result<InstalledAgent, InstallFailure>,
    ) {
        let Some(running) = self.running.remove(&ticket) else {
            return;
        };
        let Some((connection, id)) = running.asker else {
            return;
        };
        if let Some(token) = &running.progress_token {
            let all = running.told + 1;
            core.tell_progress(connection, token, (all, Some(all)), None);
        }
        let reply = outcome.map(Reply::InstalledAgent);
        let reply = reply.map_err(|failure| match failure {
            InstallFailure::Unknown(why) => RpcError::new(ahp_error_codes::PROVIDER_NOT_FOUND, why),
            InstallFailure::Failed(why) => RpcError::internal(why),
        });
        core.answer(connection, Some(id), reply);
    }

    pub(crate) fn forget_connection(&mut self, connection: ConnectionId) {
        self.lists.retain(|_, (of, _)| *of != connection);
        for running in self.running.values_mut() {
            running.asker.take_if(|(of, _)| *of == connection);
        }
    }
}
