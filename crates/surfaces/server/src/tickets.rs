//! Tickets: a browser's EventSource cannot send a key, so it asks for one opening of one stream.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use threadkeep::{Key, SystemWorld, World};

/// How long a ticket is good.
pub(crate) const TICKET_TTL: Duration = Duration::from_secs(60);
/// Tickets that are out at the same time; the oldest goes first.
const TICKETS_MAX: usize = 10_000;

/// The tickets that are out.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, (String, Key, Instant)>>);

impl Tickets {
    /// A ticket for one opening of `path` with `key`.
    pub(crate) fn draw(&self, path: String, key: Key, now: Instant) -> String {
        let ticket = format!("tt_{:032x}", SystemWorld.chance());
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.retain(|_, (.., drawn)| now.saturating_duration_since(*drawn) < TICKET_TTL);
        if out.len() >= TICKETS_MAX {
            let oldest = out.iter().min_by_key(|(_, (.., drawn))| *drawn).map(|(ticket, _)| ticket.clone());
            drop(oldest.and_then(|oldest| out.remove(&oldest)));
        }
        out.insert(ticket.clone(), (path, key, now));
        ticket
    }

    /// The key behind a ticket for `path`. The ticket is used up in any case.
    pub(crate) fn redeem(&self, ticket: &str, path: &str, now: Instant) -> Option<Key> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(ticket);
        let (for_path, key, drawn) = taken?;
        (for_path == path && now.saturating_duration_since(drawn) < TICKET_TTL).then_some(key)
    }
}
