//! Why an operation was refused: stable codes, and messages a user can act on.

use threadkeep_model::{
    ApprovalState, Damaged, Execution, FilePath, Invalid, InvalidTransition, Lease, Lifecycle, MessageName, QueuedId,
    ThreadName, Uuid, Validation, ValueKey, Version,
};
use threadkeep_store::StoreError;

/// Why an operation was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value breaks a rule.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// There is no such thread, for this caller.
    #[error("there is no thread {thread}")]
    ThreadNotFound {
        /// As it was named.
        thread: ThreadName,
    },
    /// The thread shows no such message.
    #[error("the thread shows no message {message}: it is unknown, deleted, or not in this view")]
    MessageNotFound {
        /// As it was named.
        message: MessageName,
    },
    /// The thread has no such message by index.
    #[error("the thread shows {count} messages, so there is none with index {index} (indexes count from 0)")]
    IndexOutOfRange {
        /// The index that was asked for.
        index: u64,
        /// How many messages there are.
        count: u64,
    },
    /// The thread has no such checkpoint.
    #[error("the thread has no checkpoint '{name}'")]
    CheckpointNotFound {
        /// The name.
        name: String,
    },
    /// The thread has not been at that version.
    #[error("the thread is at version {current}; version {version} lies in the future")]
    VersionInFuture {
        /// The version that was asked for.
        version: Version,
        /// Where the thread is.
        current: Version,
    },
    /// The thread did not exist at that time.
    #[error("the thread did not exist yet at {time}")]
    BeforeBirth {
        /// The time that was asked for.
        time: threadkeep_model::Timestamp,
    },
    /// The thread is at another version than the caller expects.
    #[error("the thread is at version {current}, not {expected}: read it again, then retry")]
    VersionConflict {
        /// What the caller expects.
        expected: Version,
        /// Where the thread is.
        current: Version,
    },
    /// Somebody else is the thread's exclusive writer.
    #[error("{} is the exclusive writer of the thread until {}", by.holder, by.until)]
    WriterHeld {
        /// The lease that is held.
        by: Lease,
    },
    /// The lease under which the caller wrote has ended.
    #[error("the writer's lease has ended{}: nothing was written; read the thread again, then take a new lease",
        to.as_ref().map_or(String::new(), |to| format!(", and {} holds one until {}", to.holder, to.until)))]
    WriterLost {
        /// The lease that somebody else took since, if it is held.
        to: Option<Lease>,
    },
    /// The read-writer was disposed.
    #[error("the read-writer was disposed: open a new one")]
    WriterDisposed,
    /// Updates of a read-writer were not kept.
    #[error("{} not kept{}", updates_were(updates.len()),
        updates.first().map_or(String::new(), |first| format!(": {}", first.error)))]
    UpdatesRefused {
        /// What they would have changed, and why each did not.
        updates: Vec<crate::Refused>,
    },
    /// A version did not become durable in time. It is still being tried.
    #[error("version {target} is not durable yet: the thread is at {durable}, and {pending} updates wait")]
    FlushTimeout {
        /// The version that was waited for.
        target: Version,
        /// The version that is durable.
        durable: Version,
        /// How many updates wait.
        pending: usize,
    },
    /// A read-writer has too many updates that are not flushed.
    #[error("{updates} updates with {bytes} bytes are not flushed yet: wait until there is room")]
    WriteBehindFull {
        /// How many updates wait, or were refused and not taken back.
        updates: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// The thread's content may not change any more.
    #[error("the thread is {}: its content cannot change; fork it to go on", state.as_str())]
    ThreadClosed {
        /// Its state.
        state: Lifecycle,
    },
    /// The thread rests: nothing begins on it, and it is not moved back.
    #[error("the thread is suspended: resume it first; meanwhile messages can be queued")]
    ThreadSuspended,
    /// The thread's life does not go that way.
    #[error(transparent)]
    InvalidTransition(#[from] InvalidTransition),
    /// The thread was terminated: nothing starts on it any more.
    #[error("the thread was terminated: nothing is queued or begun on it any more; fork it to go on")]
    ThreadTerminated,
    /// The thread is put away for good.
    #[error("the thread's lifecycle is archived, which is final: it cannot be brought back; fork it to go on")]
    ArchivedForGood,
    /// As many messages wait as may.
    #[error("{max} {}messages wait already, which is as many as may; remove one, or let an execution take them up",
        if *silent { "silent " } else { "" })]
    QueueFull {
        /// How many may wait.
        max: usize,
        /// Whether it is about silent ones, which have a bound of their own.
        silent: bool,
    },
    /// As many injections wait as may.
    #[error(
        "{max} injections wait already, which is as many as may; acknowledge one, or let an execution take them up"
    )]
    InjectionsFull {
        /// How many may wait.
        max: usize,
    },
    /// The thread has no such injection.
    #[error("the thread has no injection {injection}: it is unknown, or was undone by a rollback")]
    InjectionNotFound {
        /// Which one.
        injection: Uuid,
    },
    /// The thread records as many decisions as may be.
    #[error("the thread records {max} decisions already, which is as many as may be; go on in a fork")]
    DecisionsFull {
        /// How many may be.
        max: usize,
    },
    /// No such message waits.
    #[error("no message {item} waits on this thread: it is unknown, removed, or delivered already")]
    QueuedNotFound {
        /// Which one.
        item: QueuedId,
    },
    /// Somebody else works on the thread.
    #[error("execution {} of {} is open since {}; it may be taken over after {}", open.id, open.by, open.began, open.until)]
    ExecutionOpen {
        /// The execution that is open.
        open: Box<Execution>,
    },
    /// The execution ended, or was taken over, rolled back or truncated away.
    #[error("execution {execution} is over{}: nothing was written; begin a new one",
        by.as_ref().map_or(String::new(), |by| format!(", and {} of {} is open", by.id, by.by)))]
    ExecutionOver {
        /// Which one.
        execution: Uuid,
        /// The execution that is open instead.
        by: Option<Box<Execution>>,
    },
    /// No execution is open.
    #[error("there is nothing to cancel: no execution is open on the thread")]
    NothingToCancel,
    /// There is no such approval, for this caller.
    #[error("there is no approval {approval}")]
    ApprovalNotFound {
        /// Which one.
        approval: Uuid,
    },
    /// There is no such delegation, for this caller, or it was revoked.
    #[error("there is no delegation {delegation}: it is unknown, or revoked already")]
    DelegationNotFound {
        /// Which one.
        delegation: Uuid,
    },
    /// The approval was answered before.
    #[error("approval {approval} is {} since {at}, by {by}: it is answered once", state.as_str())]
    ApprovalAnswered {
        /// Which one.
        approval: Uuid,
        /// How it stands.
        state: ApprovalState,
        /// Who answered.
        by: String,
        /// When.
        at: threadkeep_model::Timestamp,
    },
    /// What asked for the approval was undone by a rollback.
    #[error("approval {approval} does not hold: what asked for it was rolled back; it holds again once that is undone")]
    ApprovalUndone {
        /// Which one.
        approval: Uuid,
    },
    /// The agent may not do this before somebody approves.
    #[error("{capability} needs an approval: {approval} is pending until a human answers it")]
    ApprovalRequired {
        /// The approval that is pending.
        approval: Uuid,
        /// What is needed.
        capability: String,
    },
    /// There is no such reference, for this caller.
    #[error("there is no reference {reference}")]
    ReferenceNotFound {
        /// Which one.
        reference: Uuid,
    },
    /// The reference shows nothing any more, or not at present.
    #[error("reference {reference} shows nothing: {what}")]
    ReferenceGone {
        /// Which one.
        reference: Uuid,
        /// Why.
        what: String,
    },
    /// The thread has no such observer.
    #[error("the thread has no observer {observer}")]
    ObserverNotFound {
        /// Which one.
        observer: Uuid,
    },
    /// Whoever asks may not do that.
    #[error("{what}")]
    NotAllowed {
        /// What, and who may.
        what: String,
    },
    /// There was no rollback or truncation.
    #[error("there is nothing to undo: the thread was not rolled back or truncated")]
    NothingToUndo,
    /// The message has no such attachment.
    #[error("the message has no attachment {attachment}")]
    AttachmentNotFound {
        /// Which one.
        attachment: threadkeep_model::BlobId,
    },
    /// There is no such file.
    #[error("there is no file {path}")]
    FileNotFound {
        /// Where.
        path: FilePath,
    },
    /// Something is where a file must be new.
    #[error("there is something at {path} already: write over it, or write elsewhere")]
    FileExists {
        /// Where.
        path: FilePath,
        /// Where the thread is.
        current: Version,
    },
    /// A file was expected where a directory is.
    #[error("{path} is a directory")]
    IsADirectory {
        /// Where.
        path: FilePath,
    },
    /// A directory was expected where a file is.
    #[error("{path} is a file, not a directory")]
    NotADirectory {
        /// Where.
        path: FilePath,
    },
    /// Something is in the directory.
    #[error("the directory {path} is not empty: delete or move what is in it first")]
    DirectoryNotEmpty {
        /// Where.
        path: FilePath,
    },
    /// There is no small picture of the file.
    #[error("there is no small picture of {path}: {why}")]
    NoThumbnail {
        /// Where.
        path: FilePath,
        /// Why.
        why: String,
    },
    /// The thread would write more to files than it may.
    #[error("the thread wrote {used} bytes to files; {more} more would be above its quota of {max}")]
    QuotaExceeded {
        /// Bytes that it wrote so far.
        used: u64,
        /// Bytes that it wants to write.
        more: u64,
        /// Bytes that it may write.
        max: u64,
    },
    /// A value has another version than the caller expects.
    #[error(
        "the value {key} is at version {current}, not {expected}: read it again, then retry (0 means that there is none)"
    )]
    ValueConflict {
        /// Its key.
        key: ValueKey,
        /// What the caller expects.
        expected: Version,
        /// Where the value is.
        current: Version,
    },
    /// There is no such merge.
    #[error("there was no merge {merge} into this thread")]
    MergeNotFound {
        /// Which one.
        merge: Uuid,
    },
    /// No command checks merges like that.
    #[error("no command is configured for validation '{}'; whoever runs the server names one: threadkeep serve --merge-{}", validation.as_str(), validation.as_str())]
    ValidationNotConfigured {
        /// Which check.
        validation: Validation,
    },
    /// The key was used for another request.
    #[error("the idempotency key was used for a different request within the last 24 hours; use a new key")]
    IdempotencyKeyReused,
    /// A copy found something else on its target than in its source.
    #[error("the target differs from the source: {what}")]
    CopyDiffers {
        /// What, and which thread where that is known.
        what: String,
    },
    /// What makes vectors does not.
    #[error("no vectors can be made: {what}")]
    Embedder {
        /// What it said.
        what: String,
    },
    /// Others changed the thread faster than this could be decided.
    #[error("the thread is being changed by many others; try again")]
    Busy,
    /// The store could not do it.
    #[error(transparent)]
    Store(StoreError),
}

impl Error {
    /// The stable code, as on the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(invalid) => invalid.code.as_str(),
            Self::ThreadNotFound { .. } => "thread_not_found",
            Self::MessageNotFound { .. } => "message_not_found",
            Self::IndexOutOfRange { .. } => "index_out_of_range",
            Self::CheckpointNotFound { .. } => "checkpoint_not_found",
            Self::VersionInFuture { .. } => "version_in_future",
            Self::BeforeBirth { .. } => "before_birth",
            Self::VersionConflict { .. } => "version_conflict",
            Self::WriterHeld { .. } => "writer_held",
            Self::WriterLost { .. } => "writer_lost",
            Self::WriterDisposed => "writer_disposed",
            Self::UpdatesRefused { .. } => "updates_refused",
            Self::FlushTimeout { .. } => "flush_timeout",
            Self::WriteBehindFull { .. } => "write_behind_full",
            Self::ThreadClosed { .. } => "thread_closed",
            Self::ThreadSuspended => "thread_suspended",
            Self::InvalidTransition(_) => "invalid_transition",
            Self::ThreadTerminated => "thread_terminated",
            Self::ArchivedForGood => "invalid_transition",
            Self::QueueFull { .. } => "queue_full",
            Self::InjectionsFull { .. } => "injections_full",
            Self::InjectionNotFound { .. } => "injection_not_found",
            Self::DecisionsFull { .. } => "decisions_full",
            Self::QueuedNotFound { .. } => "queued_not_found",
            Self::ExecutionOpen { .. } => "execution_open",
            Self::ExecutionOver { .. } => "execution_over",
            Self::NothingToCancel => "nothing_to_cancel",
            Self::ApprovalNotFound { .. } => "approval_not_found",
            Self::DelegationNotFound { .. } => "delegation_not_found",
            Self::ApprovalAnswered { .. } => "approval_answered",
            Self::ApprovalUndone { .. } => "approval_undone",
            Self::ApprovalRequired { .. } => "approval_required",
            Self::ReferenceNotFound { .. } => "reference_not_found",
            Self::ReferenceGone { .. } => "reference_gone",
            Self::ObserverNotFound { .. } => "observer_not_found",
            Self::NotAllowed { .. } => "forbidden",
            Self::NothingToUndo => "nothing_to_undo",
            Self::AttachmentNotFound { .. } => "attachment_not_found",
            Self::FileNotFound { .. } => "file_not_found",
            Self::IsADirectory { .. } => "is_a_directory",
            Self::NotADirectory { .. } => "not_a_directory",
            Self::DirectoryNotEmpty { .. } => "directory_not_empty",
            Self::NoThumbnail { .. } => "no_thumbnail",
            Self::QuotaExceeded { .. } => "quota_exceeded",
            Self::ValueConflict { .. } | Self::FileExists { .. } => "version_conflict",
            Self::MergeNotFound { .. } => "merge_not_found",
            Self::ValidationNotConfigured { .. } => "validation_not_configured",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::CopyDiffers { .. } => "copy_differs",
            Self::Embedder { .. } => "embedder_failed",
            Self::Busy => "busy",
            Self::Store(error) => match error {
                StoreError::DiskFull => "disk_full",
                StoreError::Failed { .. } => "storage_failed",
                StoreError::Unavailable { .. } => "unavailable",
                StoreError::Import { .. } => "import_conflict",
                StoreError::CannotOpen { .. } => "cannot_open_store",
                StoreError::NotFound { .. } => "store_not_found",
                StoreError::Unauthorized { .. } => "unauthorized",
                StoreError::Forbidden { .. } => "forbidden",
                StoreError::Newer { .. } => "store_is_newer",
                StoreError::Corrupt { .. } => "store_damaged",
                StoreError::ThreadTaken { .. } => "thread_exists",
                StoreError::VersionConflict { .. }
                | StoreError::EraMoved { .. }
                | StoreError::WriterHeld { .. }
                | StoreError::WriterLost { .. }
                | StoreError::ThreadNotFound { .. }
                | StoreError::SegmentTaken
                | StoreError::IdempotencyKeyReused
                | StoreError::BlobMissing { .. } => "internal",
            },
        }
    }

    /// The state of the thread's life, where that is the reason.
    pub fn lifecycle(&self) -> Option<Lifecycle> {
        match self {
            Self::ThreadClosed { state } => Some(*state),
            Self::ThreadSuspended => Some(Lifecycle::Suspended),
            Self::InvalidTransition(refused) => Some(refused.from),
            Self::ArchivedForGood => Some(Lifecycle::Archived),
            _ => None,
        }
    }

    /// What to do about it, where there is something better than the message itself.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::WriterHeld { .. } => Some("wait until the lease ends; meanwhile you can fork the thread"),
            Self::ApprovalRequired { .. } => {
                Some("wait for the answer, then try again; `threadkeep approve ID` gives it")
            }
            Self::CopyDiffers { .. } => {
                Some("copy into an empty store, and let nobody write to it meanwhile; `threadkeep doctor` finds damage")
            }
            Self::Store(StoreError::DiskFull) => Some("free some space, then retry; nothing was written"),
            Self::Store(StoreError::Failed { .. }) => {
                Some("check the disk, start the program again, and see whether the last write is there before retrying")
            }
            Self::Store(StoreError::Newer { .. }) => Some("use the program version that wrote it, or a newer one"),
            Self::Store(StoreError::Corrupt { .. }) => Some("run `threadkeep doctor`"),
            _ => None,
        }
    }
}

fn updates_were(count: usize) -> String {
    if count == 1 { "1 update was".to_owned() } else { format!("{count} updates were") }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::VersionConflict { expected, current, .. } => Self::VersionConflict { expected, current },
            StoreError::WriterHeld { by, .. } => Self::WriterHeld { by },
            StoreError::WriterLost { to, .. } => Self::WriterLost { to },
            StoreError::ThreadNotFound { thread } => Self::ThreadNotFound { thread: thread.into() },
            StoreError::IdempotencyKeyReused => Self::IdempotencyKeyReused,
            StoreError::EraMoved { .. } | StoreError::SegmentTaken => Self::Busy,
            StoreError::BlobMissing { blob } => {
                Self::Invalid(Invalid::body("attachments", format!("{blob} is not in the store; send its bytes")))
            }
            other => Self::Store(other),
        }
    }
}

impl From<Damaged> for Error {
    fn from(damaged: Damaged) -> Self {
        Self::Store(StoreError::corrupt(damaged.to_string()))
    }
}
