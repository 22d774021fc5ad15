//! Secrets: sealed values, the keys that open them, and the redactor that keeps secrets out of texts.
//!
//! Pure: no I/O, no clock, no chance. The caller hands in nonces and new keys, and stores the results.
//!
//! Values are sealed by a *data key*. The data key is sealed by a key of the *key file* ([`KeyFile`]), so a
//! rotation seals one data key again and leaves the values alone. Each envelope names the key that sealed it.

mod encodings;
mod json;
mod keys;
mod redactor;
mod stream;

pub use encodings::REDACTED_BYTES_MIN;
pub use keys::{Key, KeyFile, KeyFileWrong, NONCE_BYTES, Unopened, sealed_by};
pub use redactor::{Redactor, Secrets};
pub use stream::{Redacting, Searching};
