//! Offload binaries that are malformed or slow to read. The top-level module `hostile` truncates
//! and changes offload binaries.

use super::{METHODS, builder, by_hand, large_samples, samples};
use offload_format::ErrorKind;
use offload_format::offload_binary::{
    OffloadBinary, OffloadBinaryBuilder, OffloadKind, StatedKind, Version,
};
use offload_tests::bytes::{number, patched, set};

#[test]
fn malformed_entries() {
    use ErrorKind::{Malformed, OutOfBounds, Truncated, UnsupportedVersion};
    let good = by_hand(3, &samples());
    let len = good.len() as u64;
    let entries = number(&good, 16) as usize;
    // The offsets of the third entry and of its first string pair.
    let entry = entries + 80;
    let pair = number(&good, entry as u64 + 8) as usize;
    let out_of_bounds = |start, size| OutOfBounds { start, size, len };
    let [image_at, value_at] = [entry as u64 + 24, pair as u64 + 8].map(|it| number(&good, it));
    let table = [
        ("size below a header's", 8, 39, Truncated { need: 40, have: 39 }, 0),
        ("version", 0, 0x0000_0004_ad10_ff10, UnsupportedVersion { version: 4 }, 4),
        ("entries offset", 16, len - 10, out_of_bounds(len - 10, 200), 16),
        ("entry count", 24, 6, out_of_bounds(entries as u64, 240), 16),
        ("entry count, wrapping", 24, u64::MAX / 20, out_of_bounds(entries as u64, u64::MAX), 16),
        ("string pairs offset", entry + 8, len, out_of_bounds(len, 96), entry + 8),
        ("string pair count", entry + 16, 1 << 61, out_of_bounds(pair as u64, u64::MAX), entry + 8),
        ("image offset", entry + 24, len - 4, out_of_bounds(len - 4, 5), entry + 24),
        ("image size", entry + 32, len, out_of_bounds(image_at, len), entry + 24),
        ("key", pair, len, Malformed, pair),
        ("value", pair + 8, len - 7, out_of_bounds(len - 7, 8), pair + 8),
        ("value size", pair + 16, u64::MAX, out_of_bounds(value_at, u64::MAX), pair + 8),
    ];
    OffloadBinary::parse(&good).unwrap();
    for (what, at, new, kind, offset) in table {
        let error = OffloadBinary::parse(&patched(&good, at, &new.to_le_bytes())).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (kind, offset as u64), "{what}: {error}");
    }
    let bytes = patched(&good, number(&good, pair as u64) as usize, b"\xff");
    let error = OffloadBinary::parse(&bytes).unwrap_err();
    assert_eq!(error.to_string(), format!("entry 2, string key is malformed (at offset {pair})"));
}

#[test]
fn malformed_compressed_binaries() {
    use ErrorKind::{Malformed, OutOfBounds};
    let samples = large_samples();
    let (builder, images) = builder(&samples);
    for (method, ..) in METHODS {
        let mut good = builder.compressed(method, None, &images).unwrap();
        let size = number(&good, 8);
        good.truncate(size as usize);
        let inflated = number(&good, 32);
        let with = |at: usize, new: u64| patched(&good, at, &new.to_le_bytes());
        let outside = |start| OutOfBounds { start, size: 0, len: size };
        for (at, new, kind) in [
            (16, 39, Malformed),
            (16, size + 1, outside(size + 1)),
            (16, u64::MAX, outside(u64::MAX)),
            (32, 39, Malformed),
        ] {
            let error = OffloadBinary::parse(&with(at, new)).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (kind, at as u64));
        }

        let inflate = |bytes: &[u8]| {
            let compressed = OffloadBinary::parse(bytes).unwrap().compressed.unwrap();
            compressed.decompress(1 << 20).map(|bytes| bytes.len()).map_err(|error| error.kind())
        };
        assert_eq!(inflate(&good), Ok(inflated as usize));
        assert!(matches!(inflate(&with(32, inflated - 1)), Err(ErrorKind::Compression { .. })));
        assert!(matches!(inflate(&with(32, 40)), Err(ErrorKind::Compression { .. })));
        assert_eq!(inflate(&with(32, inflated + 1)), Err(Malformed));
        let huge = ErrorKind::LimitExceeded { need: u64::MAX, limit: 1 << 20 };
        assert_eq!(inflate(&with(32, u64::MAX)), Err(huge));
        // Test a file without a stream, and a truncated stream.
        for end in [40, size - 1] {
            let mut bytes = with(8, end);
            bytes.truncate(end as usize);
            assert!(matches!(inflate(&bytes), Err(ErrorKind::Compression { .. })));
        }
        // Decompression keeps the bytes between header and stream in place.
        let mut moved = [&good[..40], b"between ", &good[40..]].concat();
        set(&mut moved, 8, size + 8);
        set(&mut moved, 16, 48);
        set(&mut moved, 32, inflated + 8);
        let moved = OffloadBinary::parse(&moved).unwrap().compressed.unwrap();
        let bytes = moved.decompress(1 << 20).unwrap();
        assert_eq!(&bytes[40..48], b"between ");
        assert_eq!((number(&bytes, 8), number(&bytes, 32)), (inflated + 8, 0));
    }
}

/// Tests files in which many strings, or many lists of string pairs, share the same bytes.
#[test]
fn text_that_is_shared_too_often() {
    let with_pairs = |pairs: usize| {
        let mut builder = OffloadBinaryBuilder::new();
        let image = builder.image(StatedKind::NONE, OffloadKind::NONE, 0);
        for number in 0..pairs {
            image.string(&format!("key{number}"), "v".repeat(20_000));
        }
        builder
    };
    for version in [Version::V1, Version::V2, Version::V3] {
        let kind = |pairs| {
            let file = with_pairs(pairs).layout(version).to_vec(&[b""]);
            OffloadBinary::parse(&file).err().map(|error| error.kind())
        };
        assert_eq!((kind(60), kind(200)), (None, Some(ErrorKind::Malformed)));
    }
    // 1000 entries share the same 1000 pairs, which have no text.
    let mut builder = OffloadBinaryBuilder::new();
    for _ in 0..1000 {
        builder.image(StatedKind::NONE, OffloadKind::NONE, 0);
    }
    let mut file = builder.layout(Version::V2).to_vec(&[b"".as_slice(); 1000]);
    let pairs = file.len() as u64;
    file.resize(file.len() + 24 * 1000, 0);
    let size = file.len() as u64;
    set(&mut file, 8, size);
    for pair in 0..1000 {
        // The key is the NUL at the end of the last pair.
        set(&mut file, pairs as usize + 24 * pair, size - 1);
    }
    for entry in 0..1000 {
        set(&mut file, 32 + 40 * entry + 8, pairs);
        set(&mut file, 32 + 40 * entry + 16, if entry < 100 { 1000 } else { 0 });
    }
    let images = OffloadBinary::parse(&file).unwrap().images();
    assert_eq!(images.map(|image| image.strings().count()).sum::<usize>(), 100_000);
    (0..1000).for_each(|entry| set(&mut file, 32 + 40 * entry + 16, 1000));
    let error = OffloadBinary::parse(&file).unwrap_err();
    assert!(error.to_string().contains("share too much text"), "{error}");
}

/// Returns one file of each kind. Several of them contain all images.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let samples = samples();
    let (builder, datas) = builder(&samples);
    let compressed = METHODS.map(|(method, ..)| {
        let mut file = builder.compressed(method, None, &datas).unwrap();
        file.truncate(number(&file, 8) as usize);
        file
    });
    let whole = [Version::V2, Version::V3].map(|version| builder.layout(version).to_vec(&datas));
    let by_hand = [by_hand(1, &samples[..1]), by_hand(2, &samples), by_hand(3, &samples)];
    [&whole[..], &compressed, &by_hand].concat()
}
