//! What comes with a thread when it is first read, because its reader mostly asks for it next: its segment, and whether some
//! of its messages are hidden. A segment that grew from none is all of its lineage. Then one round trip has told all three.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use deadpool_postgres::Object;
use threadkeep_model::{Segment, SegmentId, Thread, ThreadName};
use threadkeep_store::{LeftOutQuery, Result};

use crate::codec::{self, LINK_COLUMNS, LINK_WIDTH, THREAD_WIDTH, get, of_table, thread_columns};
use crate::learnt::{Learnt, Timeline};
use crate::read::{self, rows};

/// Threads whose segments were read with them.
const THREADS_MAX: usize = 4_096;

/// Segments that grew from none, of threads that were read.
pub(crate) struct Roots(Learnt<Known>);

/// A segment that grew from none. It never changes, and of its messages those that were there do not.
struct Root {
    segment: Segment,
    /// So many of its first messages are neither silent nor of a deeper level.
    shown: u64,
}

#[derive(Default)]
struct Known {
    /// The threads that were read with their segments, whether these are roots or not.
    threads: HashSet<i64>,
    segments: HashMap<SegmentId, Root>,
}

impl Roots {
    pub(crate) fn on(timeline: &Arc<Timeline>) -> Self {
        Self(Learnt::on(timeline))
    }

    /// The chain of a segment, if it is a root.
    pub(crate) fn chain(&self, segment: SegmentId) -> Option<Vec<Segment>> {
        self.0.with(|known| known.segments.get(&segment).map(|root| vec![root.segment.clone()]))
    }

    /// Whether a query is known to find nothing.
    pub(crate) fn leave_none_out(&self, query: &LeftOutQuery) -> bool {
        let is_shown = |known: &Known, (segment, ordinals): &(SegmentId, Range<u64>)| {
            known.segments.get(segment).is_some_and(|root| ordinals.end <= root.shown)
        };
        query.filter.role.is_none() && self.0.with(|known| query.spans.iter().all(|span| is_shown(known, span)))
    }

    /// Reads a thread, the first time together with its segment.
    pub(crate) async fn thread(&self, client: &Object, name: ThreadName) -> Result<Option<Thread>> {
        let key = name.short().bits() as i64;
        if self.0.with(|known| known.threads.contains(&key)) {
            return read::thread(client, name).await;
        }
        let (columns, links) = (thread_columns(), of_table("s", LINK_COLUMNS));
        let sql = format!(
            "SELECT {columns}, {links},
                 EXISTS (SELECT FROM entries e WHERE e.segment = h.segment AND (e.silent OR e.depth > 0))
             FROM threads t JOIN heads h ON h.thread = t.id LEFT JOIN segments s ON s.id = h.segment WHERE t.id = $1"
        );
        let found = rows(client, &sql, &[&key]).await?;
        let Some(row) = found.first() else { return Ok(None) };
        let thread = codec::thread(row)?;
        let shown = if get(row, THREAD_WIDTH + LINK_WIDTH)? { 0 } else { thread.head.tally.ordinals };
        // One that is missing or damaged is reported to those who ask for it.
        self.note(key, codec::segment_at(row, THREAD_WIDTH).ok().map(|segment| Root { segment, shown }));
        Ok(Some(thread).filter(|thread| name.names(thread.id)))
    }

    fn note(&self, thread: i64, root: Option<Root>) {
        self.0.with(|known| {
            if known.threads.len() >= THREADS_MAX {
                *known = Known::default();
            }
            known.threads.insert(thread);
            if let Some(root) = root.filter(|root| root.segment.link.is_none()) {
                known.segments.insert(root.segment.id, root);
            }
        });
    }
}
