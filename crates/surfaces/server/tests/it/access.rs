//! Calls have routes, and accounts have things of their own. `matrix` has every route for every kind of caller.

use crate::support::{Client, Server};

const UNKNOWN: &str = "T-00000000-0000-4000-8000-000000000000";

#[test]
fn every_call_has_a_route_behind_a_key() {
    let server = Server::start();
    for call in threadkeep::calls::DECLARATIONS {
        let part = |part: &str| match part {
            "{thread}" => UNKNOWN.to_owned(),
            "{message}" => "M-00000000000000011".to_owned(),
            "{item}" => "queued-00000000-0000-8000-8000-000000000000".to_owned(),
            named if named.starts_with('{') => "00000000-0000-4000-8000-000000000000".to_owned(),
            plain => plain.to_owned(),
        };
        let path = call.path.split('/').map(part).collect::<Vec<_>>().join("/");
        let reply = server.anonymous().send(call.method.as_str(), &path, "", None);
        assert_eq!(reply.status, 401, "{}: {} {path}", call.name, call.method.as_str());
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
