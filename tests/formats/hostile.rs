//! Tests every reader with truncated files, with files in which any field has an extreme value, and
//! with files in which several bytes are changed.
//!
//! `visit` runs the readers and checks their limits. This module counts the bytes that the readers
//! allocate.

use crate::fat_file::made_by_hand::{
    BODY, EXECUTABLE, Header, RELOCATABLE, archive, elf_file, hip_wrappers, pe_image, universal,
};
use crate::host_object::{object, target};
use crate::offload_binary;
use offload_format::fat_file::{find, wrappers};
use offload_format::section::DeviceSection;
use offload_tests::counting::Allocated;
use offload_tests::data::corpus_files;
use offload_tests::prelude::*;
use offload_tests::visit::{self, LIMIT};
use std::panic::catch_unwind;

/// The maximum size of an allocation beyond `LIMIT`, per byte of the file. Readers of objects need
/// this allowance because they rewrite the object.
const LARGEST_PER_BYTE: u64 = 24;
/// A small constant allowance, for example for a decompressor's state.
const LARGEST_ANYWAY: u64 = 64 << 10;
/// The maximum total of a visit's allocations: this multiple of `LIMIT`, plus `TOTAL_PER_BYTE` per
/// byte of the file. `LIMIT` is allowed several times because a visit reads each container in
/// several ways.
const LIMITS: u64 = 12;
const TOTAL_PER_BYTE: u64 = 256;

tests!(files());

/// Returns a test for each corpus file, and for each file of [`made`]. Together, the tests take
/// over a minute.
fn files() -> impl Iterator<Item = Test> {
    let of_corpus = corpus_files().into_iter().map(|name| (name.clone(), corpus_file(&name)));
    of_corpus.chain(made()).map(|(name, bytes)| {
        let run = {
            let name = name.clone();
            move || every_place(&name, &bytes)
        };
        Test::new(module_path!(), &name, NOTHING.slow(), run)
    })
}

/// Returns files that the corpus lacks: objects from this library, and handmade files.
fn made() -> Vec<(String, Vec<u8>)> {
    let bundle = corpus_file("bundle/basic.bc");
    let binaries = corpus_file("offload_binary/multi.bin");
    let mut made = Vec::new();
    for (arch, os) in [("x86_64", "windows"), ("aarch64", "macos"), ("riscv64", "linux")] {
        for (section, pack) in
            [(DeviceSection::HipFatbin, &bundle), (DeviceSection::LlvmOffloading, &binaries)]
        {
            let name = format!("made/{os}{}", section.elf_name());
            made.push((name, object(&target(arch, os), section, pack)));
        }
    }
    let sizes = [bundle.len() as u32, binaries.len() as u32];
    let slices = [(48, sizes[0]), (48 + sizes[0], sizes[1])];
    let section = Header { address: 0x1000, ..Header::new(1, BODY, 48) };
    let of_wrappers =
        elf_file(EXECUTABLE, &hip_wrappers(2, 0x1000), b"\0.hipFatBinSegment\0", &[section]);
    let binaries_of_all_kinds = offload_binary::hostile::files().into_iter().enumerate();
    made.extend(binaries_of_all_kinds.map(|(number, it)| (format!("offload_binary/{number}"), it)));
    made.extend([
        ("made/universal".to_owned(), universal(&slices, &[&bundle[..], &binaries].concat())),
        ("made/archive".to_owned(), archive([&bundle[..], &archive([&binaries[..]])])),
        ("made/pe".to_owned(), pe_image(&bundle)),
        ("made/wrappers".to_owned(), of_wrappers),
    ]);
    made
}

/// Returns the offsets to change in a file: each of its first bytes, and some offsets spread over
/// the rest. The step is odd, so it reaches fields with any alignment. (Changing every byte of all
/// files would take many minutes.)
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

fn every_place(name: &str, bytes: &[u8]) {
    check(bytes, "as it is");
    for at in 0..bytes.len() {
        check(&bytes[..at], &format!("cut at {at}"));
    }
    for at in places(bytes.len()).chain(section_headers(bytes)) {
        for changed in changed(bytes, at) {
            check(&changed, &format!("changed at {at}"));
        }
    }
    match name.split('/').next() {
        Some("image") => {
            for at in (0..bytes.len()).step_by(8) {
                changed(bytes, at).iter().for_each(|changed| visit::image(changed));
            }
        }
        Some("fat_file" | "made") => {
            assert!(search(bytes, 16) > 0 || name == "made/wrappers", "{name} has something");
            for at in 0..bytes.len() {
                search(&bytes[..at], 16);
            }
        }
        Some("object_bundle") => return several_changes(bytes, 10_000, visit::object_bundle),
        Some("nv_fatbin") => return several_changes(bytes, 10_000, visit::nv_fatbin),
        _ => return,
    }
    several_changes(bytes, 2000, |changed| {
        visit::fat_file(changed);
        visit::image(changed);
        search(changed, 64);
    });
}

/// Searches a file, and returns the number of places with device code.
fn search(bytes: &[u8], most: usize) -> usize {
    let (mut places, mut count) = (0, 0);
    find(bytes, |_, _| places += 1);
    wrappers(bytes, |_| count += 1);
    assert!(places <= most, "{places} places");
    assert!(count <= bytes.len() / 8, "{count} wrappers");
    places
}

/// Changes several bytes of a file together. The rounds alternate between changes anywhere, near
/// the start (headers) and near the end (tables).
fn several_changes(bytes: &[u8], rounds: usize, visit: impl Fn(&[u8])) {
    let mut random = Random::new(22);
    for round in 0..rounds {
        let mut changed = bytes.to_vec();
        for _ in 0..=random.below(6) {
            let at = match round % 3 {
                0 => random.below(bytes.len()),
                1 => random.below(bytes.len().min(400)),
                _ => bytes.len() - 1 - random.below(bytes.len().min(1600)),
            };
            changed[at] = [0, 1, 0x7f, 0x80, 0xff, random.below(256) as u8][random.below(6)];
        }
        visit(&changed);
    }
}

/// Returns copies of the file, each with an extreme value in the byte at `at`, or in a
/// little-endian field of 2, 4 or 8 bytes there.
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
    for value in [0, 1, bytes.len() as u64, u32::MAX.into(), u64::MAX, u64::MAX / 64, 1 << 63] {
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

// ------------------------------------------------ files in which a few bytes represent much data

#[test]
fn elf_sections_that_share_their_bytes() {
    let names = b"\0.s\0__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-\0";
    let mut sections = vec![Header::new(1, BODY, 100_000); 2000];
    sections.push(Header::new(4, BODY, 1));
    let file = elf_file(RELOCATABLE, &[0; 100_000], names, &sections);
    check(&file, "2000 sections of 100000 bytes");
}

#[test]
fn coff_sections_that_share_their_bytes() {
    const COUNT: u16 = 2000;
    const CONTENTS: u32 = 100_000;
    let contents_at = 20 + 40 * u32::from(COUNT);
    let name = b"__CLANG_OFFLOAD_BUNDLE__host-x86_64-pc-windows-msvc-\0";
    // The COFF header: machine, number of sections, time, symbol table, and no optional header.
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

#[test]
fn sections_that_share_their_wrappers() {
    let section = Header { flags: 2, address: 1 << 40, ..Header::new(1, BODY, 24 * 8000) };
    let file =
        elf_file(EXECUTABLE, &hip_wrappers(8000, 1), b"\0.hipFatBinSegment\0", &[section; 8000]);
    check(&file, "8000 sections of 8000 wrappers");
}

#[test]
fn sections_that_share_a_long_name() {
    let names = [&[b'n'; 1_000_000][..], &[0]].concat();
    let sections: Vec<_> = (0..20_000).map(|number| Header::new(number % 8, BODY, 1)).collect();
    check(&elf_file(EXECUTABLE, b"", &names, &sections), "20000 names of a megabyte");
}
