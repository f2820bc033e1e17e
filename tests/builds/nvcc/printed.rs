//! Output of nvcc and ptxas in successful runs. Cargo shows warnings in each build, and the rest
//! with `-vv`.

use super::package;
use offload_tests::registry::NVCC;

offload_tests::tests! {
    NVCC.slow() => [only_warnings_are_warnings],
}

/// Three sources with one kernel each; nvcc warns about the first.
const SOURCES: [(&str, &str); 3] = [
    (
        "kernels/one.cu",
        "extern \"C\" __global__ void one(float *x) {\n  int unused;\n  *x = 1.0f;\n}\n",
    ),
    ("kernels/two.cu", "extern \"C\" __global__ void two(float *x) { *x = 2.0f; }\n"),
    ("kernels/three.cu", "extern \"C\" __global__ void three(float *x) { *x = 3.0f; }\n"),
];

fn only_warnings_are_warnings() {
    let scenario = package("vendor_printed", "");
    scenario.build_script(
        r#"println!("cargo::rerun-if-env-changed=FLAGS");
    let flags = std::env::var("FLAGS").unwrap();
    let mut build = Build::new();
    build.compiler(Compiler::Nvcc).archs(["sm_80"]);
    flags.split(' ').for_each(|flag| drop(build.flag(flag)));
    let sources = ["kernels/one.cu", "kernels/two.cu", "kernels/three.cu"];
    build.clone().modules(sources).compile("pack");
    build.files(sources).compile_static("library");"#,
    );
    for (path, text) in SOURCES {
        scenario.write(path, text);
    }
    let warning =
        "kernels/one.cu(2): warning #177-D: variable \"unused\" was declared but never referenced";
    for (flags, detail) in
        [("-Xptxas -v", "| ptxas info    : Used "), ("--verbose", "| #$ \"$CICC_PATH/cicc\" ")]
    {
        let printed = scenario.build().env("FLAGS", flags).passes();
        // The warning appears once for the images and once for the library, with its source line
        // and advice.
        printed.times(2, warning).times(2, "int unused;").lacks("ptxas info").lacks("#$ ");
        let lines =
            printed.text().lines().filter(|line| line.contains("warning: vendor_printed@")).count();
        assert_eq!(lines, 12, "{flags}: {printed}");
        let all =
            scenario.build().arg("-vv").env("FLAGS", flags).env("OFFLOAD_REBUILD", "1").passes();
        all.has("offload-build: what the compiler printed for pack/one.sm_80.cubin\n").has(detail);
        assert!(all.count(detail) >= 6, "{flags}: {all}");
    }
    // An ordinary build of sources without warnings prints nothing, although `--resource-usage`
    // makes ptxas print.
    scenario.write(SOURCES[0].0, SOURCES[0].1.replace("  int unused;\n", ""));
    scenario.build().env("FLAGS", "--resource-usage").passes().lacks("warning: vendor_printed");
}
