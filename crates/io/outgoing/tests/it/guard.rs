//! Addresses that others chose lead to the public Internet only.

use threadkeep_outgoing::{Limits, Outgoing, Reach};

use crate::support::{Server, address, get, outgoing};

#[tokio::test]
async fn local_and_private_addresses_are_refused_unless_they_are_allowed() {
    let server = Server::echo().await;
    let port = server.at.port();
    let guarded = Outgoing::new(Reach::Public, Limits::default());
    for host in [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[fe80::1]",
        "[fd00::1]",
        // Other ways to write 127.0.0.1; what is no address here is a name that is not found.
        "127.1",
        "2130706433",
        "0x7f000001",
    ] {
        let failed = guarded.send(&address(&format!("http://{host}:{port}")), get("/")).await.expect_err(host);
        let told = failed.what.contains("private network") && failed.for_good;
        assert!(!failed.was_sent && (told || failed.what.contains("was not found")), "{host}: {failed:?}");
    }
    assert_eq!(server.connections(), 0);
    outgoing().ask(&server.address(), get("/")).await.expect("it is allowed");
}
