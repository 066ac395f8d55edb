//! HTTP: who may ask what, and the upgrade to a WebSocket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::Host;
use crate::server::Peer;
use crate::server::access::{AccessPolicy, Caller, Refusal};
use crate::server::current::Current;
use crate::server::door::Visitor;
use crate::server::newcomers::Newcomers;
use crate::server::{compression, page, socket};

/// How long the end of a connection that gives way may take.
const MAKING_ROOM: Duration = Duration::from_secs(3);

/// What every request may need.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) host: Host,
    pub(crate) access: Arc<Current<AccessPolicy>>,
    pub(crate) web: bool,
    /// One for each client that may still connect.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) most_connections: usize,
    pub(crate) message_bytes: usize,
    /// Whether messages are compressed for clients that offer it.
    pub(crate) compression: bool,
    pub(crate) ping_after: Duration,
    pub(crate) newcomers: Arc<Newcomers>,
}

/// How requests arrive.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transport {
    Tcp(SocketAddr),
    /// The file's permissions say who may come; there is no host to name.
    UnixSocket,
}

#[derive(Debug, Clone)]
struct Context {
    shared: Shared,
    transport: Transport,
}

pub(crate) fn router(shared: Shared, transport: Transport) -> Router {
    let context = Context { shared, transport };
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .fallback(anything_else)
        .layer(middleware::from_fn_with_state(
            context.clone(),
            check_source,
        ))
        .with_state(context)
}

async fn check_source(State(context): State<Context>, request: Request, next: Next) -> Response {
    if let Transport::Tcp(bound) = context.transport {
        let checked = context
            .shared
            .access
            .get()
            .check_source(bound, request.headers());
        if let Err(refusal) = checked {
            return refused(refusal, request.extensions().get());
        }
    }
    if let Some(visitor) = request.extensions().get::<Visitor>()
        && is_known(&context, request.uri(), request.headers())
    {
        visitor.is_known();
    }
    next.run(request).await
}

/// Whether a request comes from somebody who may do more than look.
fn is_known(context: &Context, uri: &Uri, headers: &HeaderMap) -> bool {
    match context.transport {
        Transport::UnixSocket => true,
        Transport::Tcp(_) => context
            .shared
            .access
            .get()
            .check_token(uri.query(), headers)
            .is_ok(),
    }
}

/// Whether the host can work: open to everybody who may reach it.
async fn readiness(State(context): State<Context>) -> Response {
    match context.shared.host.obstacle() {
        None => "ok".into_response(),
        Some(obstacle) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{obstacle}\n")).into_response()
        }
    }
}

/// Counts only, and no names: open to programs on this machine; from outside,
/// and through a proxy, the token is needed.
async fn metrics(State(context): State<Context>, request: Request) -> Response {
    let (uri, headers) = (request.uri(), request.headers());
    let from_outside = match context.transport {
        Transport::Tcp(bound) => !bound.ip().is_loopback() || !AccessPolicy::is_from_here(headers),
        Transport::UnixSocket => false,
    };
    if from_outside
        && let Err(refusal) = context
            .shared
            .access
            .get()
            .check_token(uri.query(), headers)
    {
        return refused(refusal, request.extensions().get());
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, context.shared.host.metrics()).into_response()
}

async fn anything_else(State(context): State<Context>, request: Request) -> Response {
    let Context { shared, transport } = context;
    if !request.headers().contains_key(header::UPGRADE) {
        return plain_page(&request, shared.web);
    }
    let caller = match transport {
        Transport::UnixSocket => Caller::Owner,
        Transport::Tcp(_) => {
            let access = shared.access.get();
            match access.check_token(request.uri().query(), request.headers()) {
                Ok(caller) => caller,
                Err(refusal) => return refused(refusal, request.extensions().get()),
            }
        }
    };
    upgrade(shared, request, caller).await
}

/// The opening handshake of RFC 6455.
async fn upgrade(shared: Shared, mut request: Request, caller: Caller) -> Response {
    let Some(key) = websocket_key(&request) else {
        let headers = [(header::SEC_WEBSOCKET_VERSION, "13")];
        let message = "this is not a WebSocket handshake of version 13\n";
        return (StatusCode::BAD_REQUEST, headers, message).into_response();
    };
    let Some(place) = place_for_client(&shared).await else {
        shared.host.note_refused_connection();
        let refusal = Refusal {
            status: StatusCode::SERVICE_UNAVAILABLE,
            message: format!(
                "this host serves at most {} connections; close some, or raise \
                 limits.connections",
                shared.most_connections
            ),
        };
        return refused(refusal, request.extensions().get());
    };
    let peer = request.extensions().get::<Peer>().cloned();
    let newcomer = shared.newcomers.enter();
    let offered = Some(request.headers()).filter(|_| shared.compression);
    let deflates = offered.and_then(compression::agreed);
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let _place = place;
        match upgraded.await {
            Ok(upgraded) => {
                let connection = match caller.is_read_only() {
                    true => shared.host.connect_read_only(),
                    false => shared.host.connect(),
                };
                let number = connection.number();
                let peer = peer.map_or_else(String::new, |peer| peer.to_string());
                let token = caller.name();
                tracing::info!(connection = number, peer, token, "a client connected");
                let began = Instant::now();
                let guest = socket::Guest {
                    connection,
                    newcomer,
                    message_bytes: shared.message_bytes,
                    deflates: deflates.is_some(),
                    ping_after: shared.ping_after,
                };
                socket::run(upgraded, guest, is_revoked(&shared.access, &caller)).await;
                let seconds = began.elapsed().as_secs();
                tracing::info!(connection = number, seconds, "a client disconnected");
            }
            Err(error) => tracing::debug!(%error, "a connection was not upgraded"),
        }
    });
    let accept = derive_accept_key(key.as_bytes());
    let headers = [
        (header::CONNECTION, "upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_ACCEPT, accept.as_str()),
    ];
    let mut response = (StatusCode::SWITCHING_PROTOCOLS, headers).into_response();
    if let Some(agreed) = deflates {
        let name = header::SEC_WEBSOCKET_EXTENSIONS;
        let value = HeaderValue::from_static(agreed);
        response.headers_mut().insert(name, value);
    }
    response
}

/// A place among the connections; if all are taken, that of whoever has been
/// longest without an introduction.
async fn place_for_client(shared: &Shared) -> Option<OwnedSemaphorePermit> {
    let places = Arc::clone(&shared.places);
    match Arc::clone(&places).try_acquire_owned() {
        Ok(place) => Some(place),
        Err(_) if shared.newcomers.make_room() => {
            let place = tokio::time::timeout(MAKING_ROOM, places.acquire_owned()).await;
            place.ok().and_then(Result::ok)
        }
        Err(_) => None,
    }
}

fn websocket_key(request: &Request) -> Option<HeaderValue> {
    let header = |name| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let names = |value: &str, wanted: &str| {
        value
            .split(',')
            .any(|part| part.trim().eq_ignore_ascii_case(wanted))
    };
    let is_handshake = request.method() == Method::GET
        && header(header::CONNECTION).is_some_and(|value| names(value, "upgrade"))
        && header(header::UPGRADE).is_some_and(|value| names(value, "websocket"))
        && header(header::SEC_WEBSOCKET_VERSION) == Some("13");
    let key = request.headers().get(header::SEC_WEBSOCKET_KEY);
    key.filter(|_| is_handshake).cloned()
}

fn plain_page(request: &Request, web: bool) -> Response {
    match web {
        true => page::serve(request.uri().path(), request.headers()),
        false => (StatusCode::NOT_FOUND, "there is nothing here\n").into_response(),
    }
}

/// Waits until a device is not let in any more.
pub(crate) async fn is_revoked(access: &Current<AccessPolicy>, caller: &Caller) {
    match caller {
        Caller::Owner => std::future::pending().await,
        Caller::Device(device) => {
            let is_gone = |access: &AccessPolicy| !access.devices.contains(device);
            access.becomes(is_gone).await;
        }
    }
}

pub(crate) fn refused(refusal: Refusal, peer: Option<&Peer>) -> Response {
    let Refusal { status, message } = refusal;
    let peer = peer.map_or_else(String::new, ToString::to_string);
    let (code, reason) = (status.as_u16(), message.as_str());
    tracing::info!(peer, status = code, reason, "a request was refused");
    (status, format!("{message}\n")).into_response()
}
