//! Every route, for everybody who may not use it.

use serde_json::Value;

use crate::support::{Client, Server};

const UNKNOWN: &str = "T-00000000-0000-4000-8000-000000000000";

/// Every route about a thread: method, path behind the thread, body, whether it writes, and what it answers to those
/// for whom there is no such thread.
const OF_A_THREAD: [(&str, &str, &str, bool, u16); 50] = [
    ("GET", "", "", false, 404),
    ("HEAD", "", "", false, 404),
    ("PATCH", "", r#"{"title":"x"}"#, true, 404),
    ("DELETE", "", "", true, 200),
    ("POST", "/messages", r#"{"role":"user","content":"x"}"#, true, 404),
    ("POST", "/messages", r#"{"messages":[{"role":"user","content":"x"}]}"#, true, 404),
    ("GET", "/messages", "", false, 404),
    ("GET", "/messages?asOf=1", "", false, 404),
    ("GET", "/messages/M-00000000000000011", "", false, 404),
    ("PATCH", "/messages/M-00000000000000011", r#"{"content":"x"}"#, true, 404),
    ("DELETE", "/messages/M-00000000000000011", "", true, 404),
    ("POST", "/events", r#"{"type":"tool_use","data":{}}"#, true, 404),
    ("GET", "/events", "", false, 404),
    ("GET", "/history", "", false, 404),
    ("POST", "/truncate", r#"{"fromIndex":0}"#, true, 404),
    ("GET", "/model-messages", "", false, 404),
    ("GET", "/queue", "", false, 404),
    ("POST", "/queue", r#"{"role":"user","content":"x"}"#, true, 404),
    ("PATCH", "/queue/queued-00000000-0000-4000-8000-000000000000", r#"{"content":"x"}"#, true, 404),
    ("DELETE", "/queue/queued-00000000-0000-4000-8000-000000000000", "", true, 404),
    ("POST", "/executions", "{}", true, 404),
    ("POST", "/executions/00000000-0000-4000-8000-000000000000/step", "{}", true, 404),
    ("POST", "/executions/00000000-0000-4000-8000-000000000000/end", "{}", true, 404),
    ("POST", "/cancel", "", true, 404),
    ("POST", "/archive", "", true, 404),
    ("POST", "/unarchive", "", true, 404),
    ("POST", "/assign", r#"{"agentId":"a"}"#, true, 404),
    ("POST", "/skills", r#"{"name":"s"}"#, true, 404),
    ("POST", "/emit", r#"{"event":"e","data":1}"#, true, 404),
    ("GET", "/children", "", false, 404),
    ("POST", "/children", r#"{"name":"n"}"#, true, 404),
    ("GET", "/parent", "", false, 404),
    ("POST", "/notify-parent", r#"{"content":"x"}"#, true, 404),
    ("POST", "/status", r#"{"status":"x"}"#, true, 404),
    ("POST", "/fork", "{}", true, 404),
    ("POST", "/handoff", r#"{"goal":"g"}"#, true, 404),
    ("POST", "/mention", r#"{"target":"T-00000000-0000-4000-8000-000000000001"}"#, true, 404),
    ("POST", "/rollback", r#"{"version":0}"#, true, 404),
    ("POST", "/checkpoint", r#"{"name":"c"}"#, true, 404),
    ("GET", "/checkpoints", "", false, 404),
    ("GET", "/tree", "", false, 404),
    ("GET", "/relationships", "", false, 404),
    ("GET", "/summary", "", false, 404),
    ("GET", "/writer", "", false, 404),
    ("POST", "/writer", "{}", true, 404),
    ("PUT", "/writer", "{}", true, 400),
    ("DELETE", "/writer", "", true, 400),
    ("GET", "/stream", "", false, 404),
    ("GET", "/stream?after=latest", "", false, 404),
    ("GET", "/ws", "", false, 404),
];

/// Every other route: method, path, body, and the scope it needs.
const OTHERS: [(&str, &str, &str, &str); 17] = [
    ("POST", "/v1/threads", "{}", "write"),
    ("GET", "/v1/threads", "", "read"),
    ("GET", "/v1/stream?projectId=p", "", "read"),
    ("POST", "/v1/projects", r#"{"name":"p"}"#, "write"),
    ("GET", "/v1/projects", "", "read"),
    ("GET", "/v1/projects/p", "", "read"),
    ("PUT", "/v1/projects/p", r#"{"name":"p"}"#, "write"),
    ("PATCH", "/v1/projects/p", r#"{"name":"p"}"#, "write"),
    ("DELETE", "/v1/projects/p", "", "write"),
    ("POST", "/v1/tickets", r#"{"path":"/v1/stream"}"#, "read"),
    ("GET", "/v1/keys", "", "admin"),
    ("POST", "/v1/keys", r#"{"account":"a"}"#, "admin"),
    ("DELETE", "/v1/keys/k", "", "admin"),
    ("POST", "/v1/admin/gc", "", "admin"),
    ("POST", "/v1/admin/doctor", "", "admin"),
    ("GET", "/v1/admin/export", "", "admin"),
    ("POST", "/v1/admin/import", "", "admin"),
];

/// The route of each operation, among those above.
const OF_AN_OPERATION: [(&str, &str, &str); 28] = [
    ("create", "POST", "/v1/threads"),
    ("update", "PATCH", ""),
    ("delete", "DELETE", ""),
    ("append", "POST", "/messages"),
    ("append-event", "POST", "/events"),
    ("insert", "POST", "/messages"),
    ("edit", "PATCH", "/messages/M-00000000000000011"),
    ("delete-message", "DELETE", "/messages/M-00000000000000011"),
    ("truncate", "POST", "/truncate"),
    ("fork", "POST", "/fork"),
    ("handoff", "POST", "/handoff"),
    ("mention", "POST", "/mention"),
    ("rollback", "POST", "/rollback"),
    ("checkpoint", "POST", "/checkpoint"),
    ("archive", "POST", "/archive"),
    ("unarchive", "POST", "/unarchive"),
    ("assign", "POST", "/assign"),
    ("skill", "POST", "/skills"),
    ("queue", "POST", "/queue"),
    ("edit-queued", "PATCH", "/queue/queued-00000000-0000-4000-8000-000000000000"),
    ("remove-queued", "DELETE", "/queue/queued-00000000-0000-4000-8000-000000000000"),
    ("begin", "POST", "/executions"),
    ("step", "POST", "/executions/00000000-0000-4000-8000-000000000000/step"),
    ("end", "POST", "/executions/00000000-0000-4000-8000-000000000000/end"),
    ("subagent", "POST", "/children"),
    ("notify-parent", "POST", "/notify-parent"),
    ("status", "POST", "/status"),
    ("change-owner", "PUT", "/owner"),
];

#[test]
fn every_operation_has_a_route() {
    let server = Server::start();
    for name in threadkeep::Operation::NAMES {
        let route = OF_AN_OPERATION.iter().find(|(operation, ..)| *operation == name);
        let (_, method, rest) = route.unwrap_or_else(|| panic!("'{name}' has no route"));
        let path = if rest.starts_with("/v1/") { (*rest).to_owned() } else { format!("/v1/threads/{UNKNOWN}{rest}") };
        assert_eq!(ask(&server.anonymous(), (method, &path, "")).0, 401, "{name}: there is such a path, behind a key");
    }
}

fn ask(client: &Client, (method, path, body): (&str, &str, &str)) -> (u16, Value) {
    let reply = client.send(method, path, "", Some(body).filter(|body| !body.is_empty()));
    let mut said: Value = serde_json::from_str(&reply.body).unwrap_or(Value::Null);
    if let Some(said) = said.as_object_mut() {
        said.remove("requestId");
    }
    (reply.status, said)
}

#[test]
fn a_route_about_a_thread_answers_strangers_as_if_it_were_not_there() {
    let server = Server::start();
    let thread = server.admin().thread(&["secret"]);
    let (stranger, _) = server.keyed("bob", "admin");
    let (reader, _) = server.keyed("local", "read");
    let (revoked, id) = server.keyed("local", "write");
    server.admin().delete(&format!("/v1/keys/{id}")).ok(200);
    let before = server.admin().get(&format!("/v1/threads/{thread}")).ok(200);
    for (method, rest, body, writes, status) in OF_A_THREAD {
        let path = |thread: &str| format!("/v1/threads/{thread}{rest}");
        let about = |client: &Client, thread: &str| ask(client, (method, &path(thread), body));
        let shown = format!("{method} {rest}");
        assert_eq!(about(&server.anonymous(), &thread).0, 401, "{shown}");
        assert_eq!(about(&server.anonymous(), &thread), about(&server.anonymous(), UNKNOWN), "{shown}");
        let (found, said) = about(&stranger, &thread);
        let (unknown, expected) = about(&stranger, UNKNOWN);
        assert_eq!((found, unknown), (status, status), "{shown}: {said}");
        assert_eq!(said.to_string().replace(&thread, UNKNOWN), expected.to_string(), "{shown}");
        if writes {
            assert_eq!(about(&reader, &thread).0, 403, "{shown}");
        } else if !rest.contains("stream") {
            assert!(!matches!(about(&reader, &thread).0, 401 | 403), "{shown}");
        }
    }
    for (method, rest, body, ..) in OF_A_THREAD {
        let path = format!("/v1/threads/{thread}{rest}");
        assert_eq!(ask(&revoked, (method, &path, body)).0, 401, "{method} {rest}");
    }
    assert_eq!(server.admin().get(&format!("/v1/threads/{thread}")).ok(200), before, "nothing changed");
}

#[test]
fn every_other_route_asks_for_a_key_with_the_scope_it_needs() {
    let server = Server::start();
    let keys = ["read", "write", "admin"].map(|scope| (scope, server.keyed("ann", scope).0));
    for (method, path, body, needed) in OTHERS {
        assert_eq!(ask(&server.anonymous(), (method, path, body)).0, 401, "{method} {path}");
        if path.starts_with("/v1/stream") {
            continue;
        }
        let enough = keys.iter().skip_while(|(scope, _)| *scope != needed).count();
        for (place, (scope, client)) in keys.iter().enumerate() {
            let (status, said) = ask(client, (method, path, body));
            assert_eq!(status == 403, place < keys.len() - enough, "{method} {path} with {scope}: {status} {said}");
            assert_ne!(status, 401, "{method} {path}");
            assert!(status < 500, "{method} {path}: {said}");
        }
    }
}

#[test]
fn accounts_see_their_own_lists_and_projects() {
    let server = Server::start();
    let ((ann, _), (bob, _)) = (server.keyed("ann", "write"), server.keyed("bob", "write"));
    let thread = ann.thread(&["a"]);
    let ids = |client: &Client| client.get("/v1/threads").ok(200)["items"].as_array().expect("items").len();
    assert_eq!((ids(&ann), ids(&bob)), (1, 0));
    let sandbox = serde_json::json!({ "externalId": "s-1", "config": { "password": "hunter2" } });
    let project = serde_json::json!({ "id": "p", "name": "Ours", "iconName": "leaf", "sandbox": sandbox });
    ann.post("/v1/projects", project.clone()).ok(201);
    ann.post("/v1/projects", project).refused(409, "project_exists");
    assert_eq!(ann.get("/v1/projects/p").ok(200)["sandbox"], sandbox);
    bob.get("/v1/projects/p").refused(404, "project_not_found");
    bob.post("/v1/projects", serde_json::json!({ "id": "p", "name": "Theirs" })).ok(201);
    let changed = ann.patch("/v1/projects/p", serde_json::json!({ "iconName": null })).ok(200);
    assert_eq!((&changed["name"], changed.get("iconName")), (&"Ours".into(), None));
    ann.patch("/v1/projects/p", serde_json::json!({ "colour": 1 })).refused(400, "invalid_body");
    assert_eq!(ann.get("/v1/projects").ok(200)["items"].as_array().expect("items").len(), 1);
    assert_eq!(ann.delete("/v1/projects/p").ok(200)["deleted"], true);
    assert_eq!(ann.delete("/v1/projects/p").ok(200)["deleted"], false);
    assert_eq!(bob.get("/v1/projects/p").ok(200)["name"], "Theirs");
    assert_eq!(bob.delete(&format!("/v1/threads/{thread}")).ok(200)["deleted"], false);
    assert_eq!(ann.delete(&format!("/v1/threads/{thread}")).ok(200)["deleted"], true);
}
