//! `terminate`: the work on a thread ends for good.

use serde_json::json;

use crate::support::Server;

#[test]
fn a_terminated_thread_takes_no_work_and_its_parent_knows() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let parent = ann.thread(&["plan"]);
    let child = ann.post(&format!("/v1/threads/{parent}/children"), json!({ "name": "critic" })).ok(201);
    let at = format!("/v1/threads/{}", child["id"].as_str().expect("an id"));
    let begun = ann.post(&format!("{at}/runs"), json!({ "executor": "caller" })).ok(201);
    ann.post(&format!("{at}/queue"), json!({ "role": "user", "content": "wait" })).ok(201);

    let ended = ann.post(&format!("{at}/terminate"), json!({})).ok(200);
    assert!(ended["terminated"].is_string() && ended.get("run").is_none(), "{ended}");
    assert_eq!(ended["lifecycle"], "active");
    assert_eq!(ann.get(&format!("{at}/queue")).ok(200)["total"], 0);
    let run = begun["id"].as_str().expect("an id");
    ann.post(&format!("/v1/runs/{run}/step"), json!({})).refused(409, "run_over");
    ann.post(&format!("{at}/runs"), json!({})).refused(409, "thread_terminated");
    ann.post(&format!("{at}/queue"), json!({ "role": "user", "content": "more" })).refused(409, "thread_terminated");
    let children = ann.get(&format!("/v1/threads/{parent}/children")).ok(200);
    assert_eq!(children["items"][0]["status"], "terminated");

    let again = ann.post(&format!("{at}/terminate"), json!({})).ok(200);
    assert_eq!((&again["terminated"], &again["v"]), (&ended["terminated"], &ended["v"]), "once more changes nothing");
    ann.post(&format!("{at}/rollback"), json!({ "version": 0 })).ok(200);
    assert_eq!(ann.get(&at).ok(200)["terminated"], ended["terminated"], "no rollback brings it back");
    ann.patch(&at, json!({ "terminated": null })).refused(400, "invalid_body");
}
