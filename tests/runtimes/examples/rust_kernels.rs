//! Tests of the example whose kernels are written in Rust: the program, and the images of its
//! kernels.

use super::{DRIVER, Example, HIDDEN, NO_GPU, on_gpus, read_log};
use offload_tests::prelude::*;
use offload_tests::scenario::rust_compiler;

offload_tests::tests! {
    GCC => [rust_kernels],
    needs(&[Tool::Llvm22, Tool::Gcc, Tool::RustGpu]) => [rust_kernels_from_source],
}

fn rust_kernels() {
    let example = Example::new("rust-kernels");
    let log = DRIVER.join("rust-kernels.log");
    example.follow(0, &on_gpus("9.0", &log), &[("Fake GPU 9.0", "NVIDIA H100 80GB HBM3")]);
    assert!(read_log(&log).contains(&"cuLaunchKernel: 40 blocks of 256 threads".to_owned()));
    example.follow(1, &HIDDEN, &NO_GPU);
}

/// The build makes the images that are checked in, if the compiler is the one that made them.
fn rust_kernels_from_source() {
    let example = Example::copied("rust-kernels", "rust-kernels-from-source");
    let scenario = &example.scenario;
    let rustc = rust_compiler(scenario);
    let build = scenario.cargo(&["build", "--release"]).env("OFFLOAD_PREBUILT", "never");
    build.env("OFFLOAD_RUSTC", &rustc).passes();
    let version = stdout(&succeed(Command::new(&rustc).arg("--version")));
    let made = |image: &str| scenario.output_bytes("release", &format!("kernels/{image}"));
    for image in ["gfx90a.hsaco", "compute_80.ptx"] {
        if version.starts_with("rustc 1.96.0 ") {
            let checked_in = example.prebuilt(&format!("kernels.{image}"));
            assert!(made(image) == checked_in, "{image} is not what the build makes today");
        }
    }
    let ptx = String::from_utf8(made("compute_80.ptx")).expect("PTX is text");
    for line in [".target sm_80\n", ".visible .entry saxpy("] {
        assert!(ptx.contains(line), "no {line:?} in\n{ptx}");
    }
}
