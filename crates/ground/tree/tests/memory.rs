//! How much memory a thumbnail takes, whatever the file claims. In a program of its own: the peak is that of the process.
#![cfg(all(feature = "images", target_os = "linux"))]

use std::io::Cursor;

use image::{DynamicImage, GrayImage, ImageBuffer, ImageFormat, RgbImage};
use threadkeep_tree::image::thumbnail;

/// All pictures together may take so much; they are decoded one at a time.
const PICTURES_BYTES_MAX: u64 = 100_000_000;

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).expect("a picture can be encoded");
    bytes.into_inner()
}

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1_024
}

/// How much more memory the process had while `work` was done.
fn peak(work: impl FnOnce()) -> u64 {
    // This sets the peak to what is in use now.
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
    let before = status("VmRSS");
    work();
    status("VmHWM").saturating_sub(before)
}

/// The small PNG `bytes` with a colour profile of `size` zeros, which takes a thousandth of that in the file.
fn with_profile(bytes: &[u8], size: u32) -> Vec<u8> {
    let zeros = encoded(&DynamicImage::ImageLuma8(GrayImage::new(size / 1_000, 1_000)), ImageFormat::Png);
    let (mut chunk, mut rest) = (b"iCCPname\0\0".to_vec(), &zeros[8..]);
    while let Some((length, body)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        if body.starts_with(b"IDAT") {
            chunk.extend(&body[4..4 + length]);
        }
        rest = &body[4 + length + 4..];
    }
    // Behind the head: a signature of 8 bytes and a chunk of 25.
    let (length, sum) = ((chunk.len() as u32 - 4).to_be_bytes(), checksum(&chunk).to_be_bytes());
    [&bytes[..33], &length, &chunk, &sum, &bytes[33..]].concat()
}

/// The CRC of PNG chunks.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[test]
fn a_picture_takes_less_than_all_of_them_may() {
    let small = encoded(&DynamicImage::ImageRgb8(RgbImage::new(10, 10)), ImageFormat::Png);
    let files = [
        ("64 million grey pixels", encoded(&DynamicImage::ImageLuma8(GrayImage::new(8_000, 8_000)), ImageFormat::Png)),
        ("colours", encoded(&DynamicImage::ImageRgb8(RgbImage::new(4_400, 4_400)), ImageFormat::Png)),
        ("a photograph", encoded(&DynamicImage::ImageRgb8(RgbImage::new(4_400, 4_400)), ImageFormat::Jpeg)),
        ("deep colours", encoded(&DynamicImage::ImageRgba16(ImageBuffer::new(2_150, 2_150)), ImageFormat::Png)),
        ("too many", encoded(&DynamicImage::ImageRgb8(RgbImage::new(8_000, 8_000)), ImageFormat::Png)),
        ("a colour profile of 240 MB", with_profile(&small, 240_000_000)),
    ];
    for (name, file) in files {
        let bytes = file.len();
        // The file is in memory already.
        let peak = bytes as u64 + peak(|| drop(thumbnail(file, 2_048)));
        assert!(peak < PICTURES_BYTES_MAX, "{name}: a file of {bytes} bytes takes {peak} bytes");
    }
    assert!(thumbnail(with_profile(&small, 240_000_000), 64).is_ok(), "a profile that is too large is left out");
}
