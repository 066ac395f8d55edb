//! Tool servers over HTTP on the loopback interface, for agents that do not
//! start MCP servers themselves: one listener for the whole host, which is there
//! as long as somebody needs it, and an address with a secret of its own for
//! each server.
//!
//! There are no sessions: every request says which revision it is in, so that
//! nothing has to be remembered between two of them. A call is answered by a
//! stream that shows signs of life, as HTTP clients give up on answers that do
//! not begin.
//!
//! *Invariant*: nobody gets further than the door without the secret. Web pages
//! do not get that far: neither a foreign `Host` nor any `Origin` is let in.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use innkeeper_protocol::agent::ClientTool;
use serde_json::Value;
use subtle::ConstantTimeEq as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::Offer;
use super::mcp::{Heard, Peer};
use super::serving::{LONGEST_LINE, MOST_CALLS, run};

/// Connections of all agents together.
const MOST_CONNECTIONS: usize = 128;

/// Streams of one server that tell of other tools.
const MOST_STREAMS: usize = 16;

/// How long a request may take to come in.
const ARRIVING: Duration = Duration::from_secs(30);

/// How often a stream without news shows that it is still there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The host's way of offering tools over HTTP. Nothing listens before the first
/// server needs it, nor after the last one is gone.
#[derive(Debug, Default)]
pub struct HttpTools(Mutex<Weak<Listener>>);

#[derive(Debug)]
struct Listener {
    address: SocketAddr,
    rooms: Arc<Rooms>,
    serving: JoinHandle<()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What there is behind the door, by path.
#[derive(Debug, Default)]
struct Rooms(Mutex<HashMap<String, Arc<Room>>>);

#[derive(Debug)]
struct Room {
    /// What `Authorization` must say.
    authorization: String,
    offer: Offer,
    calls: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

/// A server's address. It leads nowhere when this is dropped.
#[derive(Debug)]
pub(super) struct Address {
    listener: Arc<Listener>,
    path: String,
    authorization: String,
}

impl HttpTools {
    /// Gives a server an address.
    pub(super) fn open(&self, offer: Offer) -> io::Result<Address> {
        let listener = self.listener()?;
        let path = format!("/{}", random()?);
        let authorization = format!("Bearer {}", random()?);
        let room = Room {
            authorization: authorization.clone(),
            offer,
            calls: Arc::new(Semaphore::new(MOST_CALLS)),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        };
        listener.rooms.lock().insert(path.clone(), Arc::new(room));
        Ok(Address {
            listener,
            path,
            authorization,
        })
    }

    fn listener(&self) -> io::Result<Arc<Listener>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = known.upgrade().filter(|it| !it.serving.is_finished()) {
            return Ok(listener);
        }
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let rooms = Arc::<Rooms>::default();
        let door = Door {
            address,
            rooms: Arc::clone(&rooms),
        };
        let listener = Arc::new(Listener {
            address,
            rooms,
            serving: tokio::spawn(door.serve(TcpListener::from_std(socket)?)),
        });
        *known = Arc::downgrade(&listener);
        Ok(listener)
    }
}

impl Rooms {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Room>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Address {
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.listener.address, self.path)
    }

    pub(super) fn authorization(&self) -> &str {
        &self.authorization
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        self.listener.rooms.lock().remove(&self.path);
    }
}

/// 256 bits that nobody can guess.
fn random() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Who lets requests in.
#[derive(Debug, Clone)]
struct Door {
    address: SocketAddr,
    rooms: Arc<Rooms>,
}

impl Door {
    async fn serve(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    while connections.try_join_next().is_some() {}
                    if connections.len() < MOST_CONNECTIONS {
                        connections.spawn(self.clone().connected(stream));
                    }
                }
                // There may be no descriptors left for a moment.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    async fn connected(self, stream: TcpStream) {
        let service = service_fn(|request| {
            let door = self.clone();
            async move { Ok::<_, Infallible>(door.answer(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(ARRIVING)
            .serve_connection(TokioIo::new(stream), service);
        // Whoever does not read or write any more needs no answer.
        let _ = connection.await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let room = match self.admitted(&request) {
            Ok(room) => room,
            Err(refused) => return short(refused, ""),
        };
        let version = match request.headers().get(PROTOCOL_VERSION) {
            Some(version) => version.to_str().unwrap_or("?").to_owned(),
            // So old clients are that do not say it.
            None => "2025-03-26".to_owned(),
        };
        let server = Arc::clone(&room.offer.server);
        let Some(peer) = Peer::of_request(server, &version) else {
            return short(StatusCode::BAD_REQUEST, "this revision is not known");
        };
        match *request.method() {
            Method::GET => match Arc::clone(&room.streams).try_acquire_owned() {
                Ok(permit) => streamed(news(None, peer, room.offer.tools.clone(), permit)),
                Err(_) => short(StatusCode::TOO_MANY_REQUESTS, "too many streams"),
            },
            Method::POST => room.take(request, peer).await,
            _ => short(StatusCode::METHOD_NOT_ALLOWED, ""),
        }
    }

    /// The room that a request is for, if it may enter.
    fn admitted(&self, request: &Request<Incoming>) -> Result<Arc<Room>, StatusCode> {
        let headers = request.headers();
        if !self.is_named_in(headers) || headers.contains_key(ORIGIN) {
            return Err(StatusCode::FORBIDDEN);
        }
        let room = self.rooms.lock().get(request.uri().path()).cloned();
        let shown = headers
            .get(AUTHORIZATION)
            .map(hyper::header::HeaderValue::as_bytes);
        match (room, shown) {
            (Some(room), Some(shown)) if bool::from(room.authorization.as_bytes().ct_eq(shown)) => {
                Ok(room)
            }
            _ => Err(StatusCode::UNAUTHORIZED),
        }
    }

    /// A page whose name was made to lead here would say that name.
    fn is_named_in(&self, headers: &HeaderMap) -> bool {
        let mut names = headers.get_all(HOST).iter();
        let is_ours = |name: &[u8]| {
            let port = self.address.port();
            name == self.address.to_string().as_bytes()
                || name == format!("localhost:{port}").as_bytes()
        };
        let first = names.next().is_some_and(|name| is_ours(name.as_bytes()));
        first && names.next().is_none()
    }
}

impl Room {
    /// Takes in one message.
    async fn take(&self, request: Request<Incoming>, mut peer: Peer) -> Response<Body> {
        let body = Limited::new(request.into_body(), LONGEST_LINE).collect();
        let body = match tokio::time::timeout(ARRIVING, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return short(StatusCode::PAYLOAD_TOO_LARGE, "too long, or cut short"),
            Err(_) => return short(StatusCode::REQUEST_TIMEOUT, ""),
        };
        let Ok(line) = std::str::from_utf8(&body) else {
            return short(StatusCode::BAD_REQUEST, "not UTF-8");
        };
        let tools = self.offer.tools.borrow().clone();
        match peer.hear(line, &tools) {
            // Whoever gives up on a call closes its stream.
            Heard::Nothing | Heard::Cancelled(_) => short(StatusCode::ACCEPTED, ""),
            Heard::Say(said) if said.get("method").is_some() => {
                match Arc::clone(&self.streams).try_acquire_owned() {
                    Ok(permit) => {
                        streamed(news(Some(said), peer, self.offer.tools.clone(), permit))
                    }
                    Err(_) => short(StatusCode::TOO_MANY_REQUESTS, "too many streams"),
                }
            }
            Heard::Say(said) => {
                let status = match said.get("id") {
                    Some(_) => StatusCode::OK,
                    None => StatusCode::BAD_REQUEST,
                };
                with_type(
                    status,
                    "application/json",
                    Full::from(said.to_string()).boxed_unsync(),
                )
            }
            Heard::Call(call) => match Arc::clone(&self.calls).try_acquire_owned() {
                Ok(permit) => {
                    let answer = Box::pin(run(*call, self.offer.calls.clone()));
                    streamed(stream::unfold(Some((answer, permit)), |open| async {
                        let (mut answer, permit) = open?;
                        tokio::select! {
                            answer = &mut answer => Some((event(&answer), None)),
                            () = tokio::time::sleep(SIGN_OF_LIFE) => {
                                Some((sign_of_life(), Some((answer, permit))))
                            }
                        }
                    }))
                }
                Err(_) => short(StatusCode::TOO_MANY_REQUESTS, "too many calls are open"),
            },
        }
    }
}

/// What is to be said at first, and then what is to be said when other tools are
/// there.
fn news(
    first: Option<Value>,
    peer: Peer,
    mut tools: watch::Receiver<Arc<[ClientTool]>>,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Bytes> + Send {
    tools.mark_unchanged();
    // Something is said at once, so that the answer begins.
    let first = first.as_ref().map_or_else(sign_of_life, event);
    let state = (Some(first), peer, tools, permit);
    stream::unfold(state, |(first, peer, mut tools, permit)| async {
        if let Some(first) = first {
            return Some((first, (None, peer, tools, permit)));
        }
        let said = tokio::select! {
            changed = tools.changed() => {
                changed.ok()?;
                peer.news().iter().flat_map(event).collect()
            }
            () = tokio::time::sleep(SIGN_OF_LIFE) => sign_of_life(),
        };
        Some((said, (None, peer, tools, permit)))
    })
}

fn event(message: &Value) -> Bytes {
    Bytes::from(format!("event: message\ndata: {message}\n\n"))
}

fn sign_of_life() -> Bytes {
    Bytes::from_static(b":\n\n")
}

fn streamed(said: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    use futures_util::StreamExt as _;
    let frames = said.map(|said| Ok::<_, Infallible>(Frame::data(said)));
    let body = StreamBody::new(frames).boxed_unsync();
    with_type(StatusCode::OK, "text/event-stream", body)
}

fn short(status: StatusCode, why: &'static str) -> Response<Body> {
    with_type(status, "text/plain", Full::from(why).boxed_unsync())
}

fn with_type(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests;
