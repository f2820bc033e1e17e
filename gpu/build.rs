//! Compiles the kernels for the last generations of each vendor, or for the targets of
//! `OFFLOAD_ARCH`.

use offload_build::{Build, Module};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

/// The generations that have a GPU of their own in docs/gpus.md.
const TARGETS: &[&str] = &[
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_89",
    "sm_90",
    "sm_100",
    "sm_120",
    "compute_75",
    "compute_90",
    "gfx906",
    "gfx908",
    "gfx90a",
    "gfx942",
    "gfx950",
    "gfx1030",
    "gfx1100",
    "gfx1151",
    "gfx1200",
    "cpu",
];

fn main() {
    let mut each = Build::new();
    each.archs(TARGETS.iter().copied());
    let targets: Vec<String> =
        each.resolve().targets().iter().map(|target| target.name().to_owned()).collect();
    let mut list = String::from("pub const EACH: &[Each] = &[\n");
    for target in &targets {
        // A module for each target: an image that can be loaded by itself.
        let module = target.replace([':', '-', '+'], "_");
        each.module(Module::new(&module).file("kernels/probe.cu").supports([target]));
        // Writing to a string does not fail.
        let _ = writeln!(
            list,
            "    Each {{ target: {target:?}, module: {module:?}, launch: |device, x, y, n| unsafe {{ {module}::probe(x, y, n).launch(device, \
             BLOCKS, THREADS) }} }},"
        );
    }
    list += "];\n";
    each.compile("each");
    let folder = env::var("OUT_DIR").expect("Cargo sets it");
    fs::write(Path::new(&folder).join("each.rs"), list).expect("OUT_DIR can be written");

    // The corpus of the tests of the kernel header, and the mathematical functions.
    Build::new()
        .module(Module::new("corpus").file("../tests/builds/kernel_header/kernels.cu"))
        .module(Module::new("math").file("kernels/math.cu"))
        .archs(TARGETS.iter().copied())
        .compress()
        .compile("checks");
}
