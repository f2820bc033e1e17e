//! Tests every reader with truncated files, and with files in which any field has an extreme value.
//!
//! `visit` runs the readers and checks their limits. This module counts the bytes that the readers
//! allocate.

use offload_tests::counting::Allocated;
use offload_tests::data::{corpus, corpus_folders, read};
use offload_tests::registry::{NOTHING, Test};
use offload_tests::visit::{self, LIMIT};
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::Path;

/// The maximum size of one allocation, in bytes for each byte of the file, in addition to `LIMIT`.
/// Readers need this much because they rewrite objects.
const LARGEST_PER_BYTE: u64 = 24;
/// A small additional allowance that does not depend on the file, for example for the state of a
/// decompressor.
const LARGEST_ANYWAY: u64 = 64 << 10;
/// The maximum for all allocations of one visit, as a multiple of `LIMIT`; `TOTAL_PER_BYTE` bytes
/// for each byte of the file are added. One visit reads each container in several ways.
const LIMITS: u64 = 12;
const TOTAL_PER_BYTE: u64 = 256;

offload_tests::tests! {
    NOTHING => [
        elf_sections_that_share_their_bytes,
        coff_sections_that_share_their_bytes,
        sections_that_share_their_wrappers,
        sections_that_share_a_long_name,
    ];
    files(),
}

/// Returns a test for each file of the corpus.
fn files() -> impl Iterator<Item = Test> {
    let files = corpus_folders().into_iter().flat_map(|folder| corpus(&folder));
    files.map(|file| {
        let name = file.iter().rev().take(2).collect::<Vec<_>>();
        let name = format!("{}/{}", name[1].display(), name[0].display());
        Test::new(module_path!(), &name, NOTHING, move || every_place(&file))
    })
}

/// Returns the places where a file is changed: each of its first bytes, and some places spread over
/// the rest. An odd step reaches fields of any alignment. (All places of all files would take many
/// minutes.)
fn places(length: usize) -> impl Iterator<Item = usize> {
    const FIRST: usize = 192;
    const SPREAD: usize = 128;
    let step = (length.saturating_sub(FIRST) / SPREAD) | 1;
    (0..length.min(FIRST)).chain((FIRST..length).step_by(step))
}

/// Returns the offset of every eighth byte in the section headers of a 64-bit little-endian ELF
/// file or a COFF object. Returns none for other files.
fn section_headers(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let number = |at: usize, size: usize| {
        let field = bytes.get(at..at + size)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    let (start, size) = match bytes {
        [0x7f, b'E', b'L', b'F', 2, 1, ..] => {
            (number(40, 8), number(58, 2).zip(number(60, 2)).map(|(size, n)| size * n))
        }
        [0x64, 0x86, ..] => (Some(20), number(2, 2).map(|n| 40 * n)),
        _ => (None, None),
    };
    let (start, size) = start.zip(size).unwrap_or_default();
    (start..start + size).step_by(8).take_while(|at| *at < bytes.len())
}

fn every_place(file: &Path) {
    let bytes = read(file);
    check(&bytes, "as it is");
    for at in 0..bytes.len() {
        check(&bytes[..at], &format!("cut at {at}"));
    }
    for at in places(bytes.len()).chain(section_headers(&bytes)) {
        for changed in changed(&bytes, at) {
            check(&changed, &format!("changed at {at}"));
        }
    }
}

/// Returns copies of the file. Each has an extreme value in the byte at `at`, or in a little-endian
/// field of 2, 4 or 8 bytes.
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

// ------------------------------------------------------------ files in which a few bytes represent
// a lot of data

/// Size in bytes of an ELF file's header, and of a section header.
const ELF_HEADER: usize = 64;

/// Returns a 64-bit ELF file of this type: the header, then `contents`, then sections. Each section
/// has its name's offset in the contents, kind, flags, address, offset and size. The contents also
/// include the names and end with a NUL.
fn elf(file_type: u16, contents: &[u8], sections: &[[u64; 6]]) -> Vec<u8> {
    let names = [0, 3, 0, 0, ELF_HEADER as u64, contents.len() as u64];
    let sections: Vec<[u64; 6]> =
        [[0; 6], names].into_iter().chain(sections.iter().copied()).collect();
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for field in [file_type, 62, 1, 0] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    for field in [0, 0, (ELF_HEADER + contents.len()) as u64] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    for field in [0, 0, ELF_HEADER as u16, 0, 0, ELF_HEADER as u16, sections.len() as u16, 1] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    file.extend_from_slice(contents);
    for [name, kind, fields @ ..] in sections {
        file.extend_from_slice(&(name as u32).to_le_bytes());
        file.extend_from_slice(&(kind as u32).to_le_bytes());
        fields.iter().for_each(|field| file.extend_from_slice(&field.to_le_bytes()));
        // Zeros for link, info, alignment and entry size.
        file.extend_from_slice(&[0; 24]);
    }
    file
}

const PROGBITS: u64 = 1;

fn elf_sections_that_share_their_bytes() {
    let contents =
        [b"\0.s\0__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-\0", &[0; 100_000][..]]
            .concat();
    let whole = contents.len() as u64;
    let mut sections = vec![[1, PROGBITS, 0, 0, ELF_HEADER as u64, whole]; 2000];
    sections.push([4, PROGBITS, 0, 0, ELF_HEADER as u64, 1]);
    check(&elf(1, &contents, &sections), "2000 sections of 100000 bytes");
}

fn coff_sections_that_share_their_bytes() {
    const COUNT: u16 = 2000;
    const CONTENTS: u32 = 100_000;
    let contents_at = 20 + 40 * u32::from(COUNT);
    let name = b"__CLANG_OFFLOAD_BUNDLE__host-x86_64-pc-windows-msvc-\0";
    // The fields of the COFF header are machine, number of sections, time; symbol table; no
    // optional header.
    let mut file = [0x8664u16, COUNT, 0, 0].map(u16::to_le_bytes).concat();
    file.extend([contents_at + CONTENTS, 0, 0].map(u32::to_le_bytes).concat());
    for number in 0..COUNT {
        file.extend_from_slice(if number == 0 { b"/4\0\0\0\0\0\0" } else { b".data\0\0\0" });
        file.extend(
            [0, 0, CONTENTS, contents_at, 0, 0, 0, 0x4000_0040].map(u32::to_le_bytes).concat(),
        );
    }
    file.resize((contents_at + CONTENTS) as usize, 0);
    file.extend_from_slice(&(4 + name.len() as u32).to_le_bytes());
    file.extend_from_slice(name);
    check(&file, "2000 sections of 100000 bytes");
}

fn sections_that_share_their_wrappers() {
    let names = b"\0.hipFatBinSegment\0";
    let wrapper = [
        0x4849_5046u32.to_le_bytes(),
        1u32.to_le_bytes(),
        1u32.to_le_bytes(),
        [0; 4],
        [0; 4],
        [0; 4],
    ]
    .concat();
    let contents = [&names[..], &wrapper.repeat(8000)[..], &[0]].concat();
    let (offset, size) = ((ELF_HEADER + names.len()) as u64, 24 * 8000);
    let sections = vec![[1, PROGBITS, 2, 1 << 40, offset, size]; 8000];
    check(&elf(3, &contents, &sections), "8000 sections of 8000 wrappers");
}

fn sections_that_share_a_long_name() {
    let contents = [&[b'n'; 1_000_000][..], &[0]].concat();
    let sections: Vec<_> =
        (0..20_000).map(|number| [number % 8, PROGBITS, 0, 0, ELF_HEADER as u64, 1]).collect();
    check(&elf(3, &contents, &sections), "20000 names of a megabyte");
}
