//! What may complete what is being typed: in a message, files after `@` or `#`
//! and the agent's commands after a leading `/`; in a setting, its values.

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AgentCommandInfo, ConfigQuery};
use innkeeper_protocol::newest::commands::{
    CompletionItem, CompletionItemKind, CompletionsParams, CompletionsResult,
    SessionConfigCompletionsParams, SessionConfigCompletionsResult, SessionConfigValueItem,
};
use innkeeper_protocol::newest::state::{
    MessageAttachment, MessageResourceAttachment, SessionState, SimpleMessageAttachment,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::settings::BRANCH;
use innkeeper_protocol::workspace::FoundFile;
use serde_json::json;

use crate::agents::{Agents, schema_of_sessions};
use crate::core::Core;
use crate::core::channels::Chat;
use crate::customizations::invocable;
use crate::effect::{ConnectionId, Effect, Ticket};
use crate::labels::Locale;
use crate::turns::Turns;

/// How many items an answer has at most.
const MOST_ITEMS: usize = 50;

/// What makes a client ask for completions.
pub(crate) const TRIGGERS: [&str; 3] = ["@", "#", "/"];

/// What is being typed at the cursor.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    File { trigger: char, query: String },
    Command { query: String },
    Nothing,
}

/// A word of the input, and where it stands in UTF-16 code units.
#[derive(Debug, PartialEq, Eq)]
struct TypedAt {
    typed: Typed,
    start: i64,
    end: i64,
}

/// The clients that wait for what is being looked for.
#[derive(Debug, Default)]
pub(crate) struct Completions {
    files: HashMap<Ticket, (ConnectionId, RequestId, TypedAt)>,
    values: HashMap<Ticket, (ConnectionId, RequestId)>,
}

impl Completions {
    /// Completes a message.
    pub(crate) fn complete(
        &mut self,
        core: &mut Core,
        turns: &Turns,
        (connection, id): (ConnectionId, RequestId),
        params: &CompletionsParams,
    ) {
        match found(core, turns, params) {
            Ok((at, Found::Now(items))) => {
                let items = items.into_iter().map(|item| item.placed(&at)).collect();
                let reply = Reply::Completions(CompletionsResult { items });
                core.reply(connection, id, reply);
            }
            Ok((at, Found::Search { directories, query })) => {
                let ticket = core.next_ticket();
                self.files.insert(ticket, (connection, id, at));
                core.effect(Effect::FindFiles {
                    ticket,
                    by: connection,
                    directories,
                    query,
                    limit: MOST_ITEMS,
                });
            }
            Err(error) => core.fail(connection, Some(id), error),
        }
    }

    pub(crate) fn files_found(&mut self, core: &mut Core, ticket: Ticket, files: Vec<FoundFile>) {
        if let Some((connection, id, at)) = self.files.remove(&ticket) {
            let reply = Reply::Completions(file_items(&at, files));
            core.reply(connection, id, reply);
        }
    }

    /// Completes the value of a session's setting.
    pub(crate) fn complete_settings(
        &mut self,
        core: &mut Core,
        agents: &Agents,
        (connection, id): (ConnectionId, RequestId),
        params: SessionConfigCompletionsParams,
        locale: Locale,
    ) {
        let agent = match agents.wanted(core, params.provider.as_deref()) {
            Ok(agent) => agent,
            Err(error) => return core.fail(connection, Some(id), error),
        };
        let schema = schema_of_sessions(core, agent, locale);
        let known = schema.is_some_and(|it| it.properties.contains_key(&params.property));
        if !known {
            let error = RpcError::invalid_params(format!(
                "`{}` has no session setting `{}`",
                agent.info.provider, params.property
            ));
            return core.fail(connection, Some(id), error);
        }
        let ticket = core.next_ticket();
        self.values.insert(ticket, (connection, id));
        let query = params.query.unwrap_or_default();
        let here = params.working_directory.as_ref();
        let here = here.filter(|directory| directory.starts_with("file:"));
        if let Some(directory) = here.filter(|_| params.property == BRANCH) {
            let directory = directory.clone();
            return core.effect(Effect::ListBranches {
                ticket,
                directory,
                query,
            });
        }
        let query = Box::new(ConfigQuery {
            provider: agent.info.provider.clone(),
            directory: params.working_directory,
            config: params.config.unwrap_or_default(),
            property: params.property,
            query,
        });
        core.effect(Effect::CompleteConfig { ticket, query });
    }

    pub(crate) fn values_found(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        items: Vec<SessionConfigValueItem>,
    ) {
        if let Some((connection, id)) = self.values.remove(&ticket) {
            let result = SessionConfigCompletionsResult { items };
            core.reply(connection, id, Reply::CompleteSessionConfig(result));
        }
    }

    /// Nobody waits behind a connection that has ended.
    pub(crate) fn forget_connection(&mut self, connection: ConnectionId) {
        self.files.retain(|_, (waiting, ..)| *waiting != connection);
        self.values.retain(|_, (waiting, _)| *waiting != connection);
    }
}

fn found(
    core: &Core,
    turns: &Turns,
    params: &CompletionsParams,
) -> Result<(TypedAt, Found), RpcError> {
    let channel = ChannelUri::from(params.channel.as_str());
    let Some(chat) = chat_meant(core, &channel) else {
        return Err(RpcError::session_not_found(channel.as_str()));
    };
    if params.kind != CompletionItemKind::UserMessage {
        return Err(RpcError::invalid_params(
            "only `userMessage` is completed here",
        ));
    }
    let at = typed_at(&params.text, params.offset)?;
    let session = core.channels.session(&chat.session).map(|it| &it.state);
    let found = match &at.typed {
        Typed::Nothing => Found::Now(Vec::new()),
        Typed::Command { query } => {
            Found::Now(commands(turns.commands_of(&chat.uri), session, query))
        }
        Typed::File { query, .. } => {
            let directories = core.channels.directories_of_chat(chat);
            match directories.is_empty() {
                false => Found::Search {
                    directories: directories.into_iter().cloned().collect(),
                    query: query.clone(),
                },
                true => Found::Now(Vec::new()),
            }
        }
    };
    Ok((at, found))
}

/// The chat, or the leading one of a session: clients ask for either.
fn chat_meant<'a>(core: &'a Core, channel: &ChannelUri) -> Option<&'a Chat> {
    if let Some(chat) = core.channels.chat(channel) {
        return Some(chat);
    }
    let session = core.channels.session(channel)?;
    let default = session.state.default_chat.as_deref()?;
    core.channels.chat(default)
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
fn commands(
    of_agent: &[AgentCommandInfo],
    session: Option<&SessionState>,
    query: &str,
) -> Vec<Candidate> {
    let wanted = query.to_lowercase();
    let matches = |name: &str| name.to_lowercase().starts_with(&wanted);
    let own = of_agent.iter().map(|command| {
        let label = format!("/{}", command.name);
        let mut about = json!({"command": command.name, "description": command.description});
        if let Some(hint) = &command.hint {
            about["argumentHint"] = json!(hint);
        }
        let attachment = MessageAttachment::Simple(SimpleMessageAttachment {
            label: label.clone(),
            range: None,
            display_kind: Some("command".to_owned()),
            meta: about.as_object().cloned(),
            model_representation: None,
        });
        (command.name.clone(), label, attachment)
    });
    let known = |name: &str| of_agent.iter().any(|command| command.name == name);
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

fn file_items(at: &TypedAt, files: Vec<FoundFile>) -> CompletionsResult {
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
