//! Every list takes `limit` and `cursor`, and gives the same items in pages as whole.

use serde_json::{Value, json};

use crate::support::{Client, Server};

/// The items of a list, read one by one.
fn one_by_one(client: &Client, path: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}?limit=1{cursor}")).ok(200);
        let items = page["items"].as_array().expect("items");
        assert!(items.len() <= 1, "{path}: {page}");
        all.extend(items.clone());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

#[test]
fn short_lists_are_given_whole_or_page_by_page() {
    let server = Server::start();
    let ann = server.admin();
    let (thread, other) = (ann.thread(&["a", "b"]), ann.thread(&["c"]));
    let path = format!("/v1/threads/{thread}");
    let post = |at: &str, body: Value| {
        let said = ann.post(&format!("{path}/{at}"), body);
        assert!(said.status < 300, "{at}: {said:?}");
    };
    for n in 0..3 {
        post("inject", json!({ "type": "data", "content": n }));
        post("decide", json!({ "question": format!("Question {n}?"), "answer": "yes" }));
        post("checkpoint", json!({ "name": format!("point {n}") }));
        post("children", json!({ "name": format!("agent{n}") }));
        post("observe", json!({ "target": other, "events": ["done"], "deliver": { "thread": true } }));
        post("transfer", json!({ "direction": "delegate", "scope": ["read"], "to": format!("agent{n}") }));
        post("fork", json!({ "messageIndex": 0 }));
        post("merge", json!({ "sources": [other] }));
    }
    post("runs", json!({ "executor": "caller" }));
    for n in 0..3 {
        post("inject", json!({ "type": "data", "content": n }));
        post("queue", json!({ "role": "user", "content": format!("later {n}") }));
    }
    let lists = [
        "injections",
        "decisions",
        "checkpoints",
        "children",
        "observers",
        "delegations",
        "relationships",
        "merges",
        "queue",
    ];
    let mut cursors = Vec::new();
    for list in lists {
        let list = format!("{path}/{list}");
        let whole = ann.get(&list).ok(200);
        let items = whole["items"].as_array().expect("items");
        assert!(items.len() >= 3, "{list}: {whole}");
        assert_eq!((&whole["total"], &whole["nextCursor"]), (&json!(items.len()), &Value::Null), "{list}");
        assert_eq!(one_by_one(&ann, &list), *items, "{list}");
        for wrong in ["limit=0", "limit=1001", "limit=x"] {
            ann.get(&format!("{list}?{wrong}")).refused(400, "invalid_parameter");
        }
        ann.get(&format!("{list}?cursor=x")).refused(400, "invalid_cursor");
        let first = ann.get(&format!("{list}?limit=1")).ok(200)["nextCursor"].as_str().expect("a cursor").to_owned();
        cursors.push((list, first));
    }
    // A cursor belongs to its list and its thread.
    for (n, (list, _)) in cursors.iter().enumerate() {
        let (_, of_another) = &cursors[(n + 1) % cursors.len()];
        ann.get(&format!("{list}?cursor={of_another}")).refused(400, "invalid_cursor");
    }
    let (_, cursor) = &cursors[0];
    ann.get(&format!("/v1/threads/{other}/injections?cursor={cursor}")).refused(400, "invalid_cursor");
}
