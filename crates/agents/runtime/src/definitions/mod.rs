//! The folder of definitions.
//!
//! ```text
//! agents/ prompts/ models/ mcp/   TOML or JSON, one definition a file; its name is the name of the file
//! tools/                          JS and TS, or TOML for a tool that is an HTTP request
//! effects/ hooks/ api/            JS and TS
//! skills/NAME.md                  text for the model
//! vendor/NAME.js                  modules that code may import by their bare name
//! scripts/                        files that the provider `script` plays; no definitions
//! tokenizers/                     tables of tokenizers that models name; no definitions
//! packages/ID/…                   the same folders again; names there are ID/NAME
//! ```
//!
//! A set of definitions never changes: [`Definitions::read`] makes a new one. A broken file breaks only what reaches it:
//! [`Definitions::agent`] refuses an agent whose prompt is broken, and gives all others.

mod built_in;
mod check;
pub(crate) mod endpoint;
mod files;
mod http_tool;
mod place;
mod problem;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use threadkeep_engine::Tokenizer;
use threadkeep_model::RunSide;

pub(crate) use built_in::FoundModel;
pub use files::{FILE_BYTES_MAX, FILES_MAX, Source};
pub(crate) use files::{is_name, stamp};
pub use problem::{Problem, Problems};
pub(crate) use problem::{nearest, position_of, problem_in};
pub use shapes::{
    Agent, AgentKind, HttpTool, McpServer, Model, Parent, PartOfPrompt, Price, Prices, Prompt, PromptText, Provider,
    Receives, Resumable, SessionTool, Side, Subagent, ToolChoice, UsedTool, Variable, VariableKind,
};

/// Begins the names of tools of MCP servers.
pub(crate) const MCP_PREFIX: &str = "mcp:";

/// What the code of a definition says of itself, as JSON; or what is wrong with it.
pub(crate) type Described = Arc<Result<serde_json::Map<String, serde_json::Value>, Problem>>;

/// The file of definitions that the program brings.
const PROGRAM: &str = "(program)";

/// What a definition is; each kind has a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An agent: one or two sides that talk.
    Agent,
    /// A prompt: what a model is told, and its tools.
    Prompt,
    /// A model of some provider.
    Model,
    /// A server of the Model Context Protocol.
    Mcp,
    /// A tool: code or an HTTP request.
    Tool,
    /// Code that runs at its time.
    Effect,
    /// Code that runs when something happens.
    Hook,
    /// Code that answers HTTP requests of a thread.
    Endpoint,
    /// Text for the model.
    Skill,
    /// A module for the code of definitions.
    Vendor,
}

impl Kind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Self; 10] = [
        Self::Agent,
        Self::Prompt,
        Self::Model,
        Self::Mcp,
        Self::Tool,
        Self::Effect,
        Self::Hook,
        Self::Endpoint,
        Self::Skill,
        Self::Vendor,
    ];

    /// The kind whose folder has this name.
    pub fn of_folder(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.folder() == name)
    }

    /// The folder of this kind.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Agent => "agents",
            Self::Prompt => "prompts",
            Self::Model => "models",
            Self::Mcp => "mcp",
            Self::Tool => "tools",
            Self::Effect => "effects",
            Self::Hook => "hooks",
            Self::Endpoint => "api",
            Self::Skill => "skills",
            Self::Vendor => "vendor",
        }
    }

    /// The word for it in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Prompt => "prompt",
            Self::Model => "model",
            Self::Mcp => "MCP server",
            Self::Tool => "tool",
            Self::Effect => "effect",
            Self::Hook => "hook",
            Self::Endpoint => "endpoint",
            Self::Skill => "skill",
            Self::Vendor => "module",
        }
    }
}

/// The full name of a definition: its kind, its package if it is in one, and its name there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The folder that it is in.
    pub kind: Kind,
    /// The package; none at the root of the folder.
    pub package: Option<String>,
    /// Its name in there.
    pub name: String,
}

impl Name {
    /// As definitions write it: `NAME` or `PACKAGE/NAME`.
    pub fn text(&self) -> String {
        match &self.package {
            Some(package) => format!("{package}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A definition in the shape of its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    /// From `agents/`, in TOML or JSON.
    Agent(Box<Agent>),
    /// From `prompts/`, in TOML or JSON.
    Prompt(Box<Prompt>),
    /// From `models/`, in TOML or JSON.
    Model(Box<Model>),
    /// A server of the Model Context Protocol.
    Mcp(McpServer),
    /// A tool that is an HTTP request.
    HttpTool(Box<HttpTool>),
    /// Code or text, as it is in its file.
    Text(String),
}

/// Where the agent `default` comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DefaultAgent<'a> {
    /// Only from files and the program.
    AsDefined,
    /// It is built in where nothing else defines it and there is a model: `models/default`, or this one.
    BuiltIn(Option<&'a FoundModel>),
}

/// All definitions of a folder.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    sources: BTreeMap<Name, Source>,
    definitions: BTreeMap<Name, Definition>,
    /// What is wrong with each of them by itself.
    problems: BTreeMap<Name, Vec<Problem>>,
    /// What each of them names.
    reaches: BTreeMap<Name, BTreeSet<Name>>,
    /// Problems of files that are no definition.
    strays: Vec<Problem>,
    hash: String,
    /// Tokenizers by the names of their files.
    tokenizers: BTreeMap<String, Tokenizer>,
    /// What code said of itself, once it was loaded.
    described: Arc<Mutex<BTreeMap<Name, Described>>>,
}

impl Definitions {
    /// Reads and checks a folder. A folder that does not exist has no definitions.
    ///
    /// # Errors
    /// If the folder cannot be read. Mistakes inside files are told by [`Definitions::problems`].
    pub fn read(folder: &Path) -> std::io::Result<Self> {
        Self::read_with(folder, &BTreeMap::new())
    }

    /// The same, with definitions that the program itself brings. They win over files.
    ///
    /// # Errors
    /// As [`Definitions::read`].
    pub fn read_with(folder: &Path, brought: &BTreeMap<Name, Definition>) -> std::io::Result<Self> {
        Self::of(Some(folder), brought, DefaultAgent::AsDefined)
    }

    /// Those of a folder, if there is one, and those that the program brings.
    ///
    /// # Errors
    /// As [`Definitions::read`].
    pub(crate) fn of(
        folder: Option<&Path>,
        brought: &BTreeMap<Name, Definition>,
        default: DefaultAgent<'_>,
    ) -> std::io::Result<Self> {
        let files = folder.map(files::read).transpose()?.unwrap_or_default();
        Ok(Self::checked(files, brought, folder.unwrap_or(Path::new("")), default))
    }

    fn checked(
        files: files::Files,
        brought: &BTreeMap<Name, Definition>,
        folder: &Path,
        default: DefaultAgent<'_>,
    ) -> Self {
        let files::Files { sources, strays, hash } = files;
        let mut read = Self { sources, strays, hash, ..Self::default() };
        for name in brought.keys() {
            read.sources.insert(name.clone(), Source { file: PROGRAM.to_owned(), text: String::new() });
        }
        if let DefaultAgent::BuiltIn(model) = default
            && let Some(added) = built_in::fill_in(&mut read.sources, model)
        {
            // With another model it is another set.
            read.hash = blake3::hash(format!("{} {added}", read.hash).as_bytes()).to_hex().to_string();
        }
        for (name, source) in &read.sources {
            let parsed = brought.get(name).map_or_else(|| shapes::parse(name, source), |brought| Ok(brought.clone()));
            match parsed {
                Ok(definition) => drop(read.definitions.insert(name.clone(), definition)),
                Err(problem) => read.problems.entry(name.clone()).or_default().push(problem),
            }
        }
        check::check(&mut read, folder);
        // A table that comes or goes makes another set.
        for file in read.tokenizers.keys() {
            read.hash = blake3::hash(format!("{} {file}", read.hash).as_bytes()).to_hex().to_string();
        }
        read
    }

    /// The tokenizer in a file that a model names.
    pub(crate) fn tokenizer(&self, file: &str) -> Option<Tokenizer> {
        self.tokenizers.get(file).cloned()
    }

    /// Only those that the program brings, because of this.
    pub(crate) fn unreadable(folder: &Path, why: &std::io::Error, brought: &BTreeMap<Name, Definition>) -> Self {
        let what = format!("the folder cannot be read: {why}");
        let stray = Problem { file: folder.display().to_string(), line: 1, column: 1, what };
        let none = Self::checked(files::Files::default(), brought, Path::new(""), DefaultAgent::AsDefined);
        Self { strays: vec![stray], ..none }
    }

    /// The hash of all files: two sets with the same hash are the same.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// All problems, by file.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.strays.iter().chain(self.problems.values().flatten())
    }

    /// The problems of one definition by itself.
    pub fn problems_of(&self, name: &Name) -> &[Problem] {
        self.problems.get(name).map_or(&[], Vec::as_slice)
    }

    /// A definition as JSON, for people and programs that look at it: what its file says, without the values of
    /// variables and headers. Code is left out.
    pub fn shown(&self, name: &Name) -> Option<serde_json::Value> {
        shapes::shown(name, self.sources.get(name)?)
    }

    /// The names of all definitions of a kind, broken ones included.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &Name> {
        self.sources.keys().filter(move |name| name.kind == kind)
    }

    /// Whether runs of this agent are worked on here. A broken one counts: its run says what is wrong.
    pub fn has_agent(&self, name: &str) -> bool {
        !matches!(self.agent(name, None), Err(Problems::NotFound { .. }))
    }

    /// The agent of this name, as seen from `package`.
    ///
    /// # Errors
    /// If there is none, or it reaches something broken.
    pub fn agent(&self, name: &str, package: Option<&str>) -> Result<(&Name, &Agent), Problems> {
        match self.get(Kind::Agent, name, package)? {
            (name, Definition::Agent(agent)) => Ok((name, agent)),
            (name, _) => Err(Problems::misplaced(name)),
        }
    }

    /// The prompt of this name, as seen from `package`.
    ///
    /// # Errors
    /// If there is none, or it reaches something broken.
    pub fn prompt(&self, name: &str, package: Option<&str>) -> Result<(&Name, &Prompt), Problems> {
        match self.get(Kind::Prompt, name, package)? {
            (name, Definition::Prompt(prompt)) => Ok((name, prompt)),
            (name, _) => Err(Problems::misplaced(name)),
        }
    }

    /// The model of this name, as seen from `package`.
    ///
    /// # Errors
    /// If there is none, or it reaches something broken.
    pub fn model(&self, name: &str, package: Option<&str>) -> Result<(&Name, &Model), Problems> {
        match self.get(Kind::Model, name, package)? {
            (name, Definition::Model(model)) => Ok((name, model)),
            (name, _) => Err(Problems::misplaced(name)),
        }
    }

    /// Any definition, as seen from `package`.
    ///
    /// # Errors
    /// If there is none, or it reaches something broken.
    pub fn get(&self, kind: Kind, name: &str, package: Option<&str>) -> Result<(&Name, &Definition), Problems> {
        let Some(found) = self.find(kind, name, package) else {
            return Err(Problems::not_found(kind, name, self.near(kind, name)));
        };
        let mut problems = Vec::new();
        let (mut seen, mut next) = (BTreeSet::new(), vec![found]);
        while let Some(name) = next.pop() {
            if seen.insert(name) {
                problems.extend(self.problems.get(name).into_iter().flatten().cloned());
                next.extend(self.reaches.get(name).into_iter().flatten());
            }
        }
        match self.definitions.get(found) {
            Some(definition) if problems.is_empty() => Ok((found, definition)),
            _ => Err(Problems::Invalid { name: found.text(), kind: kind.word(), problems }),
        }
    }

    /// The definition of this name by itself; none if its file is broken.
    pub(crate) fn definition(&self, name: &Name) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// All files, by their names.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&Name, &Source)> {
        self.sources.iter()
    }

    /// Whether an effect of this name can run, as far as its file was read and loaded.
    pub(crate) fn has_effect(&self, name: &str) -> bool {
        let Ok((found, Definition::Text(_))) = self.get(Kind::Effect, name, None) else { return false };
        self.described(found).is_none_or(|said| said.is_ok())
    }

    /// Another number for another set.
    pub(crate) fn generation(&self) -> u64 {
        self.hash.get(..16).and_then(|hash| u64::from_str_radix(hash, 16).ok()).unwrap_or_default()
    }

    /// What the code of a definition said of itself, if it was loaded.
    pub(crate) fn described(&self, name: &Name) -> Option<Described> {
        self.described.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(crate) fn keep_described(&self, name: &Name, described: &Described) {
        let mut all = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.clone(), Arc::clone(described));
    }

    /// Whether a variable is scoped in the graph of an agent: by a prompt or a tool that it reaches. Tools that are code
    /// count once they were loaded.
    pub(crate) fn scopes(&self, agent: &str, variable: &str) -> bool {
        self.graph(agent).iter().any(|name| self.variables(name).iter().any(|one| one.scoped && one.name == variable))
    }

    /// The prompts with which a side of an agent works, the outermost first; none if the agent is missing or broken.
    pub(crate) fn prompt_path(&self, agent: &str, side: RunSide) -> Vec<String> {
        let Ok((name, agent)) = self.agent(agent, None) else { return Vec::new() };
        let prompt = self.find(Kind::Prompt, &agent.side(side).prompt, name.package.as_deref());
        prompt.map(Name::text).into_iter().collect()
    }

    /// The variables that the graph of an agent requires and takes from no caller, and to which it gives no value itself.
    pub(crate) fn required_for_itself(&self, agent: &str) -> Vec<Variable> {
        let graph = self.graph(agent);
        let gives = |variable: &str| {
            graph.iter().any(|name| match self.definitions.get(name) {
                Some(Definition::Agent(agent)) => agent.env.contains_key(variable),
                Some(Definition::Prompt(prompt)) => prompt.env.contains_key(variable),
                Some(Definition::Model(_) | Definition::Mcp(_) | Definition::HttpTool(_) | Definition::Text(_))
                | None => false,
            })
        };
        let mut required: BTreeMap<String, Variable> = BTreeMap::new();
        for variable in graph.iter().flat_map(|name| self.variables(name)) {
            if variable.required && variable.scoped && !gives(&variable.name) {
                required.insert(variable.name.clone(), variable);
            }
        }
        required.into_values().collect()
    }

    /// An agent and all that it reaches. Other agents have graphs of their own.
    fn graph(&self, agent: &str) -> BTreeSet<&Name> {
        let (mut seen, mut next) = (BTreeSet::new(), Vec::from_iter(self.find(Kind::Agent, agent, None)));
        while let Some(name) = next.pop() {
            if seen.insert(name) {
                let inside = self.reaches.get(name).into_iter().flatten();
                next.extend(inside.filter(|reached| reached.kind != Kind::Agent));
            }
        }
        seen
    }

    /// The variables that a definition declares.
    fn variables(&self, name: &Name) -> Vec<Variable> {
        match self.definitions.get(name) {
            Some(Definition::Prompt(prompt)) => prompt.variables.clone(),
            Some(Definition::HttpTool(tool)) => tool.variables.clone(),
            Some(Definition::Text(_)) => {
                let said = self.described(name);
                let listed = said.as_ref().and_then(|said| said.as_ref().as_ref().ok()?.get("variables")).cloned();
                listed.and_then(|listed| serde_json::from_value(listed).ok()).unwrap_or_default()
            }
            Some(Definition::Agent(_) | Definition::Model(_) | Definition::Mcp(_)) | None => Vec::new(),
        }
    }

    /// Whether the program brings a definition, and no file does.
    pub(crate) fn is_brought(&self, name: &Name) -> bool {
        self.sources.get(name).is_some_and(|source| source.file == PROGRAM)
    }

    /// The file of a definition.
    pub fn source(&self, name: &Name) -> Option<&Source> {
        self.sources.get(name)
    }

    /// Resolves a name that was written in `package`: its own package comes first, then the root.
    pub(crate) fn find(&self, kind: Kind, name: &str, package: Option<&str>) -> Option<&Name> {
        let at = |package: Option<&str>, name: &str| {
            let name = Name { kind, package: package.map(str::to_owned), name: name.to_owned() };
            self.sources.get_key_value(&name).map(|(name, _)| name)
        };
        match name.split_once('/') {
            Some((package, name)) => at(Some(package), name),
            None => package.and_then(|own| at(Some(own), name)).or_else(|| at(None, name)),
        }
    }

    /// The server and the tool that `SERVER/TOOL` or `PACKAGE/SERVER/TOOL` means.
    pub(crate) fn find_mcp<'a>(&self, written: &'a str, package: Option<&str>) -> Option<(&Name, &'a str)> {
        let slashes = written.match_indices('/').map(|(at, _)| at).take(2);
        let mut split = slashes.map(|at| (&written[..at], &written[at + 1..])).filter(|(_, tool)| !tool.is_empty());
        split.find_map(|(server, tool)| Some((self.find(Kind::Mcp, server, package)?, tool)))
    }

    /// The name of this kind that is spelled most alike.
    fn near(&self, kind: Kind, name: &str) -> Option<String> {
        problem::nearest(name, self.names(kind).map(Name::text))
    }
}
