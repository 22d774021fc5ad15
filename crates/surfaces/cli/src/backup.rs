//! A store in one file, and back: `backup`, `restore`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use threadkeep::{CopyReport, Invalid, Lost, private};
use threadkeep_calls as calls;
use threadkeep_client::Export;

use crate::context::Context;
use crate::failure::{Failure, cannot_write};
use crate::lost::tell_lost;
use crate::progress::Bar;
use crate::text::counted;
use crate::transfer::whole_file;

/// Write everything to one file, as it was at one moment, while others go on writing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep store backup today.db                         verified before it gets its name
  threadkeep --store sqlite:today.db ls            a backup is a store, and can be looked into
  THREADKEEP_KEY=… threadkeep --server https://keep.example store backup today.db

Damaged data is left out and listed; then the exit code is 1, and the file has everything else.

It holds the threads of all accounts, what was deleted, keys (their hashes) and projects. It does not hold leases and
idempotency keys.")]
pub(crate) struct Backup {
    /// The path of the new file
    file: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        let bar = Bar::new();
        // A server may serve another store than its folder's: it knows which.
        if context.is_served() {
            let from = context.client.backup().await?;
            let lost = Lost { count: from.lost(), ..Lost::default() };
            let bytes = fetch(from, &self.file, &bar).await?;
            drop(bar);
            let shown = serde_json::json!({ "bytes": bytes, "lost": lost.count });
            context.say_or_show(&shown, format!("backed up {bytes} bytes"))?;
            return Ok(tell_lost(context, &lost));
        }
        let engine = context.engine("backup")?;
        let report = threadkeep::backup(&engine, &self.file, bar.as_progress()).await?;
        drop(bar);
        let (said, lost) = (format!("backed up and verified {}", what(&report)), report.lost.clone());
        context.say_or_show(&calls::Copied::from(report), said)?;
        Ok(tell_lost(context, &lost))
    }
}

/// Writes the backup that a server sends. The file gets its name once it is whole and on disk.
async fn fetch(mut from: Export, path: &Path, bar: &Bar) -> Result<u64, Failure> {
    if path.exists() {
        return Err(Invalid::parameter("file", format!("{} is there already", path.display())).into());
    }
    let failed = |error: std::io::Error| cannot_write(&path.display().to_string(), &error);
    let write = async |mut file: &File| {
        let mut bytes = 0;
        while let Some(chunk) = from.next().await? {
            bytes += chunk.len() as u64;
            bar.tell("bytes", bytes, None);
            file.write_all(&chunk).map_err(failed)?;
        }
        Ok(bytes)
    };
    whole_file(path, write).await
}

/// Restore a backup into a store without threads
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep --data ./elsewhere store restore today.db
  threadkeep --store postgres://ann@db.example/work store restore today.db

The file is only read, and may have been written by an older version. A restore that was broken off goes on where it stopped
when it is run again.")]
pub(crate) struct Restore {
    /// The path of the backup
    file: PathBuf,
}

impl Restore {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        let engine = context.engine("restore")?;
        let folder = context.folder();
        private::make_folder(&folder).map_err(|error| cannot_write(&folder.display().to_string(), &error))?;
        let bar = Bar::new();
        let report = threadkeep::restore(&engine, &self.file, &folder, bar.as_progress()).await?;
        drop(bar);
        let (said, lost) = (format!("restored and verified {}", what(&report)), report.lost.clone());
        context.say_or_show(&calls::Copied::from(report), said)?;
        Ok(tell_lost(context, &lost))
    }
}

fn what(report: &CopyReport) -> String {
    let parts = [
        counted(report.threads, "thread", "threads"),
        counted(report.segments, "segment", "segments"),
        counted(report.entries, "entry", "entries"),
        counted(report.blobs, "blob", "blobs"),
    ];
    format!("{}; hash {}", parts.join(", "), report.hash)
}
