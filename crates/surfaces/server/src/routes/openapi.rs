//! The OpenAPI document, made from the table of routes.
//!
//! Schemas are those of the Rust types, as JSON Schema 2020-12, which OpenAPI 3.1 uses. Requests are described as
//! they are read, answers as they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use threadkeep::model::{BlobId, EnvName, FilePath, MessageName, QueuedId, ThreadId, ThreadName, Uuid, ValueKey};
use threadkeep_calls::{ErrorCode, ProblemTold};

use crate::routes;
use crate::table::{ANY_MEDIA, Gives, Honours, Needs, Operation, SchemaOf, Takes};

/// The document as text, and compressed once a client has asked for that.
pub(crate) struct Document {
    pub(crate) text: String,
    pub(crate) gzip: OnceLock<bytes::Bytes>,
}

/// The document. It is made when it is first asked for: most servers never are.
pub(crate) fn document() -> &'static Document {
    static DOCUMENT: OnceLock<Document> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let mut text = serde_json::to_string_pretty(&build()).expect("a document has text keys");
        text.push('\n');
        Document { text, gzip: OnceLock::new() }
    })
}

/// The tag of a text that changes with the program only.
pub(crate) fn tag(text: &str) -> String {
    format!("\"{}\"", &BlobId::of(text.as_bytes()).to_string()[..16])
}

/// Replaces the formats of unsigned integers by their maximums, and removes empty defaults.
#[derive(Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let format = schema.get("format").and_then(Value::as_str).map(str::to_owned);
        let largest = match format.as_deref() {
            Some("uint64" | "uint") => Some(json!(u64::MAX)),
            Some("uint32") => Some(json!(u32::MAX)),
            Some("uint16") => Some(json!(u16::MAX)),
            Some("uint8") => Some(json!(u8::MAX)),
            _ => None,
        };
        if let Some(largest) = largest {
            schema.remove("format");
            if schema.get("maximum").is_none() {
                schema.insert("maximum".to_owned(), largest);
            }
        }
        // A default of null or nothing means the same as absence.
        if schema.get("default").is_some_and(|value| value.is_null() || value == "") {
            schema.remove("default");
        }
    }
}

/// Schemas of both directions, under the names they have in the document.
struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
                settings.transforms = vec![Box::new(Plain)];
            })
        };
        Self { requests: settings().into_generator(), answers: settings().for_serialize().into_generator() }
    }

    fn request(&mut self, of: SchemaOf) -> Value {
        plain(of(&mut self.requests))
    }

    fn answer(&mut self, of: SchemaOf) -> Value {
        plain(of(&mut self.answers))
    }

    /// All of them. A type that differs between requests and answers would need two names.
    fn components(mut self) -> BTreeMap<String, Value> {
        let mut all: BTreeMap<String, Value> = self.answers.take_definitions(true).into_iter().collect();
        for (name, schema) in self.requests.take_definitions(true) {
            let other = all.insert(name.clone(), schema.clone());
            assert!(other.is_none_or(|other| other == schema), "{name} is not the same in requests and answers");
        }
        all
    }
}

fn plain(mut schema: Schema) -> Value {
    Plain.transform(&mut schema);
    schema.into()
}

/// The document, as JSON.
pub(crate) fn build() -> Value {
    let (mut schemas, mut problems) = (Schemas::new(), Problems::default());
    let mut paths: Map<String, Value> = Map::new();
    let mut tags = Vec::new();
    for kind in routes::table() {
        tags.push(json!({ "name": kind.tag, "description": kind.about }));
        for operation in kind.operations() {
            let path = paths.entry(operation.described_path()).or_insert_with(|| json!({}));
            path[operation.method.as_str().to_ascii_lowercase()] =
                described(operation, kind.tag, &mut schemas, &mut problems);
        }
    }
    schemas.answer(|generator| generator.subschema_for::<ProblemTold>());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Threadkeep",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Threads for AI agents: durable, forkable conversations. Bodies are JSON, and unknown fields \
                            are refused. Times are RFC 3339 in UTC. `ETag` is the version of a thread, `If-Match` the \
                            version that a write expects. Errors are problems (RFC 9457), whose `type` leads to a page \
                            that explains the code. Resources of another account answer 404.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "key": [] }],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": { "type": "http", "scheme": "bearer", "description": "`Authorization: Bearer KEY`" },
            },
            "headers": headers(),
            "schemas": schemas.components(),
            "responses": problems.0,
        },
    })
}

fn headers() -> Value {
    json!({
        "ETag": {
            "description": "The version of the thread, in quotes, for `If-Match`.",
            "required": true,
            "schema": { "type": "string", "pattern": "^\"[0-9]+\"$" },
        },
        "X-Request-Id": {
            "description": "The id of the request: the one it came with, or a new one.",
            "required": true,
            "schema": { "type": "string" },
        },
        "Retry-After": {
            "description": "How many seconds to wait.",
            "required": true,
            "schema": { "type": "integer", "minimum": 1 },
        },
        "WWW-Authenticate": {
            "description": "How to authenticate.",
            "required": true,
            "schema": { "type": "string", "const": "Bearer" },
        },
    })
}

fn described(operation: &Operation, tag: &str, schemas: &mut Schemas, problems: &mut Problems) -> Value {
    let mut parameters: Vec<Value> = operation.parameters().map(path_parameter).collect();
    if let Some(query) = operation.query {
        parameters.extend(query_parameters(schemas.request(query)));
    }
    parameters.extend(operation.headers.iter().map(|header| header_parameter(*header)));
    let security = match operation.needs {
        Needs::Nothing => json!([]),
        Needs::Public => json!([{ "key": [] }, {}]),
        Needs::Read | Needs::Write | Needs::Admin => json!([{ "key": [] }]),
    };
    let mut told = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [tag],
        "security": security,
        "x-threadkeep-scope": operation.needs.as_str(),
    });
    if !parameters.is_empty() {
        told["parameters"] = parameters.into();
    }
    if let Some(body) = operation.body {
        told["requestBody"] = request_body(body, operation.example, schemas);
    }
    told["responses"] = responses(operation, schemas, problems);
    told
}

fn path_parameter(name: &'static str) -> Value {
    fn of<T: JsonSchema>() -> Value {
        T::json_schema(&mut SchemaGenerator::default()).into()
    }
    let mut schema = match name {
        "thread" => of::<ThreadName>(),
        "request" => {
            let mut schema = of::<ThreadId>();
            schema["description"] = "The request that `subagent_env_required` names: the id of a subagent.".into();
            schema
        }
        "message" => of::<MessageName>(),
        "item" => of::<QueuedId>(),
        "run" | "injection" | "approval" | "delegation" | "reference" | "observer" | "merge" | "effect" | "memory" => {
            of::<Uuid>()
        }
        "project" => json!({ "description": "The id of a project.", "type": "string", "minLength": 1, "maxLength": 255,
            "pattern": "^[^/\\x00]+$", "examples": ["website"] }),
        "key" => json!({ "description": "The id of a key, which is no secret.", "type": "string",
            "pattern": "^[^/]+$", "examples": ["5f0c3a9e1b7d2468"] }),
        "tool" => {
            json!({ "description": "The name of a tool, escaped: a slash in it is `%2F`.", "type": "string",
            "minLength": 1, "pattern": "^[^/\\x00]+$", "examples": ["skill"] })
        }
        "endpoint" => {
            json!({ "description": "The path of an endpoint, which may hold slashes as they are.", "type": "string",
            "minLength": 1, "examples": ["hook"] })
        }
        "kind" => {
            let kinds = threadkeep::runtime::definitions::Kind::ALL.map(|kind| kind.folder());
            json!({ "description": "The folder of a definition.", "type": "string", "enum": kinds, "examples": ["skills"] })
        }
        "definition" => {
            json!({ "description": "The name of a definition: `NAME`, or `PACKAGE/NAME`.", "type": "string",
            "minLength": 1, "examples": ["review"] })
        }
        "codeRun" => {
            json!({ "description": "The id that a run of code was started with.", "type": "string", "minLength": 1,
            "maxLength": 128, "pattern": "^[^/\\x00]+$", "examples": ["nightly"] })
        }
        "path" => {
            json!({ "description": "The path of a file or directory, which may hold slashes as they are. What else it \
            holds is escaped.", "type": "string", "minLength": 1, "maxLength": FilePath::BYTES_MAX,
            "examples": ["notes.md"] })
        }
        "valueKey" => json!({ "description": "The key of a value, escaped: a slash in it is `%2F`.", "type": "string",
            "minLength": 1, "maxLength": ValueKey::BYTES_MAX, "examples": ["settings"] }),
        "name" => of::<EnvName>(),
        "area" => json!({ "description": "The name of an area, as `/docs` links to it.", "type": "string",
            "pattern": "^[^/]+$", "examples": ["threads"] }),
        "code" => json!({ "description": "The code of a problem.", "type": "string",
            "enum": ErrorCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>(),
            "examples": [ErrorCode::ThreadNotFound.as_str()] }),
        other => unreachable!("the part '{other}' of a path has no schema"),
    };
    let description = schema["description"].take();
    let example = schema["examples"][0].take();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
        schema.remove("examples");
    }
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema, "example": example })
}

fn query_parameters(mut schema: Value) -> Vec<Value> {
    let Some(properties) = schema["properties"].as_object_mut() else { return Vec::new() };
    let parameters = std::mem::take(properties).into_iter().map(|(name, mut schema)| {
        let mut description = Value::Null;
        if let Some(schema) = schema.as_object_mut() {
            description = schema.remove("description").unwrap_or_default();
            schema.remove("default");
        }
        let schema = without_null(schema);
        json!({ "name": name, "in": "query", "required": false, "description": description, "schema": schema })
    });
    parameters.collect()
}

/// A query has no null: parameters are left out instead.
fn without_null(mut schema: Value) -> Value {
    if let Some(any) = schema["anyOf"].as_array()
        && let [only, null] = any.as_slice()
        && null["type"] == "null"
    {
        return only.clone();
    }
    if let Some(kinds) = schema["type"].as_array_mut() {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(words) = schema["enum"].as_array_mut() {
        words.retain(|word| !word.is_null());
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    schema
}

fn header_parameter(header: Honours) -> Value {
    let (name, required, description, schema) = match header {
        Honours::Actor => (
            "Threadkeep-Actor",
            false,
            "The actor, if it is not the one of the key: `human NAME` or `agent NAME`. It needs an admin key.",
            json!({ "type": "string", "pattern": "^(human|agent) [!-$&-~]{1,255}$" }),
        ),
        Honours::IfMatch => (
            "If-Match",
            false,
            "The version that the thread has to be at, in quotes.",
            json!({ "type": "string", "pattern": "^(\"[0-9]{1,18}\"|[*])$" }),
        ),
        Honours::IfNoneMatch => (
            "If-None-Match",
            false,
            "The `ETag` that the client has already; or `*`, to write only if nothing exists at the path.",
            json!({ "type": "string" }),
        ),
        Honours::IdempotencyKey => (
            "Idempotency-Key",
            false,
            "Makes it safe to send the request again, within 24 hours.",
            json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" }),
        ),
        Honours::Writer => (
            "Threadkeep-Writer",
            false,
            "The token of the lease under which the caller writes.",
            json!({ "type": "string", "pattern": "^[0-7][0-9a-f]{15}$" }),
        ),
        Honours::WriterToken => (
            "Threadkeep-Writer",
            true,
            "The token of the lease.",
            json!({ "type": "string", "pattern": "^[0-7][0-9a-f]{15}$" }),
        ),
        Honours::LastEventId => (
            "Last-Event-ID",
            false,
            "The last `id:` that the client received. It takes precedence over `after`.",
            json!({ "type": "string", "pattern": "^[!-~]+$" }),
        ),
        Honours::Range => (
            "Range",
            false,
            "The part of the file that is wanted, such as `bytes=0-1023`, `bytes=1024-` or `bytes=-512`. Several parts are \
             answered with all of it. With `If-Range`, only if that is still the file's `ETag`.",
            json!({ "type": "string" }),
        ),
        Honours::Metadata => (
            "Threadkeep-Metadata",
            false,
            "Metadata of the file: a JSON object.",
            json!({ "type": "string", "contentMediaType": "application/json" }),
        ),
        Honours::IfValueMatch => (
            "If-Match",
            false,
            "The version that the value has to be at, in quotes; `\"0\"` if there must be none.",
            json!({ "type": "string", "pattern": "^\"[0-9]{1,18}\"$" }),
        ),
        Honours::IfNoValue => (
            "If-None-Match",
            false,
            "`*`: there must be no value under the key.",
            json!({ "type": "string", "const": "*" }),
        ),
    };
    let mut told =
        json!({ "name": name, "in": "header", "required": required, "description": description, "schema": schema });
    // Tools that make requests begin with these.
    let example = match header {
        Honours::Actor => Some(json!("agent reviewer")),
        Honours::IfMatch => Some(json!("*")),
        Honours::WriterToken => Some(json!("5e8d0c41a7b2936f")),
        Honours::Metadata => Some(json!("{\"source\":\"upload\"}")),
        Honours::IfNoneMatch
        | Honours::IdempotencyKey
        | Honours::Writer
        | Honours::LastEventId
        | Honours::Range
        | Honours::IfValueMatch
        | Honours::IfNoValue => None,
    };
    if let Some(example) = example {
        told["example"] = example;
    }
    told
}

fn request_body(body: Takes, example: Option<&'static str>, schemas: &mut Schemas) -> Value {
    match body {
        Takes::Json(of) => {
            let schema = schemas.request(of);
            let example: Value = example.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_else(|| json!({}));
            // A body without required fields may be left out altogether.
            let required = !accepts_nothing(&schema, schemas.requests.definitions());
            json!({
                "required": required,
                "content": { "application/json": { "schema": schema, "example": example } },
            })
        }
        Takes::Lines => json!({
            "required": true,
            "content": {
                "application/x-ndjson": { "schema": { "type": "string" } },
                "text/plain": { "schema": { "type": "string" } },
            },
        }),
        // An empty file has no body at all.
        Takes::Content => json!({
            "required": false,
            "description": "The content. Its `Content-Type` is kept; without one it is guessed.",
            "content": { ANY_MEDIA: { "schema": { "type": "string", "format": "binary" } } },
        }),
    }
}

/// Whether a schema accepts an empty object.
fn accepts_nothing(schema: &Value, definitions: &Map<String, Value>) -> bool {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        return definitions.get(name).is_some_and(|schema| accepts_nothing(schema, definitions));
    }
    if let Some(any) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return any.iter().any(|schema| accepts_nothing(schema, definitions));
    }
    schema["type"] == "object" && schema["required"].as_array().is_none_or(Vec::is_empty)
}

fn responses(operation: &Operation, schemas: &mut Schemas, problems: &mut Problems) -> Value {
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    for Gives { status, media, what, schema, versioned } in &operation.gives {
        let mut headers = json!({ "X-Request-Id": header("X-Request-Id") });
        if *versioned {
            headers["ETag"] = header("ETag");
        }
        let mut told = json!({ "description": what, "headers": headers });
        if let (Some(media), Some(of)) = (media, schema) {
            told["content"] = json!({ *media: { "schema": schemas.answer(*of) } });
        }
        match all.get_mut(&status.to_string()) {
            // The same status with another media type.
            Some(same) => {
                same["description"] = format!("{} {what}", same["description"].as_str().unwrap_or_default()).into();
                if let (Some(all), Some(more)) = (same["content"].as_object_mut(), told["content"].as_object()) {
                    all.extend(more.clone());
                }
            }
            None => drop(all.insert(status.to_string(), told)),
        }
    }
    for (status, codes) in &operation.fails {
        let name = problems.name(*status, codes);
        all.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }));
    }
    // A path whose last part is lost on the way, such as `.`, is another one.
    if operation.parameters().next().is_some() && !operation.fails.contains_key(&404) {
        let name = problems.name(404, &BTreeSet::from([ErrorCode::RouteNotFound]));
        all.insert("404".to_owned(), json!({ "$ref": format!("#/components/responses/{name}") }));
    }
    json!(all)
}

/// The answers that tell of problems, each once: a status, and the codes with which it comes.
#[derive(Default)]
struct Problems(BTreeMap<String, Value>);

impl Problems {
    /// The name under which the document has it, such as `404.thread_not_found`.
    fn name(&mut self, status: u16, codes: &BTreeSet<ErrorCode>) -> String {
        let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let name = format!("{status}.{}", codes.join("."));
        self.0.entry(name.clone()).or_insert_with(|| problem(status, &codes));
        name
    }
}

fn problem(status: u16, codes: &[&str]) -> Value {
    let listed: Vec<String> = codes.iter().map(|code| format!("[`{code}`](/docs/errors/{code})")).collect();
    let mut headers = json!({ "X-Request-Id": header("X-Request-Id") });
    if matches!(status, 429 | 503) {
        headers["Retry-After"] = header("Retry-After");
    }
    if status == 401 {
        headers["WWW-Authenticate"] = header("WWW-Authenticate");
    }
    json!({
        "description": listed.join(", "),
        "headers": headers,
        "content": { "application/problem+json": { "schema": {
            "allOf": [{ "$ref": "#/components/schemas/Problem" }],
            "properties": { "status": { "const": status }, "code": { "enum": codes } },
        } } },
    })
}

fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}
