//! What the engine wants done.

use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::agent::{AgentCommand, ConfigQuery};
use innkeeper_protocol::mcp::hosted::McpCommand;
use innkeeper_protocol::newest::commands::ContentEncoding;
use innkeeper_protocol::outgoing::HostMessage;
use innkeeper_protocol::record::StoreBatch;
use innkeeper_protocol::record::search::Lookup;
use innkeeper_protocol::telemetry::Span;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::changes::ChangesCommand;
use innkeeper_protocol::workspace::customization::CustomizationCommand;
use innkeeper_protocol::workspace::resource::{ResourceTask, Scope, WriteData};
use innkeeper_protocol::workspace::terminal::{TerminalCommand, TerminalId};
use innkeeper_protocol::workspace::watch::WatchCommand;
use innkeeper_protocol::{ChannelUri, ClientId, Seq};

/// A transport connection. The shell gives these out, each only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// Correlates a question to the shell with its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What one input leads to.
#[derive(Debug, Default)]
pub struct Step {
    /// What must become durable, all of it or nothing.
    pub store: StoreBatch,
    /// The effects must wait until this batch and all earlier ones are
    /// committed.
    pub durable_first: bool,
    /// The store cannot write, and these effects depend on nothing that is
    /// still to be written: they overtake what waits for the store.
    pub bypasses_store: bool,
    /// In order, but for those that wait for nothing
    /// ([`Effect::waits_for_nothing`]).
    pub effects: Vec<Effect>,
}

impl Step {
    /// Forgets everything but the memory that it took.
    pub(crate) fn clear(&mut self) {
        self.store.ops.clear();
        self.durable_first = false;
        self.bypasses_store = false;
        self.effects.clear();
    }
}

#[derive(Debug)]
pub enum Effect {
    /// To one connection.
    Send {
        to: ConnectionId,
        message: HostMessage,
    },
    /// To all subscribers of a channel.
    Publish {
        to: Arc<[Subscriber]>,
        message: HostMessage,
    },
    /// The client was let in: from here on the connection speaks this version,
    /// in both directions, and the client will when it comes back.
    Speak {
        to: ConnectionId,
        client: ClientId,
        version: Version,
        /// What the client calls itself, on one line.
        name: Option<String>,
    },
    /// Should this client come back, nobody knows what it spoke.
    ForgetClient {
        client: ClientId,
    },
    /// End the connection, after what was sent to it so far.
    Close {
        connection: ConnectionId,
        reason: CloseReason,
    },
    Agent(AgentCommand),
    LoadSession {
        session: ChannelUri,
    },
    /// The log after one number and up to another, both as clients count.
    LoadLog {
        ticket: Ticket,
        after: Seq,
        up_to: Seq,
    },
    /// Something that a client wants to know of what is stored.
    LookUp {
        ticket: Ticket,
        lookup: Lookup,
    },
    /// The agents that can be installed.
    ListInstallable {
        ticket: Ticket,
    },
    InstallAgent {
        ticket: Ticket,
        provider: String,
    },
    /// The installation with this ticket is not wanted any more.
    StopInstalling {
        ticket: Ticket,
    },
    /// Content that the engine itself needs.
    LoadContent {
        ticket: Ticket,
        uri: String,
    },
    /// Whether a session can work in the directories that it was given.
    CheckDirectories {
        ticket: Ticket,
        directories: Vec<String>,
    },
    /// Files whose path matches what somebody typed, the best first.
    FindFiles {
        ticket: Ticket,
        by: ConnectionId,
        directories: Vec<String>,
        query: String,
        limit: usize,
    },
    /// Something is to be done with files, within this scope, for this
    /// connection. Content is wanted in this encoding, if it matters.
    Resource {
        ticket: Ticket,
        by: ConnectionId,
        scope: Scope,
        task: Box<ResourceTask>,
        encoding: Option<ContentEncoding>,
    },
    /// A file that the engine itself looks into, if it is a text and within the
    /// scope.
    ReadText {
        ticket: Ticket,
        scope: Scope,
        file: String,
    },
    /// Content that the host keeps outside the state; answered like a resource.
    ReadContent {
        ticket: Ticket,
        by: ConnectionId,
        uri: String,
        encoding: Option<ContentEncoding>,
        most_bytes: usize,
    },
    /// Content that a client brings, to be kept under a name that nothing has
    /// yet; for this connection.
    TakeContent {
        ticket: Ticket,
        by: ConnectionId,
        uri: String,
        data: WriteData,
        most_bytes: usize,
    },
    Terminal(TerminalCommand),
    /// This much of what a terminal has read was published to these
    /// subscribers. When they have room for more, it may read on.
    TerminalTaken {
        terminal: TerminalId,
        bytes: usize,
        by: Option<Arc<[Subscriber]>>,
    },
    Watch(WatchCommand),
    Changes(ChangesCommand),
    /// No session has this any more, which earlier hosts have left.
    RemoveLeftovers(Leftovers),
    /// Content of an earlier state of a session's directory; answered like a
    /// resource.
    ReadKept {
        ticket: Ticket,
        by: ConnectionId,
        session: ChannelUri,
        directories: Vec<String>,
        id: String,
        encoding: Option<ContentEncoding>,
        most_bytes: usize,
    },
    /// The branches of a repository whose names contain this, as values of a
    /// setting.
    ListBranches {
        ticket: Ticket,
        directory: String,
        query: String,
    },
    Customization(CustomizationCommand),
    Mcp(McpCommand),
    /// Something that took a while is over.
    Span(Box<Span>),
    /// Values that an agent proposes for one of its settings.
    CompleteConfig {
        ticket: Ticket,
        query: Box<ConfigQuery>,
    },
}

impl Effect {
    /// What a client says next must be read as the engine expects it, so this
    /// is carried out before the engine is given anything else. Nothing that
    /// was said to the connection before depends on it.
    pub fn waits_for_nothing(&self) -> bool {
        matches!(self, Self::Speak { .. } | Self::ForgetClient { .. })
    }
}

/// One end of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscriber {
    pub connection: ConnectionId,
    /// How long delivery may be held back to merge updates, if the client said.
    pub max_latency: Option<Duration>,
}

/// Why the host ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// No offered version is spoken here.
    UnsupportedVersion,
    /// The same client connected again.
    Replaced,
    /// It may hold what could not be stored, and is to come back for what was.
    NotStored,
}

/// What earlier hosts have left on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leftovers {
    /// The sessions for which states of their directories are kept, each by the
    /// name ([`component`](innkeeper_protocol::workspace::changes::component))
    /// that its files have.
    pub kept: Vec<String>,
    /// Working trees, as `file:` URIs.
    pub trees: Vec<String>,
}
