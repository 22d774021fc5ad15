//! Canary secrets through every way out, in every encoding, and a search of all that is left behind.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use threadkeep::{EnvName, WayOut};
use tracing::field::{Field, Visit};

use crate::serve::Serving;
use crate::support::{DEADLINE, Keep, Running, run, threadkeep};

/// One secret of each layer, with characters that encoders change; and one that a person writes into the thread.
const THREAD: &str = "tr/7Qz\"9+☃ x=Lp0thread";
const ACCOUNT: &str = "ac/8Wy\"7+é y=Mq1account";
const INSTANCE: &str = "in-5Vx_3kR2instance";
const WRITTEN: &str = "wr/2Us\"4+ü z=Nr2written";
/// One of another account: nothing of it may ever be known here.
const FOREIGN: &str = "fo-9Tr_6mS3foreign";

/// A secret in the encodings that are promised, each by an encoder of its own.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let quoted = Value::from(secret).to_string();
    let percent = |plus: bool| {
        let byte = |byte: u8| match byte {
            b' ' if plus => "+".to_owned(),
            b if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => (b as char).to_string(),
            b => format!("%{b:02X}"),
        };
        secret.bytes().map(byte).collect::<String>()
    };
    let ascii = |c: char| match c {
        '"' => r#"\""#.to_owned(),
        c if c.is_ascii() => c.to_string(),
        c => format!(r"\u{:04x}", c as u32),
    };
    let ascii: String = secret.chars().map(ascii).collect();
    let mut forms = vec![
        secret.as_bytes().to_vec(),
        quoted.as_bytes()[1..quoted.len() - 1].to_vec(),
        ascii.into_bytes(),
        percent(false).into_bytes(),
        percent(true).into_bytes(),
        secret.bytes().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect(),
        secret.bytes().flat_map(|byte| format!("{byte:02X}").into_bytes()).collect(),
        secret.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        secret.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ];
    forms.extend((0..3).map(|offset| base64(&[&vec![b'x'; offset], secret.as_bytes()].concat())));
    forms
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift & 63) as usize])
    };
    bytes.chunks(3).flat_map(group).collect()
}

/// Pieces by which a form is recognised: its middle, without what neighbours change.
fn needle(form: &[u8]) -> &[u8] {
    &form[4..form.len() - 4]
}

/// Fails if `hay` holds any of `secrets` in any encoding.
#[track_caller]
fn clean(what: &str, hay: &[u8], secrets: &[&str]) {
    for secret in secrets {
        for form in forms(secret) {
            let needle = needle(&form);
            let found = hay.windows(needle.len()).position(|window| window == needle);
            let around = found
                .map(|at| String::from_utf8_lossy(&hay[at.saturating_sub(80)..(at + 80).min(hay.len())]).into_owned());
            assert_eq!(around, None, "{secret} as {} in {what}", String::from_utf8_lossy(&form));
        }
    }
}

/// A server with an instance secret, a thread with secrets of each layer, and an agent.
struct House {
    serving: Serving,
    agent: String,
    thread: String,
    definitions: std::path::PathBuf,
}

impl House {
    fn new(keep: &Keep) -> Self {
        let folder = keep.at("data");
        let instance = [("THREADKEEP_ENV_INSTANCE", INSTANCE), ("THREADKEEP_WEBHOOKS_ALLOW_PRIVATE", "true")];
        let serving = Serving::start_in(&folder, &[], &instance);
        let key = |account: &str, agent: bool| {
            let mut command = threadkeep();
            command.args(["keys", "create", "--account", account, "--data"]).arg(&folder);
            command.args(agent.then_some("--agent"));
            run(command, b"").ok()
        };
        let (agent, foreigner) = (key("local", true), key("foreign", false));
        let thread = serving.thread();
        let definitions = folder.join("definitions");
        let house = Self { serving, agent, thread, definitions };
        let env = |name: &str| format!("/v1/threads/{}/env/{name}", house.thread);
        house.human("PUT", &env("THREAD"), &json!({ "value": THREAD }));
        house.human("PUT", &env("WRITTEN"), &json!({ "value": WRITTEN }));
        house.human("PUT", "/v1/env/ACCOUNT", &json!({ "value": ACCOUNT }));
        let (status, told) =
            house.send("PUT", "/v1/env/FOREIGN", &foreigner, &[], json!({ "value": FOREIGN }).to_string().as_bytes());
        assert_eq!(status, 200, "{told}");
        house
    }

    fn human(&self, method: &str, path: &str, body: &Value) -> Value {
        self.serving.ok(method, path, body)
    }

    /// The status of an answer, and all of it as text, its head included.
    fn send(&self, method: &str, path: &str, key: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let mut socket = TcpStream::connect(&self.serving.address).expect("a connection");
        socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\nContent-Length: {}\r\n",
            self.serving.address,
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if headers.iter().all(|(name, _)| *name != "Content-Type") {
            head.push_str("Content-Type: application/json\r\n");
        }
        socket.write_all(format!("{head}\r\n").as_bytes()).expect("it is sent");
        socket.write_all(body).expect("it is sent");
        let mut told = Vec::new();
        socket.read_to_end(&mut told).expect("an answer");
        let told = String::from_utf8_lossy(&told).into_owned();
        let status = told.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("no status: {told}")), told)
    }

    /// A request of the agent, whose answer holds no secret.
    fn agent(&self, method: &str, path: &str, body: &Value) -> (u16, String) {
        let path = format!("/v1/threads/{}{path}", self.thread);
        let (status, told) = self.send(method, &path, &self.agent, &[], body.to_string().as_bytes());
        clean(&path, told.as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
        (status, told)
    }
}

/// A canary in all encodings that are text, joined.
fn texts(secret: &str) -> Vec<String> {
    forms(secret).into_iter().filter_map(|form| String::from_utf8(form).ok()).collect()
}

#[test]
fn no_secret_leaves_by_any_way_out() {
    let keep = Keep::new();
    let house = House::new(&keep);
    let secrets = [THREAD, ACCOUNT, INSTANCE];
    for way in WayOut::ALL {
        match way {
            WayOut::Call => calls(&house),
            WayOut::File => files(&house),
            WayOut::Event => events(&house),
            WayOut::Code => code(&house, &keep.at("data").join("threadkeep.db")),
            WayOut::Tool => tools(&house),
            WayOut::Log => {
                // The log itself is searched at the end.
                for secret in secrets {
                    let id = secret.replace(|c: char| !(c.is_ascii_alphanumeric() || "-_.:".contains(c)), "");
                    let escaped = String::from_utf8(forms(secret)[3].clone()).expect("text");
                    let own = format!("/v1/threads/{}", house.thread);
                    house.send("GET", &own, house.serving.key(), &[("X-Request-Id", &id)], b"");
                    house.send("GET", &format!("/v1/projects/{escaped}"), house.serving.key(), &[], b"");
                    house.send("GET", &format!("{own}/kv/{escaped}"), house.serving.key(), &[], b"");
                    house.send("GET", &format!("{own}/{escaped}"), house.serving.key(), &[], b"");
                    // A request that names no thread knows no thread's secrets.
                    if secret != THREAD {
                        house.send("GET", &format!("/{escaped}"), house.serving.key(), &[], b"");
                    }
                }
                let id = INSTANCE;
                house.send("GET", "/v1/threads", house.serving.key(), &[("X-Request-Id", id)], b"");
            }
            WayOut::Stream => run_stream(&house),
            WayOut::Problem => problems(&house),
            WayOut::Webhook => webhook(&house),
            WayOut::Export => export(&house, &keep),
            WayOut::Trace => trace(),
            WayOut::Metric => {
                let (status, told) =
                    house.send("GET", "/metrics", house.serving.key(), &[("Accept", "text/plain")], b"");
                assert_eq!(status, 200);
                clean("metrics", told.as_bytes(), &secrets);
            }
            WayOut::CommandLine => command_line(&keep, &house),
            WayOut::Mcp => mcp(&house),
        }
    }
    let House { serving, .. } = house;
    serving.running.signal("TERM");
    let (_, log) = serving.running.end();
    assert!(log.lines().count() > 50 && log.contains("[secret]"), "{log}");
    clean("the log", log.as_bytes(), &[THREAD, ACCOUNT, INSTANCE, WRITTEN]);
    search(&keep.at("data"), &[THREAD, ACCOUNT, INSTANCE, FOREIGN]);
}

/// Every file below a folder.
fn search(folder: &Path, secrets: &[&str]) {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            search(&path, secrets);
            continue;
        }
        seen += 1;
        clean(&path.display().to_string(), &std::fs::read(&path).expect("a file"), secrets);
    }
    assert!(seen > 0 || !folder.ends_with("data"));
}

fn calls(house: &House) {
    for (name, secret) in [("THREAD", THREAD), ("ACCOUNT", ACCOUNT), ("INSTANCE", INSTANCE)] {
        for text in texts(secret) {
            let said = format!("<{text}>");
            let (status, told) = house.agent("POST", "/messages", &json!({ "role": "assistant", "content": said }));
            assert_eq!(status, 201, "{told}");
            assert!(told.contains(&format!("[secret:{name}]")), "{told}");
            let (status, _) = house.agent("POST", "/checkpoint", &json!({ "name": text }));
            assert_eq!(status, 201);
        }
        let thinking = json!([{ "type": "thinking", "text": secret }, { "type": "text", "text": secret }]);
        let (_, told) = house.agent("POST", "/messages", &json!({ "role": "assistant", "content": thinking }));
        assert!(!told.contains("thinking"), "{told}");
        let body = json!({ "question": secret, "answer": secret, "reason": secret });
        assert_eq!(house.agent("POST", "/decide", &body).0, 201);
        assert_eq!(house.agent("PATCH", "", &json!({ "title": secret, "metadata": { secret: [secret] } })).0, 200);
        let escaped = String::from_utf8(forms(secret)[3].clone()).expect("text");
        assert_eq!(house.agent("PUT", &format!("/kv/{escaped}"), &json!({ "v": secret })).0, 200);
        assert_eq!(house.agent("POST", "/inject", &json!({ "type": "data", "content": secret })).0, 201);
        assert_eq!(house.agent("POST", "/events", &json!({ "type": "result", "data": { "out": secret } })).0, 201);
        assert_eq!(house.agent("POST", "/assign", &json!({ "agentId": secret })).0, 200);
        assert_eq!(house.agent("POST", "/children", &json!({ "name": secret })).0, 201);
        let body = json!({ "direction": "request_approval", "scope": ["deploy"], "reason": secret });
        assert_eq!(house.agent("POST", "/transfer", &body).0, 201);
    }
    // A key is kept for a day.
    let path = format!("/v1/threads/{}/messages", house.thread);
    let said = json!({ "role": "assistant", "content": "once" }).to_string();
    let keyed = || house.send("POST", &path, &house.agent, &[("Idempotency-Key", INSTANCE)], said.as_bytes());
    assert_eq!((keyed().0, keyed().0), (201, 201));
    let history = house.human("GET", &format!("/v1/threads/{}/history?limit=1000", house.thread), &Value::Null);
    clean("the history", history.to_string().as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
}

fn files(house: &House) {
    // An agent may write files once a person allowed it.
    let allow = json!({ "direction": "delegate", "scope": ["code_edit"] });
    house.human("POST", &format!("/v1/threads/{}/transfer", house.thread), &allow);
    let put = |path: &str, bytes: &[u8]| {
        let path = format!("/v1/threads/{}/files/{path}", house.thread);
        let told = house.send("PUT", &path, &house.agent, &[("Content-Type", "application/octet-stream")], bytes);
        clean(&path, told.1.as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
        told
    };
    for secret in [THREAD, ACCOUNT, INSTANCE] {
        for form in forms(secret) {
            let (status, told) = put("f.bin", &[b"<", form.as_slice(), b">"].concat());
            assert_eq!((status, told.contains("secret_in_file")), (422, true), "{told}");
        }
        // Larger than what is searched at once, with the secret across its parts.
        let mut large = vec![b'x'; (5 << 20) - 7];
        large.extend_from_slice(secret.as_bytes());
        assert_eq!(put("large.bin", &large).0, 422);
        let escaped = String::from_utf8(forms(secret)[3].clone()).expect("text");
        let (status, told) = put(&format!("dir/{escaped}"), b"nothing");
        assert!(status < 300, "{told}");
    }
    let (status, told) = put(INSTANCE, b"nothing");
    assert!(status < 300 && told.contains("[secret:INSTANCE]"), "{told}");
    assert!(put("fine.txt", b"nothing").0 < 300);
}

/// Answers that a model reads hold no secret, although a person wrote it.
fn mcp(house: &House) {
    let texts: Vec<String> = texts(WRITTEN);
    for text in &texts {
        let said = json!({ "role": "user", "content": format!("<{text}>") });
        house.human("POST", &format!("/v1/threads/{}/messages", house.thread), &said);
    }
    house.human("PUT", &format!("/v1/threads/{}/kv/written", house.thread), &json!({ "all": texts }));
    let path = format!("/v1/threads/{}/files/written.txt", house.thread);
    let (status, told) = house.send("PUT", &path, house.serving.key(), &[], WRITTEN.as_bytes());
    assert!(status < 300, "{told}");
    let ask = |key: &str, method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-11-25"),
        ];
        let (status, told) = house.send("POST", "/mcp", key, &headers, body.to_string().as_bytes());
        assert_eq!(status, 200, "{told}");
        clean(&format!("{method} over MCP"), told.as_bytes(), &[THREAD, ACCOUNT, INSTANCE, WRITTEN]);
        told
    };
    let thread = &house.thread;
    for key in [house.agent.as_str(), house.serving.key()] {
        let call =
            |name: &str, arguments: Value| ask(key, "tools/call", json!({ "name": name, "arguments": arguments }));
        let told = call("read_messages", json!({ "thread": thread, "order": "desc" }));
        assert!(told.contains("[secret:WRITTEN]"), "{told}");
        let told = call("get_value", json!({ "thread": thread, "valueKey": "written" }));
        assert!(told.contains("[secret:WRITTEN]"), "{told}");
        let told = call("read_file", json!({ "thread": thread, "path": "written.txt" }));
        assert!(told.contains("[secret:WRITTEN]"), "{told}");
        call("search", json!({ "query": WRITTEN }));
        call("get_value", json!({ "thread": thread, "valueKey": "" }));
        let told = ask(key, "resources/read", json!({ "uri": format!("threadkeep://thread/{thread}") }));
        assert!(told.contains("[secret:WRITTEN]"), "{told}");
        let arguments = json!({ "thread": thread });
        ask(key, "prompts/get", json!({ "name": "continue_thread", "arguments": arguments }));
    }
}

fn events(house: &House) {
    let mut socket = TcpStream::connect(&house.serving.address).expect("a connection");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let head = format!(
        "GET /v1/threads/{}/stream?after=latest HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\r\n",
        house.thread,
        house.serving.address,
        house.serving.key()
    );
    socket.write_all(head.as_bytes()).expect("it is sent");
    let mut told = String::new();
    let mut read_until = |what: &str, told: &mut String| {
        let mut bytes = [0; 4_096];
        while !told.contains(what) {
            let count = socket.read(&mut bytes).expect("something comes");
            assert!(count > 0, "the stream ended: {told}");
            told.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    read_until("\r\n\r\n", &mut told);
    let emit = |event: &str, data: Value| {
        house.human("POST", &format!("/v1/threads/{}/emit", house.thread), &json!({ "event": event, "data": data }));
    };
    for secret in [THREAD, ACCOUNT, INSTANCE, WRITTEN] {
        emit(secret, json!({ secret: texts(secret) }));
    }
    emit("last_one", Value::Null);
    read_until("last_one", &mut told);
    assert!(told.contains("[secret:THREAD]") && told.contains("[secret:WRITTEN]"), "{told}");
    clean("the stream", told.as_bytes(), &[THREAD, ACCOUNT, INSTANCE, WRITTEN]);
}

/// The stream of a run: deltas that cut a secret in two, and the stored text.
fn run_stream(house: &House) {
    let start = json!({ "executor": "caller" });
    let run = house.human("POST", &format!("/v1/threads/{}/runs", house.thread), &start);
    let at = format!("/v1/runs/{}", run["id"].as_str().expect("an id"));
    for secret in [THREAD, ACCOUNT, INSTANCE] {
        for text in texts(secret) {
            let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).expect("a boundary");
            let (one, two) = text.split_at(middle);
            house.human("POST", &format!("{at}/delta"), &json!({ "text": format!("<{one}") }));
            house.human("POST", &format!("{at}/delta"), &json!({ "text": format!("{two}>") }));
        }
    }
    // The step says less than the deltas, so that the stream is read with its chunks first.
    let mut socket = TcpStream::connect(&house.serving.address).expect("a connection");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let (address, key) = (&house.serving.address, house.serving.key());
    let head = format!(
        "GET {at}/stream HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).expect("it is sent");
    let (mut told, mut bytes) = (String::new(), [0; 4_096]);
    while !told.contains("chunk") {
        let count = socket.read(&mut bytes).expect("something comes");
        told.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    let said = json!({ "status": "completed", "messages": [{ "role": "assistant", "content": "the end" }] });
    house.human("POST", &format!("{at}/end"), &said);
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).expect("the end");
    told.push_str(&String::from_utf8_lossy(&rest));
    assert!(told.contains("[secret:THREAD]") && told.contains("the end"), "{told}");
    clean("the stream of a run", told.as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
}

/// Output of code, in pieces. The sandbox uses the same redactor.
fn code(house: &House, store: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let instance: EnvName = "INSTANCE".parse().expect("a name");
        let engine = threadkeep::open(&store.display().to_string())
            .expect("a store")
            .with_instance_env([(instance, INSTANCE.to_owned())]);
        let thread = house.thread.parse().expect("an id");
        let redactor = engine.redactor(WayOut::Code, Some(thread)).await.expect("a redactor");
        for secret in [THREAD, ACCOUNT, INSTANCE] {
            for form in forms(secret) {
                for cut in 1..form.len() {
                    let mut stream = redactor.stream();
                    let mut out = stream.push(&[b"out: ", &form[..cut]].concat());
                    out.extend(stream.push(&[&form[cut..], b" end"].concat()));
                    out.extend(stream.finish());
                    clean("a stream", &out, &[secret]);
                    assert!(out.starts_with(b"out: ") && out.ends_with(b" end"));
                }
            }
        }
    });
}

/// Tools of every kind that give away what they know: their results, their errors, what they log and queue.
fn tools(house: &House) {
    let own = format!("/v1/threads/{}", house.thread);
    let leak = "import { defineTool, z } from 'threadkeep';\nexport default defineTool({ description: 'leaks', \
        args: z.object({ text: z.string(), how: z.string() }), variables: [{ name: 'INSTANCE' }], \
        execute: async (state, { text, how }) => {\n  text += await state.env('INSTANCE');\n  console.log(text);\n  \
        if (how === 'throw') throw new Error(text);\n  if (how === 'error') return { status: 'error', error: text };\n  \
        state.emit('told', { text }); await state.setValue('told', { text }); \
        await state.queueMessage({ role: 'user', content: text, silent: true });\n  \
        return { status: 'success', result: { text, [text]: [text] } };\n} });";
    let at = house.definitions.join("tools");
    std::fs::create_dir_all(&at).expect("a folder");
    std::fs::write(at.join("leak.ts"), leak).expect("a file");
    house.send("POST", "/v1/definitions/reload", house.serving.key(), &[], b"{}");
    for secret in [THREAD, ACCOUNT, INSTANCE] {
        for text in texts(secret) {
            for how in ["return", "throw", "error"] {
                let body = json!({ "args": { "text": text, "how": how } }).to_string();
                let path = format!("{own}/tools/leak/invoke");
                let (status, told) = house.send("POST", &path, house.serving.key(), &[], body.as_bytes());
                assert_eq!(status, 200, "{told}");
                assert_eq!(told.contains("\"success\""), how == "return", "{told}");
                clean(&format!("{how} by a tool"), told.as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
            }
        }
    }
    for rest in ["/queue", "/events?limit=1000", "/kv"] {
        let (_, told) = house.send("GET", &format!("{own}{rest}"), house.serving.key(), &[], b"");
        clean(rest, told.as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
    }
}

fn problems(house: &House) {
    for secret in [THREAD, ACCOUNT, INSTANCE] {
        for text in texts(secret) {
            let escaped: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let own = format!("/v1/threads/{}", house.thread);
            for (method, path, body) in [
                ("GET", format!("{own}/messages/{escaped}"), String::new()),
                ("GET", format!("{own}/messages?order={escaped}"), String::new()),
                ("GET", format!("{own}/files/{escaped}"), String::new()),
                ("POST", format!("{own}/messages"), json!({ "role": text, "content": "x" }).to_string()),
                ("POST", format!("{own}/messages"), json!({ "role": "user", "content": "x", &text: 1 }).to_string()),
                ("POST", format!("{own}/rollback"), json!({ "checkpoint": format!("none {text}") }).to_string()),
            ] {
                let (status, told) = house.send(method, &path, house.serving.key(), &[], body.as_bytes());
                assert!(status >= 400, "{method} {path}: {told}");
                clean(&format!("{method} {path}"), told.as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
            }
        }
    }
}

fn webhook(house: &House) {
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", receiver.local_addr().expect("an address"));
    let own = format!("/v1/threads/{}", house.thread);
    let observer = house.human("POST", "/v1/threads", &json!({}))["id"].as_str().expect("an id").to_owned();
    let body = json!({ "target": house.thread, "events": ["approval_requested"], "deliver": { "webhook": url } });
    house.human("POST", &format!("/v1/threads/{observer}/observe"), &body);
    let ask = json!({ "direction": "request_approval", "scope": ["deploy"], "reason": format!("{WRITTEN} {}", texts(WRITTEN).join(" ")) });
    house.human("POST", &format!("{own}/transfer"), &ask);
    let (mut socket, _) = receiver.accept().expect("a connection");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let mut told = Vec::new();
    let mut bytes = [0; 4_096];
    while !told.windows(2).any(|end| end == b"}}") {
        let count = socket.read(&mut bytes).expect("something comes");
        assert!(count > 0, "it ended");
        told.extend_from_slice(&bytes[..count]);
    }
    socket.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").expect("an answer");
    assert!(String::from_utf8_lossy(&told).contains("[secret:WRITTEN]"), "{}", String::from_utf8_lossy(&told));
    clean("a webhook", &told, &[WRITTEN]);
}

fn export(house: &House, keep: &Keep) {
    let own = format!("/v1/threads/{}", house.thread);
    let large = format!("{}{WRITTEN}", "x".repeat(40_000));
    for content in [WRITTEN, &texts(WRITTEN).join(" "), &large] {
        house.human("POST", &format!("{own}/messages"), &json!({ "role": "user", "content": content }));
    }
    let put = house.send(
        "PUT",
        &format!("{own}/files/w.txt"),
        house.serving.key(),
        &[("Content-Type", "text/plain")],
        WRITTEN.as_bytes(),
    );
    assert!(put.0 < 300);
    let all = [WRITTEN, THREAD, ACCOUNT, INSTANCE, FOREIGN];
    let headers = [("Accept", "application/x-ndjson")];
    let (status, told) = house.send("GET", "/v1/admin/export", house.serving.key(), &headers, b"");
    assert!(status == 200 && told.contains("********"), "{status}");
    clean("an export", told.as_bytes(), &all);
    for args in [
        &["store", "export"][..],
        &["store", "export", &house.thread],
        &["store", "export", &house.thread, "--format", "amp"],
    ] {
        let mut command = threadkeep();
        command.arg("--data").arg(keep.at("data")).args(args);
        let told = run(command, b"").ok();
        assert!(told.contains("[secret:WRITTEN]") || told.contains("********"), "{args:?}");
        clean(&format!("{args:?}"), told.as_bytes(), &all);
    }
}

/// Keeps the values of all fields of spans and events.
struct Traced(Arc<Mutex<String>>);

impl Visit for Traced {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.lock().expect("no panic").push_str(&format!("{field}={value:?} "));
    }
}

struct Subscriber(Arc<Mutex<String>>);

impl tracing::Subscriber for Subscriber {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        span.record(&mut Traced(Arc::clone(&self.0)));
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut Traced(Arc::clone(&self.0)));
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Traced(Arc::clone(&self.0)));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// Spans of a server in this process, asked by a client that puts the secret wherever it can.
fn trace() {
    let traced = Arc::new(Mutex::new(String::new()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tracing::subscriber::with_default(Subscriber(Arc::clone(&traced)), || {
        runtime.block_on(async {
            let local = threadkeep_server::Local::new(
                threadkeep::open("memory:").expect("a store"),
                Default::default(),
                Default::default(),
                None,
                Default::default(),
            );
            let ask = async |method: &str, path: &str, body: String| {
                let request = http::Request::builder()
                    .method(method)
                    .uri(path)
                    .header("Host", "localhost")
                    .header("Authorization", format!("Bearer {}", local.key()))
                    .header("Content-Type", "application/json")
                    .header("X-Request-Id", INSTANCE);
                let body = http_body_util::Full::new(bytes::Bytes::from(body));
                local.answer(request.body(body).expect("a request")).await.status().as_u16()
            };
            assert_eq!(ask("PUT", "/v1/env/A", json!({ "value": INSTANCE }).to_string()).await, 200);
            assert_eq!(ask("POST", "/v1/threads", json!({ "title": INSTANCE }).to_string()).await, 201);
            assert_eq!(ask("GET", &format!("/v1/projects/{INSTANCE}"), String::new()).await, 404);
        });
    });
    let traced = traced.lock().expect("no panic").clone();
    assert!(traced.contains("set-account-env"), "{traced}");
    clean("a trace", traced.as_bytes(), &[INSTANCE]);
}

fn command_line(keep: &Keep, house: &House) {
    let command = |args: &[&str]| {
        let mut command = threadkeep();
        command.current_dir(keep.folder()).arg("--data").arg(keep.at("data")).args(args);
        command
    };
    let thread = house.thread.as_str();
    let set = run(command(&["env", "set", "FROM_STDIN", "--thread", thread]), format!("{ACCOUNT}\n").as_bytes());
    clean("env set", format!("{set:?}").as_bytes(), &[ACCOUNT]);
    set.ok();
    assert_eq!(run(command(&["env", "get", "FROM_STDIN", "--thread", thread]), b"").ok(), ACCOUNT);
    let listed = run(command(&["env", "list", "--thread", thread, "--json"]), b"").ok();
    clean("env list", listed.as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
    // There is no argument for a value.
    run(command(&["env", "set", "A", "value"]), b"").refused(2, &[]);
    let fields = json!({ "name": "A", "value": THREAD }).to_string();
    let refused = run(command(&["call", "set-env", thread, &fields]), b"").refused(2, &["stdin"]);
    clean("a refusal", refused.as_bytes(), &[THREAD]);
    let refused = run(command(&["--agent", "files", "read", thread, "none"]), b"").refused(3, &[]);
    clean("a refusal", refused.as_bytes(), &[THREAD]);
    let history = run(command(&["thread", "history", thread]), b"").ok();
    assert!(history.contains("env_changed") && history.contains("THREAD set (secret)"), "{history}");
    clean("the history", history.as_bytes(), &[THREAD, ACCOUNT, INSTANCE]);
    for warned in ["short", "production"] {
        let ran = run(command(&["env", "set", "WARNED", "--thread", thread]), warned.as_bytes());
        assert!(ran.stderr.contains("warning: "), "{ran:?}");
    }
    let rotated = run(command(&["store", "rotate-key"]), b"").ok();
    assert!(rotated.contains("the key of the secrets is"), "{rotated}");
    assert_eq!(house.human("GET", &format!("/v1/threads/{thread}/env/THREAD"), &Value::Null)["value"], THREAD);
    run(command(&["env", "rm", "FROM_STDIN", "--thread", thread]), b"").ok();
}

/// A server that refuses to start, and what it says.
fn refuses(folder: &Path, more: &[&str]) -> String {
    let mut command = threadkeep();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder).args(more);
    run(command, b"").refused(6, &["secrets of this store cannot be opened"])
}

#[test]
fn a_server_with_a_lost_wrong_short_or_open_key_does_not_start_and_changes_nothing() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let file = folder.join("secrets.key");
    let serving = Serving::start(&folder);
    assert!(std::fs::read_to_string(&file).expect("a key file").contains("\nkey "));
    assert_eq!(threadkeep::private::wider_mode(&file), None);
    let thread = serving.thread();
    let path = format!("/v1/threads/{thread}/env/A");
    serving.ok("PUT", &path, &json!({ "value": THREAD }));
    drop(serving);
    let right = std::fs::read(&file).expect("a key file");
    let store = || {
        let mut command = threadkeep();
        command.args(["store", "backup", "--json"]).arg(keep.at("copy.db")).arg("--data").arg(&folder);
        run(command, b"");
        std::fs::remove_file(keep.at("copy.db")).ok();
        let query = "SELECT group_concat(kind || id || json, x'0a') FROM (SELECT * FROM registry ORDER BY kind, id)";
        let connection = rusqlite::Connection::open(folder.join("threadkeep.db")).expect("a store");
        connection.query_row(query, [], |row| row.get::<_, String>(0)).expect("rows")
    };
    let before = store();
    let private = |bytes: &[u8]| {
        std::fs::remove_file(&file).ok();
        threadkeep::private::new_file(&file).and_then(|mut new| new.write_all(bytes)).expect("a file");
    };
    for (wrong, said) in [
        (format!("key {}\n", "ab".repeat(32)), "another key"),
        ("key abcd\n".to_owned(), "damaged"),
        (String::new(), "holds no key"),
    ] {
        private(wrong.as_bytes());
        assert!(refuses(&folder, &[]).contains(said), "{said}");
        assert_eq!((std::fs::read_to_string(&file).expect("the file"), store()), (wrong, before.clone()));
    }
    std::fs::remove_file(&file).expect("removed");
    assert!(refuses(&folder, &[]).contains("no key file"));
    assert!(!file.exists(), "nothing is made in its place");
    #[cfg(unix)]
    {
        private(&right);
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("opened");
        assert!(refuses(&folder, &[]).contains("mode 0644"));
        assert!(refuses(&folder, &["--forget-secrets"]).contains("mode 0644"), "it may be the right one");
        assert_eq!(std::fs::read(&file).expect("the file"), right);
    }
    assert_eq!(store(), before);
    // The right one, from another place.
    std::fs::remove_file(&file).ok();
    let elsewhere = keep.at("elsewhere.key");
    threadkeep::private::new_file(&elsewhere).and_then(|mut new| new.write_all(&right)).expect("a file");
    let serving = Serving::start_with(&folder, &["--key-file", &elsewhere.display().to_string()]);
    assert_eq!(serving.ok("GET", &path, &Value::Null)["value"], THREAD);
    drop(serving);
    assert!(!file.exists());
    // Its owner gives it up.
    let serving = Serving::start_with(&folder, &["--forget-secrets"]);
    assert!(
        serving.ok("GET", &format!("/v1/threads/{thread}/env"), &Value::Null)["items"]
            .as_array()
            .is_some_and(Vec::is_empty)
    );
    serving.ok("PUT", &path, &json!({ "value": "a new value" }));
    assert_eq!(serving.ok("GET", &path, &Value::Null)["value"], "a new value");
    assert_ne!(std::fs::read(&file).expect("a new file"), right);
}

#[test]
fn what_was_sealed_before_a_crash_opens_after_it() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let mut serving = Serving::start(&folder);
    let thread = serving.thread();
    let path = format!("/v1/threads/{thread}/env/A");
    serving.ok("PUT", &path, &json!({ "value": THREAD }));
    let running: &mut Running = &mut serving.running;
    running.kill();
    search(&folder, &[THREAD]);
    let serving = Serving::start(&folder);
    assert_eq!(serving.ok("GET", &path, &Value::Null)["value"], THREAD);
}
