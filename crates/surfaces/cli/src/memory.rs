//! `memory`: texts that are remembered across threads.

use clap::Args;
use threadkeep::{MessageName, Uuid};
use threadkeep_calls as calls;
use threadkeep_calls::At;

use crate::context::Context;
use crate::failure::Failure;
use crate::input::or_stdin;
use crate::pages::all;
use crate::plain::{Face, Line};
use crate::text::{brief, visible};

/// Memories that are read at once.
const MEMORIES_AT_ONCE: usize = 500;
/// Characters of a memory in a list.
const SHOWN_MAX: usize = 160;

/// Examples for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  threadkeep memory add \"Answers in German, with metric units.\"
  threadkeep memory add \"The staging server is eu-2.\" --project-id website
  threadkeep memory search \"which language\"
  threadkeep memory edit 0193f3c2-… \"Answers in German or French.\"";

/// Remember a text in all threads of the account, or in those of a project; print its id
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Add {
    /// What to remember, at most 8 KiB; - reads stdin
    text: String,
    /// Only in the threads of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// A message that it was taken from; may be given more than once. It is forgotten with the last of them
    #[arg(long, value_name = "MESSAGE")]
    source: Vec<MessageName>,
    /// The thread that shows the sources [default: the thread that wrote the first of them]
    #[arg(long, value_name = "THREAD", requires = "source")]
    thread: Option<String>,
}

impl Add {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { text, project_id, source: sources, thread } = self;
        let thread_id = match &thread {
            Some(thread) => Some(context.thread(thread).await?.id.into()),
            None => None,
        };
        let text = or_stdin(&text)?;
        let made = match project_id {
            Some(project) => {
                let add = calls::AddProjectMemory { project, text, sources, thread_id };
                context.client.call(At::none(), add).await?
            }
            None => context.client.call(At::none(), calls::AddMemory { text, sources, thread_id }).await?,
        };
        if context.json { context.out.json(&made) } else { context.out.line(made.id.to_string()) }
    }
}

/// List the memories of the account, or of a project, the oldest first
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let limit = Some(MEMORIES_AT_ONCE);
        let read = async |cursor| match self.project_id.clone() {
            Some(project) => {
                context.client.call(At::none(), calls::ListProjectMemories { project, limit, cursor }).await
            }
            None => context.client.call(At::none(), calls::ListMemories { limit, cursor }).await,
        };
        all(read).await?.print(context)
    }
}

/// Show a memory with its sources
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The id of the memory
    memory: Uuid,
}

impl Show {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let memory = context.client.call(At::none(), calls::GetMemory { memory: self.memory }).await?;
        if context.json {
            return context.out.json(&memory);
        }
        context.out.line(visible(&memory.text))?;
        for source in &memory.sources {
            let thread = memory.thread_id.map(|thread| format!(" in {thread}")).unwrap_or_default();
            context.out.line(format!("  from {source}{thread}"))?;
        }
        Ok(())
    }
}

/// Find memories by words and meaning, the best first
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// What to look for; several words are one question
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    /// Those that hold in this project: the account's and its own
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Number of memories
    #[arg(long, value_name = "N", default_value = "5")]
    limit: usize,
}

impl Search {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { words, project_id, limit } = self;
        let search = calls::SearchMemories { query: words.join(" "), project_id, limit: Some(limit) };
        let found = context.client.call(At::none(), search).await?.results;
        if context.json {
            return context.out.json(&found);
        }
        found.into_iter().map(|found| found.memory).collect::<Vec<_>>().print(context)
    }
}

/// Replace the text of a memory; it outlives its sources then
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The id of the memory
    memory: Uuid,
    /// The new text; - reads stdin
    text: String,
}

impl Edit {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let edit = calls::EditMemory { memory: self.memory, text: or_stdin(&self.text)? };
        context.client.call(At::none(), edit).await?.print(context)
    }
}

/// Forget a memory
#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// The id of the memory
    memory: Uuid,
}

impl Rm {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let id = self.memory;
        let done = context.client.call(At::none(), calls::DeleteMemory { memory: id }).await?;
        let note = if done.deleted { format!("forgot {id}") } else { format!("there is no memory {id}") };
        context.note_or_show(&done, note)
    }
}

/// `0193f3c2-…  [website] The staging server is eu-2.`
impl Line for calls::Memory {
    const NONE: &'static str = "nothing is remembered";

    fn line(&self) -> String {
        let project = self.project_id.as_deref().map(|project| format!("[{project}] ")).unwrap_or_default();
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        visible(&format!("{}  {project}{}", self.id, brief(&text, SHOWN_MAX))).into_owned()
    }
}
