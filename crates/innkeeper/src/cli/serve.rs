//! `innkeeper serve`: the host, until it is told to stop.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use innkeeper_agents::Environment;
use innkeeper_protocol::record::store::Store;
use innkeeper_store::{PostgresAddress, PostgresStore};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::agents::Finder;
use super::announcement::Announcement;
use super::environment::environment;
use super::logging::{self, LogArgs};
use super::place::{PlaceArgs, host_options, opened_store};
use super::standby::{self, Waiting};
use super::{Failure, Outcome};
use crate::config::{Config, parse_address};
use innkeeper::server::access::{AccessPolicy, ConnectionToken};
use innkeeper::server::{NewcomerLimits, Server, ServerOptions, TlsFiles, stdio};
use innkeeper::{Host, LogFeed};

/// How long clients have to take note of the end.
const FAREWELL: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on [default: 127.0.0.1]
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    host: Option<IpAddr>,
    /// The port to listen on; 0 picks a free one [default: 8137]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Also listen on a Unix socket that only you can open
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// What a client must present [default: generated once and kept in the data directory]
    #[arg(long, value_name = "T", conflicts_with_all = ["connection_token_file", "without_connection_token"])]
    connection_token: Option<String>,
    /// A file with what a client must present
    #[arg(long, value_name = "F", conflicts_with = "without_connection_token")]
    connection_token_file: Option<PathBuf>,
    /// Let clients in without a token; only on a loopback address
    #[arg(long)]
    without_connection_token: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// Only the agents of these providers, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    agents: Option<Vec<String>>,
    /// Once listening, write the addresses and the process id to this file
    #[arg(long, value_name = "F")]
    ready_file: Option<PathBuf>,
    /// No web client
    #[arg(long)]
    no_web: bool,
    /// A certificate chain in PEM, for wss and https
    #[arg(long, value_name = "F", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "F", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve one client on standard input and output, and listen nowhere
    #[arg(long, conflicts_with_all = ["host", "port", "socket", "ready_file", "tls_cert",
        "connection_token", "connection_token_file", "without_connection_token"])]
    stdio: bool,
    #[command(flatten)]
    log: LogArgs,
}

pub(crate) async fn serve(args: ServeArgs) -> Outcome {
    let logs = logging::start(&args.log);
    let started = Instant::now();
    let config = args.place.config()?;
    let data_dir = args.place.data_dir()?;
    let given_token = args.given_token()?;
    let listen = args.listen(&config)?;
    if given_token.is_some() || args.without_connection_token {
        check_token(given_token.as_ref(), listen)?;
    }
    let database = args.place.database(&config)?;
    // From here on, being told to stop means an orderly end.
    let signals = Signals::new()?;
    let mut serving = Serving {
        args: &args,
        config: &config,
        data_dir: &data_dir,
        given_token,
        listen,
        environment: environment(&config),
        logs,
        started,
        signals,
    };
    match database {
        None => {
            let store = opened_store(&config, &data_dir)?;
            serving.live(store).await?;
            Ok(())
        }
        Some(address) => serving.take_turns(&address).await,
    }
}

/// What a host is served with, in all its lives.
struct Serving<'a> {
    args: &'a ServeArgs,
    config: &'a Config,
    data_dir: &'a Path,
    given_token: Option<ConnectionToken>,
    listen: SocketAddr,
    environment: Arc<Environment>,
    logs: LogFeed,
    started: Instant,
    signals: Signals,
}

/// Why a life of the host has ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Asked,
    /// Another host may have the store by now.
    Overtaken,
}

impl Serving<'_> {
    /// Works whenever the store is this host's, and stands by otherwise.
    async fn take_turns(&mut self, address: &PostgresAddress) -> Outcome {
        if let Some(password) = address.password() {
            self.environment.keep_secret(password);
        }
        let lease = Duration::from_secs(self.config.store.lease_seconds);
        if self.args.stdio {
            let options = standby::options(self.config, self.data_dir, lease);
            let address = address.clone();
            let opened = move || PostgresStore::open(&address, options);
            let store = tokio::task::spawn_blocking(opened).await;
            let store = store.context("a thread ended unexpectedly")?;
            self.live(store.map_err(anyhow::Error::from)?).await?;
            return Ok(());
        }
        // The token is in it, which clients need while the host stands by, too.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.data_dir)
            .with_context(|| format!("{} cannot be made", self.data_dir.display()))?;
        let mut first = true;
        loop {
            let token = self.token()?;
            let waiting = Waiting {
                address,
                config: self.config,
                data_dir: self.data_dir,
                access: access(self.config, token.clone()),
                options: self.args.server_options(self.config, self.listen),
                first,
            };
            let web = waiting.options.web;
            let (listen, args, data_dir) = (&mut self.listen, self.args, self.data_dir);
            let store = waiting.store(self.signals.next(), |server| {
                // It keeps its port when it begins to work.
                listen.set_port(server.address().port());
                let announcement = announcement(server, token.as_ref());
                announced(&announcement, data_dir, args.ready_file.as_deref(), web)
            });
            let Some(store) = store.await? else {
                Announcement::remove_from(self.data_dir);
                return Ok(());
            };
            first = false;
            match self.live(store).await? {
                End::Asked => return Ok(()),
                End::Overtaken => tracing::warn!("this host begins anew, behind whoever works"),
            }
        }
    }

    fn token(&self) -> Result<Option<ConnectionToken>> {
        match &self.given_token {
            Some(token) => Ok(Some(token.clone())),
            None if self.args.without_connection_token => Ok(None),
            None => ConnectionToken::of_directory(self.data_dir)
                .map(Some)
                .with_context(|| {
                    let path = self.data_dir.join("token");
                    format!("the connection token {} cannot be used", path.display())
                }),
        }
    }

    /// One life of the host, on a store that is its own.
    async fn live(&mut self, store: impl Store) -> Result<End, Failure> {
        let (args, config, data_dir) = (self.args, self.config, self.data_dir);
        let registry = args.place.registry()?;
        for trouble in registry.troubles() {
            tracing::warn!("{trouble}");
        }
        let finder = Finder::new(
            config.clone(),
            registry,
            data_dir.to_owned(),
            self.environment.clone(),
            args.agents.clone(),
        );
        let agents = finder.soon().await?;
        let logs = Some(self.logs.clone());
        let options = host_options(config, data_dir, &self.environment, logs)?;
        let host = Host::start(options, agents, store).await?;
        let served = if args.stdio {
            let completed = host.clone();
            tokio::spawn(async move {
                finder.complete(&completed).await;
                finder.follow(&completed).await;
            });
            serve_stdio(&host, config, &mut self.signals).await
        } else {
            match self.token() {
                Ok(token) => {
                    if let Some(token) = &token {
                        self.environment.keep_secret(token.reveal());
                    }
                    let listening = Listening {
                        host: &host,
                        finder,
                        config,
                        data_dir,
                        ready_file: args.ready_file.as_deref(),
                        started: self.started,
                        listen: &mut self.listen,
                    };
                    let options = args.server_options(config, *listening.listen);
                    listening
                        .serve(access(config, token), options, &mut self.signals)
                        .await
                }
                Err(error) => Err(error.into()),
            }
        };
        // However it went: what was opened is closed in order.
        let closed = host.shutdown().await;
        await_farewells(&host).await;
        match served? {
            // Its store is another's, and cannot be closed.
            End::Overtaken => Ok(End::Overtaken),
            End::Asked => {
                closed?;
                Ok(End::Asked)
            }
        }
    }
}

impl ServeArgs {
    fn listen(&self, config: &Config) -> Result<SocketAddr, Failure> {
        let host = self.host.unwrap_or(config.server.host);
        if self.without_connection_token && !host.is_loopback() {
            return Err(Failure::Usage(format!(
                "--without-connection-token would let anybody in who can reach {host}; leave it \
                 out, or listen on 127.0.0.1"
            )));
        }
        Ok(SocketAddr::new(
            host,
            self.port.unwrap_or(config.server.port),
        ))
    }

    /// The token that was given with a flag.
    fn given_token(&self) -> Result<Option<ConnectionToken>, Failure> {
        const FORM: &str =
            "a connection token is made of letters, digits and the characters - . _ ~";
        if let Some(secret) = &self.connection_token {
            let token = ConnectionToken::new(secret.as_str());
            return match token {
                Some(token) => Ok(Some(token)),
                None => Err(Failure::Usage(FORM.to_owned())),
            };
        }
        let Some(path) = &self.connection_token_file else {
            return Ok(None);
        };
        let secret = std::fs::read_to_string(path).with_context(|| {
            let path = path.display();
            format!("the connection token file {path} cannot be read")
        })?;
        let token = ConnectionToken::new(secret.trim())
            .ok_or_else(|| anyhow!("{} holds no token; {FORM}", path.display()))?;
        Ok(Some(token))
    }

    fn server_options(&self, config: &Config, listen: SocketAddr) -> ServerOptions {
        let tls = self.tls_cert.clone().zip(self.tls_key.clone());
        ServerOptions {
            listen,
            socket: self.socket.clone(),
            tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
            web: config.server.web && !self.no_web,
            connections: config.limits.connections(),
            message_bytes: config.server.message_bytes(),
            ping_after: config.server.ping_after(),
            newcomers: NewcomerLimits::default(),
        }
    }
}

/// Says how far a token protects; refuses one that protects too little.
fn check_token(token: Option<&ConnectionToken>, listen: SocketAddr) -> Result<(), Failure> {
    const SHORTEST: usize = ConnectionToken::SHORTEST;
    match token {
        None => tracing::warn!(
            "--without-connection-token: every user and program of this machine can use the \
             agents and a shell as you"
        ),
        Some(token) if token.is_short() && listen.ip().is_loopback() => tracing::warn!(
            "the connection token has fewer than {SHORTEST} characters; use a longer one, or \
             leave it out to have one generated"
        ),
        Some(token) if token.is_short() => {
            return Err(Failure::Usage(format!(
                "a connection token of fewer than {SHORTEST} characters can be guessed, and \
                 other machines can reach {}; use a longer one, or leave it out to have one \
                 generated",
                listen.ip()
            )));
        }
        Some(_) => {}
    }
    Ok(())
}

fn access(config: &Config, token: Option<ConnectionToken>) -> AccessPolicy {
    AccessPolicy {
        token,
        allowed_hosts: config.server.allowed_hosts.clone(),
        allowed_origins: config.server.allowed_origins.clone(),
    }
}

async fn serve_stdio(host: &Host, config: &Config, signals: &mut Signals) -> Result<End, Failure> {
    let message_bytes = config.server.message_bytes();
    let client = stdio::serve(host, tokio::io::stdin(), tokio::io::stdout(), message_bytes);
    tokio::select! {
        served = client => {
            served.context("the client on standard input cannot be served")?;
        }
        () = host.overtaken() => {}
        () = signals.next() => Signals::new()?.exit_on_the_next(),
    }
    Ok(End::Asked)
}

/// A host that is about to listen for clients.
struct Listening<'a> {
    host: &'a Host,
    finder: Finder,
    config: &'a Config,
    data_dir: &'a Path,
    ready_file: Option<&'a Path>,
    started: Instant,
    /// Where it listens: it keeps a port that it was given.
    listen: &'a mut SocketAddr,
}

impl Listening<'_> {
    async fn serve(
        self,
        access: AccessPolicy,
        options: ServerOptions,
        signals: &mut Signals,
    ) -> Result<End, Failure> {
        let (web, plain) = (options.web, options.tls.is_none());
        let token = access.token.clone();
        let server = Server::start(self.host.clone(), access, options).await?;
        self.listen.set_port(server.address().port());
        self.host
            .announce(&standby::advertised(self.config, &server));
        let announcement = announcement(&server, token.as_ref());
        let announced = announced(&announcement, self.data_dir, self.ready_file, web);
        let mut end = End::Asked;
        if announced.is_ok() {
            let address = server.address();
            let after_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(%address, after_ms, "the host is ready");
            let host = self.host.clone();
            tokio::spawn(async move {
                self.finder.complete(&host).await;
                tokio::join!(host.get_to_know_agents(), self.finder.follow(&host));
            });
            if plain && !address.ip().is_loopback() {
                tracing::warn!(
                    "clients on other machines connect without encryption; \
                     see --tls-cert and --tls-key"
                );
            }
            tokio::select! {
                () = signals.next() => {
                    tracing::info!("shutting down");
                    Signals::new()?.exit_on_the_next();
                }
                () = self.host.overtaken() => end = End::Overtaken,
            }
        }
        Announcement::remove_from(self.data_dir);
        server.stop().await;
        announced?;
        Ok(end)
    }
}

/// Writes down where the host listens, and says so.
fn announced(
    announcement: &Announcement,
    data_dir: &Path,
    ready_file: Option<&Path>,
    web: bool,
) -> Result<()> {
    let unwritten = |path: &Path| format!("failed to write {}", path.display());
    announcement
        .write_in(data_dir)
        .with_context(|| unwritten(data_dir))?;
    if let Some(path) = ready_file {
        announcement
            .write(path)
            .with_context(|| format!("{}; choose another --ready-file", unwritten(path)))?;
    }
    let mut lines = String::new();
    if web {
        lines.push_str(&format!("Web client:  {}\n", announcement.web));
    }
    lines.push_str(&format!("WebSocket:   {}\n", announcement.url));
    // Whoever closed our standard output can still connect.
    let mut out = io::stdout().lock();
    let _ = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
    Ok(())
}

fn announcement(server: &Server, token: Option<&ConnectionToken>) -> Announcement {
    let query = match token {
        Some(token) => format!("?tkn={}", token.reveal()),
        None => String::new(),
    };
    let (url, web) = server.urls();
    Announcement {
        url: url + &query,
        web: web + &query,
        pid: std::process::id(),
    }
}

/// Gives clients the time to hear that the host is gone.
async fn await_farewells(host: &Host) {
    let end = Instant::now() + FAREWELL;
    while host.connections() > 0 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// What tells a program to stop.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal is gone; nothing, if whoever started us had that ignored.
    hangup: Option<Signal>,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: match ignores_hangup() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            },
        })
    }

    pub(crate) async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }

    /// Whoever asks again has waited long enough.
    pub(crate) fn exit_on_the_next(mut self) {
        tokio::spawn(async move {
            // A terminal that goes may say so several times.
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
            std::process::exit(1);
        });
    }
}

/// Whether this process was started with SIGHUP ignored, as `nohup` does: then
/// it stays ignored. Where the system does not tell, it is not.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status");
    status.is_ok_and(|status| hangup_is_ignored(&status))
}

/// Signals are bits, counted from one: SIGHUP is the lowest.
fn hangup_is_ignored(status: &str) -> bool {
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::hangup_is_ignored;

    #[test]
    fn ignored_signals_are_bits() {
        for (status, ignored) in [
            ("Name:\tx\nSigIgn:\t0000000000001001\n", true),
            (
                "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n",
                false,
            ),
            ("SigIgn:\tnothing\n", false),
            ("", false),
        ] {
            assert_eq!(hangup_is_ignored(status), ignored, "{status:?}");
        }
    }
}
