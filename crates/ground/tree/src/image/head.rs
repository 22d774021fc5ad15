//! The heads of pictures. Each function is given the whole file and answers from its first bytes, or not at all.

use super::{Format, Probe};

/// The format and the size of a picture; `None` for an unknown format or a broken head.
///
/// The size is what the head claims: nothing is decoded. The picture behind it may still be broken.
pub fn probe(bytes: &[u8]) -> Option<Probe> {
    let (format, (width, height)) = match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => (Format::Png, png(bytes)?),
        [0xFF, 0xD8, 0xFF, ..] => (Format::Jpeg, jpeg(bytes)?),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => (Format::Gif, gif(bytes)?),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => (Format::WebP, webp(bytes)?),
        _ => return None,
    };
    (width > 0 && height > 0).then_some(Probe { format, width, height })
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The first chunk is `IHDR`, which begins with width and height.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    (array(bytes, 12)? == *b"IHDR").then_some(())?;
    Some((u32::from_be_bytes(array(bytes, 16)?), u32::from_be_bytes(array(bytes, 20)?)))
}

/// The size of the canvas that all frames are drawn on.
fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let side = |at| array(bytes, at).map(u16::from_le_bytes).map(u32::from);
    Some((side(6)?, side(8)?))
}

/// The segment that begins the frame has the size, after a byte with the depth.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let (_, frame) = segments(bytes).find(|(kind, _)| begins_frame(*kind))?;
    let side = |at| array(frame, at).map(u16::from_be_bytes).map(u32::from);
    Some((side(3)?, side(1)?))
}

/// Segments follow each other, each with its length, until the picture itself begins. Gives their kinds and bodies.
fn segments(bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut at = 2;
    std::iter::from_fn(move || {
        loop {
            let [mark, kind] = array(bytes, at)?;
            (mark == 0xFF).then_some(())?;
            match kind {
                // Any number of FF may stand before a kind.
                0xFF => at += 1,
                // These have no length: restarts, and one that means nothing.
                0x01 | 0xD0..=0xD7 => at += 2,
                // A beginning or an end where there should be none.
                0xD8 | 0xD9 => return None,
                _ => {
                    let length = usize::from(u16::from_be_bytes(array(bytes, at + 2)?));
                    let body = bytes.get(at + 4..at + 2 + length)?;
                    at += 2 + length;
                    return Some((kind, body));
                }
            }
        }
    })
    .take_while({
        let mut begun = false;
        move |(kind, _)| !std::mem::replace(&mut begun, *kind == START_OF_SCAN)
    })
}

/// The segment after which the pixels come.
const START_OF_SCAN: u8 = 0xDA;

/// C4, C8 and CC are tables and an extension; the others of their row begin a frame.
fn begins_frame(kind: u8) -> bool {
    matches!(kind, 0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF)
}

/// How many bytes a pixel takes while it is decoded, in what the decoders allocate at worst; none for PNG, whose
/// decoder counts by itself.
#[cfg(feature = "images")]
pub(super) fn bytes_per_pixel(bytes: &[u8], format: Format) -> u64 {
    match format {
        Format::Png => 0,
        Format::Jpeg => 3 + jpeg_coefficients(bytes),
        // The canvas and a frame in colours, and the frame as it is written.
        Format::Gif => 4 + 4 + 1,
        // Without frames the picture twice, with them a canvas too.
        Format::WebP => {
            match array::<4>(bytes, 12) == Some(*b"VP8X") && bytes.get(20).is_some_and(|flags| flags & 2 != 0) {
                true => 4 + 4 + 4,
                false => 4 + 4,
            }
        }
    }
}

/// A JPEG that comes in several scans is kept as coefficients, two bytes for each component, until the last of them.
#[cfg(feature = "images")]
fn jpeg_coefficients(bytes: &[u8]) -> u64 {
    let (mut in_frame, mut in_scan, mut sequential) = (0, 0, false);
    for (kind, body) in segments(bytes) {
        match kind {
            START_OF_SCAN => in_scan = body.first().copied().unwrap_or(0),
            frame if begins_frame(frame) => {
                in_frame = body.get(5).copied().unwrap_or(0);
                sequential = matches!(frame, 0xC0 | 0xC1);
            }
            _ => {}
        }
    }
    if sequential && in_scan == in_frame { 0 } else { 2 * u64::from(in_frame) }
}

/// The first chunk says which of three ways the size is written in.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match &array::<4>(bytes, 12)? {
        b"VP8 " => {
            (array(bytes, 23)? == [0x9D, 0x01, 0x2A]).then_some(())?;
            let side = |at| array(bytes, at).map(|side| u32::from(u16::from_le_bytes(side) & 0x3FFF));
            Some((side(26)?, side(28)?))
        }
        b"VP8L" => {
            (array(bytes, 20)? == [0x2F]).then_some(())?;
            let sides = u32::from_le_bytes(array(bytes, 21)?);
            Some(((sides & 0x3FFF) + 1, (sides >> 14 & 0x3FFF) + 1))
        }
        b"VP8X" => {
            let side = |at| array(bytes, at).map(|[a, b, c]: [u8; 3]| u32::from_le_bytes([a, b, c, 0]) + 1);
            Some((side(24)?, side(27)?))
        }
        _ => None,
    }
}
