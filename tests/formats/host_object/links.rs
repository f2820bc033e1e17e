//! Tests programs and libraries that lld and GNU ld link from our objects and libraries. These
//! tests do not run the programs; `embedding/link_matrix` does. `fat_file/our_objects.rs` links ELF
//! objects with more options.

use super::*;
use offload_format::fat_file::find;

/// How to link for a host. The triple begins with the architecture.
#[derive(Clone, Copy)]
struct Link {
    triple: &'static str,
    os: &'static str,
    linker: fn() -> Command,
    machine: &'static str,
    options: &'static str,
    /// The section names after linking: that of bundles, and that of offload binaries.
    names: [&'static str; 2],
}

const ELF: Link = Link {
    triple: "x86_64-unknown-linux-gnu",
    os: "linux",
    linker: || llvm("ld.lld"),
    machine: "-m elf_x86_64",
    options: "-e entry --fatal-warnings -o image",
    names: [".hip_fatbin", ".llvm.offloading"],
};
const COFF: Link = Link {
    triple: "x86_64-pc-windows-msvc",
    os: "windows",
    linker: || llvm("lld-link"),
    machine: "/machine:x64",
    options: "/nodefaultlib /wx /debug:symtab /out:image",
    names: [".hip_fat", ".llvm"],
};
const MACHO: Link = Link {
    triple: "x86_64-apple-macosx10.12",
    os: "macos",
    linker: || llvm("ld64.lld"),
    machine: "-arch x86_64 -platform_version macos 10.12 10.12",
    options: "-dylib -fatal_warnings -o image",
    names: ["__hip_fatbin", "__offloading"],
};

#[test(LLVM.slow())]
fn elf_images_of_lld() {
    for (triple, machine) in [
        (ELF.triple, ELF.machine),
        ("aarch64-unknown-linux-gnu", "-m aarch64linux"),
        ("riscv64-unknown-linux-gnu", "-m elf64lriscv"),
        ("loongarch64-unknown-linux-gnu", "-m elf64loongarch"),
    ] {
        let link = Link { triple, machine, ..ELF };
        link.check(&[("--no-pie", true), ("--pie", true), ("--gc-sections", false)]);
    }
}

#[test(LLVM.slow())]
fn coff_images_of_lld() {
    for (triple, machine) in [
        (COFF.triple, COFF.machine),
        ("aarch64-pc-windows-msvc", "/machine:arm64"),
        ("x86_64-pc-windows-gnu", "/machine:x64 /lldmingw"),
    ] {
        Link { triple, machine, ..COFF }.check(&[
            ("/dll /noentry /export:entry /opt:ref,icf", false),
            ("/dll /noentry /export:entry /opt:noref", true),
            ("/entry:entry /subsystem:console /opt:noref", true),
            ("/entry:entry /subsystem:console /debug /opt:ref", false),
        ]);
    }
}

#[test(needs(&[Tool::Llvm22, Tool::GnuPe]))]
fn coff_images_of_gnu_ld() {
    let link = Link {
        triple: "x86_64-pc-windows-gnu",
        linker: || Command::new("ld.bfd"),
        machine: "-m i386pep",
        options: ELF.options,
        names: [".hip_fat", ".llvm.of"],
        ..COFF
    };
    link.check(&[("--gc-sections", false)]);
    let long = Link { names: ELF.names, ..link };
    long.check(&[("--gc-sections --enable-long-section-names", false)]);
}

/// No object may be for a newer system version than the linked program.
#[test(LLVM.slow())]
fn macho_images_of_lld() {
    let machine = "-arch arm64 -platform_version macos 11.0 11.0";
    for link in [MACHO, Link { triple: "aarch64-apple-macosx11.0", machine, ..MACHO }] {
        link.check(&[("", true), ("-dead_strip", false)]);
    }
}

/// Returns packs for one link: their sections, symbols and bytes. The sizes of the first two packs
/// are not multiples of an alignment.
fn packs() -> [(DeviceSection, &'static str, Vec<u8>); 3] {
    [
        (DeviceSection::HipFatbin, "offload_pack_hip", corpus_file("bundle/basic.bc")),
        (DeviceSection::HipFatbin, "offload_pack_hip_2", some_bytes(2, 4097)),
        (
            DeviceSection::LlvmOffloading,
            "offload_pack_llvm",
            corpus_file("offload_binary/multi.bin"),
        ),
    ]
}

const INPUTS: [&str; 2] = [
    "liboffload_pack_hip.a liboffload_pack_hip_2.a liboffload_pack_llvm.a",
    "offload_pack_hip.o offload_pack_hip_2.o offload_pack_llvm.o",
];

impl Link {
    /// Links in these modes. Each mode also states whether the linker keeps unused sections.
    fn check(&self, modes: &[(&str, bool)]) {
        let machine = self.machine.replace([' ', '/', ':'], "-");
        let folder = scratch::folder(&format!("host-object-{}-{machine}", self.triple));
        self.write_inputs(&folder);
        for ((mode, is_kept), packs) in modes.iter().flat_map(|mode| INPUTS.map(|it| (mode, it))) {
            let image = |program: &str| {
                let options = format!("{} {} {mode} {program} {packs}", self.machine, self.options);
                quiet((self.linker)(), &folder, &options);
                read(folder.join("image"))
            };
            let what = format!("{} {mode} {packs}", self.triple);
            self.assert_has_packs(&image("user.o"), mode, &what);
            let unused = image("no_user.o");
            let unused = object::File::parse(&*unused).unwrap();
            let found = unused.sections().filter_map(|section| device(unused.format(), &section));
            let found: Vec<_> = found.collect();
            assert_eq!(DeviceSection::ALL.map(|it| found.contains(&it)), [*is_kept; 2], "{what}");
        }
    }

    /// Writes the objects `<symbol>.o` and the libraries `lib<symbol>.a` of [`packs`], and the
    /// objects of two programs with the entry `entry`. In `user.o`, the entry refers to the packs.
    /// In `no_user.o`, only an unused function refers to them.
    fn write_inputs(&self, folder: &Path) {
        let (arch, _) = self.triple.split_once('-').expect("a triple");
        let host = target(arch, self.os);
        for (section, symbol, pack) in packs() {
            let object = named_object(&host, section, symbol, &pack);
            scratch::write(folder.join(format!("{symbol}.o")), object);
            let library = library(&host, section, symbol, &pack);
            scratch::write(folder.join(format!("lib{symbol}.a")), library);
        }
        let declarations = "extern const unsigned char offload_pack_hip[], offload_pack_hip_2[], offload_pack_llvm[];\n\
             const unsigned char *volatile packs[3];\n";
        let refer = "{ packs[0] = offload_pack_hip; packs[1] = offload_pack_hip_2; \
             packs[2] = offload_pack_llvm; return 1; }\n";
        let unused = "int entry(void) { return 1; }\n\
             __attribute__((visibility(\"hidden\"))) int unused(void) ";
        for (name, function) in [("user", "int entry(void) "), ("no_user", unused)] {
            let source = [declarations, function, refer].concat();
            scratch::write(folder.join(format!("{name}.c")), source);
            let options = "-c -O1 -ffunction-sections -ffreestanding";
            quiet(llvm("clang"), folder, &format!("--target={} {options} {name}.c", self.triple));
        }
    }

    /// Asserts that a linked file has [`packs`] at their symbols, aligned and in the right
    /// sections, and that a library exports its entry but no pack.
    fn assert_has_packs(&self, file: &[u8], mode: &str, what: &str) {
        let image = object::File::parse(file).unwrap();
        for (device_section, name, pack) in packs() {
            let is_it = |symbol: &object::Symbol<'_, '_>| {
                symbol.name().is_ok_and(|it| it.strip_prefix('_').unwrap_or(it) == name)
            };
            let symbol = image.symbols().find(is_it);
            let address = symbol.unwrap_or_else(|| panic!("{what}: no {name}")).address();
            assert_eq!(address % device_section.align(), 0, "{what}: {name}");
            let of_pack = |section: &object::Section<'_, '_>| {
                (section.address()..section.address() + section.size()).contains(&address)
            };
            let section = image.sections().find(of_pack).expect(what);
            let of_kind = usize::from(device_section == DeviceSection::LlvmOffloading);
            assert_eq!(section.name(), Ok(self.names[of_kind]), "{what}");
            assert_eq!(device(image.format(), &section), Some(device_section), "{what}");
            let bytes = section.data_range(address, pack.len() as u64).unwrap();
            assert!(bytes == Some(&pack), "{what}: other bytes of {name}");
        }
        // The search for device code must find the same sections.
        let mut found = Vec::new();
        find(file, |place, _| found.push((place.section.unwrap(), place.offset)));
        let sections = image.sections().filter(|it| device(image.format(), it).is_some());
        let sections = sections.map(|it| (it.name_bytes().unwrap(), it.file_range().unwrap().0));
        assert_eq!(found, sections.collect::<Vec<_>>(), "{what}");
        let exports: Vec<String> = image
            .exports()
            .unwrap()
            .map(|export| {
                String::from_utf8(export.unwrap().name().name().unwrap().to_vec()).unwrap()
            })
            .collect();
        assert!(!exports.iter().any(|name| name.contains("offload_pack")), "{what}: {exports:?}");
        let is_library = mode.contains("/dll") || self.options.contains("-dylib");
        let has_entry = exports.iter().any(|name| name.ends_with("entry"));
        assert!(has_entry || !is_library, "{what}: {exports:?}");
    }
}
