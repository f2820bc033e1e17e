//! What a user reads when a static library cannot be what build.rs asks for. The judge is Cargo, which prints it.

use offload_tests::registry::GCC;
use offload_tests::scenario::Scenario;

offload_tests::tests! {
    GCC => [what_a_static_library_cannot_be, what_only_a_static_library_can_be],
}

/// The calls between `Build::new()` and `compile_static`, and a part of the message.
const CASES: [(&str, &str); 13] = [
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
        r#".file("kernels/scale.cu").prebuilt("images").archs(["sm_80"])"#,
        "prebuilt(...) is for packs: prebuilt sets have no static libraries. Leave it out for compile_static",
    ),
    (
        r#"
        .file("kernels/scale.cu")
        .file(Source::new("kernels/half.cu").supports([">=sm_90"]))
        .archs(["sm_75", "sm_80"])"#,
        "no target is left for kernels/half.cu: kernels/half.cu is for >=sm_90, as build.rs says; the list is sm_75, sm_80. \
         Add a target, or call .allow_empty(): it leaves such sources out of the library",
    ),
    (
        r#".file("kernels/scale.cu").cudart("dynamic").archs(["sm_80"])"#,
        "cudart(\"dynamic\") in build.rs: it can be \"static\", \"shared\" or \"none\"",
    ),
    (
        r#".file("kernels/scale.cu").flag("-rdc=true").archs(["sm_80"])"#,
        "-rdc=true among the flags of kernels/scale.cu takes a device link: call .device_link() in build.rs in its place",
    ),
    (
        r#".file(Source::new("kernels/scale.hip").flag("-fgpu-rdc")).archs(["gfx90a"])"#,
        "-fgpu-rdc among the flags of kernels/scale.hip takes a device link",
    ),
    (
        r#".file("kernels/scale.cu").device_link().archs(["sm_80", "compute_90"])"#,
        "device_link(): clang links no PTX, which compute_90 is: leave it out of the targets, or let nvcc compile the library",
    ),
    (
        r#".file("kernels/scale.cu").device_link().clang("old/clang").archs(["sm_80"])"#,
        "old/clang (clang version 18.1.8) does not link device code for .device_link()",
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
    scenario.write("kernels/half.cu", "").script("old/clang", "echo 'clang version 18.1.8'");
    for extension in ["cu", "cl", "hip"] {
        scenario.write(&format!("kernels/scale.{extension}"), "");
    }
    for (number, (_, expected)) in CASES.iter().enumerate() {
        let build = scenario.build().env("CUDA_HOME", "/nowhere").env("CASE", number.to_string());
        build.fails().has("offload-build could not make the static library \"a\"").has(expected);
    }
}

/// The calls are refused before anything is looked for.
fn what_only_a_static_library_can_be() {
    for (name, call) in
        [("link", "device_link()"), ("cudart", "cudart(\"static\")"), ("metadata", "cargo_metadata(false)")]
    {
        let scenario = Scenario::new(&format!("static_only_{name}"));
        scenario.kernel("add", "1.0f").pack("add", &format!(r#".file("kernels/add.cu").archs(["cpu"]).{call}"#));
        let (call, _) = call.split_once('(').expect("a call has parentheses");
        scenario
            .build()
            .fails()
            .has(&format!("{call}("))
            .has(") is for static libraries: ")
            .has("Leave it out for compile");
    }
}
