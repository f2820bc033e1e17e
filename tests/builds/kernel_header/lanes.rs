//! Warnings about code that keeps masks of 64 lanes in 32 bits. Only builds for targets with
//! 64-lane warps may print these warnings.

use super::compiler;
use offload_tests::prelude::*;
use offload_tests::tools::clangs;

const SOURCE: &str = include_str!("lanes.cu");
const HEADER: &str = include_str!("lanes.cuh");

/// The kinds of warnings, with the words that identify them.
const KINDS: [(&str, &str); 4] = [
    ("mask", "a mask of 32 bits names no lanes from 32 to 63"),
    ("result", "[-Wshorten-64-to-32]"),
    ("result", "[-Wconversion]"),
    ("shift", "[-Wshift-count-overflow]"),
];

/// Returns the sorted warnings that a compiler must print according to the sources' comments, in
/// the form `file:line kind`.
fn expected(compiler: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (name, text) in [("lanes.cu", SOURCE), ("lanes.cuh", HEADER)] {
        for (number, line) in (1..).zip(text.lines()) {
            let words = line.split_once("// half: ").map_or("", |(_, words)| words);
            for word in words.split_whitespace() {
                let (kind, only) = word.split_once(':').unwrap_or((word, compiler));
                if only == compiler {
                    all.push(format!("{name}:{number} {kind}"));
                }
            }
        }
    }
    all.sort();
    assert!(all.len() > 20, "{all:?}");
    all
}

/// Returns the sorted warnings in a compiler's output, in the form of [`expected`].
#[track_caller]
fn found(output: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in output.lines().filter(|line| line.contains(": warning: ")) {
        let kind = KINDS.iter().find(|(_, words)| line.contains(words));
        let kind = kind.unwrap_or_else(|| panic!("another warning: {line}\n{output}")).0;
        let place = line.split("kernels/").nth(1).expect("a warning has a place");
        let place: Vec<&str> = place.split(':').take(2).collect();
        all.push(format!("{} {kind}", place.join(":")));
    }
    all.sort();
    all
}

fn scenario(name: &str) -> Scenario {
    let scenario = Scenario::new(name);
    scenario.write("kernels/lanes.cu", SOURCE).write("kernels/lanes.cuh", HEADER);
    scenario
}

/// Each line's warning must appear once, although several targets and modules contain the line.
#[test(COMPILERS.slow())]
fn halves_of_64_lanes_have_warnings() {
    let scenario = scenario("header_lanes");
    let warnings = |targets: &str, lanes: &str, cxx: &Path| {
        let module = |name| format!("Module::new({name:?}).file(\"kernels/lanes.cu\").clone()");
        scenario.build_script(&format!(
            "Build::new().module(&{}).module(&{}).archs([{targets}]).compile(\"k\");",
            module("one"),
            module("two")
        ));
        let build = scenario.build().env("OFFLOAD_CPU_LANES", lanes).env("CXX", cxx);
        found(&build.passes().stderr)
    };
    let (gcc, clang) = (Path::new("g++"), llvm_bin().join("clang++"));
    let none: &[String] = &[];
    let of_32 = r#""gfx1100", "sm_80", "compute_90", "spirv64", "cpu""#;
    let of_64 = r#""gfx90a", "gfx942", "gfx1100", "cpu""#;
    let of_cpu = r#""cpu""#;
    assert_eq!(warnings(of_32, "", gcc), none);
    assert_eq!(warnings(of_cpu, "32", &clang), none);
    assert_eq!(warnings(of_64, "", gcc), expected("clang"));
    assert_eq!(warnings(of_cpu, "64", &clang), expected("clang"));
    assert_eq!(warnings(of_cpu, "64", gcc), expected("g++"));
}

/// Options can turn these warnings into errors, or disable them. Other conversion warnings appear
/// only if an option enables them, even if a source has an error.
#[test(COMPILERS.slow())]
fn options_of_build_scripts_decide() {
    let scenario = scenario("header_lanes_options");
    let pack = |options: &str| {
        scenario.pack("k", &format!(r#".file("kernels/lanes.cu").archs(["gfx1100"]){options}"#));
        scenario.build()
    };
    let wide = ".flag(\"-mwavefrontsize64\")";
    assert_eq!(found(&pack(wide).passes().stderr), expected("clang"));
    let masks = ".flag(\"-Wno-user-defined-warnings\").flag(\"-Wno-shift-count-overflow\")";
    let silent = pack(&format!("{wide}{masks}.flag(\"-Wno-shorten-64-to-32\")"));
    assert_eq!(found(&silent.passes().stderr), [""; 0]);
    for (option, line) in [("user-defined-warnings", "of_header"), ("shorten-64-to-32", "x[0]")] {
        let printed = pack(&format!("{wide}.flag(\"-Werror={option}\")")).fails();
        printed.has(&format!("[-Werror,-W{option}]")).has(line);
    }
    let other = "int unrelated = count";
    pack(&format!("{wide}.flag(\"-Wconversion\")")).passes().has(other);
    // Users' options must not turn other conversions into errors.
    pack(&format!("{wide}{masks}.flag(\"-Werror\")")).passes().lacks(other);
    scenario.write("kernels/lanes.cu", format!("{SOURCE}nonsense\n"));
    pack(wide).fails().has("unknown type name 'nonsense'").lacks(other);
}

/// Each version of clang must check the masks that calls pass, and must warn only for GPUs with 64
/// lanes.
#[test(needs(&[Tool::Llvm22, Tool::Clangs, Tool::Oldest]))]
fn each_clang_looks_at_masks() {
    let folder = scratch::folder("header-lanes-clangs");
    scratch::write(folder.join("kernels/lanes.cu"), SOURCE);
    scratch::write(folder.join("kernels/lanes.cuh"), HEADER);
    let mut expected = expected("clang");
    expected.retain(|warning| !warning.ends_with(" result"));
    for (version, clang) in clangs() {
        for (options, has_warnings) in
            [("gfx90a", true), ("gfx1100", false), ("gfx1100 -mwavefrontsize64", true)]
        {
            let options = format!(
                "-x hip --offload-arch={options} --cuda-device-only -nogpulib -nogpuinc -std=c++17 -fms-extensions \
                 -fsyntax-only"
            );
            let mut command = compiler(&clang, &options);
            let output = succeed(command.arg("kernels/lanes.cu").current_dir(&folder));
            let mut found = found(&stderr(&output));
            // Each instance of a template has a separate warning.
            found.dedup();
            let expected = if has_warnings { &expected[..] } else { &[] };
            assert_eq!(found, expected, "clang {version} {options}");
        }
    }
}
