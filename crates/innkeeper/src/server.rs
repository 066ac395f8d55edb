//! Servers: the transports over which clients reach a host.
//!
//! Everything is on one port: the WebSocket (an upgrade on any path), the web
//! client, `/healthz`, `/readyz` and `/metrics`. *Invariant*: no request gets past
//! [`access`] without a known `Host`, an acceptable `Origin` and, where
//! sessions are concerned, the token. A Unix socket needs none of these: its
//! file says who may come.

pub mod access;
mod compression;
mod current;
mod door;
mod http;
mod newcomers;
#[cfg(not(feature = "tls"))]
mod no_tls;
mod page;
mod private_socket;
mod socket;
mod standby;
pub mod stdio;
#[cfg(feature = "tls")]
mod tls;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::{Listener, ListenerExt as _};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::Host;
use access::AccessPolicy;
use current::Current;
use door::{Door, Place};
use newcomers::Newcomers;

pub use newcomers::NewcomerLimits;
#[cfg(not(feature = "tls"))]
use no_tls as tls;
pub use standby::Standing;
pub use tls::TlsFiles;

/// How long a client may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(10);

/// How many of the user's own commands may be connected at once, however many
/// clients there are.
const OWN_COMMANDS: usize = 256;

/// A Unix socket for the user's own commands.
#[derive(Debug, Clone)]
pub struct ControlSocket {
    pub path: PathBuf,
    /// What is answered there, besides what is answered everywhere.
    pub routes: axum::Router,
}

#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Without an address, there are only the sockets.
    pub listen: Option<SocketAddr>,
    /// Has places of its own, so that clients cannot keep the user out.
    pub control: Option<ControlSocket>,
    /// Also listen here, for clients of the same user.
    pub socket: Option<PathBuf>,
    pub tls: Option<TlsFiles>,
    /// Whether `/` shows the web client.
    pub web: bool,
    /// How many clients may be connected at once.
    pub connections: usize,
    /// The largest message that a client may send.
    pub message_bytes: usize,
    /// Whether messages are compressed for clients that offer it.
    pub compression: bool,
    /// After this long without a word, a client is asked whether it is there.
    pub ping_after: Duration,
    /// What somebody may take before the host knows who it is.
    pub newcomers: NewcomerLimits,
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
    address: Option<SocketAddr>,
    access: Arc<Current<AccessPolicy>>,
    tls: Option<(TlsFiles, tls::Tls)>,
    sockets: Vec<PathBuf>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Server {
    pub async fn start(
        host: Host,
        access: AccessPolicy,
        options: ServerOptions,
    ) -> Result<Self, ServerError> {
        let server = Self::new(access);
        let state = http::Shared {
            host,
            access: Arc::clone(&server.access),
            web: options.web,
            places: Arc::new(Semaphore::new(options.connections)),
            most_connections: options.connections,
            message_bytes: options.message_bytes,
            compression: options.compression,
            ping_after: options.ping_after,
            newcomers: Newcomers::new(options.newcomers.clone()),
        };
        let router = |transport| http::router(state.clone(), transport);
        let own = http::Shared {
            places: Arc::new(Semaphore::new(OWN_COMMANDS)),
            most_connections: OWN_COMMANDS,
            newcomers: Newcomers::new(options.newcomers.clone()),
            ..state.clone()
        };
        let own = || http::router(own, http::Transport::UnixSocket);
        server.listening(router, own, &options).await
    }

    /// A server for a host that stands by, as `news` says.
    pub async fn start_standby(
        access: AccessPolicy,
        options: ServerOptions,
        news: watch::Receiver<Standing>,
    ) -> Result<Self, ServerError> {
        let server = Self::new(access);
        let state = standby::Standby {
            access: Arc::clone(&server.access),
            news,
            places: Arc::new(Semaphore::new(options.connections)),
        };
        let router = |transport| standby::router(state.clone(), transport);
        let own = standby::Standby {
            places: Arc::new(Semaphore::new(OWN_COMMANDS)),
            ..state.clone()
        };
        let own = || standby::router(own, http::Transport::UnixSocket);
        server.listening(router, own, &options).await
    }

    fn new(access: AccessPolicy) -> Self {
        Self {
            address: None,
            access: Current::new(access),
            tls: None,
            sockets: Vec::new(),
            stop: watch::Sender::new(false),
            tasks: JoinSet::new(),
        }
    }

    /// Listens wherever it should, or nowhere. `own` is for the control socket.
    async fn listening(
        mut self,
        router: impl Fn(http::Transport) -> axum::Router,
        own: impl FnOnce() -> axum::Router,
        options: &ServerOptions,
    ) -> Result<Self, ServerError> {
        // Whatever fails, what is there already goes.
        match self.listen(router, own, options).await {
            Ok(()) => Ok(self),
            Err(error) => {
                self.stop().await;
                Err(error)
            }
        }
    }

    async fn listen(
        &mut self,
        router: impl Fn(http::Transport) -> axum::Router,
        own: impl FnOnce() -> axum::Router,
        options: &ServerOptions,
    ) -> Result<(), ServerError> {
        if let Some(address) = options.listen {
            let router = |bound| router(http::Transport::Tcp(bound));
            self.listen_on_port(address, router, options).await?;
        }
        if let Some(control) = &options.control {
            let router = own().merge(control.routes.clone());
            self.listen_on_socket(&control.path, "control socket", router, options)?;
        }
        if let Some(path) = &options.socket {
            let router = router(http::Transport::UnixSocket);
            self.listen_on_socket(path, "unix socket", router, options)?;
        }
        Ok(())
    }

    async fn listen_on_port(
        &mut self,
        address: SocketAddr,
        router: impl FnOnce(SocketAddr) -> axum::Router,
        options: &ServerOptions,
    ) -> Result<(), ServerError> {
        let failed = |source| ServerError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        self.address = Some(bound);
        let reception = self.reception(router(bound), options);
        // Small frames must not wait for each other.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        match &options.tls {
            None => drop(
                self.tasks
                    .spawn(run(listener, as_it_is, by_address, reception)),
            ),
            Some(files) => {
                let tls = tls::Tls::new(files).map_err(ServerError::Tls)?;
                self.tls = Some((files.clone(), tls.clone()));
                let greet = move |stream| tls.clone().greet(stream);
                self.tasks
                    .spawn(run(listener, greet, by_address, reception));
            }
        }
        Ok(())
    }

    /// `name` is what those are called who connect: they have no address.
    fn listen_on_socket(
        &mut self,
        path: &Path,
        name: &'static str,
        router: axum::Router,
        options: &ServerOptions,
    ) -> Result<(), ServerError> {
        let listener = private_socket::bind(path).map_err(|source| ServerError::Socket {
            path: path.to_owned(),
            source,
        })?;
        self.sockets.push(path.to_owned());
        let reception = self.reception(router, options);
        let peer = move |_: &_| Peer(name.into());
        self.tasks.spawn(run(listener, as_it_is, peer, reception));
        Ok(())
    }

    fn reception(&self, router: axum::Router, options: &ServerOptions) -> Reception {
        Reception {
            router,
            limits: options.newcomers.clone(),
            stop: self.stop.subscribe(),
        }
    }

    /// Lets in others from here on, and reads the certificate again.
    /// Connections that are open stay.
    pub fn reload(&self, access: AccessPolicy) -> Result<(), ServerError> {
        self.access.set(access);
        match &self.tls {
            Some((files, tls)) => tls.reload(files).map_err(ServerError::Tls),
            None => Ok(()),
        }
    }

    /// Lets in others from here on. Those whose token is not among them any
    /// more are sent away.
    pub fn admit(&self, access: AccessPolicy) {
        self.access.set(access);
    }

    /// The address that it listens on, if it listens on a port.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where to connect, as `(WebSocket, web)` addresses without a token. Of a
    /// server on all addresses, it is the one that this machine itself can use.
    pub fn urls(&self) -> Option<(String, String)> {
        let mut address = self.address?;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            IpAddr::V4(_) | IpAddr::V6(_) => {}
        }
        let (ws, http) = if self.tls.is_some() {
            ("wss", "https")
        } else {
            ("ws", "http")
        };
        Some((format!("{ws}://{address}/"), format!("{http}://{address}/")))
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
        for path in &self.sockets {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Where a connection comes from.
#[derive(Debug, Clone)]
pub(crate) struct Peer(Arc<str>);

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What those are met with who connect to one listener.
#[derive(Clone)]
struct Reception {
    router: axum::Router,
    limits: NewcomerLimits,
    stop: watch::Receiver<bool>,
}

/// A stream that needs no handshake.
async fn as_it_is<S>(stream: S) -> Option<S> {
    Some(stream)
}

fn by_address(from: &SocketAddr) -> Peer {
    Peer(from.to_string().into())
}

async fn run<L, G, P, F, S>(mut listener: L, greet: G, peer: P, reception: Reception)
where
    L: Listener,
    G: Fn(L::Io) -> F,
    P: Fn(&L::Addr) -> Peer,
    F: Future<Output = Option<S>> + Send + 'static,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let door = Door::new(reception.limits.places);
    let (mut visitors, mut stopped) = (JoinSet::new(), reception.stop.clone());
    let accepting = async {
        loop {
            let (io, from) = listener.accept().await;
            while visitors.try_join_next().is_some() {}
            let peer = peer(&from);
            visitors.spawn(visit(greet(io), reception.clone(), door.enter(), peer));
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    while visitors.join_next().await.is_some() {}
}

/// Answers the requests of one connection until it ends or is upgraded, its
/// time is over, or somebody else needs its place.
async fn visit<S>(
    greeted: impl Future<Output = Option<S>>,
    reception: Reception,
    place: Place,
    peer: Peer,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let life = reception.limits.plain;
    let answered = async {
        if let Some(io) = greeted.await {
            answer(io, reception, &place, peer).await;
        }
    };
    tokio::select! {
        () = answered => {}
        () = place.is_needed() => tracing::debug!("a connection gave way to another"),
        () = tokio::time::sleep(life) => tracing::debug!("a connection has had its time"),
    }
}

async fn answer(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    reception: Reception,
    place: &Place,
    peer: Peer,
) {
    let Reception {
        router,
        limits,
        mut stop,
    } = reception;
    let (router, visitor) = (TowerToHyperService::new(router), place.visitor());
    let service = service_fn(move |mut request: hyper::Request<_>| {
        request.extensions_mut().insert(visitor.clone());
        request.extensions_mut().insert(peer.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let last_answer = async {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            () = tokio::time::sleep(limits.plain / 2) => {}
        }
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = last_answer => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}
