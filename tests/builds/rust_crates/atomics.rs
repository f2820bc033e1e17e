//! Atomic operations in crates of kernels: those of `offload_kernel::Atomic` have their orders and
//! scopes.

use super::{TARGETS, build, cpu};
use crate::atomics::{amd, assert_same, instructions_by_nvcc, table};
use offload_tests::prelude::*;

pub fn keep_their_orders(scenario: &Scenario, rustc: &Path) {
    const FILES: [&str; 4] =
        ["kernels/Cargo.toml", "kernels/Cargo.lock", "kernels/src/lib.rs", "src/main.rs"];
    let before = FILES.map(|file| scenario.text(file));
    let sources = table::sources();
    scenario
        .write("kernels/Cargo.toml", cpu::manifest())
        .write("kernels/Cargo.lock", cpu::LOCK)
        .write("kernels/src/lib.rs", format!("#![no_std]\n{}", sources.rust))
        .write("src/main.rs", "fn main() {}\n");
    build(scenario, rustc).passes();
    let expected = instructions_by_nvcc(&scenario.folder.join("nvcc"), &sources.nvcc);
    let ptx = scenario.output_text("release", "pack/compute_80.ptx");
    assert_same(&table::instructions(&ptx), &expected, "rustc");
    for target in TARGETS.into_iter().filter(|target| target.starts_with("gfx")) {
        amd::assert_orders(
            target,
            &scenario.output("release", &format!("pack/{target}.hsaco")),
            true,
        );
    }

    for (file, text) in FILES.into_iter().zip(before) {
        scenario.write(file, text);
    }
}
