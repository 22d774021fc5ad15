//! The reference, made from the OpenAPI document: an index, and a page for each area with its calls.
//!
//! A page shows each call with its parameters, its errors, a command and a real answer, and at its end the objects that
//! its calls take and give.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::examples;
use super::html::{self, escaped, sentence};

/// How deep the fields of an unnamed object are shown.
const DEPTH_MAX: usize = 4;

/// A method, a path, and the description of its call.
type Call<'a> = (&'a str, &'a str, &'a Value);

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn content(content: &Value) -> Option<(&str, &Value)> {
    content.as_object()?.iter().next().map(|(media, body)| (media.as_str(), body))
}

/// The name of an area in the path of its page.
pub(super) fn slug(tag: &str) -> String {
    tag.to_ascii_lowercase().replace(' ', "-")
}

pub(super) fn calls_of<'a>(document: &'a Value, tag: &str) -> Vec<Call<'a>> {
    operations(document).filter(|(_, _, operation)| operation["tags"][0] == tag).collect()
}

fn operations(document: &Value) -> impl Iterator<Item = Call<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    })
}

/// Answers that a server really gave, by the names of the calls. The test that walks the pages writes them.
fn answers() -> &'static BTreeMap<String, String> {
    static ANSWERS: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    ANSWERS.get_or_init(|| {
        let golden = include_str!("../../../../../../spec/docs/answers.json");
        serde_json::from_str(golden).expect("spec/docs/answers.json holds a text for each call")
    })
}

fn navigation(document: &Value) -> String {
    let mut html = String::from("<nav>\n<ul>\n");
    for tag in array(&document["tags"]) {
        let name = text(&tag["name"]);
        let _ = writeln!(html, "<li><a href=\"/docs/{}\">{}</a></li>", slug(name), escaped(name));
    }
    html + "</ul>\n</nav>\n"
}

/// The table of areas, how to begin, and all that holds for every call.
pub(super) fn index(document: &Value) -> String {
    let info = sentence(text(&document["info"]["description"]));
    let version = escaped(text(&document["info"]["version"]));
    let mut html = format!(
        "<h1>Threadkeep {version}</h1>\n<p>{info}</p>\n<p>For programs: <a href=\"/openapi.json\">/openapi.json</a>. For \
         agents: <a href=\"/llms.txt\">/llms.txt</a>.</p>\n<section>\n<h2>Calls</h2>\n<table>\n<thead><tr><th>Area</th>\
         <th>Purpose</th><th>Calls</th></tr></thead>\n"
    );
    for tag in array(&document["tags"]) {
        let (name, about) = (text(&tag["name"]), sentence(text(&tag["description"])));
        let (slug, count) = (slug(name), calls_of(document, name).len());
        let _ = writeln!(
            html,
            "<tr><td><a href=\"/docs/{slug}\">{}</a></td><td>{about}</td><td>{count}</td></tr>",
            escaped(name)
        );
    }
    html.push_str("</table>\n</section>\n");
    let first: Vec<String> = ["createThread", "appendMessages", "listMessages"]
        .iter()
        .filter_map(|id| operations(document).find(|(_, _, operation)| operation["operationId"] == *id))
        .map(|(method, path, operation)| examples::call(path, method, operation))
        .collect();
    let _ = writeln!(
        html,
        "<section>\n<h2>The first call</h2>\n<p>Paste this into a shell. In the folder that holds \
         <code>threadkeep-data</code> it finds the local key; elsewhere, set <code>KEY</code> first. Every page begins \
         with such a block, and its calls work after it.</p>\n<pre class=\"setup\">{}</pre>",
        escaped(&examples::setup(&first))
    );
    for call in &first {
        let _ = writeln!(html, "<pre class=\"call\">{}</pre>", escaped(call));
    }
    html.push_str("</section>\n<section id=\"headers\">\n<h2>Headers</h2>\n<p>Each call names the headers that it honours. \
                   It refuses a condition that it does not honour.</p>\n<table>\n<thead><tr><th>Header</th><th>Meaning</th>\
                   </tr></thead>\n");
    let mut seen = BTreeSet::new();
    for (_, _, operation) in operations(document) {
        for header in array(&operation["parameters"]).iter().filter(|parameter| parameter["in"] == "header") {
            let (name, about) = (text(&header["name"]), text(&header["description"]));
            if seen.insert((name, about)) {
                let _ = writeln!(html, "<tr><td><code>{}</code></td><td>{}</td></tr>", escaped(name), sentence(about));
            }
        }
    }
    let _ = writeln!(
        html,
        "</table>\n</section>\n<section id=\"errors\">\n<h2>Errors</h2>\n<p>A call that takes a key can answer with \
         {}. Each call lists its other errors. <a href=\"/docs/errors\">All errors</a> have a page.</p>\n</section>",
        codes(&common(document))
    );
    html::page("Threadkeep over HTTP", &navigation(document), &html)
}

/// The page of an area, with its calls.
pub(super) fn area(document: &Value, tag: &Value) -> String {
    let name = text(&tag["name"]);
    let calls = calls_of(document, name);
    let mut html = format!("<h1>{}</h1>\n<p>{}</p>\n", escaped(name), sentence(text(&tag["description"])));
    html.push_str("<table>\n<thead><tr><th>Call</th><th>Purpose</th></tr></thead>\n");
    for (method, path, operation) in &calls {
        let (id, about) = (escaped(text(&operation["operationId"])), sentence(text(&operation["summary"])));
        let (method, path) = (method.to_ascii_uppercase(), escaped(path));
        let _ = writeln!(html, "<tr><td><a href=\"#{id}\"><code>{method} {path}</code></a></td><td>{about}</td></tr>");
    }
    let commands: Vec<String> =
        calls.iter().map(|(method, path, operation)| examples::call(path, method, operation)).collect();
    let _ = writeln!(
        html,
        "</table>\n<section>\n<h2>First</h2>\n<p>Paste this into a shell. The calls below then work as they are. In the \
         folder that holds <code>threadkeep-data</code> it finds the local key; elsewhere, set <code>KEY</code> \
         first.</p>\n<pre class=\"setup\">{}</pre>\n</section>",
        escaped(&examples::setup(&commands))
    );
    let common = common(document);
    for ((method, path, operation), command) in calls.iter().zip(&commands) {
        html.push_str(&told(document, method, path, operation, command, &common));
    }
    let mut named = BTreeSet::new();
    for (_, _, operation) in &calls {
        reached(document, &operation["requestBody"], &mut named);
        reached(document, &operation["parameters"], &mut named);
        for (_, answer) in operation["responses"].as_object().into_iter().flatten() {
            reached(document, &answer["content"], &mut named);
        }
    }
    if !named.is_empty() {
        html.push_str("<section id=\"objects\">\n<h2>Objects</h2>\n");
        for name in named {
            let schema = &document["components"]["schemas"][name];
            let about = sentence(text(&schema["description"]));
            let _ = writeln!(html, "<article id=\"object-{name}\">\n<h3>{name}</h3>\n<p>{about}</p>");
            fields(document, schema, &mut html);
            html.push_str("</article>\n");
        }
        html.push_str("</section>\n");
    }
    html::page(&format!("{name} · Threadkeep"), &navigation(document), &html)
}

/// The errors of a call, each with its status.
fn errors(document: &Value, operation: &Value) -> BTreeSet<(String, String)> {
    let mut errors = BTreeSet::new();
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let problem = &resolved(document, answer)["content"]["application/problem+json"]["schema"];
        for code in array(&problem["properties"]["code"]["enum"]) {
            errors.insert((status.clone(), text(code).to_owned()));
        }
    }
    errors
}

/// The errors that every call with a key has.
fn common(document: &Value) -> BTreeSet<(String, String)> {
    let with_key = operations(document).filter(|(_, _, operation)| operation["x-threadkeep-scope"] != "none");
    let all = with_key.map(|(_, _, operation)| errors(document, operation));
    all.reduce(|common, more| common.intersection(&more).cloned().collect()).unwrap_or_default()
}

fn codes(errors: &BTreeSet<(String, String)>) -> String {
    let links = errors.iter().map(|(status, code)| {
        let (status, code) = (escaped(status), escaped(code));
        format!("{status}&nbsp;<a href=\"/docs/errors/{code}\"><code>{code}</code></a>")
    });
    links.collect::<Vec<_>>().join(", ")
}

fn told(
    document: &Value,
    method: &str,
    path: &str,
    operation: &Value,
    command: &str,
    common: &BTreeSet<(String, String)>,
) -> String {
    let id = text(&operation["operationId"]);
    let scope = match text(&operation["x-threadkeep-scope"]) {
        "none" => "no key".to_owned(),
        "public" => "read key, or none if public".to_owned(),
        scope => format!("{scope} key"),
    };
    let mut html = format!(
        "<article id=\"{}\">\n<h2><code><span class=\"method\">{}</span> {}</code></h2>\n<p class=\"scope\">{scope}</p>\n\
         <p>{}</p>\n<pre class=\"call\">{}</pre>\n",
        escaped(id),
        method.to_ascii_uppercase(),
        escaped(path),
        sentence(text(&operation["summary"])),
        escaped(command),
    );
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let answer = resolved(document, answer);
        if content(&answer["content"]).is_some_and(|(media, _)| media == "application/problem+json") {
            continue;
        }
        let kind = content(&answer["content"]).map_or(String::new(), |(media, body)| match media {
            "application/json" => format!(" ({})", kind(document, &body["schema"])),
            media => format!(" (<code>{}</code>)", escaped(media)),
        });
        let _ = writeln!(html, "<p><strong>{status}</strong>{kind}: {}</p>", sentence(text(&answer["description"])));
    }
    if let Some(answer) = answers().get(id) {
        let _ = writeln!(html, "<details><summary>Answer</summary><pre>{}</pre></details>", escaped(answer));
    }
    let (headers, others): (Vec<&Value>, Vec<&Value>) =
        array(&operation["parameters"]).iter().partition(|parameter| parameter["in"] == "header");
    if !others.is_empty() {
        html.push_str("<h3>Parameters</h3>\n");
        html.push_str(HEAD);
        for parameter in others {
            let place = text(&parameter["in"]);
            let must = if parameter["required"] == true { place.to_owned() } else { format!("{place}, optional") };
            let schema = &parameter["schema"];
            row(document, text(&parameter["name"]), &must, schema, text(&parameter["description"]), &mut html);
        }
        html.push_str("</table>\n");
    }
    if let Some((media, body)) = content(&operation["requestBody"]["content"]) {
        let must = if operation["requestBody"]["required"] == true { "" } else { ", optional" };
        let _ = writeln!(html, "<h3>Body</h3>\n<p><code>{}</code>{must}</p>", escaped(media));
        if media == "application/json" {
            fields(document, &body["schema"], &mut html);
        }
    }
    if !headers.is_empty() {
        let names = headers.iter().map(|header| format!("<code>{}</code>", escaped(text(&header["name"]))));
        let names = names.collect::<Vec<_>>().join(", ");
        let _ = writeln!(html, "<p>Headers (<a href=\"/docs#headers\">meaning</a>): {names}.</p>");
    }
    let own: BTreeSet<_> = errors(document, operation).difference(common).cloned().collect();
    if !own.is_empty() {
        let _ = writeln!(html, "<p>Errors beside <a href=\"/docs#errors\">the usual ones</a>: {}.</p>", codes(&own));
    }
    html + "</article>\n"
}

/// The target of a `$ref`.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match text(&schema["$ref"]).strip_prefix("#") {
        Some(pointer) => document.pointer(pointer).unwrap_or(schema),
        None => schema,
    }
}

/// The name of the object that a schema refers to. A name for a plain value, such as an id, is none.
fn object<'a>(document: &'a Value, schema: &'a Value) -> Option<&'a str> {
    let name = text(&schema["$ref"]).strip_prefix("#/components/schemas/")?;
    (!objects(document, schema).is_empty()).then_some(name)
}

/// The names of all objects that can be reached from here.
fn reached<'a>(document: &'a Value, schema: &'a Value, names: &mut BTreeSet<&'a str>) {
    if let Some(name) = object(document, schema)
        && !names.insert(name)
    {
        return;
    }
    match resolved(document, schema) {
        Value::Object(parts) => parts.values().for_each(|part| reached(document, part, names)),
        Value::Array(parts) => parts.iter().for_each(|part| reached(document, part, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The objects that a schema allows, also as items of a list.
fn objects<'a>(document: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolved(document, schema);
    if schema["properties"].is_object() {
        return vec![schema];
    }
    let any = array(&schema["anyOf"]).iter().chain(array(&schema["oneOf"]));
    any.chain(schema.get("items")).flat_map(|schema| objects(document, schema)).collect()
}

/// A schema in a few words.
fn kind(document: &Value, schema: &Value) -> String {
    if let Some(name) = object(document, schema) {
        return format!("<a href=\"#object-{name}\">{name}</a>");
    }
    if schema["$ref"].is_string() {
        return kind(document, resolved(document, schema));
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> =
            values.iter().map(|value| format!("<code>{}</code>", escaped(&shown(value)))).collect();
        return values.join(", ");
    }
    if !schema["const"].is_null() {
        return format!("<code>{}</code>", escaped(&shown(&schema["const"])));
    }
    let any: Vec<&Value> = array(&schema["anyOf"]).iter().chain(array(&schema["oneOf"])).collect();
    if !any.is_empty() {
        let mut kinds: Vec<String> = any.into_iter().map(|schema| kind(document, schema)).collect();
        kinds.retain(|kind| !kind.is_empty());
        kinds.dedup();
        return kinds.join(" or ");
    }
    let mut words = match &schema["type"] {
        Value::String(one) => escaped(one),
        Value::Array(several) => several.iter().map(|one| escaped(text(one))).collect::<Vec<_>>().join(" or "),
        _ => "any JSON".to_owned(),
    };
    if schema["type"] == "array" {
        words = format!("list of {}", kind(document, &schema["items"]));
    }
    for (name, before) in
        [("minimum", "from "), ("maximum", "to "), ("maxLength", "at most "), ("maxItems", "at most ")]
    {
        match &schema[name] {
            Value::Number(number) if number.as_u64().is_some_and(|number| number < u64::from(u32::MAX)) => {
                let _ = write!(words, ", {before}{number}");
            }
            _ => {}
        }
    }
    words
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

const HEAD: &str =
    "<table class=\"fields\">\n<thead><tr><th>Name</th><th>Needed</th><th>Type</th><th>Meaning</th></tr></thead>\n";

fn row(document: &Value, name: &str, must: &str, schema: &Value, about: &str, html: &mut String) {
    let (name, kind, about) = (escaped(name), kind(document, schema), sentence(about));
    let _ = writeln!(html, "<tr><td><code>{name}</code></td><td>{must}</td><td>{kind}</td><td>{about}</td></tr>");
}

/// The fields of an object, or of each object that a schema allows.
fn fields(document: &Value, schema: &Value, html: &mut String) {
    let objects = objects(document, schema);
    for (place, shape) in objects.iter().enumerate() {
        if place > 0 {
            html.push_str("<p>or</p>\n");
        }
        if objects.len() > 1 {
            let _ = writeln!(html, "<p>{}</p>", sentence(text(&shape["description"])));
        }
        html.push_str(HEAD);
        rows(document, shape, "", 0, html);
        html.push_str("</table>\n");
    }
    if objects.is_empty() {
        let _ = writeln!(html, "<p>{}</p>", kind(document, schema));
    }
}

fn rows(document: &Value, shape: &Value, before: &str, depth: usize, html: &mut String) {
    let none = Map::new();
    for (field, schema) in shape["properties"].as_object().unwrap_or(&none) {
        let name = format!("{before}{field}");
        let is_required = array(&shape["required"]).iter().any(|required| required == field);
        let must = if is_required { "required" } else { "optional" };
        let about = [schema, resolved(document, schema)].into_iter().map(|schema| text(&schema["description"]));
        let about = about.into_iter().find(|about| !about.is_empty()).unwrap_or_default();
        row(document, &name, must, schema, about, html);
        // Objects without a name are shown where they are.
        let inner = if schema["items"].is_object() { &schema["items"] } else { schema };
        if inner["properties"].is_object() && depth < DEPTH_MAX {
            let list = if schema["items"].is_object() { "[]" } else { "" };
            rows(document, inner, &format!("{name}{list}."), depth + 1, html);
        }
    }
}
