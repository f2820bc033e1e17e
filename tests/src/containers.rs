//! Containers that tests write: offload binaries, bundles and archives, some of which our own
//! writers refuse.

use crate::bytes::patched;
use crate::data::corpus_file;
use offload_format::archive::ArchiveBuilder;
use offload_format::bundle::{BundleBuilder, MAGIC};
use offload_format::offload_binary::{
    MAGIC as OFFLOAD_BINARY_MAGIC, OffloadBinaryBuilder, OffloadKind, StatedKind, Version,
};
use offload_format::target::amdgpu;

/// An image of an offload binary: its kinds, its strings and its bytes.
pub type Image<'a> = (StatedKind, OffloadKind, &'a [(&'a str, &'a str)], &'a [u8]);

/// Returns a version 6 code object for a target ID.
pub fn code_object(target: &str) -> Vec<u8> {
    let mut words = target.split(':');
    let row = amdgpu::find(words.next().expect("a processor")).expect("a processor");
    let modes: Vec<&str> = words.collect();
    let mut flags = u32::from(row.mach);
    for (feature, any, on) in [("xnack", 0x100, 0x300), ("sramecc", 0x400, 0xc00)] {
        let mode = modes.iter().find_map(|mode| mode.strip_prefix(feature));
        flags |= match mode {
            _ if !row.features.contains(&feature) => 0,
            None => any,
            Some("-") => any * 2,
            Some(_) => on,
        };
    }
    // Set the version, which only generic processors have.
    if target.contains("-generic") {
        flags |= 1 << 24;
    }
    let mut data = corpus_file("image/v3.hsaco");
    data[8] = 4;
    data[48..52].copy_from_slice(&flags.to_le_bytes());
    data
}

/// Returns offload binaries with these images. Version 1 needs one binary per image. In later
/// versions, one binary contains all images.
pub fn binary<'a>(
    version: Version,
    images: &[(StatedKind, OffloadKind, impl AsRef<[(&'a str, &'a str)]>, impl AsRef<[u8]>)],
) -> Vec<u8> {
    let mut builder = OffloadBinaryBuilder::new();
    for (image_kind, offload_kind, strings, bytes) in images {
        let image = builder.image(*image_kind, *offload_kind, bytes.as_ref().len() as u64);
        for (key, value) in strings.as_ref() {
            image.string(key, value);
        }
    }
    let bytes: Vec<&[u8]> = images.iter().map(|image| image.3.as_ref()).collect();
    builder.layout(version).to_vec(&bytes)
}

/// Returns a bundle for HIP: the host's empty entry, then entries with these IDs and code objects.
pub fn hip_bundle(align: u64, entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = BundleBuilder::hip();
    builder.align(align);
    for (id, code_object) in entries {
        builder.entry(id, code_object.len() as u64).expect("an entry");
    }
    let images = entries.iter().map(|(_, image)| *image);
    builder.layout().to_vec(&[&b""[..]].into_iter().chain(images).collect::<Vec<_>>())
}

/// Returns a bundle whose entries all refer to the same bytes. These bytes follow the table. Our
/// writer refuses such bundles, and bundles with so many entries.
pub fn shared_bundle<S: AsRef<str>>(ids: &[S], bytes: &[u8]) -> Vec<u8> {
    let mut bundle = MAGIC.to_vec();
    bundle.extend((ids.len() as u64).to_le_bytes());
    let table: usize = ids.iter().map(|id| 24 + id.as_ref().len()).sum();
    let start = bundle.len() + table;
    for id in ids.iter().map(AsRef::as_ref) {
        for number in [start, bytes.len(), id.len()] {
            bundle.extend((number as u64).to_le_bytes());
        }
        bundle.extend(id.bytes());
    }
    [&bundle, bytes].concat()
}

/// Returns a version 2 offload binary with this many images, which all refer to the same bytes and
/// have no strings. Our writer would repeat the bytes.
pub fn shared_binary(count: u64, bytes: &[u8]) -> Vec<u8> {
    let (header, entry) = (32, 40);
    let start = header + entry * count;
    let size = (start + bytes.len() as u64).next_multiple_of(8);
    let mut binary = OFFLOAD_BINARY_MAGIC.to_vec();
    binary.extend(2u32.to_le_bytes());
    binary.extend([size, header, count].map(u64::to_le_bytes).concat());
    for _ in 0..count {
        // The kinds for PTX and CUDA, no flags, and no strings.
        binary.extend([5, 2, 0, 0, 0, 0, 0, 0]);
        binary.extend([header, 0, start, bytes.len() as u64].map(u64::to_le_bytes).concat());
    }
    binary.extend(bytes);
    binary.resize(size as usize, 0);
    binary
}

/// Returns an archive with these members.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = ArchiveBuilder::new();
    for (name, bytes) in members {
        builder.member(*name, bytes.len() as u64).expect("a member");
    }
    builder.layout().to_vec(&members.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>())
}

/// Returns the file with different bytes at an offset.
pub fn with(file: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    assert!(at + bytes.len() <= file.len(), "{at} + {} of {}", bytes.len(), file.len());
    patched(file, at, bytes)
}

/// Returns the file with the first `from` replaced by `to`. Both must have the same length.
pub fn replaced(file: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = file.windows(from.len()).position(|window| window == from.as_bytes());
    with(file, at.expect("it is there"), to.as_bytes())
}
