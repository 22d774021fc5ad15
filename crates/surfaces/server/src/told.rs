//! The events of a stream as bytes, and the ones that several followers of a thread share.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use threadkeep::{Account, Error, MessageId, Standing, ThreadId};

/// An event of a stream: a frame of server-sent events, in which the data is JSON without line breaks.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    frame: Bytes,
    data: Range<usize>,
}

impl Told {
    /// The event `kind`. `id` is where to resume, if the event has a durable place.
    pub(crate) fn new(id: Option<&str>, kind: &str, data: &str) -> Self {
        let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        let frame = format!("{id}event: {kind}\ndata: {data}\n\n");
        let end = frame.len() - "\n\n".len();
        Self { data: end - data.len()..end, frame: frame.into() }
    }

    /// The whole frame, for server-sent events.
    pub(crate) fn frame(self) -> Bytes {
        self.frame
    }

    /// The data alone, for a WebSocket.
    pub(crate) fn data(self) -> Bytes {
        self.frame.slice(self.data)
    }
}

/// An entry as one account sees it. An entry never changes, and what is shown of it depends on nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) place: MessageId,
    pub(crate) thread: ThreadId,
    pub(crate) standing: Standing,
    pub(crate) account: Account,
    pub(crate) of: Stream,
}

/// The kind of stream, which decides what the id of an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Of one thread: a version.
    One,
    /// Of many threads: a place in the feed.
    Many,
}

/// The newest events, so that an entry is written as JSON once, however many streams follow its thread.
#[derive(Debug, Default)]
pub(crate) struct Shared(Mutex<Newest>);

#[derive(Debug, Default)]
struct Newest {
    events: VecDeque<(Seen, Told)>,
    bytes: usize,
}

/// Most events that are kept…
const EVENTS_MAX: usize = 256;
/// …and their bytes together.
const BYTES_MAX: usize = 1 << 20;

impl Shared {
    /// The event for an entry that another stream made.
    pub(crate) fn known(&self, seen: &Seen) -> Option<Told> {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        newest.events.iter().rev().find(|(key, _)| key == seen).map(|(_, told)| told.clone())
    }

    /// The event for an entry: the one that another stream made, or a new one.
    pub(crate) fn event(&self, seen: Seen, make: impl FnOnce() -> Result<Told, Error>) -> Result<Told, Error> {
        if let Some(told) = self.known(&seen) {
            return Ok(told);
        }
        let told = make()?;
        let size = told.frame.len();
        if size > BYTES_MAX {
            return Ok(told);
        }
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        newest.bytes += size;
        newest.events.push_back((seen, told.clone()));
        while newest.events.len() > EVENTS_MAX || newest.bytes > BYTES_MAX {
            let Some((_, oldest)) = newest.events.pop_front() else { break };
            newest.bytes -= oldest.frame.len();
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use threadkeep::Position;

    use super::*;

    fn seen(position: u64, account: &str, standing: Standing) -> Seen {
        let thread = ThreadId::from_chance(1);
        let place = MessageId { segment: threadkeep::model::SegmentId::from_chance(1), position: Position(position) };
        Seen { place, thread, standing, account: Account::new(account).expect("an account"), of: Stream::One }
    }

    #[test]
    fn an_event_is_a_frame_with_its_data() {
        let told = Told::new(Some("7"), "appended", "{\"ä\":1}");
        assert_eq!(told.clone().frame(), "id: 7\nevent: appended\ndata: {\"ä\":1}\n\n".as_bytes());
        assert_eq!(told.data(), "{\"ä\":1}".as_bytes());
        assert_eq!(Told::new(None, "missed", "{}").frame(), b"event: missed\ndata: {}\n\n".as_slice());
    }

    #[test]
    fn an_entry_is_written_once_for_all_who_see_the_same() {
        let (shared, made) = (Shared::default(), Cell::new(0));
        let ask = |seen: Seen| {
            let make = || {
                made.set(made.get() + 1);
                Ok(Told::new(None, "x", &format!("{seen:?}")))
            };
            shared.event(seen.clone(), make).expect("an event").data()
        };
        let owner = ask(seen(1, "ada", Standing::Owner));
        assert_eq!(ask(seen(1, "ada", Standing::Owner)), owner);
        assert_eq!(made.get(), 1);
        for other in [seen(2, "ada", Standing::Owner), seen(1, "bob", Standing::Visitor)] {
            assert_ne!(ask(other), owner);
        }
        assert_eq!(made.get(), 3);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let shared = Shared::default();
        let ask = |position: u64, size: usize| {
            let told =
                shared.event(seen(position, "ada", Standing::Owner), || Ok(Told::new(None, "x", &"x".repeat(size))));
            assert_eq!(told.expect("an event").data().len(), size);
            let newest = shared.0.lock().expect("no panic");
            let bytes: usize = newest.events.iter().map(|(_, told)| told.frame.len()).sum();
            assert_eq!(newest.bytes, bytes);
            (newest.events.len(), bytes)
        };
        for position in 0..EVENTS_MAX as u64 + 5 {
            assert!(ask(position, 10).0 <= EVENTS_MAX);
        }
        assert_eq!(ask(1_000, BYTES_MAX + 1).0, EVENTS_MAX, "a large one is not kept");
        let (events, bytes) = ask(1_001, BYTES_MAX - 100);
        assert!(events < 10 && bytes <= BYTES_MAX, "{events} events of {bytes} bytes");
    }
}
