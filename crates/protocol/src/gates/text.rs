//! Streamed text: most of the traffic, and next to nothing in it differs
//! between versions. It passes the gates without becoming JSON in between.

use serde::Serialize;

use super::between;
use crate::newest::actions::StateAction;
use crate::record::Sequenced;
use crate::version::Version;
use crate::{ChannelUri, Seq};

/// A piece of streamed text on its way down.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) channel: &'a str,
    /// The session of which the channel is the default chat.
    pub(crate) session: Option<&'a str>,
    /// Turns live in chats, or in sessions.
    pub(crate) is_in_chat: bool,
    /// The action says what it is about, and not its envelope.
    pub(crate) names_channel: bool,
    is_reasoning: bool,
    turn_id: &'a str,
    part_id: &'a str,
    content: &'a str,
    seq: Seq,
}

impl<'a> Text<'a> {
    /// An action that is plain text and nothing else, in an older version.
    pub(crate) fn lowered(action: &'a Sequenced, version: Version) -> Option<Self> {
        let (is_reasoning, turn_id, part_id, content, meta) = match &action.action {
            StateAction::ChatDelta(it) => (false, &it.turn_id, &it.part_id, &it.content, &it.meta),
            StateAction::ChatReasoning(it) => {
                (true, &it.turn_id, &it.part_id, &it.content, &it.meta)
            }
            _ => return None,
        };
        let facts = &action.facts;
        if meta.is_some() || action.origin.is_some() || facts.extra.is_some() {
            return None;
        }
        let session = facts.session.as_ref().filter(|_| facts.is_default_chat);
        let mut text = Self {
            channel: action.channel.as_str(),
            session: session.map(ChannelUri::as_str),
            is_in_chat: true,
            names_channel: false,
            is_reasoning,
            turn_id,
            part_id,
            content,
            seq: action.seq,
        };
        for gate in between(version) {
            gate.lower_text(&mut text);
        }
        Some(text)
    }

    /// The parameters of the notification that carries it.
    pub(crate) fn envelope(&self) -> impl Serialize + '_ {
        let (inside, outside) = match self.names_channel {
            true => (Some(self.channel), None),
            false => (None, Some(self.channel)),
        };
        Envelope {
            action: Action {
                kind: match (self.is_in_chat, self.is_reasoning) {
                    (true, false) => "chat/delta",
                    (true, true) => "chat/reasoning",
                    (false, false) => "session/delta",
                    (false, true) => "session/reasoning",
                },
                turn_id: self.turn_id,
                part_id: self.part_id,
                content: self.content,
                session: inside,
            },
            server_seq: self.seq,
            channel: outside,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    action: Action<'a>,
    server_seq: Seq,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Action<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    turn_id: &'a str,
    part_id: &'a str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}
