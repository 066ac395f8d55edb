//! What is shown of the input of tool calls to clients that cannot be given a
//! reference to it. The newest version keeps large input out of the state; up
//! to 0.6 it is text, and whoever approves a call must see what it is about.
//!
//! *Invariant*: what is shown of an input never changes, so that a state and
//! the actions that led to it show the same.

use std::sync::Arc;

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{ResponsePart, ToolCallState, ToolInput};
use innkeeper_protocol::record::Excerpts;

use super::channels::Channel;

/// How much of an input is shown, in bytes.
const SHOWN: usize = 256 << 10;

/// What is shown, for the sessions in memory that have such inputs.
#[derive(Debug, Default)]
pub(crate) struct ShownInputs {
    of_sessions: HashMap<ChannelUri, Arc<Excerpts>>,
}

impl ShownInputs {
    pub(super) fn keep(&mut self, session: &ChannelUri, uri: String, text: Arc<str>) {
        let shown = self.of_sessions.entry(session.clone()).or_default();
        Arc::make_mut(shown).insert(uri, text);
    }

    /// A session comes into memory.
    pub(crate) fn take_in(&mut self, session: &ChannelUri, excerpts: Arc<Excerpts>) {
        if !excerpts.is_empty() {
            self.of_sessions.insert(session.clone(), excerpts);
        }
    }

    /// What is shown in one session is shown in another one, too.
    pub(crate) fn share(&mut self, from: &ChannelUri, with: &ChannelUri) {
        let theirs = self.of_session(from);
        if !theirs.is_empty() {
            let shown = self.of_sessions.entry(with.clone()).or_default();
            let theirs = theirs.iter().map(|(uri, text)| (uri.clone(), text.clone()));
            Arc::make_mut(shown).extend(theirs);
        }
    }

    /// A session has left memory.
    pub(crate) fn forget(&mut self, session: &ChannelUri) {
        self.of_sessions.remove(session);
    }

    pub(crate) fn of_session(&self, session: &ChannelUri) -> Arc<Excerpts> {
        self.of_sessions.get(session).cloned().unwrap_or_default()
    }

    /// What is shown of the inputs that an action refers to.
    pub(super) fn of_action(&self, channel: &Channel, action: &StateAction) -> Excerpts {
        // Most of what is said is streamed text: it refers to nothing.
        let refers = matches!(
            action,
            StateAction::ChatToolCallReady(_)
                | StateAction::ChatTurnsLoaded(_)
                | StateAction::ChatTurnResume(_)
                | StateAction::SessionInputNeededSet(_)
        );
        if !refers || self.of_sessions.is_empty() {
            return Excerpts::new();
        }
        let session = match channel {
            Channel::Chat(chat) => &chat.session,
            Channel::Session(session) => &session.uri,
            _ => return Excerpts::new(),
        };
        let mut told = Excerpts::new();
        let Some(shown) = self.of_sessions.get(session) else {
            return told;
        };
        let mut tell = |input: Option<&ToolInput>| {
            if let Some(ToolInput::ContentRef(input)) = input
                && let Some(text) = shown.get(&input.uri)
            {
                told.insert(input.uri.clone(), Arc::clone(text));
            }
        };
        match (action, channel) {
            (StateAction::ChatToolCallReady(ready), _) => tell(ready.tool_input.as_ref()),
            (StateAction::ChatTurnsLoaded(loaded), _) => {
                let parts = loaded.turns.iter().flat_map(|turn| &turn.response_parts);
                parts.for_each(|part| tell(input_of_part(part)));
            }
            (StateAction::ChatTurnResume(_), Channel::Chat(chat)) => {
                let parts = chat.head.active_turn.iter();
                let parts = parts.flat_map(|turn| &turn.response_parts);
                parts.for_each(|part| tell(input_of_part(part)));
            }
            (StateAction::SessionInputNeededSet(set), _) => {
                let request = serde_json::to_value(&set.request).unwrap_or_default();
                let input = &request["toolCall"]["toolInput"];
                tell(serde_json::from_value(input.clone()).ok().as_ref());
            }
            _ => {}
        }
        told
    }
}

fn input_of_part(part: &ResponsePart) -> Option<&ToolInput> {
    let ResponsePart::ToolCall(part) = part else {
        return None;
    };
    match &part.tool_call {
        ToolCallState::PendingConfirmation(call) => call.tool_input.as_ref(),
        ToolCallState::Running(call) => call.tool_input.as_ref(),
        ToolCallState::AuthRequired(call) => call.tool_input.as_ref(),
        ToolCallState::PendingResultConfirmation(call) => call.tool_input.as_ref(),
        ToolCallState::Completed(call) => call.tool_input.as_ref(),
        ToolCallState::Cancelled(call) => call.tool_input.as_ref(),
        ToolCallState::Streaming(_) | ToolCallState::Unknown(_) => None,
    }
}

/// As much of an input as is shown: all of it, or its beginning and its end.
/// `left_out` says what is missing between them, given the number of bytes.
pub(crate) fn shown(input: &str, left_out: impl Fn(usize) -> String) -> Arc<str> {
    if input.len() <= SHOWN {
        return input.into();
    }
    // The longest that it can become.
    let note = left_out(input.len()).len() + 2;
    let half = SHOWN.saturating_sub(note) / 2;
    let is_between = |at: &usize| input.is_char_boundary(*at);
    let begins = (0..=half).rev().find(is_between).unwrap_or(0);
    let mut rest = input.len() - half..input.len();
    let ends = rest.find(is_between).unwrap_or(input.len());
    let note = left_out(ends - begins);
    format!("{}\n{note}\n{}", &input[..begins], &input[ends..]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(bytes: usize) -> String {
        format!("… {bytes} left out …")
    }

    #[test]
    fn an_input_is_shown_whole_up_to_the_limit() {
        for size in [0, 1, SHOWN - 1, SHOWN] {
            let input = "x".repeat(size);
            assert_eq!(*shown(&input, note), *input, "{size}");
        }
    }

    #[test]
    fn a_larger_input_is_shortened_in_its_middle_and_says_so() {
        for size in [SHOWN + 1, SHOWN + 100, 2 * SHOWN, 10 * SHOWN] {
            let input = format!("begin{}end", "x".repeat(size - 8));
            let shown = shown(&input, note);
            assert!(shown.len() <= SHOWN, "{size}: {}", shown.len());
            assert!(shown.len() > SHOWN - 100, "{size}: {}", shown.len());
            let (head, rest) = shown.split_once('\n').unwrap();
            let (said, tail) = rest.split_once('\n').unwrap();
            let left_out = size - head.len() - tail.len();
            assert_eq!(said, note(left_out), "{size}");
            assert!(head.starts_with("begin") && tail.ends_with("end"));
        }
    }

    #[test]
    fn no_character_is_cut_in_two() {
        for (character, shift) in [("ä", 0), ("ä", 1), ("𝄞", 0), ("𝄞", 1), ("𝄞", 2), ("𝄞", 3)]
        {
            let input = format!("{}{}", "x".repeat(shift), character.repeat(SHOWN / 2 + 9));
            let shown = shown(&input, note);
            assert!(shown.len() <= SHOWN);
            let (head, rest) = shown.split_once('\n').unwrap();
            let (_, tail) = rest.split_once('\n').unwrap();
            assert!(input.starts_with(head) && input.ends_with(tail));
        }
    }
}
