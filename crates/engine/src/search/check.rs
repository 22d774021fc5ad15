//! Whether the index is sound: for the doctor, who has it made anew if it is not.

use threadkeep_search::Volume;

use crate::ground::beside;
use crate::{Engine, Result};

impl Engine {
    /// The faults of the index, one sentence each, at most `max`. All of it can be made anew from the log.
    pub(crate) async fn check_index(&self, max: usize) -> Vec<String> {
        match self.look_at_volumes(max).await {
            Ok(findings) => findings,
            Err(error) => {
                vec![format!("the search index cannot be read: {error}")]
            }
        }
    }

    async fn look_at_volumes(&self, max: usize) -> Result<Vec<String>> {
        let (_, _) = self.edition().await?;
        let mut findings = Vec::new();
        for row in self.shared.stores.shelves.volumes(None).await? {
            // It may be merged into another one meanwhile.
            let Some(bytes) = self.shared.stores.shelves.volume(row.id).await? else { continue };
            let size = bytes.len() as u64;
            let finding = match beside::aside(move || Volume::read(bytes)).await? {
                Err(damaged) => format!("volume {} of the search index: {damaged}", row.id),
                Ok(volume) if volume.len() as u64 != row.documents || size != row.bytes => {
                    let (found, said) = (volume.len(), row.documents);
                    format!("volume {} of the search index has {found} messages, and should have {said}", row.id)
                }
                Ok(_) => continue,
            };
            findings.push(finding);
            if findings.len() == max {
                break;
            }
        }
        Ok(findings)
    }

    /// Empties a damaged index; the follower of the log, or a backfill, fills it again.
    pub(crate) async fn repair_index(&self) -> Result<()> {
        if self.check_index(1).await.is_empty() {
            return Ok(());
        }
        let _turn = self.shared.library().turn.lock().await;
        Ok(self.shared.stores.shelves.clear().await?)
    }
}
