//! Tests of examples that need no GPU: a library of modules, kernels for the CPU, kernels called by
//! name, and a reader of bundles.

use super::{Example, on_gpus, read_log, utf8};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{compile, kernels_that_run};

#[test(needs(&[Tool::Gcc, Tool::Python]).slow())]
fn module_library() {
    follow_all("module-library");
}

#[test(GCC.slow())]
fn one_source() {
    follow_all("one-source");
}

#[test(GCC.slow())]
fn kernel_tests() {
    follow_all("kernel-tests");
}

/// Follows the README on the CPU, and runs the kernels on fake GPUs of both vendors. The stand-in
/// for NVIDIA's driver computes only kernels that are not template instances. It merely logs all
/// other launches with their arguments.
#[test(GCC.slow())]
fn kernels_by_name() {
    follow_all("kernels-by-name");
    let example = Example::copied("kernels-by-name", "kernels-by-name-on-gpus");
    let folder = scratch::folder("examples-kernels-by-name");
    let (log, kernels) = (folder.join("log"), folder.join("kernels"));
    scratch::write(
        &kernels,
        "square_f32 0:4 8:8 16:8\nsquare_f64 0:4 8:8 16:8\n_Z4reluIfEvjPT_ 0:4 8:8\n_Z4reluIdEvjPT_ 0:4 8:8\n",
    );
    let source = example.scenario.folder.join("kernels/elementwise.cu");
    let runs = kernels_that_run(&folder, &[source]);
    let mut on_nvidia = on_gpus("9.0", &log);
    on_nvidia.extend([
        ("HIP_VISIBLE_DEVICES", "-1"),
        ("FAKE_RUNS", &*runs),
        ("FAKE_KERNELS", utf8(&kernels)),
    ]);
    let rest = "with a slope of 0.5:\n  [-1.0, 2.0] becomes [-1.0, 2.0]\n  [-3.0, 4.0] becomes [-3.0, 4.0]\n";
    let expected = format!("compute_80: the squares are [1.0, 4.0, 9.0]\n{rest}");
    assert_eq!(example.passes("cargo run", &on_nvidia).text(), expected);
    let lines = read_log(&log).join("\n");
    for part in ["cuModuleGetGlobal_v2: slope, 4 bytes", "_Z4reluIfEvjPT_ by pointers: 02000000 "] {
        assert!(lines.contains(part), "{lines}");
    }
    assert_eq!(example.passes("cargo run square f64 1.5 2", &on_nvidia).text(), "2.25\n4\n");

    compile("hip_runtime.c", &["-shared", "-fPIC"], &folder.join("libamdhip64.so"));
    let mut on_amd = on_gpus("gfx1100", &log);
    on_amd[0].1 = utf8(&folder);
    on_amd.extend([("CUDA_VISIBLE_DEVICES", ""), ("FAKE_KERNELS", utf8(&kernels))]);
    assert_eq!(example.passes("cargo run square f64 1.5", &on_amd).text(), "0\n");
    let lines = read_log(&log);
    assert_eq!(lines[1], "hipModuleLaunchKernel: 1 blocks of 256 threads");
    assert!(lines[2].starts_with("square_f64 by pointers: 01000000 "), "{lines:?}");
    assert!(example.passes("cargo run", &on_amd).text().ends_with(rest));
    let lines = read_log(&log).join("\n");
    assert!(lines.contains("_Z4reluIdEvjPT_ by pointers: 02000000 "), "{lines}");
}

fn follow_all(name: &'static str) {
    let example = Example::new(name);
    for block in 0..example.blocks.len() {
        example.follow(block, &[], &[]);
    }
}

#[test(NOTHING.slow())]
fn read_a_bundle() {
    let example = Example::new("read-a-bundle");
    example.follow(0, &[], &[]);
    let printed = example.fails("cargo run nothing", &[]);
    assert_eq!(printed.text(), "error: nothing: No such file or directory (os error 2)\n");
}
