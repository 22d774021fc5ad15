//! Wrong keys: a peer that tries many has to wait. Valid keys are never delayed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong keys that a peer may try at once.
const TRIES_MAX: f64 = 60.0;
/// How long until it may try another one.
const TRY_EVERY: Duration = Duration::from_millis(200);
/// Peers that are remembered.
const PEERS_MAX: usize = 10_000;

/// Counts wrong keys by peer.
#[derive(Debug, Default)]
pub(crate) struct Guard(Mutex<HashMap<IpAddr, (f64, Instant)>>);

impl Guard {
    /// A peer tried a wrong key: how long it has to wait, if it tried too many.
    pub(crate) fn wrong(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refill = |left: f64, since: Instant| {
            let earned = now.saturating_duration_since(since).as_secs_f64() / TRY_EVERY.as_secs_f64();
            (left + earned).min(TRIES_MAX)
        };
        if peers.len() >= PEERS_MAX {
            peers.retain(|_, (left, since)| refill(*left, *since) < TRIES_MAX);
            if peers.len() >= PEERS_MAX {
                peers.clear();
            }
        }
        let (left, since) = peers.entry(peer).or_insert((TRIES_MAX, now));
        let tries = refill(*left, *since);
        *since = now;
        if tries < 1.0 {
            *left = tries;
            return Some(TRY_EVERY.mul_f64(1.0 - tries).max(Duration::from_secs(1)));
        }
        *left = tries - 1.0;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_tries_many_wrong_keys_waits_and_others_do_not() {
        let guard = Guard::default();
        let (peer, other, now) = ([127, 0, 0, 1].into(), [127, 0, 0, 2].into(), Instant::now());
        let tries = (0..TRIES_MAX as usize).filter(|_| guard.wrong(peer, now).is_none()).count();
        assert_eq!(tries, TRIES_MAX as usize);
        assert_eq!(guard.wrong(peer, now), Some(Duration::from_secs(1)));
        assert_eq!(guard.wrong(other, now), None);
        assert_eq!(guard.wrong(peer, now + TRY_EVERY.mul_f64(1.5)), None);
    }
}
