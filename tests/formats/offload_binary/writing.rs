//! Tests our files by reading them field by field.

use super::{Made, builder, read_all, sorted};
use crate::properties::{check, images};
use offload_format::offload_binary::{OffloadBinary, Version};
use offload_tests::bytes::number;
use proptest::prelude::Strategy;

/// Reads the images field by field from a file in LLVM's layout of version 2 or 3: header, entries,
/// string pairs, strings, zeros to a multiple of 8, images without padding, zeros to a multiple of
/// 8.
fn read_by_hand(file: &[u8], version: u32) -> Vec<Made> {
    let header: u64 = if version == 3 { 40 } else { 32 };
    assert_eq!(file[..8], [[0x10, 0xff, 0x10, 0xad], version.to_le_bytes()].concat());
    assert_eq!((number(file, 8), file.len() % 8), (file.len() as u64, 0));
    let (entries_at, count) = (number(file, 16), number(file, 24));
    assert_eq!(entries_at, header);
    assert!(version < 3 || number(file, 32) == 0);
    let mut pairs_at = header + 40 * count;
    let mut strings_end = 0;
    let mut images = Vec::new();
    let mut image_end = 0;
    for entry in (0..count).map(|index| header + 40 * index) {
        assert_eq!(number(file, entry + 8), pairs_at);
        let pairs = number(file, entry + 16);
        let mut strings = Vec::new();
        for pair in (0..pairs).map(|index| pairs_at + 24 * index) {
            let key = &file[number(file, pair) as usize..];
            let key = &key[..key.iter().position(|&byte| byte == 0).unwrap()];
            let (value_at, value_size) = (number(file, pair + 8), number(file, pair + 16));
            let value_end = value_at + value_size;
            assert_eq!(file[value_end as usize], 0, "LLVM's string table ends each string");
            strings_end = strings_end.max(value_end + 1);
            let value = file[value_at as usize..value_end as usize].to_vec();
            strings.push((String::from_utf8(key.to_vec()).unwrap(), value));
        }
        pairs_at += 24 * pairs;
        let (image_at, size) = (number(file, entry + 24), number(file, entry + 32));
        if image_end == 0 {
            assert_eq!(image_at % 8, 0);
            assert!(image_at >= pairs_at, "{image_at} is before {pairs_at}");
        } else {
            assert_eq!(image_at, image_end);
        }
        image_end = image_at + size;
        let kinds = number(file, entry);
        images.push(Made {
            image_kind: kinds as u16,
            offload_kind: (kinds >> 16) as u16,
            flags: (kinds >> 32) as u32,
            strings,
            data: file[image_at as usize..image_end as usize].to_vec(),
        });
    }
    assert!(strings_end <= image_end || images.is_empty());
    assert_eq!(image_end.next_multiple_of(8), file.len() as u64);
    assert!(file[image_end as usize..].iter().all(|&byte| byte == 0));
    images
}

#[test]
fn what_is_written_is_read_by_hand() {
    let images = images(true).prop_filter("nothing to write", |images| !images.is_empty());
    check(256, images, |images| {
        let (builder, datas) = builder(&images);
        for (version, number) in [(Version::V2, 2), (Version::V3, 3)] {
            let layout = builder.layout(version);
            let file = layout.to_vec(&datas);
            assert_eq!(sorted(read_by_hand(&file, number)), images);
            // Both readers must see the same order.
            assert_eq!(read_all(&file), read_by_hand(&file, number));
            for (index, image) in OffloadBinary::parse(&file).unwrap().images().enumerate() {
                assert_eq!(layout.offset_of(index), Some(image.offset));
            }
        }
    });
}
