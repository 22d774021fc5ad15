//! Pictures made by the encoders themselves, and files that are made to do harm.

use std::io::Cursor;

use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

use super::*;

const FORMATS: [(ImageFormat, Format); 4] = [
    (ImageFormat::Png, Format::Png),
    (ImageFormat::Jpeg, Format::Jpeg),
    (ImageFormat::Gif, Format::Gif),
    (ImageFormat::WebP, Format::WebP),
];

/// Red on the left, blue on the right.
fn picture(width: u32, height: u32) -> DynamicImage {
    let half = |x| if x < width / 2 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) };
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, _| half(x)))
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).expect("a picture can be encoded");
    bytes.into_inner()
}

fn decoded(thumbnail: &Thumbnail) -> DynamicImage {
    let picture = image::load_from_memory(&thumbnail.bytes).expect("a thumbnail is a picture");
    assert_eq!((picture.width(), picture.height()), (thumbnail.width, thumbnail.height));
    picture
}

#[test]
fn each_format_is_known_by_its_head() {
    for (encoder, format) in FORMATS {
        let bytes = encoded(&picture(300, 200), encoder);
        assert_eq!(probe(&bytes), Some(Probe { format, width: 300, height: 200 }));
        // For every cut, the result is an answer or none, and never a panic.
        for end in 0..bytes.len().min(2_000) {
            let _ = probe(&bytes[..end]);
        }
    }
}

#[test]
fn each_format_becomes_small_and_keeps_its_shape() {
    for (encoder, format) in FORMATS {
        let small = thumbnail(encoded(&picture(600, 300), encoder), EDGE_DEFAULT).expect("a picture");
        assert_eq!((small.width, small.height), (256, 128), "{format:?}");
        let seen = decoded(&small).to_rgb8();
        let (left, right) = (seen.get_pixel(20, 60).0, seen.get_pixel(230, 60).0);
        assert!(left[0] > 200 && left[2] < 50, "{format:?}: {left:?}");
        assert!(right[2] > 200 && right[0] < 50, "{format:?}: {right:?}");
    }
}

#[test]
fn a_small_picture_is_not_made_larger() {
    let small = thumbnail(encoded(&picture(30, 20), ImageFormat::Png), 256).expect("a picture");
    assert_eq!((small.width, small.height), (30, 20));
}

#[test]
fn edges_stay_within_their_bounds() {
    let wide = encoded(&picture(5_000, 2), ImageFormat::Png);
    let sides = |edge| thumbnail(&wide, edge).map(|small| (small.width, small.height));
    assert_eq!(sides(256), Ok((256, 1)));
    assert_eq!(sides(0), Ok((1, 1)));
    assert_eq!(sides(u32::MAX), Ok((EDGE_MAX, 1)));
}

#[test]
fn what_is_transparent_stays_so() {
    let glass = DynamicImage::ImageRgba8(RgbaImage::from_pixel(500, 500, Rgba([0, 0, 0, 0])));
    let small = thumbnail(encoded(&glass, ImageFormat::Png), 64).expect("a picture");
    assert_eq!(small.format, Format::Png);
    assert_eq!(decoded(&small).to_rgba8().get_pixel(5, 5).0[3], 0);
    let opaque = thumbnail(encoded(&picture(9, 9), ImageFormat::Png), 64).expect("a picture");
    assert_eq!((opaque.format, opaque.format.media_type()), (Format::Jpeg, "image/jpeg"));
}

#[test]
fn a_photograph_is_turned_upright() {
    let jpeg = encoded(&picture(400, 200), ImageFormat::Jpeg);
    // A quarter turn, as a camera writes it: one entry, tag 0112, value 6.
    let turned = b"\xFF\xE1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let small = thumbnail([&jpeg[..2], turned, &jpeg[2..]].concat(), 100).expect("a picture");
    assert_eq!((small.width, small.height), (50, 100));
    let seen = decoded(&small).to_rgb8();
    assert!(seen.get_pixel(25, 10).0[0] > 200 && seen.get_pixel(25, 90).0[2] > 200);
}

#[test]
fn of_a_gif_the_first_frame_is_shown() {
    let frame = |color| Frame::new(RgbaImage::from_pixel(40, 40, Rgba(color)));
    let mut bytes = Vec::new();
    let frames = [frame([255, 0, 0, 255]), frame([0, 255, 0, 255])];
    GifEncoder::new(&mut bytes).encode_frames(frames).expect("frames can be encoded");
    let small = thumbnail(&bytes, 16).expect("a picture");
    assert_eq!(decoded(&small).to_rgba8().get_pixel(8, 8).0, [255, 0, 0, 255]);
}

#[test]
fn a_picture_cut_short_is_refused_or_shown_as_far_as_it_goes() {
    let noise = |x: u32, y: u32| Rgb([(x * 7 + y * 13) as u8, (x * y) as u8, (x ^ y) as u8]);
    let noisy = DynamicImage::ImageRgb8(RgbImage::from_fn(200, 200, noise));
    for (encoder, format) in FORMATS {
        let bytes = encoded(&noisy, encoder);
        for cut in [bytes.len() / 2, bytes.len() - 20, 40, 20] {
            match thumbnail(&bytes[..cut], 64) {
                Ok(small) => assert!(small.width <= 64, "{format:?}"),
                Err(refused) => assert!(!matches!(refused, Refused::TooLarge { .. }), "{format:?}: {refused}"),
            }
        }
        assert!(thumbnail(&bytes[..20], 64).is_err(), "{format:?}");
    }
    let png = encoded(&noisy, ImageFormat::Png);
    assert!(matches!(thumbnail(&png[..png.len() / 2], 64), Err(Refused::Broken { .. })));
}

#[test]
fn what_is_no_picture_is_refused() {
    for bytes in
        [b"".as_slice(), b"hello", b"<svg></svg>", b"GIF8", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBPVP8 ", b"BM"]
    {
        assert_eq!(thumbnail(bytes, 64), Err(Refused::NotAnImage));
        assert_eq!(probe(bytes), None);
    }
}

#[test]
fn a_jpeg_whose_segments_lead_nowhere_is_no_picture() {
    for bytes in
        [[0xFF; 1_000].as_slice(), &[0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 0xFF, 0xE0], &[0xFF, 0xD8, 0xFF, 0xDA, 0, 9]]
    {
        assert_eq!(probe(bytes), None);
    }
}

/// A PNG with a head of its own, and `data` as its pixels.
fn png(width: u32, height: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let sides = [width.to_be_bytes(), height.to_be_bytes()].concat();
    for (kind, body) in
        [(b"IHDR", [sides.as_slice(), &[8, 2, 0, 0, 0]].concat()), (b"IDAT", data.to_vec()), (b"IEND", vec![])]
    {
        bytes.extend((body.len() as u32).to_be_bytes());
        let chunk = [kind.as_slice(), &body].concat();
        bytes.extend(&chunk);
        bytes.extend(checksum(&chunk).to_be_bytes());
    }
    bytes
}

/// The CRC of PNG chunks.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

fn refused(bytes: &[u8]) -> Refused {
    thumbnail(bytes, 256).expect_err("too much")
}

#[test]
fn a_picture_that_claims_to_be_huge_is_refused_before_it_is_decoded() {
    assert_eq!(refused(&png(100_000, 100_000, &[])), Refused::TooLarge { width: 100_000, height: 100_000 });
    assert_eq!(refused(&png(u32::MAX, u32::MAX, &[])), Refused::TooLarge { width: u32::MAX, height: u32::MAX });
    let mut gif = encoded(&picture(10, 10), ImageFormat::Gif);
    gif[6..10].fill(0xFF);
    assert_eq!(refused(&gif), Refused::TooLarge { width: 65_535, height: 65_535 });
    let mut jpeg = encoded(&picture(10, 10), ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|two| two == [0xFF, 0xC0]).expect("a frame");
    jpeg[frame + 5..frame + 9].fill(0xFF);
    assert_eq!(refused(&jpeg), Refused::TooLarge { width: 65_535, height: 65_535 });
}

#[test]
fn a_picture_that_takes_more_memory_than_it_has_pixels_may_have_fewer() {
    // 4,000x4,000 in one scan would do; in several, all of it is kept until the last.
    let mut jpeg = encoded(&picture(10, 10), ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|two| two == [0xFF, 0xC0]).expect("a frame");
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x0F, 0xA0, 0x0F, 0xA0]);
    assert!(!matches!(thumbnail(&jpeg, 64), Err(Refused::TooLarge { .. })));
    jpeg[frame + 1] = 0xC2;
    assert_eq!(refused(&jpeg), Refused::TooLarge { width: 4_000, height: 4_000 });
    let mut gif = encoded(&picture(10, 10), ImageFormat::Gif);
    gif[6..10].copy_from_slice(&[0xA0, 0x0F, 0xA0, 0x0F]);
    assert_eq!(refused(&gif), Refused::TooLarge { width: 4_000, height: 4_000 });
}

#[test]
fn more_pixels_in_the_file_than_in_its_head_are_not_decoded() {
    // The pixels of 4,000x4,000 black ones, under a head that says 10x10.
    let black = encoded(&DynamicImage::ImageRgb8(RgbImage::new(4_000, 4_000)), ImageFormat::Png);
    let at = black.windows(4).position(|four| four == b"IDAT").expect("pixels");
    let length = u32::from_be_bytes(black[at - 4..at].try_into().expect("four bytes")) as usize;
    let bomb = png(10, 10, &black[at + 4..at + 4 + length]);
    assert!(bomb.len() < 500_000, "{} bytes", bomb.len());
    match thumbnail(&bomb, 256) {
        Ok(small) => assert_eq!((small.width, small.height), (10, 10)),
        Err(refused) => assert!(matches!(refused, Refused::Broken { .. }), "{refused}"),
    }
}

#[test]
fn a_small_file_of_many_pixels_is_decoded_within_its_bounds() {
    let large = encoded(&DynamicImage::ImageLuma8(image::GrayImage::new(8_000, 8_000)), ImageFormat::Png);
    let small = thumbnail(&large, 256).expect("64 million pixels are allowed");
    assert_eq!((small.width, small.height), (256, 256));
    let colours = DynamicImage::ImageRgb8(RgbImage::new(5_000, 5_000));
    assert_eq!(refused(&encoded(&colours, ImageFormat::Png)), Refused::TooLarge { width: 5_000, height: 5_000 });
    let deep = DynamicImage::ImageRgb16(image::ImageBuffer::new(4_000, 4_000));
    assert_eq!(refused(&encoded(&deep, ImageFormat::Png)), Refused::TooLarge { width: 4_000, height: 4_000 });
    assert_eq!(refused(&vec![0; FILE_BYTES_MAX as usize + 1]), Refused::LargeFile);
}

#[test]
fn a_pixel_that_stands_for_very_many_has_their_colour() {
    let white = DynamicImage::ImageRgb8(RgbImage::from_pixel(5_000, 4_000, Rgb([255, 255, 255])));
    let deep = DynamicImage::ImageRgb16(image::ImageBuffer::from_pixel(600, 600, Rgb([u16::MAX; 3])));
    for picture in [white, deep] {
        let small = thumbnail(encoded(&picture, ImageFormat::Png), 1).expect("a thumbnail");
        assert_eq!(decoded(&small).to_rgb8().get_pixel(0, 0).0, [255, 255, 255]);
    }
}
