//! OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::script::{Conversation, Reply, Said};
use super::tools::Offered;
use super::{Dialect, Event, NAME, pieces, text_of};

pub(super) const DIALECT: Dialect = Dialect {
    path: "/chat/completions",
    conversation,
    tools,
    whole,
    stream,
};

fn conversation(body: &Value) -> Conversation {
    let messages = body["messages"].as_array().into_iter().flatten();
    let said = messages.map(|message| match message["role"].as_str() {
        Some("user") => Said::ByUser(text_of(&message["content"])),
        Some("tool") => Said::ByTool,
        _ => Said::Otherwise,
    });
    said.collect()
}

fn tools(body: &Value) -> Vec<Offered> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let offered = tools.filter_map(|tool| {
        let function = &tool["function"];
        Some(Offered::function(
            function["name"].as_str()?,
            &function["parameters"],
        ))
    });
    offered.collect()
}

fn usage() -> Value {
    json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110})
}

fn finish(reply: &Reply) -> &'static str {
    match reply.call {
        Some(_) => "tool_calls",
        None => "stop",
    }
}

fn whole(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text});
    if let Some(call) = &reply.call {
        message["tool_calls"] = json!([{
            "id": super::unique("call"), "type": "function",
            "function": {"name": call.name, "arguments": call.input.to_string()},
        }]);
    }
    json!({
        "id": super::unique("chat"), "object": "chat.completion", "created": 1, "model": NAME,
        "usage": usage(),
        "choices": [{"index": 0, "finish_reason": finish(reply), "message": message}],
    })
}

fn stream(reply: &Reply) -> Vec<Event> {
    let id = super::unique("chat");
    let chunk = |delta: Value, finish: Value| {
        Event::plain(json!({
            "id": id, "object": "chat.completion.chunk", "created": 1, "model": NAME,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }))
    };
    let mut events = vec![chunk(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    for piece in pieces(&reply.text) {
        events.push(chunk(json!({"content": piece}), Value::Null));
    }
    if let Some(call) = &reply.call {
        let function = json!({"name": call.name, "arguments": ""});
        let begin = json!({
            "index": 0, "id": super::unique("call"), "type": "function", "function": function,
        });
        events.push(chunk(json!({"tool_calls": [begin]}), Value::Null));
        for piece in pieces(&call.input.to_string()) {
            let more = json!({"index": 0, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    events.push(chunk(json!({}), json!(finish(reply))));
    events.push(Event::plain(json!({
        "id": id, "object": "chat.completion.chunk", "created": 1, "model": NAME,
        "choices": [], "usage": usage(),
    })));
    events.push(Event::plain("[DONE]"));
    events
}
