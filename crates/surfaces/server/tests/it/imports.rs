//! Files of other agents' conversations, sent over HTTP.

use crate::support::Server;

const SESSION: &str = r#"{"type":"user","uuid":"uuid-0001","parentUuid":null,"sessionId":"S","timestamp":"2026-01-01T10:00:00Z","message":{"role":"user","content":"Fix the parser"}}
{"type":"assistant","uuid":"uuid-0002","parentUuid":"uuid-0001","sessionId":"S","timestamp":"2026-01-01T10:00:01Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Done"}]}}
not json
"#;

#[test]
fn a_file_becomes_threads_of_the_account_and_sending_it_again_adds_nothing() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let path = "/v1/import?source=claude-code&name=../../S.jsonl";
    let report = ann.send("POST", path, "", Some(SESSION)).ok(200);
    assert_eq!((&report["threads"], &report["messages"]), (&1.into(), &2.into()), "{report}");
    assert_eq!(report["problems"][0], "../../S.jsonl:3: not JSON", "{report}");
    let again = ann.send("POST", path, "", Some(SESSION)).ok(200);
    assert_eq!((&again["messages"], &again["known"]), (&0.into(), &2.into()), "{again}");
    assert_eq!(ann.get("/v1/threads").ok(200)["items"][0]["created"], "2026-01-01T10:00:00.000000Z");
    ann.send("POST", "/v1/import?source=word", "", Some("x")).refused(400, "invalid_parameter");
    let (reader, _) = server.keyed("ann", "read");
    reader.send("POST", path, "", Some(SESSION)).refused(403, "forbidden");
}

#[test]
fn a_dry_run_counts_and_writes_nothing() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let path = "/v1/import?source=claude-code&name=S.jsonl&dryRun=true";
    let report = ann.send("POST", path, "", Some(SESSION)).ok(200);
    assert_eq!((&report["threads"], &report["messages"]), (&1.into(), &2.into()), "{report}");
    assert_eq!(ann.get("/v1/threads").ok(200)["items"], serde_json::json!([]));
    // An export of a whole store, too: what is new here, and what is known.
    let admin = server.admin();
    admin.thread(&["a"]);
    let export = admin.get("/v1/admin/export").body;
    let known = admin.send("POST", "/v1/admin/import?dryRun=true", "", Some(&export)).ok(200);
    assert_eq!((&known["threads"], &known["known"]), (&0.into(), &1.into()), "{known}");
    let other = Server::start();
    let new = other.admin().send("POST", "/v1/admin/import?dryRun=true", "", Some(&export)).ok(200);
    assert_eq!((&new["threads"], &new["known"]), (&1.into(), &0.into()), "{new}");
    assert_eq!(other.admin().get("/v1/threads").ok(200)["items"], serde_json::json!([]));
    let half = &export[..export.len() / 2];
    other.admin().send("POST", "/v1/admin/import?dryRun=true", "", Some(half)).refused(400, "export_cut_off");
}
