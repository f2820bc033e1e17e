//! Compares how long we and LLVM take to list a large section of uncompressed bundles.

use crate::data;
use crate::measure::{child as start, llvm, map, row, succeed};
use std::hint::black_box;
use std::path::Path;

/// Runs both tools, and prints their times.
pub fn bench() {
    println!(
        "list: the entries of {} bundles in a section of {} MB",
        data::BUNDLES,
        data::SECTION_SIZE / 1_000_000
    );
    let section = data::section().expect("the target folder can be written");
    row("ours, from the mapped section", 11, || {
        black_box(list(&map(&section)));
    });
    let (Some(mut clang), Some(_)) = (llvm("clang"), llvm("llvm-readobj")) else {
        println!("  (no LLVM 22 to compare with)");
        return;
    };
    // `llvm-readobj` reads only sections of objects, so put the section into an object.
    let source =
        format!(".section .hip_fatbin,\"a\"\n.p2align 12\n.incbin \"{}\"\n", section.display());
    let folder = data::folder();
    std::fs::write(folder.join("section.s"), source).expect("the target folder can be written");
    succeed(clang.current_dir(&folder).args([
        "--target=x86_64-unknown-linux-gnu",
        "-c",
        "section.s",
    ]));
    let object = folder.join("section.o");
    row("ours, from a mapped object with the section", 11, || {
        black_box(list(&map(&object)));
    });
    row("ours, a whole process", 11, || succeed(&mut start("list", object.as_os_str())));
    row("llvm-readobj --offloading, a whole process", 5, || {
        succeed(llvm("llvm-readobj").expect("it was there").arg("--offloading").arg(&object));
    });
}

/// Lists the file's entries and checks their number, in a separate process whose time is measured.
pub fn child(file: &Path) {
    assert_eq!(list(&map(file)), data::BUNDLES * (data::PROCESSORS.len() + 1));
}

/// Returns how many entries in the file's bundles have a valid ID.
fn list(file: &[u8]) -> usize {
    let mut entries = 0;
    data::bundles(file, |bundle| {
        entries += bundle.entries().filter(|entry| entry.id().is_ok()).count();
    });
    entries
}
