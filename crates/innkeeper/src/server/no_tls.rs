//! Without the feature `tls` there are no files of certificates to name, and so
//! nothing to do here.

use std::convert::Infallible;

use tokio::net::TcpStream;

/// Where a certificate and its key are. There are no values of this type:
/// build with the feature `tls`.
#[derive(Debug, Clone)]
pub enum TlsFiles {}

#[derive(Debug, Clone)]
pub(crate) struct Tls(Infallible);

impl Tls {
    pub(crate) fn new(files: &TlsFiles) -> Result<Self, String> {
        match *files {}
    }

    pub(crate) fn reload(&self, _: &TlsFiles) -> Result<(), String> {
        match self.0 {}
    }

    pub(crate) async fn greet(self, _: TcpStream) -> Option<TcpStream> {
        match self.0 {}
    }
}
