//! Mach-O objects, tested with LLVM's readers and `ld64.lld`, and in the libraries that it links.
//! No program is run.

use super::*;
use object::{Object, ObjectSymbol};
use offload_format::section::DeviceSection;

offload_tests::tests! {
    LLVM => [
        macho_readers_agree_on_the_library, macho_libraries_that_refer_to_it_have_it,
        macho_libraries_that_do_not_use_it_do_not,
    ],
    LLVM.slow() => [macho_readers_agree_on_the_object],
}

struct Host {
    arch: &'static str,
    /// Apple's name of the architecture.
    name: &'static str,
    /// `CpuType` and `CpuSubType`, as llvm-readobj prints them.
    cpu: &'static str,
    /// The system version that the object is for; no linked program is for an older version.
    version: &'static str,
}

const HOSTS: [Host; 2] = [
    Host {
        arch: "x86_64",
        name: "x86_64",
        cpu: "CpuType: X86-64 (0x1000007)\nCpuSubType: CPU_SUBTYPE_X86_64_ALL (0x3)",
        version: "10.12",
    },
    Host {
        arch: "aarch64",
        name: "arm64",
        cpu: "CpuType: Arm64 (0x100000C)\nCpuSubType: CPU_SUBTYPE_ARM64_ALL (0x0)",
        version: "11.0",
    },
];

impl Host {
    fn target(&self) -> Target {
        target(self.arch, "macos")
    }

    fn write_inputs(&self, folder: &Path) {
        let triple = format!("{}-apple-macosx{}", self.name, self.version);
        write_inputs(folder, &self.target(), &triple);
    }
}

fn macho_readers_agree_on_the_object() {
    let folder = scratch::folder("macho-fields");
    for host in &HOSTS {
        for_each_object(&folder, &host.target(), |section, size| {
            let (segment, name, align) = match section {
                DeviceSection::HipFatbin => ("__HIP", "__hip_fatbin", 12),
                DeviceSection::LlvmOffloading => ("__OFFLOAD", "__offloading", 3),
            };
            let options = "--all --sections --symbols --macho-version-min --macho-dysymtab";
            let text = quiet(llvm("llvm-readobj"), &folder, &format!("{options} offload.o"));
            let expected = format!(
                "{}
                FileType: Relocatable (0x1)
                MH_SUBSECTIONS_VIA_SYMBOLS (0x2000)
                Platform: macos
                Version: {}
                Segment: {segment} (
                Name: {name} (
                Size: 0x{size:X}
                Alignment: {align}
                Type: Regular (0x0)
                Name: _{} (
                PrivateExtern
                Extern
                Section: {name} (0x1)
                nextdefsym: 1",
                host.cpu,
                host.version,
                symbol(section)
            );
            assert_lines(&text, &expected);
            let options = "--macho --private-headers offload.o";
            let commands = quiet(llvm("llvm-objdump"), &folder, options);
            assert!(!commands.contains("past end"), "{commands}");
            format!("{segment},{name}")
        });
    }
}

fn macho_readers_agree_on_the_library() {
    let folder = scratch::folder("macho-library");
    for host in &HOSTS {
        for_each_library(&folder, &host.target(), |symbol| {
            format!("_{symbol} in offload.o\n0000000000000000 S _{symbol}")
        });
    }
}

const PACKS: [&str; 2] = [
    "-L. -loffload_pack_hip -loffload_pack_hip_2 -loffload_pack_llvm",
    "offload_pack_hip.o offload_pack_hip_2.o offload_pack_llvm.o",
];

fn link(folder: &Path, host: &Host, inputs: &str) -> Vec<u8> {
    let Host { name, version, .. } = host;
    let target = format!("-arch {name} -platform_version macos {version} {version}");
    let options = format!("{target} -fatal_warnings {inputs} -o image");
    quiet(llvm("ld64.lld"), folder, &options);
    read(folder.join("image"))
}

fn macho_libraries_that_refer_to_it_have_it() {
    let folder = scratch::folder("macho-images");
    for host in &HOSTS {
        host.write_inputs(&folder);
        for mode in ["-dylib", "-dylib -dead_strip"] {
            for packs in PACKS {
                let what = format!("{} {mode} {packs}", host.arch);
                let image = link(&folder, host, &format!("{mode} user.o {packs}"));
                let object = object::File::parse(&*image).unwrap();
                let addresses = three_packs().map(|(_, name, _)| {
                    let name = format!("_{name}");
                    let mut symbols = object.symbols();
                    symbols.find(|symbol| symbol.name() == Ok(&name)).expect(&what).address()
                });
                let names = ["__hip_fatbin", "__offloading"];
                assert_has_packs(&image, addresses, names, &what);
                let options = "--macho --exports-trie image";
                let exported = quiet(llvm("llvm-objdump"), &folder, options);
                assert!(exported.contains("_entry"), "{what}: {exported}");
                assert!(!exported.contains("offload_pack"), "{what}: {exported}");
            }
        }
    }
}

fn macho_libraries_that_do_not_use_it_do_not() {
    let folder = scratch::folder("macho-unused");
    for host in &HOSTS {
        host.write_inputs(&folder);
        for (mode, count) in [("-dylib -dead_strip", 0), ("-dylib", 2)] {
            for packs in PACKS {
                let image = link(&folder, host, &format!("{mode} no_user.o {packs}"));
                let found = device_sections(&image);
                assert_eq!(found.len(), count, "{} {mode} {packs}: {found:?}", host.arch);
            }
        }
    }
}
