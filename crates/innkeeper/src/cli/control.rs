//! What the command line asks of a host that runs on the same data directory,
//! over its control socket: plain HTTP, which needs no token there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use axum::body::Bytes;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::announcement::{HostFile, holder};
use super::control_socket;

/// How long a host on the same machine may take for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a host may take to end.
const ENDING: Duration = Duration::from_secs(30);

/// How long a host may take from its socket to the file that names it.
const ANNOUNCING: Duration = Duration::from_secs(2);

/// More than any answer holds.
const MOST_ANSWERED: usize = 4 * 1024 * 1024;

/// A host that runs on a data directory, and can be asked.
#[derive(Debug, Clone)]
pub(crate) struct RunningHost {
    pub(crate) pid: u32,
    data_dir: PathBuf,
    socket: PathBuf,
}

/// What a host answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl RunningHost {
    /// The host that runs on a data directory now, if it listens anywhere.
    pub(crate) fn find_in(data_dir: &Path) -> Option<Self> {
        let (pid, socket) = match HostFile::find_in(data_dir) {
            Some(found) if found.stdio => return None,
            Some(found) => (found.pid, found.socket_in(data_dir)),
            None => unannounced(data_dir)?,
        };
        Some(Self {
            pid,
            socket,
            data_dir: data_dir.to_owned(),
        })
    }

    /// A connection to it. The system's own time limit does not hold here: a
    /// process that was stopped accepts nothing.
    pub(crate) async fn connect(&self) -> Result<UnixStream> {
        let pid = self.pid;
        let reach = || {
            format!(
                "the host on this data directory (process {pid}) cannot be reached; see \
                 `innkeeper logs`, or end that process"
            )
        };
        let connecting = tokio::time::timeout(PATIENCE, UnixStream::connect(&self.socket));
        match connecting.await {
            Ok(connected) => connected.with_context(reach),
            Err(_) => Err(anyhow!(reach())),
        }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let answer = self.ask(Method::GET, path, String::new()).await?;
        if answer.status != StatusCode::OK {
            bail!(answer.text.trim_end().to_owned());
        }
        serde_json::from_str(&answer.text).context("the host answered something unexpected")
    }

    pub(crate) async fn post(&self, path: &str, body: String) -> Result<Answer> {
        self.ask(Method::POST, path, body).await
    }

    async fn ask(&self, method: Method, path: &str, body: String) -> Result<Answer> {
        let stream = self.connect().await?;
        let asked = async {
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            let connection = tokio::spawn(connection);
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header(header::HOST, "localhost")
                .body(Full::new(Bytes::from(body)))?;
            let answer = sender.send_request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MOST_ANSWERED);
            let body = body.collect().await.map_err(|error| anyhow!(error))?;
            connection.abort();
            let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            Ok::<_, anyhow::Error>(Answer { status, text })
        };
        let asked = tokio::time::timeout(PATIENCE, asked).await;
        let pid = self.pid;
        match asked {
            Ok(answer) => {
                answer.with_context(|| format!("the host (process {pid}) did not answer"))
            }
            Err(_) => bail!("the host (process {pid}) did not answer in time; try again"),
        }
    }

    /// Waits until it has let go of its data directory.
    pub(crate) async fn is_gone(&self) -> Result<()> {
        let end = Instant::now() + ENDING;
        while holder(&self.data_dir) == Some(self.pid) {
            if Instant::now() > end {
                let (pid, seconds) = (self.pid, ENDING.as_secs());
                bail!("the host (process {pid}) has not ended within {seconds} seconds");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

/// A host whose file about itself was spoilt or removed: its socket is where it
/// is, if somebody listens there.
fn unannounced(data_dir: &Path) -> Option<(u32, PathBuf)> {
    let pid = holder(data_dir)?;
    let socket = data_dir.join(control_socket::NAME);
    let is_starting = || {
        let made = fs::metadata(&socket).and_then(|socket| socket.modified());
        made.is_ok_and(|made| made.elapsed().is_ok_and(|since| since < ANNOUNCING))
    };
    if !HostFile::is_spoilt_in(data_dir) && is_starting() {
        return None;
    }
    let listens = std::os::unix::net::UnixStream::connect(&socket).is_ok();
    listens.then_some((pid, socket))
}

/// Asks a host that was started by `run` and has nothing to do to end now, so
/// that whoever needs the data directory need not wait for it. Any other host
/// stays.
pub(crate) async fn dismiss(data_dir: &Path) {
    let Some(host) = RunningHost::find_in(data_dir) else {
        return;
    };
    if let Ok(answer) = host.post("/control/dismiss", String::new()).await
        && answer.status == StatusCode::OK
    {
        let _ = host.is_gone().await;
    }
}
