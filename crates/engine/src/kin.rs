//! The family of a thread: all it is related to, directly or not, page by page.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use threadkeep_calls::FamilyMerge;
use threadkeep_model::{Child, ItemKind, Relation, Thread, ThreadId};
use threadkeep_store::{BoxFuture, Item, Related};

use crate::family::{Acquainted, forked};
use crate::ground::cursor::{after, no_cursor, read};
use crate::ground::policy::Standing;
use crate::{Engine, Result};

/// Most threads of a family that are shown.
const FAMILY_MAX: usize = 10_000;
/// Threads of a page, if the caller does not say.
const FAMILY_PAGE: usize = 200;
/// Threads that are read at once while the family is walked.
const READ_AT_ONCE: usize = 200;
/// Threads whose relatives are read at once. Each may have thousands.
const TIED_AT_ONCE: usize = 32;

/// A part of a family.
#[derive(Debug, Clone, Default)]
pub struct FamilyPage {
    /// How many relations away from the thread a thread may be.
    pub depth: Option<usize>,
    /// How many relatives of each thread are followed, the oldest relations first.
    pub breadth: Option<usize>,
    /// Most threads on a page; 200 if it is not said.
    pub limit: Option<usize>,
    /// Goes on where an earlier page ended; everything else has to be asked as before.
    pub cursor: Option<String>,
}

/// A thread with all it is related to, directly or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The threads, the one that was asked for first, then the nearest.
    pub threads: Vec<Thread>,
    /// The public threads of other accounts that some of them were forked from, to be shown as to visitors.
    pub origins: Vec<Thread>,
    /// The relations among them, and with threads of earlier pages, that hold.
    pub relations: Vec<Relation>,
    /// The subagents among them, each with the thread it works for.
    pub subagents: Vec<(ThreadId, Child)>,
    /// The merges into threads of this page, from threads of this page and earlier ones.
    pub merges: Vec<FamilyMerge>,
    /// Whether there are more threads than on this page and those before it.
    pub cut_off: bool,
    /// The threads of this page with relatives that are on no page so far, and how many.
    pub more: Vec<(ThreadId, u64)>,
    /// Goes on where this page ends; none at the end.
    pub next: Option<String>,
}

/// A walk over a family, the nearest threads first.
struct Walk<'a> {
    engine: &'a Engine,
    page: &'a FamilyPage,
    /// All that were found, with their distance and the caller's relation to them.
    order: Vec<(ThreadId, usize, Standing)>,
    /// The place of each in that order.
    places: HashMap<ThreadId, usize>,
    threads: HashMap<ThreadId, Thread>,
    /// The relatives of threads that were followed.
    kept: HashMap<ThreadId, Kin>,
    /// What was read of threads whose relatives are wanted next.
    ties: HashMap<ThreadId, Ties>,
    among: Acquainted,
    /// Whether a limit left something out.
    is_limited: bool,
}

/// A thread with its direct relatives.
struct Kin {
    /// Those that the caller may see, each once.
    relatives: Vec<(ThreadId, Standing)>,
    relations: Vec<Relation>,
    children: Vec<Child>,
    merges: Vec<Item>,
}

/// The rows that tie a thread to others.
struct Ties {
    relations: Vec<Related>,
    items: Vec<(ItemKind, Item)>,
}

impl Engine {
    /// The whole family of a thread, as far as the caller may see it: 10,000 threads at the most.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound).
    pub fn family(&self, thread: ThreadId) -> BoxFuture<'_, Result<Family>> {
        Box::pin(async move { self.walk_family(thread, &FamilyPage::default(), FAMILY_MAX).await })
    }

    /// A page of the family of a thread, the nearest threads first. Relations that are made while pages are read do not
    /// disturb the pages after the first.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound); a limit out of range; a cursor that another list gave
    /// ([`invalid_cursor`](threadkeep_model::Code::InvalidCursor)).
    pub fn family_page(&self, thread: ThreadId, page: FamilyPage) -> BoxFuture<'_, Result<Family>> {
        Box::pin(async move {
            let limit = self.page_limit(Some(page.limit.unwrap_or(FAMILY_PAGE.min(self.shared.limits.page_max))))?;
            self.walk_family(thread, &page, limit).await
        })
    }

    async fn walk_family(&self, thread: ThreadId, page: &FamilyPage, limit: usize) -> Result<Family> {
        let first = self.thread(thread).await?;
        let list = ("family", thread, page.depth, page.breadth);
        let last = page.cursor.as_deref().map(|cursor| last_of(read(list, cursor)?)).transpose()?;
        let mut walk = Walk {
            engine: self,
            page,
            order: vec![(thread, 0, Standing::Owner)],
            places: HashMap::from([(thread, 0)]),
            threads: HashMap::from([(thread, first)]),
            kept: HashMap::new(),
            ties: HashMap::new(),
            among: Acquainted::default(),
            is_limited: false,
        };
        walk.among.seen.insert(thread, Some(Standing::Owner));
        let start = walk.until(last, limit).await?;
        let end = walk.order.len().min(start.saturating_add(limit));
        let mut family = walk.show(start.min(end)..end).await?;
        if end < walk.order.len() {
            let (last, ..) = walk.order[end - 1];
            family.next = Some(after(list, &format!("{}.{last}", end - 1)));
        }
        family.cut_off = walk.is_limited || family.next.is_some() || !family.more.is_empty();
        self.conceal_origins(family.threads.iter_mut().collect(), None).await?;
        Ok(family)
    }
}

/// The place and the thread in a cursor.
fn last_of(place: &str) -> Result<(usize, ThreadId)> {
    let parsed = place.split_once('.').and_then(|(at, thread)| Some((at.parse().ok()?, thread.parse().ok()?)));
    Ok(parsed.ok_or_else(no_cursor)?)
}

impl Walk<'_> {
    /// Walks until the page after `last`, and one more thread, is found. Gives the place where that page begins.
    async fn until(&mut self, last: Option<(usize, ThreadId)>, limit: usize) -> Result<usize> {
        let mut at = 0;
        loop {
            let start = match last {
                None => Some(0),
                Some((_, last)) => self.places.get(&last).map(|place| place + 1),
            };
            if start.is_some_and(|start| self.order.len() > start.saturating_add(limit)) || at == self.order.len() {
                // If the last thread of the page before is gone, its place tells where to go on.
                return Ok(start.or(last.map(|(place, _)| place)).unwrap_or(0));
            }
            let (thread, depth, standing) = self.order[at];
            if standing == Standing::Owner && self.page.depth.is_none_or(|most| depth < most) {
                self.follow(at, thread, depth).await?;
            }
            at += 1;
        }
    }

    /// Adds the relatives of a thread that are new.
    async fn follow(&mut self, at: usize, thread: ThreadId, depth: usize) -> Result<()> {
        let kin = self.kin(at, self.order.len()).await?;
        let mut new = 0;
        for &(relative, standing) in &kin.relatives {
            if self.places.contains_key(&relative) {
                continue;
            }
            if self.page.breadth.is_some_and(|most| new >= most) || self.order.len() >= FAMILY_MAX {
                self.is_limited = true;
                break;
            }
            new += 1;
            self.places.insert(relative, self.order.len());
            self.order.push((relative, depth + 1, standing));
        }
        self.kept.insert(thread, kin);
        Ok(())
    }

    /// Reads a thread, and with it those that come after it, which are most likely next.
    async fn load(&mut self, at: usize, thread: ThreadId) -> Result<()> {
        if self.threads.contains_key(&thread) {
            return Ok(());
        }
        let next = self.order[at..].iter().take(READ_AT_ONCE).map(|(id, ..)| *id).collect();
        let found = self.engine.shared.stores.store.threads(next).await?;
        self.threads.extend(found.into_iter().map(|thread| (thread.id, thread)));
        Ok(())
    }

    /// Reads what ties a thread to others, and with it those that come after it, before place `end`.
    async fn tie(&mut self, at: usize, end: usize) -> Result<()> {
        let next = self.order[at..end].iter().take(TIED_AT_ONCE);
        let is_wanted = |id: &ThreadId| !self.kept.contains_key(id) && !self.ties.contains_key(id);
        let next = next.filter(|(id, _, standing)| *standing == Standing::Owner && is_wanted(id));
        let threads: Vec<ThreadId> = next.map(|(id, ..)| *id).collect();
        let store = &self.engine.shared.stores.store;
        let items = store.items_of(threads.clone(), vec![ItemKind::Child, ItemKind::Merge]);
        let (relations, items) = tokio::try_join!(store.relations(threads.clone()), items)?;
        let ties = relations.into_iter().zip(items).map(|(relations, items)| Ties { relations, items });
        self.ties.extend(threads.into_iter().zip(ties));
        Ok(())
    }

    /// The direct relatives of the thread at a place. One that was deleted meanwhile has none. The caller goes on with the
    /// threads after it, before place `end`.
    async fn kin(&mut self, at: usize, end: usize) -> Result<Kin> {
        let (id, ..) = self.order[at];
        if let Some(kin) = self.kept.remove(&id) {
            return Ok(kin);
        }
        self.load(at, id).await?;
        let mut kin = Kin { relatives: Vec::new(), relations: Vec::new(), children: Vec::new(), merges: Vec::new() };
        if self.threads.contains_key(&id) && !self.ties.contains_key(&id) {
            self.tie(at, end).await?;
        }
        let Self { engine, threads, among, ties, .. } = self;
        let (Some(thread), Some(ties)) = (threads.get(&id), ties.remove(&id)) else { return Ok(kin) };
        for (kind, item) in ties.items {
            if kind == ItemKind::Child {
                kin.children.push(engine.read_child(&item).await?);
            } else {
                kin.merges.push(item);
            }
        }
        kin.relations = engine.holding_among(thread, ties.relations.into_iter(), among).await?;
        let mut others: Vec<ThreadId> = kin.children.iter().map(|child| child.reference).collect();
        others.extend(thread.record.parent_id);
        others.extend(thread.record.origin_thread_id);
        engine.acquaint(others.iter().copied(), among).await?;
        others.extend(kin.relations.iter().map(|made| if made.parent == id { made.child } else { made.parent }));
        let mut is_new = HashSet::from([id]);
        for other in others.into_iter().filter(|other| is_new.insert(*other)) {
            // The relations of another account's thread are its owner's: it is only shown as the origin of a fork.
            match among.seen.get(&other).copied().flatten() {
                Some(Standing::Visitor) if thread.record.origin_thread_id != Some(other) => {}
                Some(standing) => kin.relatives.push((other, standing)),
                None => {}
            }
        }
        Ok(kin)
    }

    /// The threads at these places, with the relations among them and with earlier ones.
    async fn show(&mut self, places: Range<usize>) -> Result<Family> {
        let mut family = Family {
            threads: Vec::new(),
            origins: Vec::new(),
            relations: Vec::new(),
            subagents: Vec::new(),
            merges: Vec::new(),
            cut_off: false,
            more: Vec::new(),
            next: None,
        };
        for at in places.clone() {
            let (id, _, standing) = self.order[at];
            self.load(at, id).await?;
            let Some(thread) = self.threads.get(&id).cloned() else { continue };
            if standing == Standing::Visitor {
                family.origins.push(thread);
                continue;
            }
            let kin = self.kin(at, places.end).await?;
            let is_shown = |other: &ThreadId| self.places.get(other).is_some_and(|place| *place < places.end);
            let is_first = |other: &ThreadId| self.places.get(other).is_some_and(|place| *place <= at);
            for (other, standing) in &kin.relatives {
                // Only the fork tells of an origin elsewhere.
                if *standing == Standing::Visitor {
                    family.relations.push(forked(&thread, *other));
                }
            }
            let is_own = |other: &ThreadId| self.among.seen.get(other) == Some(&Some(Standing::Owner));
            let both = |made: &Relation| is_first(&made.parent) && is_first(&made.child) && is_own(&made.parent);
            family.relations.extend(kin.relations.into_iter().filter(both));
            let more = kin.relatives.iter().filter(|(other, _)| !is_shown(other)).count() as u64;
            if more > 0 {
                family.more.push((id, more));
            }
            family
                .subagents
                .extend(kin.children.into_iter().filter(|child| is_shown(&child.reference)).map(|child| (id, child)));
            for merge in self.engine.merged_into(id, &kin.merges).await? {
                if is_shown(&merge.source_id) {
                    family.merges.push(merge);
                }
            }
            // The page of its parent came before it.
            if let Some(parent) = thread.record.parent_id
                && self.places.get(&parent).is_some_and(|place| *place < places.start)
            {
                family.subagents.extend(self.engine.find_child(parent, id).await?.map(|child| (parent, child)));
            }
            family.threads.push(thread);
        }
        Ok(family)
    }
}
