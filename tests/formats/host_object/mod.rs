//! Our relocatable objects and libraries, tested with the tools that must accept them: readers and
//! linkers of ELF, COFF and Mach-O.

mod any;
mod coff;
mod elf;
mod macho;

use offload_format::archive;
use offload_format::bundle::{BundleBuilder, HIP_ENTRY_PREFIX};
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_format::section::{DeviceSection, ObjectFormat};
use offload_tests::tools::{Tool, llvm, stdout, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const LLVM_AND_GNU: &[Tool] = &[Tool::Llvm22, Tool::Gcc];

offload_tests::tests! { ; any::tests(), elf::tests(), coff::tests(), macho::tests() }

pub(crate) fn target(arch: &'static str, os: &'static str) -> CargoTarget<'static> {
    CargoTarget { arch, os, pointer_width: "64", endian: "little" }
}

/// Returns the symbol of the pack in a section.
pub(crate) fn symbol(section: DeviceSection) -> &'static str {
    match section {
        DeviceSection::HipFatbin => "offload_pack_hip",
        DeviceSection::LlvmOffloading => "offload_pack_llvm",
    }
}

pub(crate) fn named_object(
    target: &CargoTarget<'_>,
    section: DeviceSection,
    symbol: &str,
    payload: &[u8],
) -> Vec<u8> {
    let machine = Machine::of(target).expect("a machine of the table");
    host_object::write(machine, section, symbol, payload.len() as u64).unwrap().to_vec(&[payload])
}

pub(crate) fn named_library(
    target: &CargoTarget<'_>,
    section: DeviceSection,
    symbol: &str,
    payload: &[u8],
) -> Vec<u8> {
    let object = named_object(target, section, symbol, payload);
    let machine = Machine::of(target).expect("a machine of the table");
    let write = match machine.format() {
        ObjectFormat::MachO => archive::write_darwin_library,
        _ => archive::write_library,
    };
    write("offload.o", &machine.linker_name(symbol), object.len() as u64).to_vec(&[&object])
}

pub(crate) fn object(target: &CargoTarget<'_>, section: DeviceSection, payload: &[u8]) -> Vec<u8> {
    named_object(target, section, symbol(section), payload)
}

pub(crate) fn library(target: &CargoTarget<'_>, section: DeviceSection, payload: &[u8]) -> Vec<u8> {
    named_library(target, section, symbol(section), payload)
}

/// Returns packs for one link: their sections, symbols and bytes. No pack's size is a multiple of
/// an alignment.
pub(crate) fn three_packs() -> [(DeviceSection, &'static str, Vec<u8>); 3] {
    [
        (DeviceSection::HipFatbin, "offload_pack_hip", hip_pack()),
        (DeviceSection::HipFatbin, "offload_pack_hip_2", some_bytes(4097)),
        (DeviceSection::LlvmOffloading, "offload_pack_llvm", llvm_pack().0),
    ]
}

/// The source of a program whose entry `entry` refers to the packs of [`three_packs`]. [`NO_USER`]
/// contains the same code in a function that nothing calls.
pub(crate) const USER: &str =
    "extern const unsigned char offload_pack_hip[], offload_pack_hip_2[], offload_pack_llvm[];
const unsigned char *volatile packs[3];
int entry(void) {
  packs[0] = offload_pack_hip;
  packs[1] = offload_pack_hip_2;
  packs[2] = offload_pack_llvm;
  return 1;
}
";
pub(crate) const NO_USER: &str =
    "extern const unsigned char offload_pack_hip[], offload_pack_hip_2[], offload_pack_llvm[];
const unsigned char *volatile packs[3];
__attribute__((visibility(\"hidden\"))) void unused(void) {
  packs[0] = offload_pack_hip;
  packs[1] = offload_pack_hip_2;
  packs[2] = offload_pack_llvm;
}
int entry(void) { return 1; }
";

/// Returns bytes in which any two ranges of a certain length differ.
pub(crate) fn some_bytes(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + at / 251 + at / 65_000 + 1) as u8).collect()
}

/// Returns lines in which each run of spaces is replaced by one space.
pub(crate) fn plain(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[track_caller]
pub(crate) fn assert_line(lines: &[String], line: &str) {
    assert!(lines.iter().any(|found| found == line), "no line {line:?} in\n{}", lines.join("\n"));
}

/// Runs a tool that must succeed and print no message.
#[track_caller]
pub(crate) fn quietly(command: &mut Command) -> String {
    let output = succeed(command);
    assert!(output.stderr.is_empty(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    stdout(&output)
}

/// Returns the bytes of a section of an object or a program in this folder. Names of Mach-O
/// sections include their segments.
pub(crate) fn section_bytes(folder: &Path, file: &str, section: &str) -> Vec<u8> {
    let mut objcopy = llvm("llvm-objcopy");
    quietly(
        objcopy
            .current_dir(folder)
            .arg(format!("--dump-section={section}=dump"))
            .args([file, "copy"]),
    );
    fs::read(folder.join("dump")).expect("llvm-objcopy has written it")
}

pub(crate) const AMD_TARGETS: [&str; 2] = ["gfx90a:xnack-", "gfx1100"];

/// Returns a pack as in `.hip_fatbin`, with images for [`AMD_TARGETS`].
pub(crate) fn hip_pack() -> Vec<u8> {
    let images = [some_bytes(5000), some_bytes(777)];
    let mut builder = BundleBuilder::hip();
    for (target, image) in AMD_TARGETS.iter().zip(&images) {
        builder.entry(&format!("{HIP_ENTRY_PREFIX}{target}"), image.len() as u64).unwrap();
    }
    builder.layout().to_vec(&[b"", &images[0], &images[1]])
}

/// Returns a pack as in `.llvm.offloading`, and the expected output of `llvm-objdump --offloading`.
pub(crate) fn llvm_pack() -> (Vec<u8>, String) {
    let image = some_bytes(1003);
    let table = [
        (ImageKind::OBJECT, OffloadKind::HIP, "amdgcn-amd-amdhsa", "gfx942", "elf", "hip"),
        (ImageKind::CUBIN, OffloadKind::CUDA, "nvptx64-nvidia-cuda", "sm_80", "cubin", "cuda"),
        (ImageKind::PTX, OffloadKind::CUDA, "nvptx64-nvidia-cuda", "compute_80", "ptx", "cuda"),
        (ImageKind::OBJECT, OffloadKind::NONE, "x86_64-unknown-linux-gnu", "", "elf", "none"),
    ];
    let (mut builder, mut listing) = (OffloadBinaryBuilder::new(), String::new());
    for (number, (image_kind, offload_kind, triple, arch, kind, producer)) in
        table.into_iter().enumerate()
    {
        let strings =
            builder.image(image_kind, offload_kind, image.len() as u64).string("triple", triple);
        if !arch.is_empty() {
            strings.string("arch", arch);
        }
        listing += &format!(
            "OFFLOADING IMAGE [{number}]:\nkind {kind}\narch {arch}\ntriple {triple}\nproducer {producer}\n"
        );
    }
    (builder.layout(Version::V1).to_vec(&[image.as_slice(); 4]), listing)
}
