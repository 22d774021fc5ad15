//! The page for people, and the calls that it needs: the caller, changes of an account, pages around a message, merges in
//! the family.

use serde_json::json;

use crate::support::{Client, Server};

const HTML: &str = "Accept: text/html\r\n";

/// A browser that is signed in with the key of `client`, as a header.
fn signed_in(server: &Server, client: &Client) -> String {
    let drawn = client.post("/v1/sign-in", json!({})).ok(201);
    let link = drawn["url"].as_str().expect("a link").replace(&format!("http://{}", server.address()), "");
    let reply = server.anonymous().get(&link);
    let cookie = reply.header("set-cookie").expect("a cookie").to_owned();
    format!("{HTML}Cookie: {}\r\n", cookie.split(';').next().expect("a pair"))
}

fn short(thread: &str) -> &str {
    &thread[thread.len() - 12..]
}

#[test]
fn a_key_tells_who_its_caller_is() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let me = ann.get("/v1/me").ok(200);
    assert_eq!((&me["account"], &me["scope"], &me["actor"]["type"]), (&json!("ann"), &json!("write"), &json!("human")));
    assert!(me["version"].is_string());
    server.anonymous().get("/v1/me").refused(401, "unauthorized");
}

#[test]
fn a_socket_tells_all_changes_of_an_account_and_of_no_other_one_and_resumes() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let (bob, _) = server.keyed("bob", "write");
    let mut socket = ann.socket("/v1/ws");
    let foreign = bob.thread(&["secret"]);
    bob.patch(&format!("/v1/threads/{foreign}"), json!({ "visibility": "public" })).ok(200);
    let thread = ann.thread(&["a"]);
    let first = socket.frame();
    assert_eq!((&first["kind"], &first["threadId"]), (&json!("thread_created"), &json!(thread)));
    let second = socket.frame();
    assert_eq!((&second["kind"], &second["version"]), (&json!("message_appended"), &json!(1)));
    assert_eq!(second.get("data"), None, "a note, not the content");
    ann.say(&thread, "b");
    assert_eq!(socket.frame()["version"], 2);
    ann.delete(&format!("/v1/threads/{thread}")).ok(200);
    assert_eq!(socket.frame()["kind"], "thread_deleted");
    let again = ann.thread(&["c"]);
    let cursor = second["cursor"].as_str().expect("a cursor");
    let mut resumed = ann.socket(&format!("/v1/ws?after={cursor}"));
    // The thread that was deleted meanwhile may have entries that are still known.
    let told = std::iter::repeat_with(|| resumed.frame()["threadId"].clone()).find(|told| *told != json!(thread));
    assert_eq!(told, Some(json!(again)));
    ann.get("/v1/ws?after=5").refused(400, "invalid_cursor");
    ann.get("/v1/ws").refused(400, "invalid_parameter");
    server.anonymous().get("/v1/ws").refused(401, "unauthorized");
}

#[test]
fn a_page_around_a_message_tells_the_index_of_each() {
    let server = Server::start();
    let ann = server.admin();
    let texts: Vec<String> = (0..30).map(|number| format!("m{number}")).collect();
    let thread = ann.thread(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let at = format!("/v1/threads/{thread}/messages");
    let all = ann.get(&format!("{at}?limit=30")).ok(200);
    let id = |index: usize| all["items"][index]["id"].as_str().expect("an id").to_owned();
    let shown = |query: &str| {
        let page = ann.get(&format!("{at}?{query}")).ok(200);
        let items = page["items"].as_array().expect("items").clone();
        items
            .iter()
            .map(|item| (item["content"].as_str().expect("text").to_owned(), item["index"].as_u64()))
            .collect::<Vec<_>>()
    };
    let expected =
        |range: std::ops::Range<u64>| range.map(|index| (format!("m{index}"), Some(index))).collect::<Vec<_>>();
    assert_eq!(shown(&format!("around={}&limit=4", id(20))), expected(18..22));
    assert_eq!(shown(&format!("around={}&limit=4", id(0))), expected(0..4));
    assert_eq!(shown("offset=10&limit=3"), expected(10..13));
    let mut newest = expected(27..30);
    newest.reverse();
    assert_eq!(shown("order=desc&limit=3"), newest);
    // A deleted message has no place, and those after it move up.
    ann.delete(&format!("{at}/{}", id(3))).ok(200);
    let around = shown(&format!("around={}&limit=2", id(20)));
    assert_eq!(around, [("m19".to_owned(), Some(18)), ("m20".to_owned(), Some(19))]);
    let cursor = ann.get(&format!("{at}?limit=10")).ok(200)["nextCursor"].as_str().expect("a cursor").to_owned();
    assert_eq!(shown(&format!("cursor={cursor}&limit=1")), [("m11".to_owned(), Some(10))]);
    assert_eq!(shown("role=user&limit=1")[0].1, None, "another list has other places");
    ann.get(&format!("{at}?around={}&offset=2", id(20))).refused(400, "invalid_parameter");
    ann.get(&format!("{at}?around={}", id(3))).refused(404, "message_not_found");
}

#[test]
fn merges_are_edges_of_the_family() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let at = format!("/v1/threads/{thread}");
    let fork = ann.post(&format!("{at}/fork"), json!({ "messageIndex": 0 })).ok(201)["id"].clone();
    let path = format!("/v1/threads/{}", fork.as_str().expect("an id"));
    ann.put(&format!("{path}/files/new.txt"), json!("x"));
    let merged = ann.post(&format!("{at}/merge"), json!({ "sources": [fork] })).ok(201);
    assert_eq!(merged["status"], "merged");
    let edge = ann.get(&format!("{at}/tree")).ok(200)["merges"][0].clone();
    assert_eq!((&edge["sourceId"], &edge["targetId"], &edge["mergeId"]), (&fork, &json!(thread), &merged["mergeId"]));
}

#[test]
fn every_screen_is_shown_to_its_account_and_sends_others_to_sign_in() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let (bob, _) = server.keyed("bob", "write");
    let thread = ann.thread(&["<script>alert(1)</script>", "two"]);
    ann.put(&format!("/v1/threads/{thread}/files/a/b.txt"), json!("x"));
    let short = short(&thread);
    let run = ann.post(&format!("/v1/threads/{thread}/runs"), json!({ "executor": "caller" })).ok(201);
    let run = format!("/runs/{}", run["id"].as_str().expect("an id"));
    let other_thread = ann.thread(&["<b>"]);
    let compare = format!("/compare?with={}", self::short(&other_thread));
    let screens = ["/", "/inbox", "/search?q=two", "/memories", "/memories?q=two", "/projects", "/settings", "/import"]
        .map(str::to_owned);
    let of_thread = [
        "",
        "/runs",
        &run,
        "/compare",
        &compare,
        "/map",
        "/files",
        "/files/a",
        "/files/a/b.txt",
        "/values",
        "/merge",
        "/observers",
        "/context",
        "/context?v=1",
        "?view=entries",
        "?view=json",
        "?v=1",
    ]
    .map(|rest| format!("/t/{short}{rest}"));
    let (owner, other) = (signed_in(&server, &ann), signed_in(&server, &bob));
    for path in screens.iter().chain(&of_thread) {
        let page = server.anonymous().send("GET", path, &owner, None);
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")), "{path}");
        assert!(page.body.contains("</html>") && !page.body.contains("<script>"), "{path}");
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{path}: {policy}");
        assert_eq!(server.anonymous().send("GET", path, HTML, None).status, 303, "{path}");
    }
    let unknown = "/t/000000000000";
    let refused = server.anonymous().send("GET", &of_thread[0], &other, None);
    let missing = server.anonymous().send("GET", unknown, &other, None);
    assert_eq!((refused.status, missing.status), (404, 404));
    // A visitor cannot tell a private thread from an unknown one, and neither can another account: byte for byte, but for
    // the name that it sent and the id of its request.
    let visit = |path: &str| server.anonymous().send("GET", path, HTML, None);
    for path in &of_thread {
        let guess = path.replace(short, "000000000000");
        let plain = |reply: crate::support::Reply, name: &str| {
            let id = reply.header("x-request-id").expect("an id").to_owned();
            format!("{} {}", reply.status, reply.body.replace(&id, "REQUEST").replace(name, "NAME"))
        };
        assert_eq!(plain(visit(path), short), plain(visit(&guess), "000000000000"), "{path}");
        let asked = |path: &str| server.anonymous().send("GET", path, &other, None);
        assert_eq!(plain(asked(path), short), plain(asked(&guess), "000000000000"), "{path}");
    }
    assert_eq!(visit(&of_thread[0]).header("location"), Some(format!("/sign-in?next=/t/{short}").as_str()));
    let page = visit(&format!("/sign-in?next=/t/{short}"));
    assert!(page.status == 200 && page.body.contains("data-sign-in"), "{}", page.body);
}

#[test]
fn a_public_thread_reads_without_script_and_shows_no_names() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let thread = ann.thread(&["**bold** <b>raw</b>"]);
    ann.patch(&format!("/v1/threads/{thread}"), json!({ "visibility": "public", "draft": "hidden draft" })).ok(200);
    let page = server.anonymous().send("GET", &format!("/t/{}", short(&thread)), HTML, None);
    assert_eq!((page.status, page.header("x-robots-tag")), (200, Some("noindex")));
    assert!(page.body.contains("<strong>bold</strong> &lt;b&gt;raw&lt;/b&gt;"), "{}", page.body);
    assert!(page.body.contains("name=\"robots\" content=\"noindex\""));
    let preview = "name=\"description\" content=\"**bold** &lt;b&gt;raw&lt;/b&gt;\"";
    assert!(page.body.contains(preview), "{}", page.body);
    for hidden in ["hidden draft", ">ann<", "id=\"say\""] {
        assert!(!page.body.contains(hidden), "{hidden}");
    }
    // Another account reads the same, and may fork it.
    let (bob, _) = server.keyed("bob", "write");
    let page = server.anonymous().send("GET", &format!("/t/{}", short(&thread)), &signed_in(&server, &bob), None);
    assert!(page.body.contains("Fork to my threads") && !page.body.contains("hidden draft"), "{}", page.body);
}

#[test]
fn the_tail_of_a_page_brings_what_came_after_its_version() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["one", "two"]);
    let cookie = signed_in(&server, &ann);
    let tail = |after: u64| {
        server.anonymous().send("GET", &format!("/t/{}/tail?after={after}", short(&thread)), &cookie, None)
    };
    let told = tail(1);
    let heads = ["threadkeep-version", "threadkeep-total", "threadkeep-view"].map(|name| told.header(name));
    assert_eq!(heads, [Some("2"), Some("2"), Some("appended")]);
    assert!(told.body.contains(">two<") && !told.body.contains(">one<"), "{}", told.body);
    let first = ann.get(&format!("/v1/threads/{thread}/messages")).ok(200)["items"][0]["id"].clone();
    ann.delete(&format!("/v1/threads/{thread}/messages/{}", first.as_str().expect("an id"))).ok(200);
    assert_eq!(tail(2).header("threadkeep-view"), Some("changed"));
}

#[test]
fn assets_are_kept_for_ever_under_their_hash() {
    let server = Server::start();
    let page = server.anonymous().send("GET", "/sign-in", HTML, None).body;
    let path = page.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a script");
    let script = server.anonymous().send("GET", path, "Accept: */*\r\n", None);
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
    assert!(script.header("cache-control").is_some_and(|kept| kept.contains("immutable")));
    server.anonymous().get("/web/0000000000000000/app.js").refused(404, "route_not_found");
}
