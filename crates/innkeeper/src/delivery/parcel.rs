//! A parcel: messages that were published together, encoded once for each
//! version in use and shared by all queues; and what messages weigh.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use innkeeper_protocol::action_traits::{ActionContent, traits_of};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    Message, MessageAttachment, TerminalContentPart, ToolInput, ToolResultContent,
};
use innkeeper_protocol::outgoing::{self, HostMessage, Notification, ReconnectReply, Reply};
use innkeeper_protocol::record::{Sequenced, merge, weight_of_excerpts};
use innkeeper_protocol::snapshot::{Snapshot, SnapshotState};
use innkeeper_protocol::version::Version;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use super::deflate;

/// Messages on their way to any number of connections, together.
#[derive(Debug)]
pub(crate) struct Parcel {
    messages: Vec<HostMessage>,
    weight: usize,
    frames: [OnceLock<Bytes>; Version::COUNT],
    deflated: [OnceLock<Bytes>; Version::COUNT],
    condensed: OnceLock<Arc<Self>>,
}

impl Parcel {
    pub(crate) fn new(messages: Vec<HostMessage>) -> Arc<Self> {
        Arc::new(Self {
            weight: messages.iter().map(weight_of).sum(),
            messages,
            frames: Default::default(),
            deflated: Default::default(),
            condensed: OnceLock::new(),
        })
    }

    pub(super) fn messages(&self) -> &[HostMessage] {
        &self.messages
    }

    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// The same with neighbouring pieces of streamed text merged, once for all
    /// connections that are behind.
    pub(super) fn condensed(self: &Arc<Self>) -> Arc<Self> {
        if self.messages.len() < 2 {
            return Arc::clone(self);
        }
        let condense = || {
            let mut messages: Vec<HostMessage> = Vec::new();
            for message in &self.messages {
                if !messages
                    .last_mut()
                    .is_some_and(|last| absorb(last, message))
                {
                    messages.push(message.clone());
                }
            }
            Self::new(messages)
        };
        Arc::clone(self.condensed.get_or_init(condense))
    }

    /// The messages as WebSocket frames, one behind the other.
    pub(super) fn frames(&self, version: Version) -> Bytes {
        let slot = &self.frames[version.index()];
        slot.get_or_init(|| framed(&self.messages, version, self.weight))
            .clone()
    }

    /// The same, compressed where that is worth it.
    pub(super) fn deflated(&self, version: Version) -> Bytes {
        let slot = &self.deflated[version.index()];
        let deflated = || match self.frames[version.index()].get() {
            Some(frames) => deflate::deflated(frames),
            None => deflate::deflated(&framed(&self.messages, version, self.weight)),
        };
        slot.get_or_init(deflated).clone()
    }
}

/// Takes a message into the one before it if both append to the same part.
pub(super) fn absorb(last: &mut HostMessage, next: &HostMessage) -> bool {
    match (last, next) {
        (HostMessage::Action(known), HostMessage::Action(next)) => merge::absorb(known, next),
        _ => false,
    }
}

/// The header of a frame that is not masked.
const LONGEST_HEADER: usize = 10;

/// Messages as WebSocket frames, in about so many bytes. Frames to clients are
/// not masked, so finished ones fit all of them.
pub(super) fn framed(messages: &[HostMessage], version: Version, weight: usize) -> Bytes {
    let header = FrameHeader {
        opcode: OpCode::Data(Data::Text),
        ..FrameHeader::default()
    };
    let mut frames = Vec::with_capacity(weight);
    // Writing into memory does not fail.
    for message in messages {
        match version {
            Version::NEWEST => {
                // The text goes where it stays, and its header before it: an
                // answer may be large, and is in memory once only.
                let begins = frames.len();
                outgoing::encode_into(&mut frames, message);
                let mut head = Vec::with_capacity(LONGEST_HEADER);
                let _ = header.format((frames.len() - begins) as u64, &mut head);
                frames.splice(begins..begins, head);
            }
            older => outgoing::encode_each(message, older, |text| {
                let _ = header.format(text.len() as u64, &mut frames);
                frames.extend_from_slice(text.as_bytes());
            }),
        }
    }
    frames.into()
}

/// What a message takes besides its own text: names, numbers, braces.
const FIXED_WEIGHT: usize = 200;

pub(super) fn weight_of(message: &HostMessage) -> usize {
    match message {
        HostMessage::Action(action) => weight_of_action(action),
        HostMessage::Reply { reply, .. } => weight_of_reply(reply),
        HostMessage::Failure { .. } | HostMessage::Rejection(_) => 2 * FIXED_WEIGHT,
        HostMessage::Question { ask, .. } => 2 * FIXED_WEIGHT + ask.content_bytes(),
        HostMessage::Notification(news) => 2 * FIXED_WEIGHT + weight_of_news(news),
    }
}

/// Batches of telemetry, and what MCP servers say, are seldom and may be large.
fn weight_of_news(news: &Notification) -> usize {
    let payload = match news {
        Notification::OtlpLogs(params) => &params.payload,
        Notification::OtlpTraces(params) => &params.payload,
        Notification::OtlpMetrics(params) => &params.payload,
        Notification::Mcp(said) => {
            return serde_json::to_string(said).map_or(0, |text| text.len());
        }
        Notification::SessionAdded(..)
        | Notification::SessionRemoved(_)
        | Notification::SessionSummaryChanged(..)
        | Notification::AuthRequired(_)
        | Notification::Progress(_) => return 0,
    };
    serde_json::to_string(payload).map_or(0, |text| text.len())
}

fn weight_of_action(action: &Sequenced) -> usize {
    let more = match traits_of(&action.action).content {
        ActionContent::Appended(text) => return FIXED_WEIGHT + text.len(),
        ActionContent::Little | ActionContent::Input(ToolInput::ContentRef(_)) => 0,
        ActionContent::Message(message) => weight_of_text(message),
        ActionContent::Input(ToolInput::Inline(input)) => input.len(),
        ActionContent::Blocks(blocks) => weight_of_blocks(blocks),
        ActionContent::Files(count) => 2 * FIXED_WEIGHT * count,
    };
    let inputs = action.facts.extra.as_deref();
    let inputs = inputs.map_or(0, |extra| weight_of_excerpts(&extra.inputs));
    3 * FIXED_WEIGHT + more + inputs
}

fn weight_of_text(message: &Message) -> usize {
    let attachments = message.attachments.iter().flatten();
    let embedded = attachments.map(|attachment| match attachment {
        MessageAttachment::EmbeddedResource(embedded) => embedded.data.len(),
        _ => FIXED_WEIGHT,
    });
    message.text.len() + embedded.sum::<usize>()
}

fn weight_of_blocks(blocks: &[ToolResultContent]) -> usize {
    let weights = blocks.iter().map(|block| match block {
        ToolResultContent::Text(block) => block.text.len(),
        ToolResultContent::EmbeddedResource(block) => block.data.len(),
        _ => FIXED_WEIGHT,
    });
    weights.sum()
}

fn weight_of_reply(reply: &Reply) -> usize {
    let snapshots = |list: &[Snapshot]| list.iter().map(weight_of_snapshot).sum::<usize>();
    FIXED_WEIGHT
        + match reply {
            Reply::Initialize(reply) => snapshots(&reply.snapshots),
            Reply::Subscribe(reply) => snapshots(reply.snapshot.as_slice()),
            Reply::Reconnect(ReconnectReply::Snapshot { snapshots: list }) => snapshots(list),
            Reply::Reconnect(ReconnectReply::Replay { actions, .. }) => actions
                .iter()
                .map(|action| weight_of_action(&action.0))
                .sum(),
            Reply::Turns(page) => page.turns.iter().map(|it| it.json.get().len()).sum(),
            Reply::ListSessions(page) => page.items.len() * 3 * FIXED_WEIGHT,
            Reply::Resource(finished) => finished.json().len(),
            Reply::Mcp(said) => said.to_string().len(),
            Reply::ResourceRead(content) => content.data.len(),
            Reply::ResourceList(list) => list.entries.len() * FIXED_WEIGHT,
            Reply::Search(page) => page.items.len() * 3 * FIXED_WEIGHT,
            Reply::Usage(page) => page.items.len() * FIXED_WEIGHT,
            Reply::InstallableAgents(list) => list.items.len() * FIXED_WEIGHT,
            Reply::Completions(found) => found.items.len() * FIXED_WEIGHT,
            Reply::CompleteSessionConfig(found) => found.items.len() * FIXED_WEIGHT,
            Reply::Done
            | Reply::Unsubscribed
            | Reply::Empty {}
            | Reply::ResolveSessionConfig(_)
            | Reply::ResourceResolve(_)
            | Reply::CreateResourceWatch(_)
            | Reply::InvokeChangesetOperation(_)
            | Reply::AutomationTriggers(_)
            | Reply::RunAutomation(_)
            | Reply::InstalledAgent(_)
            | Reply::MoveChat(_) => 0,
        }
}

fn weight_of_snapshot(snapshot: &Snapshot) -> usize {
    let extra = snapshot.extra.as_ref().and_then(|it| it.state.as_ref());
    let inputs = weight_of_excerpts(&snapshot.inputs);
    weight_of_state(&snapshot.state) + extra.map_or(0, weight_of_state) + inputs
}

fn weight_of_state(state: &SnapshotState) -> usize {
    match state {
        SnapshotState::Root(_) | SnapshotState::Session(_) => 20 * FIXED_WEIGHT,
        SnapshotState::Terminal(terminal) => {
            let texts = terminal.content.iter().map(|part| match part {
                TerminalContentPart::Unclassified(part) => part.value.len(),
                TerminalContentPart::Command(part) => FIXED_WEIGHT + part.output.len(),
                TerminalContentPart::Unknown(_) => FIXED_WEIGHT,
            });
            FIXED_WEIGHT + texts.sum::<usize>()
        }
        SnapshotState::ResourceWatch(_) | SnapshotState::Canvas(_) => FIXED_WEIGHT,
        SnapshotState::Annotations(state) => {
            let entries = state.annotations.iter().flat_map(|it| &it.entries);
            let texts = entries.map(|entry| match &entry.text {
                StringOrMarkdown::Plain(text) => FIXED_WEIGHT + text.len(),
                StringOrMarkdown::Markdown { markdown } => FIXED_WEIGHT + markdown.len(),
            });
            (1 + state.annotations.len()) * FIXED_WEIGHT + texts.sum::<usize>()
        }
        SnapshotState::Automations(state) => {
            let entries = state.entries.iter().map(|entry| {
                (2 + entry.runs.len()) * FIXED_WEIGHT + entry.definition.message.text.len()
            });
            FIXED_WEIGHT + entries.sum::<usize>()
        }
        SnapshotState::AutomationRun(_) => 2 * FIXED_WEIGHT,
        SnapshotState::Changeset(changeset) => (1 + 2 * changeset.files.len()) * FIXED_WEIGHT,
        SnapshotState::Chat(chat) => {
            let turns = chat.turns.iter().map(|turn| turn.json.get().len());
            10 * FIXED_WEIGHT + turns.sum::<usize>()
        }
    }
}
