//! A language model on loopback that plays scripts: the user's message says
//! what the model does, so that real agents complete real turns without a
//! network and always in the same way.
//!
//! - `script`: the language of the scripts, and what the model does next;
//! - `tools`: how a wish becomes a call of a tool that the agent offers;
//! - `chat`, `responses`, `messages`, `generate`: the ways in which agents talk to models.

mod chat;
mod generate;
mod messages;
mod responses;
mod script;
mod tools;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use script::{Conversation, Reply};
use tools::Offered;

/// What agents may call the model.
pub(crate) const NAME: &str = "scripted";

/// One way of talking to a model.
struct Dialect {
    /// How the path of a request ends.
    path: &'static str,
    conversation: fn(&Value) -> Conversation,
    tools: fn(&Value) -> Vec<Offered>,
    /// The answer in one piece.
    whole: fn(&Reply) -> Value,
    /// The answer as a stream of events.
    stream: fn(&Reply) -> Vec<Event>,
}

/// An event of a stream, with its name if the dialect gives names.
struct Event {
    name: Option<&'static str>,
    data: String,
}

impl Event {
    fn named(name: &'static str, mut data: Value) -> Self {
        data["type"] = json!(name);
        Self {
            name: Some(name),
            data: data.to_string(),
        }
    }

    fn plain(data: impl ToString) -> Self {
        Self {
            name: None,
            data: data.to_string(),
        }
    }
}

const DIALECTS: [&Dialect; 5] = [
    &chat::DIALECT,
    &responses::DIALECT,
    &messages::DIALECT,
    &generate::STREAMED,
    &generate::WHOLE,
];

/// A model that answers as long as the program runs.
pub(crate) async fn serve() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr().context("the model's address")?;
    let router = Router::new()
        .fallback(answer)
        .layer(DefaultBodyLimit::disable());
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            eprintln!("the model ended: {error}");
        }
    });
    Ok(address)
}

async fn answer(method: Method, uri: Uri, body: Bytes) -> Response {
    let path = uri.path();
    if method != Method::POST {
        return match path.ends_with("/models") {
            true => json_response(json!({"object": "list", "data": [
                {"id": NAME, "object": "model", "type": "model", "display_name": NAME},
            ]})),
            false => StatusCode::OK.into_response(),
        };
    }
    if path.ends_with("/count_tokens") {
        return json_response(json!({"input_tokens": 1}));
    }
    if path.ends_with(":countTokens") {
        return json_response(json!({"totalTokens": 1}));
    }
    let dialect = DIALECTS
        .into_iter()
        .find(|dialect| path.ends_with(dialect.path));
    let body = serde_json::from_slice::<Value>(&body);
    match (dialect, body) {
        (Some(dialect), Ok(body)) => {
            let streams = body["stream"] == true || path.ends_with(generate::STREAMED.path);
            reply(dialect, &body, streams)
        }
        (None, _) => (StatusCode::NOT_FOUND, format!("no model at {path}")).into_response(),
        (_, Err(error)) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

fn reply(dialect: &Dialect, body: &Value, streams: bool) -> Response {
    let conversation = (dialect.conversation)(body);
    let tools = (dialect.tools)(body);
    let reply = script::reply(&conversation, &tools);
    if !streams {
        return json_response((dialect.whole)(&reply));
    }
    let events = (dialect.stream)(&reply).into_iter().map(|event| {
        let name = event.name.map(|name| format!("event: {name}\n"));
        let text = format!("{}data: {}\n\n", name.unwrap_or_default(), event.data);
        Ok::<_, Infallible>(Bytes::from(text))
    });
    let events = futures_util::stream::iter(events);
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::from_stream(events)).into_response()
}

fn json_response(value: Value) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, value.to_string()).into_response()
}

/// A name that was not used before.
fn unique(kind: &str) -> String {
    static USED: AtomicU64 = AtomicU64::new(0);
    let number = USED.fetch_add(1, Ordering::Relaxed);
    format!("{kind}_{}_{number}", std::process::id())
}

/// A text in the pieces in which it is streamed.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(12)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// The text of a message, in whichever of the usual shapes it comes.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().map(text_of).collect();
            texts.join("\n")
        }
        Value::Object(block) => {
            let mut inner = ["text", "content", "output"].into_iter();
            let inner = inner.find_map(|key| block.get(key));
            inner.map(text_of).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
