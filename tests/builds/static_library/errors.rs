//! What a user reads when a static library cannot be what build.rs asks for. The judge is Cargo, which prints it.

use offload_tests::registry::GCC;
use offload_tests::scenario::Scenario;

offload_tests::tests! {
    GCC => [what_a_static_library_cannot_be],
}

/// The calls between `Build::new()` and `compile_static`, and a part of the message.
const CASES: [(&str, &str); 7] = [
    (
        r#".file("kernels/scale.cu").archs(["sm_80", "gfx90a"])"#,
        "so it is for one vendor's GPUs; the targets are sm_80, gfx90a. Say for each source",
    ),
    (r#".modules(["kernels/scale.cu"]).archs(["sm_80"])"#, "a static library has no modules, as \"scale\" would be"),
    (r#".file("kernels/scale.cl").archs(["sm_80"])"#, "kernels/scale.cl is OpenCL C, which has no host code"),
    (
        r#".file("kernels/scale.cu").flag_for("sm_80", "-DA").archs(["sm_80", "sm_90"]).nvcc("/nowhere/nvcc")"#,
        "Build::nvcc names /nowhere/nvcc, which cannot be used: there is no such file",
    ),
    (
        r#".file("kernels/scale.cu").compress().archs(["sm_80"])"#,
        "compress() is for packs: the compiler puts device code into a static library as its own options say. Leave it",
    ),
    (r#".file("kernels/scale.cu").large_pack_script().archs(["sm_80"])"#, "large_pack_script() is for packs: "),
    (
        r#"
        .file(Source::new("kernels/scale.cu").supports(["nvidia"]))
        .file(Source::new("kernels/scale.hip").supports(["amd"]))
        .allow_empty()
        .archs(["gfx90a"])"#,
        "kernels/scale.cu is for none of the targets gfx90a; a static library needs each of its sources: make one library",
    ),
];

/// One build script has all cases, so that it is compiled once. Cargo runs it again since it failed.
fn what_a_static_library_cannot_be() {
    let arms = CASES.iter().enumerate().map(|(number, (calls, _))| {
        format!("        \"{number}\" => drop(Build::new(){calls}.compile_static(\"a\")),\n")
    });
    let arms: String = arms.collect();
    let scenario = Scenario::new("static_refused");
    scenario.build_script(&format!(
        "match &*std::env::var(\"CASE\").unwrap() {{\n{arms}        other => panic!(\"no case {{other}}\"),\n    }}"
    ));
    for extension in ["cu", "cl", "hip"] {
        scenario.write(&format!("kernels/scale.{extension}"), "");
    }
    for (number, (_, expected)) in CASES.iter().enumerate() {
        let build = scenario.build().env("CUDA_HOME", "/nowhere").env("CASE", number.to_string());
        build.fails().has("offload-build could not make the static library \"a\"").has(expected);
    }
}
