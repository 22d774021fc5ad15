//! The reference: every route of the OpenAPI document, with its parameters, bodies, answers and a call with curl.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::html::{self, escaped, sentence};
use crate::table::ANY_MEDIA;

/// How deep the fields of a body are shown.
const DEPTH_MAX: usize = 4;

/// The page.
pub(crate) fn page(document: &Value) -> String {
    let (mut navigation, mut content) = (String::from("<nav>\n"), String::new());
    let info = sentence(text(&document["info"]["description"]));
    let _ = write!(content, "<h1>Threadkeep {}</h1>\n<p>{info}</p>\n", escaped(text(&document["info"]["version"])));
    content.push_str(
        "<p>Set <code>URL</code> and <code>KEY</code> to what <code>threadkeep serve</code> printed, and the calls below \
         work as they stand.</p>\n",
    );
    for tag in array(&document["tags"]) {
        let name = text(&tag["name"]);
        let (shown, about) = (escaped(name), sentence(text(&tag["description"])));
        let _ = writeln!(navigation, "<strong>{shown}</strong>\n<ul>");
        let _ = writeln!(content, "<section>\n<h2>{shown}</h2>\n<p>{about}</p>");
        for (path, method, operation) in operations(document) {
            if operation["tags"][0] == name {
                let id = escaped(text(&operation["operationId"]));
                let _ = writeln!(navigation, "<li><a href=\"#{id}\">{}</a></li>", escaped(&spaced(&id)));
                content.push_str(&told(document, path, method, operation));
            }
        }
        navigation.push_str("</ul>\n");
        content.push_str("</section>\n");
    }
    navigation
        .push_str("<strong>Shapes</strong>\n<ul><li><a href=\"#Content\">content of a message</a></li></ul>\n</nav>\n");
    let parts = &document["components"]["schemas"]["Content"];
    let _ = writeln!(
        content,
        "<section id=\"Content\">\n<h2>Content of a message</h2>\n<p>A string, or a list of parts:</p>"
    );
    for part in array(&parts["anyOf"][1]["items"]["oneOf"]) {
        let _ = writeln!(content, "<p>{}</p>", sentence(text(&part["description"])));
        fields(document, part, &mut content);
    }
    content.push_str("</section>\n");
    html::page("Threadkeep over HTTP", &navigation, &content)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// `listThreads` as `list threads`.
fn spaced(id: &str) -> String {
    let mut words = String::new();
    for letter in id.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

fn told(document: &Value, path: &str, method: &str, operation: &Value) -> String {
    let id = escaped(text(&operation["operationId"]));
    let scope = match text(&operation["x-threadkeep-scope"]) {
        "none" => "no key".to_owned(),
        "public" => "read key, or none if public".to_owned(),
        scope => format!("{scope} key"),
    };
    let mut html = String::new();
    let (shown_method, shown_path) = (method.to_ascii_uppercase(), escaped(path));
    let _ = write!(
        html,
        "<article id=\"{id}\">\n<h3><span class=\"scope\">{scope}</span><code><span class=\"method\">{shown_method}</span> \
         {shown_path}</code></h3>\n<p>{}</p>\n",
        sentence(text(&operation["summary"]))
    );
    let parameters = array(&operation["parameters"]);
    if !parameters.is_empty() {
        html.push_str("<h4>Parameters</h4>\n<table>\n");
        for parameter in parameters {
            let name = escaped(text(&parameter["name"]));
            let must = if parameter["required"] == true { "" } else { ", optional" };
            let (place, kind) = (escaped(text(&parameter["in"])), kind(document, &parameter["schema"]));
            let about = sentence(text(&parameter["description"]));
            let _ = writeln!(
                html,
                "<tr><td><code>{name}</code></td><td>{place}{must}</td><td>{kind}</td><td>{about}</td></tr>"
            );
        }
        html.push_str("</table>\n");
    }
    if let Some((media, body)) = content(&operation["requestBody"]["content"]) {
        let must = if operation["requestBody"]["required"] == true { "" } else { " (may be left out)" };
        let _ = writeln!(html, "<h4>Body{must}</h4>\n<p><code>{}</code></p>", escaped(media));
        fields(document, &body["schema"], &mut html);
    }
    html.push_str("<h4>Answers</h4>\n<table>\n");
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let answer = resolved(document, answer);
        let kind = content(&answer["content"]).map_or(String::new(), |(_, body)| {
            if text(&body["schema"]["allOf"][0]["$ref"]).ends_with("/Problem") {
                return "problem".to_owned();
            }
            kind(document, &body["schema"])
        });
        let about = sentence(text(&answer["description"]));
        let _ = writeln!(html, "<tr><td>{}</td><td>{kind}</td><td>{about}</td></tr>", escaped(status));
    }
    html.push_str("</table>\n");
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        if status.starts_with('2')
            && let Some(body) = answer["content"].get("application/json")
        {
            html.push_str("<details><summary>Fields of the answer</summary>\n");
            fields(document, &body["schema"], &mut html);
            html.push_str("</details>\n");
        }
    }
    let _ = write!(html, "<pre>{}</pre>\n</article>\n", escaped(&curl(path, method, operation)));
    html
}

fn content(content: &Value) -> Option<(&str, &Value)> {
    content.as_object()?.iter().next().map(|(media, body)| (media.as_str(), body))
}

/// The target of a `$ref`.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match text(&schema["$ref"]).strip_prefix("#") {
        Some(pointer) => document.pointer(pointer).unwrap_or(schema),
        None => schema,
    }
}

/// The shapes that a schema allows.
fn shapes<'a>(document: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolved(document, schema);
    let any = array(&schema["anyOf"]).iter().chain(array(&schema["oneOf"]));
    let any: Vec<&Value> = any.flat_map(|schema| shapes(document, schema)).collect();
    if any.is_empty() { vec![schema] } else { any }
}

/// A schema in a few words.
fn kind(document: &Value, schema: &Value) -> String {
    if let Some(name) = text(&schema["$ref"]).rsplit('/').next().filter(|name| !name.is_empty()) {
        if name == "Content" {
            return "string or list of <a href=\"#Content\">parts</a>".to_owned();
        }
        let is_short = resolved(document, schema)["properties"].is_null();
        let inner = if is_short { kind(document, resolved(document, schema)) } else { String::new() };
        return if inner.is_empty() { escaped(name) } else { inner };
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

/// The fields of an object, or of each shape that it can take.
fn fields(document: &Value, schema: &Value, html: &mut String) {
    let shapes: Vec<&Value> =
        shapes(document, schema).into_iter().filter(|shape| shape["properties"].is_object()).collect();
    for (place, shape) in shapes.iter().enumerate() {
        if place > 0 {
            html.push_str("<p>or</p>\n");
        }
        html.push_str("<table>\n");
        rows(document, shape, "", 0, html);
        html.push_str("</table>\n");
    }
    if shapes.is_empty() {
        let _ = writeln!(html, "<p>{}</p>", kind(document, schema));
    }
}

fn rows(document: &Value, shape: &Value, before: &str, depth: usize, html: &mut String) {
    let none = Map::new();
    for (name, schema) in shape["properties"].as_object().unwrap_or(&none) {
        let name = format!("{before}{name}");
        let last = name.rsplit('.').next().unwrap_or_default();
        let must = if array(&shape["required"]).iter().any(|required| required == last) { "" } else { "optional" };
        let about = [schema, resolved(document, schema)].into_iter().map(|schema| text(&schema["description"]));
        let about = about.into_iter().find(|about| !about.is_empty()).unwrap_or_default();
        let _ = writeln!(
            html,
            "<tr><td><code>{}</code></td><td>{must}</td><td>{}</td><td>{}</td></tr>",
            escaped(&name),
            kind(document, schema),
            sentence(about)
        );
        let mut inner = shapes(document, schema);
        let mut path = format!("{name}.");
        if let [list] = inner.as_slice()
            && list["items"].is_object()
        {
            (inner, path) = (shapes(document, &list["items"]), format!("{name}[]."));
        }
        inner.retain(|shape| shape["type"] != "null");
        if let [only] = inner.as_slice()
            && depth < DEPTH_MAX
            && only["properties"].is_object()
        {
            rows(document, only, &path, depth + 1, html);
        }
    }
}

/// A command that works when it is pasted.
fn curl(path: &str, method: &str, operation: &Value) -> String {
    let mut path = path.to_owned();
    let mut call = String::from("curl");
    if method != "get" {
        let _ = write!(call, " -X {}", method.to_ascii_uppercase());
    }
    if operation["x-threadkeep-scope"] != "none" {
        call.push_str(" -H \"Authorization: Bearer $KEY\"");
    }
    for parameter in array(&operation["parameters"]) {
        let (name, example) = (text(&parameter["name"]), shown(&parameter["example"]));
        match text(&parameter["in"]) {
            "path" => path = path.replace(&format!("{{{name}}}"), &example),
            "header" if parameter["required"] == true => {
                let _ = write!(call, " -H '{name}: {example}'");
            }
            _ => {}
        }
    }
    if let Some((media, body)) = content(&operation["requestBody"]["content"]) {
        let media = if media == ANY_MEDIA { "text/markdown" } else { media };
        let _ = write!(call, " \\\n  -H 'Content-Type: {media}'");
        match &body["example"] {
            Value::Null if media == "text/markdown" => call.push_str(" --data-binary @notes.md"),
            Value::Null => call.push_str(" --data-binary @export.jsonl"),
            example => {
                let _ = write!(call, " -d '{}'", example.to_string().replace('\'', r"'\''"));
            }
        }
    }
    let quiet = if path.ends_with("/stream") { " -N" } else { "" };
    let query = if operation["operationId"] == "streamThreads" { "?projectId=website" } else { "" };
    let _ = write!(call, "{quiet} \"$URL{path}{query}\"");
    call
}
