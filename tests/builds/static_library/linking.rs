//! The libraries that programs with static libraries also need, such as CUDA's runtime. The linker,
//! `ldd` and the programs check the results.

use super::FACTOR;
use super::programs::{assert_returns_an_error, program, source};
use offload_tests::judges::shared_libraries;
use offload_tests::prelude::*;

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

#[test(NVCC.slow())]
fn cudas_runtime_can_be_shared() {
    let scenario = package("static_cudart_shared", r#".cudart("shared")"#, "drop(library);");
    scenario.build().passes();
    let built = scenario.program("debug", scenario.name());
    assert!(shared_libraries(&built).contains("libcudart.so"), "{}", shared_libraries(&built));
    // A toolkit may contain the shared library only under its full name.
    let nvcc = PathBuf::from(cuda("nvcc").get_program());
    let root = nvcc.ancestors().nth(2).expect("it lies in bin");
    let folders = ["lib64", "lib"].map(|folder| root.join(folder));
    let libraries = folders.iter().find(|it| it.is_dir()).expect("a toolkit has libraries");
    let ran = scenario.tool(&built).env("LD_LIBRARY_PATH", libraries).passes();
    assert_returns_an_error(&ran.stdout);
}

/// With `cargo_metadata(false)` and without the runtime, the program does not link. The program
/// links if the script itself prints the lines for Cargo, and adds the runtime.
#[test(NVCC.slow())]
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

/// Creates two folders of links to parts of the tests' toolkit. One folder contains nvcc, and the
/// other contains CUDA's runtime.
fn split_toolkit(scenario: &Scenario) -> [PathBuf; 2] {
    let [compiler, runtime] = ["nvcc", "cudart"].map(|name| scenario.folder.join(name));
    let home = PathBuf::from(env::var_os("CUDA_HOME").expect("Tool::Nvcc was checked"));
    let copy = |options: &str, names: &[&str], to: &Path| {
        fs::create_dir_all(to).expect("the scratch folder can be written");
        let files = names.iter().map(|name| home.join(name)).filter(|file| file.exists());
        scenario.tool("cp").arg(options).args(files).arg(to).passes();
    };
    copy("-rs", &["bin", "nvvm"], &compiler);
    copy("-rs", &["include/crt", "include/fatbinary_section.h"], &compiler.join("include"));
    copy("-rs", &["include", "lib", "lib64"], &runtime);
    // nvcc would follow a link to find its toolkit, so copy these files.
    for name in ["bin/nvcc", "bin/nvcc.profile"] {
        fs::remove_file(compiler.join(name)).expect("it is a link");
        fs::copy(home.join(name), compiler.join(name)).expect("it can be copied");
    }
    [compiler, runtime]
}

#[test(NVCC.slow())]
fn nvcc_and_the_runtime_may_be_in_two_folders() {
    let scenario = package("static_split_toolkit", ".device_link()", "drop(library);");
    let [compiler, runtime] = split_toolkit(&scenario);
    let libraries = ["lib64", "lib"].map(|name| runtime.join(name));
    let libraries = libraries.iter().find(|it| it.is_dir()).expect("a toolkit has libraries");
    let (headers, libraries) = (runtime.join("include").display().to_string(), libraries.display());
    let nvcc = compiler.join("bin/nvcc");
    let build = || scenario.build().without(&["CUDA_HOME"]).path_without("nvcc").env("NVCC", &nvcc);
    let flags = |flags: &str| format!("-I{headers} -I{headers}/cccl {flags}");
    for build in [
        build().env("CUDA_HOME", &runtime),
        build().env("NVCC_PREPEND_FLAGS", flags(&format!("-L{libraries}"))),
        build().env("NVCC_APPEND_FLAGS", flags(&format!("-L {libraries} -O1"))),
    ] {
        build.passes().lacks("libcudart_static.a");
        assert_returns_an_error(&scenario.start("debug").passes().stdout);
    }
    let printed = build().env("NVCC_APPEND_FLAGS", flags("")).fails();
    printed.has(&format!(
        "programs need libcudart_static.a for x86_64-unknown-linux-gnu, but it is in neither the CUDA \
         toolkit {} (folders targets/x86_64-linux/lib, lib64, lib, ",
        compiler.display()
    ));
}

/// NVIDIA's packages for cross builds install libraries beside the machine's own libraries.
#[test(needs(&[Tool::Nvcc, Tool::GccAarch64]).slow())]
fn libraries_are_those_of_the_programs_host() {
    let scenario = Scenario::new("static_cross_libraries");
    scenario
        .build_script(
            r#"let target = std::env::var("FOR").unwrap();
    for (name, value) in [("TARGET", &*target), ("CARGO_CFG_TARGET_ARCH", target.split('-').next().unwrap())] {
        // SAFETY: no other thread exists at this time.
        unsafe { std::env::set_var(name, value) };
    }
    let library = Build::new().file("kernels/scale.cu").compiler(Compiler::Nvcc).archs(["sm_87"]).cargo_metadata(false).compile_static("scale");
    for folder in &library.link_folders()[1..] {
        println!("cargo::warning=folder {}.", folder.display());
    }"#,
        )
        .write("kernels/scale.cu", source("cuda_runtime.h", "cuda", "cuda"))
        .write("kernels/factor.h", FACTOR);
    let home = PathBuf::from(env::var_os("CUDA_HOME").expect("Tool::Nvcc was checked"));
    let toolkit = scenario.folder.join("toolkit");
    scenario.tool("cp").arg("-rs").arg(&home).arg(&toolkit).passes();
    for name in ["bin/nvcc", "bin/nvcc.profile"] {
        fs::remove_file(toolkit.join(name)).expect("it is a link");
        fs::copy(home.join(name), toolkit.join(name)).expect("it can be copied");
    }
    let build = |target: &str| {
        let build = scenario.touch_build_script().build().without(&["CUDA_HOME"]);
        let build = build.path_without("nvcc").env("NVCC", toolkit.join("bin/nvcc"));
        build.env("FOR", target).passes()
    };
    let (arm, machine) = ("aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu");
    let printed = build(arm);
    printed.lacks("warning=folder").has(&format!(
        "programs need libcudart_static.a for {arm}, but it is in neither the CUDA toolkit {} \
         (folders targets/sbsa-linux/lib, targets/aarch64-linux/lib)",
        toolkit.canonicalize().expect("it is there").display()
    ));
    for folder in ["targets/aarch64-linux/lib", "targets/sbsa-linux/lib"] {
        scenario.write(&format!("toolkit/{folder}/libcudart_static.a"), "!<arch>\n");
        let printed = build(arm);
        printed.has(&format!("/{folder}.\n")).lacks("libcudart_static.a").lacks("toolkit/lib");
        build(machine).lacks(folder).has("/toolkit/lib");
    }
}
