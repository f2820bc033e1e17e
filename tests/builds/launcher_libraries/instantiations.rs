//! A package of 13 files: Rust calls one file, and the other 12 each instantiate a template of a
//! headers crate. Published packages have dozens. The build runs at most two compilers at the same
//! time, as if each needed gigabytes. The checks use nvcc, clang, the linker, `cuobjdump`,
//! `roc-obj-ls`, a log of nvcc's calls, and the program.

use super::{RUNTIME, code_objects, kernels, pass_headers_on, results_of_a_launch};
use crate::HIP;
use crate::nvcc::rebuilds::LoggingToolkit;
use offload_tests::prelude::*;

offload_tests::tests! {
    NVCC.slow() => [two_compilers_at_a_time_make_all_instantiations],
    HIP.slow() => [instantiations_are_compiled_for_amd],
}

/// The sizes of attention heads; four files instantiate the template for each size.
const HEADS: [usize; 3] = [64, 128, 512];

/// The maximum number of compilers that the build script runs at the same time.
const MOST: usize = 2;

const HEADER: &str = r#"#pragma once
#include <tiles/runtime.h>

template <typename T, int HEAD, bool IS_CAUSAL> __global__ void attention(T *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (!IS_CAUSAL || i % HEAD < threadIdx.x))
    x[i] *= T(HEAD);
}

template <typename T, int HEAD, bool IS_CAUSAL> int launch_attention(T *x, int n);
"#;

const DEFINITION: &str = r#"#pragma once
#include <tiles/attention.h>

template <typename T, int HEAD, bool IS_CAUSAL> int launch_attention(T *x, int n) {
  attention<T, HEAD, IS_CAUSAL><<<(n + 255) / 256, 256>>>(x, n);
  return (int)gpuGetLastError();
}
"#;

const BUILD_SCRIPT: &str = r#"use offload_build::{Build, Compiler};

fn main() {
    let mut build = Build::new();
    build
        .compiler(Compiler::Nvcc)
        .compiler(Compiler::ClangRocm)
        .include(std::env::var("DEP_TILES_INCLUDE").expect("tiles is a dependency"))
        .max_parallel(2)
        .default_archs(["sm_80"])
        .file("kernels/api.cu");
    let entries = std::fs::read_dir("kernels/instantiations").expect("the folder is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.sort();
    println!("cargo::rerun-if-changed=kernels/instantiations");
    build.files(files).compile_static("attention");
}
"#;

/// Returns every instantiation: its type, the size of its heads, and whether it is causal.
fn instantiations(heads: &[usize]) -> Vec<(&'static str, usize, bool)> {
    let mut all = Vec::new();
    for &head in heads {
        for element in ["float", "double"] {
            all.extend([false, true].map(|is_causal| (element, head, is_causal)));
        }
    }
    all
}

/// Returns a workspace with the headers crate and the package, whose program prints the results of
/// all launches.
fn workspace(package: &str, heads: &[usize]) -> Scenario {
    let headers = &*format!("{package}_tiles");
    let dependency = format!("{headers} = {{ path = \"../{headers}\" }}\n");
    let scenario = Scenario::workspace(
        &format!("{package}_workspace"),
        &[(headers, "links = \"tiles\"", ""), (package, "links = \"attention\"", &dependency)],
    );
    let tiles = scenario.member(headers);
    pass_headers_on(&tiles);
    tiles
        .write("include/tiles/runtime.h", RUNTIME)
        .write("include/tiles/attention.h", HEADER)
        .write("include/tiles/attention_launch.h", DEFINITION);
    let member = scenario.member(package);
    let mut cases = String::new();
    for (element, head, is_causal) in instantiations(heads) {
        let arguments = format!("<{element}, {head}, {is_causal}>");
        member.write(
            &format!("kernels/instantiations/{element}_{head}_{is_causal}.cu"),
            format!(
                "#include <tiles/attention_launch.h>\ntemplate int launch_attention{arguments}({element} *, int);\n"
            ),
        );
        let is_double = element == "double";
        cases += &format!(
            "  if (head == {head} && is_double == {is_double} && is_causal == {is_causal})\n    \
             return launch_attention{arguments}(({element} *)x, n);\n"
        );
    }
    member
        .write("build.rs", BUILD_SCRIPT)
        .write(
            "kernels/api.cu",
            format!(
                "#include <tiles/attention.h>\n\
                 extern \"C\" int attention_api(int head, bool is_double, bool is_causal, void *x, int n) {{\n{cases}  return -1;\n}}\n"
            ),
        )
        .write(
            "src/main.rs",
            format!(
                r#"use std::ffi::{{c_int, c_void}};

unsafe extern "C" {{
    fn attention_api(head: c_int, is_double: bool, is_causal: bool, x: *mut c_void, n: c_int) -> c_int;
}}

fn main() {{
    for head in {heads:?} {{
        for (is_double, is_causal) in [(false, false), (false, true), (true, false), (true, true)] {{
            // SAFETY: a launch does not follow the pointer, and nothing waits for the kernel.
            println!("{{}}", unsafe {{ attention_api(head, is_double, is_causal, std::ptr::null_mut(), 1) }});
        }}
    }}
}}
"#
            ),
        );
    // Removes `src/lib.rs`: if the package had a library, Cargo would link the build script's
    // library into it, and not into the program.
    fs::remove_file(member.folder.join("src/lib.rs")).expect("a member has a library");
    member
}

fn two_compilers_at_a_time_make_all_instantiations() {
    let member = workspace("launchers_attention", &HEADS);
    let count = instantiations(&HEADS).len();
    let toolkit = LoggingToolkit::new(&member);
    member.build().arg("-j4").env("CUDA_HOME", &toolkit.root).passes();
    let (mut running, mut most) = (0_usize, 0);
    let calls = toolkit.calls();
    for line in calls.lines() {
        running = if line == "start" { running + 1 } else { running - 1 };
        most = most.max(running);
    }
    assert_eq!((most, running), (MOST, 0), "{calls}");
    assert_eq!(calls.matches("start").count(), count + 1);

    let program = member.program("debug", member.name());
    let found = kernels(&program, "sm_80");
    assert_eq!(found.len(), count, "{found:?}");
    assert!(found.contains(&"_Z9attentionIdLi512ELb1EEvPT_i".to_owned()), "{found:?}");
    let printed = member.start("debug").passes();
    let results: Vec<&str> = printed.stdout.lines().collect();
    assert_eq!(results.len(), count, "{printed}");
    assert!(results.iter().all(|result| results_of_a_launch().contains(result)), "{printed}");

    member.build().env("CUDA_HOME", &toolkit.root).passes();
    assert_eq!(toolkit.calls(), "", "nothing changed");
}

fn instantiations_are_compiled_for_amd() {
    const SOME: [usize; 1] = [64];
    let member = workspace("launchers_attention_amd", &SOME);
    member.build().env("OFFLOAD_ARCH", "gfx1030").env("ROCM_PATH", rocm()).passes();
    let count = instantiations(&SOME).len();
    assert_eq!(code_objects(&member, "gfx1030"), count);
    member.start("debug").passes().lacks("-1\n").lacks("\n0\n");
}
