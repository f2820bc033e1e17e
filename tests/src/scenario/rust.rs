//! The compiler for kernel crates in Rust.

use super::Scenario;
use crate::tools::folder_of;
use std::path::PathBuf;

/// Writes a script to the scenario's folder, and returns its path. The script sets the library
/// folder that the unpacked Rust compiler for GPUs needs, and starts the compiler.
pub fn rust_compiler(scenario: &Scenario) -> PathBuf {
    let rust = folder_of("OFFLOAD_TEST_RUST_GPU").expect("Tool::RustGpu was checked");
    scenario.script(
        "toolchain/rustc",
        &format!(
            "LD_LIBRARY_PATH='{rust}/usr/lib/x86_64-linux-gnu' exec '{rust}/usr/bin/rustc' \"$@\"",
            rust = rust.display()
        ),
    )
}
