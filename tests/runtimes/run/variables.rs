//! Variables of kernels, on each kind of device.

use super::{PROGRAM, assert_expected, hip, on_gpus, run, transcript};
use offload_tests::prelude::*;
use offload_tests::stand_ins::Staged;

offload_tests::tests! {
    COMPILERS => [
        variables_are_copied_on_each_kind_of_device, wrong_variables_are_told, copies_on_threads_are_whole,
    ],
}

fn devices() -> [(&'static str, Staged); 3] {
    [("the CPU", on_gpus("")), ("NVIDIA", on_gpus("9.0")), ("AMD", hip::on_gpus("gfx1100"))]
}

fn variables_are_copied_on_each_kind_of_device() {
    let text = devices().map(|(title, staged)| transcript(title, &run(&staged, &["variables"])));
    assert_expected("variables", &text.concat());
}

fn wrong_variables_are_told() {
    let text =
        devices().map(|(title, staged)| transcript(title, &run(&staged, &["variable-errors"])));
    assert_expected("variable_errors", &text.concat());
}

fn copies_on_threads_are_whole() {
    for (_, staged) in devices() {
        run(&staged, &["variable-threads"]).succeeds().prints("done\n");
    }
}
