//! Messages in older versions: built from those of the newest and led through
//! the gates.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Envelope, HostMessage, Notification, QuestionFrame, ReconnectReply, Rejection, Reply,
    SummaryItem, encode as encode_newest, notification,
};
use crate::Seq;
use crate::gates::{Act, Object, SnapshotForGates, Text, down, object};
use crate::newest::actions::ActionOrigin;
use crate::record::Sequenced;
use crate::snapshot::{Snapshot, SnapshotState};
use crate::version::Version;

pub(super) fn encode(message: &HostMessage, version: Version) -> serde_json::Result<Vec<String>> {
    match message {
        HostMessage::Failure { .. }
        | HostMessage::Reply {
            reply: Reply::Resource(_),
            ..
        } => Ok(vec![encode_newest(message)]),
        HostMessage::Question { id, ask } => {
            // What cannot be asked is not asked; the engine sees to that.
            let frames = ask.lowered(version)?.into_iter().map(|params| {
                serde_json::to_string(&QuestionFrame {
                    jsonrpc: "2.0",
                    id,
                    method: ask.method(),
                    params,
                })
            });
            frames.collect()
        }
        HostMessage::Action(action) => {
            if let Some(text) = Text::lowered(action, version) {
                return Ok(vec![frame("action", text.envelope())?]);
            }
            let envelopes = envelopes(action, version)?;
            envelopes.iter().map(|it| frame("action", it)).collect()
        }
        HostMessage::Rejection(rejection) => {
            let envelope = rejected(rejection, version)?;
            Ok(vec![frame("action", envelope)?])
        }
        HostMessage::Notification(news) => {
            let (method, params) = match &**news {
                Notification::SessionAdded(params, facts) => {
                    let mut params = value(params)?;
                    add_facts(&mut params["summary"], facts)?;
                    ("root/sessionAdded", params)
                }
                Notification::SessionRemoved(params) => ("root/sessionRemoved", value(params)?),
                Notification::SessionSummaryChanged(params, facts) => {
                    let mut params = value(params)?;
                    add_facts(&mut params["changes"], facts)?;
                    ("root/sessionSummaryChanged", params)
                }
                Notification::AuthRequired(params) => ("auth/required", value(params)?),
                Notification::Progress(params) => ("root/progress", value(params)?),
                Notification::OtlpLogs(params) => ("otlp/exportLogs", value(params)?),
                Notification::OtlpTraces(params) => ("otlp/exportTraces", value(params)?),
                Notification::OtlpMetrics(params) => ("otlp/exportMetrics", value(params)?),
                Notification::Mcp(params) => ("mcpNotification", value(params)?),
            };
            let lowered = down::notification(version, method, params);
            let frames = lowered.iter().map(|(method, params)| frame(method, params));
            frames.collect()
        }
        HostMessage::Reply { id, reply } => {
            let result = result(reply, version)?;
            let frame = json!({"jsonrpc": "2.0", "id": id, "result": result});
            Ok(vec![frame.to_string()])
        }
    }
}

fn frame(method: &str, params: impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::with_capacity(256);
    notification(&mut text, method, params)?;
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

/// By way of text: turns that are kept as text cannot become a value directly.
fn value(it: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::from_str(&serde_json::to_string(it)?)
}

/// An action as an older version reads it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Lowered<'a> {
    action: Object,
    server_seq: Seq,
    /// In the drafts the action says itself what it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a ActionOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejection_reason: Option<&'a str>,
}

impl Lowered<'_> {
    fn new(act: Act, server_seq: Seq, version: Version) -> Self {
        Self {
            action: act.action,
            server_seq,
            channel: version.names_channels_in_envelopes().then_some(act.channel),
            origin: None,
            rejection_reason: None,
        }
    }
}

fn envelopes(action: &Sequenced, version: Version) -> serde_json::Result<Vec<Lowered<'_>>> {
    let newest = serde_json::to_value(&action.action)?;
    let acts = down::action(version, action.channel.as_str(), newest, &action.facts);
    let steps = acts.len() as u64;
    let envelopes = acts.into_iter().enumerate().map(|(step, act)| {
        // The last has the action's own number; there is room before it.
        let seq = action.seq.back(steps - 1 - step as u64);
        Lowered {
            origin: action.origin.as_ref(),
            ..Lowered::new(act, seq, version)
        }
    });
    Ok(envelopes.collect())
}

/// The action goes back in the words in which it came.
fn rejected(rejection: &Rejection, version: Version) -> serde_json::Result<Lowered<'_>> {
    let (channel, action) = match rejection.said.as_deref() {
        Some(said) => (&said.channel, said.action.clone()),
        None => (&rejection.channel, value(&rejection.action)?),
    };
    let act = Act {
        channel: channel.to_string(),
        action: object::of(action),
    };
    Ok(Lowered {
        origin: Some(&rejection.origin),
        rejection_reason: Some(&rejection.reason),
        ..Lowered::new(act, rejection.server_seq, version)
    })
}

fn result(reply: &Reply, version: Version) -> serde_json::Result<Value> {
    let method = match reply {
        Reply::Done
        | Reply::Empty {}
        | Reply::Resource(_)
        | Reply::Mcp(_)
        | Reply::Search(_)
        | Reply::Usage(_) => return value(reply),
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
    let mut result = object::of(value(reply)?);
    match reply {
        Reply::Initialize(reply) => {
            result.insert("snapshots".into(), snapshots(&reply.snapshots, version)?);
        }
        Reply::Subscribe(reply) => {
            let snapshot = reply.snapshot.as_ref();
            let snapshot = snapshot.map(|it| lowered(it, version)).transpose()?;
            match snapshot.flatten() {
                Some(snapshot) => result.insert("snapshot".into(), snapshot),
                None => result.remove("snapshot"),
            };
        }
        Reply::ListSessions(reply) => {
            let rows = object::list_mut(&mut result, "items").into_iter().flatten();
            for (row, item) in rows.zip(&reply.items) {
                match item {
                    SummaryItem::Stored(_, Some(facts)) => add_facts(row, facts)?,
                    SummaryItem::Stored(_, None) => {}
                    SummaryItem::Live(_, facts) => add_facts(row, facts)?,
                }
            }
        }
        Reply::Reconnect(ReconnectReply::Snapshot { snapshots: all }) => {
            result.insert("snapshots".into(), snapshots(all, version)?);
        }
        Reply::Reconnect(ReconnectReply::Replay { actions, seen, .. }) => {
            let mut all = Vec::new();
            for Envelope(action) in actions {
                let lowered = envelopes(action, version)?;
                let unseen = lowered.iter().filter(|it| it.server_seq > *seen);
                all.extend(unseen.map(serde_json::to_value));
            }
            let all: serde_json::Result<Value> = all.into_iter().collect();
            result.insert("actions".into(), all?);
        }
        Reply::Turns(reply) => down::tell_inputs_of_turns(version, &mut result, &reply.inputs),
        _ => {}
    }
    down::result(version, method, &mut result);
    Ok(result.into())
}

/// Gives a row of the catalogue what some gates take out again.
fn add_facts(row: &mut Value, facts: &impl Serialize) -> serde_json::Result<()> {
    let facts = object::of(value(facts)?);
    if let Some(row) = row.as_object_mut().filter(|_| !facts.is_empty()) {
        row.insert(down::FACTS.into(), facts.into());
    }
    Ok(())
}

fn snapshots(all: &[Snapshot], version: Version) -> serde_json::Result<Value> {
    let all = all.iter().map(|it| lowered(it, version));
    all.filter_map(Result::transpose).collect()
}

/// A snapshot, unless the version has none of such a channel.
fn lowered(snapshot: &Snapshot, version: Version) -> serde_json::Result<Option<Value>> {
    let mut for_gates = SnapshotForGates::new(snapshot.resource.as_str(), value(&snapshot.state)?);
    if let Some(extra) = &snapshot.extra {
        let object = |it: Value| it.as_object().cloned();
        for_gates.summary = extra
            .summary
            .as_ref()
            .map(value)
            .transpose()?
            .and_then(object);
        match (&snapshot.state, &extra.state) {
            (SnapshotState::Session(_), Some(chat)) => for_gates.chat = object(value(chat)?),
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
    let seen = (!for_gates.unseen).then(|| {
        json!({
            "resource": for_gates.resource,
            "state": for_gates.state,
            "fromSeq": snapshot.from_seq,
        })
    });
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::newest::actions::{ChatDeltaAction, ChatReasoningAction, StateAction};
    use crate::record::GateFacts;

    /// Streamed text has a shorter way, which leads to the same place.
    #[test]
    fn streamed_text_is_told_like_any_other_action() {
        let (turn_id, part_id, content) = ("t".to_owned(), "p".to_owned(), "\"hi\" ä".to_owned());
        let delta = StateAction::ChatDelta(ChatDeltaAction {
            turn_id: turn_id.clone(),
            part_id: part_id.clone(),
            content: content.clone(),
            meta: None,
        });
        let reasoning = StateAction::ChatReasoning(ChatReasoningAction {
            turn_id,
            part_id,
            content,
            meta: None,
        });
        for version in Version::ALL.into_iter().filter(|it| *it < Version::NEWEST) {
            for (action, is_default_chat) in [
                (&delta, true),
                (&delta, false),
                (&reasoning, true),
                (&reasoning, false),
            ] {
                let sequenced = Sequenced {
                    seq: 7.into(),
                    channel: "x:chat".into(),
                    action: action.clone(),
                    origin: None,
                    facts: GateFacts {
                        session: Some("x:session".into()),
                        is_default_chat,
                        extra: None,
                    },
                };
                let expected = envelopes(&sequenced, version).unwrap();
                let expected: Vec<Value> = expected.iter().map(|it| json!(it)).collect();
                assert!(Text::lowered(&sequenced, version).is_some());
                let message = HostMessage::Action(Arc::new(sequenced));
                let frames = encode(&message, version).unwrap();
                let told: Vec<Value> = frames
                    .iter()
                    .map(|it| serde_json::from_str::<Value>(it).unwrap()["params"].take())
                    .collect();
                assert_eq!(told, expected, "{version}");
            }
        }
    }
}
