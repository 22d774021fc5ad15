//! The tools: one for each call of the list, in groups, and a few for files.

use std::sync::{Arc, OnceLock};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use threadkeep_calls::{DECLARATIONS, Declaration, Method, Needs, Repeat};

use crate::files::{FILE_TOOLS, FileTool};
use crate::schema;

/// The tools that every agent gets: the tool, the call behind it, and when to use it.
const CORE: [(&str, &str, &str); 23] = [
    ("search", "search", "Use it to find earlier conversations. To list threads by their fields, use list_threads."),
    ("list_threads", "list", "The newest change first. It shows no messages: use read_messages."),
    ("get_thread", "get", "It tells title, version, lifecycle and counts."),
    ("read_messages", "messages", "Use order=desc to see the newest first, and cursor to go on."),
    ("tree", "tree", "Use it to see forks, subagents, handoffs and references."),
    ("create", "create", "Use fork or spawn to go on from an existing thread."),
    ("append", "append", "It only writes: no agent starts. For a thread at work, use queue or inject."),
    ("queue", "queue", "Use it while another agent works on the thread."),
    ("fork", "fork", "Use it to try another way. Give one of messageIndex, messageId or version, or none to fork now."),
    ("handoff", "handoff", "Use it when a conversation gets too long, or another agent goes on."),
    ("checkpoint", "checkpoint", "Use it before risky work; rollback leads back to it."),
    ("decide", "decide", "Use it so that later merges can compare decisions."),
    ("get_value", "value", "Values are small JSON documents under keys of a thread."),
    ("set_value", "set-value", "For text and larger content, use write_file."),
    ("spawn", "spawn", "The new thread never sees later changes of this one."),
    ("reference", "reference", "Nothing is copied. A frozen reference keeps showing the present version."),
    ("lifecycle", "lifecycle", "A closed thread takes no more messages; it can still be read and forked."),
    ("merge", "merge", "It merges files, values and decisions, not messages. Use dryRun first to see conflicts."),
    (
        "transfer",
        "transfer",
        "Use direction=request_approval when a tool answers approval_required. A person answers; then call the tool again.",
    ),
    ("observe", "observe", "Its events arrive in this thread with the next step."),
    ("inject", "inject", "Use it to steer an agent at work. To speak as a user, use append or queue."),
    (
        "rollback",
        "rollback",
        "Give one of checkpoint, step, timestamp, version or artifactVersion, or undo. Nothing is lost: undo leads back.",
    ),
    ("get_approval", "approval", "Use it to see whether a person has answered. Agents cannot answer."),
];

/// Calls that are no tools: people answer approvals, and secrets do not pass through a model.
const NEVER: [&str; 8] =
    ["approve", "deny", "create-key", "get-account-env", "get-env", "set-account-env", "set-env", "supply-variables"];
/// Groups of the documentation whose calls are for administrators of an account.
const ADMIN: [&str; 4] = ["Keys", "Projects", "Upkeep", "Variables"];
/// The group of the documentation with files and values.
const FILES: &str = "Files and values";
/// Calls that change nothing although their parameters are in a body.
const READS: [&str; 2] = ["search", "search-memories"];
/// Calls that take something away for good.
const DESTROYS: [&str; 2] = ["gc", "terminate"];

/// A group of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Core,
    Work,
    Files,
    Admin,
}

const GROUPS: [(&str, Group); 4] =
    [("core", Group::Core), ("work", Group::Work), ("files", Group::Files), ("admin", Group::Admin)];

/// What a tool does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    Call(&'static Declaration),
    File(FileTool),
}

/// A tool, with what it does.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) tool: Tool,
    pub(crate) does: Does,
}

/// The tools that a dispatcher offers.
#[derive(Debug, Clone)]
pub struct Chosen(Arc<Vec<Entry>>);

/// A word of `--tools` that is neither a group nor a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTools(pub String);

impl std::fmt::Display for UnknownTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no group or tool '{}'; groups: core, work, files, admin", self.0)
    }
}

impl std::error::Error for UnknownTools {}

impl Default for Chosen {
    /// The group `core`. Its schemas are made when they are first asked for.
    fn default() -> Self {
        static CORE_TOOLS: OnceLock<Chosen> = OnceLock::new();
        let core = || Self::of(all().into_iter().filter(|planned| planned.group == Group::Core));
        CORE_TOOLS.get_or_init(core).clone()
    }
}

impl std::str::FromStr for Chosen {
    type Err = UnknownTools;

    /// Groups and names of tools, with commas: `core,work` or `search,read_messages`.
    fn from_str(text: &str) -> Result<Self, UnknownTools> {
        let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let group = |word: &str| GROUPS.iter().find(|(name, _)| *name == word).map(|(_, group)| *group);
        let all = all();
        let is_unknown = |word: &&&str| group(word).is_none() && !all.iter().any(|planned| planned.name == **word);
        if let Some(word) = words.iter().find(is_unknown) {
            return Err(UnknownTools((*word).to_owned()));
        }
        let is_chosen = |planned: &Planned| {
            words.iter().any(|word| group(word).map_or(planned.name == *word, |group| planned.group == group))
        };
        Ok(Self::of(all.into_iter().filter(is_chosen)))
    }
}

impl Chosen {
    fn of(planned: impl Iterator<Item = Planned>) -> Self {
        Self(Arc::new(planned.map(Planned::entry).collect()))
    }

    /// The tools as the protocol lists them.
    pub fn tools(&self) -> Vec<Tool> {
        self.0.iter().map(|entry| entry.tool.clone()).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.tool.name == name)
    }
}

/// A tool whose schema is not made yet.
struct Planned {
    name: String,
    group: Group,
    does: Does,
    use_it: &'static str,
}

impl Planned {
    fn entry(self) -> Entry {
        let Self { name, does, use_it, .. } = self;
        let tool = match does {
            Does::File(file) => file.tool(),
            Does::Call(declaration) => {
                let about = format!("{} {use_it}", declaration.about).trim_end().to_owned();
                described(name, about, schema::of(declaration), hints(declaration))
            }
        };
        Entry { tool, does }
    }
}

/// Every tool there is, those of the core first.
fn all() -> Vec<Planned> {
    let call = |(name, call, use_it): (&str, &str, &'static str)| {
        let declaration = DECLARATIONS.iter().find(|declaration| declaration.name == call)?;
        Some(Planned { name: name.to_owned(), group: Group::Core, does: Does::Call(declaration), use_it })
    };
    let file = |file: &FileTool| Planned {
        name: file.name().to_owned(),
        group: if file.is_core() { Group::Core } else { Group::Files },
        does: Does::File(*file),
        use_it: "",
    };
    let is_other = |declaration: &&Declaration| {
        !NEVER.contains(&declaration.name) && !CORE.iter().any(|(_, call, _)| *call == declaration.name)
    };
    let other = |declaration: &'static Declaration| Planned {
        name: declaration.name.replace('-', "_"),
        group: group(declaration),
        does: Does::Call(declaration),
        use_it: "",
    };
    let others = DECLARATIONS.iter().filter(is_other).map(other);
    CORE.into_iter().filter_map(call).chain(FILE_TOOLS.iter().map(file)).chain(others).collect()
}

/// The group of a call that is not in the core.
fn group(declaration: &Declaration) -> Group {
    match declaration.group.name {
        _ if declaration.needs == Needs::Admin => Group::Admin,
        name if ADMIN.contains(&name) => Group::Admin,
        FILES => Group::Files,
        _ => Group::Work,
    }
}

pub(crate) fn described(name: String, about: String, input: JsonObject, hints: ToolAnnotations) -> Tool {
    Tool::new(name, about, Arc::new(input)).with_annotations(hints.open_world(false))
}

/// Whether a call changes nothing.
pub(crate) fn reads(declaration: &Declaration) -> bool {
    declaration.method == Method::Get || READS.contains(&declaration.name)
}

fn hints(declaration: &Declaration) -> ToolAnnotations {
    if reads(declaration) {
        return ToolAnnotations::new().read_only(true);
    }
    let destroys = declaration.method == Method::Delete || DESTROYS.contains(&declaration.name);
    ToolAnnotations::new().read_only(false).destructive(destroys).idempotent(declaration.repeat == Repeat::Freely)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// JSON of these schemas has more than four characters a token. The official clients count with a real tokenizer.
    const CHARACTERS_MAX: usize = 30_000;

    #[test]
    fn the_default_tools_are_few_and_short() {
        let tools = Chosen::default().tools();
        assert_eq!(tools.len(), 26);
        let text = serde_json::to_string(&tools).expect("json");
        for tool in &tools {
            let text = serde_json::to_string(tool).expect("json");
            assert!(text.len() < 2_500, "{} characters: {text}", text.len());
        }
        assert!(text.len() <= CHARACTERS_MAX, "{} characters", text.len());
    }

    #[test]
    fn every_schema_is_flat_and_every_name_is_short() {
        let tools = "core,work,files,admin".parse::<Chosen>().expect("groups").tools();
        let names: BTreeSet<_> = tools.iter().map(|tool| tool.name.clone()).collect();
        assert_eq!(names.len(), tools.len(), "no two tools have one name");
        assert_eq!(tools.len(), DECLARATIONS.len() - NEVER.len() + FILE_TOOLS.len());
        for tool in &tools {
            assert!(tool.name.len() <= 40, "{}", tool.name);
            let schema = Value::Object((*tool.input_schema).clone());
            let text = schema.to_string();
            for word in ["$ref", "oneOf", "anyOf", "allOf", "$defs", "\"null\""] {
                assert!(!text.contains(word), "{} has {word}: {text}", tool.name);
            }
            assert_eq!(schema["type"], "object", "{}", tool.name);
        }
    }

    #[test]
    fn no_tool_answers_an_approval_or_handles_a_secret() {
        let tools = "core,work,files,admin".parse::<Chosen>().expect("groups");
        for call in NEVER {
            let is_it = |entry: &&Entry| matches!(entry.does, Does::Call(declaration) if declaration.name == call);
            assert!(tools.0.iter().find(is_it).is_none(), "{call}");
            assert!(DECLARATIONS.iter().any(|declaration| declaration.name == call), "{call} is a call");
        }
        assert_eq!("approve".parse::<Chosen>().err(), Some(UnknownTools("approve".to_owned())));
    }

    #[test]
    fn tools_are_chosen_by_group_and_by_name() {
        let chosen: Chosen = "search, files".parse().expect("tools");
        let names: Vec<String> = chosen.tools().into_iter().map(|tool| tool.name.into_owned()).collect();
        assert!(names.contains(&"search".to_owned()) && names.contains(&"delete_file".to_owned()), "{names:?}");
        assert!(!names.contains(&"append".to_owned()), "{names:?}");
    }
}
