//! The outbox: steps of the engine on their way out, in order.
//!
//! *Invariant*: the effects of a step are carried out after those of every
//! earlier step, and not before the store has what they must wait for; where
//! the store will never have it, they are not (`refused`). What
//! the engine says while the store cannot write depends on nothing unwritten,
//! and overtakes; so do the versions that connections speak from now on.
//!
//! When the host was overtaken, or may have been, nothing goes out any more.
//!
//! The engine's thread and the store's both come here: `order` says which of
//! them does what, and when. The other modules have a subject each: the
//! clients, the store, the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use innkeeper_agents::Supervisor;
use innkeeper_engine::{Effect, Input};
use innkeeper_protocol::record::store::CommitNo;
use tokio::sync::Notify;

use crate::telemetry::Telemetry;

mod asked;
mod clients;
mod installs;
mod machine;
mod order;
mod reads;
mod refused;
mod reports;

pub(crate) use clients::Clients;
pub(crate) use installs::Installs;
pub(crate) use machine::MachineTasks;
pub(crate) use reads::Reads;
pub(crate) use reports::Reports;

use asked::Asked;
use order::{Due, Order};

pub(crate) struct Outbox {
    order: Order<Vec<Effect>>,
    commits: Notify,
    is_shut: AtomicBool,
    to: Subjects,
}

/// Those to whom effects are done.
pub(crate) struct Subjects {
    pub(crate) clients: Arc<Clients>,
    pub(crate) reads: Reads,
    pub(crate) installs: Installs,
    pub(crate) machine: MachineTasks,
    pub(crate) agents: Arc<Supervisor>,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) reports: Reports,
}

impl Outbox {
    pub(crate) fn new(to: Subjects) -> Self {
        Self {
            order: Order::new(),
            commits: Notify::new(),
            is_shut: AtomicBool::new(false),
            to,
        }
    }

    /// Takes the effects of a step; they happen when everything before them
    /// has and the store has come as far as `after`.
    pub(crate) fn submit(&self, after: CommitNo, effects: Vec<Effect>) {
        let carry_out = |due| self.deal_with(due);
        self.order.submit(after, effects, carry_out);
    }

    /// Carries out effects that wait for nothing.
    pub(crate) fn overtake(&self, effects: Vec<Effect>) {
        if !self.is_shut.load(Ordering::Acquire) {
            self.to.carry_out(effects);
        }
    }

    /// Nothing goes out any more.
    pub(crate) fn shut(&self) {
        self.is_shut.store(true, Ordering::Release);
    }

    /// Ends what the host does for clients and no agent needs.
    pub(crate) fn end_errands(&self) {
        self.to.installs.stop_all();
    }

    fn deal_with(&self, due: Due<Vec<Effect>>) {
        if !self.is_shut.load(Ordering::Acquire) {
            self.to.deal_with(due);
        }
    }

    /// The store has come this far.
    pub(crate) fn committed(&self, number: CommitNo) {
        let carry_out = |due| self.deal_with(due);
        self.order.committed(number, carry_out);
        self.commits.notify_one();
    }

    /// What the store will never have. It is said before the store has come so
    /// far.
    pub(crate) fn refused(&self, number: CommitNo, reason: String) {
        self.order.refused(number, reason);
    }

    pub(crate) fn committed_so_far(&self) -> CommitNo {
        self.order.committed_so_far()
    }

    /// Waits until the store has come further.
    pub(crate) async fn next_commit(&self) {
        self.commits.notified().await;
    }
}

impl Subjects {
    fn deal_with(&self, due: Due<Vec<Effect>>) {
        match due {
            Due::Step(effects) => self.carry_out(effects),
            Due::Refused(effects, reason) => self.refuse(effects, &reason),
        }
    }

    fn carry_out(&self, effects: Vec<Effect>) {
        let mut run = clients::Run::default();
        for effect in effects {
            if let Effect::Publish { to, message } = effect {
                self.clients.add(&mut run, to, message);
                continue;
            }
            self.clients.publish(&mut run);
            self.do_one(effect);
        }
        self.clients.publish(&mut run);
    }

    fn do_one(&self, effect: Effect) {
        let Self {
            clients,
            reads,
            installs,
            machine,
            ..
        } = self;
        match effect {
            // Those come in runs.
            Effect::Publish { .. } => {}
            Effect::Send { to, message } => clients.send(to, message),
            Effect::Speak {
                to,
                client,
                version,
                name,
            } => clients.speak(to, client, version, name),
            Effect::ForgetClient { client } => clients.forget(&client),
            Effect::Close { connection, reason } => clients.close(connection, reason),
            Effect::Agent(command) => self.agents.command(command),
            Effect::CompleteConfig { ticket, query } => {
                let values = self.agents.complete_config(*query);
                self.reports.later(async move {
                    let items = values.await;
                    Input::ConfigCompleted { ticket, items }
                });
            }
            Effect::LoadSession { session } => reads.session(session),
            Effect::LoadLog {
                ticket,
                after,
                up_to,
            } => reads.log(ticket, after, up_to),
            Effect::LookUp { ticket, lookup } => reads.look_up(ticket, lookup),
            Effect::ListInstallable { ticket } => installs.list(ticket),
            Effect::InstallAgent { ticket, provider } => installs.install(ticket, provider),
            Effect::StopInstalling { ticket } => installs.stop(ticket),
            Effect::LoadContent { ticket, uri } => reads.content(ticket, uri),
            Effect::CheckDirectories {
                ticket,
                directories,
            } => machine.check_directories(ticket, directories),
            Effect::ReadText {
                ticket,
                scope,
                file,
            } => machine.read_text(ticket, scope, file),
            Effect::FindFiles {
                ticket,
                by,
                directories,
                query,
                limit,
            } => machine.find_files(ticket, clients.room(by), move |finder| {
                finder.find(&directories, &query, limit)
            }),
            Effect::Resource {
                ticket,
                by,
                scope,
                task,
                encoding,
            } => {
                let room = clients.room(by);
                machine.resource(Asked::new(ticket, room, encoding), scope, task);
            }
            Effect::ReadContent {
                ticket,
                by,
                uri,
                encoding,
                most_bytes,
            } => {
                let room = clients.room(by);
                reads.content_for(Asked::new(ticket, room, encoding), uri, most_bytes);
            }
            Effect::TakeContent {
                ticket,
                by,
                uri,
                data,
                most_bytes,
            } => {
                let asked = Asked::new(ticket, clients.room(by), None);
                reads.take_content(asked, uri, data, most_bytes);
            }
            Effect::Terminal(command) => machine.terminal(command),
            Effect::TerminalTaken {
                terminal,
                bytes,
                by,
            } => machine.terminal_taken(terminal, bytes, clients.queues(by.as_deref())),
            Effect::Watch(command) => machine.watch(command),
            Effect::Changes(command) => machine.changes(command),
            Effect::RemoveLeftovers(leftovers) => machine.remove_leftovers(leftovers),
            Effect::ReadKept {
                ticket,
                by,
                session,
                directories,
                id,
                encoding,
                most_bytes,
            } => {
                let asked = Asked::new(ticket, clients.room(by), encoding);
                machine.read_kept(asked, most_bytes, move |changes| {
                    changes.read(&directories, &session, &id, most_bytes)
                });
            }
            Effect::ListBranches {
                ticket,
                directory,
                query,
            } => machine.list_branches(ticket, directory, query),
            Effect::Customization(command) => machine.customization(command),
            Effect::Mcp(command) => machine.mcp(command),
            Effect::Span(span) => self.telemetry.span(*span),
        }
    }
}
