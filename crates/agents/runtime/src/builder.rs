//! How a runtime is put together, and what the engine asks it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use serde_json::{Map, Value};
use threadkeep_calls::RequiredVariable;
use threadkeep_engine::{Defined, Engine, Error, Request};
use threadkeep_model::{EnvName, RunSide, Thread};
use threadkeep_providers::{Models, Patience};
use threadkeep_sandbox::Sandbox;
use threadkeep_store::BoxFuture;

use crate::agent::summary::handoff_summary;
use crate::attempt::RustTool;
use crate::context::request_of;
use crate::default_agent::{LocalModels, Search};
use crate::definitions::{Agent, Definition, Kind, Model, Name, Prompt, Variable};
use crate::effects::{EffectCall, RustEffects};
use crate::http::Http;
use crate::mcp::Mcp;
use crate::reload::Present;
use crate::runtime::{Runtime, Shared};

/// Collects the parts of a [`Runtime`].
pub struct Builder {
    engine: Engine,
    sandbox: Option<Sandbox>,
    folder: Option<PathBuf>,
    brought: BTreeMap<Name, Definition>,
    tools: BTreeMap<String, RustTool>,
    effects: RustEffects,
    mcp: Mcp,
    patience: Patience,
    context: Option<Map<String, Value>>,
    default: Option<LocalModels>,
}

impl Builder {
    /// The folder of definitions. It need not exist.
    #[must_use]
    pub fn definitions(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// The sandbox for the code of definitions; one of its own unless given.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// A tool that the program itself carries out. It wins over a file of the same name.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, tool: RustTool) -> Self {
        let name = name.into();
        self.bring(Kind::Tool, &name, Definition::Text(String::new()));
        self.tools.insert(name, tool);
        self
    }

    /// The handler of an effect, in the program itself. It wins over a file of the same name.
    #[must_use]
    pub fn effect<F, R>(mut self, name: &str, handler: F) -> Self
    where
        F: Fn(EffectCall) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.bring(Kind::Effect, name, Definition::Text(String::new()));
        self.effects = self.effects.with(name, handler);
        self
    }

    /// Receives what programs that are MCP servers write to stderr: the name of the server and a line, without secrets.
    /// Unless given, `tracing` gets it.
    #[must_use]
    pub fn mcp_stderr(mut self, tell: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        self.mcp = Mcp::new(Arc::new(tell));
        self
    }

    /// An agent that the program brings. It wins over a file of the same name.
    #[must_use]
    pub fn agent(mut self, name: &str, agent: Agent) -> Self {
        self.bring(Kind::Agent, name, Definition::Agent(Box::new(agent)));
        self
    }

    /// A prompt that the program brings. It wins over a file of the same name.
    #[must_use]
    pub fn prompt(mut self, name: &str, prompt: Prompt) -> Self {
        self.bring(Kind::Prompt, name, Definition::Prompt(Box::new(prompt)));
        self
    }

    /// A model that the program brings. It wins over a file of the same name.
    #[must_use]
    pub fn model(mut self, name: &str, model: Model) -> Self {
        self.bring(Kind::Model, name, Definition::Model(Box::new(model)));
        self
    }

    /// Gives this to tools as `_notPackableRuntimeContext`. Tools that use it run in this program alone, and are not packed.
    #[must_use]
    pub fn not_packable_runtime_context(mut self, context: Map<String, Value>) -> Self {
        self.context = Some(context);
        self
    }

    /// Has an agent `default` where the folder has none and a model is configured: `models/default`, a provider whose key
    /// the instance has, or a model server on this machine at one of these ports.
    #[must_use]
    pub fn default_agent(mut self, local: LocalModels) -> Self {
        self.default = Some(local);
        self
    }

    /// How long models are waited for, and how often they are asked.
    #[must_use]
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    fn bring(&mut self, kind: Kind, name: &str, definition: Definition) {
        let name = Name { kind, package: None, name: name.to_owned() };
        self.brought.insert(name, definition);
    }

    /// The runtime. It reads the folder when definitions are first asked for.
    pub fn build(self) -> Runtime {
        let Self { engine, sandbox, folder, brought, tools, effects, mcp, patience, context, default } = self;
        let present = Arc::new(Present::new(folder, brought, default.is_some()));
        let (sandbox, search) = (sandbox.unwrap_or_default(), default.map(Search::new));
        crate::code::prepare(&sandbox);
        let (http, models) = (Http::default(), Models::new(patience));
        let shared = Arc::new_cyclic(|shared: &Weak<Shared>| {
            let known = Known { present: Arc::clone(&present), shared: Weak::clone(shared) };
            let engine = engine.defined_by(Arc::new(known));
            Shared { engine, sandbox, present, http, mcp, tools, effects, models, search, context }
        });
        Runtime { shared }
    }
}

impl Runtime {
    /// A runtime on `engine`, without definitions yet.
    pub fn builder(engine: Engine) -> Builder {
        let (brought, tools, effects) = (BTreeMap::new(), BTreeMap::new(), RustEffects::default());
        let mcp = Mcp::new(Arc::new(
            |server: &str, line: &str| tracing::info!(%server, %line, "an MCP server wrote to stderr"),
        ));
        let patience = Patience::default();
        let (sandbox, folder, context, default) = (None, None, None, None);
        Builder { engine, sandbox, folder, brought, tools, effects, mcp, patience, context, default }
    }
}

/// What the engine asks about: the definitions, and their models.
struct Known {
    present: Arc<Present>,
    shared: Weak<Shared>,
}

impl Defined for Known {
    fn tool(&self, name: &str) -> Result<(), Error> {
        self.present.queueable(&self.present.get(), name, None)
    }

    fn scopes(&self, agent: &str, name: &EnvName) -> bool {
        self.present.get().scopes(agent, name.as_str())
    }

    fn default_agent(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            // While the program ends, nothing starts.
            let Some(shared) = self.shared.upgrade() else { return Err(Error::NoModel) };
            match (Runtime { shared }).has_default_agent().await {
                true => Ok(()),
                false => Err(Error::NoModel),
            }
        })
    }

    fn required(&self, agent: &str) -> Vec<RequiredVariable> {
        self.present.get().required_for_itself(agent).iter().filter_map(Variable::shown).collect()
    }

    fn prompt_path(&self, agent: &str, side: RunSide) -> Vec<String> {
        self.present.get().prompt_path(agent, side)
    }

    fn request(&self, thread: &Thread) -> Option<Request> {
        request_of(&self.present.get(), thread)
    }

    fn summary<'a>(&'a self, engine: &'a Engine, thread: &'a Thread) -> BoxFuture<'a, Option<(String, String)>> {
        Box::pin(async move {
            let runtime = Runtime { shared: self.shared.upgrade()? };
            handoff_summary(&runtime, engine, thread).await
        })
    }
}
