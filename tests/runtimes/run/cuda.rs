//! Tests on fake NVIDIA GPUs.

use super::{
    DRIVER, PROGRAM, RAN_ON_CPU, assert_expected, hip, on_driver, on_gpus, run, run_loosely,
    transcript,
};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{cuda_driver, described};

/// The stand-in, compiled to act as a CUDA 11 driver.
static OLD: LazyLock<PathBuf> =
    LazyLock::new(|| cuda_driver("run_time_old_driver", &["-DBEFORE_CUDA_12"]));

/// Returns how the stand-in's log describes an image file.
fn image(file: &str) -> String {
    let kind = if file.ends_with("ptx") { "PTX" } else { "cubin" };
    let image = read(PROGRAM.scenario.output("debug", &format!("math/math.{file}")));
    format!("{kind}, {}", described(&image))
}

#[test(COMPILERS)]
fn an_old_driver_gets_a_module() {
    let old = |gpus: &str| on_driver(&OLD, gpus).with("FAKE_DRIVER", "11040");
    run(&old("9.0"), &["saxpy"])
        .succeeds()
        .prints("cuda:0 (Fake GPU 9.0): the sm_90 cubin computed 1000 of 1000\n")
        .logs_line(&format!("cuModuleLoadData: GPU 0, {}", image("sm_90.cubin")))
        .logs_line("cuModuleGetFunction: saxpy");
    run(&old("8.0,9.0,8.6"), &["threads", "1000"]).succeeds().logs(3, "cuModuleLoadData");
}

#[test(COMPILERS)]
fn each_of_three_gpus_loads_once_for_24_threads() {
    let outcome = run(&on_gpus("8.0,9.0,8.6").with("FAKE_SLOW", "20"), &["threads", "1000"]);
    outcome.succeeds().prints("2400 loads on 3 devices\n");
    (0..3).for_each(|gpu| {
        outcome.logs(1, &format!("cuLibraryLoadData: GPU {gpu}, "));
    });
    outcome.logs(24, "cuLaunchKernel");
}

#[test(COMPILERS)]
fn launches_beyond_a_limit_do_not_reach_the_driver() {
    let mut text = String::new();
    for gpu in ["8.0", "9.0", "12.0"] {
        let outcome = run(&on_gpus(gpu), &["limits"]);
        text += &transcript(gpu, outcome.logs(0, "cuLaunchKernel"));
    }
    text += &transcript("the CPU", &run(&on_gpus(""), &["limits"]));
    assert_expected("limits", &text);
}

/// Asserts that the run time raises the limit for shared memory only if a launch needs more than 48
/// KiB and more than any earlier launch.
#[test(COMPILERS)]
fn shared_memory_is_asked_for_once() {
    for libraries in [&*DRIVER, &*OLD] {
        let outcome = run(&on_driver(libraries, "9.0"), &["shared-memory"]);
        outcome.succeeds().logs(7, "cuLaunchKernel");
        let asked = [60000, 90000, 232448]
            .map(|bytes| format!("cuFuncSetAttribute: {bytes} bytes of shared memory"));
        assert_eq!(outcome.logged("cuFuncSetAttribute: "), asked, "{outcome:#?}");
    }
    run(&on_gpus(""), &["shared-memory"]).succeeds().prints("true\n");
}

/// Asserts that a thread that needs less shared memory never lowers the limit of another thread.
#[test(COMPILERS)]
fn shared_memory_is_asked_for_by_one_thread_at_a_time() {
    let slow = on_gpus("9.0").with("FAKE_SLOW", "20");
    run(&slow, &["shared-memory-threads"]).succeeds().logs(9, "cuLaunchKernel");
}

/// Asserts that static shared memory counts, whether the image or the driver knows its size.
#[test(COMPILERS)]
fn static_shared_memory_counts() {
    // A cubin, and PTX.
    for gpu in ["8.0", "12.0"] {
        let outcome = run(&on_gpus(gpu), &["static-shared-memory"]);
        let asked = "cuFuncSetAttribute: 48129 bytes of shared memory";
        assert_eq!(outcome.succeeds().logged("cuFuncSetAttribute: "), [asked], "{outcome:#?}");
    }
}

/// Asserts that launches with buffers of a different GPU or of the CPU do not reach the driver, and
/// that launches with the GPU's own buffers do.
#[test(COMPILERS)]
fn buffers_of_a_different_device_are_refused() {
    let mut text = String::new();
    for (title, staged, launch) in [
        ("NVIDIA", on_gpus("8.0,9.0"), "cuLaunchKernel"),
        ("AMD", hip::on_gpus("gfx90a,gfx1100"), "hipModuleLaunchKernel"),
    ] {
        let outcome = run(&staged, &["elsewhere"]);
        text += &transcript(title, outcome.succeeds().logs(2, launch));
    }
    assert_expected("elsewhere", &text);
}

#[test(COMPILERS)]
fn a_variable_names_the_device() {
    let mut text = String::new();
    for name in
        ["", "cpu", "cuda:1", "cuda", "cuda:3", "cuda:x", "cuda:-1", "hip:0", "nonsense", "CUDA:0"]
    {
        let outcome = run(&on_gpus("8.0,9.0").with("OFFLOAD_DEVICE", name), &["saxpy"]);
        text += &transcript(&format!("OFFLOAD_DEVICE={name:?}"), &outcome);
    }
    // The error for `hip:0` depends on whether AMD's runtime is installed, so do not compare this
    // line.
    let is_hip = |line: &&str| line.starts_with("error: could not use the device \"hip:0\": ");
    let (hip, text): (Vec<&str>, Vec<&str>) = text.lines().partition(is_hip);
    assert_eq!(hip.len(), 1, "{text:#?}");
    assert_expected("offload_device", &(text.join("\n") + "\n"));
}

/// Asserts that the list contains all GPUs that the driver reports. The driver, not our code,
/// applies `CUDA_VISIBLE_DEVICES`.
#[test(COMPILERS)]
fn what_the_driver_says_of_its_gpus_is_told() {
    // The GPU's name from the driver fills the 256-byte buffer and has no final NUL.
    run(&on_gpus("9.0").with("FAKE_NAME", "a\n'\\"), &["devices"])
        .succeeds()
        .prints(&format!("cuda:0 ({}): ", "a\\n'\\\\".repeat(64)));
    let outcome = run(&on_gpus("7.5,12.1").with("CUDA_VISIBLE_DEVICES", "1"), &["devices"]);
    outcome.succeeds().prints(
        "cuda:0 (Fake GPU 7.5): sm_75 (CUDA driver 12.8), Some(85899345920) bytes\n\
         cuda:1 (Fake GPU 12.1): sm_121 (CUDA driver 12.8), Some(85899345920) bytes\n",
    );
    assert_eq!(outcome.log, [""; 0], "nothing is made that was not asked for");
    run(&on_gpus(""), &["devices"])
        .succeeds()
        .prints("no cuda device: the CUDA driver, libcuda.so.1, finds no GPU\n");
    let older = cuda_driver("run_time_older_driver", &["-DLACKING"]);
    run(&on_driver(&older, "9.0"), &["devices"]).succeeds().prints(
        "no cuda device: no CUDA driver: libcuda.so.1 has no function cuDevicePrimaryCtxRelease_v2: it is too old, or a stub for \
         linking\n",
    );
    // The program must use the first GPU that an image fits.
    run(&on_gpus("7.5,9.0,8.6"), &["saxpy"])
        .succeeds()
        .prints("cuda:1 (Fake GPU 9.0): the sm_90 cubin computed 1000 of 1000\n");
    // If the driver is too old, or no image fits the GPU, the program must use the CPU.
    for gpu in [on_driver(&older, "9.0"), on_gpus("7.5")] {
        run(&gpu, &["saxpy"]).succeeds().prints(RAN_ON_CPU);
    }
}

/// Tests a pack in which several modules have an image for the device. Each module must be loaded
/// only on request.
#[test(COMPILERS)]
fn modules_are_loaded_one_by_one() {
    let outcome = run(&on_gpus("8.0"), &["modules"]);
    outcome.succeeds().prints_last("sm_80\nsm_80\n").logs(2, "cuLibraryLoadData");
}

/// Tests driver errors with and without a name. An error while a resource is released must not make
/// the program fail. In that case, the stand-in logs a leak.
#[test(COMPILERS)]
fn errors_have_the_drivers_words() {
    const RUNNING: &str = "cuDevicePrimaryCtxRetain=2 cuCtxPushCurrent_v2=201 cuLibraryLoadData=200 \
        cuLibraryLoadData=2 cuLibraryLoadData=700 cuLibraryGetKernel=500 cuMemAlloc_v2=2 cuMemcpyHtoD_v2=1 \
        cuStreamSynchronize=719 cuLaunchKernel=400 \
        cuMemcpyDtoH_v2=719 cuMemcpyDtoH_v2=4242 cuMemFree_v2=1 cuLibraryUnload=1 \
        cuDevicePrimaryCtxRelease_v2=1 cuInit=101";
    const LISTING: &str = "cuInit=101 cuDriverGetVersion=101 cuDeviceGetCount=101 cuDeviceGet=101 \
        cuDeviceGetName=101 cuDeviceGetAttribute=101";
    let mut text = String::new();
    for (command, errors) in [("saxpy", RUNNING), ("devices", LISTING)] {
        for error in errors.split(' ') {
            let outcome = run_loosely(&on_gpus("9.0").with("FAKE_ERROR", error), &[command]);
            text += &transcript(&format!("{command}, {error}"), &outcome);
            text.extend(outcome.logged("misuse").iter().map(|line| format!("{line}\n")));
        }
    }
    // The lines about AMD's runtime and OpenCL depend on the machine. The image's size depends on
    // the compilers.
    let others = ["no hip device: ", "no opencl device: "];
    let is_compared = |line: &&str| !others.iter().any(|start| line.starts_with(start));
    let lines = text.split_inclusive('\n').filter(is_compared);
    let image = read(PROGRAM.scenario.output("debug", "math/math.sm_90.cubin"));
    let text = lines.collect::<String>().replace(&format!("{} bytes", image.len()), "SIZE bytes");
    assert_expected("driver_errors", &text);
}
