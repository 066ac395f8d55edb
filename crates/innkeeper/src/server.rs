//! Servers: the transports over which clients reach a host.
//!
//! Everything is on one port: the WebSocket (an upgrade on any path), the web
//! client, `/healthz` and `/metrics`. *Invariant*: no request gets past
//! [`access`] without a known `Host`, an acceptable `Origin` and, where
//! sessions are concerned, the token.

pub mod access;
mod http;
#[cfg(not(feature = "tls"))]
mod no_tls;
mod page;
mod private_socket;
mod socket;
pub mod stdio;
#[cfg(feature = "tls")]
mod tls;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::{Listener, ListenerExt as _};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::Host;
use access::AccessPolicy;

#[cfg(not(feature = "tls"))]
use no_tls as tls;
pub use tls::TlsFiles;

/// How long a client may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(10);

/// How many connections may be at that, or at plain HTTP, at once. Others wait
/// until the system lets them in.
const AT_THE_DOOR: usize = 256;

#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub listen: SocketAddr,
    /// Also listen here, for clients of the same user.
    pub socket: Option<PathBuf>,
    pub tls: Option<TlsFiles>,
    /// Whether `/` shows the web client.
    pub web: bool,
    /// How many clients may be connected at once.
    pub connections: usize,
    /// The largest message that a client may send.
    pub message_bytes: usize,
    /// After this long without a word, a client is asked whether it is there.
    pub ping_after: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("failed to listen on {address}: {source}. {}", hint(source))]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("failed to listen on the socket {}: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("failed to load the TLS certificate or key: {0}")]
    Tls(String),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "Choose another port with --port, or 0 for any free one",
        io::ErrorKind::PermissionDenied => "Choose a port above 1023 with --port",
        io::ErrorKind::AddrNotAvailable => "Choose an address of this machine with --host",
        _ => "Choose another address with --host and --port",
    }
}

/// A server that accepts clients until it is told to stop.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    tls: bool,
    socket: Option<PathBuf>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Server {
    pub async fn start(
        host: Host,
        access: AccessPolicy,
        options: ServerOptions,
    ) -> Result<Self, ServerError> {
        let listen = |source| ServerError::Listen {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let stop = watch::Sender::new(false);
        let mut tasks = JoinSet::new();
        let state = http::Shared {
            host,
            access: Arc::new(access),
            web: options.web,
            places: Arc::new(Semaphore::new(options.connections)),
            most_connections: options.connections,
            message_bytes: options.message_bytes,
            ping_after: options.ping_after,
        };
        if let Some(path) = &options.socket {
            let listener = private_socket::bind(path).map_err(|source| ServerError::Socket {
                path: path.clone(),
                source,
            })?;
            let router = http::router(state.clone(), http::Transport::UnixSocket);
            tasks.spawn(run(listener, router, stop.subscribe()));
        }
        let router = http::router(state, http::Transport::Tcp(address));
        // Small frames must not wait for each other.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        match &options.tls {
            None => drop(tasks.spawn(run(listener, router, stop.subscribe()))),
            Some(files) => {
                let listener = tls::TlsListener::new(listener, files).map_err(ServerError::Tls)?;
                tasks.spawn(run(listener, router, stop.subscribe()));
            }
        }
        Ok(Self {
            address,
            tls: options.tls.is_some(),
            socket: options.socket,
            stop,
            tasks,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where to connect, as `(WebSocket, web)` addresses without a token. Of a
    /// server on all addresses, it is the one that this machine itself can use.
    pub fn urls(&self) -> (String, String) {
        let mut address = self.address;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            IpAddr::V4(_) | IpAddr::V6(_) => {}
        }
        let (ws, http) = if self.tls {
            ("wss", "https")
        } else {
            ("ws", "http")
        };
        (format!("{ws}://{address}/"), format!("{http}://{address}/"))
    }

    /// Accepts nobody any more. Connections end with the host's shutdown.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_secs(3), all)
            .await
            .is_err()
        {
            tracing::warn!("some connections did not end in time");
        }
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}

async fn run<L>(mut listener: L, router: axum::Router, stop: watch::Receiver<bool>)
where
    L: Listener,
{
    let room = Arc::new(Semaphore::new(AT_THE_DOOR));
    let (mut visitors, mut stopped) = (JoinSet::new(), stop.clone());
    let accepting = async {
        // A semaphore that nobody closes always has room again.
        while let Ok(place) = Arc::clone(&room).acquire_owned().await {
            let (io, _) = listener.accept().await;
            while visitors.try_join_next().is_some() {}
            visitors.spawn(visit(io, router.clone(), stop.clone(), place));
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    while visitors.join_next().await.is_some() {}
}

/// Answers the requests of one connection until it ends or is upgraded.
async fn visit(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: axum::Router,
    mut stop: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(io), TowerToHyperService::new(router))
        .with_upgrades();
    let mut connection = pin!(connection);
    let stopped = async {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}
