//! TLS: a client that trusts the certificate gets in, and nobody else does.

use std::sync::Arc;

use crate::common::{Inn, InnOptions, TOKEN, in_time};
use futures_util::{SinkExt as _, StreamExt as _};
use innkeeper::server::TlsFiles;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{client_async, connect_async};

/// Trusts these certificates and no others.
fn connector(trusted: Option<CertificateDer<'static>>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn clients_connect_over_tls_and_only_so() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = tempfile::tempdir().unwrap();
    let tls = TlsFiles {
        certificate: files.path().join("cert.pem"),
        key: files.path().join("key.pem"),
    };
    std::fs::write(&tls.certificate, certified.cert.pem()).unwrap();
    std::fs::write(&tls.key, certified.signing_key.serialize_pem()).unwrap();
    let inn = Inn::open_with(InnOptions {
        tls: Some(tls),
        ..InnOptions::default()
    })
    .await;
    let address = inn.url.strip_prefix("wss://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let name = ServerName::try_from("localhost").unwrap();

    let stranger = TcpStream::connect(address).await.unwrap();
    let handshake = connector(None).connect(name.clone(), stranger);
    assert!(in_time("a handshake", handshake).await.is_err());
    let plain = format!("ws://{address}/?tkn={TOKEN}");
    let plain = in_time("a plain connection", connect_async(plain)).await;
    assert!(plain.is_err());

    let stream = TcpStream::connect(address).await.unwrap();
    let trusted = certified.cert.der().clone();
    let stream = connector(Some(trusted)).connect(name, stream).await;
    let url = format!("wss://{address}/?tkn={TOKEN}");
    let (mut socket, _) = client_async(url, stream.unwrap()).await.unwrap();
    let hello = json!({"id": 1, "method": "initialize", "params": {
        "channel": "ahp-root://", "clientId": "a", "protocolVersions": ["1.0.0"],
    }});
    socket.send(Message::text(hello.to_string())).await.unwrap();
    let welcome = in_time("the welcome", socket.next()).await;
    let welcome = welcome.unwrap().unwrap().into_text().unwrap();
    let welcome: Value = serde_json::from_str(&welcome).unwrap();
    assert_eq!(welcome["result"]["protocolVersion"], "1.0.0");
    inn.close().await;
}
