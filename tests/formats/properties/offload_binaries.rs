//! Random offload binaries of every version: uncompressed, compressed, and several in a row. The
//! reader must return the inputs, and the writer must reproduce the bytes.

use super::{LIMIT, Made, check, image_builder, images, methods, write_images};
use crate::offload_binary::{read, sorted};
use offload_format::offload_binary::{OffloadBinary, Version};
use offload_tests::prelude::*;
use proptest::collection::vec;
use proptest::sample;

/// Returns the images of consecutive offload binaries.
fn read_images(file: &[u8]) -> Vec<Made> {
    let binaries = OffloadBinary::in_a_row(file).map(Result::unwrap);
    let images = binaries.flat_map(|(_, binary)| match binary.compressed {
        Some(compressed) => read_images(&compressed.decompress(LIMIT).unwrap()),
        None => sorted(binary.images().map(read).collect()),
    });
    images.collect()
}

#[test]
fn offload_binaries_are_written_again_as_they_were() {
    for version in [Version::V1, Version::V2, Version::V3] {
        check(200, images(version != Version::V1), |images| {
            let file = write_images(&images, version);
            let mut found = OffloadBinary::in_a_row(&file);
            assert!(found.all(|it| it.is_ok_and(|(_, binary)| binary.version == version)));
            let read = read_images(&file);
            assert_eq!(read, images);
            assert_same_bytes(&write_images(&read, version), &file, "written again");
        });
    }
}

#[test]
fn compressed_offload_binaries_are_written_again_as_they_were() {
    check(120, (images(true), methods()), |(images, (method, level))| {
        let write = |images: &[Made]| {
            let (builder, bytes) = image_builder(images);
            builder.compressed(method, level, &bytes).unwrap()
        };
        let file = write(&images);
        assert_eq!(file.len() % 8, 0);
        let read = read_images(&file);
        assert_eq!(read, images);
        assert_same_bytes(&write(&read), &file, "written again");
        images_one_by_one(&file);
    });
}

/// Asserts that reading a single image from a compressed offload binary returns the same bytes as
/// decompressing the whole binary.
fn images_one_by_one(file: &[u8]) {
    for (_, binary) in OffloadBinary::in_a_row(file).flatten() {
        let Some(compressed) = binary.compressed else { continue };
        let whole = compressed.decompress(LIMIT).unwrap();
        for image in OffloadBinary::parse(&whole).unwrap().images() {
            let (offset, size) = (image.offset, image.data.len() as u64);
            let mut out = b"before".to_vec();
            compressed.decompress_into(offset, size, LIMIT, &mut out).unwrap();
            assert_same_bytes(&out, &[b"before", image.data].concat(), "one image");
            for (offset, size, limit) in [
                (offset, u64::MAX, u64::MAX),
                (whole.len() as u64, 1, LIMIT),
                (0, size, LIMIT),
                (offset, size + 1, size),
            ] {
                let result = compressed.decompress_into(offset, size, limit, &mut out);
                assert!(result.is_err(), "{offset} {size} {limit}");
            }
            assert_eq!(out.len() as u64, size + 6);
        }
        // Claim more bytes in the header than the stream contains.
        let mut longer = file.to_vec();
        let promised = whole.len() as u64 + 100;
        longer[32..40].copy_from_slice(&promised.to_le_bytes());
        let longer = OffloadBinary::parse(&longer).unwrap().compressed.unwrap();
        let mut out = Vec::new();
        assert!(longer.decompress_into(whole.len() as u64 - 1, 50, LIMIT, &mut out).is_err());
        assert_eq!(out, b"");
    }
}

/// Tests consecutive files of different versions, some compressed.
#[test]
fn each_offload_binary_in_a_row_is_read() {
    let version = sample::select(&[Version::V1, Version::V2, Version::V3][..]);
    let binaries = vec((images(false), version, proptest::option::of(methods())), 0..5);
    check(120, (binaries, 0..100usize), |(binaries, zeros)| {
        let (mut file, mut versions) = (Vec::new(), Vec::new());
        for (images, version, methods) in &binaries {
            let start = file.len();
            file.extend(match methods {
                Some((method, level)) => {
                    let (builder, bytes) = image_builder(images);
                    builder.compressed(*method, *level, &bytes).unwrap()
                }
                None => write_images(images, *version),
            });
            let version = methods.map_or(*version, |_| Version::V3);
            // Version 1 has one image per offload binary.
            let count = if version == Version::V1 { images.len() } else { images.len().min(1) };
            assert_eq!(file.len() > start, count > 0);
            versions.extend(vec![version; count]);
        }
        file.resize(file.len() + zeros, 0);
        let found = OffloadBinary::in_a_row(&file).map(|found| found.unwrap().1.version);
        assert!(found.eq(versions));
        let images: Vec<_> = binaries.into_iter().flat_map(|(images, ..)| images).collect();
        assert_eq!(read_images(&file), images);
    });
}
