//! Tests that the crate `object` reads our objects in all formats, including objects with unusual
//! sizes and names. Also tests objects that cannot be written.

use super::{device, named_object, target};
use object::{
    BinaryFormat, Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags, SymbolScope,
};
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::section::DeviceSection;
use offload_tests::data::some_bytes;
use proptest::prelude::*;

/// A host, with the crate `object`'s names for its format and processor.
pub(crate) type Host = (&'static str, &'static str, BinaryFormat, object::Architecture);

pub(crate) const HOSTS: [Host; 8] = [
    ("x86_64", "linux", BinaryFormat::Elf, object::Architecture::X86_64),
    ("aarch64", "android", BinaryFormat::Elf, object::Architecture::Aarch64),
    ("riscv64", "freebsd", BinaryFormat::Elf, object::Architecture::Riscv64),
    ("loongarch64", "linux", BinaryFormat::Elf, object::Architecture::LoongArch64),
    ("x86_64", "windows", BinaryFormat::Coff, object::Architecture::X86_64),
    ("aarch64", "windows", BinaryFormat::Coff, object::Architecture::Aarch64),
    ("x86_64", "macos", BinaryFormat::MachO, object::Architecture::X86_64),
    ("aarch64", "macos", BinaryFormat::MachO, object::Architecture::Aarch64),
];

#[test]
fn another_reader_finds_what_was_written() {
    let host = prop::sample::select(HOSTS.to_vec());
    let section = prop::sample::select(DeviceSection::ALL.to_vec());
    let symbol = "[A-Za-z_$.][A-Za-z0-9_$.]{0,60}";
    crate::properties::check(256, (host, section, 0..10_000_usize, symbol), |written| {
        let (host, section, size, symbol) = written;
        let payload = some_bytes(1, size);
        let file = named_object(&target(host.0, host.1), section, &symbol, &payload);
        check(host, section, &payload, &symbol, &file);
    });
}

fn check(host: Host, written: DeviceSection, pack: &[u8], name: &str, file: &[u8]) {
    let object = object::File::parse(file).unwrap();
    assert_eq!(
        (object.kind(), object.format(), object.architecture()),
        (ObjectKind::Relocatable, host.2, host.3)
    );
    assert!(object.is_little_endian());
    // A COFF object does not state whether it is 64-bit.
    assert!(object.is_64() || host.2 == BinaryFormat::Coff);

    let sections = object.sections().filter(|section| device(host.2, section).is_some());
    let [section] = &sections.collect::<Vec<_>>()[..] else { panic!("one section of device code") };
    assert_eq!(device(host.2, section), Some(written));
    assert_eq!((section.size(), section.align()), (pack.len() as u64, written.align()));
    assert!(section.data().unwrap() == pack, "other bytes than were written");
    assert_eq!(section.relocations().count(), 0);
    if let SectionFlags::Coff { characteristics } = section.flags() {
        let dropped = object::pe::IMAGE_SCN_LNK_REMOVE | object::pe::IMAGE_SCN_MEM_DISCARDABLE;
        assert_eq!((characteristics & dropped).0, 0, "the section would not be in the image");
    }

    let symbols: Vec<_> = object.symbols().filter(|symbol| symbol.is_global()).collect();
    let [symbol] = &symbols[..] else { panic!("{} global symbols", symbols.len()) };
    let machine = Machine::of(&target(host.0, host.1)).unwrap();
    assert_eq!(symbol.name(), Ok(&*machine.linker_name(name)));
    assert_eq!((symbol.address(), symbol.section_index()), (0, Some(section.index())));
    assert_eq!(symbol.scope(), SymbolScope::Linkage);
}

#[test]
fn what_is_too_large_is_an_error() {
    for (arch, os, format, _) in HOSTS {
        let machine = Machine::of(&target(arch, os)).unwrap();
        let write = |size| host_object::write(machine, DeviceSection::HipFatbin, "pack", size);
        let largest = if format == BinaryFormat::Elf { 1 << 62 } else { (1 << 32) - 4097 };
        let layout = write(largest).unwrap();
        assert!(layout.size() > largest, "{}", layout.size());
        assert!(layout.size() < largest + 8192, "{}", layout.size());
        for size in [largest + 1, u64::MAX] {
            let format = machine.format();
            let expected = format!(
                "the content is {size} bytes, but {format} objects can contain at most {largest}"
            );
            assert_eq!(write(size).unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn other_hosts_are_refused() {
    let linux = target("x86_64", "linux");
    assert!(Machine::of(&linux).is_some());
    let refused = [
        // More hosts: x32, big-endian AArch64, 32-bit processors, and other systems.
        CargoTarget { pointer_width: "32", ..linux },
        CargoTarget { arch: "aarch64", endian: "big", ..linux },
        CargoTarget { arch: "x86", pointer_width: "32", os: "windows", ..linux },
        CargoTarget { arch: "s390x", endian: "big", ..linux },
        CargoTarget { arch: "powerpc64", ..linux },
        CargoTarget { arch: "riscv64", os: "windows", ..linux },
        CargoTarget { arch: "arm64ec", os: "windows", ..linux },
        CargoTarget { arch: "aarch64", os: "ios", ..linux },
        CargoTarget { os: "none", ..linux },
        CargoTarget { arch: "wasm64", os: "unknown", ..linux },
    ];
    for target in refused {
        assert_eq!(Machine::of(&target), None, "{target:?}");
    }
}
