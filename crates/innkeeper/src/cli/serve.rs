//! `innkeeper serve`: the host, until it is told to stop.

mod announced;
mod controlled;
mod reachable;
mod settled;

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueHint};
use innkeeper_protocol::record::store::Store;
use innkeeper_store::{PostgresAddress, PostgresStore};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::agents::Finder;
use super::announcement::{Announcement, HostFile};
use super::control::dismiss;
use super::environment::environment;
use super::log_file;
use super::logging::{self, LogArgs, Logs};
use super::place::{PlaceArgs, host_options, opened_store, postgres_options};
use super::signals::{Signals, Told};
use super::standby::{self, Waiting};
use super::{Failure, Outcome, control_socket, service, token};
use crate::config::{Config, parse_address};
use controlled::{Controlled, Links};
use innkeeper::agents::{Agent, Environment};
use innkeeper::server::access::{AccessPolicy, ConnectionToken, DeviceToken};
use innkeeper::server::{
    ControlSocket, NewcomerLimits, Server, ServerOptions, Standing, TlsFiles, stdio,
};
use innkeeper::{Host, HostOptions};

pub(crate) use controlled::{Kind, Link, Status};

/// How long clients have to take note of the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// How often a host looks whether anybody uses it.
const LOOK_FOR_CLIENTS: Duration = Duration::from_millis(20);

/// How long a host for commands waits for the first one.
const FIRST_CLIENT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on [env: INNKEEPER_HOST] [default: 127.0.0.1]
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    host: Option<IpAddr>,
    /// The port to listen on; 0 picks a free one [env: INNKEEPER_PORT] [default: 8137]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Also listen on a Unix socket that only you can open [env: INNKEEPER_SOCKET]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    socket: Option<PathBuf>,
    /// Token that clients must present [env: INNKEEPER_CONNECTION_TOKEN] [default: generated once
    /// and kept in the data directory]
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["connection_token_file", "without_connection_token"])]
    connection_token: Option<String>,
    /// A file with the token that clients must present [env: INNKEEPER_CONNECTION_TOKEN_FILE]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "without_connection_token")]
    connection_token_file: Option<PathBuf>,
    /// Let clients in without a token; only on a loopback address
    /// [env: INNKEEPER_WITHOUT_CONNECTION_TOKEN]
    #[arg(long)]
    without_connection_token: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// Only the agents of these providers, separated by commas [env: INNKEEPER_AGENTS]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    agents: Option<Vec<String>>,
    /// Once listening, write the addresses and the process id to this file
    /// [env: INNKEEPER_READY_FILE]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ready_file: Option<PathBuf>,
    /// No web client [env: INNKEEPER_NO_WEB]
    #[arg(long)]
    no_web: bool,
    /// A certificate chain in PEM, for wss and https [env: INNKEEPER_TLS_CERT]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM [env: INNKEEPER_TLS_KEY]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tls_key: Option<PathBuf>,
    /// Serve one client on standard input and output, and listen nowhere
    #[arg(long, conflicts_with_all = ["host", "port", "socket", "ready_file", "tls_cert",
        "connection_token", "connection_token_file", "without_connection_token"])]
    stdio: bool,
    /// Run under a service manager: reload on SIGHUP, and print no token
    #[arg(long, conflicts_with = "stdio")]
    service: bool,
    /// Apart from the terminal (for `up` and `run`)
    #[arg(long, hide = true, conflicts_with = "stdio")]
    detached: bool,
    /// Only for the commands of this user, and only while there are any (for `run`)
    #[arg(long, hide = true, requires = "detached")]
    temporary: bool,
    #[command(flatten)]
    log: LogArgs,
}

pub(crate) async fn serve(args: ServeArgs) -> Outcome {
    if args.detached {
        // Whoever started this may go, and its terminal too.
        let _ = rustix::process::setsid();
    }
    let started = Instant::now();
    let config = args.place.config()?;
    let args = args.settled(&config, |name| std::env::var_os(name))?;
    let logs = logging::start(&args.log, &config.log.defaults(), !args.detached)?;
    let data_dir = args.place.data_dir()?;
    let given_token = args.given_token()?;
    let listen = args.listen(&config)?;
    if given_token.is_some() || args.without_connection_token {
        check_token(given_token.as_ref(), listen)?;
    }
    let database = args.place.database(&config)?;
    // From here on, being told to stop means an orderly end.
    let signals = match args.kind() {
        Kind::Foreground => Signals::new()?,
        Kind::Background | Kind::Service | Kind::Temporary => Signals::of_a_service()?,
    };
    let scanned = args.scanned_token(listen)?;
    let mut serving = Serving {
        scanned,
        args: &args,
        environment: environment(&config),
        config,
        data_dir: &data_dir,
        given_token,
        listen,
        logs,
        started,
        signals,
    };
    match database {
        None => {
            let ready = serving.prepare().await?;
            serving.dismiss_temporary().await;
            let store = opened_store(&serving.config, &data_dir)?;
            serving.live(ready, store).await?;
            Ok(())
        }
        Some(address) => serving.take_turns(&address).await,
    }
}

/// What a host is served with, in all its lives.
struct Serving<'a> {
    args: &'a ServeArgs,
    config: Config,
    data_dir: &'a Path,
    given_token: Option<ConnectionToken>,
    /// For whoever scans the code on the screen, until the program ends.
    scanned: Option<ConnectionToken>,
    /// It keeps a port that it was given.
    listen: SocketAddr,
    environment: Arc<Environment>,
    logs: Logs,
    started: Instant,
    signals: Signals,
}

/// Why a life of the host has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Signal,
    Control,
    Unused,
    /// The client on standard input is gone.
    Gone,
    /// Another host may have the store by now.
    Overtaken,
}

/// What is looked for before a life begins.
struct Prepared {
    finder: Finder,
    agents: Vec<Arc<dyn Agent>>,
    options: HostOptions,
}

impl Serving<'_> {
    /// Works whenever the store is this host's, and stands by otherwise.
    async fn take_turns(&mut self, address: &PostgresAddress) -> Outcome {
        if let Some(password) = address.password() {
            self.environment.keep_secret(password);
        }
        self.dismiss_temporary().await;
        // Nobody could be passed on to the host that works.
        if self.args.stdio || self.args.temporary {
            let options = postgres_options(&self.config, self.data_dir);
            let ready = self.prepare().await?;
            let place = address.clone();
            let opened = move || PostgresStore::open(&place, options);
            let store = tokio::task::spawn_blocking(opened).await;
            let store = store.context("a thread ended unexpectedly")?;
            return match self
                .live(ready, store.map_err(anyhow::Error::from)?)
                .await?
            {
                End::Overtaken => {
                    Err(anyhow!("another host has taken over the database {address}").into())
                }
                End::Signal | End::Control | End::Unused | End::Gone => Ok(()),
            };
        }
        // The token is in it, which clients need while the host stands by, too.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.data_dir)
            .with_context(|| format!("{} cannot be made", self.data_dir.display()))?;
        let mut first = true;
        loop {
            let Some(store) = self.stand_by(address, first).await? else {
                return Ok(());
            };
            first = false;
            let ready = match self.prepare().await {
                Ok(ready) => ready,
                Err(error) => {
                    // Whoever waits for the lease need not wait until it is over.
                    let _ = Box::new(store).close();
                    return Err(error);
                }
            };
            match self.live(ready, store).await? {
                End::Overtaken => tracing::warn!("this host begins anew, behind whoever works"),
                End::Signal | End::Control | End::Unused | End::Gone => return Ok(()),
            }
        }
    }

    /// Waits for the store; nothing if the host is told to stop before. While
    /// it waits, the user's commands see that it does.
    async fn stand_by(
        &mut self,
        address: &PostgresAddress,
        first: bool,
    ) -> Result<Option<PostgresStore>, Failure> {
        let token = self.token()?;
        let place = control_place(self.data_dir)?;
        let news = watch::Sender::new(Standing::WithoutStore);
        let controlled = Controlled::standby(news.subscribe(), self.args.kind(), self.data_dir);
        let control = control_at(&place, &controlled);
        let waiting = Waiting {
            address,
            config: &self.config,
            data_dir: self.data_dir,
            access: access(
                self.data_dir,
                &self.config,
                token.as_ref(),
                self.scanned.as_ref(),
            )?,
            options: self.args.server_options(&self.config, self.listen, control),
            news,
            first,
        };
        let web = waiting.options.web;
        let (listen, logs) = (&mut self.listen, &self.logs);
        let (args, data_dir, scanned) = (self.args, self.data_dir, self.scanned.as_ref());
        let signals = &mut self.signals;
        let stopped = async {
            tokio::select! {
                () = signals.stop() => {}
                () = controlled.is_told_to_stop() => {}
            }
        };
        // Only then the directory is this host's.
        let mut is_announced = false;
        let store = waiting.store(stopped, |server| {
            is_announced = true;
            open_log(logs, data_dir);
            keep_port(listen, server);
            let links = Links::new(server, token.as_ref());
            args.announce(data_dir, &links, &place, web, scanned)?;
            controlled.listens(links);
            if args.service {
                service::notify("READY=1");
            }
            Ok(())
        });
        let store = store.await;
        if is_announced {
            HostFile::remove_from(data_dir);
        }
        Ok(store?)
    }

    fn token(&self) -> Result<Option<ConnectionToken>> {
        match &self.given_token {
            Some(token) => Ok(Some(token.clone())),
            None if self.args.without_connection_token || self.args.temporary => Ok(None),
            None => ConnectionToken::of_directory(self.data_dir)
                .map(Some)
                .with_context(|| {
                    let path = self.data_dir.join("token");
                    format!("the connection token {} cannot be used", path.display())
                }),
        }
    }

    /// A host that was started for a command makes room for one that stays.
    async fn dismiss_temporary(&self) {
        if self.args.kind() != Kind::Temporary {
            dismiss(self.data_dir).await;
        }
    }

    async fn prepare(&self) -> Result<Prepared, Failure> {
        let finder = self
            .args
            .finder(&self.config, self.data_dir, &self.environment)?;
        let agents = finder.soon().await?;
        let logs = Some(self.logs.feed.clone());
        let options = host_options(&self.config, self.data_dir, &self.environment, logs)?;
        Ok(Prepared {
            finder,
            agents,
            options,
        })
    }

    /// One life of the host, on a store that is its own.
    async fn live(&mut self, ready: Prepared, store: impl Store) -> Result<End, Failure> {
        let Prepared {
            finder,
            agents,
            options,
        } = ready;
        open_log(&self.logs, self.data_dir);
        let host = Host::start(options, agents, store).await?;
        let served = if self.args.stdio {
            let completed = host.clone();
            tokio::spawn(async move {
                finder.complete(&completed).await;
                finder.follow(&completed).await;
            });
            // So that commands need not wait for a host that never answers them.
            if let Err(error) = HostFile::of_stdio().write_in(self.data_dir) {
                tracing::warn!(%error, "host.json cannot be written");
            }
            let served = serve_stdio(&host, &self.config, &mut self.signals).await;
            HostFile::remove_from(self.data_dir);
            served
        } else {
            match self.token() {
                Ok(token) => {
                    for token in [&token, &self.scanned].into_iter().flatten() {
                        self.environment.keep_secret(token.reveal());
                    }
                    let listening = Listening {
                        args: self.args,
                        host: &host,
                        config: &mut self.config,
                        environment: &self.environment,
                        token,
                        scanned: self.scanned.as_ref(),
                        data_dir: self.data_dir,
                        started: self.started,
                        listen: &mut self.listen,
                    };
                    listening.serve(finder, &mut self.signals).await
                }
                Err(error) => Err(error.into()),
            }
        };
        if !matches!(served, Ok(End::Overtaken))
            && let Ok(signals) = Signals::new()
        {
            signals.exit_on_the_next();
        }
        // However it went: what was opened is closed in order.
        let closed = host.shutdown().await;
        await_farewells(&host).await;
        match served? {
            // Its store is another's, and cannot be closed.
            End::Overtaken => Ok(End::Overtaken),
            end => {
                closed?;
                Ok(end)
            }
        }
    }
}

/// Writes what is logged to the data directory, too, from here on.
fn open_log(logs: &Logs, data_dir: &Path) {
    if let Err(error) = logs.file.open(data_dir) {
        let path = log_file::path_in(data_dir);
        tracing::warn!(%error, path = %path.display(), "the log file cannot be written");
    }
}

fn control_place(data_dir: &Path) -> Result<control_socket::Place> {
    control_socket::Place::for_host(data_dir)
        .context("no directory for the control socket can be made")
}

fn control_at(place: &control_socket::Place, controlled: &Arc<Controlled>) -> ControlSocket {
    ControlSocket {
        path: place.path.clone(),
        routes: controlled::routes(controlled),
    }
}

/// A host that was given any free port keeps it in its next life.
fn keep_port(listen: &mut SocketAddr, server: &Server) {
    if let Some(address) = server.address() {
        listen.set_port(address.port());
    }
}

impl ServeArgs {
    pub(crate) fn place(&self) -> &PlaceArgs {
        &self.place
    }

    /// What can be said to be wrong before anything is started.
    pub(crate) fn check(&self) -> Outcome {
        let config = self.place.config()?;
        let settled = self
            .clone()
            .settled(&config, |name| std::env::var_os(name))?;
        let (token, listen) = (settled.given_token()?, settled.listen(&config)?);
        if token.as_ref().is_some_and(ConnectionToken::is_short) {
            check_token(token.as_ref(), listen)?;
        }
        match self.stdio || self.service {
            true => Err(Failure::Usage(
                "a host in the background has neither a client on standard input nor a service \
                 manager; leave out --stdio and --service"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

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

    fn kind(&self) -> Kind {
        match (self.temporary, self.detached, self.service) {
            (true, _, _) => Kind::Temporary,
            (_, true, _) => Kind::Background,
            (_, _, true) => Kind::Service,
            _ => Kind::Foreground,
        }
    }

    fn finder(
        &self,
        config: &Config,
        data_dir: &Path,
        environment: &Arc<Environment>,
    ) -> Result<Finder> {
        let registry = self.place.registry()?;
        for trouble in registry.troubles() {
            tracing::warn!("{trouble}");
        }
        Ok(Finder::new(
            config.clone(),
            registry,
            data_dir.to_owned(),
            Arc::clone(environment),
            self.agents.clone(),
        ))
    }

    fn server_options(
        &self,
        config: &Config,
        listen: SocketAddr,
        control: ControlSocket,
    ) -> ServerOptions {
        let tls = self.tls_cert.clone().zip(self.tls_key.clone());
        ServerOptions {
            listen: (!self.temporary).then_some(listen),
            control: Some(control),
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

/// Whom the host lets in, with the tokens of devices as they are now.
fn access(
    data_dir: &Path,
    config: &Config,
    token: Option<&ConnectionToken>,
    scanned: Option<&ConnectionToken>,
) -> Result<AccessPolicy> {
    let mut devices = token::load(data_dir)?;
    devices.extend(scanned.map(|secret| DeviceToken::new("QR code", secret, false)));
    Ok(AccessPolicy {
        token: token.cloned(),
        devices,
        allowed_hosts: config.server.allowed_hosts.clone(),
        allowed_origins: config.server.allowed_origins.clone(),
    })
}

async fn serve_stdio(host: &Host, config: &Config, signals: &mut Signals) -> Result<End, Failure> {
    let message_bytes = config.server.message_bytes();
    let client = stdio::serve(host, tokio::io::stdin(), tokio::io::stdout(), message_bytes);
    tokio::select! {
        served = client => {
            served.context("the client on standard input cannot be served")?;
            Ok(End::Gone)
        }
        () = host.overtaken() => Ok(End::Overtaken),
        () = signals.stop() => Ok(End::Signal),
    }
}

/// A host that is about to listen for clients.
struct Listening<'a> {
    args: &'a ServeArgs,
    host: &'a Host,
    config: &'a mut Config,
    environment: &'a Arc<Environment>,
    token: Option<ConnectionToken>,
    scanned: Option<&'a ConnectionToken>,
    data_dir: &'a Path,
    started: Instant,
    listen: &'a mut SocketAddr,
}

impl Listening<'_> {
    async fn serve(mut self, finder: Finder, signals: &mut Signals) -> Result<End, Failure> {
        let place = control_place(self.data_dir)?;
        let controlled = Controlled::new(self.host.clone(), self.args.kind(), self.data_dir);
        let control = control_at(&place, &controlled);
        let options = self.args.server_options(self.config, *self.listen, control);
        let web = options.web;
        let access = self.access(self.config)?;
        let server = Server::start(self.host.clone(), access, options).await?;
        keep_port(self.listen, &server);
        self.host
            .announce(&standby::advertised(self.config, &server));
        let links = Links::new(&server, self.token.as_ref());
        let announced = self
            .args
            .announce(self.data_dir, &links, &place, web, self.scanned);
        let mut end = End::Signal;
        if announced.is_ok() {
            controlled.listens(links);
            self.is_ready(&server);
            if self.args.service {
                service::notify("READY=1");
            }
            let mut looking = self.look_for_agents(finder, &controlled);
            end = loop {
                tokio::select! {
                    told = signals.next() => match told {
                        Told::Stop => break End::Signal,
                        Told::Reload => {
                            self.reload(&server, &mut looking, &controlled);
                        }
                    },
                    () = controlled.is_told_to_reload() => {
                        self.reload(&server, &mut looking, &controlled);
                    }
                    asked = controlled.is_told_about_tokens() => {
                        let read = self.access(self.config);
                        asked.answer(read.map(|access| server.admit(access)));
                    }
                    () = controlled.is_told_to_stop() => break End::Control,
                    () = self.is_unused() => break End::Unused,
                    () = self.host.overtaken() => break End::Overtaken,
                }
            };
            match end {
                End::Signal => tracing::info!("shutting down: a signal said so"),
                End::Control => tracing::info!("shutting down: a command said so"),
                End::Unused => tracing::info!("shutting down: nobody has used it for a while"),
                End::Gone | End::Overtaken => {}
            }
            if self.args.service && end != End::Overtaken {
                service::notify("STOPPING=1");
            }
            looking.abort();
        }
        HostFile::remove_from(self.data_dir);
        server.stop().await;
        announced?;
        Ok(end)
    }

    fn access(&self, config: &Config) -> Result<AccessPolicy> {
        access(self.data_dir, config, self.token.as_ref(), self.scanned)
    }

    fn is_ready(&self, server: &Server) {
        let after_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let version = env!("CARGO_PKG_VERSION");
        let Some(address) = server.address() else {
            tracing::info!(version, after_ms, "the host is ready for commands");
            return;
        };
        tracing::info!(%address, version, after_ms, "the host is ready");
        if self.args.tls_cert.is_none() && !address.ip().is_loopback() {
            tracing::warn!(
                "clients on other machines connect without encryption; \
                 see --tls-cert and --tls-key"
            );
        }
    }

    /// Finds the agents that take longer to find, and those to come.
    fn look_for_agents(&self, finder: Finder, controlled: &Arc<Controlled>) -> JoinHandle<()> {
        let (host, controlled) = (self.host.clone(), Arc::clone(controlled));
        // Starting all agents for a moment is worth it where the host stays.
        let stays = !self.args.temporary;
        tokio::spawn(async move {
            finder.complete(&host).await;
            controlled.knows_agents();
            let get_to_know = async {
                if stays {
                    host.get_to_know_agents().await;
                }
            };
            tokio::join!(get_to_know, finder.follow(&host));
        })
    }

    /// Reads the configuration and the certificate again. What is wrong in
    /// them changes nothing.
    fn reload(
        &mut self,
        server: &Server,
        looking: &mut JoinHandle<()>,
        controlled: &Arc<Controlled>,
    ) {
        let reloaded = self.args.place.config().and_then(|config| {
            server.reload(self.access(&config)?)?;
            if config.agents != self.config.agents {
                let finder = self.args.finder(&config, self.data_dir, self.environment)?;
                looking.abort();
                let host = self.host.clone();
                let controlled = Arc::clone(controlled);
                *looking = tokio::spawn(async move {
                    if let Ok(agents) = finder.all().await {
                        host.set_agents(agents);
                    }
                    controlled.knows_agents();
                    finder.follow(&host).await;
                });
            }
            Ok(config)
        });
        match reloaded {
            Ok(config) => {
                let waits = self.config.needs_restart_for(&config);
                *self.config = config;
                match waits {
                    true => tracing::warn!(
                        "the configuration was read again; some of what has changed takes effect \
                         when the host is restarted"
                    ),
                    false => tracing::info!("the configuration was read again"),
                }
            }
            Err(error) => {
                let error = super::text::told(&error);
                tracing::error!(error, "the configuration was not read again");
            }
        }
    }

    /// Waits until a host that was started for a command has had no clients
    /// for so long; forever, if it was started by itself.
    async fn is_unused(&self) {
        if !self.args.temporary {
            return std::future::pending().await;
        }
        let lingers = self.config.server.linger();
        // Whoever started it takes a moment to come.
        let mut most = lingers.max(FIRST_CLIENT);
        let mut unused_since = Instant::now();
        loop {
            tokio::time::sleep(LOOK_FOR_CLIENTS).await;
            if self.host.connections() > 0 {
                (unused_since, most) = (Instant::now(), lingers);
            } else if unused_since.elapsed() >= most {
                return;
            }
        }
    }
}

/// Gives clients the time to hear that the host is gone.
async fn await_farewells(host: &Host) {
    let end = Instant::now() + FAREWELL;
    while host.connections() > 0 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
