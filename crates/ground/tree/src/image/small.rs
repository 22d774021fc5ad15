//! Thumbnails, decoded within bounds.

use std::io::Cursor;

use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::codecs::png::{PngDecoder, PngEncoder};
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, Limits};
use thiserror::Error;

use super::head::bytes_per_pixel;
use super::{Format, Probe, probe};

/// The longer edge of a thumbnail in pixels, unless the caller asks for another.
pub const EDGE_DEFAULT: u32 = 256;
/// How long the longer edge of a thumbnail may be.
pub const EDGE_MAX: u32 = 2_048;
/// How many pixels a picture may have to be decoded.
pub const PIXELS_MAX: u64 = 64_000_000;
/// How much memory a picture may take: its file twice, as some decoders copy it, the decoded picture with what its
/// decoder needs for it, and the small one.
const PICTURE_BYTES_MAX: u64 = 72_000_000;
/// How much memory a PNG decoder may take beside the picture: for rows, and for data about it such as a colour profile.
const BESIDE_BYTES_MAX: u64 = 8 << 20;
/// How large a file may be to be decoded.
pub const FILE_BYTES_MAX: u64 = 16 << 20;
/// How many times smaller a picture becomes at once, on each edge: 16 bits a colour of the square of it fit in 32.
const STEP_MAX: u32 = 128;
/// How good a JPEG thumbnail is, of 100.
const JPEG_QUALITY: u8 = 80;

/// A picture made small, in a format of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thumbnail {
    /// PNG if something of the picture is transparent or could be, else JPEG.
    pub format: Format,
    /// How many pixels it is wide.
    pub width: u32,
    /// How many pixels it is high.
    pub height: u32,
    /// The encoded thumbnail.
    pub bytes: Vec<u8>,
}

/// Why there is no thumbnail.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// It is no picture of a known format.
    #[error("the file is not a PNG, JPEG, GIF or WebP picture: there are thumbnails of those only")]
    NotAnImage,
    /// It has more pixels than are decoded, or takes more memory.
    #[error(
        "the picture has {width}x{height} pixels, which is too large for a thumbnail: the file, the decoded picture and \
         the thumbnail may take 72 MB together"
    )]
    TooLarge {
        /// How many pixels it is wide.
        width: u32,
        /// How many pixels it is high.
        height: u32,
    },
    /// The file has more bytes than [`FILE_BYTES_MAX`].
    #[error("the file is larger than 16 MiB, which is too large for a thumbnail")]
    LargeFile,
    /// It cannot be decoded.
    #[error("the picture is broken or uses something unknown, and cannot be decoded: {reason}")]
    Broken {
        /// The error of the decoder.
        reason: String,
    },
}

/// The picture with its longer edge at most `max_edge` pixels (clamped to 1 through [`EDGE_MAX`]), upright, and never
/// larger than it was. Of several frames the first.
///
/// It takes less than 100 MB at any moment, with `file` if it is given away, and with memory that was freed and not yet
/// given back.
///
/// # Errors
/// [`Refused`], before much is allocated, if the file is no picture or too large a one.
pub fn thumbnail(file: impl AsRef<[u8]>, max_edge: u32) -> Result<Thumbnail, Refused> {
    let bytes = file.as_ref();
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Refused::LargeFile);
    }
    let head = probe(bytes).ok_or(Refused::NotAnImage)?;
    let too_large = Refused::TooLarge { width: head.width, height: head.height };
    let pixels = u64::from(head.width) * u64::from(head.height);
    let edge = max_edge.clamp(1, EDGE_MAX);
    let budget = PICTURE_BYTES_MAX - 2 * bytes.len() as u64;
    if pixels > PIXELS_MAX || pixels * bytes_per_pixel(bytes, head.format) > budget {
        return Err(too_large);
    }
    let (picture, orientation) = decode(bytes, head, edge, budget).map_err(|error| match error {
        ImageError::Limits(_) => too_large,
        other => Refused::Broken { reason: other.to_string() },
    })?;
    drop(file);
    let mut small = reduced(picture, edge);
    // Turned when it is small, as that makes a copy.
    small.apply_orientation(orientation);
    encode(small).map_err(|error| Refused::Broken { reason: error.to_string() })
}

/// The picture with its longer edge at most `edge` pixels. In steps: the sum that the library builds for one pixel of
/// the result overflows if it covers too many pixels.
fn reduced(mut picture: DynamicImage, edge: u32) -> DynamicImage {
    loop {
        let longer = picture.width().max(picture.height());
        if longer <= edge {
            return picture;
        }
        let next = edge.max(longer.div_ceil(STEP_MAX));
        picture = picture.thumbnail(next, next);
    }
}

/// The picture as it is in the file, and how it is to be turned to be seen upright.
fn decode(bytes: &[u8], head: Probe, edge: u32, budget: u64) -> Result<(DynamicImage, Orientation), ImageError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(budget);
    limits.max_image_width = Some(head.width);
    limits.max_image_height = Some(head.height);
    let source = Cursor::new(bytes);
    match head.format {
        Format::Png => {
            // The limit of the decoder's own memory, which is not that of the picture.
            let mut beside = limits.clone();
            beside.max_alloc = Some(BESIDE_BYTES_MAX);
            within(PngDecoder::with_limits(source, beside)?, limits, edge)
        }
        Format::Jpeg => within(JpegDecoder::new(source)?, limits, edge),
        Format::Gif => within(GifDecoder::new(source)?, limits, edge),
        Format::WebP => within(WebPDecoder::new(source)?, limits, edge),
    }
}

fn within(
    mut decoder: impl ImageDecoder,
    mut limits: Limits,
    edge: u32,
) -> Result<(DynamicImage, Orientation), ImageError> {
    // The decoded picture and the small one are taken off the limit; the decoder may use the rest while it works.
    let (width, height) = decoder.dimensions();
    let (edge, longer) = (u64::from(edge), u64::from(width.max(height)).max(1));
    let small = if longer <= edge { 0 } else { decoder.total_bytes() / longer * edge / longer * edge };
    limits.reserve(decoder.total_bytes() + small)?;
    decoder.set_limits(limits)?;
    let orientation = decoder.orientation()?;
    Ok((DynamicImage::from_decoder(decoder)?, orientation))
}

fn encode(picture: DynamicImage) -> Result<Thumbnail, ImageError> {
    let (width, height) = (picture.width(), picture.height());
    let mut bytes = Vec::new();
    let format = match picture.color().has_alpha() {
        true => {
            picture.to_rgba8().write_with_encoder(PngEncoder::new(&mut bytes))?;
            Format::Png
        }
        false => {
            picture.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
            Format::Jpeg
        }
    };
    Ok(Thumbnail { format, width, height, bytes })
}
