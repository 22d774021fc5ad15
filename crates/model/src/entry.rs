//! Entries: facts in the past tense. What the log holds, and how it looks on disk. What kinds there are is next door, in
//! `kind`; what each fact says in `facts`; what rows follow from it in `derived`.
//!
//! Old formats are decoded for ever; a new one gets a new number.

use bytes::Bytes;
use serde::Deserialize;

use crate::{
    AgentAssigned, ApprovalAnswered, ApprovalAsked, BlobId, Change, ChangeOp, CheckpointSet, Child, ChildRemoved,
    Decided, Delegation, DelegationRevoked, Derived, DiffStats, Event, ExecutionBegan, ExecutionEnded,
    ExecutionStepped, FilesChanged, Forked, Injected, InjectionTaken, Inserted, ItemIs, ItemKind, Kind,
    LifecycleChanged, Merged, MessageBody, MessageDelivered, MessageEdited, MessageQueued, MessagesDeleted,
    ObserverAdded, ObserverRemoved, OwnerChanged, QueuedEdited, QueuedRemoved, Referenced, Related, RelationKind,
    RolledBack, SkillActivated, Space, ThreadChanged, Truncated, ValuesChanged,
};

/// A fact about a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A message was appended.
    MessageAppended(MessageBody),
    /// An event that is not a message was logged.
    EventLogged(Event),
    /// A message was put before another one.
    MessageInserted(Inserted),
    /// A message got new content or metadata.
    MessageEdited(MessageEdited),
    /// Messages were deleted.
    MessagesDeleted(MessagesDeleted),
    /// All messages from an index on were dropped from the view. Opens a segment.
    Truncated(Truncated),
    /// The thread went back to an earlier version. Opens a segment.
    RolledBack(RolledBack),
    /// Fields of the record changed.
    ThreadChanged(ThreadChanged),
    /// A version got a name.
    CheckpointSet(CheckpointSet),
    /// A thread was forked from this one.
    Forked(Forked),
    /// Another thread goes on from this one, or is named in it.
    Related(Related),
    /// A message waits until an execution takes it up.
    MessageQueued(MessageQueued),
    /// A message that waits says something else now.
    QueuedEdited(QueuedEdited),
    /// A message does not wait any more: it was withdrawn.
    QueuedRemoved(QueuedRemoved),
    /// A message that waited joined the conversation.
    MessageDelivered(MessageDelivered),
    /// Somebody began to work on the thread.
    ExecutionBegan(ExecutionBegan),
    /// The work went one step further.
    ExecutionStepped(ExecutionStepped),
    /// The work ended.
    ExecutionEnded(ExecutionEnded),
    /// A skill was activated.
    SkillActivated(SkillActivated),
    /// The thread was assigned to another agent.
    AgentAssigned(AgentAssigned),
    /// A subagent's thread was registered, or what is known of it changed.
    ChildChanged(Child),
    /// A subagent's thread is gone from the registry.
    ChildRemoved(ChildRemoved),
    /// The thread belongs to another account.
    OwnerChanged(OwnerChanged),
    /// Files or directories were written or removed.
    FilesChanged(FilesChanged),
    /// Values were set or removed.
    ValuesChanged(ValuesChanged),
    /// The thread's life went on: it rests, goes on, is done, given up or put away.
    LifecycleChanged(LifecycleChanged),
    /// Somebody put something before whoever works on the thread.
    Injected(Injected),
    /// Something that was injected was taken up.
    InjectionTaken(InjectionTaken),
    /// A question was answered.
    Decided(Decided),
    /// This thread reads another one.
    Referenced(Referenced),
    /// Somebody asks to be allowed something.
    ApprovalRequested(ApprovalAsked),
    /// An approval was answered, by somebody or by its timeout.
    ApprovalAnswered(ApprovalAnswered),
    /// Agents may do something without asking.
    Delegated(Delegation),
    /// Agents have to ask again.
    DelegationRevoked(DelegationRevoked),
    /// This thread wants to be told of another one.
    Observed(ObserverAdded),
    /// This thread is not told of another one any more.
    ObserverRemoved(ObserverRemoved),
    /// What other threads made was merged into this one, or would have been.
    Merged(Box<Merged>),
}

/// Where the body of an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// With the entry.
    Inline(Bytes),
    /// In the blob store.
    Blob(BlobId),
    /// Nowhere any more: it was erased.
    Absent,
}

impl Entry {
    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::MessageAppended(_) => Kind::MessageAppended,
            Self::EventLogged(_) => Kind::EventLogged,
            Self::MessageInserted(_) => Kind::MessageInserted,
            Self::MessageEdited(_) => Kind::MessageEdited,
            Self::MessagesDeleted(_) => Kind::MessagesDeleted,
            Self::Truncated(_) => Kind::Truncated,
            Self::RolledBack(_) => Kind::RolledBack,
            Self::ThreadChanged(_) => Kind::ThreadChanged,
            Self::CheckpointSet(_) => Kind::CheckpointSet,
            Self::Forked(_) => Kind::Forked,
            Self::Related(_) => Kind::Related,
            Self::MessageQueued(_) => Kind::MessageQueued,
            Self::QueuedEdited(_) => Kind::QueuedEdited,
            Self::QueuedRemoved(_) => Kind::QueuedRemoved,
            Self::MessageDelivered(_) => Kind::MessageDelivered,
            Self::ExecutionBegan(_) => Kind::ExecutionBegan,
            Self::ExecutionStepped(_) => Kind::ExecutionStepped,
            Self::ExecutionEnded(_) => Kind::ExecutionEnded,
            Self::SkillActivated(_) => Kind::SkillActivated,
            Self::AgentAssigned(_) => Kind::AgentAssigned,
            Self::ChildChanged(_) => Kind::ChildChanged,
            Self::ChildRemoved(_) => Kind::ChildRemoved,
            Self::OwnerChanged(_) => Kind::OwnerChanged,
            Self::FilesChanged(_) => Kind::FilesChanged,
            Self::ValuesChanged(_) => Kind::ValuesChanged,
            Self::LifecycleChanged(_) => Kind::LifecycleChanged,
            Self::Injected(_) => Kind::Injected,
            Self::InjectionTaken(_) => Kind::InjectionTaken,
            Self::Decided(_) => Kind::Decided,
            Self::Referenced(_) => Kind::Referenced,
            Self::ApprovalRequested(_) => Kind::ApprovalRequested,
            Self::ApprovalAnswered(_) => Kind::ApprovalAnswered,
            Self::Delegated(_) => Kind::Delegated,
            Self::DelegationRevoked(_) => Kind::DelegationRevoked,
            Self::Observed(_) => Kind::Observed,
            Self::ObserverRemoved(_) => Kind::ObserverRemoved,
            Self::Merged(_) => Kind::Merged,
        }
    }

    /// The body as it goes to disk.
    pub fn encode(&self) -> Bytes {
        let encoded = match self {
            Self::MessageAppended(body) => serde_json::to_vec(body),
            Self::EventLogged(body) => serde_json::to_vec(body),
            Self::MessageInserted(body) => serde_json::to_vec(body),
            Self::MessageEdited(body) => serde_json::to_vec(body),
            Self::MessagesDeleted(body) => serde_json::to_vec(body),
            Self::Truncated(body) => serde_json::to_vec(body),
            Self::RolledBack(body) => serde_json::to_vec(body),
            Self::ThreadChanged(body) => serde_json::to_vec(body),
            Self::CheckpointSet(body) => serde_json::to_vec(body),
            Self::Forked(body) => serde_json::to_vec(body),
            Self::Related(body) => serde_json::to_vec(body),
            Self::MessageQueued(body) => serde_json::to_vec(body),
            Self::QueuedEdited(body) => serde_json::to_vec(body),
            Self::QueuedRemoved(body) => serde_json::to_vec(body),
            Self::MessageDelivered(body) => serde_json::to_vec(body),
            Self::ExecutionBegan(body) => serde_json::to_vec(body),
            Self::ExecutionStepped(body) => serde_json::to_vec(body),
            Self::ExecutionEnded(body) => serde_json::to_vec(body),
            Self::SkillActivated(body) => serde_json::to_vec(body),
            Self::AgentAssigned(body) => serde_json::to_vec(body),
            Self::ChildChanged(body) => serde_json::to_vec(body),
            Self::ChildRemoved(body) => serde_json::to_vec(body),
            Self::OwnerChanged(body) => serde_json::to_vec(body),
            Self::FilesChanged(body) => serde_json::to_vec(body),
            Self::ValuesChanged(body) => serde_json::to_vec(body),
            Self::LifecycleChanged(body) => serde_json::to_vec(body),
            Self::Injected(body) => serde_json::to_vec(body),
            Self::InjectionTaken(body) => serde_json::to_vec(body),
            Self::Decided(body) => serde_json::to_vec(body),
            Self::Referenced(body) => serde_json::to_vec(body),
            Self::ApprovalRequested(body) => serde_json::to_vec(body),
            Self::ApprovalAnswered(body) => serde_json::to_vec(body),
            Self::Delegated(body) => serde_json::to_vec(body),
            Self::DelegationRevoked(body) => serde_json::to_vec(body),
            Self::Observed(body) => serde_json::to_vec(body),
            Self::ObserverRemoved(body) => serde_json::to_vec(body),
            Self::Merged(body) => serde_json::to_vec(body),
        };
        encoded.expect("entry bodies have text keys and plain values").into()
    }

    /// Reads a body from disk.
    ///
    /// # Errors
    /// If the body is damaged, or the format is newer than this program.
    pub fn decode(kind: Kind, format: u8, body: &[u8]) -> Result<Self, String> {
        if format != Kind::FORMAT {
            return Err(format!("a {} entry has format {format}; this program reads {}", kind.as_str(), Kind::FORMAT));
        }
        fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
            serde_json::from_slice(body).map_err(|error| error.to_string())
        }
        Ok(match kind {
            Kind::MessageAppended => Self::MessageAppended(read(body)?),
            Kind::EventLogged => Self::EventLogged(read(body)?),
            Kind::MessageInserted => Self::MessageInserted(read(body)?),
            Kind::MessageEdited => Self::MessageEdited(read(body)?),
            Kind::MessagesDeleted => Self::MessagesDeleted(read(body)?),
            Kind::Truncated => Self::Truncated(read(body)?),
            Kind::RolledBack => Self::RolledBack(read(body)?),
            Kind::ThreadChanged => Self::ThreadChanged(read(body)?),
            Kind::CheckpointSet => Self::CheckpointSet(read(body)?),
            Kind::Forked => Self::Forked(read(body)?),
            Kind::Related => Self::Related(read(body)?),
            Kind::MessageQueued => Self::MessageQueued(read(body)?),
            Kind::QueuedEdited => Self::QueuedEdited(read(body)?),
            Kind::QueuedRemoved => Self::QueuedRemoved(read(body)?),
            Kind::MessageDelivered => Self::MessageDelivered(read(body)?),
            Kind::ExecutionBegan => Self::ExecutionBegan(read(body)?),
            Kind::ExecutionStepped => Self::ExecutionStepped(read(body)?),
            Kind::ExecutionEnded => Self::ExecutionEnded(read(body)?),
            Kind::SkillActivated => Self::SkillActivated(read(body)?),
            Kind::AgentAssigned => Self::AgentAssigned(read(body)?),
            Kind::ChildChanged => Self::ChildChanged(read(body)?),
            Kind::ChildRemoved => Self::ChildRemoved(read(body)?),
            Kind::OwnerChanged => Self::OwnerChanged(read(body)?),
            Kind::FilesChanged => Self::FilesChanged(read(body)?),
            Kind::ValuesChanged => Self::ValuesChanged(read(body)?),
            Kind::LifecycleChanged => Self::LifecycleChanged(read(body)?),
            Kind::Injected => Self::Injected(read(body)?),
            Kind::InjectionTaken => Self::InjectionTaken(read(body)?),
            Kind::Decided => Self::Decided(read(body)?),
            Kind::Referenced => Self::Referenced(read(body)?),
            Kind::ApprovalRequested => Self::ApprovalRequested(read(body)?),
            Kind::ApprovalAnswered => Self::ApprovalAnswered(read(body)?),
            Kind::Delegated => Self::Delegated(read(body)?),
            Kind::DelegationRevoked => Self::DelegationRevoked(read(body)?),
            Kind::Observed => Self::Observed(read(body)?),
            Kind::ObserverRemoved => Self::ObserverRemoved(read(body)?),
            Kind::Merged => Self::Merged(read(body)?),
        })
    }

    /// The rows that follow from it.
    pub fn derived(&self) -> Derived {
        match self {
            Self::MessageAppended(body) => Derived::Message { role: body.role, silent: body.silent, depth: body.depth },
            Self::MessageInserted(inserted) => Derived::Change(Change {
                op: ChangeOp::Insert { role: inserted.message.role },
                root: inserted.root,
                targets: vec![inserted.before.position],
            }),
            Self::MessageEdited(edited) => Derived::Change(Change {
                op: ChangeOp::Edit { content: edited.content.is_some(), metadata: edited.metadata.is_some() },
                root: edited.root,
                targets: vec![edited.target.position],
            }),
            Self::MessagesDeleted(deleted) => Derived::Change(Change {
                op: ChangeOp::Delete,
                root: deleted.root,
                targets: deleted.targets.iter().map(|target| target.position).collect(),
            }),
            Self::Forked(forked) => Derived::Relation {
                child: forked.child,
                kind: RelationKind::Fork,
                index: forked.index,
                anchor: forked.anchor,
                comment: None,
            },
            Self::Related(related) => Derived::Relation {
                child: related.child,
                kind: related.kind,
                index: related.index,
                anchor: related.anchor,
                comment: related.comment.clone(),
            },
            Self::CheckpointSet(checkpoint) => {
                Derived::Checkpoint { name: checkpoint.name.clone(), version: checkpoint.version }
            }
            Self::MessageQueued(queued) => {
                let kind = ItemKind::of_queued(queued.message.silent);
                Derived::Item { kind, key: None, is: ItemIs::There, due: None }
            }
            Self::QueuedEdited(edited) => {
                let kind = ItemKind::of_queued(edited.message.silent);
                Derived::there(kind, edited.item.to_string())
            }
            Self::QueuedRemoved(removed) => {
                let kind = ItemKind::of_queued(removed.silent);
                Derived::gone(kind, removed.item.to_string())
            }
            Self::MessageDelivered(delivered) => Derived::Delivered {
                item: delivered.item,
                role: delivered.message.role,
                silent: delivered.message.silent,
                depth: delivered.message.depth,
            },
            Self::SkillActivated(_) | Self::AgentAssigned(_) => Derived::State,
            Self::ChildChanged(child) => Derived::there(ItemKind::Child, child.reference.to_string()),
            Self::ChildRemoved(removed) => Derived::gone(ItemKind::Child, removed.reference.to_string()),
            Self::FilesChanged(changed) => {
                let (cells, stats, bytes) = (changed.cells(), changed.stats, changed.bytes());
                Derived::Cells { space: Space::Files, cells, stats, bytes }
            }
            Self::ValuesChanged(changed) => {
                let (cells, stats) = (changed.cells(), DiffStats::default());
                Derived::Cells { space: Space::Values, cells, stats, bytes: 0 }
            }
            Self::Injected(injected) => Derived::there(ItemKind::Injection, injected.id.to_string()),
            Self::InjectionTaken(taken) => Derived::Item {
                kind: ItemKind::InjectionTaken,
                key: Some(taken.id.to_string()),
                is: ItemIs::InsteadOf(ItemKind::Injection),
                due: None,
            },
            // Each has its own place, not its question's: where one is undone, the answer before it holds again.
            Self::Decided(_) => Derived::Item { kind: ItemKind::Decision, key: None, is: ItemIs::There, due: None },
            Self::Referenced(referenced) => Derived::there(ItemKind::Reference, referenced.id.to_string()),
            Self::ApprovalRequested(asked) => Derived::Item {
                kind: ItemKind::Approval,
                key: Some(asked.id.to_string()),
                is: ItemIs::There,
                due: asked.due(),
            },
            Self::ApprovalAnswered(answered) => Derived::there(ItemKind::Approval, answered.approval.id.to_string()),
            Self::Delegated(delegation) => Derived::there(ItemKind::Delegation, delegation.id.to_string()),
            Self::DelegationRevoked(revoked) => Derived::gone(ItemKind::Delegation, revoked.id.to_string()),
            Self::Observed(added) => Derived::there(ItemKind::Observer, added.id.to_string()),
            Self::ObserverRemoved(removed) => Derived::gone(ItemKind::Observer, removed.id.to_string()),
            Self::Merged(merged) => Derived::there(ItemKind::Merge, merged.id.to_string()),
            Self::EventLogged(_)
            | Self::Truncated(_)
            | Self::RolledBack(_)
            | Self::ThreadChanged(_)
            | Self::ExecutionBegan(_)
            | Self::ExecutionStepped(_)
            | Self::ExecutionEnded(_)
            | Self::OwnerChanged(_)
            | Self::LifecycleChanged(_) => Derived::Nothing,
        }
    }

    /// The blobs it names beside its own body.
    pub fn blobs(&self) -> Vec<BlobId> {
        let message = match self {
            Self::MessageAppended(body) => body,
            Self::MessageInserted(inserted) => &inserted.message,
            Self::MessageQueued(queued) => &queued.message,
            Self::QueuedEdited(edited) => &edited.message,
            Self::MessageDelivered(delivered) => &delivered.message,
            Self::FilesChanged(changed) => return changed.blobs(),
            Self::EventLogged(_)
            | Self::MessageEdited(_)
            | Self::MessagesDeleted(_)
            | Self::Truncated(_)
            | Self::RolledBack(_)
            | Self::ThreadChanged(_)
            | Self::CheckpointSet(_)
            | Self::Forked(_)
            | Self::Related(_)
            | Self::QueuedRemoved(_)
            | Self::ExecutionBegan(_)
            | Self::ExecutionStepped(_)
            | Self::ExecutionEnded(_)
            | Self::SkillActivated(_)
            | Self::AgentAssigned(_)
            | Self::ChildChanged(_)
            | Self::ChildRemoved(_)
            | Self::OwnerChanged(_)
            | Self::ValuesChanged(_)
            | Self::LifecycleChanged(_)
            | Self::Injected(_)
            | Self::InjectionTaken(_)
            | Self::Decided(_)
            | Self::Referenced(_)
            | Self::ApprovalRequested(_)
            | Self::ApprovalAnswered(_)
            | Self::Delegated(_)
            | Self::DelegationRevoked(_)
            | Self::Observed(_)
            | Self::ObserverRemoved(_)
            | Self::Merged(_) => return Vec::new(),
        };
        message.attachments.iter().map(|attachment| attachment.id).collect()
    }
}
