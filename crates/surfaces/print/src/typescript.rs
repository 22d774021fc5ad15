//! TypeScript: types from schemas, and a class of methods for each room.

use std::fmt::Write as _;

use serde_json::Value;

use crate::words::{capital, wrapped};
use crate::{Call, Parameter, rooms};

const HEAD: &str = "// Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print\n\n";
/// Characters of a line of a comment.
const WIDTH: usize = 110;

/// The file with all types.
pub fn types(document: &Value) -> String {
    let mut out = HEAD.to_owned();
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        comment(&mut out, "", schema["description"].as_str().unwrap_or_default());
        let _ = writeln!(out, "export type {name} = {};\n", of(schema, ""));
    }
    out
}

/// The file with all methods and their facts.
pub fn methods(calls: &[Call<'_>]) -> String {
    let mut out = HEAD.to_owned();
    out.push_str(
        "import type * as t from \"./types.js\";\nimport type { Facts, Options, Paged, Way } from \"../way.js\";\n\n",
    );
    out.push_str("/** What a client has to know of each call. */\nexport const facts = {\n");
    for call in calls {
        let query: Vec<String> = call.query.iter().map(|parameter| quoted(parameter.name)).collect();
        let honours: Vec<String> = call.honours.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(
            out,
            "  {}: {{ id: {}, method: {}, path: {}, query: [{}], body: {}, repeats: {}, honours: [{}] }},",
            call.id,
            quoted(call.id),
            quoted(&call.verb),
            quoted(call.path),
            query.join(", "),
            call.body.is_some(),
            call.repeats,
            honours.join(", "),
        );
    }
    out.push_str("} as const satisfies Record<string, Facts>;\n");
    for room in rooms(calls) {
        let _ = write!(out, "\n/** The calls of `{room}`. */\nexport class {}Calls {{\n", capital(room));
        out.push_str("  constructor(protected readonly way: Way) {}\n");
        for call in calls.iter().filter(|call| call.room == room) {
            method(&mut out, call);
        }
        out.push_str("}\n");
    }
    out
}

fn method(out: &mut String, call: &Call<'_>) {
    out.push('\n');
    comment(out, "  ", call.about);
    let mut parameters: Vec<String> =
        call.path_parameters.iter().map(|parameter| format!("{}: string", parameter.name)).collect();
    let given = match call.body {
        Some(body) if call.body_required => Some((format!("params: {}", typed(body)), "params")),
        Some(body) => Some((format!("params: {} = {{}}", typed(body)), "params")),
        None if call.query.is_empty() => None,
        None => {
            let default = if call.query.iter().any(|parameter| parameter.required) { "" } else { " = {}" };
            Some((format!("params: {}{default}", query(&call.query)), "params"))
        }
    };
    if let Some((declared, _)) = &given {
        parameters.push(declared.clone());
    }
    let options: Vec<String> = call.honours.iter().map(|name| quoted(name)).collect();
    let options = if options.is_empty() { "never".to_owned() } else { options.join(" | ") };
    parameters.push(format!("options?: Options<{options}>"));
    let path: Vec<&str> = call.path_parameters.iter().map(|parameter| parameter.name).collect();
    let sent = given.map_or("undefined", |(_, name)| name);
    let (kind, way) = match (call.item, call.answer) {
        (Some(item), _) => (format!("Paged<{}>", typed(item)), "pages"),
        (None, Some(answer)) => (format!("Promise<{}>", typed(answer)), "call"),
        (None, None) => ("Promise<void>".to_owned(), "call"),
    };
    let _ = writeln!(out, "  {}({}): {kind} {{", call.method_name, parameters.join(", "));
    let _ = writeln!(out, "    return this.way.{way}(facts.{}, {{ {} }}, {sent}, options);", call.id, path.join(", "));
    out.push_str("  }\n");
}

/// The type of the parameters of a query.
fn query(parameters: &[Parameter<'_>]) -> String {
    let field = |parameter: &Parameter<'_>| {
        let optional = if parameter.required { "" } else { "?" };
        let about = parameter.about.replace("*/", "* /");
        format!("/** {about} */ {}{optional}: {}", parameter.name, typed(parameter.schema))
    };
    format!("{{ {} }}", parameters.iter().map(field).collect::<Vec<_>>().join("; "))
}

/// A type in the file of methods.
fn typed(schema: &Value) -> String {
    of(schema, "t.")
}

/// The type of a schema. `prefix` comes before the names of other types.
fn of(schema: &Value, prefix: &str) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return format!("{prefix}{}", reference.rsplit('/').next().unwrap_or_default());
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    for union in ["enum", "oneOf", "anyOf"] {
        if let Some(variants) = schema[union].as_array() {
            let variant = |variant: &Value| if union == "enum" { variant.to_string() } else { of(variant, prefix) };
            let mut variants: Vec<String> = variants.iter().map(variant).collect();
            variants.dedup();
            return variants.join(" | ");
        }
    }
    if let Some(all) = schema["allOf"].as_array() {
        return all.iter().map(|schema| of(schema, prefix)).collect::<Vec<_>>().join(" & ");
    }
    match &schema["type"] {
        Value::Array(types) => {
            let one = |kind: &Value| {
                let mut schema = schema.clone();
                schema["type"] = kind.clone();
                of(&schema, prefix)
            };
            types.iter().map(one).collect::<Vec<_>>().join(" | ")
        }
        Value::String(kind) => match kind.as_str() {
            "string" => "string".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => {
                let item = of(&schema["items"], prefix);
                if item.contains([' ', '|']) { format!("({item})[]") } else { format!("{item}[]") }
            }
            "object" => object(schema, prefix),
            _ => "unknown".to_owned(),
        },
        _ => "unknown".to_owned(),
    }
}

fn object(schema: &Value, prefix: &str) -> String {
    let rest = match &schema["additionalProperties"] {
        Value::Object(_) => Some(of(&schema["additionalProperties"], prefix)),
        Value::Bool(true) => Some("unknown".to_owned()),
        _ => None,
    };
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty()) else {
        return rest.map_or_else(|| "Record<string, never>".to_owned(), |rest| format!("Record<string, {rest}>"));
    };
    let mut out = "{\n".to_owned();
    for (name, property) in properties {
        comment(&mut out, "  ", property["description"].as_str().unwrap_or_default());
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
        let name = if is_plain { name.clone() } else { quoted(name) };
        let _ = writeln!(out, "  {name}{optional}: {};", of(property, prefix).replace('\n', "\n  "));
    }
    out.push('}');
    match rest {
        Some(rest) => format!("{out} & Record<string, {rest}>"),
        None => out,
    }
}

/// A comment, in lines of a readable length.
fn comment(out: &mut String, indent: &str, text: &str) {
    let text = text.trim().replace("*/", "* /");
    if text.is_empty() {
        return;
    }
    if text.len() + indent.len() + 7 <= WIDTH && !text.contains('\n') {
        let _ = writeln!(out, "{indent}/** {text} */");
        return;
    }
    let _ = writeln!(out, "{indent}/**");
    for line in wrapped(&text, WIDTH - indent.len() - 3) {
        let _ = writeln!(out, "{indent} * {line}");
    }
    let _ = writeln!(out, "{indent} */");
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
