//! Keys, and what they seal: XChaCha20-Poly1305, with the place of the value as associated data.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Bytes of a nonce. It is long enough to be drawn at random for each value.
pub const NONCE_BYTES: usize = 24;
/// The form of the envelopes that this program writes.
const FORM: &str = "1";
/// The first word of a line of the key file.
const LINE: &str = "key ";

/// A key that seals and opens. Its memory is overwritten when it is dropped.
#[derive(Clone)]
pub struct Key {
    id: String,
    bytes: Zeroizing<[u8; KEY_BYTES]>,
}

/// Why an envelope was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unopened {
    /// Another key sealed it.
    #[error("it was sealed by the key {id}")]
    OtherKey {
        /// The id of that key.
        id: String,
    },
    /// It was changed, or moved here from another place.
    #[error("it was changed, or belongs to another place")]
    Changed,
    /// It is no envelope that this program reads.
    #[error("it is no envelope that this program reads")]
    Unreadable,
}

impl Key {
    /// The key with these bytes, which must be random.
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        let hash = blake3::derive_key("threadkeep 2026 id of a key", &bytes);
        Self { id: to_hex(&hash[..8]), bytes: Zeroizing::new(bytes) }
    }

    /// Its id: 16 hex digits, from which the key cannot be found.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Seals `plain` for `place`. The envelope opens at the same place only.
    ///
    /// No nonce may be used twice with one key.
    pub fn seal(&self, place: &str, nonce: [u8; NONCE_BYTES], plain: &[u8]) -> String {
        let payload = Payload { msg: plain, aad: place.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.expect("a text in memory is shorter than the cipher's limit of 256 GiB");
        format!("{FORM}.{}.{}{}", self.id, to_hex(&nonce), to_hex(&sealed))
    }

    /// Opens an envelope that [`Key::seal`] made for `place`.
    ///
    /// # Errors
    /// If another key sealed it, it was changed, or it belongs to another place.
    pub fn open(&self, place: &str, envelope: &str) -> Result<Zeroizing<Vec<u8>>, Unopened> {
        let id = sealed_by(envelope).ok_or(Unopened::Unreadable)?;
        if id != self.id {
            return Err(Unopened::OtherKey { id: id.to_owned() });
        }
        let bytes = envelope.rsplit('.').next().and_then(from_hex).ok_or(Unopened::Unreadable)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(Unopened::Unreadable)?;
        let payload = Payload { msg: sealed, aad: place.as_bytes() };
        let plain = self.cipher().decrypt(&XNonce::from(*nonce), payload).map_err(|_| Unopened::Changed)?;
        Ok(Zeroizing::new(plain))
    }

    /// Seals another key with this one.
    pub fn wrap(&self, nonce: [u8; NONCE_BYTES], key: &Key) -> String {
        self.seal(&wrapped_at(&key.id), nonce, &*key.bytes)
    }

    /// Opens the key with this id, which [`Key::wrap`] sealed.
    ///
    /// # Errors
    /// As [`Key::open`].
    pub fn unwrap(&self, id: &str, envelope: &str) -> Result<Self, Unopened> {
        let bytes = self.open(&wrapped_at(id), envelope)?;
        let bytes: [u8; KEY_BYTES] = bytes.as_slice().try_into().map_err(|_| Unopened::Unreadable)?;
        Some(Self::new(bytes)).filter(|key| key.id == id).ok_or(Unopened::Changed)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.bytes).into())
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Key").field(&self.id).finish()
    }
}

/// The id of the key that sealed an envelope.
pub fn sealed_by(envelope: &str) -> Option<&str> {
    let (form, rest) = envelope.split_once('.')?;
    let (id, _) = rest.split_once('.')?;
    (form == FORM).then_some(id)
}

fn wrapped_at(id: &str) -> String {
    format!("key/{id}")
}

/// The keys of a key file. The first one seals; all of them open.
#[derive(Debug, Clone)]
pub struct KeyFile {
    first: Key,
    others: Vec<Key>,
}

/// What is wrong with a key file. It never shows the content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileWrong {
    /// It holds no key.
    #[error("it holds no key")]
    Empty,
    /// A line is neither a key nor a comment.
    #[error("line {line} is not `key ` with {} hex digits", KEY_BYTES * 2)]
    Line {
        /// The number of the line, from 1.
        line: usize,
    },
}

impl KeyFile {
    /// A file with this key alone.
    pub fn new(key: Key) -> Self {
        Self { first: key, others: Vec::new() }
    }

    /// Reads the text of a key file: one key a line, and comments after `#`.
    ///
    /// # Errors
    /// If it holds no key, or a line is something else.
    pub fn parse(text: &str) -> Result<Self, KeyFileWrong> {
        let mut keys = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bytes = line.strip_prefix(LINE).and_then(|hex| from_hex(hex.trim()));
            let bytes = bytes.and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).ok());
            keys.push(Key::new(bytes.ok_or(KeyFileWrong::Line { line: number + 1 })?));
        }
        let mut keys = keys.into_iter();
        let first = keys.next().ok_or(KeyFileWrong::Empty)?;
        Ok(Self { first, others: keys.collect() })
    }

    /// The text of the file.
    pub fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::from(
            "# The key of the secrets in a Threadkeep store. Without it they cannot be read. Keep a copy elsewhere.\n",
        ));
        for key in self.keys() {
            text.push_str(LINE);
            text.push_str(&Zeroizing::new(to_hex(&*key.bytes)));
            text.push('\n');
        }
        text
    }

    /// The key that seals.
    pub fn first(&self) -> &Key {
        &self.first
    }

    /// All keys, the one that seals first.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The same with a new first key. The others still open.
    #[must_use]
    pub fn with_first(self, key: Key) -> Self {
        let mut others = vec![self.first];
        others.extend(self.others);
        Self { first: key, others }
    }

    /// The same without the keys after the first.
    #[must_use]
    pub fn first_alone(self) -> Self {
        Self::new(self.first)
    }
}

fn to_hex(bytes: &[u8]) -> String {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect::<Option<Vec<u8>>>()?;
    rest.is_empty().then(|| Zeroizing::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: [u8; NONCE_BYTES] = [7; NONCE_BYTES];

    #[test]
    fn an_envelope_opens_at_its_place_with_its_key_alone() {
        let (key, other) = (Key::new([1; 32]), Key::new([2; 32]));
        let envelope = key.seal("T-1/API_KEY/1", NONCE, "s3cret ☃".as_bytes());
        assert!(!envelope.contains("s3cret") && envelope.starts_with(&format!("1.{}.", key.id())));
        assert_eq!(key.open("T-1/API_KEY/1", &envelope).expect("opened").as_slice(), "s3cret ☃".as_bytes());
        for place in ["T-2/API_KEY/1", "T-1/API_KEY/2", "T-1/OTHER/1", ""] {
            assert_eq!(key.open(place, &envelope).expect_err(place), Unopened::Changed);
        }
        let id = key.id().to_owned();
        assert_eq!(other.open("T-1/API_KEY/1", &envelope).expect_err("other"), Unopened::OtherKey { id });
        for at in (envelope.len() - 60)..envelope.len() {
            let mut changed = envelope.clone().into_bytes();
            changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).expect("text");
            assert_eq!(key.open("T-1/API_KEY/1", &changed).expect_err("changed"), Unopened::Changed);
        }
        for odd in ["", "1", "1.a", "2.a.b", &format!("1.{}.", key.id()), &format!("1.{}.zz", key.id())] {
            assert!(matches!(key.open("", odd), Err(Unopened::Unreadable | Unopened::OtherKey { .. })), "{odd}");
        }
    }

    #[test]
    fn an_empty_text_can_be_sealed() {
        let key = Key::new([1; 32]);
        assert!(key.open("p", &key.seal("p", NONCE, b"")).expect("opened").is_empty());
    }

    #[test]
    fn a_wrapped_key_is_the_same_key() {
        let (outer, inner) = (Key::new([1; 32]), Key::new([2; 32]));
        let envelope = outer.wrap(NONCE, &inner);
        assert_eq!(outer.unwrap(inner.id(), &envelope).expect("the key").bytes, inner.bytes);
        assert_eq!(outer.unwrap(outer.id(), &envelope).expect_err("another id"), Unopened::Changed);
    }

    #[test]
    fn a_key_file_is_read_as_it_was_written_and_refuses_anything_else() {
        let file = KeyFile::new(Key::new([1; 32])).with_first(Key::new([2; 32]));
        let read = KeyFile::parse(&file.text()).expect("a key file");
        assert_eq!(read.keys().map(Key::id).collect::<Vec<_>>(), file.keys().map(Key::id).collect::<Vec<_>>());
        assert_eq!(read.first().id(), Key::new([2; 32]).id());
        assert_eq!(read.first_alone().keys().count(), 1);
        let wrong = |text: &str| KeyFile::parse(text).expect_err(text);
        assert_eq!((wrong(""), wrong("# nothing\n")), (KeyFileWrong::Empty, KeyFileWrong::Empty));
        for line in
            ["key", "key 00", &format!("key {}", "0".repeat(63)), &"0".repeat(64), &format!("key {}", "g".repeat(64))]
        {
            assert_eq!(wrong(&format!("# a comment\n{line}\n")), KeyFileWrong::Line { line: 2 }, "{line}");
        }
    }

    #[test]
    fn a_key_does_not_show_itself() {
        let file = KeyFile::new(Key::new([0xab; 32]));
        assert!(!format!("{file:?}").contains("abab"));
    }
}
