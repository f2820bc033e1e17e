//! Tests of device variables, on each kind of device.

use super::{PROGRAM, assert_expected, hip, on_gpus, run, transcript};
use offload_tests::prelude::*;
use offload_tests::stand_ins::Staged;

/// Returns the program on each kind of device, and on a GPU for which the driver compiles PTX.
fn devices() -> [(&'static str, Staged); 4] {
    [
        ("the CPU", on_gpus("")),
        ("NVIDIA", on_gpus("8.0")),
        ("NVIDIA, PTX", on_gpus("9.0")),
        ("AMD", hip::on_gpus("gfx1100")),
    ]
}

#[test(COMPILERS)]
fn variables_are_copied_on_each_kind_of_device() {
    let text = devices().map(|(title, staged)| transcript(title, &run(&staged, &["variables"])));
    assert_expected("variables", &text.concat());
}

#[test(COMPILERS)]
fn wrong_variables_are_told() {
    let text =
        devices().map(|(title, staged)| transcript(title, &run(&staged, &["variable-errors"])));
    assert_expected("variable_errors", &text.concat());
}

/// Tests a pack in which only one module has images. The modules before and after it have none.
#[test(COMPILERS)]
fn modules_without_images_have_no_variables() {
    let text = [("cpu", on_gpus("")), ("cuda:0", on_gpus("8.0"))].map(|(device, staged)| {
        let staged = staged.with("OFFLOAD_DEVICE", device);
        transcript(device, &run(&staged, &["empty-modules"]))
    });
    assert_expected("empty_modules", &text.concat());
}

#[test(COMPILERS)]
fn copies_on_threads_are_whole() {
    for (_, staged) in devices() {
        run(&staged, &["variable-threads"]).succeeds().prints("done\n");
    }
}

/// Asserts that LLVM's and NVIDIA's tools find the variables in the images, under the symbols that
/// the pack's index lists.
#[test(COMPILERS)]
fn images_have_the_listed_variables() {
    let output = |file: &str| PROGRAM.scenario.output("debug", file);
    let index = String::from_utf8(read(output("variables.index"))).expect("an index is text");
    let of_first = index.split("\nmodule ").nth(1).expect("the pack has modules");
    let listed = of_first.split("\nvariable ").skip(1);
    let listed: Vec<&str> = listed
        .filter(|it| !it.split("\nsignature ").next().unwrap_or_default().contains("\nobstacle "))
        .map(|it| it.lines().next().and_then(|line| line.split(' ').nth(1)).expect("a symbol"))
        .collect();
    assert_eq!(listed.len(), 14, "{listed:#?}");
    let code_object = stdout(&succeed(
        llvm("llvm-readelf")
            .args(["--dyn-syms", "-W"])
            .arg(output("variables/variables.gfx1100.hsaco")),
    ));
    let cubin = stdout(&succeed(
        cuda("cuobjdump").arg("--dump-elf-symbols").arg(output("variables/variables.sm_80.cubin")),
    ));
    for symbol in listed {
        let end = format!(" {symbol}");
        let is_there = |list: &str, words: &[&str]| {
            list.lines().any(|line| {
                line.trim_end().ends_with(&end) && words.iter().all(|word| line.contains(word))
            })
        };
        assert!(is_there(&code_object, &["OBJECT", "PROTECTED"]), "{symbol} in {code_object}");
        assert!(is_there(&cubin, &["OBJECT"]), "{symbol} in {cubin}");
    }
}
