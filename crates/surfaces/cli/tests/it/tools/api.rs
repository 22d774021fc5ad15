//! Thread endpoints: who answers, who may ask, and what the answer carries.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::Story;
use crate::support::{DEADLINE, run, threadkeep};

/// An endpoint with this body of its handler, which has `request`, `state` and `params`.
fn endpoint(fields: &str, body: &str) -> String {
    format!(
        "import {{ defineThreadEndpoint, Response }} from \"threadkeep\";\nexport default defineThreadEndpoint({{ {fields} \
         handler: async (request, state, params) => {{ {body} }} }});\n"
    )
}

/// The status, the head and the body of an answer.
fn ask(story: &Story, method: &str, path: &str, key: Option<&str>, body: &str) -> (u16, String, String) {
    let mut socket = TcpStream::connect(&story.serving.address).expect("a connection");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    let head = format!(
        "{method} {} HTTP/1.1\r\nHost: {}\r\n{key}Cookie: a=b\r\nX-Own: kept\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        story.path(path),
        story.serving.address,
        body.len()
    );
    socket.write_all(head.as_bytes()).expect("a request");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn static_comes_before_dynamic_before_the_rest() {
    let says = |what: &str| endpoint("", &format!("return Response.json({{ by: '{what}', params }});"));
    let story = Story::new(&[
        ("api/users/me.ts", &says("me")),
        ("api/users/[id].ts", &says("id")),
        ("api/users/[*].ts", &says("rest")),
        ("api/users/index.ts", &says("index")),
        ("api/users/[id].post.ts", &says("post")),
        ("packages/kit/api/ping.ts", &says("kit")),
        ("api/index.ts", &says("root")),
    ]);
    let key = story.serving.key().to_owned();
    let get = |path: &str| {
        let (status, _, body) = ask(&story, "GET", path, Some(&key), "");
        (status, serde_json::from_str::<Value>(&body).unwrap_or_default())
    };
    assert_eq!(get("/api/users/me"), (200, json!({ "by": "me", "params": {} })));
    assert_eq!(get("/api/users/a%2Fb"), (200, json!({ "by": "id", "params": { "id": "a/b" } })));
    assert_eq!(get("/api/users/a/b"), (200, json!({ "by": "rest", "params": { "*": "a/b" } })));
    assert_eq!(get("/api/users"), (200, json!({ "by": "index", "params": {} })));
    assert_eq!(get("/api/kit/ping").1["by"], "kit");
    assert_eq!(ask(&story, "POST", "/api/users/me", Some(&key), "").2, r#"{"by":"post","params":{"id":"me"}}"#);
    let (status, told) = get("/api/none");
    assert_eq!((status, &told["code"]), (404, &json!("route_not_found")));
    assert_eq!(ask(&story, "DELETE", "/api/users/me", Some(&key), "").0, 405);
    let problems = story.serving.ok("GET", "/v1/definitions", &Value::Null)["problems"].clone();
    assert_eq!(problems[0]["rule"], "an index is that of a folder in api/", "{problems}");
}

#[test]
fn an_answer_is_harmless_and_code_gets_no_credentials() {
    let body = "const headers = [...request.headers].map(([name]) => name); \
        return new Response(JSON.stringify({ headers, method: request.method, q: request.query.q, text: await request.text() }), \
        { status: 201, headers: { 'Content-Type': 'text/html', 'Set-Cookie': 'a=b', 'X-Own': 'yes', \
        'Content-Security-Policy': 'none', 'X-Content-Type-Options': 'sniff', 'Transfer-Encoding': 'chunked' } });";
    let story =
        Story::new(&[("api/odd.post.ts", &endpoint("", body)), ("api/odd.ts", &endpoint("", "return 'text';"))]);
    let key = story.serving.key().to_owned();
    let (status, head, body) = ask(&story, "POST", "/api/odd?q=a+b%26", Some(&key), "said ☃");
    assert_eq!(status, 201, "{head}");
    for line in [
        "content-type: text/html",
        "x-content-type-options: nosniff",
        "content-security-policy: default-src 'none'; sandbox",
        "x-own: yes",
        "cache-control: no-store",
    ] {
        assert_eq!(head.matches(line).count(), 1, "{line}: {head}");
    }
    assert!(!head.contains("set-cookie") && !head.contains("chunked"), "{head}");
    let told: Value = serde_json::from_str(&body).expect("json");
    assert_eq!((&told["method"], &told["q"], &told["text"]), (&json!("POST"), &json!("a b&"), &json!("said ☃")));
    let names = told["headers"].as_array().expect("headers");
    assert!(names.contains(&json!("x-own")), "{names:?}");
    assert!(!names.contains(&json!("authorization")) && !names.contains(&json!("cookie")), "{names:?}");
    let (status, head, body) = ask(&story, "HEAD", "/api/odd", Some(&key), "");
    assert_eq!((status, body.as_str()), (200, ""), "{head}");
}

#[test]
fn an_endpoint_needs_a_write_key_unless_it_is_public() {
    let whoami = "await state.setValue('by', 'endpoint'); await state.queueMessage({ role: 'user', content: 'news' }); return Response.json({ ok: true });";
    let writes = "await state.writeFile('/a.txt', 'x', 'text/plain'); return Response.json({ ok: true });";
    let story = Story::new(&[
        ("api/closed.ts", &endpoint("", whoami)),
        ("api/open.ts", &endpoint("access: 'public',", whoami)),
        ("api/writes.ts", &endpoint("access: 'public',", writes)),
        ("api/fails.ts", &endpoint("access: 'public',", "throw new Error('inside');")),
    ]);
    let key = |flags: &[&str]| {
        let mut command = threadkeep();
        command.arg("--data").arg(story.folder.path()).args(["keys", "create"]).args(flags);
        run(command, b"").ok()
    };
    let (reader, stranger) = (key(&["--account", "local", "--scope", "read"]), key(&["--account", "bob"]));
    let own = story.serving.key().to_owned();
    let status = |path: &str, key: Option<&str>| ask(&story, "GET", path, key, "").0;
    assert_eq!(status("/api/closed", None), 401);
    assert_eq!(status("/api/none", None), 401, "a visitor does not learn which endpoints there are");
    assert_eq!(status("/api/closed", Some(&reader)), 403);
    assert_eq!(status("/api/closed", Some(&stranger)), 404);
    assert_eq!(status("/api/closed", Some(&own)), 200);
    for key in [None, Some(reader.as_str()), Some(stranger.as_str()), Some(own.as_str())] {
        assert_eq!(status("/api/open", key), 200, "{key:?}");
    }
    let unknown = Story { thread: "T-00000000-0000-4000-8000-000000000000".to_owned(), ..story };
    assert_eq!(ask(&unknown, "GET", "/api/open", None, "").0, 401);
    let story = Story { thread: unknown.serving.thread(), ..unknown };
    // A visitor has the authority of an agent: writing files needs an approval.
    let (status, _, body) = ask(&story, "GET", "/api/writes", None, "");
    assert_eq!(status, 500, "{body}");
    assert_eq!(story.serving.ok("GET", "/v1/approvals", &Value::Null)["items"][0]["askedBy"]["name"], "api/writes");
    let (_, _, body) = ask(&story, "GET", "/api/fails", None, "");
    assert!(body.contains("endpoint_failed") && !body.contains("inside"), "{body}");
}
