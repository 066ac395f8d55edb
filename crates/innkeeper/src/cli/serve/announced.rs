//! Where a host says that it listens: on its standard output and in files, and
//! for whoever sits at a terminal as a code that a phone can read.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::controlled::{Kind, Links};
use super::{Announcement, HostFile, ServeArgs, control_socket, token};
use innkeeper::server::access::ConnectionToken;

impl ServeArgs {
    /// A token for the code on the screen, where others can reach the host
    /// and somebody looks.
    pub(super) fn scanned_token(&self, listen: SocketAddr) -> io::Result<Option<ConnectionToken>> {
        let others = !listen.ip().is_loopback() && !self.without_connection_token;
        let is_seen = self.kind() == Kind::Foreground && io::stdout().is_terminal();
        match others && is_seen {
            true => ConnectionToken::random().map(Some),
            false => Ok(None),
        }
    }

    /// Says where the host listens, and writes it down.
    pub(super) fn announce(
        &self,
        data_dir: &Path,
        links: &Links,
        place: &control_socket::Place,
        web: bool,
        scanned: Option<&ConnectionToken>,
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
        if let Some(secret) = scanned.filter(|_| web) {
            lines.push_str(&self.for_others(links, secret));
        }
        // Whoever closed our standard output can still connect.
        let mut out = io::stdout().lock();
        let _ = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
        Ok(())
    }

    /// How to get here from another machine.
    fn for_others(&self, links: &Links, secret: &ConnectionToken) -> String {
        let with_token = |web: &String| format!("{web}?tkn={}", secret.reveal());
        let there: Vec<String> = links.reachable.iter().map(with_token).collect();
        let Some(first) = there.first() else {
            return String::new();
        };
        let lines = there.iter().map(|link| format!("Network:     {link}\n"));
        let mut said: String = lines.collect();
        said += &token::qr_code(first);
        if self.tls_cert.is_none() {
            said += "Without TLS, anyone on the network can read the token and everything that \
                     is said.\n";
        }
        said
    }
}
