//! What may complete a message that is being typed: files after `@` or `#`,
//! the agent's commands after a leading `/`.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::commands::{
    CompletionItem, CompletionItemKind, CompletionsParams, CompletionsResult,
};
use innkeeper_protocol::house::state::{
    MessageAttachment, MessageResourceAttachment, SimpleMessageAttachment,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::FoundFile;
use serde_json::json;

use crate::chats::Chat;
use crate::customizations::invocable;
use crate::requests::Need;
use crate::sessions::Session;
use crate::{ConnectionId, Effect, Engine};

/// How many items an answer has at most.
const MOST_ITEMS: usize = 50;

/// What makes a client ask for completions.
pub(crate) const TRIGGERS: [&str; 3] = ["@", "#", "/"];

/// What is being typed at the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    File { trigger: char, query: String },
    Command { query: String },
    Nothing,
}

/// A word of the input, and where it stands in UTF-16 code units.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TypedAt {
    pub(crate) typed: Typed,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

impl Engine {
    pub(crate) fn complete(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        params: CompletionsParams,
    ) {
        match self.completions(&params) {
            Ok((at, Found::Now(items))) => {
                let items = items.into_iter().map(|item| item.placed(&at)).collect();
                let reply = Reply::Completions(CompletionsResult { items });
                self.reply(connection, id, reply);
            }
            Ok((at, Found::Search { directories, query })) => {
                let ticket = self.wait(connection, id, Need::Files(at));
                self.step.effects.push(Effect::FindFiles {
                    ticket,
                    directories,
                    query,
                    limit: MOST_ITEMS,
                });
            }
            Err(error) => self.fail(connection, Some(id), error),
        }
    }

    fn completions(&self, params: &CompletionsParams) -> Result<(TypedAt, Found), RpcError> {
        let channel = ChannelUri::from(params.channel.as_str());
        let Some(chat) = self.chat_meant(&channel) else {
            return Err(RpcError::session_not_found(channel.as_str()));
        };
        if params.kind != CompletionItemKind::UserMessage {
            return Err(RpcError::invalid_params(
                "only `userMessage` is completed here",
            ));
        }
        let at = typed_at(&params.text, params.offset)?;
        let found = match &at.typed {
            Typed::Nothing => Found::Now(Vec::new()),
            Typed::Command { query } => {
                let session = self.sessions.get(&chat.session);
                Found::Now(commands(chat, session, query))
            }
            Typed::File { query, .. } => {
                let session = self.sessions.get(&chat.session);
                let all = session.and_then(|s| s.state.working_directories.clone());
                let own = chat.head.working_directories.clone();
                match own.or(all).filter(|directories| !directories.is_empty()) {
                    Some(directories) => Found::Search {
                        directories,
                        query: query.clone(),
                    },
                    None => Found::Now(Vec::new()),
                }
            }
        };
        Ok((at, found))
    }

    /// The chat, or the leading one of a session: clients ask for either.
    fn chat_meant(&self, channel: &ChannelUri) -> Option<&Chat> {
        if let Some(chat) = self.chats.get(channel) {
            return Some(chat);
        }
        let session = self.sessions.get(channel)?;
        let default = session.state.default_chat.as_deref()?;
        self.chats.get(default)
    }
}

enum Found {
    Now(Vec<Candidate>),
    Search {
        directories: Vec<String>,
        query: String,
    },
}

struct Candidate {
    insert: String,
    attachment: MessageAttachment,
}

impl Candidate {
    fn placed(self, at: &TypedAt) -> CompletionItem {
        CompletionItem {
            insert_text: self.insert,
            range_start: Some(at.start),
            range_end: Some(at.end),
            attachment: self.attachment,
        }
    }
}

/// The agent's own commands, and the skills and prompts of the session that
/// it does not know by itself.
fn commands(chat: &Chat, session: Option<&Session>, query: &str) -> Vec<Candidate> {
    let wanted = query.to_lowercase();
    let matches = |name: &str| name.to_lowercase().starts_with(&wanted);
    let own = chat.commands.iter().map(|command| {
        let label = format!("/{}", command.name);
        let about = json!({"command": command.name, "description": command.description});
        let attachment = MessageAttachment::Simple(SimpleMessageAttachment {
            label: label.clone(),
            range: None,
            display_kind: Some("command".to_owned()),
            meta: about.as_object().cloned(),
            model_representation: None,
        });
        (command.name.clone(), label, attachment)
    });
    let known = |name: &str| chat.commands.iter().any(|command| command.name == name);
    let found = session.map(invocable).unwrap_or_default();
    let found = found.into_iter().filter(|it| !known(&it.name)).map(|it| {
        let label = format!("/{}", it.name);
        let about = json!({"command": it.name, "description": it.description});
        // With the file, so that an agent that does not know it can read it.
        let attachment = MessageAttachment::Resource(MessageResourceAttachment {
            label: label.clone(),
            range: None,
            display_kind: Some(it.kind.name().to_owned()),
            meta: about.as_object().cloned(),
            uri: it.uri,
            size_hint: None,
            content_type: None,
            nonce: None,
            selection: None,
        });
        (it.name, label, attachment)
    });
    own.chain(found)
        .filter(|(name, ..)| matches(name))
        .take(MOST_ITEMS)
        .map(|(_, label, attachment)| Candidate {
            insert: format!("{label} "),
            attachment,
        })
        .collect()
}

pub(crate) fn file_items(at: &TypedAt, files: Vec<FoundFile>) -> CompletionsResult {
    let trigger = match at.typed {
        Typed::File { trigger, .. } => trigger,
        Typed::Command { .. } | Typed::Nothing => '@',
    };
    let items = files.into_iter().map(|file| {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let kind = if file.is_directory {
            "directory"
        } else {
            "document"
        };
        let candidate = Candidate {
            insert: format!("{trigger}{} ", file.path),
            attachment: MessageAttachment::Resource(MessageResourceAttachment {
                label: name.to_owned(),
                range: None,
                display_kind: Some(kind.to_owned()),
                meta: None,
                uri: file.uri,
                size_hint: None,
                content_type: None,
                nonce: None,
                selection: None,
            }),
        };
        candidate.placed(at)
    });
    CompletionsResult {
        items: items.collect(),
    }
}

/// The word that ends at an offset in UTF-16 code units.
fn typed_at(text: &str, offset: i64) -> Result<TypedAt, RpcError> {
    let invalid = || {
        RpcError::invalid_params(
            "`offset` must be a position in `text`, in UTF-16 code units, and not inside a \
             character",
        )
    };
    let wanted = usize::try_from(offset).map_err(|_| invalid())?;
    let mut units = 0;
    let mut cursor = None;
    // Where the current word begins: in bytes, and in UTF-16 code units.
    let mut word = (0, 0);
    for (at, character) in text.char_indices() {
        if units == wanted {
            cursor = Some(at);
            break;
        }
        units += character.len_utf16();
        if character.is_whitespace() {
            word = (at + character.len_utf8(), units);
        }
    }
    let cursor = match cursor {
        Some(cursor) => cursor,
        None if units == wanted => text.len(),
        None => return Err(invalid()),
    };
    let (begins, units_before) = word;
    let before = text.get(begins..cursor).ok_or_else(invalid)?;
    let is_first = text[..begins].trim().is_empty();
    let mut characters = before.chars();
    let typed = match characters.next() {
        Some(trigger @ ('@' | '#')) => Typed::File {
            trigger,
            query: characters.as_str().to_owned(),
        },
        Some('/') if is_first => Typed::Command {
            query: characters.as_str().to_owned(),
        },
        _ => Typed::Nothing,
    };
    let start = i64::try_from(units_before).map_err(|_| invalid())?;
    Ok(TypedAt {
        typed,
        start,
        end: offset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_at_the_cursor_is_found_in_utf16_units() {
        let file = |trigger, query: &str| Typed::File {
            trigger,
            query: query.to_owned(),
        };
        let command = |query: &str| Typed::Command {
            query: query.to_owned(),
        };
        let cases = [
            ("@src", 4, file('@', "src"), 0),
            ("@src", 2, file('@', "s"), 0),
            ("see @src/ma", 11, file('@', "src/ma"), 4),
            ("👩‍💻 🎉 @lib", 13, file('@', "lib"), 9),
            ("#read", 5, file('#', "read"), 0),
            ("/com", 4, command("com"), 0),
            ("  /com", 6, command("com"), 2),
            ("not /com", 8, Typed::Nothing, 4),
            ("mail@home", 9, Typed::Nothing, 0),
            ("", 0, Typed::Nothing, 0),
            ("@a b", 4, Typed::Nothing, 3),
        ];
        for (text, offset, typed, start) in cases {
            let at = typed_at(text, offset).unwrap();
            assert_eq!(
                (at.typed, at.start, at.end),
                (typed, start, offset),
                "{text}"
            );
        }
    }

    #[test]
    fn an_offset_that_is_no_position_is_refused() {
        for (text, offset) in [("ab", 3), ("ab", -1), ("🎉", 1), ("", 1)] {
            assert!(typed_at(text, offset).is_err(), "{text} {offset}");
        }
    }
}
