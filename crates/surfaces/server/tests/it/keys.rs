//! Keys: made, used, expired, revoked; wrong ones; tickets.

use serde_json::json;
use threadkeep_server::Start;

use crate::support::{Server, settings, store};

#[test]
fn a_key_is_shown_once_and_only_its_hash_is_kept() {
    let server = Server::start();
    let made = server.admin().post("/v1/keys", json!({ "account": "ann", "agent": true, "name": "nightly" })).ok(201);
    let key = made["key"].as_str().expect("a key");
    let secret = key.rsplit('_').next().expect("a secret");
    assert_eq!((secret.len(), &made["scope"], &made["type"]), (64, &"write".into(), &"agent".into()));
    let listed = server.admin().get("/v1/keys").ok(200);
    assert_eq!(listed["items"][0]["id"], made["id"]);
    assert!(!listed.to_string().contains(secret));
    let thread = server.with_key(key).thread(&["hi"]);
    let said = server.with_key(key).get(&format!("/v1/threads/{thread}/messages")).ok(200);
    assert_eq!(said["items"][0]["actor"], json!({ "type": "agent", "name": "nightly" }));
    for file in std::fs::read_dir(server.folder()).expect("a folder") {
        let bytes = std::fs::read(file.expect("a file").path()).expect("bytes");
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "the secret is on disk");
    }
}

fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn a_name_with_another_spelling_is_refused_wherever_it_comes_in() {
    let server = Server::start();
    let admin = server.admin();
    let thread = admin.thread(&["hi"]);
    for odd in ["a\0", "\0a", "a\tb", " a", "a ", "a  b", "e\u{301}", "a\u{200b}", "a\u{2028}", "a\u{a0}b"] {
        for body in [json!({ "account": odd }), json!({ "account": "a", "name": odd })] {
            let refused = admin.post("/v1/keys", body);
            assert_eq!(refused.status, 400, "{odd:?} {refused:?}");
        }
        let thread = |rest: &str| format!("/v1/threads/{thread}/{rest}");
        let to = [
            ("PUT", thread("owner"), json!({ "account": odd })),
            ("POST", thread("writer"), json!({ "holder": odd })),
            ("POST", thread("transfer"), json!({ "direction": "delegate", "scope": ["deploy"], "to": odd })),
            ("POST", "/v1/projects".to_owned(), json!({ "id": odd, "name": "P" })),
            ("PUT", format!("/v1/projects/{}", escape(odd)), json!({ "name": "P" })),
        ];
        for (method, path, body) in to {
            let refused = admin.send(method, &path, "", Some(&body.to_string()));
            assert_eq!(refused.status, 400, "{path} {odd:?} {refused:?}");
        }
        let acting = format!("Threadkeep-Actor: human {}\r\n", escape(odd));
        let acting = admin.send("GET", "/v1/threads", &acting, None);
        acting.refused(400, "invalid_parameter");
    }
    let tool = json!({ "direction": "delegate", "scope": ["tool:web\0"] });
    admin.post(&format!("/v1/threads/{thread}/transfer"), tool).refused(400, "invalid_body");
    assert_eq!(admin.get("/v1/keys").ok(200)["items"], json!([]));
    assert_eq!(admin.get("/v1/projects").ok(200)["items"], json!([]));
}

#[test]
fn a_key_that_is_revoked_or_expired_opens_nothing_and_its_streams_end() {
    let server = Server::start();
    let (ann, id) = server.keyed("ann", "write");
    let thread = ann.thread(&["a"]);
    let path = format!("/v1/threads/{thread}/stream");
    let mut streams = [ann.stream(&path, ""), ann.stream(&format!("/v1/stream?threads={thread}"), "")];
    for stream in &mut streams {
        stream.next().expect("an event");
    }
    assert_eq!(server.admin().delete(&format!("/v1/keys/{id}")).ok(200)["revoked"], true);
    assert_eq!(server.admin().delete(&format!("/v1/keys/{id}")).ok(200)["revoked"], false);
    ann.get("/v1/threads").refused(401, "unauthorized");
    for stream in streams {
        assert!(stream.rest().iter().all(|event| event.kind != "error"), "it just ends");
    }
    let past = json!({ "account": "ann", "expiresAt": "2020-01-01T00:00:00Z" });
    let expired = server.admin().post("/v1/keys", past).ok(201);
    server.with_key(expired["key"].as_str().expect("a key")).get("/v1/threads").refused(401, "unauthorized");
}

#[test]
fn keys_survive_a_restart_and_the_local_one_is_drawn_anew() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let thread = ann.thread(&["kept"]);
    let (key, local) = (ann.key.expect("a key"), server.admin().key.expect("a key"));
    let server = server.restarted();
    assert_eq!(server.with_key(&key).shows(&thread), "kept");
    server.with_key(&local).get("/v1/threads").refused(401, "unauthorized");
}

#[test]
fn wrong_keys_are_slowed_down_and_right_ones_are_not() {
    let server = Server::start();
    let (ann, id) = server.keyed("ann", "read");
    let wrong = format!("tk_{id}_{}", "0".repeat(64));
    let refused = (0..200).map(|_| server.with_key(&wrong).get("/v1/threads")).find(|reply| reply.status == 429);
    let refused = refused.expect("it is told to wait");
    refused.refused(429, "rate_limited");
    assert!(refused.header("retry-after").is_some_and(|wait| wait.parse::<u64>().is_ok_and(|wait| wait >= 1)));
    ann.get("/v1/threads").ok(200);
    server.anonymous().get("/v1/threads").refused(401, "unauthorized");
}

#[test]
fn odd_credentials_are_wrong_keys_and_never_an_identity() {
    let server = Server::start();
    for value in ["", "Bearer", "Bearer ", "Basic bG9jYWw6bG9jYWw=", "Bearer tk_local_", "Bearer tk__", "tk_local_x"] {
        let reply = server.anonymous().send("GET", "/v1/threads", &format!("Authorization: {value}\r\n"), None);
        reply.refused(401, "unauthorized");
    }
    let twice = "Authorization: Bearer a\r\n";
    server.admin().send("GET", "/v1/threads", twice, None).refused(400, "invalid_parameter");
}

#[test]
fn a_ticket_opens_one_stream_once() {
    let server = Server::start();
    let (ann, id) = server.keyed("ann", "read");
    let (writer, _) = server.keyed("ann", "write");
    let thread = writer.thread(&["a"]);
    let path = format!("/v1/threads/{thread}/stream");
    let draw = || ann.post("/v1/tickets", json!({ "path": path })).ok(201)["ticket"].as_str().expect("one").to_owned();
    let ticket = draw();
    let mut stream = server.anonymous().stream(&format!("{path}?ticket={ticket}"), "");
    assert_eq!(stream.next().expect("an event").kind, "message_appended");
    server.anonymous().get(&format!("{path}?ticket={ticket}")).refused(401, "unauthorized");
    let elsewhere = format!("/v1/threads/{thread}/ws?ticket={}", draw());
    server.anonymous().get(&elsewhere).refused(401, "unauthorized");
    let no_stream = format!("/v1/threads/{thread}?ticket={}", draw());
    server.anonymous().get(&no_stream).refused(401, "unauthorized");
    for path in ["/v1/threads", "/v1/stream?threads=x", "http://elsewhere/v1/stream", ""] {
        ann.post("/v1/tickets", json!({ "path": path })).refused(400, "invalid_body");
    }
    server.admin().delete(&format!("/v1/keys/{id}")).ok(200);
    assert_eq!(stream.next(), None, "it ends with the key behind it");
}

#[test]
fn beyond_this_machine_a_key_is_needed_and_the_local_one_is_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let engine = threadkeep::open(&store(folder.path())).expect("a store");
        let start = || {
            let mut start = Start::new(engine.clone(), folder.path());
            (start.listen, start.settings) = (Some(([0, 0, 0, 0], 0).into()), settings());
            start.begin()
        };
        let refused = start().await.err().expect("refused");
        assert!(refused.hint.is_some_and(|hint| hint.contains("keys create")));
        let new = threadkeep::NewKey {
            account: threadkeep::Account::local(),
            actor: threadkeep::Caller::local().actor,
            scope: threadkeep::Scope::Read,
            expires: None,
        };
        engine.create_key(new).await.expect("a key");
        let started = start().await.expect("a server");
        assert_eq!(started.local_key(), None);
        let said = std::fs::read_to_string(started.folder().join("server.json")).expect("a file");
        assert!(!said.contains("tk_"), "{said}");
        let second = start().await.err().expect("refused");
        assert_eq!(second.code, "server_running");
        assert!(second.detail.contains(&std::process::id().to_string()) && second.detail.contains(started.url()));
        drop(started);
        start().await.expect("the folder is free again");
    });
}

#[test]
fn a_link_signs_a_browser_in_once_and_its_session_reads_and_ends() {
    let server = Server::start();
    let (ann, key) = server.keyed("ann", "read");
    let thread = server.keyed("ann", "write").0.thread(&["hi"]);
    let drawn = ann.post("/v1/sign-in", json!({})).ok(201);
    let url = drawn["url"].as_str().expect("a link");
    let link = url.strip_prefix(&format!("http://{}", server.address())).expect("a link to this server");
    let browser = server.anonymous();
    let signed_in = browser.get(link);
    assert_eq!((signed_in.status, signed_in.header("location")), (303, Some("/")));
    let cookie = signed_in.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().expect("a pair"));
    browser.get(link).refused(401, "unauthorized");
    // A browser is shown a page, a program gets JSON.
    for target in [link, "/sign-in?code=x", "/docs/errors/nothing"] {
        let page = browser.send("GET", target, "Accept: text/html,*/*;q=0.8\r\n", None);
        assert!(matches!(page.status, 400 | 401 | 404), "{target}: {}", page.status);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{target}");
        assert!(page.body.to_ascii_lowercase().starts_with("<!doctype html>"), "{target}: {}", page.body);
    }
    let page = browser.send("GET", link, "Accept: text/html\r\n", None);
    assert!(page.body.contains("threadkeep store sign-in"), "{}", page.body);
    let path = format!("/v1/threads/{thread}");
    let with = |more: &str| format!("{cookie}{more}");
    assert_eq!(browser.send("GET", &path, &cookie, None).ok(200)["messageCount"], 1);
    let page = browser.send("GET", "/docs", &cookie, None);
    assert!(
        page.body.contains("Signed in for <strong>ann</strong>") && !browser.get("/docs").body.contains("Signed in")
    );
    // It is the key's scope that counts, and only pages of this server may use it.
    let own = with(&format!("Origin: http://{}\r\n", server.address()));
    browser.send("PATCH", &path, &own, Some(r#"{"title":"x"}"#)).refused(403, "forbidden");
    browser.send("PATCH", &path, &cookie, Some(r#"{"title":"x"}"#)).refused(401, "unauthorized");
    let out = browser.send("POST", "/sign-out", &own, None);
    assert_eq!(out.status, 303);
    browser.send("GET", &path, &cookie, None).refused(401, "unauthorized");
    // A key that is revoked takes its sessions with it.
    let drawn = ann.post("/v1/sign-in", json!({})).ok(201);
    let link = drawn["url"].as_str().expect("a link").split_once("/sign-in").expect("a path").1.to_owned();
    let again = browser.get(&format!("/sign-in{link}"));
    let cookie =
        format!("Cookie: {}\r\n", again.header("set-cookie").expect("a cookie").split(';').next().expect("it"));
    browser.send("GET", &path, &cookie, None).ok(200);
    server.admin().delete(&format!("/v1/keys/{key}")).ok(200);
    browser.send("GET", &path, &cookie, None).refused(401, "unauthorized");
}
