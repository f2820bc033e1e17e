//! Tests of the example `saxpy` with a stand-in for the CUDA driver, and with NVIDIA's own driver
//! where one is installed. Each test sets the GPUs of the stand-in.

use crate::saxpy::{PREBUILT, prebuilt};
use offload_tests::registry::{GCC, needs};
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver, described};
use offload_tests::tools::{Tool, stdout, succeed};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

offload_tests::tests! {
    GCC => [without_a_fitting_image_the_cpu_runs, of_several_gpus_the_first_that_fits_runs, wrong_results_are_found, errors_while_running_are_told, errors_while_looking_for_gpus_are_told, errors_while_cleaning_up_are_no_failure, no_driver_is_needed_to_start],
    GCC.slow() => [each_gpu_gets_its_image_byte_for_byte],
    needs(&[Tool::Gcc, Tool::NvidiaGpu]) => [a_real_gpu_computes_the_right_result],
}

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
    assert!(!outcome.log.iter().any(|line| line.contains("misuse")), "{name}: {outcome:#?}");
    outcome
}

/// The last line of a run on the CPU.
const RAN_ON_CPU: &str = "Ran the cpu shared object on cpu: all 1048576 elements are right.\n";

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
        let ran = format!("Ran the {target} {kind} on cuda:0: all 1048576 elements are right.");
        assert_eq!(outcome.stdout.lines().last(), Some(&*ran), "{gpu}: {outcome:#?}");
        outcome.succeeds();
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

fn without_a_fitting_image_the_cpu_runs() {
    for (gpu, driver, reason) in [
        ("7.5", "12080", "compute_80     needs compute capability 8.0"),
        (
            "10.0",
            "10020",
            "compute_80     PTX ISA 7.0 needs a driver for CUDA 11.0 or later, this one is for 10.2",
        ),
    ] {
        let staged = on_gpus(gpu).with("FAKE_DRIVER", driver);
        let outcome = run(&staged, &[], &format!("{gpu}-cpu"));
        assert_eq!(outcome.status, Some(0), "{gpu}: {outcome:#?}");
        outcome
            .prints("none fits; --device cuda:0 tells why")
            .prints_last(RAN_ON_CPU)
            .loads_nothing();

        let outcome = run(&staged, &["--device", "cuda:0"], &format!("{gpu}-asked"));
        outcome.fails_first_with("error: no image for sm_").complains(reason).loads_nothing();
    }
}

fn of_several_gpus_the_first_that_fits_runs() {
    let gpus = on_gpus("7.5,9.0,8.6");
    let outcome = run(&gpus, &[], "several");
    outcome.prints_last("Ran the sm_90 cubin on cuda:1: all 1048576 elements are right.\n");
    assert_eq!(outcome.log.first().map(String::as_str), Some("cuDevicePrimaryCtxRetain: GPU 1"));

    let outcome = run(&gpus, &["--device=cuda:2"], "several-third");
    outcome.prints_last("Ran the sm_80 cubin on cuda:2: all 1048576 elements are right.\n");
    assert_eq!(outcome.log.first().map(String::as_str), Some("cuDevicePrimaryCtxRetain: GPU 2"));

    run(&gpus, &["--device", "cuda:3"], "several-fourth").fails_with(
        "error: could not use the device \"cuda:3\": there is cuda:0, cuda:1, cuda:2\n",
    );
}

fn wrong_results_are_found() {
    for (end, error) in [
        ("0", "wrong result: 1048576 of 1048576 elements; the first is y[0]: expected 3, found 0"),
        // x[1500] is 492 and y[1500] is 500, so the right result is 3 * 492 + 500 = 1976.
        (
            "1500",
            "wrong result: 1047076 of 1048576 elements; the first is y[1500]: expected 1976, found 500",
        ),
        (
            "1048575",
            "wrong result: 1 of 1048576 elements; the first is y[1048575]: expected 1250, found 575",
        ),
    ] {
        run(&on_gpus("9.0").with("FAKE_KERNEL_END", end), &[], &format!("end-{end}"))
            .fails_with(&format!("error: {error}\n"))
            .does_not_print("are right");
    }
}

/// Functions of the driver that the program calls to run a kernel: the purpose of each, an error's
/// code, and the program's message.
const WHILE_RUNNING: [(&str, &str, u32, &str); 9] = [
    (
        "cuDevicePrimaryCtxRetain",
        "make a context on the GPU",
        2,
        "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory",
    ),
    (
        "cuCtxPushCurrent_v2",
        "make the GPU's context current",
        201,
        "CUDA_ERROR_INVALID_CONTEXT (201): invalid device context",
    ),
    (
        "cuLibraryLoadData",
        "load the sm_90 cubin (3584 bytes)",
        200,
        "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid\n\
         Update the driver, or add this GPU's own target in build.rs.",
    ),
    (
        "cuLibraryGetKernel",
        "find the kernel saxpy",
        500,
        "CUDA_ERROR_NOT_FOUND (500): named symbol not found",
    ),
    (
        "cuMemAlloc_v2",
        "allocate 4194304 bytes on the GPU",
        2,
        "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory",
    ),
    (
        "cuMemcpyHtoD_v2",
        "copy 4194304 bytes to the GPU",
        1,
        "CUDA_ERROR_INVALID_VALUE (1): invalid argument",
    ),
    (
        "cuLaunchKernel",
        "launch saxpy",
        400,
        "CUDA_ERROR_INVALID_HANDLE (400): invalid resource handle",
    ),
    (
        "cuMemcpyDtoH_v2",
        "copy 4194304 bytes from the GPU",
        719,
        "CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure",
    ),
    ("cuMemcpyDtoH_v2", "copy 4194304 bytes from the GPU", 4242, "4242, which has no name"),
];

fn errors_while_running_are_told() {
    for (function, what, code, error) in WHILE_RUNNING {
        run(&on_gpus("9.0").with("FAKE_ERROR", &format!("{function}={code}")), &[], function)
            .fails_with(&format!(
                "error: cuda:0 (Fake GPU 9.0): could not {what}: {function} returned {error}\n"
            ));
    }
}

/// Functions of the driver that the program calls to find GPUs, and the message for a failure of
/// each.
const WHILE_LOOKING: [(&str, &str); 6] = [
    ("cuInit", "the CUDA driver does not start"),
    ("cuDriverGetVersion", "could not ask for the properties of cuda:0"),
    ("cuDeviceGetCount", "could not count the GPUs"),
    ("cuDeviceGet", "could not open cuda:0"),
    ("cuDeviceGetName", "could not ask for the properties of cuda:0"),
    ("cuDeviceGetAttribute", "could not ask for the properties of cuda:0"),
];

fn errors_while_looking_for_gpus_are_told() {
    for (function, what) in WHILE_LOOKING {
        let staged = on_gpus("9.0").with("FAKE_ERROR", &format!("{function}=101"));
        let error = format!(
            "{what}: {function} returned CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal\n"
        );
        run(&staged, &[], function)
            .succeeds()
            .prints(&format!("  {error}"))
            .prints_last(RAN_ON_CPU);

        run(&staged, &["--device", "cuda:0"], &format!("{function}-asked"))
            .fails_with(&format!("error: could not use the device \"cuda:0\": {error}"));
    }
}

fn errors_while_cleaning_up_are_no_failure() {
    for (function, left) in [
        ("cuMemFree_v2", "misuse: a buffer of 4194304 bytes is left"),
        ("cuLibraryUnload", "misuse: the library of GPU 0 is left"),
        ("cuDevicePrimaryCtxRelease_v2", "misuse: the context of GPU 0 is left"),
    ] {
        let log = DRIVER.join(format!("{function}.log"));
        let outcome = on_gpus("9.0").with("FAKE_ERROR", &format!("{function}=1")).run(&[], &log);
        outcome.succeeds();
        // The line in the stand-in's log shows that the program has called the function, so a leak
        // would be found.
        assert!(outcome.log.iter().any(|line| line == left), "{outcome:#?}");
    }
}

fn no_driver_is_needed_to_start() {
    let dynamic = stdout(&succeed(Command::new("readelf").args(["-d", "-W"]).arg(&*PROGRAM)));
    let needed: Vec<&str> = dynamic
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .map(|line| line.split(['[', ']']).nth(1).unwrap_or(line))
        .collect();
    assert!(needed.contains(&"libc.so.6"), "{dynamic}");
    // Libraries that each Rust program for Linux may need.
    let usual = ["libc.", "libgcc_s.", "libm.", "libdl.", "libpthread.", "ld-linux"];
    for library in needed {
        assert!(
            usual.iter().any(|start| library.starts_with(start)),
            "the program needs {library} to start"
        );
    }
}

fn a_real_gpu_computes_the_right_result() {
    let output = succeed(Command::new(&*PROGRAM).args(["--device", "cuda:0"]));
    let printed = stdout(&output);
    assert!(printed.ends_with("on cuda:0: all 1048576 elements are right.\n"), "{printed}");
}
