//! Object bundles that are truncated, changed, or made to need much time or memory. Nothing may
//! panic or read outside of the file.

use super::{HOST, corpus};
use offload_format::ErrorKind;
use offload_format::bundle::BundleBuilder;
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::registry::NOTHING;

offload_tests::tests! {
    NOTHING => [every_truncation, names_that_share_their_bytes, sections_that_lie_over_each_other, alignment_out_of_proportion],
    NOTHING.slow() => [every_field_changed],
}

/// Calls all functions for a file. Returns whether a bundle can be added to the file.
fn visit(bytes: &[u8]) -> bool {
    let range = bytes.as_ptr_range();
    let inside = |part: &[u8]| {
        part.is_empty() || range.start <= part.as_ptr() && part.as_ptr_range().end <= range.end
    };
    if let Ok(bundle) = ObjectBundle::parse(bytes) {
        for entry in bundle.entries() {
            assert!(inside(entry.code_object()), "a code object lies outside of the file");
            assert!(inside(entry.id_str().as_bytes()), "an ID lies outside of the file");
            let _ = entry.id().map(|id| id.to_canonical());
            let looks_so = entry.code_object() == b"\0" && entry.id_str().starts_with("host-");
            assert!(!entry.is_host_placeholder() || looks_so);
        }
    }
    let mut entries = BundleBuilder::new();
    entries.entry(HOST, 0).unwrap().entry("hip-amdgcn-amd-amdhsa--gfx906", 3).unwrap();
    let fat = object_bundle::bundle(bytes, &entries);
    if let Ok(stripped) = object_bundle::strip(bytes) {
        assert!(
            stripped.len() <= 5 * bytes.len() + (2 << 20),
            "{} bytes of {}",
            stripped.len(),
            bytes.len()
        );
    }
    fat.is_ok()
}

fn every_truncation() {
    for file in ["host.o", "fat.o", "fat.obj", "hip_rdc.o"] {
        let bytes = corpus(file);
        assert!(visit(&bytes));
        for length in 0..bytes.len() {
            visit(&bytes[..length]);
            let error = ObjectBundle::parse(&bytes[..length]);
            // Each truncated file must be an error. Readers need the file's end: an ELF file ends
            // with the section table, and a COFF file ends with the string table with the sections'
            // names.
            assert!(error.is_err(), "{file}: {length} bytes of {} pass", bytes.len());
        }
    }
}

fn every_field_changed() {
    for file in ["fat.o", "fat.obj"] {
        let bytes = corpus(file);
        let mut passed = 0;
        for at in 0..bytes.len() {
            for new in [0, 1, 0x7f, 0xff, bytes[at].wrapping_add(1)] {
                let mut changed = bytes.clone();
                changed[at] = new;
                passed += usize::from(visit(&changed));
            }
            for new in [1, bytes.len() as u64, u64::MAX, u64::MAX / 64, 1 << 31, 1 << 63] {
                for size in [2, 4, 8] {
                    let mut changed = bytes.clone();
                    let end = bytes.len().min(at + size);
                    changed[at..end].copy_from_slice(&new.to_le_bytes()[..end - at]);
                    passed += usize::from(visit(&changed));
                }
            }
        }
        assert!(passed > bytes.len(), "{file}: {passed}");
    }
}

/// Returns an ELF file with `count` sections, all at offset 64, with this size and the same name.
/// The name consists of the `x`s from `name` on, up to the NUL, which is the last of the `size`
/// bytes.
fn many_sections(count: u16, size: usize, name: usize) -> Vec<u8> {
    let mut file = corpus("host.o")[..64].to_vec();
    file.extend(std::iter::repeat_n(b'x', size - 1));
    file.push(0);
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[60..62].copy_from_slice(&count.to_le_bytes());
    file[62..64].copy_from_slice(&1u16.to_le_bytes());
    file.extend_from_slice(&[0; 64]);
    for _ in 1..count {
        const SHT_STRTAB: u32 = 3;
        let mut header = [0; 64];
        header[..4].copy_from_slice(&(name as u32).to_le_bytes());
        header[4..8].copy_from_slice(&SHT_STRTAB.to_le_bytes());
        header[24..32].copy_from_slice(&64u64.to_le_bytes());
        header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
        file.extend_from_slice(&header);
    }
    file
}

fn names_that_share_their_bytes() {
    assert!(visit(&many_sections(20, 1000, 0)));
    let bytes = many_sections(30_000, 2_000_000, 0);
    assert!(!visit(&bytes));
    let error = ObjectBundle::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("names share too much text"), "{error}");
}

fn sections_that_lie_over_each_other() {
    let bytes = many_sections(60_000, 4_000_000, 3_999_999);
    let error = object_bundle::bundle(&bytes, &BundleBuilder::new()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");

    let mut coff = corpus("fat.obj");
    let sections = u16::from_le_bytes([coff[2], coff[3]]) as usize;
    coff.resize(4_000_000, 0);
    for section in 0..sections {
        let at = 20 + 40 * section;
        coff[at + 16..at + 20].copy_from_slice(&3_999_000u32.to_le_bytes());
        coff[at + 20..at + 24].copy_from_slice(&1u32.to_le_bytes());
    }
    let error = object_bundle::strip(&coff).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");
}

fn alignment_out_of_proportion() {
    let mut bytes = many_sections(20, 1000, 999);
    let last = bytes.len() - 16;
    for align in [1 << 30, 1 << 63, u64::MAX] {
        bytes[last..last + 8].copy_from_slice(&align.to_le_bytes());
        let error = object_bundle::bundle(&bytes, &BundleBuilder::new()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");
    }
    bytes[last..last + 8].copy_from_slice(&4096u64.to_le_bytes());
    object_bundle::bundle(&bytes, &BundleBuilder::new()).unwrap();
}
