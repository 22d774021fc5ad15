//! Short lists in parts: lists that are read whole, such as a queue, and given page by page if the caller asks for it.

use threadkeep_calls::Page;
use threadkeep_model::{BlobId, Code, Invalid, ThreadId};

use crate::{Engine, Result};

impl Engine {
    /// The part of a list of `thread` that a call asks for, in the order of the list; all of it without a limit.
    ///
    /// `name` is unique in the list, and says which list it is. A cursor is the hash of the thread and the name of the
    /// last item, so a cursor of another list or thread, or one that was changed, is refused.
    pub(crate) fn part<T>(
        &self,
        thread: ThreadId,
        mut items: Vec<T>,
        (limit, cursor): (Option<usize>, Option<String>),
        name: impl Fn(&T) -> String,
    ) -> Result<Page<T>> {
        let hash = |item: &T| BlobId::of(format!("{thread} {}", name(item)).as_bytes()).to_string();
        let total = Some(items.len() as u64);
        if let Some(cursor) = cursor {
            let Some(last) = items.iter().position(|item| hash(item) == cursor) else {
                let rule = "is not of this list, or the item before the page is gone; begin without one";
                return Err(Invalid::new(Code::InvalidCursor, "cursor", rule).into());
            };
            items.drain(..=last);
        }
        let limit = limit.map_or(Ok(usize::MAX), |limit| self.page_limit(Some(limit)))?;
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(hash);
        Ok(Page::new(items, next_cursor, total))
    }
}
