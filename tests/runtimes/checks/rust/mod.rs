//! Tests of `cargo offload test` on kernels in Rust: each planted mistake must be found at its
//! line, and the right kernels must cause no finding.

use super::offload_test;
use offload_tests::prelude::*;

const KERNELS: &str = include_str!("kernels.rs");

/// A mistake in a kernel.
struct Planted {
    kernel: &'static str,
    /// The check that finds the mistake.
    check: &'static str,
    kind: &'static str,
    /// The lines that the finding may name.
    lines: Vec<usize>,
}

/// Returns the mistakes that are marked by comments in the kernels.
fn planted() -> Vec<Planted> {
    let (mut all, mut kernel): (Vec<Planted>, _) = (Vec::new(), "");
    for (number, line) in (1..).zip(KERNELS.lines()) {
        if let Some(rest) = line.trim().strip_prefix("pub unsafe fn ") {
            kernel = rest.split('(').next().unwrap_or_default();
        }
        let Some((check, kind)) =
            line.split_once("// found: ").and_then(|(_, found)| found.split_once(' '))
        else {
            continue;
        };
        match all.last_mut() {
            Some(last) if last.kernel == kernel => last.lines.push(number),
            _ => all.push(Planted { kernel, check, kind, lines: vec![number] }),
        }
    }
    all
}

#[test(needs(&[Tool::Gcc, Tool::GccSanitizers]).slow())]
fn by_gcc() {
    finds_what_is_planted("gcc", "g++".as_ref());
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::ClangSanitizers]).slow())]
fn by_clang() {
    finds_what_is_planted("clang", &llvm_bin().join("clang++"));
}

fn finds_what_is_planted(name: &str, compiler: &Path) {
    let name = format!("check-rust-{name}");
    let scenario = Scenario::without_sources(&name);
    let manifest = format!(
        "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\noffload-kernel = {{ path = {:?} }}\n\n[workspace]\n\n\
         [profile.release]\ndebug-assertions = true\noverflow-checks = false\n",
        scratch::workspace().join("offload-kernel")
    );
    scenario
        .write("src/lib.rs", include_str!("lib.rs"))
        .write("kernels/Cargo.toml", manifest)
        .write("kernels/src/lib.rs", KERNELS)
        // Despite this flag, checked images must have assertions and overflow checks.
        .pack("kernels", r#".rust_crate("kernels").arch("cpu").flag("-Cdebug-assertions=off")"#);
    let ends = |check: &str, tests: &[&str], status: i32| {
        let run = offload_test(&scenario, &format!("--check {check} --lib -- --exact"));
        let printed = run.args(tests).env("CXX", compiler).ends();
        assert_eq!(printed.status.code(), Some(status), "{check} {tests:?}\n{printed}");
        printed.stdout
    };
    let planted = planted();
    assert!(planted.len() >= 7, "{}", planted.len());
    let right: Vec<String> =
        planted.iter().map(|it| it.kernel.replace("_wrong", "_right")).collect();
    let right: Vec<&str> = right.iter().map(String::as_str).collect();
    for check in ["memory --lanes 64,32", "races"] {
        let printed = ends(check, &right, 0);
        let count = format!("\n0 findings in {} kernels launched on the CPU\n", right.len());
        assert!(printed.contains(&count), "{check}: {printed}");
    }
    for Planted { kernel, check, kind, lines } in planted {
        let printed = ends(check, &[kernel], 1);
        let start = format!("\n1. {kind}, in the kernel {kernel}\n");
        let (_, found) = printed.split_once(&start).unwrap_or_else(|| panic!("{start}{printed}"));
        let is_named = lines.iter().any(|line| {
            found.starts_with(&format!("   kernels/src/lib.rs:{line} "))
                && found.contains("block (0, 0, 0), thread (")
        });
        assert!(is_named, "{kernel} at {lines:?}: {printed}");
    }
}
