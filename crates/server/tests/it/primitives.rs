//! The primitives that people and agents share, over HTTP.

use serde_json::json;

use crate::support::Server;

#[test]
fn a_thread_is_moved_along_its_life_and_refusals_carry_what_is_allowed() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let path = format!("/v1/threads/{thread}");
    let lifecycle = format!("{path}/lifecycle");
    let moved = ann.post(&lifecycle, json!({ "action": "suspend", "reason": "later" }));
    assert_eq!(moved.ok(200)["lifecycle"], "suspended");
    assert!(moved.header("etag").is_some());
    assert_eq!(ann.get(&format!("{path}/checkpoints")).ok(200)["items"][0]["name"], "suspended-1");
    let refused = ann.post(&lifecycle, json!({ "action": "done" })).refused(409, "invalid_transition");
    assert_eq!((&refused["lifecycle"], &refused["allowed"]), (&json!("suspended"), &json!(["resume"])));
    let refused = ann.post(&format!("{path}/executions"), json!({})).refused(409, "thread_suspended");
    assert_eq!(refused["allowed"], json!(["resume"]));
    ann.post(&lifecycle, json!({ "action": "resume" })).ok(200);
    ann.send("POST", &lifecycle, "If-Match: \"1\"\r\n", Some(r#"{"action":"done"}"#)).refused(412, "version_conflict");
    ann.post(&lifecycle, json!({ "action": "pause" })).refused(400, "invalid_body");
    assert_eq!(ann.post(&lifecycle, json!({ "action": "done" })).ok(200)["lifecycle"], "completed");
    let refused = ann
        .post(&format!("{path}/messages"), json!({ "role": "user", "content": "late" }))
        .refused(409, "thread_closed");
    assert_eq!((&refused["lifecycle"], &refused["allowed"]), (&json!("completed"), &json!(["archive"])));
    assert_eq!(ann.get("/v1/threads?lifecycle=completed").ok(200)["items"][0]["id"], thread.as_str());
    assert_eq!(ann.post(&lifecycle, json!({ "action": "archive" })).ok(200)["archived"], true);
    let refused = ann.post(&format!("{path}/unarchive"), json!({})).refused(409, "invalid_transition");
    assert_eq!(refused["allowed"], json!([]));
}
