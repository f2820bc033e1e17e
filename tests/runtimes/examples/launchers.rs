//! Tests of the example that launches kernels with `<<<...>>>`. nvcc compiles the example's source
//! to a static library.

use super::documents::text_of;
use super::{ALL, Example, HIDDEN, LAUNCHERS};
use offload_tests::judges::{cuda_images, shared_libraries};
use offload_tests::prelude::*;

/// Asserts that the program starts without a driver, and contains the images for all targets.
#[test(NVCC.slow())]
fn cuda_launchers() {
    let example = Example::new(LAUNCHERS);
    if Path::new("/dev/nvidiactl").exists() {
        // If this machine has a driver, hide the GPUs from the program. The error is then that
        // there is no GPU, or that the driver is too old for the program's CUDA runtime.
        let printed = example.fails("cargo run", &HIDDEN);
        let errors = ["error: no NVIDIA GPU: ", "error: the driver, for CUDA "];
        assert!(errors.iter().any(|error| printed.text().starts_with(error)), "{printed}");
    } else {
        example.follow(1, &HIDDEN, &[]);
    }
    let program = example.scenario.program("debug", LAUNCHERS);
    let needs = shared_libraries(&program);
    assert!(!needs.contains("cuda"), "{needs}");
    assert_eq!(cuda_images(&program), ["sm_80.cubin", "sm_80.ptx", "sm_90.cubin"]);
}

#[test(needs(&[Tool::Nvcc, Tool::Gcc, Tool::NvidiaGpu]))]
fn cuda_launchers_on_a_real_gpu() {
    let example = Example::copied(LAUNCHERS, "cuda-launchers-real");
    example.follow(0, &[("CUDA_VISIBLE_DEVICES", "0")], &[]);
}

/// Asserts that a build without nvcc fails and prints the reason, that `cargo check` works with
/// `OFFLOAD_SKIP`, and that a default build of the workspace excludes this example.
#[test(NOTHING.slow())]
fn cuda_launchers_without_nvcc() {
    let example = Example::copied(LAUNCHERS, "cuda-launchers-without-nvcc");
    let nowhere = ("NVCC", "/no/such/nvcc");
    let printed = example.run("cargo build", &[nowhere]);
    assert!(!printed.status.success(), "{printed}");
    printed
        .has("offload-build could not make the static library \"vector_add\"")
        .has("NVCC names /no/such/nvcc, which cannot be used: there is no such file");
    example.passes("cargo check", &[nowhere, ("OFFLOAD_SKIP", "1")]);

    let workspace = text_of("Cargo.toml");
    let mut lines = workspace.lines();
    let default = lines.find(|line| line.starts_with("default-members = ")).expect("there is one");
    for name in ALL {
        assert_eq!(default.contains(&format!("\"{name}\"")), name != LAUNCHERS, "{name}");
    }
}
