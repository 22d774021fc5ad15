//! The elements of a JSON array that is too large to hold: each is found by its brackets, and held alone.

use std::io::{self, Read};

/// Most bytes of one element; a longer one is skipped.
pub const ELEMENT_BYTES_MAX: usize = 64 << 20;
const CHUNK_BYTES: usize = 64 << 10;

/// One element of a JSON array.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// Its bytes, which may still not be JSON.
    Bytes(Vec<u8>),
    TooLong,
}

/// Reads elements one by one. An object that is not in an array is one element.
pub(crate) struct Elements<R> {
    from: R,
    chunk: Vec<u8>,
    at: usize,
    is_array: bool,
    is_over: bool,
}

impl<R: Read> Elements<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, chunk: Vec::new(), at: 0, is_array: false, is_over: false }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        if self.at == self.chunk.len() {
            self.chunk.resize(CHUNK_BYTES, 0);
            self.at = 0;
            let read = loop {
                match self.from.read(&mut self.chunk) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.chunk.truncate(*read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(None);
            }
        }
        self.at += 1;
        Ok(Some(self.chunk[self.at - 1]))
    }

    /// The next object of the array; other values in it are passed over. A file that ends within an object gives what it
    /// has of it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Element>> {
        loop {
            match self.byte()? {
                None => return Ok(None),
                Some(b'{') => break,
                Some(b'[') => self.is_array = true,
                Some(_) if self.is_over => return Ok(None),
                Some(_) => {}
            }
        }
        self.is_over = !self.is_array;
        let mut element = vec![b'{'];
        let (mut depth, mut in_text, mut escaped, mut too_long) = (1_u64, false, false, false);
        while depth > 0 {
            let Some(byte) = self.byte()? else { break };
            if element.len() < ELEMENT_BYTES_MAX {
                element.push(byte);
            } else {
                too_long = true;
            }
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_text => escaped = true,
                b'"' => in_text = !in_text,
                b'{' | b'[' if !in_text => depth += 1,
                b'}' | b']' if !in_text => depth -= 1,
                _ => {}
            }
        }
        Ok(Some(if too_long { Element::TooLong } else { Element::Bytes(element) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut elements = Elements::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some(element) = elements.next().expect("memory can be read") {
            match element {
                Element::Bytes(bytes) => found.push(String::from_utf8(bytes).expect("the same text")),
                Element::TooLong => found.push("too long".to_owned()),
            }
        }
        found
    }

    #[test]
    fn brackets_within_text_do_not_end_an_element() {
        assert_eq!(all(r#" [{"a":"}\"]"},{"b":[{}]} ,{"#), [r#"{"a":"}\"]"}"#, r#"{"b":[{}]}"#, "{"]);
        assert_eq!(all(r#"{"a":1} x"#), [r#"{"a":1}"#]);
        assert_eq!(all("[]"), Vec::<String>::new());
    }
}
