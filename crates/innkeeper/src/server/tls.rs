//! TLS in front of the TCP listener.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// A handshake that takes longer is no handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Where the certificate chain and its key are, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Connections whose handshake is done. Handshakes run side by side, so
/// that one that dawdles holds up nobody.
pub(crate) struct TlsListener {
    address: Option<SocketAddr>,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
}

impl TlsListener {
    pub(crate) fn new<L>(mut listener: L, files: &TlsFiles) -> Result<Self, String>
    where
        L: Listener<Io = TcpStream, Addr = SocketAddr>,
    {
        let acceptor = acceptor(files)?;
        let address = listener.local_addr().ok();
        let (done, ready) = mpsc::channel(64);
        tokio::spawn(async move {
            while !done.is_closed() {
                let (stream, peer) = listener.accept().await;
                let (acceptor, done) = (acceptor.clone(), done.clone());
                tokio::spawn(async move {
                    match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                        Ok(Ok(stream)) => drop(done.send((stream, peer)).await),
                        Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS handshake"),
                        Err(_) => tracing::debug!(%peer, "the TLS handshake took too long"),
                    }
                });
            }
        });
        Ok(Self { address, ready })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.address
            .ok_or_else(|| std::io::Error::other("the listener has no address"))
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
    let explain =
        |path: &PathBuf, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| explain(&files.certificate, &error))?;
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|error| explain(&files.key, &error))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| explain(&files.certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
