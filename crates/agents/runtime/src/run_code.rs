//! Code on a thread: JavaScript or TypeScript in a worker process, with the calls that its caller grants it.
//!
//! ```no_run
//! use threadkeep_calls::RunCode;
//! use threadkeep_runtime::run_code;
//! use threadkeep_sandbox::Sandbox;
//!
//! # use threadkeep_calls::Problem;
//! # async fn example(keep: threadkeep_engine::Engine, thread: threadkeep_model::ThreadId) -> Result<(), Problem> {
//! // First in `main`: threadkeep::worker_if_asked();
//! let source = "import { append } from 'threadkeep';
//!     export default async () => (await append({ role: 'user', content: 'from code' })).version;";
//! let request = RunCode { source: source.into(), grants: vec!["append".into()], ..RunCode::default() };
//! let run = run_code::start(&Sandbox::default(), &keep, thread, request).await?;
//! let outcome = run.outcome().await?;
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;
use threadkeep_calls::{
    Asked, At, Call, CodeError, CodeLanguage, CodeLog, CodeOutcome, CodeStatus, ErrorCode, Needs, Problem, RunCode,
};
use threadkeep_engine::{CARRIERS, Carrier, Engine, Error, Redactor, WayOut};
use threadkeep_model::{Capability, Invalid, ThreadId};
use threadkeep_sandbox::{
    Code, Event, Execute, Execution, Failure, Given, HostError, HostFunction, Language, Log, Outcome, Sandbox, Status,
    Terminator, Unavailable, Value, host_function,
};

/// The module by which code reaches its thread.
const MODULE: &str = "threadkeep";

/// Starts code on a thread, for the caller of `engine`, who needs the authority `execute_command`.
///
/// Code reaches nothing of the thread unless `request.grants` names it. Its calls are made on this thread, with the account,
/// actor and authority of the caller.
///
/// # Errors
/// As a problem: an option that breaks a rule, [`thread_not_found`](ErrorCode::ThreadNotFound),
/// [`approval_required`](ErrorCode::ApprovalRequired), [`sandbox_unavailable`](ErrorCode::SandboxUnavailable),
/// [`sandbox_busy`](ErrorCode::SandboxBusy).
pub async fn start(sandbox: &Sandbox, engine: &Engine, thread: ThreadId, request: RunCode) -> Result<Running, Problem> {
    let thread = engine.thread(thread).await?.id;
    engine.authorize(thread, Capability::ExecuteCommand).await?;
    let engine = engine.for_code();
    let mut imports = BTreeMap::new();
    for carrier in granted(&request.grants)? {
        let function = Given::Function(function(engine.clone(), thread, carrier));
        for name in names(carrier) {
            imports.insert(name, function.clone());
        }
    }
    let execution = run(sandbox, request, imports)?;
    Ok(Running { execution, sandbox: sandbox.clone(), came: None, on: Some((engine, thread)) })
}

/// Starts code that reaches no thread.
///
/// # Errors
/// As [`start`]; grants are refused.
pub fn start_alone(sandbox: &Sandbox, request: RunCode) -> Result<Running, Problem> {
    if !request.grants.is_empty() {
        return Err(Invalid::body("grants", "there is no thread to which calls could be granted").into());
    }
    let execution = run(sandbox, request, BTreeMap::new())?;
    Ok(Running { execution, sandbox: sandbox.clone(), came: None, on: None })
}

/// A run of code. Dropped, it is killed.
///
/// Invariant: every text that leaves code passes its redactor: results, reports, logs, errors.
pub struct Running {
    execution: Execution,
    sandbox: Sandbox,
    /// An event that came, and was not told yet.
    came: Option<Event>,
    /// The thread whose secrets are kept out of what the code says.
    on: Option<(Engine, ThreadId)>,
}

impl Running {
    /// A handle that ends the run, also from elsewhere.
    pub fn terminator(&self) -> Terminator {
        self.execution.terminator()
    }

    /// The next line of the console or report, as its name and its JSON; none once the run has ended, and
    /// none at all unless the request asks for a stream. A future that is dropped loses nothing.
    ///
    /// # Errors
    /// If the secrets of the thread cannot be read.
    pub async fn event(&mut self) -> Result<Option<(&'static str, Json)>, Problem> {
        if self.came.is_none() {
            self.came = self.execution.event().await;
        }
        let redactor = self.redactor().await?;
        let Some(event) = self.came.take() else { return Ok(None) };
        let (name, mut data) = match event {
            Event::Log(Log { level, message }) => ("log", serde_json::json!({ "level": level, "message": message })),
            Event::Report(value) => ("report", value.to_json()),
        };
        if let Some(redactor) = redactor {
            redactor.value(&mut data);
        }
        Ok(Some((name, data)))
    }

    /// The outcome.
    ///
    /// # Errors
    /// If no worker starts, or the secrets of the thread cannot be read.
    pub async fn outcome(self) -> Result<CodeOutcome, Problem> {
        self.outcome_as(|outcome| outcome).await
    }

    /// The outcome in the form that `write` gives it. A large one takes a while, and the threads that answer others do
    /// not wait for it.
    ///
    /// # Errors
    /// If no worker starts, or the secrets of the thread cannot be read.
    pub async fn outcome_as<T, W>(mut self, write: W) -> Result<T, Problem>
    where
        T: Send + 'static,
        W: FnOnce(CodeOutcome) -> T + Send + 'static,
    {
        let outcome = (&mut self.execution).await.map_err(|refused| unavailable(&refused))?;
        let redactor = self.redactor().await?;
        let written = self.sandbox.aside(move || {
            let mut told = told(outcome);
            if let Some(redactor) = redactor {
                redact(&mut told, &redactor);
            }
            write(told)
        });
        written.await.map_err(|failed| unavailable(&failed))
    }

    /// The redactor of what the code says, as the secrets are now.
    async fn redactor(&self) -> Result<Option<Redactor>, Problem> {
        match &self.on {
            Some((engine, thread)) => {
                let redactor = engine.redactor(WayOut::Code, Some(*thread)).await?;
                Ok(Some(redactor).filter(|redactor| !redactor.is_empty()))
            }
            None => Ok(None),
        }
    }
}

fn redact(told: &mut CodeOutcome, redactor: &Redactor) {
    let text = |text: &mut String| *text = redactor.text(text).into_owned();
    told.result.iter_mut().chain(&mut told.reports).for_each(|value| redactor.value(value));
    for log in &mut told.logs {
        text(&mut log.level);
        text(&mut log.message);
    }
    if let Some(CodeError { name, message, stack, filename, line: _, column: _ }) = &mut told.error {
        [name, message].into_iter().chain(stack).chain(filename).for_each(text);
    }
}

fn run(sandbox: &Sandbox, request: RunCode, granted: BTreeMap<String, Given>) -> Result<Execution, Problem> {
    let is_followed = request.stream;
    let execution = sandbox.start(code(request, granted)?).map_err(|refused| unavailable(&refused))?;
    Ok(if is_followed { execution } else { execution.quiet() })
}

/// The problem of a sandbox that runs no code.
fn unavailable(refused: &Unavailable) -> Problem {
    let code = match refused {
        Unavailable::Full => ErrorCode::SandboxBusy,
        Unavailable::NotAsked | Unavailable::Weak(_) | Unavailable::Failed(_) => ErrorCode::SandboxUnavailable,
    };
    Problem::new(code.status(), code, refused.to_string())
}

/// The code of a request.
fn code(request: RunCode, granted: BTreeMap<String, Given>) -> Result<Code, Invalid> {
    let given = |values: BTreeMap<String, Json>| -> BTreeMap<String, Given> {
        values.into_iter().map(|(name, value)| (name, Given::Value(Value::from_json(&value)))).collect()
    };
    let mut code = Code::new(request.source);
    code.language = match (request.language, request.filename.as_deref()) {
        (Some(CodeLanguage::JavaScript), _) => Language::JavaScript,
        (None, Some(name)) if name.ends_with(".js") || name.ends_with(".mjs") => Language::JavaScript,
        (Some(CodeLanguage::TypeScript) | None, _) => Language::TypeScript,
    };
    if request.filename.as_deref().is_some_and(|name| name.is_empty() || name.contains('\0')) {
        return Err(Invalid::body("filename", "is empty or has null bytes"));
    }
    code.filename = request.filename;
    code.execute = request.execute.map(|execute| Execute {
        function: execute.function,
        args: execute.args.iter().map(Value::from_json).collect(),
    });
    code.modules = request.modules;
    code.globals = given(request.globals);
    code.imports = request.imports.into_iter().map(|(name, exports)| (name, given(exports))).collect();
    if !granted.is_empty() && code.imports.insert(MODULE.to_owned(), granted).is_some() {
        return Err(Invalid::body("imports", "the import 'threadkeep' is made from the grants"));
    }
    if let Some(bytes) = request.memory_limit_bytes {
        code.memory_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if !threadkeep_sandbox::limits::MEMORY_BYTES_RANGE.contains(&code.memory_bytes) {
            return Err(Invalid::body("memoryLimitBytes", "is not between 1 MiB and 1 GiB"));
        }
    }
    if let Some(ms) = request.timeout_ms {
        code.timeout = Duration::from_millis(ms);
        if ms == 0 || code.timeout > threadkeep_sandbox::limits::TIMEOUT_MAX {
            return Err(Invalid::body("timeoutMs", "is not between 1 and 600,000"));
        }
    }
    Ok(code)
}

/// The calls that grants name: `read` and `write` are all calls about the thread, a name is that one call. Calls about
/// variables, and those that need an admin key, are never granted.
fn granted(grants: &[String]) -> Result<Vec<&'static Carrier>, Invalid> {
    let covers = |grant: &str, carrier: &Carrier| {
        let declaration = carrier.declaration;
        // Code of a request never gets variables, whatever it is granted.
        if declaration.group == <threadkeep_calls::SetEnv as Call>::DECLARATION.group {
            return false;
        }
        let about_thread = match declaration.needs {
            Needs::Public | Needs::Read => matches!(grant, "read" | "write"),
            Needs::Write => grant == "write",
            Needs::Admin => return false,
        };
        (about_thread && declaration.names_thread())
            || grant == declaration.name
            || names(carrier).iter().any(|name| name == grant)
    };
    if let Some(grant) = grants.iter().find(|grant| !CARRIERS.iter().any(|carrier| covers(grant, carrier))) {
        return Err(Invalid::body("grants", format!("there is no call '{grant}' that code could be granted")));
    }
    Ok(CARRIERS.iter().filter(|carrier| grants.iter().any(|grant| covers(grant, carrier))).collect())
}

/// The names of a call in code: that of the call and that of its operation, such as `messages` and `listMessages`.
fn names(carrier: &Carrier) -> [String; 2] {
    [camel_case(carrier.declaration.name), carrier.declaration.id.to_owned()]
}

/// A name with dashes as JavaScript writes it: `modelMessages` for `model-messages`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let mut letters = word.chars();
        let begin = letters.next().map(|letter| letter.to_ascii_uppercase());
        all + &begin.into_iter().chain(letters).collect::<String>()
    })
}

/// The function of a call: `(fields, { expectedVersion, writer, idempotencyKey })`.
fn function(engine: Engine, thread: ThreadId, carrier: &'static Carrier) -> HostFunction {
    host_function(move |args| {
        let engine = engine.clone();
        async move {
            let shown = carried(&engine, thread, carrier, &args).await.map_err(|error| {
                let problem = Problem::from(error);
                HostError { name: problem.code.to_string(), message: problem.detail.to_string() }
            })?;
            Ok(Value::from_json(&shown))
        }
    })
}

/// Makes a call that code asks for: its fields, then its conditions.
pub(crate) async fn carried(
    engine: &Engine,
    thread: ThreadId,
    carrier: &'static Carrier,
    args: &[Value],
) -> Result<Json, Error> {
    let (at, asked) = asked(thread, carrier, args)?;
    let shown = (carrier.run)(engine.clone(), at, asked).await?;
    serde_json::from_slice(&shown.json).map_err(|error| Invalid::body("answer", error.to_string()).into())
}

/// Whether this is a name of the call.
pub(crate) fn named(carrier: &Carrier, name: &str) -> bool {
    carrier.declaration.name == name || names(carrier).iter().any(|known| known == name)
}

/// The request that the arguments of code make.
fn asked(thread: ThreadId, carrier: &Carrier, args: &[Value]) -> Result<(At, Asked), Invalid> {
    let object = |index: usize, what: &str| match args.get(index) {
        None | Some(Value::Undefined) => Ok(serde_json::Map::new()),
        Some(value @ Value::Object(_)) => match value.to_json() {
            Json::Object(fields) => Ok(fields),
            _ => Err(Invalid::parameter(what, "is not an object")),
        },
        Some(_) => Err(Invalid::parameter(what, "is not an object")),
    };
    let mut at = if carrier.declaration.names_thread() { At::of(thread) } else { At::none() };
    for (name, value) in object(1, "conditions")? {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match name.as_str() {
            "expectedVersion" => at.expected = Some(text.parse()?),
            "writer" => at.lease = Some(text.parse()?),
            "idempotencyKey" => at.key = Some(threadkeep_model::IdempotencyKey::new(&text)?),
            other => return Err(Invalid::parameter(other, "is none of: expectedVersion, writer, idempotencyKey")),
        }
    }
    Ok((at, Asked::flat(carrier.declaration, object(0, "fields")?)?))
}

/// The outcome of a request with an option that does not exist; none if it has none.
pub fn unknown_option(request: &RunCode) -> Option<CodeOutcome> {
    let name = request.unknown.keys().next()?;
    Some(told(Outcome::link_error("LinkError", format!("there is no option '{name}'"))))
}

/// An outcome for the wire.
fn told(outcome: Outcome) -> CodeOutcome {
    let Outcome { status, result, reports, logs, duration, error } = outcome;
    CodeOutcome {
        status: match status {
            Status::Success => CodeStatus::Success,
            Status::Error => CodeStatus::Error,
            Status::LinkError => CodeStatus::LinkError,
            Status::Memory => CodeStatus::Memory,
            Status::Terminated => CodeStatus::Terminated,
        },
        result: (result != Value::Undefined).then(|| result.to_json()),
        reports: reports.iter().map(|value| value.to_json()).collect(),
        logs: logs.into_iter().map(|Log { level, message }| CodeLog { level, message }).collect(),
        duration_ms: (duration.as_secs_f64() * 1e6).round() / 1e3,
        error: error.map(|error| {
            let Failure { name, message, stack, line, column, filename } = error;
            CodeError { name, message, stack, line, column, filename }
        }),
    }
}
