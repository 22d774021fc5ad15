//! Pictures: their kind, their size, and thumbnails.
//!
//! [`probe`] reads only the head of a file. [`thumbnail`] decodes it, within bounds: a file that claims to be larger
//! than [`PIXELS_MAX`], or that needs more memory than a picture of that size, is refused before it is decoded. A
//! decoder stops when the picture is full, so extra data after it costs nothing.

mod head;
#[cfg(feature = "images")]
mod small;
#[cfg(all(test, feature = "images"))]
mod tests;

pub use head::probe;
#[cfg(feature = "images")]
pub use small::{EDGE_DEFAULT, EDGE_MAX, FILE_BYTES_MAX, PIXELS_MAX, Refused, Thumbnail, thumbnail};

/// The kinds of pictures that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Portable Network Graphics.
    Png,
    /// The JPEG format.
    Jpeg,
    /// GIF, perhaps with several frames.
    Gif,
    /// WebP, lossy or not.
    WebP,
}

impl Format {
    /// Its media type, as in `Content-Type`.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Gif => "image/gif",
            Format::WebP => "image/webp",
        }
    }
}

/// The head of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The format of the picture.
    pub format: Format,
    /// How many pixels it is wide.
    pub width: u32,
    /// How many pixels it is high.
    pub height: u32,
}
