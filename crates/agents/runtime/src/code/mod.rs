//! Code of definitions: loaded in workers, one process for each call.
//!
//! [`bundle`] gathers the modules that a definition imports, [`host`] is what its code reaches, and this file starts it and
//! reads its outcome.

mod bundle;
mod effect;
mod files;
mod held;
mod host;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use threadkeep_engine::WayOut;
use threadkeep_model::RunSide;
use threadkeep_sandbox::{Code, Execute, Failure, Given, Language, Origin, Outcome, Sandbox, Status, Value};
use tokio::sync::Semaphore;

use bundle::{Bundle, OWN};
pub(crate) use host::Host;

use crate::attempt::{Attempt, Cancel, Declared, cancelled};
use crate::definitions::{Definition, Definitions, Described, Kind, Name, Problem, Problems, position_of, problem_in};
use crate::hooks::moment_in;
use crate::{Runtime, RuntimeError};

/// Time to load a module and say what it is.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(10);
/// The module of the host's functions.
const HOST: &str = "threadkeep/host";

/// How code ended.
pub(crate) enum Ended {
    /// It returned.
    Returned(Returned),
    /// It threw, was killed, or did not start.
    Failed(Failure),
}

/// What the code of a definition returned.
pub(crate) struct Returned {
    /// The value itself.
    pub(crate) result: Value,
    /// The scratch of the run, as the code left it.
    pub(crate) context: Map<String, Json>,
    /// Whether the run is to stop.
    pub(crate) stop: bool,
    /// The side whose turn it is next.
    pub(crate) force_turn: Option<RunSide>,
}

/// Gives a sandbox the modules of the program itself, which its workers compile before they get code.
pub(crate) fn prepare(sandbox: &Sandbox) {
    let library = OWN.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned())).collect();
    sandbox.prepare(library, BTreeMap::from([(HOST.to_owned(), host::names())]));
}

/// Definitions that are read at the same time.
static DESCRIBING: Semaphore = Semaphore::const_new(4);

/// The word for a kind in the driver.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Effect => "effect",
        Kind::Hook => "hook",
        Kind::Endpoint => "endpoint",
        Kind::Tool | Kind::Agent | Kind::Prompt | Kind::Model | Kind::Mcp | Kind::Skill | Kind::Vendor => "tool",
    }
}

impl Runtime {
    /// What the code of a definition says of itself. It is loaded once for a set of definitions.
    ///
    /// # Errors
    /// If it is missing or broken, or no worker runs code now.
    pub(crate) async fn described(
        &self,
        definitions: &Definitions,
        name: &Name,
    ) -> Result<Map<String, Json>, RuntimeError> {
        if let Some(known) = definitions.described(name) {
            return told(name, &known);
        }
        let code = self.code(definitions, name, "describe", Vec::new());
        // It takes no place among the runs: tools that wait would keep others from being read.
        let code = Code { timeout: DESCRIBE_TIMEOUT, nested: true, ..code };
        // The semaphore is never closed.
        let _turn = DESCRIBING.acquire().await;
        if let Some(known) = definitions.described(name) {
            return told(name, &known);
        }
        let outcome = self.sandbox().start(code)?.await?;
        let described: Described = Arc::new(match (outcome.status, outcome.result.to_json()) {
            (Status::Success, Json::Object(said)) => Ok(said),
            (Status::Success, _) => Err(problem_in(definitions, name, &Failure::default(), "the module says nothing")),
            _ => {
                let failure = outcome.error.unwrap_or_default();
                let what = format!("{}: {}", failure.name, failure.message);
                let what = if failure.name == "DefinitionError" { failure.message.as_str() } else { what.as_str() };
                Err(problem_in(definitions, name, &failure, what))
            }
        });
        // A machine that is busy may be the reason for a late worker, so it is not kept against the definition.
        if outcome.status != Status::Terminated {
            definitions.keep_described(name, &described);
        }
        told(name, &described)
    }

    /// All problems of the present definitions. Code is loaded to find its own.
    ///
    /// # Errors
    /// If no worker runs code now.
    pub async fn problems(&self) -> Result<Vec<Problem>, RuntimeError> {
        let definitions = self.definitions();
        let mut problems: Vec<Problem> = definitions.problems().cloned().collect();
        for (name, _) in definitions.sources() {
            let is_code = definitions.definition(name).is_some_and(|definition| is_code(name, definition));
            if !is_code || definitions.is_brought(name) {
                continue;
            }
            let declared = match self.described(&definitions, name).await {
                Ok(said) if name.kind == Kind::Hook => {
                    moment_in(name, &said).and_then(|_| Declared::of_code(said)).map(drop)
                }
                Ok(said) => Declared::of_code(said).map(drop),
                Err(RuntimeError::Definition(Problems::Invalid { problems: found, .. })) => {
                    problems.extend(found);
                    Ok(())
                }
                Err(error) => return Err(error),
            };
            if let Err((field, what)) = declared {
                let (file, line, column) = position_of(&definitions, name, &field);
                problems.push(Problem { file, line, column, what });
            }
        }
        Ok(problems)
    }

    /// The code that runs `function` of the driver on the module of a definition.
    fn code(&self, definitions: &Definitions, name: &Name, function: &str, args: Vec<Value>) -> Code {
        let Bundle { path, modules, library } = Bundle::of(definitions, name);
        let source = format!(
            "import * as module from {path};\nimport {{ {function} }} from \"threadkeep/driver\";\n\
             export default (...args) => {function}(module, ...args);\n",
            path = json!(path)
        );
        let mut all = vec![Value::from(word(name.kind))];
        all.extend(args);
        let mut code = Code::new(source);
        code.language = Language::JavaScript;
        code.filename = Some("threadkeep.js".to_owned());
        code.execute = Some(Execute { function: "default".to_owned(), args: all });
        code.modules = modules;
        code.library = library;
        code.origin = Origin::Definition;
        // Without a host, the names are there, and every call is refused.
        code.imports.insert(HOST.to_owned(), host::refusing());
        code
    }

    /// Runs the function of a definition: `task` is what the driver gets, and `host` what its code reaches.
    ///
    /// # Errors
    /// If no worker runs code now, or the secrets of the thread cannot be read.
    pub(crate) async fn execute(
        &self,
        (on, name): (&Attempt, &Name),
        task: Vec<(String, Value)>,
        host: &Arc<Host>,
        (timeout, cancel): (Duration, &Cancel),
    ) -> Result<Ended, RuntimeError> {
        let mut code = self.code(&on.definitions, name, "execute", vec![Value::Object(task)]);
        (code.timeout, code.nested) = (timeout, host.depth() > 0);
        code.imports = BTreeMap::from([(HOST.to_owned(), host.functions())]);
        let mut execution = self.sandbox().start(code)?;
        let outcome = tokio::select! {
            outcome = &mut execution => outcome?,
            () = cancelled(cancel) => return Ok(Ended::Failed(Failure {
                name: "cancelled".to_owned(), message: "the call was cancelled".to_owned(), ..Failure::default()
            })),
        };
        drop(execution);
        self.ended(on, outcome).await
    }

    /// The outcome without secrets.
    ///
    /// Invariant: every text that leaves code of definitions passes its redactor: results, errors, logs.
    async fn ended(&self, on: &Attempt, outcome: Outcome) -> Result<Ended, RuntimeError> {
        let redactor = on.who.redactor(WayOut::Tool, Some(on.thread)).await?;
        let Outcome { status, mut result, logs, error, .. } = outcome;
        for log in logs {
            tracing::debug!(thread = %on.thread, level = %log.level, message = %redactor.text(&log.message), "code");
        }
        if status != Status::Success {
            let Failure { name, message, stack, line, column, filename } = error.unwrap_or_default();
            let text = |text: String| redactor.text(&text).into_owned();
            let stack = stack.map(text);
            return Ok(Ended::Failed(Failure {
                name: text(name),
                message: text(message),
                stack,
                line,
                column,
                filename,
            }));
        }
        redact(&redactor, &mut result);
        let Value::Object(fields) = result else { return Ok(Ended::Failed(Failure::default())) };
        let mut fields: BTreeMap<String, Value> = fields.into_iter().collect();
        let context = match fields.remove("context").unwrap_or_default().to_json() {
            Json::Object(context) => context,
            _ => Map::new(),
        };
        Ok(Ended::Returned(Returned {
            result: fields.remove("result").unwrap_or_default(),
            context,
            stop: fields.remove("stop") == Some(Value::Bool(true)),
            force_turn: fields.remove("forceTurn").and_then(|side| side.as_str()?.parse().ok()),
        }))
    }
}

/// What failed, in one line for the model.
pub(crate) fn said(failure: &Failure) -> String {
    let place = match (&failure.filename, failure.line, failure.column) {
        (Some(file), Some(line), Some(column)) => format!(" ({file}:{line}:{column})"),
        _ => String::new(),
    };
    match failure.name.as_str() {
        "" => format!("{}{place}", failure.message),
        "Error" | "cancelled" => format!("{}{place}", failure.message),
        "ArgumentError" => format!("the arguments are wrong: {}", failure.message),
        name => format!("{name}: {}{place}", failure.message),
    }
}

/// Takes secrets out of every text of a value. Bytes stay as they are: files are checked where they are written.
fn redact(redactor: &threadkeep_engine::Redactor, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(redacted) = redactor.text(text) {
                *text = redacted;
            }
        }
        Value::Array(items) | Value::Set(items) => items.iter_mut().for_each(|item| redact(redactor, item)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if let std::borrow::Cow::Owned(redacted) = redactor.text(name) {
                    *name = redacted;
                }
                redact(redactor, field);
            }
        }
        Value::Map(pairs) => pairs.iter_mut().for_each(|(key, field)| {
            redact(redactor, key);
            redact(redactor, field);
        }),
        Value::Undefined
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::BigInt(_)
        | Value::Date(_)
        | Value::Buffer(_)
        | Value::Typed(..)
        | Value::Function(_) => {}
    }
}

fn told(name: &Name, described: &Result<Map<String, Json>, Problem>) -> Result<Map<String, Json>, RuntimeError> {
    described.clone().map_err(|problem| {
        Problems::Invalid { name: name.text(), kind: name.kind.word(), problems: vec![problem] }.into()
    })
}

/// Whether a definition is code.
pub(crate) fn is_code(name: &Name, definition: &Definition) -> bool {
    match definition {
        Definition::Text(_) => matches!(name.kind, Kind::Tool | Kind::Effect | Kind::Hook | Kind::Endpoint),
        Definition::Agent(_)
        | Definition::Prompt(_)
        | Definition::Model(_)
        | Definition::Mcp(_)
        | Definition::HttpTool(_) => false,
    }
}

/// A module of values for code.
pub(crate) type Module = BTreeMap<String, Given>;
