//! What a tool that is an HTTP request must be, whatever its arguments.

use http::{Method, Uri};
use serde_json::Value;

use super::HttpTool;
use crate::attempt::template::{ENV, variables};
use crate::http::header_of;

/// What is wrong with the request of a tool, whatever its arguments: the field and the rule.
pub(super) fn mistake(tool: &HttpTool) -> Option<(&'static str, String)> {
    let method = tool.method.as_deref().unwrap_or("GET");
    if method.parse::<Method>().is_err() || method != method.to_ascii_uppercase() {
        return Some(("method", format!("'{method}' is no method such as GET or POST")));
    }
    let literal = tool.url.find(['{', '$']).map_or(tool.url.as_str(), |at| &tool.url[..at]);
    let after_scheme = literal.split_once("://").map(|(_, rest)| rest);
    let is_whole = after_scheme.is_some_and(|rest| rest.contains(['/', '?']) || literal.len() == tool.url.len());
    let origin = after_scheme.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let scheme = literal.split("://").next().unwrap_or_default();
    let address = format!("{scheme}://{origin}").parse::<Uri>();
    let is_address = address.is_ok_and(|address| threadkeep_outgoing::Address::of(&address).is_ok());
    if !is_whole || !is_address {
        return Some((
            "url",
            "scheme, host and port of the URL are literal, such as https://api.example/items/{id}".into(),
        ));
    }
    if tool.url.contains(ENV) {
        return Some(("url", "a variable may be in headers and in the body, not in the URL".into()));
    }
    let declared = |name: &str| tool.variables.iter().any(|variable| variable.name == name);
    let texts = tool.headers.values().map(String::as_str).map(|text| ("headers", text));
    let in_body = tool.body.iter().flat_map(strings).map(|text| ("body", text));
    for (field, text) in texts.chain(in_body) {
        for name in variables(text) {
            if !declared(name) {
                return Some((field, format!("the variable '{name}' is not among `variables`")));
            }
        }
    }
    tool.headers.iter().find_map(|(name, _)| header_of(name, "x").err()).map(|rule| ("headers", rule))
}

/// All texts of a value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(url: &str) -> HttpTool {
        serde_json::from_value(json!({ "description": "x", "url": url })).expect("a tool")
    }

    #[test]
    fn the_server_of_a_request_is_literal() {
        for url in ["https://api.example/items/{id}", "http://127.0.0.1:9000", "https://api.example?q={q}"] {
            assert_eq!(mistake(&tool(url)), None, "{url}");
        }
        for url in [
            "https://{host}/x",
            "https://api.example:{port}/x",
            "https://api.example{path}",
            "{scheme}://api.example/",
            "https://ann@api.example/",
            "ftp://api.example/",
            "https://api.example/${env:KEY}",
            "/items",
        ] {
            assert!(mistake(&tool(url)).is_some(), "{url}");
        }
    }
}
