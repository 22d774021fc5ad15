//! The schema of a tool's arguments: one flat object, printed from the parameters of its call.
//!
//! Some hosts drop tools whose schemas have `$ref`, or `oneOf` at the top, and every word costs the agent context. So
//! references are replaced by what they name, shapes are joined into one object, and rules that the server checks anyway
//! (patterns, lengths) are left out. Arguments that the schema does not show are still accepted by the call.

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use threadkeep_calls as calls;
use threadkeep_calls::{Call, Declaration};

/// Most items of a page, and how many there are unless the agent says otherwise.
pub(crate) const PAGE_MAX: u64 = 20;
/// Fields that a program sets and an agent has no use for. They are accepted, and not shown.
const UNSEEN: [&str; 20] = [
    "agentMode",
    "attachments",
    "autoSubmitDraft",
    "breadth",
    "choices",
    "createdAt",
    "depth",
    "draft",
    "env",
    "from",
    "idPrefix",
    "ifVersion",
    "maxDepth",
    "maxTokens",
    "offset",
    "parentId",
    "silent",
    "status",
    "total",
    "userId",
];
/// How deep objects are described within each other.
const DEPTH_MAX: usize = 3;

macro_rules! schemas {
    ($($call:ident => $answer:ty;)*) => {
        /// The schema of a call's parameters, as its type describes them.
        fn raw(name: &str) -> Value {
            $(if name == calls::$call::DECLARATION.name {
                return generated::<calls::$call>();
            })*
            Value::Null
        }
    };
}

calls::for_each_call!(schemas);

fn generated<C: Call>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<C>().to_value()
}

/// The flat schema of a call's arguments.
pub(crate) fn of(declaration: &Declaration) -> JsonObject {
    let flat = flat(&raw(declaration.name), 0);
    let mut properties = Map::new();
    let mut required = Vec::new();
    if declaration.names_thread() {
        properties.insert("thread".to_owned(), thread());
        required.push(Value::from("thread"));
    }
    let is_required =
        |name: &str| flat["required"].as_array().is_some_and(|required| required.iter().any(|it| it == name));
    for (name, property) in flat["properties"].as_object().into_iter().flatten() {
        if !UNSEEN.contains(&name.as_str()) || is_required(name) {
            properties.insert(name.clone(), property.clone());
        }
    }
    if let Some(limit) = properties.get_mut("limit") {
        *limit = json!({ "type": "integer", "description": format!("At most {PAGE_MAX}.") });
    }
    if declaration.honours.expected {
        let about = "Only if the thread is at this version.";
        properties.insert("expectedVersion".to_owned(), json!({ "type": "integer", "description": about }));
    }
    required.extend(flat["required"].as_array().into_iter().flatten().cloned());
    object(properties, required)
}

/// The argument that names a thread.
pub(crate) fn thread() -> Value {
    json!({ "type": "string", "description": "Thread id, T-…" })
}

/// The schema of an object.
pub(crate) fn object(properties: Map<String, Value>, required: Vec<Value>) -> JsonObject {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// A schema without references and unions.
fn flat(schema: &Value, depth: usize) -> Value {
    for union in ["anyOf", "oneOf"] {
        if let Some(variants) = schema[union].as_array() {
            return described(joined(variants, depth), schema);
        }
    }
    if let Some(word) = schema.get("const") {
        return described(json!({ "type": kind(word), "enum": [word] }), schema);
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect(),
        _ if schema["enum"].is_array() => vec!["string"],
        _ if schema["properties"].is_object() => vec!["object"],
        // Any JSON, or a type within itself.
        _ => return described(json!({}), schema),
    };
    let mut told = Map::new();
    told.insert("type".to_owned(), if let [kind] = kinds[..] { kind.into() } else { kinds.clone().into() });
    if let Some(words) = schema["enum"].as_array() {
        told.insert("enum".to_owned(), words.iter().filter(|word| !word.is_null()).cloned().collect());
    }
    if kinds.contains(&"array") {
        told.insert("items".to_owned(), flat(&schema["items"], depth + 1));
    }
    let properties = schema["properties"].as_object().filter(|properties| !properties.is_empty());
    if let Some(properties) = properties.filter(|_| depth < DEPTH_MAX) {
        let seen = properties.iter().filter(|(name, _)| depth == 0 || !UNSEEN.contains(&name.as_str()));
        let seen: Map<String, Value> = seen.map(|(name, property)| (name.clone(), flat(property, depth + 1))).collect();
        told.insert("properties".to_owned(), seen.into());
        if let Some(required) = schema.get("required") {
            told.insert("required".to_owned(), required.clone());
        }
    }
    described(Value::Object(told), schema)
}

/// The variants of a union as one schema: words as one list, objects as one object, else every kind that occurs.
fn joined(variants: &[Value], depth: usize) -> Value {
    let variants: Vec<Value> =
        variants.iter().filter(|variant| variant["type"] != "null").map(|variant| flat(variant, depth)).collect();
    if let [only] = &variants[..] {
        return only.clone();
    }
    if variants.iter().all(|variant| variant["enum"].is_array()) {
        let words: Vec<Value> =
            variants.iter().flat_map(|variant| variant["enum"].as_array().into_iter().flatten().cloned()).collect();
        return json!({ "type": "string", "enum": words });
    }
    if variants.iter().all(|variant| variant["type"] == "object") {
        return merged(&variants);
    }
    let mut kinds: Vec<Value> = Vec::new();
    let mut items = None;
    for variant in &variants {
        match &variant["type"] {
            Value::String(_) if !kinds.contains(&variant["type"]) => kinds.push(variant["type"].clone()),
            Value::Array(several) => kinds.extend(several.iter().cloned()),
            _ => {}
        }
        items = items.or_else(|| variant.get("items").cloned());
    }
    let mut told = json!({});
    if !kinds.is_empty() {
        told["type"] = if let [kind] = &kinds[..] { kind.clone() } else { kinds.into() };
    }
    if items.is_some() {
        // Hosts ask for the items of every list; the parts of a message differ too much to be told in a few words.
        told["items"] = json!({ "type": "object" });
    }
    told
}

/// Objects as one: every field of any, and as required what all of them require.
fn merged(variants: &[Value]) -> Value {
    let mut properties = Map::new();
    for variant in variants {
        for (name, property) in variant["properties"].as_object().into_iter().flatten() {
            properties.entry(name.clone()).or_insert_with(|| property.clone());
        }
    }
    let requires =
        |variant: &Value, name: &Value| variant["required"].as_array().is_some_and(|required| required.contains(name));
    let first = variants.first().and_then(|variant| variant["required"].as_array());
    let required: Vec<Value> = first
        .into_iter()
        .flatten()
        .filter(|name| variants.iter().all(|variant| requires(variant, name)))
        .cloned()
        .collect();
    let mut told = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        told["required"] = required.into();
    }
    told
}

/// The same with the description of `schema`, if it has one.
fn described(mut told: Value, schema: &Value) -> Value {
    if let (Some(about), Some(told)) = (schema["description"].as_str(), told.as_object_mut()) {
        told.insert("description".to_owned(), about.replace('\n', " ").into());
    }
    told
}

fn kind(word: &Value) -> &'static str {
    match word {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => "string",
    }
}
