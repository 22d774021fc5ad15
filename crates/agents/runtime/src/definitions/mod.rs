//! The folder of definitions.
//!
//! ```text
//! agents/ prompts/ models/ mcp/   TOML or JSON, one definition a file; its name is the name of the file
//! tools/                          JS and TS, or TOML for a tool that is an HTTP request
//! effects/ hooks/ api/            JS and TS
//! skills/NAME.md                  text for the model
//! vendor/NAME.js                  modules that code may import by their bare name
//! packages/ID/…                   the same folders again; names there are ID/NAME
//! ```
//!
//! A set of definitions never changes: [`Definitions::read`] makes a new one. A broken file breaks only what reaches it:
//! [`Definitions::agent`] refuses an agent whose prompt is broken, and gives all others.

mod check;
mod files;
mod place;
mod problem;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub use files::{FILE_BYTES_MAX, FILES_MAX, Source};
pub use problem::{Problem, Problems};
pub use shapes::{
    Agent, AgentKind, HttpTool, McpServer, Model, Parent, PartOfPrompt, Price, Prices, Prompt, PromptText, Provider,
    Receives, Resumable, SessionTool, Side, Subagent, ToolChoice, UsedTool, Variable, VariableKind,
};

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
    pub(crate) const ALL: [Self; 10] = [
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
}

impl Definitions {
    /// Reads and checks a folder. A folder that does not exist has no definitions.
    ///
    /// # Errors
    /// If the folder cannot be read. Mistakes inside files are told by [`Definitions::problems`].
    pub fn read(folder: &Path) -> std::io::Result<Self> {
        let files::Files { sources, strays, hash } = files::read(folder)?;
        let mut read = Self { sources, strays, hash, ..Self::default() };
        for (name, source) in &read.sources {
            match shapes::parse(name, source) {
                Ok(definition) => drop(read.definitions.insert(name.clone(), definition)),
                Err(problem) => read.problems.entry(name.clone()).or_default().push(problem),
            }
        }
        check::check(&mut read);
        Ok(read)
    }

    /// The hash of all files: two sets with the same hash are the same.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// All problems, by file.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.strays.iter().chain(self.problems.values().flatten())
    }

    /// The names of all definitions of a kind, broken ones included.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &Name> {
        self.sources.keys().filter(move |name| name.kind == kind)
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

    /// The file of a definition.
    pub fn source(&self, name: &Name) -> Option<&Source> {
        self.sources.get(name)
    }

    /// Resolves a name that was written in `package`: its own package comes first, then the root.
    fn find(&self, kind: Kind, name: &str, package: Option<&str>) -> Option<&Name> {
        let at = |package: Option<&str>, name: &str| {
            let name = Name { kind, package: package.map(str::to_owned), name: name.to_owned() };
            self.sources.get_key_value(&name).map(|(name, _)| name)
        };
        match name.split_once('/') {
            Some((package, name)) => at(Some(package), name),
            None => package.and_then(|own| at(Some(own), name)).or_else(|| at(None, name)),
        }
    }

    /// The name of this kind that is spelled most alike.
    fn near(&self, kind: Kind, name: &str) -> Option<String> {
        problem::nearest(name, self.names(kind).map(Name::text))
    }
}
