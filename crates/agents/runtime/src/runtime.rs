//! The runtime of a process: its definitions and its parts. `builder` puts it together, and `background` has the work it does
//! beside requests.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use threadkeep_engine::Engine;
use threadkeep_providers::Models;
use threadkeep_sandbox::Sandbox;

use crate::attempt::RustTool;
use crate::default_agent::Search;
use crate::definitions::Definitions;
use crate::effects::RustEffects;
use crate::http::Http;
use crate::mcp::Mcp;
use crate::reload::Present;

/// Runs what a folder of definitions, and the program itself, define. Clones share everything.
///
/// ```no_run
/// # async fn example(engine: threadkeep_engine::Engine) {
/// let runtime = threadkeep_runtime::Runtime::builder(engine).definitions("definitions").build();
/// let background = runtime.start(); // follows changes of the folder
/// for problem in runtime.definitions().problems() {
///     eprintln!("{problem}");
/// }
/// background.stop().await;
/// # }
/// ```
#[derive(Clone)]
pub struct Runtime {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) sandbox: Sandbox,
    pub(crate) present: Arc<Present>,
    pub(crate) http: Http,
    pub(crate) mcp: Mcp,
    pub(crate) tools: BTreeMap<String, RustTool>,
    pub(crate) effects: RustEffects,
    pub(crate) models: Models,
    /// Looks for a model of the agent `default`; none if that agent is not built in.
    pub(crate) search: Option<Search>,
    /// What the program gives to tools that run nowhere else.
    pub(crate) context: Option<Map<String, Value>>,
}

impl Runtime {
    /// The engine on which it works: the one that it was built on, which now asks its definitions about names. It acts for
    /// the process, not for a caller.
    pub fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// The sandbox in which code of definitions runs.
    pub fn sandbox(&self) -> &Sandbox {
        &self.shared.sandbox
    }

    /// The folder of definitions.
    pub fn folder(&self) -> Option<&Path> {
        self.shared.present.folder()
    }

    /// The definitions as they are now. A run keeps the ones it began with: later changes make a new set.
    pub fn definitions(&self) -> Arc<Definitions> {
        self.shared.present.get()
    }

    /// Reads the folder again, and gives its definitions. Files are read on the calling thread.
    ///
    /// # Errors
    /// If the folder cannot be read. The definitions stay as they were.
    pub fn reload(&self) -> io::Result<Arc<Definitions>> {
        let definitions = self.shared.present.reload()?;
        self.shared.mcp.keep(&definitions);
        Ok(definitions)
    }
}
