//! The tools of clients and their results, in the words of MCP.

use innkeeper_protocol::agent::ClientTool;
use innkeeper_protocol::newest::state::{ToolCallResult, ToolResultContent};
use serde_json::{Value, json};

/// The tools that an agent can be told of, in their order. Of two clients with
/// a tool of the same name, the first has it.
pub(super) fn listed(tools: &[ClientTool]) -> Vec<Value> {
    let mut listed: Vec<Value> = Vec::new();
    for tool in tools.iter().filter_map(description) {
        if listed.iter().all(|known| known["name"] != tool["name"]) {
            listed.push(tool);
        }
    }
    listed
}

/// A tool without a schema takes any object. Of one whose schema is something
/// else than an object, an agent could make nothing.
fn description(tool: &ClientTool) -> Option<Value> {
    let definition = &tool.definition;
    let schema = definition.input_schema.clone();
    let mut schema = schema.unwrap_or_else(|| json!({}));
    let properties = schema.as_object_mut()?;
    properties.entry("type").or_insert_with(|| json!("object"));
    let mut described = json!({"name": definition.name, "inputSchema": schema});
    for (key, text) in [
        ("title", &definition.title),
        ("description", &definition.description),
    ] {
        if let Some(text) = text {
            described[key] = json!(text);
        }
    }
    if let Some(annotations) = &definition.annotations {
        described["annotations"] = json!(annotations);
    }
    Some(described)
}

pub(super) fn nobody_ran_it() -> Value {
    json!({"isError": true, "content": [{"type": "text", "text": "No client ran this tool."}]})
}

/// A result as the agent hears it.
pub(super) fn told(result: &ToolCallResult) -> Value {
    let blocks = result.content.iter().flatten();
    let mut content: Vec<Value> = blocks.filter_map(block).collect();
    let error = result.error.as_ref().map(|error| &error["message"]);
    if let Some(Value::String(message)) = error {
        content.push(json!({"type": "text", "text": message}));
    }
    if content.is_empty() {
        content.push(json!({"type": "text", "text": result.past_tense_message.as_text()}));
    }
    let mut told = json!({"isError": !result.success, "content": content});
    if let Some(structured) = &result.structured_content {
        told["structuredContent"] = json!(structured);
    }
    told
}

fn block(content: &ToolResultContent) -> Option<Value> {
    match content {
        ToolResultContent::Text(text) => Some(json!({"type": "text", "text": text.text})),
        ToolResultContent::EmbeddedResource(embedded) => {
            let (data, kind) = (&embedded.data, &embedded.content_type);
            Some(match kind.split('/').next() {
                Some(family @ ("image" | "audio")) => {
                    json!({"type": family, "data": data, "mimeType": kind})
                }
                _ => json!({"type": "resource", "resource": {
                    "uri": "attachment:result", "mimeType": kind, "blob": data,
                }}),
            })
        }
        // What lies elsewhere is told by where it lies.
        other => {
            let other = json!(other);
            let uri = other["uri"].as_str().or(other["resource"].as_str())?;
            Some(json!({"type": "text", "text": uri}))
        }
    }
}
