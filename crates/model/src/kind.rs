//! The kinds of entries: their codes on disk, their names, and what bounds them when they are seen through a link.

/// The kind of an entry, by its code on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the kind of the entry of the same name")]
pub enum Kind {
    MessageAppended = 1,
    EventLogged = 2,
    MessageInserted = 3,
    MessageEdited = 4,
    MessagesDeleted = 5,
    Truncated = 6,
    RolledBack = 7,
    ThreadChanged = 8,
    CheckpointSet = 9,
    Forked = 10,
    Related = 11,
    MessageQueued = 12,
    QueuedEdited = 13,
    QueuedRemoved = 14,
    MessageDelivered = 15,
    ExecutionBegan = 16,
    ExecutionStepped = 17,
    ExecutionEnded = 18,
    SkillActivated = 19,
    AgentAssigned = 20,
    ChildChanged = 21,
    ChildRemoved = 22,
    OwnerChanged = 23,
    FilesChanged = 24,
    ValuesChanged = 25,
    LifecycleChanged = 26,
    Injected = 27,
    InjectionTaken = 28,
    Decided = 29,
    Referenced = 30,
    ApprovalRequested = 31,
    ApprovalAnswered = 32,
    Delegated = 33,
    DelegationRevoked = 34,
    Observed = 35,
    ObserverRemoved = 36,
    Merged = 37,
}

/// What bounds an entry when it is seen through a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Messages and events.
    Messages,
    /// Edits, deletions and insertions.
    Changes,
    /// Files and directories.
    Files,
    /// Values, and with them the agent and its skills.
    Values,
    /// What belongs to one thread alone and is never inherited.
    Record,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 37] = [
        Kind::MessageAppended,
        Kind::EventLogged,
        Kind::MessageInserted,
        Kind::MessageEdited,
        Kind::MessagesDeleted,
        Kind::Truncated,
        Kind::RolledBack,
        Kind::ThreadChanged,
        Kind::CheckpointSet,
        Kind::Forked,
        Kind::Related,
        Kind::MessageQueued,
        Kind::QueuedEdited,
        Kind::QueuedRemoved,
        Kind::MessageDelivered,
        Kind::ExecutionBegan,
        Kind::ExecutionStepped,
        Kind::ExecutionEnded,
        Kind::SkillActivated,
        Kind::AgentAssigned,
        Kind::ChildChanged,
        Kind::ChildRemoved,
        Kind::OwnerChanged,
        Kind::FilesChanged,
        Kind::ValuesChanged,
        Kind::LifecycleChanged,
        Kind::Injected,
        Kind::InjectionTaken,
        Kind::Decided,
        Kind::Referenced,
        Kind::ApprovalRequested,
        Kind::ApprovalAnswered,
        Kind::Delegated,
        Kind::DelegationRevoked,
        Kind::Observed,
        Kind::ObserverRemoved,
        Kind::Merged,
    ];

    /// The format in which this program writes entries of this kind.
    pub const FORMAT: u8 = 1;

    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The kind as text, on the wire and in exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MessageAppended => "message_appended",
            Self::EventLogged => "event_logged",
            Self::MessageInserted => "message_inserted",
            Self::MessageEdited => "message_edited",
            Self::MessagesDeleted => "messages_deleted",
            Self::Truncated => "truncated",
            Self::RolledBack => "rolled_back",
            Self::ThreadChanged => "thread_changed",
            Self::CheckpointSet => "checkpoint_set",
            Self::Forked => "forked",
            Self::Related => "related",
            Self::MessageQueued => "message_queued",
            Self::QueuedEdited => "queued_edited",
            Self::QueuedRemoved => "queued_removed",
            Self::MessageDelivered => "message_delivered",
            Self::ExecutionBegan => "execution_began",
            Self::ExecutionStepped => "execution_stepped",
            Self::ExecutionEnded => "execution_ended",
            Self::SkillActivated => "skill_activated",
            Self::AgentAssigned => "agent_assigned",
            Self::ChildChanged => "child_changed",
            Self::ChildRemoved => "child_removed",
            Self::OwnerChanged => "owner_changed",
            Self::FilesChanged => "files_changed",
            Self::ValuesChanged => "values_changed",
            Self::LifecycleChanged => "lifecycle_changed",
            Self::Injected => "injected",
            Self::InjectionTaken => "injection_taken",
            Self::Decided => "decided",
            Self::Referenced => "referenced",
            Self::ApprovalRequested => "approval_requested",
            Self::ApprovalAnswered => "approval_answered",
            Self::Delegated => "delegated",
            Self::DelegationRevoked => "delegation_revoked",
            Self::Observed => "observed",
            Self::ObserverRemoved => "observer_removed",
            Self::Merged => "merged",
        }
    }

    /// The kind by its text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// What bounds entries of this kind.
    pub fn class(self) -> Class {
        match self {
            Self::MessageAppended | Self::EventLogged | Self::MessageDelivered => Class::Messages,
            Self::MessageInserted | Self::MessageEdited | Self::MessagesDeleted => Class::Changes,
            Self::Truncated
            | Self::RolledBack
            | Self::ThreadChanged
            | Self::CheckpointSet
            | Self::Forked
            | Self::Related
            | Self::MessageQueued
            | Self::QueuedEdited
            | Self::QueuedRemoved
            | Self::ExecutionBegan
            | Self::ExecutionStepped
            | Self::ExecutionEnded
            | Self::ChildChanged
            | Self::ChildRemoved
            | Self::OwnerChanged
            | Self::LifecycleChanged
            | Self::Injected
            | Self::InjectionTaken
            | Self::Decided
            | Self::Referenced
            | Self::ApprovalRequested
            | Self::ApprovalAnswered
            | Self::Delegated
            | Self::DelegationRevoked
            | Self::Observed
            | Self::ObserverRemoved
            | Self::Merged => Class::Record,
            Self::FilesChanged => Class::Files,
            Self::SkillActivated | Self::AgentAssigned | Self::ValuesChanged => Class::Values,
        }
    }

    /// Whether an entry of this kind can make a decision stale that was taken before it. Appended
    /// conversation cannot, nor can the back-link of a relation: they never conflict with anything.
    pub fn moves_era(self) -> bool {
        match self {
            Self::MessageAppended | Self::EventLogged | Self::Forked | Self::Related => false,
            Self::MessageInserted
            | Self::MessageEdited
            | Self::MessagesDeleted
            | Self::Truncated
            | Self::RolledBack
            | Self::ThreadChanged
            | Self::CheckpointSet
            | Self::MessageQueued
            | Self::QueuedEdited
            | Self::QueuedRemoved
            | Self::MessageDelivered
            | Self::ExecutionBegan
            | Self::ExecutionStepped
            | Self::ExecutionEnded
            | Self::SkillActivated
            | Self::AgentAssigned
            | Self::ChildChanged
            | Self::ChildRemoved
            | Self::OwnerChanged
            | Self::FilesChanged
            | Self::ValuesChanged
            | Self::LifecycleChanged
            | Self::Injected
            | Self::InjectionTaken
            | Self::Decided
            | Self::Referenced
            | Self::ApprovalRequested
            | Self::ApprovalAnswered
            | Self::Delegated
            | Self::DelegationRevoked
            | Self::Observed
            | Self::ObserverRemoved
            | Self::Merged => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_texts_of_kinds_are_unique_and_found_again() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
            assert_eq!(Kind::from_text(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::from_code(0), None);
    }
}
