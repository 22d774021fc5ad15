//! The search index in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::ops::Range;

use bytes::Bytes;
use threadkeep_model::Account;

use super::MemoryStore;
use crate::{BoxFuture, NewVolume, Reshelving, Result, Shelves, StoreError, VolumeRow};

/// The volumes and the note of the index.
#[derive(Debug, Default)]
pub(super) struct Index {
    volumes: BTreeMap<u64, NewVolume>,
    last: u64,
    edition: u64,
    note: String,
}

impl Shelves for MemoryStore {
    fn volumes(&self, account: Option<Account>) -> BoxFuture<'_, Result<Vec<VolumeRow>>> {
        self.read(|state| {
            let own = |volume: &NewVolume| account.as_ref().is_none_or(|own| volume.account == *own);
            let found = state.index.volumes.iter().filter(|(_, volume)| own(volume));
            Ok(found.map(|(id, volume)| row(*id, volume)).collect())
        })
    }

    fn volume(&self, id: u64) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.read(|state| Ok(state.index.volumes.get(&id).map(|volume| volume.content.clone())))
    }

    fn parts(&self, id: u64, ranges: Vec<Range<usize>>) -> BoxFuture<'_, Result<Option<Vec<Bytes>>>> {
        self.read(|state| {
            let Some(volume) = state.index.volumes.get(&id) else { return Ok(None) };
            let part = |range: Range<usize>| match range.start <= range.end && range.end <= volume.content.len() {
                true => Ok(volume.content.slice(range)),
                false => Err(StoreError::corrupt(format!("volume {id} of the search index ends early"))),
            };
            ranges.into_iter().map(part).collect::<Result<_>>().map(Some)
        })
    }

    fn edition(&self) -> BoxFuture<'_, Result<(u64, String)>> {
        self.read(|state| Ok((state.index.edition, state.index.note.clone())))
    }

    fn reshelve(&self, change: Reshelving) -> BoxFuture<'_, Result<bool>> {
        let index = &mut self.lock().index;
        let is_current = index.edition == change.edition;
        if is_current {
            index.edition += 1;
            index.note = change.note;
            change.remove.iter().for_each(|id| drop(index.volumes.remove(id)));
            for volume in change.add {
                index.last += 1;
                index.volumes.insert(index.last, volume);
            }
        }
        Box::pin(ready(Ok(is_current)))
    }

    fn clear(&self) -> BoxFuture<'_, Result<()>> {
        let index = &mut self.lock().index;
        index.volumes.clear();
        index.note.clear();
        index.edition += 1;
        Box::pin(ready(Ok(())))
    }

    fn sweep(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(ready(Ok(0)))
    }
}

fn row(id: u64, volume: &NewVolume) -> VolumeRow {
    let NewVolume { account, documents, text_bytes, model, content } = volume.clone();
    VolumeRow { id, account, documents, text_bytes, bytes: content.len() as u64, model }
}
