//! Failures, and how they are printed: `error: …`, and `hint: …` where there is advice.

use std::io::{self, Write};
use std::process::ExitCode;

use threadkeep::model::Damaged;
use threadkeep::{Error, Invalid, ThreadId};
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::place::Hints;
use crate::text::visible;

/// Damage to the log cannot be repaired from the log.
pub(crate) const RESTORE: &str = "restore a backup into another folder: threadkeep --data ./restored store restore \
BACKUP.db; or save each thread that can still be read: threadkeep store export THREAD -o THREAD.jsonl";

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    Problem(Box<Problem>),
    /// The reader of the output has gone, which is no failure of ours.
    Closed,
    /// The program was asked to end; with its exit code.
    Interrupted(u8),
    /// What is wrong was told already; with its exit code.
    Told(u8),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Problem::from(error).into()
    }
}

impl From<threadkeep_client::Error> for Failure {
    fn from(error: threadkeep_client::Error) -> Self {
        Problem::from(error).into()
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Problem::from(invalid).into()
    }
}

impl From<Damaged> for Failure {
    fn from(damaged: Damaged) -> Self {
        Error::from(damaged).into()
    }
}

/// One line on stderr.
pub(crate) fn note(line: &str) {
    // If stderr cannot be written, the failure cannot be reported.
    drop(writeln!(io::stderr(), "{line}"));
}

/// A file that cannot be read. One that is no file, or no folder, is a wrong argument.
pub(crate) fn cannot_read(what: &str, error: &io::Error) -> Failure {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    let (status, code, why) = match error.kind() {
        NotFound => (Status::NotFound, ErrorCode::CannotRead, "there is no such file or folder".to_owned()),
        IsADirectory => (Status::BadRequest, ErrorCode::InvalidParameter, "it is a folder; name a file".to_owned()),
        NotADirectory => {
            let why = "a folder in its path is a file".to_owned();
            (Status::BadRequest, ErrorCode::InvalidParameter, why)
        }
        _ => (Status::Unavailable, ErrorCode::CannotRead, error.to_string()),
    };
    Problem::new(status, code, format!("cannot read {what}: {why}")).into()
}

/// A file that cannot be written. A path at which there can be no file is a wrong argument.
pub(crate) fn cannot_write(what: &str, error: &io::Error) -> Failure {
    let refused = |why: &str, hint: &'static str| {
        let detail = format!("cannot write {what}: {why}");
        Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail).hint(hint).into()
    };
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        io::ErrorKind::StorageFull => {
            let detail = format!("cannot write {what}: the disk is full");
            Problem::new(Status::InsufficientStorage, ErrorCode::DiskFull, detail).into()
        }
        io::ErrorKind::NotFound => refused("its folder does not exist", "name a file in a folder that exists"),
        io::ErrorKind::IsADirectory => refused("it is a folder", "name a file in it"),
        _ => Problem::new(Status::Unavailable, ErrorCode::CannotWrite, format!("cannot write {what}: {error}")).into(),
    }
}

/// An update that changes nothing; `example` is one that does.
pub(crate) fn nothing_to_change(example: &str) -> Failure {
    let detail = "there is nothing to change: name at least one field to set or to clear";
    Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail).hint(example.to_owned()).into()
}

/// Tells of `failure` on stderr, and gives the exit code. `named` is the thread that the command was about.
pub(crate) fn report(failure: Failure, json: bool, hints: &Hints, named: Option<ThreadId>) -> ExitCode {
    let problem = match failure {
        Failure::Problem(problem) => *problem,
        Failure::Closed => return ExitCode::SUCCESS,
        Failure::Interrupted(code) | Failure::Told(code) => return ExitCode::from(code),
    };
    let mut problem = with_hint(problem, hints, named);
    if problem.hint.is_none() && matches!(problem.status, Status::BadRequest | Status::NotFound) {
        problem = problem.hint(hints.help());
    }
    if json {
        let shown = serde_json::to_string(&problem).unwrap_or_else(|error| error.to_string());
        note(&shown);
    } else {
        note(&format!("error: {}", visible(&problem.detail)));
        if let Some(hint) = &problem.hint {
            note(&format!("hint: {hint}"));
        }
    }
    ExitCode::from(problem.status.exit())
}

/// The same problem with a hint that works when pasted, where there is one.
fn with_hint(problem: Problem, hints: &Hints, named: Option<ThreadId>) -> Problem {
    let about = |command: &str| named.map(|thread| hints.command(&format!("{command} {}", thread.short())));
    let better = match problem.code.as_ref() {
        "thread_not_found" | "invalid_thread_id" | "ambiguous_thread_id" => Some(hints.command("ls")),
        "approval_not_found" => Some(hints.command("approvals list --state all")),
        "key_not_found" => Some(hints.command("keys list")),
        "project_not_found" => Some(hints.command("projects list")),
        // A server speaks of its methods.
        "project_exists" => Some(hints.command("projects update ID --name NAME")),
        "store_not_found" if hints.names_a_file() => Some("check the path of the store".to_owned()),
        "invalid_export" => Some(
            "threadkeep store export -o FILE writes one; for files of other agents see threadkeep import -h".to_owned(),
        ),
        "memory_not_found" => Some(hints.command("memory list")),
        "tool_not_found" => Some(hints.command("tools list")),
        "definition_not_found" if problem.hint.is_none() => Some(hints.command("agents list")),
        "env_not_found" => Some(hints.command("env list")),
        "queued_not_found" => about("queue list"),
        "injection_not_found" => about("run injections"),
        "run_not_found" => about("run list").or_else(|| Some(hints.command("run list"))),
        "run_over" if problem.hint.is_none() => about("run start"),
        "invalid_message_id" => about("show"),
        // A server speaks of its header. A store that refuses its password has a hint of its own.
        "unauthorized" if problem.hint.as_deref().is_none_or(|hint| hint.contains("Authorization: Bearer")) => {
            Some("set THREADKEEP_KEY to a valid key; threadkeep keys create makes one".to_owned())
        }
        "store_damaged" if problem.hint.as_deref() != Some(RESTORE) => Some(hints.command("store doctor")),
        // One that is no store at all has the same code.
        "cannot_open_store" if problem.detail.contains("damaged") || problem.detail.contains("cut off") => {
            Some(RESTORE.to_owned())
        }
        "message_not_found" | "index_out_of_range" | "version_conflict" | "attachment_not_found" => about("show"),
        "version_in_future" | "before_birth" | "nothing_to_undo" | "nothing_to_redo" => about("thread history"),
        "checkpoint_not_found" => about("thread checkpoints"),
        "writer_lost" if problem.hint.is_none() => about("lock take"),
        "writer_held" if problem.hint.is_none() => about("lock show"),
        "invalid_transition" if problem.hint.is_none() => about("show"),
        "cannot_read" | "cannot_write" if problem.hint.is_none() && problem.status == Status::Unavailable => {
            Some("check the path and its permissions".to_owned())
        }
        "cannot_open_store" if problem.hint.is_none() => Some(match hints.names_a_file() {
            true => "check the path and its permissions".to_owned(),
            false => "check the path and its permissions; --data DIR or --store URL names another store".to_owned(),
        }),
        "unavailable" if problem.hint.is_none() && problem.detail.contains("cannot be reached") => {
            Some("check that the database runs, and the address in --store or THREADKEEP_STORE".to_owned())
        }
        "file_not_found" | "is_a_directory" | "not_a_directory" | "directory_not_empty" => {
            about("files list").map(|command| format!("{command} --recursive"))
        }
        _ => None,
    };
    match better.or_else(|| problem.hint.as_deref().map(str::to_owned)) {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}
