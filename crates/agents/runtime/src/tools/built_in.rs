//! Tools that every program has: the calls about a thread as `threadkeep/NAME`, `skill`, and `remember`.

use serde_json::{Map, Value, json};
use threadkeep_calls::{ActivateSkill, AddMemory, AddProjectMemory, Asked, At, Mention, Method};
use threadkeep_engine::{Carrier, Error, Page};
use threadkeep_model::{Invalid, Json, MessageName, Role, Skill, ThreadName};

use crate::attempt::built_in::{REMEMBER, call_of};
use crate::attempt::{Attempt, Call, ToolResult};
use crate::definitions::{Definition, Kind};
use crate::{Runtime, RuntimeError};

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
