//! Code on a thread, by ThreadState.

use std::future::IntoFuture;
use std::time::Duration;

use threadkeep_calls::{CodeError, CodeOutcome, CodeStatus, Problem, RunCode};
use threadkeep_store::BoxFuture;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::ThreadState;
use crate::run_code;

/// Code that runs. Awaited, it gives its outcome, also where it failed. Dropped, it ends.
pub struct CodeExecution {
    task: JoinHandle<CodeOutcome>,
    end: Option<oneshot::Sender<String>>,
    running: watch::Receiver<bool>,
}

impl ThreadState {
    /// Runs JavaScript or TypeScript in a worker process, which reaches nothing but what `options.grants` names. It starts
    /// at once, on the tokio runtime of the caller.
    pub fn run_code(&self, source: &str, options: RunCode) -> CodeExecution {
        let request = RunCode { source: source.to_owned(), ..options };
        let (sandbox, engine, thread) = (self.runtime.sandbox().clone(), self.engine().clone(), self.id());
        let (end, mut ended) = oneshot::channel::<String>();
        let (tell, running) = watch::channel(true);
        let task = tokio::spawn(async move {
            let work = async {
                if let Some(outcome) = run_code::unknown_option(&request) {
                    return Ok(outcome);
                }
                let run = run_code::start(&sandbox, &engine, thread, request).await?;
                let terminator = run.terminator();
                let outcome = run.outcome();
                tokio::pin!(outcome);
                tokio::select! {
                    outcome = &mut outcome => outcome,
                    Ok(reason) = &mut ended => {
                        terminator.terminate(reason);
                        outcome.await
                    }
                }
            };
            let outcome = work.await.unwrap_or_else(refused);
            tell.send_replace(false);
            outcome
        });
        CodeExecution { task, end: Some(end), running }
    }
}

/// The outcome of code that did not begin.
fn refused(problem: Problem) -> CodeOutcome {
    let (name, message) = (problem.code.to_string(), problem.detail.to_string());
    let error = CodeError { name, message, stack: None, line: None, column: None, filename: None };
    let (reports, logs, duration_ms) = (Vec::new(), Vec::new(), Duration::ZERO.as_secs_f64());
    CodeOutcome { status: CodeStatus::Error, result: None, reports, logs, duration_ms, error: Some(error) }
}

impl CodeExecution {
    /// Whether it still runs.
    pub fn running(&self) -> bool {
        *self.running.borrow()
    }

    /// Ends it. Its outcome says `terminated`. Code that ended stays as it is.
    pub fn terminate(&mut self, reason: &str) {
        if let Some(end) = self.end.take() {
            // Nobody listens once it has ended.
            drop(end.send(reason.to_owned()));
        }
    }
}

impl IntoFuture for CodeExecution {
    type Output = CodeOutcome;
    type IntoFuture = BoxFuture<'static, CodeOutcome>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            match (&mut self.task).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    let status = threadkeep_calls::ErrorCode::Internal.status();
                    refused(Problem::new(status, threadkeep_calls::ErrorCode::Internal, error.to_string()))
                }
            }
        })
    }
}

impl Drop for CodeExecution {
    fn drop(&mut self) {
        self.task.abort();
    }
}
