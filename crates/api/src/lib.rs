//! The wire types of Threadkeep and their conversions, one file a resource: what HTTP, streams and `--json` print.
//!
//! Names are camelCase. What the log keeps as JSON (contents, metadata, bodies) is passed through as text and never
//! read into a tree, so numbers and the order of keys stay exact. [`parse`] is the door for JSON from outside;
//! [`ErrorCode`] is the one table of codes and their statuses, and [`Problem`] what is told of an error.

mod access;
mod actor;
mod amp;
mod authority;
mod checkpoint;
mod code;
mod event;
mod execution;
mod export;
mod family;
mod file;
mod history;
mod merge;
mod message;
mod observer;
mod page;
mod parse;
mod patch;
mod primitives;
mod problem;
mod public;
mod reference;
mod report;
mod request;
#[cfg(feature = "schema")]
mod schema;
mod search;
mod snapshot;
mod summary;
mod thread;
mod value;
mod work;
mod writer;

pub use access::{CreatedKey, Key, NewKey, NewTicket, Project, ProjectChanges, Revoked, SignIn, Ticket};
pub use actor::{ACTOR_HEADER, actor_header, parse_actor_header};
pub use amp::{AmpSource, from_amp, to_amp};
pub use authority::{Answer, Approval, Delegation, Direction, Transfer, Transferred};
pub use checkpoint::Checkpoint;
pub use code::ErrorCode;
pub use event::{LoggedEvent, SaidMessage};
pub use execution::{Execution, ModelMessage, Progressed, Queued};
pub use export::{EXPORT_LINE_BYTES_MAX, EXPORT_VERSION, ExportReader, ExportWriter, is_export_end};
pub use family::{Family, Relation, Relationship, Role as RelationshipRole, Subagent};
pub use file::{
    ArtifactVersion, Directory, FileMatches, FileRecord, FileStats, FileVersion, Found, Grepped, LineMatch,
    METADATA_HEADER, Moved,
};
pub use history::{FeedEntry, HistoryEntry};
pub use merge::{Merge, MergeTold};
pub use message::Message;
pub use observer::{Deliver, NewObserver, ObservedEvent, Observer, WebhookEvent};
pub use page::Page;
pub use parse::parse;
pub use patch::{Patch, PatchOperation, Patches};
pub use primitives::{
    ChangeLifecycle, Decide, Decision, Inherit, Inject, Injected, Injection, InjectionState, Spawn, Spawned,
};
pub use problem::{HeldBy, Problem, Status};
pub use reference::{NewReference, Reference, References};
pub use report::{Copied, Deleted, Doctor, EmitTold, Gc, Imported, Logged, Notified, Released, StatusSet, Summary};
pub use request::{
    Assign, ChangeOwner, CreateThread, EditMessage, Emit, Fork, Handoff, Mention, NewEvent, NewMessage, NewMessages,
    Nothing, Place, PutProject, RenewWriter, Rollback, RunDoctor, RunGc, SetCheckpoint, StepName, TakeWriter, Truncate,
    parse_body, parse_update,
};
#[cfg(feature = "schema")]
pub use schema::{AppendedMessages, ProblemTold};
pub use search::{
    Backfilled, RunBackfill, SearchFound, SearchMessage, SearchResult, SearchStatus, SearchThreads, SearchWhy,
};
pub use snapshot::Snapshot;
pub use summary::{Changed, DiffStats, ThreadSummary};
pub use thread::Thread;
pub use value::Value;
pub use work::{Begin, End, NewSubagent, NotifyParent, SetStatus, Step, SubagentThread};
pub use writer::Writer;
