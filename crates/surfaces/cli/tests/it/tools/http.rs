//! Tools that are HTTP requests, against a server with faults; and the addresses that they may not reach.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Story, tool};

/// A server that answers by the path, and keeps what it was asked.
struct Faulty {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Faulty {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (own, kept) = (address.clone(), Arc::clone(&asked));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (own, kept) = (own.clone(), Arc::clone(&kept));
                std::thread::spawn(move || drop(serve(socket, &own, &kept)));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn serve(mut socket: TcpStream, own: &str, kept: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let count = {
        let mut kept = kept.lock().expect("no panic");
        kept.push(format!("{head}\n{}", String::from_utf8_lossy(&body)));
        kept.iter().filter(|asked| asked.split(' ').nth(1) == Some(&target)).count()
    };
    let answer = |status: &str, kind: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let redirect =
        |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let said = match target.split('?').next().unwrap_or_default() {
        "/slow" => {
            // It never answers; the other end hangs up.
            return reader.read_to_end(&mut Vec::new()).map(drop);
        }
        "/huge" => {
            socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            let piece = "x".repeat(1 << 20);
            for _ in 0..20 {
                socket.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes())?;
            }
            return socket.write_all(b"0\r\n\r\n");
        }
        "/wrong" => answer("200 OK", "application/json", "{ this is no JSON"),
        "/cut" => "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":".to_owned(),
        "/inside" => redirect(&format!("http://{own}/secret")),
        "/named" => redirect(&format!("http://localhost:{}/secret", own.rsplit(':').next().unwrap_or_default())),
        "/metadata" => redirect("http://169.254.169.254/latest/"),
        "/mapped" => {
            redirect(&format!("http://[::ffff:127.0.0.1]:{}/secret", own.rsplit(':').next().unwrap_or_default()))
        }
        "/loop" => redirect("/loop"),
        "/flaky" if count < 3 => answer("503 Service Unavailable", "text/plain", "not yet"),
        "/refused" => answer("403 Forbidden", "application/json", "{\"why\":\"no\"}"),
        _ => answer("200 OK", "application/json", &json!({ "asked": target }).to_string()),
    };
    socket.write_all(said.as_bytes())
}

fn request(address: &str, path: &str, more: &str) -> String {
    format!("description = \"asks\"\nurl = \"http://{address}{path}\"\nneeds = []\ntimeoutMs = 2000\n{more}")
}

#[test]
fn a_request_has_its_arguments_and_its_variables() {
    let server = Faulty::start();
    let more = "method = \"POST\"\n[headers]\nauthorization = \"Bearer ${env:TOKEN}\"\n[body]\nname = \"{name}\"\nnote = \"for {name}, ${env:TOKEN}\"\n[[variables]]\nname = \"TOKEN\"\n[args]\ntype = \"object\"\nrequired = [\"id\"]\n";
    let story = Story::new(&[("tools/ask.toml", &request(&server.address, "/items/{id}?q={q}", more))]);
    assert!(story.fails("ask", &json!({ "q": 1 })).contains("args.id: is missing"));
    let (status, told) = story.ask(story.serving.key(), "ask", &json!({ "id": "a/b" }));
    assert_eq!((status, &told["code"]), (404, &json!("env_not_found")), "{told}");
    story.serving.ok("PUT", &story.path("/env/TOKEN"), &json!({ "value": "tok-1234567890" }));
    let told = story.gives("ask", &json!({ "id": "a/../b", "q": "x y&z", "name": "${env:TOKEN}" }));
    assert_eq!(told, json!({ "asked": "/items/a%2F..%2Fb?q=x%20y%26z" }));
    let asked = server.asked().pop().expect("a request");
    assert!(asked.contains("authorization: Bearer tok-1234567890"), "{asked}");
    assert!(asked.contains("idempotency-key: "), "{asked}");
    let body: Value = serde_json::from_str(asked.rsplit('\n').next().unwrap_or_default()).expect("json");
    assert_eq!(
        body,
        json!({ "name": "${env:TOKEN}", "note": "for ${env:TOKEN}, tok-1234567890" }),
        "arguments are no variables"
    );
}

#[test]
fn faults_of_a_server_are_results_and_not_more() {
    let server = Faulty::start();
    let at = |path: &str, more: &str| request(&server.address, path, more);
    let story = Story::new(&[
        ("tools/slow.toml", &at("/slow", "").replace("2000", "300")),
        ("tools/huge.toml", &at("/huge", "").replace("2000", "60000")),
        ("tools/wrong.toml", &at("/wrong", "")),
        ("tools/cut.toml", &at("/cut", "")),
        ("tools/refused.toml", &at("/refused", "")),
        ("tools/loop.toml", &at("/loop", "")),
        ("tools/flaky.toml", &at("/flaky?once", "")),
        ("tools/again.toml", &at("/flaky?again", "repeatable = true\n")),
        ("tools/away.toml", &request("127.0.0.1:1", "/", "")),
    ]);
    for (name, expected) in [
        ("slow", "no answer"),
        ("huge", "larger than"),
        ("wrong", "says that it is JSON, and is not"),
        ("cut", "broke off"),
        ("refused", "the server answered 403: {\"why\":\"no\"}"),
        ("loop", "more than 5 redirects"),
        ("flaky", "the server answered 503: not yet"),
        ("away", "refused"),
    ] {
        let said = story.fails(name, &json!({}));
        assert!(said.contains(expected), "{name}: {said}");
    }
    let sent = |path: &str| server.asked().iter().filter(|asked| asked.contains(path)).count();
    assert_eq!(sent("/flaky?once"), 1, "a tool that may not be repeated is sent once");
    assert_eq!(story.gives("again", &json!({})), json!({ "asked": "/flaky?again" }));
    assert_eq!(sent("/flaky?again"), 3);
    let keys: Vec<String> = server
        .asked()
        .iter()
        .filter(|asked| asked.contains("/flaky?again"))
        .map(|asked| {
            asked
                .lines()
                .find(|line| line.to_ascii_lowercase().starts_with("idempotency-key"))
                .expect("a key")
                .to_owned()
        })
        .collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "each attempt says which call it is");
}

#[test]
fn no_redirect_name_or_address_trick_reaches_a_private_address() {
    let server = Faulty::start();
    let port = server.address.rsplit(':').next().expect("a port").to_owned();
    let story = Story::new(&[
        ("tools/inside.toml", &request(&server.address, "/inside", "").replace("127.0.0.1", "localhost")),
        ("tools/named.toml", &request(&server.address, "/named", "")),
        ("tools/metadata.toml", &request(&server.address, "/metadata", "")),
        ("tools/mapped.toml", &request(&server.address, "/mapped", "")),
        ("tools/name.toml", &request(&format!("localtest.threadkeep.invalid:{port}"), "/secret", "")),
        (
            "tools/fetch.js",
            &tool(
                &format!("args: z.object({{ url: z.string() }}), http: ['127.0.0.1:{port}'],"),
                "const { fetch } = await import('threadkeep/http'); const answer = await fetch(args.url); return await answer.json();",
            ),
        ),
        (
            "tools/none.js",
            &tool(
                "args: z.object({ url: z.string() }),",
                "const { fetch } = await import('threadkeep/http'); return (await fetch(args.url)).status;",
            ),
        ),
    ]);
    for name in ["inside", "named", "metadata", "mapped"] {
        let said = story.fails(name, &json!({}));
        assert!(said.contains("private network"), "{name}: {said}");
    }
    story.fails("name", &json!({}));
    assert_eq!(
        story.gives("fetch", &json!({ "url": format!("http://127.0.0.1:{port}/ok") })),
        json!({ "asked": "/ok" })
    );
    for url in [
        format!("http://localhost:{port}/secret"),
        format!("http://127.0.0.1:{port}@evil.example/secret"),
        format!("http://0x7f000001:{port}/secret"),
        format!("http://2130706433:{port}/secret"),
        format!("http://[::ffff:127.0.0.1]:{port}/secret"),
        format!("http://127.0.0.1.:{port}/secret"),
        "http://169.254.169.254/latest".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("http://127.0.0.1:{port}/named"),
    ] {
        story.fails("fetch", &json!({ "url": url }));
        story.fails("none", &json!({ "url": url }));
    }
    assert!(!server.asked().iter().any(|asked| asked.contains("/secret")), "{:?}", server.asked());
}

#[test]
fn a_redirect_to_another_server_drops_the_headers() {
    // Two names of one server are two servers; the second is written as an address in the definition of neither.
    let server = Faulty::start();
    let more = "[headers]\nx-token = \"${env:TOKEN}\"\n[[variables]]\nname = \"TOKEN\"\n";
    let story = Story::new(&[("tools/named.toml", &request(&server.address, "/named", more))]);
    story.serving.ok("PUT", &story.path("/env/TOKEN"), &json!({ "value": "tok-1234567890" }));
    story.fails("named", &json!({}));
    let asked = server.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("x-token: tok-1234567890"));
}
