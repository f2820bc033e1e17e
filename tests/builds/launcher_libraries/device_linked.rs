//! Two crates with a `links` key. One has headers and a source that its users compile. The other is
//! a prover, whose kernels call device functions in other files. The crate `cc` compiles the
//! prover's C++ for the host. nvcc's and clang's device linkers, the program's linker, `cuobjdump`,
//! `roc-obj-ls`, and the program check the results.

use super::{RUNTIME, code_objects, kernels, results_of_a_launch};
use crate::HIP;
use offload_tests::prelude::*;

/// The number of steps of the constraint polynomial. Each step is in a separate file.
const STEPS: usize = 2;

const FIELD: &str = r#"#pragma once
#include <field/runtime.h>

struct Field {
  static constexpr unsigned P = 15 * (1u << 27) + 1;
  unsigned value;
};

// The definition is in src/field.cu of this crate.
__device__ Field mul(Field a, Field b);
extern __device__ unsigned roots[8];
"#;

const FIELD_SOURCE: &str = r#"#include <field/field.h>

__device__ unsigned roots[8] = {1, 3, 9, 27, 81, 243, 729, 2187};

__device__ Field mul(Field a, Field b) { return {unsigned((unsigned long long)a.value * b.value % Field::P)}; }
"#;

/// Only this crate's C++ host code uses `launch_eval`. Rust does not call it.
const EVAL_HEADER: &str =
    "#pragma once\n#include <cstddef>\nint launch_eval(unsigned *x, std::size_t n);\n";

const HOST: &str = r#"#include "eval.h"
#include <string>

// Returns the error as text, which is empty on success; the caller frees it.
extern "C" char *prover_eval(unsigned *x, std::size_t n) {
  int error = launch_eval(x, n);
  std::string text = error == 0 ? "" : "error " + std::to_string(error);
  char *copy = new char[text.size() + 1];
  text.copy(copy, text.size());
  copy[text.size()] = 0;
  return copy;
}

extern "C" void prover_free(char *text) { delete[] text; }
"#;

const BUILD_SCRIPT: &str = r#"use offload_build::{Build, Compiler};
use std::env;

fn main() {
    let root = env::var("DEP_FIELD_ROOT").expect("the headers' crate is a dependency");
    let entries = std::fs::read_dir("kernels").expect("the folder is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.sort();
    println!("cargo::rerun-if-changed=kernels");
    let mut build = Build::new();
    build
        .compiler(Compiler::Nvcc)
        .compiler(Compiler::ClangRocm)
        .device_link()
        .include(format!("{root}/include"))
        .include("cxx")
        .file(format!("{root}/src/field.cu"))
        .files(files)
        .default_archs(["sm_80"]);
    // This library must come before the library that it calls: linkers read libraries in this
    // order.
    if !build.resolve().is_skipped() {
        println!("cargo::rerun-if-changed=cxx");
        cc::Build::new().cpp(true).include("cxx").file("cxx/prover.cpp").compile("prover_host");
    }
    let library = build.compile_static("prover");
    println!("cargo::metadata=targets={}", library.targets().join(" "));
}
"#;

/// Writes a workspace with the headers' crate `<prefix>_field`, the prover `<prefix>_sys`, and the
/// program `<prefix>`, and returns the program.
fn workspace(prefix: &str) -> Scenario {
    let [field, sys] = ["field", "sys"].map(|part| format!("{prefix}_{part}"));
    let on = |name: &str| format!("{name} = {{ path = \"../{name}\" }}\n");
    let members = [
        (&*field, "links = \"field\"", String::new()),
        (&*sys, "links = \"prover\"", on(&field)),
        (prefix, "", on(&sys)),
    ];
    let members =
        members.each_ref().map(|(name, links, dependencies)| (*name, *links, &**dependencies));
    let scenario = Scenario::workspace(&format!("{prefix}_workspace"), &members);

    let headers = scenario.member(&field);
    // The prover compiles a source of this crate, so this crate's build script reports the crate's
    // absolute path.
    headers
        .write(
            "build.rs",
            "fn main() {\n    println!(\"cargo::rerun-if-changed=build.rs\");\n    \
             println!(\"cargo::metadata=root={}\", std::env::var(\"CARGO_MANIFEST_DIR\").unwrap());\n}\n",
        )
        .write("include/field/runtime.h", RUNTIME)
        .write("include/field/field.h", FIELD)
        .write("src/field.cu", FIELD_SOURCE);

    let prover = scenario.member(&sys);
    prover.manifest("build-dependencies", "cc = \"1\"");
    let (mut declared, mut called) = (String::new(), String::new());
    for step in 0..STEPS {
        declared += &format!("__device__ Field step_{step}(Field x);\n");
        called += &format!("  y = step_{step}(y);\n");
        prover.write(
            &format!("kernels/step_{step}.cu"),
            format!("#include <field/field.h>\n__device__ Field step_{step}(Field x) {{ return mul(x, {{roots[{step}]}}); }}\n"),
        );
    }
    prover
        .write("build.rs", BUILD_SCRIPT)
        .write("cxx/eval.h", EVAL_HEADER)
        .write("cxx/prover.cpp", HOST)
        .write(
            "kernels/eval.cu",
            format!(
                "#include <field/field.h>\n#include \"eval.h\"\n{declared}\n\
                 __global__ void eval(unsigned *x, size_t n) {{\n  size_t i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
                 if (i >= n)\n    return;\n  Field y = {{x[i]}};\n{called}  x[i] = y.value;\n}}\n\n\
                 int launch_eval(unsigned *x, size_t n) {{\n  eval<<<(n + 255) / 256, 256>>>(x, n);\n  \
                 return (int)gpuGetLastError();\n}}\n"
            ),
        )
        .write(
            "src/lib.rs",
            r#"use std::ffi::{CStr, c_char};

unsafe extern "C" {
    fn prover_eval(x: *mut u32, n: usize) -> *mut c_char;
    fn prover_free(text: *mut c_char);
}

/// Returns the code of the launch's result, as text.
pub fn eval() -> String {
    // SAFETY: a launch does not follow the pointer; the text is freed once.
    unsafe {
        let text = prover_eval(std::ptr::null_mut(), 1);
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        prover_free(text);
        copy
    }
}
"#,
        );

    let program = scenario.member(prefix);
    program
        .write(
            "build.rs",
            "fn main() {\n    println!(\"targets {}\", std::env::var(\"DEP_PROVER_TARGETS\").unwrap());\n}\n",
        )
        .write("src/main.rs", format!("fn main() {{\n    println!(\"[{{}}]\", {sys}::eval());\n}}\n"));
    fs::remove_file(program.folder.join("src/lib.rs")).expect("a member has a library");
    program
}

#[test(NVCC.slow())]
fn two_crates_make_one_device_program() {
    let program = workspace("launchers_prover");
    program.build().arg("-vv").passes().has("targets sm_80");
    let built = program.program("debug", program.name());
    assert!(kernels(&built, "sm_80").contains(&"_Z4evalPjm".to_owned()));
    // The device code from nvcc's linker contains the other files' functions.
    let elf = stdout(&succeed(cuda("cuobjdump").args(["-elf", "-arch", "sm_80"]).arg(&built)));
    for function in ["_Z6step_05Field", "_Z6step_15Field", "_Z3mul5FieldS_", "roots"] {
        assert!(elf.contains(function), "no {function} in\n{elf}");
    }
    let printed = program.start("debug").passes().stdout;
    let text = |code: &&str| if *code == "0" { "[]\n".into() } else { format!("[error {code}]\n") };
    assert!(results_of_a_launch().iter().map(text).any(|text| printed == text), "{printed}");
}

#[test(HIP.slow())]
fn two_crates_make_one_device_program_for_amd() {
    let program = workspace("launchers_prover_amd");
    let build = program.build().arg("-vv").env("OFFLOAD_ARCH", "gfx90a").env("ROCM_PATH", rocm());
    build.passes().has("targets gfx90a");
    assert_eq!(code_objects(&program, "gfx90a"), 1, "all sources are one code object");
    program.start("debug").passes().has("[error ");
}
