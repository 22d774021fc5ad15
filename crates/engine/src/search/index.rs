//! Fills the shelves from the feed.
//!
//! An entry with text is one document on the shelf of the account whose thread it is, however many forks share
//! it. Entries that a thread sees of deleted threads, or of another account, are put on its own account's shelf,
//! once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_embed::{Embedder, Static};
use threadkeep_model::{Account, Bounds, Class, Kind, MessageId, Position, Segment, SegmentId, Thread, ThreadId};
use threadkeep_search::{Builder, Shelf, Strand};
use threadkeep_store::{EntryQuery, FeedCursor, FeedItem, FeedNews, NewVolume, Order, Reshelving, StoredEntry};

use super::parts::unreadable;
use super::text::Text;
use super::{Note, WAY};
use crate::ground::beside;
use crate::{Engine, Result};

/// Things that happened which are read at once.
const READ_AT_ONCE: usize = 4_096;
/// Entries of one segment that are read at once.
const ENTRIES_AT_ONCE: usize = 1_000;

/// The documents for one shelf.
#[derive(Default)]
struct Pile {
    strands: HashMap<SegmentId, Strand>,
    texts: Vec<Text>,
}

/// The result of one indexing step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Indexed {
    /// The accounts whose shelves have a new volume.
    pub(crate) accounts: Vec<Account>,
    /// Documents of the account, and of the agent, that were asked for.
    pub(crate) counted: u64,
    pub(crate) documents: u64,
    /// Whether there is more to read.
    pub(crate) more: bool,
}

/// Whose documents are counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counted {
    pub(crate) account: Option<Account>,
    pub(crate) agent: Option<String>,
}

/// One look at the feed, while it is turned into documents.
struct Reading<'a> {
    engine: &'a Engine,
    counted: &'a Counted,
    threads: HashMap<ThreadId, Option<Arc<Thread>>>,
    piles: BTreeMap<Account, Pile>,
    count: u64,
    untidy: bool,
}

impl Engine {
    /// Reads some of the feed into the index. Only for one at a time: see [`super::Library`].
    pub(crate) async fn index_some(&self, counted: &Counted) -> Result<Indexed> {
        let (edition, note) = self.edition().await?;
        if !self.is_ours(&note).await? {
            return self.begin_anew(edition).await;
        }
        let news = self.shared.stores.feed.feed(FeedCursor(note.cursor), READ_AT_ONCE).await?;
        let Some(last) = news.last() else { return Ok(Indexed::default()) };
        let (cursor, name) = (last.cursor.0, name(last));
        let more = news.len() == READ_AT_ONCE;
        let mut reading = Reading {
            engine: self,
            counted,
            threads: HashMap::new(),
            piles: BTreeMap::new(),
            count: 0,
            untidy: note.untidy,
        };
        for item in &news {
            reading.read(item).await?;
        }
        let Reading { piles, count, untidy, .. } = reading;
        let documents = piles.values().map(|pile| pile.texts.len() as u64).sum();
        let accounts = piles.keys().cloned().collect();
        let mut add = Vec::new();
        for (account, pile) in piles {
            add.push(self.volume_of(account, pile).await?);
        }
        let note = Note { way: WAY, cursor, last: name, untidy }.encode();
        let change = Reshelving { edition, note, add, remove: Vec::new() };
        if !self.shared.stores.shelves.reshelve(change).await? {
            // Another process read the same part of the feed. Its result counts; the rest is read again.
            return Ok(Indexed { more: true, ..Indexed::default() });
        }
        Ok(Indexed { accounts, counted: count, documents, more })
    }

    /// Whether this version's way of indexing made the index, and it belongs to this store, as far as the last entry
    /// that it read can tell.
    pub(crate) async fn is_ours(&self, note: &Note) -> Result<bool> {
        if note.cursor == 0 {
            return Ok(true);
        }
        if note.way != WAY {
            return Ok(false);
        }
        let feed = &self.shared.stores.feed;
        let found = feed.feed(FeedCursor(note.cursor - 1), 1).await?;
        Ok(match found.first() {
            Some(item) if item.cursor.0 == note.cursor => name(item) == note.last,
            // It was deleted meanwhile, and the entries after it exist.
            Some(_) => true,
            None => feed.latest().await?.0 >= note.cursor,
        })
    }

    pub(crate) async fn begin_anew(&self, edition: u64) -> Result<Indexed> {
        let rows = self.shared.stores.shelves.volumes(None).await?;
        let remove: Vec<u64> = rows.into_iter().map(|row| row.id).collect();
        let change = Reshelving { edition, note: Note::default().encode(), add: Vec::new(), remove };
        self.shared.stores.shelves.reshelve(change).await?;
        Ok(Indexed { more: true, ..Indexed::default() })
    }

    /// A volume of one account's texts.
    async fn volume_of(&self, account: Account, pile: Pile) -> Result<NewVolume> {
        // The built-in embedder is as fast as the words. They do not wait for any other: its vectors are made later.
        let mut built_in = self.embedder.is_none().then(|| Static::new().batch());
        let documents = pile.texts.len() as u64;
        let (content, model, text_bytes) = beside::aside(move || {
            let mut builder = Builder::default();
            pile.strands.into_values().for_each(|strand| builder.strand(strand));
            for text in &pile.texts {
                let vector = built_in.as_mut().map(|batch| batch.vector(&text.embedded()).into_bytes());
                builder.add(&text.document(), vector.unwrap_or_default());
            }
            let model = built_in.map_or_else(String::new, |_| Static::new().model().id.clone());
            let text_bytes = builder.text_bytes();
            (builder.finish(&model), model, text_bytes)
        })
        .await?;
        Ok(NewVolume { account, documents, text_bytes, model, content })
    }
}

/// A name that identifies one item of the feed.
fn name(item: &FeedItem) -> String {
    match &item.news {
        FeedNews::Began(segment) => format!("began {}", segment.id),
        FeedNews::Entry(entry) => format!("entry {} {}", entry.segment, entry.position),
        FeedNews::Deleted => format!("deleted {}", item.thread),
    }
}

/// The facts of a segment that the index needs.
fn strand(segment: &Segment) -> Strand {
    let bounds = segment.link.map_or(Bounds::all(Position::START), |link| link.bounds);
    Strand {
        segment: segment.id,
        thread: segment.thread,
        created: segment.created,
        parent: segment.link.map(|link| link.parent),
        messages: bounds.messages,
        changes: bounds.changes,
    }
}

impl Reading<'_> {
    async fn read(&mut self, item: &FeedItem) -> Result<()> {
        let Some(thread) = self.thread(item.thread).await? else {
            self.untidy |= matches!(item.news, FeedNews::Deleted);
            return Ok(());
        };
        match &item.news {
            FeedNews::Began(segment) => {
                // A thread that shares nothing is known by its first message.
                if segment.link.is_some() {
                    self.put_strand(&thread.account, segment);
                    self.inherit(&thread, segment).await?;
                }
            }
            FeedNews::Entry(entry) if entry.kind == Kind::OwnerChanged => {
                self.untidy = true;
                self.adopt(&thread).await?;
            }
            FeedNews::Entry(entry) => self.put(&thread, entry).await?,
            FeedNews::Deleted => self.untidy = true,
        }
        Ok(())
    }

    /// A thread as it is now; none if it is deleted.
    async fn thread(&mut self, id: ThreadId) -> Result<Option<Arc<Thread>>> {
        if let Some(known) = self.threads.get(&id) {
            return Ok(known.clone());
        }
        let thread = self.engine.shared.stores.store.thread(id.into()).await?.map(Arc::new);
        self.threads.insert(id, thread.clone());
        Ok(thread)
    }

    fn put_strand(&mut self, account: &Account, segment: &Segment) {
        let pile = self.piles.entry(account.clone()).or_default();
        pile.strands.entry(segment.id).or_insert_with(|| strand(segment));
    }

    /// Puts the text of an entry on the shelf of its thread's account.
    async fn put(&mut self, thread: &Thread, entry: &StoredEntry) -> Result<()> {
        let Some(text) = self.engine.text_in(entry).await? else { return Ok(()) };
        self.put_text(thread, text).await
    }

    async fn put_text(&mut self, thread: &Thread, text: Text) -> Result<()> {
        for segment in [text.message.segment, text.carrier.segment] {
            let known = self.piles.get(&thread.account).is_some_and(|pile| pile.strands.contains_key(&segment));
            if !known {
                let lineage = self.engine.lineage(segment).await?;
                self.put_strand(&thread.account, &lineage.segment);
            }
        }
        let Counted { account, agent } = self.counted;
        let is_counted = account.as_ref().is_none_or(|account| *account == thread.account)
            && agent.as_ref().is_none_or(|agent| thread.record.agent_id.as_ref() == Some(agent));
        self.count += u64::from(is_counted);
        self.piles.entry(thread.account.clone()).or_default().texts.push(text);
        Ok(())
    }

    /// Puts entries on the shelf of a thread's account that it sees of threads with another shelf, or none.
    async fn inherit(&mut self, thread: &Thread, segment: &Segment) -> Result<()> {
        let lineage = self.engine.lineage(segment.id).await?;
        let mut bounds = Bounds::all(Position::END);
        let mut wanted = Vec::new();
        for part in lineage.chain() {
            let owner = self.thread(part.segment.thread).await?;
            if part.segment.id != segment.id && owner.is_none_or(|owner| owner.account != thread.account) {
                wanted.push((part.segment.clone(), bounds));
            }
            let Some(link) = part.segment.link else { break };
            bounds = bounds.min(link.bounds);
        }
        self.put_segments(thread, wanted).await
    }

    /// Puts all that a thread wrote and sees on the shelf of the account that owns it now.
    async fn adopt(&mut self, thread: &Thread) -> Result<()> {
        let own = self.engine.shared.stores.store.segments(thread.id, Position::END, usize::MAX).await?;
        for segment in own {
            self.inherit(thread, &segment).await?;
            self.put_segments(thread, vec![(segment, Bounds::all(Position::END))]).await?;
        }
        Ok(())
    }

    async fn put_segments(&mut self, thread: &Thread, wanted: Vec<(Segment, Bounds)>) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let shelf = self.engine.shelf_once(&thread.account).await?;
        for (segment, bounds) in wanted {
            self.put_strand(&thread.account, &segment);
            self.put_segment(thread, &segment, bounds, &shelf).await?;
        }
        Ok(())
    }

    /// Puts the texts of a segment up to some bounds on a shelf, as far as they are not there.
    async fn put_segment(&mut self, thread: &Thread, segment: &Segment, bounds: Bounds, shelf: &Shelf) -> Result<()> {
        let under_way: HashSet<MessageId> = match self.piles.get(&thread.account) {
            Some(pile) => pile.texts.iter().map(|text| text.carrier).collect(),
            None => HashSet::new(),
        };
        let mut from = segment.first;
        loop {
            let query = EntryQuery {
                segment: segment.id,
                positions: from..=bounds.highest(),
                order: Order::Ascending,
                limit: ENTRIES_AT_ONCE,
            };
            let entries = self.engine.shared.stores.store.entries(query).await?;
            let Some(last) = entries.last().map(|entry| entry.position) else { return Ok(()) };
            let full = entries.len() == ENTRIES_AT_ONCE;
            for entry in entries {
                let class = entry.kind.class();
                if !matches!(class, Class::Messages | Class::Changes) || entry.position > bounds.of(class) {
                    continue;
                }
                if let Some(text) = self.engine.text_in(&entry).await?
                    && !under_way.contains(&text.carrier)
                    && !shelf.holds(text.message, text.carrier)
                {
                    self.put_text(thread, text).await?;
                }
            }
            if !full {
                return Ok(());
            }
            from = last.next();
        }
    }
}

/// The summary of a volume that was just made; none if it is empty. A volume with segments alone is not empty:
/// only they tell that a thread is a fork.
pub(crate) fn new_volume(account: Account, content: Bytes) -> Result<Option<NewVolume>> {
    let volume = threadkeep_search::Volume::read(content.clone()).map_err(unreadable)?;
    let (documents, text_bytes, model) = (volume.len() as u64, volume.text_bytes(), volume.model().to_owned());
    let is_empty = volume.is_empty() && volume.strands().is_empty();
    Ok((!is_empty).then_some(NewVolume { account, documents, text_bytes, model, content }))
}
