//! Every reader on files that are cut short, and on files with any field at its extremes.
//!
//! `visit` runs the readers and says what they may not do. What they allocate is weighed here.

use offload_tests::counting::{Allocated, Counting};
use offload_tests::data::{corpus, corpus_folders, read};
use offload_tests::test;
use offload_tests::visit::{self, LIMIT};
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One allocation may take the limit, and so many bytes for each byte of the file: objects are written anew.
const LARGEST_PER_BYTE: u64 = 8;
/// And a few that have nothing to do with the file, such as the state of a decompressor.
const LARGEST_ANYWAY: u64 = 64 << 10;
/// All allocations of one visit together, which reads each container in several ways: so many limits, and so many bytes
/// for each byte of the file.
const LIMITS: u64 = 12;
const TOTAL_PER_BYTE: u64 = 256;

fn main() -> ExitCode {
    let files = corpus_folders().into_iter().flat_map(|folder| corpus(&folder));
    let tests = files.map(|file| {
        let name = file.iter().rev().take(2).collect::<Vec<_>>();
        test(&format!("{}/{}", name[1].display(), name[0].display()), &[], move || every_place(&file))
    });
    offload_tests::run(tests.collect())
}

/// Where a file is cut and changed: at each of its first bytes, and at some that are spread over the rest. An odd step
/// comes upon fields of any alignment. (All places of all files would take many minutes.)
fn places(length: usize) -> impl Iterator<Item = usize> {
    const FIRST: usize = 256;
    const SPREAD: usize = 256;
    let step = (length.saturating_sub(FIRST) / SPREAD) | 1;
    (0..length.min(FIRST)).chain((FIRST..length).step_by(step))
}

fn every_place(file: &Path) {
    let bytes = read(file);
    check(&bytes, "as it is");
    for at in places(bytes.len()) {
        check(&bytes[..at], &format!("cut at {at}"));
        for changed in changed(&bytes, at) {
            check(&changed, &format!("changed at {at}"));
        }
    }
}

/// The file with a byte, or a little-endian field of 2, 4 or 8 bytes, at its extremes.
fn changed(bytes: &[u8], at: usize) -> BTreeSet<Vec<u8>> {
    let mut files = BTreeSet::new();
    let mut change = |width: usize, value: u64| {
        let mut changed = bytes.to_vec();
        if let Some(field) = changed.get_mut(at..at + width) {
            field.copy_from_slice(&value.to_le_bytes()[..width]);
            files.insert(changed);
        }
    };
    for value in [0, 1, 0x7f, 0xff] {
        change(1, value);
    }
    for value in [0, 1, bytes.len() as u64, u32::MAX.into(), u64::MAX, 1 << 63] {
        for width in [2, 4, 8] {
            change(width, value);
        }
    }
    files.remove(bytes);
    files
}

fn check(bytes: &[u8], what: &str) {
    let (outcome, allocated) = Allocated::during(|| catch_unwind(|| visit::all(bytes)));
    assert!(outcome.is_ok(), "{what}: see above");
    let length = bytes.len() as u64;
    let largest = LIMIT + LARGEST_PER_BYTE * length + LARGEST_ANYWAY;
    assert!(allocated.largest <= largest, "{what}: {allocated:?}, {largest} at once are allowed");
    let total = LIMITS * LIMIT + TOTAL_PER_BYTE * length;
    assert!(allocated.total <= total, "{what}: {allocated:?}, {total} are allowed");
}
