//! Messages for a source that nvcc cannot compile: nvcc's own message, and a solution. Cargo prints
//! the message.

use super::{ONE_IMAGE, cuda_home, package};
use offload_tests::registry::NVCC;

offload_tests::tests! {
    NVCC => [
        a_target_that_the_toolkit_lacks_is_named_with_those_that_it_has,
        a_missing_host_compiler_is_named,
        two_sources_are_not_linked_into_ptx,
        the_message_of_nvcc_is_shown_once,
    ],
}

fn a_target_that_the_toolkit_lacks_is_named_with_those_that_it_has() {
    let scenario =
        package("vendor_too_old", &ONE_IMAGE.replace("\"sm_80\"", "\"sm_80\", \"sm_199\""));
    let home = cuda_home().canonicalize().expect("it is there");
    scenario
        .build()
        .fails()
        .has("no image for sm_199: ")
        .has("bin/nvcc refuses it\n")
        .has("Unsupported gpu architecture 'sm_199'")
        .has(&format!("this toolkit ({}, release ", home.display()))
        .has("compiles for sm_75 sm_80");
}

fn a_missing_host_compiler_is_named() {
    let scenario = package("vendor_no_host", ONE_IMAGE);
    scenario
        .build()
        .env("NVCC_CCBIN", "/nowhere/g++")
        .fails()
        .has("bin/nvcc needs a C++ compiler for the host: NVCC_CCBIN names /nowhere/g++, and there is no such file\n")
        .has("to compile it, install a C++ compiler")
        .has("or name one in NVCC_CCBIN or CXX");
    scenario
        .build()
        .env("CXX", "no-such-compiler")
        .fails()
        .has("needs a C++ compiler for the host: no-such-compiler does not start: there is no such file\n");
}

fn two_sources_are_not_linked_into_ptx() {
    let scenario = package(
        "vendor_link",
        r#"
        .files(["kernels/caller.cu", "kernels/called.cu"])
        .compiler(Compiler::Nvcc)
        .archs(["sm_80", "compute_80"])"#,
    );
    scenario.build().fails().has(
        "for compute_80, the module \"pack\" has kernels/caller.cu and kernels/called.cu, and nvcc has no linker for PTX",
    );
}

fn the_message_of_nvcc_is_shown_once() {
    let scenario = package("vendor_error", ONE_IMAGE);
    scenario.write("kernels/half.cu", "__global__ void f() {\n  undeclared();\n}\n");
    scenario
        .build()
        .fails()
        .has("kernels/half.cu(2): error: identifier \"undeclared\" is undefined")
        .has("; the command was\n")
        .once("is undefined");
}
