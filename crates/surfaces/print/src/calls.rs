//! The calls in the form that printers use.

use serde_json::{Map, Value};
use threadkeep_calls::{DECLARATIONS, Repeat};

/// Calls that each client writes by hand: their bodies or answers are no JSON.
const BY_HAND: [&str; 21] = [
    "getEndpoint",
    "postEndpoint",
    "putEndpoint",
    "patchEndpoint",
    "deleteEndpoint",
    "listFiles",
    "readFile",
    "writeFile",
    "changeTree",
    "deleteFile",
    "readReferredFile",
    "streamThread",
    "streamThreads",
    "streamRun",
    "openSocket",
    "openAccountSocket",
    "openRunSocket",
    "exportStore",
    "importStore",
    "backUpStore",
    "createSignIn",
];

/// Calls that take as long as their work does.
const UNHURRIED: [&str; 7] =
    ["approve", "merge", "runCode", "invokeTool", "backfillSearch", "collectGarbage", "runDoctor"];

/// A call over HTTP.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The operation id in the document.
    pub id: &'a str,
    /// The property of the client that has its method, such as `threads`.
    pub room: &'static str,
    /// The name of its method there.
    pub method_name: String,
    /// GET, POST and so on.
    pub verb: String,
    /// Its path, with `{name}` where parameters are.
    pub path: &'a str,
    /// Its effect, in a sentence.
    pub about: &'a str,
    /// The parameters of its path, in order.
    pub path_parameters: Vec<Parameter<'a>>,
    /// The parameters of its query.
    pub query: Vec<Parameter<'a>>,
    /// The schema of its body.
    pub body: Option<&'a Value>,
    /// Whether the body must be given.
    pub body_required: bool,
    /// The schema of its answer; none if it answers nothing.
    pub answer: Option<&'a Value>,
    /// The schema of the items, if the answer is a page of a list.
    pub item: Option<&'a Value>,
    /// Which conditions it honours, by the names of the options.
    pub honours: Vec<&'static str>,
    /// Whether it may be sent again freely when it is not known whether it was carried out.
    pub repeats: bool,
    /// Whether it takes as long as its work does.
    pub unhurried: bool,
    /// The codes it may be refused with.
    pub codes: Vec<&'a str>,
}

/// A parameter of a call.
#[derive(Debug, Clone)]
pub struct Parameter<'a> {
    /// The name on the wire.
    pub name: &'a str,
    /// Its purpose, in a sentence.
    pub about: &'a str,
    /// The JSON Schema of its values.
    pub schema: &'a Value,
    /// Whether it must be given.
    pub required: bool,
}

/// All calls that have JSON in and JSON out, in the order of the document.
pub fn calls(document: &Value) -> Vec<Call<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(path, verbs)| {
        let verbs = verbs.as_object().into_iter().flatten();
        verbs.map(move |(verb, operation)| (path.as_str(), verb.as_str(), operation))
    });
    operations.filter_map(|(path, verb, operation)| call(document, path, verb, operation)).collect()
}

fn call<'a>(document: &'a Value, path: &'a str, verb: &str, operation: &'a Value) -> Option<Call<'a>> {
    let id = operation["operationId"].as_str()?;
    let room = room(path).filter(|_| !BY_HAND.contains(&id))?;
    let parameters = || operation["parameters"].as_array().into_iter().flatten();
    let of = |place: &'static str| {
        parameters().filter(move |parameter| parameter["in"] == place).map(|parameter| Parameter {
            name: parameter["name"].as_str().unwrap_or_default(),
            about: parameter["description"].as_str().unwrap_or_default(),
            schema: &parameter["schema"],
            required: parameter["required"] == true,
        })
    };
    let honours = of("header").filter_map(|header| match header.name {
        "If-Match" => Some("expectedVersion"),
        "If-None-Match" => Some("ifAbsent"),
        "Threadkeep-Writer" => Some("writer"),
        "Idempotency-Key" => Some("idempotencyKey"),
        _ => None,
    });
    let responses = operation["responses"].as_object()?;
    let (_, success) = responses.iter().find(|(status, _)| status.starts_with('2'))?;
    let answer = Some(&success["content"]["application/json"]["schema"]).filter(|schema| !schema.is_null());
    let item = answer.and_then(|answer| {
        let name = answer["$ref"].as_str()?.rsplit('/').next().filter(|name| name.starts_with("PageOf"))?;
        let items = &document["components"]["schemas"][name]["properties"]["items"]["items"];
        Some(items).filter(|_| of("query").any(|parameter| parameter.name == "cursor"))
    });
    let declared = DECLARATIONS.iter().find(|declaration| declaration.id == id);
    let repeats = declared.map_or(verb == "get", |declaration| declaration.repeat == Repeat::Freely);
    let body = Some(&operation["requestBody"]["content"]["application/json"]["schema"]);
    Some(Call {
        id,
        room,
        method_name: method_name(id, room),
        verb: verb.to_uppercase(),
        path,
        about: operation["summary"].as_str().unwrap_or_default(),
        path_parameters: of("path").collect(),
        query: of("query").collect(),
        body: body.filter(|schema| !schema.is_null()),
        body_required: operation["requestBody"]["required"] == true,
        answer,
        item,
        honours: honours.collect(),
        repeats,
        unhurried: UNHURRIED.contains(&id),
        codes: codes(responses),
    })
}

/// The codes of refusals: a response points to `404.thread_not_found.message_not_found`.
fn codes(responses: &Map<String, Value>) -> Vec<&str> {
    let names = responses.values().filter_map(|response| response["$ref"].as_str()?.rsplit('/').next());
    let mut codes: Vec<&str> = names.flat_map(|name| name.split('.').skip(1)).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The rooms that calls have, in their order.
pub(crate) fn rooms(calls: &[Call<'_>]) -> Vec<&'static str> {
    let mut rooms: Vec<&'static str> = Vec::new();
    for call in calls {
        if !rooms.contains(&call.room) {
            rooms.push(call.room);
        }
    }
    rooms
}

/// The property of the client that has the methods of a path.
fn room(path: &str) -> Option<&'static str> {
    match path.strip_prefix("/v1/")?.split('/').next()? {
        "threads" => Some("threads"),
        "runs" => Some("runs"),
        "approvals" => Some("approvals"),
        "delegations" => Some("delegations"),
        "references" => Some("references"),
        "projects" => Some("projects"),
        "memories" => Some("memories"),
        "keys" => Some("keys"),
        "me" => Some("account"),
        "search" => Some("searching"),
        "tickets" => Some("tickets"),
        "env" => Some("env"),
        "definitions" => Some("definitions"),
        "admin" => Some("admin"),
        _ => None,
    }
}

/// The operation id without the noun of its room: `threads.fork`, not `threads.forkThread`.
fn method_name(id: &str, room: &str) -> String {
    let noun = match room {
        "threads" => "Thread",
        "runs" => "Run",
        "approvals" => "Approval",
        "delegations" => "Delegation",
        "references" => "Reference",
        "projects" => "Project",
        "memories" => "Memory",
        "keys" => "Key",
        "account" => "Me",
        "tickets" => "Ticket",
        "env" => "AccountEnv",
        "definitions" => "Definition",
        _ => return id.to_owned(),
    };
    let plural = if room == "memories" { "Memories".to_owned() } else { format!("{noun}s") };
    let stripped = id.strip_suffix(&plural).or_else(|| id.strip_suffix(noun));
    stripped.filter(|rest| !rest.is_empty()).unwrap_or(id).to_owned()
}
