//! The commands on the pages: a block that makes examples, and a call with curl for each route.
//!
//! A call works alone after the block of its page, and all of them work in the order of the page. Calls that end
//! something make a thread of their own first.

use std::fmt::Write;

use serde_json::Value;

use super::reference::{array, content, text};
use crate::table::ANY_MEDIA;

/// The address in built pages. Each answer has the address of its server instead.
pub(super) const PLACEHOLDER_URL: &str = "http://localhost:8473";

/// The id of a thread in the examples of bodies.
const EXAMPLE_THREAD: &str = "T-5928a90d-d53b-488f-a829-4e36442142ee";

const BEGIN: &str = r#"KEY=${KEY:-$(sed -n 's/.*"apiKey":"\([^"]*\)".*/\1/p' threadkeep-data/server.json)}
post() { curl -sS -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" "$URL/v1$1" -d "$2"; }
field() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
"#;

/// Shell variables that calls use, with the commands that set them. Each needs only those before it.
const VARIABLES: &[(&str, &str)] = &[
    (
        "THREAD",
        r#"THREAD=$(post /threads '{"title":"Trip to Rome","messages":[{"role":"user","content":"Where do I stay?"}]}' | field id)"#,
    ),
    (
        "OTHER",
        r##"OTHER=$(post /threads/$THREAD/fork '{"title":"Hotels"}' | field id)
curl -sS -o /dev/null -X PUT -H "Authorization: Bearer $KEY" -H "Content-Type: text/markdown" "$URL/v1/threads/$OTHER/files/notes.md" -d '# Hotels'
curl -sS -o /dev/null -X PUT -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" "$URL/v1/threads/$OTHER/kv/settings" -d '{"theme":"dark"}'"##,
    ),
    (
        "MESSAGE",
        r#"MESSAGE=$(post /threads/$THREAD/messages '{"role":"assistant","content":"Near the station."}' | field id)"#,
    ),
    (
        "FILE",
        r##"FILE=notes.md
curl -sS -o /dev/null -X PUT -H "Authorization: Bearer $KEY" -H "Content-Type: text/markdown" "$URL/v1/threads/$THREAD/files/$FILE" -d '# Rome'"##,
    ),
    (
        "NAME",
        r#"NAME=EXAMPLE_TOKEN
for OF in "/threads/$THREAD" ""; do
  curl -sS -o /dev/null -X PUT -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" "$URL/v1$OF/env/$NAME" -d '{"value":"sk-12345"}'
done"#,
    ),
    ("ITEM", r#"ITEM=$(post /threads/$THREAD/queue '{"role":"user","content":"And the food?"}' | field id)"#),
    (
        "INJECTION",
        r#"INJECTION=$(post /threads/$THREAD/inject '{"type":"data","content":"It rains."}' | field injectionId)"#,
    ),
    ("EFFECT", r#"EFFECT=$(post /threads/$THREAD/effects '{"name":"send_reminder","delay":3600000}' | field id)"#),
    ("SUBAGENT", r#"SUBAGENT=$(post /threads/$THREAD/children '{"name":"critic"}' | field id)"#),
    (
        "APPROVAL",
        r#"APPROVAL=$(post /threads/$THREAD/transfer '{"direction":"request_approval","scope":["delete_file"]}' | field approvalId)"#,
    ),
    (
        "DELEGATION",
        r#"DELEGATION=$(post /threads/$THREAD/transfer '{"direction":"delegate","scope":["code_edit"]}' | field delegationId)"#,
    ),
    ("MERGE", r#"MERGE=$(post /threads/$THREAD/merge '{"sources":["'$OTHER'"]}' | field mergeId)"#),
    (
        "REFERENCE",
        r#"REFERENCE=$(post /threads/$THREAD/reference '{"target":"'$OTHER'","scope":["messages","files","kv"]}' | field refId)"#,
    ),
    (
        "OBSERVER",
        r#"OBSERVER=$(post /threads/$THREAD/observe '{"target":"'$OTHER'","events":["done"],"deliver":{"thread":true}}' | field id)"#,
    ),
    ("PROJECT", r#"PROJECT=$(post /projects '{"name":"Website"}' | field id)"#),
    ("MEMORY", r#"MEMORY=$(post /memories '{"text":"Answers in German."}' | field id)"#),
    ("KEY_ID", r#"KEY_ID=$(post /keys '{"account":"ann","scope":"read"}' | field id)"#),
];

/// Waits until the search index has every message.
const INDEXED: &str = r#"until curl -sS -H "Authorization: Bearer $KEY" "$URL/v1/search/status" | grep -q '"caughtUp":true'; do sleep 0.1; done"#;

const SCRATCH: &str = "SCRATCH=$(post /threads '{\"title\":\"Scratch\"}' | field id)\n";

/// The commands that come before the call of this route, with the call, because the call works once only.
fn before(id: &str) -> String {
    let scratch = |more: &str| format!("{SCRATCH}{more}");
    match id {
        "deleteThread" | "changeOwner" | "terminateThread" | "changeLifecycle" | "takeWriter" | "startRun" => {
            SCRATCH.to_owned()
        }
        "renewWriter" | "releaseWriter" => {
            scratch("TOKEN=$(post /threads/$SCRATCH/writer '{\"ttl\":30000}' | field token)\n")
        }
        "stepRun" | "sendDelta" | "endRun" | "stopRun" | "getRun" | "streamRun" | "openRunSocket"
        | "listThreadRuns" => scratch("RUN=$(post /threads/$SCRATCH/runs '{\"executor\":\"caller\"}' | field id)\n"),
        "forceTurn" => scratch(concat!(
            "RUN=$(post /threads/$SCRATCH/runs '{\"executor\":\"caller\"}' | field id)\n",
            "post /runs/$RUN/step '{\"model\":{\"model\":\"m\",\"side\":\"a\"}}' > /dev/null\n",
        )),
        "redoRollback" => scratch(concat!(
            "post /threads/$SCRATCH/messages '{\"role\":\"user\",\"content\":\"Hello\"}' > /dev/null\n",
            "post /threads/$SCRATCH/rollback '{\"version\":1}' > /dev/null\n",
            "post /threads/$SCRATCH/rollback '{\"undo\":true}' > /dev/null\n",
        )),
        "approve" | "deny" | "revokeApproval" => {
            let (_, line) = VARIABLES.iter().find(|(name, _)| *name == "APPROVAL").expect("a variable");
            format!("{line}\n")
        }
        "signIn" => "LINK=$(post /sign-in '{}' | field url)\n".to_owned(),
        "importSessions" => {
            let line = r#"{"type":"user","uuid":"u1","sessionId":"s1","message":{"role":"user","content":"Hello"}}"#;
            format!("printf '%s\\n' '{line}' > export.jsonl\n")
        }
        "importStore" => {
            "curl -sS -H \"Authorization: Bearer $KEY\" \"$URL/v1/admin/export\" -o export.jsonl\n".to_owned()
        }
        _ => String::new(),
    }
}

/// The commands that make the examples of these calls.
pub(super) fn setup(calls: &[String]) -> String {
    let mut needed = calls.join("\n");
    let searches = needed.contains("/v1/search\"");
    if searches {
        needed.push_str("$THREAD");
    }
    let mut lines = Vec::new();
    for (name, line) in VARIABLES.iter().rev() {
        let (used, set) = (format!("${name}"), format!("{name}=$("));
        let is_set_before = |at: usize| needed[..at].contains(&set);
        let mut uses = needed.match_indices(&used);
        let whole = |(at, found): &(usize, &str)| {
            !needed[at + found.len()..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
        };
        if uses.any(|found| whole(&found) && !is_set_before(found.0)) {
            needed = format!("{line}\n{needed}");
            lines.push(*line);
        }
    }
    lines.reverse();
    lines.extend(searches.then_some(INDEXED));
    let mut block = format!("URL={PLACEHOLDER_URL}\n{BEGIN}");
    for line in &lines {
        let _ = writeln!(block, "{line}");
    }
    if !lines.is_empty() {
        let first = lines[0].split('=').next().unwrap_or_default();
        let _ = write!(block, "echo \"made: ${first}\"");
    }
    block.trim_end().to_owned()
}

/// What stands in the path of a call for a parameter.
fn value(name: &str, path: &str, before: &str, example: &str) -> String {
    match name {
        "thread" if before.contains("SCRATCH=") => "$SCRATCH".to_owned(),
        "thread" if ["/parent", "/notify-parent", "/status"].iter().any(|end| path.ends_with(end)) => {
            "$SUBAGENT".to_owned()
        }
        "request" => "$SUBAGENT".to_owned(),
        "key" => "$KEY_ID".to_owned(),
        "run" => "$RUN".to_owned(),
        "path" if path.starts_with("/v1/references") => "notes.md".to_owned(),
        "path" => "$FILE".to_owned(),
        "thread" | "message" | "item" | "injection" | "approval" | "delegation" | "reference" | "observer"
        | "effect" | "memory" | "merge" | "project" | "name" => format!("${}", name.to_ascii_uppercase()),
        _ => example.to_owned(),
    }
}

/// A call that works when it is pasted after the block of its page.
pub(super) fn call(path: &str, method: &str, operation: &Value) -> String {
    let id = text(&operation["operationId"]);
    let before = before(id);
    let mut call = String::from("curl -sS");
    let mut target = path.to_owned();
    if method != "get" && !(method == "post" && operation["requestBody"].is_object()) {
        let _ = write!(call, " -X {}", method.to_ascii_uppercase());
    }
    if operation["x-threadkeep-scope"] != "none" {
        call.push_str(" -H \"Authorization: Bearer $KEY\"");
    }
    for parameter in array(&operation["parameters"]) {
        let name = text(&parameter["name"]);
        match text(&parameter["in"]) {
            "path" => {
                let value = value(name, path, &before, parameter["example"].as_str().unwrap_or_default());
                target = target.replace(&format!("{{{name}}}"), &value);
            }
            "header" if parameter["required"] == true => {
                let _ = write!(call, " -H \"{name}: $TOKEN\"");
            }
            _ => {}
        }
    }
    match id {
        "openSocket" | "openAccountSocket" | "openRunSocket" => call.push_str(
            " -iN --max-time 1 -H \"Connection: Upgrade\" -H \"Upgrade: websocket\" \\\n  -H \"Sec-WebSocket-Version: 13\" \
             -H \"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\"",
        ),
        "streamThread" | "streamThreads" | "streamRun" => call.push_str(" -N --max-time 1"),
        "getRoot" | "signIn" | "signOut" => call.push_str(" -i"),
        "backUpStore" => call.push_str(" -o backup.db"),
        "exportStore" => call.push_str(" -o export.jsonl"),
        _ => {}
    }
    let query = match id {
        "streamThreads" => "?threads=$THREAD",
        "changeTree" => "?moveTo=/rome.md",
        "importSessions" => "?source=claude-code&name=session.jsonl",
        _ => "",
    };
    let target = if id == "signIn" { "$LINK".to_owned() } else { format!("$URL{target}{query}") };
    let _ = write!(call, " \"{target}\"");
    if let Some((media, body)) = content(&operation["requestBody"]["content"]) {
        let other = if id == "createTicket" { "$THREAD" } else { "$OTHER" };
        match &body["example"] {
            Value::Null if media == ANY_MEDIA => {
                call.push_str(" \\\n  -H \"Content-Type: text/markdown\" -d '# Rome and Naples'");
            }
            Value::Null => {
                let _ = write!(call, " \\\n  -H \"Content-Type: {media}\" --data-binary @export.jsonl");
            }
            example => {
                let example = example.to_string().replace('\'', r"'\''");
                let example = example.replace(EXAMPLE_THREAD, &format!("'{other}'"));
                let _ = write!(call, " \\\n  -H \"Content-Type: {media}\" -d '{example}'");
            }
        }
    }
    before + &call
}
