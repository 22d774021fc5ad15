//! The engine's caches: lineages, which cannot change, and the gates of threads, which a commit checks.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use threadkeep_model::{
    Account, Lifecycle, Lineage, MessageId, Position, Segment, SegmentId, Tally, ThreadId, Visibility,
};
use threadkeep_store::{Store, StoreError};

use crate::Result;
use crate::ground::shape::Shape;

/// Segments kept with their lineages.
const LINEAGES_MAX: usize = 8_192;
/// Shapes that are kept, and slots in one that is kept.
const SHAPES_MAX: usize = 128;
const SHAPE_SLOTS_MAX: usize = 4_096;
/// Ends of views that are kept.
const ENDS_MAX: usize = 1_024;
/// Threads whose gates are kept.
const GATES_MAX: usize = 4_096;
/// Links followed in one query.
const LINKS_AT_ONCE: usize = 2_048;
/// Segments of several lineages read in one query.
const SEGMENTS_AT_ONCE: usize = 16_384;

/// A map that forgets everything when it is full: simple, bounded, and cheap to refill.
#[derive(Debug)]
struct Bounded<K, V> {
    map: Mutex<HashMap<K, V>>,
    max: usize,
}

impl<K: Eq + Hash, V: Clone> Bounded<K, V> {
    fn new(max: usize) -> Self {
        Self { map: Mutex::new(HashMap::new()), max }
    }

    fn get(&self, key: &K) -> Option<V> {
        self.map.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(key).cloned()
    }

    fn insert(&self, key: K, value: V) {
        let mut map = self.map.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if map.len() >= self.max {
            map.clear();
        }
        map.insert(key, value);
    }

    fn remove(&self, key: &K) {
        self.map.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(key);
    }
}

/// Lineages by their nearest segment, with shared tails. Links never change, so nothing here goes stale.
#[derive(Debug)]
pub(crate) struct Lineages(Bounded<SegmentId, Arc<Lineage>>);

impl Default for Lineages {
    fn default() -> Self {
        Self(Bounded::new(LINEAGES_MAX))
    }
}

impl Lineages {
    /// The lineage whose nearest segment is `segment`.
    pub(crate) async fn get(&self, store: &dyn Store, segment: SegmentId) -> Result<Arc<Lineage>> {
        if let Some(lineage) = self.0.get(&segment) {
            return Ok(lineage);
        }
        let mut unknown: Vec<Segment> = Vec::new();
        let mut next = Some(segment);
        let mut tail: Option<Arc<Lineage>> = None;
        'links: while let Some(wanted) = next {
            let chain = store.chain(wanted, LINKS_AT_ONCE).await?;
            if chain.is_empty() {
                return Err(StoreError::corrupt(format!("segment {wanted} is missing")).into());
            }
            for link in chain {
                // Positions rise along every lineage; where they do not, following the links might never end.
                if unknown.last().is_some_and(|child| child.first <= link.first) {
                    return Err(
                        StoreError::corrupt(format!("segment {} begins after what grew from it", link.id)).into()
                    );
                }
                next = link.link.map(|link| link.parent);
                unknown.push(link);
                tail = next.and_then(|parent| self.0.get(&parent));
                if tail.is_some() {
                    break 'links;
                }
            }
        }
        while let Some(segment) = unknown.pop() {
            let id = segment.id;
            let lineage = Arc::new(Lineage { segment, parent: tail.take() });
            self.0.insert(id, Arc::clone(&lineage));
            tail = Some(lineage);
        }
        tail.ok_or_else(|| StoreError::corrupt(format!("segment {segment} is missing")).into())
    }
}

impl Lineages {
    /// The lineages whose nearest segments are these, with one read for all that are not known.
    pub(crate) async fn get_all(
        &self,
        store: &dyn Store,
        segments: HashSet<SegmentId>,
    ) -> Result<HashMap<SegmentId, Arc<Lineage>>> {
        let mut found = HashMap::new();
        let mut unknown = Vec::new();
        for segment in segments {
            match self.0.get(&segment) {
                Some(lineage) => drop(found.insert(segment, lineage)),
                None => unknown.push(segment),
            }
        }
        if unknown.is_empty() {
            return Ok(found);
        }
        let read = store.chains(unknown.clone(), SEGMENTS_AT_ONCE).await?;
        let read: HashMap<SegmentId, Segment> = read.into_iter().map(|segment| (segment.id, segment)).collect();
        for wanted in unknown {
            let mut links = Vec::new();
            let mut tail = None;
            let mut next = Some(wanted);
            while let Some(id) = next {
                tail = found.get(&id).cloned();
                let link = read.get(&id).filter(|_| tail.is_none());
                // Positions rise along every lineage; where they do not, following the links might never end.
                let Some(link) =
                    link.filter(|link| links.last().is_none_or(|child: &&Segment| child.first > link.first))
                else {
                    break;
                };
                links.push(link);
                next = link.link.map(|link| link.parent);
            }
            if next.is_some() && tail.is_none() {
                // It is longer than the part read, or damaged: a read of its own reports that.
                found.insert(wanted, self.get(store, wanted).await?);
                continue;
            }
            while let Some(segment) = links.pop() {
                let lineage = Arc::new(Lineage { segment: segment.clone(), parent: tail.take() });
                self.0.insert(segment.id, Arc::clone(&lineage));
                found.insert(segment.id, Arc::clone(&lineage));
                tail = Some(lineage);
            }
        }
        Ok(found)
    }
}

/// A shape is that of all messages of a segment up to its last change, or that of the default list, which depends on
/// the number of messages as well.
pub(crate) type ShapeKey = (SegmentId, Position, Option<u64>);

/// Shapes of views by segment and last change. They cannot change, so nothing here goes stale.
#[derive(Debug)]
pub(crate) struct Shapes(Bounded<ShapeKey, Arc<Shape>>);

impl Default for Shapes {
    fn default() -> Self {
        Self(Bounded::new(SHAPES_MAX))
    }
}

impl Shapes {
    pub(crate) fn get(&self, key: ShapeKey) -> Option<Arc<Shape>> {
        self.0.get(&key)
    }

    pub(crate) fn put(&self, key: ShapeKey, shape: &Arc<Shape>) {
        if shape.len() <= SHAPE_SLOTS_MAX {
            self.0.insert(key, Arc::clone(shape));
        }
    }
}

/// The end of the messages of a view.
#[derive(Debug)]
pub(crate) struct End {
    /// The last message.
    pub(crate) last: Option<MessageId>,
    /// The calls of the last step that have no result.
    pub(crate) open: Vec<String>,
}

/// Ends by segment and by what the view counts: the same messages always end in the same way. A thread that is forked often
/// is read once.
#[derive(Debug)]
pub(crate) struct Ends(Bounded<(SegmentId, Tally), Arc<End>>);

impl Default for Ends {
    fn default() -> Self {
        Self(Bounded::new(ENDS_MAX))
    }
}

impl Ends {
    pub(crate) fn get(&self, key: (SegmentId, Tally)) -> Option<Arc<End>> {
        self.0.get(&key)
    }

    pub(crate) fn put(&self, key: (SegmentId, Tally), end: &Arc<End>) {
        self.0.insert(key, Arc::clone(end));
    }
}

/// The facts of a thread that an append needs. They may be stale: the commit carries the era, and the store
/// checks it.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub(crate) account: Account,
    pub(crate) era: u64,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) visibility: Visibility,
    pub(crate) is_terminated: bool,
    /// The number of effects that have not ended, once it was counted at this era.
    pub(crate) effects: Option<usize>,
}

/// The gates of threads that were written to lately.
#[derive(Debug)]
pub(crate) struct Gates(Bounded<ThreadId, Arc<Gate>>);

impl Default for Gates {
    fn default() -> Self {
        Self(Bounded::new(GATES_MAX))
    }
}

impl Gates {
    pub(crate) fn get(&self, thread: ThreadId) -> Option<Arc<Gate>> {
        self.0.get(&thread)
    }

    pub(crate) fn put(&self, thread: ThreadId, gate: Gate) {
        self.0.insert(thread, Arc::new(gate));
    }

    pub(crate) fn forget(&self, thread: ThreadId) {
        self.0.remove(&thread);
    }
}
