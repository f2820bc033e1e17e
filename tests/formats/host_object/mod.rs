//! Our relocatable objects and libraries, tested with the tools that must accept them: readers and
//! linkers for ELF, COFF and Mach-O.

pub(crate) mod any;
mod links;
mod readers;

use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol};
use offload_format::archive;
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::section::{DeviceSection, ObjectFormat};
use offload_tests::prelude::*;

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

/// Returns a library with one object, `offload.o`.
fn library(host: &Target, kind: DeviceSection, name: &str, pack: &[u8]) -> Vec<u8> {
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

/// Returns the kind of device code that a section holds, if any.
fn device(format: BinaryFormat, section: &object::Section<'_, '_>) -> Option<DeviceSection> {
    let format = match format {
        BinaryFormat::Elf => ObjectFormat::Elf,
        BinaryFormat::Coff | BinaryFormat::Pe => ObjectFormat::Coff,
        _ => ObjectFormat::MachO,
    };
    let segment = section.segment_name().unwrap().unwrap_or("");
    DeviceSection::from_names(format, segment, section.name().unwrap())
}

/// Runs a tool, which must succeed and print no message.
#[track_caller]
fn quiet(command: Command, folder: &Path, options: &str) -> String {
    let output = succeed(&mut in_folder(command, folder, options));
    assert_eq!(stderr(&output), "", "{options}");
    stdout(&output)
}
