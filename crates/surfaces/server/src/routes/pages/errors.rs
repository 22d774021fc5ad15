//! A page for each code of a problem. The words are in `spec/docs/errors`, one file a code; the numbers and the example
//! come from the program.

use std::fmt::Write;

use serde_json::json;
use threadkeep_calls::ErrorCode;

use super::html::{escaped, page, sentence};

macro_rules! pages {
    ($($code:ident $name:literal;)*) => {
        /// The text about a code. A code without a page does not compile.
        fn written(code: ErrorCode) -> &'static str {
            match code {
                $(ErrorCode::$code => include_str!(concat!("../../../../../../spec/docs/errors/", $name, ".md")),)*
            }
        }
    };
}

pages! {
    InvalidThreadId "invalid_thread_id";
    InvalidMessageId "invalid_message_id";
    InvalidCursor "invalid_cursor";
    InvalidBody "invalid_body";
    InvalidParameter "invalid_parameter";
    JsonTooDeep "json_too_deep";
    TooLarge "too_large";
    PathEscapesRoot "path_escapes_root";
    IndexOutOfRange "index_out_of_range";
    VersionInFuture "version_in_future";
    BeforeBirth "before_birth";
    AmbiguousThreadId "ambiguous_thread_id";
    InvalidExport "invalid_export";
    UnknownExportVersion "unknown_export_version";
    ExportCutOff "export_cut_off";
    Unauthorized "unauthorized";
    Forbidden "forbidden";
    ApprovalRequired "approval_required";
    RouteNotFound "route_not_found";
    ThreadNotFound "thread_not_found";
    MessageNotFound "message_not_found";
    QueuedNotFound "queued_not_found";
    InjectionNotFound "injection_not_found";
    CheckpointNotFound "checkpoint_not_found";
    AttachmentNotFound "attachment_not_found";
    FileNotFound "file_not_found";
    NoThumbnail "no_thumbnail";
    MergeNotFound "merge_not_found";
    ProjectNotFound "project_not_found";
    MemoryNotFound "memory_not_found";
    KeyNotFound "key_not_found";
    StoreNotFound "store_not_found";
    ApprovalNotFound "approval_not_found";
    DelegationNotFound "delegation_not_found";
    ReferenceNotFound "reference_not_found";
    ObserverNotFound "observer_not_found";
    EnvNotFound "env_not_found";
    DefinitionNotFound "definition_not_found";
    ToolNotFound "tool_not_found";
    EffectNotFound "effect_not_found";
    ReferenceGone "reference_gone";
    MethodNotAllowed "method_not_allowed";
    NotAcceptable "not_acceptable";
    RequestTimeout "request_timeout";
    UnsupportedMediaType "unsupported_media_type";
    RangeNotSatisfiable "range_not_satisfiable";
    OtherCell "other_cell";
    WriterHeld "writer_held";
    WriterLost "writer_lost";
    WriterDisposed "writer_disposed";
    UpdatesRefused "updates_refused";
    ThreadClosed "thread_closed";
    ThreadSuspended "thread_suspended";
    ThreadTerminated "thread_terminated";
    InvalidTransition "invalid_transition";
    QueueFull "queue_full";
    InjectionsFull "injections_full";
    EffectsFull "effects_full";
    MemoriesFull "memories_full";
    DecisionsFull "decisions_full";
    ApprovalAnswered "approval_answered";
    ApprovalUndone "approval_undone";
    RunOpen "run_open";
    RunOver "run_over";
    RunHasOneSide "run_has_one_side";
    RunNotFound "run_not_found";
    NothingToUndo "nothing_to_undo";
    NothingToRedo "nothing_to_redo";
    IsADirectory "is_a_directory";
    NotADirectory "not_a_directory";
    DirectoryNotEmpty "directory_not_empty";
    QuotaExceeded "quota_exceeded";
    ValidationNotConfigured "validation_not_configured";
    ProjectExists "project_exists";
    ThreadExists "thread_exists";
    ImportConflict "import_conflict";
    CopyDiffers "copy_differs";
    NoModel "no_model";
    DefinitionInvalid "definition_invalid";
    ServerRunning "server_running";
    VersionConflict "version_conflict";
    SecretInFile "secret_in_file";
    IdempotencyKeyReused "idempotency_key_reused";
    RateLimited "rate_limited";
    Internal "internal";
    EndpointFailed "endpoint_failed";
    StoreDamaged "store_damaged";
    Busy "busy";
    SecretsUnavailable "secrets_unavailable";
    EmbedderFailed "embedder_failed";
    SandboxUnavailable "sandbox_unavailable";
    SandboxBusy "sandbox_busy";
    Unavailable "unavailable";
    StorageFailed "storage_failed";
    CannotOpenStore "cannot_open_store";
    StoreIsNewer "store_is_newer";
    FlushTimeout "flush_timeout";
    WriteBehindFull "write_behind_full";
    CannotRead "cannot_read";
    CannotWrite "cannot_write";
    CannotListen "cannot_listen";
    Unreachable "unreachable";
    FateUnknown "fate_unknown";
    NotUnderstood "not_understood";
    DiskFull "disk_full";
}

/// The texts of a page.
struct Written {
    means: String,
    /// Headings with their paragraphs.
    sections: Vec<(String, String)>,
    /// The detail of an example.
    example: String,
}

fn read(code: ErrorCode) -> Written {
    let text = written(code);
    let mut parts = text.split("\n## ");
    let first = parts.next().unwrap_or_default();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let means = words(first.split_once('\n').map_or("", |(_, rest)| rest));
    let (mut sections, mut example) = (Vec::new(), String::new());
    for part in parts {
        let (heading, rest) = part.split_once('\n').unwrap_or((part, ""));
        if heading == "Example" {
            example = words(rest);
        } else {
            sections.push((heading.to_owned(), words(rest)));
        }
    }
    Written { means, sections, example }
}

fn statuses(code: ErrorCode) -> String {
    code.statuses().iter().map(|status| status.http().to_string()).collect::<Vec<_>>().join(", ")
}

pub(crate) fn error_list() -> String {
    let mut rows = String::new();
    for code in ErrorCode::ALL {
        let (statuses, exit, means) = (statuses(*code), code.status().exit(), sentence(&read(*code).means));
        writeln!(
            rows,
            "<tr><td><a href=\"/docs/errors/{code}\"><code>{code}</code></a></td><td>{statuses}</td><td>{exit}</td>\
             <td>{means}</td></tr>"
        )
        .expect("a string takes everything");
    }
    let content = format!(
        "<h1>Errors</h1>\n<p>Errors are answered as <code>application/problem+json</code>. The <code>code</code> is stable; \
         the words beside it may change.</p>\n<table>\n<thead><tr><th>Code</th><th>Status</th><th>Exit code</th>\
         <th>Meaning</th></tr></thead>\n{rows}</table>\n"
    );
    page("Errors · Threadkeep", "", &content)
}

/// The page of a code.
pub(crate) fn error_page(code: ErrorCode) -> String {
    let Written { means, sections, example } = read(code);
    let status = code.status();
    let title = axum::http::StatusCode::from_u16(status.http()).ok().and_then(|status| status.canonical_reason());
    let problem = json!({
        "type": format!("/docs/errors/{code}"),
        "title": title.unwrap_or("Error"),
        "status": status.http(),
        "code": code.as_str(),
        "detail": example,
        "requestId": "0f8fad5bd9cb469fa165708667728950",
    });
    let problem = serde_json::to_string_pretty(&problem).expect("a problem has text keys");
    let mut content = format!("<h1><code>{code}</code></h1>\n<p>{}</p>\n", sentence(&means));
    for (heading, text) in sections {
        let (heading, text) = (escaped(&heading), sentence(&text));
        writeln!(content, "<h2>{heading}</h2>\n<p>{text}</p>").expect("a string takes everything");
    }
    let (statuses, exit) = (statuses(code), status.exit());
    write!(
        content,
        "<h2>Status</h2>\n<p>HTTP {statuses}; the command line ends with exit code {exit}.</p>\n<h2>Example</h2>\n\
         <pre>{}</pre>\n<p><a href=\"/docs/errors\">All errors</a></p>\n",
        escaped(&problem)
    )
    .expect("a string takes everything");
    page(&format!("{code} · Threadkeep"), "", &content)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_its_page_and_no_page_is_left_over() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../spec/docs/errors");
        let files = std::fs::read_dir(folder).expect("the pages").map(|file| file.expect("a page").file_name());
        let files: BTreeSet<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
        let codes: BTreeSet<String> = ErrorCode::ALL.iter().map(|code| format!("{code}.md")).collect();
        assert_eq!(files, codes);
    }

    #[test]
    fn a_page_says_what_it_means_when_it_comes_and_what_to_do() {
        for code in ErrorCode::ALL {
            assert!(written(*code).starts_with(&format!("# {code}\n")), "{code} is at the head of its own page");
            let Written { means, sections, example } = read(*code);
            let headings: Vec<&str> = sections.iter().map(|(heading, _)| heading.as_str()).collect();
            assert_eq!(headings, ["When it comes", "What to do"], "{code}");
            let filled = sections.iter().all(|(_, text)| text.ends_with('.'));
            assert!(means.ends_with('.') && filled && !example.is_empty(), "{code}");
        }
    }
}
