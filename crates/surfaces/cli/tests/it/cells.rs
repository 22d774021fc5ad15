//! Several cells: accounts in different databases behind one address, and an account that moves while it is written to.

use std::io::{BufReader, Write};

use serde_json::{Value, json};
use threadkeep_throwaway::schema;

use crate::killed;
use crate::load::{Load, Servers};
use crate::serve::Serving;
use crate::support::{Keep, Ran, Running, run, threadkeep};

const WRITERS: usize = 4;
const FOLLOWERS: usize = 2;
/// Messages that every writer gets through between two events.
const MESSAGES: usize = 5;

/// Two cells, in files or in a PostgreSQL server: `a` is the home cell, and new accounts go to `b`.
struct Two {
    keep: Keep,
    urls: [String; 2],
    _schemas: Vec<threadkeep_throwaway::Schema>,
}

impl Two {
    fn files() -> Self {
        Self::of(["sqlite:a.db".to_owned(), "sqlite:b.db".to_owned()], Vec::new())
    }

    fn schemas() -> Self {
        let schemas = vec![schema(), schema()];
        Self::of([schemas[0].url(), schemas[1].url()], schemas)
    }

    fn of(urls: [String; 2], schemas: Vec<threadkeep_throwaway::Schema>) -> Self {
        let keep = Keep::new();
        let [a, b] = &urls;
        let file =
            format!("home = \"a\"\nnew-accounts = \"b\"\n[cells.a]\nstore = \"{a}\"\n[cells.b]\nstore = \"{b}\"\n");
        std::fs::write(keep.at("cells.toml"), file).expect("a file");
        Self { keep, urls, _schemas: schemas }
    }

    fn url(&self) -> String {
        format!("cells:{}", self.keep.at("cells.toml").display())
    }

    fn serve(&self, name: &str) -> Serving {
        let key_file = self.keep.at("secrets.key").display().to_string();
        Serving::start_with(&self.keep.at(name), &["--store", &self.url(), "--key-file", &key_file])
    }

    /// A command on one store of the folder.
    fn on(&self, store: &str, args: &[&str]) -> Ran {
        let mut command = threadkeep();
        command.current_dir(self.keep.folder()).args(["--store", store]).args(args);
        command.env("THREADKEEP_KEY_FILE", self.keep.at("secrets.key"));
        run(command, b"")
    }

    /// A key of an account, as it is created on the command line.
    fn key(&self, account: &str) -> String {
        let made = self.on(&self.url(), &["keys", "create", "--account", account, "--scope", "admin", "--json"]).ok();
        let made: Value = serde_json::from_str(&made).expect("JSON");
        made["key"].as_str().expect("a key").to_owned()
    }

    fn moving(&self, account: &str, to: &str) -> Running {
        let mut command = threadkeep();
        command.current_dir(self.keep.folder()).args(["--store", &self.url(), "store", "copy"]);
        command.args(["--account", account, "--to-cell", to]);
        Running::start(command)
    }

    fn move_to(&self, account: &str, to: &str) -> String {
        self.on(&self.url(), &["store", "copy", "--account", account, "--to-cell", to]).ok()
    }

    /// What a cell has, by its doctor, after gc.
    fn left_in(&self, cell: usize) -> String {
        self.on(&self.urls[cell], &["store", "gc"]).ok();
        let looked = self.on(&self.urls[cell], &["store", "doctor"]).ok();
        assert!(looked.ends_with("healthy"), "{looked}");
        looked.lines().next().expect("a line").to_owned()
    }
}

fn ask(serving: &Serving, key: &str, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    if !key.is_empty() {
        return serving.ask(method, path, key, &body).expect("an answer");
    }
    let mut socket = serving.connect();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", serving.address);
    socket.write_all(head.as_bytes()).expect("it is sent");
    killed::answer(&mut BufReader::new(socket)).expect("an answer")
}

fn id(said: &Value) -> String {
    said["id"].as_str().unwrap_or_else(|| panic!("no id: {said}")).to_owned()
}

/// Accounts in both cells, on two servers with one home.
fn accounts_live_in_their_cells(two: &Two) {
    // What is in the home cell already belongs there: it was the only store before.
    two.on(&two.urls[0], &["new", "From before"]).ok();
    let (ann, bob) = (two.key("ann"), two.key("bob"));
    let (one, other) = (two.serve("one"), two.serve("other"));
    let anns = id(&ask(&one, &ann, "POST", "/v1/threads", json!({ "title": "Ann's" })).1);
    let bobs = id(&ask(&other, &bob, "POST", "/v1/threads", json!({ "title": "Bob's" })).1);
    assert!(two.move_to("bob", "a").starts_with("moved 1 thread from cell b to cell a"));
    let titles = |serving: &Serving, key: &str| {
        let listed = ask(serving, key, "GET", "/v1/threads", Value::Null).1;
        let items = listed["items"].as_array().expect("items").clone();
        items.iter().map(|item| item["title"].as_str().expect("a title").to_owned()).collect::<Vec<_>>()
    };
    for serving in [&one, &other] {
        assert_eq!(titles(serving, &ann), ["Ann's"]);
        assert_eq!(titles(serving, &bob), ["Bob's"]);
        assert_eq!(titles(serving, serving.key()), ["From before"]);
        assert_eq!(ask(serving, "", "GET", "/readyz", Value::Null).0, 200);
    }
    assert!(two.on(&two.urls[1], &["keys", "list"]).ok().is_empty(), "keys are in the home cell");
    // A private thread of another cell answers like an unknown id; a public one is read by all, and forked by none.
    let path = format!("/v1/threads/{anns}");
    let unknown = "/v1/threads/T-00000000-0000-4000-8000-000000000001";
    let said = |status: u16, code: &str, (found, said): (u16, Value)| {
        assert_eq!((found, said["code"].as_str()), (status, Some(code)), "{said}");
    };
    for (key, status, code) in [(bob.as_str(), 404, "thread_not_found"), ("", 401, "unauthorized")] {
        said(status, code, ask(&one, key, "GET", &path, Value::Null));
        said(status, code, ask(&one, key, "GET", unknown, Value::Null));
    }
    said(404, "thread_not_found", ask(&one, &bob, "POST", &format!("{path}/fork"), json!({})));
    assert_eq!(ask(&other, &ann, "PATCH", &path, json!({ "visibility": "public" })).0, 200);
    assert_eq!(
        ask(&other, &ann, "POST", &format!("{path}/messages"), json!({ "role": "user", "content": "Hi" })).0,
        201
    );
    for key in [bob.as_str(), ""] {
        let (status, read) = ask(&one, key, "GET", &format!("{path}/messages"), Value::Null);
        assert_eq!((status, read["items"][0]["content"].as_str()), (200, Some("Hi")), "{read}");
    }
    said(404, "thread_not_found", ask(&one, &bob, "PATCH", &path, json!({ "title": "Mine" })));
    said(409, "other_cell", ask(&one, &bob, "POST", &format!("{path}/fork"), json!({})));
    said(409, "other_cell", ask(&one, &ann, "PUT", &format!("{path}/owner"), json!({ "account": "bob" })));
    said(409, "other_cell", ask(&one, &ann, "POST", "/v1/admin/gc", json!({})));
    assert_eq!(ask(&one, &ann, "PUT", &format!("{path}/owner"), json!({ "account": "cid" })).0, 200, "a new account");
    // A key that is revoked at one server is at the other, whichever cell its account is in.
    let listed = ask(&one, &bob, "GET", "/v1/keys", Value::Null).1;
    let keys = listed["items"].as_array().unwrap_or_else(|| panic!("keys: {listed}"));
    let bobs_key = keys.iter().find(|key| key["account"] == "bob").expect("bob's key")["id"].clone();
    let revoked = ask(&one, &bob, "DELETE", &format!("/v1/keys/{}", bobs_key.as_str().expect("an id")), Value::Null);
    assert!(revoked.0 < 300, "{revoked:?}");
    said(401, "unauthorized", ask(&other, &bob, "GET", &format!("/v1/threads/{bobs}"), Value::Null));
}

#[test]
fn accounts_live_in_their_cells_in_files() {
    accounts_live_in_their_cells(&Two::files());
}

#[test]
fn accounts_live_in_their_cells_on_postgres() {
    accounts_live_in_their_cells(&Two::schemas());
}

/// An account moves to the other cell and back while four writers and two followers use it on two servers.
fn an_account_moves_under_load(two: &Two) {
    let (one, other) = (two.serve("one"), two.serve("other"));
    let servers = Servers::new([&one, &other]);
    let threads: Vec<String> = (0..2).map(|_| one.thread()).collect();
    let beside = one.thread();
    one.ok("PUT", &format!("/v1/threads/{beside}/kv/colour"), &json!("blue"));
    one.ok("PUT", &format!("/v1/threads/{beside}/env/TOKEN"), &json!({ "value": "a-secret-value", "type": "secret" }));
    let said = json!({ "role": "user", "content": "it is a-secret-value" });
    one.ok("POST", &format!("/v1/threads/{beside}/messages"), &said);
    one.ok("POST", &format!("/v1/threads/{beside}/queue"), &json!({ "role": "user", "content": "later" }));
    let fork = id(&one.ok("POST", &format!("/v1/threads/{beside}/fork"), &json!({})));
    one.ok("POST", &format!("/v1/threads/{fork}/checkpoint"), &json!({ "name": "here" }));
    one.ok("POST", "/v1/projects", &json!({ "name": "The house" }));
    let load = Load::new(&servers, threads, WRITERS);
    std::thread::scope(|scope| {
        let followers = load.follow(scope, FOLLOWERS);
        let writers = load.write(scope);
        for to in ["a", "b"] {
            load.gets_on(MESSAGES);
            let told = two.move_to("local", to);
            assert!(told.starts_with("moved 4 threads"), "{told}");
        }
        load.gets_on(MESSAGES);
        load.end(&other, writers, followers);
    });
    assert_eq!(one.ok("GET", &format!("/v1/threads/{beside}/kv/colour"), &Value::Null)["value"], "blue");
    two.on(&two.url(), &["store", "rotate-key"]).ok();
    let exported = two.on(&two.url(), &["store", "export"]).ok();
    assert!(
        exported.contains("it is **************") && !exported.contains("a-secret-value"),
        "its secrets are opened"
    );
    let queued = one.ok("GET", &format!("/v1/threads/{beside}/queue"), &Value::Null);
    assert_eq!(queued["items"].as_array().map(Vec::len), Some(1), "{queued}");
    let named = one.ok("GET", &format!("/v1/threads/{fork}/checkpoints"), &Value::Null);
    assert_eq!(named["items"][0]["name"], "here", "{named}");
    let family = one.ok("GET", &format!("/v1/threads/{fork}/relationships"), &Value::Null);
    assert_eq!(family["items"][0]["threadId"], json!(beside), "{family}");
    assert_eq!(one.ok("GET", "/v1/projects", &Value::Null)["items"][0]["name"], "The house");
    assert_eq!(two.left_in(0), "looked at 0 threads, 0 entries, 0 blobs");
    assert!(two.left_in(1).starts_with("looked at 4 threads"));
}

#[test]
fn an_account_moves_under_load_between_files() {
    an_account_moves_under_load(&Two::files());
}

#[test]
fn an_account_moves_under_load_on_postgres() {
    an_account_moves_under_load(&Two::schemas());
}

/// The mover is killed after each of its steps. It is run again, or taken back.
fn a_killed_move_is_run_again_or_taken_back(two: &Two) {
    let (one, other) = (two.serve("one"), two.serve("other"));
    let servers = Servers::new([&one, &other]);
    let threads: Vec<String> = (0..2).map(|_| one.thread()).collect();
    let load = Load::new(&servers, threads, WRITERS);
    let steps =
        ["copied what was there", "is frozen", "copied the rest", "the directory names", "is written to in the new"];
    std::thread::scope(|scope| {
        let followers = load.follow(scope, FOLLOWERS);
        let writers = load.write(scope);
        let mut at = "b";
        for (number, step) in steps.iter().enumerate() {
            load.gets_on(MESSAGES);
            let to = if at == "a" { "b" } else { "a" };
            let mut mover = two.moving("local", to);
            loop {
                let line = mover.next_error().expect("the steps are told");
                if line.contains(step) {
                    break;
                }
            }
            mover.kill();
            // Before the switch it may be taken back; after it, the old name moves the account back.
            let takes_back = number % 2 == 1;
            at = if takes_back { at } else { to };
            two.move_to("local", at);
        }
        load.gets_on(MESSAGES);
        let told = two.move_to("local", "a");
        assert!(told.contains("cell a"), "{told}");
        load.gets_on(MESSAGES);
        load.end(&one, writers, followers);
    });
    assert!(two.left_in(0).starts_with("looked at 2 threads"));
}

#[test]
fn a_killed_move_is_run_again_or_taken_back_in_files() {
    a_killed_move_is_run_again_or_taken_back(&Two::files());
}

#[test]
fn a_killed_move_is_run_again_or_taken_back_on_postgres() {
    a_killed_move_is_run_again_or_taken_back(&Two::schemas());
}

#[test]
fn a_frozen_account_says_what_to_do_and_is_read() {
    let two = Two::files();
    let serving = two.serve("one");
    let thread = serving.thread();
    let mut mover = two.moving("local", "a");
    while !mover.next_error().expect("the steps are told").contains("is frozen") {}
    mover.kill();
    let path = format!("/v1/threads/{thread}");
    let (status, said) = ask(&serving, serving.key(), "PATCH", &path, json!({ "title": "New" }));
    assert_eq!((status, said["code"].as_str()), (503, Some("unavailable")), "{said}");
    assert!(said["hint"].as_str().is_some_and(|hint| hint.contains("--to-cell CELL` finishes it")), "{said}");
    assert_eq!(ask(&serving, serving.key(), "GET", &path, Value::Null).0, 200, "it is read");
    let told = two.move_to("local", "b");
    assert!(told.contains("the account is in cell b, and nowhere else"), "{told}");
    serving.ok("PATCH", &path, &json!({ "title": "New" }));
}

#[test]
fn a_wrong_file_of_cells_is_refused_with_its_key() {
    let two = Two::files();
    let at = two.keep.at("cells.toml");
    for (text, told) in [
        ("home = \"x\"\n[cells.a]\nstore = \"a.db\"\n", "'home' is 'x', and there is no such cell"),
        ("home = \"a\"\n[cells.a]\nshop = \"a.db\"\n", "[cells.a]: 'store' is missing"),
        ("home = [", "cells.toml"),
    ] {
        std::fs::write(&at, text).expect("a file");
        two.on(&two.url(), &["ls"]).refused(2, &["cells.toml: ", told]);
    }
    two.on("cells:", &["ls"]).refused(2, &["names no file of cells; use cells:FILE"]);
    two.on("cells:nowhere.toml", &["ls"]).refused(3, &["cannot read nowhere.toml"]);
    std::fs::write(&at, "home = \"a\"\n[cells.a]\nstore = \"a.db\"\n[cells.b]\nstore = \"b.db\"\n").expect("a file");
    two.on(&two.url(), &["new", "One"]).ok();
    two.on(&two.url(), &["store", "gc"]).refused(5, &["several cells", "a.db or --store sqlite:"]);
    two.on("a.db", &["store", "copy", "--account", "local", "--to-cell", "b"]).refused(2, &["--store cells:FILE"]);
    two.on(&two.url(), &["store", "copy", "--account", "local"]).refused(2, &["--to-cell"]);
    two.on(&two.url(), &["store", "copy", "--account", "local", "--to-cell", "c"]).refused(2, &["there are: a, b"]);
    assert!(two.on("a.db", &["ls"]).ok().contains("One"), "new accounts go home unless the file says otherwise");
}

/// To let go of the account in the old cell would be to lose it.
#[test]
fn two_names_for_one_store_are_found_before_anything_goes() {
    for new_accounts in ["a", "b"] {
        let two = Two::of(["sqlite:a.db".to_owned(), "sqlite:./a.db".to_owned()], Vec::new());
        let text = std::fs::read_to_string(two.keep.at("cells.toml")).expect("a file");
        let text = text.replace("new-accounts = \"b\"", &format!("new-accounts = \"{new_accounts}\""));
        std::fs::write(two.keep.at("cells.toml"), text).expect("a file");
        two.on(&two.url(), &["new", "One"]).ok();
        let other = if new_accounts == "a" { "b" } else { "a" };
        let moved = two.on(&two.url(), &["store", "copy", "--account", "local", "--to-cell", other]);
        moved.refused(2, &["the same store as another cell", "file of cells"]);
        two.on(&two.url(), &["say", "@last", "still here"]).ok();
        assert!(two.on(&two.url(), &["show", "@last"]).ok().contains("still here"));
    }
}
