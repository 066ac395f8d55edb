//! Messages in older versions: built from the house's own and led through the
//! gates.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Envelope, HostMessage, Notification, ReconnectReply, Rejection, Reply, encode as newest,
    notification,
};
use crate::gates::{Act, Object, Picture, Text, down, object};
use crate::house::actions::StateAction;
use crate::record::{Context, Facts, Sequenced};
use crate::snapshot::{Snapshot, SnapshotState};
use crate::version::Version;

pub(super) fn encode(message: &HostMessage, version: Version) -> serde_json::Result<Vec<String>> {
    match message {
        HostMessage::Failure { .. } | HostMessage::Question { .. } => Ok(vec![newest(message)]),
        HostMessage::Action(action) => {
            if let Some(text) = Text::lowered(action, version) {
                let mut frame = Vec::with_capacity(256);
                notification(&mut frame, "action", text.envelope())?;
                return Ok(String::from_utf8(frame).into_iter().collect());
            }
            let envelopes = envelopes(action, version)?;
            let frames = envelopes.into_iter().map(|it| frame("action", it));
            Ok(frames.collect())
        }
        HostMessage::Rejection(rejection) => {
            let envelopes = rejected(rejection, version)?;
            let frames = envelopes.into_iter().map(|it| frame("action", it));
            Ok(frames.collect())
        }
        HostMessage::Notification(news) => {
            let (method, params) = match &**news {
                Notification::SessionAdded(params) => ("root/sessionAdded", value(params)?),
                Notification::SessionRemoved(params) => ("root/sessionRemoved", value(params)?),
                Notification::SessionSummaryChanged(params) => {
                    ("root/sessionSummaryChanged", value(params)?)
                }
                Notification::AuthRequired(params) => ("auth/required", value(params)?),
                Notification::OtlpLogs(params) => ("otlp/exportLogs", value(params)?),
                Notification::OtlpTraces(params) => ("otlp/exportTraces", value(params)?),
                Notification::OtlpMetrics(params) => ("otlp/exportMetrics", value(params)?),
            };
            let lowered = down::notification(version, method, params);
            let frames = lowered.map(|(method, params)| frame(&method, params.into()));
            Ok(frames.into_iter().collect())
        }
        HostMessage::Reply { id, reply } => {
            let result = result(reply, version)?;
            let frame = json!({"jsonrpc": "2.0", "id": id, "result": result});
            Ok(vec![frame.to_string()])
        }
    }
}

fn frame(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// By way of text: turns that are kept as text cannot become a value directly.
fn value(it: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::from_str(&serde_json::to_string(it)?)
}

fn envelopes(action: &Sequenced, version: Version) -> serde_json::Result<Vec<Value>> {
    let lowered = value(&action.action)?;
    let acts = down::action(version, action.channel.as_str(), lowered, &action.facts);
    let steps = acts.len() as u64;
    let envelopes = acts.into_iter().enumerate().map(|(step, act)| {
        // The last has the action's own number; there is room before it.
        let seq = action.seq.saturating_sub(steps - 1 - step as u64);
        let mut envelope = envelope(act, seq, version);
        if let Some(origin) = &action.origin {
            envelope.insert("origin".into(), json!(origin));
        }
        envelope.into()
    });
    Ok(envelopes.collect())
}

fn envelope(act: Act, seq: u64, version: Version) -> Object {
    let mut envelope = object::of(json!({"action": act.action, "serverSeq": seq}));
    // In draft 1 the action says itself what it is about.
    if version > Version::V0_1 {
        envelope.insert("channel".into(), act.channel.into());
    }
    envelope
}

/// The action goes back in the words in which it came, as far as possible.
fn rejected(rejection: &Rejection, version: Version) -> serde_json::Result<Vec<Value>> {
    let session = rejection.channel.session_of_default_chat();
    let facts = Facts {
        is_default_chat: session.is_some(),
        session,
        context: Some(Box::new(context_of_rejected(&rejection.action)?)),
    };
    let channel = rejection.channel.as_str();
    let acts = down::action(version, channel, value(&rejection.action)?, &facts);
    let envelopes = acts.into_iter().map(|act| {
        let mut envelope = envelope(act, rejection.server_seq, version);
        envelope.insert("origin".into(), json!(rejection.origin));
        envelope.insert("rejectionReason".into(), rejection.reason.clone().into());
        envelope.into()
    });
    Ok(envelopes.collect())
}

fn context_of_rejected(action: &StateAction) -> serde_json::Result<Context> {
    let mut context = Context::default();
    match action {
        StateAction::SessionActiveClientSet(set) => {
            context.client_after = Some(value(&set.active_client)?);
        }
        StateAction::SessionActiveClientRemoved(_) => context.client_before = Some(json!({})),
        StateAction::ChatDraftChanged(change) => {
            if let Some(draft) = &change.draft {
                context.model = draft.model.as_ref().map(value).transpose()?;
                context.agent = draft.agent.as_ref().map(value).transpose()?;
            }
        }
        _ => {}
    }
    Ok(context)
}

fn result(reply: &Reply, version: Version) -> serde_json::Result<Value> {
    let method = match reply {
        Reply::Done | Reply::Empty {} => return value(reply),
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
        Reply::Reconnect(ReconnectReply::Snapshot { snapshots: all }) => {
            result.insert("snapshots".into(), snapshots(all, version)?);
        }
        Reply::Reconnect(ReconnectReply::Replay { actions, seen, .. }) => {
            let mut all = Vec::new();
            for Envelope(action) in actions {
                all.extend(envelopes(action, version)?);
            }
            all.retain(|envelope| envelope["serverSeq"].as_u64() > Some(*seen));
            result.insert("actions".into(), all.into());
        }
        _ => {}
    }
    down::result(version, method, &mut result);
    Ok(result.into())
}

fn snapshots(all: &[Snapshot], version: Version) -> serde_json::Result<Value> {
    let all = all.iter().map(|it| lowered(it, version));
    all.filter_map(Result::transpose).collect()
}

/// A snapshot, unless the version has none of such a channel.
fn lowered(snapshot: &Snapshot, version: Version) -> serde_json::Result<Option<Value>> {
    let mut picture = Picture::new(snapshot.resource.as_str(), value(&snapshot.state)?);
    if let Some(beside) = &snapshot.beside {
        let object = |it: Value| it.as_object().cloned();
        picture.summary = beside
            .summary
            .as_ref()
            .map(value)
            .transpose()?
            .and_then(object);
        match (&snapshot.state, &beside.state) {
            (SnapshotState::Session(_), Some(chat)) => picture.chat = object(value(chat)?),
            (_, Some(session)) => picture.session = object(value(session)?),
            (_, None) => {}
        }
        picture.selection = object::of(value(&beside.selection)?);
    }
    let picture = down::picture(version, picture);
    let seen = (!picture.unseen).then(|| {
        json!({
            "resource": picture.resource,
            "state": picture.state,
            "fromSeq": snapshot.from_seq,
        })
    });
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::house::actions::{ChatDeltaAction, ChatReasoningAction};

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
                    seq: 7,
                    channel: "x:chat".into(),
                    action: action.clone(),
                    origin: None,
                    facts: Facts {
                        session: Some("x:session".into()),
                        is_default_chat,
                        context: None,
                    },
                };
                let expected: Vec<Value> = envelopes(&sequenced, version).unwrap();
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
