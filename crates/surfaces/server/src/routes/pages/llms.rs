//! `/llms.txt`: a map of the server for agents, in Markdown. It names every call in one line.

use std::fmt::Write;

use serde_json::Value;

use super::examples::PLACEHOLDER_URL;
use super::reference::{array, calls_of, slug, text};

pub(super) fn text_of(document: &Value) -> String {
    let mut map = format!(
        "# Threadkeep\n\n> A thread engine for AI agents. A thread is a conversation with its files, values and settings. \
         You can append, fork, merge, roll back, search and follow threads over this HTTP API.\n\n\
         - Address: {PLACEHOLDER_URL}\n\
         - Send `Authorization: Bearer KEY`. `threadkeep serve` prints a local key; `threadkeep keys create` makes others.\n\
         - Bodies are JSON. Unknown fields are refused.\n\
         - `ETag` is the version of a thread. Send it back as `If-Match` to write only if nothing has changed.\n\
         - Send a new `Idempotency-Key` with each change, and the same one to repeat it safely.\n\
         - Errors are `application/problem+json`. Act on `code`; `hint` often says how to go on.\n\
         - Lists have `items` and `nextCursor`. Send the latter as `cursor` for the next page.\n\n\
         ## Documentation\n\n\
         - [OpenAPI 3.1](/openapi.json): every call with its parameters and schemas\n\
         - [Index](/docs): how to begin, headers, areas\n\
         - [Errors](/docs/errors): every error code, with its cause and its remedy\n"
    );
    for tag in array(&document["tags"]) {
        let (name, about) = (text(&tag["name"]), text(&tag["description"]));
        let _ = write!(map, "\n## {name}\n\n{about} Examples: [/docs/{slug}](/docs/{slug})\n\n", slug = slug(name));
        for (method, path, operation) in calls_of(document, name) {
            let about = text(&operation["summary"]);
            let _ = writeln!(map, "- `{} {path}`: {about}", method.to_ascii_uppercase());
        }
    }
    map
}
