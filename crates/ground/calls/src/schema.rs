//! JSON Schemas of what no derive describes: codes, and problems as they are told.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{ErrorCode, Problem};

/// A problem, in the form of RFC 9457.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Problem")]
#[allow(dead_code, reason = "its fields are the documentation")]
pub struct ProblemTold {
    /// The page that explains the code, relative to the server.
    #[schemars(regex(pattern = "^/docs/errors/[a-z_]+$"))]
    r#type: String,
    /// The status in words.
    title: String,
    /// The status of the answer.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    #[serde(flatten)]
    problem: Problem,
    /// The request's id, as in the header `X-Request-Id`.
    request_id: String,
}

impl JsonSchema for ErrorCode {
    fn schema_name() -> Cow<'static, str> {
        "ErrorCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let codes: Vec<&str> = Self::ALL.iter().map(|code| code.as_str()).collect();
        json_schema!({
            "description": "A stable code. `/docs/errors/CODE` explains it; later versions may add some.",
            "type": "string",
            "enum": codes,
        })
    }
}
