//! Object bundles that are truncated, changed, or crafted to need much time or memory. No function
//! may panic or read outside the file.

use crate::fat_file::made_by_hand::{BODY, Header, RELOCATABLE, elf_file};
use offload_format::ErrorKind;
use offload_format::bundle::BundleBuilder;
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::bytes::set;
use offload_tests::data::corpus_file;
use offload_tests::visit;

/// Returns the error if a bundle cannot be added to an object.
fn refused(object: &[u8]) -> Option<offload_format::Error> {
    object_bundle::bundle(object, &BundleBuilder::new()).err()
}

/// Tests that each truncated file causes an error. Readers need the file's end: an ELF file ends
/// with the section table, a COFF file with the string table for the sections' names.
#[test]
fn every_truncation() {
    for file in ["host.o", "fat.o", "fat.obj", "hip_rdc.o"] {
        let bytes = corpus_file(&format!("object_bundle/{file}"));
        assert_eq!(refused(&bytes), None);
        for length in 0..bytes.len() {
            let error = ObjectBundle::parse(&bytes[..length]);
            assert!(error.is_err(), "{file}: {length} bytes of {} pass", bytes.len());
        }
    }
}

/// Returns an ELF file with `count` sections that have the same bytes and name. Their bytes are
/// `x`s and a final NUL. The name starts at the index `name` in these bytes.
fn many_sections(count: usize, size: usize, name: u32) -> Vec<u8> {
    let bytes = [&vec![b'x'; size - 1][..], &[0]].concat();
    // A string table, at the place of the names.
    let section = Header { kind: 3, ..Header::new(name, BODY, size as u64) };
    elf_file(RELOCATABLE, b"", &bytes, &vec![section; count - 2])
}

#[test]
fn names_that_share_their_bytes() {
    let bytes = many_sections(20, 1000, 0);
    visit::object_bundle(&bytes);
    assert_eq!(refused(&bytes), None);
    let bytes = many_sections(30_000, 2_000_000, 0);
    visit::object_bundle(&bytes);
    assert!(refused(&bytes).is_some());
    let error = ObjectBundle::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("names share too much text"), "{error}");
}

#[track_caller]
fn assert_limit(error: Option<offload_format::Error>) {
    let kind = error.map(|error| error.kind());
    assert!(matches!(kind, Some(ErrorKind::LimitExceeded { .. })), "{kind:?}");
}

#[test]
fn sections_that_lie_over_each_other() {
    assert_limit(refused(&many_sections(60_000, 4_000_000, 3_999_999)));

    let mut coff = corpus_file("object_bundle/fat.obj");
    let sections = u16::from_le_bytes([coff[2], coff[3]]) as usize;
    coff.resize(4_000_000, 0);
    for section in 0..sections {
        // Set the section's size to 3,999,000 and its offset to 1.
        set(&mut coff, 20 + 40 * section + 16, 1 << 32 | 3_999_000);
    }
    assert_limit(object_bundle::strip(&coff).err());
}

#[test]
fn alignment_out_of_proportion() {
    let mut bytes = many_sections(20, 1000, 999);
    let last = bytes.len() - 16;
    for align in [1 << 30, 1 << 63, u64::MAX] {
        set(&mut bytes, last, align);
        assert_limit(refused(&bytes));
    }
    set(&mut bytes, last, 4096);
    assert_eq!(refused(&bytes), None);
}
