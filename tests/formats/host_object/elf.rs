//! ELF objects, tested with LLVM's and GNU's readers and linkers, and in programs that run.

use super::*;
use offload_format::archive;
use offload_format::bundle::Bundle;
use offload_format::section::DeviceSection;

offload_tests::tests! {
    LLVM_AND_GNU => [
        elf_the_library_is_that_of_other_archivers, elf_programs_that_do_not_refer_to_it_do_not,
        elf_shared_objects_do_not_export_it,
    ],
    needs(LLVM_AND_GNU).slow() => [
        elf_readers_agree_on_the_library, elf_programs_that_refer_to_it_have_it,
        elf_readers_agree_on_the_object,
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

/// Compiles a source and links both libraries by each linker to `program`, without a warning. Then
/// runs a check with the linker's name.
fn for_each_linker(folder: &Path, options: &str, check: impl Fn(&str)) {
    for (name, compiler, linker) in [
        ("gcc, GNU ld", "gcc".into(), "bfd"),
        ("clang, GNU ld", llvm_bin().join("clang"), "bfd"),
        ("clang, lld", llvm_bin().join("clang"), "lld"),
    ] {
        let _ = fs::remove_file(folder.join("program"));
        let linker = format!("-fuse-ld={linker} -Wl,--fatal-warnings");
        let options = format!("{linker} {options} {LIBRARIES} -o program");
        quiet(Command::new(compiler), folder, &options);
        check(&format!("{name} {options}"));
    }
}

/// Writes both libraries for this machine and the sources that the tests compile.
fn write_native(folder: &Path) -> [(DeviceSection, Vec<u8>); 2] {
    let host = HOSTS.iter().find(|host| host.is_native()).expect("a machine of the table");
    let packs =
        [(DeviceSection::HipFatbin, hip_pack()), (DeviceSection::LlvmOffloading, llvm_pack().0)];
    let mut reports = String::new();
    for (section, pack) in &packs {
        let symbol = symbol(*section);
        let library = library(&host.target(), *section, pack);
        scratch::write(folder.join(format!("lib{symbol}.a")), library);
        reports += &format!("  report({symbol}, {}, {});\n", pack.len(), section.align());
    }
    let main = format!(
        "#include <stdint.h>
#include <stdio.h>
extern const unsigned char offload_pack_hip[], offload_pack_llvm[];
static void report(const unsigned char *pack, unsigned long size, unsigned long align) {{
  uint32_t sum = 1;
  for (unsigned long at = 0; at < size; at++) sum = sum * 31 + pack[at];
  printf(\"%lu %lu\\n\", (unsigned long)((uintptr_t)pack % align), (unsigned long)sum);
}}
int main(void) {{
{reports}  return 0;
}}
"
    );
    scratch::write(folder.join("main.c"), main);
    scratch::write(folder.join("nothing.c"), "int main(void) { return 0; }\n");
    packs
}

fn checksum(pack: &[u8]) -> u32 {
    pack.iter().fold(1, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)))
}

const LIBRARIES: &str = "-L. -loffload_pack_hip -loffload_pack_llvm";

fn elf_programs_that_refer_to_it_have_it() {
    let folder = scratch::folder("host-object-program");
    let packs = write_native(&folder);
    let expected: String =
        packs.iter().map(|(_, pack)| format!("0 {}\n", checksum(pack))).collect();
    for options in ["main.c", "-no-pie main.c", "-static main.c", "-O2 -Wl,--gc-sections main.c"] {
        for_each_linker(&folder, options, |what| {
            let printed = quietly(&mut Command::new(folder.join("program")));
            assert_eq!(printed, expected, "{what}: address modulo alignment, checksum");
            check_listing(&folder, &packs[0].1);
        });
    }
}

/// Compares the pack with the list of `llvm-objdump --offloading`, and with the images that it
/// extracts from the program.
fn check_listing(folder: &Path, hip_pack: &[u8]) {
    let listing = quiet(llvm("llvm-objdump"), folder, "--offloading program");
    let mut expected = llvm_pack().1;
    for entry in Bundle::parse(hip_pack).unwrap().entries() {
        let file = format!("program.0.{}", entry.id_str());
        expected += &format!("Extracting offload bundle: {file}\n");
        assert!(read(folder.join(&file)) == entry.code_object(), "{file} is another image");
        fs::remove_file(folder.join(&file)).unwrap();
    }
    let mut lines = plain(&listing);
    lines.retain(|line| !line.is_empty());
    assert!(lines[0].starts_with("program: file format elf64"), "{}", lines[0]);
    assert_eq!(lines[1..], plain(&expected));
}

/// Whether `program` has each of the sections for device code.
fn has_sections(folder: &Path) -> [bool; 2] {
    let sections = quiet(llvm("llvm-readelf"), folder, "-S -W program");
    DeviceSection::ALL
        .map(|section| sections.split_whitespace().any(|word| word == section.elf_name()))
}

fn elf_programs_that_do_not_refer_to_it_do_not() {
    let folder = scratch::folder("host-object-unreferenced");
    write_native(&folder);
    for_each_linker(&folder, "nothing.c", |what| {
        assert_eq!(has_sections(&folder), [false, false], "{what}");
    });
}

fn elf_shared_objects_do_not_export_it() {
    let folder = scratch::folder("host-object-shared");
    write_native(&folder);
    for_each_linker(&folder, "-shared -fPIC -Dmain=entry main.c", |what| {
        let exported = quiet(llvm("llvm-nm"), &folder, "-D --defined-only program");
        assert!(exported.lines().any(|line| line.ends_with(" entry")), "{what}: {exported}");
        assert!(!exported.contains("offload_pack"), "{what}: {exported}");
        assert_eq!(has_sections(&folder), [true, true], "{what}");
    });
}
