//! Random offload binaries of every version, compressed, and several in a row: the reader returns
//! the inputs, and the writer writes them again.

use super::{Image, LIMIT, check, image_builder, image_bytes, images, methods};
use offload_format::offload_binary::{self, OffloadBinaries, OffloadBinary};
use offload_tests::data::assert_same_bytes;
use offload_tests::registry::NOTHING;
use proptest::collection::vec;
use std::collections::BTreeMap;

offload_tests::tests! {
    NOTHING => [
        offload_binaries_are_written_again_as_they_were,
        compressed_offload_binaries_are_written_again_as_they_were,
        each_offload_binary_in_a_row_is_read,
    ],
}

/// Returns the images of several offload binaries in a row.
fn read_images(file: &[u8]) -> Vec<Image> {
    let binaries = OffloadBinaries::new(file).map(Result::unwrap);
    let images = binaries.flat_map(|(_, binary)| match binary.compressed() {
        Some(compressed) => read_images(&compressed.decompress(LIMIT).unwrap()),
        None => binary.images().map(|image| read_image(&image)).collect(),
    });
    images.collect()
}

fn read_image(image: &offload_binary::Image<'_>) -> Image {
    let strings: BTreeMap<_, _> =
        image.strings().map(|(key, value)| (key.to_owned(), value.to_vec())).collect();
    assert_eq!(strings.len(), image.strings().count(), "no key is there twice");
    Image {
        kind: image.image_kind().0,
        offload_kind: image.offload_kind().0,
        flags: image.flags(),
        strings,
        bytes: image.data().to_vec(),
    }
}

fn assert_same_images(read: &[Image], images: &[Image]) {
    assert_eq!(format!("{read:?}"), format!("{images:?}"));
}

fn offload_binaries_are_written_again_as_they_were() {
    for version in
        [offload_binary::Version::V1, offload_binary::Version::V2, offload_binary::Version::V3]
    {
        check(200, images(version != offload_binary::Version::V1), |images| {
            let file = image_builder(&images).layout(version).to_vec(&image_bytes(&images));
            assert!(
                OffloadBinaries::new(&file)
                    .all(|found| found.is_ok_and(|(_, binary)| binary.version() == version))
            );
            let read = read_images(&file);
            assert_same_images(&read, &images);
            let again = image_builder(&read).layout(version).to_vec(&image_bytes(&read));
            assert_same_bytes(&again, &file, "written again");
        });
    }
}

fn compressed_offload_binaries_are_written_again_as_they_were() {
    check(120, (images(true), methods()), |(images, (method, level))| {
        let file = image_builder(&images).compressed(method, level, &image_bytes(&images)).unwrap();
        assert_eq!(file.len() % 8, 0);
        let read = read_images(&file);
        assert_same_images(&read, &images);
        let again = image_builder(&read).compressed(method, level, &image_bytes(&read)).unwrap();
        assert_same_bytes(&again, &file, "written again");
        images_one_by_one(&file);
    });
}

/// Asserts that each image that is read separately from a compressed offload binary equals the
/// image read from the whole.
fn images_one_by_one(file: &[u8]) {
    for (_, binary) in OffloadBinaries::new(file).flatten() {
        let Some(compressed) = binary.compressed() else { continue };
        let whole = compressed.decompress(1 << 24).unwrap();
        for image in OffloadBinary::parse(&whole).unwrap().images() {
            let (offset, size) = (image.offset(), image.data().len() as u64);
            let mut out = b"before".to_vec();
            compressed.decompress_into(offset, size, 1 << 24, &mut out).unwrap();
            assert_same_bytes(&out, &[b"before", image.data()].concat(), "one image");
            for (offset, size, limit) in [
                (offset, u64::MAX, u64::MAX),
                (whole.len() as u64, 1, 1 << 24),
                (0, size, 1 << 24),
                (offset, size + 1, size),
            ] {
                assert!(
                    compressed.decompress_into(offset, size, limit, &mut out).is_err(),
                    "{offset} {size} {limit}"
                );
            }
            assert_eq!(out.len() as u64, size + 6);
        }
        // The header records more bytes than the stream has.
        let mut longer = file.to_vec();
        let promised = whole.len() as u64 + 100;
        longer[32..40].copy_from_slice(&promised.to_le_bytes());
        let longer = OffloadBinary::parse(&longer).unwrap().compressed().unwrap();
        let mut out = Vec::new();
        assert!(longer.decompress_into(whole.len() as u64 - 1, 50, 1 << 24, &mut out).is_err());
        assert_eq!(out, b"");
    }
}

fn each_offload_binary_in_a_row_is_read() {
    check(
        120,
        (vec((images(false), proptest::option::of(methods())), 0..4), 0..100usize),
        |(binaries, zeros)| {
            let mut file = Vec::new();
            for (images, methods) in &binaries {
                let (builder, bytes) = (image_builder(images), image_bytes(images));
                file.extend(match methods {
                    Some((method, level)) => builder.compressed(*method, *level, &bytes).unwrap(),
                    None => builder.layout(offload_binary::Version::V1).to_vec(&bytes),
                });
            }
            file.resize(file.len() + zeros, 0);
            let images: Vec<Image> = binaries.into_iter().flat_map(|(images, _)| images).collect();
            assert_same_images(&read_images(&file), &images);
        },
    );
}
