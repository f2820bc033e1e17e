//! Tests the search for device code in the outputs of clang, linkers, `llvm-ar` and `llvm-lipo`.
//! `llvm-readobj`, `llvm-objdump`, `roc-obj-ls` and `cuobjdump` check the containers found and
//! their offsets. Also searches files that no tool writes.

mod archives;
mod cuda;
mod hip;
mod hostile_tables;
mod inputs;
mod macos;
pub(crate) mod made_by_hand;
mod offload_binaries;
mod our_objects;
mod wrappers;

use offload_format::Result;
use offload_format::fat_file::{ContainerKind, Content, Place, find};
use offload_format::offload_binary::{OffloadBinary, OffloadKind, StatedKind};
use offload_tests::judges::{Listed, objdump_extracts, objdump_lists, readobj_lists};
use offload_tests::prelude::*;
use offload_tests::published::{bundles, listed};

const ROC_OBJ: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::RocObj]);

fn places(file: &[u8]) -> Vec<(Place<'_>, Result<Content<'_>>)> {
    let mut all = Vec::new();
    find(file, |place, container| all.push((place, container)));
    all
}

/// Returns a file's containers. Panics if one is malformed.
#[track_caller]
fn containers(file: &[u8]) -> Vec<(Place<'_>, Content<'_>)> {
    let found = places(file).into_iter();
    found.map(|(place, container)| (place, container.expect("a container"))).collect()
}

#[track_caller]
fn only_container(file: &[u8]) -> (Place<'_>, Content<'_>) {
    let found: [_; 1] = containers(file).try_into().expect("one container");
    let [container] = found;
    container
}

/// Returns, for each container, the name of the archive member that contains it.
fn members(file: &[u8]) -> Vec<&str> {
    containers(file).iter().map(|(place, _)| text(place.member)).collect()
}

fn text(bytes: Option<&[u8]>) -> &str {
    str::from_utf8(bytes.unwrap_or(b"-")).expect("a name is text")
}

/// Returns the ID and bytes of each bundle entry. Offsets are omitted, because they depend on the
/// file around the bundle.
#[track_caller]
fn bundle_entries(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for bundle in bundles(file) {
        let entries = bundle.parsed().entries();
        all.extend(entries.map(|it| (it.id_str.to_owned(), it.code_object.to_vec())));
    }
    all
}

/// Asserts that `bytes`, a part of `file`, start at the place's offset.
#[track_caller]
fn assert_is_there(file: &[u8], place: &Place<'_>, bytes: &[u8]) {
    assert_eq!(place.offset, offset_in(file, bytes), "{place:?}");
}

fn offset_in(file: &[u8], bytes: &[u8]) -> u64 {
    (bytes.as_ptr() as usize - file.as_ptr() as usize) as u64
}

/// Returns the ID, offset and size of each bundle entry in a file, except those for hosts.
fn uris(path: &Path) -> Vec<Listed> {
    listed(&bundles(&read(path)))
}

/// Returns the images of all offload binaries, in the format of `llvm-objdump --offloading`.
#[track_caller]
pub(crate) fn images(file: &[u8]) -> Vec<[String; 4]> {
    let mut all = Vec::new();
    for (place, container) in containers(file) {
        let Content::Container(ContainerKind::OffloadBinary, section) = container else { continue };
        assert_is_there(file, &place, section);
        for binary in OffloadBinary::in_a_row(section) {
            let (_, binary) = binary.expect("an offload binary");
            all.extend(binary.images().map(|image| {
                let kind = match image.image_kind {
                    StatedKind::OBJECT => "elf",
                    StatedKind::BITCODE => "llvm ir",
                    StatedKind::CUBIN => "cubin",
                    StatedKind::FATBINARY => "fatbinary",
                    StatedKind::PTX => "ptx",
                    _ => "<none>",
                };
                let producer = match image.offload_kind {
                    OffloadKind::OPENMP => "openmp",
                    OffloadKind::CUDA => "cuda",
                    OffloadKind::HIP => "hip",
                    OffloadKind::SYCL => "sycl",
                    _ => "none",
                };
                [kind, image.arch().unwrap_or(""), image.triple().unwrap_or(""), producer]
                    .map(str::to_owned)
            }));
        }
    }
    all
}

#[track_caller]
fn assert_bundles_are_listed(path: &Path, count: usize) {
    let ours = uris(path);
    assert_eq!(ours, readobj_lists(path), "{}", path.display());
    assert_eq!(ours.len(), count, "{}", path.display());
}

/// Asserts that `llvm-objdump` extracts the code objects that we find in uncompressed bundles. From
/// compressed bundles, llvm-objdump extracts wrong bytes, because it uses offsets in the
/// decompressed bundle as offsets in the file.
#[track_caller]
fn assert_bundles_are_extracted(path: &Path, count: usize) {
    assert_bundles_are_listed(path, count);
    let theirs = objdump_extracts(path).into_iter().map(|(id, file)| (id, read(file)));
    let same = bundle_entries(&read(path)).into_iter().eq(theirs);
    assert!(same, "{}: llvm-objdump extracts other bytes", path.display());
}

#[track_caller]
fn assert_images_are_listed(path: &Path, count: usize) {
    let ours = images(&read(path));
    assert_eq!(ours, objdump_lists(path), "{}", path.display());
    assert_eq!(ours.len(), count, "{}", path.display());
}
