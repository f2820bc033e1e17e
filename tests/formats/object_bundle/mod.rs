//! Bundles in host objects, for objects of many compilers: compared with clang-offload-bundler 22
//! and llvm-objcopy 22, and linked with the linkers that must accept them.
//!
//! The section "Object bundles" of docs/formats.md explains the facts that the cases test.
//! tests/corpus has small files that LLVM wrote.

mod differences;
mod hostile;
mod linking;
mod reading;
mod same_bytes;
mod stripping;

use offload_format::bundle::BundleBuilder;
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

offload_tests::tests! {
    ;
    differences::tests(),
    hostile::tests(),
    linking::tests(),
    reading::tests(),
    same_bytes::tests(),
    stripping::tests(),
}

const HOST: &str = "host-x86_64-unknown-linux-gnu";

const DEVICES: [(&str, &[u8]); 3] = [
    ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", b"code object of nineteen"),
    ("hip-amdgcn-amd-amdhsa--gfx908", b""),
    ("openmp-nvptx64-nvidia-cuda--sm_70", b"PTX"),
];

/// Returns clang-offload-bundler's bundle of a host object and [`DEVICES`]. The host's entry is at
/// index `host_at`.
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

/// Returns our bundle of a host object and [`DEVICES`].
fn our_bundle(host: &[u8], host_at: usize) -> Vec<u8> {
    let mut entries = BundleBuilder::new();
    let mut all: Vec<(&str, &[u8])> = DEVICES.to_vec();
    all.insert(host_at, (HOST, b""));
    for (id, code_object) in &all {
        entries.entry(id, code_object.len() as u64).unwrap();
    }
    let payloads: Vec<&[u8]> = all.iter().map(|(_, code_object)| *code_object).collect();
    object_bundle::bundle(host, &entries)
        .unwrap_or_else(|error| panic!("{error}"))
        .to_vec(&payloads)
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

/// Asserts that we write LLVM's bytes in both directions, with the host's entry at each index, and
/// that LLVM reads our bundles.
fn same_as_llvm(folder: &Path, host: &Path) {
    let bytes = read(host);
    for host_at in [0, DEVICES.len()] {
        let theirs = their_bundle(folder, host, host_at);
        let ours = our_bundle(&bytes, host_at);
        assert_same_bytes(&ours, &theirs, &format!("{} in a bundle", host.display()));
        // Our bundle has the bytes of LLVM's, so LLVM extracts the same host from both.
        let stripped = unbundled(folder, "theirs");
        let what = format!("{} out of a bundle", host.display());
        assert_same_bytes(&object_bundle::strip(&theirs).unwrap(), &stripped, &what);
        let bundle = ObjectBundle::parse(&ours).unwrap();
        let found: Vec<_> = bundle
            .entries()
            .filter(|it| !it.is_host_placeholder())
            .map(|it| it.code_object())
            .collect();
        assert_eq!(found, DEVICES.map(|(_, code_object)| code_object));
        assert_eq!(bundle.entries().position(|it| it.is_host_placeholder()), Some(host_at));
    }
    // An object without a bundle does not change.
    assert!(object_bundle::strip(&bytes).unwrap() == bytes);
}

/// Returns symbols, relocations and groups, as llvm-readelf prints them.
fn contents(object: &Path) -> String {
    let output = succeed(llvm("llvm-readelf").args(["-s", "-r", "-g", "-W"]).arg(object));
    let listing = stdout(&output);
    // "Relocation section '.rela.text' at offset 0x4a0 contains 12 entries:"
    listing
        .lines()
        .map(|line| line.split(" at offset").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
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

const THREAD_LOCAL: &str =
    "__thread int tls; static __thread int tls2 = 5; int sum(void) { return tls + tls2; }";

/// C++ with COMDAT groups, exceptions, virtual tables and a guarded static; needs no library.
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
fn compile(
    folder: &Path,
    mut compiler: Command,
    source: &str,
    file: &str,
    options: &str,
    name: &str,
) -> PathBuf {
    scratch::write(folder.join(file), source);
    succeed(
        compiler
            .current_dir(folder)
            .args(options.split_whitespace())
            .args(["-w", "-c", file, "-o", name]),
    );
    folder.join(name)
}

fn from_yaml(folder: &Path, yaml: &str) -> PathBuf {
    scratch::write(folder.join("host.yaml"), yaml);
    succeed(llvm("yaml2obj").current_dir(folder).args(["host.yaml", "-o", "host.o"]));
    folder.join("host.o")
}

fn corpus(file: &str) -> Vec<u8> {
    read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/object_bundle").join(file))
}
