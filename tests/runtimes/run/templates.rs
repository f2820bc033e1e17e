//! Tests of generic functions for kernel templates, on each kind of device.

use super::{assert_expected, hip, on_gpus, run, transcript};
use offload_tests::prelude::*;

/// The stand-ins for NVIDIA's driver and AMD's runtime log each launch's kernel and its arguments'
/// bytes.
#[test(COMPILERS)]
fn generic_functions_call_the_instances_on_each_kind_of_device() {
    let mut text = String::new();
    for (title, staged, is_gpu) in [
        ("the CPU", on_gpus(""), false),
        ("NVIDIA", on_gpus("9.0"), true),
        ("AMD", hip::on_gpus("gfx1100"), true),
    ] {
        let outcome = run(&staged, &["templates"]);
        text += &transcript(title, &outcome);
        let launches = outcome.logged(" by pointers:");
        assert_eq!(launches.len(), if is_gpu { 29 } else { 0 }, "{launches:#?}");
        // The program first launches each instance twice: through the generic function and through
        // the instance's own function.
        for pair in launches.chunks(2).take(12) {
            assert_eq!(pair[0], pair[1]);
        }
    }
    assert_expected("templates", &text);
}
