//! Every code that a problem can have, with its statuses: what `/docs/errors` explains, one page each.
//!
//! A problem is made of one of these, and every error of the engine has one, so the list is complete by construction.

use std::fmt;

use threadkeep_model::Code;

use crate::Status;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal: $($status:ident),+;)*) => {
        /// The stable code of a problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// All codes, in the order of this table.
            pub const ALL: &'static [ErrorCode] = &[$(Self::$name,)*];

            /// The code as text.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The statuses with which it comes, the usual one first.
            pub fn statuses(self) -> &'static [Status] {
                match self {
                    $(Self::$name => &[$(Status::$status,)+],)*
                }
            }
        }
    };
}

codes! {
    /// Not a thread id in either spelling.
    InvalidThreadId = "invalid_thread_id": BadRequest;
    /// Not a message id.
    InvalidMessageId = "invalid_message_id": BadRequest;
    /// Not a cursor that was given for this list or stream.
    InvalidCursor = "invalid_cursor": BadRequest;
    /// The body breaks a rule.
    InvalidBody = "invalid_body": BadRequest;
    /// A parameter or a header breaks a rule.
    InvalidParameter = "invalid_parameter": BadRequest;
    /// JSON nested deeper than the limit.
    JsonTooDeep = "json_too_deep": BadRequest;
    /// Larger than a limit, which is named.
    TooLarge = "too_large": TooLarge, UriTooLong, HeadersTooLarge;
    /// A path that leads out of the thread.
    PathEscapesRoot = "path_escapes_root": BadRequest;
    /// The thread has no message with that index.
    IndexOutOfRange = "index_out_of_range": BadRequest;
    /// The thread has not been at that version.
    VersionInFuture = "version_in_future": BadRequest;
    /// The thread did not exist at that time.
    BeforeBirth = "before_birth": BadRequest;
    /// More than one thread begins like that.
    AmbiguousThreadId = "ambiguous_thread_id": BadRequest;
    /// Not an export of Threadkeep, or a damaged one.
    InvalidExport = "invalid_export": BadRequest;
    /// An export of a version that this program does not know.
    UnknownExportVersion = "unknown_export_version": BadRequest;
    /// An export without its end.
    ExportCutOff = "export_cut_off": BadRequest, Unavailable;
    /// It is not known who asks.
    Unauthorized = "unauthorized": Unauthorized;
    /// The key of the caller does not permit that.
    Forbidden = "forbidden": Forbidden;
    /// The agent needs an approval first.
    ApprovalRequired = "approval_required": Forbidden;
    /// There is no such path.
    RouteNotFound = "route_not_found": NotFound;
    /// There is no such thread, as far as the caller may know.
    ThreadNotFound = "thread_not_found": NotFound;
    /// The thread shows no such message.
    MessageNotFound = "message_not_found": NotFound;
    /// No such message waits.
    QueuedNotFound = "queued_not_found": NotFound;
    /// The thread has no such injection.
    InjectionNotFound = "injection_not_found": NotFound;
    /// The thread has no such checkpoint.
    CheckpointNotFound = "checkpoint_not_found": NotFound;
    /// The message has no such attachment.
    AttachmentNotFound = "attachment_not_found": NotFound;
    /// There is no such file.
    FileNotFound = "file_not_found": NotFound;
    /// There is no small picture of the file.
    NoThumbnail = "no_thumbnail": NotFound;
    /// There was no such merge into the thread.
    MergeNotFound = "merge_not_found": NotFound;
    /// The account has no such project.
    ProjectNotFound = "project_not_found": NotFound;
    /// The account has no such memory.
    MemoryNotFound = "memory_not_found": NotFound;
    /// There is no such key.
    KeyNotFound = "key_not_found": NotFound;
    /// There is no store at that place.
    StoreNotFound = "store_not_found": NotFound;
    /// There is no such approval, as far as the caller may know.
    ApprovalNotFound = "approval_not_found": NotFound;
    /// There is no such delegation, or it was revoked.
    DelegationNotFound = "delegation_not_found": NotFound;
    /// There is no such reference, as far as the caller may know.
    ReferenceNotFound = "reference_not_found": NotFound;
    /// There is no such run, as far as the caller may know.
    RunNotFound = "run_not_found": NotFound;
    /// The thread has no such observer.
    ObserverNotFound = "observer_not_found": NotFound;
    /// The thread or the account sees no variable of that name.
    EnvNotFound = "env_not_found": NotFound;
    /// There is no definition of this kind with that name.
    DefinitionNotFound = "definition_not_found": NotFound;
    /// There is no tool with that name.
    ToolNotFound = "tool_not_found": NotFound;
    /// No handler has the name of the effect.
    EffectNotFound = "effect_not_found": NotFound;
    /// The reference shows nothing any more.
    ReferenceGone = "reference_gone": Gone;
    /// The path does not take that method.
    MethodNotAllowed = "method_not_allowed": MethodNotAllowed;
    /// The path does not answer in words that the request accepts.
    NotAcceptable = "not_acceptable": NotAcceptable;
    /// The body did not come in time.
    RequestTimeout = "request_timeout": RequestTimeout;
    /// The body is in words that are not understood here.
    UnsupportedMediaType = "unsupported_media_type": UnsupportedMediaType;
    /// The file has no bytes in that range.
    RangeNotSatisfiable = "range_not_satisfiable": RangeNotSatisfiable;
    /// Another writer holds the lease of the thread.
    WriterHeld = "writer_held": Conflict;
    /// The lease under which the caller wrote has ended.
    WriterLost = "writer_lost": Conflict;
    /// The read-writer was disposed.
    WriterDisposed = "writer_disposed": Conflict;
    /// Updates of a read-writer were not kept.
    UpdatesRefused = "updates_refused": Conflict;
    /// The thread's content may not change any more.
    ThreadClosed = "thread_closed": Conflict;
    /// The thread is suspended.
    ThreadSuspended = "thread_suspended": Conflict;
    /// The thread was terminated.
    ThreadTerminated = "thread_terminated": Conflict;
    /// The thread's life does not go that way.
    InvalidTransition = "invalid_transition": Conflict;
    /// As many messages wait as may.
    QueueFull = "queue_full": Conflict;
    /// As many injections wait as may.
    InjectionsFull = "injections_full": Conflict;
    /// As many effects wait on the thread as may.
    EffectsFull = "effects_full": Conflict;
    /// The account has as many memories as may be.
    MemoriesFull = "memories_full": Conflict;
    /// The thread records as many decisions as may be.
    DecisionsFull = "decisions_full": Conflict;
    /// Another executor works on the thread.
    RunOpen = "run_open": Conflict;
    /// The run ended, or another attempt works on it.
    RunOver = "run_over": Conflict;
    /// The agent of the run has one side, which always speaks next.
    RunHasOneSide = "run_has_one_side": Conflict;
    /// There was no rollback or truncation.
    NothingToUndo = "nothing_to_undo": Conflict;
    /// There is no undo to take back.
    NothingToRedo = "nothing_to_redo": Conflict;
    /// A file was expected where a directory is.
    IsADirectory = "is_a_directory": Conflict;
    /// A directory was expected where a file is.
    NotADirectory = "not_a_directory": Conflict;
    /// Something is in the directory.
    DirectoryNotEmpty = "directory_not_empty": Conflict;
    /// The thread would write more to files than it may.
    QuotaExceeded = "quota_exceeded": TooLarge;
    /// The approval was answered before.
    ApprovalAnswered = "approval_answered": Conflict;
    /// A rollback undid the request for the approval.
    ApprovalUndone = "approval_undone": Conflict;
    /// No command checks merges like that.
    ValidationNotConfigured = "validation_not_configured": Conflict;
    /// There is a project of that id already.
    ProjectExists = "project_exists": Conflict;
    /// There is, or was, a thread of that id already.
    ThreadExists = "thread_exists": Conflict;
    /// What is imported contradicts what is there.
    ImportConflict = "import_conflict": Conflict;
    /// A copy found something else on its target than in its source.
    CopyDiffers = "copy_differs": Conflict;
    /// No model is configured for the agent `default`.
    NoModel = "no_model": Conflict;
    /// A definition, or one that it names, has mistakes.
    DefinitionInvalid = "definition_invalid": Conflict;
    /// A server runs on the data folder already.
    ServerRunning = "server_running": Conflict;
    /// The account or the thread is in another cell.
    OtherCell = "other_cell": Conflict;
    /// The thread is not at the version that was expected.
    VersionConflict = "version_conflict": PreconditionFailed;
    /// A file that an agent writes holds a secret.
    SecretInFile = "secret_in_file": Unprocessable;
    /// The idempotency key was used for another request.
    IdempotencyKeyReused = "idempotency_key_reused": Unprocessable;
    /// The caller sends too many requests.
    RateLimited = "rate_limited": RateLimited;
    /// Something went wrong here.
    Internal = "internal": Internal;
    /// The code of a thread endpoint failed.
    EndpointFailed = "endpoint_failed": Internal;
    /// The store holds something that cannot be read.
    StoreDamaged = "store_damaged": Internal;
    /// Others changed the thread faster than this could be decided.
    Busy = "busy": Unavailable;
    /// The key of the secrets is missing, wrong, or open to others.
    SecretsUnavailable = "secrets_unavailable": Unavailable;
    /// The embedder of the search does not answer, or refuses.
    EmbedderFailed = "embedder_failed": Unavailable;
    /// No code runs here: the program or its kernel cannot cage it.
    SandboxUnavailable = "sandbox_unavailable": Unavailable;
    /// As many runs of code are open, and wait, as may.
    SandboxBusy = "sandbox_busy": Unavailable;
    /// The store cannot be reached at this moment, or the server stops.
    Unavailable = "unavailable": Unavailable;
    /// The disk failed to confirm a write.
    StorageFailed = "storage_failed": Unavailable;
    /// The store cannot be opened.
    CannotOpenStore = "cannot_open_store": Unavailable;
    /// A newer program wrote the store.
    StoreIsNewer = "store_is_newer": Unavailable;
    /// A version did not become durable in time.
    FlushTimeout = "flush_timeout": Unavailable;
    /// A read-writer has too many updates that are not flushed.
    WriteBehindFull = "write_behind_full": Unavailable;
    /// A file cannot be read.
    CannotRead = "cannot_read": Unavailable, NotFound;
    /// A file cannot be written.
    CannotWrite = "cannot_write": Unavailable;
    /// The server cannot listen there.
    CannotListen = "cannot_listen": Unavailable;
    /// The client does not reach the server.
    Unreachable = "unreachable": Unavailable;
    /// The connection broke, and whether the request was carried out is not known.
    FateUnknown = "fate_unknown": Unavailable;
    /// The client does not understand what the server said.
    NotUnderstood = "not_understood": Internal;
    /// The disk is full.
    DiskFull = "disk_full": InsufficientStorage;
}

impl ErrorCode {
    /// The code by its text.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// The usual HTTP status of the code.
    pub fn status(self) -> Status {
        self.statuses()[0]
    }

    /// The code of a value that breaks a rule.
    pub fn of_invalid(code: Code) -> Self {
        match code {
            Code::InvalidThreadId => Self::InvalidThreadId,
            Code::InvalidMessageId => Self::InvalidMessageId,
            Code::InvalidCursor => Self::InvalidCursor,
            Code::InvalidBody => Self::InvalidBody,
            Code::InvalidParameter => Self::InvalidParameter,
            Code::JsonTooDeep => Self::JsonTooDeep,
            Code::TooLarge => Self::TooLarge,
            Code::PathEscapesRoot => Self::PathEscapesRoot,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
