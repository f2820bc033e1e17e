//! Tests of the run time in a process that forks, and in processes that drop devices late or never.

use super::{assert_expected, on_gpus, run, run_loosely, transcript};
use offload_tests::registry::COMPILERS;

/// Asserts that a forked child receives the driver's errors, and that the parent can still use the
/// device.
#[test(COMPILERS)]
fn a_child_gets_an_error() {
    let on_cpu = run(&on_gpus("").with("OFFLOAD_CPU_THREADS", "2"), &["fork"]);
    let on_gpu = run(&on_gpus("9.0"), &["fork"]);
    assert_expected("fork", &(transcript("a GPU", &on_gpu) + &transcript("the CPU", &on_cpu)));
}

#[test(COMPILERS)]
fn a_device_that_is_never_dropped_is_no_error() {
    let outcome = run_loosely(&on_gpus("9.0"), &["static"]);
    outcome.succeeds().prints("1000\n");
    // The stand-in reports everything that the program does not release as misuse. A real driver
    // releases such resources when the program ends.
    let left = ["misuse: the library of GPU 0 is left", "misuse: the context of GPU 0 is left"];
    assert_eq!(outcome.logged("misuse"), left);
}

#[test(COMPILERS)]
fn a_device_may_be_dropped_after_main() {
    run(&on_gpus("9.0"), &["thread-local"]).succeeds().prints("1000\n");
    run(&on_gpus(""), &["thread-local"]).succeeds().prints("1000\n");
}

#[test(COMPILERS)]
fn a_device_may_be_dropped_after_the_driver() {
    let outcome = run_loosely(&on_gpus("9.0"), &["late"]);
    outcome.succeeds().prints_last("dropped\n");
    assert_expected("late", &transcript("late", &outcome));
    run(&on_gpus(""), &["late"]).succeeds().prints_last("a buffer\ndropped\n");
}
