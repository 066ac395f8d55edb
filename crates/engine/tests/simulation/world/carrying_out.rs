//! What the engine has done about things: messages go to connections, questions
//! to the store, and the rest of the machine answers as it likes.

use innkeeper_engine::{ConnectionId, Effect, Input};
use innkeeper_protocol::action_traits::traits_of;
use innkeeper_protocol::outgoing::HostMessage;
use innkeeper_protocol::workspace::customization::CustomizationCommand;
use innkeeper_protocol::workspace::resource::ResourceError;

use crate::agent::kind_of;
use crate::annotations;
use crate::changes;
use crate::customizations;
use crate::hear;
use crate::servers;

use super::storing::Read;
use super::{Parcel, World};

impl World {
    pub(super) fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { to, message } => {
                    // Of what is told to one alone, nothing was to be stored.
                    self.check_number(&message);
                    self.send(to, message);
                }
                Effect::Publish { to, message } => {
                    self.check_durable(&message);
                    for subscriber in to.iter() {
                        self.send(subscriber.connection, message.clone());
                    }
                }
                Effect::Speak {
                    to,
                    client,
                    version,
                    name: _,
                } => {
                    self.client_versions.insert(client, version);
                    if let Some(wire) = self.wires.get_mut(&to.0) {
                        wire.version = Some(version);
                    }
                }
                Effect::ForgetClient { client } => {
                    self.client_versions.remove(&client);
                }
                Effect::Close { connection, .. } => {
                    if let Some(wire) = self.wires.get_mut(&connection.0) {
                        wire.queue.push_back(Parcel::Close);
                    }
                }
                Effect::Agent(command) => {
                    self.say(|| {
                        format!("  agent: {:?} {:?}", command.backend(), kind_of(&command))
                    });
                    self.note(kind_of(&command));
                    if let Err(problem) = self.agents.command(&command) {
                        panic!("the agent was told what it should not be: {problem}");
                    }
                }
                Effect::LoadSession { session } => self.reads.push(Read::Session(session)),
                Effect::LoadLog {
                    ticket,
                    after,
                    up_to,
                } => self.reads.push(Read::Log {
                    ticket,
                    after,
                    up_to,
                }),
                Effect::LookUp { ticket, lookup } => {
                    let outcome = Ok(lookup.in_archive(&*self.archive).unwrap());
                    self.answers.push(Input::LookedUp { ticket, outcome });
                }
                Effect::LoadContent { ticket, uri } => {
                    self.reads.push(Read::Content { ticket, uri });
                }
                Effect::ReadContent {
                    ticket,
                    uri,
                    encoding,
                    ..
                } => self.reads.push(Read::ContentForClient {
                    ticket,
                    uri,
                    encoding,
                }),
                Effect::TakeContent {
                    ticket,
                    uri,
                    data,
                    most_bytes,
                    ..
                } => self.reads.push(Read::ContentToTake {
                    ticket,
                    uri,
                    data,
                    most_bytes,
                }),
                Effect::CheckDirectories { ticket, .. } => {
                    let wrong = None;
                    let checked = Input::DirectoriesChecked { ticket, wrong };
                    self.answers.push(checked);
                }
                Effect::ReadText { ticket, .. } => {
                    let text = self.rng.pick(&annotations::TEXTS).copied().flatten();
                    let text = text.map(str::to_owned);
                    self.answers.push(Input::TextRead { ticket, text });
                }
                Effect::FindFiles { ticket, .. } => {
                    let files = Vec::new();
                    self.answers.push(Input::FilesFound { ticket, files });
                }
                // There are no files here.
                Effect::Resource { ticket, .. } => {
                    let uri = "file:///".to_owned();
                    let write = false;
                    let outcome = Err(ResourceError::OutOfScope { uri, write });
                    self.answers.push(Input::ResourceDone { ticket, outcome });
                }
                Effect::ReadKept { ticket, .. } => {
                    let uri = "innkeeper-blob:/".to_owned();
                    let outcome = Err(ResourceError::NotFound { uri });
                    self.answers.push(Input::ResourceDone { ticket, outcome });
                }
                Effect::ListBranches { ticket, .. } => {
                    let items = Vec::new();
                    self.answers.push(Input::ConfigCompleted { ticket, items });
                }
                Effect::RemoveLeftovers(_) => {}
                Effect::Changes(command) => {
                    let reports = changes::reports(&mut self.rng, command);
                    self.answers.extend(reports);
                }
                Effect::Terminal(command) => self.machine.tell_terminal(command).unwrap(),
                Effect::TerminalTaken {
                    terminal, bytes, ..
                } => self.machine.take(terminal, bytes).unwrap(),
                Effect::Watch(command) => self.machine.tell_watch(command).unwrap(),
                Effect::Span(_) => {}
                // Its host installs nothing.
                Effect::ListInstallable { .. }
                | Effect::InstallAgent { .. }
                | Effect::StopInstalling { .. } => {}
                Effect::Customization(command) => match command {
                    // Now, and now and then once more.
                    CustomizationCommand::Follow { source, .. } => {
                        for _ in 0..1 + self.rng.below(3) {
                            let report = customizations::report(&mut self.rng, source);
                            self.answers.push(report);
                        }
                    }
                    // Nobody brings a plugin to an automation here.
                    CustomizationCommand::Forget { .. }
                    | CustomizationCommand::Copy { .. }
                    | CustomizationCommand::KeepCopies { .. }
                    | CustomizationCommand::RemoveCopy { .. } => {}
                },
                Effect::Mcp(command) => {
                    let reports = servers::reports(&mut self.rng, command);
                    self.answers.extend(reports);
                }
                Effect::CompleteConfig { ticket, .. } => {
                    let items = Vec::new();
                    self.answers.push(Input::ConfigCompleted { ticket, items });
                }
            }
        }
    }

    pub(super) fn send(&mut self, to: ConnectionId, message: HostMessage) {
        let kind = hear::kind(&message);
        self.note(kind);
        if let Some(wire) = self.wires.get_mut(&to.0) {
            wire.welcomed |= matches!(kind, "welcome" | "replay" | "afresh");
            wire.queue.push_back(Parcel::Message(message));
        }
    }

    /// What a client did, and what begins or ends a turn, is durable before
    /// anybody is told. And a number stands for one action only.
    fn check_durable(&mut self, message: &HostMessage) {
        let HostMessage::Action(action) = message else {
            return;
        };
        // What happens to terminals and changesets is of one life.
        let channel = action.channel.as_str();
        let is_kept = !channel.starts_with("ahp-terminal:") && !changes::is_changeset(channel);
        let waits = action.origin.is_some() || traits_of(&action.action).bounds_turn;
        assert!(
            !waits || !is_kept || self.ledger.numbers.contains(&action.seq),
            "{} was told before it was durable",
            action.seq
        );
        self.check_number(message);
    }

    fn check_number(&mut self, message: &HostMessage) {
        let HostMessage::Action(action) = message else {
            return;
        };
        let before = self
            .told
            .entry(action.seq)
            .or_insert_with(|| action.clone());
        assert_eq!(before, action, "a number was used twice");
    }
}
