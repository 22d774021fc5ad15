//! `tools`: the tools of a thread, listed, invoked and queued.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};
use threadkeep::{Invalid, Json};
use threadkeep_calls::{DefinitionKind, InvokeTool, QueueTool, ToolStatus};

use crate::context::{Conditions, Context};
use crate::failure::{Failure, note};
use crate::input::or_stdin;
use crate::text::visible;

/// The exit code of a tool that failed.
const FAILED: u8 = 1;

/// Examples for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  threadkeep tools list
  threadkeep tools invoke 4e36 count_words '{\"text\":\"three short words\"}'
  echo '{\"text\":\"from stdin\"}' | threadkeep tools invoke 4e36 count_words -
  threadkeep tools queue 4e36 count_words '{\"text\":\"later\"}'

Tools are files in tools/ of the folder of definitions; see threadkeep agents -h. The calls about a thread are tools, too:
threadkeep/messages, threadkeep/append. Those of an MCP server in mcp/ are named mcp:SERVER/TOOL.";

/// List the tools of the folder of definitions
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut list = context.client.definitions().await?;
        list.items.retain(|item| item.kind == DefinitionKind::Tools);
        if context.json {
            return context.out.json(&list.items);
        }
        if list.items.is_empty() {
            context.note("there are no tools; threadkeep agents new NAME writes one");
        }
        for item in &list.items {
            let broken = if item.problems.is_empty() { "" } else { "  (has mistakes)" };
            context.out.row(format!("{}{broken}", visible(&item.name)))?;
        }
        Ok(())
    }
}

/// Run a tool on a thread at once, and print its result
#[derive(Debug, Args)]
pub(crate) struct Invoke {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The name of the tool
    tool: String,
    /// Its arguments, as a JSON object; - reads stdin
    #[arg(default_value = "{}")]
    args: String,
}

impl Invoke {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        let args = object(&self.args)?;
        let thread = context.thread(&self.thread).await?;
        let told = context.client.invoke_tool(thread.id, &self.tool, &InvokeTool { args }).await?;
        let failed = told.status == ToolStatus::Error;
        if context.json {
            context.out.json(&told)?;
        } else if failed {
            note(&format!("error: {}", visible(told.error.as_deref().unwrap_or("the tool failed"))));
        } else {
            match &told.result {
                Some(Value::String(text)) => context.out.line(visible(text))?,
                Some(result) => context.out.json(result)?,
                None => {}
            }
            told.attachments.iter().for_each(|file| note(&format!("file: {}", visible(&file.path))));
        }
        Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
    }
}

/// Queue a tool for the run of a thread
#[derive(Debug, Args)]
pub(crate) struct Queue {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The name of the tool, or of an agent to hand off to
    tool: String,
    /// Its arguments, as a JSON object; - reads stdin
    #[arg(default_value = "{}")]
    args: String,
    #[command(flatten)]
    conditions: Conditions,
}

impl Queue {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let args = Json::parse("args", &Value::Object(object(&self.args)?).to_string())?;
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let queued = context.client.call(thread.id, QueueTool { tool: self.tool, args: Some(args) }).await?;
        context.say_or_show(&queued, queued.id.to_string())
    }
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    let text = if text == "-" { or_stdin("-")? } else { text.to_owned() };
    let read = serde_json::from_str::<Value>(&text);
    match read {
        Ok(Value::Object(args)) => Ok(args),
        Ok(_) => Err(Invalid::parameter("args", "is no JSON object").into()),
        Err(error) => Err(Invalid::parameter("args", format!("is no JSON: {error}")).into()),
    }
}
