//! Archives of all kinds beside those of `llvm-ar`, `llvm-lib` and GNU `ar`: each side reads the other's, and what we
//! write is what LLVM writes.

use offload_format::ErrorKind;
use offload_format::archive::{Archive, ArchiveBuilder, Kind, WriteError, write_darwin_library};
use offload_format::device_archive::member_symbols;
use offload_format::image::Bitcode;
use offload_format::layout::Piece;
use offload_tests::data::{Random, assert_same_bytes, read, some_bytes};
use offload_tests::registry::{CLANG, LLVM, NOTHING, needs};
use offload_tests::scratch;
use offload_tests::tools::{Tool, llvm, stdout, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        every_kind_is_read,
        libraries_for_windows_are_read,
        thin_archives_are_read,
        a_last_member_without_padding,
        ours_are_llvms,
        libraries_for_macos_are_llvms,
        random_archives,
        the_table_of_64_bit_offsets,
        members_behind_4_gib,
        symbols_of_objects,
        symbols_of_other_objects,
        symbols_of_linked_code_objects,
        symbols_of_bitcode,
        symbols_of_bitcode_put_together,
        bitcode_without_a_symbol_table,
        every_truncation,
        every_byte_changed,
    ],
    CLANG => [archives_of_gnu_ar_are_read, a_member_named_like_a_symbol_table],
    NOTHING => [what_the_format_cannot_hold, tables_that_ask_for_much_work],
    needs(&[Tool::Llvm22, Tool::Cuda]) => [symbols_of_cubins],
}

// ---------------------------------------------------------------------------------------------------------- reading

/// Names of all lengths around the limits of the kinds, sizes odd and even, one name twice.
const NAMES: [&str; 9] = [
    "a.o",
    "fourteen_ch.bc",
    "fifteen_char.bc",
    "sixteen_chars.bc",
    "seventeen_char.bc",
    "a name with spaces.o",
    "short name",
    "\u{e9}.o",
    "a_much_longer_name_that_needs_a_table_in_every_kind_of_archive.cubin",
];

/// A folder with the members, and what they hold. Some are objects.
fn members(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let objects = [object(folder, "x86_64-linux-gnu", "int f(void){return 1;} int common_v;"), Vec::new()];
    let members = NAMES.iter().enumerate().map(|(number, name)| {
        let bytes = match number % 3 {
            0 => objects[0].clone(),
            _ => some_bytes(number, 10 * number + number / 2),
        };
        scratch::write(folder.join(name), &bytes);
        ((*name).to_owned(), bytes)
    });
    members.collect()
}

/// Members of an archive, as we read them.
fn read_members(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let archive = Archive::parse(archive).unwrap();
    let name = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    archive.members().map(|member| (name(member.name()), member.data().unwrap().to_vec())).collect()
}

/// The symbol table as `llvm-nm` prints it: `NAME in MEMBER`.
fn armap(folder: &Path, archive: &str) -> Vec<String> {
    // It may not like the members, which is another matter.
    let output = llvm("llvm-nm").current_dir(folder).args(["--print-armap", archive]).output().unwrap();
    let text = stdout(&output);
    let lines = text.lines().skip_while(|line| *line != "Archive map").skip(1).take_while(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// The symbol table as we read it, in the same words.
fn our_armap(archive: &[u8]) -> Vec<String> {
    let archive = Archive::parse(archive).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let symbols = archive.symbols().unwrap().map(|symbol| {
        format!("{} in {}", text(symbol.name()), text(archive.member_at(symbol.member_offset()).unwrap().name()))
    });
    symbols.collect()
}

fn every_kind_is_read() {
    for (format, kind) in [("gnu", Kind::Gnu), ("bsd", Kind::Bsd), ("darwin", Kind::Bsd), ("coff", Kind::Coff)] {
        let folder = scratch::folder(&format!("archives-read-{format}"));
        let members = members(&folder);
        let mut tool = llvm("llvm-ar");
        tool.current_dir(&folder).args(["crD", &format!("--format={format}"), "x.a"]).args(NAMES);
        succeed(&mut tool);
        let bytes = read(folder.join("x.a"));
        let archive = Archive::parse(&bytes).unwrap();
        assert_eq!((archive.kind(), archive.is_thin()), (kind, false), "{format}");
        if format != "darwin" {
            assert_eq!(read_members(&bytes), members, "{format}");
        } else {
            // Members have a multiple of 8 bytes there.
            let found = read_members(&bytes);
            assert_eq!(found.len(), members.len());
            for ((name, bytes), (other, found)) in members.iter().zip(&found) {
                let (start, pad) = found.split_at(bytes.len());
                assert!(name == other && start == bytes && pad.len() < 8 && pad.iter().all(|byte| *byte == b'\n'));
            }
        }
        let listed = stdout(&succeed(llvm("llvm-ar").current_dir(&folder).args(["t", "x.a"])));
        assert_eq!(listed.lines().collect::<Vec<_>>(), NAMES, "{format}");
        let symbols = our_armap(&bytes);
        assert_eq!(symbols, armap(&folder, "x.a"), "{format}");
        // Microsoft's has each symbol once.
        assert_eq!(symbols.len(), if kind == Kind::Coff { 2 } else { 6 }, "{format}");
        for member in archive.members() {
            assert_eq!((member.modified(), member.owner(), member.mode()), (Some(0), Some(0), Some(0o644)), "{format}");
        }
    }
}

fn libraries_for_windows_are_read() {
    let folder = scratch::folder("archives-read-lib");
    let mut tool = llvm("llvm-lib");
    tool.current_dir(&folder).arg("/out:x.lib");
    for (number, name) in ["one.obj", "a_name_of_more_than_15_bytes.obj", "three.obj"].iter().enumerate() {
        let source = format!("int z{number}(void){{return 1;}} int common_{number}; int a{number} = 3;");
        scratch::write(folder.join(name), object(&folder, "x86_64-pc-windows-msvc", &source));
        tool.arg(name);
    }
    succeed(&mut tool);
    scratch::write(folder.join("x.def"), "LIBRARY x.dll\nEXPORTS\n  one\n  two\n");
    succeed(llvm("llvm-lib").current_dir(&folder).args(["/def:x.def", "/machine:x64", "/out:import.lib"]));
    for (name, symbols) in [("x.lib", 9), ("import.lib", 7)] {
        let bytes = read(folder.join(name));
        assert_eq!(Archive::parse(&bytes).unwrap().kind(), Kind::Coff);
        let found = our_armap(&bytes);
        assert_eq!(found, armap(&folder, name));
        assert_eq!(found.len(), symbols, "{found:?}");
        let listed = stdout(&succeed(llvm("llvm-ar").current_dir(&folder).args(["t", name])));
        let names: Vec<String> = read_members(&bytes).into_iter().map(|(name, _)| name).collect();
        assert_eq!(listed.lines().collect::<Vec<_>>(), names);
    }
}

fn thin_archives_are_read() {
    let folder = scratch::folder("archives-read-thin");
    let members = members(&folder);
    fs::create_dir(folder.join("sub")).unwrap();
    scratch::write(folder.join("sub/b.o"), object(&folder, "x86_64-linux-gnu", "int g(void){return 1;}"));
    let mut tool = llvm("llvm-ar");
    succeed(tool.current_dir(&folder).args(["crD", "--thin", "x.a"]).args(NAMES).arg("sub/b.o"));
    let bytes = read(folder.join("x.a"));
    let archive = Archive::parse(&bytes).unwrap();
    assert!(archive.is_thin());
    let found: Vec<_> = archive.members().map(|it| (it.name(), it.size(), it.data())).collect();
    let last = read(folder.join("sub/b.o"));
    let expected = members.iter().map(|(name, bytes)| (name.as_bytes(), bytes.len() as u64, None));
    let expected = expected.chain([(&b"sub/b.o"[..], last.len() as u64, None)]);
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert_eq!(our_armap(&bytes), armap(&folder, "x.a"));
}

fn archives_of_gnu_ar_are_read() {
    let folder = scratch::folder("archives-read-gnu-ar");
    let members = members(&folder);
    succeed(Command::new("ar").current_dir(&folder).args(["crU", "x.a"]).args(NAMES));
    let bytes = read(folder.join("x.a"));
    assert_eq!(read_members(&bytes), members);
    assert_eq!(our_armap(&bytes), armap(&folder, "x.a"));
    let archive = Archive::parse(&bytes).unwrap();
    let first = archive.members().next().unwrap();
    let file = fs::metadata(folder.join(NAMES[0])).unwrap();
    let modified = file.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(first.modified(), Some(modified));
    // It lists ours too.
    scratch::write(folder.join("ours.a"), archive_of(&members));
    let listed = stdout(&succeed(Command::new("ar").current_dir(&folder).args(["t", "ours.a"])));
    assert_eq!(listed.lines().collect::<Vec<_>>(), NAMES);
}

// ---------------------------------------------------------------------------------------------------------- writing

/// Our archive of these members, with the symbols that they have.
fn archive_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = ArchiveBuilder::new();
    for (name, bytes) in members {
        match member_symbols(bytes).unwrap() {
            Some(symbols) => builder.object(name, bytes.len() as u64, symbols).unwrap(),
            None => builder.member(name, bytes.len() as u64).unwrap(),
        };
    }
    let payloads: Vec<&[u8]> = members.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    builder.layout().to_vec(&payloads)
}

/// Our archive is that of `llvm-ar`. Files lie in folders of their own, so that names may repeat.
#[track_caller]
fn compare(folder: &Path, members: &[(String, Vec<u8>)]) {
    let _ = fs::remove_file(folder.join("theirs.a"));
    let mut tool = llvm("llvm-ar");
    tool.current_dir(folder).args(["--format=gnu", "qcD", "theirs.a"]);
    for (number, (name, bytes)) in members.iter().enumerate() {
        let path = format!("{number}/{name}");
        scratch::write(folder.join(&path), bytes);
        tool.arg(path);
    }
    succeed(&mut tool);
    let ours = archive_of(members);
    let names: Vec<_> = members.iter().map(|(name, bytes)| (name, bytes.len())).collect();
    assert_same_bytes(&ours, &read(folder.join("theirs.a")), &format!("{names:?}"));
    assert_eq!(read_members(&ours), members);
}

fn ours_are_llvms() {
    let folder = scratch::folder("archives-write");
    let members = members(&folder);
    compare(&folder, &[]);
    compare(&folder, &members);
    for count in 1..members.len() {
        compare(&folder, &members[count..]);
        compare(&folder, &members[..=count]);
    }
    let twice: Vec<_> = members.iter().chain(&members).cloned().collect();
    compare(&folder, &twice);
    // Many symbols.
    let source: String = (0..500).map(|it| format!("int symbol_{it}(void) {{ return {it}; }}\n")).collect();
    compare(&folder, &[("many.o".to_owned(), object(&folder, "x86_64-linux-gnu", &source))]);
}

/// Payloads and names of every size modulo the alignment.
fn libraries_for_macos_are_llvms() {
    let folder = scratch::folder("archives-macos");
    for number in 0..8 {
        let member = format!("{}.o", "m".repeat(number + 1));
        let symbol = format!("f{}", "n".repeat(number));
        let source = format!("char {symbol}[{}] = {{1}};\n", 1000 + 8 * number);
        let bytes = object(&folder, "arm64-apple-macos11", &source);
        // What follows an object is nothing to a reader of it, and makes its size odd.
        let bytes = [bytes, vec![0; number]].concat();
        scratch::write(folder.join(&member), &bytes);
        let theirs = format!("{number}.a");
        let mut tool = llvm("llvm-ar");
        succeed(tool.current_dir(&folder).args(["crD", "--format=darwin", &theirs, &member]));
        let ours = write_darwin_library(&member, &format!("_{symbol}"), bytes.len() as u64).to_vec(&[&bytes]);
        assert_same_bytes(&ours, &read(folder.join(&theirs)), &theirs);
        let archive = Archive::parse(&ours).unwrap();
        assert_eq!(archive.kind(), Kind::Bsd);
        assert_eq!(our_armap(&ours), armap(&folder, &theirs));
    }
}

fn a_member_named_like_a_symbol_table() {
    let folder = scratch::folder("archives-write-symdef");
    let members = ["__.SYMDEF", "other"].map(|name| (name.to_owned(), b"text".to_vec()));
    for (name, bytes) in &members {
        scratch::write(folder.join(name), bytes);
    }
    succeed(llvm("llvm-ar").current_dir(&folder).args(["--format=gnu", "crD", "theirs.a", "__.SYMDEF", "other"]));
    scratch::write(folder.join("ours.a"), archive_of(&members));
    assert_eq!(read_members(&read(folder.join("ours.a"))), members);
    for tool in ["llvm-ar", "ar"] {
        let list = |archive| {
            let mut tool = if tool == "ar" { Command::new(tool) } else { llvm(tool) };
            let output = tool.current_dir(&folder).args(["t", archive]).output().unwrap();
            output.status.success().then(|| stdout(&output))
        };
        assert_ne!(list("theirs.a").as_deref(), Some("__.SYMDEF\nother\n"), "{tool}");
        assert_eq!(list("ours.a").as_deref(), Some("__.SYMDEF\nother\n"), "{tool}");
    }
}

fn random_archives() {
    let folder = scratch::folder("archives-write-random");
    let objects = [
        object(&folder, "x86_64-linux-gnu", "int f(void){return 1;} int common_v;"),
        object(&folder, "x86_64-pc-windows-msvc", "int g(void){return 1;}"),
        bitcode(&folder, "x86_64-linux-gnu", "int hh(void){return 1;}"),
    ];
    let mut random = Random::new(7);
    for _ in 0..40 {
        let members = (0..random.below(8)).map(|_| {
            let mut name: String =
                (0..1 + random.below(40)).map(|_| "abc. -_+:"[random.below(9)..][..1].to_owned()).collect();
            // A name that the file system has for itself, or that is an option.
            name.insert(0, 'x');
            let bytes = match random.below(6) {
                kind @ 0..3 => objects[kind].clone(),
                _ => some_bytes(random.below(99), random.below(300)),
            };
            (name, bytes)
        });
        compare(&folder, &members.collect::<Vec<_>>());
    }
}

/// LLVM can be told to write 64-bit offsets earlier: what is in such a table is then known to us as theirs.
fn the_table_of_64_bit_offsets() {
    let folder = scratch::folder("archives-sym64");
    members(&folder);
    for (format, kind) in [("gnu", Kind::Gnu64), ("darwin", Kind::Darwin64)] {
        let mut tool = llvm("llvm-ar");
        tool.current_dir(&folder).env("SYM64_THRESHOLD", "1");
        succeed(tool.args(["crD", &format!("--format={format}"), &format!("{format}.a")]).args(NAMES));
        let bytes = read(folder.join(format!("{format}.a")));
        assert_eq!(Archive::parse(&bytes).unwrap().kind(), kind);
        assert_eq!(our_armap(&bytes), armap(&folder, &format!("{format}.a")));
        assert_eq!(our_armap(&bytes).len(), 6);
    }
}

/// A file with holes in place of the payloads is read by `llvm-nm` and `llvm-ar`.
fn members_behind_4_gib() {
    use std::io::{Seek, SeekFrom, Write};
    let folder = scratch::folder("archives-4-gib");
    let gib = 1u64 << 30;
    // The last member starts one byte below, at, and far behind 4 GiB; the first symbol's table has 32 or 64 bits.
    for (size, wide) in [(4 * gib - 400, false), (4 * gib, true), (9 * gib, true)] {
        let mut builder = ArchiveBuilder::new();
        builder.object("first", size, ["a", "bb"]).unwrap();
        builder.object("second", 3, ["c"]).unwrap();
        let layout = builder.layout();
        let mut file = fs::File::create(folder.join("x.a")).unwrap();
        for piece in layout.pieces() {
            match piece {
                Piece::Bytes(bytes) => file.write_all(bytes).unwrap(),
                Piece::Zeros(size) | Piece::Payload { size, .. } => {
                    file.seek(SeekFrom::Current(*size as i64)).unwrap();
                }
            }
        }
        file.set_len(layout.size()).unwrap();
        let Some(Piece::Bytes(head)) = layout.pieces().first() else { panic!("a header comes first") };
        assert_eq!(head[8..].starts_with(b"/SYM64/ "), wide, "{size}");
        assert_eq!(armap(&folder, "x.a"), ["a in first", "bb in first", "c in second"], "{size}");
        let listed = stdout(&succeed(llvm("llvm-ar").current_dir(&folder).args(["t", "x.a"])));
        assert_eq!(listed, "first\nsecond\n");
    }
    fs::remove_file(folder.join("x.a")).unwrap();
}

fn what_the_format_cannot_hold() {
    let mut builder = ArchiveBuilder::new();
    for name in ["", "a\nb"] {
        assert_eq!(builder.member(name, 1).unwrap_err(), WriteError::Name(name.into()));
    }
    assert_eq!(builder.member("a", 10_000_000_000).unwrap_err(), WriteError::Size(10_000_000_000));
    assert_eq!(builder.object("a", 1, ["fine", "a\0b"]).unwrap_err(), WriteError::SymbolName(b"a\0b".into()));
    assert_eq!(builder.layout().to_vec(&[]), b"!<arch>\n");
    let max = 9_999_999_999;
    assert_eq!(builder.member("a", max).unwrap().layout().size(), 8 + 60 + max + 1);
}

// ---------------------------------------------------------------------------------------------------------- symbols

/// Our archive of this member is that of `llvm-ar`, and has so many symbols at least.
#[track_caller]
fn compare_symbols(folder: &Path, bytes: &[u8], at_least: usize, what: &str) {
    scratch::write(folder.join("m"), bytes);
    let _ = fs::remove_file(folder.join("m.a"));
    succeed(llvm("llvm-ar").current_dir(folder).args(["--format=gnu", "crD", "m.a", "m"]));
    let (ours, theirs) = (archive_of(&[("m".to_owned(), bytes.to_vec())]), read(folder.join("m.a")));
    let symbols = our_armap(&ours);
    assert_eq!(symbols, our_armap(&theirs), "{what}");
    assert_same_bytes(&ours, &theirs, what);
    assert!(symbols.len() >= at_least, "{what}: {symbols:?}");
}

/// Symbols of every sort that all targets have.
const SORTS: &str = r#"
static int local(int x) { return x * 3; }
int defined(int x) { return local(x); }
__attribute__((weak)) int weak(int x) { return x; }
int common_variable;
int initialised = 3;
static int static_variable = 4;
int *pointer = &static_variable;
extern int other_variable;
extern int other_function(int);
__attribute__((visibility("hidden"))) int hidden(int x) { return other_function(x) + other_variable; }
inline int in_line(int x) { return x; }
int calls(int x) { return in_line(x); }
__attribute__((used)) static int used_local(int x) { return x; }
int renamed(int) __asm__("\01_renamed");
int renamed(int x) { return x; }
const char text[] = "text";
"#;

/// Those that not all have.
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
    TRIPLES.iter().map(|(triple, elf)| (*triple, [SORTS, if *elf { ELF_SORTS } else { "" }].concat()))
}

fn symbols_of_objects() {
    let folder = scratch::folder("archives-symbols-objects");
    for (triple, source) in sources().filter(|(triple, _)| !triple.starts_with("nvptx")) {
        let bytes = object(&folder, triple, &source);
        compare_symbols(&folder, &bytes, 7, triple);
        scratch::write(folder.join("in.o"), &bytes);
        for option in ["--strip-debug", "--strip-all"] {
            // Mach-O objects cannot be stripped like that.
            if !triple.contains("apple") {
                succeed(llvm("llvm-objcopy").current_dir(&folder).args([option, "in.o", "out.o"]));
                compare_symbols(&folder, &read(folder.join("out.o")), 0, &format!("{triple} {option}"));
            }
        }
    }
    // Weak symbols in COFF are another record.
    let weak = "__attribute__((weak)) int weak(int x) { return x; }\n\
                __attribute__((weak)) extern int w; int *p(void) { return &w; }";
    for triple in ["x86_64-pc-windows-gnu", "aarch64-pc-windows-msvc"] {
        compare_symbols(&folder, &object(&folder, triple, weak), 1, triple);
    }
    // What compilers seldom write: a symbol in no section with a size, and one that is an absolute number.
    let symbol = |name: &str, section: i32| {
        format!(
            "  - Name: {name}\n    Value: 8\n    SectionNumber: {section}\n    SimpleType: IMAGE_SYM_TYPE_NULL\n    \
             ComplexType: IMAGE_SYM_DTYPE_NULL\n    StorageClass: IMAGE_SYM_CLASS_EXTERNAL\n"
        )
    };
    let header =
        "--- !COFF\nheader:\n  Machine: IMAGE_FILE_MACHINE_AMD64\n  Characteristics: []\nsections: []\nsymbols:\n";
    scratch::write(folder.join("odd.yaml"), format!("{header}{}{}...\n", symbol("c", 0), symbol("a", -1)));
    succeed(llvm("yaml2obj").current_dir(&folder).args(["odd.yaml", "-o", "odd.obj"]));
    compare_symbols(&folder, &read(folder.join("odd.obj")), 2, "common and absolute");
}

/// Kinds of object files that no device compiler writes: LLVM knows their symbols, and we do not look.
fn symbols_of_other_objects() {
    let folder = scratch::folder("archives-symbols-others");
    scratch::write(folder.join("m"), object(&folder, "wasm32-unknown-unknown", "int f(void) { return 1; }"));
    succeed(llvm("llvm-ar").current_dir(&folder).args(["--format=gnu", "crD", "m.a", "m"]));
    assert_eq!(armap(&folder, "m.a"), ["f in m"]);
    assert_eq!(member_symbols(&read(folder.join("m"))).unwrap(), None);
}

fn symbols_of_linked_code_objects() {
    let folder = scratch::folder("archives-symbols-code-objects");
    scratch::write(
        folder.join("k.c"),
        "__attribute__((amdgpu_kernel)) void kernel(int *p) { *p = 1; }\nint variable = 3;\n",
    );
    for strip in [false, true] {
        let mut tool = llvm("clang");
        tool.current_dir(&folder).args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "k.c", "-o", "k"]);
        if strip {
            tool.arg("-Wl,-s");
        }
        succeed(&mut tool);
        compare_symbols(&folder, &read(folder.join("k")), if strip { 0 } else { 2 }, "a code object");
    }
}

fn symbols_of_cubins() {
    let folder = scratch::folder("archives-symbols-cubins");
    let ptx = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 variable;\n\
               .visible .entry kernel() { ret; }\n.func local_function() { ret; }\n";
    scratch::write(folder.join("k.ptx"), ptx);
    succeed(offload_tests::tools::cuda("ptxas").current_dir(&folder).args(["-arch=sm_90", "k.ptx", "-o", "k.cubin"]));
    compare_symbols(&folder, &read(folder.join("k.cubin")), 2, "a cubin");
    let mut tool = offload_tests::tools::cuda("ptxas");
    succeed(tool.current_dir(&folder).args(["-arch=sm_90", "-c", "k.ptx", "-o", "k.o"]));
    compare_symbols(&folder, &read(folder.join("k.o")), 2, "a relocatable cubin");
}

fn symbols_of_bitcode() {
    let folder = scratch::folder("archives-symbols-bitcode");
    for (triple, source) in sources() {
        let bytes = bitcode(&folder, triple, &source);
        compare_symbols(&folder, &bytes, 7, triple);
        // The same in a wrapper, whose fields are: magic, version, offset, size, CPU type. clang wraps it for Apple
        // itself.
        if bytes.starts_with(b"BC") {
            let fields = [0x0B17_C0DE, 0, 20, bytes.len() as u32, 7];
            let wrapped: Vec<u8> = fields.iter().flat_map(|it| it.to_le_bytes()).chain(bytes).collect();
            compare_symbols(&folder, &wrapped, 7, &format!("{triple}, wrapped"));
        }
    }
    let thin = compile(&folder, "x86_64-linux-gnu", SORTS, &["-flto=thin"]);
    compare_symbols(&folder, &thin, 7, "-flto=thin");
    let split = compile(&folder, "x86_64-linux-gnu", SORTS, &["-flto=thin", "-fsplit-lto-unit"]);
    compare_symbols(&folder, &split, 7, "-fsplit-lto-unit");
    compare_symbols(&folder, &compile(&folder, "x86_64-linux-gnu", "", &["-emit-llvm"]), 0, "an empty source");
}

fn symbols_of_bitcode_put_together() {
    let folder = scratch::folder("archives-symbols-bitcode-link");
    let triple = "x86_64-linux-gnu";
    scratch::write(folder.join("1.bc"), bitcode(&folder, triple, SORTS));
    scratch::write(folder.join("2.bc"), bitcode(&folder, triple, "int g(void) { return 2; }"));
    for (tool, options) in [("llvm-link", ["1.bc", "2.bc"]), ("opt", ["-O2", "1.bc"])] {
        succeed(llvm(tool).current_dir(&folder).args(options).args(["-o", "out.bc"]));
        compare_symbols(&folder, &read(folder.join("out.bc")), 7, tool);
    }
    // What one file put behind another is to LLVM: no bitcode, no symbols.
    let both = [read(folder.join("1.bc")), read(folder.join("2.bc"))].concat();
    assert!(Bitcode::parse(&both).is_err());
    compare_symbols(&folder, &both, 0, "two files in a row");
}

/// LLVM reads the modules then; we do not.
fn bitcode_without_a_symbol_table() {
    let folder = scratch::folder("archives-symbols-bitcode-none");
    scratch::write(folder.join("1.bc"), bitcode(&folder, "x86_64-linux-gnu", SORTS));
    succeed(llvm("llvm-cat").current_dir(&folder).args(["1.bc", "-o", "out.bc"]));
    assert_eq!(Bitcode::parse(&read(folder.join("out.bc"))).unwrap().defined_globals().count(), 0);
}

// ----------------------------------------------------------------------------------------------------------- hostile

/// One archive of each kind.
fn one_of_each() -> Vec<Vec<u8>> {
    let folder = scratch::folder(&format!("archives-each-{:?}", std::thread::current().id()));
    members(&folder);
    let variants = [("gnu", false), ("bsd", false), ("coff", false), ("gnu", true), ("darwin", true)];
    let archives = variants.map(|(format, wide)| {
        let mut tool = llvm("llvm-ar");
        tool.current_dir(&folder).args(["crD", &format!("--format={format}"), &format!("{format}{wide}.a")]);
        if wide {
            tool.env("SYM64_THRESHOLD", "1");
        }
        succeed(tool.args(&NAMES[1..6]).arg(NAMES[8]));
        read(folder.join(format!("{format}{wide}.a")))
    });
    archives.into()
}

/// Goes through all that can be asked; nothing may panic.
fn use_up(archive: &Archive<'_>) {
    for member in archive.members() {
        assert!(member.data().is_none_or(|data| data.len() as u64 == member.size()));
        let _ = (member.modified(), member.owner(), member.group(), member.mode());
    }
    for symbol in archive.symbols().into_iter().flatten() {
        let _ = archive.member_at(symbol.member_offset());
    }
    let _ = format!("{archive:?}");
}

/// The byte that pads the last member may be missing, as some archivers leave it.
fn a_last_member_without_padding() {
    let folder = scratch::folder("archives-no-padding");
    scratch::write(folder.join("odd"), "abc");
    succeed(llvm("llvm-ar").current_dir(&folder).args(["crD", "x.a", "odd"]));
    let bytes = read(folder.join("x.a"));
    assert_eq!(read_members(&bytes[..bytes.len() - 1]), [("odd".to_owned(), b"abc".to_vec())]);
}

fn every_truncation() {
    for bytes in one_of_each() {
        let ends: Vec<u64> = Archive::parse(&bytes).unwrap().members().map(|member| member.offset()).collect();
        for length in 0..bytes.len() {
            match Archive::parse(&bytes[..length]) {
                Ok(archive) => {
                    // Between two members, perhaps without the byte that pads the first; or behind a table.
                    let at_end = |end: &u64| (*end).abs_diff(length as u64) <= 1;
                    let tables = ends[0] >= length as u64;
                    assert!(tables || ends.iter().any(at_end) || length + 1 == bytes.len(), "{length}");
                    use_up(&archive);
                }
                Err(error) => {
                    assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. } | ErrorKind::Malformed
                        ),
                        "{error}"
                    );
                    assert!(error.offset() <= bytes.len() as u64, "{error}");
                }
            }
        }
    }
    let folder = scratch::folder("archives-truncated-bitcode");
    let bytes = bitcode(&folder, "x86_64-linux-gnu", SORTS);
    for length in 0..bytes.len() {
        if let Ok(bitcode) = Bitcode::parse(&bytes[..length]) {
            assert!(bitcode.defined_globals().count() <= 8);
        }
    }
}

fn every_byte_changed() {
    for bytes in one_of_each() {
        let archive = Archive::parse(&bytes).unwrap();
        // Tables and headers: what members hold is not looked at.
        let mut at: Vec<usize> = (0..archive.members().next().unwrap().offset() as usize).collect();
        at.extend(archive.members().flat_map(|member| member.offset() as usize..member.offset() as usize + 80));
        let mut changed = bytes.clone();
        for at in at {
            for value in [0, 1, b' ', b'/', b'#', b'9', b'\n', 0x7f, 0x80, 0xff] {
                changed[at] = value;
                if let Ok(archive) = Archive::parse(&changed) {
                    use_up(&archive);
                }
            }
            changed[at] = bytes[at];
        }
    }
    let folder = scratch::folder("archives-changed-bitcode");
    for mut changed in [
        bitcode(&folder, "x86_64-linux-gnu", "int f(void) { return 1; } int g;"),
        object(&folder, "x86_64-linux-gnu", "int f(void) { return 1; } int g;"),
        object(&folder, "x86_64-pc-windows-msvc", "int f(void) { return 1; } int g;"),
        object(&folder, "arm64-apple-macosx", "int f(void) { return 1; } int g;"),
    ] {
        for at in 0..changed.len() {
            let before = changed[at];
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                changed[at] = value;
                let _ = member_symbols(&changed);
            }
            changed[at] = before;
        }
    }
}

fn tables_that_ask_for_much_work() {
    let header = |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
    // Thousands of members whose name is the same megabyte without an end.
    let mut archive = format!("!<arch>\n{}{}", header("//", 1 << 20), "x".repeat(1 << 20));
    for _ in 0..20_000 {
        archive.push_str(&header("/0", 0));
    }
    assert_eq!(Archive::parse(archive.as_bytes()).unwrap_err().kind(), ErrorKind::Malformed);
    // The same with a name that is as long as it may be, which is no error.
    archive.replace_range(68 + 4096..68 + 4098, "/\n");
    assert_eq!(Archive::parse(archive.as_bytes()).unwrap().members().count(), 20_000);
    // Symbols that all have the same long name.
    let (count, text) = (50_000usize, 1 << 20);
    let mut table = ((8 * count) as u32).to_le_bytes().to_vec();
    table.resize(4 + 8 * count, 0);
    table.extend_from_slice(&(text as u32).to_le_bytes());
    table.resize(table.len() + text - 1, b'x');
    table.push(0);
    let mut archive = format!("!<arch>\n{}", header("__.SYMDEF", table.len())).into_bytes();
    archive.extend_from_slice(&table);
    let archive = Archive::parse(&archive).unwrap();
    assert_eq!(archive.symbols().unwrap_err().kind(), ErrorKind::Malformed);
}

// ----------------------------------------------------------------------------------------------------------- helpers

/// What clang makes of a C source.
fn compile(folder: &Path, triple: &str, source: &str, options: &[&str]) -> Vec<u8> {
    scratch::write(folder.join("source.c"), source);
    let cpu: &[&str] = match triple.split('-').next() {
        Some("amdgcn") => &["-mcpu=gfx906", "-nogpulib"],
        Some("nvptx64") => &["-march=sm_70", "-nogpulib", "--cuda-feature=+ptx70"],
        _ => &["-fcommon"],
    };
    let mut tool = llvm("clang");
    tool.current_dir(folder).arg(format!("--target={triple}")).args(cpu).args(options);
    succeed(tool.args(["-O1", "-w", "-c", "source.c", "-o", "out"]));
    read(folder.join("out"))
}

fn object(folder: &Path, triple: &str, source: &str) -> Vec<u8> {
    compile(folder, triple, source, &[])
}

fn bitcode(folder: &Path, triple: &str, source: &str) -> Vec<u8> {
    compile(folder, triple, source, &["-emit-llvm"])
}
