//! Optimization and debug information from vendors' compilers, in dev and release builds, with
//! explicit requests, and with flags in build.rs. `llvm-readelf` reads the results.

use super::package;
use crate::NVCC_AND_CLANG;
use offload_tests::judges::section_rows;
use offload_tests::prelude::*;

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
    let pack = |(name, calls): &(&str, &str)| {
        format!(
            r#"Build::new().file("kernels/loop.cu").archs(["sm_80"]){calls}.compile("{name}");"#
        )
    };
    let body: String = packs.iter().map(pack).collect();
    scenario.build_script(&body).write("kernels/loop.cu", LOOP);
    scenario
}

/// Returns the kernel's instructions in this pack's image.
fn instructions(scenario: &Scenario, profile: &str, pack: &str) -> Vec<u8> {
    let image = scenario.output(profile, &format!("{pack}/sm_80.cubin"));
    let text = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(&image)));
    let row = section_rows(&text).into_iter().find(|row| row[0] == ".text.run");
    let row = row.unwrap_or_else(|| panic!("no code: {text}"));
    let [start, size] = [3, 4].map(|at| usize::from_str_radix(row[at], 16).expect("a number"));
    read(image)[start..][..size].to_vec()
}

fn contains(image: &[u8], name: &str) -> bool {
    image.windows(name.len()).any(|it| it == name.as_bytes())
}

#[test(NVCC_AND_CLANG.slow())]
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
    let expect = |profile: &str, pack: &str, section: &str, expected: bool| {
        let image = scenario.output_bytes(profile, &format!("{pack}/sm_80.cubin"));
        assert_eq!(contains(&image, section), expected, "{pack}, {profile}: {section}");
    };
    for pack in ["nvcc", "clang", "ours_fast"] {
        let [dev, release] =
            ["debug", "release"].map(|profile| instructions(&scenario, profile, pack));
        assert!(
            dev == release,
            "{pack}: other instructions in a dev build than in a release build"
        );
        expect("release", pack, ".debug_line", false);
    }
    expect("debug", "ours_fast", ".debug_line", false);
    for compiler in ["nvcc", "clang"] {
        // A dev build contains line information, but no other debug information.
        expect("debug", compiler, ".debug_line", true);
        expect("debug", compiler, ".debug_info", false);
        let optimized = instructions(&scenario, "debug", compiler).len();
        for profile in ["debug", "release"] {
            let on_request = format!("{compiler}_debug");
            let debugged = instructions(&scenario, profile, &on_request).len();
            assert!(
                debugged > 2 * optimized,
                "{compiler}, {profile}: {debugged} bytes for debuggers, else {optimized}"
            );
            expect(profile, &on_request, ".debug_info", true);
        }
    }
    for profile in ["debug", "release"] {
        expect(profile, "ours_debug", ".debug_info", true);
    }
}

/// In a dev build, our options request line information. nvcc warns about repeated options, and
/// about `-lineinfo` with `-G`, so the build must not add our options to such flags.
#[test(NVCC_AND_CLANG.slow())]
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
    let several = r#"let mut several = Build::new();
    several.compiler(Compiler::Nvcc).arch("sm_80");
    let sources = ["kernels/loop.cu", "kernels/launch.cu"];
    several.clone().modules(sources).flag("-G").flag("-O0").flag("-g").compile("several");
    several.clone().files(sources).flag("-O1").flag("-lineinfo").compile_static("library");
    several.file("kernels/launch.cu").flag("-O2").flag("-G").compile_static("launch");
    "#;
    scenario
        .write("build.rs", scenario.text("build.rs").replacen("Build::new()", &format!("{several}Build::new()"), 1))
        .write(
            "kernels/launch.cu",
            "__global__ void f(int *x) { *x = 1; }\nextern \"C\" void g(int *x) { f<<<1, 1>>>(x); }\n",
        );
    scenario.build().passes().lacks("warning: vendor_own_flags");
    for (file, is_debugged) in [
        ("level/sm_80", false),
        ("lines/sm_80", false),
        ("device/sm_80", true),
        ("lines_first/sm_80", false),
        ("clang/sm_80", true),
        ("several/loop.sm_80", true),
        ("several/launch.sm_80", true),
    ] {
        let image = scenario.output_bytes("debug", &format!("{file}.cubin"));
        assert_eq!(contains(&image, ".debug_info"), is_debugged, "{file}");
        assert!(contains(&image, ".debug_line"), "{file}");
    }
}
