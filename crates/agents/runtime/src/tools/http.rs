//! Tools that are HTTP requests: a template, filled with arguments and variables.
//!
//! Scheme, host and port of the URL are literal. `{name}` in its path or query is an argument, escaped. `${env:NAME}` in
//! headers and in the body is a variable, which has to be declared.

use http::{Method, Uri, header};
use serde_json::{Map, Value};

use crate::attempt::template::{ENV, filled_env};
use crate::attempt::{Attempt, Call, Declared, ToolResult};
use crate::definitions::HttpTool;
use crate::http::{Answered, Asked, Unanswered, header_of};
use crate::{Runtime, RuntimeError};

/// How a request went.
pub(crate) enum Sent {
    /// It ended, well or not.
    Ended(ToolResult),
    /// It failed in a way that another attempt may not.
    Failed(ToolResult),
}

impl Runtime {
    /// Sends the request of a tool once.
    ///
    /// # Errors
    /// If a variable is missing, or the secrets cannot be read.
    pub(crate) async fn send_tool(
        &self,
        on: &Attempt,
        (tool, declared): (&HttpTool, &Declared),
        call: &Call,
    ) -> Result<Sent, RuntimeError> {
        let asked = match self.request(on, tool, call).await? {
            Ok(asked) => Asked { timeout: declared.timeout, ..asked },
            Err(rule) => return Ok(Sent::Ended(ToolResult::failure(rule))),
        };
        Ok(match self.shared.http.ask(asked, None).await {
            Ok(answer) if matches!(answer.status, 408 | 429 | 500..) => Sent::Failed(told(&answer)),
            Ok(answer) => Sent::Ended(told(&answer)),
            Err(Unanswered { again: true, what }) => Sent::Failed(ToolResult::failure(what)),
            Err(Unanswered { again: false, what }) => Sent::Ended(ToolResult::failure(what)),
        })
    }

    /// The request with its arguments and variables, or what is wrong with it.
    async fn request(&self, on: &Attempt, tool: &HttpTool, call: &Call) -> Result<Result<Asked, String>, RuntimeError> {
        let method = tool.method.as_deref().unwrap_or("GET").parse().unwrap_or(Method::GET);
        let (url, used) = filled_url(&tool.url, &call.args);
        let Ok(uri) = url.parse::<Uri>() else { return Ok(Err("the arguments make no URL".to_owned())) };
        let mut headers = Vec::new();
        for (name, text) in &tool.headers {
            let value = filled_env(on, text).await?;
            match header_of(name, &value) {
                Ok(header) => headers.push(header),
                Err(rule) => return Ok(Err(rule)),
            }
        }
        let body = match &tool.body {
            Some(body) => Some(Box::pin(filled_body(on, body, &call.args)).await?),
            // Without a body of its own, a request that has one carries the arguments that the URL does not.
            None if matches!(method, Method::POST | Method::PUT | Method::PATCH) => {
                let rest = call.args.iter().filter(|(name, _)| !used.contains(name));
                Some(Value::Object(rest.map(|(name, value)| (name.clone(), value.clone())).collect()))
            }
            None => None,
        };
        if body.is_some() && !headers.iter().any(|(name, _)| *name == header::CONTENT_TYPE) {
            headers.push((header::CONTENT_TYPE, http::HeaderValue::from_static("application/json")));
        }
        let body = match body {
            Some(Value::String(text)) => text.into_bytes().into(),
            Some(value) => value.to_string().into_bytes().into(),
            None => bytes::Bytes::new(),
        };
        let mut asked = Asked { method, uri, headers, body, timeout: std::time::Duration::ZERO };
        asked.key(&call.id);
        Ok(Ok(asked))
    }
}

/// The URL with its arguments, escaped, and the names of those it has. An argument that is missing is an empty text.
fn filled_url(url: &str, args: &Map<String, Value>) -> (String, Vec<String>) {
    let (mut filled, mut used, mut rest) = (String::new(), Vec::new(), url);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        filled.push_str(before);
        escape(&text(args.get(name)), &mut filled);
        used.push(name.to_owned());
        rest = after;
    }
    filled.push_str(rest);
    (filled, used)
}

/// Writes a text so that it is one part of a path or a query, whatever it holds.
fn escape(text: &str, out: &mut String) {
    // A part that is only dots would be a step in the path.
    let dots = !text.is_empty() && text.bytes().all(|byte| byte == b'.');
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            b'.' if !dots => out.push('.'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The body with its variables and arguments. A text that is only `{name}` becomes the argument itself. Arguments are put in
/// after variables, and never read as variables.
async fn filled_body(on: &Attempt, body: &Value, args: &Map<String, Value>) -> Result<Value, RuntimeError> {
    Ok(match body {
        Value::String(written) => {
            let whole = written.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            if let Some(name) = whole.filter(|name| !name.contains(['{', '}', '$'])) {
                return Ok(args.get(name).cloned().unwrap_or_default());
            }
            let (mut filled, mut rest) = (String::new(), written.as_str());
            while let Some(at) = rest.find('{') {
                let is_env = at > 0 && rest[at - 1..].starts_with(ENV);
                let Some((inside, after)) = rest[at + 1..].split_once('}') else { break };
                filled.push_str(&rest[..if is_env { at - 1 } else { at }]);
                match inside.strip_prefix("env:").filter(|_| is_env) {
                    Some(name) => {
                        filled.push_str(&on.env(&name.parse().map_err(threadkeep_engine::Error::from)?).await?);
                    }
                    None => filled.push_str(&text(args.get(inside))),
                }
                rest = after;
            }
            filled.push_str(rest);
            Value::String(filled)
        }
        Value::Array(items) => {
            let mut all = Vec::with_capacity(items.len());
            for item in items {
                all.push(Box::pin(filled_body(on, item, args)).await?);
            }
            Value::Array(all)
        }
        Value::Object(fields) => {
            let mut all = Map::new();
            for (name, field) in fields {
                all.insert(name.clone(), Box::pin(filled_body(on, field, args)).await?);
            }
            Value::Object(all)
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain.clone(),
    })
}

/// The answer as a result: JSON as it is, text as text, other bytes as an attachment.
fn told(answer: &Answered) -> ToolResult {
    let kind = answer.headers.get("content-type").map_or("", String::as_str);
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || kind.ends_with("+json");
    let text = std::str::from_utf8(&answer.body).ok();
    let result = match text {
        Some("") => ToolResult::success(Value::Null),
        Some(text) if is_json => match serde_json::from_str::<Value>(text) {
            Ok(value) => ToolResult::success(value),
            Err(error) => return ToolResult::failure(format!("the answer says that it is JSON, and is not: {error}")),
        },
        Some(text) => ToolResult::success(text),
        None => {
            let (name, mime_type) =
                ("answer".to_owned(), if kind.is_empty() { "application/octet-stream".into() } else { kind });
            let file = threadkeep_calls::NewAttachment { name, mime_type, bytes: answer.body.to_vec() };
            ToolResult { attachments: vec![file], ..ToolResult::success(Value::Null) }
        }
    };
    if (200..300).contains(&answer.status) {
        return result;
    }
    let said = result.result.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let said = said.filter(|said| said != "null").map(|said| format!(": {}", cut(&said))).unwrap_or_default();
    ToolResult::failure(format!("the server answered {}{said}", answer.status))
}

fn cut(text: &str) -> &str {
    const SAID_MAX: usize = 2_000;
    &text[..text.floor_char_boundary(SAID_MAX)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_argument_stays_one_part_of_the_url() {
        let args = json!({ "id": "../../admin?x=1#y", "dots": "..", "n": 5 }).as_object().cloned().expect("an object");
        let (url, used) = filled_url("https://a.example/i/{id}/{dots}?n={n}&m={missing}", &args);
        assert_eq!(url, "https://a.example/i/..%2F..%2Fadmin%3Fx%3D1%23y/%2E%2E?n=5&m=");
        assert_eq!(used, ["id", "dots", "n", "missing"]);
    }
}
