//! Tests that reports name the right line in every wrong kernel, and that no right kernel is
//! reported, with warps of 32 and of 64 lanes. Some kernels are wrong only with 64 lanes. With 32
//! lanes, they must not be reported.

use super::{Compiler, KERNELS, Program, names};
use offload_tests::prelude::*;

tests!(of_compilers());

const CHECKS: [&str; 3] = ["memory", "races", "undefined"];

/// The correct programs in `program/hosts.rs`, which must cause no report.
const HOSTS: [&str; 7] = [
    "host:mutex",
    "host:channel",
    "host:scoped_threads",
    "host:pool",
    "host:reused_allocations",
    "host:shared_device",
    "host:spin_lock",
];

fn of_compilers() -> impl Iterator<Item = Test> {
    let both = [Compiler::Gcc, Compiler::Clang];
    let with_32 = both.into_iter().flat_map(|compiler| CHECKS.map(|check| (compiler, check, 32)));
    let with_64 = both
        .into_iter()
        .flat_map(|compiler| ["memory,undefined", "races"].map(|check| (compiler, check, 64)));
    with_32.chain(with_64).map(|(compiler, check, lanes)| {
        let by = compiler.name();
        let name =
            format!("the_corpus_by_{by}_under_{}_with_{lanes}_lanes", check.replace(',', "_"));
        Test::new(module_path!(), &name, sanitizers(compiler), move || {
            corpus(compiler, check, lanes);
        })
    })
}

fn sanitizers(compiler: Compiler) -> Needs {
    match compiler {
        Compiler::Gcc => needs(&[Tool::Gcc, Tool::GccSanitizers]).slow(),
        Compiler::Clang => needs(&[Tool::Llvm22, Tool::Gcc, Tool::ClangSanitizers]).slow(),
    }
}

/// Returns the lines that a report may name. The outer key is a kernel that is wrong with warps of
/// this many lanes. The inner key is a check that finds the kernel's error.
pub(super) fn expected(lanes: u32) -> BTreeMap<&'static str, BTreeMap<&'static str, Vec<usize>>> {
    let mut all: BTreeMap<&str, BTreeMap<&str, Vec<usize>>> = BTreeMap::new();
    let mut kernel = "";
    for (number, line) in KERNELS.lines().enumerate() {
        if let Some((name, _)) = line.strip_prefix("KERNEL(").and_then(|rest| rest.split_once(')'))
        {
            kernel = name;
        }
        let Some((_, checks)) = line.split_once("// found: ") else { continue };
        for check in checks.split(' ') {
            let check = match check.strip_suffix("64") {
                Some(_) if lanes == 32 => continue,
                Some(of_64) => of_64,
                None => check,
            };
            all.entry(kernel).or_default().entry(check).or_default().push(number + 1);
        }
    }
    all
}

fn corpus(compiler: Compiler, check: &str, lanes: u32) {
    let program = Program::with_lanes(lanes, compiler, check);
    let expected = expected(lanes);
    let lines = |kernel: &str| {
        let of_kernel = expected.get(kernel)?;
        let of_checks = check.split(',').find_map(|check| of_kernel.get(check));
        of_checks.or_else(|| of_kernel.get("any"))
    };
    let mut right: Vec<&str> = names().filter(|name| name.ends_with("_right")).collect();
    assert!(right.len() >= 54, "{} pairs", right.len());
    let of_64 = self::expected(64).into_keys().filter(|name| !expected.contains_key(name));
    right.extend(of_64);
    assert!(right.len() >= if lanes == 32 { 58 } else { 54 });
    let output = program.run(&[&right[..], &HOSTS].concat(), &[]);
    let text = stderr(&output);
    assert!(
        output.status.success() && text.ends_with("=== end\n"),
        "{compiler:?} {check}: {}\n{text}",
        output.status
    );
    for word in ["ERROR", "WARNING", "runtime error", "offload:", "error:"] {
        assert!(!text.contains(word), "{compiler:?} {check}: {word} in\n{text}");
    }
    let wrong: Vec<&str> = names().filter(|name| lines(name).is_some()).collect();
    let output = program.run(&wrong, &[]);
    let text = stderr(&output);
    assert!(
        text.ends_with("=== end\n") || check == "races",
        "{compiler:?} {check}: {}\n{text}",
        output.status
    );
    // Only programs started by `cargo offload test` print lines that this command parses.
    assert!(!text.contains("offload-finding"), "{compiler:?} {check}: a record in\n{text}");
    let sections: BTreeMap<&str, &str> =
        text.split("=== ").filter_map(|part| part.split_once('\n')).collect();
    for name in wrong {
        let report = sections[name];
        let named = lines(name).unwrap().iter().any(|line| {
            let place = format!("kernels.cu:{line}");
            report.split(&place).skip(1).any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        assert!(named, "{compiler:?} {check}: {name} at {:?}:\n{report}", lines(name));
        assert!(report.contains(name), "{compiler:?} {check}: {name} is not named:\n{report}");
        assert!(
            report.contains("block (") && report.contains("thread ("),
            "{compiler:?} {check}: {name}:\n{report}"
        );
    }
    stuck(compiler, &program, &expected);
    ends(compiler, &program, &expected);
    without_the_library(&program);
    if check == "memory" && compiler == Compiler::Gcc {
        endless(&program);
    }
    if check == "races" {
        let text = stderr(&program.run(&["host:overlapping_launches"], &[]));
        assert!(
            text.contains("data race") && text.contains("of second_barrier_right"),
            "{compiler:?}: {text}"
        );
    } else {
        // No sanitizer detects the error in `unwritten_sum_wrong`. Only the kernel's results reveal
        // it.
        let text = stderr(&program.run(&["unwritten_sum_right", "unwritten_sum_wrong"], &[]));
        assert!(
            text.contains("128 of 128 values are numbers") && text.contains("\n0 of 128"),
            "{compiler:?}: {text}"
        );
    }
}

/// Asserts that, if a kernel ends the process, the program first prints a report with the kernel's
/// name and the line.
fn ends(
    compiler: Compiler,
    program: &Program,
    expected: &BTreeMap<&str, BTreeMap<&str, Vec<usize>>>,
) {
    let kernels: Vec<_> =
        expected.iter().filter_map(|(name, of)| Some((*name, of.get("stops")?))).collect();
    assert!(kernels.len() >= 7, "{kernels:?}");
    for (name, lines) in kernels {
        let output = program.run(&[name], &[]);
        let text = stderr(&output);
        assert!(!output.status.success(), "{compiler:?} {name}: {text}");
        let (_, report) = text
            .split_once(&format!(", in the kernel {name}, block ("))
            .unwrap_or_else(|| panic!("{compiler:?} {} {name}: {text}", program.check));
        let is_named = lines.iter().any(|line| {
            report.contains(&format!("kernels.cu:{line}: the first is thread ("))
                // GCC's UndefinedBehaviorSanitizer finds no source line for an address.
                || report.contains("that this sanitizer cannot name")
                    && (compiler, &*program.check) == (Compiler::Gcc, "undefined")
        });
        assert!(is_named, "{compiler:?} {} {name} at {lines:?}: {text}", program.check);
        for (of, advice) in [
            ("given_shared_wrong", "Launch::shared_memory"),
            ("given_extern_wrong", "Launch::shared_memory"),
            ("local_memory_wrong", "OFFLOAD_CPU_STACK"),
        ] {
            assert!(name != of || text.contains(advice), "{compiler:?} {name}: {text}");
        }
    }
}

/// Asserts that a launch that exceeds the time limit ends the program, and that the message names
/// the line that the kernel had reached.
fn endless(program: &Program) {
    let output = program.run(&["endless"], &[("OFFLOAD_CPU_TIME_LIMIT", "1")]);
    let text = stderr(&output);
    let start = "offload: the kernel endless takes longer than OFFLOAD_CPU_TIME_LIMIT=1 allows: it is in block (0, 0, 0), \
                 thread (0, 0, 0), at ";
    let line = expected(32)["endless"]["late"][0];
    let place = text.split(start).nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(place.starts_with(&format!("kernels/kernels.cu:{line}\n")), "{text}");
}

/// Asserts that a program started without the sanitizer's library prints the `LD_PRELOAD` that it
/// needs. With the check `undefined` the program may run instead, because the loader finds g++'s
/// UndefinedBehaviorSanitizer library.
fn without_the_library(program: &Program) {
    let output = Command::new(&program.path).arg("barrier_right").env_remove("LD_PRELOAD").output();
    let text = stderr(&output.expect("the program starts"));
    if !text.contains("error: ") && program.check == "undefined" {
        return;
    }
    let start = format!(
        "The image was built with OFFLOAD_CPU_CHECK={}: start the program with LD_PRELOAD=/",
        program.check
    );
    assert!(text.contains(&start), "{text}");
}

/// Asserts that the program ends with a report if threads wait for each other forever.
fn stuck(
    compiler: Compiler,
    program: &Program,
    expected: &BTreeMap<&str, BTreeMap<&str, Vec<usize>>>,
) {
    for (name, of) in expected {
        let Some(lines) = of.get("stuck") else { continue };
        let output = program.run(&[name], &[]);
        let text = stderr(&output);
        assert!(!output.status.success(), "{compiler:?}: {text}");
        let outside = "a lane that is not in the mask that it passes";
        assert_eq!(text.contains(outside), *name == "sums_of_32_wrong", "{compiler:?}: {text}");
        for line in lines {
            assert!(
                text.contains(&format!("kernels.cu:{line}: the first is thread (")),
                "{compiler:?} {name}: {line} in\n{text}"
            );
        }
    }
}
