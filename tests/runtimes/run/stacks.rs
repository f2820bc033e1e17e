//! Launches on the CPU that need much of the system's resources, or more than the system has.

use super::{PROGRAM, on_gpus, run};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged};

fn on_cpu(threads: &str) -> Staged {
    on_gpus("").with("OFFLOAD_CPU_THREADS", threads)
}

/// Asserts that 40 simultaneous launches, each with as many threads as on a machine with 256 cores,
/// do not need more mappings than Linux allows a process.
#[test(COMPILERS)]
fn large_blocks_run_on_many_cores() {
    run(&on_cpu("256"), &["many", "40"]).succeeds().prints("done\n");
    run(&on_cpu("256"), &["waiting"]).succeeds().prints("sleeps: few\n");
}

#[test(COMPILERS)]
fn launches_in_kernels_leave_shared_memory_alone() {
    for staged in [on_cpu("2"), on_cpu("2").with("OFFLOAD_CPU_ORDER", "reverse")] {
        run(&staged, &["nested", "1"]).succeeds().prints("done\n");
    }
    // Launches inside kernels must get stacks even while other launches wait for stacks.
    run(&on_cpu("256"), &["nested", "6"]).succeeds().prints("done\n");
}

#[test(COMPILERS)]
fn every_thread_has_the_stack_that_is_defined() {
    for threads in ["1", "4"] {
        run(&on_cpu(threads), &["deep-enough"]).succeeds().prints("[2000]\n");
    }
}

#[test(COMPILERS)]
fn a_thread_without_stack_is_told() {
    let first = "8388608 bytes of stack that a thread has here; define a larger OFFLOAD_CPU_STACK in build.rs: \
                 .define(\"OFFLOAD_CPU_STACK\", \"33554432\")\n";
    let others = "1048576 bytes of stack that a thread has here; define a larger OFFLOAD_CPU_STACK in build.rs: \
                  .define(\"OFFLOAD_CPU_STACK\", \"4194304\")\n";
    let told = |args: &[&str], kernel, thread, size| {
        let outcome = run(&on_cpu("2"), args);
        let expected = format!(
            "offload: in the kernel {kernel}, block (0, 0, 0), thread ({thread}, 0, 0): it needs more than the {size}"
        );
        assert_eq!((outcome.status, &*outcome.stderr), (None, &*expected));
    };
    told(&["overflow", "before"], "before", 0, first);
    told(&["overflow", "after"], "after", 9, others);
    told(&["overflow", "alone"], "alone", 9, first);
    told(&["overflow", "frame"], "frame", 9, others);
    told(&["overflow", "divided"], "after", 9, others);
    told(
        &["overflow", "small"],
        "after",
        9,
        "32768 bytes of stack that a thread has here; define a larger \
                 OFFLOAD_CPU_STACK in build.rs: .define(\"OFFLOAD_CPU_STACK\", \"131072\")\n",
    );
    told(&["overflow-on-bare-thread"], "after", 9, others);
}

#[test(COMPILERS)]
fn a_crash_is_told_with_its_kernel() {
    let address = "it must not access the address (nil) (SIGSEGV)";
    for (kernel, what) in [
        ("null", address),
        ("waits", address),
        ("divide", "it divides an integer by zero (SIGFPE)"),
        (
            "stops",
            "it comes to an instruction that the CPU lacks (SIGILL), such as that of __builtin_trap",
        ),
        (
            "traps",
            "it comes to an instruction that stops the program (SIGTRAP), such as that of __builtin_trap",
        ),
    ] {
        let outcome = run(&on_cpu("2"), &["overflow", kernel]);
        let expected = format!(
            "offload: in the kernel {kernel}, block (1, 0, 0): {what}; cargo offload test shows the thread and the line\n"
        );
        assert_eq!((outcome.status, &*outcome.stderr), (None, &*expected));
    }
}

/// Asserts that signals unrelated to kernels have the same effect as before a launch. Tests a
/// handler that receives a second signal, a handler that needs more than a signal stack, and no
/// handler for a signal that another process may have sent.
#[test(COMPILERS)]
fn signals_reach_the_handlers_of_the_program() {
    for kind in ["again", "large"] {
        run(&on_cpu("2"), &["own-handler", kind]).succeeds().prints("goes on\n");
    }
    let outcome = run(&on_cpu("2"), &["own-handler", "default"]);
    assert_eq!((outcome.status, &*outcome.stdout), (None, ""));
}

#[test(COMPILERS)]
fn a_library_that_has_launched_stays() {
    let library = PROGRAM.path.with_file_name(format!("lib{}.so", PROGRAM.scenario.name()));
    let library = library.to_str().expect("the target folder's name is UTF-8");
    run(&on_cpu("2"), &["unload", library]).succeeds().prints("stays: true\n");
}

/// Runs the program with a limit on its address space, in KiB.
fn limited(threads: &str, addresses: u32) -> Outcome {
    let limited = format!("ulimit -v {addresses} && exec \"$0\" \"$@\"");
    let shell = Staged::new(Path::new("sh"), Path::new("")).with("OFFLOAD_CPU_THREADS", threads);
    let program = PROGRAM.path.to_str().expect("the target folder's name is UTF-8");
    run(&shell, &["-c", &limited, program, "refused"])
}

#[test(COMPILERS)]
fn a_launch_that_the_system_cannot_run_is_an_error() {
    let shared = "Err(cpu (linux x86_64): could not launch inner: the launch gives 300000 bytes of dynamic shared memory; \
                  arrays that are declared with `extern __shared__` have at most 262144 on the CPU, more than on any GPU)";
    let stacks = |kernel| {
        format!(
            "Err(cpu (linux x86_64): could not launch {kernel}: no memory for the stacks of the block's threads: 1024 of \
             1024 KiB each. The system allows this process 1000000 KiB of addresses (ulimit -v) and "
        )
    };
    for threads in ["2", "40"] {
        let outcome = limited(threads, 1_000_000);
        let lines: Vec<&str> = outcome.succeeds().stdout.lines().collect();
        assert!(lines[0].starts_with(&stacks("turn")), "{lines:?}");
        assert_eq!(lines[1], shared);
        assert!(lines[2].starts_with(&stacks("inner")), "{lines:?}");
    }
    // This limit leaves addresses for only one block at a time.
    assert_eq!(limited("2", 1_600_000).succeeds().stdout, format!("Ok(())\n{shared}\nOk(())\n"));
}

#[test(COMPILERS)]
fn stacks_are_kept_and_their_memory_is_not() {
    let expected = "faults of 1024 threads: few\nleft of 320 MiB: little\n";
    assert_eq!(run(&on_cpu("1"), &["kept"]).succeeds().stdout, expected);
}
