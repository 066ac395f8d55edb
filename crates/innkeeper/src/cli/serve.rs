//! `innkeeper serve`: the host, until it is told to stop.

mod controlled;
mod listening;
mod lives;
mod reachable;
pub(super) mod settled;

use std::io::{self, IsTerminal as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueHint};

use super::agents::Finder;
use super::announcement::{Announcement, HostFile};
use super::environment::environment;
use super::log_file;
use super::logging::{self, LogArgs, Logs};
use super::place::{PlaceArgs, opened_store};
use super::signals::Signals;
use super::{Failure, Outcome, control_socket, token};
use crate::config::{Config, parse_address};
use controlled::{Controlled, Links};
use innkeeper::agents::Environment;
use innkeeper::server::access::{AccessPolicy, ConnectionToken, DeviceToken};
use innkeeper::server::{ControlSocket, NewcomerLimits, Server, ServerOptions, TlsFiles};
use lives::Serving;

pub(crate) use controlled::{Kind, Link, Status, TokensChanged};

#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on [env: INNKEEPER_HOST] [default: 127.0.0.1]
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    host: Option<IpAddr>,
    /// Port to listen on; 0 picks a free one [env: INNKEEPER_PORT] [default: 8137]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Also listen on a Unix socket that only you can open [env: INNKEEPER_SOCKET]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    socket: Option<PathBuf>,
    /// Token that clients must present [env: INNKEEPER_CONNECTION_TOKEN] [default: generated once
    /// and stored in the data directory]
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["connection_token_file", "without_connection_token"])]
    connection_token: Option<String>,
    /// File with the token that clients must present [env: INNKEEPER_CONNECTION_TOKEN_FILE]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "without_connection_token")]
    connection_token_file: Option<PathBuf>,
    /// Accept clients without a token; only on a loopback address
    /// [env: INNKEEPER_WITHOUT_CONNECTION_TOKEN]
    #[arg(long)]
    without_connection_token: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// Only use the agents of these providers, separated by commas [env: INNKEEPER_AGENTS]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    agents: Option<Vec<String>>,
    /// Once listening, write the addresses and the process id to this file
    /// [env: INNKEEPER_READY_FILE]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ready_file: Option<PathBuf>,
    /// Do not serve the web client [env: INNKEEPER_NO_WEB]
    #[arg(long)]
    no_web: bool,
    /// TLS certificate chain, in PEM [env: INNKEEPER_TLS_CERT]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tls_cert: Option<PathBuf>,
    /// Key of the TLS certificate, in PEM [env: INNKEEPER_TLS_KEY]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tls_key: Option<PathBuf>,
    /// Serve one client on standard input and output instead of listening
    #[arg(long, conflicts_with_all = ["host", "port", "socket", "ready_file", "tls_cert",
        "connection_token", "connection_token_file", "without_connection_token"])]
    stdio: bool,
    /// Run under a service manager: reload on SIGHUP, and do not print the token
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
    let args = args.settled(&config, |name| std::env::var_os(name));
    let args = args.map_err(Failure::Usage)?;
    let logs = logging::start(&args.log, &config.log.defaults(), !args.detached)?;
    let data_dir = args.place.data_dir()?;
    let given_token = args.given_token()?;
    let listen = args.listen(&config)?;
    if given_token.is_some() || args.without_connection_token {
        check_token(given_token.as_ref(), listen)?;
    }
    let database = args.place.database(&config)?;
    Signals::ignore_others()?;
    // From here on, being told to stop means an orderly end.
    let signals = match args.kind() {
        Kind::Foreground => Signals::new()?,
        Kind::Background | Kind::Service | Kind::Temporary => Signals::of_a_service()?,
    };
    let mut serving = Serving {
        scanned: args.scanned_token(listen)?,
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

/// Writes what is logged to the data directory, too, from here on.
fn open_log(logs: &Logs, data_dir: &Path) {
    if let Err(error) = logs.file.open(data_dir) {
        let path = log_file::path_in(data_dir);
        tracing::warn!(%error, path = %path.display(), "the log file cannot be written");
    }
}

fn control_place(data_dir: &Path) -> Result<control_socket::Place> {
    control_socket::Place::for_host(data_dir)
        .context("failed to create a directory for the control socket")
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
            .settled(&config, |name| std::env::var_os(name))
            .map_err(Failure::Usage)?;
        let (token, listen) = (settled.given_token()?, settled.listen(&config)?);
        if token.as_ref().is_some_and(ConnectionToken::is_short) {
            check_token(token.as_ref(), listen)?;
        }
        match self.stdio || self.service {
            true => Err(Failure::Usage(
                "`innkeeper up` does not take --stdio or --service; use them with `innkeeper \
                 serve`"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    fn listen(&self, config: &Config) -> Result<SocketAddr, Failure> {
        let host = self.host.unwrap_or(config.server.host);
        if self.without_connection_token && !host.is_loopback() {
            return Err(Failure::Usage(format!(
                "with --without-connection-token, anyone who can reach {host} could connect; \
                 leave it out, or listen on 127.0.0.1"
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
            "a connection token consists of letters, digits and the characters - . _ ~";
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

    /// A token for the code on the screen, where others can reach the host
    /// and someone looks.
    fn scanned_token(&self, listen: SocketAddr) -> io::Result<Option<ConnectionToken>> {
        let others = !listen.ip().is_loopback() && !self.without_connection_token;
        let is_seen = self.kind() == Kind::Foreground && io::stdout().is_terminal();
        match others && is_seen {
            true => ConnectionToken::random().map(Some),
            false => Ok(None),
        }
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
            compression: config.server.compression,
            ping_after: config.server.ping_after(),
            newcomers: NewcomerLimits::default(),
        }
    }

    /// Says where the host listens, and writes it down.
    fn announce(
        &self,
        data_dir: &Path,
        tokens: &Tokens,
        links: &Links,
        place: &control_socket::Place,
        web: bool,
    ) -> Result<()> {
        let unwritten = |path: &Path| format!("failed to write {}", path.display());
        let file = HostFile {
            pid: std::process::id(),
            socket: place.elsewhere(),
            url: links.plain.as_ref().map(|link| link.url.clone()),
            web: links.plain.as_ref().map(|link| link.web.clone()),
            stdio: false,
        };
        file.write_in(data_dir)
            .with_context(|| unwritten(data_dir))?;
        let Some(link) = &links.with_token else {
            return Ok(());
        };
        if let Some(path) = &self.ready_file {
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
        let shown = match (&links.plain, self.service) {
            (Some(plain), true) => plain,
            _ => link,
        };
        let mut lines = String::new();
        if web {
            lines.push_str(&format!("Web client:  {}\n", shown.web));
        }
        lines.push_str(&format!("WebSocket:   {}\n", shown.url));
        if web {
            lines.push_str(&tokens.for_others(links, self.tls_cert.is_some()));
        }
        // Whoever closed our standard output can still connect.
        let mut out = io::stdout().lock();
        let _ = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
        Ok(())
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

/// Whom a host lets in.
#[derive(Debug, Clone)]
struct Tokens {
    /// Without one, everyone is let in.
    connection: Option<ConnectionToken>,
    /// For the device that scans the code on the screen, as long as this host lives.
    scanned: Option<ConnectionToken>,
}

impl Tokens {
    fn access(&self, config: &Config, data_dir: &Path) -> Result<AccessPolicy> {
        let mut devices = token::load(data_dir)?;
        let scanned = self.scanned.as_ref();
        devices.extend(scanned.map(|secret| DeviceToken::new("QR code", secret, false)));
        Ok(AccessPolicy {
            token: self.connection.clone(),
            devices,
            allowed_hosts: config.server.allowed_hosts.clone(),
            allowed_origins: config.server.allowed_origins.clone(),
        })
    }

    /// How to get here from another machine, for the user of this one.
    fn for_others(&self, links: &Links, is_encrypted: bool) -> String {
        let Some(secret) = &self.scanned else {
            return String::new();
        };
        let with_token = |web: &String| format!("{web}?tkn={}", secret.reveal());
        let there: Vec<String> = links.reachable.iter().map(with_token).collect();
        let Some(first) = there.first() else {
            return String::new();
        };
        let lines = there.iter().map(|link| format!("Network:     {link}\n"));
        let mut said: String = lines.collect();
        said += &token::qr_code(first);
        if !is_encrypted {
            said += "Without TLS, anyone on the network can read the token and all traffic.\n";
        }
        said
    }
}
