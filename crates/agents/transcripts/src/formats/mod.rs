//! Sessions in formats that others read. Each export says what its format cannot hold.

mod atif;
mod claude_code;
mod jsonl;
mod markdown;
mod openai;

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use threadkeep_model::Invalid;

use crate::shape::{File, FileData, Message, Part, Session};

/// The formats of exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A session file of Claude Code, with all branches.
    ClaudeCode,
    /// Messages of OpenAI's chat API: the active branch.
    OpenAi,
    /// Text for people: the active branch.
    Markdown,
    /// A trajectory of Harbor's ATIF: the active branch.
    Atif,
    /// The neutral shape, one line a message, with all branches. Nothing is lost.
    Jsonl,
}

impl Format {
    /// Every format that is written.
    pub const ALL: [Self; 5] = [Self::ClaudeCode, Self::OpenAi, Self::Markdown, Self::Atif, Self::Jsonl];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::OpenAi => "openai",
            Self::Markdown => "markdown",
            Self::Atif => "atif",
            Self::Jsonl => "jsonl",
        }
    }
}

impl FromStr for Format {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::parameter("format", format!("'{text}' is not one of {known}"))
        })
    }
}

/// A thread in another format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The text of the file.
    pub text: String,
    /// What the format could not hold, such as `3 messages on other branches`.
    pub lost: Vec<String>,
}

/// Writes a session in a format.
pub fn export(session: &Session, format: Format) -> Exported {
    let mut lost = Lost::default();
    let text = match format {
        Format::ClaudeCode => claude_code::write(session, &mut lost),
        Format::OpenAi => openai::write(session, &mut lost),
        Format::Markdown => markdown::write(session, &mut lost),
        Format::Atif => atif::write(session, &mut lost),
        Format::Jsonl => jsonl::write(session),
    };
    Exported { text, lost: lost.0.into_iter().map(|(what, count)| format!("{count} {what}")).collect() }
}

/// Counts of what a format cannot hold.
#[derive(Default)]
struct Lost(BTreeMap<&'static str, usize>);

impl Lost {
    fn add(&mut self, what: &'static str) {
        self.many(what, 1);
    }

    fn many(&mut self, what: &'static str, count: usize) {
        if count > 0 {
            *self.0.entry(what).or_default() += count;
        }
    }
}

/// The messages of the active branch, oldest first. The others are lost.
fn active<'a>(session: &'a Session, lost: &mut Lost) -> Vec<&'a Message> {
    let by_id: HashMap<&str, &Message> = session.messages.iter().map(|it| (it.id.as_str(), it)).collect();
    let aliases: HashMap<&str, &str> = session.aliases.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let find = |name: &str| by_id.get(name).or_else(|| by_id.get(aliases.get(name)?)).copied();
    let mut branch = Vec::new();
    let mut at = session.active.as_deref().and_then(find);
    while let Some(message) = at {
        branch.push(message);
        if branch.len() > session.messages.len() {
            break;
        }
        at = message.parent.as_deref().and_then(find);
    }
    branch.reverse();
    lost.many("messages on other branches", session.messages.len().saturating_sub(branch.len()));
    branch
}

/// An address that holds the file: its own, or one with the bytes in it.
fn address(file: &File) -> String {
    match &file.data {
        FileData::Link(link) => link.clone(),
        FileData::Bytes(bytes) => {
            let mime = file.mime.as_deref().unwrap_or("application/octet-stream");
            format!("data:{mime};base64,{}", STANDARD.encode(bytes))
        }
    }
}

/// The text of a result. Files in it are lost.
fn result_text(parts: &[Part], lost: &mut Lost) -> String {
    let mut texts = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => texts.push(text.as_str()),
            Part::File(_) => lost.add("files in results"),
            Part::Raw(_) => lost.add("raw parts"),
            Part::Thinking(_) | Part::ToolCall { .. } | Part::ToolResult { .. } => lost.add("parts within results"),
        }
    }
    texts.join("\n")
}
