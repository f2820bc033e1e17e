//! Compares the sizes of kernels and sections with those that `llvm-readelf` prints.

use super::{check_sums, list, number, sizes};
use crate::string;
use offload_tests::judges::{functions, section_rows};
use offload_tests::prelude::*;
use serde_json::Value;

/// Returns the file sizes of sections by name, added up for equal names.
fn sections(file: &Path) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    let printed = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(file)));
    for row in section_rows(&printed) {
        if let [name, kind, _, _, size, ..] = row[..]
            && name.starts_with(['.', '_'])
            && kind != "NOBITS"
        {
            let size = u64::from_str_radix(size, 16).expect("a size");
            *sizes.entry(name.to_owned()).or_default() += size;
        }
    }
    sizes.retain(|_, size| *size > 0);
    sizes
}

/// Asserts that sizes equal those that `llvm-readelf` prints.
#[track_caller]
fn assert_sizes(ours: &Value, theirs: &BTreeMap<String, u64>, file: &Path) {
    let theirs = theirs.iter().map(|(name, size)| (name.as_str(), *size)).collect();
    assert_eq!(sizes(ours), theirs, "{}", file.display());
}

#[track_caller]
fn check_image(file: &Path) -> usize {
    let account = check_sums(file, &[]);
    let image = &account["images"][0];
    let (functions, mut expected) = (functions(file), sections(file));
    for kernel in list(&image["kernels"]) {
        let name = string(&kernel["name"]);
        let size = Some(&number(&kernel["size"]));
        assert_eq!(size, functions.get(name), "{}: {name}", file.display());
        assert_eq!(kernel["bytes"], kernel["size"], "{}: {name}", file.display());
        // `cargo offload size` adds up the sections of all kernels.
        let end = format!(".{name}");
        let own: Vec<String> = expected.keys().filter(|it| it.ends_with(&end)).cloned().collect();
        for section in own {
            let size = expected.remove(&section).expect("it was listed");
            *expected.entry(section[..section.len() - end.len()].to_owned()).or_default() += size;
        }
    }
    let kernels = sizes(&image["kernels"]);
    if let Some(text) = expected.get_mut(".text") {
        *text -= kernels.values().sum::<u64>();
    }
    expected.retain(|_, size| *size > 0);
    assert_sizes(&image["sections"], &expected, file);
    kernels.len()
}

const SOURCE: &str = r#"
__device__ int table[300] = {1, 2, 3};
__device__ __attribute__((noinline)) int helper(int n) { return n * table[n]; }
template <int N> __global__ void step(int *out) {
#pragma unroll
  for (int i = 0; i < N; i++) out[i * threadIdx.x] += helper(i);
}
template __global__ void step<1>(int *); template __global__ void step<7>(int *); template __global__ void step<40>(int *);
extern "C" __global__ void last(int *out) { out[0] = 1; }
"#;

fn compile(folder: &Path, target: &str) -> PathBuf {
    scratch::write(folder.join("kernels.hip"), SOURCE);
    let out = folder.join(format!("{target}.hsaco"));
    let options =
        "-x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -O2 -include";
    let mut clang = llvm("clang");
    clang.args(options.split(' '));
    clang.arg(scratch::workspace().join("offload-build/include/offload/kernel.h"));
    clang.arg(format!("--offload-arch={target}"));
    succeed(clang.arg(folder.join("kernels.hip")).arg("-o").arg(&out));
    out
}

#[test(LLVM)]
fn kernels_and_sections_as_readelf_has_them() {
    let folder = scratch::folder("size-readelf");
    for target in ["gfx90a", "gfx1100"] {
        assert_eq!(check_image(&compile(&folder, target)), 4);
    }
    let images = data::corpus("image").into_iter();
    let images =
        images.filter(|file| file.extension().is_some_and(|it| it == "cubin" || it == "hsaco"));
    let kernels: usize = images.map(|file| check_image(&file)).sum();
    assert!(kernels > 8, "{kernels} kernels");
}

#[test(LLVM)]
fn sections_of_the_host_as_readelf_has_them() {
    let file = corpus_path("fat_file/hip_nordc.o");
    let account = check_sums(&file, &[]);
    let mut expected = sections(&file);
    assert!(expected.remove(".hip_fatbin").is_some());
    assert_sizes(&account["sections"], &expected, &file);
}
