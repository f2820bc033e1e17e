//! Our relocatable objects and libraries, tested with the tools that must accept them: readers and
//! linkers of ELF, COFF and Mach-O.

pub(crate) mod any;
mod coff;
mod elf;
mod macho;

use object::{BinaryFormat, Object, ObjectSection};
use offload_format::archive;
use offload_format::bundle::{BundleBuilder, HIP_ENTRY_PREFIX};
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_format::section::{DeviceSection, ObjectFormat};
use offload_tests::prelude::*;

pub(crate) const LLVM_AND_GNU: &[Tool] = &[Tool::Llvm22, Tool::Gcc];

offload_tests::tests! { ; any::tests(), elf::tests(), coff::tests(), macho::tests() }

pub(crate) type Target = CargoTarget<'static>;

pub(crate) fn target(arch: &'static str, os: &'static str) -> Target {
    CargoTarget { arch, os, pointer_width: "64", endian: "little" }
}

pub(crate) fn symbol(section: DeviceSection) -> &'static str {
    match section {
        DeviceSection::HipFatbin => "offload_pack_hip",
        DeviceSection::LlvmOffloading => "offload_pack_llvm",
    }
}

fn machine(host: &Target) -> Machine {
    Machine::of(host).expect("a machine of the table")
}

pub(crate) fn named_object(host: &Target, kind: DeviceSection, name: &str, pack: &[u8]) -> Vec<u8> {
    let layout = host_object::write(machine(host), kind, name, pack.len() as u64).unwrap();
    layout.to_vec(&[pack])
}

fn named_library(host: &Target, kind: DeviceSection, name: &str, pack: &[u8]) -> Vec<u8> {
    let object = named_object(host, kind, name, pack);
    let machine = machine(host);
    let write = match machine.format() {
        ObjectFormat::MachO => archive::write_darwin_library,
        _ => archive::write_library,
    };
    write("offload.o", &machine.linker_name(name), object.len() as u64).to_vec(&[&object])
}

pub(crate) fn object(target: &Target, section: DeviceSection, payload: &[u8]) -> Vec<u8> {
    named_object(target, section, symbol(section), payload)
}

pub(crate) fn library(target: &Target, section: DeviceSection, payload: &[u8]) -> Vec<u8> {
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

const DECLARATIONS: &str =
    "extern const unsigned char offload_pack_hip[], offload_pack_hip_2[], offload_pack_llvm[];
const unsigned char *volatile packs[3];";
const REFER: &str = "{
  packs[0] = offload_pack_hip;
  packs[1] = offload_pack_hip_2;
  packs[2] = offload_pack_llvm;
  return 1;
}";

/// Writes the objects `<symbol>.o` and the libraries `lib<symbol>.a` of [`three_packs`], and the
/// objects of two programs with the entry `entry`: in `user.o`, it refers to the packs; in
/// `no_user.o`, only a function that nothing calls does.
fn write_inputs(folder: &Path, host: &Target, triple: &str) {
    for (section, symbol, pack) in three_packs() {
        let object = named_object(host, section, symbol, &pack);
        scratch::write(folder.join(format!("{symbol}.o")), object);
        let library = named_library(host, section, symbol, &pack);
        scratch::write(folder.join(format!("lib{symbol}.a")), library);
    }
    let unused = format!("__attribute__((visibility(\"hidden\"))) int unused(void) {REFER}");
    for (name, functions) in [
        ("user", format!("int entry(void) {REFER}\n")),
        ("no_user", format!("{unused}\nint entry(void) {{ return 1; }}\n")),
    ] {
        scratch::write(folder.join(format!("{name}.c")), format!("{DECLARATIONS}\n{functions}"));
        let options = "-c -O1 -ffunction-sections -ffreestanding";
        quiet(llvm("clang"), folder, &format!("--target={triple} {options} {name}.c"));
    }
}

/// Writes `offload.o` for each section and some sizes, about those of alignments. `check` compares
/// what tools print of it, and returns its section's name for llvm-objcopy, which must extract the
/// payload.
fn for_each_object(folder: &Path, host: &Target, check: impl Fn(DeviceSection, usize) -> String) {
    for section in DeviceSection::ALL {
        for size in [0, 1, 7, 8, 4095, 4096, 100_001] {
            let payload = some_bytes(size);
            scratch::write(folder.join("offload.o"), object(host, section, &payload));
            let name = check(section, size);
            let bytes = section_bytes(folder, "offload.o", &name);
            assert!(bytes == payload, "{} {name} {size}", host.arch);
        }
    }
}

/// Writes `libpack.a` for each section; `llvm-nm` must print the lines that `expected` returns.
fn for_each_library(folder: &Path, host: &Target, expected: impl Fn(&str) -> String) {
    for section in DeviceSection::ALL {
        scratch::write(folder.join("libpack.a"), library(host, section, &some_bytes(4097)));
        let map = quiet(llvm("llvm-nm"), folder, "--print-armap libpack.a");
        assert_lines(&map, &expected(symbol(section)));
    }
}

/// Returns the kind of device code that a section of a file is for.
fn device(format: BinaryFormat, section: &object::Section<'_, '_>) -> Option<DeviceSection> {
    let format = match format {
        BinaryFormat::Elf => ObjectFormat::Elf,
        BinaryFormat::Coff | BinaryFormat::Pe => ObjectFormat::Coff,
        _ => ObjectFormat::MachO,
    };
    let segment = section.segment_name().unwrap().unwrap_or("");
    DeviceSection::from_names(format, segment, section.name().unwrap())
}

fn device_sections(image: &[u8]) -> Vec<DeviceSection> {
    let image = object::File::parse(image).unwrap();
    image.sections().filter_map(|section| device(image.format(), &section)).collect()
}

/// Asserts that the packs of [`three_packs`] are at these addresses of an image, aligned, and in
/// sections with these names: that of bundles, and that of offload binaries.
#[track_caller]
fn assert_has_packs(image: &[u8], addresses: [u64; 3], names: [&str; 2], what: &str) {
    let image = object::File::parse(image).unwrap();
    for ((device_section, symbol, pack), address) in three_packs().iter().zip(addresses) {
        let what = format!("{what}, {symbol} at {address:#x}");
        assert_eq!(address % device_section.align(), 0, "{what}");
        let of_pack = |section: &object::Section<'_, '_>| {
            (section.address()..section.address() + section.size()).contains(&address)
        };
        let section = image.sections().find(of_pack).expect(&what);
        let name = names[usize::from(*device_section == DeviceSection::LlvmOffloading)];
        assert_eq!(section.name(), Ok(name), "{what}");
        assert_eq!(device(image.format(), &section), Some(*device_section), "{what}");
        let bytes = section.data_range(address, pack.len() as u64).unwrap();
        assert!(bytes == Some(pack), "{what}: other bytes");
    }
}

/// Returns bytes in which any two ranges of a certain length differ.
pub(crate) fn some_bytes(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + at / 251 + at / 65_000 + 1) as u8).collect()
}

/// Returns lines in which each run of spaces is replaced by one space.
pub(crate) fn plain(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Asserts that a tool's output has these lines; `expected` has one in each line. Runs of spaces
/// count as one space, and an expected line that ends with `(` is only the start of a line.
#[track_caller]
fn assert_lines(output: &str, expected: &str) {
    let lines = plain(output);
    for line in plain(expected).iter().filter(|line| !line.is_empty()) {
        let is_it = |found: &String| {
            found == line || line.ends_with('(') && found.starts_with(line.as_str())
        };
        assert!(lines.iter().any(is_it), "no line {line:?} in\n{}", lines.join("\n"));
    }
}

/// Runs a tool that must succeed and print no message.
#[track_caller]
pub(crate) fn quietly(command: &mut Command) -> String {
    let output = succeed(command);
    assert!(output.stderr.is_empty(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    stdout(&output)
}

/// Like [`quietly`], in a folder with options, which spaces separate.
#[track_caller]
fn quiet(command: Command, folder: &Path, options: &str) -> String {
    quietly(&mut in_folder(command, folder, options))
}

/// Returns the bytes of a section of an object or a program in this folder. Names of Mach-O
/// sections include their segments.
pub(crate) fn section_bytes(folder: &Path, file: &str, section: &str) -> Vec<u8> {
    quiet(llvm("llvm-objcopy"), folder, &format!("--dump-section={section}=dump {file} copy"));
    read(folder.join("dump"))
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
