//! Tests in which each driver call fails once: every failure must cause a readable error, and
//! nothing may leak.

use super::{hip, on_driver, run};
use offload_tests::registry::COMPILERS;
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver};

/// Functions that destructors call to release a resource or to restore the current GPU. If one of
/// them fails, the program may succeed: a destructor cannot return the error, and the error may
/// stem from earlier work.
const ENDS: [&str; 9] = [
    "cuMemFree_v2",
    "cuModuleUnload",
    "cuLibraryUnload",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxDestroy_v2",
    "hipFree",
    "hipModuleUnload",
    // The run time calls this function to restore the previously current GPU.
    "hipSetDevice",
];

#[test(COMPILERS.slow())]
fn every_call_fails_once() {
    let driver = cuda_driver("run_time_failing_driver", &[]);
    fail_each(
        || on_driver(&driver, "8.0,9.0").with("OFFLOAD_DEVICE", "cuda:1"),
        "CUDA_ERROR_UNKNOWN (999): unknown error",
        "cuInit cuLibraryLoadData cuModuleGetGlobal_v2 cuLibraryGetModule cuKernelGetFunction cuFuncSetAttribute cuFuncGetAttribute cuStreamSynchronize",
    );
}

#[test(COMPILERS.slow())]
fn every_call_of_an_old_driver_fails_once() {
    let driver = cuda_driver("run_time_old_failing_driver", &["-DBEFORE_CUDA_12"]);
    fail_each(
        || on_driver(&driver, "9.0").with("OFFLOAD_DEVICE", "cuda:0"),
        "CUDA_ERROR_UNKNOWN (999): unknown error",
        "cuModuleLoadData cuModuleGetGlobal_v2 cuModuleGetFunction cuMemAlloc_v2 cuLaunchKernel cuCtxSynchronize",
    );
}

#[test(COMPILERS.slow())]
fn every_call_of_hip_fails_once() {
    fail_each(
        || hip::on_gpus("gfx90a,gfx1100").with("OFFLOAD_DEVICE", "hip:1"),
        "hipErrorUnknown (999)",
        "hipInit hipModuleLoadData hipModuleGetGlobal hipModuleGetFunction hipSetDevice hipDeviceSynchronize",
    );
}

/// Runs the program once for each of its driver calls, and makes that call fail. All functions in
/// `expected` must be called.
fn fail_each(program: impl Fn() -> Staged, error: &str, expected: &str) {
    run(&program(), &["all"]).succeeds().prints_last("done\n");
    let mut failed = Vec::new();
    for number in 1.. {
        let run = run(&program().with("FAKE_FAIL_CALL", number.to_string()), &["all"]);
        let Some(function) = run.log.iter().find_map(|line| line.strip_prefix("fails: ")) else {
            run.succeeds();
            break;
        };
        assert_told(&run, function, error);
        failed.push(function.to_owned());
    }
    for function in expected.split(' ') {
        assert!(failed.iter().any(|it| it == function), "{function} was not called: {failed:?}");
    }
    assert!(failed.len() > 50, "{failed:?}");
}

/// Asserts that the program ends with the failed function's error, or succeeds if a destructor may
/// have called the function.
#[track_caller]
fn assert_told(run: &Outcome, function: &str, error: &str) {
    if run.status == Some(0) {
        // Destructors also call these functions to make the GPU current. If such a call fails, the
        // destructor calls the function again.
        let is_for_an_end =
            ["cuCtxGetCurrent", "cuCtxPushCurrent_v2", "hipGetDevice"].contains(&function);
        assert!(is_for_an_end || ENDS.contains(&function), "{function}: {run:#?}");
        run.succeeds().prints_last("done\n");
        return;
    }
    assert_eq!(run.status, Some(1), "{function}: {run:#?}");
    run.complains("error: ").complains(&format!("{function} returned {error}"));
    // The advice for a missing variable, which the error code does not report.
    assert!(!run.stderr.contains("`static`"), "{run:#?}");
    assert!(run.stderr.contains("could not ") || run.stderr.contains("does not start"), "{run:#?}");
}
