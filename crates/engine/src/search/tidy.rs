//! Keeps the shelves in order: few volumes, and no documents that no thread shows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use threadkeep_model::{Account, Bounds, MessageId, SegmentId, ThreadId};
use threadkeep_search::{Form, Shelf, Unreadable, Volume, is_old, modernize};
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

    /// The same for one account; none if another process changed the index meanwhile, and nothing was dropped.
    async fn drop_unseen_of(&self, account: &Account) -> Result<Option<u64>> {
        let (edition, note) = self.edition().await?;
        let rows = self.shared.stores.shelves.volumes(Some(account.clone())).await?;
        let shelf = self.shelf_once(account).await?;
        let unseen = self.unseen(account, &shelf).await?;
        if unseen.strands.is_empty() {
            return Ok(Some(0));
        }
        let (mut add, mut remove, mut dropped) = (Vec::new(), Vec::new(), 0);
        for row in rows {
            let Some(volume) = self.volume(&row).await? else { continue };
            if !volume.strands().iter().any(|strand| unseen.strands.contains_key(&strand.segment)) {
                continue;
            }
            let unseen = unseen.clone();
            let cleaned = beside::aside(move || {
                let keep = |volume: &Volume, doc: u32| unseen.keeps(volume.carrier(doc), volume.form(doc));
                let keep_strand = |strand: &threadkeep_search::Strand| !unseen.is_dead(strand.segment);
                threadkeep_search::merge(&[&volume], keep, keep_strand)
            });
            let (content, gone) = match cleaned.await? {
                Err(Unreadable::Gone) => return Ok(None),
                cleaned => cleaned.map_err(unreadable)?,
            };
            remove.push(row.id);
            dropped += gone;
            add.extend(new_volume(account.clone(), content)?);
        }
        if remove.is_empty() {
            return Ok(Some(0));
        }
        let change = Reshelving { edition, note: note.encode(), add, remove };
        let done = self.shared.stores.shelves.reshelve(change).await?;
        Ok(done.then_some(dropped))
    }

    /// The parts still seen of segments whose threads are deleted, or belong to another account.
    async fn unseen(&self, account: &Account, shelf: &Shelf) -> Result<Unseen> {
        let mut living: HashMap<ThreadId, bool> = HashMap::new();
        let mut strands: BTreeMap<SegmentId, Bounds> = BTreeMap::new();
        for strand in shelf.volumes().iter().flat_map(|volume| volume.strands()) {
            let lives = match living.get(&strand.thread) {
                Some(lives) => *lives,
                None => {
                    let thread = self.shared.stores.store.thread(strand.thread.into()).await?;
                    let lives = thread.is_some_and(|thread| thread.account == *account);
                    living.insert(strand.thread, lives);
                    lives
                }
            };
            if !lives {
                strands.insert(strand.segment, Bounds::all(threadkeep_model::Position::START));
            }
        }
        if strands.is_empty() {
            return Ok(Unseen::default());
        }
        // Documents that any existing thread sees, now or in an abandoned branch, stay.
        for strand in shelf.volumes().iter().flat_map(|volume| volume.strands()) {
            if strand.parent.is_none() || strands.contains_key(&strand.segment) {
                continue;
            }
            let lineage = self.lineage(strand.segment).await?;
            let mut bounds = Bounds::all(threadkeep_model::Position::END);
            for part in lineage.chain() {
                if let Some(seen) = strands.get_mut(&part.segment.id) {
                    *seen = seen.max(bounds);
                }
                let Some(link) = part.segment.link else { break };
                bounds = bounds.min(link.bounds);
            }
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
