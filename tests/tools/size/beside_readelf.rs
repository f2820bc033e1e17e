//! Tests that compare the sizes of kernels and sections with those of LLVM's `llvm-readelf`.

use super::{check_sums, json, list, number, sizes};
use crate::{corpus_path, text};
use offload_tests::registry::LLVM;
use offload_tests::tools::{llvm, stdout, succeed};
use offload_tests::{data, scratch};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    LLVM => [
        kernels_and_sections_as_readelf_has_them,
        sections_of_the_host_as_readelf_has_them,
        compressed_images_share_what_is_stored,
    ],
}

/// Returns the sizes of functions by name.
fn functions(file: &Path) -> BTreeMap<String, u64> {
    let printed = stdout(&succeed(llvm("llvm-readelf").arg("-sW").arg(file)));
    let rows = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() >= 8 && row[3] == "FUNC");
    rows.map(|row| (row[row.len() - 1].to_owned(), row[2].parse().expect("a size"))).collect()
}

/// Returns the file sizes of sections by name. The sizes of sections with the same name are added
/// up.
fn sections(file: &Path) -> BTreeMap<String, u64> {
    let printed = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(file)));
    let mut sizes = BTreeMap::new();
    // The columns are [Nr] Name Type Address Off Size ...
    for row in
        printed.lines().filter_map(|line| line.trim_start().strip_prefix('[')?.split_once("] "))
    {
        let columns: Vec<&str> = row.1.split_whitespace().collect();
        if let [name, kind, _, _, size, ..] = columns[..]
            && name.starts_with(['.', '_'])
            && kind != "NOBITS"
        {
            *sizes.entry(name.to_owned()).or_default() +=
                u64::from_str_radix(size, 16).expect("a size");
        }
    }
    sizes.retain(|_, size| *size > 0);
    sizes
}

#[track_caller]
fn check_image(file: &Path) -> usize {
    let account = check_sums(file, &[]);
    let image = &account["images"][0];
    let (functions, mut expected) = (functions(file), sections(file));
    let kernels = sizes(list(&image["kernels"]));
    for kernel in list(&image["kernels"]) {
        let name = kernel["name"].as_str().expect("a name");
        assert_eq!(
            Some(&number(&kernel["size"])),
            functions.get(name),
            "{}: {name}",
            file.display()
        );
        assert_eq!(kernel["bytes"], kernel["size"], "{}: {name}", file.display());
        // cargo offload size adds up the sections of all kernels.
        let own: Vec<String> =
            expected.keys().filter(|it| it.ends_with(&format!(".{name}"))).cloned().collect();
        for section in own {
            let size = expected.remove(&section).expect("it was listed");
            *expected.entry(section[..section.len() - name.len() - 1].to_owned()).or_default() +=
                size;
        }
    }
    if let Some(text) = expected.get_mut(".text") {
        *text -= kernels.values().sum::<u64>();
    }
    expected.retain(|_, size| *size > 0);
    assert_eq!(sizes(list(&image["sections"])), expected, "{}", file.display());
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

/// Compiles a code object of four kernels.
fn compile(folder: &Path, target: &str) -> PathBuf {
    scratch::write(folder.join("kernels.hip"), SOURCE);
    let out = folder.join(format!("{target}.hsaco"));
    let mut clang = llvm("clang");
    clang.args([
        "-x",
        "hip",
        "--cuda-device-only",
        "--no-gpu-bundle-output",
        "-nogpuinc",
        "-nogpulib",
        "-O2",
        "-include",
    ]);
    clang
        .arg(scratch::workspace().join("offload-build/include/offload/kernel.h"))
        .arg(format!("--offload-arch={target}"));
    succeed(clang.arg(folder.join("kernels.hip")).arg("-o").arg(&out));
    out
}

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

fn sections_of_the_host_as_readelf_has_them() {
    let file = corpus_path("fat_file/hip_nordc.o");
    let account = check_sums(&file, &[]);
    let mut expected = sections(&file);
    assert!(expected.remove(".hip_fatbin").is_some());
    assert_eq!(sizes(list(&account["sections"])), expected);
}

fn compressed_images_share_what_is_stored() {
    let folder = scratch::folder("size-compressed");
    let targets = ["gfx906", "gfx90a", "gfx1100"];
    let bundle = |name: &str, options: &[&str]| {
        let out = folder.join(name);
        let mut bundler = llvm("clang-offload-bundler");
        let ids = targets.map(|target| format!("hipv4-amdgcn-amd-amdhsa--{target}")).join(",");
        bundler.args(["-type=o", "-bundle-align=4096", "-input=/dev/null"]).args(options);
        bundler
            .arg(format!("-targets=host-x86_64-unknown-linux-gnu,{ids}"))
            .arg(format!("-output={}", out.display()));
        for target in targets {
            bundler.arg(format!("-input={}", compile(&folder, target).display()));
        }
        succeed(&mut bundler);
        out
    };
    let plain = check_sums(&bundle("plain.hipfb", &[]), &[]);
    let file = bundle("compressed.hipfb", &["-compress"]);
    let compressed = check_sums(&file, &["--kernels"]);
    let stored = fs::metadata(&file).expect("it is there").len();
    for (plain, compressed) in list(&plain["images"]).iter().zip(list(&compressed["images"])) {
        assert_eq!(plain["target"], compressed["target"]);
        assert_eq!(plain["size"], compressed["size"]);
        for key in ["kernels", "sections"] {
            assert_eq!(
                sizes(list(&plain[key])),
                sizes(list(&compressed[key])),
                "{key} of {}",
                plain["target"]
            );
            assert!(!list(&plain[key]).is_empty());
        }
        // An image's share of the compressed bytes is proportional to its size.
        let [size, inflated] = [&plain["size"], &plain["bytes"]].map(number);
        assert_eq!(size, inflated);
        let whole = number(&json(&[text(&folder.join("plain.hipfb"))])["size"]);
        let share = number(&compressed["bytes"])
            .abs_diff((u128::from(stored) * u128::from(size) / u128::from(whole)) as u64);
        assert!(share <= 1, "{compressed}");
    }
    assert_eq!(list(&compressed["images"]).len(), targets.len());
}
