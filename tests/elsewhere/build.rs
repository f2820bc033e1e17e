//! Makes two packs without a compiler for GPUs. One has images from earlier builds; the other has
//! kernels for the CPU, compiled by the target's C++ compiler.

use offload_build::{Build, Module};

fn main() {
    let saxpy = |image| format!("../../examples/saxpy/prebuilt/saxpy.{image}");
    let mut ptx = Module::new("ptx");
    // Without this filter, ptxas would also make machine code from the PTX.
    ptx.file(saxpy("compute_80.ptx")).supports(["compute_80"]);
    Build::new()
        .files([saxpy("gfx90a.hsaco"), saxpy("sm_80.cubin")])
        .module(ptx)
        .archs(["gfx90a", "sm_80", "compute_80"])
        .compile("mixed");
    Build::new()
        .files([saxpy("gfx90a.hsaco"), saxpy("gfx1100.hsaco")])
        .archs(["gfx90a", "gfx1100"])
        .compile("amd");
    Build::new()
        .files([
            "../../examples/one-source/kernels/block_sum.cu",
            "kernels/waiting.cu",
            "kernels/others.cu",
        ])
        .archs(["cpu"])
        .compile("on_cpu");
    // Cargo does not pass OUT_DIR to a package's tests at run time.
    let out = std::env::var("OUT_DIR").expect("Cargo sets it");
    println!("cargo::rustc-env=OFFLOAD_ELSEWHERE_OUT={out}/offload");
}
