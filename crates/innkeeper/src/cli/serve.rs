//! `innkeeper serve`: the host, until it is told to stop.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::agents::Finder;
use super::announcement::Announcement;
use super::environment::environment;
use super::logging::{self, LogArgs};
use super::place::{PlaceArgs, host_options, opened_store};
use super::{Failure, Outcome};
use crate::config::{Config, parse_address};
use innkeeper::Host;
use innkeeper::server::access::{AccessPolicy, ConnectionToken};
use innkeeper::server::{NewcomerLimits, Server, ServerOptions, TlsFiles, stdio};

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
    let environment = environment(&config);
    let only = args.agents.clone();
    let registry = args.place.registry()?;
    for trouble in registry.troubles() {
        tracing::warn!("{trouble}");
    }
    let finder = Finder::new(
        config.clone(),
        registry,
        data_dir.clone(),
        environment.clone(),
        only,
    );
    let agents = finder.soon().await?;
    // From here on, being told to stop means an orderly end.
    let signals = Signals::new()?;
    let options = host_options(&config, &data_dir, &environment, Some(logs))?;
    let store = opened_store(&config, &data_dir)?;
    let host = Host::start(options, agents, store).await?;
    let served = if args.stdio {
        let completed = host.clone();
        tokio::spawn(async move {
            finder.complete(&completed).await;
            finder.follow(&completed).await;
        });
        serve_stdio(&host, &config, signals).await
    } else {
        let token = match given_token {
            Some(token) => Ok(Some(token)),
            None if args.without_connection_token => Ok(None),
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
                    host: &host,
                    finder,
                    data_dir: &data_dir,
                    ready_file: args.ready_file.as_deref(),
                    started,
                };
                let options = args.server_options(&config, listen);
                listening
                    .serve(access(&config, token), options, signals)
                    .await
            }
            Err(error) => Err(error.into()),
        }
    };
    // However it went: what was opened is closed in order.
    let closed = host.shutdown().await;
    await_farewells(&host).await;
    served?;
    Ok(closed?)
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

async fn serve_stdio(host: &Host, config: &Config, mut signals: Signals) -> Outcome {
    let message_bytes = config.server.message_bytes();
    let client = stdio::serve(host, tokio::io::stdin(), tokio::io::stdout(), message_bytes);
    tokio::select! {
        served = client => Ok(served.context("the client on standard input cannot be served")?),
        () = signals.next() => {
            signals.exit_on_the_next();
            Ok(())
        }
    }
}

/// A host that is about to listen for clients.
struct Listening<'a> {
    host: &'a Host,
    finder: Finder,
    data_dir: &'a Path,
    ready_file: Option<&'a Path>,
    started: Instant,
}

impl Listening<'_> {
    async fn serve(
        self,
        access: AccessPolicy,
        options: ServerOptions,
        mut signals: Signals,
    ) -> Outcome {
        let (web, plain) = (options.web, options.tls.is_none());
        let token = access.token.clone();
        let server = Server::start(self.host.clone(), access, options).await?;
        let announcement = announcement(&server, token.as_ref());
        let announced = self.announce(&announcement, web);
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
            signals.next().await;
            tracing::info!("shutting down");
            signals.exit_on_the_next();
        }
        Announcement::remove_from(self.data_dir);
        server.stop().await;
        announced
    }

    fn announce(&self, announcement: &Announcement, web: bool) -> Outcome {
        let unwritten = |path: &Path| format!("failed to write {}", path.display());
        announcement
            .write_in(self.data_dir)
            .with_context(|| unwritten(self.data_dir))?;
        if let Some(path) = self.ready_file {
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
