//! Packages and target folders whose names have a special meaning for a shell. The tests run each
//! kind of build there, because some tools pass these names to a shell.

use crate::{HIP, NVCC_AND_CLANG};
use offload_tests::judges::assert_is_for;
use offload_tests::prelude::*;

#[test(NVCC_AND_CLANG.slow())]
fn each_kind_of_build_in_a_folder_with_spaces() {
    each_kind_of_build_in("with two spaces");
}

#[test(NVCC_AND_CLANG.slow())]
fn each_kind_of_build_in_a_folder_with_signs_of_shells() {
    each_kind_of_build_in(r#"it's a,b "$HOME" `c` $(d) #e"#);
}

const LAUNCHER: &str = "#include <stddef.h>
#include \"value.h\"
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
static __global__ void set(float *x) { *x = VALUE; }
extern \"C\" int NAME(float *x) { set<<<1, 1>>>(x); return x == NULL; }
";

/// Returns a package in a folder with this name. The package's target folder is inside the package.
fn package(folder: &str) -> Scenario {
    let package = Scenario::workspace(folder, &[("odd_folder", "", "")]).member("odd_folder");
    let target = package.folder.join("target");
    // If the package had a library, Cargo would link the static libraries only with this library.
    fs::remove_file(package.folder.join("src/lib.rs")).expect("a member has it");
    package
        .write("kernels/saxpy.cu", "#ifdef __HIP__\n#include <hip/hip_runtime.h>\n#endif\n#include \"value.h\"\nextern \"C\" __global__ void saxpy(float *x) { *x = VALUE; }\n")
        .write("kernels/half.hip", "#include <hip/hip_fp16.h>\n#include \"value.h\"\nextern \"C\" __global__ void half_(__half *x) { *x = VALUE; }\n")
        .write("kernels/k.cl", "kernel void k(global float *x) { *x = 1; }\n")
        .write("kernels/called.cu", "#include \"value.h\"\n__device__ float called() { return VALUE; }\n")
        .write("kernels/caller.cu", "__device__ float called();\nextern \"C\" __global__ void caller(float *x) { *x = called(); }\n")
        .write("inc/value.h", "#pragma once\n#ifndef VALUE\n#define VALUE 2.0f\n#endif\n");
    package.own_target(target)
}

/// Writes the sources of launchers, and a program that calls them. Each launcher returns 1 for a
/// null pointer.
fn launchers(package: &Scenario, extension: &str, names: &[&str]) {
    let (mut declared, mut calls) = (String::new(), String::new());
    for name in names {
        package.write(&format!("kernels/{name}.{extension}"), LAUNCHER.replace("NAME", name));
        declared += &format!("    fn {name}(x: *mut f32) -> i32;\n");
        calls += &format!(" + {name}(x)");
    }
    let main = format!(
        "unsafe extern \"C\" {{\n{declared}}}\n\nfn main() {{\n    \
         let x = std::ptr::null_mut();\n    println!(\"{{}}\", unsafe {{ 0{calls} }});\n}}\n"
    );
    package.write("src/main.rs", main);
}

fn each_kind_of_build_in(folder: &str) {
    let package = package(folder);
    launchers(&package, "cu", &["by_nvcc", "linked", "by_clang"]);
    package.build_script(
        r#"let folder = std::path::PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("inc");
    let build = || {
        let mut build = Build::new();
        build.include(&folder).define("VALUE", "1.0f");
        build
    };
    build().modules(["kernels/saxpy.cu", "kernels/half.hip"]).archs(["gfx90a", "sm_80", "compute_80", "spirv64", "cpu"]).compile("ours");
    build().file("kernels/k.cl").archs(["gfx90a", "compute_80"]).compile("opencl");
    build().file("kernels/saxpy.cu").compiler(Compiler::Nvcc).archs(["sm_80", "compute_80"]).compile("nvcc");
    build().files(["kernels/called.cu", "kernels/caller.cu"]).compiler(Compiler::Nvcc).archs(["sm_80"]).compile("two");
    build().file("kernels/saxpy.cu").compiler(Compiler::ClangCuda).archs(["sm_80", "compute_80"]).compile("clang_cuda");
    build().file("kernels/by_nvcc.cu").compiler(Compiler::Nvcc).archs(["sm_80", "sm_90"]).compile_static("launch");
    build().file("kernels/linked.cu").compiler(Compiler::Nvcc).archs(["sm_80", "sm_90"]).device_link().compile_static("link");
    build().file("kernels/by_clang.cu").compiler(Compiler::ClangCuda).archs(["sm_80", "sm_90"]).compile_static("clang");"#,
    );
    let run = |args: &[&str]| {
        let printed = package.cargo(args).passes();
        assert_eq!(printed.stdout, "3\n", "{printed}");
        printed
    };
    run(&["run", "--quiet"]);
    for pack in ["ours", "nvcc", "clang_cuda"] {
        let file =
            if pack == "ours" { "ours/saxpy.sm_80.cubin" } else { &format!("{pack}/sm_80.cubin") };
        assert_is_for(pack, "sm_80", &package.output("debug", file));
    }
    // Another run of the build script must not recompile anything, but a build after an edit of a
    // source must.
    let time = || package.output_time("debug", "nvcc/sm_80.cubin");
    let first = time();
    package.touch_build_script();
    run(&["run", "--quiet"]);
    assert_eq!(time(), first, "compiled again without a reason");
    package.write("kernels/saxpy.cu", package.text("kernels/saxpy.cu").replace("VALUE", "3.0f"));
    run(&["run", "--quiet", "--release"]);
    run(&["run", "--quiet"]);
    assert!(time() != first, "not compiled again");
}

#[test(HIP.slow())]
fn launchers_for_amd_in_a_folder_with_quotes() {
    let package = package(r#"it's another "$HOME" test"#);
    launchers(&package, "hip", &["by_clang"]);
    package.build_script(
        r#"let mut build = Build::new();
    build.include("inc").archs(["gfx90a"]);
    build.clone().file("kernels/saxpy.cu").compiler(Compiler::ClangRocm).compile("rocm");
    build.file("kernels/by_clang.hip").compile_static("launch");"#,
    );
    package.build().env("ROCM_PATH", rocm()).passes();
    assert_is_for("rocm", "gfx90a", &package.output("debug", "rocm/gfx90a.hsaco"));
}
