//! Tests the files and messages of a build with checks.

use offload_pack::checks::{Check, CheckedImage};
use offload_tests::prelude::*;

fn scenario(name: &str) -> Scenario {
    let scenario = Scenario::new(name);
    scenario.kernel("add", "1.0f").build_script(
        r#"Build::new().file("kernels/add.cu").arch("cpu").debug(false).compile("add");"#,
    );
    scenario
}

#[test(GCC.slow())]
fn the_variable_chooses_the_image() {
    let scenario = scenario("checks_variable");
    let image = || fs::read(scenario.output("debug", "add/cpu.so")).expect("there is an image");
    scenario.build().passes();
    let plain = image();
    assert_eq!(CheckedImage::all(&plain), []);
    // No kernel uses the C++ library, so the image must not need it.
    assert!(!String::from_utf8_lossy(&plain).contains("libstdc++"));
    scenario.build().env("OFFLOAD_CPU_CHECK", "race").fails().once(
        "OFFLOAD_CPU_CHECK is 'race', but must be 'memory', 'races', 'undefined', \
         'memory,undefined' or 'all' (which adds a second image for races)",
    );
    scenario.build().env("OFFLOAD_CPU_CHECK", "undefined").passes().lacks("warning");
    assert_eq!(CheckedImage::all(&image())[0].0.check, Check::Undefined);
    scenario.build().env("OFFLOAD_CPU_CHECK", "all").passes().lacks("warning");
    let text = String::from_utf8_lossy(&image()).into_owned();
    let kinds = |kind: &str| text.matches(&format!("\nkind {kind}\nlibrary /")).count();
    assert_eq!((kinds("memory,undefined"), kinds("races")), (1, 1));
    scenario.build().passes();
    assert!(image() == plain, "without the variable the image is what it was");
}

/// Asserts that a build with a check fails if the compiler lacks the sanitizer's library. If a
/// compiler does not find a file, `-print-file-name` prints the bare file name. The test's script
/// does the same.
#[test(GCC.slow())]
fn a_compiler_without_the_library_is_an_error() {
    let scenario = scenario("checks_no_library");
    let script = "case \"$1\" in -print-file-name=*) echo \"${1#*=}\";; *) exec g++ \"$@\";; esac";
    scenario.script("no sanitizers/g++", script);
    let compiler = scenario.folder.join("no sanitizers/g++");
    let printed = scenario.build().env("CXX", &compiler).env("OFFLOAD_CPU_CHECK", "races").fails();
    printed.once("OFFLOAD_CPU_CHECK=races needs a library that ").once(
        "does not have: libtsan.so\n  Install it (Fedora: dnf install libtsan; Debian, Ubuntu: \
         apt install --reinstall g++), or name a different compiler in CXX.",
    );
}
