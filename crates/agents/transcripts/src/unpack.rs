//! Compressed files, with a bound on what comes out of them.

use std::io::Read;

use crate::reading::Refused;

/// Most bytes that one compressed file may hold. A larger one is taken for a bomb.
pub const UNPACKED_BYTES_MAX: u64 = 1 << 30;
/// A compressed file may hold this many times its own size, above [`UNPACKED_RATIO_FREE_BYTES`].
pub const UNPACKED_RATIO_MAX: u64 = 200;
/// Below this size no ratio is too high.
pub const UNPACKED_RATIO_FREE_BYTES: u64 = 16 << 20;

/// How much a file of `packed` bytes may hold.
pub(crate) fn allowance(packed: u64) -> u64 {
    packed.saturating_mul(UNPACKED_RATIO_MAX).clamp(UNPACKED_RATIO_FREE_BYTES, UNPACKED_BYTES_MAX)
}

/// Unpacks a file in Zstandard, such as a rollout of Codex that was archived.
///
/// # Errors
/// If it is damaged, or holds more than [`UNPACKED_BYTES_MAX`] or [`UNPACKED_RATIO_MAX`] allow.
pub fn zstd(packed: &[u8]) -> Result<Vec<u8>, Refused> {
    let damaged = |_| Refused::new("the compressed data is damaged");
    let most = allowance(packed.len() as u64);
    let mut source = packed;
    let mut bytes = Vec::new();
    // A file may be several frames, one after the other.
    loop {
        let frame = ruzstd::decoding::StreamingDecoder::new(&mut source)
            .map_err(|_| Refused::new("this is not Zstandard data, or its window is too large"))?;
        frame.take(most + 1 - bytes.len() as u64).read_to_end(&mut bytes).map_err(damaged)?;
        if bytes.len() as u64 > most {
            return Err(Refused::new(format_args!("the compressed data holds more than {most} bytes")));
        }
        if source.is_empty() {
            return Ok(bytes);
        }
    }
}
