//! Measures the time to read the entry table of a large compressed bundle.

use crate::data::{self, Generator, PROCESSORS};
use crate::measure::{child as start, llvm, map, row, succeed};
use offload_format::bundle::EntryTable;
use offload_format::compressed::{CompressOptions, CompressedBundle, compress};
use std::hint::black_box;
use std::path::Path;

/// The maximum size in bytes of the entry table, and of the decoder's window, which long-distance
/// matching makes large.
const LIMIT: u64 = 128 << 20;

/// Reads the table with our library and with LLVM's tool, and prints the times.
pub fn bench() {
    println!("table: the entry table of a compressed bundle");
    let path = data::folder().join("compressed");
    // Four code objects of 122 MB each, which together compress to 149 MB.
    let parts: Vec<Vec<u8>> = (1..=4).map(|seed| Generator(seed).code(122_000_000, 26)).collect();
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let mut bundle = Vec::new();
    data::write_bundle(&mut bundle, &parts).expect("memory can be written");
    let mut options = CompressOptions::default();
    options.level = Some(1);
    let compressed = compress(&bundle, &options).expect("zstd is built in");
    std::fs::write(&path, &compressed).expect("the target folder can be written");
    println!("  {}: {} bytes, decompressed {}", path.display(), compressed.len(), bundle.len());
    drop((bundle, compressed));

    row("ours, from the mapped file", 11, || {
        black_box(entries(&map(&path)));
    });
    row("ours, a whole process", 11, || succeed(&mut start("table", path.as_os_str())));
    match llvm("clang-offload-bundler") {
        Some(_) => row("clang-offload-bundler -list, a whole process", 3, || {
            let mut tool = llvm("clang-offload-bundler").expect("it was there");
            succeed(tool.args(["-type=o", "-list"]).arg(format!("-input={}", path.display())));
        }),
        None => println!("  (no LLVM 22 to compare with)"),
    }
}

/// Reads the entry table and checks the number of entries, in a separate process, whose time is
/// measured.
pub fn child(file: &Path) {
    assert_eq!(entries(&map(file)), PROCESSORS.len() + 1);
}

fn entries(file: &[u8]) -> usize {
    let bundle = CompressedBundle::parse(file).expect("the bundle is sound");
    let table = bundle.entry_table(LIMIT).expect("the stream is sound");
    EntryTable::parse(&table)
        .expect("the table is sound")
        .entries()
        .filter(|entry| entry.id().is_ok())
        .count()
}
