//! The index of a segment's messages beside the log, page by page.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use threadkeep_model::{Position, SegmentId};
use threadkeep_store::{MessageFilter, MessageQuery, Order, Store};

use super::WALKED_AT_ONCE;
use crate::Result;

/// How the index of a segment's messages compares with the log.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) has_begun: bool,
    pub(super) found: usize,
    pub(super) told: usize,
    pub(super) differ: bool,
}

impl Compared {
    /// Compares the rows of these ordinals with the messages that the log has there.
    pub(super) async fn messages(
        &mut self,
        store: &Arc<dyn Store>,
        segment: SegmentId,
        ordinals: Range<u64>,
        until: Position,
        told: BTreeMap<u64, Position>,
    ) -> Result<()> {
        self.has_begun = true;
        let query = MessageQuery {
            spans: vec![(segment, ordinals)],
            filter: MessageFilter::ALL,
            order: Order::Ascending,
            limit: WALKED_AT_ONCE + 1,
        };
        let rows = store.messages(query).await?;
        let rows = rows.iter().filter(|row| row.position <= until);
        let found: BTreeMap<u64, Position> = rows.map(|row| (row.tally.ordinals, row.position)).collect();
        self.differ |= found != told;
        self.found += found.len();
        self.told += told.len();
        Ok(())
    }
}
