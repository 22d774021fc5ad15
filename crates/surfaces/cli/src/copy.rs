//! A whole store to another one, or an account to another cell: `copy`.

use std::path::Path;

use clap::Args;
use threadkeep::{Account, Error, Invalid, MoveAccount, MoveStep, StoreUrl};
use threadkeep_calls as calls;

use crate::cells::OpenCells;
use crate::context::Context;
use crate::failure::{self, Failure};
use crate::objects::{self, ObjectsUrl};
use crate::place::{Place, cells_file};
use crate::progress::Bar;
use crate::text::counted;

/// Copy a whole store to another one: every account, every thread, sharing kept
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep store copy --from ./threadkeep-data/threadkeep.db --to sqlite:elsewhere.db
  threadkeep store copy --from ./threadkeep-data/threadkeep.db --to postgres://user@host/database
  threadkeep store copy --from a.db --from-objects file:a-objects --to b.db --to-objects s3://bucket/b
  threadkeep store copy --store cells:cells.toml --account ann --to-cell b

Threads appear in the target at the end. Then everything is read back from it, and has to have the hash of what was \
read from the source. A copy that was broken off goes on where it stopped when it is run again; one that was finished \
is verified.

Threads that others write to meanwhile are copied as they were when the copy began. Nobody should write to the target \
before it is done. --store, --data and --objects are not used here.

With --account, one account moves to another cell (docs/scaling.md). It is written to meanwhile, but for a pause of some \
seconds. A move that was broken off goes on when it is run again. To take it back, name the cell that the account came \
from.")]
pub(crate) struct Copy {
    /// The store to copy: sqlite:PATH, a path, or postgres://user@host/database
    #[arg(long, value_name = "URL", required_unless_present = "account")]
    from: Option<String>,
    /// The store to copy it to; it is made if it is not there
    #[arg(long, value_name = "URL", required_unless_present = "account")]
    to: Option<String>,
    /// The object store that has large contents of the source
    #[arg(long, value_name = "URL", value_parser = objects::parse)]
    from_objects: Option<ObjectsUrl>,
    /// The object store that gets large contents of the copy; without it, the store itself does
    #[arg(long, value_name = "URL", value_parser = objects::parse)]
    to_objects: Option<ObjectsUrl>,
    /// Move this account to another cell of --store cells:FILE, while it is written to
    #[arg(long, value_name = "NAME", requires = "to_cell", conflicts_with_all = ["from", "to", "from_objects", "to_objects"])]
    account: Option<String>,
    /// The cell that the account goes to
    #[arg(long, value_name = "CELL", requires = "account")]
    to_cell: Option<String>,
}

impl Copy {
    /// The store that is copied, unless the arguments contradict each other. `other` is the store that the flags of
    /// other commands name.
    pub(crate) fn source(&self, other: &Place) -> Result<Place, Failure> {
        let (Some(from), Some(to)) = (&self.from, &self.to) else {
            let rule = "names no file of cells; an account moves between cells: --store cells:FILE";
            let named = cells_file(&other.url).map(|_| other.clone());
            return named.ok_or_else(|| Invalid::parameter("store", rule).into());
        };
        if other.is_on_command_line() {
            return Err(Invalid::parameter("store", "is not for copies; name both stores, with --from and --to").into());
        }
        let source = Place::on_command_line(from).with_objects(self.from_objects.clone());
        let [from, to] = [parsed("from", from)?, parsed("to", to)?];
        if is_same(&from, &to) {
            return Err(Invalid::parameter("to", "is the store that is to be copied; name another one").into());
        }
        Ok(source)
    }

    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        if let (Some(account), Some(to), Some(cells)) = (&self.account, &self.to_cell, context.cells()) {
            return move_account(account, to, &cells, context).await;
        }
        let target = objects::open(self.to.as_deref().unwrap_or_default(), self.to_objects.as_ref())?;
        let bar = Bar::new();
        let report = context.engine("copy")?.copy_to(&target, bar.as_progress()).await?;
        drop(bar);
        if context.json {
            return context.out.json(&calls::Copied::from(report));
        }
        let parts = [
            counted(report.threads, "thread", "threads"),
            counted(report.segments, "segment", "segments"),
            counted(report.entries, "entry", "entries"),
            counted(report.blobs, "blob", "blobs"),
        ];
        let copied = match (report.was_finished, report.already_there) {
            (true, _) => format!("verified what was there already: {}", parts.join(", ")),
            (false, 0) => format!("copied and verified {}", parts.join(", ")),
            (false, some) => {
                format!("copied and verified {} ({some} of the entries were there already)", parts.join(", "))
            }
        };
        context.out.line(format!("{copied}; hash {}", report.hash))
    }
}

/// Moves an account to another cell, and says each step on stderr.
async fn move_account(account: &str, to: &str, cells: &OpenCells, context: &mut Context) -> Result<(), Failure> {
    let account = Account::new(account)?;
    let directory = cells.directory()?;
    let bar = Bar::new();
    let json = context.json;
    let step = |step: MoveStep| {
        if !json {
            failure::note(said(step));
        }
    };
    let progress = bar.as_progress();
    let moving = MoveAccount { directory: &directory, cells: cells.engines(), account, to, step: &step, progress };
    let moved = moving.run().await?;
    drop(bar);
    let done = calls::AccountMoved {
        from_cell: moved.from,
        to_cell: to.to_owned(),
        threads: moved.threads,
        entries: moved.entries,
        entries_in_pause: moved.entries_in_pause,
        pause_ms: u64::try_from(moved.pause.as_millis()).unwrap_or(u64::MAX),
    };
    let text = match &done.from_cell {
        None => format!("the account is in cell {to}, and nowhere else"),
        Some(from) => format!(
            "moved {} from cell {from} to cell {to}: {}, of which {} in a pause of {:.1} s; run gc on cell {from} to free them",
            counted(done.threads, "thread", "threads"),
            counted(done.entries, "entry", "entries"),
            done.entries_in_pause,
            moved.pause.as_secs_f64(),
        ),
    };
    context.say_or_show(&done, text)
}

fn said(step: MoveStep) -> &'static str {
    match step {
        MoveStep::Copied => "copied what was there; the account is written to meanwhile",
        MoveStep::Frozen => "the account is frozen",
        MoveStep::Compared => "copied the rest, and compared it",
        MoveStep::Switched => "the directory names the new cell",
        MoveStep::Thawed => "the account is written to in the new cell",
        MoveStep::Released => "the other cells let go of the account",
    }
}

fn parsed(flag: &str, url: &str) -> Result<StoreUrl, Failure> {
    match url.parse().map_err(|error| of_flag(flag, error))? {
        StoreUrl::Memory => {
            let rule = "memory: is empty when the command begins and gone when it ends; name a store that stays";
            Err(Invalid::parameter(flag, rule).into())
        }
        stays => Ok(stays),
    }
}

/// A URL that names no store, refused by the name of its flag.
fn of_flag(flag: &str, error: Error) -> Failure {
    match error {
        Error::Invalid(invalid) => Invalid { field: flag.to_owned(), ..invalid }.into(),
        other => other.into(),
    }
}

/// Whether both name one store, in any spelling.
fn is_same(one: &StoreUrl, other: &StoreUrl) -> bool {
    let file = |path: &Path| path.canonicalize().ok();
    match (one, other) {
        (StoreUrl::Sqlite(one), StoreUrl::Sqlite(other)) if file(one).is_some() => file(one) == file(other),
        (one, other) => one == other,
    }
}
