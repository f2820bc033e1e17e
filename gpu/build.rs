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

/// The kernels with which tests judge the checks of kernels on the CPU: a right one and a wrong one
/// of each kind.
const PAIRS: &str = "../tests/runtimes/checks/program/kernels.cu";

/// Kernels on which clang 22.1.8 crashes for gfx1100: "Unsupported instruction".
const CRASHING: [&str; 2] = ["trap_right", "call_trap_right"];

/// A variable with the names of further kernels that are left out, with spaces between them.
const WITHOUT: &str = "GPU_CHECKS_WITHOUT";

/// Returns the text without the wrong kernels, and the names of the right ones that GPUs can have.
fn right_ones<'a>(text: &'a str, without: &str) -> (String, Vec<&'a str>) {
    let (mut right, mut names) = (String::new(), Vec::new());
    let (mut is_left_out, mut is_for_cpu) = (false, false);
    for line in text.lines() {
        is_for_cpu =
            (is_for_cpu || line.starts_with("#if defined(OFFLOAD_CPU)")) && line != "#endif";
        let name = line.strip_prefix("KERNEL(").and_then(|rest| Some(rest.split_once(')')?.0));
        if let Some(name) = name {
            is_left_out = !name.ends_with("_right")
                || CRASHING.contains(&name)
                || without.split(' ').any(|other| other == name);
            if !is_left_out && !is_for_cpu {
                names.push(name);
            }
        }
        if !is_left_out {
            right += line;
            right += "\n";
        }
        // A kernel ends with a brace at the start of a line, or has one line.
        let is_one_line = name.is_some() && line.ends_with('}');
        is_left_out = is_left_out && !line.starts_with('}') && !is_one_line;
    }
    (right, names)
}

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

    let pairs = fs::read_to_string(PAIRS).expect("the kernels of the checks are there");
    let (pairs, names) = right_ones(&pairs, &env::var(WITHOUT).unwrap_or_default());
    let file = Path::new(&folder).join("pairs.cu");
    fs::write(&file, pairs).expect("OUT_DIR can be written");
    let mut list = String::from("pub const RIGHT: &[(&str, Launch)] = &[\n");
    for name in names {
        let _ = writeln!(
            list,
            "    ({name:?}, |device, launch, x, n| unsafe {{ pairs::{name}(x, n, SIZE).launch_as(device, launch) }}),"
        );
    }
    list += "];\n";
    fs::write(Path::new(&folder).join("pairs.rs"), list).expect("OUT_DIR can be written");
    println!("cargo::rerun-if-changed={PAIRS}");
    println!("cargo::rerun-if-env-changed={WITHOUT}");

    // The corpus of the tests of the kernel header, and the mathematical functions.
    Build::new()
        .module(Module::new("corpus").file("../tests/builds/kernel_header/kernels.cu"))
        .module(Module::new("pairs").file(&file))
        .module(Module::new("math").file("kernels/math.cu"))
        .archs(TARGETS.iter().copied())
        .compress()
        .compile("checks");
}
