//! Tests truncated and changed files. Nothing may panic or read outside of the file.

use super::assert_is_there;
use super::inputs::{offload_binaries, our_object};
use super::made_by_hand::{
    BODY, EXECUTABLE, Header, PROGBITS, archive, elf_file, hip_wrappers, pe_image, universal,
};
use offload_format::compressed::Bundles;
use offload_format::fat_file::{Container, find, wrappers};
use offload_format::host_object::CargoTarget;
use offload_format::offload_binary::OffloadBinaries;
use offload_format::section::DeviceSection;
use offload_tests::data::{Random, corpus, read};
use offload_tests::registry::NOTHING;
use offload_tests::scratch;

offload_tests::tests! {
    NOTHING => [every_truncation, many_bytes_changed],
}

/// Returns small files of every kind.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> =
        corpus("fat_file").iter().map(|path| (path.display().to_string(), read(path))).collect();
    let bundle = read(scratch::workspace().join("tests/corpus/bundle/basic.bc"));
    for (arch, os) in [("x86_64", "windows"), ("aarch64", "macos"), ("riscv64", "linux")] {
        let target = CargoTarget { arch, os, pointer_width: "64", endian: "little" };
        all.push((os.to_owned(), our_object(&target, DeviceSection::HipFatbin, "pack", &bundle)));
        all.push((
            os.to_owned(),
            our_object(&target, DeviceSection::LlvmOffloading, "pack", &offload_binaries()),
        ));
    }
    let sizes = [bundle.len() as u32, offload_binaries().len() as u32];
    let both = [&bundle[..], &offload_binaries()].concat();
    all.push((
        "universal".to_owned(),
        universal(&[(48, sizes[0]), (48 + sizes[0], sizes[1])], &both),
    ));
    all.push(("archive".to_owned(), archive([&bundle[..], &archive([&offload_binaries()[..]])])));
    all.push(("PE".to_owned(), pe_image(&bundle)));
    let section =
        Header { name: 1, kind: PROGBITS, address: 0x1000, offset: BODY, size: 48, link: 0 };
    let image = hip_wrappers(2, 0x1000);
    all.push((
        "wrappers".to_owned(),
        elf_file(EXECUTABLE, &image, b"\0.hipFatBinSegment\0", &[section]),
    ));
    all
}

/// Searches a file, reads the containers that it finds, and returns their number.
fn examine(file: &[u8]) -> usize {
    let size = file.len() as u64;
    let mut visits = 0;
    find(file, |place, container| {
        visits += 1;
        assert!(place.offset <= size, "{place:?}");
        let bytes = match container {
            Err(error) => {
                assert!(error.offset() <= size, "{error}");
                assert_ne!(error.to_string(), "");
                return;
            }
            Ok(Container::Bundles(bytes)) => {
                assert!(Bundles::new(bytes, 1 << 16).count() <= bytes.len());
                bytes
            }
            Ok(Container::OffloadBinaries(bytes)) => {
                assert!(OffloadBinaries::new(bytes).count() <= bytes.len());
                bytes
            }
            Ok(Container::NvFatbins(bytes) | Container::Image(bytes)) => bytes,
            Ok(Container::ObjectBundle(bundle)) => {
                return assert!(bundle.entries().count() <= file.len());
            }
            Ok(_) => return,
        };
        assert_is_there(file, &place, bytes);
    });
    let mut count = 0;
    wrappers(file, |_| count += 1);
    assert!(count <= file.len() / 8);
    visits
}

fn every_truncation() {
    for (name, file) in seeds() {
        assert!(examine(&file) > 0 || name == "wrappers", "{name} has something");
        // Cut small files at every byte. Cut other files at every byte of the headers and then in
        // steps that reach every alignment.
        let cuts = (0..file.len()).filter(|cut| file.len() < 3000 || *cut < 300 || cut % 7 == 0);
        for cut in cuts {
            assert!(examine(&file[..cut]) <= 16, "{name} cut to {cut}");
        }
    }
}

fn many_bytes_changed() {
    let mut random = Random::new(22);
    for (name, file) in seeds() {
        for round in 0..2000 {
            let mut changed = file.clone();
            for _ in 0..=random.below(3) {
                // Changes bytes anywhere, near the start, or near the end, in turn: headers are at
                // the start, tables at the end.
                let at = match round % 3 {
                    0 => random.below(file.len()),
                    1 => random.below(file.len().min(400)),
                    _ => file.len() - 1 - random.below(file.len().min(1600)),
                };
                changed[at] = [0, 1, 0x7f, 0xff, random.below(256) as u8][random.below(5)];
            }
            assert!(examine(&changed) <= 64, "{name}, round {round}");
        }
    }
}
