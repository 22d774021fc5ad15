//! What the server says of itself: the OpenAPI document, its golden file, and the pages.

use crate::support::Server;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/openapi.json");

#[test]
fn the_document_is_the_golden_file() {
    let server = Server::start();
    let served = server.anonymous().get("/openapi.json");
    served.ok(200);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(GOLDEN, &served.body).expect("the golden file is written");
    }
    let golden = std::fs::read_to_string(GOLDEN).expect("the golden file");
    assert!(
        served.body == golden,
        "spec/openapi.json is not what the routes say; BLESS=1 cargo test -p threadkeep-server described"
    );
}
