//! What a tool says of itself, wherever it is defined.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use threadkeep_model::Capability;

use super::schema;
use crate::definitions::{HttpTool, McpServer, Variable};
use crate::http::Hosts;

/// Time for a call, unless the tool names another.
const TIMEOUT_MS: u64 = 60_000;
/// The longest time that a tool may name.
const TIMEOUT_MS_MAX: u64 = 600_000;

/// What a tool says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub args: Map<String, Value>,
    /// The capabilities that a call needs.
    pub needs: Vec<Capability>,
    /// Time for a call.
    pub timeout: Duration,
    /// Whether a call may be made twice.
    pub repeatable: bool,
    /// Whether calls may run side by side.
    pub parallel: bool,
    /// The skill that must be active.
    pub skill: Option<String>,
    /// The variables that it reads.
    pub variables: Vec<Variable>,
    /// The hosts that its code reaches.
    pub(crate) hosts: Hosts,
}

impl Declared {
    /// A tool with this description and these arguments, which needs no capability.
    pub fn new(description: impl Into<String>, args: Map<String, Value>) -> Self {
        Self {
            description: description.into(),
            args,
            needs: Vec::new(),
            timeout: Duration::from_millis(TIMEOUT_MS),
            repeatable: false,
            parallel: false,
            skill: None,
            variables: Vec::new(),
            hosts: Hosts::default(),
        }
    }

    /// The names of the variables that it reads.
    pub(crate) fn variable_names(&self) -> BTreeSet<String> {
        self.variables.iter().map(|variable| variable.name.clone()).collect()
    }

    /// What the code of a definition said of itself.
    ///
    /// # Errors
    /// Says which field is wrong, and how.
    pub(crate) fn of_code(said: Map<String, Value>) -> Result<Self, (String, String)> {
        let written: Written = serde_path_to_error::deserialize(Value::Object(said)).map_err(|error| {
            let field = error.path().to_string();
            (field.split(['.', '[']).next().unwrap_or_default().to_owned(), error.into_inner().to_string())
        })?;
        let Written { description, args, needs, timeout_ms, repeatable, parallel, skill, variables, http } = written;
        let hosts = Hosts::read(&http).map_err(|rule| ("http".to_owned(), rule))?;
        let declared = Self { skill, variables, hosts, repeatable, parallel, ..Self::new(description, args) };
        declared.with(needs.unwrap_or_default(), timeout_ms)
    }

    /// What a tool that is an HTTP request says of itself. Without declared needs, it needs the use of itself.
    ///
    /// # Errors
    /// Says which field is wrong, and how.
    pub(crate) fn of_http(name: &str, tool: &HttpTool) -> Result<Self, (String, String)> {
        let HttpTool { description, args, needs, timeout_ms, repeatable, parallel, skill, variables, .. } = tool;
        let declared = Self {
            repeatable: *repeatable,
            parallel: *parallel,
            skill: skill.clone(),
            variables: variables.clone(),
            ..Self::new(description.clone(), args.clone())
        };
        let needs = needs.clone().unwrap_or_else(|| vec![format!("tool:{name}")]);
        declared.with(needs, *timeout_ms)
    }

    /// The same tool, of an MCP server. Without declared needs, it needs the use of itself.
    ///
    /// # Errors
    /// Says which field is wrong, and how.
    pub(crate) fn of_mcp(self, name: &str, server: &McpServer) -> Result<Self, (String, String)> {
        let needs = server.needs.clone().unwrap_or_else(|| vec![format!("tool:{name}")]);
        self.permitted(needs, Some(server.timeout_ms.unwrap_or(McpServer::TIMEOUT_MS)))
    }

    fn with(self, needs: Vec<String>, timeout_ms: Option<u64>) -> Result<Self, (String, String)> {
        let declared = self.permitted(needs, timeout_ms)?;
        match schema::unknown(&Value::Object(declared.args.clone())) {
            Some(rule) => Err(("args".to_owned(), rule)),
            None => Ok(declared),
        }
    }

    fn permitted(mut self, needs: Vec<String>, timeout_ms: Option<u64>) -> Result<Self, (String, String)> {
        let told = |field: &str, rule: String| (field.to_owned(), rule);
        for need in needs {
            self.needs.push(need.parse().map_err(|_| told("needs", format!("'{need}' is no capability")))?);
        }
        let timeout_ms = timeout_ms.unwrap_or(TIMEOUT_MS);
        if timeout_ms == 0 || timeout_ms > TIMEOUT_MS_MAX {
            return Err(told("timeoutMs", format!("timeoutMs is not between 1 and {TIMEOUT_MS_MAX}")));
        }
        self.timeout = Duration::from_millis(timeout_ms);
        Ok(self)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(default)]
    description: String,
    #[serde(default)]
    args: Map<String, Value>,
    needs: Option<Vec<String>>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    repeatable: bool,
    #[serde(default)]
    parallel: bool,
    skill: Option<String>,
    #[serde(default)]
    variables: Vec<Variable>,
    #[serde(default)]
    http: Vec<String>,
}
