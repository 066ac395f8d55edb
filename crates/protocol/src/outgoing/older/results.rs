//! Answers in older versions. Snapshots and pages of turns are most of what is
//! large in them: finished turns in those are passed on as the text that they
//! are kept as, and only what surrounds them goes through the gates again.

use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{add_facts, envelopes, value};
use crate::Seq;
use crate::gates::tree::{self, Value, json};
use crate::gates::{Object, SnapshotForGates, down, object};
use crate::outgoing::{Envelope, ReconnectReply, Reply, SummaryItem};
use crate::record::Excerpts;
use crate::rpc::RequestId;
use crate::snapshot::{ChatHead, Snapshot, SnapshotState, StoredTurn};
use crate::version::Version;

#[derive(Serialize)]
pub(super) struct LoweredReply<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: LoweredResult,
}

pub(super) fn reply<'a>(
    id: &'a RequestId,
    reply: &Reply,
    version: Version,
) -> serde_json::Result<LoweredReply<'a>> {
    Ok(LoweredReply {
        jsonrpc: "2.0",
        id,
        result: result(reply, version)?,
    })
}

/// A result, with what is kept as text at the key where it belongs.
#[derive(Serialize)]
#[serde(untagged)]
enum LoweredResult {
    Plain(Value),
    WithTexts(WithTexts<Texts>),
}

/// An object with one entry that is not a value, since finished turns in it
/// are passed on as text.
struct WithTexts<T> {
    object: Object,
    key: &'static str,
    texts: T,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Texts {
    Snapshot(LoweredSnapshot),
    Snapshots(Vec<LoweredSnapshot>),
    Turns(Vec<Arc<RawValue>>),
}

impl<T: Serialize> Serialize for WithTexts<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let others = self.object.iter().filter(|(key, _)| *key != self.key);
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in others {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry(self.key, &self.texts)?;
        map.end()
    }
}

fn result(reply: &Reply, version: Version) -> serde_json::Result<LoweredResult> {
    let method = match reply {
        Reply::Done
        | Reply::Unsubscribed
        | Reply::Empty {}
        | Reply::Resource(_)
        | Reply::Mcp(_)
        | Reply::Search(_)
        | Reply::Usage(_)
        | Reply::InstallableAgents(_)
        | Reply::InstalledAgent(_) => return value(reply).map(LoweredResult::Plain),
        Reply::Initialize(_) => "initialize",
        Reply::Subscribe(_) => "subscribe",
        Reply::Reconnect(_) => "reconnect",
        Reply::ListSessions(_) => "listSessions",
        Reply::ResolveSessionConfig(_) => "resolveSessionConfig",
        Reply::CompleteSessionConfig(_) => "sessionConfigCompletions",
        Reply::Completions(_) => "completions",
        Reply::ResourceRead(_) => "resourceRead",
        Reply::ResourceList(_) => "resourceList",
        Reply::ResourceResolve(_) => "resourceResolve",
        Reply::CreateResourceWatch(_) => "createResourceWatch",
        Reply::InvokeChangesetOperation(_) => "invokeChangesetOperation",
        Reply::Turns(_) => "fetchTurns",
        Reply::AutomationTriggers(_) => "listAutomationTriggerDefinitions",
        Reply::RunAutomation(_) => "runAutomation",
        Reply::MoveChat(_) => "moveChat",
    };
    // What is large is lowered on its own, and is not part of the object.
    let (mut object, texts) = match reply {
        Reply::Initialize(reply) => {
            let all = snapshots(&reply.snapshots, version)?;
            let object = object::of(value(&reply.without_snapshots())?);
            (object, Some(("snapshots", Texts::Snapshots(all))))
        }
        Reply::Subscribe(reply) => {
            let snapshot = reply.snapshot.as_ref();
            let snapshot = snapshot.map(|it| lowered(it, version)).transpose()?;
            let texts = snapshot.flatten().map(Texts::Snapshot);
            (Object::new(), texts.map(|it| ("snapshot", it)))
        }
        Reply::Reconnect(ReconnectReply::Snapshot { snapshots: all }) => {
            let all = snapshots(all, version)?;
            let object = object::of(json!({"type": "snapshot"}));
            (object, Some(("snapshots", Texts::Snapshots(all))))
        }
        Reply::Reconnect(ReconnectReply::Replay {
            actions,
            missing,
            seen,
        }) => {
            let mut all = Vec::new();
            for Envelope(action) in actions {
                let lowered = envelopes(action, version)?;
                let unseen = lowered.iter().filter(|it| it.server_seq > *seen);
                all.extend(unseen.map(tree::build));
            }
            let all: serde_json::Result<Vec<Value>> = all.into_iter().collect();
            let mut object = object::of(json!({"type": "replay", "missing": missing}));
            object.insert("actions".into(), all?.into());
            (object, None)
        }
        Reply::Turns(reply) => {
            let turns = lowered_turns(&reply.turns, version, &reply.inputs)?;
            let object = object::of(json!({"hasMore": reply.has_more}));
            (object, Some(("turns", Texts::Turns(turns))))
        }
        Reply::ListSessions(reply) => {
            let mut object = object::of(value(reply)?);
            let rows = object::list_mut(&mut object, "items").into_iter().flatten();
            for (row, item) in rows.zip(&reply.items) {
                match item {
                    SummaryItem::Stored(_, Some(facts)) => add_facts(Some(row), facts)?,
                    SummaryItem::Stored(_, None) => {}
                    SummaryItem::Live(_, facts) => add_facts(Some(row), facts)?,
                }
            }
            (object, None)
        }
        other => (object::of(value(other)?), None),
    };
    down::result(version, method, &mut object);
    Ok(match texts {
        Some((key, texts)) => LoweredResult::WithTexts(WithTexts { object, key, texts }),
        None => LoweredResult::Plain(object.into()),
    })
}

fn snapshots(all: &[Snapshot], version: Version) -> serde_json::Result<Vec<LoweredSnapshot>> {
    let all = all.iter().map(|it| lowered(it, version));
    all.filter_map(Result::transpose).collect()
}

/// A snapshot in an older version.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoweredSnapshot {
    resource: String,
    state: LoweredState,
    from_seq: Seq,
}

#[derive(Serialize)]
#[serde(untagged)]
enum LoweredState {
    WithoutTurns(Object),
    /// Of a chat, or of a session that its default chat is part of.
    WithTurns(WithTexts<Vec<Arc<RawValue>>>),
}

/// A snapshot, unless the version has none of such a channel.
fn lowered(snapshot: &Snapshot, version: Version) -> serde_json::Result<Option<LoweredSnapshot>> {
    let (state, mut turns) = apart(&snapshot.state)?;
    let mut for_gates = SnapshotForGates::new(snapshot.resource.as_str(), state);
    if let Some(extra) = &snapshot.extra {
        let object = |it: Value| it.as_object().cloned();
        for_gates.summary = extra
            .summary
            .as_ref()
            .map(value)
            .transpose()?
            .and_then(object);
        match (&snapshot.state, &extra.state) {
            (SnapshotState::Session(_), Some(chat)) => {
                let (chat, its_turns) = apart(chat)?;
                for_gates.chat = object(chat);
                turns = its_turns;
            }
            (_, Some(session)) => for_gates.session = object(value(session)?),
            (_, None) => {}
        }
        for_gates.selection = object::of(value(&extra.selection)?);
        for_gates.changes = object::of(value(&extra.changes)?);
        if let Some(diffs) = &extra.diffs {
            for_gates.selection.insert("diffs".into(), value(diffs)?);
        }
    }
    for_gates.inputs = Arc::clone(&snapshot.inputs);
    let for_gates = down::snapshot(version, for_gates);
    if for_gates.unseen {
        return Ok(None);
    }
    let SnapshotForGates {
        resource, state, ..
    } = for_gates;
    // A session has the turns of its default chat only in some versions.
    let turns = turns.filter(|_| state.contains_key(TURNS));
    let state = match turns {
        Some(turns) => LoweredState::WithTurns(WithTexts {
            object: state,
            key: TURNS,
            texts: lowered_turns(turns, version, &snapshot.inputs)?,
        }),
        None => LoweredState::WithoutTurns(state),
    };
    Ok(Some(LoweredSnapshot {
        resource,
        state,
        from_seq: snapshot.from_seq,
    }))
}

const TURNS: &str = "turns";

/// A state without its finished turns, and those.
fn apart(state: &SnapshotState) -> serde_json::Result<(Value, Option<&[StoredTurn]>)> {
    Ok(match state {
        SnapshotState::Chat(chat) => (value(&ChatHead(chat))?, Some(&chat.turns)),
        other => (value(other)?, None),
    })
}

fn lowered_turns(
    turns: &[StoredTurn],
    version: Version,
    inputs: &Excerpts,
) -> serde_json::Result<Vec<Arc<RawValue>>> {
    let turns = turns.iter().map(|turn| turn.lowered(version, inputs));
    turns.filter_map(Result::transpose).collect()
}
