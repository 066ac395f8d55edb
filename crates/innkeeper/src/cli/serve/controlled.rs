//! What a host answers the user's own commands over its control socket.
//!
//! *Invariant*: these routes are on that socket only.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, Notify, mpsc, oneshot, watch};

use super::reachable;
use crate::cli::{log_file, text};
use innkeeper::Host;
use innkeeper::server::access::ConnectionToken;
use innkeeper::server::{Server, Standing};

/// How long a command waits until all agents are found.
const FINDING_AGENTS: Duration = Duration::from_secs(15);

/// How long the end of a connection may take to be noticed.
const LEAVING: Duration = Duration::from_millis(500);

/// How a host was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Foreground,
    Background,
    Service,
    Temporary,
}

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(crate) url: String,
    pub(crate) web: String,
}

impl Link {
    /// Whether the host asks for a token.
    pub(crate) fn has_token(&self) -> bool {
        self.web.contains(TOKEN)
    }
}

/// What stands before the token in an address.
const TOKEN: &str = "?tkn=";

/// The same with and without the token; nothing if the host listens on no port.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) plain: Option<Link>,
    pub(crate) with_token: Option<Link>,
    /// Web addresses that other machines can use.
    pub(crate) reachable: Vec<String>,
}

impl Links {
    pub(crate) fn new(server: &Server, token: Option<&ConnectionToken>) -> Self {
        let plain = server.urls().map(|(url, web)| Link { url, web });
        let query = match token {
            Some(token) => format!("{TOKEN}{}", token.reveal()),
            None => String::new(),
        };
        let with_token = plain.clone().map(|Link { url, web }| Link {
            url: url + &query,
            web: web + &query,
        });
        let scheme = plain.as_ref().and_then(|link| link.web.split_once("://"));
        let scheme = scheme.map_or("http", |(scheme, _)| scheme);
        let reachable = server.address().map(reachable::from_elsewhere);
        let reachable = reachable.unwrap_or_default().into_iter();
        let reachable = reachable.map(|address| format!("{scheme}://{address}/"));
        Self {
            reachable: reachable.collect(),
            plain,
            with_token,
        }
    }
}

/// The most clients that a status names.
const MOST_CLIENTS: usize = 20;

/// `GET /control/status`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    pub(crate) pid: u32,
    pub(crate) version: String,
    pub(crate) kind: Kind,
    pub(crate) uptime_seconds: u64,
    pub(crate) data_dir: PathBuf,
    pub(crate) log: PathBuf,
    /// Where clients connect, without the token.
    pub(crate) url: Option<String>,
    pub(crate) web: Option<String>,
    pub(crate) connections: usize,
    /// What they call themselves; not all of them, if they are many.
    #[serde(default)]
    pub(crate) clients: Vec<String>,
    pub(crate) sessions: u64,
    /// Why the host cannot work, if it cannot.
    pub(crate) obstacle: Option<String>,
    /// It waits for a store that another host works on, or that is away.
    #[serde(default)]
    pub(crate) standby: bool,
    /// Where clients reach the host that works, if this one stands by.
    #[serde(default)]
    pub(crate) owner: Option<String>,
    /// What it was started with.
    pub(crate) arguments: Vec<String>,
    /// And where.
    pub(crate) directory: PathBuf,
    /// Web addresses that other machines can use.
    pub(crate) reachable: Vec<String>,
}

/// A host as its user's commands see it.
#[derive(Debug)]
pub(crate) struct Controlled {
    work: Work,
    kind: Kind,
    data_dir: PathBuf,
    started: Instant,
    links: OnceLock<Links>,
    knows_agents: watch::Sender<bool>,
    stop: Notify,
    reload: Notify,
    tokens: mpsc::Sender<TokensChanged>,
    told_about_tokens: Mutex<mpsc::Receiver<TokensChanged>>,
}

/// Somebody waits until the host has read the tokens of devices again.
#[derive(Debug)]
pub(crate) struct TokensChanged(oneshot::Sender<anyhow::Result<()>>);

impl TokensChanged {
    pub(crate) fn answer(self, outcome: anyhow::Result<()>) {
        // Who asked may be gone.
        let _ = self.0.send(outcome);
    }
}

/// What a host does.
#[derive(Debug)]
enum Work {
    Serves(Host),
    StandsBy(watch::Receiver<Standing>),
}

impl Work {
    fn connections(&self) -> usize {
        match self {
            Self::Serves(host) => host.connections(),
            Self::StandsBy(_) => 0,
        }
    }

    fn clients(&self) -> Vec<String> {
        match self {
            Self::Serves(host) => host.clients(MOST_CLIENTS),
            Self::StandsBy(_) => Vec::new(),
        }
    }

    fn sessions(&self) -> u64 {
        match self {
            Self::Serves(host) => host.sessions(),
            Self::StandsBy(_) => 0,
        }
    }

    fn stands_by(&self) -> bool {
        match self {
            Self::Serves(_) => false,
            Self::StandsBy(_) => true,
        }
    }

    fn owner(&self) -> Option<String> {
        match self {
            Self::Serves(_) => None,
            Self::StandsBy(news) => match &*news.borrow() {
                Standing::Behind(owner) => owner.clone(),
                Standing::WithoutStore => None,
            },
        }
    }

    fn obstacle(&self) -> Option<String> {
        match self {
            Self::Serves(host) => host.obstacle().map(str::to_owned),
            Self::StandsBy(news) => Some(news.borrow().sentence().to_owned()),
        }
    }
}

impl Controlled {
    pub(crate) fn new(host: Host, kind: Kind, data_dir: &Path) -> Arc<Self> {
        Self::of(Work::Serves(host), kind, data_dir)
    }

    /// A host that stands by, as `news` says.
    pub(crate) fn standby(
        news: watch::Receiver<Standing>,
        kind: Kind,
        data_dir: &Path,
    ) -> Arc<Self> {
        let controlled = Self::of(Work::StandsBy(news), kind, data_dir);
        // It looks for none.
        controlled.knows_agents();
        controlled
    }

    fn of(work: Work, kind: Kind, data_dir: &Path) -> Arc<Self> {
        let (tokens, told_about_tokens) = mpsc::channel(1);
        Arc::new(Self {
            work,
            kind,
            data_dir: data_dir.to_owned(),
            started: Instant::now(),
            links: OnceLock::new(),
            knows_agents: watch::Sender::new(false),
            stop: Notify::new(),
            reload: Notify::new(),
            tokens,
            told_about_tokens: Mutex::new(told_about_tokens),
        })
    }

    pub(crate) fn listens(&self, links: Links) {
        let _ = self.links.set(links);
    }

    /// All agents have been looked for.
    pub(crate) fn knows_agents(&self) {
        self.knows_agents.send_replace(true);
    }

    pub(crate) async fn is_told_to_stop(&self) {
        self.stop.notified().await;
    }

    pub(crate) async fn is_told_to_reload(&self) {
        self.reload.notified().await;
    }

    pub(crate) async fn is_told_about_tokens(&self) -> TokensChanged {
        match self.told_about_tokens.lock().await.recv().await {
            Some(asked) => asked,
            // This has a sender itself.
            None => std::future::pending().await,
        }
    }

    fn status(&self) -> Status {
        let plain = self.links.get().and_then(|links| links.plain.as_ref());
        Status {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            kind: self.kind,
            uptime_seconds: self.started.elapsed().as_secs(),
            data_dir: self.data_dir.clone(),
            log: log_file::path_in(&self.data_dir),
            url: plain.map(|link| link.url.clone()),
            web: plain.map(|link| link.web.clone()),
            connections: self.work.connections(),
            clients: self.work.clients(),
            sessions: self.work.sessions(),
            obstacle: self.work.obstacle(),
            standby: self.work.stands_by(),
            owner: self.work.owner(),
            arguments: std::env::args_os()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            reachable: self
                .links
                .get()
                .map(|links| links.reachable.clone())
                .unwrap_or_default(),
            directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        }
    }
}

pub(crate) fn routes(controlled: &Arc<Controlled>) -> Router {
    Router::new()
        .route("/control/status", get(status))
        .route("/control/link", get(link))
        .route("/control/agents", get(agents))
        .route("/control/stop", post(stop))
        .route("/control/dismiss", post(dismiss))
        .route("/control/reload", post(reload))
        .route("/control/tokens", post(tokens))
        .with_state(Arc::clone(controlled))
}

fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn status(State(controlled): State<Arc<Controlled>>) -> Response {
    json(&controlled.status())
}

async fn link(State(controlled): State<Arc<Controlled>>) -> Response {
    let links = controlled.links.get();
    match links.and_then(|links| links.with_token.as_ref()) {
        Some(link) => json(link),
        None => (
            StatusCode::CONFLICT,
            "this host was started by `innkeeper run` and listens on no port; start one with \
             `innkeeper up`",
        )
            .into_response(),
    }
}

/// Answers when all agents have been looked for, or after a while.
async fn agents(State(controlled): State<Arc<Controlled>>) -> Response {
    let mut known = controlled.knows_agents.subscribe();
    let known = known.wait_for(|known| *known);
    let known = tokio::time::timeout(FINDING_AGENTS, known).await;
    json(&matches!(known, Ok(Ok(_))))
}

async fn stop(State(controlled): State<Arc<Controlled>>) -> Response {
    controlled.stop.notify_one();
    json(&true)
}

/// Ends a host that was started for a command and has nothing to do.
async fn dismiss(State(controlled): State<Arc<Controlled>>) -> Response {
    let end = Instant::now() + LEAVING;
    // Whoever has just gone may still be counted.
    while controlled.kind == Kind::Temporary
        && controlled.work.connections() > 0
        && Instant::now() < end
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    match controlled.kind == Kind::Temporary && controlled.work.connections() == 0 {
        true => stop(State(controlled)).await,
        false => (StatusCode::CONFLICT, "this host is in use").into_response(),
    }
}

async fn reload(State(controlled): State<Arc<Controlled>>) -> Response {
    controlled.reload.notify_one();
    json(&true)
}

/// Answers when those are sent away whose token is gone.
async fn tokens(State(controlled): State<Arc<Controlled>>) -> Response {
    let (outcome, told) = oneshot::channel();
    let _ = controlled.tokens.send(TokensChanged(outcome)).await;
    match told.await {
        Ok(Ok(())) => json(&true),
        Ok(Err(error)) => (StatusCode::CONFLICT, text::told(&error)).into_response(),
        Err(_) => (StatusCode::CONFLICT, "the host is stopping").into_response(),
    }
}
