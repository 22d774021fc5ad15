//! One call of a tool, from its name to its outcome: found, checked, permitted, carried out.

use std::time::Duration;

use serde_json::{Value, json};
use threadkeep_calls::NewAttachment;
use threadkeep_engine::{Redactor, WayOut};
use threadkeep_model::Json;

use super::http::Sent;
use crate::attempt::built_in::{self, is_built_in};
use crate::attempt::{Attempt, Call, Cancel, Declared, Outcome, RustTool, ToolResult, cancelled, schema};
use crate::code::is_code;
use crate::definitions::{Definition, HttpTool, Kind, MCP_PREFIX, Name, Problem, Problems, position_of};
use crate::mcp::{McpTool, is_checked_here};
use crate::{Runtime, RuntimeError};

/// Most bytes of a result that is kept as it is. A larger one becomes a file.
pub const RESULT_BYTES_MAX: usize = 256 << 10;
/// Attempts after the first one, for tools that may be repeated.
const RETRIES_MAX: u32 = 2;
/// The pause before the first of them; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(250);

/// A tool that was found.
pub(crate) enum Tool<'a> {
    /// The program carries it out.
    Rust(&'a RustTool),
    /// Every program has it.
    BuiltIn(String),
    /// A file of code.
    Code(&'a Name),
    /// A request.
    Http(&'a Name, &'a HttpTool),
    /// A tool of an MCP server.
    Mcp(McpTool<'a>),
}

/// A call that was checked and permitted.
pub(crate) struct Ready<'a> {
    tool: Tool<'a>,
    pub(crate) declared: Declared,
}

impl Runtime {
    /// What a tool says of itself.
    ///
    /// # Errors
    /// If it is missing or broken, or no worker loads it.
    pub async fn declared(&self, on: &Attempt, name: &str) -> Result<Declared, RuntimeError> {
        self.declared_of(on, &self.find_tool(on, name)?).await
    }

    /// Runs one call of a tool, and gives its outcome. It stores nothing: the caller commits the outcome.
    ///
    /// # Errors
    /// If the tool is missing or broken, the caller lacks authority ([`threadkeep_engine::Error::ApprovalRequired`]), or no
    /// worker runs code. A tool that fails, bad arguments and a timeout are outcomes.
    pub async fn run_tool(&self, on: &Attempt, call: &Call, cancel: &Cancel) -> Result<Outcome, RuntimeError> {
        match self.prepared(on, call).await? {
            Ok(ready) => self.carry_out(on, &ready, call, cancel).await,
            Err(refused) => Ok(refused.into()),
        }
    }

    /// Finds the tool of a call, checks its arguments, and asks for authority. Bad arguments are a result.
    pub(crate) async fn prepared<'a>(
        &'a self,
        on: &'a Attempt,
        call: &Call,
    ) -> Result<Result<Ready<'a>, ToolResult>, RuntimeError> {
        let tool = self.find_tool(on, &call.name)?;
        let declared = self.declared_of(on, &tool).await?;
        let is_checked = !matches!(tool, Tool::Mcp(_)) || is_checked_here(&declared.args);
        if let Some(wrong) = schema::wrong(&declared.args, &call.args).filter(|_| is_checked) {
            return Ok(Err(ToolResult::failure(format!("the arguments are wrong: {wrong}"))));
        }
        if let Some(skill) = &declared.skill {
            let thread = on.who.thread(on.thread).await?;
            if !thread.record.activated_skills.iter().any(|active| active.name == *skill) {
                let what =
                    format!("the tool needs the skill '{skill}', which is not active: call the tool `skill` first");
                return Ok(Err(ToolResult::failure(what)));
            }
        }
        // What a person is asked about is kept, so it must not hold a secret.
        let mut args = Value::Object(call.args.clone());
        on.who.redactor(WayOut::Call, Some(on.thread)).await?.value(&mut args);
        let args = Json::parse("args", &args.to_string()).map_err(threadkeep_engine::Error::from)?;
        on.who.authorize_call(on.thread, (&call.name, &args, &call.id), &declared.needs).await?;
        Ok(Ok(Ready { tool, declared }))
    }

    /// Carries a call out. Only tools that may be repeated are, and only if they failed in a way that may pass.
    pub(crate) async fn carry_out(
        &self,
        on: &Attempt,
        ready: &Ready<'_>,
        call: &Call,
        cancel: &Cancel,
    ) -> Result<Outcome, RuntimeError> {
        let Ready { tool, declared } = ready;
        let retries = if declared.repeatable { RETRIES_MAX } else { 0 };
        let mut attempt = 0;
        let outcome = loop {
            let (outcome, may_pass) = match tool {
                Tool::Rust(tool) => (tool.run(on, call, cancel).await.into(), false),
                Tool::BuiltIn(name) => (self.run_built_in(on, name, call).await?.into(), false),
                Tool::Code(name) => self.run_code_tool((on, name), declared, call, cancel).await?,
                Tool::Mcp(tool) => (self.call_mcp((on, tool), call, cancel).await?.into(), false),
                Tool::Http(_, tool) => {
                    let sent = tokio::select! {
                        sent = self.send_tool(on, (tool, declared), call) => sent?,
                        () = cancelled(cancel) => Sent::Ended(ToolResult::failure("the call was cancelled")),
                    };
                    match sent {
                        Sent::Ended(result) => (result.into(), false),
                        Sent::Failed(result) => (result.into(), true),
                    }
                }
            };
            if !may_pass || attempt == retries {
                break outcome;
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE * 2_u32.pow(attempt)) => attempt += 1,
                () = cancelled(cancel) => break outcome,
            }
        };
        let redactor = on.who.redactor(WayOut::Tool, Some(on.thread)).await?;
        Ok(settled(outcome, &redactor))
    }

    /// The tool of this name: one of the program, one of every program, or a definition.
    pub(crate) fn find_tool<'a>(&'a self, on: &'a Attempt, name: &str) -> Result<Tool<'a>, RuntimeError> {
        if is_built_in(name) {
            return Ok(Tool::BuiltIn(name.to_owned()));
        }
        if let Some(written) = name.strip_prefix(MCP_PREFIX)
            && let Some((server, tool)) = on.definitions.find_mcp(written, on.package())
            && let (name, Definition::Mcp(server)) = on.definitions.get(Kind::Mcp, &server.text(), None)?
        {
            return Ok(Tool::Mcp(McpTool { name, server, tool: tool.to_owned() }));
        }
        let (found, definition) = on.definitions.get(Kind::Tool, name, on.package())?;
        if let Some(tool) = self.shared.tools.get(&found.text()) {
            return Ok(Tool::Rust(tool));
        }
        match definition {
            Definition::HttpTool(tool) => Ok(Tool::Http(found, tool)),
            definition if is_code(found, definition) => Ok(Tool::Code(found)),
            _ => Err(Problems::Invalid { name: found.text(), kind: Kind::Tool.word(), problems: Vec::new() }.into()),
        }
    }

    async fn declared_of(&self, on: &Attempt, tool: &Tool<'_>) -> Result<Declared, RuntimeError> {
        let (name, declared) = match tool {
            Tool::Rust(tool) => return Ok(tool.declared.clone()),
            Tool::BuiltIn(name) => return Ok(built_in::declared(name)),
            Tool::Mcp(tool) => return self.declared_mcp(on, tool).await,
            Tool::Code(name) => (name, Declared::of_code(self.described(&on.definitions, name).await?)),
            Tool::Http(name, tool) => (name, Declared::of_http(&name.text(), tool)),
        };
        declared.map_err(|(field, what)| {
            let (file, line, column) = position_of(&on.definitions, name, &field);
            let problems = vec![Problem { file, line, column, what }];
            Problems::Invalid { name: name.text(), kind: Kind::Tool.word(), problems }.into()
        })
    }
}

/// The outcome as it may leave: without secrets, without held calls if it failed, and a large result as a file.
fn settled(mut outcome: Outcome, redactor: &Redactor) -> Outcome {
    let result = &mut outcome.result;
    if let Some(value) = &mut result.result {
        redactor.value(value);
    }
    if let Some(error) = &mut result.error {
        *error = redactor.text(error).into_owned();
    }
    if !result.is_success() {
        outcome.held = threadkeep_engine::Held::default();
        return outcome;
    }
    if let Some(secret) = result.attachments.iter().find_map(|file| redactor.held_by(&file.bytes)) {
        let what = format!("an attachment of the result holds the secret '{secret}'");
        return ToolResult::failure(what).into();
    }
    let (name, mime_type, text) = match &result.result {
        Some(Value::String(text)) => ("result.txt", "text/plain; charset=utf-8", text.clone()),
        Some(value) => ("result.json", "application/json", value.to_string()),
        None => return outcome,
    };
    if text.len() > RESULT_BYTES_MAX {
        result.result = Some(json!({ "file": name, "bytes": text.len() }));
        let (name, mime_type) = (name.to_owned(), mime_type.to_owned());
        result.attachments.push(NewAttachment { name, mime_type, bytes: text.into_bytes() });
    }
    outcome
}
