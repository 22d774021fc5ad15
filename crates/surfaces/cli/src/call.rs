//! `call`: any call of the list by its name, with its fields as JSON.

use clap::Args;
use threadkeep::{Invalid, Json, ThreadName};
use threadkeep_calls::{At, DECLARATIONS, Declaration};

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::input::or_stdin;
use crate::suggest::near;

/// Calls that hold a secret: their fields come by stdin alone.
const BY_STDIN: [&str; 3] = ["set-env", "set-account-env", "supply-variables"];

const EXAMPLES: &str = "\
Examples:
  threadkeep call decide 4e36 '{\"question\":\"Which store?\",\"answer\":\"SQLite\"}'
  threadkeep call list '{\"limit\":5}'
  threadkeep call approve '{\"approval\":\"5928a90d-…\"}' --idempotency-key once";

/// Carry out any call of the HTTP API by its name, and print its answer as JSON
#[derive(Debug, Args)]
#[command(after_help = help())]
pub(crate) struct Call {
    /// The name of the call, such as decide or createThread
    #[arg(value_parser = declared)]
    name: Declaration,
    /// The thread, if the call names one: its id, its short id, or the beginning of either
    #[arg(value_name = "THREAD")]
    thread: Option<String>,
    /// All its fields, as a JSON object; - reads stdin
    #[arg(value_name = "JSON")]
    fields: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

fn help() -> String {
    let names: Vec<&str> = DECLARATIONS.iter().map(|declaration| declaration.name).collect();
    format!("{EXAMPLES}\n\nCalls: {}", names.join(", "))
}

/// The call with this name, or with the name that the OpenAPI document has for it.
fn declared(name: &str) -> Result<Declaration, Invalid> {
    let is_named = |declaration: &&Declaration| declaration.name == name || declaration.id == name;
    let found = DECLARATIONS.iter().find(is_named).copied();
    found.ok_or_else(|| {
        let near = near(name, DECLARATIONS.iter().map(|declaration| declaration.name).collect());
        let meant = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Invalid::parameter("name", format!("there is no call '{name}'{meant}"))
    })
}

impl Call {
    /// Whether it may begin a new store.
    pub(crate) fn may_begin(&self) -> bool {
        ["add-memory", "create", "create-key", "create-project", "set-account-env"].contains(&self.name.name)
    }

    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { name: declaration, thread, fields, conditions } = self;
        let (thread, fields) = match (declaration.names_thread(), thread, fields) {
            (true, Some(thread), fields) if !thread.starts_with('{') => (Some(thread), fields),
            (true, _, _) => return Err(Invalid::parameter("thread", "is missing: it goes before the JSON").into()),
            (false, fields, None) => (None, fields),
            (false, Some(_), Some(_)) => return Err(Invalid::parameter("thread", "this call takes JSON only").into()),
            (false, None, fields) => (None, fields),
        };
        let by_argument = fields.as_deref().is_some_and(|fields| fields != "-");
        if by_argument && BY_STDIN.contains(&declaration.name) {
            let rule = "holds a value that arguments would show to other users; give - and the JSON by stdin";
            return Err(Invalid::parameter("fields", rule).into());
        }
        let fields = Json::parse("body", &or_stdin(fields.as_deref().unwrap_or("{}"))?)?;
        let mut at = conditions.at(At::none());
        at.thread = match thread {
            // One that is not there is the call's to judge.
            Some(text) => Some(match text.parse::<ThreadName>() {
                Ok(name) => name,
                Err(_) => context.thread(&text).await?.id.into(),
            }),
            None => None,
        };
        let answer = context.client.call_json(&declaration, at, &fields).await?;
        context.out.json(&answer)
    }
}
