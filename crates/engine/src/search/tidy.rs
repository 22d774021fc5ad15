//! Keeps the shelves in order: few volumes, and no documents that no thread shows.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use threadkeep_model::{Account, Bounds, MessageId, SegmentId, ThreadId};
use threadkeep_search::{Form, Unreadable, Volume, is_old, modernize};
use threadkeep_store::{Reshelving, VolumeRow};

use super::ask::AT_ONCE_MAX;
use super::index::new_volume;
use super::parts::unreadable;
use crate::ground::beside;
use crate::{Engine, Error, Result};

/// Volumes of about one size that are merged into one.
const MERGED_AT_ONCE: usize = 6;
/// Volumes with more documents are not merged any more.
const DOCUMENTS_MAX: u64 = 65_536;
/// Segments whose threads are looked up at once.
const STRANDS_AT_ONCE: usize = 500;
/// Bytes that show the format of a volume.
const HEADER_BYTES: usize = 8;
/// How often the work is tried again after changes by others.
const TRIES_MAX: usize = 16;

impl Engine {
    /// Merges volumes where an account has many of about one size: this account, or any. False if there was nothing to
    /// do.
    pub(crate) async fn merge_some(&self, of: Option<&Account>) -> Result<bool> {
        let (edition, note) = self.edition().await?;
        let mut rows = self.shared.stores.shelves.volumes(of.cloned()).await?;
        rows.retain(|row| !self.shared.library().is_in_work(row.id));
        let Some(rows) = to_merge(&rows) else { return Ok(false) };
        let mut volumes: Vec<Arc<Volume>> = Vec::new();
        for row in &rows {
            let Some(volume) = self.volume(row).await? else { return Ok(true) };
            volumes.push(volume);
        }
        let merged = beside::aside(move || {
            let volumes: Vec<&Volume> = volumes.iter().map(|volume| &**volume).collect();
            threadkeep_search::merge(&volumes, |_, _| true, |_| true)
        });
        let (content, _) = match merged.await? {
            Err(Unreadable::Gone) => return Ok(true),
            merged => merged.map_err(unreadable)?,
        };
        let add = new_volume(rows[0].account.clone(), content)?.into_iter().collect();
        let remove = rows.iter().map(|row| row.id).collect();
        let change = Reshelving { edition, note: note.encode(), add, remove };
        // If another process was faster, its result is looked at next.
        self.shared.stores.shelves.reshelve(change).await?;
        Ok(true)
    }

    /// Writes a large volume of an earlier format anew in the present one, so that a question need not read all of it.
    /// False if there is none.
    pub(crate) async fn modernize_some(&self) -> Result<bool> {
        let shelves = &self.shared.stores.shelves;
        for row in shelves.volumes(None).await? {
            if row.documents <= AT_ONCE_MAX as u64 || self.shared.library().is_in_work(row.id) {
                continue;
            }
            let beginning = 0..HEADER_BYTES.min(row.bytes as usize);
            let header = shelves.parts(row.id, vec![beginning]).await?;
            if !header.is_some_and(|parts| parts.iter().any(|header| is_old(header))) {
                continue;
            }
            let Some(bytes) = shelves.volume(row.id).await? else { continue };
            let content = beside::aside(move || modernize(&bytes)).await?;
            let content = content.map_err(|damaged| unreadable(damaged.into()))?;
            self.replace(&row, new_volume(row.account.clone(), content)?.into_iter().collect()).await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Drops documents that no existing thread sees from the shelf of one account, or of all. Returns how many.
    pub(crate) async fn drop_unseen(&self, of: Option<Account>) -> Result<u64> {
        let rows = self.shared.stores.shelves.volumes(of).await?;
        let accounts: HashSet<Account> = rows.into_iter().map(|row| row.account).collect();
        let mut dropped = 0;
        for account in accounts {
            let mut tries = 0;
            dropped += loop {
                if let Some(gone) = self.drop_unseen_of(&account).await? {
                    break gone;
                }
                tries += 1;
                if tries == TRIES_MAX {
                    return Err(Error::Busy);
                }
            };
        }
        Ok(dropped)
    }

    /// The same for one account, volume by volume; none if another process changed the index meanwhile.
    async fn drop_unseen_of(&self, account: &Account) -> Result<Option<u64>> {
        let seen = self.seen_of_others(account).await?;
        let mut dropped = 0;
        for row in self.shared.stores.shelves.volumes(Some(account.clone())).await? {
            let (edition, note) = self.edition().await?;
            let Some(volume) = self.volume(&row).await? else { return Ok(None) };
            let unseen = self.unseen(account, &volume, &seen).await?;
            if unseen.strands.is_empty() {
                continue;
            }
            let drops = unseen.strands.keys().any(|segment| unseen.is_dead(*segment));
            let cleaned = beside::aside(move || {
                let keep = |volume: &Volume, doc: u32| unseen.keeps(volume.carrier(doc), volume.form(doc));
                let keep_strand = |strand: &threadkeep_search::Strand| !unseen.is_dead(strand.segment);
                threadkeep_search::merge(&[&volume], keep, keep_strand)
            });
            let (content, gone) = match cleaned.await? {
                Err(Unreadable::Gone) => return Ok(None),
                cleaned => cleaned.map_err(unreadable)?,
            };
            if gone == 0 && !drops {
                continue;
            }
            let add = new_volume(account.clone(), content)?.into_iter().collect();
            let change = Reshelving { edition, note: note.encode(), add, remove: vec![row.id] };
            let shelves = Arc::clone(&self.shared.stores.shelves);
            if !beside::read_aside(async move { shelves.reshelve(change).await }).await?? {
                return Ok(None);
            }
            dropped += gone;
        }
        Ok(Some(dropped))
    }

    /// How far threads of the account see segments whose own threads are deleted, or belong to another account.
    async fn seen_of_others(&self, account: &Account) -> Result<BTreeMap<SegmentId, Bounds>> {
        let mut moment = self.shared.stores.upkeep.snapshot(Some(account.clone())).await?;
        let mut seen = BTreeMap::new();
        loop {
            let page = moment.segments(STRANDS_AT_ONCE).await?;
            if page.is_empty() {
                return Ok(seen);
            }
            let of_others = page.iter().filter(|part| part.head.is_none());
            seen.extend(of_others.map(|part| (part.row.segment.id, part.bounds)));
            tokio::task::yield_now().await;
        }
    }

    /// The segments of a volume whose threads are deleted, or belong to another account, and how far they are still
    /// seen. Documents that any existing thread sees, now or in an abandoned branch, stay.
    async fn unseen(&self, account: &Account, volume: &Volume, seen: &BTreeMap<SegmentId, Bounds>) -> Result<Unseen> {
        let mut strands: BTreeMap<SegmentId, Bounds> = BTreeMap::new();
        for some in volume.strands().chunks(STRANDS_AT_ONCE) {
            let threads: HashSet<ThreadId> = some.iter().map(|strand| strand.thread).collect();
            let living = self.shared.stores.store.threads(threads.into_iter().collect()).await?;
            let living: HashSet<ThreadId> =
                living.into_iter().filter(|thread| thread.account == *account).map(|thread| thread.id).collect();
            let dead = some.iter().filter(|strand| !living.contains(&strand.thread)).map(|strand| {
                let nothing = Bounds::all(threadkeep_model::Position::START);
                (strand.segment, seen.get(&strand.segment).copied().unwrap_or(nothing))
            });
            strands.extend(dead);
            tokio::task::yield_now().await;
        }
        Ok(Unseen { strands: Arc::new(strands) })
    }
}

/// Up to where segments without a living thread of the account are still seen.
#[derive(Clone, Default)]
struct Unseen {
    strands: Arc<BTreeMap<SegmentId, Bounds>>,
}

impl Unseen {
    fn keeps(&self, carrier: MessageId, form: Form) -> bool {
        self.strands.get(&carrier.segment).is_none_or(|seen| {
            let last = match form {
                Form::Appended => seen.messages,
                Form::Inserted | Form::Edited => seen.changes,
            };
            carrier.position <= last
        })
    }

    fn is_dead(&self, segment: SegmentId) -> bool {
        self.strands.get(&segment).is_some_and(|seen| seen.highest() == threadkeep_model::Position::START)
    }
}

/// Volumes of one account and one model that are of about one size, and enough of them.
fn to_merge(rows: &[VolumeRow]) -> Option<Vec<VolumeRow>> {
    let mut tiers: BTreeMap<(&Account, &str, u32), Vec<&VolumeRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.documents <= DOCUMENTS_MAX / 2) {
        // Half a power of eight and more: volumes between one and eight thousand documents are of one size.
        let tier = (row.documents + 1).ilog2() / 3;
        tiers.entry((&row.account, &row.model, tier)).or_default().push(row);
    }
    tiers.into_values().find_map(|rows| {
        let mut room = DOCUMENTS_MAX;
        let fits = |row: &&&VolumeRow| {
            let fits = row.documents <= room;
            room = room.saturating_sub(row.documents);
            fits
        };
        let fitting: Vec<VolumeRow> = rows.iter().take_while(fits).map(|row| (*row).clone()).collect();
        (rows.len() >= MERGED_AT_ONCE && fitting.len() > 1).then_some(fitting)
    })
}
