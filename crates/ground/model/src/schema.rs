//! JSON Schemas of the types whose JSON is text or anything at all; all others derive theirs.
//!
//! They describe the values that the parsers accept. Lengths are given in characters, because JSON Schema does not
//! count bytes, as the parsers do: text that is not ASCII reaches a limit earlier.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    Account, BlobId, Capability, Content, EffectName, EnvName, FieldChanges, FilePath, Json, MessageId, MessageName,
    Position, QueuedId, ReferenceScope, ShortId, ThreadId, ThreadName, Timestamp, Uuid, ValueKey, Visibility,
};

pub use crate::identity::IDENTITY;
pub use crate::json::Object;
pub use crate::text::NOT_BLANK;

macro_rules! schema {
    ($($type:ty, $name:literal, $schema:tt;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

schema! {
    FilePath, "FilePath", {
        "description": "The path of a file or a directory, from the root of the thread's files.",
        "type": "string",
        "maxLength": 1024,
        "examples": ["/src/main.rs"]
    };
    ValueKey, "ValueKey", {
        "description": "The key of a value.",
        "type": "string",
        "minLength": 1,
        "maxLength": 512,
        "examples": ["user/name"]
    };
    EffectName, "EffectName", {
        "description": "The name of an effect; `package/name` for one of a package.",
        "type": "string",
        "maxLength": 255,
        "pattern": "^[A-Za-z0-9_.@-]+(/[A-Za-z0-9_.@-]+)*$",
        "examples": ["send_reminder"]
    };
    EnvName, "EnvName", {
        "description": "The name of a variable.",
        "type": "string",
        "maxLength": 128,
        "pattern": "^[A-Za-z_][A-Za-z0-9_.-]*$",
        "examples": ["API_KEY"]
    };
    ThreadId, "ThreadId", {
        "description": "The identity of a thread: `T-` and a uuid.",
        "type": "string",
        "pattern": "^T-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
        "examples": ["T-5928a90d-d53b-488f-a829-4e36442142ee"]
    };
    ShortId, "ShortId", {
        "description": "The last group of a thread's uuid: the same identity, shorter.",
        "type": "string",
        "pattern": "^[0-9a-f]{12}$",
        "examples": ["4e36442142ee"]
    };
    ThreadName, "ThreadName", {
        "description": "A thread, by its full id or by its short one.",
        "type": "string",
        "pattern": "^(T-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{12})$",
        "examples": ["T-5928a90d-d53b-488f-a829-4e36442142ee"]
    };
    MessageId, "MessageId", {
        "description": "The identity of a message, the same in every fork: `M-` and hex digits.",
        "type": "string",
        "pattern": "^M-[0-9a-f]{17,32}$",
        "examples": ["M-6b1d2f0c9a8e4d3711"]
    };
    QueuedId, "QueuedId", {
        "description": "A message that is or was in the queue: `queued-` and a uuid of version 8.",
        "type": "string",
        "pattern": "^queued-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-8[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$",
        "examples": ["queued-1ac74bc3-26a3-834d-b700-000000000011"]
    };
    MessageName, "MessageName", {
        "description": "A message, by its id or by the id it had in the queue.",
        "type": "string",
        "pattern": "^(M-[0-9a-f]{17,32}|queued-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-8[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$",
        "examples": ["M-6b1d2f0c9a8e4d3711"]
    };
    Uuid, "Uuid", {
        "description": "A uuid, in hex digits.",
        "type": "string",
        "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
        "examples": ["7c9e6679-7425-40de-944b-e07fc1f90ae7"]
    };
    BlobId, "BlobId", {
        "description": "The BLAKE3 hash of some bytes, in hex digits.",
        "type": "string",
        "pattern": "^[0-9a-fA-F]{64}$"
    };
    Timestamp, "Timestamp", {
        "description": "A time in RFC 3339; answers are in UTC, with microseconds.",
        "type": "string",
        "format": "date-time",
        "examples": ["2026-01-31T12:00:00.000000Z"]
    };
    Position, "Version", {
        "description": "The version of a thread: the number of its last entry.",
        "type": "integer",
        "minimum": 0,
        "maximum": u64::MAX,
        "examples": [12]
    };
    Capability, "Capability", {
        "description": "A capability of an agent: one of the standard list, or `tool:` and the name of a tool.",
        "type": "string",
        "maxLength": Capability::TOOL_BYTES_MAX,
        "pattern": r"^(read|search|analyze|code_edit|test_run|delete_file|execute_command|approve_merge|deploy|delete_thread|publish|set_env|tool:[!-~]+)$",
        "examples": ["code_edit", "tool:web_search"]
    };
    ReferenceScope, "ReferenceScope", {
        "description": "The part of a thread that is read: `all`, `messages`, `files`, `kv`, or a pattern for paths of files.",
        "type": "string",
        "maxLength": ReferenceScope::PATTERN_BYTES_MAX,
        "pattern": NOT_BLANK,
        "examples": ["messages", "src/**"]
    };
    Account, "Account", {
        "description": "An account, by its name.",
        "type": "string",
        "maxLength": Account::NAME_BYTES_MAX
    };
}

impl JsonSchema for Json {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "Any JSON, kept to the letter. It nests at most 128 deep." })
    }
}

impl JsonSchema for Content {
    fn schema_name() -> Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let plain = parts(&json_schema!({ "type": "string" }));
        let nested = json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "oneOf": plain } },
        ] });
        let all = parts(&nested);
        json_schema!({
            "description": "The content of a message: a string, or typed parts.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "oneOf": all } },
            ],
            "examples": ["Hello", [{ "type": "text", "text": "Hello" }]],
        })
    }
}

impl JsonSchema for FieldChanges {
    fn schema_name() -> Cow<'static, str> {
        "ThreadChanges".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ThreadFields::json_schema(generator)
    }
}

/// Fields of a thread; null clears one, or leaves it empty.
#[derive(JsonSchema, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[allow(dead_code, reason = "never built: its fields are the documentation")]
pub struct ThreadFields {
    /// A title for people.
    title: Option<String>,
    /// Whether the main list hides it.
    archived: Option<bool>,
    /// The text of a message that is not sent yet.
    draft: Option<String>,
    /// Whether the draft is sent by itself.
    auto_submit_draft: Option<bool>,
    /// The mode the agent works in.
    agent_mode: Option<String>,
    /// The limit of output tokens.
    max_tokens: Option<u64>,
    /// The agent it belongs to.
    agent_id: Option<String>,
    /// The task it belongs to.
    task_id: Option<String>,
    /// The project it belongs to.
    project_id: Option<String>,
    /// The user it belongs to.
    user_id: Option<String>,
    /// The purpose of the thread.
    intent: Option<String>,
    /// A free-form JSON object, replaced whole.
    metadata: Option<Object>,
    /// The workspace it began in: `{"initial":{"trees":[…],"tags":[…]}}`.
    env: Option<Object>,
    /// Who may read it: its account alone, or everyone.
    visibility: Option<Visibility>,
}

/// The parts of a message, one schema each. Results of tools hold text or parts, and these hold text alone.
fn parts(result: &Schema) -> Vec<Schema> {
    let text = || json_schema!({ "type": "string" });
    let part = |kind: &str, what: &str, required: &[(&str, Schema)], optional: &[(&str, Schema)]| {
        let mut properties = serde_json::Map::new();
        properties.insert("type".into(), serde_json::json!({ "const": kind }));
        for (name, schema) in required.iter().chain(optional) {
            properties.insert((*name).into(), schema.clone().into());
        }
        let names: Vec<&str> = ["type"].into_iter().chain(required.iter().map(|(name, _)| *name)).collect();
        json_schema!({
            "description": what,
            "type": "object",
            "properties": properties,
            "required": names,
            "additionalProperties": false,
        })
    };
    let name =
        || ("name", json_schema!({ "type": ["string", "null"], "description": "A name to show instead of the path." }));
    let file = || {
        [
            ("path", json_schema!({ "type": "string", "description": "The path of the file." })),
            ("mimeType", json_schema!({ "type": "string", "description": "The media type of the file." })),
        ]
    };
    let call = |name: &'static str| (name, json_schema!({ "type": "string", "description": "The id of the call." }));
    vec![
        part("text", "Text.", &[("text", text())], &[]),
        part("image", "An image, by its path.", &file(), &[name()]),
        part("file", "A file, by its path.", &file(), &[name()]),
        part(
            "tool_use",
            "A call of a tool.",
            &[
                call("id"),
                ("name", json_schema!({ "type": "string", "description": "The name of the tool." })),
                ("input", json_schema!({ "description": "The arguments: any JSON." })),
            ],
            &[],
        ),
        part(
            "tool_result",
            "The answer to a call of a tool.",
            &[call("toolUseId"), ("content", result.clone())],
            &[("isError", json_schema!({ "type": "boolean", "description": "Whether the tool failed." }))],
        ),
        part(
            "thinking",
            "Reasoning of a model before its answer.",
            &[("text", text())],
            &[
                ("provider", json_schema!({ "type": "string", "description": "The provider that made it." })),
                (
                    "signature",
                    json_schema!({ "type": "string", "description": "The provider's signature of the text." }),
                ),
                (
                    "data",
                    json_schema!({ "type": "string", "description": "Hidden reasoning, encrypted by the provider." }),
                ),
            ],
        ),
    ]
}
