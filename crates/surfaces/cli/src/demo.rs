//! `demo`: a small living example, and commands to try next.

use clap::Args;
use serde::Serialize;
use threadkeep::runtime::{Runtime, starter};
use threadkeep::{ActorKind, Engine, Json, MessageBody, Role, SystemWorld, ThreadId, World as _};
use threadkeep_calls as calls;

use crate::context::Context;
use crate::failure::{Failure, cannot_read};
use crate::tree;

/// Make a small living example: a thread with a checkpoint, a fork, a handoff, a subagent and a message that waits
/// (with --agent, play a run of an agent)
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  threadkeep demo          then try what it prints; threadkeep thread rm removes its threads again
  threadkeep demo --agent  play a run of an agent, offline and without a model")]
pub(crate) struct Demo {}

/// The threads that were made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    thread: ThreadId,
    fork: ThreadId,
    handoff: ThreadId,
    subagent: ThreadId,
}

impl Demo {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        if context.actor().kind == ActorKind::Agent {
            return play(context).await;
        }
        let client = context.client.clone();
        let create = calls::Create::titled("Demo: a garden in the shade")
            .field("metadata", Json::parse("metadata", r#"{"tags":["demo"]}"#)?)
            .message(said(Role::User, "What grows in deep shade, and stays small?"))
            .message(said(Role::Assistant, "Ferns, hostas and ivy. Ivy does not stay small."))
            .message(said(Role::User, "Then ferns. Where do I put them?"));
        let thread = client.call(calls::At::none(), create).await?.id;
        client.call(thread, calls::SetCheckpoint::named("ferns it is")).await?;
        client.append(thread, said(Role::Assistant, "Along the wall: it keeps the soil damp.")).await?;

        let fork = client.call(thread, calls::Fork::at_index(1).titled("Demo: hostas instead")).await?.id;
        client.append(fork, said(Role::User, "Then hostas. Do slugs like them?")).await?;
        client.append(fork, said(Role::Assistant, "Very much. Plant garlic beside them.")).await?;

        let handoff = calls::Handoff {
            goal: "Draw the bed to scale".into(),
            summary: Some("Ferns go along the wall, where the soil is damp.".into()),
            comment: None,
            agent_id: Some("draftsman".into()),
        };
        let handoff = client.call(thread, handoff).await?.id;

        let subagent = calls::Subagent {
            name: "botanist".into(),
            title: Some("Demo: which ferns".into()),
            description: "Looks up ferns for deep shade.".into(),
            agent_id: Some("botanist".into()),
            messages: vec![said(Role::User, "Three ferns for deep shade, please.")],
            ..calls::Subagent::default()
        };
        let subagent = client.call(thread, subagent).await?.thread.id;
        client.call(subagent, calls::SetStatus { status: "has an answer".into() }).await?;
        let found = "Lady fern, male fern, hart's-tongue.".to_owned();
        client.call(subagent, calls::NotifyParent { content: found, attachments: Vec::new() }).await?;

        let made = Made { thread, fork, handoff, subagent };
        if context.json {
            return context.out.json(&made);
        }
        for line in tree::drawn(context, thread).await? {
            context.out.line(line)?;
        }
        context.out.line("")?;
        self::next(context, &made)
    }
}

/// Plays a run of the first agent in a folder of its own, which is removed afterwards.
async fn play(context: &mut Context) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| cannot_read("the folder of the demo", &error);
    let folder = std::env::temp_dir().join(format!("threadkeep-demo-{:032x}", SystemWorld.chance()));
    starter::write(&folder, "helper").map_err(cannot)?;
    let engine = threadkeep::open("memory:")?;
    let runtime = Runtime::builder(engine.clone()).definitions(&folder).build();
    let working = runtime.start();
    let played = played(context, &engine).await;
    working.stop().await;
    std::fs::remove_dir_all(&folder).map_err(cannot)?;
    played
}

async fn played(context: &mut Context, engine: &Engine) -> Result<(), Failure> {
    let text = "How many words are in this sentence?";
    let create = calls::Create::titled("Demo: an agent").field("agentId", Json::string("helper"));
    let thread = engine.create(create).await?.id;
    let message = Some(MessageBody::user(text).into());
    let run = engine.start_run(thread, calls::StartRun { message, ..calls::StartRun::default() }).await?.run.id;
    context.out.line(format!("you        {text}"))?;
    let mut stream = engine.run_stream(run, None).await?;
    while let Some(news) = stream.next().await? {
        let line = match news.event {
            calls::RunEvent::Assistant { content, stream_status: calls::StreamStatus::Complete, .. }
                if !content.is_empty() =>
            {
                format!("agent      {content}")
            }
            calls::RunEvent::ToolCall { tool_name, status } => match status {
                calls::ToolState::Executing => format!("tool       {tool_name} runs"),
                calls::ToolState::Completed => format!("tool       {tool_name} is done"),
                calls::ToolState::Failed => format!("tool       {tool_name} failed"),
            },
            calls::RunEvent::Status { status, .. } => format!("run        {status}"),
            calls::RunEvent::Assistant { .. } | calls::RunEvent::Timing { .. } => continue,
        };
        context.out.line(line)?;
    }
    context.out.line("")?;
    context.out.line("Your own agent:")?;
    for (command, what) in
        [("agents new helper", "write the files of this agent"), ("chat --agent-id helper", "talk with it")]
    {
        let command = context.hints.command(command);
        context.out.line(format!("  {command:<40}  {what}"))?;
    }
    Ok(())
}

fn said(role: Role, text: &str) -> calls::NewMessage {
    MessageBody { role, ..MessageBody::user(text) }.into()
}

fn next(context: &mut Context, made: &Made) -> Result<(), Failure> {
    let (thread, fork) = (made.thread.short(), made.fork.short());
    context.out.line("Try next:")?;
    for (command, what) in [
        (format!("show {thread}"), "read the conversation"),
        (format!("say {fork} \"And snails?\""), "go on in the fork; the other thread does not see it"),
        (format!("rollback {thread} --checkpoint \"ferns it is\""), "go back; nothing is lost"),
        (format!("rollback {thread} --undo"), "and forth again"),
        (format!("queue list {thread}"), "what waits: the subagent has an answer"),
        (format!("run start {thread}"), "be the agent: take up what waits (then run step, run end)"),
        (format!("tail {thread}"), "follow it, while you write in another terminal"),
        ("serve".to_owned(), "all of it over HTTP, with pages at /docs"),
    ] {
        let command = context.hints.command(&command);
        context.out.line(format!("  {command:<66}  {what}"))?;
    }
    Ok(())
}
