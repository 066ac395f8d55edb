//! OpenAI's Responses.

use serde_json::{Value, json};

use super::script::{Conversation, Reply, Said};
use super::tools::{Call, Offered};
use super::{Dialect, Event, NAME, pieces, text_of};

pub(super) const DIALECT: Dialect = Dialect {
    path: "/responses",
    conversation,
    tools,
    whole,
    stream,
};

fn conversation(body: &Value) -> Conversation {
    let items = match &body["input"] {
        Value::String(text) => return vec![Said::ByUser(text.clone())],
        input => input.as_array().into_iter().flatten(),
    };
    let said = items.map(|item| {
        let kind = item["type"].as_str().unwrap_or("message");
        match kind {
            "message" if item["role"] == "user" => Said::ByUser(text_of(&item["content"])),
            _ if kind.ends_with("_output") => Said::ByTool,
            _ => Said::Otherwise,
        }
    });
    said.collect()
}

fn tools(body: &Value) -> Vec<Offered> {
    let mut offered = Vec::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        match tool["type"].as_str() {
            // Tools of one origin, in a drawer of their own.
            Some("namespace") => {
                let namespace = tool["name"].as_str().unwrap_or_default();
                let within = tool["tools"].as_array().into_iter().flatten();
                let within = within.filter_map(one).map(|tool| tool.within(namespace));
                offered.extend(within);
            }
            _ => offered.extend(one(tool)),
        }
    }
    offered
}

fn one(tool: &Value) -> Option<Offered> {
    let name = tool["name"].as_str().unwrap_or_default();
    match tool["type"].as_str() {
        Some("function") => Some(Offered::function(name, &tool["parameters"])),
        Some("custom") => Some(Offered::freeform(name)),
        _ => None,
    }
}

fn response(status: &str, output: &[Value]) -> Value {
    json!({
        "id": super::unique("resp"), "object": "response", "created_at": 1, "status": status,
        "model": NAME, "output": output,
        "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 110,
        },
    })
}

fn spoken(text: &str) -> Value {
    json!({
        "id": super::unique("msg"), "type": "message", "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn called(call: &Call) -> Value {
    let (id, call_id) = (super::unique("item"), super::unique("call"));
    let mut item = match &call.input {
        Value::String(text) => json!({
            "id": id, "type": "custom_tool_call", "call_id": call_id, "name": call.name,
            "input": text, "status": "completed",
        }),
        input => json!({
            "id": id, "type": "function_call", "call_id": call_id, "name": call.name,
            "arguments": input.to_string(), "status": "completed",
        }),
    };
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn items(reply: &Reply) -> Vec<Value> {
    let text = Some(&reply.text).filter(|text| !text.is_empty());
    let text = text.map(|text| spoken(text));
    text.into_iter()
        .chain(reply.call.as_ref().map(called))
        .collect()
}

fn whole(reply: &Reply) -> Value {
    response("completed", &items(reply))
}

fn stream(reply: &Reply) -> Vec<Event> {
    let items = items(reply);
    let created = json!({"response": response("in_progress", &[])});
    let mut events = vec![Event::named("response.created", created)];
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        if item["type"] == "message" {
            begun["content"] = json!([]);
        }
        let added = json!({"output_index": index, "item": begun});
        events.push(Event::named("response.output_item.added", added));
        if item["type"] == "message" {
            for piece in pieces(&reply.text) {
                let delta = json!({
                    "item_id": item["id"], "output_index": index, "content_index": 0,
                    "delta": piece,
                });
                events.push(Event::named("response.output_text.delta", delta));
            }
        }
        let done = json!({"output_index": index, "item": item});
        events.push(Event::named("response.output_item.done", done));
    }
    let completed = json!({"response": response("completed", &items)});
    events.push(Event::named("response.completed", completed));
    events
}
