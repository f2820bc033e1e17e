//! Tests of `OFFLOAD_CPU_ORDER`: right kernels give the same results in every order, wrong kernels
//! give different results, and unknown orders are errors.

use super::{Compiler, Program};
use offload_tests::prelude::*;

/// The program without checks that g++ built.
pub(super) static PROGRAM: LazyLock<Program> = LazyLock::new(|| Program::build(Compiler::Gcc, ""));

#[test(GCC.slow())]
fn blocks_and_threads_run_in_the_order_that_is_asked_for() {
    let run = |order: &str| {
        let output = PROGRAM.run(
            &["order", "barrier_right"],
            &[("OFFLOAD_CPU_ORDER", order), ("OFFLOAD_CPU_THREADS", "2")],
        );
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("order: "))
            .expect("a line has the order");
        line.split(' ').map(|number| number.parse().expect("it is a number")).collect::<Vec<u32>>()
    };
    let forward: Vec<u32> = (0..128).collect();
    assert_eq!(run("forward"), forward);
    assert_eq!(run("reverse"), (0..128).rev().collect::<Vec<u32>>());
    let (first, second) = (run("random:1"), run("random:2"));
    assert_eq!(first, run("random:1"), "a seed is an order");
    assert_ne!(first, second);
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, forward, "each thread runs once: {first:?}");
    assert_ne!(first, forward);
}

#[test(GCC.slow())]
fn a_word_that_is_no_order_is_an_error() {
    let output = PROGRAM.run(&["barrier_right"], &[("OFFLOAD_CPU_ORDER", "backwards")]);
    let text = stderr(&output);
    let expected = "error: cpu (linux x86_64): could not launch barrier_right: OFFLOAD_CPU_ORDER is 'backwards', but must be \
                    'forward', 'reverse', or 'random:' and a number, such as 'random:7'\n";
    assert!(text.contains(expected), "{text}");
}
