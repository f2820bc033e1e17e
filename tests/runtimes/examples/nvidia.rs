//! Tests of examples for NVIDIA GPUs, with a stand-in for the driver. They check which images are
//! loaded onto each GPU, how often they are loaded, and which errors are printed.

use super::{DRIVER, Example, HIDDEN, NO_GPU, on_gpus, read_log};
use offload_tests::prelude::*;
use offload_tests::stand_ins::described;

fn starting<'l>(lines: &'l [String], start: &str) -> Vec<&'l str> {
    lines.iter().map(String::as_str).filter(|line| line.starts_with(start)).collect()
}

#[test(GCC.slow())]
fn cuda_vector_add() {
    let example = Example::new("cuda-vector-add");
    let log = DRIVER.join("cuda-vector-add.log");

    // Four threads request the module at the same time, but it must be loaded only once.
    example.follow(0, &on_gpus("9.0", &log), &[("Fake GPU 9.0", "NVIDIA H100 80GB HBM3")]);
    let lines = read_log(&log);
    let image = described(&example.prebuilt("vector_add.sm_90.cubin"));
    let load = format!("cuLibraryLoadData: GPU 0, cubin, {image}");
    assert_eq!(starting(&lines, "cuLibraryLoadData"), [load]);
    assert_eq!(starting(&lines, "cuLaunchKernel").len(), 4);

    // The driver must receive the PTX unchanged, including the final NUL.
    let printed = example.passes("cargo run", &on_gpus("12.1", &log));
    let expected = "Fake GPU 12.1: the compute_80 PTX computed 1048576 sums, all right.\n";
    assert_eq!(printed.text(), expected);
    let image = described(&example.prebuilt("vector_add.compute_80.ptx"));
    assert!(read_log(&log).contains(&format!("cuLibraryLoadData: GPU 0, PTX, {image}")));

    example.follow(1, &HIDDEN, &NO_GPU);
    example.follow(2, &on_gpus("7.5", &log), &[]);

    // In each run, a different function of the driver fails. `cuLibraryLoadData` fails while four
    // threads request the image.
    for (failure, error) in [
        (
            "cuLibraryLoadData=200",
            "cuda:0 (Fake GPU 9.0): could not load the sm_90 cubin (3592 bytes): cuLibraryLoadData returned \
             CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid\n\
             Update the driver, or add this GPU's own target in build.rs.\n",
        ),
        ("cuMemAlloc_v2=2", "DriverError(CUDA_ERROR_OUT_OF_MEMORY, "),
        (
            "cuInit=100",
            "could not use the device \"cuda:0\": the CUDA driver, libcuda.so.1, finds no GPU\n",
        ),
        (
            "cuInit=999",
            "could not use the device \"cuda:0\": the CUDA driver does not start: cuInit returned CUDA_ERROR_UNKNOWN (999): unknown \
             error\n",
        ),
    ] {
        let variables = [on_gpus("9.0", &log), vec![("FAKE_ERROR", failure)]].concat();
        example.fails("cargo run", &variables).starts_with(&format!("error: {error}"));
        read_log(&log);
    }
    // The stand-in computes only the first 1000 elements, so the program must report a wrong
    // result.
    let variables = [on_gpus("9.0", &log), vec![("FAKE_KERNEL_END", "1000")]].concat();
    let printed = example.fails("cargo run", &variables);
    assert_eq!(printed.text(), "error: wrong result: element 1000 is 0, not 1001\n");
}

/// Runs the prebuilt images, machine code and PTX, on this machine's GPU.
#[test(needs(&[Tool::NvidiaGpu]))]
fn cuda_vector_add_on_a_real_gpu() {
    let example = Example::copied("cuda-vector-add", "cuda-vector-add-real");
    example.passes("cargo run", &[]).ends_with(" computed 1048576 sums, all right.\n");
    example
        .passes("cargo run", &[("OFFLOAD_ARCH", "compute_80")])
        .ends_with(": the compute_80 PTX computed 1048576 sums, all right.\n");
}

#[test(GCC.slow())]
fn several_gpus() {
    let example = Example::new("several-gpus");
    let log = DRIVER.join("several-gpus.log");
    let named = [
        ("Fake GPU 8.6", "NVIDIA A10"),
        ("Fake GPU 9.0", "NVIDIA H100 80GB HBM3"),
        ("Fake GPU 12.0", "NVIDIA RTX PRO 6000"),
    ];
    example.follow(0, &on_gpus("8.6,9.0,12.0", &log), &named);
    // Each GPU must load the right image exactly once.
    let lines = read_log(&log);
    let mut loads = starting(&lines, "cuLibraryLoadData");
    loads.sort_unstable();
    let expected = [("cubin", "sm_80.cubin"), ("cubin", "sm_90.cubin"), ("PTX", "compute_80.ptx")];
    assert_eq!(loads.len(), expected.len(), "{loads:#?}");
    for (gpu, (kind, file)) in expected.into_iter().enumerate() {
        let image = described(&example.prebuilt(&format!("vector_add.{file}")));
        assert_eq!(loads[gpu], format!("cuLibraryLoadData: GPU {gpu}, {kind}, {image}"));
    }

    example.follow(1, &HIDDEN, &[]);
    example.follow(2, &HIDDEN, &NO_GPU);

    // A GPU without a fitting image must not stop the other GPUs.
    let printed = example.fails("cargo run", &on_gpus("7.5,8.0", &log));
    let right = "cuda:1 (Fake GPU 8.0): sm_80 cubin, 10000 of 10000 sums are right\n";
    assert_eq!(printed.stdout, right);
    printed
        .has("cuda:0 (Fake GPU 7.5): no image for sm_75 (CUDA driver 12.8)\n")
        .ends_with("\nerror: 1 of 2 GPUs did not compute\n");
    read_log(&log);

    for (arguments, error) in [
        ("--pretend", "error: usage: several-gpus [--pretend gfx90a,sm_90,...]\n"),
        ("--pretend nonsense", "error: 'nonsense': not a device: "),
    ] {
        example.fails(&format!("cargo run -- {arguments}"), &HIDDEN).starts_with(error);
    }
}

/// Asserts that the program prints the reason and does not panic if the pack was skipped or has no
/// image for the vendor.
#[test(GCC)]
fn packs_that_cannot_serve_are_told() {
    let example = Example::copied("several-gpus", "several-gpus-without-images");
    let log = DRIVER.join("several-gpus-without-images.log");
    let first = "cuda:0 (Fake GPU 9.0): no image for sm_90 (CUDA driver 12.8)";
    for (variable, value, reason) in [
        ("OFFLOAD_SKIP", "1", ": the pack was not built: "),
        ("OFFLOAD_ARCH", "gfx90a", "\n  gfx90a  code for an AMD GPU\n"),
    ] {
        let variables = [on_gpus("9.0", &log), vec![(variable, value)]].concat();
        example
            .fails("cargo run", &variables)
            .starts_with(&format!("{first}{reason}"))
            .ends_with("\nerror: 1 of 1 GPUs did not compute\n");
        assert_eq!(read_log(&log), ["cuDevicePrimaryCtxRetain: GPU 0"]);
    }
}
