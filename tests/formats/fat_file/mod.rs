//! Device code in files: searches the outputs of clang, linkers, `llvm-ar` and `llvm-lipo`.
//! `llvm-readobj`, `llvm-objdump`, `roc-obj-ls` and `cuobjdump` check the results and their places.
//! Also searches files that no tool makes.

mod archives;
mod bare_containers;
mod cuda;
mod hip;
mod hostile;
mod hostile_tables;
mod inputs;
mod macos;
mod made_by_hand;
mod offload_binaries;
mod our_objects;
mod windows;
mod wrappers;

use inputs::{a_bundle, offload_binaries};
use offload_format::Result;
use offload_format::compressed::{Bundles, Found};
use offload_format::fat_file::{Container, Place, find};
use offload_format::offload_binary::{ImageKind, OffloadBinaries, OffloadKind};
use offload_tests::data::read;
use offload_tests::judges::{objdump_extracts, readobj_lists, section_ranges};
use offload_tests::registry::{Needs, needs};
use offload_tests::tools::{Tool, llvm, stdout, succeed};
use std::path::Path;

const ROC_OBJ: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::RocObj]);
const MINGW: Needs = needs(&[Tool::Llvm22, Tool::GnuPe]);

offload_tests::tests! {
    ;
    archives::tests(),
    bare_containers::tests(),
    cuda::tests(),
    hip::tests(),
    hostile::tests(),
    hostile_tables::tests(),
    macos::tests(),
    offload_binaries::tests(),
    our_objects::tests(),
    windows::tests(),
    wrappers::tests(),
}

/// The maximum number of bytes that decompression may allocate.
const LIMIT: u64 = 1 << 24;

fn places(file: &[u8]) -> Vec<(Place<'_>, Result<Container<'_>>)> {
    let mut all = Vec::new();
    find(file, |place, container| all.push((place, container)));
    all
}

/// Returns the containers of a file, and panics if one is malformed.
#[track_caller]
fn containers(file: &[u8]) -> Vec<(Place<'_>, Container<'_>)> {
    places(file)
        .into_iter()
        .map(|(place, container)| (place, container.expect("a container")))
        .collect()
}

fn text(bytes: Option<&[u8]>) -> &str {
    str::from_utf8(bytes.unwrap_or(b"-")).expect("a name is text")
}

/// An entry of a bundle: the bundle entry ID, its offset in the file, its bytes. In compressed
/// bundles, the offset counts from the start of the inflated bundle, as in LLVM.
type BundleEntry = (String, u64, Vec<u8>);

/// Returns the entries of all bundles in a file.
#[track_caller]
fn bundle_entries(file: &[u8]) -> Vec<BundleEntry> {
    let mut all = Vec::new();
    for (place, container) in containers(file) {
        let Container::Bundles(section) = container else { continue };
        assert_is_there(file, &place, section);
        for bundle in Bundles::new(section, LIMIT) {
            let (at, bundle) = bundle.expect("a bundle");
            match bundle {
                Found::Plain(bundle) => all.extend(bundle.entries().map(|entry| {
                    (
                        entry.id_str().to_owned(),
                        place.offset + at + entry.offset(),
                        entry.code_object().to_vec(),
                    )
                })),
                Found::Compressed(bundle) => {
                    let inflated = bundle.decompress(LIMIT).expect("a stream");
                    let bundle =
                        offload_format::bundle::Bundle::parse(&inflated).expect("a bundle");
                    all.extend(bundle.entries().map(|entry| {
                        (entry.id_str().to_owned(), entry.offset(), entry.code_object().to_vec())
                    }));
                }
            }
        }
    }
    all
}

/// Asserts that `bytes`, a part of `file`, start at the offset that a place records.
#[track_caller]
fn assert_is_there(file: &[u8], place: &Place<'_>, bytes: &[u8]) {
    assert_eq!(place.offset, offset_in(file, bytes), "{place:?}");
}

fn offset_in(file: &[u8], bytes: &[u8]) -> u64 {
    (bytes.as_ptr() as usize - file.as_ptr() as usize) as u64
}

/// Returns the ID, offset and size of each entry, except those for hosts.
fn uris(entries: &[BundleEntry]) -> Vec<(String, u64, u64)> {
    let devices = entries.iter().filter(|(id, ..)| !id.starts_with("host"));
    devices.map(|(id, offset, bytes)| (id.clone(), *offset, bytes.len() as u64)).collect()
}

/// Returns the images of all offload binaries, in the format of `llvm-objdump --offloading`.
#[track_caller]
fn images(file: &[u8]) -> Vec<[String; 4]> {
    let mut all = Vec::new();
    for (place, container) in containers(file) {
        let Container::OffloadBinaries(section) = container else { continue };
        assert_is_there(file, &place, section);
        for binary in OffloadBinaries::new(section) {
            let (_, binary) = binary.expect("an offload binary");
            all.extend(binary.images().map(|image| {
                let kind = match image.image_kind() {
                    ImageKind::OBJECT => "elf",
                    ImageKind::BITCODE => "llvm ir",
                    ImageKind::CUBIN => "cubin",
                    ImageKind::FATBINARY => "fatbinary",
                    ImageKind::PTX => "ptx",
                    _ => "<none>",
                };
                let producer = match image.offload_kind() {
                    OffloadKind::OPENMP => "openmp",
                    OffloadKind::CUDA => "cuda",
                    OffloadKind::HIP => "hip",
                    _ => "none",
                };
                [kind, image.arch().unwrap_or(""), image.triple().unwrap_or(""), producer]
                    .map(str::to_owned)
            }));
        }
    }
    all
}

/// Returns the lines of `llvm-objdump --offloading` about the images in offload binaries.
fn objdump_lists(path: &Path) -> Vec<[String; 4]> {
    // llvm-objdump leaves files in the current folder.
    let folder = path.parent().expect("a file lies in a folder");
    let output =
        stdout(&succeed(llvm("llvm-objdump").current_dir(folder).arg("--offloading").arg(path)));
    let value = |block: &str, key: &str| {
        let line = block
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .expect("each image has all lines");
        line.trim().to_owned()
    };
    let blocks = output.split("OFFLOADING IMAGE").skip(1);
    blocks
        .map(|block| ["kind", "arch", "triple", "producer"].map(|key| value(block, key)))
        .collect()
}

fn assert_bundles_are_listed(path: &Path, count: usize) {
    let file = read(path);
    let entries = bundle_entries(&file);
    assert_eq!(uris(&entries), readobj_lists(path), "{}", path.display());
    assert_eq!(uris(&entries).len(), count, "{}", path.display());
}

/// Asserts that `llvm-objdump` extracts the code objects that we find, in uncompressed bundles. For
/// compressed bundles, it extracts wrong bytes: the file's bytes at the offsets of the code objects
/// in the inflated bundle.
fn assert_bundles_are_extracted(path: &Path, count: usize) {
    assert_bundles_are_listed(path, count);
    let ours: Vec<_> =
        bundle_entries(&read(path)).into_iter().map(|(id, _, bytes)| (id, bytes)).collect();
    let theirs: Vec<_> =
        objdump_extracts(path).into_iter().map(|(id, file)| (id, read(file))).collect();
    assert!(theirs == ours, "{}: llvm-objdump extracts other bytes", path.display());
}

fn assert_images_are_listed(path: &Path, count: usize) {
    let file = read(path);
    assert_eq!(images(&file), objdump_lists(path), "{}", path.display());
    assert_eq!(images(&file).len(), count, "{}", path.display());
}

/// Asserts that our bundles and offload binaries are in a file, in sections for which llvm-readobj
/// prints these names and the same places.
#[track_caller]
fn assert_both_are_there(path: &Path, hip: &str, offloading: &str, offset: &str, size: &str) {
    let file = read(path);
    let found = containers(&file);
    let sections: Vec<&str> = found.iter().map(|(place, _)| text(place.section)).collect();
    let mut expected = [hip, offloading];
    expected.sort_by_key(|name| sections.iter().position(|found| found == name));
    assert_eq!(sections, expected, "{}", path.display());
    for (place, container) in &found {
        let (Container::Bundles(bytes) | Container::OffloadBinaries(bytes)) = container else {
            panic!("{container:?}")
        };
        assert_is_there(&file, place, bytes);
        let ranges = section_ranges(path, text(place.section), offset, size);
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)], "{}: {place:?}", path.display());
    }
    assert_eq!(
        bundle_entries(&file).iter().map(|(id, _, bytes)| (id, bytes)).collect::<Vec<_>>(),
        bundle_entries(&a_bundle()).iter().map(|(id, _, bytes)| (id, bytes)).collect::<Vec<_>>()
    );
    assert_eq!(images(&file), images(&offload_binaries()));
}
