//! `mcp install`: the entry of Threadkeep in the settings of an agent's host. It is shown, asked for, and written.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use threadkeep::Invalid;
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::editor;
use crate::failure::{Failure, cannot_read, note};
use crate::out::Out;
use crate::place::{Place, Reach};

/// The name of the entry.
const NAME: &str = "threadkeep";

/// Put Threadkeep into the settings of an agent's host: show the entry, ask, and write it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep mcp install --client cursor
  threadkeep --data ~/threads mcp install --client codex --yes")]
pub(crate) struct Install {
    /// The host of the agent
    #[arg(long, value_name = "NAME")]
    client: Host,
    /// Write without asking
    #[arg(long)]
    yes: bool,
}

/// A host of agents whose settings are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Host {
    ClaudeCode,
    Codex,
    Cursor,
    Zed,
}

/// How the settings of a host are written.
enum Format {
    /// JSON, with the entries under this field.
    Json(&'static str),
    /// TOML, with a table for each entry below `mcp_servers`.
    Toml,
}

/// What becomes of settings.
#[derive(Debug, PartialEq, Eq)]
enum Settings {
    /// They get the entry: their new text. Everything else in them stays as it is, to the letter.
    With(String),
    /// They have the entry.
    HaveIt,
    /// They have an entry of the name that says something else.
    HaveAnother,
    /// They cannot be read, or have no place for it.
    Unclear,
}

impl Host {
    fn settings(self, home: &Path) -> (PathBuf, Format) {
        match self {
            Self::ClaudeCode => (home.join(".claude.json"), Format::Json("mcpServers")),
            Self::Codex => (home.join(".codex/config.toml"), Format::Toml),
            Self::Cursor => (home.join(".cursor/mcp.json"), Format::Json("mcpServers")),
            Self::Zed => (home.join(".config/zed/settings.json"), Format::Json("context_servers")),
        }
    }
}

impl Install {
    pub(crate) fn run(&self, place: &Place, out: &mut Out) -> Result<(), Failure> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let home = home.ok_or_else(|| Invalid::parameter("HOME", "is not set, so the settings are not found"))?;
        let (path, format) = self.client.settings(&home);
        let before = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(cannot_read(&path.display().to_string(), &error)),
        };
        let (entry, settings) = match format {
            Format::Json(field) => in_json(&before, field, &arguments(place)),
            Format::Toml => in_toml(&before, &arguments(place)),
        };
        out.line(format!("{}:", path.display()))?;
        out.line(&entry)?;
        out.flush()?;
        let unchanged = |why: &str| {
            let detail = format!("{} {why}, so it is not changed", path.display());
            Err(Problem::new(Status::BadRequest, ErrorCode::InvalidBody, detail)
                .hint("put the entry above into it")
                .into())
        };
        let after = match settings {
            Settings::With(after) => after,
            Settings::HaveIt => {
                note("it is there already");
                return Ok(());
            }
            Settings::HaveAnother => return unchanged("has another entry named threadkeep"),
            Settings::Unclear => return unchanged("is not understood"),
        };
        if !self.yes && !agreed()? {
            note("nothing was written");
            return Ok(());
        }
        write(&path, &after).map_err(|error| {
            let detail = format!("cannot write {}: {error}", path.display());
            Failure::from(Problem::new(Status::Unavailable, ErrorCode::CannotWrite, detail))
        })?;
        note("written; start the host anew to use it");
        Ok(())
    }
}

/// The arguments of `threadkeep` in the entry: the same place from whatever folder a host starts it in.
fn arguments(place: &Place) -> Vec<String> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    let mut arguments = match &place.reach {
        Reach::Server(url) => vec!["--server".to_owned(), url.clone()],
        Reach::Folder => vec!["--data".to_owned(), absolute(&place.folder)],
        Reach::Store => match place.url.strip_prefix("sqlite:").unwrap_or(&place.url) {
            url if url.contains(':') => vec!["--store".to_owned(), url.to_owned()],
            path => vec!["--store".to_owned(), absolute(Path::new(path))],
        },
    };
    arguments.push("mcp".to_owned());
    arguments
}

/// The entry, and the settings with it. Comments and commas at the end of lists are allowed, as editors write them.
fn in_json(before: &str, field: &str, arguments: &[String]) -> (String, Settings) {
    let entry = json!({ "command": "threadkeep", "args": arguments });
    let shown = format!("{:#}", json!({ field: { NAME: entry } }));
    if before.trim().is_empty() {
        let after = Settings::With(format!("{shown}\n"));
        return (shown, after);
    }
    let plain = without_comments(before);
    let Ok(Value::Object(settings)) = serde_json::from_str(&plain) else { return (shown, Settings::Unclear) };
    let (place, named) = match settings.get(field) {
        None => (place_in(&plain, None), json!({ field: { NAME: entry } })),
        Some(Value::Object(entries)) => match entries.get(NAME) {
            Some(found) if *found == entry => return (shown, Settings::HaveIt),
            Some(_) => return (shown, Settings::HaveAnother),
            None => (place_in(&plain, Some(field)), json!({ NAME: entry })),
        },
        Some(_) => return (shown, Settings::Unclear),
    };
    let Some(place) = place else { return (shown, Settings::Unclear) };
    // The text of an object without its braces: the line breaks around it stay.
    let text = format!("{named:#}");
    let text = text.trim_start_matches('{').trim_end_matches('}').trim_end();
    let comma = if plain[place..].trim_start().starts_with('}') { "\n" } else { "," };
    let (head, tail) = before.split_at(place);
    (shown, Settings::With(format!("{head}{text}{comma}{tail}")))
}

/// The text with spaces in place of comments, and of commas before a closing bracket. Every other byte stays in its place.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while at < bytes.len() {
        let comment = match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'/')) => Some(text[at..].find('\n').map_or(bytes.len(), |length| at + length)),
            (b'/', Some(b'*')) => text[at + 2..].find("*/").map(|length| at + 2 + length + 2),
            _ => None,
        };
        if let Some(end) = comment {
            bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
            at = end;
            continue;
        }
        let end = if bytes[at] == b'"' { end_of_string(&bytes, at) } else { at + 1 };
        match bytes[at] {
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(last) = comma.take() {
                    bytes[last] = b' ';
                }
            }
            byte if !byte.is_ascii_whitespace() => comma = None,
            _ => {}
        }
        at = end;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Where the string that begins at `at` is over.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(bytes.len())
}

/// The place right after the bracket that opens the settings, or the object under a field of theirs. `plain` is valid JSON.
fn place_in(plain: &str, field: Option<&str>) -> Option<usize> {
    let Some(field) = field else { return plain.find('{').map(|at| at + 1) };
    let (bytes, name) = (plain.as_bytes(), format!("\"{field}\""));
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = end_of_string(bytes, at);
                if depth == 1 && plain[at..end] == name && plain[end..].trim_start().starts_with(':') {
                    return plain[end..].find('{').map(|length| end + length + 1);
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The entry, and the settings with it.
fn in_toml(before: &str, arguments: &[String]) -> (String, Settings) {
    // A list of JSON strings is a list of TOML strings.
    let shown = format!("[mcp_servers.{NAME}]\ncommand = \"threadkeep\"\nargs = {}\n", json!(arguments));
    let settings = match (before.parse::<toml::Table>(), shown.parse::<toml::Table>()) {
        (Ok(settings), Ok(wanted)) => match settings.get("mcp_servers").and_then(|servers| servers.get(NAME)) {
            Some(found) if Some(found) == wanted.get("mcp_servers").and_then(|servers| servers.get(NAME)) => {
                Settings::HaveIt
            }
            Some(_) => Settings::HaveAnother,
            None if before.trim().is_empty() => Settings::With(shown.clone()),
            None => Settings::With(format!("{}\n\n{shown}", before.trim_end())),
        },
        (Err(_), _) | (_, Err(_)) => Settings::Unclear,
    };
    (shown, settings)
}

fn agreed() -> Result<bool, Failure> {
    if !editor::is_attended() {
        let rule = "is needed outside a terminal, where nobody can be asked";
        return Err(Invalid::parameter("yes", rule).into());
    }
    eprint!("Write it? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|error| cannot_read("stdin", &error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Replaces the file whole: a host that reads it sees the old or the new settings.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut part = path.clone().into_os_string();
    part.push(".threadkeep");
    fs::write(&part, text)?;
    if let Ok(before) = fs::metadata(&path) {
        fs::set_permissions(&part, before.permissions())?;
    }
    fs::rename(&part, &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> Vec<String> {
        vec!["--data".to_owned(), "/home/ann/it's \"here\"".to_owned(), "mcp".to_owned()]
    }

    fn with(settings: Settings) -> String {
        let Settings::With(text) = settings else { panic!("no new settings: {settings:?}") };
        text
    }

    #[test]
    fn an_entry_joins_the_settings_and_leaves_the_rest_to_the_letter() {
        for (before, field) in [
            (r#"{"z": 1e3, "mcpServers": {"other": {"command": "x"}}}"#, "mcpServers"),
            ("{\n  \"z\": \"mcpServers\", \"mcpServers\": {}\n}\n", "mcpServers"),
            ("{}", "mcpServers"),
            ("// Zed\n{\n  \"ui\": {\"a\": [1, 2,], /* big */ },\n}\n", "context_servers"),
            ("// Zed\n{\n  \"context_servers\": {\n    // none yet\n  },\n}\n", "context_servers"),
            (
                r#"{"url": "http://x/*y*/ // z", "nested": {"context_servers": {}}, "context_servers": {"a": {},}}"#,
                "context_servers",
            ),
        ] {
            let after = with(in_json(before, field, &arguments()).1);
            let read: Value = serde_json::from_str(&without_comments(&after)).expect(&after);
            assert_eq!(read[field][NAME]["args"], json!(arguments()), "{after}");
            let mut rest = before;
            for letter in after.chars() {
                rest = rest.strip_prefix(letter).unwrap_or(rest);
            }
            assert_eq!(rest, "", "everything is still there, in order: {after}");
            assert_eq!(in_json(&after, field, &arguments()).1, Settings::HaveIt, "a second time changes nothing");
            let elsewhere = ["--data".to_owned(), "/other".to_owned(), "mcp".to_owned()];
            assert_eq!(in_json(&after, field, &elsewhere).1, Settings::HaveAnother);
        }
        for unclear in ["[]", "{", "{\"mcpServers\": 1}", "{\"a\": \"", "/*"] {
            assert_eq!(in_json(unclear, "mcpServers", &arguments()).1, Settings::Unclear, "{unclear}");
        }
    }

    #[test]
    fn an_entry_joins_toml_and_never_replaces_another() {
        let after = with(in_toml("model = \"x\" # mine\n", &arguments()).1);
        assert!(after.starts_with("model = \"x\" # mine\n"), "{after}");
        let read: toml::Table = after.parse().expect("toml");
        assert_eq!(read["mcp_servers"][NAME]["args"].as_array().map(Vec::len), Some(3));
        assert_eq!(in_toml(&after, &arguments()).1, Settings::HaveIt);
        let mine = "[mcp_servers.threadkeep]\ncommand = \"mine\"\n";
        assert_eq!(in_toml(mine, &arguments()).1, Settings::HaveAnother);
        assert_eq!(in_toml("model =", &arguments()).1, Settings::Unclear);
    }
}
