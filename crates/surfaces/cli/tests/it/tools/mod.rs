//! Tools of a folder of definitions, by the real binary: code in workers, requests, and what they may do.

mod api;
mod authority;
mod broken;
mod http;
mod state;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serve::{Serving, answer};
use crate::support::{DEADLINE, eventually, run, threadkeep};

/// A server with a folder of definitions, and a thread.
pub(crate) struct Story {
    pub(crate) serving: Serving,
    pub(crate) folder: TempDir,
    pub(crate) thread: String,
}

impl Story {
    /// A server with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            write(&folder, path, text);
        }
        let serving = Serving::start_with(folder.path(), &[]);
        let thread = serving.thread();
        Self { serving, folder, thread }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.folder, path, text);
    }

    pub(crate) fn reload(&self) -> Value {
        self.serving.ok("POST", "/v1/definitions/reload", &json!({}))
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v1/threads/{}{rest}", self.thread)
    }

    pub(crate) fn ask(&self, key: &str, tool: &str, args: &Value) -> (u16, Value) {
        let path = self.path(&format!("/tools/{}/invoke", tool.replace('/', "%2F")));
        self.serving.ask("POST", &path, key, &json!({ "args": args }).to_string()).expect("an answer")
    }

    /// The result of a tool.
    #[track_caller]
    pub(crate) fn invoke(&self, tool: &str, args: &Value) -> Value {
        let (status, told) = self.ask(self.serving.key(), tool, args);
        assert_eq!(status, 200, "{told}");
        told
    }

    /// The value that a tool gives.
    #[track_caller]
    pub(crate) fn gives(&self, tool: &str, args: &Value) -> Value {
        let told = self.invoke(tool, args);
        assert_eq!(told["status"], "success", "{told}");
        told["result"].clone()
    }

    /// The error with which a tool fails.
    #[track_caller]
    pub(crate) fn fails(&self, tool: &str, args: &Value) -> String {
        let told = self.invoke(tool, args);
        assert_eq!(told["status"], "error", "{told}");
        told["error"].as_str().expect("an error").to_owned()
    }

    pub(crate) fn get(&self, rest: &str) -> Value {
        self.serving.ok("GET", &self.path(rest), &Value::Null)
    }

    /// A key of an agent.
    pub(crate) fn agent(&self) -> String {
        let mut command = threadkeep();
        command.arg("--data").arg(self.folder.path()).args(["keys", "create", "--account", "local", "--agent"]);
        run(command, b"").ok()
    }
}

fn write(folder: &TempDir, path: &str, text: &str) {
    let path = folder.path().join("definitions").join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// A tool with this body of `execute`, which has `state` and `args`.
pub(crate) fn tool(fields: &str, body: &str) -> String {
    format!(
        "import {{ defineTool, z }} from \"threadkeep\";\nexport default defineTool({{ description: \"a tool\", {fields} \
         execute: async (state, args) => {{ {body} }} }});\n"
    )
}

#[test]
fn the_tool_of_the_contract_loads_unchanged() {
    let source = r#"import { defineTool } from '@standardagents/builder';
import { z } from 'zod';

export default defineTool({
  description: 'Query internal database',
  args: z.object({ userId: z.string() }),
  execute: async (state, args) => {
    const env = state._notPackableRuntimeContext?.env as HostEnv | undefined;

    if (!env?.DATABASE) {
      return { status: 'error', error: 'Database not available' };
    }

    const result = await env.DATABASE
      .prepare('SELECT * FROM users WHERE id = ?')
      .bind(args.userId)
      .first();

    return { status: 'success', result: JSON.stringify(result) };
  },
});
"#;
    let story = Story::new(&[("tools/query.ts", source)]);
    assert_eq!(story.fails("query", &json!({ "userId": "u1" })), "Database not available");
    assert_eq!(story.fails("query", &json!({})), "the arguments are wrong: args.userId: is missing");
}

#[test]
fn the_tool_of_a_new_agent_works_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |args: &[&str]| {
        let mut command = threadkeep();
        command.arg("--data").arg(folder.path()).args(args);
        run(command, b"")
    };
    at(&["agents", "new", "helper"]).ok();
    at(&["new", "First"]).ok();
    // Without a server, the command runs it itself.
    assert_eq!(at(&["tools", "invoke", "First", "count_words", r#"{"text":"three short words"}"#]).ok(), "3");
    let refused = at(&["tools", "invoke", "First", "count_words", "{}"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("args.text: is missing"), "{refused:?}");
    assert_eq!(at(&["tools", "list"]).ok(), "count_words");
    at(&["tools", "invoke", "First", "count_word"]).refused(3, &["did you mean 'count_words'"]);
    at(&["tools", "queue", "First", "count_word"]).refused(3, &["did you mean 'count_words'"]);
    at(&["tools", "queue", "First", "count_words", r#"{"text":"x"}"#]).ok();
    at(&["tools", "queue", "First", "helper"]).ok();
}

#[test]
fn an_invocation_is_logged_as_events_and_adds_no_message() {
    let story = Story::new(&[("tools/add.js", &tool("args: z.object({ a: z.number() }),", "return args.a + 1;"))]);
    assert_eq!(story.gives("add", &json!({ "a": 1 })), 2);
    let events = story.get("/events");
    let events = events["items"].as_array().expect("events");
    let used = events.iter().find(|event| event["type"] == "tool_use").expect("a use");
    let result = events.iter().find(|event| event["type"] == "result").expect("a result");
    assert_eq!((&used["data"]["name"], &used["data"]["input"]), (&json!("add"), &json!({ "a": 1 })));
    assert_eq!(result["data"]["toolUseId"], used["data"]["id"]);
    assert_eq!((&result["data"]["status"], &result["data"]["result"]), (&json!("success"), &json!(2)));
    assert_eq!(story.get("/messages?includeSilent=true")["items"], json!([]));
}

#[test]
fn modules_are_found_beside_the_tool_in_vendor_and_nowhere_else() {
    let story = Story::new(&[
        (
            "tools/sum.ts",
            "import { defineTool } from 'threadkeep';\nimport { two } from './two';\nimport half from 'half';\nexport default defineTool({ description: 's', execute: async () => half(two + 2) });",
        ),
        ("tools/two.ts", "export const two: number = 2;"),
        ("vendor/half.js", "export default (n) => n / 2;"),
        ("tools/odd.ts", "import fs from 'fs';\nexport default fs;"),
        ("packages/kit/tools/sum.ts", &tool("", "return 'kit';")),
        ("packages/kit/tools/both.ts", &tool("", "return (await state.invokeTool('sum')).result;")),
    ]);
    assert_eq!(story.gives("sum", &json!({})), 2);
    assert_eq!(story.gives("kit/sum", &json!({})), "kit");
    let (status, told) = story.ask(story.serving.key(), "odd", &json!({}));
    assert_eq!((status, &told["code"]), (409, &json!("definition_invalid")), "{told}");
    assert!(told["detail"].as_str().is_some_and(|said| said.contains("there is no module 'fs'")), "{told}");
}

/// Enough of a story to invoke a tool from another thread.
#[derive(Clone)]
struct Invoking {
    address: String,
    key: String,
    path: String,
}

impl Invoking {
    fn ask(&self, body: &Value) -> Value {
        let Self { address, key, path } = self;
        let mut socket = TcpStream::connect(address).expect("a connection");
        socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(head.as_bytes()).expect("a request");
        answer(socket).expect("an answer").1
    }
}

/// A server that answers nobody until it is opened.
struct Gate {
    address: String,
    held: Arc<(Mutex<Vec<TcpStream>>, Condvar)>,
    open: Arc<AtomicBool>,
}

impl Gate {
    fn closed() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (held, open) = (Arc::new((Mutex::new(Vec::new()), Condvar::new())), Arc::new(AtomicBool::new(false)));
        let (keeps, opened) = (Arc::clone(&held), Arc::clone(&open));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (keeps, opened) = (Arc::clone(&keeps), Arc::clone(&opened));
                std::thread::spawn(move || {
                    // All of the request is read: a socket that closes with bytes unread resets its connection.
                    let mut lines = BufReader::new(&socket).lines();
                    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                    let mut waiting = keeps.0.lock().expect("no panic");
                    if opened.load(Ordering::SeqCst) {
                        Self::answer(socket);
                    } else {
                        waiting.push(socket);
                        keeps.1.notify_all();
                    }
                });
            }
        });
        Self { address, held, open }
    }

    fn answer(mut socket: TcpStream) {
        // A client that gave up is not told.
        drop(socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    }

    /// Waits until so many requests are held.
    #[track_caller]
    fn wait_for(&self, count: usize) {
        let waiting = self.held.0.lock().expect("no panic");
        let (waiting, late) =
            self.held.1.wait_timeout_while(waiting, DEADLINE, |waiting| waiting.len() < count).expect("no panic");
        assert!(!late.timed_out(), "{} of {count} requests came", waiting.len());
    }

    fn open(&self) {
        let mut waiting = self.held.0.lock().expect("no panic");
        self.open.store(true, Ordering::SeqCst);
        waiting.drain(..).for_each(Self::answer);
    }
}

#[test]
fn a_reload_while_a_hundred_tools_run_changes_none_of_them() {
    // Each waits at the gate, without taking time from the others, and then says which version it is.
    let gate = Gate::closed();
    let version = |version: &str| {
        tool(
            &format!("timeoutMs: 600000, http: ['{}'],", gate.address),
            &format!(
                "const {{ fetch }} = await import('threadkeep/http'); await fetch('http://{}/'); return '{version}';",
                gate.address
            ),
        )
    };
    let story = Story::new(&[("tools/slow.js", &version("old"))]);
    let invoke = Invoking {
        address: story.serving.address.clone(),
        key: story.serving.key().to_owned(),
        path: story.path("/tools/slow/invoke"),
    };
    let runs: Vec<_> = (0..100)
        .map(|_| {
            let invoke = invoke.clone();
            std::thread::spawn(move || invoke.ask(&json!({})))
        })
        .collect();
    // 64 run at once, and the others wait for a place: all began with the same definitions.
    gate.wait_for(60);
    let used = || {
        let events = story.get("/events?limit=1000");
        events["items"].as_array().map_or(0, |all| all.iter().filter(|event| event["type"] == "tool_use").count())
    };
    eventually("a hundred calls are logged", || used() == 100);
    story.write("tools/slow.js", &version("new"));
    story.reload();
    gate.open();
    let told: Vec<Value> = runs.into_iter().map(|run| run.join().expect("a result")).collect();
    assert_eq!(told.iter().filter(|said| said["result"] == "old").count(), 100, "{told:?}");
    assert_eq!(story.gives("slow", &json!({})), "new");
}
