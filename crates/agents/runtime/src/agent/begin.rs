//! How subagents begin: by a call of their name, by `subagent_create`, or together with their caller.
//!
//! The thread of a subagent is made under a key of the call, so a call that is carried out again finds the same one. A
//! subagent that lacks a variable is made all the same. It starts once the variable is set.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use threadkeep_calls::{At, GetAccountEnv, ListThreadRuns, Queue, SetStatus, Subagent};
use threadkeep_engine::{Engine, Error, Page};
use threadkeep_model::{
    Content, EnvName, FilePath, IdempotencyKey, Invalid, MessageBody, ParentCommunication, Part, Position, Role,
    RunSide, ThreadId,
};
use threadkeep_providers as providers;

use super::calls::MESSAGE;
use super::tail::Marks;
use super::work::{Working, is_over, may_pass};
use crate::RuntimeError;
use crate::attempt::{Call, ToolResult};
use crate::definitions::{Agent, Definitions, Parent, Prompt, Receives, Resumable, UsedTool, Variable};

/// The tool that starts a subagent under a name.
pub(super) const CREATE_TOOL: &str = "subagent_create";
/// Its argument with paths of files.
pub(super) const ATTACHMENTS: &str = "attachments";
/// The tool that speaks to a subagent again.
pub(super) const MESSAGE_TOOL: &str = "subagent_message";
/// The status of a subagent that lacks variables, and the code of the answer that says so.
const ENV_REQUIRED: &str = "subagent_env_required";
/// The status of a subagent that may work.
const RUNNING: &str = "running";
/// What a subagent is told that begins with its caller where nobody has spoken.
const BEGIN: &str = "(Begin.)";
/// Messages that the words of a person are looked for in.
const LOOKS_BACK: usize = 20;

/// A subagent that is to begin.
pub(super) struct Order {
    /// The name under which its caller knows it.
    pub(super) name: String,
    pub(super) agent: Agent,
    pub(super) used: UsedTool,
    /// What it is told first.
    pub(super) message: String,
    /// Paths of files of the caller.
    pub(super) files: Vec<FilePath>,
}

/// A subagent that was made.
pub(super) struct Begun {
    pub(super) child: ThreadId,
    /// Whether its caller waits for it.
    pub(super) blocks: bool,
    /// Variables that it needs first.
    missing: Vec<Variable>,
}

impl Begun {
    /// The answer to a caller that does not wait.
    pub(super) fn told(&self) -> ToolResult {
        if self.missing.is_empty() {
            return ToolResult::success(json!({ "referenceId": self.child, "status": RUNNING }));
        }
        let missing = |one: &Variable| json!({ "name": one.name, "description": one.description });
        let missing: Vec<Value> = self.missing.iter().map(missing).collect();
        let about = "The subagent starts once these variables are set on its thread, and reports then.";
        let told = json!({ "code": ENV_REQUIRED, "requestId": self.child, "missing": missing, "message": about });
        ToolResult::failure(told.to_string())
    }
}

/// The tools for subagents that a model is told of, beside the agents themselves.
pub(super) fn own_tools(prompt: &Prompt, agents: &[String]) -> Vec<providers::Tool> {
    let lists = |name: &str| prompt.tools.iter().any(|used| used.name == name);
    let text = |about: &str| json!({ "type": "string", "description": about });
    let files =
        json!({ "type": "array", "items": { "type": "string" }, "description": "Paths of files of this thread" });
    let tool = |name: &str, description: &str, properties: Value, required: Value| {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        providers::Tool { name: name.to_owned(), description: description.to_owned(), schema }
    };
    let mut tools = Vec::new();
    if lists(CREATE_TOOL) {
        let properties = json!({
            "agent": { "type": "string", "enum": agents, "description": "The agent that works" },
            MESSAGE: text("What it is asked"),
            "name": text("A name for this subagent"),
            ATTACHMENTS: files.clone(),
            "arguments": { "type": "object", "description": "More arguments, for agents that want some" },
        });
        tools.push(tool(CREATE_TOOL, "Starts a subagent.", properties, json!(["agent", MESSAGE])));
    }
    if lists(MESSAGE_TOOL) || prompt.tools.iter().any(|used| used.called.resumable != Resumable::No) {
        let properties = json!({
            "referenceId": text("The reference of the subagent"),
            MESSAGE: text("What it is told"),
            ATTACHMENTS: files,
        });
        let about = "Sends a message to a subagent that stayed.";
        tools.push(tool(MESSAGE_TOOL, about, properties, json!(["referenceId", MESSAGE])));
    }
    tools
}

/// The paths of files among the arguments of a call.
///
/// # Errors
/// What is wrong with them, for the model.
pub(super) fn files_in(args: &Map<String, Value>, property: Option<&str>) -> Result<Vec<FilePath>, String> {
    let Some((property, given)) = property.and_then(|property| Some((property, args.get(property)?))) else {
        return Ok(Vec::new());
    };
    let wrong = || format!("the arguments are wrong: args.{property}: is no list of paths");
    let given = given.as_array().ok_or_else(wrong)?;
    given.iter().map(|path| path.as_str().and_then(|path| path.parse().ok()).ok_or_else(wrong)).collect()
}

/// Variables that the graph of an agent requires for itself and that a thread of it does not see; without a thread,
/// those that a new one would not see.
///
/// # Errors
/// If the store cannot be read.
pub(super) async fn lacking(
    engine: &Engine,
    definitions: &Definitions,
    agent: &str,
    thread: Option<ThreadId>,
) -> Result<Vec<Variable>, Error> {
    let mut missing = Vec::new();
    for variable in definitions.required_for_itself(agent) {
        let Ok(name) = variable.name.parse::<EnvName>() else { continue };
        let found = match thread {
            Some(thread) => engine.env_of_instance_too(thread, &name).await.map(drop),
            None if engine.instance_value(&name).is_some() => Ok(()),
            None => engine.call(At::none(), GetAccountEnv { name }).await.map(drop),
        };
        match found {
            Ok(()) => {}
            Err(Error::EnvNotFound { .. }) => missing.push(variable),
            Err(error) => return Err(error),
        }
    }
    Ok(missing)
}

impl Working {
    /// The order that a call of `subagent_create` makes.
    pub(super) fn ordered(&self, tools: &[UsedTool], call: &Call) -> Result<Order, String> {
        let text = |name: &str| call.args.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let wrong = |name: &str| format!("the arguments are wrong: args.{name}: is missing");
        let asked = text("agent").ok_or_else(|| wrong("agent"))?;
        let agents =
            || tools.iter().filter(|used| !used.is_plain).filter_map(|used| self.agent_called(tools, &used.name));
        let Some((agent, used)) = agents().find(|(_, used)| used.name == asked) else {
            let known: Vec<String> = agents().map(|(_, used)| used.name).collect();
            return Err(format!("there is no subagent '{asked}'; the subagents: {}", known.join(", ")));
        };
        let mut args = match call.args.get("arguments") {
            Some(Value::Object(more)) => more.clone(),
            Some(_) | None => Map::new(),
        };
        args.extend(call.args.clone());
        let message = text(MESSAGE).ok_or_else(|| wrong(MESSAGE))?.to_owned();
        let mut files = files_in(&args, Some(ATTACHMENTS))?;
        files
            .extend(files_in(&args, used.called.init_attachments_property.as_deref().filter(|it| *it != ATTACHMENTS))?);
        Ok(Order { name: text("name").unwrap_or(asked).to_owned(), agent, used, message, files })
    }

    /// Makes the thread of a subagent and tells it its first message, once for a call.
    pub(super) async fn begin(&self, call: &str, order: &Order) -> Result<Begun, RuntimeError> {
        let missing = lacking(&self.engine, &self.on.definitions, &order.used.name, None).await?;
        let is_ready = missing.is_empty();
        let (made, was_ready) = match self.make(call, order, is_ready).await {
            // An attempt before this one made it, and a variable was set or deleted since.
            Err(Error::IdempotencyKeyReused) => (self.make(call, order, !is_ready).await?, !is_ready),
            made => (made?, is_ready),
        };
        let child = made.thread.id;
        let parts = made.attachments.iter().filter_map(|file| {
            Some(file_part(file.path.as_ref()?.to_string(), file.mime_type.clone(), file.name.clone()))
        });
        let message = spoken(&order.message, parts.collect(), &order.used.called.resumable)?;
        let at = At::of(child).keyed(self.key(call, "says")?);
        self.engine.call(at, Queue { message: message.into() }).await?;
        Ok(Begun { child, blocks: order.used.called.blocking && was_ready, missing })
    }

    async fn make(
        &self,
        call: &str,
        order: &Order,
        is_ready: bool,
    ) -> Result<threadkeep_engine::SubagentThread, Error> {
        let used = &order.used;
        let (resumable, reports) = match &used.called.resumable {
            Resumable::No => (false, Parent::Implicit),
            Resumable::Yes { parent, .. } => (true, *parent),
        };
        let subagent = Subagent {
            name: order.name.clone(),
            description: order.agent.description.clone().unwrap_or_default(),
            agent_id: Some(used.name.clone()),
            resumable: Some(resumable),
            // Its caller gets an answer at once if it lacks a variable, and a report later.
            blocking: Some(used.called.blocking && is_ready),
            spawn_group_id: Some(self.spawn_group()),
            parent_communication: Some(match reports {
                Parent::Implicit => ParentCommunication::Implicit,
                Parent::Explicit => ParentCommunication::Explicit,
            }),
            status: Some(if is_ready { RUNNING } else { ENV_REQUIRED }.to_owned()),
            attachments: order.files.clone(),
            ..Subagent::default()
        };
        self.engine.call(At::of(self.thread).keyed(self.key(call, "child")?), subagent).await
    }

    /// Queues a message for a subagent that stayed, once for a call, with copies of these files of the caller.
    pub(super) async fn speak(
        &self,
        child: ThreadId,
        call: &str,
        (text, files): (&str, &[FilePath]),
        to: &Resumable,
    ) -> Result<(), RuntimeError> {
        let message = spoken(text, Vec::new(), to)?;
        let at = At::of(child).keyed(self.key(call, "says")?);
        self.engine.queue_with_files(at, message, (self.thread, files)).await?;
        Ok(())
    }

    pub(super) fn key(&self, call: &str, what: &str) -> Result<IdempotencyKey, Error> {
        // The ids of calls come from models, and may be long.
        let hash = blake3::hash(format!("{}/{call}/{what}", self.run).as_bytes());
        Ok(IdempotencyKey::new(format!("subagent-{}", hash.to_hex()))?)
    }

    /// Starts the subagents that begin with this thread, before its first step.
    pub(super) async fn begin_immediate(&mut self) -> Result<(), RuntimeError> {
        let tools = self.prompt()?.map(|prompt| prompt.tools).unwrap_or_default();
        if self.steps > 0 || !tools.iter().any(|used| used.called.immediate) {
            return Ok(());
        }
        let runs = self.engine.call(self.thread, ListThreadRuns { limit: Some(2), cursor: None }).await?.items;
        if runs.len() > 1 {
            return Ok(());
        }
        let message = self
            .said_by_person(Page::first().newest_first().limit(LOOKS_BACK))
            .await?
            .unwrap_or_else(|| BEGIN.to_owned());
        for immediate in tools.iter().filter(|used| used.called.immediate) {
            let Some((agent, mut used)) = self.agent_called(&tools, &immediate.name) else { continue };
            used.called.blocking = false;
            let (name, message) = (used.name.clone(), message.clone());
            let order = Order { name: name.clone(), agent, used, message, files: Vec::new() };
            match self.begin_alone(&format!("immediate/{name}"), &order).await {
                Ok(()) => {}
                Err(RuntimeError::Engine(error)) if is_over(&error) || may_pass(&error) => return Err(error.into()),
                Err(error) if immediate.called.optional => {
                    tracing::warn!(thread = %self.thread, subagent = name, %error, "an optional subagent did not start");
                }
                Err(error) => return Err(error),
            }
        }
        let told = match self.resumed {
            true => self.engine.call_facts(self.thread, self.run, Position(0)).await?.hooked,
            false => HashSet::new(),
        };
        Box::pin(self.subagents_made(&told)).await
    }

    /// Makes a subagent that nothing called. One that an earlier attempt made does not count against the limits.
    async fn begin_alone(&self, call: &str, order: &Order) -> Result<(), RuntimeError> {
        let group = Some(self.spawn_group());
        let children = self.engine.children(self.thread).await?;
        let is_made = children.iter().any(|child| child.spawn_group_id == group && child.name == order.name);
        if !is_made && let Some(refused) = self.refuse_more(&order.used).await? {
            return Err(Error::from(Invalid::body("tools", refused)).into());
        }
        self.begin(call, order).await.map(drop)
    }

    /// The name that subagents of this step share.
    pub(super) fn spawn_group(&self) -> String {
        format!("{}.{}", self.run, self.steps)
    }

    /// The first words of a person on a page of messages.
    pub(super) async fn said_by_person(&self, page: Page) -> Result<Option<String>, RuntimeError> {
        for message in self.engine.messages(self.thread, page).await?.items {
            let body = message.body().map_err(Error::from)?;
            let text = body.content.to_text();
            if body.role == Role::User && !text.trim().is_empty() {
                return Ok(Some(text.into_owned()));
            }
        }
        Ok(None)
    }

    /// Tells the caller of a subagent that lacked a variable that it works now.
    pub(super) async fn booted(&self) -> Result<(), RuntimeError> {
        let agent = self.on.agent.as_ref().map(crate::definitions::Name::text).unwrap_or_default();
        if self.steps > 0 || self.on.definitions.required_for_itself(&agent).is_empty() {
            return Ok(());
        }
        let Some(parent) = self.engine.parent_thread(self.thread).await? else { return Ok(()) };
        let children = self.engine.children(parent.id).await?;
        if children.iter().any(|child| child.reference == self.thread && child.status == ENV_REQUIRED) {
            self.engine.call(self.thread, SetStatus { status: RUNNING.to_owned() }).await?;
        }
        Ok(())
    }
}

/// What a subagent is told. It says which side answers, if that is the second one.
fn spoken(text: &str, files: Vec<Part>, to: &Resumable) -> Result<MessageBody, RuntimeError> {
    let mut message = if files.is_empty() {
        MessageBody::user(text)
    } else {
        let parts: Vec<Part> = std::iter::once(Part::Text { text: text.to_owned() }).chain(files).collect();
        MessageBody::with_content(Role::User, Content::parts(&parts)?)
    };
    if let Resumable::Yes { receives: Receives::SideB, .. } = to {
        Marks { stops: false, turn: Some(RunSide::B) }.put(&mut message)?;
    }
    Ok(message)
}

/// A file as a part of a message: models see pictures, and the names of other files.
fn file_part(path: String, mime_type: String, name: String) -> Part {
    let name = Some(name);
    match mime_type.starts_with("image/") {
        true => Part::Image { path, mime_type, name },
        false => Part::File { path, mime_type, name },
    }
}
