//! The hash of an export: one number for everything in it, so that two stores can be compared without both at hand.

use std::fmt;

use threadkeep_model::{Account, Actor, ActorKind, Body, Bounds, Link, Position, Record, Segment, Tally, Timestamp};
use threadkeep_store::{SegmentRow, Tombstone};

use crate::ExportItem;

/// Hashed before everything else; another encoding gets another name.
const ENCODING: &str = "threadkeep export 1";

/// The BLAKE3 hash of all items of an export, in their order. Stores that hold the same threads have the same hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Hashes items as they come.
pub(crate) struct Digest(blake3::Hasher);

impl Digest {
    pub(crate) fn new() -> Self {
        let mut digest = Self(blake3::Hasher::new());
        digest.bytes(ENCODING.as_bytes());
        digest
    }

    /// Takes in one item, as bytes that can be read in one way only: a tag for its kind, and its fields in a fixed
    /// order. Numbers have 8 bytes, or 16 for a thread's id, the lowest first. Fields of variable length come after
    /// their length, and optional fields after a byte that says whether they are there. A record is its JSON text,
    /// with its keys in one order and JSON from outside unchanged.
    ///
    /// Invariant: every field is in it. All are named here, so that a new one does not compile until it is, too.
    pub(crate) fn item(&mut self, item: &ExportItem) {
        match item {
            ExportItem::Segment(SegmentRow { segment, origin }) => {
                let Segment { id, thread, first, link, birth, created } = segment;
                self.tag(0);
                self.number(id.bits());
                self.0.update(&thread.bits().to_le_bytes());
                self.position(*first);
                self.option(link.as_ref(), |digest, Link { parent, bounds }| {
                    let Bounds { messages, changes, files, values } = bounds;
                    digest.number(parent.bits());
                    [messages, changes, files, values].into_iter().for_each(|position| digest.position(*position));
                });
                self.tally(birth);
                self.time(*created);
                self.option(origin.as_ref(), |digest, (account, record)| {
                    digest.account(account);
                    digest.record(record);
                });
            }
            ExportItem::Blob(id, bytes) => {
                self.tag(1);
                self.0.update(id.as_bytes());
                self.bytes(bytes);
            }
            ExportItem::Lost(id) => {
                self.tag(5);
                self.0.update(id.as_bytes());
            }
            ExportItem::Entry { segment, position, kind, format, time, account, actor, cause, tally, body } => {
                self.tag(2);
                self.number(segment.bits());
                self.position(*position);
                self.tag(kind.code());
                self.tag(*format);
                self.time(*time);
                self.account(account);
                self.actor(actor);
                self.option(cause.as_ref(), |digest, cause| digest.bytes(cause.as_bytes()));
                self.tally(tally);
                match body {
                    Body::Inline(bytes) => {
                        self.tag(0);
                        self.bytes(bytes);
                    }
                    Body::Blob(id) => {
                        self.tag(1);
                        self.0.update(id.as_bytes());
                    }
                    Body::Absent => self.tag(2),
                    Body::Damaged => self.tag(3),
                }
            }
            ExportItem::Thread { id, account, version, segment, era, fence, record } => {
                self.tag(3);
                self.0.update(&id.bits().to_le_bytes());
                self.account(account);
                self.position(*version);
                self.number(segment.bits());
                self.number(*era);
                self.number(*fence);
                self.record(record);
            }
        }
    }

    /// Takes in a thread that was deleted, in the same way.
    pub(crate) fn deleted(&mut self, tombstone: &Tombstone) {
        let Tombstone { thread, time } = tombstone;
        self.tag(4);
        self.0.update(&thread.bits().to_le_bytes());
        self.time(*time);
    }

    /// The hash of all items that came.
    pub(crate) fn end(&self) -> ContentHash {
        ContentHash(*self.0.finalize().as_bytes())
    }

    fn tag(&mut self, tag: u8) {
        self.0.update(&[tag]);
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn position(&mut self, position: Position) {
        self.number(position.0);
    }

    fn time(&mut self, time: Timestamp) {
        self.0.update(&time.as_micros().to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn option<T>(&mut self, value: Option<T>, mut put: impl FnMut(&mut Self, T)) {
        self.tag(u8::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
    }

    fn account(&mut self, account: &Account) {
        self.bytes(account.as_str().as_bytes());
    }

    fn actor(&mut self, actor: &Actor) {
        let Actor { kind, name } = actor;
        self.tag(match kind {
            ActorKind::Human => 0,
            ActorKind::Agent => 1,
            ActorKind::System => 2,
        });
        self.bytes(name.as_bytes());
    }

    fn record(&mut self, record: &Record) {
        self.bytes(record.encode().as_bytes());
    }

    fn tally(&mut self, tally: &Tally) {
        let Tally { ordinals, inserted, deleted, last_change, steps, bytes, last_user, last_state, work } = tally;
        [*ordinals, *inserted, *deleted, last_change.0, *steps, *bytes].into_iter().for_each(|n| self.number(n));
        self.option(*last_user, Self::time);
        // Left out if there is none, so that hashes from before this field existed stay the same.
        if *last_state != Position::START {
            self.number(last_state.0);
        }
        if !work.is_none() {
            work.numbers().into_iter().for_each(|n| self.number(n));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use bytes::Bytes;
    use threadkeep_model::{BlobId, Kind, SegmentId, ThreadId};

    use super::*;

    fn hash(items: &[ExportItem]) -> ContentHash {
        let mut digest = Digest::new();
        items.iter().for_each(|item| digest.item(item));
        digest.end()
    }

    fn segment(change: impl FnOnce(&mut SegmentRow)) -> ExportItem {
        let segment = Segment {
            id: SegmentId::from_bits(1),
            thread: ThreadId::from_bits(2),
            first: Position(3),
            link: Some(Link { parent: SegmentId::from_bits(4), bounds: Bounds::all(Position(2)) }),
            birth: Tally::default(),
            created: Timestamp::from_micros(5),
        };
        let mut row = SegmentRow { segment, origin: Some((Account::local(), Record::default())) };
        change(&mut row);
        ExportItem::Segment(row)
    }

    /// An entry with its account, its actor, its cause, its tally and its body.
    fn entry(change: impl FnOnce(&mut Account, &mut Actor, &mut Option<String>, &mut Tally, &mut Body)) -> ExportItem {
        let (mut account, mut actor) = (Account::local(), Actor { kind: ActorKind::Human, name: "ab".into() });
        let (mut cause, mut tally, mut body) = (Some("c".to_owned()), Tally::default(), inline("d"));
        change(&mut account, &mut actor, &mut cause, &mut tally, &mut body);
        ExportItem::Entry {
            segment: SegmentId::from_bits(1),
            position: Position(3),
            kind: Kind::MessageAppended,
            format: 1,
            time: Timestamp::from_micros(5),
            account,
            actor,
            cause,
            tally,
            body,
        }
    }

    fn inline(text: &'static str) -> Body {
        Body::Inline(Bytes::from_static(text.as_bytes()))
    }

    fn thread(version: u64, era: u64, fence: u64, title: Option<&str>) -> ExportItem {
        ExportItem::Thread {
            id: ThreadId::from_bits(2),
            account: Account::local(),
            version: Position(version),
            segment: SegmentId::from_bits(1),
            era,
            fence,
            record: Record { title: title.map(str::to_owned), ..Record::default() },
        }
    }

    #[test]
    fn the_hash_moves_with_every_field_and_with_the_order() {
        let blob = |bytes: &'static str| ExportItem::Blob(BlobId::of(b"x"), Bytes::from_static(bytes.as_bytes()));
        let exports = [
            vec![],
            vec![segment(|_| {})],
            vec![segment(|row| row.segment.first = Position(4))],
            vec![segment(|row| row.segment.thread = ThreadId::from_bits(3))],
            vec![segment(|row| row.segment.link = None)],
            vec![segment(|row| row.segment.link.as_mut().expect("a link").bounds.values = Position(1))],
            vec![segment(|row| row.segment.birth.last_user = Some(Timestamp::from_micros(0)))],
            vec![segment(|row| row.origin = None)],
            vec![segment(|row| row.origin = Some((Account::local(), Record { archived: true, ..Record::default() })))],
            vec![blob("x")],
            vec![blob("y")],
            vec![entry(|_, _, _, _, _| {})],
            vec![entry(|account, _, _, _, _| *account = Account::new("other").expect("an account"))],
            vec![entry(|_, actor, _, _, _| actor.kind = ActorKind::Agent)],
            // Bytes that move from one field to the next change the hash.
            vec![entry(|_, actor, cause, _, _| (actor.name, *cause) = ("a".into(), Some("bc".into())))],
            vec![entry(|_, _, cause, _, _| *cause = None)],
            vec![entry(|_, _, cause, _, _| *cause = Some(String::new()))],
            vec![entry(|_, _, _, tally, _| tally.ordinals = 1)],
            vec![entry(|_, _, _, tally, _| tally.last_change = Position(1))],
            vec![entry(|_, _, _, _, body| *body = inline("e"))],
            vec![entry(|_, _, _, _, body| *body = Body::Blob(BlobId::of(b"d")))],
            vec![entry(|_, _, _, _, body| *body = Body::Absent)],
            vec![thread(1, 2, 3, None)],
            vec![thread(1, 3, 2, None)],
            vec![thread(2, 2, 3, None)],
            vec![thread(1, 2, 3, Some(""))],
            vec![blob("x"), blob("y")],
            vec![blob("y"), blob("x")],
        ];
        let hashes: HashSet<ContentHash> = exports.iter().map(|items| hash(items)).collect();
        assert_eq!(hashes.len(), exports.len());
    }

    #[test]
    fn the_encoding_stays_as_it_is() {
        let items = [segment(|_| {}), entry(|_, _, _, _, _| {}), thread(1, 2, 3, Some("Größe 🦀"))];
        assert_eq!(hash(&items).to_string(), "93d0ae58d719e8be23a4f18d9aea8ece6466a5cd1fed0bd946ac2a9574106b56");
    }
}
