//! Threadkeep is a thread engine for AI agents. A thread is a conversation with all that belongs to it. Threadkeep
//! keeps threads durably in one file, and lets them be forked in constant time, rolled back without loss, read as of
//! any version, and followed live.
//!
//! ```
//! use threadkeep::{Create, Fork, MessageBody, Page};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     # let folder = tempfile::tempdir()?;
//!     # std::env::set_current_dir(folder.path())?;
//!     // One file holds everything; it is made if it is not there.
//!     let keep = threadkeep::open("hello.db")?;
//!
//!     let thread = keep.create(Create::titled("Hello")).await?;
//!     keep.append(thread.id, MessageBody::user("Hello!")).await?;
//!     keep.append(thread.id, MessageBody::assistant("Hello. What shall we build?")).await?;
//!
//!     // A fork shares the history up to a message. It copies nothing.
//!     let fork = keep.fork(thread.id, Fork::at_index(0)).await?;
//!     keep.append(fork.id, MessageBody::assistant("Hi there!")).await?;
//!
//!     for id in [thread.id, fork.id] {
//!         println!("{}", keep.thread(id).await?.record.title.unwrap_or_default());
//!         for message in keep.messages(id, Page::first()).await?.items {
//!             println!("  {}: {}", message.body()?.role, message.text()?);
//!         }
//!     }
//!     # let shown = keep.messages(fork.id, Page::first()).await?.items;
//!     # assert_eq!(shown[0].text()?, "Hello!");
//!     # assert_eq!(shown[1].text()?, "Hi there!");
//!     # assert_eq!(shown.len(), 2);
//!     Ok(())
//! }
//! ```
//!
//! [`open`] takes a path or a URL and gives an [`Engine`], the front door. Everything that changes a thread is a
//! call ([`calls`]); [`Engine::call`] carries it out, and most have a method of their own. [`At`] says on which thread, and under
//! which conditions. Reads show what a thread shows now
//! ([`Engine::messages`]), as it was at any version ([`Page::as_of`]), or all that was ever logged to it
//! ([`Engine::history`]). [`Engine::subscribe`] follows one thread, [`Engine::feed`] follows all.
//!
//! A thread that one program works on at a time is opened with [`Engine::exclusive`]: nobody else changes its
//! conversation meanwhile, and updates are applied at once and kept a moment later. [`Engine::observe`] shows a thread
//! in snapshots, [`observe_raw`] patch by patch, and [`Engine::emit`] tells those who listen of what is not logged.
//! These work on a thread of the engine's own, and so in any runtime.
//!
//! ```
//! use threadkeep::{Create, Exclusive, MessageBody, Observed};
//!
//! # #[tokio::main]
//! # async fn main() -> threadkeep::Result<()> {
//! # let keep = threadkeep::open("memory:")?;
//! let thread = keep.create(Create::titled("Live")).await?.id;
//! let mut observer = keep.observe(thread).await?;
//!
//! let writer = keep.exclusive(thread, Exclusive::default()).await?;
//! let version = writer.update(|draft| {
//!     draft.append(MessageBody::user("Hello!"));
//!     draft.title("Greetings");
//! })?; // applied, and seen by observers
//! writer.flush_version(version).await?; // durable
//! writer.dispose().await?; // others may write
//!
//! while let Some(Observed::Snapshot(snapshot)) = observer.next().await {
//!     if snapshot.version >= version {
//!         assert_eq!(snapshot.message_count, 1);
//!         break; // or go on for as long as the thread lives
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What was said is found by [`Engine::search`], by words and by meaning, once [`Engine::backfill`] brought it into the index;
//! [`Engine::run_index`] keeps the index up for as long as it is let.
//!
//! ```
//! use threadkeep::{Create, MessageBody, Search};
//!
//! # #[tokio::main]
//! # async fn main() -> threadkeep::Result<()> {
//! # let keep = threadkeep::open("memory:")?;
//! let thread = keep.create(Create::titled("Keys").message(MessageBody::user("We rotate keys in May."))).await?.id;
//! keep.backfill(None, std::sync::Arc::new(|_, _, _| {})).await?;
//! let found = keep.search(Search::new("when are keys rotated?")).await?;
//! assert_eq!(found[0].thread, thread);
//! # Ok(())
//! # }
//! ```
//!
//! The library and the bare command line act for account `local`; [`Engine::acting_as`] acts for somebody else.

mod backup;
pub mod contract;
mod key_file;
mod patch;
mod raw;
mod world;

use std::str::FromStr;
use std::sync::Arc;

use crate::key_file::Unnamed;

pub use backup::{backup, restore};
pub use key_file::{KEY_FILE, KeyFileAt, instance_env};
pub use patch::{Patch, PatchOperation};
pub use raw::{RawObserver, observe_raw};
pub use threadkeep_calls as calls;
pub use threadkeep_calls::{
    Adopted, Approval, ArtifactVersion, At, Backfilled, Changed, Checkpoint, Decision, Delegation, DiffStats,
    Direction, Effect, EffectState, FileStats, ForkPoint, Grepped, Inherit, InheritItem, Injection, InjectionState,
    ListedState, MergeTold, ModelMessage, NewAttachment, NewMessage, Project, Queued, Reference, References,
    Relationship, RelationshipRole, RollbackTo, Run, RunEvent, Sandbox, Scope, StepName, ThreadEvent, Transferred,
    TruncateFrom, Value,
};
pub use threadkeep_embed as embed;
pub use threadkeep_engine::{
    AmongMemories, AppendedMessages, CARRIERS, CONVERSATION_TOKENS, Carrier, Carry, Case, CellNames, ClaimedEffect,
    ContentHash, Conversation, CopyReport, CountTokens, Courier, Cut, DEFAULT_AGENT, DeleteFile, Delivery, Directory,
    DoctorReport, DueBy, DueEffect, EffectEnd, Engine, Enter, Error, Estimate, ExportItem, Exporter, Family,
    FamilyPage, Fed, FeedReader, FileContent, FileIs, FileRecord, FileVersion, Files, Find, Grep, HistoryEntry, Hit,
    HitMessage, Importer, IndexStatus, Key, KeyFile, KeyKeeper, KeyProblem, KnowEffects, Limits, List, Logged, Lost,
    MakeDirectory, Match, MergedTree, MessagePage, Mode, MoveAccount, MoveFile, MoveStep, Moved, Neighbours, NewFile,
    NewKey, Opened, Over, Owned, Page, PassedOver, Picture, Progressed, Redacting, Redactor, ReferredPage,
    RemoveDirectory, Request, Result, Search, Searching, Selection, Shown, Standing, SubagentThread, Subscription,
    Taking, ThreadPage, ThreadSummary, Tokenizer, Upload, Uploaded, Validate, Values, Verb, Wanted, WayOut, World,
    WriteFiles, cursor, gc_shown, place, standing,
};
pub use threadkeep_engine::{
    Draft, DraftStep, Emitted, EmittedEvent, Events, Exclusive, LiveSettings, LiveThread, MessageChange, Observed,
    Observer, ReadWriter, Refused, RunNews, RunStream, Snapshot, ThreadChanges, ThreadStep, Unflushed,
};
pub use threadkeep_model as model;
pub use threadkeep_model::{
    Account, Actor, ActorKind, ApprovalState, Binding, Caller, Capability, Child, Content, Deliver, EffectName,
    EffectOutcome, Entry, EnvName, EnvType, Event, EventKind, Executor, Fallback, FileCell, FilePath, IdempotencyKey,
    InjectionType, Invalid, Json, Lease, Lifecycle, LifecycleAction, Message, MessageBody, MessageId, MessageName,
    ParentCommunication, Part, Position, ProcessId, QueuedId, Record, ReferenceScope, Role, RunOutcome, RunSide,
    RunStatus, Sides, Skill, Thread, ThreadId, ThreadName, Timestamp, Urgency, Usage, Uuid, ValueKey, Version, Wait,
};
#[cfg(feature = "objects")]
pub use threadkeep_objects::{Keys as ObjectKeys, Objects, ObjectsUrl};
#[cfg(feature = "postgres")]
pub use threadkeep_postgres::{Clock, PostgresStore, PostgresUrl};
pub use threadkeep_relay as relay;
#[cfg(feature = "sandbox")]
pub use threadkeep_runtime as runtime;
#[cfg(feature = "sandbox")]
pub use threadkeep_runtime::run_code as code;
#[cfg(feature = "sandbox")]
pub use threadkeep_sandbox as sandbox;
#[cfg(feature = "sandbox")]
pub use threadkeep_sandbox::worker_if_asked;
pub use threadkeep_sqlite::SqliteStore;
pub use threadkeep_store::{
    Archived, BoxFuture, FeedCursor, FeedItem, FeedNews, GcReport, ListSort, MemoryStore, Progress, StoreError, Stores,
    TimeRange, Total, private,
};
pub use world::SystemWorld;

macro_rules! export {
    ($($call:ident => $answer:ty;)*) => { pub use threadkeep_calls::{$($call),*}; };
}
calls::for_each_call!(export);

/// Which store to open, by its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `sqlite:PATH`, or just a path: one file.
    Sqlite(std::path::PathBuf),
    /// `postgres://…`: a server that many processes share.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresUrl>),
    /// `memory:`: gone when it is closed.
    Memory,
}

const KNOWN_URLS: &str = "use sqlite:PATH, postgres://user@host/database or memory:";

impl FromStr for StoreUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = |rule: String| Error::from(Invalid::parameter("store", rule));
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        if text.starts_with("cells:") {
            return Err(unknown("a file of cells is for servers and for commands, and not for one store".into()));
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return match scheme {
                #[cfg(feature = "postgres")]
                "postgres" | "postgresql" => Ok(Self::Postgres(Box::new(text.parse()?))),
                #[cfg(not(feature = "postgres"))]
                "postgres" | "postgresql" => {
                    Err(unknown("this program was built without PostgreSQL (feature `postgres`)".into()))
                }
                _ => Err(unknown(format!("there is no store '{scheme}://'; {KNOWN_URLS}"))),
            };
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        if path.is_empty() {
            return Err(unknown(format!("names no file; {KNOWN_URLS}")));
        }
        Ok(Self::Sqlite(path.into()))
    }
}

/// Opens the store at `url`: a path or `sqlite:PATH` for one file, made if it is not there; `postgres://…` for a server
/// that many processes share (feature `postgres`); or `memory:`.
///
/// The key of its secrets is `secrets.key` beside the file. A shared store has none until one is named with
/// [`Engine::with_key_keeper`] and a [`KeyFileAt`].
///
/// # Errors
/// If the URL names no store, or the store cannot be opened; the message says what to do.
pub fn open(url: &str) -> Result<Engine> {
    open_beside(url, |stores| stores)
}

/// Opens the store at `url` as [`open`] does, with large contents of files and attachments in an object store. Whoever opens
/// the store later names the same one: without it, those contents cannot be read.
///
/// ```no_run
/// let objects = "s3://keep/team?endpoint=https://objects.example".parse()?;
/// let keep = threadkeep::open_with_objects("hello.db", objects)?; // the keys are in AWS_ACCESS_KEY_ID and its sister
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`open`]. A service is asked when it is first needed; [`Objects::check`] asks at once.
#[cfg(feature = "objects")]
pub fn open_with_objects(url: &str, objects: ObjectsUrl) -> Result<Engine> {
    let objects = Objects::open(objects)?;
    open_beside(url, |stores| objects.beside(stores))
}

fn open_beside(url: &str, beside: impl FnOnce(Stores) -> Stores) -> Result<Engine> {
    let engine = |stores| {
        let engine = Engine::new(beside(stores), Arc::new(SystemWorld), Limits::default());
        engine.with_instance_env(instance_env())
    };
    Ok(match url.parse()? {
        StoreUrl::Sqlite(path) => {
            let keys = KeyFileAt::beside(&path);
            engine(Stores::of(SqliteStore::open(path)?)).with_key_keeper(Arc::new(keys))
        }
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(url) => engine(Stores::of(PostgresStore::open(*url)?)).with_key_keeper(Arc::new(Unnamed)),
        StoreUrl::Memory => engine(Stores::of(MemoryStore::new())),
    })
}

/// Opens the store at `url` as [`open`] does, on the tokio runtime in which it is awaited, which needs its I/O and its
/// time enabled. A store on a server then has no runtime of its own, which makes short calls quicker; it can be used
/// while that runtime lives.
///
/// # Errors
/// As [`open`].
pub async fn open_here(url: &str) -> Result<Engine> {
    match url.parse()? {
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(url) => {
            let stores = Stores::of(PostgresStore::open_here(*url).await?);
            let engine = Engine::new(stores, Arc::new(SystemWorld), Limits::default());
            Ok(engine.with_instance_env(instance_env()).with_key_keeper(Arc::new(Unnamed)))
        }
        StoreUrl::Sqlite(_) | StoreUrl::Memory => open(url),
    }
}
