//! The lives of a host: one, on a data directory; on a database, one whenever
//! no other host works.

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use innkeeper_protocol::record::store::Store;
use innkeeper_store::{PostgresAddress, PostgresStore};
use tokio::sync::watch;

use super::controlled::{Controlled, Kind, Links};
use super::listening::Listening;
use super::{ServeArgs, Tokens, control_at, control_place, keep_port, open_log};
use crate::cli::agents::Finder;
use crate::cli::announcement::HostFile;
use crate::cli::control::dismiss;
use crate::cli::logging::Logs;
use crate::cli::place::{host_options, postgres_options};
use crate::cli::signals::Signals;
use crate::cli::standby::{Waiting, Word};
use crate::cli::{Failure, Outcome, service};
use crate::config::Config;
use innkeeper::agents::{Agent, Environment};
use innkeeper::server::access::ConnectionToken;
use innkeeper::server::{Standing, stdio};
use innkeeper::{Host, HostOptions};

/// How long clients have to take note of the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a host is served with, in all its lives.
pub(super) struct Serving<'a> {
    pub(super) args: &'a ServeArgs,
    pub(super) config: Config,
    pub(super) data_dir: &'a Path,
    pub(super) given_token: Option<ConnectionToken>,
    pub(super) scanned: Option<ConnectionToken>,
    /// It keeps a port that it was given.
    pub(super) listen: SocketAddr,
    pub(super) environment: Arc<Environment>,
    pub(super) logs: Logs,
    pub(super) started: Instant,
    pub(super) signals: Signals,
}

/// Why a life of the host has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Signal,
    Control,
    Unused,
    /// The client on standard input is gone.
    Gone,
    /// Another host may have the store by now.
    Overtaken,
}

/// What is looked for before a life begins.
pub(super) struct Prepared {
    finder: Finder,
    agents: Vec<Arc<dyn Agent>>,
    options: HostOptions,
}

impl Serving<'_> {
    /// Works whenever the store is this host's, and stands by otherwise.
    pub(super) async fn take_turns(&mut self, address: &PostgresAddress) -> Outcome {
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
                End::Overtaken => {
                    tracing::warn!("this host lost its lease; it stands by from now on");
                }
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
        let tokens = self.tokens()?;
        let place = control_place(self.data_dir)?;
        let news = watch::Sender::new(Standing::WithoutStore);
        let controlled = Controlled::standby(news.subscribe(), self.args.kind(), self.data_dir);
        let control = control_at(&place, &controlled);
        let waiting = Waiting {
            address,
            config: &self.config,
            data_dir: self.data_dir,
            access: tokens.access(&self.config, self.data_dir)?,
            options: self.args.server_options(&self.config, self.listen, control),
            news,
            first,
        };
        let web = waiting.options.web;
        let (listen, logs) = (&mut self.listen, &self.logs);
        let (args, data_dir) = (self.args, self.data_dir);
        let (signals, config) = (&mut self.signals, &self.config);
        let told = async || loop {
            tokio::select! {
                () = signals.stop() => return Word::Stop,
                () = controlled.is_told_to_stop() => return Word::Stop,
                asked = controlled.is_told_about_tokens() => {
                    match tokens.access(config, data_dir) {
                        Ok(access) => return Word::Admit(access, asked),
                        Err(error) => asked.answer(Err(error)),
                    }
                }
            }
        };
        // Only then the directory is this host's.
        let mut is_announced = false;
        let store = waiting.store(told, |server| {
            is_announced = true;
            open_log(logs, data_dir);
            keep_port(listen, server);
            let links = Links::new(server, tokens.connection.as_ref());
            args.announce(data_dir, &tokens, &links, &place, web)?;
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

    fn tokens(&self) -> Result<Tokens> {
        let connection = match &self.given_token {
            Some(token) => Ok(Some(token.clone())),
            None if self.args.without_connection_token || self.args.temporary => Ok(None),
            None => ConnectionToken::of_directory(self.data_dir)
                .map(Some)
                .with_context(|| {
                    let path = self.data_dir.join("token");
                    format!("the connection token {} cannot be used", path.display())
                }),
        }?;
        let tokens = Tokens {
            connection,
            scanned: self.scanned.clone(),
        };
        for token in tokens.connection.iter().chain(&tokens.scanned) {
            self.environment.keep_secret(token.reveal());
        }
        Ok(tokens)
    }

    /// A host that was started for a command makes room for one that stays.
    pub(super) async fn dismiss_temporary(&self) {
        if self.args.kind() != Kind::Temporary {
            dismiss(self.data_dir).await;
        }
    }

    pub(super) async fn prepare(&self) -> Result<Prepared, Failure> {
        let finder = self
            .args
            .finder(&self.config, self.data_dir, &self.environment)?;
        let agents = finder.soon().await?;
        let logs = Some(self.logs.feed.clone());
        let options = HostOptions {
            installer: finder.installer(),
            ..host_options(&self.config, self.data_dir, &self.environment, logs)?
        };
        Ok(Prepared {
            finder,
            agents,
            options,
        })
    }

    /// One life of the host, on a store that is its own.
    pub(super) async fn live(
        &mut self,
        ready: Prepared,
        store: impl Store,
    ) -> Result<End, Failure> {
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
            match self.tokens() {
                Ok(tokens) => {
                    let listening = Listening {
                        args: self.args,
                        host: &host,
                        config: &mut self.config,
                        environment: &self.environment,
                        tokens,
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

/// Gives clients the time to hear that the host is gone.
async fn await_farewells(host: &Host) {
    let end = Instant::now() + FAREWELL;
    while host.connections() > 0 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
