//! Examples that need no GPU: a library of modules, kernels for the CPU, and a reader of bundles.

use super::Example;
use offload_tests::prelude::*;

offload_tests::tests! {
    GCC.slow() => [one_source, kernel_tests],
    needs(&[Tool::Gcc, Tool::Python]).slow() => [module_library],
    NOTHING.slow() => [read_a_bundle],
}

fn module_library() {
    follow_all("module-library");
}

fn one_source() {
    follow_all("one-source");
}

fn kernel_tests() {
    follow_all("kernel-tests");
}

fn follow_all(name: &'static str) {
    let example = Example::new(name);
    for block in 0..example.blocks.len() {
        example.follow(block, &[], &[]);
    }
}

fn read_a_bundle() {
    let example = Example::new("read-a-bundle");
    example.follow(0, &[], &[]);
    let printed = example.fails("cargo run nothing", &[]);
    assert_eq!(printed.text(), "error: nothing: No such file or directory (os error 2)\n");
}
