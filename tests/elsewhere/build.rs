//! Builds three packs without a GPU compiler. Two contain images from earlier builds. The third
//! contains kernels for the CPU, compiled by the target's C++ compiler.

use offload_build::{Build, Module};

fn main() {
    let saxpy = |image| format!("../../examples/saxpy/prebuilt/saxpy.{image}");
    let mut ptx = Module::new("ptx");
    // Without this filter, ptxas would also compile the PTX to machine code.
    ptx.file(saxpy("compute_80.ptx")).supports(["compute_80"]);
    let mut mixed = Build::new();
    mixed.files([saxpy("gfx90a.hsaco"), saxpy("sm_80.cubin")]).module(ptx).archs([
        "gfx90a",
        "sm_80",
        "compute_80",
    ]);
    let mut amd = Build::new();
    amd.files([saxpy("gfx90a.hsaco"), saxpy("gfx1100.hsaco")]).archs(["gfx90a", "gfx1100"]);
    let mut on_cpu = Build::new();
    on_cpu
        .files([
            "../../examples/one-source/kernels/block_sum.cu",
            "kernels/waiting.cu",
            "kernels/others.cu",
        ])
        .archs(["cpu"]);
    // On hosts without packs, tests run both with and without this variable.
    println!("cargo::rerun-if-env-changed=ELSEWHERE_ALLOW_EMPTY");
    let may_be_empty = std::env::var_os("ELSEWHERE_ALLOW_EMPTY").is_some();
    for (name, mut build) in [("mixed", mixed), ("amd", amd), ("on_cpu", on_cpu)] {
        if may_be_empty {
            build.allow_empty();
        }
        build.compile(name);
    }
    // Cargo does not pass OUT_DIR to a package's tests at run time.
    let out = std::env::var("OUT_DIR").expect("Cargo sets it");
    println!("cargo::rustc-env=OFFLOAD_ELSEWHERE_OUT={out}/offload");
}
