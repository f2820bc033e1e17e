//! Libraries that are linked to programs with static libraries. The linker, `ldd` and the programs
//! check the results.

use super::FACTOR;
use super::programs::{assert_returns_an_error, program, source};
use offload_tests::judges::shared_libraries;
use offload_tests::prelude::*;

offload_tests::tests! {
    NVCC.slow() => [cudas_runtime_can_be_shared, a_build_script_prints_the_lines_itself],
}

fn package(name: &str, calls: &str, more: &str) -> Scenario {
    let scenario = Scenario::without_sources(name);
    scenario
        .build_script(&format!(
            r#"let library = Build::new().file("kernels/scale.cu").compiler(Compiler::Nvcc).archs(["sm_80"]){calls}
        .compile_static("{name}_kernels");
    {more}"#
        ))
        .write("kernels/factor.h", FACTOR)
        .write("kernels/scale.cu", source("cuda_runtime.h", "cuda", "cuda"))
        .write("src/main.rs", program("cuda"));
    scenario
}

fn cudas_runtime_can_be_shared() {
    let scenario = package("static_cudart_shared", r#".cudart("shared")"#, "drop(library);");
    scenario.build().passes();
    let built = scenario.program("debug", scenario.name());
    assert!(shared_libraries(&built).contains("libcudart.so"), "{}", shared_libraries(&built));
    // In the toolkit, the shared library may exist only under its full name.
    let nvcc = PathBuf::from(cuda("nvcc").get_program());
    let root = nvcc.ancestors().nth(2).expect("it lies in bin");
    let folders = ["lib64", "lib"].map(|folder| root.join(folder));
    let libraries = folders.iter().find(|it| it.is_dir()).expect("a toolkit has libraries");
    let ran = scenario.tool(&built).env("LD_LIBRARY_PATH", libraries).passes();
    assert_returns_an_error(&ran.stdout);
}

/// With `cargo_metadata(false)` and without the runtime, the program does not link. Then the script
/// prints the lines for Cargo itself, and adds the runtime.
fn a_build_script_prints_the_lines_itself() {
    const PRINT: &str = r#"for folder in library.link_folders() {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    for name in library.link_libraries() {
        println!("cargo::rustc-link-lib={name}");
        println!("cargo::warning=library {name}");
    }
    for name in ["static=cudart_static", "dylib=rt", "dylib=dl", "dylib=pthread"] {
        println!("cargo::rustc-link-lib={name}");
    }"#;
    let calls = r#".cudart("none").cargo_metadata(false)"#;
    let scenario = package("static_own_lines", calls, "drop(library);");
    scenario.build().fails().has("cuda_devices");
    let scenario = package("static_own_lines", calls, PRINT);
    let printed = scenario.build().passes();
    printed
        .has("library static=static_own_lines_kernels\n")
        .has("library dylib=stdc++\n")
        .lacks("library static=cudart");
    assert_returns_an_error(&scenario.start("debug").passes().stdout);
}
