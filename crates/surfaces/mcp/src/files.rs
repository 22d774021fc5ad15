//! The tools for files, whose contents are no part of the list of calls.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use threadkeep_calls::Problem;
use threadkeep_client::model::{FilePath, Invalid, Version};
use threadkeep_client::{Client, FileAt, GrepFiles, ListFiles, NewFile};

use crate::answer::CHARACTERS_MAX;
use crate::calling::thread;
use crate::schema::{self, PAGE_MAX};
use crate::tools::described;

/// Largest file that is read, in bytes. The whole file is read, so that no secret is cut where it cannot be found.
pub(crate) const FILE_BYTES_MAX: u64 = 4 << 20;
/// Characters of a file in one answer. The rest of the answer is small.
const PART: usize = CHARACTERS_MAX - 2_000;
/// Matches of a search in files.
const MATCHES_MAX: usize = 50;

/// A tool for files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileTool {
    List,
    Read,
    Write,
    Delete,
    Move,
    Grep,
}

pub(crate) const FILE_TOOLS: [FileTool; 6] =
    [FileTool::List, FileTool::Read, FileTool::Write, FileTool::Delete, FileTool::Move, FileTool::Grep];

impl FileTool {
    pub(crate) fn is_core(self) -> bool {
        match self {
            Self::List | Self::Read | Self::Write => true,
            Self::Delete | Self::Move | Self::Grep => false,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::List => "list_files",
            Self::Read => "read_file",
            Self::Write => "write_file",
            Self::Delete => "delete_file",
            Self::Move => "move_file",
            Self::Grep => "grep_files",
        }
    }

    pub(crate) fn tool(self) -> Tool {
        let text = |about: &str| json!({ "type": "string", "description": about });
        let number = |about: &str| json!({ "type": "integer", "description": about });
        let path = || text("Path of the file, such as src/main.rs.");
        let reads = || ToolAnnotations::new().read_only(true);
        let writes = |destroys| ToolAnnotations::new().read_only(false).destructive(destroys);
        let (about, fields, required, hints) = match self {
            Self::List => (
                "Lists the files of a thread. Give find for files by a pattern, in any folder.",
                vec![
                    ("below", text("Only files in this folder.")),
                    ("find", text("Only paths that match this glob, such as **/*.rs.")),
                    ("limit", number(&format!("At most {PAGE_MAX}."))),
                    ("cursor", text("The cursor of the page before.")),
                    ("asOf", number("As the thread was at this version.")),
                ],
                vec![],
                reads(),
            ),
            Self::Read => (
                "Reads a text file of a thread, in parts: give nextOffset of the answer as offset to go on.",
                vec![
                    ("path", path()),
                    ("offset", number("The character to begin with. Default: 0.")),
                    ("asOf", number("As the thread was at this version.")),
                ],
                vec!["path"],
                reads(),
            ),
            Self::Write => (
                "Writes a text file of a thread, whole. Earlier versions stay readable.",
                vec![("path", path()), ("content", text("The whole content.")), ("mimeType", text("Its media type."))],
                vec!["path", "content"],
                writes(false).idempotent(true),
            ),
            Self::Delete => (
                "Deletes a file of a thread. Earlier versions stay readable.",
                vec![("path", path())],
                vec!["path"],
                writes(true),
            ),
            Self::Move => (
                "Moves a file of a thread.",
                vec![("path", path()), ("to", text("The new path."))],
                vec!["path", "to"],
                writes(false),
            ),
            Self::Grep => (
                "Finds lines in the files of a thread.",
                vec![
                    ("pattern", text("The text to find.")),
                    ("regex", json!({ "type": "boolean", "description": "Whether it is a regular expression." })),
                    ("ignoreCase", json!({ "type": "boolean" })),
                    ("glob", text("Only in files that this glob matches.")),
                ],
                vec!["pattern"],
                reads(),
            ),
        };
        let mut properties = Map::new();
        properties.insert("thread".to_owned(), schema::thread());
        properties.extend(fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
        let required = std::iter::once("thread").chain(required).map(Value::from).collect();
        described(self.name().to_owned(), about.to_owned(), schema::object(properties, required), hints)
    }

    pub(crate) async fn call(self, client: &Client, mut arguments: JsonObject) -> Result<Value, Problem> {
        let thread = thread(&mut arguments)?;
        let mut given = Given(arguments);
        let answer = match self {
            Self::List => match given.text("find")? {
                Some(glob) => {
                    let found = client.find_files(thread, &glob, Some(PAGE_MAX as usize), given.version()?).await?;
                    serde_json::to_value(found)
                }
                None => {
                    let limit = given.number("limit")?.unwrap_or(PAGE_MAX).min(PAGE_MAX) as usize;
                    let below = given.text("below")?.map(|below| below.parse()).transpose()?;
                    let (cursor, as_of) = (given.text("cursor")?, given.version()?);
                    let which = ListFiles { below, limit: Some(limit), cursor, as_of };
                    serde_json::to_value(client.files(thread, &which).await?)
                }
            },
            Self::Read => {
                let (path, offset) = (given.path("path")?, given.number("offset")?.unwrap_or(0));
                let at = given.version()?.map_or(FileAt::Now, FileAt::AsOf);
                let record = client.stat(thread, &path, at).await?;
                let mut told = serde_json::to_value(&record).unwrap_or_default();
                if told["size"].as_u64().is_some_and(|size| size > FILE_BYTES_MAX) {
                    return Err(unreadable(format!("{path} has more than {FILE_BYTES_MAX} bytes")));
                }
                let bytes = client.read_file(thread, &path, at).await?;
                let Ok(text) = std::str::from_utf8(&bytes) else {
                    return Err(unreadable(format!("{path} is not text: {} bytes", bytes.len())));
                };
                let mut rest = text.chars().skip(usize::try_from(offset).unwrap_or(usize::MAX));
                let part: String = rest.by_ref().take(PART).collect();
                if rest.next().is_some() {
                    told["nextOffset"] = (offset + part.chars().count() as u64).into();
                }
                told["content"] = part.into();
                Ok(told)
            }
            Self::Write => {
                let content = given.needed("content")?;
                let file = NewFile { mime_type: given.text("mimeType")?, ..NewFile::new(given.path("path")?, content) };
                serde_json::to_value(client.write_file(thread, file).await?)
            }
            Self::Delete => serde_json::to_value(client.delete_file(thread, &given.path("path")?).await?),
            Self::Move => {
                let (path, to) = (given.path("path")?, given.path("to")?);
                serde_json::to_value(client.move_file(thread, &path, &to).await?)
            }
            Self::Grep => {
                let grep = GrepFiles {
                    pattern: given.needed("pattern")?,
                    regex: given.is("regex"),
                    ignore_case: given.is("ignoreCase"),
                    glob: given.text("glob")?,
                    limit: Some(MATCHES_MAX),
                    as_of: given.version()?,
                };
                serde_json::to_value(client.grep_files(thread, &grep).await?)
            }
        };
        answer.map_err(|error| Invalid::body("answer", error.to_string()).into())
    }
}

/// A file that an agent cannot read by this tool.
fn unreadable(rule: String) -> Problem {
    let problem = Problem::from(Invalid::parameter("path", rule));
    problem.hint("ask the user to open it, or read it as the resource threadkeep://thread/ID/files/PATH")
}

/// Arguments, each taken once.
struct Given(JsonObject);

impl Given {
    fn text(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(Invalid::body(name, "is not a string").into())
            }
        }
    }

    fn needed(&mut self, name: &'static str) -> Result<String, Problem> {
        Ok(self.text(name)?.ok_or_else(|| Invalid::body(name, "is missing"))?)
    }

    fn path(&mut self, name: &'static str) -> Result<FilePath, Problem> {
        Ok(self.needed(name)?.parse()?)
    }

    fn number(&mut self, name: &'static str) -> Result<Option<u64>, Problem> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_u64().ok_or_else(|| Invalid::body(name, "is not a whole number from 0 on"));
                Ok(Some(number?))
            }
        }
    }

    fn version(&mut self) -> Result<Option<Version>, Problem> {
        let number = self.number("asOf")?;
        Ok(number.map(|number| number.to_string().parse()).transpose()?)
    }

    fn is(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }
}
