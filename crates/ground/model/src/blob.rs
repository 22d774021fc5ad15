//! Large values by the hash of their content.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::text::as_text;

/// The BLAKE3 hash of some bytes: equal bytes have one id, and are stored once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The id of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The id by its 32 bytes, as a store kept them.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Makes the id of bytes that arrive in chunks.
#[derive(Clone, Default)]
pub struct BlobHasher(blake3::Hasher);

impl BlobHasher {
    /// Adds the next chunk.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The id of all bytes so far.
    pub fn id(&self) -> BlobId {
        BlobId(*self.0.finalize().as_bytes())
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for BlobId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rule = || Invalid::parameter("blob", "a blob id is the 64 hex digits of a BLAKE3 hash");
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes())).map_err(|_| rule())
    }
}

as_text!(BlobId);
