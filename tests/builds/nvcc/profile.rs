//! Optimization and debug information of vendors' compilers, as `llvm-readelf` reads them. Tests
//! dev builds and release builds, explicit requests, and flags of build.rs.

use super::{BOTH, package};
use offload_tests::data::read;
use offload_tests::registry::NVCC;
use offload_tests::scenario::Scenario;
use offload_tests::tools::{llvm, stdout, succeed};

offload_tests::tests! {
    BOTH.slow() => [dev_and_release_builds_have_the_same_instructions],
    BOTH => [flags_of_build_rs_replace_ours],
    NVCC.slow() => [a_flag_for_many_files_brings_no_warnings],
}

/// A kernel whose number of instructions depends on optimization.
const LOOP: &str = r#"__device__ float step(float x, int i) { float y = x * i; return y * y + 1.0f; }
extern "C" __global__ void run(float *x) {
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i)
    sum += step(x[threadIdx.x], i);
  x[threadIdx.x] = sum;
}
"#;

/// Returns a package with one pack for each of these names and calls.
fn packs(name: &str, packs: &[(&str, &str)]) -> Scenario {
    let scenario = package(name, "");
    let body: String = packs
        .iter()
        .map(|(name, calls)| {
            format!(
                r#"Build::new().file("kernels/loop.cu").archs(["sm_80"]){calls}.compile("{name}");"#
            )
        })
        .collect();
    scenario.build_script(&body).write("kernels/loop.cu", LOOP);
    scenario
}

/// Returns the instructions of the kernel in this pack's image.
fn instructions(scenario: &Scenario, profile: &str, pack: &str) -> Vec<u8> {
    let image = scenario.output(profile, &format!("{pack}/sm_80.cubin"));
    let text = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(&image)));
    let (_, section) = text.split_once(" .text.run ").unwrap_or_else(|| panic!("no code: {text}"));
    let numbers: Vec<usize> = section
        .split_whitespace()
        .skip(1)
        .take(3)
        .map(|it| usize::from_str_radix(it, 16).expect("a number"))
        .collect();
    read(image)[numbers[1]..][..numbers[2]].to_vec()
}

/// Whether this pack's image has a section with this name.
fn has(scenario: &Scenario, profile: &str, pack: &str, section: &str) -> bool {
    let image = read(scenario.output(profile, &format!("{pack}/sm_80.cubin")));
    image.windows(section.len()).any(|it| it == section.as_bytes())
}

fn dev_and_release_builds_have_the_same_instructions() {
    let scenario = packs(
        "vendor_profile",
        &[
            ("nvcc", ".compiler(Compiler::Nvcc)"),
            ("clang", ".compiler(Compiler::ClangCuda)"),
            ("nvcc_debug", ".compiler(Compiler::Nvcc).debug(true)"),
            ("clang_debug", ".compiler(Compiler::ClangCuda).debug(true)"),
            ("ours_debug", ".debug(true)"),
            ("ours_fast", ".opt_level(3).debug(false)"),
        ],
    );
    scenario.build().passes().lacks("warning: vendor_profile");
    scenario.build().release().passes().lacks("warning: vendor_profile");
    for compiler in ["nvcc", "clang"] {
        let [dev, release] =
            ["debug", "release"].map(|profile| instructions(&scenario, profile, compiler));
        assert!(
            dev == release,
            "{compiler}: other instructions in a dev build than in a release build"
        );
        assert!(
            has(&scenario, "debug", compiler, ".debug_line"),
            "{compiler}: no lines in a dev build"
        );
        assert!(
            !has(&scenario, "debug", compiler, ".debug_info"),
            "{compiler}: more than lines in a dev build"
        );
        assert!(
            !has(&scenario, "release", compiler, ".debug_line"),
            "{compiler}: lines in a release build"
        );
        for profile in ["debug", "release"] {
            let on_request = format!("{compiler}_debug");
            let (debugged, optimized) =
                (instructions(&scenario, profile, &on_request).len(), dev.len());
            assert!(
                debugged > 2 * optimized,
                "{compiler}, {profile}: {debugged} bytes for debuggers, else {optimized}"
            );
            assert!(
                has(&scenario, profile, &on_request, ".debug_info"),
                "{compiler}: nothing for debuggers"
            );
        }
    }
    for profile in ["debug", "release"] {
        assert!(
            has(&scenario, profile, "ours_debug", ".debug_info"),
            "{profile}: nothing for debuggers"
        );
        assert!(
            !has(&scenario, profile, "ours_fast", ".debug_line"),
            "{profile}: lines that nobody wants"
        );
    }
    let [dev, release] =
        ["debug", "release"].map(|profile| instructions(&scenario, profile, "ours_fast"));
    assert!(dev == release, "other instructions with an explicit level");
}

fn flags_of_build_rs_replace_ours() {
    const NVCC: &str = ".compiler(Compiler::Nvcc)";
    let scenario = packs(
        "vendor_own_flags",
        &[
            ("level", &format!(r#"{NVCC}.flag("-O1")"#)),
            ("lines", &format!(r#"{NVCC}.flag("-O2").flag("-lineinfo")"#)),
            ("device", &format!(r#"{NVCC}.flag("-G").flag("-g")"#)),
            ("lines_first", &format!(r#"{NVCC}.debug(true).flag("--generate-line-info")"#)),
            ("clang", r#".compiler(Compiler::ClangCuda).flag("-O0").flag("-g")"#),
        ],
    );
    scenario.write(
        "kernels/launch.cu",
        "__global__ void f(int *x) { *x = 1; }\nextern \"C\" void g(int *x) { f<<<1, 1>>>(x); }\n",
    );
    let library =
        r#"Build::new().file("kernels/launch.cu").archs(["sm_80"]).compiler(Compiler::Nvcc)"#;
    let text = scenario.text("build.rs");
    let text = text.replacen(
        "fn main() {",
        &format!("fn main() {{ {library}.flag(\"-O2\").flag(\"-G\").compile_static(\"launch\");"),
        1,
    );
    scenario.write("build.rs", text);
    let printed = scenario.build().passes();
    assert_eq!(
        printed.text().lines().filter(|line| line.contains("warning: vendor_own_flags")).count(),
        0,
        "{printed}"
    );
    for (pack, is_debugged) in [
        ("level", false),
        ("lines", false),
        ("device", true),
        ("lines_first", false),
        ("clang", true),
    ] {
        assert_eq!(has(&scenario, "debug", pack, ".debug_info"), is_debugged, "{pack}");
        assert!(has(&scenario, "debug", pack, ".debug_line"), "{pack}");
    }
}

/// Builds three files in a pack and in a static library, in a dev build, where our own options
/// request line information. For each file, nvcc would warn about each repeated option, and about
/// `-lineinfo` next to `-G`.
fn a_flag_for_many_files_brings_no_warnings() {
    let scenario = package("vendor_many_files", "");
    scenario.build_script(
        r#"println!("cargo::rerun-if-env-changed=FLAGS");
    let sources = ["kernels/0.cu", "kernels/1.cu", "kernels/2.cu"];
    let mut build = Build::new();
    build.compiler(Compiler::Nvcc).archs(["sm_80"]);
    std::env::var("FLAGS").unwrap().split(' ').for_each(|flag| drop(build.flag(flag)));
    build.clone().modules(sources).compile("pack");
    build.files(sources).compile_static("library");"#,
    );
    for number in 0..3 {
        scenario
            .write(&format!("kernels/{number}.cu"), LOOP.replace("step", &format!("step{number}")));
    }
    for (flags, is_debugged) in
        [("-O1", false), ("-lineinfo", false), ("-G", true), ("-G -O0 -g", true)]
    {
        scenario.build().env("FLAGS", flags).passes().lacks("warning: vendor_many_files");
        for number in 0..3 {
            let image = read(scenario.output("debug", &format!("pack/{number}.sm_80.cubin")));
            let has =
                |section: &str| image.windows(section.len()).any(|it| it == section.as_bytes());
            assert!(has(".debug_line"), "{flags}, {number}.cu: no lines");
            assert_eq!(has(".debug_info"), is_debugged, "{flags}, {number}.cu");
        }
    }
}
