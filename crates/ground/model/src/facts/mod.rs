//! Facts in the past tense: the bodies of entries, each with the rows, the blobs and the record that follow from it.

mod agents;
mod authority;
mod context;
mod conversation;
mod effects;
mod env;
mod files;
mod merged;
mod queue;
mod relations;
mod runs;
mod steering;
mod thread;

pub use agents::{AgentAssigned, ChildRemoved, SkillActivated};
pub use authority::{
    ApprovalAnswered, ApprovalAsked, ApprovalState, AskedCall, Delegation, DelegationRevoked, Fallback,
    REASON_BYTES_MAX, checked_agent, checked_reason,
};
pub use context::{ContextSummarized, Covered};
pub use conversation::{Event, EventKind, Inserted, MessageEdited, MessagesDeleted, RolledBack, Truncated, Walk};
pub use effects::{EffectClaimed, EffectEnded, EffectScheduled};
pub use env::{EnvChange, EnvChanged};
pub use files::{FileChange, FilesChanged, ValueChange, ValuesChanged};
pub use merged::Merged;
pub use queue::{MessageDelivered, MessageQueued, QueuedEdited, QueuedRemoved, ToolQueued, ToolTaken};
pub use relations::{Deliver, Forked, ObserverAdded, ObserverRemoved, Referenced, Related};
pub use runs::{
    ExecutionBegan, ExecutionEnded, ExecutionStatus, ExecutionStepped, RunEnded, RunStarted, RunStepped, RunStopAsked,
    RunTurnAsked, RunWoken,
};
pub use steering::{Decided, Injected, InjectionTaken};
pub use thread::{CheckpointSet, LifecycleChanged, OwnerChanged, ThreadChanged};
