//! Reading messages: pages in either direction, one message, attachments.
//!
//! A cursor carries the version its first page began at, and all its pages show that state.

use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    BlobId, Body, Entry, Invalid, Kind, Message, MessageBody, MessageId, MessageName, Position, QueuedId, Role,
    ThreadId, Uuid, Version,
};
use threadkeep_store::{BoxFuture, ChangeRow, MessageFilter, Order, StoreError, StoredEntry};

use crate::ground::cursor;
use crate::ground::policy::Verb;
use crate::ground::slot::{SlotItem, slot};
use crate::ground::view::{Located, View};
use crate::{Engine, Error, Result};

/// The messages to read, and their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    limit: Option<usize>,
    cursor: Option<String>,
    offset: u64,
    around: Option<MessageId>,
    order: Order,
    filter: MessageFilter,
    as_of: Option<Version>,
    /// The reference through which they are read.
    through: Option<Uuid>,
    counted: bool,
}

impl Default for Page {
    fn default() -> Self {
        Self::first()
    }
}

impl Page {
    /// The first page of the default list: the oldest message first, silent ones and those at a depth left out.
    pub fn first() -> Self {
        let filter = MessageFilter::SHOWN;
        let (order, as_of, through) = (Order::Ascending, None, None);
        Self { limit: None, cursor: None, offset: 0, around: None, order, filter, as_of, through, counted: true }
    }

    /// The page after `cursor`, which an earlier page gave. It shows the state that page showed.
    pub fn after(cursor: impl Into<String>) -> Self {
        Self { cursor: Some(cursor.into()), ..Self::first() }
    }

    /// The newest message first.
    #[must_use]
    pub fn newest_first(mut self) -> Self {
        self.order = Order::Descending;
        self
    }

    /// At most `limit` messages.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Passes over the first `offset` messages of the list, in the order of the page.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// The page of the default list around a message, the oldest message first.
    #[must_use]
    pub fn around(mut self, message: MessageId) -> Self {
        self.around = Some(message);
        self
    }

    /// Only messages of `role`.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.filter.role = Some(role);
        self
    }

    /// Only messages down to `depth`.
    #[must_use]
    pub fn max_depth(mut self, depth: u8) -> Self {
        self.filter.max_depth = depth;
        self
    }

    /// Includes silent messages in the page.
    #[must_use]
    pub fn include_silent(mut self) -> Self {
        self.filter.include_silent = true;
        self
    }

    /// All messages: silent ones too, and those at any depth.
    #[must_use]
    pub fn everything(mut self) -> Self {
        self.filter = MessageFilter::ALL;
        self
    }

    /// Without the total, which takes a look at every message where only those of a role are listed.
    #[must_use]
    pub fn uncounted(mut self) -> Self {
        self.counted = false;
        self
    }

    /// As the thread was at `version`.
    #[must_use]
    pub fn as_of(mut self, version: Version) -> Self {
        self.as_of = Some(version);
        self
    }

    /// Through a reference: its pages are a list of their own.
    pub(crate) fn through(mut self, reference: Uuid) -> Self {
        self.through = Some(reference);
        self
    }
}

/// Some messages, and how to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct MessagePage {
    /// The messages of this page, in order.
    pub items: Vec<Message>,
    /// Goes on where this page ends; none at the end.
    pub next: Option<String>,
    /// How many messages the list has in all, not only on this page; 0 on an [uncounted](Page::uncounted) one.
    pub total: u64,
    /// The index of the first message, on a counted page of the default list that has one.
    pub first_index: Option<u64>,
    /// Whether the indexes fall from there on.
    pub falls: bool,
    /// The version whose state the page shows.
    pub version: Version,
}

/// A place between two messages of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The slot to go on with.
    root: u64,
    /// The message in that slot that was read last; none if the slot is untouched.
    within: Option<Position>,
}

/// The content of a cursor.
struct Cursor {
    version: Version,
    order: Order,
    place: Place,
}

impl Cursor {
    fn encode(&self, list: impl Debug) -> String {
        let order = match self.order {
            Order::Ascending => 'a',
            Order::Descending => 'd',
        };
        let within = self.place.within.map_or(0, |position| position.0);
        cursor::after(list, &format!("{order}-{:x}-{:x}-{within:x}", self.version.0, self.place.root))
    }

    fn decode(list: impl Debug, cursor: &str) -> Result<Self, Invalid> {
        let parse = |place: &str| {
            let [order, version, root, within] = place.split('-').collect::<Vec<_>>()[..] else { return None };
            let order = if order == "a" { Order::Ascending } else { Order::Descending };
            let number = |text: &str| u64::from_str_radix(text, 16).ok();
            let within = Some(number(within)?).filter(|within| *within != 0).map(Position);
            Some(Self { version: Position(number(version)?), order, place: Place { root: number(root)?, within } })
        };
        parse(cursor::read(list, cursor)?).ok_or_else(cursor::no_cursor)
    }
}

impl Engine {
    /// A page of the messages that `thread` shows.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::VersionInFuture`]; a cursor that is malformed or of another thread.
    pub fn messages(&self, thread: ThreadId, page: Page) -> BoxFuture<'_, Result<MessagePage>> {
        Box::pin(async move {
            let limits = &self.shared.limits;
            let limit = page.limit.unwrap_or(limits.page);
            if limit == 0 || limit > limits.page_max {
                let rule = format!("a page has 1 to {} messages", limits.page_max);
                return Err(Invalid::parameter("limit", rule).into());
            }
            if page.cursor.is_some() && page.offset > 0 {
                let rule = "cannot be combined with a cursor";
                return Err(Invalid::parameter("offset", rule).into());
            }
            let is_default = page.filter == MessageFilter::SHOWN;
            let is_placed = page.cursor.is_some() || page.offset > 0 || page.order == Order::Descending;
            if page.around.is_some() && (is_placed || !is_default) {
                let rule = "goes without a cursor, an offset, a falling order and filters";
                return Err(Invalid::parameter("around", rule).into());
            }
            // A place among all messages: it holds for every filter.
            let list = ("messages", thread, page.through);
            let cursor = page.cursor.as_deref().map(|text| Cursor::decode(list, text)).transpose()?;
            // The pages of a cursor show one state, and no other one is asked of it.
            if cursor.as_ref().is_some_and(|cursor| page.as_of.is_some_and(|as_of| as_of != cursor.version)) {
                return Err(cursor::no_cursor().into());
            }
            let head = self.head(thread, Verb::Read).await?;
            let at = cursor.as_ref().map(|cursor| cursor.version).or(page.as_of);
            let view = self.view(thread, &head, at).await?;
            let version = at.unwrap_or(head.version);
            let order = cursor.as_ref().map_or(page.order, |cursor| cursor.order);
            let offset = match page.around {
                Some(message) => {
                    let located = self.locate(&view, message).await?;
                    self.index_of(&view, &located).await?.saturating_sub(limit as u64 / 2)
                }
                None => page.offset,
            };
            let start = match &cursor {
                Some(cursor) => Some(cursor.place),
                None => self.place(&view, page.filter, offset, order).await?,
            };
            let (items, next) = match start {
                Some(place) => self.read_from(&view, place, order, page.filter, limit).await?,
                None => (Vec::new(), None),
            };
            let next = next.map(|place| Cursor { version, order, place }.encode(list));
            let total = if page.counted { self.count_under(&view, page.filter).await? } else { 0 };
            let first_index = match (items.first(), &cursor) {
                (Some(_), None) if is_default && page.counted => Some(match order {
                    Order::Ascending => offset,
                    Order::Descending => total.saturating_sub(offset + 1),
                }),
                (Some(first), Some(_)) if is_default && page.counted => {
                    let located = self.locate(&view, first.id).await?;
                    Some(self.index_of(&view, &located).await?)
                }
                _ => None,
            };
            Ok(MessagePage { items, next, total, first_index, falls: order == Order::Descending, version })
        })
    }

    /// One message, as `thread` shows it now or as of a version.
    ///
    /// # Errors
    /// [`Error::MessageNotFound`] if the thread does not show it.
    pub fn message(&self, thread: ThreadId, id: MessageId, as_of: Option<Version>) -> BoxFuture<'_, Result<Message>> {
        Box::pin(async move {
            let head = self.head(thread, Verb::Read).await?;
            let view = self.view(thread, &head, as_of).await?;
            let located = self.locate(&view, id).await?;
            self.assemble(&located.base, located.item()).await
        })
    }

    /// Where the message lies that `name` names.
    ///
    /// # Errors
    /// [`Error::MessageNotFound`] if it is the name of a message that was never delivered from a queue.
    pub async fn message_id(&self, name: impl Into<MessageName>) -> Result<MessageId> {
        match name.into() {
            MessageName::Place(id) => Ok(id),
            MessageName::Queued(queued) => {
                let found = self.shared.stores.store.delivered(queued).await?;
                found.ok_or(Error::MessageNotFound { message: queued.into() })
            }
        }
    }

    /// The last messages of a view that shows `count` of them from its beginning on, newest first: at most `limit`.
    pub(crate) async fn last_of(&self, view: &View, count: u64, limit: usize) -> Result<Vec<Message>> {
        let skipped = view.tally.messages().saturating_sub(count);
        match self.place(view, MessageFilter::ALL, skipped, Order::Descending).await? {
            Some(place) => {
                let (found, _) = self.read_from(view, place, Order::Descending, MessageFilter::ALL, limit).await?;
                Ok(found)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Messages of users and assistants next to a message, the nearest first: at most `count`.
    pub(crate) async fn said_beside(
        &self,
        view: &View,
        located: &Located,
        order: Order,
        count: usize,
    ) -> Result<Vec<Message>> {
        let filter = MessageFilter { include_silent: false, ..MessageFilter::ALL };
        // Where nothing was changed, a slot is a message, and pages begin with whole slots.
        let mut from = if view.tally.last_change == Position::START {
            beyond(located.root, order).map(|root| Place { root, within: None })
        } else {
            Some(Place { root: located.root, within: Some(located.item().position) })
        };
        let mut found = Vec::new();
        while let Some(place) = from
            && found.len() < count
        {
            let (messages, next) = self.read_from(view, place, order, filter, count - found.len()).await?;
            for message in messages {
                let body = message.body().map_err(|damaged| StoreError::corrupt(damaged.to_string()))?;
                let said =
                    matches!(body.role, Role::User | Role::Assistant) && !body.content.to_text().trim().is_empty();
                if said && found.len() < count {
                    found.push(message);
                }
            }
            from = next;
        }
        Ok(found)
    }

    /// The bytes of an attachment of a message that `thread` shows.
    ///
    /// # Errors
    /// [`Error::MessageNotFound`]; [`Error::AttachmentNotFound`] if the message has no such attachment.
    pub fn attachment(&self, thread: ThreadId, message: MessageId, attachment: BlobId) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            let message = self.message(thread, message, None).await?;
            let missing = Error::AttachmentNotFound { attachment };
            if !message.body()?.attachments.iter().any(|named| named.id == attachment) {
                return Err(missing);
            }
            self.shared.stores.blobs.blob(attachment).await?.ok_or(missing)
        })
    }

    /// Where the message number `offset` of those that pass `filter`, counted in `order`, is; none past the end.
    async fn place(&self, view: &View, filter: MessageFilter, offset: u64, order: Order) -> Result<Option<Place>> {
        if view.tally.messages() == 0 {
            return Ok(None);
        }
        if offset == 0 {
            let root = if order == Order::Ascending { 0 } else { view.tally.ordinals.saturating_sub(1) };
            return Ok(Some(Place { root, within: None }));
        }
        let shape = self.shape_under(view, filter).await?;
        let count = shape.index_of(view.tally.ordinals);
        if offset >= count {
            return Ok(None);
        }
        let number = if order == Order::Ascending { offset - 1 } else { count - offset };
        let (root, _) = shape.root_of(number);
        if self.changes(view, root..root + 1).await?.is_empty() {
            return Ok(beyond(root, order).map(|root| Place { root, within: None }));
        }
        let located = self.locate_under(view, &shape, filter, number).await?;
        Ok(Some(Place { root, within: Some(located.item().position) }))
    }

    /// Up to `limit` messages from `place` on, and where to go on.
    async fn read_from(
        &self,
        view: &View,
        place: Place,
        order: Order,
        filter: MessageFilter,
        limit: usize,
    ) -> Result<(Vec<Message>, Option<Place>)> {
        if view.tally.last_change == Position::START {
            return self.read_plain(view, place, order, filter, limit).await;
        }
        let (mut found, mut bytes): (Vec<(Message, Place)>, usize) = (Vec::new(), 0);
        let mut limit = limit;
        let (mut from, mut is_cut) = (Some(place), false);
        'page: while let Some(place) = from
            && found.len() <= limit
        {
            let roots = ahead(view, place, order);
            let bases = self.appended(view, roots, MessageFilter::ALL, order, limit + 1).await?;
            let (Some(first), Some(last)) = (bases.first(), bases.last()) else { break };
            let (first, last) = (first.ordinal()?, last.ordinal()?);
            let changes = self.changes(view, first.min(last)..first.max(last) + 1).await?;
            let mut by_root: HashMap<u64, Vec<ChangeRow>> = HashMap::new();
            for change in changes {
                by_root.entry(change.root).or_default().push(change);
            }
            for base in &bases {
                let root = base.ordinal()?;
                let mut items: VecDeque<SlotItem> =
                    slot(base.position, &by_root.remove(&root).unwrap_or_default()).into();
                if order == Order::Descending {
                    items.make_contiguous().reverse();
                }
                if let Some(within) = place.within.filter(|_| root == place.root) {
                    while items.pop_front().is_some_and(|item| item.position != within) {}
                }
                for item in items {
                    if found.len() > limit {
                        break;
                    }
                    let message = match self.assemble(base, item).await {
                        // As above: the next page reports it.
                        Err(error) if error.is_damage() && !found.is_empty() => {
                            is_cut = true;
                            break 'page;
                        }
                        message => message?,
                    };
                    let body = message.body()?;
                    if filter.passes(body.role, body.silent, body.depth) {
                        bytes += message.json.len();
                        found.push((message, Place { root, within: Some(item.position) }));
                        if bytes >= self.shared.limits.page_bytes_max {
                            limit = limit.min(found.len());
                        }
                    }
                }
            }
            from =
                beyond(last, order).filter(|root| *root < view.tally.ordinals).map(|root| Place { root, within: None });
        }
        let more = is_cut || found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|(_, place)| *place);
        Ok((found.into_iter().map(|(message, _)| message).collect(), next))
    }

    /// The same where nothing was ever edited, deleted or inserted: the store can filter and count.
    async fn read_plain(
        &self,
        view: &View,
        place: Place,
        order: Order,
        filter: MessageFilter,
        limit: usize,
    ) -> Result<(Vec<Message>, Option<Place>)> {
        let roots = ahead(view, place, order);
        let mut entries = self.appended(view, roots, filter, order, limit + 1).await?;
        let mut next = entries.get(limit).map(StoredEntry::ordinal).transpose()?;
        entries.truncate(limit);
        let (mut messages, mut bytes) = (Vec::with_capacity(entries.len()), 0);
        for mut entry in entries {
            if bytes >= self.shared.limits.page_bytes_max {
                next = Some(entry.ordinal()?);
                break;
            }
            let json = match std::mem::replace(&mut entry.body, Body::Absent) {
                Body::Inline(bytes) => Ok(bytes),
                other => self.body(&StoredEntry { body: other, ..entry.clone() }).await,
            };
            let json = match json {
                // The page ends before a damaged message: those before it are read, and the next page reports it.
                Err(error) if error.is_damage() && !messages.is_empty() => {
                    next = Some(entry.ordinal()?);
                    break;
                }
                json => json?,
            };
            bytes += json.len();
            messages.push(message(&entry, json)?);
        }
        Ok((messages, next.map(|root| Place { root, within: None })))
    }

    /// A message of a slot as it shows, edits applied.
    pub(crate) async fn assemble(&self, base: &StoredEntry, item: SlotItem) -> Result<Message> {
        let inserted;
        let (entry, mut body) = match item.inserted {
            None => {
                let json = self.body(base).await?;
                if item.content.is_none() && item.metadata.is_none() {
                    return message(base, json);
                }
                (base, read_body(base, json)?)
            }
            Some(segment) => {
                let id = MessageId { segment, position: item.position };
                inserted = self.entry_at(id).await?.ok_or_else(|| damaged(id, "its entry is missing"))?;
                match self.decode(&inserted).await? {
                    Entry::MessageInserted(entry) => (&inserted, entry.message),
                    _ => return Err(damaged(id, "its entry is of another kind")),
                }
            }
        };
        let mut version = entry.position;
        for (segment, position) in [item.content, item.metadata].into_iter().flatten() {
            let id = MessageId { segment, position };
            let edit = self.entry_at(id).await?.ok_or_else(|| damaged(id, "an edit is missing"))?;
            let Entry::MessageEdited(edited) = self.decode(&edit).await? else {
                return Err(damaged(id, "an edit is of another kind"));
            };
            if item.content == Some((segment, position))
                && let Some(content) = edited.content
            {
                body.content = content;
            }
            if item.metadata == Some((segment, position)) {
                body.metadata = edited.metadata;
            }
            version = version.max(position);
        }
        let json = serde_json::to_vec(&body).map_err(|error| StoreError::corrupt(error.to_string()))?;
        let queued = match entry.kind {
            Kind::MessageDelivered => message(entry, self.body(entry).await?)?.queued,
            _ => None,
        };
        Ok(Message {
            id: MessageId { segment: entry.segment, position: entry.position },
            queued,
            number: queued.map_or(entry.position, |QueuedId(place)| place.position).0,
            json: json.into(),
            actor: Arc::clone(&entry.actor),
            created: entry.time,
            version,
        })
    }

    /// An entry; none if it is damaged: the doctor reports that, and followers still need the entries after it.
    pub(crate) async fn read_if_whole(&self, entry: &StoredEntry) -> Result<Option<Entry>> {
        match self.decode(entry).await {
            Err(error) if error.is_damage() => Ok(None),
            read => read.map(Some),
        }
    }

    pub(crate) async fn decode(&self, entry: &StoredEntry) -> Result<Entry> {
        let body = self.body(entry).await?;
        let id = MessageId { segment: entry.segment, position: entry.position };
        Entry::decode(entry.kind, entry.format, &body).map_err(|what| damaged(id, &what))
    }
}

fn read_body(entry: &StoredEntry, body: Bytes) -> Result<MessageBody> {
    let id = MessageId { segment: entry.segment, position: entry.position };
    let (json, _) = said(entry, body)?;
    serde_json::from_slice(&json).map_err(|error| damaged(id, &error.to_string()))
}

fn damaged(id: MessageId, what: &str) -> Error {
    StoreError::corrupt(format!("entry {} of segment {}: {what}", id.position, id.segment)).into()
}

/// The slots from `place` on, in `order`.
fn ahead(view: &View, place: Place, order: Order) -> Range<u64> {
    match order {
        Order::Ascending => place.root..view.tally.ordinals,
        Order::Descending => 0..place.root.saturating_add(1).min(view.tally.ordinals),
    }
}

/// The slot after `root`, in `order`; none past the beginning.
fn beyond(root: u64, order: Order) -> Option<u64> {
    match order {
        Order::Ascending => Some(root + 1),
        Order::Descending => root.checked_sub(1),
    }
}

/// An entry as a message, with the body of the entry.
pub(crate) fn message(entry: &StoredEntry, body: Bytes) -> Result<Message> {
    let (json, queued) = said(entry, body)?;
    Ok(Message {
        id: MessageId { segment: entry.segment, position: entry.position },
        queued,
        number: queued.map_or(entry.position, |QueuedId(place)| place.position).0,
        json,
        actor: Arc::clone(&entry.actor),
        created: entry.time,
        version: entry.position,
    })
}

/// A message as readers get it.
pub(crate) fn shown(body: &MessageBody) -> Bytes {
    serde_json::to_vec(body).expect("a message has text keys and plain values").into()
}

/// The message in the body of an entry, and the name it had in the queue if it was delivered from there.
fn said(entry: &StoredEntry, body: Bytes) -> Result<(Bytes, Option<QueuedId>)> {
    #[derive(serde::Deserialize)]
    struct Delivered<'a> {
        item: QueuedId,
        #[serde(borrow)]
        message: &'a serde_json::value::RawValue,
    }
    if entry.kind != Kind::MessageDelivered {
        return Ok((body, None));
    }
    let id = MessageId { segment: entry.segment, position: entry.position };
    let delivered: Delivered<'_> = serde_json::from_slice(&body).map_err(|error| damaged(id, &error.to_string()))?;
    let json = body.slice_ref(delivered.message.get().as_bytes());
    Ok((json, Some(delivered.item)))
}
