//! One run of a server: it is started or reached, says what it has, and then
//! serves requests until it ends or is told to.

mod beginning;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::mcp::McpTransport;
use innkeeper_protocol::mcp::hosted::{
    McpCallError, McpCallId, McpCommand, McpEvent, McpFailure, McpReport, ServerRun, StartServer,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::McpAuthRequirement;
use innkeeper_protocol::rpc::RpcError;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::http::HttpLink;
use super::link::{Heard, Link, RequestNo};
use super::offer::{Listed, Listing};
use super::stdio::StdioLink;
use super::{ServerPatience, stderr_log};
use crate::Environment;
use crate::process;

/// Requests that wait for a server at a time, and how large they may be
/// together: a server that reads nothing must not make the host grow.
const MOST_OPEN: usize = 64;
const MOST_OPEN_BYTES: usize = 32 * 1024 * 1024;

/// How often what a server says of its own accord is passed on in a second;
/// the rest is dropped.
const MOST_SAID: usize = 50;

/// The longest of it.
const LONGEST_SAID: usize = 64 * 1024;

/// How long the tools are left alone between two changes of them.
const BETWEEN_LISTINGS: Duration = Duration::from_secs(1);

/// What a run needs of its surroundings.
#[derive(Debug)]
pub(super) struct Around {
    pub(super) patience: ServerPatience,
    pub(super) directory: Option<PathBuf>,
    pub(super) environment: Arc<Environment>,
    pub(super) reports: Reports,
}

/// Where a run says what becomes of it.
#[derive(Debug)]
pub(super) struct Reports {
    run: ServerRun,
    to: mpsc::Sender<McpReport>,
}

impl Reports {
    pub(super) fn new(run: ServerRun, to: mpsc::Sender<McpReport>) -> Self {
        Self { run, to }
    }

    async fn tell(&self, event: McpEvent) {
        // A host that is gone needs to hear nothing.
        let _ = self
            .to
            .send(McpReport {
                run: self.run,
                event,
            })
            .await;
    }
}

/// Why a run is over before it was told to end.
enum Over {
    Failed(McpFailure),
    AuthRequired(Box<McpAuthRequirement>),
}

/// The whole life of a run. It ends when nobody can tell it anything any more.
pub(super) async fn live(
    start: StartServer,
    mut commands: mpsc::UnboundedReceiver<McpCommand>,
    around: Around,
) {
    let name = start.server.name.clone();
    let link = match link_to(&start, &around).await {
        Ok(link) => link,
        Err(failure) => {
            tracing::info!(server = name, %failure, "an MCP server does not start");
            return around.reports.tell(McpEvent::Failed(failure)).await;
        }
    };
    let mut run = Run::new(link, &start, around);
    let over = tokio::select! {
        begun = run.begin() => match begun {
            Ok(offer) => {
                run.reports.tell(McpEvent::Ready(Box::new(offer))).await;
                run.serve(&mut commands).await
            }
            Err(over) => Some(over),
        },
        () = told_to_end(&mut commands) => None,
    };
    let Run {
        link,
        reports,
        patience,
        ..
    } = run;
    link.end(patience.ending).await;
    match over {
        None => {}
        Some(Over::Failed(failure)) => {
            tracing::info!(server = name, %failure, "an MCP server has failed");
            reports.tell(McpEvent::Failed(failure)).await;
        }
        Some(Over::AuthRequired(wants)) => reports.tell(McpEvent::AuthRequired(wants)).await,
    }
}

/// Starts a program, or prepares to reach an address.
async fn link_to(start: &StartServer, around: &Around) -> Result<Link, McpFailure> {
    match &start.server.transport {
        McpTransport::Stdio {
            command,
            args,
            env,
            directory,
        } => {
            let stderr = stderr_log(&start.server.name, around.directory.as_ref());
            let root = process::paths(start.directory.as_slice());
            let root = root.into_iter().next();
            let place = directory.as_ref().map(PathBuf::from).or(root);
            let (place, environment) = (place.as_deref(), &around.environment);
            let link = StdioLink::start((command, args), env, place, environment, &stderr);
            Ok(Link::Stdio(Box::new(link.await?)))
        }
        McpTransport::Http {
            url,
            headers,
            oauth_client,
        } => {
            let mut link = HttpLink::new(url, headers, start.token.clone())?;
            link.oauth_client.clone_from(oauth_client);
            Ok(Link::Http(Box::new(link)))
        }
        McpTransport::Sse { .. } => Err(McpFailure::Strange(
            "it speaks the older way over HTTP (`sse`), which only agents may; let the agent run it"
                .to_owned(),
        )),
    }
}

/// Before a server is ready there is nothing to tell it but to end.
async fn told_to_end(commands: &mut mpsc::UnboundedReceiver<McpCommand>) {
    while commands.recv().await.is_some() {}
}

struct Run {
    link: Link,
    reports: Reports,
    patience: ServerPatience,
    /// The directory of the session, as servers that ask for it are told.
    root: Option<String>,
    last: RequestNo,
    open: HashMap<RequestNo, Open>,
    open_bytes: usize,
    listing: Option<Listing>,
    /// When the tools are to be asked for again.
    list_at: Option<Instant>,
    said: Measure,
}

/// A request that waits for its answer.
struct Open {
    purpose: Purpose,
    due: Instant,
    bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Tools,
    Call(McpCallId),
}

impl Run {
    fn new(link: Link, start: &StartServer, around: Around) -> Self {
        Self {
            link,
            reports: around.reports,
            patience: around.patience,
            root: start.directory.clone(),
            last: 0,
            open: HashMap::new(),
            open_bytes: 0,
            listing: None,
            list_at: None,
            said: Measure::default(),
        }
    }

    /// Serves requests until nobody wants anything any more, or the server is
    /// gone.
    async fn serve(&mut self, commands: &mut mpsc::UnboundedReceiver<McpCommand>) -> Option<Over> {
        loop {
            let due = self.next_due();
            tokio::select! {
                command = commands.recv() => match command {
                    None => return None,
                    Some(command) => self.command(command).await,
                },
                heard = self.link.next() => {
                    if let Some(over) = self.heard(heard).await {
                        let why = match &over {
                            Over::Failed(failure) => failure.to_string(),
                            Over::AuthRequired(_) => "the MCP server wants a sign-in".to_owned(),
                        };
                        self.abandon(&why).await;
                        return Some(over);
                    }
                }
                () = tokio::time::sleep_until(due) => self.serve_due().await,
            }
        }
    }

    /// When something is due; in an hour, if nothing is.
    fn next_due(&self) -> Instant {
        let open = self.open.values().map(|open| open.due);
        let due = open.chain(self.list_at).min();
        due.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600))
    }

    async fn serve_due(&mut self) {
        let now = Instant::now();
        let late = self.open.iter().filter(|(_, open)| open.due <= now);
        let late: Vec<RequestNo> = late.map(|(no, _)| *no).collect();
        for no in late {
            let purpose = self.close(no);
            self.cancel(no);
            match purpose {
                Some(Purpose::Call(call)) => {
                    let seconds = self.patience.answering.as_secs();
                    let why = format!("the MCP server did not answer within {seconds} seconds");
                    self.lost(call, why).await;
                }
                Some(Purpose::Tools) => self.listing = None,
                None => {}
            }
        }
        if self.list_at.is_some_and(|at| at <= now) && self.listing.is_none() {
            self.list_at = None;
            self.listing = Some(Listing::default());
            self.request(Purpose::Tools, "tools/list", None, 0);
        }
    }

    async fn command(&mut self, command: McpCommand) {
        match command {
            McpCommand::Call {
                call,
                method,
                params,
                ..
            } => {
                let bytes = params.as_ref().map_or(0, size);
                if self.open.len() >= MOST_OPEN || self.open_bytes + bytes > MOST_OPEN_BYTES {
                    let why = "the MCP server has not answered what it was asked before; ask again \
                               when it has";
                    return self.lost(call, why.to_owned()).await;
                }
                self.request(Purpose::Call(call), &method, params.as_ref(), bytes);
            }
            McpCommand::Cancel { call, .. } => {
                let mut open = self.open.iter();
                let known = open.find(|(_, open)| open.purpose == Purpose::Call(call));
                if let Some(no) = known.map(|(no, _)| *no) {
                    self.close(no);
                    self.cancel(no);
                }
            }
            // Nobody is told what becomes of news, so it may be dropped.
            McpCommand::Notify { .. } if self.link.is_behind() => {
                tracing::debug!("an MCP server accepts nothing; news for it is dropped");
            }
            McpCommand::Notify { method, params, .. } => self.link.notify(&method, params.as_ref()),
            McpCommand::Authorize { token, .. } => self.link.authorize(token),
            // These are for whoever keeps the runs.
            McpCommand::Start(_) | McpCommand::Stop { .. } => {}
        }
    }

    async fn heard(&mut self, heard: Heard) -> Option<Over> {
        match heard {
            Heard::Answer { to, outcome } => match self.close(to) {
                Some(Purpose::Call(call)) => {
                    let outcome = outcome.map_err(McpCallError::Said);
                    self.reports
                        .tell(McpEvent::Answered { call, outcome })
                        .await;
                }
                Some(Purpose::Tools) => self.listed(outcome).await,
                None => {}
            },
            Heard::Challenge { to, wants } => match self.close(to) {
                Some(Purpose::Call(call)) => {
                    let outcome = Err(McpCallError::AuthRequired(wants));
                    self.reports
                        .tell(McpEvent::Answered { call, outcome })
                        .await;
                }
                Some(Purpose::Tools) => return Some(Over::AuthRequired(wants)),
                None => {}
            },
            Heard::Lost { to, why } => match self.close(to) {
                Some(Purpose::Call(call)) => self.lost(call, why).await,
                Some(Purpose::Tools) => self.listing = None,
                None => {}
            },
            Heard::Request { id, method } => self.answer(&id, &method),
            Heard::Notification { method, params } => {
                if method == "notifications/tools/list_changed" {
                    let at = Instant::now() + BETWEEN_LISTINGS;
                    self.list_at.get_or_insert(at);
                }
                let is_short =
                    params.as_ref().map_or(0, size) <= LONGEST_SAID && method.len() < 256;
                if is_short && self.said.has_room() {
                    self.reports.tell(McpEvent::Said { method, params }).await;
                }
            }
            Heard::End(failure) => return Some(Over::Failed(failure)),
        }
        None
    }

    async fn listed(&mut self, outcome: Result<Value, RpcError>) {
        let Some(mut listing) = self.listing.take() else {
            return;
        };
        let Ok(page) = outcome else {
            return;
        };
        match listing.add(page) {
            Listed::More(params) => {
                self.listing = Some(listing);
                self.request(Purpose::Tools, "tools/list", Some(&params), 0);
            }
            Listed::All(tools) => self.reports.tell(McpEvent::Tools(tools)).await,
        }
    }

    /// What a server may ask of the host: whether it is there, and where it
    /// works.
    fn answer(&mut self, id: &Value, method: &str) {
        let outcome = match method {
            "ping" => Ok(json!({})),
            "roots/list" => {
                let roots = self.root.iter().map(|uri| json!({"uri": uri}));
                Ok(json!({"roots": roots.collect::<Vec<_>>()}))
            }
            other => Err(RpcError::method_not_found(other)),
        };
        self.link.answer(id, outcome);
    }

    fn request(
        &mut self,
        purpose: Purpose,
        method: &str,
        params: Option<&JsonObject>,
        bytes: usize,
    ) {
        self.last += 1;
        let due = Instant::now() + self.patience.answering;
        self.open_bytes += bytes;
        self.open.insert(
            self.last,
            Open {
                purpose,
                due,
                bytes,
            },
        );
        self.link.request(self.last, method, params);
    }

    fn close(&mut self, no: RequestNo) -> Option<Purpose> {
        let open = self.open.remove(&no)?;
        self.open_bytes -= open.bytes;
        Some(open.purpose)
    }

    fn cancel(&mut self, no: RequestNo) {
        let params = object(json!({"requestId": no}));
        self.link.notify("notifications/cancelled", params.as_ref());
        self.link.forget(no);
    }

    async fn lost(&self, call: McpCallId, why: String) {
        let outcome = Err(McpCallError::Lost(why));
        self.reports
            .tell(McpEvent::Answered { call, outcome })
            .await;
    }

    /// Whoever waits hears that nothing will come.
    async fn abandon(&mut self, why: &str) {
        for open in std::mem::take(&mut self.open).into_values() {
            if let Purpose::Call(call) = open.purpose {
                self.lost(call, why.to_owned()).await;
            }
        }
    }
}

/// How much is passed on in a second.
#[derive(Debug, Default)]
struct Measure {
    since: Option<Instant>,
    count: usize,
}

impl Measure {
    fn has_room(&mut self) -> bool {
        let now = Instant::now();
        if self
            .since
            .is_none_or(|since| now - since >= Duration::from_secs(1))
        {
            self.since = Some(now);
            self.count = 0;
        }
        self.count += 1;
        self.count <= MOST_SAID
    }
}

fn object(value: Value) -> Option<JsonObject> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn size(params: &JsonObject) -> usize {
    serde_json::to_string(params).map_or(0, |text| text.len())
}
