//! What is to be done on the machine: files, terminals, watches, changes.

use std::sync::Arc;

use innkeeper_engine::{Input, Leftovers, Ticket};
use innkeeper_protocol::mcp::hosted::McpCommand;
use innkeeper_protocol::workspace::FoundFile;
use innkeeper_protocol::workspace::changes::ChangesCommand;
use innkeeper_protocol::workspace::customization::CustomizationCommand;
use innkeeper_protocol::workspace::resource::{ResourceDone, ResourceError, ResourceTask, Scope};
use innkeeper_protocol::workspace::terminal::{TerminalCommand, TerminalId};
use innkeeper_protocol::workspace::watch::WatchCommand;
use innkeeper_workspace::{ChangesService, FileFinder, why_not_directory};

use super::{Asked, Reports};
use crate::delivery::{AnswerRoom, OutboundQueue};
use crate::machine::Machine;

pub(crate) struct MachineTasks {
    machine: Arc<Machine>,
    reports: Reports,
}

impl MachineTasks {
    pub(crate) fn new(machine: Arc<Machine>, reports: Reports) -> Self {
        Self { machine, reports }
    }

    pub(super) fn find_files(
        &self,
        ticket: Ticket,
        room: Option<Arc<AnswerRoom>>,
        find: impl FnOnce(&FileFinder) -> Vec<FoundFile> + Send + 'static,
    ) {
        let finder = self.machine.finder.clone();
        // Looking may take long: one client has so many threads for it and no
        // more.
        self.reports.answering(room, 0, 0, move |share| {
            let files = share.map(|_share| find(&finder))?;
            Some(Input::FilesFound { ticket, files })
        });
    }

    pub(super) fn resource(&self, asked: Asked, scope: Scope, task: Box<ResourceTask>) {
        let resources = self.machine.resources.clone();
        let held = match &*task {
            ResourceTask::Write(task) => task.data.len(),
            _ => 0,
        };
        let most_bytes = match &*task {
            ResourceTask::Read { .. } => scope.most_bytes,
            _ => held,
        };
        let matters = task.changes_something();
        asked.answer(&self.reports, (most_bytes, held), matters, move || {
            resources.perform(&scope, &task)
        });
    }

    pub(super) fn read_text(&self, ticket: Ticket, scope: Scope, file: String) {
        let resources = self.machine.resources.clone();
        self.reports.blocking(move || {
            let read = resources.perform(&scope, &ResourceTask::Read { uri: file });
            let text = match read {
                Ok(ResourceDone::Content { data, .. }) => String::from_utf8(data.into()).ok(),
                _ => None,
            };
            Input::TextRead { ticket, text }
        });
    }

    pub(super) fn terminal(&self, command: TerminalCommand) {
        self.machine.terminals.command(command);
    }

    pub(super) fn terminal_taken(
        &self,
        terminal: TerminalId,
        bytes: usize,
        by: Vec<Arc<OutboundQueue>>,
    ) {
        if let Some(waits) = self.machine.taken(terminal, bytes, by) {
            self.reports.spawn(waits);
        }
    }

    pub(super) fn watch(&self, command: WatchCommand) {
        self.machine.watches.command(command);
    }

    pub(super) fn customization(&self, command: CustomizationCommand) {
        self.machine.customizations.command(command);
    }

    pub(super) fn mcp(&self, command: McpCommand) {
        self.machine.servers.command(command);
    }

    // Changes: the engine asks for none of these where they are not kept.

    pub(super) fn changes(&self, command: ChangesCommand) {
        if let Some(changes) = &self.machine.changes {
            changes.command(command);
        }
    }

    pub(super) fn remove_leftovers(&self, leftovers: Leftovers) {
        if let Some(changes) = self.machine.changes.clone() {
            self.reports.unheard(move || {
                // In this order: what is kept is found by way of the trees.
                changes.forget_kept(&leftovers.kept);
                changes.remove_trees(&leftovers.trees);
            });
        }
    }

    pub(super) fn read_kept(
        &self,
        asked: Asked,
        most_bytes: usize,
        read: impl FnOnce(&ChangesService) -> Result<ResourceDone, ResourceError> + Send + 'static,
    ) {
        if let Some(changes) = self.machine.changes.clone() {
            asked.answer(&self.reports, (most_bytes, 0), false, move || {
                read(&changes)
            });
        }
    }

    pub(super) fn check_directories(&self, ticket: Ticket, directories: Vec<String>) {
        self.reports.blocking(move || {
            let wrong = directories.iter().find_map(|uri| why_not_directory(uri));
            Input::DirectoriesChecked { ticket, wrong }
        });
    }

    pub(super) fn list_branches(&self, ticket: Ticket, directory: String, query: String) {
        let changes = self.machine.changes.clone();
        self.reports.blocking(move || {
            let items = changes.map(|changes| changes.branches(&directory, &query));
            let items = items.unwrap_or_default();
            Input::ConfigCompleted { ticket, items }
        });
    }
}
