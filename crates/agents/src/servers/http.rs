//! A server at an address: each message is a request of its own, and the answer
//! to it is one message or a stream of them ("streamable HTTP").

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use innkeeper_protocol::mcp::hosted::{BearerToken, McpFailure};
use innkeeper_protocol::newest::state::McpOAuthClient;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use url::Url;

use super::challenge;
use super::events::Events;
use super::link::{Heard, LONGEST, RequestNo, understood};
use super::web::{self, Answer};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// How much that came may wait to be looked at. Beyond, servers have to wait.
const WAITING: usize = 16;

/// Messages under way that nothing is to come back for: answers, and news. Each
/// is a connection. Beyond, a server is not heard, so that one that asks and
/// asks cannot use up all that the host may have.
const MOST_LOOSE: usize = 32;

/// How long a server may take to accept such a message.
const ACCEPTING: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct HttpLink {
    url: Arc<Url>,
    headers: HeaderMap,
    has_token: bool,
    /// What people sign in with, if they need to be told.
    pub(super) oauth_client: Option<String>,
    session: watch::Sender<Option<HeaderValue>>,
    to_be_heard: mpsc::Sender<Heard>,
    heard: mpsc::Receiver<Heard>,
    tasks: JoinSet<()>,
    loose: JoinSet<()>,
    open: HashMap<RequestNo, AbortHandle>,
}

impl HttpLink {
    pub(super) fn new(
        url: &str,
        with: &BTreeMap<String, String>,
        token: Option<BearerToken>,
    ) -> Result<Self, McpFailure> {
        let url = web::address(url).map_err(McpFailure::Unreachable)?;
        let mut headers = HeaderMap::new();
        for (name, value) in with {
            let parsed = name.parse::<HeaderName>().ok().zip(value.parse().ok());
            let Some((name, value)) = parsed else {
                let why = format!("the header `{name}` has a name or a value that cannot be sent");
                return Err(McpFailure::Unreachable(why));
            };
            let mut value: HeaderValue = value;
            // Most of these are keys.
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let takes = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, takes);
        let (to_be_heard, heard) = mpsc::channel(WAITING);
        let mut link = Self {
            url: Arc::new(url),
            headers,
            has_token: false,
            oauth_client: None,
            session: watch::Sender::new(None),
            to_be_heard,
            heard,
            tasks: JoinSet::new(),
            loose: JoinSet::new(),
            open: HashMap::new(),
        };
        if let Some(token) = token {
            link.authorize(token);
        }
        Ok(link)
    }

    pub(super) fn authorize(&mut self, token: BearerToken) {
        // A token that cannot be sent is refused by the server, as any other.
        if let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", token.0)) {
            value.set_sensitive(true);
            self.headers.insert(AUTHORIZATION, value);
            self.has_token = true;
        }
    }

    pub(super) fn agreed(&mut self, revision: &str) {
        if let Ok(value) = HeaderValue::from_str(revision) {
            self.headers.insert(REVISION, value);
        }
    }

    /// Sends a message without waiting.
    pub(super) fn post(&mut self, message: Value, no: Option<RequestNo>) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|_, task| !task.is_finished());
        let mut headers = self.headers.clone();
        if let Some(session) = self.session.borrow().clone() {
            headers.insert(SESSION, session);
        }
        let request = Post {
            url: Arc::clone(&self.url),
            headers,
            body: message.to_string().into(),
            no,
            had_token: self.has_token,
            oauth_client: self.oauth_client.clone(),
            session: self.session.clone(),
            to: self.to_be_heard.clone(),
        };
        let carried_out = request.carry_out();
        match no {
            Some(no) => {
                self.open.insert(no, self.tasks.spawn(carried_out));
            }
            None => {
                // What it does not accept is lost, as with a broken connection.
                let accepted = tokio::time::timeout(ACCEPTING, carried_out);
                self.loose.spawn(async move {
                    let _ = accepted.await;
                });
            }
        }
    }

    pub(super) fn forget(&mut self, no: RequestNo) {
        if let Some(task) = self.open.remove(&no) {
            task.abort();
        }
    }

    /// Whether the server accepts too little of what it is told.
    pub(super) fn is_behind(&mut self) -> bool {
        while self.loose.try_join_next().is_some() {}
        self.loose.len() >= MOST_LOOSE
    }

    pub(super) async fn next(&mut self) -> Heard {
        while self.is_behind() {
            self.loose.join_next().await;
        }
        match self.heard.recv().await {
            Some(heard) => heard,
            // It is held here as well, so this does not happen.
            None => std::future::pending().await,
        }
    }
}

/// One message on its way.
struct Post {
    url: Arc<Url>,
    headers: HeaderMap,
    body: Bytes,
    no: Option<RequestNo>,
    had_token: bool,
    oauth_client: Option<String>,
    session: watch::Sender<Option<HeaderValue>>,
    to: mpsc::Sender<Heard>,
}

impl Post {
    async fn carry_out(self) {
        let (no, to) = (self.no, self.to.clone());
        if let Err(why) = self.exchange().await
            && let Some(no) = no
        {
            let _ = to.send(Heard::Lost { to: no, why }).await;
        }
    }

    async fn exchange(self) -> Result<(), String> {
        let url = &*self.url;
        let sent = web::send(Method::POST, url, self.headers, self.body).await;
        let answer = sent?;
        if let Some(said) = challenge::of(&answer) {
            let mut wants = Box::new(challenge::explained(url, said, self.had_token).await);
            wants.oauth_client = self.oauth_client.map(|client_id| McpOAuthClient {
                client_id,
                client_secret: None,
            });
            if let Some(no) = self.no {
                let _ = self.to.send(Heard::Challenge { to: no, wants }).await;
            }
            return Ok(());
        }
        let status = answer.response.status();
        if status == StatusCode::NOT_FOUND && self.session.borrow().is_some() {
            let why = "it has forgotten this conversation; start it again".to_owned();
            let _ = self.to.send(Heard::End(McpFailure::Ended(why))).await;
            return Ok(());
        }
        if status.is_redirection() {
            let place = answer
                .header(hyper::header::LOCATION)
                .unwrap_or("elsewhere");
            return Err(format!("it is at {place} now; change its address"));
        }
        if !status.is_success() {
            return Err(format!("it answers with status {status}"));
        }
        if let Some(session) = answer.response.headers().get(SESSION) {
            self.session.send_replace(Some(session.clone()));
        }
        let Some(no) = self.no else {
            return Ok(());
        };
        let kind = answer.header(CONTENT_TYPE).unwrap_or_default();
        match kind.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" => stream(answer, no, &self.to).await,
            _ => {
                let body = answer.body(LONGEST as usize).await?;
                let message = serde_json::from_slice(&body).ok().and_then(understood);
                let Some(heard) = message else {
                    return Err("it answers with what is not a message of MCP".to_owned());
                };
                let _ = self.to.send(heard).await;
                Ok(())
            }
        }
    }
}

/// Passes on what a stream says, until it has answered.
async fn stream(mut answer: Answer, no: RequestNo, to: &mpsc::Sender<Heard>) -> Result<(), String> {
    let mut events = Events::default();
    while let Some(frame) = answer.response.body_mut().frame().await {
        let frame = frame.map_err(|error| format!("its answer breaks off: {error}"))?;
        let Some(piece) = frame.data_ref() else {
            continue;
        };
        let complete = events.take(piece);
        let complete = complete.map_err(|_| "it sent a message that is too large".to_owned())?;
        for message in complete {
            let Some(heard) = serde_json::from_slice(&message).ok().and_then(understood) else {
                continue;
            };
            let is_answer = matches!(&heard, Heard::Answer { to, .. } if *to == no);
            if to.send(heard).await.is_err() || is_answer {
                return Ok(());
            }
        }
    }
    Err("its answer ended before it was complete".to_owned())
}
