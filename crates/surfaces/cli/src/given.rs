//! `context`: what a model is given of a thread, and what that takes.

use clap::Args;
use threadkeep::{Uuid, Version};
use threadkeep_calls as calls;

use crate::context::Context;
use crate::failure::Failure;
use crate::text::{brief, counted, visible};

/// Characters of a summary or a memory.
const SHOWN_MAX: usize = 2_000;

/// Show what a model is given of a thread: messages, what was cut, summary, memories and tokens
#[derive(Debug, Args)]
#[command(after_help = "\
The thread itself keeps every message. Cut are messages that a model is not given any more; a summary stands for them.

Examples:
  threadkeep context 4e36                       what would be sent now
  threadkeep context 4e36 --at-version 120      what would have been sent then
  threadkeep context 4e36 --run 5928a90d-…      what the last step of a run sent")]
pub(crate) struct Given {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// As the thread was at this version
    #[arg(long, value_name = "VERSION")]
    at_version: Option<Version>,
    /// What the last step of this run gave to its model
    #[arg(long, value_name = "RUN")]
    run: Option<Uuid>,
}

impl Given {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let asked = calls::GetContext { as_of: self.at_version, run_id: self.run };
        let told = context.client.call(thread, asked).await?;
        if context.json {
            return context.out.json(&told);
        }
        let calls::Context { version, model, budget, estimated, summary, cut, memories, messages, tokens, .. } = &told;
        let model = model.as_deref().map(|model| format!("  {}", visible(model))).unwrap_or_default();
        let about = if *estimated { ", estimated" } else { "" };
        context.out.line(format!("version {version}{model}  {} of {budget} tokens{about}", tokens.total))?;
        let calls::ContextTokens { system, tools, skills, .. } = tokens;
        context.out.line(format!(
            "system {system}  tools {tools}  skills {skills}  summary {}  memories {}  messages {}",
            tokens.summary, tokens.memories, tokens.messages
        ))?;
        if *cut > 0 {
            context.out.line(format!("{} cut", counted(*cut, "message is", "messages are")))?;
        }
        if told.cuts_next {
            context.out.line("the next request cuts more, and makes a new summary first")?;
        }
        if let Some(summary) = summary {
            let by = summary.model.as_deref().map(|model| format!(" by {}", visible(model))).unwrap_or_default();
            context.out.line(format!("\nsummary{by}:\n{}", brief(&visible(&summary.text), SHOWN_MAX)))?;
        }
        if !memories.is_empty() {
            context.out.line("\nmemories:")?;
            for memory in memories {
                context.out.line(format!("- {}", brief(&visible(&memory.text), SHOWN_MAX)))?;
            }
        }
        context.out.line(format!("\n{}:", counted(messages.len() as u64, "message", "messages")))?;
        for message in messages {
            let index = message.index.map_or_else(|| "-".to_owned(), |index| index.to_string());
            context.out.line(format!("{index:>7}  {:<9}  {:>7}", message.role.as_str(), message.tokens))?;
        }
        Ok(())
    }
}
