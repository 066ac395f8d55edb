//! What a batch is about, and how it looks to people when it cannot be stored.

use std::collections::BTreeSet;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;

use crate::newest::actions::{ActionOrigin, StateAction};
use crate::newest::state::{
    Annotation, AutomationEntry, AutomationRunState, ChatState, SessionState, SessionSummary,
};
use crate::record::{ChatNotes, SessionNotes, StoreBatch, StoreOp};
use crate::snapshot::StoredTurn;
use crate::{ChannelUri, Seq, Timestamp};

impl StoreBatch {
    /// The sessions that it changes something about.
    pub fn sessions(&self) -> BTreeSet<ChannelUri> {
        self.ops.iter().filter_map(session_of).cloned().collect()
    }

    /// The sessions that are read anew behind it.
    pub fn rereads(&self) -> impl Iterator<Item = &ChannelUri> {
        self.ops.iter().filter_map(|op| match op {
            StoreOp::Reread { session, .. } => Some(session),
            _ => None,
        })
    }

    /// The promises in it about numbers, which hold whatever becomes of it.
    pub fn reservations(&self) -> Self {
        let ops = self.ops.iter();
        let reserved = ops.filter(|op| matches!(op, StoreOp::ReserveSeq { .. }));
        Self {
            ops: reserved.cloned().collect(),
        }
    }

    /// Writes it for people to read, an operation a line.
    pub fn write_lines(&self, mut to: impl Write) -> io::Result<()> {
        for op in &self.ops {
            serde_json::to_writer(&mut to, &Line::from(op))?;
            to.write_all(b"\n")?;
        }
        Ok(())
    }
}

fn session_of(op: &StoreOp) -> Option<&ChannelUri> {
    match op {
        StoreOp::Append(action) => {
            // What is stored of channels is the root's, a session's, a chat's, that
            // of a session's annotations or of automations; the chat and the
            // annotations name their session.
            let own = Some(&action.channel).filter(|_| !is_of_host(&action.action));
            action.facts.session.as_ref().or(own)
        }
        StoreOp::PutSession(record) => Some(&record.uri),
        StoreOp::PutChat(record) => Some(&record.session),
        StoreOp::PutContent(record) => Some(&record.session),
        StoreOp::DisposeSession { session, .. }
        | StoreOp::PutAnnotation { session, .. }
        | StoreOp::RemoveAnnotation { session, .. }
        | StoreOp::ShareContent { with: session, .. } => Some(session),
        // These stand next to one that names the session of the chat.
        StoreOp::DeleteChat { .. }
        | StoreOp::AppendTurn { .. }
        | StoreOp::TruncateTurns { .. }
        | StoreOp::PutClient(_)
        | StoreOp::ForgetClient { .. }
        | StoreOp::PutRootConfig { .. }
        | StoreOp::PutSwitches { .. }
        | StoreOp::PutAutomation(_)
        | StoreOp::RemoveAutomation { .. }
        | StoreOp::PutAutomationRun(_)
        | StoreOp::RemoveAutomationRun { .. }
        | StoreOp::ReserveSeq { .. }
        | StoreOp::TrimLog { .. }
        | StoreOp::Reread { .. } => None,
    }
}

/// Whether an action is about the host, and not about one of its sessions.
fn is_of_host(action: &StateAction) -> bool {
    matches!(
        action,
        StateAction::RootAgentsChanged(_)
            | StateAction::RootActiveSessionsChanged(_)
            | StateAction::RootConfigChanged(_)
            | StateAction::RootTerminalsChanged(_)
            | StateAction::AutomationCreateRequested(_)
            | StateAction::AutomationUpdateRequested(_)
            | StateAction::AutomationSet(_)
            | StateAction::AutomationRemoved(_)
            | StateAction::AutomationRunLifecycleChanged(_)
            | StateAction::AutomationRunSessionSet(_)
            | StateAction::AutomationRunSessionRemoved(_)
            | StateAction::AutomationRunPrimarySessionChanged(_)
            | StateAction::AutomationRunCancelRequested(_)
    )
}

/// An operation as it is written for people.
#[derive(Serialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Line<'a> {
    Append {
        seq: Seq,
        channel: &'a ChannelUri,
        action: &'a StateAction,
        origin: Option<&'a ActionOrigin>,
    },
    PutSession {
        uri: &'a ChannelUri,
        summary: &'a SessionSummary,
        state: &'a SessionState,
        notes: &'a SessionNotes,
    },
    DisposeSession {
        session: &'a ChannelUri,
        at: String,
    },
    PutChat {
        uri: &'a ChannelUri,
        session: &'a ChannelUri,
        head: &'a ChatState,
        notes: &'a ChatNotes,
    },
    DeleteChat {
        chat: &'a ChannelUri,
    },
    AppendTurn {
        chat: &'a ChannelUri,
        index: u64,
        turn: &'a StoredTurn,
    },
    TruncateTurns {
        chat: &'a ChannelUri,
        keep: u64,
    },
    PutClient {
        client_id: &'a str,
        version: &'a str,
    },
    ForgetClient {
        client_id: &'a str,
    },
    PutRootConfig {
        values: &'a Value,
    },
    PutSwitches {
        values: &'a Value,
    },
    PutContent {
        uri: &'a str,
        session: &'a ChannelUri,
        content_type: &'a str,
        /// In base64.
        data: String,
    },
    ShareContent {
        from: &'a ChannelUri,
        with: &'a ChannelUri,
    },
    PutAnnotation {
        session: &'a ChannelUri,
        annotation: &'a Annotation,
    },
    RemoveAnnotation {
        session: &'a ChannelUri,
        id: &'a str,
    },
    PutAutomation {
        entry: &'a AutomationEntry,
    },
    RemoveAutomation {
        automation: &'a ChannelUri,
    },
    PutAutomationRun {
        state: &'a AutomationRunState,
    },
    RemoveAutomationRun {
        run: &'a ChannelUri,
    },
    ReserveSeq {
        until: Seq,
    },
    TrimLog {
        below: Seq,
    },
    Reread {
        session: &'a ChannelUri,
        below: Seq,
    },
}

impl<'a> From<&'a StoreOp> for Line<'a> {
    fn from(op: &'a StoreOp) -> Self {
        let time = |at: &Timestamp| at.to_string();
        match op {
            StoreOp::Append(action) => Self::Append {
                seq: action.seq,
                channel: &action.channel,
                action: &action.action,
                origin: action.origin.as_ref(),
            },
            StoreOp::PutSession(record) => Self::PutSession {
                uri: &record.uri,
                summary: &record.summary,
                state: &record.state,
                notes: &record.notes,
            },
            StoreOp::DisposeSession { session, at } => Self::DisposeSession {
                session,
                at: time(at),
            },
            StoreOp::PutChat(record) => Self::PutChat {
                uri: &record.uri,
                session: &record.session,
                head: &record.head,
                notes: &record.notes,
            },
            StoreOp::DeleteChat { chat } => Self::DeleteChat { chat },
            StoreOp::AppendTurn { chat, index, turn } => Self::AppendTurn {
                chat,
                index: *index,
                turn,
            },
            StoreOp::TruncateTurns { chat, keep } => Self::TruncateTurns { chat, keep: *keep },
            StoreOp::PutClient(client) => Self::PutClient {
                client_id: &client.client_id,
                version: &client.version,
            },
            StoreOp::ForgetClient { client_id } => Self::ForgetClient { client_id },
            StoreOp::PutRootConfig { values } => Self::PutRootConfig { values },
            StoreOp::PutSwitches { values } => Self::PutSwitches { values },
            StoreOp::PutContent(content) => Self::PutContent {
                uri: &content.uri,
                session: &content.session,
                content_type: &content.content_type,
                data: STANDARD.encode(&content.data),
            },
            StoreOp::ShareContent { from, with } => Self::ShareContent { from, with },
            StoreOp::PutAnnotation {
                session,
                annotation,
            } => Self::PutAnnotation {
                session,
                annotation,
            },
            StoreOp::RemoveAnnotation { session, id } => Self::RemoveAnnotation { session, id },
            StoreOp::PutAutomation(record) => Self::PutAutomation {
                entry: &record.entry,
            },
            StoreOp::RemoveAutomation { automation } => Self::RemoveAutomation { automation },
            StoreOp::PutAutomationRun(record) => Self::PutAutomationRun {
                state: &record.state,
            },
            StoreOp::RemoveAutomationRun { run } => Self::RemoveAutomationRun { run },
            StoreOp::ReserveSeq { until } => Self::ReserveSeq { until: *until },
            StoreOp::TrimLog { below } => Self::TrimLog { below: *below },
            StoreOp::Reread { session, below } => Self::Reread {
                session,
                below: *below,
            },
        }
    }
}
