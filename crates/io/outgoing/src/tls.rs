//! Encrypted connections, trusted as the system trusts them. They are set up once per process.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, Error, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::Failed;

/// `stream`, encrypted, after the server has shown a trusted certificate for `host`.
pub(crate) async fn encrypt(host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, Failed> {
    // Reading the system's certificates takes some milliseconds: it is done when they are first needed.
    static CONNECTOR: OnceLock<Result<TlsConnector, String>> = OnceLock::new();
    let connector = CONNECTOR.get_or_init(connector).as_ref().map_err(|what| Failed::before(what).for_good())?;
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|_| Failed::before(format!("no certificate can name '{host}'")).for_good())?;
    connector.connect(name, stream).await.map_err(|error| failed(&error))
}

fn connector() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    // Some of a system's certificates may be malformed; the others are enough.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("this system has no trusted certificates: install them (ca-certificates), or name a file with \
                    them in SSL_CERT_FILE"
            .to_owned());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("connections cannot be encrypted: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}

/// A refusal by TLS itself is for good. A connection that breaks in between may work the next time.
fn failed(error: &io::Error) -> Failed {
    let refused = |what: String| Failed::before(what).for_good();
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(why)) => refused(format!(
            "the server's certificate is not trusted ({why}); certificates of your own are named in SSL_CERT_FILE"
        )),
        Some(Error::InvalidMessage(_)) => {
            refused("the server does not speak TLS on this port; is its address http://?".to_owned())
        }
        Some(why) => refused(format!("TLS failed: {why}")),
        None => Failed::before(error),
    }
}
