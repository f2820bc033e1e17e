//! Compilers that fail, and their coloured output.

use super::{Problems, each_once, message};
use offload_tests::prelude::*;

/// A script replaces clang. It passes queries on to LLVM's clang. Instead of compiling, it runs the
/// case's commands.
#[test(CLANG.slow())]
fn compilers_that_do_not_end_well() {
    let scenario = Scenario::new("errors_stand_ins");
    scenario
        .build_script(
            r#"println!("cargo::rerun-if-env-changed=AGAIN");
    Build::new().file("kernels/add.cu").archs(["gfx90a"]).compile("add");"#,
        )
        .kernel("add", "y[i]");
    let bitcode = "/offload/add/work/gfx90a.0.bc";
    // Each case has the script's commands, and texts that the message must contain: the compiler's
    // exit status and the help.
    let cases: &[(&str, &[&str])] = &[
        (
            "kill -9 $$",
            &[
                "clang was killed by signal 9 (SIGKILL): ",
                "memory runs out. To run one compiler at a time, set OFFLOAD_JOBS=1",
            ],
        ),
        (
            "kill -15 $$",
            &["clang was killed by signal 15 (SIGTERM): a user or the system stopped it"],
        ),
        (
            "echo 'Stack dump:' >&2; kill -11 $$",
            &["Stack dump:\n", "clang crashed with signal 11 (SIGSEGV): ", "a different version"],
        ),
        ("kill -6 $$", &["clang crashed with signal 6 (SIGABRT): this is a bug in the compiler"]),
        (
            "sh -c 'kill -9 $$'; exit $?",
            &["ended with exit status: 137 (128 + 9 means that a child process was killed"],
        ),
        (
            "exit 3",
            &["clang ended with exit status: 3 and printed nothing (it was not waiting for input"],
        ),
        (
            "read line || { echo 'no answer'; exit 4; }",
            &["no answer\n", "clang ended with exit status: 4; the command"],
        ),
        ("exit 0", &["clang reported success, but did not write ", bitcode]),
        (
            "while [ \"$1\" != -o ]; do shift; done; : > \"$2\"",
            &["reported success, but wrote nothing into ", bitcode],
        ),
    ];
    let real = llvm_bin().join("clang");
    let mut problems = Problems::default();
    for (number, (commands, sentences)) in cases.iter().enumerate() {
        let driver = format!(
            "case \"$*\" in *-###*|*--version*|*-print-prog-name*) exec '{}' \"$@\";; esac",
            real.display()
        );
        let clang = scenario.script("clang", &format!("{driver}\n{commands}"));
        let printed =
            scenario.build().env("OFFLOAD_CLANG", clang).env("AGAIN", number.to_string()).ends();
        let checked = message(&printed, "add").and_then(|message| {
            // The command line also contains the bitcode's path, so search only the text before the
            // command line.
            let (before, command) =
                message.split_once("; the command was\n  ").ok_or("no command line")?;
            match command.lines().count() {
                1 => each_once(&format!("{before}; the command"), *sentences),
                _ => Err("something follows the command line".to_owned()),
            }
        });
        problems.check(commands, checked, &printed);
    }
    problems.assert_none();
}

#[test(CLANG)]
fn a_diagnostic_in_colour() {
    let calls = r#".archs(std::env::var("FOR"))"#;
    let scenario = Scenario::of("errors_colour", "bad.cu", calls, kernel("bad", "undeclared"));
    for (target, plain) in [("gfx90a", "error: use of undeclared"), ("cpu", "error: 'undeclared'")]
    {
        let build = |when: &str| {
            let build = scenario.build().env("FOR", target).env("CXX", "g++");
            let text = build.env("CARGO_TERM_COLOR", when).fails().stderr;
            // Cargo's own messages are also coloured, so return only offload-build's text.
            text.split_once("could not make the pack")
                .expect("offload-build's message")
                .1
                .to_owned()
        };
        let (never, always) = (build("never"), build("always"));
        assert!(never.contains(plain), "{never}");
        assert!(!never.contains('\u{1b}'), "{never}");
        let diagnostic = always.split("the command was").next().expect("text");
        assert!(diagnostic.contains("kernels/bad.cu:4:19:"), "{always}");
        assert!(diagnostic.contains("\u{1b}["), "{always}");
        // The command in the message must have no colour option, just as in a run without colour.
        assert!(!always.contains("diagnostics-color"), "{always}");
    }
}

/// Each compiler refuses the same declaration in its own words. The code that the help suggests
/// must compile.
#[test(CLANG.slow())]
fn shared_memory_of_a_template() {
    let scenario = Scenario::new("errors_shared");
    let source = |declaration: &str| {
        format!(
            "template <typename T> __global__ void turn(T *x) {{\n  {declaration}\n  \
             tile[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n  \
             x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];\n}}\n\
             template __global__ void turn<float>(float *);\n\
             template __global__ void turn<double>(double *);\n"
        )
    };
    scenario.pack("turn", r#".file("kernels/turn.cu").archs(std::env::var("FOR"))"#);
    let clang = llvm_bin().join("clang++");
    for (target, cxx) in [
        ("gfx90a", Path::new("g++")),
        ("compute_80", Path::new("g++")),
        ("cpu", Path::new("g++")),
        ("cpu", &clang),
    ] {
        let build = || scenario.build().env("FOR", target).env("CXX", cxx);
        scenario.write("kernels/turn.cu", source("extern __shared__ T tile[];"));
        let printed = build().fails();
        let help = message(&printed, "turn").expect("one message");
        let (_, help) = help.split_once("\nall declarations of dynamic").expect("the help");
        let (_, declaration) = help.split_once(", as in\n  ").expect("a declaration");
        let (declaration, _) = declaration.split_once('\n').expect("the command");
        scenario.write("kernels/turn.cu", source(declaration));
        build().passes();
    }
}
