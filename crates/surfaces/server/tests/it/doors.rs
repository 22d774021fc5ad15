//! What comes in has one spelling: cursors, ids, tokens, types. What goes out carries nothing that runs or is indexed.

use serde_json::{Value, json};

use crate::support::{Client, Server};

/// The next cursor of the first page of a list.
#[track_caller]
fn cursor(client: &Client, path: &str) -> String {
    let page = client.get(path).ok(200);
    page["nextCursor"].as_str().unwrap_or_else(|| panic!("{path} has one page: {page}")).to_owned()
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn every_list_refuses_cursors_that_were_edited_or_that_another_list_gave() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "admin");
    let threads = [ann.thread(&["a", "b", "c"]), ann.thread(&["a", "b", "c"])];
    for thread in &threads {
        for name in ["a", "b", "c"] {
            ann.put(&format!("/v1/threads/{thread}/kv/{name}"), json!(1)).ok(200);
            ann.send("PUT", &format!("/v1/threads/{thread}/files/{name}"), "", Some("x"));
            ann.send("PUT", &format!("/v1/threads/{thread}/files/a"), "", Some(name));
            let ask = json!({ "direction": "request_approval", "scope": ["deploy"], "reason": name });
            assert!(ann.post(&format!("/v1/threads/{thread}/transfer"), ask).status < 300);
        }
    }
    for id in ["p", "q", "r"] {
        ann.post("/v1/projects", json!({ "id": id, "name": "P" })).ok(201);
        server.keyed("ann", "read");
    }
    let refer = |target: &str| {
        let made = ann.post(&format!("/v1/threads/{}/reference", threads[0]), json!({ "target": target })).ok(201);
        made["refId"].as_str().expect("an id").to_owned()
    };
    let references = [refer(&threads[1]), refer(&threads[1])];
    let mut lists: Vec<String> = Vec::new();
    for thread in &threads {
        for rest in ["messages?limit=1", "messages?limit=1&role=user", "messages?limit=1&order=desc", "kv?limit=1"] {
            lists.push(format!("/v1/threads/{thread}/{rest}"));
        }
        for rest in ["files?limit=1", "files/a?versions&limit=1"] {
            lists.push(format!("/v1/threads/{thread}/{rest}"));
        }
        lists.push(format!("/v1/approvals?limit=1&threadId={thread}"));
    }
    for reference in &references {
        for rest in ["messages", "files", "kv"] {
            lists.push(format!("/v1/references/{reference}/{rest}?limit=1"));
        }
    }
    for list in ["threads", "threads?sort=created", "projects", "keys", "approvals"] {
        let mark = if list.contains('?') { '&' } else { '?' };
        lists.push(format!("/v1/{list}{mark}limit=1"));
    }
    let cursors: Vec<String> = lists.iter().map(|list| cursor(&ann, list)).collect();
    for (list, own) in lists.iter().zip(&cursors) {
        let with = |cursor: &str| ann.get(&format!("{list}&cursor={}", escaped(cursor)));
        with(own).ok(200);
        for foreign in cursors.iter().filter(|foreign| *foreign != own) {
            // A cursor of messages holds its order, and is a place among all of them.
            let place = |list: &str| list.replace("&order=desc", "").replace("&role=user", "");
            let from = lists.iter().zip(&cursors).find(|(_, cursor)| *cursor == foreign).expect("its list").0;
            if place(from) != place(list) {
                let refused = with(foreign);
                assert_eq!(
                    (refused.status, &refused.json()["code"]),
                    (400, &json!("invalid_cursor")),
                    "{from} on {list}"
                );
            }
        }
        let mut edited = own.clone().into_bytes();
        let last = edited.last_mut().expect("a character");
        *last = if *last == b'1' { b'2' } else { b'1' };
        let edited = String::from_utf8(edited).expect("text");
        for wrong in [&edited, &own[1..], &format!("{own} "), &format!("{own}0"), "", "x", "1", "1.a"] {
            let refused = with(wrong);
            assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("invalid_cursor")), "{wrong} on {list}");
        }
    }
    let thread = &threads[0];
    for list in ["history", "events"] {
        ann.get(&format!("/v1/threads/{thread}/{list}?after=999")).refused(400, "version_in_future");
    }
    let own = cursor(&ann, &format!("/v1/threads/{thread}/messages?limit=1"));
    let path = format!("/v1/threads/{thread}/messages?cursor={own}");
    ann.get(&format!("{path}&asOf=1")).refused(400, "invalid_cursor");
    ann.get(&format!("{path}&offset=1")).refused(400, "invalid_parameter");
}

#[test]
fn an_id_has_one_spelling() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let message = ann.get(&format!("/v1/threads/{thread}/messages")).ok(200)["items"][0]["id"].clone();
    let message = message.as_str().expect("an id");
    let path = |id: &str| format!("/v1/threads/{thread}/messages/{id}");
    ann.get(&path(message)).ok(200);
    let digits = message.strip_prefix("M-").expect("the prefix");
    let first = u64::from_str_radix(&digits[..16], 16).expect("digits") | 1 << 63;
    let (with_bit, with_zero) =
        (format!("M-{first:016x}{}", &digits[16..]), format!("M-{}0{}", &digits[..16], &digits[16..]));
    for other in [with_bit, with_zero, message.to_uppercase(), format!("{message} ")] {
        ann.get(&path(&escaped(&other))).refused(400, "invalid_message_id");
    }
    ann.post(&format!("/v1/threads/{thread}/runs"), json!({ "executor": "caller" })).ok(201);
    let queue = format!("/v1/threads/{thread}/queue");
    let queued = ann.post(&queue, json!({ "role": "user", "content": "q" })).ok(201)["id"].clone();
    let queued = queued.as_str().expect("an id");
    let (front, back) = queued.split_at("queued-".len());
    let flipped = u8::from_str_radix(&back[..1], 16).expect("a digit") ^ 8;
    let other = format!("{front}{flipped:x}{}", &back[1..]);
    ann.send("DELETE", &format!("{queue}/{other}"), "", None).refused(400, "invalid_message_id");
    ann.delete(&format!("{queue}/{queued}")).ok(200);
}

#[test]
fn the_token_of_a_lease_cannot_be_guessed() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&[]);
    let writer = format!("/v1/threads/{thread}/writer");
    let say = |token: &str| {
        let body = json!({ "role": "user", "content": "mine" }).to_string();
        let headers = format!("Threadkeep-Writer: {token}\r\n");
        ann.send("POST", &format!("/v1/threads/{thread}/messages"), &headers, Some(&body))
    };
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let token = ann.post(&writer, json!({})).ok(201)["token"].as_str().expect("a text").to_owned();
        assert!(token.len() == 16 && !token.starts_with("000000"), "{token}");
        assert!(!ann.get(&writer).body.contains(&token), "others do not see it");
        for guess in ["0000000000000001", "7fffffffffffffff"].into_iter().chain(tokens.iter().map(String::as_str)) {
            say(guess).refused(409, "writer_lost");
        }
        for odd in ["1", "2", "x", "", "+000000000000001", "ffffffffffffffff"] {
            say(odd).refused(400, "invalid_parameter");
        }
        say(&token).ok(201);
        ann.send("DELETE", &writer, &format!("Threadkeep-Writer: {token}\r\n"), None).ok(200);
        say(&token).refused(409, "writer_lost");
        tokens.push(token);
    }
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 3);
}

#[test]
fn json_is_utf_8_and_a_key_for_repetition_has_no_control_characters() {
    let server = Server::start();
    let ann = server.admin();
    let body = json!({ "title": "T" }).to_string();
    let post = |headers: &str| {
        let (address, key) = (server.address(), ann.key.as_deref().expect("a key"));
        let request = format!(
            "POST /v1/threads HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
             {headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        crate::support::raw(address, request.as_bytes())
    };
    for charset in ["", ";charset=utf-8", "; charset=UTF-8", "; charset=\"utf-8\"", "; v=1; charset=utf-8"] {
        post(&format!("Content-Type: application/json{charset}\r\n")).ok(201);
    }
    for charset in ["utf-16", "UTF-16LE", "latin1", "\"utf-16\"", "utf-8; charset=utf-16", ""] {
        let refused = post(&format!("Content-Type: application/json; charset={charset}\r\n"));
        refused.refused(415, "unsupported_media_type");
    }
    for odd in ["a\tb", "a\x7fb", "a\u{85}b"] {
        let refused = post(&format!("Content-Type: application/json\r\nIdempotency-Key: {odd}\r\n"));
        assert_eq!(refused.status, 400, "{odd:?} {refused:?}");
    }
}

#[test]
fn answers_are_not_indexed_tell_no_address_and_save_documents() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let path = format!("/v1/threads/{thread}");
    for (name, kind) in [("a.pdf", "application/pdf"), ("a.svg", "image/svg+xml"), ("a.xml", "text/xml")] {
        let file = format!("{path}/files/{name}");
        let (address, key) = (server.address(), ann.key.as_deref().expect("a key"));
        let request = format!(
            "PUT {file} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: {kind}\r\nContent-Length: 1\r\n\r\nx"
        );
        crate::support::raw(address, request.as_bytes()).ok(201);
        let disposition = ann.get(&file).header("content-disposition").expect("one").to_owned();
        assert!(disposition.starts_with("attachment;"), "{kind}: {disposition}");
    }
    ann.patch(&path, json!({ "visibility": "public" })).ok(200);
    let visitor = server.anonymous();
    let stream = visitor.stream_head(&format!("{path}/stream"));
    let answers = ["", "/messages", "/history", "/files", "/files/a.pdf", "/files/missing"];
    let heads = answers.map(|rest| visitor.get(&format!("{path}{rest}")).headers);
    let export = ann.get("/v1/admin/export").headers;
    for head in heads.into_iter().chain([stream, export]) {
        let head = head.to_ascii_lowercase();
        assert!(head.contains("x-robots-tag: noindex") && head.contains("referrer-policy: no-referrer"), "{head}");
    }
}

#[test]
fn a_fork_tells_where_it_came_from_while_that_is_public() {
    let server = Server::start();
    let ((ann, _), (bob, _)) = (server.keyed("ann", "write"), server.keyed("bob", "write"));
    let origin = ann.thread(&["a", "b"]);
    let show = |visibility: &str| {
        ann.patch(&format!("/v1/threads/{origin}"), json!({ "visibility": visibility })).ok(200);
    };
    show("public");
    let fork = bob.post(&format!("/v1/threads/{origin}/fork"), json!({ "messageIndex": 0 })).ok(201);
    let id = fork["id"].as_str().expect("an id");
    let ids = |list: &Value| -> Vec<String> {
        let items = list.as_array().expect("a list").iter();
        items.map(|item| item["id"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let told = || {
        let record = bob.get(&format!("/v1/threads/{id}")).ok(200);
        let listed = bob.get("/v1/threads").ok(200)["items"][0].clone();
        let related = bob.get(&format!("/v1/threads/{id}/relationships")).ok(200)["items"].clone();
        let family = bob.get(&format!("/v1/threads/{id}/tree")).ok(200);
        let changed = bob.patch(&format!("/v1/threads/{id}"), json!({ "title": "mine" })).ok(200);
        (record, listed, related, family, changed)
    };
    let (record, listed, related, family, changed) = told();
    for shown in [&fork, &record, &listed, &changed] {
        assert_eq!((&shown["originThreadId"], &shown["forkPointIndex"]), (&json!(origin), &json!(0)), "{shown}");
    }
    assert_eq!((&related[0]["threadId"], &listed["parentRelationships"]), (&json!(origin), &related));
    assert_eq!(ids(&family["threads"]), [id, &origin]);
    assert_eq!(family["threads"][1].get("accountId"), None, "it is shown as to a visitor: {family}");
    let relation = &family["relations"][0];
    assert_eq!((&relation["parentId"], &relation["childId"]), (&json!(origin), &json!(id)));
    show("private");
    let (record, listed, related, family, changed) = told();
    for shown in [&record, &listed, &related, &family, &changed] {
        assert!(!shown.to_string().contains(&origin), "{shown}");
    }
    show("public");
    assert_eq!(bob.get(&format!("/v1/threads/{id}")).ok(200)["originThreadId"], json!(origin), "nothing was lost");
    let owner = ["", "/relationships", "/tree", "/history"].map(|rest| format!("/v1/threads/{origin}{rest}"));
    for path in owner {
        assert!(!ann.get(&path).body.contains(id), "its owner is told nothing: {path}");
    }
}
