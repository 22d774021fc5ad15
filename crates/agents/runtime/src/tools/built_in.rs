//! Tools that every program has: the calls about a thread as `threadkeep/NAME`, `skill`, and `remember`.

use serde_json::{Map, Value, json};
use threadkeep_calls::{
    ActivateSkill, AddMemory, AddProjectMemory, Asked, At, Call as _, Mention, Method, Needs, SetEnv,
};
use threadkeep_engine::{CARRIERS, Carrier, Error, Page};
use threadkeep_model::{Invalid, Json, MessageName, Role, Skill, ThreadName};

use super::{Attempt, Call, Declared, ToolResult};
use crate::definitions::{Definition, Kind};
use crate::run_code::named;
use crate::{Runtime, RuntimeError};

/// Begins the names of tools that are calls.
const PREFIX: &str = "threadkeep/";
/// The tool that activates a skill.
const SKILL: &str = "skill";

/// The tool that remembers a text across threads.
const REMEMBER: &str = "remember";

/// Whether every program has a tool of this name.
pub(crate) fn is_built_in(name: &str) -> bool {
    name == SKILL || name == REMEMBER || call_of(name).is_some()
}

/// The call that a tool makes. Those about variables and those that need an admin key are no tools.
fn call_of(name: &str) -> Option<&'static Carrier> {
    let name = name.strip_prefix(PREFIX)?;
    CARRIERS.iter().filter(|carrier| named(carrier, name)).find(|carrier| {
        let declaration = carrier.declaration;
        declaration.names_thread()
            && declaration.needs != Needs::Admin
            && declaration.group != SetEnv::DECLARATION.group
    })
}

/// What such a tool says of itself. The engine checks the authority of its calls.
pub(crate) fn declared(name: &str) -> Declared {
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    match call_of(name) {
        Some(carrier) => {
            let thread = json!({ "type": "string", "description": "Another thread that it is about" });
            let args = json!({ "type": "object", "properties": { "thread": thread } });
            Declared::new(carrier.declaration.about, object(args))
        }
        None if name == REMEMBER => {
            let args = json!({ "type": "object", "required": ["text"], "additionalProperties": false, "properties": {
                "text": { "type": "string", "description": "One fact, in a sentence that is understood by itself" },
                "scope": { "type": "string", "enum": ["account", "project"],
                    "description": "In all conversations, or in those of this project [default: account]" } } });
            let about = "Remembers a fact for later conversations, such as a preference or a decision that stays.";
            Declared::new(about, object(args))
        }
        None => {
            let args = json!({ "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string", "description": "The name of the skill" }, "arguments": {} } });
            Declared::new("Activates a skill, and gives its text.", object(args))
        }
    }
}

/// Remembers a text. Its source is what the user said last.
pub(crate) async fn remember(on: &Attempt, args: &Map<String, Value>) -> Result<Value, RuntimeError> {
    let text = args.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    let engine = on.who.for_code();
    let last = Page::first().newest_first().role(Role::User).uncounted().limit(1);
    let sources: Vec<MessageName> =
        engine.messages(on.thread, last).await?.items.iter().map(|message| message.name()).collect();
    let thread_id = Some(ThreadName::Full(on.thread));
    let made = match args.get("scope").and_then(Value::as_str) {
        Some("project") => {
            let missing = || Error::from(Invalid::body("scope", "the thread belongs to no project"));
            let project = engine.thread(on.thread).await?.record.project_id.ok_or_else(missing)?;
            engine.call(At::none(), AddProjectMemory { project, text, sources, thread_id }).await?
        }
        Some(_) | None => engine.call(At::none(), AddMemory { text, sources, thread_id }).await?,
    };
    Ok(json!({ "id": made.id, "text": made.text }))
}

impl Runtime {
    pub(super) async fn run_built_in(&self, on: &Attempt, name: &str, call: &Call) -> Result<ToolResult, RuntimeError> {
        let ran = match call_of(name) {
            Some(carrier) => self.run_call(on, carrier, call.args.clone()).await,
            None if name == REMEMBER => remember(on, &call.args).await,
            None => self.run_skill(on, &call.args).await,
        };
        match ran {
            Ok(value) => Ok(ToolResult::success(value)),
            // Authority is asked for; everything else is for the model to read.
            Err(error @ RuntimeError::Engine(threadkeep_engine::Error::ApprovalRequired { .. })) => Err(error),
            Err(error) => Ok(ToolResult::failure(error.to_string())),
        }
    }

    async fn run_call(
        &self,
        on: &Attempt,
        carrier: &'static Carrier,
        mut args: Map<String, Value>,
    ) -> Result<Value, RuntimeError> {
        let engine = on.who.for_code();
        let mut thread = ThreadName::Full(on.thread);
        if let Some(Value::String(other)) = args.remove("thread") {
            thread = other.parse().map_err(threadkeep_engine::Error::from)?;
        }
        let target = engine.thread(thread).await?.id;
        if target != on.thread && carrier.declaration.method == Method::Get {
            // Reading another thread is a mention of it.
            engine.call(on.thread, Mention { target: target.into(), comment: None }).await?;
        }
        let asked = Asked::flat(carrier.declaration, args).map_err(threadkeep_engine::Error::from)?;
        let shown = (carrier.run)(engine, At::of(target), asked).await?;
        Ok(serde_json::from_slice(&shown.json).unwrap_or_default())
    }

    async fn run_skill(&self, on: &Attempt, args: &Map<String, Value>) -> Result<Value, RuntimeError> {
        let name = args.get("name").and_then(Value::as_str).unwrap_or_default();
        let (found, definition) = on.definitions.get(Kind::Skill, name, on.package())?;
        let arguments = match args.get("arguments") {
            None | Some(Value::Null) => None,
            Some(given) => Some(Json::parse("arguments", &given.to_string()).map_err(threadkeep_engine::Error::from)?),
        };
        let activate = ActivateSkill { skill: Skill { name: found.text(), arguments } };
        on.who.for_code().call(on.thread, activate).await?;
        Ok(match definition {
            Definition::Text(text) => text.clone().into(),
            Definition::Agent(_)
            | Definition::Prompt(_)
            | Definition::Model(_)
            | Definition::Mcp(_)
            | Definition::HttpTool(_) => Value::Null,
        })
    }
}
