//! Mach-O objects, tested with LLVM's readers and `ld64.lld`, and in the libraries that it links.
//! No program is run.

use super::{
    NO_USER, USER, assert_line, library, named_library, named_object, object, plain, quietly,
    section_bytes, some_bytes, symbol, target, three_packs,
};
use object::{Object, ObjectSection, ObjectSymbol};
use offload_format::host_object::CargoTarget;
use offload_format::section::{DeviceSection, ObjectFormat};
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::tools::llvm;
use std::fs;
use std::path::Path;

offload_tests::tests! {
    LLVM => [
        macho_readers_agree_on_the_object,
        macho_readers_agree_on_the_library,
        macho_libraries_that_refer_to_it_have_it,
        macho_libraries_that_do_not_use_it_do_not,
    ],
}

struct Host {
    arch: &'static str,
    /// Apple's name of the architecture.
    name: &'static str,
    /// `CpuType` and `CpuSubType`, as llvm-readobj prints them.
    cpu: [&'static str; 2],
    /// The system version that the object is for; no linked program is for an older version.
    version: &'static str,
}

const HOSTS: [Host; 2] = [
    Host {
        arch: "x86_64",
        name: "x86_64",
        cpu: ["CpuType: X86-64 (0x1000007)", "CpuSubType: CPU_SUBTYPE_X86_64_ALL (0x3)"],
        version: "10.12",
    },
    Host {
        arch: "aarch64",
        name: "arm64",
        cpu: ["CpuType: Arm64 (0x100000C)", "CpuSubType: CPU_SUBTYPE_ARM64_ALL (0x0)"],
        version: "11.0",
    },
];

impl Host {
    fn target(&self) -> CargoTarget<'static> {
        target(self.arch, "macos")
    }
}

fn macho_readers_agree_on_the_object() {
    let folder = scratch::folder("macho-fields");
    for host in &HOSTS {
        for section in DeviceSection::ALL {
            for size in [0, 1, 7, 8, 4095, 4096, 100_001] {
                let payload = some_bytes(size);
                let file = folder.join("offload.o");
                scratch::write(&file, object(&host.target(), section, &payload));
                let options =
                    ["--all", "--sections", "--symbols", "--macho-version-min", "--macho-dysymtab"];
                let lines = plain(&quietly(llvm("llvm-readobj").args(options).arg(&file)));

                for cpu in host.cpu {
                    assert_line(&lines, cpu);
                }
                assert_line(&lines, "FileType: Relocatable (0x1)");
                assert_line(&lines, "MH_SUBSECTIONS_VIA_SYMBOLS (0x2000)");
                assert_line(&lines, "Platform: macos");
                assert_line(&lines, &format!("Version: {}", host.version));
                let (segment, name, align) = match section {
                    DeviceSection::HipFatbin => ("__HIP", "__hip_fatbin", 12),
                    DeviceSection::LlvmOffloading => ("__OFFLOAD", "__offloading", 3),
                };
                let starts = |text: &str| {
                    assert!(lines.iter().any(|line| line.starts_with(text)), "no {text:?}")
                };
                starts(&format!("Segment: {segment} ("));
                starts(&format!("Name: {name} ("));
                assert_line(&lines, &format!("Size: 0x{size:X}"));
                assert_line(&lines, &format!("Alignment: {align}"));
                assert_line(&lines, "Type: Regular (0x0)");
                starts(&format!("Name: _{} (", symbol(section)));
                assert_line(&lines, "PrivateExtern");
                assert_line(&lines, "Extern");
                assert_line(&lines, &format!("Section: {name} (0x1)"));
                assert_line(&lines, "nextdefsym: 1");
                let commands =
                    quietly(llvm("llvm-objdump").args(["--macho", "--private-headers"]).arg(&file));
                assert!(!commands.contains("past end"), "{commands}");

                let bytes = section_bytes(&folder, "offload.o", &format!("{segment},{name}"));
                assert!(bytes == payload, "{} {name} {size}", host.arch);
            }
        }
    }
}

fn macho_readers_agree_on_the_library() {
    let folder = scratch::folder("macho-library");
    let file = folder.join("libpack.a");
    for host in &HOSTS {
        for section in DeviceSection::ALL {
            scratch::write(&file, library(&host.target(), section, &some_bytes(4097)));
            let symbol = symbol(section);
            let map = plain(&quietly(llvm("llvm-nm").arg("--print-armap").arg(&file)));
            assert_line(&map, &format!("_{symbol} in offload.o"));
            assert_line(&map, &format!("0000000000000000 S _{symbol}"));
        }
    }
}

/// Writes the objects and libraries of [`three_packs`], and the two programs' objects.
fn write_inputs(folder: &Path, host: &Host) {
    for (section, symbol, pack) in three_packs() {
        scratch::write(
            folder.join(format!("{symbol}.o")),
            named_object(&host.target(), section, symbol, &pack),
        );
        scratch::write(
            folder.join(format!("lib{symbol}.a")),
            named_library(&host.target(), section, symbol, &pack),
        );
    }
    for (name, source) in [("user", USER), ("no_user", NO_USER)] {
        scratch::write(folder.join(format!("{name}.c")), source);
        let mut clang = llvm("clang");
        clang
            .current_dir(folder)
            .arg(format!("--target={}-apple-macosx{}", host.name, host.version));
        quietly(clang.args([
            "-c",
            "-O1",
            "-ffreestanding",
            &format!("{name}.c"),
            "-o",
            &format!("{name}.o"),
        ]));
    }
}

const LIBRARIES: [&str; 4] =
    ["-L.", "-loffload_pack_hip", "-loffload_pack_hip_2", "-loffload_pack_llvm"];
const OBJECTS: [&str; 3] = ["offload_pack_hip.o", "offload_pack_hip_2.o", "offload_pack_llvm.o"];

/// Links a file called `image`.
fn link(folder: &Path, host: &Host, args: &[&[&str]]) -> Vec<u8> {
    let mut lld = llvm("ld64.lld");
    lld.current_dir(folder).args([
        "-arch",
        host.name,
        "-platform_version",
        "macos",
        host.version,
        host.version,
    ]);
    quietly(lld.arg("-fatal_warnings").args(args.concat()).args(["-o", "image"]));
    fs::read(folder.join("image")).unwrap()
}

/// Returns the device section that a section of a file represents.
fn device(section: &object::Section<'_, '_>) -> Option<DeviceSection> {
    let segment = section.segment_name().unwrap().unwrap_or("");
    DeviceSection::from_names(ObjectFormat::MachO, segment, section.name().unwrap())
}

fn macho_libraries_that_refer_to_it_have_it() {
    let folder = scratch::folder("macho-images");
    for host in &HOSTS {
        write_inputs(&folder, host);
        for mode in [&["-dylib"][..], &["-dylib", "-dead_strip"]] {
            for packs in [&LIBRARIES[..], &OBJECTS] {
                let what = format!("{} {mode:?} {packs:?}", host.arch);
                let image = link(&folder, host, &[mode, &["user.o"], packs]);
                let image = object::File::parse(&*image).unwrap();
                for (section, name, pack) in three_packs() {
                    let symbol = image
                        .symbols()
                        .find(|symbol| symbol.name() == Ok(&format!("_{name}")))
                        .expect(&what);
                    let address = symbol.address();
                    assert_eq!(address % section.align(), 0, "{what}: {name}");
                    let lies_in = image.section_by_index(symbol.section_index().unwrap()).unwrap();
                    assert_eq!(device(&lies_in), Some(section), "{what}: {name}");
                    let found = lies_in.data_range(address, pack.len() as u64).unwrap();
                    assert!(found == Some(&pack), "{what}: {name} has other bytes");
                }
                let mut objdump = llvm("llvm-objdump");
                let exported = quietly(objdump.current_dir(&folder).args([
                    "--macho",
                    "--exports-trie",
                    "image",
                ]));
                assert!(exported.contains("_entry"), "{what}: {exported}");
                assert!(!exported.contains("offload_pack"), "{what}: {exported}");
            }
        }
    }
}

fn macho_libraries_that_do_not_use_it_do_not() {
    let folder = scratch::folder("macho-unused");
    for host in &HOSTS {
        write_inputs(&folder, host);
        for (mode, has_it) in [(&["-dylib", "-dead_strip"][..], false), (&["-dylib"], true)] {
            for packs in [&LIBRARIES[..], &OBJECTS] {
                let image = link(&folder, host, &[mode, &["no_user.o"], packs]);
                let image = object::File::parse(&*image).unwrap();
                let found: Vec<_> =
                    image.sections().filter_map(|section| device(&section)).collect();
                assert_eq!(
                    found.len(),
                    if has_it { 2 } else { 0 },
                    "{} {mode:?} {packs:?}: {found:?}",
                    host.arch
                );
            }
        }
    }
}
