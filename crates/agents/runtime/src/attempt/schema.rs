//! JSON schemas of arguments: a check that names the path of what is wrong.
//!
//! The keywords are those that tools use. A definition with another one is refused when it is loaded; a schema of a server
//! that is not ours is checked as far as it is understood.

use regex::Regex;
use serde_json::{Map, Value};

/// Keywords that say something to readers, and nothing about values.
const NOTES: [&str; 12] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "readOnly",
];
/// Keywords that are checked.
const CHECKED: [&str; 23] = [
    "$ref",
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "anyOf",
];
/// More keywords that are checked: combinations.
const COMBINED: [&str; 3] = ["oneOf", "allOf", "not"];
/// Levels that a check goes down, so that a schema that names itself ends.
const DEPTH_MAX: usize = 64;

/// Says what of a schema is not understood; nothing if all is.
pub(crate) fn unknown(schema: &Value) -> Option<String> {
    let fields = match schema {
        Value::Bool(_) => return None,
        Value::Object(fields) => fields,
        _ => return Some("a schema is an object or a boolean".to_owned()),
    };
    for (keyword, value) in fields {
        let keyword = keyword.as_str();
        let found = match keyword {
            "properties" | "$defs" | "definitions" => match value {
                Value::Object(inside) => inside.values().find_map(unknown),
                _ => Some(format!("'{keyword}' of a schema is an object")),
            },
            "items" | "additionalProperties" | "not" => unknown(value),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => match value {
                Value::Array(all) => all.iter().find_map(unknown),
                _ => Some(format!("'{keyword}' of a schema is a list")),
            },
            "pattern" => match value.as_str().map(Regex::new) {
                Some(Ok(_)) => None,
                Some(Err(error)) => Some(format!("the pattern of a schema is not understood: {error}")),
                None => Some("'pattern' of a schema is text".to_owned()),
            },
            _ if NOTES.contains(&keyword) || CHECKED.contains(&keyword) || COMBINED.contains(&keyword) => None,
            _ => Some(format!("the keyword '{keyword}' of a schema is not supported")),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// What is wrong with `args`, with its path; nothing if they match.
pub(crate) fn wrong(schema: &Map<String, Value>, args: &Map<String, Value>) -> Option<String> {
    let (root, value) = (Value::Object(schema.clone()), Value::Object(args.clone()));
    Check { root: &root }.wrong(&root, &value, "args", 0)
}

struct Check<'a> {
    root: &'a Value,
}

impl Check<'_> {
    fn wrong(&self, schema: &Value, value: &Value, path: &str, depth: usize) -> Option<String> {
        let fields = match schema {
            Value::Bool(false) => return Some(format!("{path}: nothing is allowed here")),
            Value::Object(fields) if depth < DEPTH_MAX => fields,
            _ => return None,
        };
        let tell = |what: String| Some(format!("{path}: {what}"));
        if let Some(Value::String(reference)) = fields.get("$ref")
            && let Some(target) = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer))
            && let Some(found) = self.wrong(target, value, path, depth + 1)
        {
            return Some(found);
        }
        if let Some(expected) = fields.get("type")
            && !is_of_type(expected, value)
        {
            return tell(format!("is {}, not {}", word(value), expected_words(expected)));
        }
        if let Some(Value::Array(all)) = fields.get("enum")
            && !all.iter().any(|one| same(one, value))
        {
            let all: Vec<String> = all.iter().map(Value::to_string).collect();
            return tell(format!("is none of {}", all.join(", ")));
        }
        if let Some(expected) = fields.get("const")
            && !same(expected, value)
        {
            return tell(format!("is not {expected}"));
        }
        let found = match value {
            Value::String(text) => in_text(fields, text).and_then(tell),
            Value::Number(_) => in_number(fields, value.as_f64().unwrap_or(f64::NAN)).and_then(tell),
            Value::Array(items) => self.in_list(fields, items, path, depth),
            Value::Object(inside) => self.in_object(fields, inside, path, depth),
            Value::Null | Value::Bool(_) => None,
        };
        found.or_else(|| self.combined(fields, value, path, depth))
    }

    fn in_list(&self, fields: &Map<String, Value>, items: &[Value], path: &str, depth: usize) -> Option<String> {
        if let Some(what) = size(fields, ("minItems", "maxItems"), items.len(), "items") {
            return Some(format!("{path}: {what}"));
        }
        let repeats = |at: usize| items[..at].iter().any(|before| same(before, &items[at]));
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) && (0..items.len()).any(repeats) {
            return Some(format!("{path}: has an item twice"));
        }
        let first = match fields.get("prefixItems") {
            Some(Value::Array(first)) => first.as_slice(),
            _ => &[],
        };
        for (at, item) in items.iter().enumerate() {
            let Some(schema) = first.get(at).or_else(|| fields.get("items")) else { continue };
            let found = self.wrong(schema, item, &format!("{path}.{at}"), depth + 1);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn in_object(
        &self,
        fields: &Map<String, Value>,
        inside: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Option<String> {
        let required = fields.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.into_iter().find(|name| !inside.contains_key(*name)) {
            return Some(format!("{path}.{missing}: is missing"));
        }
        if let Some(what) = size(fields, ("minProperties", "maxProperties"), inside.len(), "fields") {
            return Some(format!("{path}: {what}"));
        }
        let known = fields.get("properties").and_then(Value::as_object);
        for (name, value) in inside {
            let path = format!("{path}.{name}");
            let found = match (known.and_then(|known| known.get(name)), fields.get("additionalProperties")) {
                (Some(schema), _) => self.wrong(schema, value, &path, depth + 1),
                (None, Some(Value::Bool(false))) => Some(format!("{path}: is not known")),
                (None, Some(schema)) => self.wrong(schema, value, &path, depth + 1),
                (None, None) => None,
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn combined(&self, fields: &Map<String, Value>, value: &Value, path: &str, depth: usize) -> Option<String> {
        let wrong = |schema: &Value| self.wrong(schema, value, path, depth + 1);
        if let Some(Value::Array(all)) = fields.get("allOf")
            && let Some(found) = all.iter().find_map(wrong)
        {
            return Some(found);
        }
        if let Some(Value::Array(any)) = fields.get("anyOf")
            && any.iter().all(|one| wrong(one).is_some())
        {
            // With one real alternative, such as a type or null, its own words say most.
            let told = any.iter().filter(|one| one.get("type") != Some(&"null".into())).find_map(wrong);
            return told.or_else(|| Some(format!("{path}: matches none of the alternatives")));
        }
        if let Some(Value::Array(one_of)) = fields.get("oneOf") {
            let matches = one_of.iter().filter(|one| wrong(one).is_none()).count();
            if matches != 1 {
                return Some(format!("{path}: matches {matches} of the alternatives, not one"));
            }
        }
        match fields.get("not") {
            Some(schema) if wrong(schema).is_none() => Some(format!("{path}: is not allowed")),
            _ => None,
        }
    }
}

fn in_text(fields: &Map<String, Value>, text: &str) -> Option<String> {
    if let Some(what) = size(fields, ("minLength", "maxLength"), text.chars().count(), "characters") {
        return Some(what);
    }
    let pattern = fields.get("pattern").and_then(Value::as_str)?;
    // A pattern that is not understood is refused when the tool is loaded.
    let matches = Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
    (!matches).then(|| format!("does not match {pattern}"))
}

fn in_number(fields: &Map<String, Value>, number: f64) -> Option<String> {
    let bound = |name: &str| fields.get(name).and_then(Value::as_f64);
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        return Some(format!("is less than {least}"));
    }
    if let Some(most) = bound("maximum").filter(|most| number > *most) {
        return Some(format!("is more than {most}"));
    }
    if let Some(least) = bound("exclusiveMinimum").filter(|least| number <= *least) {
        return Some(format!("is not above {least}"));
    }
    if let Some(most) = bound("exclusiveMaximum").filter(|most| number >= *most) {
        return Some(format!("is not below {most}"));
    }
    let part = bound("multipleOf").filter(|part| *part > 0.0 && (number / part).fract().abs() > 1e-9)?;
    Some(format!("is no multiple of {part}"))
}

fn size(fields: &Map<String, Value>, (least, most): (&str, &str), size: usize, what: &str) -> Option<String> {
    let bound = |name: &str| fields.get(name).and_then(Value::as_u64);
    if let Some(least) = bound(least).filter(|least| (size as u64) < *least) {
        return Some(format!("has {size} {what}, fewer than {least}"));
    }
    let most = bound(most).filter(|most| size as u64 > *most)?;
    Some(format!("has {size} {what}, more than {most}"))
}

/// Numbers are the same by value: 1 is 1.0.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn is_of_type(expected: &Value, value: &Value) -> bool {
    match expected {
        Value::Array(any) => any.iter().any(|one| is_of_type(one, value)),
        Value::String(expected) => match expected.as_str() {
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            expected => word(value) == expected,
        },
        _ => true,
    }
}

fn expected_words(expected: &Value) -> String {
    match expected {
        Value::String(one) => one.clone(),
        Value::Array(any) => any.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        other => other.to_string(),
    }
}

fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(schema: Value, args: Value) -> Option<String> {
        let object = |value: Value| value.as_object().cloned().expect("an object");
        wrong(&object(schema), &object(args))
    }

    #[test]
    fn the_path_of_what_is_wrong_is_named() {
        let schema = json!({ "type": "object", "required": ["to"], "additionalProperties": false, "properties": {
            "to": { "type": "array", "minItems": 1, "items": { "type": "string", "pattern": "^[a-z]+@x$" } },
            "count": { "type": "integer", "minimum": 1, "maximum": 9 },
            "kind": { "enum": ["a", "b"] },
            "more": { "anyOf": [{ "type": "string", "maxLength": 2 }, { "type": "null" }] },
            "self": { "$ref": "#" },
        } });
        assert_eq!(unknown(&schema), None);
        let ok = json!({ "to": ["ann@x"], "count": 2.0, "kind": "a", "more": null, "self": { "to": ["bob@x"] } });
        assert_eq!(told(schema.clone(), ok), None);
        for (args, expected) in [
            (json!({}), "args.to: is missing"),
            (json!({ "to": "ann@x" }), "args.to: is string, not array"),
            (json!({ "to": [] }), "args.to: has 0 items, fewer than 1"),
            (json!({ "to": ["ann@x", "B"] }), "args.to.1: does not match ^[a-z]+@x$"),
            (json!({ "to": ["a@x"], "count": 1.5 }), "args.count: is number, not integer"),
            (json!({ "to": ["a@x"], "count": 10 }), "args.count: is more than 9"),
            (json!({ "to": ["a@x"], "kind": "c" }), "args.kind: is none of \"a\", \"b\""),
            (json!({ "to": ["a@x"], "more": "abc" }), "args.more: has 3 characters, more than 2"),
            (json!({ "to": ["a@x"], "odd": 1 }), "args.odd: is not known"),
            (json!({ "to": ["a@x"], "self": {} }), "args.self.to: is missing"),
        ] {
            assert_eq!(told(schema.clone(), args.clone()).as_deref(), Some(expected), "{args}");
        }
    }

    #[test]
    fn a_keyword_that_is_not_checked_is_refused_when_a_tool_is_loaded() {
        let said = |schema: Value| unknown(&schema).expect("it is not understood");
        assert!(said(json!({ "properties": { "a": { "patternProperties": {} } } })).contains("patternProperties"));
        assert!(said(json!({ "pattern": "(" })).contains("pattern"));
        assert!(said(json!({ "anyOf": {} })).contains("anyOf"));
    }
}
