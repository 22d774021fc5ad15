//! Lists that come in pages.

use threadkeep_calls::Page;
use threadkeep_client::Error;

/// All items of a list, page by page; `read` is given the cursor.
pub(crate) async fn all<T>(
    mut read: impl AsyncFnMut(Option<String>) -> Result<Page<T>, Error>,
) -> Result<Vec<T>, Error> {
    let (mut items, mut cursor) = (Vec::new(), None);
    loop {
        let page = read(cursor).await?;
        items.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(items);
        }
    }
}
