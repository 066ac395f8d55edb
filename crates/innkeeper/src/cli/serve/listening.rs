//! A host that listens for clients until something ends it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::controlled::{Controlled, Links};
use super::lives::End;
use super::{ServeArgs, Tokens, control_at, control_place, keep_port};
use crate::cli::agents::Finder;
use crate::cli::announcement::HostFile;
use crate::cli::signals::{Signals, Told};
use crate::cli::{Failure, service, standby, text};
use crate::config::Config;
use innkeeper::Host;
use innkeeper::agents::Environment;
use innkeeper::server::Server;

/// How often a host looks whether anybody uses it.
const LOOK_FOR_CLIENTS: Duration = Duration::from_millis(20);

/// How long a host for commands waits for the first one.
const FIRST_CLIENT: Duration = Duration::from_secs(30);

/// A host that is about to listen for clients.
pub(super) struct Listening<'a> {
    pub(super) args: &'a ServeArgs,
    pub(super) host: &'a Host,
    pub(super) config: &'a mut Config,
    pub(super) environment: &'a Arc<Environment>,
    pub(super) tokens: Tokens,
    pub(super) data_dir: &'a Path,
    pub(super) started: Instant,
    pub(super) listen: &'a mut SocketAddr,
}

impl Listening<'_> {
    pub(super) async fn serve(
        mut self,
        finder: Finder,
        signals: &mut Signals,
    ) -> Result<End, Failure> {
        let place = control_place(self.data_dir)?;
        let controlled = Controlled::new(self.host.clone(), self.args.kind(), self.data_dir);
        let control = control_at(&place, &controlled);
        let options = self.args.server_options(self.config, *self.listen, control);
        let web = options.web;
        let access = self.tokens.access(self.config, self.data_dir)?;
        let server = Server::start(self.host.clone(), access, options).await?;
        keep_port(self.listen, &server);
        self.host
            .announce(&standby::advertised(self.config, &server));
        let links = Links::new(&server, self.tokens.connection.as_ref());
        let announced = self
            .args
            .announce(self.data_dir, &self.tokens, &links, &place, web);
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
                        let read = self.tokens.access(self.config, self.data_dir);
                        asked.answer(read.map(|access| server.admit(access)));
                    }
                    () = controlled.is_told_to_stop() => break End::Control,
                    () = self.is_unused() => break End::Unused,
                    () = self.host.overtaken() => break End::Overtaken,
                }
            };
            match end {
                End::Signal => tracing::info!("shutting down: received a signal"),
                End::Control => tracing::info!("shutting down: a command requested it"),
                End::Unused => tracing::info!("shutting down: no client is left"),
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
            server.reload(self.tokens.access(&config, self.data_dir)?)?;
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
                        "the configuration was reloaded; some changes take effect when the host \
                         is restarted"
                    ),
                    false => tracing::info!("the configuration was read again"),
                }
            }
            Err(error) => {
                let error = text::told(&error);
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
