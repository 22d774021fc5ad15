//! A whole store to another one: `copy`.

use std::path::Path;

use clap::Args;
use threadkeep::{Invalid, StoreUrl};
use threadkeep_calls as calls;

use crate::context::Context;
use crate::failure::Failure;
use crate::objects::{self, ObjectsUrl};
use crate::place::Place;
use crate::progress::Bar;
use crate::text::counted;

/// Copy a whole store to another one: every account, every thread, sharing kept
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep store copy --from ./threadkeep-data/threadkeep.db --to sqlite:elsewhere.db
  threadkeep store copy --from ./threadkeep-data/threadkeep.db --to postgres://user@host/database
  threadkeep store copy --from a.db --from-objects file:a-objects --to b.db --to-objects s3://bucket/b

Threads appear in the target at the end. Then everything is read back from it, and has to have the hash of what was \
read from the source. A copy that was broken off goes on where it stopped when it is run again; one that was finished \
is verified.

Threads that others write to meanwhile are copied as they were when the copy began. Nobody should write to the target \
before it is done. --store, --data and --objects are not used here.")]
pub(crate) struct Copy {
    /// The store to copy: sqlite:PATH, a path, or postgres://user@host/database
    #[arg(long, value_name = "URL")]
    from: String,
    /// The store to copy it to; it is made if it is not there
    #[arg(long, value_name = "URL")]
    to: String,
    /// The object store that has large contents of the source
    #[arg(long, value_name = "URL", value_parser = objects::parse)]
    from_objects: Option<ObjectsUrl>,
    /// The object store that gets large contents of the copy; without it, the store itself does
    #[arg(long, value_name = "URL", value_parser = objects::parse)]
    to_objects: Option<ObjectsUrl>,
}

impl Copy {
    /// The store that is copied, unless the arguments contradict each other. `other` is the store that the flags of
    /// other commands name.
    pub(crate) fn source(&self, other: &Place) -> Result<Place, Failure> {
        if other.is_on_command_line() {
            return Err(Invalid::parameter("store", "is not for copies; name both stores, with --from and --to").into());
        }
        let [from, to] = [parsed("from", &self.from)?, parsed("to", &self.to)?];
        if is_same(&from, &to) {
            return Err(Invalid::parameter("to", "is the store that is to be copied; name another one").into());
        }
        Ok(Place::on_command_line(&self.from).with_objects(self.from_objects.clone()))
    }

    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let target = objects::open(&self.to, self.to_objects.as_ref())?;
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

fn parsed(flag: &str, url: &str) -> Result<StoreUrl, Failure> {
    match url.parse()? {
        StoreUrl::Memory => {
            let rule = "memory: is empty when the command begins and gone when it ends; name a store that stays";
            Err(Invalid::parameter(flag, rule).into())
        }
        stays => Ok(stays),
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
