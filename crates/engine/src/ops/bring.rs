//! `bring`: threads that another program wrote, with the ids and times they are given, many in one commit.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use threadkeep_calls::NewMessage;
use threadkeep_model::{
    BlobId, Bounds, Child, Commit, Create, Derived, Entry, Forked, Json, Link, MessageId, NewEntry, NewSegment, Place,
    Position, Record, SegmentId, Tally, Thread, ThreadCommit, ThreadId, Timestamp, ValueChange, ValueKey,
    ValuesChanged, born,
};
use threadkeep_store::{BoxFuture, StoreError};

use super::fork::{Decided, Point};
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::write;
use crate::open_calls::Interrupted;
use crate::{Engine, Error, Result};

/// How often a commit is decided again because a thread that it forks from changed meanwhile.
const DECIDED_AGAIN_MAX: usize = 16;

/// A thread of another program, with the messages that are its own.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The id to give it. Derived from the source, it is the same in every run, and a second run is refused.
    pub id: ThreadId,
    /// When the other program made it.
    pub created: Timestamp,
    /// The record it begins with.
    pub record: Record,
    /// Whether it shares history with another thread, or works for one.
    pub begins: Begins,
    /// Its own messages.
    pub messages: Vec<ToldMessage>,
    /// Values that it keeps.
    pub values: Vec<(ValueKey, Json)>,
}

/// A message that another program wrote: checked, and encoded as the log keeps it. A clone shares its bytes.
#[derive(Debug, Clone)]
pub struct ToldMessage {
    entry: NewEntry,
    blobs: Vec<(BlobId, Bytes)>,
}

impl ToldMessage {
    /// When the other program wrote it.
    pub fn time(&self) -> Timestamp {
        self.entry.time.unwrap_or_default()
    }

    /// Its size in the log, in bytes, without its files.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.entry.bytes).unwrap_or(usize::MAX)
    }
}

/// How a thread begins that is brought.
#[derive(Debug, Clone)]
pub enum Begins {
    /// With its own first message.
    Anew,
    /// After a message of another thread, whose history it shares.
    Fork {
        /// The other thread: stored, or brought earlier in the same call.
        of: ThreadId,
        /// The last message both have.
        after: After,
        /// The message at which they go different ways, if that is an earlier one: the other thread is about to be cut
        /// there.
        parts_at: Option<MessageId>,
    },
    /// As the thread of a subagent.
    Subagent {
        /// The thread it works for: stored, or brought earlier in the same call.
        of: ThreadId,
        /// The name of the subagent.
        name: String,
        /// The task of the subagent.
        description: String,
    },
}

/// The last message that a thread shares with another one.
#[derive(Debug, Clone, Copy)]
pub enum After {
    /// A message that is brought in the same call, by its place among the thread's own.
    Brought(usize),
    /// A message of the store.
    Stored(MessageId),
}

impl Engine {
    /// The same engine, whose changes happened at `time`: entries carry it, unless their thread is ahead of it. Calls
    /// without a result stay open: the conversation is told as it was.
    #[must_use]
    pub fn telling(&self, time: Timestamp) -> Self {
        Self { happened: Some(time), ..self.aside() }
    }

    /// A message that another program wrote at `time`, for [`Engine::bring`] and [`Engine::bring_to`].
    ///
    /// # Errors
    /// If it breaks a rule, as in [`Engine::append`].
    pub fn told(&self, time: Timestamp, message: NewMessage) -> Result<ToldMessage> {
        let (body, blobs) = self.prepare_one(message)?;
        let entry = NewEntry { time: Some(time), ..NewEntry::new(&Entry::MessageAppended(body)) };
        self.refuse_large(entry.bytes)?;
        Ok(ToldMessage { entry, blobs })
    }

    /// Creates threads that another program wrote, all in one commit. The result is the first message of each, or the
    /// place where it would be; the others follow at the next positions.
    ///
    /// # Errors
    /// [`StoreError::ThreadTaken`] if an id is in use, or was; [`Error::NotAllowed`] for an agent; a record that breaks
    /// a rule. Nothing has changed then.
    pub fn bring<'a>(&'a self, arrivals: &'a [&'a Arrival]) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(async move {
            self.refuse_agents()?;
            for _ in 0..DECIDED_AGAIN_MAX {
                let (commit, first) = self.arriving(arrivals).await?;
                match self.shared.apply(commit).await {
                    Err(StoreError::EraMoved { .. } | StoreError::SegmentTaken) => {}
                    Err(error) => return Err(error.into()),
                    Ok(_) => return Ok(first),
                }
            }
            Err(Error::Busy)
        })
    }

    /// Appends messages that another program wrote, in one commit. The result is the first of them; the others follow at
    /// the next positions.
    ///
    /// # Errors
    /// As [`Engine::append`]; [`Error::NotAllowed`] for an agent.
    pub fn bring_to(&self, thread: ThreadId, messages: Vec<ToldMessage>) -> BoxFuture<'_, Result<MessageId>> {
        Box::pin(async move {
            self.refuse_agents()?;
            let (entries, blobs): (Vec<_>, Vec<_>) = messages.into_iter().map(|told| (told.entry, told.blobs)).unzip();
            let blobs = blobs.into_iter().flatten().collect();
            let committed = self.append_entries(thread, entries, blobs).await?;
            let place = committed.threads.first().ok_or(Error::broken("an append tells its place"))?;
            Ok(MessageId { segment: place.segment, position: place.first })
        })
    }

    /// Drops the messages after one, silent ones too. The thread goes on after it, as it did in another program.
    ///
    /// # Errors
    /// As [`Engine::truncate`]; [`Error::NotAllowed`] for an agent.
    pub fn drop_after(&self, thread: ThreadId, message: MessageId) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.refuse_agents()?;
            self.tell(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let kept = self.locate(&view, message).await?;
                let index = self.last_index_at(&view, &kept).await?.map_or(0, |index| index + 1);
                self.decide_truncate(thread, &view, index, Some(&kept)).await
            })
            .await
            .map(drop)
        })
    }

    fn refuse_agents(&self) -> Result<()> {
        if self.is_agent() {
            let what = "an agent cannot import threads: a human has to".to_owned();
            return Err(Error::NotAllowed { what });
        }
        Ok(())
    }

    /// The commit that creates all of `arrivals`, and tells the threads that they were forked from.
    async fn arriving(&self, arrivals: &[&Arrival]) -> Result<(Commit, Vec<MessageId>)> {
        let now = self.shared.now();
        let near = self.new_segment();
        let mut creates: Vec<Create> = Vec::with_capacity(arrivals.len());
        // Where the messages of each are, and how many are shown up to each.
        let mut placed: Vec<Vec<(Place, u64)>> = Vec::with_capacity(arrivals.len());
        let mut numbers: HashMap<ThreadId, usize> = HashMap::new();
        let mut firsts = Vec::with_capacity(arrivals.len());
        let mut others: BTreeMap<ThreadId, (Thread, Vec<NewEntry>)> = BTreeMap::new();
        for (number, arrival) in arrivals.iter().enumerate() {
            let Arrival { id, created, .. } = **arrival;
            let mut record = arrival.record.clone();
            let mut segment = NewSegment { id: neighbour(near, number), link: None, birth: Tally::default() };
            let (mut first, mut shown) = (Vec::new(), 0);
            let told = match &arrival.begins {
                Begins::Anew => None,
                Begins::Fork { of, after: After::Brought(at), .. } => {
                    let found = numbers.get(of).and_then(|parent| Some((*parent, *placed[*parent].get(*at)?)));
                    let (parent, (place, count)) =
                        found.ok_or(Error::broken("a fork follows the thread that it shares history with"))?;
                    shown = count;
                    let mut birth = place.tally;
                    birth.work.written = 0;
                    let link = Link { parent: creates[parent].segment.id, bounds: Bounds::all(place.position) };
                    segment = NewSegment { link: Some(link), birth, ..segment };
                    Some((*of, forked(id, &mut record, *of, shown.checked_sub(1), Some(place.position))))
                }
                Begins::Fork { of, after: After::Stored(message), parts_at } => {
                    let parent = self.thread(*of).await?;
                    let point = Point::Message(*message);
                    let decided = self.telling(created).decide_fork(&parent, point, Interrupted::Fork).await?;
                    let Decided { segment: shared, first: hiding, mut index, mut anchor, .. } = decided;
                    segment = shared;
                    shown = index.map_or(0, |index| index + 1);
                    first = hiding.iter().map(NewEntry::new).collect();
                    if let Some(parts_at) = parts_at {
                        let view = self.view(parent.id, &parent.head, None).await?;
                        let parts_at = self.locate(&view, *parts_at).await?;
                        index = self.last_index_at(&view, &parts_at).await?;
                        anchor = Some(parts_at.base.position);
                    }
                    others.entry(*of).or_insert((parent, Vec::new()));
                    Some((*of, forked(id, &mut record, *of, index, anchor)))
                }
                Begins::Subagent { of, name, description } => {
                    if !numbers.contains_key(of) && !others.contains_key(of) {
                        others.insert(*of, (self.thread(*of).await?, Vec::new()));
                    }
                    (record.main_thread_id, record.parent_id) = (Some(*of), Some(*of));
                    record.born_at = Some(Position::START);
                    Some((*of, Entry::ChildChanged(child(arrival, name, description)?)))
                }
            };
            if let Some((parent, told)) = told {
                // A thread is as old as its last message, and not as its last fork.
                let told = NewEntry { time: Some(Timestamp::from_micros(0)), ..NewEntry::new(&told) };
                match (numbers.get(&parent), others.get_mut(&parent)) {
                    (Some(number), _) => creates[*number].entries.push(told),
                    (None, Some((_, entries))) => entries.push(told),
                    (None, None) => return Err(Error::broken("the thread that is told was read")),
                }
            }
            let hidden = first.len();
            let own = arrival.messages.iter().map(|told| told.entry.clone());
            let entries = first.into_iter().chain(own).map(|entry| dated(entry, created));
            let account = self.caller.account.clone();
            let (entries, created) = (entries.collect(), Some(created));
            let mut create = Create { thread: id, account, record: record.checked()?, segment, entries, created };
            let birth = born(&create, now);
            let begins = create.segment.link.map_or(Position::START, |link| link.bounds.highest());
            let position = Position(begins.0 + hidden as u64 + 1);
            firsts.push(MessageId { segment: create.segment.id, position });
            let places = birth.places.into_iter().skip(hidden);
            let counted = create.entries[hidden..].iter().zip(places).map(|(entry, place)| {
                shown += u64::from(matches!(entry.derived, Derived::Message { silent: false, depth: 0, .. }));
                (place, shown)
            });
            placed.push(counted.collect());
            create.entries.extend(values(&arrival.values).map(|entry| dated(entry, arrival.created)));
            creates.push(create);
            numbers.insert(id, number);
        }
        let births = creates.into_iter().map(ThreadCommit::Create);
        let told = others.into_values().filter(|(_, entries)| !entries.is_empty());
        let told = told.map(|(thread, entries)| write(&thread, None, None, entries, None));
        let mut commit = self.commit(births.chain(told).collect());
        commit.blobs.extend(arrivals.iter().flat_map(|arrival| &arrival.messages).flat_map(|told| told.blobs.clone()));
        Ok((commit, firsts))
    }
}

/// The segment at this distance from `near`. The segments of one commit are neighbours, so their rows share pages of a
/// store's indexes: with ids all over the place, each thread would write pages of its own. The step is larger than any
/// position, because checksums mix segment and position.
fn neighbour(near: SegmentId, number: usize) -> SegmentId {
    SegmentId::from_chance(near.bits().wrapping_add((number as u64) << 32))
}

/// The entry about a fork, whose record gets to know where it came from.
fn forked(id: ThreadId, record: &mut Record, of: ThreadId, index: Option<u64>, anchor: Option<Position>) -> Entry {
    (record.origin_thread_id, record.fork_point_index) = (Some(of), index);
    Entry::Forked(Forked { child: id, index, anchor })
}

fn child(arrival: &Arrival, name: &str, description: &str) -> Result<Child> {
    let child = Child {
        reference: arrival.id,
        name: name.to_owned(),
        title: arrival.record.title.clone(),
        description: description.to_owned(),
        resumable: None,
        blocking: None,
        thread_name: None,
        spawn_group_id: None,
        created_at: arrival.created,
        status: "imported".to_owned(),
        parent_communication: None,
    };
    Ok(child.checked()?)
}

/// The entry that sets values, if there are any.
fn values(values: &[(ValueKey, Json)]) -> impl Iterator<Item = NewEntry> {
    let change = |(key, value): &(ValueKey, Json)| ValueChange { key: key.clone(), value: Some(value.clone()) };
    let changes: Vec<ValueChange> = values.iter().map(change).collect();
    let entry = (!changes.is_empty()).then(|| NewEntry::new(&Entry::ValuesChanged(ValuesChanged { changes })));
    entry.into_iter()
}

fn dated(entry: NewEntry, time: Timestamp) -> NewEntry {
    NewEntry { time: Some(entry.time.unwrap_or(time)), ..entry }
}
