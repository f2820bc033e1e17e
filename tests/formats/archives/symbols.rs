//! Tests that our symbol tables contain the symbols that `llvm-ar` finds in objects, cubins and
//! bitcode.

use super::{SORTS, archive_of, armap, bitcode, compile, llvm_ar, object, our_armap};
use offload_format::device_archive::member_symbols;
use offload_format::image::Bitcode;
use offload_tests::prelude::*;

/// Asserts that our archive of this member equals `llvm-ar`'s, and has at least this many symbols.
#[track_caller]
fn compare_symbols(folder: &Path, bytes: &[u8], at_least: usize, what: &str) {
    scratch::write(folder.join("m"), bytes);
    let _ = fs::remove_file(folder.join("m.a"));
    let theirs = llvm_ar(folder, "--format=gnu crD m.a", &["m"]);
    let ours = archive_of(&[("m".to_owned(), bytes.to_vec())]);
    let symbols = our_armap(&ours);
    assert_eq!(symbols, our_armap(&theirs), "{what}");
    assert_same_bytes(&ours, &theirs, what);
    assert!(symbols.len() >= at_least, "{what}: {symbols:?}");
}

/// A source with symbols of kinds that only some targets support.
const ELF_SORTS: &str = r#"
__thread int thread_local_variable;
int alias(int) __attribute__((alias("defined")));
__attribute__((weak)) extern int weak_undefined;
int *use(void) { return &weak_undefined; }
static void *resolver(void) { return (void *)local; }
int indirect(int) __attribute__((ifunc("resolver")));
__asm__(".globl asm_global\nasm_global:\n.weak asm_weak\nasm_weak:\nasm_local: nop\n.globl asm_undefined\n"
        ".quad asm_undefined\n.symver asm_global, asm_global@@V1\n.comm asm_common,4,4\n.set asm_set, 5\n.globl asm_set");
"#;

const TRIPLES: [(&str, bool); 7] = [
    ("x86_64-linux-gnu", true),
    ("i686-linux-gnu", false),
    ("aarch64-linux-gnu", false),
    ("amdgcn-amd-amdhsa", false),
    ("nvptx64-nvidia-cuda", false),
    ("x86_64-pc-windows-msvc", false),
    ("arm64-apple-macosx", false),
];

fn sources() -> impl Iterator<Item = (&'static str, String)> {
    TRIPLES
        .iter()
        .map(|(triple, elf)| (*triple, [SORTS, if *elf { ELF_SORTS } else { "" }].concat()))
}

#[test(LLVM)]
fn symbols_of_objects() {
    let folder = scratch::folder("archives-symbols-objects");
    for (triple, source) in sources().filter(|(triple, _)| !triple.starts_with("nvptx")) {
        let bytes = object(&folder, triple, &source);
        compare_symbols(&folder, &bytes, 7, triple);
        scratch::write(folder.join("in.o"), &bytes);
        for option in ["--strip-debug", "--strip-all"] {
            // Mach-O objects cannot be stripped with these options.
            if !triple.contains("apple") {
                run(llvm("llvm-objcopy"), &folder, &format!("{option} in.o out.o"));
                let stripped = read(folder.join("out.o"));
                compare_symbols(&folder, &stripped, 0, &format!("{triple} {option}"));
            }
        }
    }
    // Damage in a table without symbols: program headers of one byte each.
    let bytes = object(&folder, "x86_64-linux-gnu", SORTS);
    let bytes = patched(&patched(&bytes, 0x20, &[64]), 0x36, &[1, 0, 1, 0]);
    compare_symbols(&folder, &bytes, 7, "wrong sizes of program headers");
    // COFF records weak symbols differently.
    let weak = "__attribute__((weak)) int weak(int x) { return x; }\n\
                __attribute__((weak)) extern int w; int *p(void) { return &w; }";
    for triple in ["x86_64-pc-windows-gnu", "aarch64-pc-windows-msvc"] {
        compare_symbols(&folder, &object(&folder, triple, weak), 1, triple);
    }
    // Test symbols that compilers rarely write: one with a size but no section, and one that is an
    // absolute number.
    let symbol = |name: &str, section: i32| {
        format!(
            "  - Name: {name}\n    Value: 8\n    SectionNumber: {section}\n    SimpleType: IMAGE_SYM_TYPE_NULL\n    \
             ComplexType: IMAGE_SYM_DTYPE_NULL\n    StorageClass: IMAGE_SYM_CLASS_EXTERNAL\n"
        )
    };
    let header = "--- !COFF\nheader:\n  Machine: IMAGE_FILE_MACHINE_AMD64\n  Characteristics: []\nsections: []\nsymbols:\n";
    let yaml = format!("{header}{}{}...\n", symbol("c", 0), symbol("a", -1));
    scratch::write(folder.join("odd.yaml"), yaml);
    run(llvm("yaml2obj"), &folder, "odd.yaml -o odd.obj");
    compare_symbols(&folder, &read(folder.join("odd.obj")), 2, "common and absolute");
}

/// LLVM reads the symbols of some kinds of object files that no device compiler writes. This
/// library does not read them.
#[test(LLVM)]
fn symbols_of_other_objects() {
    let folder = scratch::folder("archives-symbols-others");
    let object = object(&folder, "wasm32-unknown-unknown", "int f(void) { return 1; }");
    scratch::write(folder.join("m"), &object);
    llvm_ar(&folder, "--format=gnu crD m.a", &["m"]);
    assert_eq!(armap(&folder, "m.a"), ["f in m"]);
    assert_eq!(member_symbols(&object).unwrap(), None);
}

#[test(LLVM)]
fn symbols_of_linked_code_objects() {
    let folder = scratch::folder("archives-symbols-code-objects");
    scratch::write(
        folder.join("k.c"),
        "__attribute__((amdgpu_kernel)) void kernel(int *p) { *p = 1; }\nint variable = 3;\n",
    );
    for (strip, at_least) in [("", 2), ("-Wl,-s", 0)] {
        let options = "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib k.c -o k";
        run(llvm("clang"), &folder, &format!("{options} {strip}"));
        compare_symbols(&folder, &read(folder.join("k")), at_least, "a code object");
    }
}

#[test(needs(&[Tool::Llvm22, Tool::Cuda]))]
fn symbols_of_cubins() {
    let folder = scratch::folder("archives-symbols-cubins");
    let ptx = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 variable;\n\
               .visible .entry kernel() { ret; }\n.func local_function() { ret; }\n";
    scratch::write(folder.join("k.ptx"), ptx);
    run(cuda("ptxas"), &folder, "-arch=sm_90 k.ptx -o k.cubin");
    compare_symbols(&folder, &read(folder.join("k.cubin")), 2, "a cubin");
    run(cuda("ptxas"), &folder, "-arch=sm_90 -c k.ptx -o k.o");
    compare_symbols(&folder, &read(folder.join("k.o")), 2, "a relocatable cubin");
}

#[test(LLVM)]
fn symbols_of_bitcode() {
    let folder = scratch::folder("archives-symbols-bitcode");
    for (triple, source) in sources() {
        let bytes = bitcode(&folder, triple, &source);
        compare_symbols(&folder, &bytes, 7, triple);
        // Add bitcode's wrapper header: magic, version, offset, size, CPU type. For Apple's
        // targets, clang has already added this header.
        if bytes.starts_with(b"BC") {
            let fields = [0x0B17_C0DE, 0, 20, bytes.len() as u32, 7];
            let wrapped: Vec<u8> =
                fields.iter().flat_map(|it| it.to_le_bytes()).chain(bytes).collect();
            compare_symbols(&folder, &wrapped, 7, &format!("{triple}, wrapped"));
        }
    }
    for (source, options, at_least) in
        [(SORTS, "-flto=thin", 7), (SORTS, "-flto=thin -fsplit-lto-unit", 7), ("", "-emit-llvm", 0)]
    {
        let bytes = compile(&folder, "x86_64-linux-gnu", source, options);
        compare_symbols(&folder, &bytes, at_least, options);
    }
}

#[test(LLVM)]
fn symbols_of_bitcode_put_together() {
    let folder = scratch::folder("archives-symbols-bitcode-link");
    let triple = "x86_64-linux-gnu";
    scratch::write(folder.join("1.bc"), bitcode(&folder, triple, SORTS));
    scratch::write(folder.join("2.bc"), bitcode(&folder, triple, "int g(void) { return 2; }"));
    for (tool, options) in [("llvm-link", "1.bc 2.bc"), ("opt", "-O2 1.bc")] {
        run(llvm(tool), &folder, &format!("{options} -o out.bc"));
        compare_symbols(&folder, &read(folder.join("out.bc")), 7, tool);
    }
    // LLVM does not accept two concatenated bitcode files, so its archive lists no symbols for
    // them.
    let both = [read(folder.join("1.bc")), read(folder.join("2.bc"))].concat();
    assert!(Bitcode::parse(&both).is_err());
    compare_symbols(&folder, &both, 0, "two files in a row");
}

/// If bitcode lacks a symbol table, LLVM reads the symbols from the bitcode's modules. This library
/// does not.
#[test(LLVM)]
fn bitcode_without_a_symbol_table() {
    let folder = scratch::folder("archives-symbols-bitcode-none");
    scratch::write(folder.join("1.bc"), bitcode(&folder, "x86_64-linux-gnu", SORTS));
    run(llvm("llvm-cat"), &folder, "1.bc -o out.bc");
    assert_eq!(Bitcode::parse(&read(folder.join("out.bc"))).unwrap().defined_globals().count(), 0);
}
