//! Agents do not get around authority: whichever call has the effect, a human has to approve it.

use serde_json::{Value, json};

use crate::support::{Client, Reply, Server};

fn agent(server: &Server, scope: &str) -> Client {
    let new = json!({ "account": "local", "scope": scope, "agent": true, "name": "coder" });
    server.with_key(server.admin().post("/v1/keys", new).ok(201)["key"].as_str().expect("a key"))
}

/// Asks, gets the approval, and asks again: the call is refused until then. Gives the answer.
fn after_approval(human: &Client, scope: Value, ask: impl Fn() -> Reply) -> Value {
    let refused = ask().refused(403, "approval_required");
    let approval = format!("/v1/approvals/{}", refused["approvalId"].as_str().expect("an approval"));
    assert_eq!(human.get(&approval).ok(200)["scope"], scope, "{refused}");
    assert_eq!(ask().refused(403, "approval_required")["approvalId"], refused["approvalId"], "it asks once");
    human.post(&format!("{approval}/approve"), json!({})).ok(200);
    let done = ask();
    assert!(done.status < 300, "{} {}", done.status, done.json());
    done.json()
}

/// A thread of a human: at version 1 nothing, then `kept` and `gone`, then another `kept`.
fn with_files(human: &Client) -> String {
    let thread = human.thread(&["a"]);
    for (path, content) in [("kept", 1), ("gone", 1), ("kept", 2)] {
        human.put(&format!("/v1/threads/{thread}/files/{path}"), json!(content));
    }
    thread
}

#[test]
fn going_back_needs_the_authority_for_the_files_that_change_or_vanish() {
    let server = Server::start();
    let (human, coder) = (server.admin(), agent(&server, "write"));
    for (back, scope, left) in [
        (json!({ "version": 1 }), json!(["delete_file"]), 404),
        (json!({ "version": 2 }), json!(["code_edit", "delete_file"]), 200),
        (json!({ "version": 3 }), json!(["code_edit"]), 200),
        (json!({ "artifactVersion": { "path": "/kept", "version": 1 } }), json!(["delete_file"]), 404),
        (json!({ "artifactVersion": { "path": "/kept", "version": 2 } }), json!(["code_edit"]), 200),
    ] {
        let thread = with_files(&human);
        let at = format!("/v1/threads/{thread}");
        let ask = || coder.post(&format!("{at}/rollback"), back.clone());
        after_approval(&human, scope, ask);
        assert_eq!(human.get(&format!("{at}/files/kept")).status, left, "{back}");
    }
    let thread = with_files(&human);
    let at = format!("/v1/threads/{thread}");
    human.post(&format!("{at}/rollback"), json!({ "version": 1 })).ok(200);
    after_approval(&human, json!(["code_edit"]), || coder.post(&format!("{at}/rollback"), json!({ "undo": true })));
    coder.post(&format!("{at}/truncate"), json!({ "fromIndex": 0 })).ok(200);
    coder.post(&format!("{at}/rollback"), json!({ "undo": true })).ok(200);
    assert_eq!(human.shows(&thread), "a", "conversation alone needs no authority");
}

#[test]
fn a_merge_and_a_move_need_it_by_what_they_do() {
    let server = Server::start();
    let (human, coder) = (server.admin(), agent(&server, "write"));
    let target = with_files(&human);
    let source = human.post(&format!("/v1/threads/{target}/fork"), json!({})).ok(201);
    let source = source["id"].as_str().expect("an id");
    human.delete(&format!("/v1/threads/{source}/files/gone")).ok(200);
    let merge = json!({ "sources": [source] });
    let merged = after_approval(&human, json!(["delete_file"]), || {
        coder.post(&format!("/v1/threads/{target}/merge"), merge.clone())
    });
    assert_eq!(merged["status"], "merged");
    human.get(&format!("/v1/threads/{target}/files/gone")).refused(404, "file_not_found");
    let asked =
        coder.post(&format!("/v1/threads/{target}/merge"), json!({ "sources": [source], "requiresApproval": true }));
    assert_eq!(asked.json()["status"], "pending_approval", "the approval of the merge is its authority");

    let moving = || coder.post(&format!("/v1/threads/{target}/files/kept?moveTo=/there"), json!({}));
    after_approval(&human, json!(["code_edit"]), moving);
    human.get(&format!("/v1/threads/{target}/files/there")).ok(200);
}

#[test]
fn threads_are_deleted_published_given_away_and_set_up_by_humans() {
    let server = Server::start();
    let (human, coder) = (server.admin(), agent(&server, "write"));
    let at = format!("/v1/threads/{}", human.thread(&["a"]));
    let public = after_approval(&human, json!(["publish"]), || coder.patch(&at, json!({ "visibility": "public" })));
    assert_eq!(public["visibility"], "public");
    let env = json!({ "env": { "initial": { "tags": ["x"] } }, "title": "t" });
    after_approval(&human, json!(["set_env"]), || coder.patch(&at, env.clone()));
    coder.patch(&at, json!({ "title": "mine" })).ok(200);
    after_approval(&human, json!(["delete_thread"]), || coder.delete(&at));
    human.get(&at).refused(404, "thread_not_found");

    let admin = agent(&server, "admin");
    let at = format!("/v1/threads/{}", human.thread(&["a"]));
    let given = json!({ "account": "bob" });
    let refused = admin.put(&format!("{at}/owner"), given).refused(403, "approval_required");
    let approval = refused["approvalId"].as_str().expect("an approval");
    assert_eq!(human.get(&format!("/v1/approvals/{approval}")).ok(200)["scope"], json!(["publish"]));
    human.get(&at).ok(200);
}

#[test]
fn an_agent_with_a_key_for_upkeep_stays_an_agent() {
    let server = Server::start();
    let (human, admin) = (server.admin(), agent(&server, "admin"));
    let thread = with_files(&human);
    let file = format!("/v1/threads/{thread}/files/gone");
    admin.send("DELETE", &file, "Threadkeep-Actor: human ann\r\n", None).refused(403, "forbidden");
    admin.send("DELETE", &file, "Threadkeep-Actor: agent other\r\n", None).refused(403, "approval_required");
    let key = json!({ "account": "local", "scope": "write", "name": "ann" });
    admin.post("/v1/keys", key.clone()).refused(403, "forbidden");
    human.post("/v1/keys", key).ok(201);
    let export = human.get("/v1/admin/export");
    admin.send("POST", "/v1/admin/import", "", Some(&export.body)).refused(403, "forbidden");
    human.get(&file).ok(200);
}

#[test]
fn a_denied_agent_asks_again_and_a_repeated_call_keeps_its_answer() {
    let server = Server::start();
    let (human, coder) = (server.admin(), agent(&server, "write"));
    let thread = with_files(&human);
    let back = || {
        let body = json!({ "version": 3 }).to_string();
        let headers = "Idempotency-Key: once\r\n";
        coder.send("POST", &format!("/v1/threads/{thread}/rollback"), headers, Some(&body))
    };
    let refused = back().refused(403, "approval_required");
    let denied = format!("/v1/approvals/{}", refused["approvalId"].as_str().expect("an approval"));
    human.post(&format!("{denied}/deny"), json!({})).ok(200);
    let again = back().refused(403, "approval_required");
    assert_ne!(again["approvalId"], refused["approvalId"]);
    let approved = format!("/v1/approvals/{}", again["approvalId"].as_str().expect("an approval"));
    human.post(&format!("{approved}/approve"), json!({})).ok(200);
    let v = back().ok(200)["v"].clone();
    assert_eq!(back().ok(200)["v"], v, "the first result, though the approval was rolled back with the rest");
}
