//! Tests of kernels that the program finds by name, on each kind of device.

use super::{assert_expected, hip, on_gpus, run, transcript};
use offload_tests::prelude::*;

/// Makes the same calls on the CPU, and on the stand-ins for NVIDIA's driver and AMD's runtime. The
/// stand-ins compute the kernel.
#[test(COMPILERS)]
fn named_kernels_run_on_each_kind_of_device() {
    let mut text = String::new();
    for (title, staged, launch) in [
        ("the CPU", on_gpus(""), None),
        ("NVIDIA", on_gpus("9.0"), Some("cuLaunchKernel")),
        ("AMD", hip::on_gpus("gfx1100"), Some("hipModuleLaunchKernel")),
    ] {
        let outcome = run(&staged, &["named"]);
        text += &transcript(title, &outcome);
        if let Some(function) = launch {
            outcome.logs(3, function);
        }
    }
    assert_expected("named", &text);
}

#[test(COMPILERS)]
fn named_kernels_of_all_types_run_on_the_cpu() {
    let outcome = run(&on_gpus(""), &["named-types"]);
    assert_expected("named_on_cpu", &transcript("the CPU", &outcome));
}

#[test(COMPILERS)]
fn wrong_names_and_arguments_are_told() {
    let outcome = run(&on_gpus(""), &["named-errors"]);
    assert_expected("named_errors", &transcript("the CPU", &outcome));
}
