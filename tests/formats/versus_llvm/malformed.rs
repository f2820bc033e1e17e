//! Malformed bundles and offload binaries: the error for each, and the entries that LLVM 22's
//! `clang-offload-bundler` still lists.

use super::bundles::listed_ids;
use super::ids;
use offload_format::bundle::Bundle;
use offload_format::offload_binary::OffloadBinary;
use offload_format::{Error, ErrorKind};
use offload_tests::prelude::*;

/// The dumps of `golden` have our IDs, or the error. LLVM does not get the bundles that we refuse:
/// it stops without a message, reads past the end or crashes (docs/llvm-differences.md).
#[test(LLVM)]
fn malformed_bundles() {
    let mut read_by_both = 0;
    for file in corpus("malformed").iter().filter(|it| it.extension().is_some_and(|it| it == "bc"))
    {
        let bytes = read(file);
        if Bundle::parse(&bytes).is_ok() {
            assert_eq!(ids(&bytes), listed_ids(file), "{}", file.display());
            read_by_both += 1;
        }
    }
    assert_eq!(read_by_both, 7);
}

/// Tests one offload binary of the corpus in which one field is overwritten: fields that LLVM does
/// not check, and some others.
#[test]
fn malformed_offload_binaries() {
    use ErrorKind::{BadMagic, Malformed, OutOfBounds, Truncated, UnsupportedVersion};
    // 152 bytes: header, entry at 32, two string pairs at 72, strings from 104 on, image of 8 bytes
    // at 144.
    let good = corpus_file("offload_binary/one.bin");
    let len = good.len() as u64;
    let out_of_bounds = |start, size| OutOfBounds { start, size, len };
    let (size, entry, pairs) = (8, 32, 72);
    let table: &[(&str, usize, u64, ErrorKind)] = &[
        ("magic", 0, 0x0000_0001_ad10_ff11, BadMagic),
        ("version", 0, 0x0000_0000_ad10_ff10, UnsupportedVersion { version: 0 }),
        ("version", 0, 0x0000_0004_ad10_ff10, UnsupportedVersion { version: 4 }),
        ("size", size, len + 1, out_of_bounds(0, len + 1)),
        ("size below a header's", size, 31, Truncated { need: 32, have: 31 }),
        ("entry offset", 16, len - 39, out_of_bounds(len - 39, 40)),
        ("entry offset, wrapping", 16, u64::MAX - 8, out_of_bounds(u64::MAX - 8, 40)),
        ("string pairs offset", entry + 8, len - 31, out_of_bounds(len - 31, 32)),
        ("string pair count", entry + 16, 6, out_of_bounds(72, 96)),
        ("string pair count, wrapping", entry + 16, 1 << 60, out_of_bounds(72, u64::MAX)),
        ("image offset", entry + 24, len - 7, out_of_bounds(len - 7, 8)),
        ("image size", entry + 32, 9, out_of_bounds(144, 9)),
        ("image size, wrapping", entry + 32, u64::MAX, out_of_bounds(144, u64::MAX)),
        ("key", pairs, len + 1, out_of_bounds(len + 1, 0)),
        ("value", pairs + 8, u64::MAX, out_of_bounds(u64::MAX, 0)),
        ("key without an end", pairs + 16, len - 1, Malformed),
        ("value without an end", pairs + 24, 144, Malformed),
        ("key that is no text", pairs, 0, Malformed),
    ];
    OffloadBinary::parse(&good).unwrap();
    for (what, at, new, expected) in table {
        let bytes = patched(&good, *at, &new.to_le_bytes());
        assert_eq!(OffloadBinary::parse(&bytes).unwrap_err().kind(), *expected, "{what}");
        assert_eq!(OffloadBinary::in_a_row(&bytes).count(), 1, "{what}: an error, and the end");
    }
}

/// Returns the end of all ranges that a bundle's table names.
fn end_of(bundle: &Bundle) -> usize {
    let table: usize = bundle.entries().map(|entry| 24 + entry.id_str.len()).sum();
    let ends = bundle.entries().map(|entry| entry.offset as usize + entry.code_object.len());
    ends.max().unwrap_or(0).max(32 + table)
}

#[test]
fn every_truncation_of_a_bundle() {
    for file in corpus("bundle") {
        let bytes = read(&file);
        let whole = Bundle::parse(&bytes).unwrap();
        let (end, whole) = (end_of(&whole), format!("{whole:?}"));
        for length in 0..bytes.len() {
            match Bundle::parse(&bytes[..length]) {
                Ok(bundle) => {
                    assert!(length >= end, "{}: {length} of {end} bytes pass", file.display());
                    assert_eq!(format!("{bundle:?}"), whole);
                }
                Err(error) => {
                    assert!(length < end, "{}: {length} bytes are enough: {error}", file.display());
                    assert!(is_cut(&error), "{error}");
                    assert!(error.offset() <= bytes.len() as u64, "{error}");
                }
            }
        }
    }
}

#[test]
fn every_truncation_of_an_offload_binary() {
    for file in corpus("offload_binary") {
        let bytes = read(&file);
        let mut starts: Vec<usize> =
            OffloadBinary::in_a_row(&bytes).map(|found| found.unwrap().0 as usize).collect();
        starts.push(bytes.len());
        for length in 0..bytes.len() {
            let what = format!("{}: {length} bytes", file.display());
            let found: Vec<_> = OffloadBinary::in_a_row(&bytes[..length]).collect();
            let whole = found.iter().filter(|found| found.is_ok()).count();
            assert_eq!(whole, starts[1..].iter().filter(|end| **end <= length).count(), "{what}");
            // If the file is cut inside an offload binary, there is one error, at the end.
            let errors = usize::from(!starts.contains(&length));
            assert_eq!(found.len(), whole + errors, "{what}");
            if let Some(Err(error)) = found.last() {
                assert!(is_cut(error), "{what}: {error}");
            }
        }
    }
}

fn is_cut(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. })
}
