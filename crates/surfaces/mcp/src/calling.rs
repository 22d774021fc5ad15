//! One call of a tool: arguments become a call, its answer a bounded result.

use rmcp::model::{CallToolResult, JsonObject, RequestMetaObject};
use serde_json::Value;
use threadkeep_calls::{At, Declaration, Problem};
use threadkeep_client::Client;
use threadkeep_client::model::{IdempotencyKey, Invalid, Json, ThreadName};

use crate::answer::{is_too_long, refused, told};
use crate::schema::PAGE_MAX;
use crate::tools::{Does, Entry, reads};

/// Hits of a search, unless the agent says otherwise.
const HITS: u64 = 5;
/// Where a host may put a key under which a call may be repeated.
const KEY: &str = "threadkeep/idempotencyKey";
/// Where a host may put the token of the lock under which it writes.
const WRITER: &str = "threadkeep/writer";

/// Calls a tool.
pub(crate) async fn call(
    client: &Client,
    entry: &Entry,
    arguments: JsonObject,
    meta: &RequestMetaObject,
) -> CallToolResult {
    let called = match entry.does {
        Does::Call(declaration) => carried(client, declaration, entry, arguments, meta).await,
        Does::File(file) => file.call(client, arguments).await,
    };
    called.map_or_else(|problem| refused(&problem), told)
}

async fn carried(
    client: &Client,
    declaration: &Declaration,
    entry: &Entry,
    mut arguments: JsonObject,
    meta: &RequestMetaObject,
) -> Result<Value, Problem> {
    let at = envelope(declaration, &mut arguments, meta)?;
    let has_pages = entry.tool.input_schema["properties"].get("limit").is_some();
    let mut limit = has_pages.then(|| {
        let usual = if declaration.name == "search" { HITS } else { PAGE_MAX };
        arguments.get("limit").and_then(Value::as_u64).unwrap_or(usual).min(PAGE_MAX)
    });
    loop {
        if let Some(limit) = limit {
            arguments.insert("limit".to_owned(), limit.into());
        }
        let fields = Json::parse("arguments", &Value::Object(arguments.clone()).to_string())?;
        let answer = client.call_json(declaration, at.clone(), &fields).await?;
        let text = answer.as_str();
        match &mut limit {
            // A shorter page has the cursor that goes on after it.
            Some(limit) if *limit > 1 && reads(declaration) && is_too_long(text) => *limit /= 2,
            _ => return Ok(serde_json::from_str(text).unwrap_or_default()),
        }
    }
}

/// The thread that a call names, and its conditions.
fn envelope(declaration: &Declaration, arguments: &mut JsonObject, meta: &RequestMetaObject) -> Result<At, Problem> {
    let mut at = At::none();
    if declaration.names_thread() {
        at.thread = Some(thread(arguments)?);
    }
    if let Some(version) = arguments.remove("expectedVersion").filter(|version| !version.is_null()) {
        at.expected = Some(version.to_string().trim_matches('"').parse()?);
    }
    let said = |name: &str| meta.get(name).and_then(Value::as_str);
    at.key = said(KEY).map(IdempotencyKey::new).transpose()?;
    at.lease = said(WRITER).map(str::parse).transpose()?;
    Ok(at)
}

/// The thread that the arguments name.
pub(crate) fn thread(arguments: &mut JsonObject) -> Result<ThreadName, Problem> {
    let missing = || {
        let problem = Problem::from(Invalid::body("thread", "is missing"));
        problem.hint("give the id of a thread; search and list_threads find one")
    };
    let name = arguments.remove("thread").ok_or_else(missing)?;
    Ok(name.as_str().ok_or_else(missing)?.trim().parse::<ThreadName>()?)
}
