//! Compares archives of all kinds with those of `llvm-ar`, `llvm-lib` and GNU `ar`. This library
//! must read the tools' archives, the tools must read ours, and our bytes must equal LLVM's.

mod hostile;
mod large;
mod reading;
mod symbols;
mod writing;

use offload_format::archive::{Archive, ArchiveBuilder};
use offload_format::device_archive::member_symbols;
use offload_tests::prelude::*;

/// Names for members, with lengths around the limits of the archive kinds.
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

type Member = (String, Vec<u8>);

/// Creates a folder with the members, some of which are objects. Returns the members' names and
/// contents.
fn members(folder: &Path) -> Vec<Member> {
    let object = object(folder, "x86_64-linux-gnu", "int f(void){return 1;} int common_v;");
    let members = NAMES.iter().enumerate().map(|(number, name)| {
        let bytes = match number % 3 {
            0 => object.clone(),
            _ => some_bytes(number, 10 * number + number / 2),
        };
        scratch::write(folder.join(name), &bytes);
        ((*name).to_owned(), bytes)
    });
    members.collect()
}

/// Writes an archive of files in the folder with `llvm-ar`. `options` include the archive's name.
/// Returns the archive's bytes.
fn llvm_ar(folder: &Path, options: &str, names: &[&str]) -> Vec<u8> {
    let archive = options.split(' ').next_back().expect("the archive's name");
    succeed(in_folder(llvm("llvm-ar"), folder, options).args(names));
    read(folder.join(archive))
}

/// Returns an archive's member names, as listed by an archiver.
fn listed(archiver: Command, folder: &Path, archive: &str) -> Vec<String> {
    run(archiver, folder, &format!("t {archive}")).lines().map(str::to_owned).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the members that our reader finds in an archive.
fn read_members(archive: &[u8]) -> Vec<Member> {
    let members = Archive::parse(archive).unwrap().members();
    members.map(|member| (text(member.name), member.data.unwrap().to_vec())).collect()
}

/// Returns the symbol table as `llvm-nm` prints it: `NAME in MEMBER`.
fn armap(folder: &Path, archive: &str) -> Vec<String> {
    // Errors that llvm-nm reports about members do not matter here.
    let options = format!("--print-armap {archive}");
    let output = in_folder(llvm("llvm-nm"), folder, &options).output().unwrap();
    let text = stdout(&output);
    let lines = text.lines().skip_while(|line| *line != "Archive map").skip(1);
    lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Returns the symbol table of an archive, in the format of `llvm-nm`.
fn our_armap(archive: &[u8]) -> Vec<String> {
    let symbols = archive_symbols(archive).into_iter();
    symbols.map(|(symbol, member)| format!("{} in {}", text(&symbol), text(&member))).collect()
}

fn archive_of(members: &[Member]) -> Vec<u8> {
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

/// A source with symbols of every kind that all targets support.
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

fn compile(folder: &Path, triple: &str, source: &str, options: &str) -> Vec<u8> {
    scratch::write(folder.join("source.c"), source);
    let cpu = match triple.split('-').next() {
        Some("amdgcn") => "-mcpu=gfx906 -nogpulib",
        Some("nvptx64") => "-march=sm_70 -nogpulib --cuda-feature=+ptx70",
        _ => "-fcommon",
    };
    let options = format!("--target={triple} {cpu} {options} -O1 -w -c source.c -o out");
    run(llvm("clang"), folder, &options);
    read(folder.join("out"))
}

fn object(folder: &Path, triple: &str, source: &str) -> Vec<u8> {
    compile(folder, triple, source, "")
}

fn bitcode(folder: &Path, triple: &str, source: &str) -> Vec<u8> {
    compile(folder, triple, source, "-emit-llvm")
}
