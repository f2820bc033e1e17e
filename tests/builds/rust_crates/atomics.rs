//! Atomic operations in kernel crates. Operations of `offload_kernel::Atomic` must keep their
//! orders and scopes. Operations of `core` that would lose their orders must be errors.

use super::{TARGETS, build, cpu};
use crate::atomics::{amd, assert_same, instructions_by_nvcc, table};
use offload_tests::prelude::*;

/// Operations of `core` that would lose their order, each with its line in the error.
const LOST: &str = "
AtomicU32::from_ptr(p).fetch_add(1, AcqRel)                 | fetch_add with the order acq_rel, in k0
AtomicU32::from_ptr(p).swap(0, Release)                     | swap with the order release, in k1
AtomicU64::from_ptr(p.cast()).fetch_or(1, SeqCst)           | fetch_or with the order seq_cst, in k2
AtomicI32::from_ptr(p.cast()).fetch_max(1, Acquire)         | fetch_max with the order acquire, in k3
AtomicPtr::from_ptr(p.cast::<*mut u8>()).swap(p.cast(), AcqRel) | swap with the order acq_rel, in k4
";

/// Operations of `core` that keep their order.
const KEPT: &str = "
AtomicU32::from_ptr(p).fetch_add(1, Relaxed)
AtomicU32::from_ptr(p).load(Acquire)
AtomicU32::from_ptr(p).store(1, Release)
AtomicU32::from_ptr(p).compare_exchange(0, 1, AcqRel, Acquire)
AtomicU64::from_ptr(p.cast()).fetch_update(SeqCst, SeqCst, |old| Some(old * 3))
AtomicBool::from_ptr(p.cast()).swap(true, AcqRel)
fence(SeqCst)
";

/// Returns a crate with a kernel for each expression.
fn kernels<'a>(expressions: impl Iterator<Item = &'a str>) -> String {
    let mut text = "#![no_std]\nuse core::sync::atomic::{Ordering::*, *};\n".to_owned();
    for (number, expression) in expressions.enumerate() {
        text += &format!(
            "offload_kernel::kernel! {{ pub unsafe fn k{number}(p: *mut u32) {{ let _ = unsafe {{ {expression} }}; }} }}\n"
        );
    }
    text
}

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

    let rows = || LOST.lines().filter_map(|row| row.split_once(" | "));
    scenario.write("kernels/src/lib.rs", kernels(rows().map(|(expression, _)| expression.trim())));
    let for_nvidia = || build(scenario, rustc).env("OFFLOAD_ARCH", "compute_80");
    let printed = for_nvidia().fails();
    printed
        .has("the image for compute_80 would lose the memory order of these atomic operations")
        .has("Use offload_kernel::Atomic instead of core's atomic type");
    rows().for_each(|(_, line)| _ = printed.has(line));
    scenario.write("kernels/src/lib.rs", kernels(KEPT.lines().filter(|line| !line.is_empty())));
    for_nvidia().passes();
    for (file, text) in FILES.into_iter().zip(before) {
        scenario.write(file, text);
    }
}
