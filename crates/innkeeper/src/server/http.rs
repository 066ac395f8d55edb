//! HTTP: who may ask what, and the upgrade to a WebSocket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::Host;
use crate::server::access::{Access, Refusal};
use crate::server::{page, socket};

/// What every request may need.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) host: Host,
    pub(crate) access: Arc<Access>,
    pub(crate) web: bool,
    pub(crate) message_bytes: usize,
    pub(crate) ping_after: Duration,
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
        let checked = context.shared.access.check_source(bound, request.headers());
        if let Err(refusal) = checked {
            return refused(refusal);
        }
    }
    next.run(request).await
}

/// Counts only, and no names: open to programs on this machine; from outside
/// the token is needed.
async fn metrics(State(context): State<Context>, uri: Uri, headers: HeaderMap) -> Response {
    let from_outside = match context.transport {
        Transport::Tcp(bound) => !bound.ip().is_loopback(),
        Transport::UnixSocket => false,
    };
    if from_outside && let Err(refusal) = context.shared.access.check_token(uri.query(), &headers) {
        return refused(refusal);
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, context.shared.host.metrics()).into_response()
}

async fn anything_else(
    State(context): State<Context>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let Context { shared, transport } = context;
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) if headers.contains_key(header::UPGRADE) => {
            return rejection.into_response();
        }
        Err(_) => return plain_page(&uri, shared.web),
    };
    if let Transport::Tcp(_) = transport
        && let Err(refusal) = shared.access.check_token(uri.query(), &headers)
    {
        return refused(refusal);
    }
    let connection = shared.host.connect();
    upgrade
        .max_message_size(shared.message_bytes)
        .max_frame_size(shared.message_bytes)
        .on_upgrade(move |socket| socket::run(socket, connection, shared.ping_after))
}

fn plain_page(uri: &Uri, web: bool) -> Response {
    match uri.path() {
        "/" if web => page::index(),
        _ => (StatusCode::NOT_FOUND, "there is nothing here\n").into_response(),
    }
}

fn refused(refusal: Refusal) -> Response {
    let Refusal { status, message } = refusal;
    tracing::debug!(%status, message, "a request was turned away");
    (status, format!("{message}\n")).into_response()
}
