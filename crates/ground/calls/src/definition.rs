//! Definitions as they are shown: agents, prompts, models, tools and the rest of a folder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of a definition: the name of its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum DefinitionKind {
    /// One or two sides that talk.
    Agents,
    /// What a model is told, and its tools.
    Prompts,
    /// A model of a provider.
    Models,
    /// A server of the Model Context Protocol.
    Mcp,
    /// Code or an HTTP request that a model calls.
    Tools,
    /// Code that runs at its time.
    Effects,
    /// Code that runs when something happens.
    Hooks,
    /// Code that answers HTTP requests of a thread.
    Api,
    /// Text for the model.
    Skills,
    /// A module for the code of definitions.
    Vendor,
}

/// All definitions of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionList {
    /// The hash of all files: it changes with each of them.
    pub hash: String,
    /// The definitions, by kind and name.
    pub items: Vec<Definition>,
    /// Every mistake in the folder, also those of files that are no definition.
    pub problems: Vec<DefinitionProblem>,
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// The folder that it is in.
    pub kind: DefinitionKind,
    /// Its name: `NAME`, or `PACKAGE/NAME`.
    pub name: String,
    /// Its file, from the folder of definitions.
    pub file: String,
    /// The content of its file as JSON, where one definition is asked for. Code, and the values of variables and
    /// headers, are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
    /// Mistakes in its file. Definitions that name it cannot be used either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<DefinitionProblem>,
}

/// A mistake in a file of definitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionProblem {
    /// The file, from the folder of definitions.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The rule that it breaks.
    pub rule: String,
}
