//! Weighs an update before it is kept: its bytes, and whether it breaks a rule that does not depend on the
//! thread.

use threadkeep_calls::NewMessage;

use crate::ground::draft::{Draft, DraftStep};
use crate::ops::edit;
use crate::{Engine, Result};

/// Checks all that can be checked without the thread, and counts the bytes that are kept in memory for it.
pub(super) fn weigh(draft: &Draft, engine: &Engine) -> Result<usize> {
    let max = engine.shared.limits.batch_max;
    if draft.entries() > max {
        let rule = format!("an update has at most {max} messages and other changes");
        return Err(threadkeep_model::Invalid::new(threadkeep_model::Code::TooLarge, "update", rule).into());
    }
    let mut bytes = 0;
    for step in draft.steps() {
        bytes += match step {
            DraftStep::Append(append) => weigh_messages(engine, &append.messages)?,
            DraftStep::Insert { message, .. } => weigh_messages(engine, std::slice::from_ref(message))?,
            DraftStep::AppendEvent(event) => {
                let size = event.clone().checked()?.data.as_str().len();
                engine.refuse_large(size as u64)?;
                size
            }
            DraftStep::EditMessage(edit) => {
                let edit = edit::checked(edit.clone())?;
                let content = edit.content.as_ref().map_or(0, |content| content.as_json().as_str().len());
                engine.refuse_large(content as u64)?;
                content + edit.metadata.as_ref().map_or(0, |metadata| metadata.as_str().len())
            }
            DraftStep::Update(update) => {
                update.fields.clone().checked()?.0.values().map(|value| value.as_str().len()).sum()
            }
            DraftStep::DeleteMessage(_) => 0,
        };
    }
    Ok(bytes)
}

fn weigh_messages(engine: &Engine, messages: &[NewMessage]) -> Result<usize> {
    let prepared = engine.prepare(messages.to_vec())?;
    let bodies: u64 = prepared.entries.iter().map(|entry| entry.bytes).sum();
    Ok(bodies as usize + prepared.blobs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>())
}
