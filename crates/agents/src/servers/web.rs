//! Requests over HTTP: one connection for each, with limits for what comes
//! back. Nobody is followed elsewhere.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use url::{Host, Origin, Url};

/// How long a connection may take to be there.
const CONNECTING: Duration = Duration::from_secs(10);

/// An answer whose body is still to be read.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) response: Response<Incoming>,
    /// It carries the body, and ends with this.
    _connection: Connection,
}

#[derive(Debug)]
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Answer {
    pub(super) fn header(&self, name: HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The whole body, if it is not larger than this.
    pub(super) async fn body(self, most: usize) -> Result<Bytes, String> {
        let body = Limited::new(self.response.into_body(), most)
            .collect()
            .await;
        let body = body.map_err(|error| format!("its answer cannot be read: {error}"))?;
        Ok(body.to_bytes())
    }
}

/// Sends a request and waits for the head of the answer.
pub(super) async fn send(
    method: Method,
    url: &Url,
    mut headers: HeaderMap,
    body: Bytes,
) -> Result<Answer, String> {
    let host = url.host().ok_or("the address names no host")?;
    let port = url
        .port_or_known_default()
        .ok_or("the address names no port")?;
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_string(),
    };
    let explained = |error: hyper::http::Error| error.to_string();
    let authority = HeaderValue::from_str(&authority).map_err(|error| error.to_string())?;
    headers.insert(HOST, authority);
    let path: Uri = path_of(url)
        .parse()
        .map_err(|_| "the address cannot be sent")?;
    let mut request = Request::builder().method(method).uri(path);
    if let Some(all) = request.headers_mut() {
        *all = headers;
    }
    let request = request.body(Full::new(body)).map_err(explained)?;
    let stream = connect(&host, port)
        .await
        .map_err(|error| error.to_string())?;
    match url.scheme() {
        "https" => exchange(tls::secure(&host, stream).await?, request).await,
        _ => exchange(stream, request).await,
    }
}

async fn connect(host: &Host<&str>, port: u16) -> io::Result<TcpStream> {
    let connecting = async {
        match host {
            Host::Domain(name) => TcpStream::connect((*name, port)).await,
            Host::Ipv4(address) => TcpStream::connect((*address, port)).await,
            Host::Ipv6(address) => TcpStream::connect((*address, port)).await,
        }
    };
    let connected = tokio::time::timeout(CONNECTING, connecting).await;
    connected.unwrap_or_else(|_| {
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "it does not answer",
        ))
    })
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answer, String> {
    let explained = |error: hyper::Error| error.to_string();
    let opened = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = opened.map_err(explained)?;
    let connection = Connection(tokio::spawn(async move {
        // Whoever waits for the answer sees how the connection ends.
        let _ = connection.await;
    }));
    let response = sender.send_request(request).await.map_err(explained)?;
    Ok(Answer {
        response,
        _connection: connection,
    })
}

fn path_of(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// An address that can be asked, or why not.
pub(super) fn address(text: &str) -> Result<Url, String> {
    let wrong = || format!("`{text}` is not an address; give one such as https://mcp.example/mcp");
    let url = Url::parse(text).map_err(|_| wrong())?;
    match url.scheme() {
        "http" | "https" if url.host().is_some() => Ok(url),
        _ => Err(wrong()),
    }
}

/// Whether two addresses are of the same server.
pub(super) fn is_same_origin(one: &Url, other: &Url) -> bool {
    let origin: Origin = one.origin();
    origin.is_tuple() && origin == other.origin()
}

#[cfg(feature = "https")]
mod tls {
    use std::sync::{Arc, OnceLock};

    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::client::TlsStream;
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
    use url::Host;

    pub(super) async fn secure(
        host: &Host<&str>,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, String> {
        let name = host.to_string();
        let name = name.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
        let connected = connector()?.connect(name, stream).await;
        connected.map_err(|error| format!("its certificate or its encryption is refused: {error}"))
    }

    /// Trusts whom the system trusts.
    fn connector() -> Result<TlsConnector, String> {
        static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
        let config = CONFIG.get_or_init(|| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err("the system has no certificates to check its with".to_owned());
            }
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?
                .with_root_certificates(roots)
                .with_no_client_auth();
            Ok(Arc::new(config))
        });
        config.clone().map(TlsConnector::from)
    }
}

#[cfg(not(feature = "https"))]
mod tls {
    use tokio::net::TcpStream;
    use url::Host;

    pub(super) async fn secure(_: &Host<&str>, _: TcpStream) -> Result<TcpStream, String> {
        Err("this host was built without HTTPS; build it with the feature `tls`".to_owned())
    }
}
