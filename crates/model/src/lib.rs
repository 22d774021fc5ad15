//! The vocabulary of Threadkeep: plain data and pure functions. No I/O, no async, no clock.
//!
//! The one idea: a thread is a position in a shared history. [`Entry`] is what the log holds,
//! [`Segment`] is a run of entries with at most one parent [`Link`], [`Lineage`] is the chain of
//! segments a thread sees, [`Commit`] is the only way to add to it. [`Thread`] is where a thread
//! stands now: its [`Head`] and its [`Record`].

mod actor;
mod agent;
mod blob;
mod commit;
mod contain;
mod content;
mod derived;
mod entry;
mod error;
mod event;
mod facts;
mod file;
mod gc;
mod id;
mod injection;
mod json;
mod kind;
mod lease;
mod lifecycle;
mod lineage;
mod merge;
mod message;
mod observer;
mod record;
mod reference;
#[cfg(feature = "schema")]
pub mod schema;
mod segment;
mod tally;
mod thread;
mod time;
mod transfer;

pub use actor::{Account, Actor, ActorKind, Caller};
pub use agent::{AgentState, Child, Execution, ExecutionStatus, ParentCommunication, Skill};
pub use blob::{BlobHasher, BlobId};
pub use commit::{
    Advanced, Commit, Committed, Create, Expect, Idempotency, IdempotencyKey, NewEntry, NewSegment, Refusal,
    ThreadCommit, ThreadCommitted, Write, advance, born,
};
pub use contain::Value;
pub use content::{Content, Part};
pub use derived::{Change, ChangeOp, Derived, ItemIs, ItemKind, Target};
pub use entry::{Body, Entry};
pub use error::{Code, Invalid};
pub use event::{Event, EventKind};
pub use facts::{
    AgentAssigned, CheckpointSet, ChildRemoved, Decided, ExecutionBegan, ExecutionEnded, ExecutionStepped, Forked,
    Injected, InjectionTaken, Inserted, LifecycleChanged, MessageDelivered, MessageEdited, MessageQueued,
    MessagesDeleted, OwnerChanged, QueuedEdited, QueuedRemoved, Related, RolledBack, SkillActivated, ThreadChanged,
    Truncated,
};
pub use file::{
    CellIs, DiffStats, FileCell, FileChange, FilePath, FilesChanged, NewCell, Space, ValueChange, ValueKey,
    ValuesChanged,
};
pub use gc::reachable;
pub use id::{MessageId, MessageName, QueuedId, SegmentId, ShortId, ThreadId, ThreadName, Uuid};
pub use injection::{InjectionType, Urgency};
pub use json::{JSON_DEPTH_MAX, Json, strip_nulls};
pub use kind::{Class, Kind};
pub use lease::Lease;
pub use lifecycle::{InvalidTransition, Lifecycle, LifecycleAction};
pub use lineage::{Lineage, Span};
pub use merge::{
    Choice, ConflictStrategy, ConflictType, DecisionStrategy, FileConflict, FileOrigin, FileStrategy, MergeAction,
    MergeBase, MergeConflict, MergePlan, MergeSource, MergeStatus, Merged, MergedFile, MergedValue, Resolved,
    StateStrategy, Take, Validation, ValidationResult,
};
pub use message::{Attachment, Damaged, Message, MessageBody, MessageStatus, Role};
pub use observer::{Deliver, ObserverAdded, ObserverRemoved};
pub use record::{FieldChanges, Record, Visibility, fork_title, unforked};
pub use reference::{Binding, ReferenceScope, Referenced};
pub use segment::{Bounds, Link, Position, Segment, Version};
pub use tally::{Tally, Work};
pub use thread::{Checkpoint, Head, Relation, RelationKind, Thread};
pub use time::{Timestamp, parse_duration};
pub use transfer::{
    ApprovalAnswered, ApprovalAsked, ApprovalState, Authorisation, Capability, Delegation, DelegationRevoked, Fallback,
    REASON_BYTES_MAX, checked_agent, checked_reason,
};
