//! Tests of build scripts with offload-build, in packages that Cargo builds: packs of kernels in
//! every language (compiled by clang, nvcc and the host's compiler), static libraries, prebuilt
//! sets, and `offload/kernel.h`. The tests check the images' contents and targets, when images are
//! recompiled, and the messages if an image cannot be built.
//!
//! `embedding` tests how packs get into programs.

#[macro_use]
extern crate offload_tests;

mod atomics;
mod build_script;
mod candle;
mod compiler_launchers;
mod compressed_packs;
mod dfdx;
mod errors;

mod footprint;
mod kernel_header;
mod kernel_signatures;
mod languages;

mod large_packs;
mod launcher_libraries;
mod migrating;
mod model;
mod modules;
mod nvcc;
mod odd_folders;
mod oldest;
mod prebuilt;
mod regions;
mod rust_crates;
mod static_library;
mod targets;
mod workspaces;

use offload_tests::prelude::*;

/// The needs of tests that build with nvcc and with clang.
const NVCC_AND_CLANG: Needs = needs(&[Tool::Nvcc, Tool::Cuda, Tool::Gcc, Tool::Llvm22]);

/// The needs of tests that start programs with AMD's runtime on a machine without a GPU.
const HIP: Needs =
    needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22, Tool::RocObj, Tool::NoAmdGpu]);

/// Copies the package's program from the dev build. `llvm-objdump` and `roc-obj-ls` leave files
/// next to their input, so tests pass them the copy.
fn copy_of_program(scenario: &Scenario) -> PathBuf {
    let copy = scenario.folder.join("copied_program");
    std::fs::copy(scenario.program("debug", scenario.name()), &copy).expect("it can be copied");
    copy
}

/// Returns the variables that Cargo sets when it starts the package's build script.
fn variables_of_cargo(package: &Scenario, out_dir: &Path) -> Vec<(&'static str, OsString)> {
    const HOST: &str = "x86_64-unknown-linux-gnu";
    let mut variables: Vec<(&str, OsString)> = vec![
        ("CARGO_PKG_NAME", package.name().into()),
        ("OUT_DIR", out_dir.into()),
        ("CARGO_MANIFEST_DIR", (&package.folder).into()),
    ];
    variables.extend(
        [
            ("CARGO_PKG_VERSION", "0.1.0"),
            ("TARGET", HOST),
            ("HOST", HOST),
            ("OPT_LEVEL", "1"),
            ("DEBUG", "false"),
            ("CARGO_CFG_TARGET_ARCH", "x86_64"),
            ("CARGO_CFG_TARGET_OS", "linux"),
            ("CARGO_CFG_TARGET_POINTER_WIDTH", "64"),
            ("CARGO_CFG_TARGET_ENDIAN", "little"),
        ]
        .map(|(name, value)| (name, value.into())),
    );
    variables
}

fn main() -> std::process::ExitCode {
    offload_tests::registry::run()
}
