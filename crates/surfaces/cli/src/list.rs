//! `list`: the threads of the store, by any filter, as a table or as JSON.

use clap::Args;
use threadkeep::model::{Lifecycle, Visibility};
use threadkeep::{Json, ThreadId, ThreadName, Timestamp};
use threadkeep_calls::{Archived, At, JsonText, ListSort, ListThreads, ThreadSummary};

use crate::context::Context;
use crate::duration::time;
use crate::failure::Failure;
use crate::plain::words;
use crate::screen::{columns, screen};
use crate::text::{TITLE_SHOWN_MAX, brief, counted, moment, or_untitled};
use crate::thread::metadata;

/// Columns between two columns of the table, and the fewest of a title.
const GAP: usize = 2;
const TITLE_COLUMNS_MIN: usize = 8;

/// Show the threads, the newest change first
#[derive(Debug, Args)]
#[command(after_help = "\
Every filter that is given has to hold. Times are 7d for a week ago, a date for its first moment in UTC, or
RFC 3339; a range includes its first moment (after) and ends before its last (before).

With --json a list is an array; with --offset or --total it is {items, nextCursor, total};
totalIsExact is false where counting stopped.

Examples:
  threadkeep ls --agent-id writer --lifecycle active
  threadkeep ls --title release --created-after 2026-01-01 --sort created
  threadkeep ls --metadata '{\"customer\":{\"id\":7}}' --tag urgent --archived=any
  threadkeep ls --offset 100 --limit 50 --json")]
pub(crate) struct List {
    /// The archived ones instead; `any` for all
    #[arg(
        long,
        value_name = "true|false|any",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    archived: Option<Archived>,
    /// Only those of this agent
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// Only those of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Only those in this state: active, suspended, completed, cancelled, archived
    #[arg(long, value_name = "STATE", hide_possible_values = true, value_parser = words::<Lifecycle>(&[
        ("active", "Work goes on"),
        ("suspended", "Work rests"),
        ("completed", "The work is done"),
        ("cancelled", "The work was given up"),
        ("archived", "It was put away for good"),
    ]))]
    lifecycle: Option<Lifecycle>,
    /// Only those that are private, or public
    #[arg(long, value_name = "private|public", hide_possible_values = true, value_parser = words::<Visibility>(&[
        ("private", "Only its account reads it"),
        ("public", "Everybody who knows its id reads it"),
    ]))]
    visibility: Option<Visibility>,
    /// Only those whose metadata contain this JSON object
    #[arg(long, value_name = "JSON", value_parser = metadata)]
    metadata: Option<Json>,
    /// Only those with this tag, in their metadata or their workspace
    #[arg(long)]
    tag: Option<String>,
    /// Only those spawned from this thread
    #[arg(long, value_name = "THREAD")]
    parent_id: Option<String>,
    /// Only subagents of this main thread
    #[arg(long, value_name = "THREAD")]
    main_thread_id: Option<String>,
    /// Only those made at this time or later
    #[arg(long, value_name = "TIME", value_parser = |text: &str| time("createdAfter", text))]
    created_after: Option<Timestamp>,
    /// Only those made earlier than this
    #[arg(long, value_name = "TIME", value_parser = |text: &str| time("createdBefore", text))]
    created_before: Option<Timestamp>,
    /// Only those changed last at this time or later
    #[arg(long, value_name = "TIME", value_parser = |text: &str| time("updatedAfter", text))]
    updated_after: Option<Timestamp>,
    /// Only those changed last earlier than this
    #[arg(long, value_name = "TIME", value_parser = |text: &str| time("updatedBefore", text))]
    updated_before: Option<Timestamp>,
    /// Only those with this text in their title, whatever its case
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What newest means: the last change, or the birth
    #[arg(long, value_name = "updated|created")]
    sort: Option<ListSort>,
    /// Number of threads (default 50, maximum 1000)
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on where an earlier list with the same filters ended
    #[arg(long)]
    cursor: Option<String>,
    /// Skip this many threads, and print the total
    #[arg(long, value_name = "N")]
    offset: Option<usize>,
    /// Print how many threads match
    #[arg(long)]
    total: bool,
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let parent_id = named(context, self.parent_id.as_deref()).await?;
        let main_thread_id = named(context, self.main_thread_id.as_deref()).await?;
        let which = ListThreads {
            id_prefix: None,
            archived: self.archived,
            agent_id: self.agent_id,
            project_id: self.project_id,
            lifecycle: self.lifecycle,
            visibility: self.visibility,
            metadata: self.metadata.map(JsonText),
            tag: self.tag,
            parent_id,
            main_thread_id,
            created_after: self.created_after,
            created_before: self.created_before,
            updated_after: self.updated_after,
            updated_before: self.updated_before,
            title: self.title,
            sort: self.sort,
            limit: self.limit,
            cursor: self.cursor,
            offset: self.offset,
            total: self.total,
        };
        let page = context.client.call(At::none(), which).await?;
        if context.json {
            match page.total {
                Some(_) => return context.out.json(&page),
                None => context.out.json(&page.items)?,
            }
        } else if page.items.is_empty() {
            context.note("there are no such threads");
        } else {
            context.out.page()?;
            table(context, &page.items)?;
        }
        context.out.flush()?;
        if let Some(total) = page.total {
            let more = if page.total_is_exact { "" } else { "more than " };
            context.note(format!("{more}{} in all", counted(total, "thread", "threads")));
        }
        if let Some(cursor) = page.next_cursor {
            // For programs too: a list that ends early must not look complete.
            crate::failure::note(&format!("there are more: go on with --cursor {cursor}"));
        }
        Ok(())
    }
}

/// The thread with this id, which may be gone, or whose id begins so.
async fn named(context: &mut Context, text: Option<&str>) -> Result<Option<ThreadName>, Failure> {
    let Some(text) = text else { return Ok(None) };
    if let Ok(id) = text.parse::<ThreadId>() {
        return Ok(Some(id.into()));
    }
    Ok(Some(context.thread(text).await?.id.into()))
}

fn table(context: &mut Context, threads: &[ThreadSummary]) -> Result<(), Failure> {
    let mut rows: Vec<[String; 4]> = threads.iter().map(row).collect();
    let header = ["THREAD", "TITLE", "MESSAGES", "UPDATED"].map(str::to_owned);
    let width = |rows: &[[String; 4]], column: usize| {
        let cells = rows.iter().chain([&header]).map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let mut widths = [width(&rows, 0), width(&rows, 1), width(&rows, 2)];
    if screen().is_terminal {
        let others = widths[0] + widths[2] + width(&rows, 3) + 3 * GAP;
        widths[1] = widths[1].min(columns().saturating_sub(others).max(TITLE_COLUMNS_MIN));
        for row in &mut rows {
            row[1] = brief(&row[1], widths[1].saturating_sub(usize::from(row[1].chars().count() > widths[1])));
        }
    }
    for [id, title, messages, updated] in [&header].into_iter().chain(&rows) {
        let [ids, titles, counts] = widths;
        context.out.row(format!("{id:ids$}  {title:titles$}  {messages:>counts$}  {updated}"))?;
    }
    Ok(())
}

fn row(thread: &ThreadSummary) -> [String; 4] {
    [
        thread.short_id.to_string(),
        brief(or_untitled(thread.title.as_deref()), TITLE_SHOWN_MAX),
        thread.message_count.to_string(),
        moment(thread.updated),
    ]
}
