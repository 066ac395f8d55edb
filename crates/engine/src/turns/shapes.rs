//! Whether what a client attaches to a message or returns from a tool is what
//! the protocol says it is.
//!
//! The protocol's types read whatever they do not understand as an unknown
//! kind, so that kinds of newer versions survive. Something of a *known* kind
//! that is not as it should be would survive as well, and every client that
//! trusts its types would stumble over it. Such things are refused here. Kinds
//! that no version knows pass unchanged.

use innkeeper_protocol::newest::state::{
    Message, MessageAnnotationsAttachment, MessageAttachment, MessageChatAttachment,
    MessageEmbeddedResourceAttachment, MessageResourceAttachment, SimpleMessageAttachment,
    ToolResultContent, ToolResultEmbeddedResourceContent, ToolResultFileEditContent,
    ToolResultResourceContent, ToolResultSubagentContent, ToolResultTerminalContent,
    ToolResultTextContent,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) fn check_attachments(message: &Message) -> Result<(), String> {
    let attachments = message.attachments.iter().flatten();
    for (index, attachment) in attachments.enumerate() {
        if let MessageAttachment::Unknown(value) = attachment {
            let kind = kind_of(value);
            let checked = kind.and_then(|kind| match kind {
                "simple" => read::<SimpleMessageAttachment>(kind, value),
                "embeddedResource" => read::<MessageEmbeddedResourceAttachment>(kind, value),
                "resource" => read::<MessageResourceAttachment>(kind, value),
                "annotations" => read::<MessageAnnotationsAttachment>(kind, value),
                "chat" => read::<MessageChatAttachment>(kind, value),
                // What clients of draft 1 send has become a resource.
                "file" | "directory" | "selection" => Err(outdated(kind, "resource")),
                _ => Ok(()),
            });
            checked.map_err(|why| format!("attachment {} is malformed: {why}", index + 1))?;
        }
    }
    Ok(())
}

pub(super) fn check_content(content: &[ToolResultContent]) -> Result<(), String> {
    for (index, block) in content.iter().enumerate() {
        if let ToolResultContent::Unknown(value) = block {
            let kind = kind_of(value);
            let checked = kind.and_then(|kind| match kind {
                "text" => read::<ToolResultTextContent>(kind, value),
                "embeddedResource" => read::<ToolResultEmbeddedResourceContent>(kind, value),
                "resource" => read::<ToolResultResourceContent>(kind, value),
                "fileEdit" => read::<ToolResultFileEditContent>(kind, value),
                "terminal" => read::<ToolResultTerminalContent>(kind, value),
                "subagent" => read::<ToolResultSubagentContent>(kind, value),
                // What clients of 0.5 and 0.6 send has become a terminal.
                "terminalComplete" => Err(outdated(kind, "terminal")),
                _ => Ok(()),
            });
            checked.map_err(|why| format!("content {} is malformed: {why}", index + 1))?;
        }
    }
    Ok(())
}

fn kind_of(value: &Value) -> Result<&str, String> {
    let kind = value.as_object().and_then(|it| it.get("type"));
    let kind = kind.and_then(Value::as_str);
    kind.ok_or_else(|| "it must be an object with a `type`".to_owned())
}

/// Says what is wrong with something that could not be read as what it is.
fn read<T: DeserializeOwned>(kind: &str, value: &Value) -> Result<(), String> {
    match T::deserialize(value) {
        Ok(_) => Ok(()),
        Err(why) => Err(format!("`{kind}`: {why}")),
    }
}

fn outdated(kind: &str, now: &str) -> String {
    format!("this version has no `{kind}`; send a `{now}`")
}
