//! Compiler launchers: caches, compilation on other machines, and a launcher's failures.

mod distcc;
mod sccache;

use offload_tests::prelude::*;

/// Returns a package with a kernel that includes a header.
fn package(name: &str, archs: &str) -> Scenario {
    let scenario = Scenario::new(name);
    scenario
        .pack("add", &format!(r#".file("add.cu").include("include").archs({archs})"#))
        .write("add.cu", format!("#include \"value.h\"\n{}", kernel("add", "VALUE")))
        .write("include/value.h", "#define VALUE 1.0f\n");
    scenario
}

/// Makes the next build recompile everything.
fn forget(scenario: &Scenario) {
    fs::remove_dir_all(scenario.out_dir("debug").join("offload")).expect("OUT_DIR can be emptied");
    scenario.touch_build_script();
}

#[test(CLANG.slow())]
fn it_gets_what_reads_a_source() {
    let scenario = package("launcher_log", r#"["gfx90a", "compute_80", "cpu"]"#);
    let log = scenario.folder.join("log");
    let logging = scenario
        .script("launch", &format!("echo \"$WORD $*\" >> '{}'\nexec \"$@\"", log.display()));
    let launcher = format!("env; WORD=one;{}", logging.display());
    scenario.build().env("OFFLOAD_COMPILER_LAUNCHER", launcher).passes();
    let log = scenario.text("log");
    assert_eq!(log.lines().count(), 3, "{log}");
    for line in log.lines() {
        let is_compilation = line.starts_with("one /") && line.contains(" -c ");
        // The CPU's image is compiled from a copy of the source with added entry points.
        let is_for_cpu = line.contains(" -fsigned-char ");
        let source = if is_for_cpu { "/cpu.0.cpp -o " } else { " add.cu -o " };
        assert!(is_compilation && line.contains(source), "{line}");
    }
}

#[test(CLANG)]
fn a_launcher_that_is_not_there() {
    const CURE: &str = "Install the launcher, give its full path, or unset \
                        OFFLOAD_COMPILER_LAUNCHER to start compilers directly.";
    let scenario = package("launcher_missing", r#"["gfx90a"]"#);
    let build = |launcher: &str| scenario.build().env("OFFLOAD_COMPILER_LAUNCHER", launcher);
    for (launcher, reason) in [
        ("sccachee", "is 'sccachee', but PATH has no such program: sccachee\n"),
        ("tools/ccache;-v", "is 'tools/ccache;-v', but there is no such file: tools/ccache\n"),
    ] {
        let message = format!("OFFLOAD_COMPILER_LAUNCHER {reason}{CURE}");
        let printed = build(launcher).fails();
        assert!(printed.stderr.replace("\n  ", "\n").contains(&message), "{printed}");
    }
    // An empty variable counts as unset.
    build("").passes();
    // If nothing is compiled, invalid values in these variables are not errors.
    scenario.touch_build_script();
    build("sccachee").env("OFFLOAD_JOBS", "none").passes();
}

#[test(CLANG)]
fn a_launcher_that_writes_nothing() {
    let scenario = package("launcher_silent", r#"["gfx90a"]"#);
    let printed = scenario.build().env("OFFLOAD_COMPILER_LAUNCHER", "true").fails();
    printed.has("/true reported success, but did not write ");
}
