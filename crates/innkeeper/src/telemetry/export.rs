//! Sending telemetry to a collector: OTLP/HTTP with JSON, a connection for
//! each time. What cannot be sent is dropped; the log says so once, and once
//! more when it works again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::uri::Scheme;
use axum::http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where telemetry is sent to.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    host: String,
    port: u16,
    /// Before `/v1/traces` and the like.
    base: String,
    tls: bool,
    headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("`{0}` is not an endpoint; give an address such as http://127.0.0.1:4318")]
    Endpoint(String),
    #[error("the header `{0}` has a name or a value that cannot be sent")]
    Header(String),
}

impl ExportOptions {
    pub fn new<'a>(
        endpoint: &str,
        headers: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Result<Self, EndpointError> {
        let wrong = || EndpointError::Endpoint(endpoint.to_owned());
        let uri: Uri = endpoint.parse().map_err(|_| wrong())?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(wrong()),
        };
        let host = uri
            .host()
            .filter(|host| !host.is_empty())
            .ok_or_else(wrong)?;
        let headers = headers.into_iter().map(|(name, value)| {
            let wrong = || EndpointError::Header(name.clone());
            let parsed: HeaderName = name.parse().map_err(|_| wrong())?;
            let mut value: HeaderValue = value.parse().map_err(|_| wrong())?;
            // Most of these are keys.
            value.set_sensitive(true);
            Ok((parsed, value))
        });
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            base: uri.path().trim_end_matches('/').to_owned(),
            tls,
            headers: headers.collect::<Result<_, _>>()?,
        })
    }

    fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

#[derive(Debug)]
pub(super) struct Exporter {
    options: ExportOptions,
    failing: AtomicBool,
}

impl Exporter {
    pub(super) fn new(options: ExportOptions) -> Self {
        Self {
            options,
            failing: AtomicBool::new(false),
        }
    }

    /// Sends one request; returns whether it was taken.
    pub(super) async fn export(&self, signal: &str, request: &Map<String, Value>) -> bool {
        let sent = tokio::time::timeout(PATIENCE, self.post(signal, request)).await;
        let failure = match sent {
            Ok(Ok(())) => None,
            Ok(Err(reason)) => Some(reason),
            Err(_) => Some("it does not answer".to_owned()),
        };
        let failed_before = self.failing.swap(failure.is_some(), Ordering::Relaxed);
        match &failure {
            Some(reason) if !failed_before => {
                tracing::warn!(reason, "telemetry cannot be exported");
            }
            None if failed_before => tracing::info!("telemetry can be exported again"),
            _ => {}
        }
        failure.is_none()
    }

    async fn post(&self, signal: &str, request: &Map<String, Value>) -> Result<(), String> {
        let options = &self.options;
        let address = (options.host.as_str(), options.port);
        let stream = TcpStream::connect(address).await.map_err(explained)?;
        match options.tls {
            false => self.send(stream, signal, request).await,
            true => {
                let name = ServerName::try_from(options.host.clone()).map_err(explained)?;
                let stream = connector()?.connect(name, stream).await;
                let stream = stream.map_err(|error| distrust(&options.host, &error))?;
                self.send(stream, signal, request).await
            }
        }
    }

    async fn send(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        signal: &str,
        request: &Map<String, Value>,
    ) -> Result<(), String> {
        let options = &self.options;
        let body = serde_json::to_vec(request).map_err(explained)?;
        let mut built = Request::builder()
            .method(Method::POST)
            .uri(format!("{}/v1/{signal}", options.base))
            .header(header::HOST, options.authority())
            .header(header::CONTENT_TYPE, "application/json");
        for (name, value) in &options.headers {
            built = built.header(name, value);
        }
        let request = built.body(Body::from(body)).map_err(explained)?;
        let opened = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = opened.map_err(explained)?;
        let connection = tokio::spawn(connection);
        let answer = sender.send_request(request).await.map_err(explained);
        connection.abort();
        match answer?.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("the collector answers with status {status}")),
        }
    }
}

/// Trusts whom the system trusts.
pub(crate) fn connector() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err("the system has no certificates to check another's with".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(explained)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Why there is no connection to a collector, in words that say what to do.
fn distrust(host: &str, error: &io::Error) -> String {
    let said = error.get_ref().and_then(|it| it.downcast_ref());
    let Some(rustls::Error::InvalidCertificate(wrong)) = said else {
        return error.to_string();
    };
    match wrong {
        // The latter: somebody trusted has the issuer's name, and not its key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "the certificate of `{host}` is from nobody whom this system trusts; add its issuer's \
             certificate to the system's, or name a file that has it in SSL_CERT_FILE"
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the certificate is not for `{host}`; give the endpoint the name that it has")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of `{host}` has expired")
        }
        other => format!("the certificate of `{host}` is not acceptable: {other}"),
    }
}

fn explained(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_taken_apart() {
        let none: [(&String, &String); 0] = [];
        let parts = |text: &str| {
            let it = ExportOptions::new(text, none).unwrap();
            (it.authority(), it.base, it.tls)
        };
        let expected = |host: &str, base: &str, tls| (host.to_owned(), base.to_owned(), tls);
        assert_eq!(
            parts("http://127.0.0.1:4318"),
            expected("127.0.0.1:4318", "", false)
        );
        assert_eq!(
            parts("https://otel.example/in/"),
            expected("otel.example:443", "/in", true)
        );
        assert_eq!(parts("http://[::1]:1"), expected("[::1]:1", "", false));
        for wrong in ["", "otel.example", "ftp://x", "http://", "/v1"] {
            assert!(ExportOptions::new(wrong, none).is_err(), "{wrong}");
        }
        let (name, value) = ("x-key".to_owned(), "hush\n".to_owned());
        let header = ExportOptions::new("http://x", [(&name, &value)]);
        assert_eq!(
            header.unwrap_err(),
            EndpointError::Header("x-key".to_owned())
        );
    }

    #[test]
    fn keys_are_not_shown() {
        let (name, value) = ("x-key".to_owned(), "hush".to_owned());
        let options = ExportOptions::new("http://x", [(&name, &value)]).unwrap();
        assert!(!format!("{options:?}").contains("hush"));
    }
}
