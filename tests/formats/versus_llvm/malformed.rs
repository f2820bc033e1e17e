//! Malformed bundles and offload binaries: the error for each, and the entries that LLVM 22's
//! `clang-offload-bundler` still lists.

use super::bundles::listed_ids;
use super::ids;
use offload_format::ErrorKind;
use offload_format::bundle::Bundle;
use offload_format::offload_binary::{OffloadBinaries, OffloadBinary};
use offload_tests::data::{corpus, read};
use offload_tests::registry::{LLVM, NOTHING};
use std::path::Path;

offload_tests::tests! {
    LLVM => [malformed_bundles],
    NOTHING => [malformed_offload_binaries, every_truncation_of_a_bundle, every_truncation_of_an_offload_binary],
}

/// Compares our results for each malformed bundle: the IDs, or the kind of error.
fn malformed_bundles() {
    use ErrorKind::{OutOfBounds, Truncated};
    const GFX906: &str = "hip-amdgcn-amd-amdhsa--gfx906";
    const GFX908: &str = "hip-amdgcn-amd-amdhsa--gfx908";
    type Expected = Result<&'static [&'static str], ErrorKind>;
    let out_of_bounds = |start, size, len| Expected::Err(OutOfBounds { start, size, len });
    let truncated = |need, have| Expected::Err(Truncated { need, have });
    let table: &[(&str, Expected)] = &[
        ("zero_entries", Ok(&[])),
        ("empty_id", Ok(&[""])),
        ("bad_id", Ok(&["foo"])),
        ("dup_id", Ok(&[GFX906, GFX906])),
        ("dup_after_normalise", Ok(&["hip-amdgcn-amd-amdhsa--"; 2])),
        ("overlap", Ok(&[GFX906, GFX908])),
        ("in_header", Ok(&[GFX906])),
        // For the cases from here on, LLVM stops without a message, reads past the end or crashes
        // (docs/llvm-differences.md).
        ("offset0", Err(ErrorKind::Malformed)),
        ("magic_only", truncated(8, 0)),
        ("short_count", truncated(8, 4)),
        ("count_too_big", truncated(8, 0)),
        ("oob_first", out_of_bounds(1_000_000, 4, 89)),
        ("oob_second", out_of_bounds(1_000_000, 4, 146)),
        ("wrap", out_of_bounds(u64::MAX - 15, 32, 89)),
        ("idlen_long", out_of_bounds(56, 500, 89)),
        ("idlen_wrap", out_of_bounds(56, u64::MAX, 89)),
    ];
    let mut files = corpus("malformed");
    files.retain(|file| file.extension().is_some_and(|it| it == "bc"));
    assert_eq!(files.len(), table.len());
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let (_, expected) = table
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("{name} is new"));
        let bytes = read(&file);
        let found = Bundle::parse(&bytes).map(|bundle| bundle.entries().collect::<Vec<_>>());
        let found_ids = found
            .as_ref()
            .map(|found| found.iter().map(|entry| entry.id_str()).collect::<Vec<_>>());
        match expected {
            Ok(expected) => {
                assert_eq!(found_ids.as_deref(), Ok(*expected), "{name}");
                assert_eq!(ids(&bytes), listed_ids(&file), "{name}");
            }
            Err(expected) => {
                assert_eq!(found_ids.map_err(|error| error.kind()), Err(*expected), "{name}")
            }
        }
        // LLVM lists IDs that do not follow the grammar; we cannot interpret them.
        let understood = found.iter().flatten().all(|entry| entry.id().is_ok());
        assert_eq!(understood, !matches!(name.as_str(), "empty_id" | "bad_id"), "{name}");
    }
}

/// Tests one offload binary of the corpus in which one field is overwritten: fields that LLVM does
/// not check, and some others.
fn malformed_offload_binaries() {
    use ErrorKind::{BadMagic, Malformed, OutOfBounds, Truncated, UnsupportedVersion};
    // 152 bytes: header, entry at 32, two string pairs at 72, strings from 104 on, image of 8 bytes
    // at 144.
    let good = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/offload_binary/one.bin"));
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
        let mut bytes = good.clone();
        bytes[*at..at + 8].copy_from_slice(&new.to_le_bytes());
        assert_eq!(OffloadBinary::parse(&bytes).unwrap_err().kind(), *expected, "{what}");
        assert_eq!(OffloadBinaries::new(&bytes).count(), 1, "{what}: an error, and the end");
    }
}

/// Returns the end of all ranges that a bundle's table names.
fn end_of(bundle: &Bundle) -> usize {
    let table: usize = bundle.entries().map(|entry| 24 + entry.id_str().len()).sum();
    let ends = bundle.entries().map(|entry| entry.offset() as usize + entry.code_object().len());
    ends.max().unwrap_or(0).max(32 + table)
}

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
                    assert!(matches!(
                        error.kind(),
                        ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. }
                    ));
                    assert!(error.offset() <= bytes.len() as u64, "{error}");
                }
            }
        }
    }
}

fn every_truncation_of_an_offload_binary() {
    for file in corpus("offload_binary") {
        let bytes = read(&file);
        let mut starts: Vec<u64> =
            OffloadBinaries::new(&bytes).map(|found| found.unwrap().0).collect();
        starts.push(bytes.len() as u64);
        for length in 0..bytes.len() {
            let found: Vec<_> = OffloadBinaries::new(&bytes[..length]).collect();
            let whole = found.iter().filter(|found| found.is_ok()).count();
            assert_eq!(
                whole,
                starts[1..].iter().filter(|end| **end <= length as u64).count(),
                "{length} bytes"
            );
            // If the file is cut inside an offload binary, there is one error, at the end.
            let cut = !starts.contains(&(length as u64));
            assert_eq!(found.len(), whole + usize::from(cut), "{}: {length} bytes", file.display());
            if let Some(Err(error)) = found.last() {
                assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. }
                    ),
                    "{length} bytes: {error}"
                );
            }
        }
    }
}
