//! Fatbins that are cut short, changed, or larger than the caller's limit. Nothing may panic or
//! read outside of the file.

use super::{all_images, corpus, fatbinary, ours, prebuilt};
use offload_format::nv_fatbin::{NvFatbin, NvFatbins};
use offload_format::{Error, ErrorKind};
use offload_tests::registry::{NOTHING, needs};
use offload_tests::scratch;
use offload_tests::tools::Tool;

offload_tests::tests! {
    NOTHING => [
        every_truncation,
        every_field_at_its_extremes,
        every_byte_changed,
        no_more_than_the_limit_is_decompressed,
    ],
    needs(&[Tool::Llvm22, Tool::Cuda]) => [groups_with_damaged_tables],
}

/// Reads all parts, and checks that the parts of a valid fatbin are inside it.
fn read_all(bytes: &[u8]) -> Result<(), Error> {
    let fatbin = NvFatbin::parse(bytes)?;
    for entry in fatbin.entries() {
        let _ = format!("{entry:?}");
        if let Ok(payload) = entry.decompress(1 << 20) {
            assert_eq!(payload.images().count(), entry.images().count());
            assert_eq!(payload.bytes().len() as u64, entry.size());
        }
    }
    Ok(())
}

fn samples() -> Vec<Vec<u8>> {
    let plain =
        ours(&[("90", &prebuilt("saxpy.sm_90.cubin")), ("80", &prebuilt("saxpy.compute_80.ptx"))]);
    vec![
        plain,
        corpus("lz4_12.4.fatbin"),
        corpus("lto.fatbin"),
        corpus("relocatable_ptx.fatbin"),
        corpus("group.fatbin"),
    ]
}

fn every_truncation() {
    for sample in samples() {
        assert_eq!(read_all(&sample), Ok(()));
        for cut in 0..sample.len() {
            let error = read_all(&sample[..cut]).unwrap_err();
            assert!(error.offset() <= cut as u64, "{cut}: {error}");
        }
    }
}

/// The fields of the container, of the first entry, of its options, and of the table of a group.
const FIELDS: [(usize, usize); 25] = [
    (0, 4),
    (4, 2),
    (6, 2),
    (8, 8),
    (16, 2),
    (18, 2),
    (20, 4),
    (24, 8),
    (32, 4),
    (36, 4),
    (40, 2),
    (42, 2),
    (44, 4),
    (48, 4),
    (52, 4),
    (56, 8),
    (64, 8),
    (72, 8),
    (80, 4),
    (84, 4),
    (88, 2),
    (92, 4),
    (96, 8),
    (108, 4),
    (120, 8),
];

fn every_field_at_its_extremes() {
    for sample in samples() {
        for (at, size) in FIELDS {
            let mut values: Vec<u64> =
                vec![0, 1, 2, 7, 8, 63, 64, u64::MAX, u64::MAX - 7, 1 << 63, 1 << 31, 0xffff_fff8];
            let mut old = [0; 8];
            old[..size].copy_from_slice(&sample[at..at + size]);
            let old = u64::from_le_bytes(old);
            values.extend([
                old.wrapping_sub(1),
                old + 1,
                old + 8,
                old.wrapping_sub(8),
                old | 0xf000,
                old ^ 0x100,
            ]);
            for value in values {
                let mut changed = sample.clone();
                changed[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
                let _ = read_all(&changed);
                NvFatbins::new(&changed).for_each(drop);
            }
        }
    }
    let kind_with = |at: usize, bytes: &[u8]| {
        let mut changed = samples()[0].clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        NvFatbin::parse(&changed).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(kind_with(0, b"x"), Err(ErrorKind::BadMagic));
    assert_eq!(kind_with(4, &[2]), Err(ErrorKind::UnsupportedVersion { version: 2 }));
    assert_eq!(kind_with(6, &[15]), Err(ErrorKind::Malformed));
    assert_eq!(kind_with(20, &[63]), Err(ErrorKind::Malformed));
    assert!(matches!(kind_with(8, &[0xff; 8]), Err(ErrorKind::OutOfBounds { .. })));
    assert!(matches!(kind_with(24, &[0xff; 8]), Err(ErrorKind::OutOfBounds { .. })));
    assert!(matches!(kind_with(48, &[200]), Err(ErrorKind::OutOfBounds { .. })));
}

fn groups_with_damaged_tables() {
    let folder = scratch::folder("nv-fatbin-groups");
    let images = all_images();
    let theirs =
        fatbinary(&folder, &["-64", "--concat", "--compress-all", "-ident", "name"], &images);
    assert_eq!(read_all(&theirs), Ok(()));
    let headers = 16..700.min(theirs.len());
    for at in headers {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = theirs.clone();
            changed[at] = value;
            let _ = read_all(&changed);
        }
    }
    // Makes one image of a group as large as the whole payload, so images share bytes. The group's
    // table contains the number of its images, and then a header for each.
    let field = |at: usize| u32::from_le_bytes(theirs[at..at + 4].try_into().unwrap()) as usize;
    let (table, payload) = (16 + field(16 + 20), field(16 + 56));
    assert_eq!(theirs[16..18], [0, 1], "a group");
    assert!(field(table) > 1, "several images in the group");
    let mut changed = theirs.clone();
    changed[table + 8 + 4..][..4].fill(0);
    changed[table + 8 + 8..][..8].copy_from_slice(&(payload as u64).to_le_bytes());
    let error = NvFatbin::parse(&changed).unwrap_err().to_string();
    assert!(error.contains("together larger than the payload"), "{error}");
}

fn every_byte_changed() {
    for sample in samples() {
        for at in 0..sample.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = sample.clone();
                changed[at] ^= change;
                let _ = read_all(&changed);
            }
        }
    }
}

/// Returns an entry with this payload, which claims to have `size` bytes after decompression.
fn compressed_entry(flag: u64, payload: &[u8], size: u64) -> Vec<u8> {
    let padded = payload.len().next_multiple_of(8);
    let mut file = ours(&[]);
    file[8..16].copy_from_slice(&(64 + padded as u64).to_le_bytes());
    let mut header = [0; 64];
    header[0] = 2;
    header[4] = 64;
    header[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
    header[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[40..48].copy_from_slice(&flag.to_le_bytes());
    header[56..64].copy_from_slice(&size.to_le_bytes());
    file.extend(header);
    file.extend(payload);
    file.resize(16 + 64 + padded, 0);
    file
}

fn no_more_than_the_limit_is_decompressed() {
    // A literal, and a match that every further byte makes 255 bytes longer: a million bytes claim
    // 255 million.
    let bomb = [&b"\x1fa\x01\0"[..], &vec![0xff; 1_000_000], b"\0\0"].concat();
    let out = 1 + 4 + 15 + 255 * 1_000_000;
    let frame =
        [b"\x04\x22\x4d\x18\x60\x70\0", &(bomb.len() as u32).to_le_bytes()[..], &bomb, &[0; 4]]
            .concat();
    let kind = |file: &[u8], limit| {
        let entry = NvFatbin::parse(file).unwrap().entries().next().unwrap();
        entry
            .decompress(limit)
            .map(|payload| payload.bytes().len() as u64)
            .map_err(|error| error.kind())
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
        assert!(matches!(
            kind(&compressed_entry(flag, b"what", 100), 1 << 20),
            Err(ErrorKind::Compression { .. })
        ));
    }
    let found = kind(&compressed_entry(0x3000, b"what", 100), 1 << 20);
    assert_eq!(found, Err(ErrorKind::UnsupportedCompression { method: 0x3000 }));
    // Uncompressed payloads need no allocation, so the limit 0 is large enough.
    assert_eq!(kind(&compressed_entry(0, &[7; 80], 0), 0), Ok(80));
}
