//! ELF objects, tested with LLVM's and GNU's readers and with lld. `fat_file/our_objects.rs` links
//! them with more options and GNU ld, and `embedding/link_matrix` runs programs.

use super::*;
use offload_format::archive;
use offload_format::section::DeviceSection;

offload_tests::tests! {
    LLVM_AND_GNU => [elf_the_library_is_that_of_other_archivers],
    needs(LLVM_AND_GNU).slow() => [
        elf_readers_agree_on_the_library, elf_readers_agree_on_the_object,
    ],
    LLVM.slow() => [elf_lld_links_for_every_machine],
}

/// A host with Linux, and its names in the tools.
struct Host {
    arch: &'static str,
    /// The values of `Machine` and `Flags` of the file header, as llvm-readelf prints them.
    machine: &'static str,
    flags: &'static str,
    /// The flags of the pack's section, as llvm-readelf prints them.
    section_flags: &'static str,
    /// The argument of ld.lld's `-m`.
    emulation: &'static str,
}

impl Host {
    fn target(&self) -> Target {
        super::target(self.arch, "linux")
    }

    fn is_native(&self) -> bool {
        self.arch == std::env::consts::ARCH
    }
}

const HOSTS: [Host; 4] = [
    host(["x86_64", "Advanced Micro Devices X86-64", "0x0", "Al", "elf_x86_64"]),
    host(["aarch64", "AArch64", "0x0", "A", "aarch64linux"]),
    host(["riscv64", "RISC-V", "0x5, RVC, double-float ABI", "A", "elf64lriscv"]),
    host(["loongarch64", "LoongArch", "0x43, DOUBLE-FLOAT, OBJ-v1", "A", "elf64loongarch"]),
];

const fn host([arch, machine, flags, section_flags, emulation]: [&'static str; 5]) -> Host {
    Host { arch, machine, flags, section_flags, emulation }
}

fn elf_readers_agree_on_the_object() {
    let folder = scratch::folder("host-object-fields");
    for host in &HOSTS {
        for_each_object(&folder, &host.target(), |section, size| {
            quiet(llvm("llvm-readobj"), &folder, "--all offload.o");
            quiet(Command::new("readelf"), &folder, "--all --wide offload.o");
            let (name, kind, align) = match section {
                DeviceSection::HipFatbin => (".hip_fatbin", "PROGBITS", 4096),
                DeviceSection::LlvmOffloading => (".llvm.offloading", "LLVM_OFFLOADING", 8),
            };
            let Host { machine, flags, section_flags, .. } = host;
            let (offset, symbol) = (align.max(64), symbol(section));
            // The section for the stack has no flag X: the stack need not be executable.
            let expected = format!(
                "Class: ELF64
                Data: 2's complement, little endian
                Type: REL (Relocatable file)
                Machine: {machine}
                Flags: {flags}
                Number of section headers: 6
                [ 1] {name} {kind} 0000000000000000 {offset:06x} {size:06x} 00 {section_flags} 0 0 {align}
                [ 2] .note.GNU-stack PROGBITS 0000000000000000 {offset:06x} 000000 00 0 0 1
                Symbol table '.symtab' contains 2 entries:
                1: 0000000000000000 {size} OBJECT GLOBAL HIDDEN 1 {symbol}"
            );
            assert_lines(&quiet(llvm("llvm-readelf"), &folder, "-h -S -s -W offload.o"), &expected);
            section.elf_name().to_owned()
        });
    }
}

fn elf_readers_agree_on_the_library() {
    let folder = scratch::folder("host-object-library");
    for host in &HOSTS {
        for section in DeviceSection::ALL {
            // Some sizes need the byte that makes a member's size even, and others do not.
            for size in [0, 1, 4096, 100_001] {
                let payload = some_bytes(size);
                scratch::write(
                    folder.join("libpack.a"),
                    library(&host.target(), section, &payload),
                );
                for ar in [|| llvm("llvm-ar"), || Command::new("ar")] {
                    assert_eq!(quiet(ar(), &folder, "t libpack.a"), "offload.o\n");
                    let member = succeed(&mut in_folder(ar(), &folder, "p libpack.a")).stdout;
                    let written = object(&host.target(), section, &payload);
                    assert!(member == written, "{:?}: another member than was written", ar());
                }
                let symbol = symbol(section);
                let map = quiet(llvm("llvm-nm"), &folder, "--print-armap libpack.a");
                let expected = format!(
                    "Archive map\n{symbol} in offload.o\n\noffload.o:\n0000000000000000 R {symbol}\n"
                );
                assert_eq!(map.trim_start().replace("\n\n\n", "\n\n"), expected);
                // GNU's nm reads objects for the machines that it was built for.
                if host.is_native() {
                    let map = quiet(Command::new("nm"), &folder, "--print-armap libpack.a");
                    let expected = format!("{symbol} in offload.o\n0000000000000000 R {symbol}");
                    assert_lines(&map, &expected);
                }
            }
        }
    }
}

/// Compares every byte except the mode of the symbol table, a number without a meaning.
fn elf_the_library_is_that_of_other_archivers() {
    let folder = scratch::folder("host-object-archivers");
    for host in &HOSTS {
        let archivers = if host.is_native() { &["llvm-ar", "ar"][..] } else { &["llvm-ar"] };
        // A byte after the object makes the member's size odd.
        for (section, after) in DeviceSection::ALL.into_iter().flat_map(|it| [(it, ""), (it, "x")])
        {
            let object = object(&host.target(), section, &some_bytes(100));
            let member = [&object, after.as_bytes()].concat();
            let ours = archive::write_library("offload.o", symbol(section), member.len() as u64);
            let ours = ours.to_vec(&[&member]);
            scratch::write(folder.join("offload.o"), &member);
            for archiver in archivers {
                let _ = fs::remove_file(folder.join("theirs.a"));
                let command = if *archiver == "ar" { Command::new("ar") } else { llvm("llvm-ar") };
                quiet(command, &folder, "rcsD theirs.a offload.o");
                let same = ours == read(folder.join("theirs.a"));
                assert!(same, "{archiver}, {}, {section:?}, after: {after:?}", host.arch);
            }
        }
    }
}

/// Tests `-r`, and a program for a foreign machine, whose object files come from clang: flags and
/// machine must agree.
fn elf_lld_links_for_every_machine() {
    let folder = scratch::folder("host-object-machines");
    let payload = some_bytes(5001);
    scratch::write(
        folder.join("start.c"),
        "extern const unsigned char offload_pack_hip[], offload_pack_llvm[];\n\
         const unsigned char *volatile packs[2];\n\
         void _start(void) { packs[0] = offload_pack_hip; packs[1] = offload_pack_llvm; }\n",
    );
    for host in &HOSTS {
        let options = "-c -O1 -ffreestanding -fPIE start.c";
        quiet(
            llvm("clang"),
            &folder,
            &format!("--target={}-unknown-linux-gnu {options}", host.arch),
        );
        for section in DeviceSection::ALL {
            let symbol = symbol(section);
            let object = object(&host.target(), section, &payload);
            scratch::write(folder.join(format!("{symbol}.o")), object);
            let library = library(&host.target(), section, &payload);
            scratch::write(folder.join(format!("lib{symbol}.a")), library);
        }
        let lld = |options: &str| {
            let options = format!("--fatal-warnings -m {} {options}", host.emulation);
            quiet(llvm("ld.lld"), &folder, &options);
        };
        let assert_has = |file: &str, section: DeviceSection, what: &str| {
            let bytes = section_bytes(&folder, file, section.elf_name());
            assert!(bytes == payload, "{} {what}", host.arch);
        };
        lld("-r offload_pack_hip.o offload_pack_llvm.o -o both.o");
        DeviceSection::ALL.into_iter().for_each(|section| assert_has("both.o", section, "-r"));
        for mode in ["--no-pie", "--pie", "--gc-sections"] {
            lld(&format!("{mode} start.o {LIBRARIES} -o program"));
            let symbols = quiet(llvm("llvm-nm"), &folder, "program");
            for section in DeviceSection::ALL {
                assert_has("program", section, mode);
                let mut lines = symbols.lines();
                let line = lines.find(|line| line.ends_with(symbol(section))).expect("a symbol");
                let address = line.split(' ').next().unwrap_or("");
                let address = u64::from_str_radix(address, 16).unwrap();
                assert_ne!(address, 0, "{} {mode}: {line}", host.arch);
                assert_eq!(address % section.align(), 0, "{} {mode}: {line}", host.arch);
            }
        }
    }
}

const LIBRARIES: &str = "-L. -loffload_pack_hip -loffload_pack_llvm";
