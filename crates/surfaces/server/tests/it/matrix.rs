//! Every route, for every caller that may not use it. The routes come from the server's own table, so a new route
//! is covered automatically.

use serde_json::{Value, json};

use crate::support::{Client, Reply, Server};

/// A thread that examples name.
const EXAMPLE: &str = "T-5928a90d-d53b-488f-a829-4e36442142ee";

/// The kinds of things a path can name.
#[derive(Clone)]
struct Ids([(&'static str, String); 25]);

impl Ids {
    /// Ids that are well-formed, of things that are not there.
    fn unknown() -> Self {
        Self([
            ("thread", "T-00000000-0000-4000-8000-000000000000".to_owned()),
            ("message", "M-00000000000000011".to_owned()),
            ("item", "queued-00000000-0000-8000-8000-000000000000".to_owned()),
            ("run", "00000000-0000-4000-8000-000000000000".to_owned()),
            ("injection", "00000000-0000-4000-8000-000000000006".to_owned()),
            ("project", "nowhere".to_owned()),
            ("key", "0000000000000000".to_owned()),
            ("area", "threads".to_owned()),
            ("code", "queue_full".to_owned()),
            ("approval", "00000000-0000-4000-8000-000000000005".to_owned()),
            ("delegation", "00000000-0000-4000-8000-000000000002".to_owned()),
            ("reference", "00000000-0000-4000-8000-000000000003".to_owned()),
            ("observer", "00000000-0000-4000-8000-000000000004".to_owned()),
            ("merge", "00000000-0000-4000-8000-000000000005".to_owned()),
            ("effect", "00000000-0000-4000-8000-000000000007".to_owned()),
            ("memory", "00000000-0000-4000-8000-000000000008".to_owned()),
            ("path", "nowhere.txt".to_owned()),
            ("valueKey", "nothing".to_owned()),
            ("name", "NOTHING".to_owned()),
            ("codeRun", "run-of-nobody".to_owned()),
            ("tool", "skill".to_owned()),
            ("endpoint", "nothing".to_owned()),
            ("kind", "agents".to_owned()),
            ("definition", "nothing".to_owned()),
            ("request", "T-00000000-0000-4000-8000-000000000009".to_owned()),
        ])
    }

    /// The ids of new things of `owner`, who administers.
    fn of(owner: &Client) -> Self {
        let thread = owner.thread(&["secret"]);
        let at = format!("/v1/threads/{thread}");
        let said = owner.say(&thread, "more");
        let subagent = owner.post(&format!("{at}/children"), json!({ "name": "critic" })).ok(201);
        let begun = owner.post(&format!("{at}/runs"), json!({ "executor": "caller" })).ok(201);
        let injected = owner.post(&format!("{at}/inject"), json!({ "type": "data", "content": "secret" })).ok(201);
        let waits = owner.post(&format!("{at}/queue"), json!({ "role": "user", "content": "waits" })).ok(201);
        let project = owner.post("/v1/projects", json!({ "name": "Ours" })).ok(201);
        let memory = owner.post("/v1/memories", json!({ "text": "secret" })).ok(201);
        let key = owner.post("/v1/keys", json!({ "account": "local" })).ok(201);
        let target = owner.thread(&["seen"]);
        // The file that is read through the reference has to exist too.
        owner.put(&format!("/v1/threads/{target}/files/hidden.txt"), json!("secret")).ok(201);
        owner.put(&format!("/v1/threads/{target}/kv/hidden"), json!("secret")).ok(200);
        let transfer = |direction: &str| {
            owner.post(&format!("{at}/transfer"), json!({ "direction": direction, "scope": ["deploy"] })).ok(201)
        };
        let (approval, delegation) = (transfer("request_approval"), transfer("delegate"));
        let reference = owner.post(&format!("{at}/reference"), json!({ "target": target })).ok(201);
        let observer = owner.post(&format!("{at}/observe"), json!({ "target": target })).ok(201);
        owner.put(&format!("{at}/files/hidden.txt"), json!("secret")).ok(201);
        owner.put(&format!("{at}/kv/hidden"), json!("secret")).ok(200);
        for env in [format!("{at}/env/HIDDEN"), "/v1/env/HIDDEN".to_owned()] {
            owner.put(&env, json!({ "value": "secret" })).ok(200);
        }
        let effect = owner.post(&format!("{at}/effects"), json!({ "name": "secret", "delay": 3_600_000 })).ok(201);
        let merge = owner.post(&format!("{at}/merge"), json!({ "sources": [target] })).ok(201);
        let text = |value: &Value| value.as_str().expect("an id").to_owned();
        Self([
            ("thread", thread),
            ("message", text(&said["id"])),
            ("item", text(&waits["id"])),
            ("run", text(&begun["id"])),
            ("injection", text(&injected["injectionId"])),
            ("project", text(&project["id"])),
            ("key", text(&key["id"])),
            ("area", "threads".to_owned()),
            ("code", "queue_full".to_owned()),
            ("approval", text(&approval["approvalId"])),
            ("delegation", text(&delegation["delegationId"])),
            ("reference", text(&reference["refId"])),
            ("observer", text(&observer["id"])),
            ("merge", text(&merge["mergeId"])),
            ("effect", text(&effect["id"])),
            ("memory", text(&memory["id"])),
            ("path", "hidden.txt".to_owned()),
            ("valueKey", "hidden".to_owned()),
            ("name", "HIDDEN".to_owned()),
            ("codeRun", "run-of-ours".to_owned()),
            ("tool", "skill".to_owned()),
            ("endpoint", "hook".to_owned()),
            ("kind", "skills".to_owned()),
            ("definition", "review".to_owned()),
            ("request", text(&subagent["id"])),
        ])
    }

    /// The same, but for this one.
    fn with(mut self, name: &str, id: &str) -> Self {
        self.0.iter_mut().filter(|(known, _)| *known == name).for_each(|(_, value)| *value = id.to_owned());
        self
    }

    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| *known == name);
        &found.unwrap_or_else(|| panic!("what is '{name}' in a path? Say it here")).1
    }

    /// A text with ids in place of names.
    fn filled(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, id)| text.replace(&format!("{{{name}}}"), id))
    }

    /// A text with names in place of ids.
    fn emptied(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, id)| text.replace(id.as_str(), &format!("{{{name}}}")))
    }
}

/// A route as the document has it.
struct Route {
    id: String,
    method: String,
    path: String,
    scope: String,
    headers: String,
    body: Option<String>,
}

impl Route {
    fn all(server: &Server) -> Vec<Self> {
        let document = server.anonymous().get("/openapi.json").ok(200);
        let mut routes = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let headers =
                    parameters.filter(|parameter| parameter["in"] == "header" && parameter["required"] == true);
                let header = |header: &Value| {
                    let text = |field: &str| header[field].as_str().expect("a text").to_owned();
                    format!("{}: {}\r\n", text("name"), text("example"))
                };
                let example = &operation["requestBody"]["content"]["application/json"]["example"];
                routes.push(Self {
                    id: operation["operationId"].as_str().expect("a name").to_owned(),
                    method: method.to_ascii_uppercase(),
                    path: path.clone(),
                    scope: operation["x-threadkeep-scope"].as_str().expect("a scope").to_owned(),
                    headers: headers.map(header).collect(),
                    body: Some(example).filter(|example| !example.is_null()).map(Value::to_string),
                });
            }
        }
        assert!(routes.len() > 60, "{}", routes.len());
        routes
    }

    fn names(&self, name: &str) -> bool {
        self.path.contains(&format!("{{{name}}}"))
    }

    fn is_stream(&self) -> bool {
        self.path.ends_with("/stream")
    }

    /// The answer to `client`, with names in place of ids, and without the parts that differ each time.
    fn ask(&self, client: &Client, ids: &Ids) -> Told {
        let reply = client.send(&self.method, &ids.filled(&self.path), &self.headers, self.body.as_deref());
        Told::new(&reply, ids)
    }
}

/// An answer, as it can be compared with others.
#[derive(Debug, PartialEq)]
struct Told {
    status: u16,
    headers: Vec<String>,
    body: String,
}

impl Told {
    fn new(reply: &Reply, ids: &Ids) -> Self {
        let same = |line: &&str| {
            let line = line.to_ascii_lowercase();
            !["x-request-id:", "date:", "content-length:"].iter().any(|name| line.starts_with(name))
        };
        let mut headers: Vec<String> = reply.headers.lines().filter(same).map(str::to_owned).collect();
        headers.sort();
        let body = match serde_json::from_str::<Value>(&reply.body) {
            Ok(mut said) => {
                if let Some(said) = said.as_object_mut() {
                    said.remove("requestId");
                    said.remove("createdAt");
                }
                said.to_string()
            }
            Err(_) => reply.body.clone(),
        };
        Self { status: reply.status, headers, body: ids.emptied(&body) }
    }
}

#[test]
fn a_route_asks_for_a_key_that_holds_whatever_it_is_about() {
    let server = Server::start();
    let ids = Ids::of(&server.admin());
    let (revoked, id) = server.keyed("local", "admin");
    server.admin().delete(&format!("/v1/keys/{id}")).ok(200);
    let past = json!({ "account": "local", "scope": "admin", "expiresAt": "2020-01-01T00:00:00Z" });
    let past = server.admin().post("/v1/keys", past).ok(201);
    let expired = server.with_key(past["key"].as_str().expect("a key"));
    for route in Route::all(&server) {
        let expected = if route.scope == "none" { None } else { Some(401) };
        for (who, client) in [("nobody", &server.anonymous()), ("revoked", &revoked), ("expired", &expired)] {
            let found = route.ask(client, &ids);
            assert_eq!(expected.unwrap_or(found.status), found.status, "{} for {who}: {found:?}", route.id);
            // To sign in, one needs the code of a link.
            let is_open = route.scope == "none" && route.id != "signIn";
            assert!(!is_open || found.status < 400, "{} for {who}: {found:?}", route.id);
            let unknown = route.ask(client, &Ids::unknown());
            if route.scope != "none" {
                assert_eq!(found, unknown, "{} for {who}", route.id);
                assert!(found.headers.iter().any(|line| line.eq_ignore_ascii_case("www-authenticate: Bearer")));
            }
        }
    }
    assert_eq!(server.admin().shows(ids.get("thread")), "secret more", "nothing changed");
}

#[test]
fn a_key_that_is_too_narrow_is_refused_before_anything_is_read() {
    let server = Server::start();
    let ids = Ids::of(&server.admin());
    let (reader, writer) = (server.keyed("local", "read").0, server.keyed("local", "write").0);
    for route in Route::all(&server) {
        for (scope, client) in [("read", &reader), ("write", &writer)] {
            let enough = match route.scope.as_str() {
                "none" | "public" | "read" => true,
                "write" => scope == "write",
                "admin" => false,
                other => panic!("{other} is no scope"),
            };
            if !enough {
                let refused = route.ask(client, &ids);
                assert_eq!(refused.status, 403, "{} with {scope}: {refused:?}", route.id);
                assert_eq!(refused, route.ask(client, &Ids::unknown()), "{} with {scope}", route.id);
                let odd = Route { body: Some("no JSON".to_owned()), headers: String::new(), ..route_of(&route) };
                assert_eq!(refused, odd.ask(client, &ids), "{} with {scope}", route.id);
            } else if scope == "read" && !route.is_stream() {
                let told = route.ask(client, &ids);
                assert!(!matches!(told.status, 401 | 403) && told.status < 500, "{} with {scope}: {told:?}", route.id);
            }
        }
    }
    let path = |rest: &str| format!("/v1/threads/{}{rest}", ids.get("thread"));
    reader.stream(&path("/stream"), "").take(1);
    reader.stream("/v1/stream?projectId=p", "");
    assert_eq!(server.admin().shows(ids.get("thread")), "secret more", "nothing changed");
}

fn route_of(route: &Route) -> Route {
    let Route { id, method, path, scope, headers, body } = route;
    let (id, method, path, scope) = (id.clone(), method.clone(), path.clone(), scope.clone());
    Route { id, method, path, scope, headers: headers.clone(), body: body.clone() }
}

#[test]
fn what_belongs_to_another_account_answers_like_what_is_not_there() {
    let server = Server::start();
    let (owner, stranger) = (server.admin(), server.keyed("bob", "admin").0);
    let ids = Ids::of(&owner);
    let own = stranger.thread(&["mine"]);
    for route in Route::all(&server) {
        if route.scope == "none" {
            continue;
        }
        if route.names("thread") || route.names("project") {
            let (found, unknown) = (route.ask(&stranger, &ids), route.ask(&stranger, &Ids::unknown()));
            assert_eq!(found, unknown, "{}", route.id);
            let as_if_not_there = match (route.method.as_str(), route.path.as_str()) {
                ("DELETE", "/v1/threads/{thread}" | "/v1/projects/{project}") => (200, r#"{"deleted":false}"#),
                ("PUT", "/v1/projects/{project}") => (200, r#""id":"{project}""#),
                (_, "/v1/projects/{project}" | "/v1/projects/{project}/memories") => (404, "project_not_found"),
                _ => (404, "thread_not_found"),
            };
            assert_eq!(found.status, as_if_not_there.0, "{}: {found:?}", route.id);
            assert!(found.body.contains(as_if_not_there.1), "{}: {found:?}", route.id);
            for id in [ids.get("project"), Ids::unknown().get("project")] {
                stranger.delete(&format!("/v1/projects/{id}"));
            }
        }
        for part in ["approval", "delegation", "reference", "run", "memory"] {
            if route.names(part) {
                let (found, unknown) = (route.ask(&stranger, &ids), route.ask(&stranger, &Ids::unknown()));
                assert_eq!(found, unknown, "{}", route.id);
                let as_if_not_there = match route.id.as_str() {
                    "deleteMemory" => (200, r#"{"deleted":false}"#.to_owned()),
                    _ => (404, format!("{part}_not_found")),
                };
                assert_eq!(found.status, as_if_not_there.0, "{}: {found:?}", route.id);
                assert!(found.body.contains(&as_if_not_there.1), "{}: {found:?}", route.id);
            }
        }
        // Ids from another account's thread are not found in one's own thread either.
        for part in ["message", "item", "injection", "observer", "merge", "effect", "request"] {
            if route.names(part) {
                let foreign = ids.clone().with("thread", &own);
                let unknown = foreign.clone().with(part, Ids::unknown().get(part));
                let (found, expected) = (route.ask(&stranger, &foreign), route.ask(&stranger, &unknown));
                assert_eq!(found, expected, "{}", route.id);
            }
        }
    }
    for query in ["/v1/stream?threads={thread}", "/v1/threads?parentId={thread}", "/v1/threads?mainThreadId={thread}"] {
        let ask = |ids: &Ids| Told::new(&stranger.get(&ids.filled(query)), ids);
        assert_eq!(ask(&ids), ask(&Ids::unknown()), "{query}");
    }
    let from =
        |ids: &Ids| Told::new(&stranger.get(&ids.filled(&format!("/v1/threads/{own}/messages?from={{thread}}"))), ids);
    assert_eq!(from(&ids), from(&Ids::unknown()));
    assert_eq!(owner.shows(ids.get("thread")), "secret more", "nothing changed");
    assert_eq!(owner.get(&ids.filled("/v1/projects/{project}")).ok(200)["name"], "Ours");
}

#[test]
fn whoever_owns_something_is_let_in_everywhere() {
    let server = Server::start();
    let owner = server.admin();
    let other = owner.thread(&["other"]);
    // Code runs where the program is a worker, which this one is not: the command's own tests run it.
    let all = Route::all(&server);
    for route in all.iter().filter(|route| !route.is_stream() && route.id != "runCode" && !route.names("endpoint")) {
        let ids = Ids::of(&owner);
        let body = route.body.as_ref().map(|body| body.replace(EXAMPLE, &other));
        let told = Route { body, ..route_of(route) }.ask(&owner, &ids);
        assert!(!matches!(told.status, 401 | 403 | 404) && told.status < 500, "{}: {told:?}", route.id);
    }
}
