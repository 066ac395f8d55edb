//! Annotations as an agent is told them: text, in English, with the ids that
//! they can be referred to by.

use std::fmt::Write as _;

use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{
    Annotation, AnnotationEntry, Message, MessageAnnotationsAttachment, MessageAttachment,
    SimpleMessageAttachment, TextRange,
};
use serde_json::Value;

use crate::core::Core;
use crate::core::channels::Annotations;

/// How much an agent is told of one attachment.
const MOST_TOLD_BYTES: usize = 256 * 1024;

/// The message with the annotations that it refers to in it.
pub(crate) fn told(core: &Core, mut message: Message) -> Message {
    for attachment in message.attachments.iter_mut().flatten() {
        if let MessageAttachment::Annotations(reference) = attachment
            && let Some(known) = core.channels.annotations(reference.resource.as_str())
        {
            let directory = core
                .channels
                .session(&known.session)
                .and_then(|session| session.first_directory());
            *attachment = MessageAttachment::Simple(SimpleMessageAttachment {
                label: reference.label.clone(),
                range: reference.range.clone(),
                display_kind: reference.display_kind.clone(),
                meta: None,
                model_representation: Some(text_of(known, reference, directory)),
            });
        }
    }
    message
}

/// Those that are named, or else all that are open.
fn text_of(
    known: &Annotations,
    reference: &MessageAnnotationsAttachment,
    directory: Option<&str>,
) -> String {
    let mut text = String::from("Comments on files:\n");
    let mut left_out = 0;
    let mut tell = |told: String| match text.len() + told.len() > MOST_TOLD_BYTES {
        true => left_out += 1,
        false => text.push_str(&told),
    };
    match &reference.annotation_ids {
        Some(ids) => {
            for id in ids {
                tell(match known.find(id) {
                    Some(annotation) => text_of_one(annotation, directory),
                    None => format!("\n- The comment `{id}` has been deleted.\n"),
                });
            }
        }
        None => {
            let open = known.state.annotations.iter().filter(|it| !it.resolved);
            open.for_each(|annotation| tell(text_of_one(annotation, directory)));
        }
    }
    text.push_str(
        "\nWhen you have dealt with a comment, call the tool `resolve_annotation` with its id, if \
         you have that tool.\n",
    );
    if left_out > 0 {
        let _ = writeln!(text, "\n({left_out} more comments did not fit.)");
    }
    text
}

fn text_of_one(annotation: &Annotation, directory: Option<&str>) -> String {
    let path = path_of(&annotation.resource, directory);
    let lines = match &annotation.range {
        Some(range) => format!(", {}", lines_of(range)),
        None => String::new(),
    };
    let state = match annotation.resolved {
        true => ", resolved",
        false => "",
    };
    let mut text = format!("\n- {path}{lines} (comment `{}`{state}):\n", annotation.id);
    let host = annotation.meta.as_ref().and_then(of_host);
    if host.and_then(|it| it["anchor"].as_str()) == Some("lost") {
        text.push_str("  These lines are no longer in the file:\n");
    }
    let quoted = host.and_then(|it| it["lines"].as_array());
    for line in quoted.into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "  > {line}");
    }
    for entry in &annotation.entries {
        let said = match &entry.text {
            StringOrMarkdown::Plain(text) => text,
            StringOrMarkdown::Markdown { markdown } => markdown,
        };
        let said = said.trim().replace('\n', "\n    ");
        let _ = writeln!(text, "  {}: {said}", author_of(entry));
    }
    text
}

/// Who said it, by the note that comes with it: the protocol has no field.
fn author_of(entry: &AnnotationEntry) -> &str {
    let author = entry.meta.as_ref().and_then(of_host);
    let author = author.and_then(|it| it["author"].as_str());
    author.filter(|it| !it.is_empty()).unwrap_or("user")
}

/// What this host, and clients that know it, keep in `_meta`.
fn of_host(meta: &JsonObject) -> Option<&Value> {
    meta.get("innkeeper")
}

/// Within the session's directory where it is there; people count from one.
fn path_of(resource: &str, directory: Option<&str>) -> String {
    let below = directory
        .and_then(|directory| resource.strip_prefix(directory.trim_end_matches('/')))
        .and_then(|rest| rest.strip_prefix('/'));
    let path = below
        .or_else(|| resource.strip_prefix("file://"))
        .unwrap_or(resource);
    crate::core::changeset_uri::percent_decoded(path)
}

fn lines_of(range: &TextRange) -> String {
    let first = range.start.line + 1;
    // A range that ends where a line begins has nothing of that line.
    let ends_before = range.end.character == 0 && range.end.line > range.start.line;
    let last = range.end.line + i64::from(!ends_before);
    match first == last {
        true => format!("line {first}"),
        false => format!("lines {first}-{last}"),
    }
}
