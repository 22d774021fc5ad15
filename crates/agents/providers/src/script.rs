//! The provider `script` plays a file: for demos and tests, without a model.
//!
//! ```json
//! {"answers": [
//!   {"thinking": "I should look.", "calls": [{"name": "search", "arguments": {"query": "tea"}}]},
//!   {"text": "I found {{result}}.", "usage": {"input": 20, "output": 5}}
//! ]}
//! ```
//!
//! The place in the script is the number of answers that the conversation has, so a run that goes on elsewhere goes on
//! at the same place.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::blocks::Blocks;
use crate::failure::Failure;
use crate::names::Names;
use crate::{Answer, Part, Piece, Request, Role, Stop, Usage};

/// The name of the protocol.
pub(crate) const NAME: &str = "script";

/// A file that is played.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Script {
    answers: Vec<Scripted>,
    /// Whether it begins again after its last answer.
    #[serde(default)]
    repeat: bool,
}

/// One answer of a script.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Scripted {
    thinking: Option<String>,
    /// The text; `{{user}}` is the last thing that the user said, `{{result}}` the last result of a tool.
    text: Option<String>,
    calls: Vec<ScriptedCall>,
    usage: Option<ScriptedUsage>,
    /// The answer ends at its limit of tokens.
    cut: bool,
    /// Milliseconds before each word.
    pause_ms: u64,
    /// Instead of an answer, a failure with this status.
    fails: Option<u16>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    #[serde(default)]
    id: String,
    /// The arguments; their texts are filled as the text of an answer is.
    #[serde(default)]
    arguments: Value,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ScriptedUsage {
    input: u64,
    output: u64,
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {path}: {why}")]
    Unreadable {
        /// The path of the script.
        path: String,
        /// The reason.
        why: std::io::Error,
    },
    /// The file is no script.
    #[error("{path}:{line}:{column}: {what}")]
    Invalid {
        /// The path of the script.
        path: String,
        /// The line of the mistake, from 1.
        line: usize,
        /// The column of the mistake, from 1.
        column: usize,
        /// The mistake.
        what: String,
    },
}

impl Script {
    /// Reads the script in a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no script.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|why| ScriptError::Unreadable { path: name.clone(), why })?;
        Self::parse(&name, &text)
    }

    /// Reads a script. `path` is named in errors.
    ///
    /// # Errors
    /// If it is no script.
    pub fn parse(path: &str, text: &str) -> Result<Self, ScriptError> {
        serde_json::from_str(text).map_err(|error| ScriptError::Invalid {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            what: error.to_string(),
        })
    }

    /// The answer to a request, as pieces with the pause before each.
    pub(crate) fn play(&self, request: &Request) -> Result<(VecDeque<(Duration, Piece)>, Answer), Failure> {
        let at = if self.repeat { request.answered % self.answers.len().max(1) } else { request.answered };
        let Some(scripted) = self.answers.get(at) else {
            let body = format!("the script has {} answers, and all were given", self.answers.len());
            return Err(Failure::of_status(400, body.as_bytes(), None));
        };
        if let Some(status) = scripted.fails {
            return Err(Failure::of_status(status, b"the script fails here", None));
        }
        let pause = Duration::from_millis(scripted.pause_ms);
        let (mut blocks, mut pieces) = (Blocks::default(), VecDeque::new());
        for word in scripted.thinking.as_deref().unwrap_or_default().split_inclusive(' ') {
            blocks.thought(NAME).text.push_str(word);
            pieces.push_back((pause, Piece::Thinking(word.to_owned())));
        }
        let text = filled(scripted.text.as_deref().unwrap_or_default(), request);
        for word in text.split_inclusive(' ') {
            pieces.extend(blocks.text(word).map(|piece| (pause, piece)));
        }
        for (index, call) in scripted.calls.iter().enumerate() {
            let arguments = filled_in(call.arguments.clone(), request);
            let arguments = if arguments.is_null() { String::new() } else { arguments.to_string() };
            blocks.call(index as u64, &call.id, &call.name, &arguments);
            pieces.push_back((pause, Piece::Call { name: call.name.clone() }));
        }
        blocks.stop = scripted.cut.then_some(Stop::Length);
        let usage = scripted.usage.unwrap_or_default();
        blocks.usage = Some(Usage { input: usage.input, output: usage.output, ..Usage::default() });
        Ok((pieces, blocks.answer(&Names::default(), request.answered)))
    }
}

fn filled_in(value: Value, request: &Request) -> Value {
    match value {
        Value::String(text) => Value::String(filled(&text, request)),
        Value::Array(items) => items.into_iter().map(|item| filled_in(item, request)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, filled_in(field, request))).collect(),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
    }
}

fn filled(text: &str, request: &Request) -> String {
    let parts = || {
        request.messages.iter().rev().filter(|said| said.role == Role::User).flat_map(|said| said.parts.iter().rev())
    };
    let user = parts().find_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None });
    let result = parts().find_map(|part| if let Part::Result { text, .. } = part { Some(text.as_str()) } else { None });
    text.replace("{{user}}", user.unwrap_or_default()).replace("{{result}}", result.unwrap_or_default())
}
