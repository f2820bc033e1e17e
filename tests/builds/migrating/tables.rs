//! The tables. Each of this kit's calls in them must compile, and the guide's reference must list
//! each of this kit's variables. rustc checks the calls.

use super::{Row, rows};
use offload_tests::prelude::*;

/// Texts in backticks that are neither a call nor a variable.
const OTHERS: &[&str] = &[
    // Texts about Cargo or other programs.
    "cargo build -j",
    "cc::Build",
    ".cuda(true)",
    "hipModuleLoadData",
    "-O3",
    "code=compute_80",
    "__cudaLaunchKernel",
    "__cudaLaunchKernel_ptsz",
    "__device__",
    "__expf",
    // Texts from the user's program: the macro, and the selection of an image. The test of the
    // diffs builds this program.
    "include_offload!(\"kernels\")",
    "include_offload!(\"k\")",
    "select",
    "KernelPack<Compressed>",
    // Features, targets, files.
    "#include",
    "k.cu",
    "compression",
    "zstd",
    "native",
    "all",
    "all-major",
    "compute_80",
    // Names of calls, without arguments. These names refer to a call in the same row, or to a call
    // in general.
    "compile",
    ".modules",
];

/// Returns an expression for a call in backticks, or `None` if the text is not a call. In the
/// expression, `build` is a `&mut Build`.
fn call(span: &str) -> Option<String> {
    if OTHERS.contains(&span) {
        return None;
    }
    if span.starts_with('.') {
        return Some(format!("build{span}"));
    }
    let types = ["Build::", "Module::", "Source::"];
    types.iter().any(|name| span.starts_with(name)).then(|| span.to_owned())
}

/// Returns the variable's name if a text in backticks has the form `NAME` or `NAME=value`.
fn variable(span: &str) -> Option<&str> {
    let name = span.split('=').next().unwrap_or_default();
    let is_upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_name = name.len() > 2
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(is_upper);
    is_name.then_some(name)
}

#[test]
fn what_is_no_call_is_known() {
    let reference = workspace().join("docs/guide/src/reference/variables.md");
    let reference = fs::read_to_string(reference).expect("the page can be read");
    // `OUT_DIR` is Cargo's variable, so the reference does not list it.
    let others = ["OUT_DIR"];
    let mut wrong = String::new();
    for Row { line, ours } in rows() {
        for span in &ours {
            let is_known = match variable(span) {
                Some(name) => others.contains(&name) || reference.contains(&format!("`{name}")),
                None => call(span).is_some() || OTHERS.contains(&span.as_str()),
            };
            if !is_known {
                wrong += &format!("docs/migrating.md:{line}: `{span}`\n");
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "neither a call, nor a variable of docs/guide/src/reference/variables.md, nor in OTHERS:\n{wrong}"
    );
    let all: Vec<String> = rows().into_iter().flat_map(|row| row.ours).collect();
    let unused: Vec<&&str> =
        OTHERS.iter().filter(|other| !all.iter().any(|span| span == *other)).collect();
    assert!(unused.is_empty(), "OTHERS that are not in the tables: {unused:?}");
}

/// Compiles a build script that has a function for each row's calls. The functions never run,
/// because other tests check what the calls do.
#[test(GCC)]
fn every_call_compiles() {
    let mut functions = String::new();
    let mut calls = 0;
    for Row { line, ours } in rows() {
        let found: Vec<String> = ours.iter().filter_map(|span| call(span)).collect();
        if found.is_empty() {
            continue;
        }
        calls += found.len();
        let statements: String =
            found.iter().map(|call| format!("    let _ = {call};\n")).collect();
        functions +=
            &format!("fn migrating_md_line_{line}(build: &mut Build) {{\n{statements}}}\n");
    }
    assert!(calls > 60, "the tables were found: {calls} calls\n{functions}");
    let mut scenario = Scenario::new("migrating_tables");
    // `.compress()` needs the first feature. Because of the second feature, the crates are the same
    // as in other tests, so Cargo can reuse them.
    scenario.feature("offload-build", "compression").feature("offload-gpu", "zstd");
    scenario.write(
        "build.rs",
        format!(
            "#![allow(dead_code)]\nuse offload_build::{{Build, Compiler, Language, Module, Source}};\n\n{functions}\nfn main() {{\n    \
             println!(\"cargo::rerun-if-changed=build.rs\");\n}}\n"
        ),
    );
    scenario.build().passes();
}
