//! Keeping a store in order: `gc`, `doctor`.

use std::process::ExitCode;

use clap::Args;
use threadkeep::{Engine, Error, StoreError};
use threadkeep_calls as calls;
use threadkeep_calls::{At, ErrorCode};

use crate::context::Context;
use crate::failure::{Failure, RESTORE};
use crate::progress::Bar;
use crate::text::counted;

/// Free data that no thread reaches any more
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Give the space back to the file system too; without a server the file may be rewritten, and others that write wait
    #[arg(long)]
    vacuum: bool,
}

impl Gc {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let gc = match context.own_engine() {
            Some(engine) => {
                let bar = Bar::new();
                let mut report = engine.gc(self.vacuum, bar.as_progress()).await?;
                if self.vacuum {
                    report.bytes += match engine.compact(bar.as_progress()).await {
                        Err(Error::Store(StoreError::DiskFull)) => {
                            context.note("there is no room to rewrite the store: some space is not given back");
                            0
                        }
                        compacted => compacted?,
                    };
                }
                threadkeep::gc_shown(report)
            }
            None => context.client.call(At::none(), calls::RunGc { vacuum: self.vacuum }).await?,
        };
        if context.json {
            return context.out.json(&gc);
        }
        let freed = [
            counted(gc.segments, "segment", "segments"),
            counted(gc.entries, "entry", "entries"),
            counted(gc.blobs, "blob", "blobs"),
        ];
        let given_back = if self.vacuum { format!("; gave {} bytes back", gc.bytes) } else { String::new() };
        context.out.line(format!("freed {}{given_back}", freed.join(", ")))
    }
}

/// Check derived data against the log, and large values against their hashes
#[derive(Debug, Args)]
#[command(after_help = "Exits with 0 if nothing is wrong (any more), and with 1 if something is.")]
pub(crate) struct Doctor {
    /// Build anew from the log what is derived and wrong
    #[arg(long)]
    repair: bool,
}

impl Doctor {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        let report = match context.own_engine() {
            Some(engine) => self.look(&engine).await,
            None => {
                let asked = calls::RunDoctor { repair: self.repair };
                context.client.call(At::none(), asked).await.map_err(Failure::from)
            }
        };
        let report = report.map_err(|failure| beyond_repair(failure, context))?;
        let printed = if context.json { context.out.json(&report) } else { print(context, &report) };
        // A reader that has gone does not make the store healthy.
        if let Err(failure @ (Failure::Problem(_) | Failure::Interrupted(_))) = printed {
            return Err(failure);
        }
        Ok(if report.healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The faults of the store that is open here, with progress.
    async fn look(&self, engine: &Engine) -> Result<calls::Doctor, Failure> {
        let bar = Bar::new();
        let mut report = engine.doctor(bar.as_progress()).await?;
        let mut repaired = false;
        if self.repair && !report.derived.is_empty() {
            engine.repair(bar.as_progress()).await?;
            let after = engine.doctor(bar.as_progress()).await?;
            repaired = after.derived.is_empty();
            report.damage = after.damage;
            if !repaired {
                report.derived = after.derived;
            }
        }
        let told = calls::Doctor::from(report);
        let healthy = told.damage.is_empty() && (repaired || told.derived.is_empty());
        Ok(calls::Doctor { healthy, repaired, ..told })
    }
}

fn print(context: &mut Context, report: &calls::Doctor) -> Result<(), Failure> {
    let looked_at = [
        counted(report.threads, "thread", "threads"),
        counted(report.entries, "entry", "entries"),
        counted(report.blobs, "blob", "blobs"),
    ];
    context.out.line(format!("looked at {}", looked_at.join(", ")))?;
    if report.changed > 0 {
        let threads = counted(report.changed, "thread", "threads");
        context.out.line(format!("{threads} changed meanwhile; each was compared at one version"))?;
    }
    let derived = if report.repaired { "repaired" } else { "derived, can be rebuilt" };
    for finding in &report.derived {
        context.out.line(format!("{derived}: {finding}"))?;
    }
    for finding in &report.damage {
        context.out.line(format!("damaged: {finding}"))?;
    }
    context.out.line(if report.healthy { "healthy" } else { "not healthy" })?;
    context.out.flush()?;
    if !report.healthy && !report.derived.is_empty() && !report.repaired {
        context.note(format!("hint: {}", context.hints.command("store doctor --repair")));
    }
    if !report.damage.is_empty() {
        context.note(format!("hint: {RESTORE}"));
    }
    Ok(())
}

/// A store that cannot even be read to its end needs a backup.
fn beyond_repair(failure: Failure, context: &Context) -> Failure {
    match failure {
        Failure::Problem(problem) if problem.code == ErrorCode::StoreDamaged.as_str() && !context.is_served() => {
            problem.hint(RESTORE).into()
        }
        other => other,
    }
}
