//! The vocabulary of Threadkeep: plain data and pure functions. No I/O, no async, no clock.
//!
//! The one idea: a thread is a position in a shared history. An [`Entry`] is a fact in the log, a [`Segment`] is a run
//! of entries with at most one parent [`Link`], a [`Lineage`] is the chain of segments that a thread sees, and a
//! [`Commit`] is the only way to add to it. A [`Thread`] is its [`Head`] and its [`Record`].
//!
//! The modules are in layers, with a blank line between two layers: a module uses only modules of earlier layers.

// Values from outside: errors, text, JSON, time, ids.
mod error;

mod text;

mod blob;
mod json;
mod position;
mod time;

mod contain;
mod id;
mod identity;

// The words of each topic.
mod actor;
mod capability;
mod content;
mod effect;
mod env;
mod injection;
mod lease;
mod lifecycle;
mod path;
mod process;
mod reference;
mod relation;

mod agent;
mod cell;
mod merge;
mod message;
mod run;

// Facts, the rows and the record that follow from them, and the table of all kinds.
mod derived;
mod record;

mod fact;

mod facts;

mod entry;

// The shape of the log, and the rules of commits.
mod tally;

mod segment;
mod thread;

mod commit;
mod gc;
mod lineage;

mod advance;

#[cfg(feature = "schema")]
pub mod schema;

pub use actor::{Account, Actor, ActorKind, Caller};
pub use advance::{Advanced, Place, advance, born};
pub use agent::{AgentState, Child, ParentCommunication, Skill};
pub use blob::{BlobHasher, BlobId};
pub use capability::{Authorisation, Capability};
pub use cell::{CellIs, DiffStats, FileCell, NewCell, Space};
pub use commit::{
    Commit, Committed, Create, Expect, Idempotency, IdempotencyKey, NewEntry, NewSegment, Refusal, ThreadCommit,
    ThreadCommitted, Write,
};
pub use contain::Value;
pub use content::{Content, Part};
pub use derived::{Change, ChangeOp, Derived, ItemIs, ItemKind, Target};
pub use effect::{EffectName, EffectOutcome};
pub use entry::{Body, Entry, Kind, ViewChange};
pub use env::{EnvName, EnvType, Variable};
pub use error::{Code, Invalid};
pub use facts::{
    AgentAssigned, ApprovalAnswered, ApprovalAsked, ApprovalState, AskedCall, CheckpointSet, ChildRemoved,
    ContextSummarized, Covered, Decided, Delegation, DelegationRevoked, Deliver, EffectClaimed, EffectEnded,
    EffectScheduled, EnvChange, EnvChanged, Event, EventKind, ExecutionBegan, ExecutionEnded, ExecutionStatus,
    ExecutionStepped, Fallback, FileChange, FilesChanged, Forked, Injected, InjectionTaken, Inserted, LifecycleChanged,
    Merged, MessageDelivered, MessageEdited, MessageQueued, MessagesDeleted, ObserverAdded, ObserverRemoved,
    OwnerChanged, QueuedEdited, QueuedRemoved, REASON_BYTES_MAX, Referenced, Related, RolledBack, RunEnded, RunStarted,
    RunStepped, RunStopAsked, RunTurnAsked, RunWoken, SkillActivated, ThreadChanged, ToolQueued, ToolTaken, Truncated,
    ValueChange, ValuesChanged, Walk, checked_agent, checked_reason,
};
pub use gc::reachable;
pub use id::{MessageId, MessageName, QueuedId, SegmentId, ShortId, ThreadId, ThreadName, Uuid};
pub use identity::identity;
pub use injection::{InjectionType, Urgency};
pub use json::{JSON_DEPTH_MAX, Json};
pub use lease::{Lease, LeaseToken};
pub use lifecycle::{InvalidTransition, Lifecycle, LifecycleAction};
pub use lineage::{Lineage, Span};
pub use merge::{
    Choice, ConflictStrategy, ConflictType, DecisionStrategy, FileConflict, FileOrigin, FileStrategy, MergeAction,
    MergeBase, MergeConflict, MergePlan, MergeSource, MergeStatus, MergedFile, MergedValue, Resolved, StateStrategy,
    Take, Validation, ValidationResult,
};
pub use message::{Attachment, Damaged, Message, MessageBody, MessageStatus, Role};
pub use path::{FilePath, ValueKey};
pub use position::{Bounds, Class, Position, Version};
pub use process::ProcessId;
pub use record::{FieldChanges, Record, Visibility, fork_title, unforked};
pub use reference::{Binding, ReferenceScope};
pub use relation::{Checkpoint, Relation, RelationKind};
pub use run::{
    Executor, ModelCall, Run, RunOutcome, RunSide, RunStatus, Sides, StopAsked, Usage, Wait, checked_reason_code,
};
pub use segment::{Link, Segment};
pub use tally::{Tally, Work};
pub use text::strip_nulls;
pub use thread::{Head, Thread};
pub use time::{Timestamp, parse_duration};
