//! Tests images without checks: dynamic shared memory, and messages of kernels that end the
//! program.

use super::{Compiler, Program, orders};
use offload_tests::prelude::*;

tests!(all());

fn all() -> impl Iterator<Item = Test> {
    [(Compiler::Gcc, GCC), (Compiler::Clang, CLANG)].into_iter().map(|(compiler, needs)| {
        let name = format!("messages_name_the_kernel_{}", compiler.name());
        Test::new(module_path!(), &name, needs.slow(), move || kernels(compiler))
    })
}

fn kernels(compiler: Compiler) {
    // Another program of g++ would replace that of the other tests.
    let by_clang = matches!(compiler, Compiler::Clang).then(|| Program::build(Compiler::Clang, ""));
    let program = by_clang.as_ref().unwrap_or_else(|| &orders::PROGRAM);
    let output = program.run(&["extern_shared_right", "given_extern_right"], &[]);
    let text = stderr(&output);
    assert!(output.status.success(), "{compiler:?} {text}");
    assert_eq!(text.matches("\n128 of 128 values are numbers\n").count(), 2, "{compiler:?} {text}");
    for (name, expected) in [
        (
            "exception_wrong",
            "block (1, 0, 0), thread (6, 0, 0): the kernel throws a C++ exception and does not catch it. GPUs have no \
             exceptions: write what is wrong to a buffer, or catch the exception in the kernel\nterminate called after \
             throwing an instance of 'int'\n",
        ),
        (
            "call_trap_wrong",
            "block (1, 0, 0), thread (6, 0, 0): it calls __trap at kernels/kernels.cu:",
        ),
        ("mask_wrong", "the threads of block ("),
    ] {
        let output = program.run(&[name], &[]);
        let text = stderr(&output);
        assert!(!output.status.success(), "{compiler:?} {name}: {text}");
        let expected = format!("\noffload: in the kernel {name}, {expected}");
        assert!(text.contains(&expected), "{compiler:?} {name}: {expected}\n{text}");
    }
    let text = stderr(&program.run(&["large_shared"], &[]));
    let expected = "could not launch large_shared: the launch gives 262148 bytes of dynamic shared memory; arrays that are \
                    declared with `extern __shared__` have at most 262144 on the CPU, more than on any GPU\n";
    assert!(text.contains(expected), "{compiler:?}: {text}");
}
