//! Why an operation was refused: stable codes, and messages a user can act on.

use std::time::Duration;

use threadkeep_calls::{ErrorCode, HeldBy, Life, Problem};
use threadkeep_model::{
    ApprovalState, Damaged, EnvName, Executor, FilePath, Invalid, InvalidTransition, Lease, Lifecycle, MessageName,
    QueuedId, Run, RunStatus, ThreadId, ThreadName, Uuid, Validation, ValueKey, Version,
};
use threadkeep_store::StoreError;

/// How long one waits who found too many expensive reads at once: about as long as the next of them takes.
const NO_TURN_RETRY: Duration = threadkeep_store::EXPENSIVE_MAX;

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
        /// The name that was not found.
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
        /// The version the caller expects.
        expected: Version,
        /// Where the thread is.
        current: Version,
    },
    /// Another holder is the thread's exclusive writer.
    #[error("{} is the exclusive writer of thread {thread} until {}", by.holder, by.until)]
    WriterHeld {
        /// The thread: that of the call, or one that the call changes with it, such as the thread of a subagent.
        thread: ThreadId,
        /// The lease that is held.
        by: Lease,
    },
    /// The lease under which the caller wrote has ended.
    #[error("the writer's lease has ended{}: nothing was written; read the thread again, then take a new lease",
        to.as_ref().map_or(String::new(), |to| format!(", and {} holds one until {}", to.holder, to.until)))]
    WriterLost {
        /// The lease that another writer took since, if it is held.
        to: Option<Lease>,
    },
    /// The read-writer was disposed.
    #[error("the read-writer was disposed: open a new one")]
    WriterDisposed,
    /// Updates of a read-writer were not kept.
    #[error("{} not kept{}", updates_were(updates.len()),
        updates.first().map_or(String::new(), |first| format!(": {}", first.error)))]
    UpdatesRefused {
        /// The refused updates, each with its reason.
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
        /// The bytes of the waiting updates.
        bytes: usize,
    },
    /// The thread's content may not change any more.
    #[error("the thread is {}: its content cannot change; fork it to go on", state.as_str())]
    ThreadClosed {
        /// The state that closed it.
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
    #[error("the queue is full ({max} {}messages): remove one, or let a run take them up",
        if *silent { "silent " } else { "" })]
    QueueFull {
        /// How many may wait.
        max: usize,
        /// Whether it is about silent ones, which have a bound of their own.
        silent: bool,
    },
    /// As many injections wait as may.
    #[error("{max} injections wait, which is the maximum: acknowledge one, or let a run take them up")]
    InjectionsFull {
        /// How many may wait.
        max: usize,
    },
    /// As many effects of the thread have not ended as may.
    #[error("{max} effects of the thread have not ended, which is the maximum: remove one, or wait until one has run")]
    EffectsFull {
        /// How many may be.
        max: usize,
    },
    /// No handler has the name of the effect.
    #[error("there is no effect '{name}' here")]
    EffectNotFound {
        /// The name in the call.
        name: threadkeep_model::EffectName,
    },
    /// The thread has no such injection.
    #[error("the thread has no injection {injection}: it is unknown, or was undone by a rollback")]
    InjectionNotFound {
        /// The id of the missing injection.
        injection: Uuid,
    },
    /// The thread records as many decisions as may be.
    #[error("the thread has {max} decisions, which is the maximum: go on in a fork")]
    DecisionsFull {
        /// How many may be.
        max: usize,
    },
    /// No such message waits.
    #[error("no message {item} waits on this thread: it is unknown, removed, or delivered already")]
    QueuedNotFound {
        /// The id of the missing queue item.
        item: QueuedId,
    },
    /// Another executor has an open run on the thread.
    #[error("run {} of {} is open since {}{}", open.id, open.by, open.began, may_follow(open))]
    RunOpen {
        /// The run that is open.
        open: Box<Run>,
    },
    /// The run ended, or another attempt works on it.
    #[error("run {run} is over{}: nothing was written; start a new one",
        by.as_ref().map_or(String::new(), |by| followed_by(*run, by)))]
    RunOver {
        /// The id of the run in the call.
        run: Uuid,
        /// The run that is open instead.
        by: Option<Box<Run>>,
    },
    /// The agent of the run has one side, which always speaks next.
    #[error("run {run} has one side, which always speaks next: only runs of `dual_ai` agents take turns")]
    RunHasOneSide {
        /// The id of the run in the call.
        run: Uuid,
    },
    /// There is no such run, for this caller.
    #[error("there is no run {run}")]
    RunNotFound {
        /// As it was named.
        run: Uuid,
    },
    /// There is no such approval, for this caller.
    #[error("there is no approval {approval}")]
    ApprovalNotFound {
        /// The id of the missing approval.
        approval: Uuid,
    },
    /// There is no such delegation, for this caller, or it was revoked.
    #[error("there is no delegation {delegation}: it is unknown, or revoked already")]
    DelegationNotFound {
        /// The id of the missing delegation.
        delegation: Uuid,
    },
    /// The approval was answered before.
    #[error("approval {approval} was answered already: {} at {at} by {by}", state.as_str())]
    ApprovalAnswered {
        /// The id of the answered approval.
        approval: Uuid,
        /// The state after the first answer.
        state: ApprovalState,
        /// The name of the actor that answered.
        by: String,
        /// The time of the answer.
        at: threadkeep_model::Timestamp,
    },
    /// The entry that asked for the approval was undone by a rollback.
    #[error(
        "approval {approval} does not count: its request was rolled back; it counts again once the rollback is undone"
    )]
    ApprovalUndone {
        /// The id of the undone approval.
        approval: Uuid,
    },
    /// The agent needs an approval before it may do this.
    #[error("{capability} needs an approval: {approval} is pending until a human answers it")]
    ApprovalRequired {
        /// The approval that is pending.
        approval: Uuid,
        /// The capability that needs it.
        capability: String,
    },
    /// There is no such reference, for this caller.
    #[error("there is no reference {reference}")]
    ReferenceNotFound {
        /// The id of the missing reference.
        reference: Uuid,
    },
    /// The reference shows nothing any more, or not at present.
    #[error("reference {reference} shows nothing: {what}")]
    ReferenceGone {
        /// The id of the reference.
        reference: Uuid,
        /// Why it shows nothing.
        what: String,
    },
    /// The thread has no such observer.
    #[error("the thread has no observer {observer}")]
    ObserverNotFound {
        /// The id of the missing observer.
        observer: Uuid,
    },
    /// The caller may not do that.
    #[error("{what}")]
    NotAllowed {
        /// The refused action, and who may do it.
        what: String,
    },
    /// There was no rollback or truncation.
    #[error("there is nothing to undo: the thread was not rolled back or truncated")]
    NothingToUndo,
    /// No undo can be taken back: the thread has none, or something else was written since.
    #[error("there is nothing to redo: the last change of this thread is not an undo")]
    NothingToRedo,
    /// The message has no such attachment.
    #[error("the message has no attachment {attachment}")]
    AttachmentNotFound {
        /// The hash of the missing attachment.
        attachment: threadkeep_model::BlobId,
    },
    /// There is no such file.
    #[error("there is no file {path}")]
    FileNotFound {
        /// The path in the call.
        path: FilePath,
    },
    /// Something is where a file must be new.
    #[error("there is something at {path} already: write over it, or write elsewhere")]
    FileExists {
        /// The path in the call.
        path: FilePath,
        /// Where the thread is.
        current: Version,
    },
    /// A file was expected where a directory is.
    #[error("{path} is a directory")]
    IsADirectory {
        /// The path in the call.
        path: FilePath,
    },
    /// A directory was expected where a file is.
    #[error("{path} is a file, not a directory")]
    NotADirectory {
        /// The path in the call.
        path: FilePath,
    },
    /// Something is in the directory.
    #[error("the directory {path} is not empty: delete or move what is in it first")]
    DirectoryNotEmpty {
        /// The path in the call.
        path: FilePath,
    },
    /// There is no small picture of the file.
    #[error("there is no thumbnail of {path}: {why}")]
    NoThumbnail {
        /// The path in the call.
        path: FilePath,
        /// The reason, in words.
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
        /// The key of the value.
        key: ValueKey,
        /// The version the caller expects.
        expected: Version,
        /// Where the value is.
        current: Version,
    },
    /// There is no such merge.
    #[error("there was no merge {merge} into this thread")]
    MergeNotFound {
        /// The id of the missing merge.
        merge: Uuid,
    },
    /// No command checks merges like that.
    #[error("no command is configured for validation '{}'; start the server with --merge-{} COMMAND", validation.as_str(), validation.as_str())]
    ValidationNotConfigured {
        /// The check that is not configured.
        validation: Validation,
    },
    /// The key was used for another request.
    #[error("the idempotency key was used for a different request within the last 24 hours; use a new key")]
    IdempotencyKeyReused,
    /// A copy found something else on its target than in its source.
    #[error("the target differs from the source: {what}")]
    CopyDiffers {
        /// The difference, and the thread if it is known.
        what: String,
    },
    /// The embedder failed to make vectors.
    #[error("no vectors can be made: {what}")]
    Embedder {
        /// The reason that the embedder gave.
        what: String,
    },
    /// There is no tool or agent of that name.
    #[error("{what}")]
    ToolNotFound {
        /// The name that is missing, and the nearest one.
        what: String,
    },
    /// The agent `default` is not defined, and no model is configured for it.
    #[error("no model is configured for the agent 'default'")]
    NoModel,
    /// A definition, or one that it names, has mistakes.
    #[error("{what}")]
    DefinitionInvalid {
        /// The mistakes, each with its place.
        what: String,
    },
    /// The thread or the account sees no variable of that name.
    #[error("there is no variable {name}")]
    EnvNotFound {
        /// The name that was not found.
        name: EnvName,
    },
    /// A file that an agent, the system or sandboxed code writes holds a secret.
    #[error("{file} holds the secret {name}: nothing was written")]
    SecretInFile {
        /// The path of the file.
        file: String,
        /// The name of the secret.
        name: String,
    },
    /// The key of the secrets is missing, wrong, or open to others.
    #[error("the secrets of this store cannot be opened: {what}")]
    SecretsUnavailable {
        /// What is wrong with the key.
        what: String,
    },
    /// The account or the thread lives in another cell.
    #[error("{what}")]
    OtherCell {
        /// What is elsewhere.
        what: String,
    },
    /// Others changed the thread faster than this could be decided.
    #[error("the thread is being changed by many others; try again")]
    Busy,
    /// As many expensive reads run and wait already as may.
    #[error("too many expensive reads run at once, and {waiting} more wait: try again in {} s", NO_TURN_RETRY.as_secs())]
    NoTurn {
        /// Number of requests that wait.
        waiting: usize,
    },
    /// The account has no such project.
    #[error("there is no project '{project}'")]
    ProjectNotFound {
        /// The id of the project.
        project: String,
    },
    /// The account has no such memory.
    #[error("there is no memory {memory}: it was never made, deleted, or forgotten with its last source")]
    MemoryNotFound {
        /// The id of the memory.
        memory: threadkeep_model::Uuid,
    },
    /// The account has as many memories as may be.
    #[error("the account has {max} memories, which is the maximum: delete one first")]
    MemoriesFull {
        /// How many may be.
        max: usize,
    },
    /// The account has a project of that id.
    #[error("there is a project '{project}' already")]
    ProjectExists {
        /// The id of the project.
        project: String,
    },
    /// An invariant of the program does not hold.
    #[error("internal error: {what}")]
    Broken {
        /// The invariant that was broken.
        what: String,
    },
    /// The store could not do it.
    #[error(transparent)]
    Store(StoreError),
}

impl Error {
    /// Whether stored data is not what was written; a retry does not help, and other data may be whole.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Store(StoreError::Corrupt { .. }))
    }

    /// The stable code, as on the wire.
    pub fn code(&self) -> &'static str {
        self.error_code().as_str()
    }

    /// The code in the table of codes.
    pub fn error_code(&self) -> ErrorCode {
        match self {
            Self::Invalid(invalid) => ErrorCode::of_invalid(invalid.code),
            Self::ThreadNotFound { .. } => ErrorCode::ThreadNotFound,
            Self::MessageNotFound { .. } => ErrorCode::MessageNotFound,
            Self::IndexOutOfRange { .. } => ErrorCode::IndexOutOfRange,
            Self::CheckpointNotFound { .. } => ErrorCode::CheckpointNotFound,
            Self::VersionInFuture { .. } => ErrorCode::VersionInFuture,
            Self::BeforeBirth { .. } => ErrorCode::BeforeBirth,
            Self::VersionConflict { .. } => ErrorCode::VersionConflict,
            Self::WriterHeld { .. } => ErrorCode::WriterHeld,
            Self::WriterLost { .. } => ErrorCode::WriterLost,
            Self::WriterDisposed => ErrorCode::WriterDisposed,
            Self::UpdatesRefused { .. } => ErrorCode::UpdatesRefused,
            Self::FlushTimeout { .. } => ErrorCode::FlushTimeout,
            Self::WriteBehindFull { .. } => ErrorCode::WriteBehindFull,
            Self::ThreadClosed { .. } => ErrorCode::ThreadClosed,
            Self::ThreadSuspended => ErrorCode::ThreadSuspended,
            Self::InvalidTransition(_) => ErrorCode::InvalidTransition,
            Self::ThreadTerminated => ErrorCode::ThreadTerminated,
            Self::ArchivedForGood => ErrorCode::InvalidTransition,
            Self::QueueFull { .. } => ErrorCode::QueueFull,
            Self::QueuedNotFound { .. } => ErrorCode::QueuedNotFound,
            Self::InjectionsFull { .. } => ErrorCode::InjectionsFull,
            Self::InjectionNotFound { .. } => ErrorCode::InjectionNotFound,
            Self::EffectsFull { .. } => ErrorCode::EffectsFull,
            Self::EffectNotFound { .. } => ErrorCode::EffectNotFound,
            Self::DecisionsFull { .. } => ErrorCode::DecisionsFull,
            Self::RunOpen { .. } => ErrorCode::RunOpen,
            Self::RunOver { .. } => ErrorCode::RunOver,
            Self::RunHasOneSide { .. } => ErrorCode::RunHasOneSide,
            Self::RunNotFound { .. } => ErrorCode::RunNotFound,
            Self::ApprovalNotFound { .. } => ErrorCode::ApprovalNotFound,
            Self::DelegationNotFound { .. } => ErrorCode::DelegationNotFound,
            Self::ApprovalAnswered { .. } => ErrorCode::ApprovalAnswered,
            Self::ApprovalUndone { .. } => ErrorCode::ApprovalUndone,
            Self::ApprovalRequired { .. } => ErrorCode::ApprovalRequired,
            Self::ReferenceNotFound { .. } => ErrorCode::ReferenceNotFound,
            Self::ReferenceGone { .. } => ErrorCode::ReferenceGone,
            Self::ObserverNotFound { .. } => ErrorCode::ObserverNotFound,
            Self::NotAllowed { .. } => ErrorCode::Forbidden,
            Self::NothingToUndo => ErrorCode::NothingToUndo,
            Self::NothingToRedo => ErrorCode::NothingToRedo,
            Self::AttachmentNotFound { .. } => ErrorCode::AttachmentNotFound,
            Self::FileNotFound { .. } => ErrorCode::FileNotFound,
            Self::IsADirectory { .. } => ErrorCode::IsADirectory,
            Self::NotADirectory { .. } => ErrorCode::NotADirectory,
            Self::DirectoryNotEmpty { .. } => ErrorCode::DirectoryNotEmpty,
            Self::NoThumbnail { .. } => ErrorCode::NoThumbnail,
            Self::QuotaExceeded { .. } => ErrorCode::QuotaExceeded,
            Self::ValueConflict { .. } | Self::FileExists { .. } => ErrorCode::VersionConflict,
            Self::MergeNotFound { .. } => ErrorCode::MergeNotFound,
            Self::ValidationNotConfigured { .. } => ErrorCode::ValidationNotConfigured,
            Self::IdempotencyKeyReused => ErrorCode::IdempotencyKeyReused,
            Self::CopyDiffers { .. } => ErrorCode::CopyDiffers,
            Self::Embedder { .. } => ErrorCode::EmbedderFailed,
            Self::EnvNotFound { .. } => ErrorCode::EnvNotFound,
            Self::ToolNotFound { .. } => ErrorCode::ToolNotFound,
            Self::NoModel => ErrorCode::NoModel,
            Self::DefinitionInvalid { .. } => ErrorCode::DefinitionInvalid,
            Self::SecretInFile { .. } => ErrorCode::SecretInFile,
            Self::SecretsUnavailable { .. } => ErrorCode::SecretsUnavailable,
            Self::OtherCell { .. } => ErrorCode::OtherCell,
            Self::Busy | Self::NoTurn { .. } => ErrorCode::Busy,
            Self::Broken { .. } => ErrorCode::Internal,
            Self::MemoryNotFound { .. } => ErrorCode::MemoryNotFound,
            Self::MemoriesFull { .. } => ErrorCode::MemoriesFull,
            Self::ProjectNotFound { .. } => ErrorCode::ProjectNotFound,
            Self::ProjectExists { .. } => ErrorCode::ProjectExists,
            Self::Store(error) => of_store(error),
        }
    }

    /// An invariant of the program that does not hold.
    pub(crate) fn broken(what: &'static str) -> Self {
        Self::Broken { what: what.to_owned() }
    }

    /// The same, with the error that shows it.
    pub(crate) fn broken_because(what: &str, error: &dyn std::error::Error) -> Self {
        Self::Broken { what: format!("{what}: {error}") }
    }

    /// How long to wait before the call is made again, where that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        matches!(self, Self::NoTurn { .. }).then_some(NO_TURN_RETRY)
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

    /// Advice on how to proceed, where there is more to say than the message itself.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::WriterHeld { .. } => Some("wait until the lease ends; meanwhile you can fork the thread"),
            Self::ApprovalRequired { .. } => {
                Some("wait for the answer, then try again; `threadkeep approvals approve ID` gives it")
            }
            Self::NoModel => Some(
                "start Ollama or llama.cpp on this machine; or set OPENAI_API_KEY or ANTHROPIC_API_KEY and start Threadkeep \
                 again; or write the agent: threadkeep agents new default",
            ),
            Self::CopyDiffers { .. } => Some(
                "copy into an empty store, and let nobody write to it meanwhile; `threadkeep store doctor` finds damage",
            ),
            Self::SecretInFile { .. } => {
                Some("leave the secret out of the file, and read it from the variable where it is needed")
            }
            Self::SecretsUnavailable { .. } => Some(
                "put the key file back (`secrets.key` in the data folder, or --key-file); if it is lost, \
                 `threadkeep serve --forget-secrets` deletes the secrets and opens the store",
            ),
            Self::OtherCell { .. } => Some(
                "move one of the accounts into the cell of the other: threadkeep store copy --account NAME --to-cell CELL",
            ),
            Self::Store(StoreError::Frozen { .. }) => Some(
                "try again in a second; if no move is under way, one was broken off: `threadkeep store copy --account NAME \
                 --to-cell CELL` finishes it, or takes it back if it names the cell that the account came from",
            ),
            Self::ProjectExists { .. } => Some("change it with PATCH, or replace it with PUT"),
            Self::Store(StoreError::TooExpensive) => Some(
                "ask for less: page with `cursor` instead of `offset`, leave out `total`, or add a filter (a tag, three \
                 letters of the title, a value of the metadata)",
            ),
            Self::Store(StoreError::Elsewhere { .. }) => Some(
                "name the object store of this store: --objects s3://bucket/prefix or file:PATH, or THREADKEEP_OBJECTS",
            ),
            Self::Store(StoreError::DiskFull) => Some("free some space, then retry"),
            Self::Store(StoreError::Failed { .. }) => {
                Some("check the disk, start the program again, and see whether the last write is there before retrying")
            }
            Self::Store(StoreError::Newer { .. }) => Some("use the program version that wrote it, or a newer one"),
            Self::Store(StoreError::Corrupt { .. }) => Some("run `threadkeep store doctor`"),
            Self::Store(StoreError::Unauthorized { .. }) => Some(
                "check the user and the password of the store: in PGPASSWORD, or in its address \
                 (--store postgres://user:password@host/database)",
            ),
            _ => None,
        }
    }
}

/// The code of a failure of a store.
fn of_store(error: &StoreError) -> ErrorCode {
    match error {
        StoreError::DiskFull => ErrorCode::DiskFull,
        StoreError::Failed { .. } => ErrorCode::StorageFailed,
        StoreError::Unavailable { .. }
        | StoreError::Elsewhere { .. }
        | StoreError::TooExpensive
        | StoreError::ProcessLost
        | StoreError::Frozen { .. } => ErrorCode::Unavailable,
        StoreError::Import { .. } => ErrorCode::ImportConflict,
        StoreError::CannotOpen { .. } => ErrorCode::CannotOpenStore,
        StoreError::NotFound { .. } => ErrorCode::StoreNotFound,
        StoreError::Unauthorized { .. } => ErrorCode::Unauthorized,
        StoreError::Forbidden { .. } => ErrorCode::Forbidden,
        StoreError::Newer { .. } => ErrorCode::StoreIsNewer,
        StoreError::Corrupt { .. } => ErrorCode::StoreDamaged,
        StoreError::ThreadTaken { .. } => ErrorCode::ThreadExists,
        StoreError::VersionConflict { .. }
        | StoreError::EraMoved { .. }
        | StoreError::WriterHeld { .. }
        | StoreError::WriterLost { .. }
        | StoreError::ThreadNotFound { .. }
        | StoreError::SegmentTaken
        | StoreError::IdempotencyKeyReused
        | StoreError::BlobMissing { .. } => ErrorCode::Internal,
    }
}

/// When another executor may follow an open run.
fn may_follow(open: &Run) -> String {
    match open.status() {
        RunStatus::Running if open.executor == Executor::Caller => {
            format!("; it may be taken over after {}", open.until)
        }
        RunStatus::Queued
        | RunStatus::Running
        | RunStatus::Waiting
        | RunStatus::Completed
        | RunStatus::Failed
        | RunStatus::Stopped => format!(" and {}; queue a message for it, or stop it", open.status().as_str()),
    }
}

fn followed_by(run: Uuid, by: &Run) -> String {
    if by.id == run {
        format!(" for this attempt: attempt {} of {} goes on with it", by.attempt, by.by)
    } else {
        format!(", and {} of {} is open", by.id, by.by)
    }
}

fn updates_were(count: usize) -> String {
    if count == 1 { "1 update was".to_owned() } else { format!("{count} updates were") }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::VersionConflict { expected, current, .. } => Self::VersionConflict { expected, current },
            StoreError::WriterHeld { thread, by } => Self::WriterHeld { thread, by },
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

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let code = error.error_code();
        let field = if let Error::Invalid(invalid) = error { Some(invalid.field.clone().into()) } else { None };
        let current_version = match error {
            Error::VersionConflict { current, .. }
            | Error::ValueConflict { current, .. }
            | Error::FileExists { current, .. }
            | Error::VersionInFuture { current, .. } => Some(*current),
            _ => None,
        };
        let lease = match error {
            Error::WriterHeld { by, .. } => Some(by),
            Error::WriterLost { to } => to.as_ref(),
            _ => None,
        };
        let approval_id = match error {
            Error::ApprovalRequired { approval, .. } => Some(Box::new(*approval)),
            _ => None,
        };
        Self {
            hint: error.hint().map(Into::into),
            field,
            current_version,
            approval_id,
            writer: lease.map(|lease| Box::new(HeldBy { holder: lease.holder.clone(), expires_at: lease.until })),
            life: error.lifecycle().map(|lifecycle| Box::new(Life { lifecycle, allowed: lifecycle.allowed() })),
            ..Self::new(code.status(), code, error.to_string())
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{Code, LifecycleAction, Position, Timestamp};

    use super::*;

    #[test]
    fn an_error_has_the_status_code_and_exit_code_of_the_table() {
        let invalid = |code| Error::from(Invalid::new(code, "field", "rule"));
        let message = "M-00000000000000011".parse().expect("a message id");
        let thread: threadkeep_model::ThreadName = "4e36442142ee".parse().expect("a short id");
        let id: Uuid = "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid");
        for (error, http, code, exit) in [
            (invalid(Code::InvalidThreadId), 400, "invalid_thread_id", 2),
            (invalid(Code::JsonTooDeep), 400, "json_too_deep", 2),
            (invalid(Code::TooLarge), 413, "too_large", 2),
            (Error::ThreadNotFound { thread }, 404, "thread_not_found", 3),
            (Error::MessageNotFound { message }, 404, "message_not_found", 3),
            (Error::WriterLost { to: None }, 409, "writer_lost", 5),
            (Error::WriterDisposed, 409, "writer_disposed", 5),
            (Error::UpdatesRefused { updates: Vec::new() }, 409, "updates_refused", 5),
            (Error::WriteBehindFull { updates: 1, bytes: 1 }, 503, "write_behind_full", 6),
            (Error::FlushTimeout { target: Position(2), durable: Position(1), pending: 1 }, 503, "flush_timeout", 6),
            (Error::ThreadSuspended, 409, "thread_suspended", 5),
            (Error::NothingToUndo, 409, "nothing_to_undo", 5),
            (Error::NothingToRedo, 409, "nothing_to_redo", 5),
            (Error::ReferenceGone { reference: id, what: "x".into() }, 410, "reference_gone", 3),
            (Error::ApprovalRequired { approval: id, capability: "deploy".into() }, 403, "approval_required", 4),
            (Error::CopyDiffers { what: "x".into() }, 409, "copy_differs", 5),
            (Error::IdempotencyKeyReused, 422, "idempotency_key_reused", 2),
            (StoreError::DiskFull.into(), 507, "disk_full", 6),
            (StoreError::Failed { what: "EIO".into() }.into(), 503, "storage_failed", 6),
            (StoreError::corrupt("x").into(), 500, "store_damaged", 1),
        ] {
            let problem = Problem::from(&error);
            let got = (problem.status.http(), problem.code.as_ref(), problem.status.exit());
            assert_eq!(got, (http, code, exit), "{error}");
        }
    }

    #[test]
    fn a_problem_is_read_as_it_is_told() {
        let by = threadkeep_model::Lease {
            token: threadkeep_model::LeaseToken::from_bits(1),
            holder: "ann".into(),
            until: Timestamp::from_micros(0),
        };
        for error in [
            Error::WriterHeld { thread: ThreadId::from_bits(7), by },
            Error::ThreadSuspended,
            Error::ArchivedForGood,
            Error::VersionConflict { expected: Position(3), current: Position(7) },
            Error::ApprovalRequired {
                approval: "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid"),
                capability: "deploy".into(),
            },
            Error::from(Invalid::new(Code::TooLarge, "field", "rule")),
        ] {
            let problem = Problem::from(&error);
            let mut told = serde_json::to_value(&problem).expect("json");
            told["status"] = problem.status.http().into();
            told["requestId"] = "1".into();
            assert_eq!(serde_json::from_value::<Problem>(told).expect("a problem"), problem);
        }
    }

    #[test]
    fn a_thread_that_is_held_says_by_whom_and_until_when() {
        let by = threadkeep_model::Lease {
            token: threadkeep_model::LeaseToken::from_bits(0x4242),
            holder: "ann".into(),
            until: Timestamp::from_micros(0),
        };
        let problem = serde_json::to_value(Problem::from(Error::WriterHeld { thread: ThreadId::from_bits(7), by }))
            .expect("json");
        assert_eq!((&problem["holder"], &problem["expiresAt"]), (&"ann".into(), &"1970-01-01T00:00:00.000000Z".into()));
        assert!(!problem.to_string().contains("4242"), "the token is the holder's own: {problem}");
    }

    #[test]
    fn a_move_that_is_refused_says_where_the_thread_is_and_what_it_allows() {
        let refused = Lifecycle::Suspended.after(LifecycleAction::Done).expect_err("it rests");
        let problem = serde_json::to_value(Problem::from(Error::from(refused))).expect("json");
        assert_eq!(problem["code"], "invalid_transition");
        assert_eq!(problem["detail"], "a thread that is suspended does not take 'done': it allows resume");
        assert_eq!((&problem["lifecycle"], &problem["allowed"]), (&"suspended".into(), &serde_json::json!(["resume"])));
    }

    #[test]
    fn a_conflict_carries_the_current_version_and_nothing_is_printed_that_is_not_there() {
        let problem = Problem::from(Error::VersionConflict { expected: Position(3), current: Position(7) });
        assert_eq!(
            serde_json::to_string(&problem).expect("json"),
            r#"{"code":"version_conflict","detail":"the thread is at version 7, not 3: read it again, then retry","currentVersion":7}"#
        );
    }
}
