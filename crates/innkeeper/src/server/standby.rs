//! A host that stands by: it says so, sends browsers on to the host that works,
//! and passes the sockets of everybody else through to it, unread.
//!
//! *Invariant*: who may come in is checked here as it is there; the number of
//! sockets is bounded, and each ends when another host works or its token is
//! revoked.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use crate::server::access::{AccessPolicy, Caller};
use crate::server::current::Current;
use crate::server::http::{Transport, is_revoked, refused};

/// How long the host that works may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What it says when it refuses is not long.
const MOST_REFUSAL: usize = 64 * 1024;

/// Marks what was passed through once, so that two hosts that take each other
/// for the one that works do not pass it on for ever.
const PASSED: HeaderName = HeaderName::from_static("x-innkeeper-passed");

/// What a host that stands by knows.
#[derive(Debug, Clone)]
pub(crate) struct Standby {
    pub(crate) access: Arc<Current<AccessPolicy>>,
    pub(crate) news: watch::Receiver<Standing>,
    pub(crate) places: Arc<Semaphore>,
}

/// Why a host stands by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Another host works; this is where clients reach it, if it has said so.
    Behind(Option<String>),
    /// The store cannot be reached.
    WithoutStore,
}

impl Standing {
    pub fn sentence(&self) -> &'static str {
        match self {
            Self::Behind(_) => "this host stands by: another host on the same store works",
            Self::WithoutStore => {
                "this host stands by: its store cannot be reached; its log says why"
            }
        }
    }
}

pub(crate) fn router(standby: Standby, transport: Transport) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readiness))
        .fallback(anything_else)
        .layer(middleware::from_fn_with_state(
            (standby.clone(), transport),
            check_source,
        ))
        .with_state(standby)
}

async fn check_source(
    State((standby, transport)): State<(Standby, Transport)>,
    request: Request,
    next: Next,
) -> Response {
    if let Transport::Tcp(bound) = transport
        && let Err(refusal) = standby.access.get().check_source(bound, request.headers())
    {
        return refused(refusal, request.extensions().get());
    }
    next.run(request).await
}

async fn readiness(State(standby): State<Standby>) -> Response {
    unavailable(standby.news.borrow().sentence())
}

async fn anything_else(State(standby): State<Standby>, request: Request) -> Response {
    let standing = standby.news.borrow().clone();
    match &standing {
        Standing::Behind(_) if request.headers().contains_key(header::UPGRADE) => {}
        Standing::Behind(Some(owner)) => return redirected(owner, request.uri()),
        Standing::Behind(None) | Standing::WithoutStore => {
            return unavailable(standing.sentence());
        }
    }
    let (query, headers) = (request.uri().query(), request.headers());
    let caller = match standby.access.get().check_token(query, headers) {
        Ok(caller) => caller,
        Err(refusal) => return refused(refusal, request.extensions().get()),
    };
    if headers.contains_key(PASSED) {
        return unavailable("two hosts take each other for the one that works; wait a moment");
    }
    match passed_through(&standby, caller, request).await {
        Ok(response) => response,
        Err(reason) => {
            tracing::debug!(reason, "a socket was not passed through");
            unavailable("the host that works cannot be reached from this one")
        }
    }
}

/// Where the host that works is. One that has only just begun says so with the
/// next renewal of its lease.
async fn owner(standby: &Standby) -> Result<String, String> {
    let mut news = standby.news.clone();
    let said = news.wait_for(|standing| *standing != Standing::Behind(None));
    match tokio::time::timeout(PATIENCE, said).await {
        Ok(Ok(standing)) => match &*standing {
            Standing::Behind(Some(owner)) => Ok(owner.clone()),
            Standing::Behind(None) | Standing::WithoutStore => Err(standing.sentence().to_owned()),
        },
        Ok(Err(_)) => Err("this host works now".to_owned()),
        Err(_) => Err("the host that works has not said where it is".to_owned()),
    }
}

/// To the same path there.
fn redirected(owner: &str, uri: &Uri) -> Response {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let location = format!("{}{path}", owner.trim_end_matches('/'));
    let headers = [
        (header::LOCATION, location.as_str()),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (StatusCode::TEMPORARY_REDIRECT, headers).into_response()
}

async fn passed_through(
    standby: &Standby,
    caller: Caller,
    mut request: Request,
) -> Result<Response, String> {
    let places = Arc::clone(&standby.places);
    let place = places.try_acquire_owned().map_err(explained)?;
    let owner: Uri = owner(standby).await?.parse().map_err(explained)?;
    let authority = owner
        .authority()
        .ok_or("the address names no host")?
        .clone();
    let is_tls = owner.scheme_str() == Some("https");
    let port = authority
        .port_u16()
        .unwrap_or(if is_tls { 443 } else { 80 });
    let name = authority.host().trim_matches(['[', ']']).to_owned();
    let mut onward = Request::new(Body::empty());
    *onward.uri_mut() = match request.uri().path_and_query() {
        Some(path) => path.as_str().parse().map_err(explained)?,
        None => Uri::from_static("/"),
    };
    let headers = onward.headers_mut();
    headers.clone_from(request.headers());
    // They were checked here.
    headers.remove(header::ORIGIN);
    headers.insert(PASSED, HeaderValue::from_static("1"));
    let host = HeaderValue::from_str(authority.as_str()).map_err(explained)?;
    headers.insert(header::HOST, host);
    let asked = async {
        let stream = TcpStream::connect((name.as_str(), port)).await;
        let stream = stream.map_err(explained)?;
        let _ = stream.set_nodelay(true);
        match is_tls {
            false => ask(stream, onward).await,
            true => ask(encrypted(&name, stream).await?, onward).await,
        }
    };
    let answer = tokio::time::timeout(PATIENCE, asked);
    let mut answer = answer.await.map_err(explained)??;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (parts, body) = answer.into_parts();
        let said = axum::body::to_bytes(Body::new(body), MOST_REFUSAL).await;
        return Ok((parts.status, said.map_err(explained)?).into_response());
    }
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    response.headers_mut().clone_from(answer.headers());
    let (theirs, ours) = (
        hyper::upgrade::on(&mut answer),
        hyper::upgrade::on(&mut request),
    );
    let (mut news, access) = (standby.news.clone(), Arc::clone(&standby.access));
    news.mark_unchanged();
    tokio::spawn(async move {
        let _place = place;
        let (Ok(theirs), Ok(ours)) = tokio::join!(theirs, ours) else {
            return;
        };
        let (mut theirs, mut ours) = (TokioIo::new(theirs), TokioIo::new(ours));
        tokio::select! {
            _ = copy_bidirectional(&mut theirs, &mut ours) => {}
            // Whoever works now, it is not the one at the other end.
            _ = news.changed() => {}
            () = is_revoked(&access, &caller) => {}
        }
    });
    Ok(response)
}

async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request,
) -> Result<hyper::Response<hyper::body::Incoming>, String> {
    let opened = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = opened.map_err(explained)?;
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await.map_err(explained)
}

#[cfg(feature = "telemetry")]
async fn encrypted(
    name: &str,
    stream: TcpStream,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, String> {
    let server = tokio_rustls::rustls::pki_types::ServerName::try_from(name.to_owned());
    let connector = crate::telemetry::connector()?;
    let stream = connector.connect(server.map_err(explained)?, stream).await;
    stream.map_err(explained)
}

#[cfg(not(feature = "telemetry"))]
async fn encrypted(_: &str, _: TcpStream) -> Result<TcpStream, String> {
    Err("this build has no TLS for connections to other hosts".to_owned())
}

fn unavailable(sentence: &str) -> Response {
    let headers = [(header::RETRY_AFTER, "1")];
    (
        StatusCode::SERVICE_UNAVAILABLE,
        headers,
        format!("{sentence}\n"),
    )
        .into_response()
}

fn explained(error: impl std::fmt::Display) -> String {
    error.to_string()
}
