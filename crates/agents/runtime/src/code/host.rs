//! What code of definitions reaches: the calls of the engine with the caller's authority, and what the runtime adds.
//!
//! Code never gets more than its caller. Variables are those that its definition declares, and hosts are those that it
//! lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value as Json, json};
use threadkeep_calls::{Call as _, ErrorCode, ListSubagents, Needs, Problem, SetEnv};
use threadkeep_engine::{CARRIERS, Carrier, Held};
use threadkeep_model::{EnvName, Invalid, ThreadId, ThreadName};
use threadkeep_sandbox::{Given, HostError, HostFunction, Value, host_function};

use super::{Module, files};
use crate::attempt::{Attempt, Call, Cancel};
use crate::definitions::{Kind, Name, Problems};
use crate::hooks::Moment;
use crate::http::{Asked as HttpAsked, Hosts};
use crate::run_code::{carried, named};
use crate::{Runtime, RuntimeError};

/// Levels of tools that call tools.
pub(crate) const DEPTH_MAX: usize = 8;

/// What the code of one call reaches.
pub(crate) struct Host {
    pub(super) runtime: Runtime,
    pub(super) on: Attempt,
    /// The variables that its definition declares.
    variables: BTreeSet<String>,
    /// The hosts that its definition lists.
    hosts: Hosts,
    /// The id of the call, which its requests carry.
    call: String,
    cancel: Cancel,
    depth: usize,
    pub(super) held: Mutex<Held>,
    codes: Mutex<BTreeMap<String, threadkeep_sandbox::Terminator>>,
}

/// The names of the host's functions.
const NAMES: [&str; 13] = [
    "call",
    "files",
    "record",
    "definition",
    "env",
    "envType",
    "hold",
    "effects",
    "removeEffect",
    "tool",
    "hook",
    "fetch",
    "runCode",
];

/// The names of the host's functions.
pub(super) fn names() -> Vec<String> {
    NAMES.iter().map(|name| (*name).to_owned()).collect()
}

/// The host's functions where there is none: each call is refused.
pub(super) fn refusing() -> Module {
    let refuse = host_function(|_| async {
        Err(HostError { name: "TypeError".to_owned(), message: "this is not possible while a module loads".to_owned() })
    });
    NAMES.iter().map(|name| ((*name).to_owned(), Given::Function(Arc::clone(&refuse)))).collect()
}

impl Host {
    /// What the code of `name` reaches.
    pub(crate) fn new(
        runtime: &Runtime,
        (on, name): (&Attempt, &Name),
        (variables, hosts): (BTreeSet<String>, Hosts),
        call: &str,
        cancel: &Cancel,
    ) -> Arc<Self> {
        let mut on = on.clone();
        (on.who, on.home) = (on.who.for_code(), Some(name.clone()));
        let depth = on.depth;
        Arc::new(Self {
            runtime: runtime.clone(),
            on,
            variables,
            hosts,
            call: call.to_owned(),
            cancel: cancel.clone(),
            depth,
            held: Mutex::default(),
            codes: Mutex::default(),
        })
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Its functions by their names.
    pub(crate) fn functions(self: &Arc<Self>) -> Module {
        NAMES.iter().map(|name| ((*name).to_owned(), Given::Function(self.function(name)))).collect()
    }

    fn function(self: &Arc<Self>, name: &'static str) -> HostFunction {
        let host = Arc::clone(self);
        host_function(move |args| {
            let host = Arc::clone(&host);
            async move { host.answer(name, args).await.map_err(refusal) }
        })
    }

    async fn answer(&self, name: &str, args: Vec<Value>) -> Result<Value, RuntimeError> {
        let args = Args(args);
        match name {
            "call" => {
                let (thread, carrier) = (args.thread(0)?, callable(args.text(1)?)?);
                let shown = carried(&self.on.who, thread, carrier, &args.0[2..]).await?;
                Ok(Value::from_json(&shown))
            }
            "files" => {
                let rest = match args.0.get(2) {
                    Some(Value::Array(rest)) => rest.as_slice(),
                    _ => &[],
                };
                Ok(files::carry(&self.on.who, args.thread(0)?, args.text(1)?, rest).await?)
            }
            "record" => Ok(Value::from_json(&self.record(args.thread(0)?).await?)),
            "definition" => self.definition(args.text(0)?, args.text(1)?),
            "env" => self.env(args.thread(0)?, args.text(1)?).await,
            "envType" => {
                let (thread, name): (_, EnvName) = (args.thread(0)?, args.text(1)?.parse()?);
                Ok(self.on.who.env_type(thread, &name).await?.as_str().into())
            }
            "hold" => self.hold(args.thread(0)?, args.text(1)?, args.object(2)?).await,
            "effects" => self.effects(args.thread(0)?, args.optional_text(1)).await,
            "removeEffect" => self.remove_effect(args.thread(0)?, args.text(1)?).await,
            "tool" => self.tool(args.thread(0)?, args.text(1)?, args.object(2)?).await,
            "hook" => self.hook(args.thread(0)?, args.text(1)?, args.list(2)).await,
            "fetch" => self.fetch(args.object(0)?).await,
            "runCode" => self.run_code(&args).await,
            _ => Err(invalid("name", "is no function of the host")),
        }
    }

    /// What a state says of its thread.
    pub(crate) async fn record(&self, thread: ThreadId) -> Result<Json, RuntimeError> {
        let found = self.on.who.thread(thread).await?;
        let children = self.on.who.call(thread, ListSubagents::default()).await?.items;
        let names = |kind| self.on.definitions.names(kind).map(|name| name.text()).collect::<Vec<_>>();
        Ok(json!({
            "threadId": found.id,
            "agentId": found.record.agent_id.clone().unwrap_or_default(),
            "userId": found.record.user_id,
            "createdAt": found.created,
            "terminated": found.record.terminated,
            "children": children,
            "names": {
                "models": names(Kind::Model), "prompts": names(Kind::Prompt), "agents": names(Kind::Agent),
            },
        }))
    }

    fn definition(&self, kind: &str, name: &str) -> Result<Value, RuntimeError> {
        let kind = Kind::of_folder(kind).ok_or_else(|| invalid("kind", "is no folder of definitions"))?;
        let (found, _) = self.on.definitions.get(kind, name, self.on.package())?;
        let mut shown = self.on.definitions.shown(found).unwrap_or_default();
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("name".to_owned(), found.text().into());
        }
        Ok(Value::from_json(&shown))
    }

    async fn env(&self, thread: ThreadId, name: &str) -> Result<Value, RuntimeError> {
        if !self.variables.contains(name) {
            let rule = format!("'{name}' is not among the variables that the definition declares");
            return Err(invalid("name", rule));
        }
        let on = Attempt { thread, ..self.on.clone() };
        Ok(on.env(&name.parse()?).await?.into())
    }

    /// Invokes a tool for a tool: the same caller, one level deeper.
    async fn tool(&self, thread: ThreadId, name: &str, args: Map<String, Json>) -> Result<Value, RuntimeError> {
        if self.depth + 1 >= DEPTH_MAX {
            return Err(invalid("name", format!("tools call tools at most {DEPTH_MAX} levels deep")));
        }
        let on = Attempt { thread, depth: self.depth + 1, used: None, ..self.on.clone() };
        let id = format!("{}.{}", self.call, self.on.who.new_id());
        let call = Call { id, name: name.to_owned(), args };
        if thread != self.on.thread {
            // Another thread has a log of its own.
            let told = Box::pin(self.runtime.invoke_on(&on, &call, &self.cancel)).await?;
            return Ok(Value::from_json(&json!(told)));
        }
        let outcome = Box::pin(self.runtime.run_tool(&on, &call, &self.cancel)).await?;
        // What the inner tool holds back is committed with the outer result.
        self.held().extend(outcome.held);
        Ok(Value::from_json(&json!(outcome.result.shown(&[]))))
    }

    /// Runs the hooks of a thread for something that its code does to a message, and gives what takes its place.
    async fn hook(&self, thread: ThreadId, moment: &str, about: Vec<Json>) -> Result<Value, RuntimeError> {
        let moment = Moment::of(moment).ok_or_else(|| invalid("hook", "is no hook"))?;
        let depth = self.depth + 1;
        let on = match thread == self.on.thread {
            true => Attempt { depth, ..self.on.clone() },
            // Another thread may have another agent.
            false => Attempt { depth, quiet: self.on.quiet, ..self.runtime.attempt(&self.on.who, thread).await? },
        };
        let hooked = Box::pin(self.runtime.hook(&on, moment, about, &self.cancel)).await?;
        if let Some(why) = hooked.blocked {
            return Err(RuntimeError::Engine(threadkeep_engine::Error::from(Invalid::body("message", why))));
        }
        if thread == self.on.thread {
            // What the hook holds back is committed with the result of the code that it was called for.
            self.held().extend(hooked.held);
        } else if hooked.held.count() > 0 {
            self.on.who.log_tool(thread, None, hooked.held).await?;
        }
        Ok(Value::from_json(&Json::Array(hooked.about)))
    }

    async fn fetch(&self, asked: Map<String, Json>) -> Result<Value, RuntimeError> {
        let asked = HttpAsked::read(asked, &self.call)?;
        let answer = self.runtime.shared.http.ask_listed(asked, &self.hosts).await;
        let answer = answer.map_err(|why| invalid("fetch", why))?;
        let headers = answer.headers.into_iter().map(|(name, value)| (name, Value::String(value)));
        Ok(Value::Object(vec![
            ("status".to_owned(), Value::Number(f64::from(answer.status))),
            ("headers".to_owned(), Value::Object(headers.collect())),
            ("body".to_owned(), Value::Buffer(answer.body.to_vec())),
        ]))
    }

    async fn run_code(&self, args: &Args) -> Result<Value, RuntimeError> {
        let (thread, id) = (args.thread(0)?, args.text(1)?.to_owned());
        if args.0.len() == 2 {
            let open = self.codes.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
            if let Some(terminator) = open {
                terminator.terminate("the run was terminated");
            }
            return Ok(Value::Undefined);
        }
        let mut options = args.object(3)?;
        options.insert("source".to_owned(), args.text(2)?.into());
        let request: threadkeep_calls::RunCode =
            serde_json::from_value(options.into()).map_err(|error| invalid("options", error.to_string()))?;
        if let Some(refused) = crate::run_code::unknown_option(&request) {
            return Ok(Value::from_json(&json!(refused)));
        }
        let running = crate::run_code::start(self.runtime.sandbox(), &self.on.who, thread, request).await;
        let running = running.map_err(RuntimeError::Problem)?;
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), running.terminator());
        let outcome = running.outcome().await.map_err(RuntimeError::Problem);
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        Ok(Value::from_json(&json!(outcome?)))
    }
}

/// The call of this name, if code of definitions may make it: none that needs an admin key, and of those about variables
/// only the one that sets one.
fn callable(name: &str) -> Result<&'static Carrier, RuntimeError> {
    let carrier = CARRIERS.iter().find(|carrier| named(carrier, name));
    let is_open = |carrier: &&Carrier| {
        let declaration = carrier.declaration;
        let about_env = declaration.group == SetEnv::DECLARATION.group && declaration.name != SetEnv::DECLARATION.name;
        declaration.needs != Needs::Admin && !about_env
    };
    carrier.filter(is_open).ok_or_else(|| invalid("name", format!("there is no call '{name}' for code")))
}

/// The arguments of a function of the host.
struct Args(Vec<Value>);

impl Args {
    fn text(&self, at: usize) -> Result<&str, RuntimeError> {
        self.optional_text(at).ok_or_else(|| invalid("argument", "is no text"))
    }

    fn optional_text(&self, at: usize) -> Option<&str> {
        self.0.get(at).and_then(Value::as_str)
    }

    fn thread(&self, at: usize) -> Result<ThreadId, RuntimeError> {
        match self.text(at)?.parse::<ThreadName>()? {
            ThreadName::Full(id) => Ok(id),
            ThreadName::Short(_) => Err(invalid("thread", "is a full id here")),
        }
    }

    fn list(&self, at: usize) -> Vec<Json> {
        match self.0.get(at).map(Value::to_json) {
            Some(Json::Array(items)) => items,
            Some(_) | None => Vec::new(),
        }
    }

    fn object(&self, at: usize) -> Result<Map<String, Json>, RuntimeError> {
        match self.0.get(at).map(Value::to_json) {
            Some(Json::Object(fields)) => Ok(fields),
            None | Some(Json::Null) => Ok(Map::new()),
            Some(_) => Err(invalid("argument", "is no object")),
        }
    }
}

pub(super) fn invalid(field: &'static str, rule: impl Into<String>) -> RuntimeError {
    threadkeep_engine::Error::from(Invalid::parameter(field, rule.into())).into()
}

/// An error as code reads it: its code as the name.
fn refusal(error: RuntimeError) -> HostError {
    // A definition that is missing reads as such, whatever its kind.
    let missing = matches!(&error, RuntimeError::Definition(Problems::NotFound { .. }));
    let problem = Problem::from(error);
    let name = if missing { ErrorCode::DefinitionNotFound.as_str().to_owned() } else { problem.code.to_string() };
    HostError { name, message: problem.detail.to_string() }
}
