//! Messages if nvcc cannot compile a source. They must contain nvcc's own message and a solution.
//! Also tests the output of nvcc and ptxas in successful runs. Cargo must show warnings in each
//! build, and other output only with `-vv`.

use super::{ONE_IMAGE, cuda_home, package};
use offload_tests::registry::NVCC;

#[test(NVCC)]
fn a_target_that_the_toolkit_lacks_is_named_with_those_that_it_has() {
    let scenario =
        package("vendor_too_old", &ONE_IMAGE.replace("\"sm_80\"", "\"sm_80\", \"sm_199\""));
    let home = cuda_home().canonicalize().expect("it is there");
    scenario
        .build()
        .fails()
        .has("no image for sm_199: ")
        .has("bin/nvcc rejects this target\n")
        .has("Unsupported gpu architecture 'sm_199'")
        .has(&format!("this toolkit ({}, release ", home.display()))
        .has("compiles for sm_75 sm_80");
}

#[test(NVCC)]
fn a_missing_host_compiler_is_named() {
    let scenario = package("vendor_no_host", ONE_IMAGE);
    let build = |variable: &str, value: &str| scenario.build().env(variable, value).fails();
    build("NVCC_CCBIN", "/nowhere/g++")
        .has(
            "bin/nvcc needs a C++ compiler for the host: NVCC_CCBIN names /nowhere/g++, but there \
             is no such file\n",
        )
        .has("to compile it, install a C++ compiler")
        .has("or name one in NVCC_CCBIN or CXX");
    build("CXX", "no-such-compiler").has(
        "needs a C++ compiler for the host: no-such-compiler does not start: there is no such file\n",
    );
}

#[test(NVCC)]
fn two_sources_are_not_linked_into_ptx() {
    let calls = r#".files(["kernels/caller.cu", "kernels/called.cu"]).compiler(Compiler::Nvcc).archs(["sm_80", "compute_80"])"#;
    package("vendor_link", calls).build().fails().has(
        "for compute_80, the module \"pack\" has kernels/caller.cu and kernels/called.cu, but \
         nvcc cannot link PTX",
    );
}

#[test(NVCC)]
fn the_message_of_nvcc_is_shown_once() {
    let scenario = package("vendor_error", ONE_IMAGE);
    scenario.write("kernels/half.cu", "__global__ void f() {\n  undeclared();\n}\n");
    scenario
        .build()
        .fails()
        .has("kernels/half.cu(2): error: identifier \"undeclared\" is undefined")
        .once("is undefined")
        .has("; the command was\n");
}

#[test(NVCC.slow())]
fn only_warnings_are_warnings() {
    let scenario = package("vendor_printed", "");
    scenario.build_script(
        r#"println!("cargo::rerun-if-env-changed=FLAGS");
    let sources = ["kernels/one.cu", "kernels/two.cu"];
    let mut build = Build::new();
    build.compiler(Compiler::Nvcc).archs(["sm_80"]);
    std::env::var("FLAGS").unwrap().split(' ').for_each(|flag| drop(build.flag(flag)));
    build.clone().modules(sources).compile("pack");
    build.files(sources).compile_static("library");"#,
    );
    // nvcc warns about the first source.
    let first = "extern \"C\" __global__ void one(float *x) {\n  int unused;\n  *x = 1.0f;\n}\n";
    let second = "extern \"C\" __global__ void two(float *x) { *x = 2.0f; }\n";
    scenario.write("kernels/one.cu", first).write("kernels/two.cu", second);
    let build = || scenario.build().env("FLAGS", "-Xptxas -v --verbose");
    let all = build().arg("-vv").passes();
    all.has("offload-build: compiler output for pack/one.sm_80.cubin\n");
    for detail in ["| ptxas info    : Used ", "| #$ \"$CICC_PATH/cicc\" "] {
        assert!(all.count(detail) >= 4, "{detail}: {all}");
    }
    // The script does not run again. Cargo repeats the script's warnings, but no other output.
    let printed = build().passes();
    // The warning must appear once for the images and once for the library, with its source line
    // and advice.
    let warning =
        "kernels/one.cu(2): warning #177-D: variable \"unused\" was declared but never referenced";
    printed.times(2, warning).times(2, "int unused;").lacks("ptxas info").lacks("#$ ");
    printed.times(12, "warning: vendor_printed@");
    // If the sources have no warnings, a normal build must print nothing, even if
    // `--resource-usage` makes ptxas print something.
    scenario.write("kernels/one.cu", first.replace("  int unused;\n", ""));
    scenario.build().env("FLAGS", "--resource-usage").passes().lacks("warning: vendor_printed");
}
