//! Operations have routes, and accounts have things of their own. `matrix` has every route for everybody.

use crate::support::{Client, Server};

const UNKNOWN: &str = "T-00000000-0000-4000-8000-000000000000";

/// The route of each operation: method, and path behind the thread unless it stands alone.
const OF_AN_OPERATION: [(&str, &str, &str); 47] = [
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
    ("lifecycle", "POST", "/lifecycle"),
    ("inject", "POST", "/inject"),
    ("ack", "POST", "/injections/00000000-0000-4000-8000-000000000000/ack"),
    ("decide", "POST", "/decide"),
    ("spawn", "POST", "/spawn"),
    ("transfer", "POST", "/transfer"),
    ("approve", "POST", "/v1/approvals/00000000-0000-4000-8000-000000000000/approve"),
    ("deny", "POST", "/v1/approvals/00000000-0000-4000-8000-000000000000/deny"),
    ("revoke", "POST", "/v1/approvals/00000000-0000-4000-8000-000000000000/revoke"),
    ("reference", "POST", "/reference"),
    ("observe", "POST", "/observe"),
    ("unobserve", "DELETE", "/observers/00000000-0000-4000-8000-000000000000"),
    ("write-file", "PUT", "/files/a.txt"),
    ("delete-file", "DELETE", "/files/a.txt"),
    ("move-file", "POST", "/files/a.txt?moveTo=/b.txt"),
    ("mkdir", "POST", "/files/a?mkdir"),
    ("rmdir", "DELETE", "/files/a?rmdir"),
    ("set-value", "PUT", "/kv/a"),
    ("merge", "POST", "/merge"),
];

#[test]
fn every_operation_has_a_route() {
    let server = Server::start();
    for name in threadkeep::Operation::NAMES {
        let route = OF_AN_OPERATION.iter().find(|(operation, ..)| *operation == name);
        let (_, method, rest) = route.unwrap_or_else(|| panic!("'{name}' has no route"));
        let path = if rest.starts_with("/v1/") { (*rest).to_owned() } else { format!("/v1/threads/{UNKNOWN}{rest}") };
        assert_eq!(
            server.anonymous().send(method, &path, "", None).status,
            401,
            "{name}: there is such a path, behind a key"
        );
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
