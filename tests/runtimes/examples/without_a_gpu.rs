//! Examples that need no GPU: a library of modules, kernels for the CPU, kernels by name, and a
//! reader of bundles.

use super::{Example, on_gpus, read_log, utf8};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{compile, kernels_that_run};

offload_tests::tests! {
    GCC.slow() => [one_source, kernel_tests, kernels_by_name],
    needs(&[Tool::Gcc, Tool::Python]).slow() => [module_library],
    NOTHING.slow() => [read_a_bundle],
}

fn module_library() {
    follow_all("module-library");
}

fn one_source() {
    follow_all("one-source");
}

fn kernel_tests() {
    follow_all("kernel-tests");
}

/// Follows the README on the CPU, and runs kernels by name on pretended GPUs of both vendors. The
/// stand-in for NVIDIA's driver computes; that for AMD's runtime logs the arguments.
fn kernels_by_name() {
    follow_all("kernels-by-name");
    let example = Example::copied("kernels-by-name", "kernels-by-name-on-gpus");
    let folder = scratch::folder("examples-kernels-by-name");
    let log = folder.join("log");
    let source = example.scenario.folder.join("kernels/elementwise.cu");
    let runs = kernels_that_run(&folder, &[source]);
    let on_nvidia = |command: &str| {
        let others = vec![("HIP_VISIBLE_DEVICES", "-1"), ("FAKE_RUNS", &*runs)];
        example.passes(command, &[on_gpus("9.0", &log), others].concat()).text()
    };
    let expected = "The compute_80 PTX computed the same by function and by name.\n";
    assert_eq!(on_nvidia("cargo run"), expected);
    assert_eq!(on_nvidia("cargo run square f64 1.5 2"), "2.25\n4\n");

    compile("hip_runtime.c", &["-shared", "-fPIC"], &folder.join("libamdhip64.so"));
    scratch::write(folder.join("kernels"), "square_f64 0:4 8:8 16:8\n");
    let kernels = folder.join("kernels");
    let mut on_amd = on_gpus("gfx1100", &log);
    on_amd[0].1 = utf8(&folder);
    on_amd.extend([("CUDA_VISIBLE_DEVICES", ""), ("FAKE_KERNELS", utf8(&kernels))]);
    assert_eq!(example.passes("cargo run square f64 1.5", &on_amd).text(), "0\n");
    let lines = read_log(&log);
    assert_eq!(lines[1], "hipModuleLaunchKernel: 1 blocks of 256 threads");
    assert!(lines[2].starts_with("square_f64 by pointers: 01000000 "), "{lines:?}");
}

fn follow_all(name: &'static str) {
    let example = Example::new(name);
    for block in 0..example.blocks.len() {
        example.follow(block, &[], &[]);
    }
}

fn read_a_bundle() {
    let example = Example::new("read-a-bundle");
    example.follow(0, &[], &[]);
    let printed = example.fails("cargo run nothing", &[]);
    assert_eq!(printed.text(), "error: nothing: No such file or directory (os error 2)\n");
}
