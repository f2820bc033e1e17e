//! Malformed bundles and offload binaries: the error for each, and the entries that LLVM 22's
//! `clang-offload-bundler` still lists.

use super::bundles::listed_ids;
use super::ids;
use offload_format::bundle::Bundle;
use offload_format::offload_binary::OffloadBinary;
use offload_format::{Error, ErrorKind};
use offload_tests::prelude::*;

/// `golden`'s dumps contain our IDs or errors. Bundles that we refuse are not passed to LLVM: it
/// would stop without a message, read past the end, or crash (docs/llvm-differences.md).
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

/// Returns the offset after a bundle's table and all ranges in the table.
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
            // If the cut is inside an offload binary, the last result is an error, and the only
            // one.
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
