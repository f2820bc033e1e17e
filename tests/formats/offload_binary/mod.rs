//! Offload binaries of versions 2 and 3, and cases of version 1 that versus_llvm/ lacks.
//!
//! LLVM 22 supports only version 1. For the other versions, tests build files by hand, field by
//! field, from docs/formats.md, and read our files in the same way. LLVM 22 can compress and
//! decompress the streams of these versions, inside ELF sections.

mod compression;
pub(crate) mod hostile;
mod reading;
mod version_1;
mod writing;

use offload_format::compression::Method;
use offload_format::offload_binary::{
    Image, ImageBuilder, OffloadBinary, OffloadBinaryBuilder, OffloadKind, StatedKind,
};
use offload_tests::bytes::set;
use offload_tests::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) image_kind: u16,
    pub(crate) offload_kind: u16,
    pub(crate) flags: u32,
    pub(crate) strings: Vec<(String, Vec<u8>)>,
    pub(crate) data: Vec<u8>,
}

pub(crate) fn made(kinds: [u16; 2], flags: u32, strings: &[(&str, &[u8])], data: &[u8]) -> Made {
    let [image_kind, offload_kind] = kinds;
    let strings = strings.iter().map(|(key, value)| ((*key).to_owned(), value.to_vec())).collect();
    Made { image_kind, offload_kind, flags, strings, data: data.to_vec() }
}

const AMD: &[u8] = b"amdgcn-amd-amdhsa";
const NVIDIA: &[u8] = b"nvptx64-nvidia-cuda";

fn samples() -> Vec<Made> {
    let odd: &[(&str, &[u8])] =
        &[("symbols", b"one\0two\0"), ("", b""), ("bytes", b"\xff\0\xfe"), ("arch", b"\xff")];
    vec![
        made([1, 4], 0, &[("triple", AMD), ("arch", b"gfx90a:xnack-")], b"\x7fELF code"),
        made([5, 2], 0, &[("arch", b"compute_80"), ("triple", NVIDIA)], b".version 8.0\n"),
        made([6, 8], 0, odd, b"spirv"),
        made([0, 0], 1, &[("triple", b"spirv64-intel")], b""),
        made([7, 3], 0x8000_0000, &[], b"12345678"),
    ]
}

/// Returns a file in a layout that no tool writes: first the images, then each string separately,
/// with gaps, and the entries last. Version 1 must have one image.
fn by_hand(version: u32, images: &[Made]) -> Vec<u8> {
    by_hand_behind(b"something", version, images)
}

/// Returns an offload binary with the bytes `first` after the header. If these bytes are exactly as
/// long as the entries, the entries replace them.
fn by_hand_behind(first: &[u8], version: u32, images: &[Made]) -> Vec<u8> {
    let header = if version == 3 { 40 } else { 32 };
    let mut body = first.to_vec();
    let mut put = |bytes: &[u8]| {
        let at = header + body.len() as u64;
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"!");
        at
    };
    let mut entries = Vec::new();
    for image in images {
        let image_at = put(&image.data);
        let mut pairs = Vec::new();
        for (key, value) in &image.strings {
            pairs.push(put(&[key.as_bytes(), b"\0"].concat()));
            match version {
                1 => pairs.push(put(&[value, b"\0".as_slice()].concat())),
                _ => pairs.extend([put(value), value.len() as u64]),
            }
        }
        let pairs_at = put(&numbers(&pairs));
        entries.extend_from_slice(&image.image_kind.to_le_bytes());
        entries.extend_from_slice(&image.offload_kind.to_le_bytes());
        entries.extend_from_slice(&image.flags.to_le_bytes());
        let [pairs, size] = [image.strings.len(), image.data.len()].map(|it| it as u64);
        entries.extend(numbers(&[pairs_at, pairs, image_at, size]));
    }
    let entries_at = if first.len() == entries.len() { header } else { put(&entries) };
    if entries_at == header {
        body[..entries.len()].copy_from_slice(&entries);
    }
    let last = if version == 1 { 40 } else { images.len() as u64 };
    let mut file = vec![0x10, 0xff, 0x10, 0xad];
    file.extend(version.to_le_bytes());
    file.extend(numbers(&[header + body.len() as u64, entries_at, last]));
    if version == 3 {
        file.extend(numbers(&[0]));
    }
    file.extend(body);
    file
}

/// Returns a version 3 offload binary that consists of the header of `whole` and this stream.
fn compressed_by_hand(whole: &[u8], stream: &[u8]) -> Vec<u8> {
    let mut file = [&whole[..40], stream].concat();
    let size = file.len() as u64;
    set(&mut file, 8, size);
    set(&mut file, 32, whole.len() as u64);
    file
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Pads an offload binary with zeros to a multiple of eight bytes.
fn pad(file: &mut Vec<u8>) {
    file.resize(file.len().next_multiple_of(8), 0);
    let size = file.len() as u64;
    set(file, 8, size);
}

/// Returns the listing of this file by `llvm-objdump`; `None` if the tool fails.
fn objdump(folder: &Path, file: &[u8]) -> Option<String> {
    scratch::write(folder.join("file"), file);
    let mut tool = in_folder(llvm("llvm-objdump"), folder, "--offloading file");
    let output = processes::output(&mut tool).expect("it starts");
    output.status.success().then(|| stdout(&output))
}

/// Converts an image from our reader to a [`Made`].
pub(crate) fn read(image: Image) -> Made {
    Made {
        image_kind: image.image_kind.0,
        offload_kind: image.offload_kind.0,
        flags: image.flags,
        strings: image.strings().map(|(key, value)| (key.to_owned(), value.to_vec())).collect(),
        data: image.data.to_vec(),
    }
}

/// Sorts the strings of each image, because builders write them in hash table order.
pub(crate) fn sorted(mut images: Vec<Made>) -> Vec<Made> {
    images.iter_mut().for_each(|image| image.strings.sort());
    images
}

fn read_all(file: &[u8]) -> Vec<Made> {
    OffloadBinary::parse(file).unwrap().images().map(read).collect()
}

const METHODS: [(Method, &str, u64); 2] = [(Method::Zlib, "zlib", 1), (Method::Zstd, "zstd", 2)];

/// Returns images with repetitive content, which compresses well.
fn large_samples() -> Vec<Made> {
    let mut samples = samples();
    samples[0].data = samples[0].data.repeat(1000);
    samples[4].data =
        (0..70_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 27) as u8).collect();
    samples
}

fn add<'a>(builder: &'a mut OffloadBinaryBuilder, sample: &Made) -> &'a mut ImageBuilder {
    let size = sample.data.len() as u64;
    let image = builder
        .image(StatedKind(sample.image_kind), OffloadKind(sample.offload_kind), size)
        .flags(sample.flags);
    sample.strings.iter().fold(image, |image, (key, value)| image.string(key, value))
}

pub(crate) fn builder(samples: &[Made]) -> (OffloadBinaryBuilder, Vec<&[u8]>) {
    let mut builder = OffloadBinaryBuilder::new();
    for sample in samples {
        add(&mut builder, sample);
    }
    (builder, samples.iter().map(|sample| sample.data.as_slice()).collect())
}
