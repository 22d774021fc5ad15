//! `search` and `index`: conversations by their text, and the index behind it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use threadkeep::{Engine, IndexStatus, Invalid, Json, Role, Timestamp};
use threadkeep_calls as calls;
use threadkeep_calls::At;

use crate::context::Context;
use crate::duration::time;
use crate::failure::{Failure, note};
use crate::progress::Bar;
use crate::screen::Paint;
use crate::show::of_role;
use crate::text::{TITLE_SHOWN_MAX, brief, counted, moment, or_untitled};
use crate::thread::metadata;

/// Characters that are shown of the message that answers.
const HIT_SHOWN_MAX: usize = 480;
/// Characters of it before the first word that was asked for.
const BEFORE_SHOWN_MAX: usize = 120;
/// Characters that are shown of a message around it.
const CONTEXT_SHOWN_MAX: usize = 120;
/// Entries behind which it is said that the index is brought up to date first.
const BEHIND_SAID: u64 = 1_000;
/// Messages without vectors that get them before a search, and how long that waits for an embedder.
const EMBEDDED_BEFORE: u64 = 64;
const EMBEDDER_WAIT: Duration = Duration::from_secs(5);

/// How long to wait for a server's index, and how often to look.
const INDEX_WAIT: Duration = Duration::from_secs(2);
const INDEX_PAUSE: Duration = Duration::from_millis(20);

/// Find conversations by words and meaning
#[derive(Debug, Args)]
#[command(after_help = "\
The question is plain words; quotation marks ask for words that stand one after the other. The best threads come first, each
once, opened at the message that answers best, with what was said around it. Every filter that is given has to hold.

Where no server runs, what is not in the index yet is brought in first; a server keeps its index up by itself. With --json
the threads are an array, as the API gives them.

Examples:
  threadkeep search \"how did we rotate the signing keys\"
  threadkeep search '\"rate limit\"' --agent-id writer --after 7d --context 1
  threadkeep search budget --tag urgent --metadata '{\"customer\":{\"id\":7}}' --role user --limit 20")]
pub(crate) struct Search {
    /// What to look for; several words are one question
    #[arg(required = true, value_name = "WORDS")]
    query: Vec<String>,
    /// Only threads of this agent
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// Only threads of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Only this thread and its forks
    #[arg(long)]
    thread: Option<String>,
    /// Only messages from this time on: 7d for the last week, a date in UTC, or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = |text: &str| time("after", text))]
    after: Option<Timestamp>,
    /// Only messages from before this
    #[arg(long, value_name = "TIME", value_parser = |text: &str| time("before", text))]
    before: Option<Timestamp>,
    /// Only messages of this role: user or assistant
    #[arg(long)]
    role: Option<Role>,
    /// Only threads whose metadata contain this JSON object
    #[arg(long, value_name = "JSON", value_parser = metadata)]
    metadata: Option<Json>,
    /// Only threads with this tag, in their metadata or their workspace
    #[arg(long)]
    tag: Option<String>,
    /// Number of threads (default 5, maximum 100)
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Messages on either side of a hit (default 3)
    #[arg(long = "context", value_name = "N")]
    context_window: Option<usize>,
    /// Also what threads do not show any more: rolled back, edited away, deleted
    #[arg(long)]
    superseded: bool,
}

impl Search {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        if let Some(role) = self.role.filter(|role| !matches!(role, Role::User | Role::Assistant)) {
            let rule = format!("is {role}: only messages of user and assistant are searched");
            return Err(Invalid::parameter("role", rule).into());
        }
        let thread_id = match &self.thread {
            Some(thread) => Some(context.thread(thread).await?.id.into()),
            None => None,
        };
        let asked = calls::SearchThreads {
            query: self.query.join(" "),
            agent_id: self.agent_id,
            project_id: self.project_id,
            thread_id,
            after: self.after,
            before: self.before,
            role: self.role,
            metadata: self.metadata,
            tag: self.tag,
            limit: self.limit,
            context_window: self.context_window,
            include_superseded: self.superseded,
        };
        let found = match context.own_engine() {
            Some(engine) => {
                let engine = context.with_embedder(engine).await?;
                catch_up(context, &engine).await;
                engine.call(At::none(), asked).await?
            }
            None => {
                let behind = wait_for_index(context).await;
                let found = context.client.call(At::none(), asked).await?;
                if let Some(behind) = behind {
                    // For programs too: a message that is not indexed yet must not look like one that does not exist.
                    note(&format!("warning: the search index is {behind} behind: the newest messages may be missing"));
                    note(&format!("hint: {}", context.hints.command("index status")));
                }
                found
            }
        };
        if context.json {
            return context.out.json(&found.results);
        }
        context.out.page()?;
        for (at, result) in found.results.iter().enumerate() {
            if at > 0 {
                context.out.line("")?;
            }
            print(context, result)?;
        }
        context.out.flush()?;
        let threads = match found.results.len() as u64 {
            0 => "nothing was found".to_owned(),
            count => counted(count, "thread", "threads"),
        };
        context.note(format!("{threads}, in {:.1} ms", found.took_ms));
        Ok(())
    }
}

/// Waits a moment for the index of a server; says how far it is behind if it is not there by then.
async fn wait_for_index(context: &Context) -> Option<String> {
    let deadline = tokio::time::Instant::now() + INDEX_WAIT;
    loop {
        // A key that may not ask for the status may search nevertheless.
        let status = context.client.search_status().await.ok().filter(|status| !status.caught_up)?;
        if !status.following || tokio::time::Instant::now() >= deadline {
            return Some(counted(status.behind, "entry", "entries"));
        }
        tokio::time::sleep(INDEX_PAUSE).await;
    }
}

/// Brings the index up to the log, since no server does. If that fails, the search uses the index as it is.
async fn catch_up(context: &Context, engine: &Engine) {
    let done = async {
        let mut status = engine.index_status().await?;
        if !status.caught_up {
            if status.behind >= BEHIND_SAID {
                context.note("bringing the search index up to date");
            }
            engine.index_words(None, Bar::new().as_progress()).await?;
            status = engine.index_status().await?;
        }
        let without = |status: &IndexStatus| status.messages - status.embedded.min(status.messages);
        // Vectors of a few messages are made now. Those of many may take too long for a user who waits for an answer.
        if (1..=EMBEDDED_BEFORE).contains(&without(&status)) {
            let made = engine.backfill(None, Arc::new(|_, _, _| {}));
            if let Ok(made) = tokio::time::timeout(EMBEDDER_WAIT, made).await {
                made?;
                status = engine.index_status().await?;
            }
        }
        if without(&status) > 0 {
            let without = counted(without(&status), "message is", "messages are");
            context.note(format!("{without} searched by words alone: there are no vectors of {} yet", status.model));
            context.note(format!("hint: {}", context.hints.command("index backfill")));
        }
        Ok(())
    };
    let done: threadkeep::Result<()> = done.await;
    if let Err(error) = done {
        context.note(format!("warning: the search index is behind what was said: {error}"));
        // One that cannot even be looked at is not brought up to date either.
        let mend = if engine.index_status().await.is_ok() { "index backfill" } else { "index rebuild" };
        context.note(format!("hint: {}", context.hints.command(mend)));
    }
}

fn print(context: &mut Context, result: &calls::SearchResult) -> Result<(), Failure> {
    let name = Paint::Bold.on(&brief(or_untitled(result.thread_title.as_deref()), TITLE_SHOWN_MAX));
    let short = result.thread_id.short();
    let when = moment(result.timestamp);
    context.out.line(format!("{name}  {short}  {when}  {:.2}", result.score))?;
    let aside = |context: &mut Context, text: String| context.out.line(Paint::Dim.on(&format!("    {text}")));
    for message in &result.messages {
        let role = message.role.to_string();
        if !message.is_match {
            aside(context, format!("{role}: {}", brief(&message.text, CONTEXT_SHOWN_MAX)))?;
            continue;
        }
        let parts = excerpt(&message.text, &message.highlighted()).into_iter();
        let line: String =
            parts.map(|(is_marked, text)| if is_marked { Paint::Marked.on(&text) } else { text }).collect();
        context.out.line(format!("  > {}: {line}", of_role(message.role).on(&role)))?;
    }
    if result.also_in > 0 {
        aside(context, format!("also in {}", counted(result.also_in, "other thread", "other threads")))?;
    }
    let open = if result.superseded {
        aside(context, "the thread does not show it any more".to_owned())?;
        format!("thread history {short}")
    } else {
        format!("show {short} --message {}", result.message_id)
    };
    let open = context.hints.command(&open);
    context.out.line(Paint::Dim.on(&format!("    {open}")))
}

/// A text on one line, from shortly before the first of `marked` on, in parts that are marked or not.
fn excerpt(text: &str, marked: &[Range<usize>]) -> Vec<(bool, String)> {
    let first = marked.first().map_or(0, |range| range.start);
    let before = text.get(..first).unwrap_or_default();
    let from = match before.char_indices().rev().nth(BEFORE_SHOWN_MAX) {
        Some((at, c)) => at + c.len_utf8(),
        None => 0,
    };
    let rest = text.get(from..).unwrap_or_default();
    let to = rest.char_indices().nth(HIT_SHOWN_MAX).map_or(text.len(), |(at, _)| from + at);
    let mut parts = Vec::new();
    let mut part = |is_marked: bool, range: Range<usize>| {
        let shown = text.get(range.start.max(from)..range.end.min(to)).unwrap_or_default();
        if !shown.is_empty() {
            parts.push((is_marked, brief(shown, usize::MAX)));
        }
    };
    let mut at = from;
    for range in marked.iter().filter(|range| range.start >= from && range.start < to) {
        part(false, at..range.start);
        part(true, range.clone());
        at = range.end;
    }
    part(false, at..to);
    if from > 0 {
        parts.insert(0, (false, "…".to_owned()));
    }
    if to < text.len() {
        parts.push((false, "…".to_owned()));
    }
    parts
}

/// Examples for the help.
pub(crate) const INDEX_HELP: &str = "\
Examples:
  threadkeep index status                    how far it follows the log, and how large it is
  threadkeep index backfill                  add what is missing; it can be interrupted and repeated
  threadkeep index rebuild                   delete it and build it again from the log

A server keeps its index up to date, unless it was started with --search-index off.";

/// Show how far the index follows the log, and its size
#[derive(Debug, Args)]
pub(crate) struct Status {}

impl Status {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let status = match context.own_engine() {
            Some(engine) => {
                let engine = context.with_embedder(engine).await?;
                engine.index_status().await?.shown(false)
            }
            None => context.client.search_status().await?,
        };
        if context.json {
            return context.out.json(&status);
        }
        let behind = match (status.caught_up, status.behind) {
            (true, _) => "up to date".to_owned(),
            (false, BEHIND_SAID..) => format!("{BEHIND_SAID} entries or more behind"),
            (false, behind) => format!("{} behind", counted(behind, "entry", "entries")),
        };
        let following = if status.following { "the server follows the log" } else { "filled when it is needed" };
        let size = format!("{} bytes in {}", status.bytes, counted(status.volumes, "volume", "volumes"));
        let (messages, texts) = (counted(status.messages, "message", "messages"), status.text_bytes);
        context.out.line(format!("index     {behind}; {following}"))?;
        context.out.line(format!("messages  {messages}, {texts} bytes of text; {} with vectors", status.embedded))?;
        context.out.line(format!("size      {size}"))?;
        context.out.line(format!("embedder  {}, {} dimensions", status.model, status.dimensions))?;
        if !status.caught_up && !status.following {
            context.out.flush()?;
            context.note(format!("hint: {}", context.hints.command("index backfill")));
        }
        Ok(())
    }
}

/// Index missing messages, and drop messages that no thread shows any more
#[derive(Debug, Args)]
pub(crate) struct Backfill {
    /// Count the messages of this agent alone; everything is brought in
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
}

impl Backfill {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let done = match context.own_engine() {
            Some(engine) => {
                let engine = context.with_embedder(engine).await?;
                let bar = Bar::new();
                engine.backfill(self.agent_id, bar.as_progress()).await?
            }
            None => context.client.call(At::none(), calls::RunBackfill { agent_id: self.agent_id }).await?,
        };
        told(context, done)
    }
}

/// Delete the index of all accounts and build it again
#[derive(Debug, Args)]
pub(crate) struct Rebuild {}

impl Rebuild {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let engine = context.engine("index rebuild")?;
        let engine = context.with_embedder(engine).await?;
        let bar = Bar::new();
        let done = engine.rebuild_index(bar.as_progress()).await?;
        drop(bar);
        told(context, done)
    }
}

fn told(context: &mut Context, done: calls::Backfilled) -> Result<(), Failure> {
    let said = format!("indexed {}, dropped {}", counted(done.embedded, "message", "messages"), done.cleaned);
    context.say_or_show(&done, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_begins_shortly_before_what_was_asked_for_and_marks_it() {
        let shown = |text: &str, marked: &[Range<usize>]| {
            let parts = excerpt(text, marked).into_iter();
            parts.map(|(is_marked, text)| if is_marked { format!("[{text}]") } else { text }).collect::<String>()
        };
        let two = 4..7;
        assert_eq!(shown("one two\nthree", std::slice::from_ref(&two)), "one [two] three");
        assert_eq!(shown("", &[]), "");
        assert_eq!(shown("a\u{1b}b", &[]), "a\\u{1b}b");
        let long = format!("{}größer{}", "x".repeat(500), "ü".repeat(600));
        let marked = 500..508;
        let cut = shown(&long, std::slice::from_ref(&marked));
        assert!(cut.starts_with(&format!("…{}[größer]ü", "x".repeat(120))) && cut.ends_with("ü…"), "{cut}");
        assert!(shown(&long, &[]).starts_with("xx"));
    }
}
