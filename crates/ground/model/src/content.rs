//! The content of messages: text, or typed parts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Invalid, Json};

/// The content of a message: a string, or a list of [`Part`]s, kept exactly as accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Content(Json);

/// One typed part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Part {
    /// Text for the reader.
    Text {
        /// The text itself.
        text: String,
    },
    /// An image, by its path in the thread or among the message's attachments.
    Image {
        /// The path of the file.
        path: String,
        /// The media type of the file.
        mime_type: String,
        /// A name to show instead of the path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A file, by its path in the thread or among the message's attachments.
    File {
        /// The path of the file.
        path: String,
        /// The media type of the file.
        mime_type: String,
        /// A name to show instead of the path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A call of a tool.
    ToolUse {
        /// The id of the call, which the result repeats.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments of the call.
        input: serde_json::Value,
    },
    /// The answer to a call of a tool.
    ToolResult {
        /// The id of the call it answers.
        tool_use_id: String,
        /// The output of the tool: text or parts.
        content: serde_json::Value,
        /// Whether the tool failed.
        #[serde(default)]
        is_error: bool,
    },
    /// Reasoning of a model before its answer.
    Thinking {
        /// The reasoning as text; empty where the provider hides it.
        text: String,
        /// The provider that made it. Only that one accepts it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The provider's signature of the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Hidden reasoning, encrypted by the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
    },
}

impl Part {
    /// Reasoning without a signature.
    pub fn thinking(text: impl Into<String>) -> Self {
        Self::Thinking { text: text.into(), provider: None, signature: None, data: None }
    }
}

impl Content {
    /// Content of plain text.
    pub fn text(text: &str) -> Self {
        Self(Json::string(text))
    }

    /// Content of typed parts.
    ///
    /// # Errors
    /// If a part holds JSON nested too deep.
    pub fn parts(parts: &[Part]) -> Result<Self, Invalid> {
        Self::from_json(Json::from_value("content", &parts)?)
    }

    /// Content from JSON, checked against the list of parts.
    ///
    /// # Errors
    /// If it is neither a string nor an array of known parts; the rule says which part is wrong.
    pub fn from_json(json: Json) -> Result<Self, Invalid> {
        Self(json).checked()
    }

    /// Checks content that was read from a request.
    ///
    /// # Errors
    /// As [`Content::from_json`].
    pub fn checked(self) -> Result<Self, Invalid> {
        let Self(json) = self;
        match json.as_str().trim_start().as_bytes().first() {
            Some(b'"') => Ok(Self(json)),
            Some(b'[') => {
                let Some(parts) = json.to_value().as_array().cloned() else { return Err(Self::rule()) };
                for (index, part) in parts.into_iter().enumerate() {
                    check_part(&format!("content[{index}]"), part, Nested::Allowed)?;
                }
                Ok(Self(json))
            }
            _ => Err(Self::rule()),
        }
    }

    fn rule() -> Invalid {
        Invalid::body("content", "must be a string or an array of parts")
    }

    /// The JSON, exactly as accepted.
    pub fn as_json(&self) -> &Json {
        &self.0
    }

    /// All text in the content: the string itself, or the text parts, one a line.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self.0.read::<Cow<'_, str>>() {
            Ok(text) => text,
            Err(_) => {
                let texts = self.to_parts().into_iter().filter_map(|part| match part {
                    Part::Text { text } => Some(text),
                    Part::Image { .. }
                    | Part::File { .. }
                    | Part::ToolUse { .. }
                    | Part::ToolResult { .. }
                    | Part::Thinking { .. } => None,
                });
                texts.collect::<Vec<_>>().join("\n").into()
            }
        }
    }

    /// The same content, with the paths of its images and files replaced by `to`, where that returns a path. Other
    /// parts stay to the letter.
    ///
    /// # Errors
    /// If a part cannot be written.
    pub fn with_paths(&self, to: impl Fn(&str) -> Option<String>) -> Result<Self, Invalid> {
        let Ok(parts) = self.0.read::<Vec<&RawValue>>() else { return Ok(self.clone()) };
        let mut changed = false;
        let mut texts = Vec::with_capacity(parts.len());
        for raw in parts {
            let mut part = serde_json::from_str::<Part>(raw.get());
            let path = match &mut part {
                Ok(Part::Image { path, .. } | Part::File { path, .. }) => to(path).map(|to| *path = to),
                Ok(Part::Text { .. } | Part::ToolUse { .. } | Part::ToolResult { .. } | Part::Thinking { .. })
                | Err(_) => None,
            };
            match (path, part) {
                (Some(()), Ok(part)) => {
                    changed = true;
                    texts.push(Json::from_value("content", &part)?.as_str().to_owned());
                }
                _ => texts.push(raw.get().to_owned()),
            }
        }
        if changed {
            Self::from_json(Json::parse("content", &format!("[{}]", texts.join(",")))?)
        } else {
            Ok(self.clone())
        }
    }

    /// The content as parts; a string is one text part.
    pub fn to_parts(&self) -> Vec<Part> {
        match self.0.to_value() {
            serde_json::Value::String(text) => vec![Part::Text { text }],
            value => Vec::<Part>::deserialize(value).unwrap_or_default(),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Nested {
    Allowed,
    Refused,
}

fn check_part(field: &str, part: serde_json::Value, nested: Nested) -> Result<(), Invalid> {
    // The derived parser of parts would accept an array, too.
    if !part.is_object() {
        return Err(Invalid::body(field, "must be a JSON object with a type"));
    }
    let part = Part::deserialize(part).map_err(|error| {
        Invalid::body(field, format!("{error} (parts are text, image, file, tool_use, tool_result and thinking)"))
    })?;
    let Part::ToolResult { content, .. } = part else { return Ok(()) };
    let field = format!("{field}.content");
    match content {
        serde_json::Value::String(_) => Ok(()),
        serde_json::Value::Array(parts) if nested == Nested::Allowed => parts
            .into_iter()
            .enumerate()
            .try_for_each(|(index, part)| check_part(&format!("{field}[{index}]"), part, Nested::Refused)),
        _ => Err(Invalid::body(field, "must be a string or an array of parts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Result<Content, Invalid> {
        Content::from_json(Json::parse("content", text)?)
    }

    #[test]
    fn text_and_known_parts_are_accepted_as_they_are() {
        for text in [
            r#""hello""#,
            r#"[{"text":"a","type":"text"}]"#,
            r#"[{"type":"tool_use","id":"1","name":"ls","input":{"n":1.0}}]"#,
            r#"[{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"x"}]}]"#,
            r#"[{"type":"image","path":"/a.png","mimeType":"image/png"}]"#,
        ] {
            assert_eq!(content(text).expect(text).as_json().as_str(), text);
        }
    }

    #[test]
    fn anything_else_is_refused_and_says_which_part() {
        for (text, place) in [
            ("1", "content"),
            ("null", "content"),
            (r#"{"type":"text","text":"x"}"#, "content"),
            (r#"[{"type":"text","text":"x"},{"type":"song"}]"#, "content[1]"),
            (r#"[{"type":"text","text":"x","colour":"red"}]"#, "content[0]"),
            (r#"[{"type":"tool_result","toolUseId":"1","content":3}]"#, "content[0].content"),
            (r#"[["text","x"]]"#, "content[0]"),
            (r#"[{"type":"tool_result","toolUseId":"1","content":[["text","x"]]}]"#, "content[0].content[0]"),
        ] {
            assert_eq!(content(text).expect_err(text).field, place);
        }
    }

    #[test]
    fn paths_change_and_everything_else_stays_to_the_letter() {
        let parts = r#"[{"type":"tool_use","id":"1","name":"f","input":{"z":1.0, "a":1e2}},{"mimeType":"image/png", "type":"image","path":"a.png"},{"type":"file","path":"/b","mimeType":"x"}]"#;
        let to = |path: &str| (path == "a.png").then(|| "/attachments/a.png".to_owned());
        let moved = content(parts).expect("parts").with_paths(to).expect("content");
        let image = r#"{"type":"image","path":"/attachments/a.png","mimeType":"image/png"}"#;
        let expected = parts.replace(r#"{"mimeType":"image/png", "type":"image","path":"a.png"}"#, image);
        assert_eq!(moved.as_json().as_str(), expected);
        for same in [r#""a.png""#, r#"[ {"type":"text","text":"a.png"} ]"#] {
            assert_eq!(content(same).expect(same).with_paths(to).expect(same).as_json().as_str(), same);
        }
    }

    #[test]
    fn to_text_joins_the_text_parts() {
        let parts = r#"[{"type":"text","text":"a"},{"type":"thinking","text":"no"},{"type":"text","text":"b"}]"#;
        assert_eq!(content(parts).expect("parts").to_text(), "a\nb");
        assert_eq!(content(r#""x\ny""#).expect("text").to_text(), "x\ny");
    }
}
