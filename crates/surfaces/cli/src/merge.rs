//! Merging the files and values of other threads into one: `merge`, `merges`.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use threadkeep::model::{
    Choice, ConflictStrategy, ConflictType, DecisionStrategy, FileConflict, FileStrategy, MergeAction, MergeConflict,
    MergeStatus, Resolved, StateStrategy, Take, Validation, ValidationResult,
};
use threadkeep::{FilePath, Invalid, Uuid};
use threadkeep_calls as calls;
use threadkeep_calls::Status;

use crate::context::{Conditions, Context};
use crate::exclusive::unless_interrupted;
use crate::failure::{Failure, cannot_read};
use crate::plain::{Face, Line, words};
use crate::text::{brief, counted, moment, visible};

/// Characters of a value, a question or an answer.
const SHOWN_MAX: usize = 60;
/// The prefix of a value's name, where files are named too.
const VALUES: &str = "kv:";

/// Merge what other threads made into a thread: files, values and decisions, whole or not at all
#[derive(Debug, Args)]
#[command(after_help = "\
Changes of a source alone are taken. Text that both sides changed is merged line by line. The rest is a conflict, and nothing \
changes until it is resolved. The exit code is 0 if the threads are merged, would be merged, or wait for an approval; 5 if \
there is a conflict or the check failed. Both are recorded: see threadkeep thread merges. --json shows both sides of a \
conflict, with markers.

--validation runs a command of the server over the merged files: merge-compile or merge-test in threadkeep config.

Examples:
  threadkeep merge 4e36 77ab --dry-run                say what would happen
  threadkeep merge 4e36 77ab 90cd --artifact-scope 'src/**' --validation test
  threadkeep merge 4e36 77ab --choose /notes.md=theirs --choose kv:colour=ours --choose-content /plan.md=plan.md
  threadkeep merge 4e36 77ab --requires-approval && threadkeep approvals")]
pub(crate) struct Merge {
    /// The thread that is merged into: its id, its short id, or the beginning of either
    target: String,
    /// The threads that are merged, in this order and the same spellings
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,
    /// Only files with paths like this, or values with keys that begin like kv:PREFIX
    #[arg(long, value_name = "GLOB")]
    artifact_scope: Vec<String>,
    /// What to do about files that both sides changed
    #[arg(long, value_name = "STRATEGY", default_value = "three_way", value_parser = words::<FileStrategy>(&[
        ("three_way", "Text is merged line by line; what is left is a conflict"),
        ("ours", "The target's"),
        ("theirs", "The source's"),
        ("union", "Text is merged line by line; where both changed the same lines, both are kept"),
        ("manual", "Somebody has to choose"),
    ]))]
    file: FileStrategy,
    /// What to do about questions with different answers
    #[arg(long, value_name = "STRATEGY", default_value = "human", value_parser = words::<DecisionStrategy>(&[
        ("human", "Somebody has to choose"),
        ("ours", "The target's"),
        ("theirs", "The source's"),
    ]))]
    decision: DecisionStrategy,
    /// What to do about values that both sides changed
    #[arg(long, value_name = "STRATEGY", default_value = "human", value_parser = words::<StateStrategy>(&[
        ("human", "Somebody has to choose"),
        ("latest", "The one that was set last"),
        ("ours", "The target's"),
        ("theirs", "The source's"),
    ]))]
    state: StateStrategy,
    /// What to take of this file, or of the value kv:KEY: ours, theirs or union
    #[arg(long, value_name = "PATH=SIDE", value_parser = chosen)]
    choose: Vec<Choice>,
    /// What this file is to be: the text of a file here
    #[arg(long, value_name = "PATH=FILE", value_parser = named_file)]
    choose_content: Vec<(FilePath, String)>,
    /// How the result is checked
    #[arg(long, value_name = "CHECK", default_value = "none", value_parser = words::<Validation>(&[
        ("compile", "By the command for compiling"),
        ("test", "By the command for testing"),
        ("none", "Not at all"),
    ]))]
    validation: Validation,
    /// Only once somebody approved it
    #[arg(long)]
    requires_approval: bool,
    /// Only say what would happen
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    conditions: Conditions,
}

/// Reads `PATH=SIDE` or `kv:KEY=SIDE`, as a flag has it.
fn chosen(text: &str) -> Result<Choice, Invalid> {
    let rule = || Invalid::parameter("choose", format!("'{text}' is not like PATH=ours, PATH=theirs or PATH=union"));
    let (name, side) = text.rsplit_once('=').ok_or_else(rule)?;
    let take = match side {
        "ours" => Take::Ours,
        "theirs" => Take::Theirs,
        "union" => Take::Union,
        _ => return Err(rule()),
    };
    let (path, key) = match name.strip_prefix(VALUES) {
        Some(key) => (None, Some(key.parse()?)),
        None => (Some(name.parse()?), None),
    };
    Ok(Choice { path, key, question: None, take: Some(take), content: None, value: None })
}

/// Reads `PATH=FILE`, as a flag has it.
fn named_file(text: &str) -> Result<(FilePath, String), Invalid> {
    let rule = || Invalid::parameter("choose-content", format!("'{text}' is not like PATH=FILE"));
    let (path, file) = text.split_once('=').ok_or_else(rule)?;
    Ok((path.parse()?, file.to_owned()))
}

impl Merge {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        let mut sources = Vec::new();
        for source in &self.sources {
            sources.push(context.thread(source).await?.id.into());
        }
        let target = context.thread_to_change(&self.target, &self.conditions).await?.id;
        let Self { file, decision, state, validation, .. } = self;
        let conflict_strategy = ConflictStrategy { file, decision, state };
        let mut choices = self.choose;
        for (path, file) in self.choose_content {
            let content = std::fs::read_to_string(Path::new(&file)).map_err(|error| cannot_read(&file, &error))?;
            let content = Some(content);
            choices.push(Choice { path: Some(path), key: None, question: None, take: None, content, value: None });
        }
        let Self { artifact_scope, requires_approval, dry_run, .. } = self;
        let merge = calls::Merge {
            sources,
            artifact_scope,
            conflict_strategy,
            choices,
            validation,
            requires_approval,
            dry_run,
        };
        let done = unless_interrupted(context.client.call(target, merge)).await?;
        if context.json {
            context.out.json(&done)?;
        } else {
            print(context, &done)?;
        }
        Ok(match done.status {
            MergeStatus::Clean | MergeStatus::PendingApproval | MergeStatus::Merged => ExitCode::SUCCESS,
            MergeStatus::Conflicted | MergeStatus::Failed | MergeStatus::Rejected => {
                ExitCode::from(Status::Conflict.exit())
            }
        })
    }
}

/// List the merges into a thread, those that changed nothing too; or show one
#[derive(Debug, Args)]
pub(crate) struct Merges {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// This one alone, in full
    merge: Option<Uuid>,
}

impl Merges {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        if let Some(merge) = self.merge {
            let found = context.client.call(thread, calls::GetMerge { merge }).await?;
            return if context.json { context.out.json(&found) } else { print(context, &found) };
        }
        context.client.call(thread, calls::ListMerges::default()).await?.print(context)
    }
}

/// `5928a90d-…  2026-01-31 12:00:00Z  ann  merged  2 files  from 4e36442142ee`
impl Line for calls::MergeTold {
    const NONE: &'static str = "nothing was merged into it";

    fn line(&self) -> String {
        let id = self.merge_id.map(|id| format!("{id}  ")).unwrap_or_default();
        let when = self.created_at.map(|time| format!("{}  ", moment(time))).unwrap_or_default();
        let by = brief(&self.by.name, SHOWN_MAX);
        format!("{id}{when}{by}  {}  {}  from {}", self.status.as_str(), changes(self), from(self))
    }
}

fn from(merge: &calls::MergeTold) -> String {
    let sources: Vec<String> = merge.sources.iter().map(|source| source.thread_id.short().to_string()).collect();
    sources.join(", ")
}

/// `2 files, 1 value`
fn changes(merge: &calls::MergeTold) -> String {
    let files = counted(merge.files.len() as u64, "file", "files");
    match merge.values.len() as u64 {
        0 => files,
        values => format!("{files}, {}", counted(values, "value", "values")),
    }
}

/// Prints how far a merge came, a line for each change, the conflicts, and the output of its check.
fn print(context: &mut Context, merge: &calls::MergeTold) -> Result<(), Failure> {
    let id = merge.merge_id.map(|id| format!("  {id}")).unwrap_or_default();
    let what = match merge.status {
        MergeStatus::Clean => format!("{} would change", changes(merge)),
        MergeStatus::Conflicted | MergeStatus::Failed | MergeStatus::Rejected => "nothing changed".to_owned(),
        MergeStatus::PendingApproval => match merge.approval_id {
            Some(approval) => format!("waits for approval {approval}"),
            None => "waits for an approval".to_owned(),
        },
        MergeStatus::Merged => format!("{} changed", changes(merge)),
    };
    context.out.line(format!("{}{id}  {what}", merge.status.as_str()))?;
    for file in &merge.files {
        let sources: Vec<String> = file.from.iter().map(|from| from.thread_id.short().to_string()).collect();
        let (action, path) = (action(file.action), visible(file.path.as_str()));
        context.out.line(format!("  {action:<7}  {path}  from {}", sources.join(", ")))?;
    }
    for value in &merge.values {
        let (action, key) = (action(value.action), visible(value.key.as_str()));
        context.out.line(format!("  {action:<7}  {VALUES}{key}  from {}", value.thread_id.short()))?;
    }
    for found in &merge.conflicts {
        conflict(context, found)?;
    }
    if let Some(checked) = &merge.validation {
        validation(context, checked)?;
    }
    Ok(())
}

fn action(action: MergeAction) -> &'static str {
    match action {
        MergeAction::Added => "added",
        MergeAction::Taken => "taken",
        MergeAction::Merged => "merged",
        MergeAction::Removed => "removed",
    }
}

/// `  conflict  /notes.md  both changed the same lines  (taken: theirs)`, or how to resolve it.
fn conflict(context: &mut Context, conflict: &MergeConflict) -> Result<(), Failure> {
    let name = match (&conflict.path, &conflict.key, &conflict.question) {
        (Some(path), ..) => visible(path.as_str()).into_owned(),
        (None, Some(key), _) => format!("{VALUES}{}", visible(key.as_str())),
        (None, None, Some(question)) => brief(question, SHOWN_MAX),
        (None, None, None) => String::new(),
    };
    let said = |side: &Option<threadkeep::Json>| {
        side.as_ref().map_or_else(|| "nothing".to_owned(), |side| brief(side.as_str(), SHOWN_MAX))
    };
    let (what, resolve) = match conflict.kind {
        ConflictType::File => {
            let resolve = format!("--choose {name}=ours, theirs or union; or --choose-content {name}=FILE");
            (conflict.detail.map_or("both changed it", detail).to_owned(), resolve)
        }
        ConflictType::State => {
            let what = format!("ours is {}, theirs is {}", said(&conflict.ours), said(&conflict.theirs));
            (what, format!("--choose {name}=ours or theirs; or --state latest"))
        }
        ConflictType::Decision => {
            let what = format!("ours is {}, theirs is {}", said(&conflict.ours), said(&conflict.theirs));
            (what, "--decision ours or theirs".to_owned())
        }
        // The output of the check follows.
        ConflictType::CodeDependency => return Ok(()),
    };
    let end = match conflict.resolved {
        Some(resolved) => format!("  (resolved: {})", how(resolved)),
        None => format!("\n            {resolve}"),
    };
    context.out.line(format!("  conflict  {name}  {what}{end}"))
}

fn detail(detail: FileConflict) -> &'static str {
    match detail {
        FileConflict::BothChanged => "both changed the same lines",
        FileConflict::BothAdded => "both added it",
        FileConflict::DeletedHere => "the target deleted it, the source changed it",
        FileConflict::DeletedThere => "the target changed it, the source deleted it",
        FileConflict::TypeChanged => "it is a directory on one side and a file on the other",
        FileConflict::Binary => "both changed it, and it is not text",
    }
}

fn how(resolved: Resolved) -> &'static str {
    match resolved {
        Resolved::Ours => "ours",
        Resolved::Theirs => "theirs",
        Resolved::Union => "union",
        Resolved::Content => "content",
    }
}

fn validation(context: &mut Context, checked: &ValidationResult) -> Result<(), Failure> {
    let end = match (checked.passed, checked.timed_out, checked.exit_code) {
        (true, ..) => "passed".to_owned(),
        (false, true, _) => "took too long".to_owned(),
        (false, false, Some(code)) => format!("failed with exit code {code}"),
        (false, false, None) => "failed".to_owned(),
    };
    context.out.line(format!("  {}  {end}", checked.validation.as_str()))?;
    checked.output.lines().try_for_each(|line| context.out.line(format!("    {}", visible(line))))
}
