//! TLS in front of the TCP listener.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use super::current::Current;

/// A handshake that takes longer is not a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Where the certificate chain and its key are, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

/// The handshake of every connection. It is part of the connection's life, in
/// a task of its own, so that one that dawdles holds up nobody.
#[derive(Clone)]
pub(crate) struct Tls(Arc<Current<TlsAcceptor>>);

impl Tls {
    pub(crate) fn new(files: &TlsFiles) -> Result<Self, String> {
        acceptor(files).map(|acceptor| Self(Current::new(acceptor)))
    }

    /// From here on, what the files hold now.
    pub(crate) fn reload(&self, files: &TlsFiles) -> Result<(), String> {
        self.0.set(acceptor(files)?);
        Ok(())
    }

    pub(crate) async fn greet(self, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        match tokio::time::timeout(HANDSHAKE, self.0.get().accept(stream)).await {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) => tracing::debug!(%error, "no TLS handshake"),
            Err(_) => tracing::debug!("the TLS handshake took too long"),
        }
        None
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
    let explain =
        |path: &PathBuf, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| explain(&files.certificate, &error))?;
    if chain.is_empty() {
        let missing = "the file contains no certificate; it must have the certificate chain in PEM";
        return Err(explain(&files.certificate, &missing));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            let missing = "the file contains no private key; it must have one in PEM";
            explain(&files.key, &missing)
        }
        error => explain(&files.key, &error),
    })?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| explain(&files.certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_what_it_should_have_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let own = rcgen::generate_simple_self_signed(["inn.example".to_owned()]).unwrap();
        let (certificate, key) = (own.cert.pem(), own.signing_key.serialize_pem());
        for (chain, private, expected) in [
            (
                "",
                key.as_str(),
                "chain.pem: the file contains no certificate",
            ),
            (
                "nonsense",
                &key,
                "chain.pem: the file contains no certificate",
            ),
            (&key, &key, "chain.pem: the file contains no certificate"),
            (
                &certificate,
                "",
                "key.pem: the file contains no private key",
            ),
            (
                &certificate,
                &certificate,
                "key.pem: the file contains no private key",
            ),
        ] {
            let files = TlsFiles {
                certificate: dir.path().join("chain.pem"),
                key: dir.path().join("key.pem"),
            };
            std::fs::write(&files.certificate, chain).unwrap();
            std::fs::write(&files.key, private).unwrap();
            let refused = Tls::new(&files).unwrap_err();
            assert!(refused.contains(expected), "{expected:?} in {refused:?}");
        }
    }
}
