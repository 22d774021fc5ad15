//! Where agents keep their conversations, and which files hold some. Links are never followed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::server::Address;
use crate::shape::Source;

/// How deep folders are searched.
const DEPTH_MAX: usize = 12;
/// Most files of a source.
const FILES_MAX: usize = 1_000_000;

/// A file that holds conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The agent that wrote it.
    pub source: Source,
    /// The file.
    pub path: PathBuf,
    /// Its size, with that of a write-ahead log beside it.
    pub bytes: u64,
    /// When it last changed.
    pub modified: SystemTime,
    /// The server that holds the conversations, instead of a file. The path then shows its address.
    pub(crate) server: Option<Address>,
}

impl Found {
    /// The name by which readers know it: Cline keeps each task in a folder of its own.
    pub fn reader_name(&self) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = name(&self.path);
        match self.path.parent() {
            Some(folder) if self.source == Source::Cline => format!("{}/{file}", name(folder)),
            _ => file,
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The files, in the order in which they are read: a session comes before those that it started.
    pub files: Vec<Found>,
    /// Links, which are refused, and folders that cannot be read.
    pub refused: Vec<(PathBuf, String)>,
}

/// The environment in which default places are looked up.
#[derive(Debug, Clone, Default)]
pub struct Home {
    /// The home folder of the person.
    pub folder: PathBuf,
    /// `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `XDG_DATA_HOME` and `XDG_CONFIG_HOME`, where they are set.
    pub variables: Vec<(String, PathBuf)>,
}

impl Home {
    /// The home of the person who runs this program; none if it is not set.
    pub fn from_environment() -> Option<Self> {
        let folder = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"))?;
        let names = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"];
        let set = names.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?.into())));
        Some(Self { folder: folder.into(), variables: set.collect() })
    }

    fn or(&self, variable: &str, default: &str) -> PathBuf {
        let set = self.variables.iter().find(|(name, _)| name == variable);
        set.map_or_else(|| self.folder.join(default), |(_, path)| path.clone())
    }

    /// The default places of a source on Linux and macOS; none for sources that only export.
    pub fn places(&self, source: Source) -> Vec<PathBuf> {
        let (data, config) = (self.or("XDG_DATA_HOME", ".local/share"), self.or("XDG_CONFIG_HOME", ".config"));
        let library = self.folder.join("Library/Application Support");
        match source {
            Source::ClaudeCode => vec![self.or("CLAUDE_CONFIG_DIR", ".claude").join("projects")],
            Source::Codex => {
                let home = self.or("CODEX_HOME", ".codex");
                vec![home.join("sessions"), home.join("archived_sessions")]
            }
            Source::OpenCode => vec![data.join("opencode")],
            Source::Goose => vec![data.join("goose/sessions"), library.join("Block/goose/sessions")],
            Source::Pi => vec![self.folder.join(".pi/agent/sessions")],
            Source::Amp => vec![data.join("amp/threads")],
            Source::GeminiCli => vec![self.folder.join(".gemini/tmp")],
            Source::Cline => {
                let tasks = "Code/User/globalStorage/saoudrizwan.claude-dev/tasks";
                vec![config.join(tasks), library.join(tasks), self.folder.join(".cline/data")]
            }
            Source::Zed => vec![data.join("zed/threads"), library.join("Zed/threads")],
            Source::ChatGpt | Source::LangGraph | Source::Threadkeep => Vec::new(),
        }
    }
}

/// The files of `source` at these places. A place that is a file is taken as it is; one that is missing holds nothing.
pub fn search(source: Source, places: &[PathBuf]) -> Search {
    let mut found = Search::default();
    for place in places {
        walk(source, place, DEPTH_MAX, true, &mut found);
    }
    // Sessions of subagents come after the others; within each, the oldest first.
    found.files.sort_by_key(|file| (is_subagent(&file.path), file.modified, file.path.clone()));
    found
}

fn walk(source: Source, path: &Path, depth: usize, is_named: bool, found: &mut Search) {
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    // A place that the person names may be a link; what lies in it may not.
    let looked = if is_named { fs::metadata(path) } else { fs::symlink_metadata(path) };
    let metadata = match looked {
        Ok(metadata) => metadata,
        Err(error) if is_missing(&error) => return,
        Err(error) => return found.refused.push((path.to_owned(), error.to_string())),
    };
    if metadata.is_symlink() {
        return found.refused.push((path.to_owned(), "a link, which is not followed".to_owned()));
    }
    if metadata.is_file() {
        if (is_named || holds_sessions(source, path)) && found.files.len() < FILES_MAX {
            let (mut bytes, mut modified) = (metadata.len(), metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH));
            if let Ok(log) = fs::symlink_metadata(beside(path, "-wal")) {
                bytes += log.len();
                modified = modified.max(log.modified().unwrap_or(SystemTime::UNIX_EPOCH));
            }
            found.files.push(Found { source, path: path.to_owned(), bytes, modified, server: None });
        }
        return;
    }
    if !metadata.is_dir() || depth == 0 || is_left_out(source, path) {
        return;
    }
    match fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries.flatten() {
                walk(source, &entry.path(), depth - 1, false, found);
            }
        }
        Err(error) => found.refused.push((path.to_owned(), error.to_string())),
    }
}

/// The path with something added to its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_subagent(path: &Path) -> bool {
    name_of(path).starts_with("agent-") || path.components().any(|part| part.as_os_str() == "subagents")
}

/// Folders without sessions.
fn is_left_out(source: Source, path: &Path) -> bool {
    let names: &[&str] = match source {
        Source::ClaudeCode => &["memory", "tool-results"],
        // Messages and parts of the older tree belong to their session.
        Source::OpenCode => &["message", "part", "session_diff", "log", "snapshot", "bin", "tool-output", "share"],
        Source::Codex
        | Source::Goose
        | Source::Pi
        | Source::Amp
        | Source::GeminiCli
        | Source::Cline
        | Source::Zed
        | Source::ChatGpt
        | Source::LangGraph
        | Source::Threadkeep => &[],
    };
    names.contains(&name_of(path))
}

/// Whether a file of this name holds sessions.
fn holds_sessions(source: Source, path: &Path) -> bool {
    let name = name_of(path);
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    match source {
        Source::ClaudeCode | Source::Pi => ends(&[".jsonl"]),
        Source::Codex => name.starts_with("rollout-") && ends(&[".jsonl", ".jsonl.zst", ".json"]),
        Source::OpenCode => {
            let is_session = path.components().any(|part| part.as_os_str() == "session") && ends(&[".json"]);
            ends(&[".db"]) || is_session || (name.starts_with("ses") && ends(&[".json"]))
        }
        Source::Goose => ends(&[".jsonl", ".db", ".json"]),
        Source::Amp => name.starts_with("T-") && ends(&[".json"]),
        Source::GeminiCli => {
            let in_chats = path.components().any(|part| part.as_os_str() == "chats");
            (in_chats || name.starts_with("session-")) && ends(&[".json", ".jsonl"])
        }
        Source::Cline => name == "api_conversation_history.json" || ends(&[".messages.json"]),
        Source::Zed | Source::LangGraph => ends(&[".db", ".sqlite", ".sqlite3"]),
        Source::ChatGpt => ends(&[".zip"]) || (name.starts_with("conversations") && ends(&[".json"])),
        Source::Threadkeep => false,
    }
}
