//! Compares bundles in objects from many compilers with LLVM 22's `clang-offload-bundler`: the
//! bytes must be equal after bundling and after stripping.

use super::{C, CXX, THREAD_LOCAL, clang, compile, from_yaml, same_as_llvm};
use offload_tests::prelude::*;

const SOURCES: [(&str, &str); 4] =
    [("a.c", C), ("b.c", THREAD_LOCAL), ("empty.c", ""), ("c.cpp", CXX)];

#[test(LLVM.slow())]
fn objects_of_clang() {
    let folder = scratch::folder("object-bundle-clang");
    let options = "| -O2 | -O2 -g | -g -gz | -ffunction-sections -fdata-sections | \
        -fno-addrsig -fPIC | -mcmodel=large";
    for options in options.split('|') {
        let target = format!("x86_64-unknown-linux-gnu {options}");
        for source in SOURCES {
            same_as_llvm(&folder, &clang(&folder, &target, source));
        }
    }
}

#[test(CLANG.slow())]
fn objects_of_gcc() {
    let folder = scratch::folder("object-bundle-gcc");
    let options = "| -O2 | -O2 -g | -g -gz | -ffunction-sections -fdata-sections | -flto | \
        -flto -ffat-lto-objects";
    for options in options.split('|') {
        for source in &SOURCES[..3] {
            same_as_llvm(&folder, &compile(&folder, Command::new("gcc"), options, *source));
        }
    }
    // Optimize, so that no group has a local signature. `groups_with_a_local_signature_stay_comdat`
    // covers such groups.
    same_as_llvm(&folder, &compile(&folder, Command::new("g++"), "-O2 -g", ("c.cpp", CXX)));
}

/// Tests 32-bit and 64-bit objects, in both byte orders.
#[test(LLVM.slow())]
fn objects_for_other_machines() {
    let folder = scratch::folder("object-bundle-machines");
    let same = |target: &str, source| same_as_llvm(&folder, &clang(&folder, target, source));
    let machines = "aarch64 riscv64 i386 armv7 powerpc64 powerpc64le mips64 mips64el mips s390x";
    for machine in machines.split(' ') {
        let target = format!("{machine}-unknown-linux-gnu");
        same(&target, ("a.c", C));
        same(&format!("{target} -O2 -g -ffunction-sections"), ("a.c", C));
        same(&target, ("c.cpp", CXX));
    }
    same("x86_64-unknown-linux-gnux32", ("a.c", C));
}

#[test(LLVM.slow())]
fn coff_objects() {
    let folder = scratch::folder("object-bundle-coff");
    let targets = "x86_64-pc-windows-msvc x86_64-pc-windows-gnu i686-pc-windows-msvc \
        aarch64-pc-windows-msvc";
    for target in targets.split(' ') {
        for options in ["", "-O2 -g", "-ffunction-sections -fdata-sections -fno-addrsig"] {
            for source in SOURCES {
                let more = if source.0 == "c.cpp" { "-fexceptions" } else { "" };
                let target = format!("{target} {options} {more}");
                same_as_llvm(&folder, &clang(&folder, &target, source));
            }
        }
    }
    // These long names need offsets with more decimal digits than a section's name field can hold.
    let long = "x".repeat(1 << 20);
    let sections: String = (0..10)
        .map(|number| format!(".section .{number}{long}{number},\"dr\"\n.byte 1\n"))
        .collect();
    same_as_llvm(&folder, &clang(&folder, "x86_64-pc-windows-msvc", ("long.s", &sections)));
}

/// If 16 bits cannot count the sections, ELF stores section numbers in a separate table, and COFF
/// has a different file header and larger symbols.
#[test(LLVM.slow())]
fn more_sections_than_16_bits_count() {
    let folder = scratch::folder("object-bundle-many");
    let (elf, coff) = ("x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc");
    // The host object in the second row is just below the limit. The bundled object exceeds it.
    for (target, flags, count, last) in [
        (elf, "a", 65_400, ".section .last,\"aw\"\n.quad y65399, y1\n"),
        (elf, "a", 65_274, ""),
        (coff, "dr", 65_300, ""),
    ] {
        let section = |number: usize| {
            format!(".section .s{number},\"{flags}\"\n.globl y{number}\ny{number}: .byte 1\n")
        };
        let source: String = (0..count).map(section).collect();
        same_as_llvm(&folder, &clang(&folder, target, ("many.s", &(source + last))));
    }
}

#[test(LLVM.slow())]
fn odd_sections_and_symbols() {
    let folder = scratch::folder("object-bundle-odd");
    let source = r#"
        .globl f, old_f
        f: .cfi_startproc
        call g@PLT
        ret
        .cfi_endproc
        .symver old_f, f@VERS_1
        old_f: nop
        .section .tdata,"awT",@progbits
        .long 3
        .section .tbss,"awT",@nobits
        .zero 40
        .bss
        .balign 64
        .zero 100
        .section .mynobits,"a",@nobits
        .zero 5000
        .section .ordered,"ao",@progbits,.text
        .quad f
        .section .grp,"aG",@progbits,signature
        .long 1
        .section .grp2,"aG",@progbits,signature,comdat
        .long f - .
        .section .strings,"aMS",@progbits,1
        .asciz "hello"
        .section .aligned,"a",@progbits
        .balign 4096
        .long f - .
        .section .empty,"a",@progbits
        .balign 256
        .section .data.rel.ro,"aw",@progbits
        .quad g, f
        .section .note.foo,"a",@note
        .long 4, 0, 0
        .asciz "abc"
        .section .init_array,"aw",@init_array
        .quad f
        .section .large,"awl",@progbits
        .zero 3
        .section .ends_in.data,"a"
        .section .retained,"aR"
        .weak h
        .hidden f
        .set absolute, 77
        .comm common, 80, 32
        .type ifunc, @gnu_indirect_function
        ifunc: ret
    "#;
    same_as_llvm(&folder, &clang(&folder, "x86_64-unknown-linux-gnu", ("odd.s", source)));
    // Files with one string table for all names. The first has no symbols, the second no sections.
    // The third has odd alignments, an unknown type, the type SHT_NULL, and an address.
    for yaml in [
        "Sections: [{Name: .text, Type: SHT_PROGBITS, Flags: [SHF_ALLOC], Content: c3}]",
        "Symbols: []",
        "Sections: [{Name: .a, Type: SHT_PROGBITS, Content: c3c3c3, AddressAlign: 0}, \
             {Name: nul, Type: SHT_NULL}, {Name: .b, Type: 0x70000099, Content: '0102', AddressAlign: 3, Link: .a, \
             Info: 77, EntSize: 9, Address: 0x1000}]\nSymbols: [{Name: .b, Section: .a, Type: STT_OBJECT, Size: 9}, \
             {Name: cba, Section: .b, Value: 1, Binding: STB_GLOBAL}, {Name: ba, Binding: STB_WEAK, Index: SHN_ABS, \
             Other: [STV_HIDDEN]}, {Name: co, Index: SHN_COMMON, Value: 8, Binding: STB_GLOBAL}]",
    ] {
        for class in [
            "ELFCLASS64, Data: ELFDATA2LSB",
            "ELFCLASS64, Data: ELFDATA2MSB",
            "ELFCLASS32, Data: ELFDATA2LSB",
        ] {
            let header = format!(
                "Class: {class}, Type: ET_REL, Machine: EM_X86_64, OSABI: ELFOSABI_GNU, ABIVersion: 3"
            );
            let header = format!("{{{header}, SectionHeaderStringTable: .strtab}}");
            let yaml = format!("--- !ELF\nFileHeader: {header}\n{yaml}\n");
            same_as_llvm(&folder, &from_yaml(&folder, &yaml));
        }
    }
    let host = from_yaml(
        &folder,
        "--- !COFF\nheader: {Machine: IMAGE_FILE_MACHINE_AMD64, Characteristics: [IMAGE_FILE_LINE_NUMS_STRIPPED]}\n\
         sections:\n  - {Name: .averyverylongname, Characteristics: [IMAGE_SCN_CNT_CODE], Alignment: 4, SectionData: C3}\n  \
         - {Name: .debug.averyverylongname, Characteristics: [IMAGE_SCN_CNT_CODE], VirtualAddress: 16, VirtualSize: 100, \
         Alignment: 4, SectionData: C3}\nsymbols: []\n",
    );
    same_as_llvm(&folder, &host);
}
