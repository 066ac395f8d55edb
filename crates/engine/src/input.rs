//! What can happen to the engine.

use std::time::Duration;

use innkeeper_protocol::agent::{
    AgentProfile, AgentReport, InstallFailure, InstallableAgent, InstalledAgent,
};
use innkeeper_protocol::command::ClientMessage;
use innkeeper_protocol::mcp::hosted::McpReport;
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use innkeeper_protocol::outgoing::Finished;
use innkeeper_protocol::record::search::LookedUp;
use innkeeper_protocol::record::{ContentRecord, LoadedSession, LogEntry};
use innkeeper_protocol::telemetry::TelemetryBatch;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::FoundFile;
use innkeeper_protocol::workspace::changes::ChangesReport;
use innkeeper_protocol::workspace::customization::CustomizationReport;
use innkeeper_protocol::workspace::resource::{ResourceError, TakenContent};
use innkeeper_protocol::workspace::terminal::TerminalReport;
use innkeeper_protocol::workspace::watch::WatchReport;
use innkeeper_protocol::{ChannelUri, Seq};

use crate::{ConnectionId, Leftovers, Ticket};

/// One thing that happened outside.
#[derive(Debug)]
pub enum Input {
    Connected {
        connection: ConnectionId,
    },
    /// A client said something. It was read in this version: the one that the
    /// connection speaks ([`crate::Effect::Speak`]) or, as long as it speaks
    /// none, the one that the client introduces itself in.
    Message {
        connection: ConnectionId,
        version: Version,
        message: ClientMessage,
    },
    Disconnected {
        connection: ConnectionId,
    },
    Agent(AgentReport),
    AgentsChanged(Vec<AgentProfile>),
    /// The answer to [`crate::Effect::LoadSession`].
    SessionLoaded {
        session: ChannelUri,
        loaded: Result<Option<Box<LoadedSession>>, String>,
    },
    /// The answer to [`crate::Effect::LoadLog`].
    LogLoaded {
        ticket: Ticket,
        entries: Result<Vec<LogEntry>, String>,
    },
    /// The answer to [`crate::Effect::LookUp`].
    LookedUp {
        ticket: Ticket,
        outcome: Result<LookedUp, String>,
    },
    /// The answer to [`crate::Effect::ListInstallable`].
    InstallableListed {
        ticket: Ticket,
        agents: Vec<InstallableAgent>,
    },
    /// How far [`crate::Effect::InstallAgent`] is.
    Installing {
        ticket: Ticket,
        line: String,
    },
    /// The answer to [`crate::Effect::InstallAgent`].
    Installed {
        ticket: Ticket,
        outcome: Result<InstalledAgent, InstallFailure>,
    },
    /// The answer to [`crate::Effect::LoadContent`].
    ContentLoaded {
        ticket: Ticket,
        content: Result<Option<ContentRecord>, String>,
    },
    /// The answer to [`crate::Effect::CheckDirectories`]: why the session
    /// cannot work there, if it cannot.
    DirectoriesChecked {
        ticket: Ticket,
        wrong: Option<String>,
    },
    /// The answer to [`crate::Effect::FindFiles`].
    FilesFound {
        ticket: Ticket,
        files: Vec<FoundFile>,
    },
    /// The answer to [`crate::Effect::Resource`], [`crate::Effect::ReadContent`]
    /// and [`crate::Effect::ReadKept`].
    ResourceDone {
        ticket: Ticket,
        outcome: Result<Finished, ResourceError>,
    },
    /// The answer to [`crate::Effect::ReadText`].
    TextRead {
        ticket: Ticket,
        text: Option<String>,
    },
    /// The answer to [`crate::Effect::TakeContent`].
    ContentTaken {
        ticket: Ticket,
        outcome: Result<TakenContent, ResourceError>,
    },
    Terminal(TerminalReport),
    Watch(WatchReport),
    Changes(ChangesReport),
    /// What earlier hosts have left, when a host begins.
    LeftoversFound(Leftovers),
    Customization(CustomizationReport),
    Mcp(McpReport),
    /// What was collected, for those who listen.
    Telemetry(TelemetryBatch),
    /// The answer to [`crate::Effect::CompleteConfig`] and
    /// [`crate::Effect::ListBranches`].
    ConfigCompleted {
        ticket: Ticket,
        items: Vec<SessionConfigValueItem>,
    },
    /// The store cannot write: accept no work, and say why.
    StoreFailing {
        reason: String,
    },
    StoreRecovered,
    /// The stored log takes too much room: what is below this number should go.
    LogTooLarge {
        below: Seq,
    },
    /// Something about these sessions can never be stored, and was set aside.
    NotStored {
        sessions: Vec<ChannelUri>,
    },
    /// The clock was set forward by so much, which nobody has spent: the time
    /// of this input is beyond it.
    ClockSetForward {
        by: Duration,
    },
    /// The time that [`crate::Engine::next_deadline`] named has come.
    Tick,
    /// The host is about to end: finish what runs, in a way that can be resumed.
    Shutdown,
}
