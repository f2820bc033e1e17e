//! The compiler for kernel crates in Rust.

use super::Scenario;
use crate::tools::folder_of;
use std::path::PathBuf;

/// Writes a script in the scenario's folder that starts the unpacked Rust compiler for GPUs, which
/// needs the folder of its libraries. Returns its path.
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
