//! Compresses bytes and decompresses them again, whole and in pieces.
#![no_main]

use offload_format::compressed::{CompressOptions, CompressedBundle, Found, Version, compress};
use offload_format::compression::Method;

libfuzzer_sys::fuzz_target!(|input: (bool, bool, Option<i8>, u8, u8, Vec<u8>)| {
    let (v2, zlib, level, repeat, gap, part) = input;
    let plain = part.repeat(usize::from(repeat));
    let mut options = CompressOptions::default();
    options.version = if v2 { Version::V2 } else { Version::V3 };
    options.method = if zlib { Method::Zlib } else { Method::Zstd };
    // Levels above 9 take seconds for a few bytes.
    options.level = level.map(|level| i32::from(level).min(9));
    let bytes = compress(&plain, &options).unwrap();
    let bundle = CompressedBundle::parse(&bytes).unwrap();
    let limit = (plain.len() as u64).max(1 << 20);
    assert_eq!(bundle.total_size, Some(bytes.len() as u64));
    assert_eq!(bundle.decompress(limit).unwrap(), plain);
    let mut stream = bundle.stream(1 << 28).unwrap();
    let mut piece = vec![0; plain.len().min(100)];
    assert_eq!(stream.read(&mut piece).unwrap(), piece.len());
    assert_eq!(piece, plain[..piece.len()]);
    assert_eq!(stream.skip(u64::MAX).unwrap(), (plain.len() - piece.len()) as u64);

    let mut row = bytes.clone();
    row.resize(row.len() + usize::from(gap), 0);
    row.extend_from_slice(&bytes);
    let found: Vec<u64> = Found::in_a_row(&row, 0)
        .map(|item| match item.unwrap() {
            (at, Found::Compressed(_)) => at,
            (_, Found::Plain(_)) => unreachable!(),
        })
        .collect();
    assert_eq!(found, [0, (bytes.len() + usize::from(gap)) as u64]);
});
