//! Anthropic's Messages.

use serde_json::{Value, json};

use super::script::{Conversation, Reply, Said};
use super::tools::Offered;
use super::{Dialect, Event, NAME, pieces, text_of};

pub(super) const DIALECT: Dialect = Dialect {
    path: "/messages",
    conversation,
    tools,
    whole,
    stream,
};

fn conversation(body: &Value) -> Conversation {
    let mut said = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] != "user" {
            said.push(Said::Otherwise);
            continue;
        }
        // Results of tools come as messages of the user, with or without words.
        match &message["content"] {
            Value::Array(blocks) => {
                let each = blocks
                    .iter()
                    .map(|block| match block["type"] == "tool_result" {
                        true => Said::ByTool,
                        false => Said::ByUser(text_of(block)),
                    });
                said.extend(each);
            }
            content => said.push(Said::ByUser(text_of(content))),
        }
    }
    said
}

fn tools(body: &Value) -> Vec<Offered> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let offered = tools.filter_map(|tool| {
        Some(Offered::function(
            tool["name"].as_str()?,
            &tool["input_schema"],
        ))
    });
    offered.collect()
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.call {
        Some(_) => "tool_use",
        None => "end_turn",
    }
}

fn message(content: Value, stop_reason: Value) -> Value {
    json!({
        "id": super::unique("msg"), "type": "message", "role": "assistant", "model": NAME,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    })
}

fn blocks(reply: &Reply) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !reply.text.is_empty() {
        blocks.push(json!({"type": "text", "text": reply.text}));
    }
    if let Some(call) = &reply.call {
        let id = super::unique("toolu");
        blocks.push(json!({
            "type": "tool_use", "id": id, "name": call.name, "input": call.input,
        }));
    }
    blocks
}

fn whole(reply: &Reply) -> Value {
    message(json!(blocks(reply)), json!(stop_reason(reply)))
}

fn stream(reply: &Reply) -> Vec<Event> {
    let start = json!({"message": message(json!([]), Value::Null)});
    let mut events = vec![Event::named("message_start", start)];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        let (empty, deltas): (Value, Vec<Value>) = match block["type"] == "text" {
            true => {
                let deltas = pieces(&reply.text).into_iter();
                let deltas = deltas.map(|piece| json!({"type": "text_delta", "text": piece}));
                (json!({"type": "text", "text": ""}), deltas.collect())
            }
            false => {
                let input = block["input"].to_string();
                let mut empty = block;
                empty["input"] = json!({});
                let deltas = pieces(&input).into_iter();
                let deltas =
                    deltas.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
                (empty, deltas.collect())
            }
        };
        let start = json!({"index": index, "content_block": empty});
        events.push(Event::named("content_block_start", start));
        for delta in deltas {
            let delta = json!({"index": index, "delta": delta});
            events.push(Event::named("content_block_delta", delta));
        }
        events.push(Event::named("content_block_stop", json!({"index": index})));
    }
    let delta = json!({
        "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
        "usage": {"output_tokens": 10},
    });
    events.push(Event::named("message_delta", delta));
    events.push(Event::named("message_stop", json!({})));
    events
}
