//! Without the feature `tls` there are no files of certificates to name, and so
//! nothing to do here.

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::serve::Listener;
use tokio::net::TcpStream;

/// Where a certificate and its key are. There are no values of this type:
/// build with the feature `tls`.
#[derive(Debug, Clone)]
pub enum TlsFiles {}

pub(crate) struct TlsListener(Infallible);

impl TlsListener {
    pub(crate) fn new<L>(_: L, files: &TlsFiles) -> Result<Self, String> {
        match *files {}
    }
}

impl Listener for TlsListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.0 {}
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        match self.0 {}
    }
}
