//! Taking in what another store exported: what is here already is compared, the rest is written.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::Object;
use threadkeep_model::{Caller, Position, SegmentId, Thread, ThreadId};
use threadkeep_store::{ImportBatch, ImportedEntry, Result, SegmentRow, StoreError, StoredEntry, Tombstone};

use crate::codec::{SEGMENT_COLUMNS, get, key, position, segment_id, segment_key, segment_row, thread_id};
use crate::error::{from_commit, from_postgres};
use crate::fences::take_out_documents;
use crate::read::{self, rows};
use crate::statement::Place;
use crate::tables::{EntryRow, Rows, put_blobs};
use crate::{Shared, keys, registry};

impl Shared {
    pub(crate) async fn import(&self, batch: &ImportBatch) -> Result<()> {
        let client = self.connections.get().await?;
        let mut actors = HashMap::new();
        for ImportedEntry { entry, .. } in &batch.entries {
            let who = (Arc::clone(&entry.account), Arc::clone(&entry.actor));
            if let std::collections::hash_map::Entry::Vacant(vacant) = actors.entry(who) {
                let (account, actor) = ((*entry.account).clone(), (*entry.actor).clone());
                let id = self.actors.id(&client, &Caller { account, actor, cause: None }).await?;
                vacant.insert(id);
            }
        }
        drop(client);
        let mut transaction = self.alone().await?;
        transaction.sends(batch.entries.iter().map(|imported| &imported.entry.body));
        let client = transaction.client();
        put_blobs(client, batch.blobs.iter()).await.map_err(from_postgres)?;
        let here = Here::look(client, batch).await?;
        let mut new = Rows::default();
        for row in &batch.segments {
            if here.lacks_segment(row)? {
                new.segment(row);
            }
        }
        for imported in &batch.entries {
            let ImportedEntry { entry, derived, blobs } = imported;
            let Some(thread) = here.lacks_entry(entry)? else {
                if let Some(thread) = here.came_back(imported) {
                    let place = Place { thread, segment: entry.segment, position: entry.position };
                    new.derived_again(&place, entry.time, derived);
                }
                continue;
            };
            let actor = actors.get(&(Arc::clone(&entry.account), Arc::clone(&entry.actor))).copied().unwrap_or(0);
            let place = Place { thread, segment: entry.segment, position: entry.position };
            let row = EntryRow {
                kind: entry.kind,
                format: entry.format,
                time: entry.time,
                actor,
                by: (&entry.account, &entry.actor),
                cause: entry.cause.as_deref(),
                tally: &entry.tally,
                body: &entry.body,
                derived,
                blobs,
            };
            new.entry(&place, &row);
        }
        for thread in &batch.threads {
            if lacks_thread(client, thread).await? {
                new.imported(thread);
            }
        }
        let gone: Vec<i64> = batch.tombstones.iter().map(|tombstone| key(tombstone.thread)).collect();
        let sql = "SELECT id, true FROM threads WHERE id = ANY($1) UNION ALL
                   SELECT id, false FROM tombstones WHERE id = ANY($1)";
        let mut known = HashMap::new();
        for row in rows(client, sql, &[&gone]).await? {
            known.insert(get::<i64>(&row, 0)?, get::<bool>(&row, 1)?);
        }
        for Tombstone { thread, time } in &batch.tombstones {
            match known.get(&key(*thread)) {
                Some(true) => return Err(StoreError::lives_here(*thread)),
                Some(false) => {}
                None => new.bury(*thread, *time),
            }
        }
        new.write(client, Vec::new()).await.map_err(from_postgres)?;
        for kept in &batch.keys {
            keys::put(client, kept).await?;
        }
        if let Some((account, documents)) = &batch.documents {
            take_out_documents(client, account).await?;
            for document in documents {
                registry::put(client, document).await?;
            }
        }
        let sql = "INSERT INTO meta VALUES ('import_until', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        rows(client, sql, &[&batch.kept_until().as_micros()]).await?;
        transaction.end("COMMIT").await.map_err(from_commit)
    }
}

fn clash(what: String) -> StoreError {
    StoreError::Import { what }
}

fn differs(thread: ThreadId) -> StoreError {
    clash(format!("thread {thread} is here already, and differs"))
}

/// What is here already of what a batch brings.
struct Here {
    segments: HashMap<SegmentId, SegmentRow>,
    /// The segments that are here or come with the batch, and whose they are.
    owners: HashMap<SegmentId, ThreadId>,
    /// All that is a living thread's own is here: an import can add nothing to it.
    living: HashSet<ThreadId>,
    bodies: HashMap<(SegmentId, Position), Option<Vec<u8>>>,
}

impl Here {
    async fn look(client: &Object, batch: &ImportBatch) -> Result<Self> {
        let entries = batch.entries.iter().map(|imported| &imported.entry);
        let named: HashSet<SegmentId> = batch.segments.iter().map(|row| row.segment.id).collect();
        let wanted: HashSet<i64> =
            named.iter().copied().chain(entries.clone().map(|entry| entry.segment)).map(segment_key).collect();
        let wanted: Vec<i64> = wanted.into_iter().collect();
        let sql = format!("SELECT {SEGMENT_COLUMNS} FROM segments WHERE id = ANY($1)");
        let mut segments = HashMap::new();
        for row in rows(client, &sql, &[&wanted]).await? {
            let row = segment_row(&row)?;
            segments.insert(row.segment.id, row);
        }
        let mut owners: HashMap<_, _> = segments.iter().map(|(id, row)| (*id, row.segment.thread)).collect();
        for row in &batch.segments {
            owners.entry(row.segment.id).or_insert(row.segment.thread);
        }
        let threads: Vec<i64> = owners.values().map(|thread| key(*thread)).collect();
        let mut living = HashSet::new();
        for row in rows(client, "SELECT id, rest FROM threads WHERE id = ANY($1)", &[&threads]).await? {
            living.insert(thread_id(get(&row, 0)?, get(&row, 1)?)?);
        }
        let (at_segments, at_positions): (Vec<i64>, Vec<i64>) =
            entries.map(|entry| (segment_key(entry.segment), entry.position.0 as i64)).unzip();
        let sql = "SELECT e.segment, e.position, e.body FROM unnest($1::bigint[], $2::bigint[]) AS u(segment, position)
                   JOIN entries e ON e.segment = u.segment AND e.position = u.position";
        let mut bodies = HashMap::new();
        for row in rows(client, sql, &[&at_segments, &at_positions]).await? {
            bodies.insert((segment_id(get(&row, 0)?), position(get(&row, 1)?)), get(&row, 2)?);
        }
        Ok(Self { segments, owners, living, bodies })
    }

    /// Whether a segment has to be written.
    fn lacks_segment(&self, row: &SegmentRow) -> Result<bool> {
        match self.segments.get(&row.segment.id) {
            None if self.living.contains(&row.segment.thread) => Err(differs(row.segment.thread)),
            None => Ok(true),
            Some(here) if here == row => Ok(false),
            Some(_) => Err(clash(format!("segment {} is here already, and differs", row.segment.id))),
        }
    }

    /// The thread of an entry that is here, if the thread is not, and something follows from the entry that only a living
    /// thread has.
    fn came_back(&self, imported: &ImportedEntry) -> Option<ThreadId> {
        let thread = self.owners.get(&imported.entry.segment).filter(|thread| !self.living.contains(thread));
        thread.copied().filter(|_| imported.comes_back())
    }

    /// The thread to which an entry belongs that has to be written.
    fn lacks_entry(&self, entry: &StoredEntry) -> Result<Option<ThreadId>> {
        if let Some(body) = self.bodies.get(&(entry.segment, entry.position)) {
            let same = body.as_deref() == entry.inline().map(|bytes| &bytes[..]);
            let place = format!("entry {} of segment {}", entry.position, entry.segment);
            return if same { Ok(None) } else { Err(clash(format!("{place} is here already, and differs"))) };
        }
        let Some(thread) = self.owners.get(&entry.segment) else {
            return Err(clash(format!("segment {} is missing", entry.segment)));
        };
        if self.living.contains(thread) { Err(differs(*thread)) } else { Ok(Some(*thread)) }
    }
}

/// Whether a thread has to be written.
async fn lacks_thread(client: &Object, thread: &Thread) -> Result<bool> {
    if !rows(client, "SELECT 1 FROM tombstones WHERE id = $1", &[&key(thread.id)]).await?.is_empty() {
        return Err(clash(format!("thread {} was deleted here, and stays deleted", thread.id)));
    }
    match read::thread(client, threadkeep_model::ThreadName::Short(thread.id.short())).await? {
        None => {
            let version = thread.head.version;
            let sql = "SELECT 1 FROM entries WHERE segment = $1 AND position > $2 LIMIT 1";
            let goes_on = rows(client, sql, &[&segment_key(thread.head.segment), &(version.0 as i64)]).await?;
            if goes_on.is_empty() {
                return Ok(true);
            }
            Err(clash(format!("thread {} goes on here after version {version}", thread.id)))
        }
        Some(here) if here.id == thread.id && here.head.version == thread.head.version => Ok(false),
        Some(here) => Err(differs(here.id)),
    }
}
