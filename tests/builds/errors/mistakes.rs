//! Typical mistakes. `mistakes.txt` contains everything that a user sees, for a reader to judge.

use super::message;
use offload_tests::prelude::*;

/// The mistakes. Each has a title (also the pack's name), the calls in build.rs, and the kernel.
const MISTAKES: [(&str, &str, &str); 10] = [
    ("target-misspelt", r#".file("kernels/k.cu").archs(["gfx110", "cpu"])"#, RIGHT),
    ("target-without-underscore", r#".file("kernels/k.cu").archs(["sm80"])"#, RIGHT),
    ("no-targets", r#".file("kernels/k.cu")"#, RIGHT),
    ("source-misspelt", r#".file("kernels/saxpi.cu").archs(["cpu"])"#, RIGHT),
    (
        "flag-misspelt",
        r#".file("kernels/k.cu").flag("-fast-math").archs(["gfx90a", "compute_80"])"#,
        RIGHT,
    ),
    (
        "header-in-another-folder",
        r#".file("kernels/k.cu").archs(["gfx90a"])"#,
        "#include \"vectors.h\"\n\n__global__ void k(float *x) { *x = one; }\n",
    ),
    (
        "name-misspelt",
        r#".file("kernels/k.cu").archs(["compute_80"])"#,
        "__global__ void k(float *x) { x[i] = 1; }\n",
    ),
    (
        "code-of-the-host",
        r#".file("kernels/k.cu").archs(["gfx90a"])"#,
        "__global__ void k(float *x) { *x = 1; }\n\nint main() {\n  float *x;\n  cudaMalloc(&x, 4);\n}\n",
    ),
    (
        "clang-that-is-not-there",
        r#".file("kernels/k.cu").clang("/usr/bin/clang-99").archs(["gfx90a"])"#,
        RIGHT,
    ),
    (
        "kernel-misspelt",
        r#".file("kernels/k.cu").requires_kernel("saxpy").archs(["gfx90a"])"#,
        RIGHT,
    ),
];

const RIGHT: &str = "extern \"C\" __global__ void saxpi(float *x) { *x = 1; }\n";

#[test(CLANG.slow())]
fn messages_of_typical_mistakes() {
    let scenario = Scenario::new("errors_mistakes");
    scenario.write("include/vectors.h", "constexpr float one = 1;\n");
    let arm = |(name, calls, _): &(&str, &str, &str)| {
        format!("        {name:?} => Build::new(){calls}.compile(&case),\n")
    };
    let arms: String = MISTAKES.iter().map(arm).collect();
    scenario.build_script(&format!(
        "println!(\"cargo::rerun-if-env-changed=CASE\");\n    let case = std::env::var(\"CASE\").unwrap();\n    \
         match &*case {{\n{arms}        _ => panic!(),\n    }};"
    ));
    let mut text = String::new();
    for (name, calls, kernel) in MISTAKES {
        scenario.write("kernels/k.cu", kernel);
        let printed = scenario.build().env("CASE", name).ends();
        let message = message(&printed, name).unwrap_or_else(|why| panic!("{name}: {why}"));
        // Cargo may print its own warnings after the message.
        let message = message.split("\n\nwarning: ").next().unwrap_or_default();
        text += &format!("--- {name}: {calls}\n{message}\n\n");
    }
    for (path, shown) in [
        (llvm_bin(), "/usr/lib/llvm-22/bin"),
        (scenario.folder.clone(), "/home/you/saxpy"),
        (scenario.target.clone(), "/home/you/saxpy/target"),
    ] {
        text = text.replace(&*path.to_string_lossy(), shown);
    }
    // Compilers' commands are long, so cut them after 80 characters.
    let lines = text.lines().map(|line| match line.char_indices().nth(80) {
        Some((at, _)) if line.starts_with("  /") => format!("{} …\n", &line[..at]),
        _ => format!("{line}\n"),
    });
    let text: String = lines.collect();
    assert_as_checked_in(&workspace().join("tests/builds/errors/mistakes.txt"), &text);
}
