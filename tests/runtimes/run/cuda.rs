//! Tests on pretended NVIDIA GPUs.

use super::{
    DRIVER, PROGRAM, RAN_ON_CPU, assert_expected, count, on_driver, on_gpus, run, transcript,
};
use offload_tests::data::read;
use offload_tests::registry::COMPILERS;
use offload_tests::stand_ins::{cuda_driver, described};
use std::path::PathBuf;
use std::sync::LazyLock;

offload_tests::tests! {
    COMPILERS => [
        each_gpu_gets_its_image_as_a_library,
        an_old_driver_gets_a_module,
        each_of_three_gpus_loads_once_for_24_threads,
        launches_beyond_a_limit_do_not_reach_the_driver,
        shared_memory_is_asked_for_once,
        a_variable_names_the_device,
        what_the_driver_says_of_its_gpus_is_told,
        modules_are_loaded_one_by_one,
    ],
}

/// The stand-in as a driver of CUDA 11.
static OLD: LazyLock<PathBuf> =
    LazyLock::new(|| cuda_driver("run_time_old_driver", &["-DBEFORE_CUDA_12"]));

/// Returns the description of an image file in the stand-in's log.
fn image(file: &str) -> String {
    let kind = if file.ends_with("ptx") { "PTX" } else { "cubin" };
    format!(
        "{kind}, {}",
        described(&read(PROGRAM.scenario.output("debug", &format!("math/math.{file}"))))
    )
}

fn each_gpu_gets_its_image_as_a_library() {
    for (gpu, target, kind, file) in [
        ("8.0", "sm_80", "cubin", "sm_80.cubin"),
        ("9.0", "sm_90", "cubin", "sm_90.cubin"),
        ("12.0", "compute_80", "PTX", "compute_80.ptx"),
    ] {
        let outcome = run(&on_gpus(gpu), &["saxpy"]);
        outcome.succeeds().prints(&format!(
            "cuda:0 (Fake GPU {gpu}): the {target} {kind} computed 1000 of 1000\n"
        ));
        let expected = [
            "cuDevicePrimaryCtxRetain: GPU 0".to_owned(),
            format!("cuLibraryLoadData: GPU 0, {}", image(file)),
            "cuLibraryGetKernel: saxpy".to_owned(),
            "cuLaunchKernel: 4 blocks of 256 threads".to_owned(),
        ];
        assert_eq!(outcome.log, expected, "{gpu}");
    }
}

fn an_old_driver_gets_a_module() {
    let old = |gpus: &str| on_driver(&OLD, gpus).with("FAKE_DRIVER", "11040");
    let outcome = run(&old("9.0"), &["saxpy"]);
    outcome.succeeds().prints("cuda:0 (Fake GPU 9.0): the sm_90 cubin computed 1000 of 1000\n");
    assert!(
        outcome.log.contains(&format!("cuModuleLoadData: GPU 0, {}", image("sm_90.cubin"))),
        "{outcome:#?}"
    );
    assert!(outcome.log.contains(&"cuModuleGetFunction: saxpy".to_owned()), "{outcome:#?}");
    let outcome = run(&old("8.0,9.0,8.6"), &["threads", "1000"]);
    outcome.succeeds();
    assert_eq!(count(&outcome, "cuModuleLoadData"), 3, "{outcome:#?}");
}

fn each_of_three_gpus_loads_once_for_24_threads() {
    let outcome = run(&on_gpus("8.0,9.0,8.6").with("FAKE_SLOW", "20"), &["threads", "1000"]);
    outcome.succeeds().prints("2400 loads on 3 devices\n");
    for gpu in 0..3 {
        assert_eq!(count(&outcome, &format!("cuLibraryLoadData: GPU {gpu}, ")), 1, "{outcome:#?}");
    }
    assert_eq!(count(&outcome, "cuLaunchKernel"), 24, "{outcome:#?}");
}

fn launches_beyond_a_limit_do_not_reach_the_driver() {
    let mut text = String::new();
    for gpu in ["8.0", "9.0", "12.0"] {
        let outcome = run(&on_gpus(gpu), &["limits"]);
        assert_eq!(count(&outcome, "cuLaunchKernel"), 0, "{outcome:#?}");
        text += &transcript(gpu, &outcome);
    }
    text += &transcript("the CPU", &run(&on_gpus(""), &["limits"]));
    assert_expected("limits", &text);
}

/// Asserts that the run time raises the limit for shared memory only for launches above 48 KiB that
/// need more than all launches before.
fn shared_memory_is_asked_for_once() {
    for libraries in [&*DRIVER, &*OLD] {
        let outcome = run(&on_driver(libraries, "9.0"), &["shared-memory"]);
        outcome.succeeds();
        let asked: Vec<&str> = outcome
            .log
            .iter()
            .filter_map(|line| line.strip_prefix("cuFuncSetAttribute: "))
            .collect();
        assert_eq!(
            asked,
            [
                "60000 bytes of shared memory",
                "90000 bytes of shared memory",
                "232448 bytes of shared memory"
            ],
            "{outcome:#?}"
        );
        assert_eq!(count(&outcome, "cuLaunchKernel"), 7, "{outcome:#?}");
    }
    run(&on_gpus(""), &["shared-memory"]).succeeds().prints("true\n");
}

fn a_variable_names_the_device() {
    let mut text = String::new();
    for name in
        ["", "cpu", "cuda:1", "cuda", "cuda:3", "cuda:x", "cuda:-1", "hip:0", "nonsense", "CUDA:0"]
    {
        let outcome = run(&on_gpus("8.0,9.0").with("OFFLOAD_DEVICE", name), &["saxpy"]);
        text += &transcript(&format!("OFFLOAD_DEVICE={name:?}"), &outcome);
    }
    // The error for `hip:0` depends on whether AMD's runtime is installed, so that line is not
    // compared.
    let hip = text
        .lines()
        .position(|line| line.starts_with("error: could not use the device \"hip:0\": "));
    let text: Vec<&str> =
        text.lines().enumerate().filter(|(at, _)| Some(*at) != hip).map(|(_, line)| line).collect();
    assert!(hip.is_some(), "{text:#?}");
    assert_expected("offload_device", &(text.join("\n") + "\n"));
}

/// Asserts that the list has the GPUs that the driver reports: the driver applies
/// `CUDA_VISIBLE_DEVICES`, and our code does not read that variable.
fn what_the_driver_says_of_its_gpus_is_told() {
    // The name fills its buffer of 256 bytes, without a NUL.
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
        "no cuda device: no CUDA driver: libcuda.so.1 has no function cuDevicePrimaryCtxRelease_v2: it is too old, or a stub to link \
         with\n",
    );
    // With a driver that is too old, and with a GPU that no image fits.
    for gpu in [on_driver(&older, "9.0"), on_gpus("7.5")] {
        run(&gpu, &["saxpy"]).succeeds().prints(RAN_ON_CPU);
    }
}

/// Tests a pack of several modules on a device that has an image of each. Each module is loaded
/// when it is requested.
fn modules_are_loaded_one_by_one() {
    let outcome = run(&on_gpus("8.0"), &["modules"]);
    outcome.succeeds().prints_last("sm_80\nsm_80\n");
    assert_eq!(count(&outcome, "cuLibraryLoadData"), 2, "{outcome:#?}");
}
