//! The runtime of a process: its definitions, its tools, and the work it does beside requests.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use serde_json::{Map, Value};
use threadkeep_calls::RequiredVariable;
use threadkeep_engine::{Defined, Engine, Error, KnowEffects, Request};
use threadkeep_model::{EffectName, EnvName, RunSide, Thread};
use threadkeep_providers::{Models, Patience};
use threadkeep_sandbox::Sandbox;
use threadkeep_store::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::agent::dispatch::dispatch;
use crate::agent::summary::handoff_summary;
use crate::context::request_of;
use crate::default_agent::{LocalModels, Search};
use crate::definitions::{Agent, Definition, Definitions, Kind, Model, Name, Prompt, Variable};
use crate::effects::{EffectCall, RunEffects, RustEffects, run_effects};
use crate::http::Http;
use crate::mcp::Mcp;
use crate::reload::{POLL, Present};
use crate::tools::RustTool;

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

    /// Starts the work beside requests, on the tokio runtime of the caller: every background task of the runtime starts
    /// here, and ends with [`Background::stop`] or when the handle is dropped.
    pub fn start(&self) -> Background {
        let (mut tasks, mut ending) = (JoinSet::new(), JoinSet::new());
        let (stop, mut stopped) = watch::channel(false);
        if self.folder().is_some() {
            tasks.spawn(self.clone().follow_folder());
        }
        if self.folder().is_some() || !self.shared.effects.is_empty() {
            let (engine, handlers) = (self.engine().clone(), Arc::new(Handlers(self.clone())));
            ending.spawn(run_effects(engine, handlers, async move {
                // It is dropped with the handle, which ends this task.
                drop(stopped.wait_for(|stopped| *stopped).await);
            }));
        }
        let mut stopped = stop.subscribe();
        ending.spawn(dispatch(self.clone(), async move {
            // As above.
            drop(stopped.wait_for(|stopped| *stopped).await);
        }));
        Background { tasks, ending, stop, runtime: self.clone() }
    }

    /// Looks at the folder once a second, and reads it again when a file changed.
    async fn follow_folder(self) {
        let mut ticks = tokio::time::interval(POLL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let shared = Arc::clone(&self.shared);
            let renewed = tokio::task::spawn_blocking(move || {
                let renewed = shared.present.renew();
                if !shared.mcp.is_empty() {
                    shared.mcp.keep(&shared.present.get());
                }
                renewed
            });
            let renewed = renewed.await;
            if let Ok(Err(error)) = renewed {
                tracing::warn!(%error, "the folder of definitions was not read: the definitions stay as they were");
            }
        }
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

/// Effects that are defined here may be scheduled. Where none is defined, every name may be: another process may know it.
impl KnowEffects for Runtime {
    fn knows(&self, name: &EffectName) -> bool {
        let definitions = self.definitions();
        definitions.find(Kind::Effect, name.as_str(), None).is_some()
            || definitions.names(Kind::Effect).next().is_none()
    }
}

/// The handlers of effects that this process has: those of the program, and those of the definitions.
struct Handlers(Runtime);

impl KnowEffects for Handlers {
    fn knows(&self, name: &EffectName) -> bool {
        // An effect whose file is broken waits until the file is mended.
        self.0.shared.effects.knows(name) || self.0.definitions().has_effect(name.as_str())
    }
}

impl RunEffects for Handlers {
    fn run(&self, call: EffectCall) -> BoxFuture<'static, Result<(), String>> {
        if self.0.shared.effects.knows(&call.effect.name) {
            return self.0.shared.effects.run(call);
        }
        let runtime = self.0.clone();
        Box::pin(async move { runtime.run_code_effect(call).await })
    }

    fn generation(&self) -> u64 {
        self.0.definitions().generation()
    }

    fn prepare(&self) -> BoxFuture<'static, ()> {
        let runtime = self.0.clone();
        Box::pin(async move {
            let definitions = runtime.definitions();
            for name in definitions.names(Kind::Effect) {
                // What is wrong with it is kept, and told to all who ask.
                if !definitions.is_brought(name) && definitions.has_effect(&name.text()) {
                    drop(runtime.described(&definitions, name).await);
                }
            }
        })
    }
}

/// The background tasks of a runtime.
#[must_use = "dropped, it ends the tasks"]
pub struct Background {
    tasks: JoinSet<()>,
    /// Tasks that finish what they have begun.
    ending: JoinSet<()>,
    stop: watch::Sender<bool>,
    runtime: Runtime,
}

impl Background {
    /// Ends all tasks, and waits until they have ended. Work that this process owned goes to others at once.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.ending.join_next().await.is_some() {}
        self.tasks.shutdown().await;
        self.runtime.shared.mcp.end();
        if let Err(error) = self.runtime.engine().end_lease().await {
            tracing::warn!(%error, "the lease of this process ends by itself, in a few seconds");
        }
    }
}
