//! Approvals, delegations and references over HTTP.

use serde_json::{Value, json};

use crate::support::{Client, Server};

/// A key for an agent.
fn agent(server: &Server, name: &str) -> Client {
    let new = json!({ "account": "local", "scope": "write", "agent": true, "name": name });
    server.with_key(server.admin().post("/v1/keys", new).ok(201)["key"].as_str().expect("a key"))
}

fn ask(client: &Client, thread: &str, more: Value) -> String {
    let mut body = json!({ "direction": "request_approval", "scope": ["delete_file"] });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let made = client.post(&format!("/v1/threads/{thread}/transfer"), body).ok(201);
    assert!(made.get("delegationId").is_none());
    made["approvalId"].as_str().expect("an id").to_owned()
}

#[test]
fn an_approval_goes_from_an_agent_to_a_human_and_back() {
    let server = Server::start();
    let (human, coder) = (server.admin(), agent(&server, "coder"));
    let thread = human.thread(&["a"]);
    let id = ask(&coder, &thread, json!({ "reason": "it is old", "timeout": "PT1H", "fallback": "skip" }));
    let at = format!("/v1/approvals/{id}");
    let listed = human.get("/v1/approvals").ok(200);
    let first = &listed["items"][0];
    assert_eq!(
        (&first["id"], &first["state"], &first["askedBy"]["name"]),
        (&json!(id), &json!("pending"), &json!("coder"))
    );
    assert!(first["timeoutAt"].as_str().is_some() && first.get("answeredBy").is_none());
    coder.post(&format!("{at}/approve"), json!({})).refused(403, "forbidden");
    let approved = human.post(&format!("{at}/approve"), json!({ "reason": "go ahead" })).ok(200);
    assert_eq!((&approved["state"], &approved["answerReason"]), (&json!("approved"), &json!("go ahead")));
    assert_eq!(human.get(&at).ok(200), approved);
    human.post(&format!("{at}/deny"), json!({})).refused(409, "approval_answered");
    assert_eq!(human.get("/v1/approvals").ok(200)["items"], json!([]));
    let of_thread = format!("/v1/approvals?state=approved&threadId={thread}");
    assert_eq!(human.get(&of_thread).ok(200)["items"].as_array().expect("items").len(), 1);
    assert_eq!(human.post(&format!("{at}/revoke"), json!({})).ok(200)["state"], "revoked");
    let withdrawn = ask(&coder, &thread, json!({}));
    coder.post(&format!("/v1/approvals/{withdrawn}/revoke"), json!({})).ok(200);
    for (wrong, field) in [
        ("approvals?state=sleeping", "state"),
        ("approvals?limit=x", "limit"),
        ("threads?total=true&limit=99999999999999999999", "limit"),
        ("threads?limit=5&total=maybe", "total"),
    ] {
        let refused = human.get(&format!("/v1/{wrong}")).refused(400, "invalid_parameter");
        assert_eq!(refused["field"], field, "{refused}");
    }
    human.get("/v1/approvals?cursor=x").refused(400, "invalid_cursor");
    for wrong in [
        json!({ "direction": "sideways", "scope": ["read"] }),
        json!({ "direction": "delegate", "scope": [] }),
        json!({ "direction": "delegate", "scope": ["fly"] }),
        json!({ "direction": "request_approval", "scope": ["read"], "timeout": "soon" }),
    ] {
        human.post(&format!("/v1/threads/{thread}/transfer"), wrong).refused(400, "invalid_body");
    }
}

#[test]
fn a_delegation_is_given_listed_and_taken_back() {
    let server = Server::start();
    let (human, coder) = (server.admin(), agent(&server, "coder"));
    let thread = human.thread(&["a"]);
    let at = format!("/v1/threads/{thread}/transfer");
    let give = json!({ "direction": "delegate", "scope": ["code_edit", "tool:web"], "to": "coder", "timeout": "P1D" });
    coder.post(&at, give.clone()).refused(403, "forbidden");
    let given = human.post(&at, give).ok(201)["delegationId"].clone();
    let listed = human.get(&format!("/v1/threads/{thread}/delegations")).ok(200);
    assert_eq!(
        (&listed["items"][0]["id"], &listed["items"][0]["to"], &listed["total"]),
        (&given, &json!("coder"), &json!(1))
    );
    let revoke = format!("/v1/delegations/{}/revoke", given.as_str().expect("an id"));
    coder.post(&revoke, json!({})).refused(403, "forbidden");
    assert_eq!(human.post(&revoke, json!({ "reason": "done" })).ok(200)["holds"], false);
    human.post(&revoke, json!({})).refused(404, "delegation_not_found");
}

#[test]
fn an_agent_writes_files_once_a_human_said_yes() {
    let server = Server::start();
    let (human, coder) = (server.admin(), agent(&server, "coder"));
    let thread = human.thread(&["a"]);
    let file = format!("/v1/threads/{thread}/files/a.json");
    let refused = coder.put(&file, json!([1])).refused(403, "approval_required");
    let approval = refused["approvalId"].as_str().expect("an approval").to_owned();
    human.get(&file).refused(404, "file_not_found");
    assert_eq!(human.get(&format!("/v1/approvals/{approval}")).ok(200)["scope"], json!(["code_edit"]));
    coder.get(&format!("/v1/threads/{thread}/files?grep=x")).ok(200);
    coder.put(&format!("/v1/threads/{thread}/kv/k"), json!(1)).ok(200);
    human.post(&format!("/v1/approvals/{approval}/approve"), json!({})).ok(200);
    coder.put(&file, json!([1])).ok(201);
    assert_eq!(coder.get(&file).ok(200), json!([1]));
    let refused = coder.delete(&file).refused(403, "approval_required");
    assert_ne!(refused["approvalId"], json!(approval));
    human.delete(&file).ok(200);
}

#[test]
fn an_approval_that_nobody_answers_is_told_to_those_who_follow() {
    let server = Server::start();
    let human = server.admin();
    let thread = human.thread(&["a"]);
    let mut stream = human.stream(&format!("/v1/threads/{thread}/stream?after=1"), "");
    ask(&human, &thread, json!({ "timeout": "PT0.2S", "fallback": "skip" }));
    let events: Vec<(String, bool)> =
        stream.take(3).into_iter().map(|event| (event.kind, event.id.is_some())).collect();
    let expected = [("approval_requested", true), ("approval_requested", false), ("approval_answered", true)];
    assert_eq!(events, expected.map(|(kind, has_id)| (kind.to_owned(), has_id)), "the entry, its event, the answer");
}

#[test]
fn a_reference_is_read_as_it_was_and_is_gone_with_its_target() {
    let server = Server::start();
    let human = server.admin();
    let (thread, target) = (human.thread(&[]), human.thread(&["a", "b"]));
    let made = human.post(&format!("/v1/threads/{thread}/reference"), json!({ "target": target })).ok(201);
    assert_eq!((&made["snapshotVersion"], &made["binding"]), (&json!(2), &json!("frozen")));
    let at = format!("/v1/references/{}", made["refId"].as_str().expect("an id"));
    assert_eq!(human.get(&at).ok(200), made);
    human.say(&target, "c");
    let shown = human.get(&format!("{at}/messages?limit=1")).ok(200);
    assert_eq!((&shown["items"][0]["content"], &shown["total"]), (&json!("a"), &json!(2)));
    let next = shown["nextCursor"].as_str().expect("more");
    assert_eq!(human.get(&format!("{at}/messages?cursor={next}")).ok(200)["items"][0]["content"], "b");
    let both = human.get(&format!("/v1/threads/{target}/references")).ok(200);
    assert_eq!((&both["incoming"][0], &both["outgoing"]), (&made, &json!([])));
    human.delete(&format!("/v1/threads/{target}")).ok(200);
    human.get(&format!("{at}/messages")).refused(410, "reference_gone");
    human.get(&format!("{at}/files/a.json")).refused(410, "reference_gone");
    human.get(&format!("{at}/kv")).refused(410, "reference_gone");
}

#[test]
fn files_and_values_are_read_through_a_reference() {
    let server = Server::start();
    let human = server.admin();
    let (thread, target) = (human.thread(&[]), human.thread(&["a"]));
    human.put(&format!("/v1/threads/{target}/files/src/a.json"), json!([1, 2])).ok(201);
    human.put(&format!("/v1/threads/{target}/files/b.json"), json!(3)).ok(201);
    human.put(&format!("/v1/threads/{target}/kv/k"), json!({ "n": 1 })).ok(200);
    let refer = |more: Value| {
        let made = human.post(&format!("/v1/threads/{thread}/reference"), more).ok(201);
        format!("/v1/references/{}", made["refId"].as_str().expect("an id"))
    };
    let (all, some) = (refer(json!({ "target": target })), refer(json!({ "target": target, "scope": ["src/**"] })));
    human.put(&format!("/v1/threads/{target}/files/src/a.json"), json!([9])).ok(200);
    human.put(&format!("/v1/threads/{target}/kv/k"), json!(null)).ok(200);
    assert_eq!(human.get(&format!("{all}/files/src/a.json")).ok(200), json!([1, 2]));
    let part = human.send("GET", &format!("{all}/files/src/a.json"), "Range: bytes=1-1\r\n", None);
    assert_eq!((part.status, part.body.as_str()), (206, "1"));
    assert_eq!(human.get(&format!("{all}/files/src?list")).ok(200)["entries"][0]["path"], "/src/a.json");
    assert_eq!(human.get(&format!("{all}/files/src/a.json?stat")).ok(200)["size"], 5);
    let page = human.get(&format!("{all}/files?limit=1")).ok(200);
    let cursor = page["nextCursor"].as_str().expect("more");
    let rest = human.get(&format!("{all}/files?cursor={cursor}")).ok(200);
    assert_eq!((&page["items"][0]["path"], &rest["items"][0]["path"]), (&json!("/b.json"), &json!("/src/a.json")));
    assert_eq!(human.get(&format!("{all}/kv/k")).ok(200)["value"], json!({ "n": 1 }));
    assert_eq!(human.get(&format!("{all}/kv")).ok(200)["items"][0]["key"], "k");
    human.get(&format!("{some}/files/b.json")).refused(404, "file_not_found");
    human.get(&format!("{some}/kv/k")).refused(403, "forbidden");
    human.get(&format!("{some}/messages")).refused(403, "forbidden");
    human.get(&format!("{all}/files/%2e%2e/x")).refused(400, "path_escapes_root");
    let (other, _) = server.keyed("other", "read");
    other.get(&format!("{all}/files")).refused(404, "reference_not_found");
}
