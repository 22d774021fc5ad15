//! Damaged data that a backup, a restore or an export left out.

use std::process::ExitCode;

use threadkeep::Lost;

use crate::context::Context;
use crate::text::counted;

/// Tells of data that is damaged and was left out; the exit code says whether there is any.
pub(crate) fn tell_lost(context: &Context, lost: &Lost) -> ExitCode {
    if lost.count == 0 {
        return ExitCode::SUCCESS;
    }
    for what in &lost.what {
        context.note(format!("damaged: {what}"));
    }
    let parts = counted(lost.count, "damaged part of the store is", "damaged parts of the store are");
    context.note(format!("{parts} not in it; everything else is"));
    context.note(format!("hint: {}", context.hints.command("store doctor")));
    ExitCode::FAILURE
}
