//! A session with all that was said in it, as it is stored, and how it looks
//! on a terminal. Other forms are `export`'s business.

use anyhow::{Result, bail};
use innkeeper_engine::fold_log;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ChatState, Message, ResponsePart, SessionState, SessionSummary, ToolCallState, ToolInput,
    ToolResultContent, TurnState, UsageInfo,
};
use innkeeper_protocol::record::store::Archive;
use innkeeper_protocol::snapshot::ChatSnapshot;
use innkeeper_protocol::{markdown, steering};
use serde::Serialize;

use super::text;

/// A session and its chats, each with all its turns.
#[derive(Debug, Serialize)]
pub(crate) struct Transcript {
    pub(crate) summary: SessionSummary,
    pub(crate) session: SessionState,
    pub(crate) chats: Vec<ChatState>,
}

impl Transcript {
    pub(crate) fn load(archive: &dyn Archive, session: &ChannelUri) -> Result<Self> {
        let Some(loaded) = archive.load_session(session)? else {
            bail!("the session {session} is gone");
        };
        let chats = loaded.chats.into_iter().map(|mut chat| {
            fold_log(&mut chat);
            let (head, turns) = (chat.record.head, chat.turns);
            ChatSnapshot { head, turns }.decode()
        });
        Ok(Self {
            chats: chats.collect::<Result<_, _>>()?,
            summary: loaded.session.summary,
            session: loaded.session.state,
        })
    }

    pub(crate) fn title(&self) -> &str {
        &self.summary.title
    }

    pub(crate) fn directories(&self) -> &[String] {
        self.summary.working_directories.as_deref().unwrap_or(&[])
    }
}

/// A turn, finished or not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnView<'a> {
    pub(crate) message: &'a Message,
    pub(crate) parts: &'a [ResponsePart],
    pub(crate) usage: Option<&'a UsageInfo>,
    /// `None` while it runs.
    pub(crate) state: Option<TurnState>,
}

/// All turns of a chat, the one that runs last.
pub(crate) fn turns(chat: &ChatState) -> impl Iterator<Item = TurnView<'_>> {
    let finished = chat.turns.iter().map(|turn| TurnView {
        message: &turn.message,
        parts: &turn.response_parts,
        usage: turn.usage.as_ref(),
        state: Some(turn.state),
    });
    let running = chat.active_turn.iter().map(|turn| TurnView {
        message: &turn.message,
        parts: &turn.response_parts,
        usage: turn.usage.as_ref(),
        state: None,
    });
    finished.chain(running)
}

/// What of a tool call is worth showing, whatever its state.
#[derive(Debug)]
pub(crate) struct ToolView<'a> {
    pub(crate) name: &'a str,
    pub(crate) message: String,
    pub(crate) outcome: &'static str,
    pub(crate) input: Option<&'a ToolInput>,
    pub(crate) content: &'a [ToolResultContent],
}

impl<'a> ToolView<'a> {
    pub(crate) fn of(state: &'a ToolCallState) -> Option<Self> {
        let view = |name, message, outcome, input| Self {
            name,
            message,
            outcome,
            input,
            content: &[],
        };
        let called = |success| if success { "done" } else { "failed" };
        Some(match state {
            ToolCallState::Streaming(call) => {
                let message = call.invocation_message.as_ref();
                let message = message.map(headline).unwrap_or_default();
                view(&call.display_name, message, "being called", None)
            }
            ToolCallState::PendingConfirmation(call) => view(
                &call.display_name,
                headline(&call.invocation_message),
                "waiting for approval",
                call.tool_input.as_ref(),
            ),
            ToolCallState::Running(call) => Self {
                content: call.content.as_deref().unwrap_or(&[]),
                ..view(
                    &call.display_name,
                    headline(&call.invocation_message),
                    "running",
                    call.tool_input.as_ref(),
                )
            },
            ToolCallState::AuthRequired(call) => view(
                &call.display_name,
                headline(&call.invocation_message),
                "waiting for authentication",
                call.tool_input.as_ref(),
            ),
            ToolCallState::PendingResultConfirmation(call) => Self {
                content: call.content.as_deref().unwrap_or(&[]),
                ..view(
                    &call.display_name,
                    headline(&call.past_tense_message),
                    "waiting for approval of its result",
                    call.tool_input.as_ref(),
                )
            },
            ToolCallState::Completed(call) => Self {
                content: call.content.as_deref().unwrap_or(&[]),
                ..view(
                    &call.display_name,
                    headline(&call.past_tense_message),
                    called(call.success),
                    call.tool_input.as_ref(),
                )
            },
            ToolCallState::Cancelled(call) => view(
                &call.display_name,
                headline(&call.invocation_message),
                "not run",
                call.tool_input.as_ref(),
            ),
            ToolCallState::Unknown(_) => return None,
        })
    }
}

/// What a call is called: the first line of what is said about it.
fn headline(message: &StringOrMarkdown) -> String {
    let text = markdown::plain(message);
    text.lines().next().unwrap_or_default().to_owned()
}

/// The transcript for reading on a terminal.
pub(crate) fn shown(transcript: &Transcript) -> String {
    let summary = &transcript.summary;
    let mut out = format!(
        "{}\n{}\n",
        text::one_line(transcript.title()),
        summary.resource
    );
    out.push_str(&format!(
        "agent {}, created {}, modified {}\n",
        summary.provider, summary.created_at, summary.modified_at
    ));
    for directory in transcript.directories() {
        out.push_str(&format!("in {}\n", text::place(directory)));
    }
    for chat in &transcript.chats {
        if transcript.chats.len() > 1 {
            out.push_str(&format!("\n=== {} ===\n", text::one_line(&chat.title)));
        }
        turns(chat).for_each(|turn| out.push_str(&shown_turn(&turn)));
    }
    out
}

/// The last turns of a chat.
pub(crate) fn shown_turns(chat: &ChatState, most: usize) -> String {
    let all: Vec<TurnView<'_>> = turns(chat).collect();
    let first = all.len().saturating_sub(most);
    all.get(first..)
        .unwrap_or_default()
        .iter()
        .map(shown_turn)
        .collect()
}

fn shown_turn(turn: &TurnView<'_>) -> String {
    let mut out = String::new();
    for line in text::printable(&turn.message.text).lines() {
        out.push_str(&format!("\n> {line}"));
    }
    out.push('\n');
    for part in turn.parts {
        if let Some(part) = shown_part(part) {
            out.push_str(&format!("\n{}\n", text::printable(&part).trim_end()));
        }
    }
    if let Some(end) = ending(turn.state) {
        out.push_str(&format!("\n[{end}]\n"));
    }
    out
}

/// How a turn ended, where that is not obvious.
pub(crate) fn ending(state: Option<TurnState>) -> Option<&'static str> {
    match state {
        None => Some("this turn is still running"),
        Some(TurnState::Cancelled) => Some("this turn was cancelled"),
        Some(TurnState::Complete | TurnState::Error) => None,
    }
}

fn shown_part(part: &ResponsePart) -> Option<String> {
    Some(match part {
        ResponsePart::Markdown(part) => part.content.clone(),
        ResponsePart::ContentRef(part) => format!("[content: {}]", part.uri),
        ResponsePart::ToolCall(part) => {
            let call = ToolView::of(&part.tool_call)?;
            format!("[tool {}, {}: {}]", call.name, call.outcome, call.message)
        }
        ResponsePart::SystemNotification(part) => match steering::words(part) {
            Some(words) => format!("[you added: {words}]"),
            None => format!("[notice: {}]", part.content.as_text()),
        },
        ResponsePart::InputRequest(part) => {
            let question = part.request.message.as_deref().unwrap_or("a question");
            format!("[asked: {question}]")
        }
        ResponsePart::Error(part) => format!("[error: {}]", part.error.message),
        // A thought is not part of the answer; an export has it.
        ResponsePart::Reasoning(_) | ResponsePart::Unknown(_) => return None,
    })
}
