//! `ask`: says something to the agent of a thread, waits for it, and prints its answer.

use std::process::ExitCode;

use clap::Args;
use threadkeep::{DEFAULT_AGENT, Invalid, MessageBody, Uuid};
use threadkeep_calls::{self as calls, At, DefinitionKind, ErrorCode, Problem, RunEvent, Status, StreamStatus};

use crate::context::Context;
use crate::exclusive::unless_interrupted;
use crate::failure::Failure;
use crate::input::or_stdin;
use crate::text::visible;

/// The exit code if the run did not complete.
const NOT_DONE: u8 = 1;

/// Say something to the agent of a thread, wait until it is done, and print its answer
#[derive(Debug, Args)]
#[command(after_help = "\
The agent runs on the server of the store, or in this process if there is none. Ctrl-C ends the waiting; on a server the
run goes on, and `threadkeep run stop` stops it. The exit code is 1 if the run failed, was stopped, or waits for an approval.

Examples:
  threadkeep ask 4e36 \"What is left to do?\"
  threadkeep ask 4e36 --agent-id helper \"Who are you?\"    assign the agent first
  git diff | threadkeep ask 4e36 -
  threadkeep ask 4e36 \"Count to three\" --json             the run with its steps, tokens and cost")]
pub(crate) struct Ask {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The text; several words are joined by spaces, and - reads stdin
    #[arg(required = true)]
    text: Vec<String>,
    /// The agent to assign the thread to first [default: that of the thread, else `default`]
    #[arg(long, value_name = "AGENT")]
    agent_id: Option<String>,
}

impl Ask {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        let thread = context.thread(&self.thread).await?;
        let text = or_stdin(&self.text.join(" "))?;
        if text.trim().is_empty() {
            return Err(Invalid::body("text", "is empty: say something, or give - and pipe a text in").into());
        }
        let agent = self.agent_id.or_else(|| thread.agent_id.clone());
        refuse_undefined(context, agent.as_deref()).await?;
        let working = context.work_here();
        let run = say(context, &thread, agent, &text).await?;
        let mut stream = context.client.run_stream(run);
        let mut answer = String::new();
        let done = loop {
            match unless_interrupted(stream.next()).await? {
                Some(RunEvent::Assistant { content, stream_status: StreamStatus::Complete, .. }) => {
                    if !content.trim().is_empty() {
                        answer = content;
                    }
                }
                Some(RunEvent::Status { status, message }) => match status.as_str() {
                    "completed" => break true,
                    "failed" | "stopped" => {
                        context.note(visible(&message));
                        break false;
                    }
                    "waiting" => {
                        context.note("the agent waits for an approval: threadkeep approvals list");
                        break false;
                    }
                    _ => {}
                },
                Some(_) => {}
                None => break true,
            }
        };
        if let Some(working) = working {
            working.stop().await;
        }
        if context.json {
            let told = context.client.call(At::none(), calls::GetRun { run }).await?;
            context.out.json(&told)?;
        } else {
            if !done && let Some(why) = explained(context, thread.id).await? {
                context.note(visible(&why));
            }
            if !answer.is_empty() {
                context.out.line(visible(&answer))?;
            }
        }
        Ok(if done { ExitCode::SUCCESS } else { ExitCode::from(NOT_DONE) })
    }
}

/// Refuses an agent that no definition names: nothing would work on the run. Without one it is `default`.
pub(crate) async fn refuse_undefined(context: &Context, agent: Option<&str>) -> Result<(), Failure> {
    let agent = agent.unwrap_or(DEFAULT_AGENT);
    let list = context.client.definitions().await?;
    if list.items.iter().any(|item| item.kind == DefinitionKind::Agents && item.name == agent) {
        return Ok(());
    }
    if agent == DEFAULT_AGENT {
        return Err(Problem::from(threadkeep::Error::NoModel).into());
    }
    let detail = format!("the agent '{agent}' is not defined here");
    let hint = "threadkeep agents new NAME writes a first one; threadkeep agents list shows those that are defined";
    Err(Problem::new(Status::NotFound, ErrorCode::DefinitionNotFound, detail).hint(hint).into())
}

/// Says it, and gives the run that answers: a new one, or the one that is open.
pub(crate) async fn say(
    context: &Context,
    thread: &calls::Thread,
    agent: Option<String>,
    text: &str,
) -> Result<Uuid, Failure> {
    let message = MessageBody::user(text);
    let start =
        calls::StartRun { message: Some(message.clone().into()), agent_id: agent, ..calls::StartRun::default() };
    match context.client.call(thread.id, start).await {
        Ok(started) => Ok(started.id),
        Err(error) if error.is_refused_as(ErrorCode::RunOpen.as_str()) => {
            context.client.call(thread.id, calls::Queue { message: message.into() }).await?;
            match context.client.thread(thread.id).await?.run {
                Some(run) => Ok(run.id),
                None => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The words with which a run that failed explained itself.
pub(crate) async fn explained(context: &Context, thread: threadkeep::ThreadId) -> Result<Option<String>, Failure> {
    let order = Some(calls::Order::Descending);
    let list = calls::ListMessages { limit: Some(1), order, ..calls::ListMessages::default() };
    let last = context.client.messages(thread, &list).await?.page.items.into_iter().next();
    let is_info = |message: &calls::Message<'_>| message.role == threadkeep::Role::Info;
    Ok(last.filter(is_info).and_then(|message| serde_json::from_str(message.content.get()).ok()))
}
