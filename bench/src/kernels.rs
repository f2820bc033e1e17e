//! The cost of typed kernel functions in a build: `clang` reads each source once more, and rustc
//! compiles the functions.

use crate::build::{OFFLOAD_BUILD, kernel, package};
use crate::data;
use crate::measure::{least, llvm_program, print_row, succeed, time};
use crate::package::Package;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs the builds of this module, and prints their times.
pub fn bench() {
    println!("kernels: functions of include_kernels!");
    let Some(clang) = llvm_program("clang") else {
        println!("  (no LLVM 22 to compile with)");
        return;
    };
    let folder = data::folder().join("kernels");
    let _ = fs::remove_dir_all(&folder);
    sources(&folder, &clang);
    functions(&folder, &clang);
    let _ = fs::remove_dir_all(&folder);
}

const SOURCES: usize = 4;

/// The number of GPU kinds among the targets: AMD's and NVIDIA's.
const KINDS: usize = 2;

/// Measures builds of the sources for both vendors' GPUs. In one package clang reads the kernels'
/// signatures; in the other a wrapper of clang writes an empty result instead.
fn sources(folder: &Path, clang: &Path) {
    let names: Vec<String> = (0..SOURCES).map(|number| format!("k{number}")).collect();
    let packages = ["with", "without"].map(|which| {
        let package = package(folder, which, OFFLOAD_BUILD);
        let files: Vec<String> = names.iter().map(|name| format!("kernels/{name}.cu")).collect();
        let script = format!(
            "fn main() {{\n    println!(\"cargo::rerun-if-env-changed=AGAIN\");\n    offload_build::Build::new()\
             .modules({files:?}).archs([\"gfx90a\", \"compute_80\"]).compile(\"pack\");\n}}\n"
        );
        package.write("build.rs", &script);
        (wrapper(&package, clang, which == "without"), package)
    });
    let build = |(clang, package): &(PathBuf, Package), again: usize| {
        let mut command = package.cargo(&["build", "--quiet", "-j1"]);
        command.env("OFFLOAD_CLANG", clang).env("AGAIN", again.to_string());
        time(|| succeed(&mut command))
    };
    let (mut changed, mut again) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..6 {
        for (package, (changed, again)) in packages.iter().zip(changed.iter_mut().zip(&mut again)) {
            // Each round writes new text into the sources, so every image is compiled again.
            names.iter().for_each(|name| {
                package.1.write(format!("kernels/{name}.cu"), &kernel(name, round))
            });
            let times = (build(package, 2 * round), build(package, 2 * round + 1));
            // The first build also compiles the dependencies of the build script, so its times do
            // not count.
            if round > 0 {
                changed.push(times.0);
                again.push(times.1);
            }
        }
    }
    let more = rows(
        ["four sources for AMD and NVIDIA, cargo build -j1", "the same without signatures"],
        changed,
    );
    let each = more / (SOURCES * KINDS) as f64;
    println!("  {:<58} {:>22.1} ms   (at most 150 ms)", "for each source and kind", each);
    let more = rows(["nothing changed, cargo build", "the same without signatures"], again);
    println!("  {:<58} {more:>22.1} ms   (nothing)", "");
}

/// Prints a row for each name, and returns the first row's least time minus the second row's, in
/// milliseconds. The least times count, because other work of the machine can only increase a time.
fn rows(names: [&str; 2], times: [Vec<Duration>; 2]) -> f64 {
    let difference = least(&times[0]) - least(&times[1]);
    for (name, times) in names.iter().zip(times) {
        print_row(name, times);
    }
    difference * 1e3
}

/// Writes a script that runs clang. If `blind`, the script does not run clang to read the kernels'
/// signatures, and writes an empty result.
fn wrapper(package: &Package, clang: &Path, blind: bool) -> PathBuf {
    let nothing = "case \" $* \" in *\" -disable-llvm-passes \"*)
  while [ $# -gt 0 ]; do
    case \"$1\" in
      *.cu) source=$1;;
      -o) echo '; nothing' > \"$2\"; shift;;
      -dependency-file) echo \"image: $source\" > \"$3\";;
    esac
    shift
  done
  exit 0;;
esac
";
    let text =
        format!("#!/bin/sh\n{}exec {} \"$@\"\n", if blind { nothing } else { "" }, clang.display());
    package.write("clang", &text);
    let path = package.folder.join("clang");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    path
}

const KERNELS: usize = 2000;

/// Measures a crate with a pack of many kernels: with typed functions (`include_kernels!`) and
/// without (`include_offload!`).
fn functions(folder: &Path, clang: &Path) {
    let packages = ["include_kernels", "include_offload"].map(|name| {
        let package = Package::at(folder.join(name));
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\noffload-gpu = {{ path = \"{}/../offload-gpu\" }}\n\n[build-dependencies]\n{OFFLOAD_BUILD}\n",
            env!("CARGO_MANIFEST_DIR")
        );
        package.write("Cargo.toml", &manifest);
        // With the versions of this lock file, Cargo needs no network.
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
        fs::copy(lock, package.folder.join("Cargo.lock")).expect("the lock file can be copied");
        package.write(
            "build.rs",
            "fn main() {\n    offload_build::Build::new().file(\"kernels/many.cu\").arch(\"compute_80\").compile(\"many\");\n}\n",
        );
        let kernel = |number| {
            format!(
                "/// Adds `a` times x to y, as number {number} does.\nextern \"C\" __global__ void saxpy_{number}(int n, float a, \
                 const float *x, float *y) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] += a * x[i] + {number};\n}}\n"
            )
        };
        package.write("kernels/many.cu", &(0..KERNELS).map(kernel).collect::<String>());
        (name, package)
    });
    let build = |(name, package): &(&str, Package), round: usize| {
        let items = match *name {
            "include_offload" => {
                "pub static PACK: offload_gpu::KernelPack = offload_gpu::include_offload!(\"many\");"
            }
            _ => "pub mod kernels { offload_gpu::include_kernels!(\"many\"); }",
        };
        package.write("src/lib.rs", &format!("{items}\npub const ROUND: usize = {round};\n"));
        let mut command = package.cargo(&["build", "--quiet"]);
        command.env("OFFLOAD_CLANG", clang);
        time(|| succeed(&mut command))
    };
    // The first build also compiles the crate's dependencies, and its kernels, so its time does not
    // count.
    for package in &packages {
        build(package, 0);
    }
    for (what, is_fresh, most) in
        [("after an edit", false, "   (at most 500 ms)"), ("rustc from nothing", true, "")]
    {
        let mut times = [Vec::new(), Vec::new()];
        for round in 1..8 {
            for (package, times) in packages.iter().zip(&mut times) {
                if is_fresh {
                    let _ = fs::remove_dir_all(package.1.folder.join("target/debug/incremental"));
                }
                times.push(build(package, 2 * round + usize::from(is_fresh)));
            }
        }
        let name = format!("include_kernels! of {KERNELS} kernels, {what}");
        let more = rows([&name, "include_offload! of the same pack"], times);
        println!("  {:<58} {more:>22.1} ms{most}", "");
    }
}
