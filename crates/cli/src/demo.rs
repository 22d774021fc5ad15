//! `demo`: a small living example, and what to try next.

use clap::Args;
use serde::Serialize;
use threadkeep::{Json, MessageBody, Role, ThreadId};
use threadkeep_calls as api;

use crate::context::Context;
use crate::failure::Failure;
use crate::tree;

/// Make a small living example: a thread with a checkpoint, a fork, a handoff, a subagent and a message that waits
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  threadkeep demo          then try what it prints; threadkeep delete removes its threads again")]
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
        let client = context.client.clone();
        let mut create = api::CreateThread::default();
        create.fields.0.insert("title".into(), Json::string("Demo: a garden in the shade"));
        create.fields.0.insert("metadata".into(), Json::parse("metadata", r#"{"tags":["demo"]}"#)?);
        create.messages = vec![
            said(Role::User, "What grows in deep shade, and stays small?"),
            said(Role::Assistant, "Ferns, hostas and ivy. Ivy does not stay small."),
            said(Role::User, "Then ferns. Where do I put them?"),
        ];
        let thread = client.create(&create).await?.id;
        client.checkpoint(thread, &api::SetCheckpoint { name: "ferns it is".into() }).await?;
        client.append(thread, said(Role::Assistant, "Along the wall: it keeps the soil damp.")).await?;

        let fork =
            api::Fork { message_index: Some(1), title: Some("Demo: hostas instead".into()), ..api::Fork::default() };
        let fork = client.fork(thread, &fork).await?.id;
        client.append(fork, said(Role::User, "Then hostas. Do slugs like them?")).await?;
        client.append(fork, said(Role::Assistant, "Very much. Plant garlic beside them.")).await?;

        let handoff = api::Handoff {
            goal: "Draw the bed to scale".into(),
            summary: Some("Ferns go along the wall, where the soil is damp.".into()),
            comment: None,
            agent_id: Some("draftsman".into()),
        };
        let handoff = client.handoff(thread, &handoff).await?.id;

        let subagent = api::NewSubagent {
            name: "botanist".into(),
            title: Some("Demo: which ferns".into()),
            description: "Looks up ferns for deep shade.".into(),
            agent_id: Some("botanist".into()),
            resumable: None,
            blocking: None,
            thread_name: None,
            spawn_group_id: None,
            parent_communication: None,
            status: None,
            messages: vec![said(Role::User, "Three ferns for deep shade, please.")],
            attachments: Vec::new(),
        };
        let subagent = client.subagent(thread, &subagent).await?.thread.id;
        client.set_status(subagent, &api::SetStatus { status: "has an answer".into() }).await?;
        let found =
            api::NotifyParent { content: "Lady fern, male fern, hart's-tongue.".into(), attachments: Vec::new() };
        client.notify_parent(subagent, &found).await?;

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

fn said(role: Role, text: &str) -> api::NewMessage {
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
        (format!("queue {thread}"), "what waits: the subagent has an answer"),
        (format!("begin {thread}"), "be the agent: take up what waits (then step, end)"),
        (format!("tail {thread}"), "follow it, while you write in another terminal"),
        ("serve".to_owned(), "all of it over HTTP, with pages at /docs"),
    ] {
        let command = context.hints.command(&command);
        context.out.line(format!("  {command:<66}  {what}"))?;
    }
    Ok(())
}
