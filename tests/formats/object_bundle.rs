//! Bundles in host objects, beside clang-offload-bundler 22 and llvm-objcopy 22, over the objects of many compilers' runs;
//! and before the linkers that have to take them.
//!
//! Facts that the cases come from: docs/formats.md, "Object bundles". Small files that LLVM wrote: tests/corpus.

use offload_format::ErrorKind;
use offload_format::bundle::BundleBuilder;
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::registry::{CLANG, LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        objects_of_clang,
        objects_for_other_machines,
        coff_objects,
        more_sections_than_16_bits_count,
        odd_sections_and_symbols,
        string_tables_of_others_are_kept,
        line_numbers_of_coff_are_kept,
        bundles_between_other_sections,
        objects_of_clangs_hip_driver,
        one_zero_byte_of_device_code,
        a_bundle_without_a_host_entry,
        what_is_no_host,
    ],
    CLANG => [
        objects_of_gcc,
        groups_with_a_local_signature_stay_comdat,
        bundles_from_a_relocatable_link,
        linked_programs_run_and_lack_the_bundle,
    ],
    NOTHING => [
        bundles_of_llvm_are_read,
        objects_at_any_address,
        every_truncation,
        every_field_changed,
        names_that_share_their_bytes,
        sections_that_lie_over_each_other,
        alignment_out_of_proportion,
    ],
}

// ------------------------------------------------------------------------------------------------------ beside LLVM

const HOST: &str = "host-x86_64-unknown-linux-gnu";
const DEVICES: [(&str, &[u8]); 3] = [
    ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", b"code object of nineteen"),
    ("hip-amdgcn-amd-amdhsa--gfx908", b""),
    ("openmp-nvptx64-nvidia-cuda--sm_70", b"PTX"),
];

/// What clang-offload-bundler makes of a host object and [`DEVICES`], the host's entry in place `host_at`.
fn their_bundle(folder: &Path, host: &Path, host_at: usize) -> Vec<u8> {
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args(["-type=o", "-output=theirs"]);
    let mut ids: Vec<&str> = DEVICES.iter().map(|(id, _)| *id).collect();
    ids.insert(host_at, HOST);
    tool.arg(format!("-targets={}", ids.join(",")));
    for id in ids {
        match DEVICES.iter().position(|(device, _)| *device == id) {
            Some(number) => {
                scratch::write(folder.join(format!("device{number}")), DEVICES[number].1);
                tool.arg(format!("-input=device{number}"));
            }
            None => drop(tool.arg(format!("-input={}", host.display()))),
        }
    }
    succeed(&mut tool);
    read(folder.join("theirs"))
}

/// What we make of them.
fn our_bundle(host: &[u8], host_at: usize) -> Vec<u8> {
    let mut entries = BundleBuilder::new();
    let mut all: Vec<(&str, &[u8])> = DEVICES.to_vec();
    all.insert(host_at, (HOST, b""));
    for (id, code_object) in &all {
        entries.entry(id, code_object.len() as u64).unwrap();
    }
    let payloads: Vec<&[u8]> = all.iter().map(|(_, code_object)| *code_object).collect();
    object_bundle::bundle(host, &entries).unwrap_or_else(|error| panic!("{error}")).to_vec(&payloads)
}

/// Unbundles all of [`DEVICES`] and the host with clang-offload-bundler; returns the host.
fn unbundled(folder: &Path, fat: &str) -> Vec<u8> {
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args(["-type=o", "-unbundle"]).arg(format!("-input={fat}"));
    let ids: Vec<&str> = DEVICES.iter().map(|(id, _)| *id).chain([HOST]).collect();
    tool.arg(format!("-targets={}", ids.join(",")));
    tool.args((0..ids.len()).map(|number| format!("-output=unbundled{number}")));
    succeed(&mut tool);
    for (number, (id, code_object)) in DEVICES.iter().enumerate() {
        assert_eq!(read(folder.join(format!("unbundled{number}"))), *code_object, "{id}");
    }
    read(folder.join(format!("unbundled{}", DEVICES.len())))
}

/// The same bytes as LLVM's both ways, for the host's entry in each place; LLVM reads ours.
fn same_as_llvm(folder: &Path, host: &Path) {
    let bytes = read(host);
    for host_at in [0, DEVICES.len()] {
        let theirs = their_bundle(folder, host, host_at);
        let ours = our_bundle(&bytes, host_at);
        assert_same_bytes(&ours, &theirs, &format!("{} in a bundle", host.display()));
        // These are LLVM's bytes too: what it makes of them is what it makes of ours.
        let stripped = unbundled(folder, "theirs");
        let what = format!("{} out of a bundle", host.display());
        assert_same_bytes(&object_bundle::strip(&theirs).unwrap(), &stripped, &what);
        let bundle = ObjectBundle::parse(&ours).unwrap();
        let found: Vec<_> =
            bundle.entries().filter(|it| !it.is_host_placeholder()).map(|it| it.code_object()).collect();
        assert_eq!(found, DEVICES.map(|(_, code_object)| code_object));
        assert_eq!(bundle.entries().position(|it| it.is_host_placeholder()), Some(host_at));
    }
    // An object without a bundle stays as it is.
    assert!(object_bundle::strip(&bytes).unwrap() == bytes);
}

/// Symbols, relocations and groups, as llvm-readelf prints them.
fn contents(object: &Path) -> String {
    let output = succeed(llvm("llvm-readelf").args(["-s", "-r", "-g", "-W"]).arg(object));
    let listing = stdout(&output);
    // "Relocation section '.rela.text' at offset 0x4a0 contains 12 entries:"
    listing.lines().map(|line| line.split(" at offset").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

const C: &str = r#"
static int counter; int shared = 7; const char *names[] = {"a", "b", "c"}; char big[1000];
static int helper(int x) { counter += x; return counter * shared; }
int weak_one(int) __attribute__((weak));
int weak_one(int x) { return x + 3; }
extern int other(int);
__attribute__((constructor)) static void init(void) { counter = 3; }
int (*table[])(int) = {helper, weak_one, other};
int main(int argc, char **argv) { return helper(argc) + table[argc & 1](4) + names[0][0] + big[argc]; }
"#;

const THREAD_LOCAL: &str = "__thread int tls; static __thread int tls2 = 5; int sum(void) { return tls + tls2; }";

/// COMDAT groups, exceptions, virtual tables, a guarded static; nothing from a library.
const CXX: &str = r#"
template <class T> struct Box { T v; Box(T v) : v(v) {} virtual ~Box(); virtual T get() const { return v; } };
template <class T> Box<T>::~Box() {}
struct S { S(); ~S(); };
inline int counted() { static S s; static int n = 0; return ++n; }
int g(int);
int f(int x) {
    Box<int> b(x); Box<long> c(x);
    try { S s; if (x) throw 3; return g(x) + b.get() + c.get() + counted(); } catch (int e) { return e; }
}
"#;

/// Compiles a source into `folder/name`.
fn compile(folder: &Path, mut compiler: Command, source: &str, file: &str, options: &str, name: &str) -> PathBuf {
    scratch::write(folder.join(file), source);
    succeed(compiler.current_dir(folder).args(options.split_whitespace()).args(["-w", "-c", file, "-o", name]));
    folder.join(name)
}

fn objects_of_clang() {
    let folder = scratch::folder("object-bundle-clang");
    for options in
        ["", "-O2", "-O2 -g", "-g -gz", "-ffunction-sections -fdata-sections", "-fno-addrsig -fPIC", "-mcmodel=large"]
    {
        let options = format!("--target=x86_64-unknown-linux-gnu {options}");
        for (file, source) in [("a.c", C), ("b.c", THREAD_LOCAL), ("c.cpp", CXX), ("empty.c", "")] {
            same_as_llvm(&folder, &compile(&folder, llvm("clang"), source, file, &options, "host.o"));
        }
    }
}

fn objects_of_gcc() {
    let folder = scratch::folder("object-bundle-gcc");
    for options in
        ["", "-O2", "-O2 -g", "-g -gz", "-ffunction-sections -fdata-sections", "-flto", "-flto -ffat-lto-objects"]
    {
        for (file, source) in [("a.c", C), ("b.c", THREAD_LOCAL), ("empty.c", "")] {
            same_as_llvm(&folder, &compile(&folder, Command::new("gcc"), source, file, options, "host.o"));
        }
    }
    // Optimized, this needs no group with a local signature, of which the next test is.
    same_as_llvm(&folder, &compile(&folder, Command::new("g++"), CXX, "c.cpp", "-O2 -g", "host.o"));
}

/// g++ gives the groups of constructors and destructors a local symbol as signature. llvm-objcopy 22 then takes away the
/// mark that linkers keep one of them only.
fn groups_with_a_local_signature_stay_comdat() {
    let folder = scratch::folder("object-bundle-groups");
    for options in ["", "-g", "-ffunction-sections"] {
        let host = compile(&folder, Command::new("g++"), CXX, "c.cpp", options, "host.o");
        let bytes = read(&host);
        let theirs = their_bundle(&folder, &host, 0);
        let mut ours = our_bundle(&bytes, 0);
        scratch::write(folder.join("ours"), &ours);
        assert_eq!(groups(&folder.join("ours")), groups(&host));
        let lost = groups(&folder.join("theirs")).iter().filter(|line| line.starts_with("(unknown) group")).count();
        assert!(lost > 0, "{options}");

        // Nothing else differs, and what was lost is not made up when the bundle is taken out.
        let mut found = 0;
        for (ours, theirs) in ours.iter_mut().zip(&theirs).filter(|(ours, theirs)| (**ours, **theirs) == (1, 0)) {
            *ours = *theirs;
            found += 1;
        }
        assert_eq!(found, lost, "{options}");
        assert_same_bytes(&ours, &theirs, options);
        assert_same_bytes(&object_bundle::strip(&theirs).unwrap(), &unbundled(&folder, "theirs"), options);
        let stripped = object_bundle::strip(&our_bundle(&bytes, 0)).unwrap();
        scratch::write(folder.join("stripped"), &stripped);
        assert_eq!(contents(&folder.join("stripped")), contents(&host));
    }
}

/// The first line of each group.
fn groups(object: &Path) -> Vec<String> {
    let output = succeed(llvm("llvm-readelf").arg("-g").arg(object));
    stdout(&output).lines().filter(|line| line.contains("group section")).map(str::to_owned).collect()
}

/// 32 and 64 bits, both byte orders.
fn objects_for_other_machines() {
    let folder = scratch::folder("object-bundle-machines");
    for machine in
        ["aarch64", "riscv64", "i386", "armv7", "powerpc64", "powerpc64le", "mips64", "mips64el", "mips", "s390x"]
    {
        for options in ["", "-O2 -g -ffunction-sections"] {
            let options = format!("--target={machine}-unknown-linux-gnu {options}");
            same_as_llvm(&folder, &compile(&folder, llvm("clang"), C, "a.c", &options, "host.o"));
        }
        let options = format!("--target={machine}-unknown-linux-gnu");
        same_as_llvm(&folder, &compile(&folder, llvm("clang"), CXX, "c.cpp", &options, "host.o"));
    }
    let options = "--target=x86_64-unknown-linux-gnux32";
    same_as_llvm(&folder, &compile(&folder, llvm("clang"), C, "a.c", options, "host.o"));
}

fn coff_objects() {
    let folder = scratch::folder("object-bundle-coff");
    for target in ["x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu", "i686-pc-windows-msvc", "aarch64-pc-windows-msvc"]
    {
        for options in ["", "-O2 -g", "-ffunction-sections -fdata-sections -fno-addrsig"] {
            let options = format!("--target={target} {options}");
            for (file, source) in [("a.c", C), ("b.c", THREAD_LOCAL), ("c.cpp", CXX), ("empty.c", "")] {
                let options = if file == "c.cpp" { format!("{options} -fexceptions") } else { options.clone() };
                same_as_llvm(&folder, &compile(&folder, llvm("clang"), source, file, &options, "host.obj"));
            }
        }
    }
    // More names than a decimal offset in a section's name has room for.
    let long = "x".repeat(1 << 20);
    let sections: String =
        (0..10).map(|number| format!(".section .{number}{long}{number},\"dr\"\n.byte 1\n")).collect();
    let options = "--target=x86_64-pc-windows-msvc";
    same_as_llvm(&folder, &compile(&folder, llvm("clang"), &sections, "long.s", options, "host.obj"));
}

/// ELF keeps the numbers in a table of their own, COFF has another file header and larger symbols.
fn more_sections_than_16_bits_count() {
    let folder = scratch::folder("object-bundle-many");
    let section =
        |number: usize, flags: &str| format!(".section .s{number},\"{flags}\"\n.globl y{number}\ny{number}: .byte 1\n");
    let elf: String = (0..65_400).map(|number| section(number, "a")).collect();
    let elf = elf + ".section .last,\"aw\"\n.quad y65399, y1\n";
    let target = "--target=x86_64-unknown-linux-gnu";
    same_as_llvm(&folder, &compile(&folder, llvm("clang"), &elf, "many.s", target, "host.o"));
    // Just so many that the bundle's are over it.
    let elf: String = (0..65_274).map(|number| section(number, "a")).collect();
    same_as_llvm(&folder, &compile(&folder, llvm("clang"), &elf, "nearly.s", target, "host.o"));
    let coff: String = (0..65_300).map(|number| section(number, "dr")).collect();
    let target = "--target=x86_64-pc-windows-msvc";
    same_as_llvm(&folder, &compile(&folder, llvm("clang"), &coff, "big.s", target, "host.obj"));
}

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
    same_as_llvm(
        &folder,
        &compile(&folder, llvm("clang"), source, "odd.s", "--target=x86_64-unknown-linux-gnu", "host.o"),
    );
    // One table for all names: no symbols; no sections; odd alignments, an unknown type, no type, an address.
    for yaml in [
        "Sections: [{Name: .text, Type: SHT_PROGBITS, Flags: [SHF_ALLOC], Content: c3}]",
        "Symbols: []",
        "Sections: [{Name: .a, Type: SHT_PROGBITS, Content: c3c3c3, AddressAlign: 0}, \
             {Name: nul, Type: SHT_NULL}, {Name: .b, Type: 0x70000099, Content: '0102', AddressAlign: 3, Link: .a, \
             Info: 77, EntSize: 9, Address: 0x1000}]\nSymbols: [{Name: .b, Section: .a, Type: STT_OBJECT, Size: 9}, \
             {Name: cba, Section: .b, Value: 1, Binding: STB_GLOBAL}, {Name: ba, Binding: STB_WEAK, Index: SHN_ABS, \
             Other: [STV_HIDDEN]}, {Name: co, Index: SHN_COMMON, Value: 8, Binding: STB_GLOBAL}]",
    ] {
        for class in ["ELFCLASS64, Data: ELFDATA2LSB", "ELFCLASS64, Data: ELFDATA2MSB", "ELFCLASS32, Data: ELFDATA2LSB"]
        {
            let header =
                format!("Class: {class}, Type: ET_REL, Machine: EM_X86_64, OSABI: ELFOSABI_GNU, ABIVersion: 3");
            let host = from_yaml(
                &folder,
                &format!("--- !ELF\nFileHeader: {{{header}, SectionHeaderStringTable: .strtab}}\n{yaml}\n"),
            );
            same_as_llvm(&folder, &host);
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

fn from_yaml(folder: &Path, yaml: &str) -> PathBuf {
    scratch::write(folder.join("host.yaml"), yaml);
    succeed(llvm("yaml2obj").current_dir(folder).args(["host.yaml", "-o", "host.o"]));
    folder.join("host.o")
}

/// llvm-objcopy 22 empties string tables that it knows no use of.
fn string_tables_of_others_are_kept() {
    let folder = scratch::folder("object-bundle-stabstr");
    let host = from_yaml(
        &folder,
        "--- !ELF\nFileHeader: {Class: ELFCLASS64, Data: ELFDATA2LSB, Type: ET_REL, Machine: EM_X86_64}\n\
         Sections: [{Name: .stabstr, Type: SHT_STRTAB, Content: '00616263006400'}]\n",
    );
    let dump = |file: &str| {
        let output = folder.join("dump");
        succeed(
            llvm("llvm-objcopy")
                .current_dir(&folder)
                .arg(format!("--dump-section=.stabstr={}", output.display()))
                .args([file, "copy"]),
        );
        read(output)
    };
    their_bundle(&folder, &host, 0);
    scratch::write(folder.join("ours"), our_bundle(&read(&host), 0));
    assert_eq!((dump("host.o").as_slice(), dump("theirs").as_slice()), (&b"\0abc\0d\0"[..], &b"\0"[..]));
    assert_eq!(dump("ours"), dump("host.o"));
}

/// llvm-objcopy 22 leaves them out and the offset that they had in the header.
fn line_numbers_of_coff_are_kept() {
    let folder = scratch::folder("object-bundle-lines");
    let options = "--target=x86_64-pc-windows-msvc";
    let host = compile(&folder, llvm("clang"), "int f(void) { return 1; }", "a.c", options, "host.obj");
    let mut bytes = read(&host);
    let lines = *b"\x01\0\0\0\0\0\x02\0\0\0\x05\0";
    let end = bytes.len() as u32;
    bytes.extend_from_slice(&lines);
    // In the first section's header.
    bytes[20 + 28..20 + 32].copy_from_slice(&end.to_le_bytes());
    bytes[20 + 34] = 2;
    let lines_of = |object: &[u8]| {
        let at = u32::from_le_bytes(object[48..52].try_into().unwrap()) as usize;
        object.get(at..at + 12).map(<[u8]>::to_vec)
    };
    assert_eq!(lines_of(&our_bundle(&bytes, 0)).unwrap(), lines);
    scratch::write(&host, &bytes);
    assert_ne!(lines_of(&their_bundle(&folder, &host, 0)), Some(lines.to_vec()));
}

/// `ld -r` puts several bundles into one object, with symbols for their sections.
fn bundles_from_a_relocatable_link() {
    let folder = scratch::folder("object-bundle-relocatable");
    for target in ["x86_64-unknown-linux-gnu", "i386-unknown-linux-gnu"] {
        for (number, source) in [C, THREAD_LOCAL].into_iter().enumerate() {
            let options = format!("--target={target} -ffunction-sections");
            let host = compile(&folder, llvm("clang"), source, "a.c", &options, "host.o");
            scratch::write(folder.join(format!("fat{number}.o")), our_bundle(&read(&host), 0));
        }
        let gnu = if target.starts_with("i386") { "elf_i386" } else { "elf_x86_64" };
        for mut linker in [llvm("ld.lld"), Command::new("ld.bfd")] {
            succeed(linker.current_dir(&folder).args(["-m", gnu, "-r", "fat0.o", "fat1.o", "-o", "both.o"]));
            let bytes = read(folder.join("both.o"));
            let entries = ObjectBundle::parse(&bytes).unwrap().entries().count();
            assert!(entries > DEVICES.len(), "{entries}");
            let theirs = folder.join("theirs.o");
            let option = "--remove-section=__CLANG_OFFLOAD_BUNDLE__.*";
            succeed(llvm("llvm-objcopy").current_dir(&folder).args(["--regex", option, "--", "both.o", "theirs.o"]));
            let ours = object_bundle::strip(&bytes).unwrap();
            scratch::write(folder.join("ours.o"), &ours);
            assert_eq!(contents(&folder.join("ours.o")), contents(&theirs), "{linker:?}");
            assert_same_bytes(&ours, &read(theirs), &format!("{linker:?}"));
        }
    }
}

/// What stands behind them gets other numbers.
fn bundles_between_other_sections() {
    let folder = scratch::folder("object-bundle-between");
    let source = r#"
        .section "__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-","FLAGS"
        .byte 0
        .section "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx906","FLAGS"
        .ascii "code object"
        .section .behind,"FLAGS"
        .globl behind
        behind: .long there
        .text
        .globl there
        there: .long behind
    "#;
    let groups = r#"
        .section .grp,"aG",@progbits,signature,comdat
        .weak signature
        signature: .quad behind
        .section .ordered,"ao",@progbits,.behind
        .quad .grp
    "#;
    let coff = r#"
        .section .key,"dr",discard,key
        .globl key
        key: .long 1
        .section .with,"dr",associative,key
        .long .behind
        .weak soft
        .long soft
    "#;
    let cases = [
        ("x86_64-unknown-linux-gnu", "a", groups),
        ("i386-unknown-linux-gnu", "a", ""),
        ("powerpc64-unknown-linux-gnu", "a", ""),
        ("mips64el-unknown-linux-gnu", "a", ""),
        ("x86_64-pc-windows-msvc", "dr", coff),
        ("i686-pc-windows-msvc", "dr", ""),
    ];
    for (target, flags, more) in cases {
        let source = source.replace("FLAGS", flags) + more;
        let host = compile(&folder, llvm("clang"), &source, "a.s", &format!("--target={target}"), "host.o");
        let option = "--remove-section=__CLANG_OFFLOAD_BUNDLE__.*";
        succeed(llvm("llvm-objcopy").current_dir(&folder).args(["--regex", option, "--", "host.o", "theirs.o"]));
        let ours = object_bundle::strip(&read(&host)).unwrap();
        assert_same_bytes(&ours, &read(folder.join("theirs.o")), target);
    }
    // Code that refers to the bundle needs it.
    for target in ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc"] {
        let flags = if target.contains("windows") { "dr" } else { "a" };
        let source = format!(
            ".section __CLANG_OFFLOAD_BUNDLE__x,\"{flags}\"\nhere: .byte 1\n.globl here\n.text\n.long here - .\n"
        );
        let host = compile(&folder, llvm("clang"), &source, "a.s", &format!("--target={target}"), "host.o");
        let error = object_bundle::strip(&read(&host)).unwrap_err();
        assert!(error.to_string().contains("reference to a symbol of the bundle"), "{error}");
        let mut tool = llvm("llvm-objcopy");
        tool.current_dir(&folder).args([
            "--regex",
            "--remove-section=__CLANG_OFFLOAD_BUNDLE__.*",
            "--",
            "host.o",
            "theirs.o",
        ]);
        assert!(!tool.output().unwrap().status.success());
    }
}

fn linked_programs_run_and_lack_the_bundle() {
    let folder = scratch::folder("object-bundle-link");
    let main = r#"
        #include <stdio.h>
        int used(int); extern __thread int tls;
        int main(int argc, char **argv) { tls = 5; printf("%d\n", used(argc)); return 0; }
    "#;
    let part = r#"
        #include <stdexcept>
        #include <string>
        __thread int tls; static int counter;
        template <class T> struct Box { T v; virtual ~Box() {} virtual T get() const { return v; } };
        __attribute__((constructor)) static void init() { counter = 30; }
        extern "C" int used(int x) {
            Box<int> b; b.v = 200;
            try { throw std::runtime_error(std::string(x, 'x')); }
            catch (const std::exception &e) { return b.get() + counter + tls + std::string(e.what()).size(); }
        }
    "#;
    for (c, cxx, options) in
        [("clang", "clang++", "-O2 -g"), ("gcc", "g++", ""), ("gcc", "g++", "-O2 -ffunction-sections")]
    {
        let command = |name: &str| if name.starts_with("clang") { llvm(name) } else { Command::new(name) };
        for (number, (compiler, source, file)) in [(c, main, "main.c"), (cxx, part, "part.cpp")].into_iter().enumerate()
        {
            let host = compile(&folder, command(compiler), source, file, options, "host.o");
            let fat = our_bundle(&read(&host), 0);
            scratch::write(folder.join(format!("stripped{number}.o")), object_bundle::strip(&fat).unwrap());
            scratch::write(folder.join(format!("fat{number}.o")), fat);
        }
        for objects in ["fat", "stripped"] {
            for linker in ["-fuse-ld=bfd", "-fuse-ld=lld"] {
                let program = folder.join("program");
                // clang finds its own lld, gcc does not.
                let mut driver = if linker.ends_with("lld") { llvm("clang++") } else { Command::new("g++") };
                driver.current_dir(&folder).args([linker, "-o", "program"]);
                succeed(driver.args([format!("{objects}0.o"), format!("{objects}1.o")]));
                assert_eq!(stdout(&succeed(&mut Command::new(&program))), "236\n", "{objects} {linker}");
                let program = read(program);
                assert!(!program.windows(24).any(|bytes| bytes == b"__CLANG_OFFLOAD_BUNDLE__"), "{objects} {linker}");
            }
        }
    }
}

/// The old driver writes such objects for device code that is linked later.
fn objects_of_clangs_hip_driver() {
    let folder = scratch::folder("object-bundle-hip");
    let source = r#"
        typedef struct S *hipStream_t; struct dim3 { unsigned x, y, z; };
        extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, hipStream_t);
        __attribute__((global)) void k(int *p) { *p = 1; }
        __attribute__((device)) int v = 3;
        int main() { return 0; }
    "#;
    let options = "-x hip --offload-arch=gfx906 --offload-arch=gfx1100 -nogpuinc -nogpulib --hip-path=/nonexistent -O1 \
        --no-offload-new-driver -fgpu-rdc";
    let object = compile(&folder, llvm("clang"), source, "k.hip", options, "fat.o");
    let bytes = read(&object);
    let bundle = ObjectBundle::parse(&bytes).unwrap();
    let listing =
        succeed(llvm("clang-offload-bundler").args(["-type=o", "-list"]).arg(format!("-input={}", object.display())));
    let mut ids: Vec<&str> = bundle.entries().map(|entry| entry.id_str()).collect();
    let listing = stdout(&listing);
    let mut listed: Vec<&str> = listing.lines().collect();
    ids.sort_unstable();
    listed.sort_unstable();
    assert_eq!(ids, listed);
    assert_eq!(ids.len(), 3);
    for entry in bundle.entries() {
        succeed(
            llvm("clang-offload-bundler")
                .current_dir(&folder)
                .args(["-type=o", "-unbundle", "-input=fat.o", "-output=entry"])
                .arg(format!("-targets={}", entry.id_str())),
        );
        let theirs = read(folder.join("entry"));
        match entry.is_host_placeholder() {
            true => assert_same_bytes(&object_bundle::strip(&bytes).unwrap(), &theirs, entry.id_str()),
            false => assert_same_bytes(entry.code_object(), &theirs, entry.id_str()),
        }
    }
}

// ---------------------------------------------------------------------------------------------------------- reading

/// ID, offset, size, whether it stands for the host.
type Expected<'a> = &'a [(&'a str, u64, usize, bool)];

fn bundles_of_llvm_are_read() {
    let table: [(&str, Expected); 4] = [
        ("host.o", &[]),
        (
            "fat.o",
            &[
                ("host-x86_64-unknown-linux-gnu-", 624, 1, true),
                ("hip-amdgcn-amd-amdhsa--gfx906", 625, 9, false),
                ("hip-amdgcn-amd-amdhsa--gfx908", 634, 0, false),
            ],
        ),
        (
            "fat.obj",
            &[("host-x86_64-pc-windows-msvc-", 554, 1, true), ("hip-amdgcn-amd-amdhsa--gfx906", 555, 9, false)],
        ),
        (
            "hip_rdc.o",
            &[("hip-amdgcn-amd-amdhsa--gfx906", 2406, 4040, false), ("host-x86_64-pc-linux-gnu-", 6446, 1, true)],
        ),
    ];
    for (file, expected) in table {
        let bytes = corpus(file);
        let bundle = ObjectBundle::parse(&bytes).unwrap();
        let found: Vec<_> = bundle
            .entries()
            .map(|it| (it.id_str(), it.offset(), it.code_object().len(), it.is_host_placeholder()))
            .collect();
        assert_eq!(found, expected, "{file}");
        for entry in bundle.entries() {
            let offset = entry.offset() as usize;
            assert_eq!(entry.code_object(), &bytes[offset..offset + entry.code_object().len()]);
            assert_eq!(entry.id().unwrap().is_host(), entry.is_host_placeholder());
        }
    }
    let fat = corpus("fat.o");
    assert_eq!(ObjectBundle::parse(&fat).unwrap().entries().nth(1).unwrap().code_object(), b"DEV1DATA1");
    // And out of it again.
    assert!(object_bundle::strip(&fat).unwrap() == corpus("host.o"));
}

/// LLVM 22 takes a section of one zero byte for the host's, whatever its ID.
fn one_zero_byte_of_device_code() {
    let folder = scratch::folder("object-bundle-zero");
    let mut entries = BundleBuilder::new();
    entries.entry(HOST, 0).unwrap().entry("hip-amdgcn-amd-amdhsa--gfx906", 1).unwrap();
    let fat = object_bundle::bundle(&corpus("host.o"), &entries).unwrap().to_vec(&[b"", b"\0"]);
    let bundle = ObjectBundle::parse(&fat).unwrap();
    let found: Vec<_> = bundle.entries().map(|it| (it.code_object(), it.is_host_placeholder())).collect();
    assert_eq!(found, [(&b"\0"[..], true), (&b"\0"[..], false)]);

    scratch::write(folder.join("fat.o"), &fat);
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args(["-type=o", "-unbundle", "-input=fat.o", "-output=out"]);
    succeed(tool.arg("-targets=hip-amdgcn-amd-amdhsa--gfx906"));
    assert!(read(folder.join("out")) == object_bundle::strip(&fat).unwrap());
}

/// LLVM 22 crashes where all kinds are HIP's and the first file is an object. What we write, it reads.
fn a_bundle_without_a_host_entry() {
    let folder = scratch::folder("object-bundle-no-host-entry");
    let id = "hip-amdgcn-amd-amdhsa--gfx906";
    scratch::write(folder.join("host.o"), corpus("host.o"));
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args(["-type=o", "-input=host.o", "-output=theirs"]).arg(format!("-targets={id}"));
    let output = tool.output().unwrap();
    assert!(output.status.code().is_none_or(|code| code > 128), "{output:?}");

    let mut entries = BundleBuilder::new();
    entries.entry(id, 4).unwrap();
    let fat = object_bundle::bundle(&corpus("host.o"), &entries).unwrap().to_vec(&[b"code"]);
    scratch::write(folder.join("ours"), &fat);
    let list = succeed(llvm("clang-offload-bundler").current_dir(&folder).args(["-type=o", "-list", "-input=ours"]));
    assert_eq!(stdout(&list).trim(), id);
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args(["-type=o", "-unbundle", "-input=ours", "-output=out"]);
    succeed(tool.arg(format!("-targets={id}")));
    assert_eq!(read(folder.join("out")), b"code");
    assert!(object_bundle::strip(&fat).unwrap() == corpus("host.o"));
}

/// In an archive an object lies at an even address, in other files anywhere.
fn objects_at_any_address() {
    for file in ["fat.o", "fat.obj", "hip_rdc.o"] {
        let bytes = corpus(file);
        let expected = format!("{:?}", ObjectBundle::parse(&bytes).unwrap());
        let mut shifted = bytes.clone();
        for _ in 0..8 {
            shifted.insert(0, 0);
            let object = &shifted[shifted.len() - bytes.len()..];
            assert_eq!(format!("{:?}", ObjectBundle::parse(object).unwrap()), expected);
            assert!(object_bundle::strip(object).unwrap() == object_bundle::strip(&bytes).unwrap());
        }
    }
}

/// Files that LLVM's tools cannot make a bundle of either, and some that they can.
fn what_is_no_host() {
    let folder = scratch::folder("object-bundle-no-host");
    let entries = BundleBuilder::new();
    let refused = |bytes: &[u8], what: &str| {
        for error in [object_bundle::bundle(bytes, &entries).map(drop), object_bundle::strip(bytes).map(drop)] {
            // Without a bundle there is nothing to take out.
            assert!(error.is_err() || ObjectBundle::parse(bytes).is_ok(), "{what}");
        }
        let error = object_bundle::bundle(bytes, &entries).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadMagic, "{what}: {error}");
        error.to_string()
    };
    for target in ["arm64-apple-macos", "wasm32-unknown-unknown"] {
        let host = compile(
            &folder,
            llvm("clang"),
            "int f(void) { return 1; }",
            "a.c",
            &format!("--target={target}"),
            "host.o",
        );
        refused(&read(&host), target);
        let mut tool = llvm("clang-offload-bundler");
        tool.current_dir(&folder).args(["-type=o", "-input=host.o", "-input=host.o", "-output=theirs"]);
        tool.arg(format!("-targets={HOST},hip-amdgcn-amd-amdhsa--gfx906"));
        assert!(!tool.output().unwrap().status.success(), "{target}");
    }
    let host =
        compile(&folder, llvm("clang"), "int f(void) { return 1; }", "a.c", "--target=x86_64-linux-gnu", "host.o");
    succeed(llvm("ld.lld").current_dir(&folder).args(["-shared", "host.o", "-o", "shared.so"]));
    let message = refused(&read(folder.join("shared.so")), "a shared object");
    assert_eq!(message, "no relocatable ELF file or COFF object at offset 16");
    for bytes in [&b""[..], b"BC\xc0\xde", b"!<arch>\n", b"__CLANG_OFFLOAD_BUNDLE__", &[0; 100]] {
        assert_eq!(ObjectBundle::parse(bytes).unwrap_err().kind(), ErrorKind::BadMagic);
        refused(bytes, "no object");
    }
    assert!(ObjectBundle::parse(&read(host)).unwrap().entries().next().is_none());
}

// ---------------------------------------------------------------------------------------------------- hostile files

/// Does all that there is to do with a file.
fn visit(bytes: &[u8]) -> bool {
    let range = bytes.as_ptr_range();
    let inside = |part: &[u8]| part.is_empty() || range.start <= part.as_ptr() && part.as_ptr_range().end <= range.end;
    if let Ok(bundle) = ObjectBundle::parse(bytes) {
        for entry in bundle.entries() {
            assert!(inside(entry.code_object()) && inside(entry.id_str().as_bytes()));
            let _ = entry.id().map(|id| id.to_canonical());
            let looks_so = entry.code_object() == b"\0" && entry.id_str().starts_with("host-");
            assert!(!entry.is_host_placeholder() || looks_so);
        }
    }
    let mut entries = BundleBuilder::new();
    entries.entry(HOST, 0).unwrap().entry("hip-amdgcn-amd-amdhsa--gfx906", 3).unwrap();
    let fat = object_bundle::bundle(bytes, &entries);
    if let Ok(stripped) = object_bundle::strip(bytes) {
        assert!(stripped.len() <= 5 * bytes.len() + (2 << 20), "{} bytes of {}", stripped.len(), bytes.len());
    }
    fat.is_ok()
}

fn every_truncation() {
    for file in ["host.o", "fat.o", "fat.obj", "hip_rdc.o"] {
        let bytes = corpus(file);
        assert!(visit(&bytes));
        for length in 0..bytes.len() {
            visit(&bytes[..length]);
            let error = ObjectBundle::parse(&bytes[..length]);
            // The section table of ELF is at the end; of COFF, the string table with the sections' names.
            assert!(error.is_err(), "{file}: {length} bytes of {} pass", bytes.len());
        }
    }
}

fn every_field_changed() {
    for file in ["fat.o", "fat.obj"] {
        let bytes = corpus(file);
        let mut passed = 0;
        for at in 0..bytes.len() {
            for new in [0, 1, 0x7f, 0xff, bytes[at].wrapping_add(1)] {
                let mut changed = bytes.clone();
                changed[at] = new;
                passed += usize::from(visit(&changed));
            }
            for new in [1, bytes.len() as u64, u64::MAX, u64::MAX / 64, 1 << 31, 1 << 63] {
                for size in [2, 4, 8] {
                    let mut changed = bytes.clone();
                    let end = bytes.len().min(at + size);
                    changed[at..end].copy_from_slice(&new.to_le_bytes()[..end - at]);
                    passed += usize::from(visit(&changed));
                }
            }
        }
        assert!(passed > bytes.len(), "{file}: {passed}");
    }
}

/// An ELF file with so many sections, which all lie at offset 64, have this size, and the same name: the `x`s there from
/// `name` on, up to the last of `size` bytes, a NUL.
fn many_sections(count: u16, size: usize, name: usize) -> Vec<u8> {
    let mut file = corpus("host.o")[..64].to_vec();
    file.extend(std::iter::repeat_n(b'x', size - 1));
    file.push(0);
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[60..62].copy_from_slice(&count.to_le_bytes());
    file[62..64].copy_from_slice(&1u16.to_le_bytes());
    file.extend_from_slice(&[0; 64]);
    for _ in 1..count {
        const SHT_STRTAB: u32 = 3;
        let mut header = [0; 64];
        header[..4].copy_from_slice(&(name as u32).to_le_bytes());
        header[4..8].copy_from_slice(&SHT_STRTAB.to_le_bytes());
        header[24..32].copy_from_slice(&64u64.to_le_bytes());
        header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
        file.extend_from_slice(&header);
    }
    file
}

fn names_that_share_their_bytes() {
    assert!(visit(&many_sections(20, 1000, 0)));
    let bytes = many_sections(30_000, 2_000_000, 0);
    assert!(!visit(&bytes));
    let error = ObjectBundle::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("names share too much text"), "{error}");
}

fn sections_that_lie_over_each_other() {
    let bytes = many_sections(60_000, 4_000_000, 3_999_999);
    let error = object_bundle::bundle(&bytes, &BundleBuilder::new()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");

    let mut coff = corpus("fat.obj");
    let sections = u16::from_le_bytes([coff[2], coff[3]]) as usize;
    coff.resize(4_000_000, 0);
    for section in 0..sections {
        let at = 20 + 40 * section;
        coff[at + 16..at + 20].copy_from_slice(&3_999_000u32.to_le_bytes());
        coff[at + 20..at + 24].copy_from_slice(&1u32.to_le_bytes());
    }
    let error = object_bundle::strip(&coff).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");
}

fn alignment_out_of_proportion() {
    let mut bytes = many_sections(20, 1000, 999);
    let last = bytes.len() - 16;
    for align in [1 << 30, 1 << 63, u64::MAX] {
        bytes[last..last + 8].copy_from_slice(&align.to_le_bytes());
        let error = object_bundle::bundle(&bytes, &BundleBuilder::new()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");
    }
    bytes[last..last + 8].copy_from_slice(&4096u64.to_le_bytes());
    object_bundle::bundle(&bytes, &BundleBuilder::new()).unwrap();
}

// ------------------------------------------------------------------------------------------------------------- helpers

fn corpus(file: &str) -> Vec<u8> {
    read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/object_bundle").join(file))
}
