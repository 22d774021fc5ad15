//! Encrypted connections to a server with a certificate of its own.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::StoreError;
use threadkeep_throwaway::{Cluster, sql};

use crate::keep::{block_on, create, say, until};

/// A server that encrypts, whose certificate is for 127.0.0.1, and the authority that signed it.
fn encrypting() -> (Cluster, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("parameters");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    let cluster = Cluster::start().expect("a server");
    for (file, pem) in [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())] {
        let lines = format!("SELECT unnest(string_to_array('{}', chr(10)))", pem.trim().replace("\r\n", "\n"));
        sql(&cluster.url(), &format!("COPY ({lines}) TO PROGRAM 'umask 077; cat > {file}'"));
    }
    sql(&cluster.url(), "ALTER SYSTEM SET ssl = on");
    sql(&cluster.url(), "SELECT pg_reload_conf()");
    (cluster, authority.pem())
}

#[test]
fn connections_are_encrypted_and_the_server_verified_as_asked() {
    let (cluster, authority) = encrypting();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (roots, others) = (folder.path().join("roots.pem"), folder.path().join("others.pem"));
    std::fs::write(&roots, authority).expect("a file");
    std::fs::write(&others, encrypting().1).expect("a file");
    let open = |parameters: &str| {
        let url = format!("{}?application_name=tls&{parameters}", cluster.url());
        PostgresStore::open(url.parse().expect("a url"))
    };
    let is_encrypted = "SELECT DISTINCT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
                        WHERE a.application_name = 'tls'";
    let by = |roots: &std::path::Path| format!("sslrootcert={}", roots.display());
    // The server takes a moment to read its new settings.
    block_on(until("the server encrypts", async || open("sslmode=require").is_ok()));
    for parameters in ["".to_owned(), "sslmode=require".into(), format!("sslmode=verify-full&{}", by(&roots))] {
        let store = open(&parameters).expect("a store");
        block_on(async {
            let thread = create(&store).await;
            say(&store, thread, "hello").await.expect("an append");
        });
        assert_eq!(sql(&cluster.url(), is_encrypted), [[Some("t".to_owned())]], "{parameters}");
        drop(store);
    }
    for parameters in [format!("sslmode=verify-full&{}", by(&others)), format!("sslmode=verify-ca&{}", by(&others))] {
        match open(&parameters).map(drop) {
            Err(StoreError::CannotOpen { what, .. }) => assert!(what.contains("certificate"), "{what}"),
            other => panic!("{parameters}: {other:?}"),
        }
    }
    let missing = open("sslmode=verify-full&sslrootcert=/nowhere.pem").map(drop).expect_err("no such file");
    assert!(missing.to_string().contains("/nowhere.pem"), "{missing}");
    // Another name for the same machine: only verify-full minds.
    let elsewhere = |mode: &str| {
        let url = cluster.url().replace("127.0.0.1", "localhost");
        PostgresStore::open(format!("{url}?sslmode={mode}&{}", by(&roots)).parse().expect("a url")).map(drop)
    };
    assert!(elsewhere("verify-full").is_err());
    elsewhere("verify-ca").expect("signed by somebody trusted");
}
