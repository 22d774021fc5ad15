//! A server behind TLS: `--server https://…`, trusted as the system trusts.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::support::{Keep, run, threadkeep};

/// Ends TLS before `to`, with a certificate for localhost; where it listens, and the certificate.
pub fn terminator(to: SocketAddr) -> (SocketAddr, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let pem = made.cert.pem();
    let chain = vec![CertificateDer::from(made.cert.der().to_vec())];
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("a configuration")));
    let (tell, listening) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("an address")).expect("the test waits");
            while let Ok((client, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut client) = acceptor.accept(client).await else { return };
                    let Ok(mut server) = TcpStream::connect(to).await else { return };
                    drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
                });
            }
        });
    });
    (listening.recv().expect("it listens"), pem)
}

#[test]
fn a_server_behind_tls_is_asked_if_its_certificate_is_trusted() {
    let keep = Keep::served();
    let thread = keep.create("Work");
    let said = std::fs::read_to_string(keep.data().join("server.json")).expect("a file");
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let address = said["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an address");
    let (address, pem) = terminator(address.parse().expect("an address"));
    std::fs::write(keep.at("trusted.pem"), pem).expect("a file");
    let url = format!("https://localhost:{}", address.port());
    let by_tls = |args: &[&str], trusting: bool| {
        let mut command = threadkeep();
        command.current_dir(keep.folder()).env("THREADKEEP_KEY", said["apiKey"].as_str().expect("a key"));
        command.env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
        if trusting {
            command.env("SSL_CERT_FILE", keep.at("trusted.pem"));
        }
        command.args(["--server", &url]).args(args);
        run(command, b"")
    };
    by_tls(&["say", &thread, "encrypted"], true).ok();
    assert!(by_tls(&["show", &thread], true).ok().contains("encrypted"));
    let lines: String = (0..100).map(|number| format!("{number}\n")).collect();
    let mut command = threadkeep();
    command.env("THREADKEEP_KEY", said["apiKey"].as_str().expect("a key"));
    command.env("SSL_CERT_FILE", keep.at("trusted.pem")).args(["--server", &url, "say", &thread, "--lines"]);
    assert_eq!(run(command, lines.as_bytes()).ok().lines().count(), 100);
    let refused = by_tls(&["show", &thread], false).refused(6, &["cannot be reached", "certificate"]);
    assert!(!refused.contains(said["apiKey"].as_str().expect("a key")), "{refused}");
}
