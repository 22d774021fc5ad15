//! Encryption that cannot be had is told at once. Connections that can be encrypted are tested with the command line,
//! where a process of its own trusts the certificate of the test.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::support::{Server, address, get, outgoing};

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_refused_for_good() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let chain = vec![CertificateDer::from(made.cert.der().to_vec())];
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("a configuration")));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serving = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.expect("a connection");
        drop(acceptor.accept(socket).await);
        listener
    });
    let to = address(&format!("https://localhost:{port}"));
    let failed = outgoing().send(&to, get("/")).await.expect_err("it is not trusted");
    assert!(!failed.was_sent && failed.for_good && failed.what.contains("certificate"), "{failed:?}");
    let listener = serving.await.expect("no panic").into_std().expect("a listener");
    assert!(listener.accept().is_err(), "it was tried once");
}

#[tokio::test]
async fn a_server_without_tls_is_told_for_good() {
    let server = Server::echo().await;
    let failed = outgoing().send(&address(&format!("https://{}", server.at)), get("/")).await.expect_err("no TLS");
    assert!(!failed.was_sent && failed.for_good, "{failed:?}");
}
