//! Encrypted connections, trusted as the system trusts them.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use threadkeep_model::Invalid;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::http::Socket;

/// How connections to one host are encrypted.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// For connections to `host`, by the certificates that the system trusts.
    pub(crate) fn new(host: &str) -> Result<Self, Invalid> {
        let wrong = |rule: String| Invalid::parameter("server", rule);
        let mut roots = RootCertStore::empty();
        // Some of a system's certificates may be malformed; the others do.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(format!("cannot be encrypted: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).map_err(|error| wrong(format!("'{host}': {error}")))?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
    }

    /// `stream`, encrypted.
    pub(crate) async fn wrap(&self, stream: TcpStream) -> io::Result<Box<dyn Socket>> {
        Ok(Box::new(self.connector.connect(self.name.clone(), stream).await?))
    }
}
