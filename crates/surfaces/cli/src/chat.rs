//! `chat`: a conversation with an agent in the terminal.
//!
//! Text appears as the agent makes it, each call of a tool is one line, and a call that needs an approval asks here. Ctrl-C
//! stops the run, and at the prompt the program.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use threadkeep::Uuid;
use threadkeep_calls::{self as calls, At, RunEvent, StreamStatus, ToolState};
use tokio::sync::mpsc;

use crate::ask::{explained, refuse_undefined, say};
use crate::context::Context;
use crate::failure::Failure;
use crate::text::visible;

/// Talk with an agent in the terminal
#[derive(Debug, Args)]
#[command(after_help = "\
Each line is a message. Ctrl-C stops the run of the agent, and at the prompt the program; so does Ctrl-D.
Where a call needs an approval, answer y (yes, this call), n (no) or always (yes, and do not ask again on this thread).

Examples:
  threadkeep chat                           with the agent `default`, in a new thread
  threadkeep chat --agent-id helper         with another one
  threadkeep chat 4e36                      go on with a thread")]
pub(crate) struct Chat {
    /// The thread: its id, the beginning of it, its title, or @last [default: a new one]
    thread: Option<String>,
    /// The agent to talk with [default: that of the thread, else `default`]
    #[arg(long, value_name = "AGENT")]
    agent_id: Option<String>,
}

impl Chat {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let known = match &self.thread {
            Some(thread) => Some(context.thread(thread).await?),
            None => None,
        };
        let agent = self.agent_id.or_else(|| known.as_ref().and_then(|thread| thread.agent_id.clone()));
        refuse_undefined(context, agent.as_deref()).await?;
        let thread = match known {
            Some(thread) => thread,
            None => {
                let made = context.client.call(At::none(), calls::Create::new()).await?;
                context.note(format!("thread {}", made.id.short()));
                made
            }
        };
        let working = context.work_here();
        let mut talk = Talk { lines: lines(), interrupts: interrupts(), is_shown: std::io::stdin().is_terminal() };
        while let Some(line) = talk.read("> ").await? {
            if line.trim().is_empty() {
                continue;
            }
            let run = say(context, &thread, agent.clone(), &line).await?;
            talk.follow(context, &thread, run).await?;
        }
        if let Some(working) = working {
            working.stop().await;
        }
        Ok(())
    }
}

/// The lines that a person writes, and Ctrl-C.
struct Talk {
    lines: mpsc::UnboundedReceiver<String>,
    interrupts: mpsc::UnboundedReceiver<()>,
    /// Whether a person is shown a prompt.
    is_shown: bool,
}

impl Talk {
    /// The next line; none at the end, or after Ctrl-C.
    async fn read(&mut self, prompt: &str) -> Result<Option<String>, Failure> {
        if self.is_shown {
            write_out(prompt)?;
        }
        Ok(tokio::select! {
            line = self.lines.recv() => line,
            _ = self.interrupts.recv() => None,
        })
    }

    /// Shows a run until it ends.
    async fn follow(&mut self, context: &mut Context, thread: &calls::Thread, run: Uuid) -> Result<(), Failure> {
        let mut stream = context.client.run_stream(run);
        // Whether the last line is open.
        let mut is_open = false;
        loop {
            let event = tokio::select! {
                event = stream.next() => event?,
                Some(()) = self.interrupts.recv() => {
                    context.client.call(thread.id, calls::StopRun { run, now: false }).await?;
                    continue;
                }
            };
            match event {
                None => return Ok(()),
                Some(RunEvent::Timing { .. }) => {}
                Some(RunEvent::Assistant { content, stream_status, .. }) => match stream_status {
                    StreamStatus::Chunk => {
                        write_out(&visible(&content))?;
                        is_open = true;
                    }
                    StreamStatus::Discarded => {
                        write_out("\n[asked again]\n")?;
                        is_open = false;
                    }
                    StreamStatus::Complete if is_open => {
                        write_out("\n")?;
                        is_open = false;
                    }
                    StreamStatus::Complete if content.trim().is_empty() => {}
                    StreamStatus::Complete => write_out(&format!("{}\n", visible(&content)))?,
                },
                Some(RunEvent::ToolCall { tool_name, status }) => {
                    let said = match status {
                        ToolState::Executing => "…",
                        ToolState::Completed => "done",
                        ToolState::Failed => "failed",
                    };
                    write_out(&format!("  · {} {said}\n", visible(&tool_name)))?;
                }
                Some(RunEvent::Status { status, message }) => match status.as_str() {
                    "waiting" => self.answer(context, thread).await?,
                    "completed" => return Ok(()),
                    "failed" | "stopped" => {
                        write_out(&format!("[{}]\n", visible(&message)))?;
                        if let Some(why) = explained(context, thread.id).await? {
                            write_out(&format!("{}\n", visible(&why)))?;
                        }
                        return Ok(());
                    }
                    _ => {}
                },
            }
        }
    }

    /// Asks for the approvals that the run waits for.
    async fn answer(&mut self, context: &mut Context, thread: &calls::Thread) -> Result<(), Failure> {
        let list = calls::ListApprovals { thread_id: Some(thread.id.into()), ..calls::ListApprovals::default() };
        for approval in context.client.call(At::none(), list).await?.items {
            let scope: Vec<String> = approval.scope.iter().map(ToString::to_string).collect();
            let what = match &approval.call {
                Some(call) => format!("{} {}", call.tool, call.args.as_str()),
                None => scope.join(", "),
            };
            let asks = format!("Allow {} ({})? y, n or always: ", visible(&what), visible(&scope.join(", ")));
            if !self.is_shown {
                write_out(&asks)?;
            }
            let said = self.read(&asks).await?.unwrap_or_default();
            match said.trim() {
                "y" | "yes" => drop(context.client.call(At::none(), calls::Approve::of(approval.id)).await?),
                "a" | "always" => {
                    let to = Some(approval.asked_by.name.clone());
                    let delegate = calls::Transfer { to, ..calls::Transfer::delegate(approval.scope.clone()) };
                    context.client.call(thread.id, delegate).await?;
                    context.client.call(At::none(), calls::Approve::of(approval.id)).await?;
                }
                _ => drop(context.client.call(At::none(), calls::Deny::of(approval.id)).await?),
            }
        }
        Ok(())
    }
}

/// Writes at once, also a line that is not whole.
fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|_| Failure::Closed)
}

/// The lines of stdin, read beside everything else.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (send, receive) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

/// Ctrl-C, as often as it comes.
fn interrupts() -> mpsc::UnboundedReceiver<()> {
    let (send, receive) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && send.send(()).is_ok() {} });
    receive
}
