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
    let refused = ann.post(&format!("{path}/runs"), json!({ "executor": "caller" })).refused(409, "thread_suspended");
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

#[test]
fn what_is_injected_comes_with_the_next_step_and_is_listed() {
    let server = Server::start();
    let ann = server.admin();
    let path = format!("/v1/threads/{}", ann.thread(&["a"]));
    let inject = |body: serde_json::Value| ann.post(&format!("{path}/inject"), body);
    let content = json!({ "budget": 100, "items": [null, "x"] });
    let made = inject(json!({ "type": "data", "content": content })).ok(201);
    assert_eq!(made.as_object().map(|made| made.len()), Some(1));
    let later = inject(json!({ "type": "priority", "content": "first", "urgency": "immediate" })).ok(201);
    for wrong in [
        json!({ "type": "wish", "content": 1 }),
        json!({ "type": "data" }),
        json!({ "type": "data", "content": 1, "urgency": "soon" }),
    ] {
        inject(wrong).refused(400, "invalid_body");
    }
    let begun = ann.post(&format!("{path}/runs"), json!({ "executor": "caller" })).ok(201);
    let given = begun["injections"].as_array().expect("injections");
    assert_eq!((&given[0]["id"], &given[1]["id"]), (&later["injectionId"], &made["injectionId"]));
    assert_eq!((&given[1]["content"], &given[1]["urgency"]), (&content, &json!("next_step")));
    assert_eq!((&given[1]["state"], &given[1]["runId"]), (&json!("taken"), &begun["id"]));
    let step = format!("/v1/runs/{}/step", begun["id"].as_str().expect("an id"));
    assert_eq!(ann.post(&step, json!({})).ok(200)["injections"], json!([]));
    let by_hand = inject(json!({ "type": "feedback", "content": "good" })).ok(201);
    let waiting = ann.get(&format!("{path}/injections")).ok(200);
    assert_eq!((&waiting["total"], &waiting["items"][0]["id"]), (&json!(1), &by_hand["injectionId"]));
    let ack = format!("{path}/injections/{}/ack", by_hand["injectionId"].as_str().expect("an id"));
    let taken = ann.post(&ack, json!({})).ok(200);
    assert_eq!((&taken["state"], taken.get("runId")), (&json!("taken"), None));
    assert_eq!(ann.post(&ack, json!({})).ok(200), taken);
    assert_eq!(ann.get(&format!("{path}/injections?state=taken")).ok(200)["total"], 3);
    assert_eq!(ann.get(&format!("{path}/injections?state=all")).ok(200)["total"], 3);
    ann.get(&format!("{path}/injections?state=some")).refused(400, "invalid_parameter");
    let unknown = format!("{path}/injections/00000000-0000-4000-8000-000000000000/ack");
    ann.post(&unknown, json!({})).refused(404, "injection_not_found");
}

#[test]
fn decisions_are_recorded_and_listed_as_of_any_version() {
    let server = Server::start();
    let ann = server.admin();
    let path = format!("/v1/threads/{}", ann.thread(&["a"]));
    let decide = |question: &str, answer: &str| {
        let body = json!({ "question": question, "answer": answer, "reason": "because" });
        ann.post(&format!("{path}/decide"), body).ok(201)
    };
    let first = decide("Which store?", "SQLite");
    decide("which  STORE?", "PostgreSQL");
    let now = ann.get(&format!("{path}/decisions")).ok(200);
    assert_eq!((&now["total"], &now["items"][0]["answer"]), (&json!(1), &json!("PostgreSQL")));
    let then = ann.get(&format!("{path}/decisions?asOf={}", first["version"])).ok(200);
    assert_eq!(then["items"][0], first);
    ann.post(&format!("{path}/decide"), json!({ "question": " ", "answer": "x" })).refused(400, "invalid_body");
    ann.get(&format!("{path}/decisions?asOf=99")).refused(400, "version_in_future");
}

#[test]
fn a_thread_is_spawned_with_what_is_named_and_seen_in_the_family() {
    let server = Server::start();
    let ann = server.admin();
    let parent = ann.thread(&["a", "b", "c"]);
    let path = format!("/v1/threads/{parent}");
    let spawn = |body: serde_json::Value| ann.post(&format!("{path}/spawn"), body);
    let full = spawn(json!({ "intent": "Fix it", "inherit": "full" })).ok(201);
    assert_eq!((full.as_object().map(|made| made.len()), &full["parentId"]), (Some(2), &json!(parent)));
    let child = full["threadId"].as_str().expect("an id");
    assert_eq!(ann.shows(child), "a b c");
    let shown = ann.get(&format!("/v1/threads/{child}")).ok(200);
    assert_eq!((&shown["intent"], &shown["title"]), (&json!("Fix it"), &json!("Fix it")));
    let part = json!({ "intent": "x", "inherit": "partial", "inheritScope": ["messages:last=2", "skills", "env"] });
    assert_eq!(ann.shows(spawn(part).ok(201)["threadId"].as_str().expect("an id")), "b c");
    let tree = ann.get(&format!("{path}/tree")).ok(200);
    assert_eq!(tree["threads"].as_array().map(Vec::len), Some(3));
    assert_eq!((&tree["relations"][0]["type"], &tree["relations"][0]["childId"]), (&json!("spawn"), &json!(child)));
    for (wrong, field) in [
        (json!({ "intent": "x" }), "inherit"),
        (json!({ "intent": " ", "inherit": "none" }), "intent"),
        (json!({ "intent": "x", "inherit": "full", "inheritScope": ["env"] }), "inheritScope"),
        (json!({ "intent": "x", "inherit": "partial" }), "inheritScope"),
        (json!({ "intent": "x", "inherit": "partial", "inheritScope": ["memory"] }), "inheritScope"),
    ] {
        let refused = spawn(wrong).refused(400, "invalid_body");
        assert_eq!(refused["field"], field);
    }
}

#[test]
fn a_thread_goes_back_to_a_step_by_its_index_or_its_id() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let path = format!("/v1/threads/{thread}");
    let said = ann.post(&format!("{path}/messages"), json!({ "role": "assistant", "content": "b" })).ok(201);
    ann.say(&thread, "c");
    for step in [json!(1), said["id"].clone()] {
        ann.post(&format!("{path}/rollback"), json!({ "step": step })).ok(200);
        assert_eq!(ann.shows(&thread), "a b");
        ann.post(&format!("{path}/rollback"), json!({ "undo": true })).ok(200);
    }
    let refused = ann.post(&format!("{path}/rollback"), json!({ "step": 0 })).refused(400, "invalid_body");
    assert_eq!(refused["field"], "step");
    ann.post(&format!("{path}/rollback"), json!({ "step": 9 })).refused(400, "index_out_of_range");
    ann.post(&format!("{path}/rollback"), json!({ "step": 1, "version": 1 })).refused(400, "invalid_body");
}
