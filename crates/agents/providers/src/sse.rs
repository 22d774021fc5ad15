//! Server-sent events, from bytes that are cut anywhere.

use crate::failure::{Failure, Problem};

/// The most bytes of one event.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// Collects bytes, and gives the data of each event that is whole.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// The data of the event that is not whole yet.
    data: Option<String>,
    /// Whether the last byte was a carriage return, after which a line feed says nothing.
    is_after_return: bool,
}

impl Events {
    /// Takes bytes in, and gives the data of the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, Failure> {
        let mut events = Vec::new();
        for &byte in bytes {
            let is_second = std::mem::replace(&mut self.is_after_return, byte == b'\r') && byte == b'\n';
            match byte {
                b'\n' if is_second => {}
                b'\n' | b'\r' => events.extend(self.end_line()?),
                byte => self.line.push(byte),
            }
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > EVENT_BYTES_MAX {
                let what = format!("an event of the stream is larger than {EVENT_BYTES_MAX} bytes");
                return Err(Failure::new(Problem::Protocol, what));
            }
        }
        Ok(events)
    }

    /// The data of an event that the stream ended without a blank line.
    pub(crate) fn end(&mut self) -> Result<Option<String>, Failure> {
        let whole = self.end_line()?;
        Ok(whole.or_else(|| self.data.take()))
    }

    fn end_line(&mut self) -> Result<Option<String>, Failure> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8(line)
            .map_err(|_| Failure::new(Problem::Protocol, "the stream holds bytes that are no text"))?;
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str =
        ": hello\r\n\r\nevent: a\r\ndata: {\"é\": 1}\r\n\r\ndata:two\ndata: lines\n\nid: 7\rdata: three\r\r";

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let whole = Events::default().push(STREAM.as_bytes()).expect("events");
        assert_eq!(whole, ["{\"é\": 1}", "two\nlines", "three"]);
        for size in 1..STREAM.len() {
            let mut events = Events::default();
            let mut cut = Vec::new();
            for piece in STREAM.as_bytes().chunks(size) {
                cut.extend(events.push(piece).expect("events"));
            }
            assert_eq!(cut, whole, "pieces of {size}");
        }
    }

    #[test]
    fn an_event_at_the_end_needs_no_blank_line() {
        let mut events = Events::default();
        assert!(events.push(b"data: last").expect("none").is_empty());
        assert_eq!(events.end().expect("text").as_deref(), Some("last"));
        assert_eq!(events.end().expect("nothing"), None);
    }

    #[test]
    fn bytes_that_are_no_text_and_endless_events_are_refused() {
        assert!(Events::default().push(b"data: \xff\n").is_err());
        let mut events = Events::default();
        let refused = (0..40).find_map(|_| events.push(&[b'x'; 1 << 20]).err());
        assert_eq!(refused.expect("a bound").problem, Problem::Protocol);
    }
}
