//! What a thread can do.
//!
//! [`Engine`] is the front door. Everything that changes a thread is an [`Operation`]: it is decided by a pure
//! function of what was read, becomes one commit, and a store keeps it whole or not at all. Reads show the
//! *view* (what a thread shows, now or as of a version) or the *history* (all that was logged to it).

mod approvals;
mod authority;
mod beside;
mod cache;
mod calls;
mod copy;
mod delegations;
mod digest;
mod doctor;
mod engine;
mod error;
mod events;
mod export;
mod family;
mod files;
mod gate;
mod history;
mod import;
mod incoming;
mod keys;
mod lines;
mod live;
mod merge;
mod messages;
mod model_view;
mod observers;
mod operation;
mod ops;
mod policy;
mod projects;
mod search;
mod secrets;
mod shape;
mod slot;
mod summary;
mod timers;
mod view;
mod world;
mod writer;

pub use approvals::{Answer, Approval, ApprovalAnswer, ApprovalPage, Approvals, Verdict};
pub use copy::CopyReport;
pub use delegations::{Delegated, Revoked};
pub use digest::ContentHash;
pub use doctor::DoctorReport;
pub use engine::{Engine, Limits};
pub use error::Error;
pub use events::Logged;
pub use export::{ExportItem, Exporter, Selection};
pub use family::{Family, Relationship, RelationshipRole};
pub use files::{FileIs, FileRecord, FileStats, FileVersion, Files, Find, Grep, Grepped, ReferredPage};
pub use history::{FeedReader, HistoryEntry, Subscription};
pub use import::Importer;
pub use keys::{Key, NewKey, Scope};
pub use live::{
    Draft, DraftStep, Emitted, EmittedEvent, Events, Exclusive, LiveSettings, LiveThread, MessageChange, Observed,
    Observer, ReadWriter, Refused, Snapshot, ThreadChanges, ThreadEvent, ThreadStep, Unflushed,
};
pub use merge::{Merge, MergedTree, ThreadMerge, Validate};
pub use messages::{MessagePage, Page};
pub use model_view::ModelMessage;
pub use observers::{Courier, Delivery};
pub use operation::{Operation, Outcome};
pub use ops::agent::{ActivateSkill, Assign};
pub use ops::append::{Append, AppendEvent, Insert, NewAttachment, NewMessage};
pub use ops::archive::{Archive, Unarchive};
pub use ops::checkpoint::SetCheckpoint;
pub use ops::create::Create;
pub use ops::decide::{Decide, Decision};
pub use ops::delete::{Delete, DeleteMessage};
pub use ops::edit::EditMessage;
pub use ops::execution::{Begin, End, Progressed, Step};
pub use ops::files::{DeleteFile, MakeDirectory, MoveFile, NewFile, Over, RemoveDirectory, WriteFiles};
pub use ops::fork::{Fork, ForkPoint};
pub use ops::handoff::Handoff;
pub use ops::inject::{Acknowledge, Inject, Injection, InjectionState, Taken};
pub use ops::lifecycle::ChangeLifecycle;
pub use ops::list::{Changed, DiffStats, List, ThreadPage, ThreadSummary};
pub use ops::mention::Mention;
pub use ops::observe::{Observe, ThreadObserver, Unobserve};
pub use ops::owner::ChangeOwner;
pub use ops::queue::{EditQueued, Queue, Queued, RemoveQueued};
pub use ops::reference::{Reference, References, ThreadReference};
pub use ops::rollback::{Rollback, RollbackTo, StepName};
pub use ops::spawn::{Inherit, InheritItem, Spawn};
pub use ops::subagent::{NotifyParent, SetStatus, Subagent, SubagentThread};
pub use ops::transfer::{Direction, Transfer, Transferred};
pub use ops::truncate::{Truncate, TruncateFrom};
pub use ops::update::Update;
pub use ops::upload::{FileContent, Upload, Uploaded};
pub use ops::values::{SetValue, StoredValue, Values};
pub use policy::{Standing, Verb, standing};
pub use projects::{Project, ProjectDetails, Sandbox};
pub use search::{Backfilled, Hit, HitMessage, IndexStatus, Search};
pub use threadkeep_tree::{Case, Match, Mode};
pub use world::World;
pub use writer::TakeWriter;

/// What the engine answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;
