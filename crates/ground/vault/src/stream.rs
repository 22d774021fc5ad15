//! Secrets in streams of bytes: a secret may come in several pieces. Only bytes that may begin a match are held back.

use std::sync::Arc;

use crate::redactor::Label;
use crate::{Redactor, Secrets};

/// A stream without secrets, made by [`Redactor::stream`].
#[derive(Debug)]
pub struct Redacting {
    layers: Vec<Held>,
    label: Label,
}

/// The bytes that a layer holds back.
#[derive(Debug)]
struct Held {
    secrets: Arc<Secrets>,
    bytes: Vec<u8>,
}

impl Redactor {
    /// Redacts bytes that come piece by piece.
    pub fn stream(&self) -> Redacting {
        Redacting { layers: self.held(), label: self.label }
    }

    /// Searches bytes that come piece by piece.
    pub fn search(&self) -> Searching {
        Searching { layers: self.held() }
    }

    fn held(&self) -> Vec<Held> {
        self.layers.iter().map(|layer| Held { secrets: Arc::clone(layer), bytes: Vec::new() }).collect()
    }
}

impl Redacting {
    /// Takes the next bytes, and gives those that can go on.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pass(bytes, false)
    }

    /// The bytes that were held back, once no more come. The stream can begin again afterwards.
    pub fn finish(&mut self) -> Vec<u8> {
        self.pass(&[], true)
    }

    fn pass(&mut self, bytes: &[u8], is_end: bool) -> Vec<u8> {
        let mut now = bytes.to_vec();
        for Held { secrets, bytes: held } in &mut self.layers {
            held.append(&mut now);
            let found = secrets.find(held, is_end);
            secrets.write(&held[..found.open], &found.spans, self.label, &mut now);
            held.drain(..found.open);
        }
        now
    }
}

/// A search for secrets in a stream, made by [`Redactor::search`].
#[derive(Debug)]
pub struct Searching {
    layers: Vec<Held>,
}

impl Searching {
    /// Takes the next bytes, and gives the name of a secret that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Option<&str> {
        for Held { secrets, bytes: held } in &mut self.layers {
            held.extend_from_slice(bytes);
            let whole = secrets.find(held, true).spans.first().map(|(_, name)| *name);
            if let Some(name) = whole {
                return Some(secrets.name(name));
            }
            let open = secrets.find(held, false).open;
            held.drain(..open);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_however_the_stream_is_cut() {
        let long = "long secret ".repeat(20);
        let secrets = Secrets::new([("A", "abcabcabd"), ("B", "bcabdxyz-1"), ("LONG", long.as_str())]);
        let redactor = Redactor::new([Arc::new(secrets), Arc::new(Secrets::new([("C", "other-layer")]))]);
        let text = format!("xabcabcabcabd {long}| abcabcab bcabdxyz-1other-layer long secret long");
        let whole = redactor.text(&text).into_owned();
        assert_eq!(whole, "xabc[secret:A] [secret:LONG]| abcabcab [secret:B][secret:C] long secret long");
        for size in 1..=text.len() {
            let (mut stream, mut out) = (redactor.stream(), Vec::new());
            text.as_bytes().chunks(size).for_each(|piece| out.extend(stream.push(piece)));
            out.extend(stream.finish());
            assert_eq!(String::from_utf8_lossy(&out), whole, "in pieces of {size}");
            let mut search = redactor.search();
            let found = text.as_bytes().chunks(size).find_map(|piece| search.push(piece).map(str::to_owned));
            assert!(found.is_some(), "in pieces of {size}");
        }
    }

    #[test]
    fn only_what_may_begin_a_match_is_held_back() {
        let redactor = Redactor::new([Arc::new(Secrets::new([("A", "sk-123456789")]))]);
        let mut stream = redactor.stream();
        assert_eq!(stream.push(b"hello sk-"), b"hello ");
        assert_eq!(stream.push(b"12"), b"");
        assert_eq!(stream.push(b"x"), b"sk-12x");
        assert_eq!(stream.push(b"the end"), b"the end");
        assert_eq!(stream.push(b"sk-12345678"), b"");
        assert_eq!(stream.finish(), b"sk-12345678");
        assert!(redactor.search().push(b"sk-12345678").is_none());
    }
}
