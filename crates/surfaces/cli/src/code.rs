//! `code run`: JavaScript or TypeScript in a process that reaches nothing but what it is granted.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use threadkeep::sandbox::{self, Sandbox};
use threadkeep::{Invalid, code};
use threadkeep_calls::{CodeError, CodeOutcome, CodeStatus, ErrorCode, ExecuteCode, Problem, RunCode, Status};

use crate::context::Context;
use crate::duration::duration;
use crate::failure::{Failure, note};
use crate::input::or_stdin;
use crate::out::Out;
use crate::settings::size;
use crate::text::visible;

/// The exit code of code that failed.
const FAILED: u8 = 1;

/// Run a JavaScript or TypeScript module in a process that reaches nothing but what it is granted
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep code run task.ts
  threadkeep code run sum.js --function add --arg 1 --arg 2
  threadkeep code run note.ts --thread 4e36 --grant append --grant messages
  echo 'export default () => 6 * 7' | threadkeep code run -

The default export is called; its result is printed as JSON on stdout, the console on stderr. A grant names a call, which
the code imports: import { append, messages } from \"threadkeep\". The grants read and write are all calls about the
thread. Without a grant the code reaches nothing of it.")]
pub(crate) struct Run {
    /// The module to run, such as task.ts; - reads stdin
    file: String,
    /// The thread that granted calls are about: its id, the beginning of it, its title, or @last
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// A name by which threadkeep code terminate ends it
    #[arg(long, value_name = "RUN", requires = "thread")]
    id: Option<String>,
    /// A call that the code may make, such as append; read and write are all calls about the thread; repeat for more
    #[arg(long = "grant", value_name = "CALL")]
    grants: Vec<String>,
    /// The exported function to call [default: the default export]
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// An argument of the function, as JSON; repeat for more
    #[arg(long = "arg", value_name = "JSON")]
    args: Vec<String>,
    /// Memory of the code [default: 64MiB]
    #[arg(long = "memory", value_name = "SIZE", value_parser = size)]
    memory_limit_bytes: Option<usize>,
    /// Time until it is killed [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
}

impl Run {
    /// Whether it needs neither a store nor a server.
    pub(crate) fn is_alone(&self) -> bool {
        self.thread.is_none()
    }

    fn request(&self) -> Result<RunCode, Failure> {
        let source = if self.file == "-" {
            or_stdin("-")?
        } else {
            std::fs::read_to_string(&self.file).map_err(|error| crate::failure::cannot_read(&self.file, &error))?
        };
        let name = self.file.rsplit('/').next().filter(|name| *name != "-").map(str::to_owned);
        let read = |text: &String| {
            serde_json::from_str(text)
                .map_err(|error| Invalid::parameter("arg", format!("'{text}' is no JSON: {error}")))
        };
        let args: Vec<Value> = self.args.iter().map(read).collect::<Result<_, _>>()?;
        let execute = (self.function.is_some() || !args.is_empty())
            .then(|| ExecuteCode { function: self.function.clone().unwrap_or_else(|| "default".to_owned()), args });
        Ok(RunCode {
            id: self.id.clone(),
            source,
            filename: name,
            execute,
            grants: self.grants.clone(),
            memory_limit_bytes: self.memory_limit_bytes.map(|bytes| bytes as u64),
            timeout_ms: self.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            ..RunCode::default()
        })
    }

    /// Runs it without any thread.
    pub(crate) fn run_alone(&self, settings: sandbox::Settings, json: bool, out: &mut Out) -> Result<(), Failure> {
        let request = RunCode { stream: true, ..self.request()? };
        let mut execution = code::start_alone(&Sandbox::new(settings), request)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|error| Problem::new(Status::Internal, ErrorCode::Internal, format!("cannot start: {error}")))?;
        let outcome = runtime.block_on(async {
            while let Some((name, data)) = execution.event().await? {
                if !json {
                    told(name, &data);
                }
            }
            execution.outcome().await
        })?;
        show(&outcome, json, out)?;
        if outcome.status == CodeStatus::Success { Ok(()) } else { Err(Failure::Told(FAILED)) }
    }

    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        let request = self.request()?;
        let thread = context.thread(self.thread.as_deref().unwrap_or_default()).await?;
        let outcome = context.client.run_code(thread.id, &request).await?;
        if !context.json {
            for log in &outcome.logs {
                told("log", &serde_json::json!(log));
            }
            for report in &outcome.reports {
                told("report", report);
            }
        }
        show(&outcome, context.json, &mut context.out)?;
        let failed = outcome.status != CodeStatus::Success;
        Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
    }
}

/// End a run of code that was started with an id
#[derive(Debug, Args)]
pub(crate) struct Terminate {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The id of the run
    run: String,
}

impl Terminate {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let told = context.client.terminate_code(thread.id, &self.run).await?;
        let said = if told.terminated { "The run was terminated." } else { "There was no such run." };
        context.say_or_show(&told, said)
    }
}

/// Tells people what the code says while it runs.
fn told(name: &str, data: &Value) {
    match (data["level"].as_str(), data["message"].as_str()) {
        (Some("log" | "info"), Some(message)) => note(&visible(message)),
        (Some(level), Some(message)) => note(&format!("{level}: {}", visible(message))),
        _ => note(&format!("{name}: {data}")),
    }
}

/// Prints the result, or says on stderr why there is none.
fn show(outcome: &CodeOutcome, json: bool, out: &mut Out) -> Result<(), Failure> {
    if json {
        return out.json(outcome);
    }
    if let Some(CodeError { name, message, stack, .. }) = &outcome.error {
        note(&format!("error: {}: {}", visible(name), visible(message)));
        for line in stack.iter().flat_map(|stack| stack.lines()) {
            note(&visible(line));
        }
        return Ok(());
    }
    match &outcome.result {
        Some(result) => out.json(result),
        None => Ok(()),
    }
}
