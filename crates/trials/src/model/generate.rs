//! Google's GenerateContent. Whether the answer streams is in the path, so that
//! there are two dialects that differ in nothing else.

use serde_json::{Value, json};

use super::script::{Conversation, Reply, Said};
use super::tools::Offered;
use super::{Dialect, Event, NAME, pieces};

pub(super) const STREAMED: Dialect = Dialect {
    path: ":streamGenerateContent",
    conversation,
    tools,
    whole,
    stream,
};

pub(super) const WHOLE: Dialect = Dialect {
    path: ":generateContent",
    ..STREAMED
};

fn conversation(body: &Value) -> Conversation {
    let contents = body["contents"].as_array().into_iter().flatten();
    let said = contents.map(|content| {
        let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
        let is_result = |part: &Value| part["functionResponse"].is_object();
        match content["role"].as_str() {
            _ if parts.iter().any(is_result) => Said::ByTool,
            Some("user") | None => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                Said::ByUser(texts.collect::<Vec<_>>().join("\n"))
            }
            _ => Said::Otherwise,
        }
    });
    said.collect()
}

fn tools(body: &Value) -> Vec<Offered> {
    let groups = body["tools"].as_array().into_iter().flatten();
    let functions = groups.flat_map(|group| {
        let functions = group["functionDeclarations"].as_array();
        functions.into_iter().flatten()
    });
    let offered = functions.filter_map(|function| {
        let schema = match &function["parametersJsonSchema"] {
            Value::Null => &function["parameters"],
            schema => schema,
        };
        Some(Offered::function(function["name"].as_str()?, schema))
    });
    offered.collect()
}

fn answer(parts: &[Value], is_last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if is_last {
        candidate["finishReason"] = json!("STOP");
    }
    json!({
        "candidates": [candidate],
        "modelVersion": NAME,
        "responseId": super::unique("response"),
        "usageMetadata": {
            "promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110,
        },
    })
}

fn called(reply: &Reply) -> Option<Value> {
    let call = reply.call.as_ref()?;
    Some(json!({"functionCall": {
        "id": super::unique("call"), "name": call.name, "args": call.input,
    }}))
}

fn whole(reply: &Reply) -> Value {
    let mut parts = vec![json!({"text": reply.text})];
    parts.extend(called(reply));
    answer(&parts, true)
}

fn stream(reply: &Reply) -> Vec<Event> {
    let spoken = pieces(&reply.text).into_iter();
    let spoken = spoken.map(|piece| Event::plain(answer(&[json!({"text": piece})], false)));
    let mut events: Vec<Event> = spoken.collect();
    let last: Vec<Value> = called(reply).into_iter().collect();
    events.push(Event::plain(answer(&last, true)));
    events
}
