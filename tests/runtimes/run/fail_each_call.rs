//! Every call of the driver fails once, in turn: each gives an error in words, and nothing leaks.

use super::{driver, on_driver, run};
use offload_tests::registry::COMPILERS;
use offload_tests::stand_ins::Outcome;
use std::path::PathBuf;

offload_tests::tests! {
    COMPILERS.slow() => [
        every_call_fails_once,
        every_call_of_an_old_driver_fails_once,
    ],
}

/// What gives something back can return the error of earlier work; there is nobody to hand it to.
const ENDS: [&str; 6] = [
    "cuMemFree_v2",
    "cuModuleUnload",
    "cuLibraryUnload",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxDestroy_v2",
];

fn every_call_fails_once() {
    fail_each(
        driver("run_time_failing_driver", &[]),
        &["cuLibraryLoadData", "cuLibraryGetModule", "cuKernelGetFunction"],
    );
}

fn every_call_of_an_old_driver_fails_once() {
    fail_each(
        driver("run_time_old_failing_driver", &["-DBEFORE_CUDA_12"]),
        &["cuModuleLoadData", "cuModuleGetFunction"],
    );
}

fn fail_each(libraries: PathBuf, expected: &[&str]) {
    let staged = on_driver(&libraries, "9.0").with("OFFLOAD_DEVICE", "cuda:0");
    let whole = run(&staged, &["all"]);
    whole.succeeds().prints_last("done\n");
    let mut failed = Vec::new();
    for number in 1.. {
        let run = run(
            &on_driver(&libraries, "9.0").with("OFFLOAD_DEVICE", "cuda:0").with("FAKE_FAIL_CALL", &number.to_string()),
            &["all"],
        );
        let Some(function) = run.log.iter().find_map(|line| line.strip_prefix("fails: ")) else {
            run.succeeds();
            break;
        };
        assert_told(&run, function);
        failed.push(function.to_owned());
    }
    for function in expected.iter().chain(&["cuInit", "cuMemAlloc_v2", "cuLaunchKernel", "cuFuncSetAttribute"]) {
        assert!(failed.iter().any(|it| it == function), "{function} was not called: {failed:?}");
    }
    assert!(failed.len() > 80, "{failed:?}");
}

#[track_caller]
fn assert_told(run: &Outcome, function: &str) {
    // Among what a destructor does, a call that makes the context current is tried twice.
    let is_over = run.stdout.ends_with("done\n") || ENDS.contains(&function);
    if run.status == Some(0) {
        let may_pass = is_over || ["cuCtxGetCurrent", "cuCtxPushCurrent_v2"].contains(&function);
        assert!(may_pass && run.stdout.ends_with("done\n"), "{function}: {run:#?}");
        return;
    }
    assert_eq!(run.status, Some(1), "{function}: {run:#?}");
    run.complains("error: ").complains(&format!("{function} returned CUDA_ERROR_UNKNOWN (999): unknown error"));
    assert!(run.stderr.contains("could not ") || run.stderr.contains("does not start"), "{run:#?}");
}
