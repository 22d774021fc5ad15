//! Server-sent events, read from chunks as they come.

/// Most bytes of one event.
const EVENT_BYTES_MAX: usize = 128 << 20;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its place, if it has one.
    pub(crate) id: Option<String>,
    /// The name of the event.
    pub(crate) kind: String,
    pub(crate) data: String,
}

/// The bytes read so far of an incomplete event.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    bytes: Vec<u8>,
    /// Up to where the bytes were looked at.
    looked: usize,
}

impl Reader {
    /// Takes some more bytes.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// The next whole event; none if more has to come. Comments are passed over.
    ///
    /// # Errors
    /// If it is too large, or not text.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, String> {
        loop {
            let from = self.looked.saturating_sub(1);
            let Some(end) = self.bytes[from..].windows(2).position(|pair| pair == b"\n\n").map(|at| from + at) else {
                self.looked = self.bytes.len();
                if self.bytes.len() > EVENT_BYTES_MAX {
                    return Err(format!("an event has more than {EVENT_BYTES_MAX} bytes"));
                }
                return Ok(None);
            };
            let event = std::str::from_utf8(&self.bytes[..end]).map(read).map_err(|_| "an event is not UTF-8 text");
            self.bytes.drain(..end + 2);
            self.looked = 0;
            if let Some(event) = event? {
                return Ok(Some(event));
            }
        }
    }
}

/// The event that these lines are; none if they are comments.
fn read(lines: &str) -> Option<Event> {
    let mut event = Event::default();
    let mut data: Option<String> = None;
    for line in lines.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => event.id = Some(value.to_owned()),
            "event" => event.kind = value.to_owned(),
            "data" => match &mut data {
                None => data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            // Comments, and unknown fields.
            _ => {}
        }
    }
    event.data = data?;
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str =
        ": still here\n\nid: 7\nevent: message_appended\ndata: {\"a\":\"ä\"}\n\nevent: x\ndata: 1\ndata: 2\n\n";

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        for size in 1..SAID.len() {
            let mut reader = Reader::default();
            let mut events = Vec::new();
            for chunk in SAID.as_bytes().chunks(size) {
                reader.push(chunk);
                while let Some(event) = reader.next().expect("events") {
                    events.push(event);
                }
            }
            let first = Event { id: Some("7".into()), kind: "message_appended".into(), data: "{\"a\":\"ä\"}".into() };
            let second = Event { id: None, kind: "x".into(), data: "1\n2".into() };
            assert_eq!(events, [first, second]);
        }
    }

    #[test]
    fn an_event_that_is_not_whole_is_none() {
        let mut reader = Reader::default();
        reader.push(b"id: 7\ndata: {}\n");
        assert_eq!(reader.next(), Ok(None));
    }
}
