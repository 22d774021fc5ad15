//! The behaviour of the routes, once for each kind.

use serde_json::json;

use crate::support::Server;

#[test]
fn threads_are_made_read_changed_listed_and_deleted() {
    let server = Server::start();
    let ann = server.admin();
    let made = ann.post("/v1/threads", json!({ "title": "One", "agentId": "a", "metadata": { "k": 1 } }));
    let thread = made.ok(201);
    assert_eq!(made.header("etag"), Some("\"0\""));
    let path = format!("/v1/threads/{}", thread["id"].as_str().expect("an id"));
    let short = format!("/v1/threads/{}", thread["shortId"].as_str().expect("an id"));
    assert_eq!(ann.get(&short).ok(200), thread);
    let changed = ann.patch(&path, json!({ "title": null, "metadata": { "j": 2 } })).ok(200);
    assert_eq!((&changed["title"], &changed["metadata"]), (&json!(null), &json!({ "j": 2 })));
    ann.send("PATCH", &path, "If-Match: \"0\"\r\n", Some("{}")).refused(412, "version_conflict");
    let refused = ann.patch(&path, json!({ "colour": "red" })).refused(400, "invalid_body");
    assert_eq!(refused["field"], "colour");
    let refused = ann.get("/v1/threads?colour=red").refused(400, "invalid_parameter");
    assert_eq!(refused["field"], "colour");
    for number in 0..3 {
        ann.post("/v1/threads", json!({ "title": format!("{number}") })).ok(201);
    }
    let page = ann.get("/v1/threads?limit=3").ok(200);
    let rest = ann.get(&format!("/v1/threads?limit=3&cursor={}", page["nextCursor"].as_str().expect("more"))).ok(200);
    assert_eq!((page["items"].as_array().map(Vec::len), rest["items"].as_array().map(Vec::len)), (Some(3), Some(1)));
    assert_eq!(rest["nextCursor"], json!(null));
    assert_eq!(ann.get("/v1/threads?agentId=a").ok(200)["items"][0]["id"], thread["id"]);
    assert_eq!(ann.delete(&path).ok(200), json!({ "deleted": true }));
    assert_eq!(ann.delete(&path).ok(200), json!({ "deleted": false }));
    ann.get(&path).refused(404, "thread_not_found");
    ann.post(&format!("{path}/messages"), json!({ "role": "user", "content": "late" }))
        .refused(404, "thread_not_found");
}

#[test]
fn threads_are_listed_by_every_filter_with_the_right_total() {
    let server = Server::start();
    let ann = server.admin();
    let make =
        |body: serde_json::Value| ann.post("/v1/threads", body).ok(201)["id"].as_str().expect("an id").to_owned();
    let plain = make(json!({ "title": "Plain" }));
    let one = make(json!({
        "title": "Release NOTES",
        "agentId": "a",
        "projectId": "p",
        "metadata": { "tags": ["urgent"], "customer": { "id": 7 } },
        "visibility": "public",
    }));
    let child = ann.post(&format!("/v1/threads/{plain}/children"), json!({ "name": "critic" })).ok(201);
    let child = child["id"].as_str().expect("an id").to_owned();
    ann.post(&format!("/v1/threads/{child}/archive"), json!({})).ok(200);
    let metadata = "metadata=%7B%22customer%22%3A%7B%22id%22%3A7%7D%7D";
    let (under, main) = (format!("parentId={plain}&archived=any"), format!("mainThreadId={plain}&archived=true"));
    for (query, found) in [
        ("agentId=a", &one),
        ("projectId=p", &one),
        ("title=notes", &one),
        ("tag=urgent", &one),
        (metadata, &one),
        ("visibility=public&lifecycle=active", &one),
        ("archived=true", &child),
        (&under, &child),
        (&main, &child),
    ] {
        let page = ann.get(&format!("/v1/threads?{query}&total=true")).ok(200);
        assert_eq!((&page["items"][0]["id"], &page["total"]), (&json!(found), &json!(1)), "{query}: {page}");
    }
    let past = ann.get("/v1/threads?offset=9").ok(200);
    assert_eq!((past["items"].as_array().map(Vec::len), &past["total"]), (Some(0), &json!(2)), "also past the end");
    assert_eq!(ann.get("/v1/threads?createdBefore=2020-01-01T00:00:00Z").ok(200)["items"], json!([]));
    assert_eq!(ann.get("/v1/threads?sort=created").ok(200)["items"][0]["id"], json!(one));
    for (query, field) in [
        ("sort=sideways", "sort"),
        ("archived=maybe", "archived"),
        ("metadata=%7B", "metadata"),
        ("metadata=3", "metadata"),
        ("parentId=x", "threadId"),
        ("cursor=x&offset=1", "offset"),
    ] {
        let refused = ann.get(&format!("/v1/threads?{query}")).ok(400);
        assert_eq!(refused["field"], field, "{query}: {refused}");
    }
}

#[test]
fn messages_are_added_once_read_in_pages_edited_and_deleted() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&[]);
    let path = format!("/v1/threads/{thread}/messages");
    let body = json!({ "role": "user", "content": "a" }).to_string();
    let once = |body: &str| ann.send("POST", &path, "Idempotency-Key: k1\r\n", Some(body));
    let first = once(&body).ok(201);
    assert_eq!(once(&body).ok(201), first, "a retry adds nothing");
    once(&body.replace('a', "b")).refused(422, "idempotency_key_reused");
    let batch = json!({ "messages": [{ "role": "assistant", "content": "b" }, { "role": "user", "content": "c" }] });
    let made = ann.post(&path, batch).ok(201);
    assert_eq!(made["messages"].as_array().map(Vec::len), Some(2));
    let before = json!({ "role": "info", "content": "i", "position": { "before": first["id"] } });
    ann.post(&path, before).ok(201);
    assert_eq!(ann.shows(&thread), "i a b c");
    ann.send("POST", &path, "If-Match: \"1\"\r\n", Some(&body)).refused(412, "version_conflict");
    let page = ann.get(&format!("{path}?limit=2&order=desc")).ok(200);
    assert_eq!((&page["items"][0]["content"], &page["total"]), (&json!("c"), &json!(4)));
    let cursor = page["nextCursor"].as_str().expect("more");
    assert_eq!(ann.get(&format!("{path}?limit=2&cursor={cursor}")).ok(200)["items"][1]["content"], "i");
    assert_eq!(ann.get(&format!("{path}?role=assistant")).ok(200)["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(ann.get(&format!("{path}?offset=9")).ok(200)["total"], 4, "also past the end");
    let one = format!("{path}/{}", first["id"].as_str().expect("an id"));
    assert_eq!(ann.patch(&one, json!({ "content": "A", "metadata": { "m": 1 } })).ok(200)["content"], "A");
    assert_eq!(ann.get(&one).ok(200)["metadata"], json!({ "m": 1 }));
    assert_eq!(ann.delete(&one).ok(200), json!({ "deleted": true }));
    assert_eq!(ann.delete(&one).ok(200), json!({ "deleted": false }));
    ann.post(&format!("/v1/threads/{thread}/truncate"), json!({ "fromIndex": 1 })).ok(200);
    assert_eq!(ann.shows(&thread), "i");
    ann.post(&format!("/v1/threads/{thread}/rollback"), json!({ "undo": true })).ok(200);
    assert_eq!(ann.shows(&thread), "i b c");
}

#[test]
fn events_are_logged_beside_messages_and_read_in_order() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let path = format!("/v1/threads/{thread}/events");
    for event in [
        json!({ "type": "tool_use", "data": { "tool": "grep" } }),
        json!({ "type": "message", "data": { "role": "assistant", "content": "b" } }),
        json!({ "type": "result", "data": { "ok": true } }),
    ] {
        ann.post(&path, event).ok(201);
    }
    ann.post(&path, json!({ "type": "message", "data": { "role": "tool", "content": "b" } }))
        .refused(400, "invalid_body");
    ann.post(&path, json!({ "type": "shout", "data": {} })).refused(400, "invalid_body");
    let kinds = |page: &serde_json::Value| {
        let items = page["items"].as_array().expect("items").iter();
        items.map(|item| item["type"].as_str().expect("a type").to_owned()).collect::<Vec<_>>()
    };
    let page = ann.get(&format!("{path}?limit=2")).ok(200);
    assert_eq!((kinds(&page), &page["total"]), (vec!["message".to_owned(), "tool_use".into()], &json!(4)));
    let rest = ann.get(&format!("{path}?after={}", page["nextCursor"].as_str().expect("more"))).ok(200);
    assert_eq!(kinds(&rest), ["message", "result"]);
    assert_eq!(rest["items"][0]["data"]["content"], "b");
    assert_eq!(ann.shows(&thread), "a b");
}

#[test]
fn pages_of_large_messages_end_early_and_go_on() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&[]);
    let large = "x".repeat(7 << 20);
    for _ in 0..7 {
        ann.say(&thread, &large);
    }
    let path = format!("/v1/threads/{thread}/messages?limit=1000");
    let page = ann.get(&path).ok(200);
    let rest = ann.get(&format!("{path}&cursor={}", page["nextCursor"].as_str().expect("more"))).ok(200);
    assert_eq!((page["items"].as_array().map(Vec::len), rest["items"].as_array().map(Vec::len)), (Some(5), Some(2)));
    let history = ann.get(&format!("/v1/threads/{thread}/history?limit=1000")).ok(200);
    assert_eq!((history["items"].as_array().map(Vec::len), &history["nextCursor"]), (Some(5), &json!("5")));
}

#[test]
fn work_goes_on_in_runs_with_a_queue() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["go"]);
    let path = format!("/v1/threads/{thread}");
    let begun = ann.post(&format!("{path}/runs"), json!({ "executor": "caller" })).ok(201);
    assert_eq!(begun["messages"].as_array().map(Vec::len), Some(1));
    let queue = format!("{path}/queue");
    let item = |number: usize| json!({ "role": "user", "content": format!("q{number}") });
    let queued: Vec<_> = (0..5).map(|number| ann.post(&queue, item(number)).ok(201)).collect();
    ann.post(&queue, item(5)).refused(409, "queue_full");
    let first = format!("{queue}/{}", queued[0]["id"].as_str().expect("an id"));
    ann.patch(&first, json!({ "content": "edited" })).ok(200);
    assert_eq!(ann.delete(&format!("{queue}/{}", queued[1]["id"].as_str().expect("an id"))).ok(200)["deleted"], true);
    let execution = format!("/v1/runs/{}", begun["id"].as_str().expect("an id"));
    ann.post(&format!("{execution}/step"), json!({})).ok(200);
    assert_eq!(ann.shows(&thread), "go edited q2 q3 q4");
    ann.post(&format!("{execution}/end"), json!({ "messages": [{ "role": "assistant", "content": "done" }] })).ok(200);
    ann.post(&format!("{execution}/step"), json!({})).refused(409, "run_over");
    ann.post(&format!("{path}/archive"), json!({})).ok(200);
    assert_eq!(ann.get("/v1/threads?archived=true").ok(200)["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_writer_keeps_others_out_until_it_lets_go() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let path = format!("/v1/threads/{thread}/writer");
    let lease = ann.post(&path, json!({ "ttl": 60_000, "holder": "ann" })).ok(201);
    let said = ann.post(&path, json!({})).refused(409, "writer_held");
    assert_eq!(said["holder"], "ann");
    let messages = format!("/v1/threads/{thread}/messages");
    ann.post(&messages, json!({ "role": "user", "content": "no" })).refused(409, "writer_held");
    let token = format!("Threadkeep-Writer: {}\r\n", lease["token"].as_str().expect("a token"));
    let body = json!({ "role": "user", "content": "b" }).to_string();
    ann.send("POST", &messages, &token, Some(&body)).ok(201);
    ann.send("PUT", &path, &token, Some("{}")).ok(200);
    assert_eq!(ann.send("DELETE", &path, &token, None).ok(200)["released"], true);
    ann.delete(&path).refused(400, "invalid_parameter");
    ann.say(&thread, "c");
}

#[test]
fn families_are_forked_handed_on_and_read_whole() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a", "b"]);
    let path = format!("/v1/threads/{thread}");
    let fork = ann.post(&format!("{path}/fork"), json!({ "messageIndex": 0, "title": "F" })).ok(201);
    assert_eq!(ann.shows(fork["id"].as_str().expect("an id")), "a");
    ann.post(&format!("{path}/fork"), json!({ "messageIndex": 9 })).refused(400, "index_out_of_range");
    let handoff = ann.post(&format!("{path}/handoff"), json!({ "goal": "go on", "summary": "all" })).ok(201);
    ann.post(&format!("{path}/mention"), json!({ "target": handoff["id"] })).ok(201);
    ann.post(&format!("{path}/checkpoint"), json!({ "name": "here" })).ok(201);
    assert_eq!(ann.get(&format!("{path}/checkpoints")).ok(200)["items"][0]["name"], "here");
    let child = ann.post(&format!("{path}/children"), json!({ "name": "helper" })).ok(201);
    let child_path = format!("/v1/threads/{}", child["id"].as_str().expect("an id"));
    assert_eq!(ann.get(&format!("{child_path}/parent")).ok(200)["id"], thread.as_str());
    ann.post(&format!("{child_path}/notify-parent"), json!({ "content": "hi" })).ok(200);
    ann.post(&format!("{child_path}/status"), json!({ "status": "working" })).ok(200);
    assert_eq!(ann.get(&format!("{path}/children")).ok(200)["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(ann.get(&format!("{path}/tree")).ok(200)["threads"].as_array().map(Vec::len), Some(4));
    assert_eq!(ann.get(&format!("{path}/relationships")).ok(200)["total"], 3);
}

#[test]
fn whoever_administers_keeps_the_store_in_order_and_moves_it() {
    let (server, other) = (Server::start(), Server::start());
    let ((ann, _), admin) = (server.keyed("ann", "write"), server.admin());
    let thread = ann.thread(&["a", "b"]);
    let export = admin.get("/v1/admin/export");
    assert_eq!((export.status, export.header("content-type")), (200, Some("application/x-ndjson")));
    let brought = other.admin().send("POST", "/v1/admin/import", "", Some(&export.body)).ok(200);
    assert_eq!(brought["threads"], 1);
    let (there, _) = other.keyed("ann", "read");
    assert_eq!(there.shows(&thread), "a b");
    let half = &export.body[..export.body.len() / 2];
    other.admin().send("POST", "/v1/admin/import", "", Some(half)).refused(400, "export_cut_off");
    assert_eq!(admin.post("/v1/admin/doctor", json!({})).ok(200)["healthy"], true);
    ann.delete(&format!("/v1/threads/{thread}")).ok(200);
    assert_eq!(admin.post("/v1/admin/gc", json!({ "vacuum": true })).ok(200)["segments"], 1);
    admin.post("/v1/admin/gc", json!({ "fast": true })).refused(400, "invalid_body");
}

#[test]
fn requests_have_ids_and_the_server_says_how_it_is() {
    let server = Server::start();
    let ann = server.admin();
    assert_eq!(ann.get("/healthz").ok(200)["status"], "ok");
    assert_eq!(server.anonymous().get("/readyz").ok(200)["status"], "ready");
    let named = ann.send("GET", "/v1/threads", "X-Request-Id: mine-1\r\n", None);
    assert_eq!(named.header("x-request-id"), Some("mine-1"));
    let refused = ann.send("GET", "/v1/nowhere", "X-Request-Id: mine-2\r\n", None).refused(404, "route_not_found");
    assert_eq!(refused["requestId"], "mine-2");
    let thread = ann.thread(&["not in the metrics"]);
    let _open = ann.stream(&format!("/v1/threads/{thread}/stream"), "");
    let metrics = server.anonymous().get("/metrics");
    assert_eq!(metrics.status, 200);
    for line in [
        r#"threadkeep_http_requests_total{method="GET",route="/v1/threads",status="200"} 1"#,
        r#"threadkeep_http_requests_total{method="GET",route="unmatched",status="404"} 1"#,
        r#"threadkeep_http_request_seconds_count{route="/healthz"} 1"#,
        "threadkeep_open_streams 1",
        "process_resident_memory_bytes ",
    ] {
        assert!(metrics.body.contains(line), "{line}: {}", metrics.body);
    }
    assert!(!metrics.body.contains(&thread) && !metrics.body.contains("not in the metrics"));
    let head = ann.send("HEAD", "/v1/threads", "", None);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let options = server.anonymous().send("OPTIONS", "/v1/threads", "", None);
    assert_eq!((options.status, options.header("allow")), (204, Some("POST,GET,HEAD")));
}

#[test]
fn rows_of_a_list_say_what_their_project_is_called() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let (bob, _) = server.keyed("bob", "write");
    let sandbox = json!({ "externalId": "s-1", "config": { "image": "rust" } });
    let project = json!({ "id": "p", "name": "Garden", "iconName": "leaf", "sandbox": sandbox });
    ann.post("/v1/projects", project).ok(201);
    bob.post("/v1/projects", json!({ "id": "p", "name": "Other" })).ok(201);
    for project in ["p", "p", "unknown"] {
        ann.post("/v1/threads", json!({ "projectId": project })).ok(201);
    }
    let listed = ann.get("/v1/threads").ok(200);
    let names: Vec<_> =
        listed["items"].as_array().expect("items").iter().map(|item| item["projectName"].clone()).collect();
    assert_eq!(names, [json!(null), json!("Garden"), json!("Garden")]);
    assert_eq!((&listed["items"][1]["iconName"], &listed["items"][1]["sandbox"]), (&json!("leaf"), &sandbox));
}

#[test]
fn a_thread_goes_to_another_account_by_an_admin_key_alone() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let (admin, _) = server.keyed("ann", "admin");
    let (bob, _) = server.keyed("bob", "write");
    let thread = ann.thread(&["a"]);
    let path = format!("/v1/threads/{thread}");
    let to = |account: &str| json!({ "account": account });
    ann.put(&format!("{path}/owner"), to("bob")).refused(403, "forbidden");
    bob.get(&path).refused(404, "thread_not_found");
    admin.put(&format!("{path}/owner"), to(" ")).refused(400, "invalid_parameter");
    admin.put(&format!("{path}/owner"), to("bob")).ok(200);
    assert_eq!(bob.shows(&thread), "a");
    ann.get(&path).refused(404, "thread_not_found");
    admin.put(&format!("{path}/owner"), to("ann")).refused(404, "thread_not_found");
}
