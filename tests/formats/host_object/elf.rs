//! ELF objects, tested with LLVM's and GNU's readers and linkers, and in programs that run.

use super::{
    LLVM_AND_GNU, assert_line, hip_pack, library, llvm_pack, object, plain, quietly, section_bytes,
    some_bytes, symbol,
};
use offload_format::archive;
use offload_format::bundle::Bundle;
use offload_format::host_object::CargoTarget;
use offload_format::section::DeviceSection;
use offload_tests::registry::{LLVM, needs};
use offload_tests::scratch;
use offload_tests::tools::{llvm, llvm_bin, stdout, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    LLVM_AND_GNU => [elf_readers_agree_on_the_library, elf_the_library_is_that_of_other_archivers, elf_programs_that_refer_to_it_have_it, elf_programs_that_do_not_refer_to_it_do_not, elf_shared_objects_do_not_export_it],
    needs(LLVM_AND_GNU).slow() => [elf_readers_agree_on_the_object],
    LLVM => [elf_lld_links_for_every_machine],
}

/// A host, and its names in the tools.
struct Host {
    arch: &'static str,
    triple: &'static str,
    /// The values of `Machine` and `Flags` of the file header, as llvm-readelf prints them.
    machine: &'static str,
    flags: &'static str,
    /// The flags of the pack's section, as llvm-readelf prints them.
    section_flags: &'static str,
    /// The argument of ld.lld's `-m`.
    emulation: &'static str,
}

impl Host {
    fn target(&self) -> CargoTarget<'static> {
        super::target(self.arch, "linux")
    }
}

const HOSTS: [Host; 4] = [
    Host {
        arch: "x86_64",
        triple: "x86_64-unknown-linux-gnu",
        machine: "Advanced Micro Devices X86-64",
        flags: "0x0",
        section_flags: "Al",
        emulation: "elf_x86_64",
    },
    Host {
        arch: "aarch64",
        triple: "aarch64-unknown-linux-gnu",
        machine: "AArch64",
        flags: "0x0",
        section_flags: "A",
        emulation: "aarch64linux",
    },
    Host {
        arch: "riscv64",
        triple: "riscv64-unknown-linux-gnu",
        machine: "RISC-V",
        flags: "0x5, RVC, double-float ABI",
        section_flags: "A",
        emulation: "elf64lriscv",
    },
    Host {
        arch: "loongarch64",
        triple: "loongarch64-unknown-linux-gnu",
        machine: "LoongArch",
        flags: "0x43, DOUBLE-FLOAT, OBJ-v1",
        section_flags: "A",
        emulation: "elf64loongarch",
    },
];

fn has_section(file: &Path, section: DeviceSection) -> bool {
    let sections = stdout(&succeed(llvm("llvm-readelf").args(["-S", "-W"]).arg(file)));
    sections.split_whitespace().any(|word| word == section.elf_name())
}

fn elf_readers_agree_on_the_object() {
    let folder = scratch::folder("host-object-fields");
    for host in &HOSTS {
        for section in DeviceSection::ALL {
            for size in [0, 1, 7, 8, 4095, 4096, 100_001] {
                let payload = some_bytes(size);
                let file = folder.join("offload.o");
                scratch::write(&file, object(&host.target(), section, &payload));
                quietly(llvm("llvm-readobj").arg("--all").arg(&file));
                quietly(Command::new("readelf").args(["--all", "--wide"]).arg(&file));
                let lines =
                    plain(&quietly(llvm("llvm-readelf").args(["-h", "-S", "-s", "-W"]).arg(&file)));

                assert_line(&lines, "Class: ELF64");
                assert_line(&lines, "Data: 2's complement, little endian");
                assert_line(&lines, "Type: REL (Relocatable file)");
                assert_line(&lines, &format!("Machine: {}", host.machine));
                assert_line(&lines, &format!("Flags: {}", host.flags));
                assert_line(&lines, "Number of section headers: 6");
                let (name, kind, align) = match section {
                    DeviceSection::HipFatbin => (".hip_fatbin", "PROGBITS", 4096),
                    DeviceSection::LlvmOffloading => (".llvm.offloading", "LLVM_OFFLOADING", 8),
                };
                let (offset, flags) = (align.max(64), host.section_flags);
                assert_line(
                    &lines,
                    &format!(
                        "[ 1] {name} {kind} 0000000000000000 {offset:06x} {size:06x} 00 {flags} 0 0 {align}"
                    ),
                );
                // The flag X is missing: the stack need not be executable.
                assert_line(
                    &lines,
                    &format!(
                        "[ 2] .note.GNU-stack PROGBITS 0000000000000000 {offset:06x} 000000 00 0 0 1"
                    ),
                );
                assert_line(&lines, "Symbol table '.symtab' contains 2 entries:");
                assert_line(
                    &lines,
                    &format!(
                        "1: 0000000000000000 {size} OBJECT GLOBAL HIDDEN 1 {}",
                        symbol(section)
                    ),
                );
                assert!(
                    section_bytes(&folder, "offload.o", section.elf_name()) == payload,
                    "{} {name} {size}",
                    host.arch
                );
            }
        }
    }
}

fn elf_readers_agree_on_the_library() {
    let folder = scratch::folder("host-object-library");
    let file = folder.join("libpack.a");
    for host in &HOSTS {
        for section in DeviceSection::ALL {
            // Some sizes need the byte that makes a member's size even, and others do not.
            for size in [0, 1, 4096, 100_001] {
                let payload = some_bytes(size);
                scratch::write(&file, library(&host.target(), section, &payload));
                for mut ar in [llvm("llvm-ar"), Command::new("ar")] {
                    assert_eq!(quietly(ar.arg("t").arg(&file)), "offload.o\n", "{ar:?}");
                }
                for mut ar in [llvm("llvm-ar"), Command::new("ar")] {
                    let member = succeed(ar.arg("p").arg(&file)).stdout;
                    assert!(
                        member == object(&host.target(), section, &payload),
                        "{ar:?}: another member than was written"
                    );
                }
                let symbol = symbol(section);
                let map = quietly(llvm("llvm-nm").arg("--print-armap").arg(&file));
                let expected = format!(
                    "Archive map\n{symbol} in offload.o\n\noffload.o:\n0000000000000000 R {symbol}\n"
                );
                assert_eq!(map.trim_start().replace("\n\n\n", "\n\n"), expected);
                // GNU's nm reads objects for the machines that it was built for.
                if host.arch == std::env::consts::ARCH {
                    let map = quietly(Command::new("nm").arg("--print-armap").arg(&file));
                    assert_line(&plain(&map), &format!("{symbol} in offload.o"));
                    assert_line(&plain(&map), &format!("0000000000000000 R {symbol}"));
                }
            }
        }
    }
}

/// Compares every byte except the mode of the symbol table, a number without a meaning.
fn elf_the_library_is_that_of_other_archivers() {
    let folder = scratch::folder("host-object-archivers");
    let native = HOSTS.iter().find(|host| host.arch == std::env::consts::ARCH);
    let archivers =
        [("llvm-ar", HOSTS.iter().collect::<Vec<_>>()), ("ar", native.into_iter().collect())];
    for (archiver, hosts) in archivers {
        for host in hosts {
            for section in DeviceSection::ALL {
                // A byte after the object makes the member's size odd.
                for behind in [&b""[..], b"x"] {
                    let member =
                        [&object(&host.target(), section, &some_bytes(100)), behind].concat();
                    let ours =
                        archive::write_library("offload.o", symbol(section), member.len() as u64);
                    scratch::write(folder.join("offload.o"), &member);
                    let _ = fs::remove_file(folder.join("theirs.a"));
                    let mut command =
                        if archiver == "ar" { Command::new("ar") } else { llvm("llvm-ar") };
                    quietly(command.current_dir(&folder).args(["rcsD", "theirs.a", "offload.o"]));
                    let theirs = fs::read(folder.join("theirs.a")).unwrap();
                    let same = ours.to_vec(&[&member]) == theirs;
                    assert!(
                        same,
                        "{archiver}, {}, {}, member of {} bytes",
                        host.arch,
                        symbol(section),
                        member.len()
                    );
                }
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
        let mut clang = llvm("clang");
        clang.current_dir(&folder).arg(format!("--target={}", host.triple));
        quietly(clang.args(["-c", "-O1", "-ffreestanding", "-fPIE", "start.c", "-o", "start.o"]));
        for section in DeviceSection::ALL {
            scratch::write(
                folder.join(format!("{}.o", symbol(section))),
                object(&host.target(), section, &payload),
            );
            scratch::write(
                folder.join(format!("lib{}.a", symbol(section))),
                library(&host.target(), section, &payload),
            );
        }
        let lld = || {
            let mut lld = llvm("ld.lld");
            lld.current_dir(&folder).args(["--fatal-warnings", "-m", host.emulation]);
            lld
        };
        quietly(lld().args(["-r", "offload_pack_hip.o", "offload_pack_llvm.o", "-o", "both.o"]));
        let libraries = ["-L.", "-loffload_pack_hip", "-loffload_pack_llvm"];
        for mode in ["--no-pie", "--pie", "--gc-sections"] {
            quietly(lld().args([mode, "start.o"]).args(libraries).args(["-o", "program"]));
            let symbols = quietly(llvm("llvm-nm").current_dir(&folder).arg("program"));
            for section in DeviceSection::ALL {
                assert!(
                    section_bytes(&folder, "both.o", section.elf_name()) == payload,
                    "{} -r",
                    host.arch
                );
                assert!(
                    section_bytes(&folder, "program", section.elf_name()) == payload,
                    "{} {mode}",
                    host.arch
                );
                let line =
                    symbols.lines().find(|line| line.ends_with(symbol(section))).expect("a symbol");
                let address =
                    u64::from_str_radix(line.split(' ').next().unwrap_or(""), 16).unwrap();
                assert_ne!(address, 0, "{} {mode}: {line}", host.arch);
                assert_eq!(address % section.align(), 0, "{} {mode}: {line}", host.arch);
            }
        }
    }
}

/// Returns a compiler command for each linker, with the linker's name.
fn linkers() -> [(&'static str, Command); 3] {
    let with = |mut compiler: Command, linker: &str| {
        compiler.arg(format!("-fuse-ld={linker}")).arg("-Wl,--fatal-warnings");
        compiler
    };
    let clang = || Command::new(llvm_bin().join("clang"));
    [
        ("gcc, GNU ld", with(Command::new("gcc"), "bfd")),
        ("clang, GNU ld", with(clang(), "bfd")),
        ("clang, lld", with(clang(), "lld")),
    ]
}

/// Writes both libraries for this machine and the sources that the tests compile.
fn write_native(folder: &Path) -> [(DeviceSection, Vec<u8>); 2] {
    let host = HOSTS
        .iter()
        .find(|host| host.arch == std::env::consts::ARCH)
        .expect("a machine of the table");
    let packs =
        [(DeviceSection::HipFatbin, hip_pack()), (DeviceSection::LlvmOffloading, llvm_pack().0)];
    for (section, pack) in &packs {
        scratch::write(
            folder.join(format!("lib{}.a", symbol(*section))),
            library(&host.target(), *section, pack),
        );
    }
    let report = |(section, pack): &(DeviceSection, Vec<u8>)| {
        format!("  report({}, {}, {});\n", symbol(*section), pack.len(), section.align())
    };
    scratch::write(
        folder.join("main.c"),
        format!(
            "#include <stdint.h>\n#include <stdio.h>\n\
             extern const unsigned char offload_pack_hip[], offload_pack_llvm[];\n\
             static void report(const unsigned char *pack, unsigned long size, unsigned long align) {{\n\
             \x20 uint32_t sum = 1;\n\
             \x20 for (unsigned long at = 0; at < size; at++) sum = sum * 31 + pack[at];\n\
             \x20 printf(\"%lu %lu\\n\", (unsigned long)((uintptr_t)pack % align), (unsigned long)sum);\n\
             }}\n\
             int main(void) {{\n{}{}  return 0;\n}}\n",
            report(&packs[0]),
            report(&packs[1])
        ),
    );
    scratch::write(folder.join("nothing.c"), "int main(void) { return 0; }\n");
    packs
}

fn checksum(pack: &[u8]) -> u32 {
    pack.iter().fold(1, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)))
}

const LIBRARIES: [&str; 3] = ["-L.", "-loffload_pack_hip", "-loffload_pack_llvm"];

fn elf_programs_that_refer_to_it_have_it() {
    let folder = scratch::folder("host-object-program");
    let packs = write_native(&folder);
    let expected: String =
        packs.iter().map(|(_, pack)| format!("0 {}\n", checksum(pack))).collect();
    for options in [&[][..], &["-no-pie"], &["-static"], &["-O2", "-Wl,--gc-sections"]] {
        for (name, mut compiler) in linkers() {
            let _ = fs::remove_file(folder.join("program"));
            compiler.current_dir(&folder).args(options).arg("main.c").args(LIBRARIES);
            quietly(compiler.args(["-o", "program"]));
            let printed = quietly(&mut Command::new(folder.join("program")));
            assert_eq!(printed, expected, "{name} {options:?}: address modulo alignment, checksum");
            check_listing(&folder, &packs[0].1);
        }
    }
}

/// Compares the pack with the list of `llvm-objdump --offloading`, and with the images that it
/// extracts from the program.
fn check_listing(folder: &Path, hip_pack: &[u8]) {
    let listing =
        quietly(llvm("llvm-objdump").current_dir(folder).args(["--offloading", "program"]));
    let mut expected = llvm_pack().1;
    for entry in Bundle::parse(hip_pack).unwrap().entries() {
        let file = format!("program.0.{}", entry.id_str());
        expected += &format!("Extracting offload bundle: {file}\n");
        let extracted = fs::read(folder.join(&file)).unwrap();
        assert!(extracted == entry.code_object(), "{file} is another image");
        fs::remove_file(folder.join(&file)).unwrap();
    }
    let lines: Vec<String> = plain(&listing).into_iter().filter(|line| !line.is_empty()).collect();
    assert!(lines[0].starts_with("program: file format elf64"), "{}", lines[0]);
    assert_eq!(lines[1..], plain(&expected));
}

fn elf_programs_that_do_not_refer_to_it_do_not() {
    let folder = scratch::folder("host-object-unreferenced");
    write_native(&folder);
    for (name, mut compiler) in linkers() {
        compiler.current_dir(&folder).arg("nothing.c").args(LIBRARIES);
        quietly(compiler.args(["-o", "program"]));
        for section in DeviceSection::ALL {
            assert!(
                !has_section(&folder.join("program"), section),
                "{name}: {}",
                section.elf_name()
            );
        }
    }
}

fn elf_shared_objects_do_not_export_it() {
    let folder = scratch::folder("host-object-shared");
    write_native(&folder);
    for (name, mut compiler) in linkers() {
        compiler
            .current_dir(&folder)
            .args(["-shared", "-fPIC", "-Dmain=entry", "main.c"])
            .args(LIBRARIES);
        quietly(compiler.args(["-o", "program"]));
        let exported =
            quietly(llvm("llvm-nm").current_dir(&folder).args(["-D", "--defined-only", "program"]));
        assert!(exported.lines().any(|line| line.ends_with(" entry")), "{name}: {exported}");
        assert!(!exported.contains("offload_pack"), "{name}: {exported}");
        for section in DeviceSection::ALL {
            assert!(
                has_section(&folder.join("program"), section),
                "{name}: {}",
                section.elf_name()
            );
        }
    }
}
