//! Fatbins that are truncated, changed, or larger than the caller's limit. No reader may panic or
//! read outside the file.

use super::{LIMIT, all_images, fatbinary, ours, prebuilt};
use offload_format::ErrorKind;
use offload_format::inventory::{Images, Inventory};
use offload_format::nv_fatbin::NvFatbin;
use offload_tests::bytes::set;
use offload_tests::prelude::*;
use offload_tests::visit;

fn samples() -> Vec<Vec<u8>> {
    let (cubin, ptx) = (prebuilt("saxpy.sm_90.cubin"), prebuilt("saxpy.compute_80.ptx"));
    let files = ["lz4_12.4", "lto", "relocatable_ptx", "group"];
    let files = files.map(|name| corpus_file(&format!("nv_fatbin/{name}.fatbin")));
    [vec![ours(&[("90", &cubin), ("80", &ptx)])], files.to_vec()].concat()
}

#[test]
fn every_truncation() {
    for sample in samples() {
        NvFatbin::parse(&sample).unwrap();
        for cut in 0..sample.len() {
            let error = NvFatbin::parse(&sample[..cut]).unwrap_err();
            assert!(error.offset() <= cut as u64, "{cut}: {error}");
        }
    }
}

/// The header of one entry contains another fatbin, so that both entries have the same payload.
#[test]
fn entries_that_share_a_payload() {
    let inner = corpus_file("nv_fatbin/lz4_12.4.fatbin");
    let field = |at: usize| u32::from_le_bytes(inner[at..at + 4].try_into().unwrap());
    let (header, payload) = (64 + 16 + field(20), field(24));
    let mut outer = inner[..80].to_vec();
    set(&mut outer, 8, (header + payload).into());
    outer[20..24].copy_from_slice(&header.to_le_bytes());
    outer[36..40].fill(0);
    outer[48..56].fill(0);
    let size = u64::from_le_bytes(inner[72..80].try_into().unwrap());
    set(&mut outer, 72, size + 1000);
    let file = [outer, inner].concat();
    let (outer, inner) = (Inventory::of(&file, LIMIT), Inventory::of(&file[80..], LIMIT));
    let mut images = Images::new(LIMIT);
    assert_eq!(images.read(&inner.images[0]).unwrap().len() as u64, size);
    assert!(images.read(&outer.images[0]).is_err());
}

#[test]
fn wrong_fields() {
    let sample = samples().remove(0);
    let kind_with = |at: usize, bytes: &[u8]| {
        NvFatbin::parse(&patched(&sample, at, bytes)).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(kind_with(0, b"x"), Err(ErrorKind::BadMagic));
    assert_eq!(kind_with(4, &[2]), Err(ErrorKind::UnsupportedVersion { version: 2 }));
    assert_eq!(kind_with(6, &[15]), Err(ErrorKind::Malformed));
    assert_eq!(kind_with(20, &[63]), Err(ErrorKind::Malformed));
    for (at, bytes) in [(8, &[0xff; 8][..]), (24, &[0xff; 8]), (48, &[200])] {
        assert!(matches!(kind_with(at, bytes), Err(ErrorKind::OutOfBounds { .. })), "{at}");
    }
}

#[test(needs(&[Tool::Llvm22, Tool::Cuda]))]
fn groups_with_damaged_tables() {
    let folder = scratch::folder("nv-fatbin-groups");
    let options = ["-64", "--concat", "--compress-all", "-ident", "name"];
    let theirs = fatbinary(&folder, &options, &all_images());
    NvFatbin::parse(&theirs).unwrap();
    for at in 16..700.min(theirs.len()) {
        for value in [0, 1, 0x7f, 0xff] {
            visit::nv_fatbin(&patched(&theirs, at, &[value]));
        }
    }
    // Make one of a group's images as large as the whole payload, so that images share bytes. The
    // group's table contains the number of images, then a header for each image.
    let field = |at: usize| u32::from_le_bytes(theirs[at..at + 4].try_into().unwrap()) as usize;
    let (table, payload) = (16 + field(16 + 20), field(16 + 56));
    assert_eq!(theirs[16..18], [0, 1], "a group");
    assert!(field(table) > 1, "several images in the group");
    let mut changed = patched(&theirs, table + 8 + 4, &[0; 4]);
    set(&mut changed, table + 8 + 8, payload as u64);
    let error = NvFatbin::parse(&changed).unwrap_err().to_string();
    assert!(error.contains("together larger than the payload"), "{error}");
}

/// Returns an entry with this payload and a claimed decompressed size of `size` bytes.
fn compressed_entry(flag: u64, payload: &[u8], size: u64) -> Vec<u8> {
    let padded = payload.len().next_multiple_of(8);
    let mut file = ours(&[]);
    set(&mut file, 8, 64 + padded as u64);
    let mut header = [0; 64];
    for (at, value) in
        [(0, 2 | 64 << 32), (8, padded as u64), (16, payload.len() as u64), (40, flag), (56, size)]
    {
        set(&mut header, at, value);
    }
    file.extend(header);
    file.extend(payload);
    file.resize(16 + 64 + padded, 0);
    file
}

#[test]
fn no_more_than_the_limit_is_decompressed() {
    // An LZ4 literal, and a match that each further byte makes 255 bytes longer: a million bytes
    // expand to 255 million.
    let bomb = [&b"\x1fa\x01\0"[..], &vec![0xff; 1_000_000], b"\0\0"].concat();
    let out = 1 + 4 + 15 + 255 * 1_000_000;
    let frame =
        [b"\x04\x22\x4d\x18\x60\x70\0", &(bomb.len() as u32).to_le_bytes()[..], &bomb, &[0; 4]]
            .concat();
    let kind = |file: &[u8], limit| {
        let entry = NvFatbin::parse(file).unwrap().entries().next().unwrap();
        let payload = entry.decompress(limit).map_err(|error| error.kind());
        payload.map(|payload| payload.bytes().len() as u64)
    };
    for (flag, payload) in [(0x2000, &bomb), (0x4000, &frame)] {
        assert_eq!(kind(&compressed_entry(flag, payload, out), out), Ok(out));
        let need = ErrorKind::LimitExceeded { need: out, limit: 1 << 20 };
        assert_eq!(kind(&compressed_entry(flag, payload, out), 1 << 20), Err(need));
        for size in [0, 1, 1 << 20, out - 1, out + 1] {
            let found = kind(&compressed_entry(flag, payload, size), 1 << 30);
            assert!(matches!(found, Err(ErrorKind::Compression { .. })), "{size}: {found:?}");
        }
    }
    for flag in [0x1000, 0x2000, 0x4000, 0x8000] {
        let found = kind(&compressed_entry(flag, b"", u64::MAX), 1 << 20);
        assert_eq!(found, Err(ErrorKind::LimitExceeded { need: u64::MAX, limit: 1 << 20 }));
        let found = kind(&compressed_entry(flag, b"what", 100), 1 << 20);
        assert!(matches!(found, Err(ErrorKind::Compression { .. })), "{found:?}");
    }
    let found = kind(&compressed_entry(0x3000, b"what", 100), 1 << 20);
    assert_eq!(found, Err(ErrorKind::UnsupportedCompression { method: 0x3000 }));
    // Uncompressed payloads need no allocation, so limit 0 is enough.
    assert_eq!(kind(&compressed_entry(0, &[7; 80], 0), 0), Ok(80));
}
