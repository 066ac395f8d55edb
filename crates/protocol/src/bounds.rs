//! How long names may be that come from outside. Names are keys: they stand in
//! tables, in every action about what they name, and in rows of the store, so
//! one that is a mebibyte long costs many.
//!
//! What clients say is looked through here once, where it is decoded. Which
//! fields hold names is told by what the protocol calls them, in all versions.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

/// The longest id: of a client, a turn, a tool call, a message that waits, a
/// session, a chat, a request; and the longest name of a tool.
pub const MAX_ID_BYTES: usize = 256;

/// The longest URI, unless it is one that holds data.
pub const MAX_URI_BYTES: usize = 4 * 1024;

/// The longest title. The titles of all sessions go to every client.
pub const MAX_TITLE_BYTES: usize = 1024;

/// The largest message to an agent, with what is attached to it.
pub const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// The longest message of a commit or a pull request.
pub const MAX_COMMIT_MESSAGE_BYTES: usize = 64 * 1024;

/// What an agent is given of what a message refers to and the host keeps: so
/// many bytes altogether, and so many of them.
pub const MAX_ATTACHED_BYTES: usize = 32 * 1024 * 1024;
pub const MAX_ATTACHED: usize = 100;

/// What the messages that wait in one chat may have altogether, besides what
/// the host keeps of their attachments.
pub const MAX_QUEUED_BYTES: usize = 16 * 1024 * 1024;

/// What a name is, as far as its length is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Id,
    Uri,
    /// The URI of a new channel, whose id is all that follows its scheme.
    NewChannel,
    /// Whatever somebody likes: nobody looks anything up by it.
    Free,
    /// Not a name, but names may be in it.
    Other,
}

/// A name that is too long, in a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    #[error(
        "the id in `{field}` has {bytes} bytes, and an id has at most {MAX_ID_BYTES}; \
         choose a shorter one"
    )]
    Id { field: String, bytes: usize },
    #[error(
        "the URI in `{field}` has {bytes} bytes, and a URI has at most {MAX_URI_BYTES}; \
         write large content with `resourceWrite` and refer to it"
    )]
    Uri { field: String, bytes: usize },
    #[error(
        "the name of a field has {bytes} bytes, and one has at most {MAX_ID_BYTES}; \
         choose a shorter one"
    )]
    Field { bytes: usize },
}

/// Whether somebody may call something that. `what` has the title.
pub fn check_title(what: &str, title: &str) -> Result<(), String> {
    match title.len() {
        _ if title.trim().is_empty() => Err(format!("a {what}'s title must not be empty")),
        bytes if bytes > MAX_TITLE_BYTES => Err(format!(
            "the title has {bytes} bytes, and a title has at most {MAX_TITLE_BYTES}; choose a \
             shorter one"
        )),
        _ => Ok(()),
    }
}

/// Looks through the parameters of a request.
pub fn check_params(method: &str, params: &Value) -> Result<(), TooLong> {
    let new_channel = match method {
        "createSession" | "createTerminal" => Some("channel"),
        "createChat" => Some("chat"),
        "innkeeper/takeBack" => Some("fork"),
        _ => None,
    };
    let kind_of = |field: &str| match Some(field) == new_channel {
        true => Kind::NewChannel,
        false => kind_of(field),
    };
    check_fields(params, &kind_of)
}

/// Looks through an action that a client dispatches.
pub fn check_action(action: &Value) -> Result<(), TooLong> {
    let about = action["type"].as_str().unwrap_or_default();
    // The host chose the ids of these, and they are URIs.
    let has_uris = ["session/customization", "session/mcpServer", "changeset/"];
    let id_is_uri = has_uris.iter().any(|family| about.starts_with(family));
    let kind_of = |field: &str| match field {
        "id" if id_is_uri => Kind::Uri,
        field => kind_of(field),
    };
    check_fields(action, &kind_of)
}

fn kind_of(field: &str) -> Kind {
    match field {
        "id" | "provider" | "toolName" | "order" | "property" | "endTurn" | "before" => Kind::Id,
        "fileId" | "files" => Kind::Uri,
        field if field.ends_with("Id") => Kind::Id,
        "channel"
        | "uri"
        | "resource"
        | "session"
        | "chat"
        | "source"
        | "destination"
        | "directory"
        | "replacement"
        | "subscriptions"
        | "initialSubscriptions"
        | "workingDirectories"
        | "workingDirectory"
        | "cwd"
        | "after"
        | "url"
        | "cursor"
        | "defaultChat"
        | "terminal"
        | "root" => Kind::Uri,
        field if field.ends_with("Uri") => Kind::Uri,
        "_meta" | "meta" | "structuredContent" | "inputSchema" | "outputSchema" | "input"
        | "toolInput" | "config" | "values" | "value" | "data" | "error" | "capabilities" => {
            Kind::Free
        }
        _ => Kind::Other,
    }
}

fn check_fields(value: &Value, kind_of: &impl Fn(&str) -> Kind) -> Result<(), TooLong> {
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(field, value)| {
            if field.len() > MAX_ID_BYTES {
                let bytes = field.len();
                return Err(TooLong::Field { bytes });
            }
            match field.as_str() {
                "tools" => check(field, value, Kind::Other, &|field| match field {
                    "name" => Kind::Id,
                    field => kind_of(field),
                }),
                field => check(field, value, kind_of(field), kind_of),
            }
        }),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| check_fields(item, kind_of)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn check(
    field: &str,
    value: &Value,
    kind: Kind,
    kind_of: &dyn Fn(&str) -> Kind,
) -> Result<(), TooLong> {
    let (field, inside) = (field.to_owned(), &|field: &str| kind_of(field));
    match (kind, value) {
        (Kind::Free, _) => Ok(()),
        (Kind::Id, Value::String(id)) if id.len() > MAX_ID_BYTES => {
            let bytes = id.len();
            Err(TooLong::Id { field, bytes })
        }
        (Kind::NewChannel, Value::String(uri)) if id_in(uri).len() > MAX_ID_BYTES => {
            let bytes = id_in(uri).len();
            Err(TooLong::Id { field, bytes })
        }
        (Kind::Uri, Value::String(uri))
            if uri.len() > MAX_URI_BYTES && !uri.starts_with("data:") =>
        {
            let bytes = uri.len();
            Err(TooLong::Uri { field, bytes })
        }
        (Kind::Id | Kind::Uri, Value::Array(items)) => items
            .iter()
            .try_for_each(|item| check(&field, item, kind, kind_of)),
        (_, inner) => check_fields(inner, inside),
    }
}

/// What follows the scheme of a channel's URI.
fn id_in(uri: &str) -> &str {
    let id = uri.split_once(':').map_or(uri, |(_, id)| id);
    id.trim_start_matches('/')
}

/// An agent's name for something, as one that is not too long. A long one is
/// given the same short one each time: nothing is lost, since the agent's own
/// is only ever compared with itself.
pub fn bounded_id(id: &str) -> String {
    if id.len() <= MAX_ID_BYTES {
        return id.to_owned();
    }
    let mut digest = DefaultHasher::new();
    id.hash(&mut digest);
    let digest = format!("~{:016x}", digest.finish());
    cut(id, MAX_ID_BYTES - digest.len()).to_owned() + &digest
}

/// The beginning of a text, of at most so many bytes.
pub fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn long(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    #[test]
    fn names_of_any_kind_are_found_wherever_they_stand() {
        let id = |bytes| json!(long(bytes));
        let uri = |bytes: usize| json!(format!("file:///{}", long(bytes - 8)));
        let cases = [
            (
                json!({"type": "chat/turnStarted", "turnId": id(257)}),
                "turnId",
            ),
            (
                json!({"type": "chat/pendingMessageSet", "id": id(257)}),
                "id",
            ),
            (
                json!({"type": "chat/queuedMessagesReordered", "order": ["a", id(257)]}),
                "order",
            ),
            (
                json!({"activeClient": {"clientId": id(257), "tools": []}}),
                "clientId",
            ),
            (
                json!({"activeClient": {"tools": [{"name": id(257)}]}}),
                "name",
            ),
            (
                json!({"message": {"attachments": [{"resource": {"uri": uri(4097)}}]}}),
                "uri",
            ),
            (
                json!({"type": "changeset/filesReviewChanged", "files": [uri(4097)]}),
                "files",
            ),
            (
                json!({"type": "session/customizationToggled", "id": uri(4097)}),
                "id",
            ),
        ];
        for (action, field) in cases {
            let why = check_action(&action).unwrap_err();
            assert!(
                why.to_string().contains(&format!("`{field}`")),
                "{action}: {why}"
            );
        }
        let field = check_action(&json!({"answers": {long(257): 1}}));
        assert_eq!(field, Err(TooLong::Field { bytes: 257 }));
    }

    #[test]
    fn names_that_are_just_short_enough_pass_and_so_does_what_is_no_name() {
        let big = long(10_000);
        for action in [
            json!({"type": "chat/turnStarted", "turnId": long(256), "message": {"text": big}}),
            json!({"type": "session/customizationToggled", "id": format!("file:///{}", long(4_000))}),
            json!({"message": {"attachments": [{"uri": format!("data:,{big}")}]}}),
            json!({"result": {"structuredContent": {"id": big}, "_meta": {"uri": big}}}),
            json!({"config": {"id": big}, "name": big, "title": big}),
            json!(null),
        ] {
            assert_eq!(check_action(&action), Ok(()));
        }
    }

    #[test]
    fn the_id_of_a_new_channel_is_what_follows_its_scheme() {
        for (method, field) in [
            ("createSession", "channel"),
            ("createTerminal", "channel"),
            ("createChat", "chat"),
        ] {
            let with = |bytes| json!({field: format!("ahp-x:/{}", long(bytes))});
            assert_eq!(check_params(method, &with(256)), Ok(()));
            assert!(check_params(method, &with(257)).is_err(), "{method}");
        }
        // One that exists may have a longer one from before.
        let known = json!({"channel": format!("ahp-session:/{}", long(300))});
        assert_eq!(check_params("subscribe", &known), Ok(()));
    }

    #[test]
    fn a_long_id_of_an_agent_becomes_a_short_one_of_its_own() {
        let (one, other) = (long(300), long(301));
        assert_eq!(bounded_id("call"), "call");
        assert_eq!(bounded_id(&one), bounded_id(&one));
        assert_ne!(bounded_id(&one), bounded_id(&other));
        assert_eq!(bounded_id(&one).len(), MAX_ID_BYTES);
        assert!(bounded_id(&"é".repeat(200)).len() <= MAX_ID_BYTES);
    }
}
