//! Measures builds with offload-build as Cargo's users experience them: whole runs of `cargo build`
//! for packages in scratch folders.

use crate::data;
use crate::measure::{llvm_program, print_row, succeed, time};
use crate::package::Package;
use std::fs;
use std::path::Path;

/// Runs this module's builds, and prints their times.
pub fn bench() {
    println!("build: build scripts");
    let Some(clang) = llvm_program("clang") else {
        println!("  (no LLVM 22 to compile with)");
        return;
    };
    let folder = data::folder().join("build");
    let _ = fs::remove_dir_all(&folder);
    again(&folder, &clang);
}

/// Compares a build script that finds nothing to compile with one that does nothing.
fn again(folder: &Path, clang: &Path) {
    const AGAIN: &str = "println!(\"cargo::rerun-if-env-changed=AGAIN\");";
    let full = package(folder, "again");
    let targets = r#"["gfx90a", "gfx942", "gfx1100", "gfx1201", "compute_80", "compute_90", "compute_100", "cpu"]"#;
    let text = script(targets).replacen("{\n", &format!("{{\n    {AGAIN}\n"), 1);
    full.write("build.rs", &text);
    for name in ["one", "two"] {
        full.write(format!("kernels/{name}.cu"), &kernel(name));
    }
    let empty = package(folder, "empty");
    empty.write("build.rs", &format!("fn main() {{\n    {AGAIN}\n}}\n"));
    let build = |package: &Package, round: usize| {
        let mut command = package.cargo(&["build", "--quiet"]);
        command.env("OFFLOAD_CLANG", clang).env("AGAIN", round.to_string());
        time(|| succeed(&mut command))
    };
    // How many headers each kernel includes. The build reads each header once, even if many images
    // depend on it.
    const HEADERS: usize = 200;
    let headers = package(folder, "headers");
    let includes: String = (0..HEADERS).map(|number| format!("#include <h{number}.h>\n")).collect();
    (0..HEADERS).for_each(|number| {
        headers.write(format!("inc/h{number}.h"), &format!("#define H{number} {number}\n"))
    });
    headers.write("build.rs", &text.replace(".archs(", ".include(\"inc\").archs("));
    for name in ["one", "two"] {
        headers.write(format!("kernels/{name}.cu"), &(includes.clone() + &kernel(name)));
    }
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..12 {
        for (package, times) in [&empty, &full, &headers].into_iter().zip(&mut times) {
            let time = build(package, round);
            // The first round compiles the images, so do not measure it.
            times.extend((round > 0).then_some(time));
        }
    }
    let [empty, full, headers] = times;
    let empty = print_row("an empty build script that runs again, cargo build", empty);
    let full = print_row("one with 16 images and nothing to do", full);
    println!(
        "  {:<58} {:>22.1} ms   (at most 50 ms more)",
        "",
        (full.as_secs_f64() - empty.as_secs_f64()) * 1e3
    );
    print_row("one with 16 images of 200 headers and nothing to do", headers);
}

pub const OFFLOAD_BUILD: &str =
    concat!("offload-build = { path = \"", env!("CARGO_MANIFEST_DIR"), "/../offload-build\" }");

/// Creates a package whose build script depends on offload-build.
fn package(folder: &Path, name: &str) -> Package {
    let package = Package::at(folder.join(name));
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [profile.dev]\nopt-level = 3\ndebug = false\n\n[build-dependencies]\n{OFFLOAD_BUILD}\n"
    );
    package.write("Cargo.toml", &manifest);
    package.write("src/lib.rs", "");
    package
}

/// Returns a build script with two kernels, each in its own module.
fn script(targets: &str) -> String {
    format!(
        "fn main() {{\n    offload_build::Build::new().modules([\"kernels/one.cu\", \"kernels/two.cu\"])\
         .archs({targets}).compile(\"both\");\n}}\n"
    )
}

/// Returns the source of a kernel that takes about as long to compile as a real project's: a
/// template with unrolled loops.
fn kernel(name: &str) -> String {
    format!(
        "template <int N> __device__ float step_{name}(float x, const float *y) {{\n  \
           #pragma unroll\n  for (int i = 0; i < 24; i++) x = x * y[i * N] + y[i + N] * 0.5f;\n  \
           return x + step_{name}<N - 1>(x * 0.5f, y);\n}}\n\
         template <> __device__ float step_{name}<0>(float x, const float *) {{ return x; }}\n\
         extern \"C\" __global__ void {name}(const float *x, float *y) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = step_{name}<30>(x[i], x);\n}}\n"
    )
}
