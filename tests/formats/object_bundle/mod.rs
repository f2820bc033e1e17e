//! Bundles in host objects from many compilers. Tests compare them with those of
//! clang-offload-bundler 22 and llvm-objcopy 22, and link them with several linkers.
//!
//! "Object bundles" in docs/formats.md explains the facts that the cases test. tests/corpus has
//! small files written by LLVM.

mod differences;
mod hostile;
mod linking;
mod same_bytes;
mod stripping;

use offload_format::bundle::BundleBuilder;
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::bundler;
use offload_tests::prelude::*;

const HOST: &str = "host-x86_64-unknown-linux-gnu";
const GFX906: &str = "hip-amdgcn-amd-amdhsa--gfx906";

const DEVICES: [(&str, &[u8]); 3] = [
    ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", b"code object of nineteen"),
    ("hip-amdgcn-amd-amdhsa--gfx908", b""),
    ("openmp-nvptx64-nvidia-cuda--sm_70", b"PTX"),
];

/// Returns [`DEVICES`] with the host's entry inserted at this index, with this payload.
fn entries(host: &[u8], host_at: usize) -> Vec<(&str, &[u8])> {
    let mut all = DEVICES.to_vec();
    all.insert(host_at, (HOST, host));
    all
}

/// Writes clang-offload-bundler's bundle of a host object and [`DEVICES`] to `theirs`.
fn their_bundle(folder: &Path, host: &Path, host_at: usize) -> Vec<u8> {
    bundler::bundle(folder, "-type=o", &entries(&read(host), host_at), "theirs")
}

fn bundle_of(host: &[u8], entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = BundleBuilder::new();
    for (id, code_object) in entries {
        builder.entry(id, code_object.len() as u64).unwrap();
    }
    let payloads: Vec<&[u8]> = entries.iter().map(|(_, code_object)| *code_object).collect();
    let layout = object_bundle::bundle(host, &builder).unwrap_or_else(|error| panic!("{error}"));
    layout.to_vec(&payloads)
}

fn our_bundle(host: &[u8], host_at: usize) -> Vec<u8> {
    bundle_of(host, &entries(b"", host_at))
}

/// Unbundles all [`DEVICES`] and the host with clang-offload-bundler. Returns the host.
fn unbundled(folder: &Path, fat: &str) -> Vec<u8> {
    let ids = entries(b"", DEVICES.len()).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    let mut found = bundler::unbundled("-type=o", &folder.join(fat), &ids);
    let host = found.pop().expect("the host comes last");
    assert_eq!(found, DEVICES.map(|(_, code_object)| code_object));
    host
}

/// Asserts that bundling and stripping produce LLVM's bytes, with the host's entry first or last,
/// and that LLVM reads our bundles.
fn same_as_llvm(folder: &Path, host: &Path) {
    let bytes = read(host);
    for host_at in [0, DEVICES.len()] {
        let theirs = their_bundle(folder, host, host_at);
        let ours = our_bundle(&bytes, host_at);
        assert_same_bytes(&ours, &theirs, &format!("{} in a bundle", host.display()));
        // Our bundle equals LLVM's, so LLVM extracts the same host from both.
        let stripped = unbundled(folder, "theirs");
        let what = format!("{} out of a bundle", host.display());
        assert_same_bytes(&object_bundle::strip(&theirs).unwrap(), &stripped, &what);
        let found: Vec<_> = ObjectBundle::parse(&ours).unwrap().entries().collect();
        let devices = found.iter().filter(|it| !it.is_host_placeholder());
        let devices: Vec<&[u8]> = devices.map(|it| it.code_object).collect();
        assert_eq!(devices, DEVICES.map(|(_, code_object)| code_object));
        assert!(found[host_at].is_host_placeholder());
    }
    // An object without a bundle does not change.
    assert!(object_bundle::strip(&bytes).unwrap() == bytes);
}

/// Returns symbols, relocations and groups, as printed by llvm-readelf.
fn contents(folder: &Path, object: &str) -> String {
    let listing = run(llvm("llvm-readelf"), folder, &format!("-s -r -g -W {object}"));
    // "Relocation section '.rela.text' at offset 0x4a0 contains 12 entries:"
    let lines = listing.lines().map(|line| line.split(" at offset").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

/// Removes an object's bundle with llvm-objcopy, and returns the remaining object.
fn objcopy_strips(folder: &Path, object: &str) -> Option<Vec<u8>> {
    let options =
        format!("--regex --remove-section=__CLANG_OFFLOAD_BUNDLE__.* -- {object} theirs.o");
    succeeds(llvm("llvm-objcopy"), folder, &options).then(|| read(folder.join("theirs.o")))
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

/// C++ with COMDAT groups, exceptions, virtual tables and a guarded static. This source needs no
/// library.
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

/// Compiles a source (its file name and text) to `host.o`.
fn compile(folder: &Path, compiler: Command, options: &str, source: (&str, &str)) -> PathBuf {
    let (file, text) = source;
    scratch::write(folder.join(file), text);
    run(compiler, folder, &format!("{options} -w -c {file} -o host.o"));
    folder.join("host.o")
}

/// Compiles a source to `host.o` with clang. `target` may include more options.
fn clang(folder: &Path, target: &str, source: (&str, &str)) -> PathBuf {
    compile(folder, llvm("clang"), &format!("--target={target}"), source)
}

fn from_yaml(folder: &Path, yaml: &str) -> PathBuf {
    scratch::write(folder.join("host.yaml"), yaml);
    run(llvm("yaml2obj"), folder, "host.yaml -o host.o");
    folder.join("host.o")
}
