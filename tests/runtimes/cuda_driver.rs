//! Tests of the example `saxpy` with a stand-in for the CUDA driver, and with NVIDIA's own driver
//! where one is installed. Each test sets the GPUs of the stand-in.

use crate::saxpy::{PREBUILT, prebuilt};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver, described};

/// The example with its prebuilt images.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| PREBUILT.program());

/// The folder that contains the stand-in for the CUDA driver.
static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| cuda_driver("cuda-driver", &[]));

/// Returns the example on a machine with these pretended GPUs; AMD's runtime, if there is one, has
/// no GPU.
fn on_gpus(capabilities: &str) -> Staged {
    Staged::new(&PROGRAM, &DRIVER).with("HIP_VISIBLE_DEVICES", "-1").with("FAKE_GPU", capabilities)
}

/// Runs the program; checks that it follows all rules of the driver and frees everything.
fn run(staged: &Staged, args: &[&str], name: &str) -> Outcome {
    let outcome = staged.run(args, &DRIVER.join(format!("{name}.log")));
    outcome.keeps_the_rules();
    outcome
}

/// The last line of a run on the CPU.
const RAN_ON_CPU: &str = "Ran the cpu shared object on cpu: all 1048576 elements are right.\n";

#[test(GCC.slow())]
fn each_gpu_gets_its_image_byte_for_byte() {
    for (gpu, driver, target, kind, file) in [
        ("8.0", "11000", "sm_80", "cubin", "sm_80.cubin"),
        ("8.6", "12080", "sm_80", "cubin", "sm_80.cubin"),
        ("8.9", "12080", "sm_80", "cubin", "sm_80.cubin"),
        ("9.0", "13000", "sm_90", "cubin", "sm_90.cubin"),
        ("10.0", "12080", "compute_80", "PTX", "compute_80.ptx"),
        ("12.1", "13000", "compute_80", "PTX", "compute_80.ptx"),
    ] {
        let outcome = run(&on_gpus(gpu).with("FAKE_DRIVER", driver), &[], gpu);
        let ran = format!("\nRan the {target} {kind} on cuda:0: all 1048576 elements are right.\n");
        outcome.succeeds().prints_last(&ran);
        // The stand-in counts PTX up to the first NUL.
        let expected = [
            "cuDevicePrimaryCtxRetain: GPU 0".to_owned(),
            format!("cuLibraryLoadData: GPU 0, {kind}, {}", described(&prebuilt(file))),
            "cuLibraryGetKernel: saxpy".to_owned(),
            "cuLaunchKernel: 4096 blocks of 256 threads".to_owned(),
        ];
        assert_eq!(outcome.log, expected, "{gpu}");
    }
}

#[test(GCC)]
fn without_a_fitting_image_the_cpu_runs() {
    let old = "the driver for CUDA 10.2 loads PTX up to 6.5; this image is PTX 7.0, for CUDA 11.0 or later";
    for (gpu, driver, why) in
        [("7.5", "12080", "needs compute capability 8.0"), ("10.0", "10020", old)]
    {
        let staged = on_gpus(gpu).with("FAKE_DRIVER", driver);
        run(&staged, &[], &format!("{gpu}-cpu"))
            .succeeds()
            .prints("none fits; --device cuda:0 tells why")
            .prints_last(RAN_ON_CPU)
            .loads_nothing();

        run(&staged, &["--device", "cuda:0"], &format!("{gpu}-asked"))
            .fails_first_with("error: no image for sm_")
            .complains(&format!("compute_80     {why}"))
            .loads_nothing();
    }
}

#[test(GCC)]
fn of_several_gpus_the_first_that_fits_runs() {
    let gpus = on_gpus("7.5,9.0,8.6");
    for (args, image, gpu) in [(&[][..], "sm_90", 1), (&["--device=cuda:2"], "sm_80", 2)] {
        let outcome = run(&gpus, args, &format!("several-{gpu}"));
        outcome.prints_last(&format!(
            "Ran the {image} cubin on cuda:{gpu}: all 1048576 elements are right.\n"
        ));
        assert_eq!(outcome.log[0], format!("cuDevicePrimaryCtxRetain: GPU {gpu}"));
    }

    run(&gpus, &["--device", "cuda:3"], "several-fourth").fails_with(
        "error: could not use the device \"cuda:3\": there is cuda:0, cuda:1, cuda:2\n",
    );
}

#[test(GCC)]
fn wrong_results_are_found() {
    for (end, wrong, first) in [
        (0, 1048576, "y[0]: expected 3, found 0"),
        // x[1500] is 492 and y[1500] is 500, so the right result is 3 * 492 + 500 = 1976.
        (1500, 1047076, "y[1500]: expected 1976, found 500"),
        (1048575, 1, "y[1048575]: expected 1250, found 575"),
    ] {
        let staged = on_gpus("9.0").with("FAKE_KERNEL_END", end.to_string());
        run(&staged, &[], &format!("end-{end}"))
            .fails_with(&format!(
                "error: wrong result: {wrong} of 1048576 elements; the first is {first}\n"
            ))
            .does_not_print("are right");
    }
}

#[test(GCC)]
fn no_driver_is_needed_to_start() {
    let dynamic = stdout(&succeed(Command::new("readelf").args(["-d", "-W"]).arg(&*PROGRAM)));
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    let needed: Vec<&str> =
        needed.map(|line| line.split(['[', ']']).nth(1).unwrap_or(line)).collect();
    assert!(needed.contains(&"libc.so.6"), "{dynamic}");
    // Libraries that each Rust program for Linux may need.
    let usual = ["libc.", "libgcc_s.", "libm.", "libdl.", "libpthread.", "ld-linux"];
    for library in needed {
        let is_usual = usual.iter().any(|start| library.starts_with(start));
        assert!(is_usual, "the program needs {library} to start");
    }
}

#[test(needs(&[Tool::Gcc, Tool::NvidiaGpu]))]
fn a_real_gpu_computes_the_right_result() {
    let output = succeed(Command::new(&*PROGRAM).args(["--device", "cuda:0"]));
    let printed = stdout(&output);
    assert!(printed.ends_with("on cuda:0: all 1048576 elements are right.\n"), "{printed}");
}
