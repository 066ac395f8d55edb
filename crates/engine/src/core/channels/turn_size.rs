//! How large a running turn is, counted as it grows.
//!
//! A turn becomes one row of the store, so its size is that of its parts as
//! JSON, and of what they refer to in the host's own store. Streamed text costs
//! a look at that text; anything else costs the part that it changes, whatever
//! else the turn holds.

use std::io::{self, Write};

use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{
    ActiveTurn, ContentRef, FileEditSide, ResponsePart, ToolCallState, ToolInput,
    ToolResultContent, UsageInfo,
};
use serde::Serialize;

use crate::core::content::CONTENT_SCHEME;

/// The part of a turn that an action changes, or what it adds to one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Growth<'a> {
    None,
    Adds(usize),
    Call(&'a str),
    Request(&'a str),
    Usage,
    /// Another turn runs from now on, or none.
    Turn,
}

impl<'a> Growth<'a> {
    pub(super) fn by(action: &'a StateAction) -> Self {
        use StateAction as A;
        match action {
            A::ChatDelta(a) => Self::Adds(length_of_text(&a.content)),
            A::ChatReasoning(a) => Self::Adds(length_of_text(&a.content)),
            A::ChatToolCallDelta(a) => Self::Adds(a.content.as_deref().map_or(0, length_of_text)),
            A::ChatResponsePart(a) => Self::Adds(size_of_part(&a.part)),
            A::ChatToolCallStart(a) => Self::Call(&a.tool_call_id),
            A::ChatToolCallReady(a) => Self::Call(&a.tool_call_id),
            A::ChatToolCallConfirmed(a) => Self::Call(&a.tool_call_id),
            A::ChatToolCallComplete(a) => Self::Call(&a.tool_call_id),
            A::ChatToolCallResultConfirmed(a) => Self::Call(&a.tool_call_id),
            A::ChatToolCallContentChanged(a) => Self::Call(&a.tool_call_id),
            A::ChatToolCallAuthRequired(a) => Self::Call(&a.tool_call_id),
            A::ChatToolCallAuthResolved(a) => Self::Call(&a.tool_call_id),
            A::ChatInputRequested(a) => Self::Request(&a.request.id),
            A::ChatInputAnswerChanged(a) => Self::Request(&a.request_id),
            A::ChatInputCompleted(a) => Self::Request(&a.request_id),
            A::ChatUsage(_) => Self::Usage,
            A::ChatTurnStarted(_)
            | A::ChatTurnComplete(_)
            | A::ChatTurnCancelled(_)
            | A::ChatError(_)
            | A::ChatTurnResume(_)
            | A::ChatTruncated(_) => Self::Turn,
            _ => Self::None,
        }
    }

    /// How large that is in a turn, before the action or after it.
    pub(super) fn size_in(self, turn: Option<&ActiveTurn>) -> usize {
        let Some(turn) = turn else {
            return 0;
        };
        let part = match self {
            Self::None | Self::Adds(_) | Self::Turn => return 0,
            Self::Usage => return size_of_usage(turn.usage.as_ref()),
            Self::Call(id) => turn.response_parts.iter().rev().find(|part| {
                matches!(part, ResponsePart::ToolCall(part) if id_of_call(&part.tool_call) == id)
            }),
            Self::Request(id) => turn.response_parts.iter().rev().find(
                |part| matches!(part, ResponsePart::InputRequest(part) if part.request.id == id),
            ),
        };
        part.map_or(0, size_of_part)
    }
}

/// The size of a turn as a whole: for one that comes back from the store.
pub(super) fn size_of_turn(turn: Option<&ActiveTurn>) -> usize {
    turn.map_or(0, |turn| {
        let parts = turn.response_parts.iter().map(size_of_part);
        parts.sum::<usize>() + size_of_usage(turn.usage.as_ref())
    })
}

fn size_of_usage(usage: Option<&UsageInfo>) -> usize {
    usage.map_or(0, length_of_json)
}

fn size_of_part(part: &ResponsePart) -> usize {
    let kept = match part {
        ResponsePart::ContentRef(part) => kept_under(&part.uri, part.size_hint),
        ResponsePart::ToolCall(part) => kept_of_call(&part.tool_call),
        ResponsePart::Markdown(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Error(_)
        | ResponsePart::Unknown(_) => 0,
    };
    length_of_json(part).saturating_add(kept)
}

/// The name of a tool call.
pub(crate) fn id_of_call(call: &ToolCallState) -> &str {
    match call {
        ToolCallState::Streaming(call) => &call.tool_call_id,
        ToolCallState::PendingConfirmation(call) => &call.tool_call_id,
        ToolCallState::Running(call) => &call.tool_call_id,
        ToolCallState::AuthRequired(call) => &call.tool_call_id,
        ToolCallState::PendingResultConfirmation(call) => &call.tool_call_id,
        ToolCallState::Completed(call) => &call.tool_call_id,
        ToolCallState::Cancelled(call) => &call.tool_call_id,
        ToolCallState::Unknown(_) => "",
    }
}

/// How much a tool call has in the host's own store.
fn kept_of_call(call: &ToolCallState) -> usize {
    use ToolCallState as C;
    let (input, content) = match call {
        C::Streaming(_) | C::Unknown(_) => (None, None),
        C::PendingConfirmation(call) => (call.tool_input.as_ref(), None),
        C::Cancelled(call) => (call.tool_input.as_ref(), None),
        C::Running(call) => (call.tool_input.as_ref(), call.content.as_deref()),
        C::AuthRequired(call) => (call.tool_input.as_ref(), call.content.as_deref()),
        C::PendingResultConfirmation(call) => (call.tool_input.as_ref(), call.content.as_deref()),
        C::Completed(call) => (call.tool_input.as_ref(), call.content.as_deref()),
    };
    let input = match input {
        Some(ToolInput::ContentRef(reference)) => kept_by(reference),
        Some(ToolInput::Inline(_)) | None => 0,
    };
    let content = content.unwrap_or_default().iter().map(kept_of_content);
    content.fold(input, usize::saturating_add)
}

fn kept_of_content(content: &ToolResultContent) -> usize {
    let side = |side: &Option<FileEditSide>| side.as_ref().map_or(0, |side| kept_by(&side.content));
    match content {
        ToolResultContent::Resource(it) => kept_under(&it.uri, it.size_hint),
        ToolResultContent::FileEdit(edit) => side(&edit.before).saturating_add(side(&edit.after)),
        _ => 0,
    }
}

fn kept_by(reference: &ContentRef) -> usize {
    kept_under(&reference.uri, reference.size_hint)
}

fn kept_under(uri: &str, size: Option<i64>) -> usize {
    let size = size.filter(|_| uri.starts_with(CONTENT_SCHEME));
    size.and_then(|size| usize::try_from(size).ok())
        .unwrap_or(0)
}

/// How long a text is as JSON, without its quotes.
fn length_of_text(text: &str) -> usize {
    let is_escaped = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    // Most text has nothing to escape, and this loop is a fast one.
    if text
        .as_bytes()
        .iter()
        .filter(|byte| is_escaped(byte))
        .count()
        == 0
    {
        return text.len();
    }
    let length = |byte: &u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.as_bytes().iter().map(length).sum()
}

/// How long something is as JSON.
pub(crate) fn length_of_json(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Nothing here can fail to be written: it was read, or made from text.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Counts what is written to it.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_long_as_its_json() {
        for text in [
            "",
            "plain",
            "a \"quote\" \\ \n\r\t\u{8}\u{c}",
            "\u{0}\u{1f}\u{7f}é😀",
        ] {
            assert_eq!(length_of_text(text) + 2, length_of_json(&text), "{text:?}");
        }
    }
}
