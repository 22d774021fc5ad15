//! Names that follow from the source: the same session gives the same threads in every run.

use threadkeep_model::{Account, BlobId, ThreadId};

use crate::shape::{Message, Session, Source};

/// The id of the thread whose first own message is `first`.
///
/// Claude Code and pi copy history, with its ids and times, into the file of a new session. There the id does not depend
/// on the session: the copy finds the thread of the original.
pub(crate) fn thread_id(account: &Account, session: &Session, first: &Message) -> ThreadId {
    let is_copied = matches!(session.source, Source::ClaudeCode | Source::Pi) && first.id.len() >= 8;
    let scope = match first.time.filter(|_| is_copied) {
        Some(time) => time.as_micros().to_string(),
        None => format!("session {}", session.id),
    };
    hashed(&[account.as_str(), session.source.as_str(), &scope, &first.id])
}

/// The id of a fork that keeps the way which a session left after `last`.
pub(crate) fn kept_id(account: &Account, thread: ThreadId, last: &str) -> ThreadId {
    hashed(&[account.as_str(), "kept", &thread.to_string(), last])
}

fn hashed(parts: &[&str]) -> ThreadId {
    let mut text = String::from("threadkeep import");
    for part in parts {
        text.push_str(&format!("\n{}\n{part}", part.len()));
    }
    let mut bits = [0; 16];
    bits.copy_from_slice(&BlobId::of(text.as_bytes()).as_bytes()[..16]);
    ThreadId::from_chance(u128::from_le_bytes(bits))
}
