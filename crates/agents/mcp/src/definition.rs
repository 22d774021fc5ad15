//! Where a server is, and what of it may be used.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use threadkeep_outgoing::Reach;

/// Time for a call, unless a definition says otherwise.
const CALL_MAX: Duration = Duration::from_secs(60);

/// Receives each line that a program writes to stderr. The caller redacts it.
pub type Stderr = Arc<dyn Fn(String) + Send + Sync>;

/// A server whose tools are used.
#[derive(Clone)]
pub struct Definition {
    /// Its name, the first part of the names of its tools.
    pub name: String,
    /// How it is reached.
    pub place: Place,
    /// The tools that may be used; all unless given.
    pub tools: Option<Vec<String>>,
    /// Time for a call: 60 s.
    pub timeout: Duration,
    /// Receives the lines of a program's stderr; without it they are dropped.
    pub stderr: Option<Stderr>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// A program that speaks on stdin and stdout.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// Variables of its environment, beside `PATH`.
        env: BTreeMap<String, String>,
        /// The folder it runs in; that of this process unless given.
        folder: Option<PathBuf>,
    },
    /// A URL that speaks streamable HTTP.
    Url {
        /// The whole URL, such as `https://tools.example/mcp`.
        url: String,
        /// Headers of every request, such as `Authorization`.
        headers: BTreeMap<String, String>,
        /// The addresses that may be reached.
        reach: Reach,
    },
}

impl Definition {
    /// A program with its arguments.
    pub fn program<S: Into<String>>(name: impl Into<String>, command: impl IntoIterator<Item = S>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        Self::new(name.into(), Place::Program { command, env: BTreeMap::new(), folder: None })
    }

    /// A server on the public Internet.
    pub fn url(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name.into(), Place::Url { url: url.into(), headers: BTreeMap::new(), reach: Reach::Public })
    }

    fn new(name: String, place: Place) -> Self {
        Self { name, place, tools: None, timeout: CALL_MAX, stderr: None }
    }

    /// Whether this tool may be used.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|allowed| allowed == tool))
    }
}

impl fmt::Debug for Definition {
    /// Neither values of variables nor headers are shown: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.place {
            Place::Program { command, .. } => command.first().map_or("", String::as_str),
            Place::Url { url, .. } => url,
        };
        f.debug_struct("Definition").field("name", &self.name).field("place", &place).finish_non_exhaustive()
    }
}
