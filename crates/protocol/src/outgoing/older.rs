//! Messages in older versions: built from those of the newest and led through
//! the gates.

mod results;

use serde::Serialize;

use super::{
    HostMessage, Notification, QuestionFrame, Rejection, Reply, encode as encode_newest,
    notification,
};
use crate::Seq;
use crate::gates::tree::{self, Value};
use crate::gates::{Act, Object, Text, down, object};
use crate::newest::actions::ActionOrigin;
use crate::record::Sequenced;
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
                    add_facts(params.get_mut("summary"), facts)?;
                    ("root/sessionAdded", params)
                }
                Notification::SessionRemoved(params) => ("root/sessionRemoved", value(params)?),
                Notification::SessionSummaryChanged(params, facts) => {
                    let mut params = value(params)?;
                    add_facts(params.get_mut("changes"), facts)?;
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
            let reply = results::reply(id, reply, version)?;
            Ok(vec![serde_json::to_string(&reply)?])
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
    let newest = tree::build(&action.action)?;
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
        Some(said) => (&said.channel, said.action.clone().into()),
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

/// Gives a row of the catalogue what some gates take out again.
fn add_facts(row: Option<&mut Value>, facts: &impl Serialize) -> serde_json::Result<()> {
    let facts = object::of(value(facts)?);
    let row = row.and_then(Value::as_object_mut);
    if let Some(row) = row.filter(|_| !facts.is_empty()) {
        row.insert(down::FACTS.into(), facts.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

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
