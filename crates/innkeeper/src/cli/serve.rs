//! `innkeeper serve`: the host, until it is told to stop.

mod controlled;

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use clap::Args;
use tokio::task::JoinHandle;

use super::agents::Finder;
use super::announcement::{Announcement, HostFile};
use super::control::dismiss;
use super::environment::environment;
use super::log_file;
use super::logging::{self, LogArgs};
use super::place::{PlaceArgs, host_options, opened_store};
use super::signals::{Signals, Told};
use super::{Failure, Outcome, control_socket, service};
use crate::config::{Config, parse_address};
use controlled::{Controlled, Links};
use innkeeper::Host;
use innkeeper::agents::Environment;
use innkeeper::server::access::{AccessPolicy, ConnectionToken};
use innkeeper::server::{ControlSocket, NewcomerLimits, Server, ServerOptions, TlsFiles, stdio};

pub(crate) use controlled::{Kind, Link, Status};

/// How long clients have to take note of the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// How often a host looks whether anybody uses it.
const LOOK_FOR_CLIENTS: Duration = Duration::from_millis(20);

/// How long a host for commands waits for the first one.
const FIRST_CLIENT: Duration = Duration::from_secs(30);

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
    let logs = logging::start(&args.log, &config.log.defaults(), !args.detached)?;
    let data_dir = args.place.data_dir()?;
    let given_token = args.given_token()?;
    let listen = args.listen(&config)?;
    if given_token.is_some() || args.without_connection_token {
        check_token(given_token.as_ref(), listen)?;
    }
    let environment = environment(&config);
    let finder = args.finder(&config, &data_dir, &environment)?;
    let agents = finder.soon().await?;
    // From here on, being told to stop means an orderly end.
    let mut signals = match args.kind() {
        Kind::Foreground => Signals::new()?,
        Kind::Background | Kind::Service | Kind::Temporary => Signals::of_a_service()?,
    };
    let options = host_options(&config, &data_dir, &environment, Some(logs.feed))?;
    if args.kind() != Kind::Temporary {
        dismiss(&data_dir).await;
    }
    let store = opened_store(&config, &data_dir)?;
    if let Err(error) = logs.file.open(&data_dir) {
        let path = log_file::path_in(&data_dir);
        tracing::warn!(%error, path = %path.display(), "the log file cannot be written");
    }
    let host = Host::start(options, agents, store).await?;
    let served = if args.stdio {
        let completed = host.clone();
        tokio::spawn(async move {
            finder.complete(&completed).await;
            finder.follow(&completed).await;
        });
        serve_stdio(&host, &config, &mut signals).await
    } else {
        let token = match given_token {
            Some(token) => Ok(Some(token)),
            None if args.without_connection_token || args.temporary => Ok(None),
            None => ConnectionToken::of_directory(&data_dir)
                .map(Some)
                .with_context(|| {
                    let path = data_dir.join("token");
                    format!("the connection token {} cannot be used", path.display())
                }),
        };
        match token {
            Ok(token) => {
                if let Some(token) = &token {
                    environment.keep_secret(token.reveal());
                }
                let listening = Listening {
                    args: &args,
                    host: &host,
                    config,
                    environment,
                    token,
                    data_dir: &data_dir,
                    started,
                };
                listening.serve(finder, listen, &mut signals).await
            }
            Err(error) => Err(error.into()),
        }
    };
    signals.exit_on_the_next();
    // However it went: what was opened is closed in order.
    let closed = host.shutdown().await;
    await_farewells(&host).await;
    served?;
    Ok(closed?)
}

impl ServeArgs {
    pub(crate) fn place(&self) -> &PlaceArgs {
        &self.place
    }

    /// What can be said to be wrong before anything is started.
    pub(crate) fn check(&self) -> Outcome {
        let config = self.place.config()?;
        let (token, listen) = (self.given_token()?, self.listen(&config)?);
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
    ) -> anyhow::Result<Finder> {
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

fn access(config: &Config, token: Option<ConnectionToken>) -> AccessPolicy {
    AccessPolicy {
        token,
        allowed_hosts: config.server.allowed_hosts.clone(),
        allowed_origins: config.server.allowed_origins.clone(),
    }
}

async fn serve_stdio(host: &Host, config: &Config, signals: &mut Signals) -> Outcome {
    let message_bytes = config.server.message_bytes();
    let client = stdio::serve(host, tokio::io::stdin(), tokio::io::stdout(), message_bytes);
    tokio::select! {
        served = client => Ok(served.context("the client on standard input cannot be served")?),
        () = signals.stop() => Ok(()),
    }
}

/// A host that is about to listen for clients.
struct Listening<'a> {
    args: &'a ServeArgs,
    host: &'a Host,
    config: Config,
    environment: Arc<Environment>,
    token: Option<ConnectionToken>,
    data_dir: &'a Path,
    started: Instant,
}

/// Why a host ends.
enum End {
    Signal,
    Control,
    Unused,
}

impl Listening<'_> {
    async fn serve(mut self, finder: Finder, listen: SocketAddr, signals: &mut Signals) -> Outcome {
        let place = control_socket::Place::for_host(self.data_dir)
            .context("no directory for the control socket can be made")?;
        let controlled = Controlled::new(self.host.clone(), self.args.kind(), self.data_dir);
        let control = ControlSocket {
            path: place.path.clone(),
            routes: controlled::routes(&controlled),
        };
        let options = self.args.server_options(&self.config, listen, control);
        let web = options.web;
        let access = access(&self.config, self.token.clone());
        let server = Server::start(self.host.clone(), access, options).await?;
        let links = Links::new(&server, self.token.as_ref());
        let announced = self.announce(&links, &place, web);
        if announced.is_ok() {
            controlled.listens(links);
            self.is_ready(&server);
            if self.args.service {
                service::notify("READY=1");
            }
            let mut looking = self.look_for_agents(finder, &controlled);
            let end = loop {
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
                    () = controlled.is_told_to_stop() => break End::Control,
                    () = self.is_unused() => break End::Unused,
                }
            };
            match end {
                End::Signal => tracing::info!("shutting down: a signal said so"),
                End::Control => tracing::info!("shutting down: a command said so"),
                End::Unused => tracing::info!("shutting down: no client has used it for a while"),
            }
            if self.args.service {
                service::notify("STOPPING=1");
            }
            looking.abort();
        }
        HostFile::remove_from(self.data_dir);
        server.stop().await;
        announced
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
            server.reload(access(&config, self.token.clone()))?;
            if config.agents != self.config.agents {
                let finder = self
                    .args
                    .finder(&config, self.data_dir, &self.environment)?;
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
                self.config = config;
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

    fn announce(&self, links: &Links, place: &control_socket::Place, web: bool) -> Outcome {
        let unwritten = |path: &Path| format!("failed to write {}", path.display());
        let file = HostFile {
            pid: std::process::id(),
            socket: place.elsewhere(),
            url: links.plain.as_ref().map(|link| link.url.clone()),
            web: links.plain.as_ref().map(|link| link.web.clone()),
        };
        file.write_in(self.data_dir)
            .with_context(|| unwritten(self.data_dir))?;
        let Some(link) = &links.with_token else {
            return Ok(());
        };
        if let Some(path) = &self.args.ready_file {
            let announcement = Announcement {
                url: link.url.clone(),
                web: link.web.clone(),
                pid: std::process::id(),
            };
            announcement
                .write(path)
                .with_context(|| format!("{}; choose another --ready-file", unwritten(path)))?;
        }
        // What a service prints is kept in a log that others may read.
        let shown = match (&links.plain, self.args.service) {
            (Some(plain), true) => plain,
            _ => link,
        };
        let mut lines = String::new();
        if web {
            lines.push_str(&format!("Web client:  {}\n", shown.web));
        }
        lines.push_str(&format!("WebSocket:   {}\n", shown.url));
        // Whoever closed our standard output can still connect.
        let mut out = io::stdout().lock();
        let _ = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
        Ok(())
    }
}

/// Gives clients the time to hear that the host is gone.
async fn await_farewells(host: &Host) {
    let end = Instant::now() + FAREWELL;
    while host.connections() > 0 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
