//! The content of a store: the same for each number, on every machine and in every run.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use serde_json::json;
use threadkeep::{Json, Record, ThreadId, Timestamp, World};

use super::sizes::Sizes;
use crate::Result;
use crate::search::word;

/// Increase it with every change of the content, so that kept stores are built anew.
pub(super) const EDITION: u32 = 1;
/// The first moment of the day on which all threads changed: 2025-10-10T00:00:00Z.
pub(super) const DAY_MICROS: i64 = 1_760_054_400_000_000;
/// A word in half of all messages, and one in every five-thousandth.
pub(super) const COMMON: &str = "zzcommon";
pub(super) const RARE: &str = "zzrare";
/// A word in a quarter of all titles, and two letters in every five-thousandth.
pub(super) const TITLE_COMMON: &str = "report";
pub(super) const TITLE_RARE: &str = "qz";
/// A tag of a tenth of all threads.
pub(super) const TAG: &str = "urgent";
/// Part of the metadata of a third of all threads, as it is asked for in a query.
pub(super) const METADATA: &str = "%7B%22team%22%3A%7B%22name%22%3A%22blue%22%7D%7D";

/// One ordinary thread in this many is deleted before space is given back.
pub(super) const DELETED_EACH: usize = 10;

/// Different words, from the most usual to the rarest.
const WORDS: usize = 20_000;
/// Words of a message.
const WORDS_MIN: u64 = 6;
const WORDS_MAX: u64 = 30;

/// Bits that follow from `number` alone (splitmix64).
pub(super) fn bits(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The id of thread `n`.
pub(super) fn thread_id(n: usize) -> ThreadId {
    let n = n as u64;
    ThreadId::from_chance(u128::from(bits(n)) << 64 | u128::from(bits(!n)))
}

/// Ordinary thread `n` of all that were made, for writes here and there. It is none that a row deletes, so that no fork
/// keeps its messages then.
pub(super) fn some_thread(sizes: &Sizes, n: usize) -> ThreadId {
    thread_id(some_number(sizes, n))
}

/// The number of [`some_thread`] among the ordinary threads.
pub(super) fn some_number(sizes: &Sizes, n: usize) -> usize {
    let bits = bits(n as u64 + 77) as usize;
    bits % (sizes.ordinary() / DELETED_EACH) * DELETED_EACH + 1 + bits / 7 % (DELETED_EACH - 1)
}

/// The ordinary threads that a row deletes.
pub(super) fn deleted_threads(sizes: &Sizes) -> impl Iterator<Item = ThreadId> {
    (0..sizes.ordinary()).step_by(DELETED_EACH).map(thread_id)
}

/// The text of message `n`.
pub(super) fn text(n: usize) -> String {
    let mut text = String::with_capacity(200);
    text.push_str(if n.is_multiple_of(2) { COMMON } else { "and" });
    if n % 5_000 == 11 {
        text.push(' ');
        text.push_str(RARE);
    }
    let mut state = bits(n as u64);
    for _ in 0..WORDS_MIN + state % (WORDS_MAX - WORDS_MIN) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (state >> 33) as f64 / f64::from(1u32 << 31);
        // The n-th word is as usual as one n-th of the first.
        text.push(' ');
        text.push_str(usual((WORDS as f64).powf(chance) as usize - 1));
    }
    text
}

/// The word of this rank.
fn usual(rank: usize) -> &'static str {
    static ALL: LazyLock<Vec<String>> = LazyLock::new(|| (0..WORDS as u64).map(word).collect());
    &ALL[rank.min(WORDS - 1)]
}

/// Question `n` in plain words, of which some are usual and some are rare.
pub(super) fn question(n: usize) -> String {
    let words: Vec<&str> = [5, 30, 200, 800, 3_000, 9_000].map(|rank| usual(rank + n)).into();
    format!("how did we {} the {} {} of {} {} {}", words[0], words[1], words[2], words[3], words[4], words[5])
}

/// The title of ordinary thread `n`.
pub(super) fn title(n: usize) -> String {
    let mut title = match n % 4 {
        0 => format!("Weekly {TITLE_COMMON} {n} on {}", usual(n % 97)),
        _ => format!("{} {} {n}", usual(n % 1_013), usual(n % 89)),
    };
    if n % 5_000 == 17 {
        title.push_str(" u");
        title.push_str(TITLE_RARE);
    }
    title
}

/// The record of ordinary thread `n`.
pub(super) fn record(n: usize) -> Result<Record> {
    let mut metadata = serde_json::Map::new();
    if n.is_multiple_of(3) {
        metadata.insert("team".to_owned(), json!({ "name": "blue", "floor": n % 7 }));
    }
    if n % 10 == 3 {
        metadata.insert("tags".to_owned(), json!([TAG]));
    }
    let metadata = match metadata.is_empty() {
        true => None,
        false => Some(Json::parse("metadata", &serde_json::Value::Object(metadata).to_string())?),
    };
    Ok(Record { title: Some(title(n)), agent_id: Some(format!("agent-{}", n % 20)), metadata, ..Record::default() })
}

/// The world in which forks and files are made: its clock and its chance are the same in every run.
pub(super) struct SeededWorld {
    now_micros: AtomicI64,
    drawn: AtomicU64,
}

impl SeededWorld {
    /// From the middle of the day on, a millisecond at each reading.
    pub(super) fn at_noon() -> Self {
        Self { now_micros: AtomicI64::new(DAY_MICROS + 43_200_000_000), drawn: AtomicU64::new(1 << 40) }
    }
}

impl World for SeededWorld {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now_micros.fetch_add(1_000, Ordering::Relaxed))
    }

    fn chance(&self) -> u128 {
        let drawn = self.drawn.fetch_add(2, Ordering::Relaxed);
        u128::from(bits(drawn)) << 64 | u128::from(bits(drawn + 1))
    }
}
