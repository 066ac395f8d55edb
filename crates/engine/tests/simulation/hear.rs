//! What a client hears: a message of the host, taken apart either from the
//! typed message or, in a share of the schedules, from the text that a real
//! client would get.

use innkeeper_protocol::newest::actions::ActionEnvelope;
use innkeeper_protocol::newest::commands::{
    InitializeResult, ListSessionsResult, ReconnectResult, ResolveSessionConfigResult,
    ResourceReadResult, SubscribeResult,
};
use innkeeper_protocol::newest::notifications::{
    SessionAddedParams, SessionRemovedParams, SessionSummaryChangedParams,
};
use innkeeper_protocol::newest::state::{
    AnnotationsState, ChangesetState, ChatState, RootState, SessionState, SessionSummary, Snapshot,
    SnapshotState,
};
use innkeeper_protocol::outgoing::{
    HostMessage, Notification, ReconnectReply, Rejection, Reply, SummaryItem, encode,
};
use innkeeper_protocol::record::Sequenced;
use innkeeper_protocol::rpc::RequestId;
use innkeeper_protocol::snapshot;
use serde_json::Value;

use crate::client::Asked;

#[derive(Debug)]
pub(crate) enum Heard {
    Action(Box<ActionEnvelope>),
    Added(SessionAddedParams),
    Removed(SessionRemovedParams),
    Changed(SessionSummaryChangedParams),
    Reply(i64, Answer),
    Failure(Option<i64>, i32),
}

#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    Welcome {
        server_seq: i64,
        shots: Vec<Shot>,
    },
    Subscribed(Option<Shot>),
    Replay {
        actions: Vec<ActionEnvelope>,
        missing: Vec<String>,
    },
    Afresh(Vec<Shot>),
    Listed {
        items: Vec<SessionSummary>,
        next: Option<String>,
    },
    Content,
    Resolved(Box<ResolveSessionConfigResult>),
}

/// A snapshot, typed.
#[derive(Debug)]
pub(crate) struct Shot {
    pub(crate) channel: String,
    pub(crate) state: State,
    pub(crate) from_seq: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    Root(Box<RootState>),
    Session(Box<SessionState>),
    Chat(Box<ChatState>),
    Changeset(Box<ChangesetState>),
    Annotations(Box<AnnotationsState>),
}

/// Takes a typed message apart.
pub(crate) fn directly(message: &HostMessage) -> Heard {
    match message {
        HostMessage::Action(action) => Heard::Action(Box::new(envelope(action))),
        HostMessage::Rejection(rejection) => {
            let Rejection {
                channel,
                action,
                server_seq,
                origin,
                reason,
                code: _,
                said: _,
            } = &**rejection;
            Heard::Action(Box::new(ActionEnvelope {
                channel: channel.to_string(),
                action: action.clone(),
                server_seq: server_seq.get(),
                origin: Some(origin.clone()),
                rejection_reason: Some(reason.clone()),
            }))
        }
        HostMessage::Notification(news) => match &**news {
            Notification::SessionAdded(params, _) => Heard::Added(params.clone()),
            Notification::SessionRemoved(params) => Heard::Removed(params.clone()),
            Notification::SessionSummaryChanged(params, _) => Heard::Changed(params.clone()),
            // No agent here needs a token.
            Notification::AuthRequired(_) | Notification::Progress(_) => Heard::Failure(None, 0),
            Notification::OtlpLogs(_)
            | Notification::OtlpTraces(_)
            | Notification::OtlpMetrics(_) => unreachable!("nobody listens to telemetry"),
            Notification::Mcp(_) => unreachable!("nobody listens to servers"),
        },
        HostMessage::Question { .. } => unreachable!("nobody has resources here"),
        HostMessage::Failure { id, error } => {
            Heard::Failure(id.as_ref().and_then(number), error.code)
        }
        HostMessage::Reply { id, reply } => Heard::Reply(number(id).unwrap_or(-1), answer(reply)),
    }
}

fn answer(reply: &Reply) -> Answer {
    match reply {
        Reply::Done
        | Reply::Unsubscribed
        | Reply::Empty {}
        | Reply::Mcp(_)
        | Reply::CompleteSessionConfig(_)
        | Reply::Completions(_)
        | Reply::ResourceList(_)
        | Reply::ResourceResolve(_)
        | Reply::CreateResourceWatch(_)
        | Reply::InvokeChangesetOperation(_)
        | Reply::AutomationTriggers(_)
        | Reply::RunAutomation(_)
        | Reply::Search(_)
        | Reply::Usage(_)
        | Reply::InstallableAgents(_)
        | Reply::InstalledAgent(_)
        | Reply::MoveChat(_)
        | Reply::Turns(_) => Answer::Done,
        Reply::ResolveSessionConfig(resolved) => Answer::Resolved(resolved.clone()),
        Reply::Initialize(welcome) => Answer::Welcome {
            server_seq: welcome.server_seq.get() as i64,
            shots: welcome.snapshots.iter().map(shot).collect(),
        },
        Reply::Subscribe(subscribed) => Answer::Subscribed(subscribed.snapshot.as_ref().map(shot)),
        Reply::Reconnect(ReconnectReply::Replay {
            actions, missing, ..
        }) => Answer::Replay {
            actions: actions.iter().map(|action| envelope(&action.0)).collect(),
            missing: missing.clone(),
        },
        Reply::Reconnect(ReconnectReply::Snapshot { snapshots }) => {
            Answer::Afresh(snapshots.iter().map(shot).collect())
        }
        Reply::ListSessions(page) => Answer::Listed {
            items: page.items.iter().map(summary).collect(),
            next: page.next_cursor.clone(),
        },
        Reply::Resource(_) | Reply::ResourceRead(_) => Answer::Content,
    }
}

fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(id) => Some(*id),
        RequestId::Text(_) => None,
    }
}

fn envelope(action: &Sequenced) -> ActionEnvelope {
    ActionEnvelope {
        channel: action.channel.to_string(),
        action: action.action.clone(),
        server_seq: action.seq.get(),
        origin: action.origin.clone(),
        rejection_reason: None,
    }
}

fn summary(item: &SummaryItem) -> SessionSummary {
    match item {
        SummaryItem::Stored(json, _) => serde_json::from_str(&json.text().unwrap()).unwrap(),
        SummaryItem::Live(summary, _) => (**summary).clone(),
    }
}

fn shot(snapshot: &snapshot::Snapshot) -> Shot {
    let state = match snapshot.state.clone() {
        snapshot::SnapshotState::Root(state) => State::Root(state),
        snapshot::SnapshotState::Session(state) => State::Session(state),
        snapshot::SnapshotState::Chat(chat) => State::Chat(Box::new(chat.decode().unwrap())),
        snapshot::SnapshotState::Changeset(state) => State::Changeset(state),
        snapshot::SnapshotState::Annotations(state) => State::Annotations(state),
        snapshot::SnapshotState::Automations(_) | snapshot::SnapshotState::AutomationRun(_) => {
            unreachable!("nobody subscribes to automations here")
        }
        snapshot::SnapshotState::Terminal(_)
        | snapshot::SnapshotState::ResourceWatch(_)
        | snapshot::SnapshotState::Canvas(_) => {
            unreachable!("nobody opens terminals, watches or canvases here")
        }
    };
    Shot {
        channel: snapshot.resource.to_string(),
        state,
        from_seq: snapshot.from_seq.get() as i64,
    }
}

/// Takes the text of a message apart, with the protocol's own types.
/// `asked` says what a request was.
pub(crate) fn through_text(message: &HostMessage, asked: impl Fn(i64) -> Option<Asked>) -> Heard {
    let text = encode(message);
    let mut frame: Value = serde_json::from_str(&text).unwrap();
    let params = frame["params"].take();
    match frame["method"].as_str() {
        Some("action") => Heard::Action(serde_json::from_value(params).unwrap()),
        Some("root/sessionAdded") => Heard::Added(serde_json::from_value(params).unwrap()),
        Some("root/sessionRemoved") => Heard::Removed(serde_json::from_value(params).unwrap()),
        Some("root/sessionSummaryChanged") => {
            Heard::Changed(serde_json::from_value(params).unwrap())
        }
        Some(other) => panic!("nobody knows the notification {other}"),
        None => {
            let id = frame["id"].as_i64();
            if let Some(code) = frame["error"]["code"].as_i64() {
                return Heard::Failure(id, code as i32);
            }
            let id = id.unwrap_or(-1);
            Heard::Reply(id, read_answer(asked(id), frame["result"].take()))
        }
    }
}

fn read_answer(asked: Option<Asked>, result: Value) -> Answer {
    match asked {
        Some(Asked::Initialize) => {
            let welcome: InitializeResult = serde_json::from_value(result).unwrap();
            Answer::Welcome {
                server_seq: welcome.server_seq,
                shots: welcome.snapshots.into_iter().map(read_shot).collect(),
            }
        }
        Some(Asked::Reconnect) => match serde_json::from_value(result).unwrap() {
            ReconnectResult::Replay(replay) => Answer::Replay {
                actions: replay.actions,
                missing: replay.missing,
            },
            ReconnectResult::Snapshot(afresh) => {
                Answer::Afresh(afresh.snapshots.into_iter().map(read_shot).collect())
            }
        },
        Some(Asked::Subscribe(_)) => {
            let subscribed: SubscribeResult = serde_json::from_value(result).unwrap();
            Answer::Subscribed(subscribed.snapshot.map(read_shot))
        }
        Some(Asked::List { .. }) => {
            let page: ListSessionsResult = serde_json::from_value(result).unwrap();
            Answer::Listed {
                items: page.items,
                next: page.next_cursor,
            }
        }
        Some(Asked::Read) => {
            let _: ResourceReadResult = serde_json::from_value(result).unwrap();
            Answer::Content
        }
        Some(Asked::Resolve) => Answer::Resolved(serde_json::from_value(result).unwrap()),
        _ => Answer::Done,
    }
}

fn read_shot(snapshot: Snapshot) -> Shot {
    let state = match snapshot.state {
        SnapshotState::Root(state) => State::Root(state),
        SnapshotState::Session(state) => State::Session(state),
        SnapshotState::Chat(state) => State::Chat(state),
        SnapshotState::Changeset(state) => State::Changeset(state),
        SnapshotState::Annotations(state) => State::Annotations(state),
        other => panic!("no channel of this host has this state: {other:?}"),
    };
    Shot {
        channel: snapshot.resource,
        state,
        from_seq: snapshot.from_seq,
    }
}

/// A name for what a message is, to count how often each kind occurs.
pub(crate) fn kind(message: &HostMessage) -> &'static str {
    match message {
        HostMessage::Action(_) => "action",
        HostMessage::Rejection(_) => "rejection",
        HostMessage::Question { .. } => "question",
        HostMessage::Notification(news) => match &**news {
            Notification::SessionAdded(..) => "sessionAdded",
            Notification::SessionRemoved(_) => "sessionRemoved",
            Notification::SessionSummaryChanged(..) => "summaryChanged",
            Notification::AuthRequired(_) => "authRequired",
            Notification::Progress(_) => "progress",
            Notification::OtlpLogs(_) => "otlpLogs",
            Notification::OtlpTraces(_) => "otlpTraces",
            Notification::OtlpMetrics(_) => "otlpMetrics",
            Notification::Mcp(_) => "mcpNotification",
        },
        HostMessage::Failure { error, .. } => match error.code {
            -32700 => "failure -32700",
            -32601 => "failure -32601",
            -32602 => "failure -32602",
            -32600 => "failure -32600",
            -32603 => "failure -32603",
            -32001 => "failure -32001",
            -32002 => "failure -32002",
            -32003 => "failure -32003",
            _ => "failure, other",
        },
        HostMessage::Reply { reply, .. } => match reply {
            Reply::Done => "done",
            Reply::Unsubscribed => "unsubscribed",
            Reply::Empty {} => "empty",
            Reply::Mcp(_) => "of a server",
            Reply::Initialize(_) => "welcome",
            Reply::Subscribe(_) => "subscribed",
            Reply::Reconnect(ReconnectReply::Replay { missing, .. }) if !missing.is_empty() => {
                "replay, some missing"
            }
            Reply::Reconnect(ReconnectReply::Replay { .. }) => "replay",
            Reply::Reconnect(ReconnectReply::Snapshot { .. }) => "afresh",
            Reply::ListSessions(_) => "listed",
            Reply::ResolveSessionConfig(_) => "resolved",
            Reply::Resource(_) | Reply::ResourceRead(_) => "content",
            Reply::CompleteSessionConfig(_) => "values",
            Reply::Completions(_) => "completed for",
            Reply::ResourceList(_) => "directory",
            Reply::ResourceResolve(_) => "resolved file",
            Reply::CreateResourceWatch(_) => "watch",
            Reply::InvokeChangesetOperation(_) => "operation",
            Reply::AutomationTriggers(_) => "triggers",
            Reply::RunAutomation(_) => "run",
            Reply::Search(_) => "found",
            Reply::Usage(_) => "usage",
            Reply::InstallableAgents(_) | Reply::InstalledAgent(_) => "installing",
            Reply::MoveChat(_) => "moved",
            Reply::Turns(_) => "turns",
        },
    }
}
