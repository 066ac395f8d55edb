//! TLS to the database, with the same library as all else: a certificate is
//! always checked, against the system's authorities or a file that is named.
//! Where the address asks for it (`channel_binding=require`), the password is
//! bound to that certificate, too.

use std::error::Error;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use sha2::{Digest as _, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore, crypto};
use tokio_rustls::{TlsConnector, client};

/// Makes encrypted connections.
#[derive(Clone)]
pub(super) struct Tls {
    connector: TlsConnector,
    /// Whether the password is bound to the certificate.
    binds: bool,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Trusts the authorities in a file, or else those of the system.
    pub(super) fn trusting(roots: Option<&Path>, binds: bool) -> Result<Self, String> {
        let mut store = RootCertStore::empty();
        match roots {
            Some(file) => {
                let unusable = |why: String| format!("{} cannot be used: {why}", file.display());
                let found = CertificateDer::pem_file_iter(file);
                for certificate in found.map_err(|error| unusable(error.to_string()))? {
                    let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                    let added = store.add(certificate);
                    added.map_err(|error| unusable(error.to_string()))?;
                }
            }
            None => {
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(store)
            .with_no_client_auth();
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            binds,
        })
    }
}

/// Why a certificate was refused, if that is what an error is about.
pub(super) fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CertificateError> {
    let error: &io::Error = error.downcast_ref()?;
    match error.get_ref()?.downcast_ref()? {
        rustls::Error::InvalidCertificate(refused) => Some(refused),
        _ => None,
    }
}

/// The same for people.
pub(super) fn explained(refused: &CertificateError) -> String {
    let said = refused.to_string();
    match said.contains("CaUsedAsEndEntity") {
        true => "it is that of an authority, as `openssl req -x509` makes it; make one with \
                 `-addext basicConstraints=critical,CA:FALSE`"
            .to_owned(),
        false => said,
    }
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        // Sockets of this machine have no name, and are not encrypted.
        Ok(Handshake {
            tls: self.clone(),
            name: ServerName::try_from(domain.to_owned()).map_err(io::Error::other),
        })
    }
}

pub(super) struct Handshake {
    tls: Tls,
    name: io::Result<ServerName<'static>>,
}

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let stream = self.tls.connector.connect(self.name?, stream).await?;
            let certificates = stream.get_ref().1.peer_certificates();
            let binding = certificates
                .and_then(<[_]>::first)
                .filter(|_| self.tls.binds)
                .and_then(|certificate| end_point(certificate));
            Ok(Encrypted { stream, binding })
        })
    }
}

pub(super) struct Encrypted<S> {
    stream: client::TlsStream<S>,
    binding: Option<Vec<u8>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.binding {
            Some(hash) => ChannelBinding::tls_server_end_point(hash.clone()),
            None => ChannelBinding::none(),
        }
    }
}

/// What a certificate is known by where a password is bound to it (RFC 5929):
/// its hash, by the function that it was signed with. Nothing for signatures of
/// which that does not say which one it is.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    // A sequence of what is signed, how, and the signature.
    let (inside, _) = element(certificate)?;
    let (_, after) = element(inside)?;
    let (algorithm, _) = element(after)?;
    let (name, _) = element(algorithm)?;
    let rsa = name.strip_prefix(&RSA);
    let ecdsa = name.strip_prefix(&ECDSA);
    match (rsa, ecdsa) {
        // Functions that are too weak are replaced.
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => {
            Some(Sha256::digest(certificate).to_vec())
        }
        (Some([12]), _) | (_, Some([3, 3])) => Some(Sha384::digest(certificate).to_vec()),
        (Some([13]), _) | (_, Some([3, 4])) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// The first element of what is encoded by DER, and what follows it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let fold = |length: usize, byte: &u8| (length << 8) | usize::from(*byte);
            (bytes.iter().fold(0, fold), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_known_by_nothing() {
        let certified = rcgen::generate_simple_self_signed(["db".to_owned()]).unwrap();
        let whole = certified.cert.der();
        assert_eq!(end_point(whole), Some(Sha256::digest(whole).to_vec()));
        for end in 0..whole.len() - 80 {
            assert_eq!(end_point(&whole[..end]), None, "{end}");
        }
        for bytes in [
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff][..],
            &[0x30, 0x80],
            &[],
        ] {
            assert_eq!(end_point(bytes), None);
        }
    }
}
