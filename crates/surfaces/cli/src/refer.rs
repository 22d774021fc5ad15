//! References and observers between threads: `reference`, `references`, `read-reference`, `observe`, `observers`,
//! `unobserve`.

use clap::Args;
use threadkeep::{Binding, FilePath, ReferenceScope, Uuid, ValueKey};
use threadkeep_calls as calls;
use threadkeep_calls::{At, ListMessages, ListValues, Order, ThreadEvent};

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::files::{print, whole};
use crate::pages::all;
use crate::plain::{Face, Line, plain, words};
use crate::show;
use crate::text::{moment, visible};
use crate::tree_files::{AT_ONCE, Named, tell};

/// Make a reference that reads another thread, as it is now or live; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
A reference keeps nothing alive: if the other thread is deleted, there is nothing to read any more.

Examples:
  threadkeep thread reference 4e36 77ab                      as it is now, for good
  threadkeep thread reference 4e36 77ab --binding live --scope messages
  threadkeep thread read-reference ID")]
pub(crate) struct Reference {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The thread that is read, in the same spellings
    target: String,
    /// What of it: all, messages, files, kv, or patterns for paths of files; several with commas [default: all]
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    scope: Vec<ReferenceScope>,
    /// Whether it follows later changes
    #[arg(long, default_value = "frozen", value_parser = words::<Binding>(&[
        ("frozen", "It shows the thread as it is now"),
        ("live", "It shows the thread as it is then"),
    ]))]
    binding: Binding,
    #[command(flatten)]
    conditions: Conditions,
}

impl Reference {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let target = context.thread(&self.target).await?.id.into();
        let thread = context.thread(&self.thread).await?.id;
        let refer = calls::Refer { target, scope: self.scope, binding: self.binding };
        let made = context.client.call(self.conditions.at(thread), refer).await?;
        if context.json { context.out.json(&made) } else { context.out.line(made.ref_id.to_string()) }
    }
}

plain! {
    /// List the references of a thread, and the references to it
    References: ListReferences under Read {}
}

impl Face for calls::References {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        if context.json {
            return context.out.json(self);
        }
        if self.outgoing.is_empty() && self.incoming.is_empty() {
            context.note("it reads no other thread, and none reads it");
        }
        for reference in &self.outgoing {
            context.out.line(line("reads", &reference.target.short().to_string(), reference))?;
        }
        for reference in &self.incoming {
            context.out.line(line("read by", &reference.thread_id.short().to_string(), reference))?;
        }
        Ok(())
    }
}

/// `ID  reads  4e36442142ee  frozen at version 12  all  2026-01-31 12:00:00Z`
fn line(how: &str, other: &str, reference: &calls::Reference) -> String {
    let binding = match reference.binding {
        Binding::Frozen => format!("frozen at version {}", reference.snapshot_version),
        Binding::Live => "live".to_owned(),
    };
    let scope: Vec<String> = reference.scope.iter().map(|part| visible(&part.to_string()).into_owned()).collect();
    let (id, when) = (reference.ref_id, moment(reference.created_at));
    format!("{id}  {how}  {other}  {binding}  {}  {when}", scope.join(","))
}

/// Show the messages that a reference shows, its files, or one of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep thread read-reference ID                        the messages
  threadkeep thread read-reference ID --files                the files, by path
  threadkeep thread read-reference ID --file /notes/plan.md  what one of them says")]
pub(crate) struct ReadReference {
    /// The reference, by its id
    id: Uuid,
    /// The files that it shows, and no messages
    #[arg(long, conflicts_with_all = ["file", "limit", "newest_first", "include_silent", "cursor"])]
    files: bool,
    /// The content of this file, and no messages
    #[arg(long, value_name = "PATH", conflicts_with_all = ["limit", "newest_first", "include_silent", "cursor"])]
    file: Option<FilePath>,
    /// The values that it shows, and no messages
    #[arg(long, conflicts_with_all = ["file", "files", "limit", "newest_first", "include_silent", "cursor"])]
    values: bool,
    /// The value under this key, and no messages
    #[arg(long, value_name = "KEY", conflicts_with_all = ["file", "files", "values", "limit", "newest_first", "include_silent", "cursor"])]
    value: Option<ValueKey>,
    /// Maximum number of messages [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// The newest message first
    #[arg(long)]
    newest_first: bool,
    /// Show silent messages too
    #[arg(long)]
    include_silent: bool,
    /// Go on where an earlier page ended
    #[arg(long, conflicts_with = "newest_first")]
    cursor: Option<String>,
}

impl ReadReference {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        if let Some(path) = &self.file {
            return file(context, self.id, path).await;
        }
        if self.files {
            return list(context, self.id).await;
        }
        if let Some(key) = &self.value {
            let value = context.client.reference_value(self.id, key).await?;
            return if context.json { context.out.json(&value) } else { context.out.json(&value.value) };
        }
        if self.values {
            return values(context, self.id).await;
        }
        let reference = context.client.call(At::none(), calls::GetReference { reference: self.id }).await?;
        let order = self.newest_first.then_some(Order::Descending);
        let Self { limit, cursor, include_silent, .. } = self;
        let which = ListMessages { limit, cursor, order, include_silent, ..ListMessages::default() };
        let page = context.client.reference_messages(self.id, &which).await?.page;
        if context.json {
            #[derive(serde::Serialize)]
            struct Shown<'a> {
                reference: &'a calls::Reference,
                messages: &'a calls::Page<calls::Message<'static>>,
            }
            return context.out.json(&Shown { reference: &reference, messages: &page });
        }
        context.out.line(line("reads", &reference.target.short().to_string(), &reference))?;
        for message in &page.items {
            show::print(context, message, true)?;
        }
        if let Some(cursor) = page.next_cursor {
            context.out.flush()?;
            context.note(format!("\ngo on with: --cursor {cursor}"));
        }
        Ok(())
    }
}

async fn file(context: &mut Context, id: Uuid, path: &FilePath) -> Result<(), Failure> {
    let download = context.client.open_reference_file(id, path, None).await?;
    if context.json {
        let file = context.client.reference_stat(id, path).await?;
        let content = whole(download).await?;
        return context.out.json(&serde_json::json!({ "file": file, "text": std::str::from_utf8(&content).ok() }));
    }
    print(context, path, download).await
}

async fn values(context: &mut Context, id: Uuid) -> Result<(), Failure> {
    let read = async |cursor| {
        let which = ListValues { limit: Some(AT_ONCE), cursor, ..ListValues::default() };
        context.client.reference_values(id, &which).await
    };
    let found = all(read).await?;
    if context.json {
        return context.out.json(&found);
    }
    for value in &found {
        context.out.line(format!("{}  {}", visible(value.key.as_str()), visible(value.value.as_str())))?;
    }
    Ok(())
}

async fn list(context: &mut Context, id: Uuid) -> Result<(), Failure> {
    let read = async |cursor: Option<String>| context.client.reference_files(id, Some(AT_ONCE), cursor.as_ref()).await;
    let found = all(read).await?;
    tell(context, &found, Named::ByPath)
}

/// Observe another thread: send its events to a thread or a webhook; print the id of the observer
#[derive(Debug, Args)]
#[command(after_help = "\
A server delivers, while one runs on the store. A thread is told by an injection of data, which its next step takes up. Posts to a webhook are \
signed: Threadkeep-Signature: t=SECONDS,v1=HEX, the HMAC-SHA256 of SECONDS.BODY under the secret that is printed once.

Examples:
  threadkeep thread observe 4e36 77ab --events done,error_occurred
  threadkeep thread observe 4e36 77ab --webhook https://example.com/hook")]
pub(crate) struct Observe {
    /// The thread that is told: its id, its short id, or the beginning of either
    thread: String,
    /// The thread that is observed, in the same spellings
    target: String,
    /// Of what; several with commas [default: everything]
    #[arg(long, value_name = "EVENTS", value_delimiter = ',', value_parser = words::<ThreadEvent>(&[
        ("status_changed", "Its lifecycle or its status changed"),
        ("artifact_created", "A file came into being"),
        ("artifact_updated", "A file changed"),
        ("error_occurred", "Something went wrong"),
        ("approval_requested", "Somebody has to approve something"),
        ("done", "The work is done"),
    ]))]
    events: Vec<ThreadEvent>,
    /// To this address instead of the thread
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Observe {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let target = context.thread(&self.target).await?.id.into();
        let thread = context.thread(&self.thread).await?.id;
        let deliver = self.webhook.map_or(calls::Deliver::Thread, calls::Deliver::Webhook);
        let observe = calls::Observe { target, events: self.events, deliver };
        let made = context.client.call(self.conditions.at(thread), observe).await?;
        if context.json {
            return context.out.json(&made);
        }
        context.out.line(made.id.to_string())?;
        if let Some(secret) = made.secret {
            context.out.flush()?;
            context.note(format!("its posts are signed with {secret}, which is not shown again"));
        }
        Ok(())
    }
}

/// List the observers of a thread
#[derive(Debug, Args)]
pub(crate) struct Observers {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Show this observer only
    #[arg(value_name = "ID")]
    id: Option<Uuid>,
}

impl Observers {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let all = match self.id {
            Some(observer) => vec![context.client.call(thread, calls::GetObserver { observer }).await?],
            None => context.client.call(thread, calls::ListObservers::default()).await?.items,
        };
        all.print(context)
    }
}

impl Line for calls::Observer {
    const NONE: &'static str = "it is told of no other thread";

    fn line(&self) -> String {
        let to = match &self.deliver {
            calls::Deliver::Thread => "to the thread".into(),
            calls::Deliver::Webhook(url) => visible(url),
        };
        format!("{}  {}  {}  {to}", self.id, self.target.short(), self.events.join(","))
    }
}

plain! {
    /// Stop observing a thread
    Unobserve: Unobserve under Change {
        /// The observer, by its id
        #[arg(value_name = "ID")]
        observer: Uuid,
    } => (context, _, _, done) {
        context.say_or_show(done, if done.deleted { "removed" } else { "there is no such observer" })
    }
}
